"""capdisc tools --format typescript and python: typed functions for what was found."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

LANGUAGES = ("typescript", "python")
BOOK = {"kind": "tool", "description": "Books a room."}


@pytest.fixture
def index(capdisc, hermetic, monkeypatch):
    """Index the given lines as a catalogue."""

    def build(*lines: dict[str, object]) -> None:
        monkeypatch.setenv("CAPDISC_INDEX_DIR", str(hermetic / "index"))
        (hermetic / "a").mkdir()
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (hermetic / "a" / "capabilities.jsonl").write_text(text)
        assert capdisc("index", "a").code in (0, 1)

    return build


def test_python_hands_id_and_arguments_to_the_function_of_the_caller(capdisc, data) -> None:
    stubs = run_python(capdisc("tools", "--format", "python").out)
    calls = []
    stubs["call_tool"] = lambda identifier, arguments: calls.append((identifier, dict(arguments)))
    stubs["base_tableList"]({"table": "artists"})
    stubs["wipe_disk"]()
    assert calls == [("tool:base_tableList", {"table": "artists"}), ("tool:wipe_disk", {})]


@pytest.mark.parametrize("language", [*LANGUAGES, "anthropic", "json"])
@pytest.mark.parametrize("limit", [400, 700, 3_000])
def test_a_budget_is_kept_and_what_is_left_out_is_named(capdisc, data, language, limit) -> None:
    from capdisc_indexer.lazy_imports import load_token_counter

    argv = ("tools", "list pictures", "-k", "20", "--format", language)
    whole = capdisc(*argv)
    done = capdisc(*argv, "--budget", str(limit))
    assert load_token_counter()(done.out) <= limit
    assert ("left out to fit" in done.err) == (done.out != whole.out)


@pytest.mark.parametrize("language", LANGUAGES)
def test_nothing_found_is_still_a_module(capdisc, data, tmp_path, language) -> None:
    done = capdisc("tools", "qqxzv wkrtl", "--format", language)
    assert done.code == 0
    assert "nothing fits" in done.err
    check_types(language, done.out, tmp_path)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_type_checker_takes_every_function(capdisc, data, tmp_path, language) -> None:
    check_types(language, capdisc("tools", "--format", language).out, tmp_path)


def test_a_schema_of_any_size_is_printed(capdisc, index) -> None:
    wide = {f"p{number}": {"type": "string"} for number in range(10_000)}
    deep: dict[str, object] = {"type": "string"}
    for _ in range(25):
        deep = {"type": "object", "properties": {"x": deep}}
    index(
        {**BOOK, "name": "wide", "inputSchema": {"type": "object", "properties": wide}},
        {**BOOK, "name": "deep", "inputSchema": deep},
    )
    out = capdisc("tools", "--format", "python").out
    assert "p9999: NotRequired[" in out
    run_python(out)


def run_python(text: str) -> dict[str, object]:
    namespace: dict[str, object] = {"__name__": "stubs"}
    exec(compile(text, "stubs.py", "exec"), namespace)
    return namespace


def check_types(language: str, text: str, folder: Path) -> None:
    """Raises AssertionError with the complaints of the language's type checker."""
    if language == "python":
        argv, name = (
            [sys.executable, "-m", "mypy", "--strict", "--cache-dir", "cache", "stubs.py"],
            "stubs.py",
        )
    else:
        if not shutil.which("tsc"):
            pytest.skip("needs the program tsc of the npm package typescript")
        argv, name = ["tsc", "--noEmit", "--strict", "stubs.ts"], "stubs.ts"
    (folder / name).write_text(text, encoding="utf-8")
    done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
