"""How do TypeScript and Python write the functions of tools and their types?

`tsc --strict` and `mypy --strict` take what this prints.
"""

from __future__ import annotations

import json
import keyword
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias

from capdisc_audit.stub_types import (
    UNKNOWN,
    ArrayType,
    LiteralType,
    MapType,
    ObjectType,
    PrimitiveType,
    PropertyType,
    ReferenceType,
    SchemaTypes,
    StubType,
    TupleType,
    UnionType,
)
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.text.normalization import strip_controls

_LINE_WIDTH = 96


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


_TYPESCRIPT_HEADER = """\
// Functions for the tools that capdisc found. `callTool` is yours: it calls the tool of this id.
declare function callTool(id: string, input: object): Promise<unknown>;
"""
_TYPESCRIPT_PRIMITIVES = {"integer": "number"}
_TYPESCRIPT_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PYTHON_HEADER = '''\
"""Functions for the tools that capdisc found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NotRequired, Protocol, TypeAlias, TypedDict


class CallTool(Protocol):
    """Calls the tool of this id."""

    def __call__(self, id: str, arguments: Mapping[str, object], /) -> Any: ...


call_tool: CallTool  # set it before the first call
'''
# A key in upper case might be the name of a type, which would hide it from the lines below.
_PYTHON_KEY = re.compile(r"_?[a-z][A-Za-z0-9_]*")
_HIDDEN_NAMES = frozenset(keyword.kwlist) | {"str", "int", "float", "bool", "list", "dict"}
_PYTHON_PRIMITIVES = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "null": "None",
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


# TypeScript


def _format_typescript(functions: Sequence[StubFunction]) -> str:
    """A module with the functions, whose `callTool` the caller provides."""
    type_names = TypeNames([function.name for function in functions])
    blocks = [_TypescriptFunction(function, type_names).text() for function in functions]
    return "\n".join([_TYPESCRIPT_HEADER, *(blocks or ["export {};\n"])])


class _TypescriptFunction:
    """The text of one function and its types, as it is written."""

    def __init__(self, function: StubFunction, type_names: TypeNames) -> None:
        self.function = function
        self.type_names = type_names
        self.declarations: list[str] = []

    def text(self) -> str:
        """The types, then the function with its comment."""
        function = self.function
        result, signature, argument = "unknown", "", "{}"
        if function.arguments:
            name = self._declare(function.arguments, "Arguments")
            signature = f"input: {name}" + ("" if function.needs_arguments else " = {}")
            argument = "input"
        if function.result:
            result = self._declare(function.result, "Result")
        call = f"callTool({_typescript_text(function.id)}, {argument})"
        cast = "" if result == "unknown" else f" as Promise<{result}>"
        comment = _typescript_comment(f"{function.description}\n\nId: {function.id}", "")
        return (
            "".join(self.declarations)
            + f"{comment}export function {function.name}({signature}): Promise<{result}> {{\n"
            + f"  return {call}{cast};\n}}\n"
        )

    def _declare(self, types: SchemaTypes, role: str) -> str:
        names = self.type_names.claim_all(types, self.function.name, role)
        for pointer, member in types.named.items():
            text = _TypescriptTypes(types, names).text(member, "")
            self.declarations.append(f"export type {names[pointer]} = {text};\n")
        return names["#"]


