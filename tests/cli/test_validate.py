"""capdisc validate: its findings, formats and exit codes."""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from product_lists import REPORT_FORMATS

HOOKS = Path(__file__).resolve().parents[2] / ".pre-commit-hooks.yaml"
GOOD = "name: {0}\nkind: tool\ndescription: Folds paper cranes of any size.\n"


@pytest.fixture
def put(hermetic):
    """Write a file below the working folder: `put("a/SKILL.md", text)`."""

    def write(relative, content):
        path = hermetic / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.fixture
def tools(put):
    """Three manifests, each with a mistake of its own."""
    put("a/CAPABILITY.yaml", "kind: tool\ndescription: Folds paper cranes.\n")
    put("b b/CAPABILITY.yaml", GOOD.format("b") + "nonsense: 1\ncolour: red\n")
    put("c/CAPABILITY.yaml", "name: c\nkind: tool\n")
    return ["a/CAPABILITY.yaml", "b b/CAPABILITY.yaml", "c/CAPABILITY.yaml"]


def test_a_line_with_a_secret_is_not_repeated(capdisc, put) -> None:
    key = "AKIA" + "IOSFODNN7" + "SAMPLE1"
    put(
        "a/SKILL.md",
        f"---\nname: a\ndescription: Folds cranes when asked to.\n---\nUse {key} \u202ehere.\n",
    )
    for name in REPORT_FORMATS:
        said = capdisc("validate", "a", "--format", name)
        assert "hard-coded-secret" in said.out
        assert key not in said.out + said.err


def test_a_workflow_command_cannot_be_forged_by_a_name_or_a_text(capdisc, put) -> None:
    put("a,b:100%\n::error::c/CAPABILITY.yaml", "name: a\nkind: tool\n")
    (line,) = capdisc(
        "validate", ".", "--format", "github", "--select", "field-missing"
    ).out.splitlines()
    assert line.startswith(
        "::error file=a%2Cb%3A100%25%0A%3A%3Aerror%3A%3Ac/CAPABILITY.yaml,line=1,col=1,title=field-missing::"
    )


def test_a_finding_keeps_its_fingerprint_when_its_line_moves(capdisc, put) -> None:
    def prints(text):
        put("a/CAPABILITY.yaml", text)
        results = capdisc("validate", "a", "--format", "sarif").json["runs"][0]["results"]
        return [one["partialFingerprints"]["primaryLocationLineHash"] for one in results]

    before = prints(GOOD.format("a") + "nonsense: 1\ncolour: red\n")
    assert len(set(before)) == 2
    assert prints("# a comment\n" + GOOD.format("a") + "nonsense: 1\ncolour: red\n") == before
    assert prints(GOOD.format("a") + "nonsense: 2\ncolour: red\n")[1:] == before[1:]


@pytest.mark.parametrize("name", ["concise", "full", "github", "json-lines"])
def test_every_split_into_batches_says_the_same(capdisc, tools, name) -> None:
    for order in itertools.permutations(tools):
        together = capdisc("validate", "--format", name, *order).out
        assert together == "".join(capdisc("validate", "--format", name, one).out for one in order)


def test_a_piped_text_need_not_be_utf8(process, hermetic) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "capdisc", "validate", "-", "--format", "concise"], input=b"name: caf\xe9\n",
        capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stdout.startswith(b"CAPABILITY.yaml:1:10: encoding")


@pytest.mark.parametrize("name", REPORT_FORMATS)
def test_no_format_obeys_what_a_file_or_its_name_says(capdisc, put, name) -> None:
    put(
        "x\x1b[2J\u202e/CAPABILITY.yaml",
        'name: "a\\e[2J"\nkind: tool\ndescription: b\n\u2028: 1\n',
    )
    said = capdisc("validate", ".", "--format", name)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u202e]", said.out)


def test_one_file_imports_nothing_that_it_does_not_need(put, tmp_path) -> None:
    put("a/CAPABILITY.yaml", GOOD.format("a"))
    heavy = ["rich", "tantivy", "tomllib", "numpy", "lancedb", "asyncio", "hashlib.sha256", "capdisc_indexer.indexing.pipeline",
             "capdisc_indexer.validation.fixes", "capdisc.validate.fixing"]  # fmt: skip
    script = (
        f"import sys; from capdisc.args import command_table; command_table.run_command(['validate', 'a/CAPABILITY.yaml']);"
        f"print([name for name in {heavy!r} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


def test_the_hooks_name_what_is_checked(capdisc, put, tools) -> None:
    hooks = {one["id"]: one for one in yaml.safe_load(HOOKS.read_text())}
    for name in (
        "a/CAPABILITY.yaml",
        "SKILL.md",
        "x/skill.MD",
        "CAPABILITY.yml",
        "y/capabilities.jsonl",
    ):
        assert all(re.search(hook["files"], name) for hook in hooks.values()), name
    assert not any(re.search(hook["files"], "a/README.md") for hook in hooks.values())
    single = hooks["capdisc-validate"]
    done = capdisc(*single["entry"].split()[1:], *single["args"], *tools)
    assert (done.code, len(done.out.splitlines()) > 3) == (1, True)
    assert capdisc(*hooks["capdisc-validate-all"]["entry"].split()[1:]).code == 1
