"""capdisc tools --format typescript and python: typed functions for what was found."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

LANGUAGES = ("typescript", "python")
BOOK = {
    "kind": "tool",
    "name": "book-room",
    "description": 'Books a room. */ """ \\ and "more"',
    "inputSchema": {
        "type": "object",
        "required": ["room", "class"],
        "properties": {
            "room": {"type": "string", "description": "Which room."},
            "class": {"enum": ["small", "large", 3, True, None]},
            "guests": {"type": "array", "items": {"$ref": "#/$defs/person"}},
            "filter[day]": {"type": ["string", "null"], "format": "date", "default": "today"},
            "__proto__": {"oneOf": [{"type": "integer"}, {"type": "array", "items": {"type": "number"}}]},
            "place": {"type": "object", "properties": {"floor": {"type": "integer"}}, "required": ["floor"]},
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
            "range": {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "integer"}], "items": False,
                      "minItems": 2},
        },
        "$defs": {
            "person": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "friends": {"type": "array", "items": {"$ref": "#/$defs/person"}}},
            }
        },
    },
    "outputSchema": {"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}},
}  # fmt: skip
TYPESCRIPT = r'''
export type BookRoomArguments = {
  /** Which room. */
  room: string;
  class: "small" | "large" | 3 | true | null;
  guests?: BookRoomPersonType[];
  /** Format: date. Default: "today". */
  "filter[day]"?: string | null;
  __proto__?: number | number[];
  place?: {
    floor: number;
  };
  labels?: { [key: string]: string };
  range?: [number, number];
};
export type BookRoomPersonType = {
  name?: string;
  friends?: BookRoomPersonType[];
};
export type BookRoomResult = {
  id: number;
};
/**
 * Books a room. *\/ """ \ and "more"
 *
 * Id: tool:book-room
 */
export function book_room(input: BookRoomArguments): Promise<BookRoomResult> {
  return callTool("tool:book-room", input) as Promise<BookRoomResult>;
}
'''
PYTHON = r'''
class BookRoomArgumentsPlace(TypedDict):
    floor: int


BookRoomArguments = TypedDict("BookRoomArguments", {
    # Which room.
    "room": "str",
    "class": 'Literal["small", "large", 3, True, None]',
    "guests": NotRequired["list[BookRoomPersonType]"],
    # Format: date. Default: "today".
    "filter[day]": NotRequired["str | None"],
    "__proto__": NotRequired["int | list[float]"],
    "place": NotRequired["BookRoomArgumentsPlace"],
    "labels": NotRequired["dict[str, str]"],
    "range": NotRequired["list[int]"],
})


class BookRoomPersonType(TypedDict):
    name: NotRequired[str]
    friends: NotRequired[list[BookRoomPersonType]]


class BookRoomResult(TypedDict):
    id: int


def book_room(arguments: BookRoomArguments) -> BookRoomResult:
    """Books a room. */ \"\"\" \\ and "more"

    Id: tool:book-room
    """
    result: BookRoomResult = call_tool("tool:book-room", arguments)
    return result
'''


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


@pytest.mark.parametrize(("language", "text"), [("typescript", TYPESCRIPT), ("python", PYTHON)])
def test_a_function_has_types_for_all_that_its_schema_says(capdisc, index, language, text) -> None:
    index(BOOK)
    done = capdisc("tools", "book a room", "--format", language)
    assert (done.code, done.err) == (0, "")
    assert done.out.endswith(text)


def test_python_hands_id_and_arguments_to_the_function_of_the_caller(capdisc, data) -> None:
    stubs = run_python(capdisc("tools", "--format", "python").out)
    calls = []
    stubs["call_tool"] = lambda identifier, arguments: calls.append((identifier, dict(arguments)))
    stubs["base_tableList"]({"table": "artists"})
    stubs["wipe_disk"]()
    assert calls == [("tool:base_tableList", {"table": "artists"}), ("tool:wipe_disk", {})]


@pytest.mark.parametrize("language", LANGUAGES)
def test_only_capabilities_are_functions(capdisc, data, language) -> None:
    """The tools that find others are for a model; code calls what was found."""
    names = capdisc("tools", "erase a whole disk", "-k", "1", "--format", language, "--names").out
    assert names.split() == ["wipe_disk"]
    everything = capdisc("tools", "--format", language, "--names").out.split()
    static = [tool["id"] for tool in capdisc("tools", "--static").json["tools"]]
    assert len(everything) == len([each for each in static if not each.startswith("capdisc:")])


def test_names_that_no_language_takes_are_changed_and_mapped(capdisc, index) -> None:
    lines = [
        {**BOOK, "name": name}
        for name in ("class", "1st", "a-b", "a_b", "日本", "call_tool", "str")
    ]
    index(*lines)
    names = capdisc("tools", "--format", "python", "--map").json["names"]
    assert set(names.values()) == {f"tool:{line['name']}" for line in lines}
    assert all(name.isidentifier() and name.isascii() for name in names)
    assert not {"class", "call_tool", "str"} & set(names)
    assert capdisc("tools", "--format", "typescript", "--map").json["names"] == names


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_same_stubs_are_the_same_bytes(capdisc, data, language) -> None:
    first = capdisc("tools", "--format", language).out
    assert capdisc("tools", "--format", language).out == first


@pytest.mark.parametrize("language", [*LANGUAGES, "anthropic", "json"])
@pytest.mark.parametrize("limit", [400, 700, 3_000])
def test_a_budget_is_kept_and_what_is_left_out_is_named(capdisc, data, language, limit) -> None:
    from capdisc_indexer.lazy_imports import load_token_counter

    argv = ("tools", "list pictures", "-k", "20", "--format", language)
    whole = capdisc(*argv)
    done = capdisc(*argv, "--budget", str(limit))
    assert load_token_counter()(done.out) <= limit
    assert ("left out to fit" in done.err) == (done.out != whole.out)


def test_a_budget_for_no_function_is_refused(capdisc, data) -> None:
    done = capdisc("tools", "list pictures", "--format", "python", "--budget", "20")
    assert (done.code, done.out) == (2, "")
    assert "--budget" in done.err


@pytest.mark.parametrize("option", ["--all", "--auto", "--progressive", "--defer"])
def test_options_for_models_are_refused(capdisc, data, option) -> None:
    done = capdisc("tools", "--format", "python", option)
    assert (done.code, done.out) == (2, "")


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
