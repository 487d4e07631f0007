"""How does code call what was found: typed functions in TypeScript or Python, one for each tool.

Every function hands its id and arguments to one function that the caller provides. The texts come
from files that nobody vouches for: names are made of ASCII letters, everything else stands in
escaped literals or in comments that it cannot leave.
"""

from __future__ import annotations

import keyword
import re
import textwrap
from collections.abc import Mapping, Sequence

from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.text.normalization import strip_controls
from capdisc_indexer.tools.definitions.builders import Definition
from capdisc_indexer.tools.definitions.parameter_schema import (
    NameRule,
    assign_names,
    object_schema,
)
from capdisc_indexer.tools.definitions.stub_types import (
    UNKNOWN,
    ObjectType,
    SchemaTypes,
    read_types,
)
from capdisc_indexer.validation.arguments.schema_walk import as_mapping

STUB_LANGUAGES = ("typescript", "python")
_LINE_WIDTH = 96
# Words that no function may be called in one of the languages, and names that the stubs use. One
# list, so that a tool has the same name in both.
_RESERVED_NAMES = frozenset(keyword.kwlist) | frozenset(
    """
    abstract any arguments as async await bigint boolean bool break callTool call_tool CallTool case
    catch class const continue debugger declare default delete dict do else enum eval export exports
    extends false finally float for function get if implements import in instanceof int interface
    let list Literal Mapping module namespace never new NotRequired null number object Object of
    package private Promise protected Protocol public readonly require return set static str string
    super switch symbol this throw true try type TypeAlias TypedDict typeof undefined unknown var
    void while with yield Any cast NaN Infinity globalThis print_function annotations
    """.split()
)
_NAMES = NameRule(
    refused=r"[^A-Za-z0-9_]", max_length=64, first=r"_?[A-Za-z]", reserved=_RESERVED_NAMES
)


@frozen(kw_only=True)
class StubFunction:
    """One tool as a function. `arguments` is None for a function that takes none, `result` where
    nobody says what it returns.
    """

    name: str
    id: str
    description: str
    arguments: SchemaTypes | None
    result: SchemaTypes | None

    @property
    def needs_arguments(self) -> bool:
        """Whether a call without any argument is wrong."""
        root = self.arguments.named["#"] if self.arguments else UNKNOWN
        return isinstance(root, ObjectType) and any(member.required for member in root.properties)


def format_stubs(language: str, definitions: Sequence[Definition]) -> tuple[str, dict[str, str]]:
    """A module in a language of STUB_LANGUAGES, and the name of the function of each id."""
    from capdisc_indexer.tools.definitions.stub_languages import FORMATS

    names = assign_names(definitions, _NAMES)
    functions = [_read_function(names[definition.id], definition) for definition in definitions]
    return FORMATS[language](functions), names


def _read_function(name: str, definition: Definition) -> StubFunction:
    # Arguments are always an object, whatever else their schema lets through.
    schema = {
        key: value for key, value in object_schema(definition.schema).items() if key != "nullable"
    }
    extra = schema.get("additionalProperties")
    takes_arguments = (
        schema["properties"]
        or as_mapping(schema.get("patternProperties"))
        or extra is True
        or isinstance(extra, Mapping)
    )
    return StubFunction(
        name=name,
        id=definition.id,
        description=definition.description,
        arguments=read_types(schema) if takes_arguments else None,
        result=read_types(definition.output_schema) if definition.output_schema else None,
    )


class TypeNames:
    """The names of types that a module has so far."""

    def __init__(self, taken: Sequence[str]) -> None:
        self._taken = set(taken)

    def claim(self, *words: str) -> str:
        """A name made of the words that nothing else has."""
        parts = [part for word in words for part in re.split("[^A-Za-z0-9]+", word)]
        base = "".join(part[:1].upper() + part[1:] for part in parts)[:80]
        base = base if base[:1].isalpha() else f"T{base}"
        number = 1
        name = base
        while name in self._taken:
            number += 1
            name = f"{base}{number}"
        self._taken.add(name)
        return name

    def claim_all(self, types: SchemaTypes, function: str, role: str) -> dict[str, str]:
        """A name for each pointer of a schema."""
        return {
            pointer: self.claim(function, role)
            if pointer == "#"
            else self.claim(function, pointer.rpartition("/")[2], "Type")
            for pointer in types.named
        }


def comment_lines(text: str, indent: int) -> list[str]:
    """The text in lines that fit, its paragraphs kept apart."""
    lines: list[str] = []
    for paragraph in strip_controls(text).strip().splitlines():
        wrapped = textwrap.wrap(
            paragraph,
            max(_LINE_WIDTH - indent, 40),
            break_long_words=False,
            break_on_hyphens=False,
        )
        lines += wrapped or ([""] if lines and lines[-1] else [])
    return lines