@frozen(kw_only=False)
class _TypescriptTypes:
    """Types of one schema as text; `names` are those of the references."""

    types: SchemaTypes
    names: Mapping[str, str]

    def text(self, member: StubType, indent: str) -> str:
        """The type; `indent` stands before the line on which it begins."""
        member = self.types.resolve(member)
        text = "unknown"
        if isinstance(member, PrimitiveType):
            text = _TYPESCRIPT_PRIMITIVES.get(member.name, member.name)
        elif isinstance(member, LiteralType):
            text = _typescript_text(member.value)
        elif isinstance(member, UnionType):
            texts = dict.fromkeys(self.text(option, indent) for option in member.options)
            text = "unknown" if "unknown" in texts else " | ".join(texts)
        elif isinstance(member, ReferenceType):
            text = self.names[member.pointer]
        elif isinstance(member, ArrayType):
            text = self._list(member.item, indent)
        elif isinstance(member, TupleType):
            text = self._tuple(member, indent)
        elif isinstance(member, MapType):
            value = self.text(member.value, indent) if member.value else "never"
            text = f"{{ [key: string]: {value} }}"
        elif isinstance(member, ObjectType):
            text = self._object(member, indent)
        return text

    def _list(self, item: StubType, indent: str) -> str:
        text = self.text(item, indent)
        return f"({text})[]" if isinstance(self.types.resolve(item), UnionType) else f"{text}[]"

    def _tuple(self, member: TupleType, indent: str) -> str:
        items = [
            self.text(item, indent) if index < member.required else self._optional(item, indent)
            for index, item in enumerate(member.items)
        ]
        tail = [f"...{self._list(member.tail, indent)}"] if member.tail else []
        return f"[{', '.join([*items, *tail])}]"

    def _optional(self, item: StubType, indent: str) -> str:
        return f"({self.text(item, indent)})?"

    def _object(self, member: ObjectType, indent: str) -> str:
        inner = f"{indent}  "
        lines = [self._property(declared, inner) for declared in member.properties]
        open_line = f"{inner}[key: string]: unknown;\n" if member.is_open else ""
        return f"{{\n{''.join(lines)}{open_line}{indent}}}"

    def _property(self, declared: PropertyType, indent: str) -> str:
        is_plain = _TYPESCRIPT_KEY.fullmatch(declared.name) and declared.name != "new"
        key = declared.name if is_plain else _typescript_text(declared.name)
        mark = "" if declared.required else "?"
        comment = _typescript_comment(declared.description, indent)
        return f"{comment}{indent}{key}{mark}: {self.text(declared.type, indent)};\n"


def _typescript_text(value: str | int | float | bool | None) -> str:
    is_visible = not isinstance(value, str) or value.isprintable()
    return json.dumps(value, ensure_ascii=not is_visible)


def _typescript_comment(text: str, indent: str) -> str:
    """The text as a comment that it cannot end."""
    lines = comment_lines(text.replace("*/", "*\\/"), len(indent) + 3)
    if len(lines) == 1:
        return f"{indent}/** {lines[0]} */\n"
    body = "".join(f"{indent} * {line}".rstrip() + "\n" for line in lines)
    return f"{indent}/**\n{body}{indent} */\n" if lines else ""


# Python


def _format_python(functions: Sequence[StubFunction]) -> str:
    """A module with the functions, whose `call_tool` the caller sets."""
    type_names = TypeNames([function.name for function in functions])
    blocks = [_PythonFunction(function, type_names).text() for function in functions]
    return "\n\n".join([_PYTHON_HEADER, *blocks])


