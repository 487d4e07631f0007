"""What tool lists become: those of MCP servers, and those of function-calling libraries."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from capdisc_indexer.model.types import DeclaredSource, Descriptor, LoadedFile
from capdisc_indexer.sources.format_table import SOURCES
from capdisc_indexer.sources.scan.file_scan import scan_roots
from capdisc_indexer.validation.content_rules import check_content

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures" / "sources"
Load = Callable[[Mapping[str, str | bytes]], LoadedFile]
TOOL = {
    "name": "go",
    "description": "Goes there.",
    "inputSchema": {"type": "object", "properties": {"to": {}}},
}


def by_name(loaded: LoadedFile) -> dict[str, Descriptor]:
    return {each.name: each for each in loaded.descriptors}


def ids(loaded: LoadedFile) -> list[str]:
    return [each.id for each in loaded.descriptors]


@pytest.fixture
def declared(tmp_path: Path) -> Callable[..., LoadedFile]:
    """Loads a value as the file that a declaration names."""

    def read(
        value: Any, name: str = "list.json", format: str = "functions", **options: Any
    ) -> LoadedFile:
        path = tmp_path / name
        path.write_text(value if isinstance(value, str) else json.dumps(value))
        own_name = options.pop("called", "")
        one = DeclaredSource(format=format, path=str(path), name=own_name, options=options)
        (file,) = scan_roots([], [one]).files
        return check_content(file, SOURCES[file.format].load(file, path.read_bytes()))

    return read


def test_a_tool_of_a_server_has_its_server_in_the_id(load_path, tmp_path) -> None:
    shutil.copy(FIXTURES / "garden.tools.json", tmp_path)
    loaded = load_path(tmp_path)
    assert ids(loaded) == [
        "tool:garden.water_bed",
        "tool:garden.read_moisture",
        "tool:garden.clear_bed",
    ]
    assert loaded.findings == ()
    found = by_name(loaded)["water_bed"]
    assert (found.kind, found.category, found.title) == ("tool", "garden", "Water a bed")
    assert [(each.name, each.required) for each in found.parameters] == [
        ("bed", True),
        ("minutes", False),
    ]
    assert found.extra["server"] == "garden"
    assert by_name(loaded)["read_moisture"].output_schema is not None


def test_annotations_say_how_much_harm_a_tool_can_do(load_path, tmp_path) -> None:
    shutil.copy(FIXTURES / "garden.tools.json", tmp_path)
    risks = {
        each.name: (each.risk, each.has_side_effects, each.confirm)
        for each in load_path(tmp_path).descriptors
    }
    assert risks["read_moisture"] == ("low", False, False)
    assert risks["water_bed"] == ("medium", True, False)
    assert risks["clear_bed"] == ("high", True, True)


@pytest.mark.parametrize(
    "value",
    [
        [TOOL],
        {"tools": [TOOL]},
        {"jsonrpc": "2.0", "id": 1, "result": {"tools": [TOOL]}},
        [{"tools": [TOOL], "nextCursor": "2"}, {"tools": []}],
        [
            {"jsonrpc": "2.0", "id": 0, "result": {"serverInfo": {"name": "x"}}},
            {"id": 1, "result": {"tools": [TOOL]}},
        ],
    ],
    ids=["bare", "result", "envelope", "pages", "session"],
)
def test_a_list_is_known_in_every_wrapping(load: Load, value) -> None:
    assert ids(load({"far.tools.json": json.dumps(value)})) == ["tool:far.go"]


def test_several_pages_are_one_list(load: Load) -> None:
    pages = [{"result": {"tools": [{**TOOL, "name": name}]}} for name in ("a", "b", "c")]
    assert ids(load({"far.tools.json": json.dumps(pages)})) == [
        "tool:far.a",
        "tool:far.b",
        "tool:far.c",
    ]


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        ("near/tools.json", {"tools": [TOOL]}, "tool:near.go"),
        (
            "near/tools.json",
            {"serverInfo": {"name": "Own Word"}, "tools": [TOOL]},
            "tool:Own-Word.go",
        ),
        (
            "near/git hub.tools.json",
            {"serverInfo": {"name": "Own"}, "tools": [TOOL]},
            "tool:git-hub.go",
        ),
    ],
)
def test_the_server_is_named_by_file_by_itself_or_by_folder(
    load: Load, path, value, expected
) -> None:
    assert ids(load({path: json.dumps(value)})) == [expected]


def test_a_declaration_names_the_server(declared) -> None:
    assert ids(declared([TOOL], format="mcp", called="mine")) == ["tool:mine.go"]


def test_functions_come_in_the_shapes_of_all_libraries(declared) -> None:
    """OpenAI, Anthropic and Gemini definitions become descriptors (S218, S222)."""
    loaded = declared((FIXTURES / "functions.json").read_text())
    assert ids(loaded) == ["function:weather_today", "function:weather_week", "function:convert"]
    found = by_name(loaded)["convert"]
    assert (found.kind, found.category) == ("function", "general")
    assert found.schema == {
        "type": "object",
        "properties": {"amount": {"type": "number"}, "to": {"type": "string"}},
        "required": ["amount", "to"],
    }
    assert loaded.findings == ()


def test_the_flat_form_and_json_lines_are_read_too(declared) -> None:
    flat = {
        "type": "function",
        "name": "go",
        "description": "Goes.",
        "parameters": {"type": "object"},
        "strict": True,
    }
    lines = "\n".join([json.dumps(flat), "{broken", json.dumps({**flat, "name": "stop"})])
    loaded = declared(lines, name="list.jsonl")
    assert ids(loaded) == ["function:go", "function:stop"]
    assert [(each.code, each.line) for each in loaded.findings] == [("json-syntax", 2)]


def test_a_category_is_the_shared_prefix_of_names(declared) -> None:
    """Functions are filed by a prefix that several share, else as general (S118)."""
    tools = [{**TOOL, "name": name} for name in ("base_read", "base_write", "plot_line", "alone")]
    filed = {each.name: each.category for each in declared(tools).descriptors}
    assert filed == {
        "base_read": "base",
        "base_write": "base",
        "plot_line": "general",
        "alone": "general",
    }


def test_of_declared_prefixes_the_longest_wins(declared) -> None:
    """The longest declared prefix wins: sql_opt_x is not filed under sql (S119)."""
    tools = [{**TOOL, "name": name} for name in ("sql_opt_x", "sql_run", "sqlite", "chat")]
    found = declared(tools, called="td", categories=["sql", "sql_opt", "chat"]).descriptors
    filed = {each.name: each.category for each in found}
    assert filed == {"sql_opt_x": "sql_opt", "sql_run": "sql", "sqlite": "td", "chat": "chat"}


def test_patterns_take_and_leave_tools(declared) -> None:
    """`include` and `exclude` of a declaration choose the tools (S120)."""
    tools = [{**TOOL, "name": name} for name in ("base_read", "base_drop", "chat_ask")]
    found = declared(tools, include=["base_*"], exclude="*_drop").descriptors
    assert [each.name for each in found] == ["base_read"]


def test_nothing_that_a_tool_says_is_dropped(declared) -> None:
    """A tool keeps tags, secrets, requirements, category and side effects (S148)."""
    more = {
        "displayName": "Web search", "category": "research", "tags": ["web"], "requiredSecrets": ["SEARCH_KEY"],
        "requiredTools": ["fetch"], "hasSideEffects": True,
    }  # fmt: skip
    (found,) = declared([{**TOOL, **more}]).descriptors
    assert (found.title, found.category, found.tags) == ("Web search", "research", ("web",))
    assert (found.secrets, found.requires, found.has_side_effects) == (
        ("SEARCH_KEY",),
        ("fetch",),
        True,
    )


def test_a_source_says_where_a_tool_comes_from(load: Load) -> None:
    """A tool has format, path, place in the file and its own digest (S155)."""
    two = {"tools": [TOOL, {**TOOL, "name": "stop"}]}
    before = by_name(load({"far.tools.json": json.dumps(two)}))
    two["tools"][1]["description"] = "Stops at once."
    after = by_name(load({"far.tools.json": json.dumps(two)}))
    source = before["go"].source
    assert (source.format, source.pointer, source.path.endswith("far.tools.json")) == (
        "mcp",
        "go",
        True,
    )
    assert before["go"] == after["go"]
    assert before["stop"].source.content_hash != after["stop"].source.content_hash


def test_of_a_long_description_the_first_paragraph_leads(load: Load) -> None:
    said = (
        "Makes a report of all that was lent during a month.\n\nUsage: "
        + "a great deal of advice. " * 60
    )
    (found,) = load({"far.tools.json": json.dumps([{**TOOL, "description": said}])}).descriptors
    assert found.description.startswith("Makes a report")
    assert len(found.description) < 1_024
    assert found.content == said.strip()


def test_flat_lists_of_arguments_are_schemas(load: Load) -> None:
    arguments = [
        {"name": "to", "type": "string", "desc": "Whither"},
        {"name": "fast", "type": "boolean"},
    ]
    tool = {"name": "go", "description": "Goes.", "arguments": arguments}
    (found,) = load({"far.tools.json": json.dumps([tool])}).descriptors
    assert [(each.name, each.type, each.description) for each in found.parameters] == [
        ("to", "string", "Whither"), ("fast", "boolean", ""),
    ]  # fmt: skip


def test_a_tool_without_description_is_known_by_its_name(load: Load, codes) -> None:
    loaded = load({"far.tools.json": json.dumps([{"name": "list_openIssues"}])})
    assert [each.description for each in loaded.descriptors] == ["list open Issues"]
    assert codes(loaded) == ["warning tool-undescribed 1"]


def test_findings_name_the_line_of_their_tool(load: Load, codes) -> None:
    text = json.dumps(
        [TOOL, {"name": "silent", "inputSchema": {}}, {**TOOL, "name": "go"}, "x", {"name": 7}],
        indent=1,
    )
    loaded = load({"far.tools.json": text})
    lines = text.splitlines()
    assert ids(loaded) == ["tool:far.go", "tool:far.silent"]
    found = codes(loaded)
    assert (
        f"warning tool-undescribed {1 + next(n for n, line in enumerate(lines) if 'silent' in line)}"
        in found
    )
    assert [each.split()[1] for each in found].count("duplicate-id") == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[]", ["info tools-empty 1"]),
        ('{"tools": []}', ["info tools-empty 1"]),
        ('{"name": "a package", "version": 1}', ["error tools-shape 1"]),
        ("7", ["error tools-shape 1"]),
        ("{", ["error json-syntax 1"]),
        ('{"tools": [1]}', ["error tools-shape 1"]),
    ],
)
def test_what_is_no_list_is_said(load: Load, codes, text, expected) -> None:
    loaded = load({"far.tools.json": text})
    assert loaded.descriptors == ()
    assert codes(loaded) == expected


def test_a_catalogue_of_another_program_comes_in_with_what_is_not_there(declared) -> None:
    """Entries of a registry are read and marked as not available (S204)."""
    lines = "\n".join(
        json.dumps(
            {"kind": "extension", "name": name, "description": "Does it.", "available": False}
        )
        for name in ("one", "two")
    )
    found = declared(lines, name="registry.jsonl", format="catalogue").descriptors
    assert [(each.id, each.available) for each in found] == [
        ("extension:one", False),
        ("extension:two", False),
    ]


def test_tools_written_as_yaml_are_manifests(load: Load) -> None:
    """A tool in YAML is a manifest, and several are its list (S121)."""
    text = "capabilities:\n- {name: a, kind: tool, description: Does a.}\n- {name: b, kind: tool, description: Does b.}\n"
    assert ids(load({"td/CAPABILITY.yaml": text})) == ["tool:a", "tool:b"]
