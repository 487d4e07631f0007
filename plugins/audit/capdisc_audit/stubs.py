"""Typed functions in TypeScript or Python for code that calls what was found, one for each tool.

Every function passes its id and arguments to one function that the caller provides. The texts come
from untrusted files: names consist of ASCII letters, and everything else goes into escaped
literals or into comments that it cannot leave.
"""

from __future__ import annotations

import keyword
from collections.abc import Mapping, Sequence

from capdisc_audit.stub_languages import FORMATS, StubFunction
from capdisc_audit.stub_types import read_types
from capdisc_indexer.tools.function_definitions import Definition
from capdisc_indexer.tools.parameter_schema import (
    NameRule,
    assign_names,
    object_schema,
)
from capdisc_indexer.validation.schema_walk import as_mapping

STUB_LANGUAGES = ("typescript", "python")
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


def format_stubs(language: str, definitions: Sequence[Definition]) -> tuple[str, dict[str, str]]:
    """A module in a language of STUB_LANGUAGES, and the name of the function of each id."""
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