class _PythonFunction:
    """The text of one function and its types, as it is written."""

    def __init__(self, function: StubFunction, type_names: TypeNames) -> None:
        self.function = function
        self.type_names = type_names
        self.declarations: list[str] = []

    def text(self) -> str:
        """The types, then the function with its docstring."""
        function = self.function
        result, signature, argument = "Any", "", "{}"
        if function.arguments:
            name = self._declare(function.arguments, "Arguments")
            is_needed = function.needs_arguments
            signature = f"arguments: {name}" + ("" if is_needed else " | None = None")
            argument = "arguments" if is_needed else "arguments or {}"
        if function.result:
            result = self._declare(function.result, "Result")
        call = f"call_tool({_python_text(function.id)}, {argument})"
        body = (
            f"    return {call}\n"
            if result == "Any"
            else f"    result: {result} = {call}\n    return result\n"
        )
        doc = _python_docstring(f"{function.description}\n\nId: {function.id}")
        head = f"def {function.name}({signature}) -> {result}:\n"
        return "\n\n".join([*self.declarations, head + doc + body])

    def _declare(self, types: SchemaTypes, role: str) -> str:
        """The name of the whole type; Any where there is nothing to say."""
        names = self.type_names.claim_all(types, self.function.name, role)
        for pointer, member in types.named.items():
            if isinstance(member, ObjectType):
                self._declare_object(types, names, names[pointer], member)
            else:
                text = self._expression(types, names, member, names[pointer])
                self.declarations.append(f"{names[pointer]}: TypeAlias = {_python_text(text)}\n")
        return names["#"]

    def _declare_object(
        self, types: SchemaTypes, names: Mapping[str, str], name: str, member: ObjectType
    ) -> None:
        fields = [
            (declared, self._expression(types, names, declared.type, f"{name} {declared.name}"))
            for declared in member.properties
        ]
        is_plain = all(
            _PYTHON_KEY.fullmatch(declared.name) and declared.name not in _HIDDEN_NAMES
            for declared, _ in fields
        )
        format_class = _python_class if is_plain else _python_call
        self.declarations.append(format_class(name, fields))

    def _expression(
        self, types: SchemaTypes, names: Mapping[str, str], member: StubType, path: str
    ) -> str:
        """The type as an expression; objects in it are declared before, named after their path."""
        member = types.resolve(member)
        text = "Any"
        if isinstance(member, PrimitiveType):
            text = _PYTHON_PRIMITIVES[member.name]
        elif isinstance(member, LiteralType):
            text = _python_literals([member])
        elif isinstance(member, ReferenceType):
            text = names[member.pointer]
        elif isinstance(member, UnionType):
            text = self._union(types, names, member.options, path)
        elif isinstance(member, ArrayType):
            text = f"list[{self._expression(types, names, member.item, path)}]"
        elif isinstance(member, TupleType):
            # JSON has lists alone, and a list cannot say which item has which type.
            items = [*member.items, *([member.tail] if member.tail else [])]
            text = f"list[{self._union(types, names, items, path)}]"
        elif isinstance(member, MapType):
            value = self._expression(types, names, member.value or UNKNOWN, path)
            text = f"dict[str, {value}]"
        elif isinstance(member, ObjectType):
            text = self.type_names.claim(path)
            self._declare_object(types, names, text, member)
        return text

    def _union(
        self, types: SchemaTypes, names: Mapping[str, str], options: Sequence[StubType], path: str
    ) -> str:
        resolved = [types.resolve(option) for option in options]
        literals = [option for option in resolved if isinstance(option, LiteralType)]
        texts = [_python_literals(literals)] if literals else []
        texts += [
            self._expression(types, names, option, path)
            for option in resolved
            if not isinstance(option, LiteralType)
        ]
        return "Any" if "Any" in texts else " | ".join(dict.fromkeys(texts))


def _python_literals(literals: Sequence[LiteralType]) -> str:
    values = [
        _python_text(literal.value) if isinstance(literal.value, str) else repr(literal.value)
        for literal in literals
    ]
    return f"Literal[{', '.join(values)}]"


def _python_text(text: str) -> str:
    is_plain = text.isprintable() and not set(text) & {"'", '"', "\\"}
    return f'"{text}"' if is_plain else repr(text)


# Members of an object with their types.
_Fields: TypeAlias = Sequence[tuple[PropertyType, str]]


def _python_class(name: str, fields: _Fields) -> str:
    lines = [
        *_python_comments(fields, lambda declared, text: f"    {declared.name}: {text}\n"),
    ]
    return f"class {name}(TypedDict):\n{''.join(lines) or '    pass' + chr(10)}"


def _python_call(name: str, fields: _Fields) -> str:
    """The form for keys that no attribute can have; it is evaluated, so types stand in quotes."""
    lines = _python_comments(
        fields, lambda declared, text: f"    {_python_text(declared.name)}: {text},\n", quote=True
    )
    return f"{name} = TypedDict({_python_text(name)}, {{\n{''.join(lines)}}})\n"


def _python_comments(
    fields: _Fields, format_line: Callable[[PropertyType, str], str], quote: bool = False
) -> Iterator[str]:
    for declared, text in fields:
        for line in comment_lines(declared.description, 6):
            yield f"    # {line}".rstrip() + "\n"
        shown = _python_text(text) if quote else text
        yield format_line(declared, shown if declared.required else f"NotRequired[{shown}]")


def _python_docstring(text: str) -> str:
    """The text as a docstring that it cannot end."""
    safe_text = text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    lines = comment_lines(safe_text, 4)
    body = "\n".join(f"    {line}".rstrip() for line in lines).lstrip()
    return f'    """{body}\n    """\n'


FORMATS: Mapping[str, Callable[[Sequence[StubFunction]], str]] = MappingProxyType(
    {"typescript": _format_typescript, "python": _format_python}
)
