"""Stubs of hostile schemas: every text is a module that the language takes."""

import shutil
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from capdisc_audit.stubs import STUB_LANGUAGES, format_stubs
from capdisc_indexer.tools.function_definitions import Definition
from case_rows import read_rows
from hostile_schemas import NAMES, SCHEMAS

TOOLS = st.tuples(NAMES, NAMES, SCHEMAS, st.none() | SCHEMAS)
SLOW = list(HealthCheck)


def define(tools: list[tuple]) -> list[Definition]:
    return [
        Definition(
            id=f"tool:{number}.{name}", name=name or "x", description=about, schema=schema, kind="tool",
            output_schema=output,
        )
        for number, (name, about, schema, output) in enumerate(tools)
    ]  # fmt: skip


@given(st.lists(TOOLS, max_size=3))
@settings(deadline=None, suppress_health_check=SLOW)
def test_python_compiles_and_runs_and_defines_one_function_a_tool(tools) -> None:
    definitions = define(tools)
    text, names = format_stubs("python", definitions)
    namespace: dict[str, object] = {"__name__": "stubs"}
    exec(compile(text, "stubs.py", "exec"), namespace)
    calls = []
    namespace["call_tool"] = lambda identifier, arguments: calls.append(identifier)
    for definition in definitions:
        namespace[names[definition.id]](
            *[{}] * bool(namespace[names[definition.id]].__annotations__.get("arguments"))
        )
    assert calls == [definition.id for definition in definitions]


@given(st.lists(TOOLS, max_size=3))
@settings(deadline=None, suppress_health_check=SLOW)
def test_every_text_is_unicode_and_the_same_each_time(tools) -> None:
    for language in STUB_LANGUAGES:
        text, _ = format_stubs(language, define(tools))
        text.encode()
        assert format_stubs(language, define(tools))[0] == text


@pytest.mark.parametrize("language", STUB_LANGUAGES)
def test_the_type_checkers_take_a_hundred_hostile_tools(language, tmp_path) -> None:
    if language == "typescript" and not shutil.which("tsc"):
        pytest.skip("needs the program tsc of the npm package typescript")
    tools: list[tuple] = []

    @given(TOOLS)
    @settings(
        max_examples=100,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=SLOW,
    )
    def collect(tool) -> None:
        tools.append(tool)

    collect()
    name = "stubs.py" if language == "python" else "stubs.ts"
    (tmp_path / name).write_text(format_stubs(language, define(tools))[0], encoding="utf-8")
    checker = (
        [sys.executable, "-m", "mypy", "--cache-dir", "cache"]
        if language == "python"
        else ["tsc", "--noEmit"]
    )
    done = subprocess.run(
        [*checker, "--strict", name], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("schema", "text"),
    [*read_rows(__file__, "keywords"), ({"enum": list(range(500))}, "number")],
)  # fmt: skip
def test_a_keyword_becomes_the_type_that_it_means(schema, text) -> None:
    definitions = {
        "a": {"type": "object", "properties": {"b": {"type": "string"}}},
        "ring": {"$ref": "#/$defs/ring"},
    }
    whole = {"type": "object", "properties": {"p": schema}, "$defs": definitions}
    printed, _ = format_stubs(
        "typescript",
        [Definition(id="tool:f", name="f", description="", schema=whole, kind="tool")],
    )
    assert f"  p?: {text};\n" in printed
