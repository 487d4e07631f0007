"""Python modules: a function for each public function, and each documented public method, with its
signature and what its docstring says.

The module is parsed and never imported, so nothing of it runs.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, TypeAlias

from capdisc_data.refusals import catch_refusal, refuse, text_of
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.types import Finding, LoadedFile, Severity
from capdisc_indexer.sources.formats.manifest import DEFAULT_CATEGORY
from capdisc_indexer.sources.formats.manifest_adapter import (
    CapabilityDraft,
    categorize_names,
    is_listed,
    is_wanted,
    merge_drafts,
)
from capdisc_indexer.sources.formats.naming_rules import name_in_words, plain_part
from capdisc_indexer.sources.formats.parsed_capability import file_finding
from capdisc_indexer.sources.readers.file_bytes import mark_finding
from capdisc_indexer.sources.readers.yaml_nodes import Json
from capdisc_indexer.sources.scan.scanned_files import FoundFile, printable_path
from capdisc_indexer.text.normalization import one_line, split_lead

if TYPE_CHECKING:
    from docstring_parser import Docstring

_DASHED_ARGUMENT = re.compile(r"^([ \t]+)(\w+)[ \t]+-[ \t]+", re.MULTILINE)
# Headings before the first line that says something ("Tool:", "Overview:").
_HEADING_LINES = re.compile(r"\A(?:\w[\w ]*:[ \t]*\n\s*)+(?=\w)")
_MAX_FUNCTIONS = 2_000
_MAX_TYPE_DEPTH = 4
_MAX_SIGNATURE = 1_000
_MAX_PACKAGE_DEPTH = 16
# Types of the standard library, as JSON has them.
_PLAIN_TYPES: Mapping[str, dict[str, Json]] = {
    "str": {"type": "string"},
    "bytes": {"type": "string"},
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "Decimal": {"type": "number"},
    "bool": {"type": "boolean"},
    "Path": {"type": "string", "format": "path"},
    "UUID": {"type": "string", "format": "uuid"},
    "datetime": {"type": "string", "format": "date-time"},
    "date": {"type": "string", "format": "date"},
    "None": {"type": "null"},
    "Any": {},
    "object": {},
}
_ARRAYS = frozenset(
    "list List tuple Tuple set Set frozenset Sequence Iterable Iterator Collection".split()
)
_OBJECTS = frozenset("dict Dict Mapping MutableMapping TypedDict".split())
# The program fills these in, not the caller: by their type, or by their default, as FastMCP,
# LangChain, the agents' SDKs and FastAPI have it.
_INJECTED_TYPES = frozenset(
    """
    Context RunContext RunContextWrapper ToolContext ToolRuntime InjectedState InjectedStore
    InjectedToolArg InjectedToolCallId RunnableConfig
    """.split()
)
_INJECTED_DEFAULTS = frozenset({"Depends", "CurrentContext"})
# They give a value to their caller in place of a call.
_NOT_CALLED = frozenset({"property", "cached_property", "overload", "setter", "getter", "deleter"})
_Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


@frozen
class _PublicFunction:
    """A function with its name inside the module, and whether its first argument is its object."""

    name: str
    node: _Function
    is_method: bool = False


@frozen
class _NamedFunction:
    """A function with the name and category of its capability."""

    function: _PublicFunction
    name: str
    category: str


@catch_refusal
def load(file: FoundFile, data: bytes) -> LoadedFile:
    """Every public function of the module, or the finding that says why it cannot be parsed."""
    text = text_of(file, data)
    try:
        with warnings.catch_warnings():  # of escapes in texts, for the author and not the reader
            warnings.simplefilter("ignore")
            module = ast.parse(text)
    except SyntaxError as error:
        message = f"not Python: {one_line(error.msg, 120)}"
        refuse(file, "python-syntax", message, "correct the place", error.lineno or 1)
    except (ValueError, RecursionError, MemoryError):
        message = "the module is nested too deep to be parsed"
        refuse(file, "python-syntax", message, "make it flatter")
    return merge_drafts(_draft_functions(file, module), file, mark_finding(data, file.path))


def _draft_functions(file: FoundFile, module: ast.Module) -> Iterator[CapabilityDraft | Finding]:
    module_name = _module_name(file)
    drafts: dict[str, CapabilityDraft] = {}
    for named in _name_functions(file, module_name, list(_public_functions(module))):
        if is_wanted(named.name, file.options) and len(drafts) <= _MAX_FUNCTIONS:
            # Of several definitions the last one counts, as when the module is imported.
            drafts[named.name.casefold()] = _draft_function(file, module_name, named)
    yield from list(drafts.values())[:_MAX_FUNCTIONS]
    if len(drafts) > _MAX_FUNCTIONS:
        message = f"the first {_MAX_FUNCTIONS:,} functions are read"
        hint = "declare include = [...]"
        yield file_finding(file, Severity.WARNING, "too-many-items", message, hint)


def _name_functions(
    file: FoundFile, module_name: str, functions: Sequence[_PublicFunction]
) -> Iterator[_NamedFunction]:
    """The functions that begin with the declared `prefix`, each named by what follows it, and
    filed under the module; or, where prefixes or `categories` are declared, as tools are.
    """
    prefix = file.options.get("prefix", "")
    names = {
        function.name: function.name.removeprefix(prefix)
        for function in functions
        if function.name.startswith(prefix) and function.name != prefix
    }
    categories: dict[str, str] = {}
    if prefix or file.options.get("categories"):
        categories = categorize_names(list(names.values()), file.options, "", singles=bool(prefix))
    for function in functions:
        if name := names.get(function.name):
            category = categories.get(name, DEFAULT_CATEGORY)
            is_filed = category != DEFAULT_CATEGORY
            yield _NamedFunction(function, name, category if is_filed else module_name)


def _module_name(file: FoundFile) -> str:
    """The name that the module is imported by: the folders with an `__init__.py` above it, and its
    own; a declared name of the file stands for it, one of a folder before it.
    """
    if file.is_alone and (name := plain_part(file.name)):
        return name
    path = PurePath(file.path)
    parts = [] if path.stem == "__init__" else [printable_path(path.stem)]
    for folder in list(path.parents)[:_MAX_PACKAGE_DEPTH]:
        if not Path(folder, "__init__.py").exists():
            break
        parts.insert(0, printable_path(folder.name))
    return plain_part(".".join(filter(None, [file.name, *parts]))) or "module"


def _public_functions(module: ast.Module) -> Iterator[_PublicFunction]:
    for node in module.body:
        if isinstance(node, _Function) and _is_public(node):
            yield _PublicFunction(node.name, node)
        elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield from _public_methods(node)


def _public_methods(node: ast.ClassDef) -> Iterator[_PublicFunction]:
    methods = [member for member in node.body if isinstance(member, _Function)]
    for method in methods:
        if _is_public(method) and ast.get_docstring(method):
            is_static = "staticmethod" in _decorator_names(method)
            yield _PublicFunction(f"{node.name}.{method.name}", method, not is_static)


def _is_public(node: _Function) -> bool:
    is_named_so = not node.name.startswith(("_", "test_"))
    return is_named_so and not _decorator_names(node) & _NOT_CALLED


def _decorator_names(node: _Function) -> set[str]:
    called = (item.func if isinstance(item, ast.Call) else item for item in node.decorator_list)
    return {
        item.attr if isinstance(item, ast.Attribute) else item.id
        for item in called
        if isinstance(item, ast.Attribute | ast.Name)
    }


def _draft_function(file: FoundFile, module_name: str, named: _NamedFunction) -> CapabilityDraft:
    from docstring_parser import parse

    function, node = named.function, named.function.node
    # Some libraries write `name - text` in a section of arguments; the parser knows `name: text`.
    written = _HEADING_LINES.sub("", ast.get_docstring(node) or "", count=1)
    docstring = parse(_DASHED_ARGUMENT.sub(r"\1\2: ", written))
    described = "\n\n".join(
        filter(None, [docstring.short_description, docstring.long_description])
    )
    words = name_in_words(named.name.rpartition(".")[2])
    short, content = split_lead(described or f"{words[:1].upper()}{words[1:]}.")
    signature = _signature(function)
    returned = docstring.returns.description if docstring.returns else ""
    fields: dict[str, Json] = {
        "kind": "function",
        "name": named.name,
        "category": named.category,
        "description": one_line(short, 1_000),
        "usageHint": one_line(_import_line(module_name, function.name), 200),
        "inputSchema": _input_schema(function, docstring, file.options),
        "content": "\n\n".join(
            filter(
                None,
                [
                    content,
                    f"```python\n{signature}\n```",
                    f"Returns: {returned}" if returned else "",
                ],
            )
        ),
    }
    findings: tuple[Finding, ...] = ()
    if not described:
        message = f"the function {function.name[:64]} has no docstring"
        hint = "say what it does and when to use it"
        findings = (
            file_finding(file, Severity.INFO, "tool-undescribed", message, hint, node.lineno),
        )
    return CapabilityDraft(
        fields=fields,
        line=node.lineno,
        prefix=f"function:{module_name}.",
        run=_declared_run(file.options, named.name),
        extra={"module": module_name},
        findings=findings,
    )


def _declared_run(options: Mapping[str, object], name: str) -> dict[str, Json] | None:
    """The command of the declaration, with the name of the function in place of `{name}`; it reads
    the arguments as JSON.
    """
    words = options.get("run")
    if not isinstance(words, list):
        return None
    command: list[Json] = [str(word).replace("{name}", name) for word in words]
    return {"command": command, "stdin": "json"}


def _import_line(module_name: str, name: str) -> str:
    return f"from {module_name} import {name.partition('.')[0]}"


def _signature(function: _PublicFunction) -> str:
    node = function.node
    keyword = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    text = f"{keyword} {node.name}({ast.unparse(_without_values(node.args))}){returns}"
    return text[:_MAX_SIGNATURE]


def _without_values(arguments: ast.arguments) -> ast.arguments:
    """The arguments with `...` for every default that is a text: it may be a secret."""

    def masked(value: ast.expr | None) -> ast.expr | None:
        is_plain = isinstance(value, ast.Constant) and not isinstance(value.value, str | bytes)
        return value if value is None or is_plain else ast.Constant(value=...)

    return ast.arguments(
        posonlyargs=arguments.posonlyargs,
        args=arguments.args,
        vararg=arguments.vararg,
        kwonlyargs=arguments.kwonlyargs,
        kw_defaults=[masked(value) for value in arguments.kw_defaults],
        kwarg=arguments.kwarg,
        defaults=[value for value in map(masked, arguments.defaults) if value is not None],
    )


def _input_schema(
    function: _PublicFunction, docstring: Docstring, options: Mapping[str, object]
) -> dict[str, Json]:
    """The schema of the parameters that a caller gives: without those that the declaration has in
    `omit`, and those that the program fills in.
    """
    arguments = function.node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    first_default = len(positional) - len(arguments.defaults)
    defaults: dict[str, ast.expr] = {
        argument.arg: value
        for argument, value in (
            *zip(positional[first_default:], arguments.defaults, strict=True),
            *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
        )
        if value is not None
    }
    descriptions = {entry.arg_name: entry.description or "" for entry in docstring.params}
    named = [
        argument
        for argument in (*positional[1 if function.is_method else 0 :], *arguments.kwonlyargs)
        if not is_listed(argument.arg, options.get("omit"))
        and not _is_injected(argument, defaults.get(argument.arg))
    ]
    properties: dict[str, Json] = {}
    for argument in named:
        described = one_line(descriptions.get(argument.arg, ""), 300)
        note: dict[str, Json] = {"description": described} if described else {}
        type_schema = _type_schema(argument.annotation, 0)
        default = _plain_default(defaults.get(argument.arg), type_schema)
        properties[argument.arg] = {**type_schema, **note, **default}
    required: list[Json] = [a.arg for a in named if a.arg not in defaults]
    schema: dict[str, Json] = {"type": "object", "properties": properties}
    return {**schema, "required": required} if required else schema


def _is_injected(argument: ast.arg, default: ast.expr | None) -> bool:
    """Whether the program fills the parameter in: its name begins with an underscore, or its type
    or default says so.
    """
    annotation = ast.unparse(argument.annotation) if argument.annotation else ""
    return (
        argument.arg.startswith("_")
        or not _INJECTED_TYPES.isdisjoint(re.findall(r"\w+", annotation))
        or (isinstance(default, ast.Call) and _last_name(default.func) in _INJECTED_DEFAULTS)
    )


def _plain_default(value: ast.expr | None, schema: Mapping[str, Json]) -> dict[str, Json]:
    """The default of a parameter as a key of its schema: a number, a truth value, or one of the
    texts that the schema lists. Any other text may be a secret, and None says nothing.
    """
    constant = value.value if isinstance(value, ast.Constant) else None
    choices = schema.get("enum")
    if isinstance(constant, bool | int | float):
        return {"default": constant}
    if isinstance(constant, str) and isinstance(choices, list) and constant in choices:
        return {"default": constant}
    return {}


def _type_schema(annotation: ast.expr | None, depth: int) -> dict[str, Json]:
    """The JSON schema of an annotation; for an uncommon type, its own text as the title."""
    schema: dict[str, Json] = {}
    if annotation is None or depth > _MAX_TYPE_DEPTH:
        return schema
    if isinstance(annotation, ast.Constant):
        schema = _quoted_schema(annotation.value, depth)
    elif isinstance(annotation, ast.BinOp) and isinstance(annotation.op, ast.BitOr):
        schema = _any_of([annotation.left, annotation.right], depth)
    elif isinstance(annotation, ast.Subscript):
        schema = _generic_schema(annotation, depth)
    else:
        schema = _named_schema(annotation)
    return schema


def _named_schema(annotation: ast.expr) -> dict[str, Json]:
    name = _last_name(annotation)
    if name in _PLAIN_TYPES:
        return dict(_PLAIN_TYPES[name])
    if name in _ARRAYS | _OBJECTS:
        return {"type": "array" if name in _ARRAYS else "object"}
    return {"title": one_line(ast.unparse(annotation), 80)}


def _quoted_schema(value: object, depth: int) -> dict[str, Json]:
    """The schema of an annotation that is None or written as a text."""
    if value is None:
        return {"type": "null"}
    try:
        inner = ast.parse(value, mode="eval").body if isinstance(value, str) else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        inner = None
    return _type_schema(inner, depth + 1)


def _generic_schema(annotation: ast.Subscript, depth: int) -> dict[str, Json]:
    name, inner = _last_name(annotation.value), annotation.slice
    members = inner.elts if isinstance(inner, ast.Tuple) else [inner]
    values = [member.value for member in members if isinstance(member, ast.Constant)]
    if name == "Literal":
        return {"enum": [value for value in values if isinstance(value, str | int | bool)]}
    if name == "Annotated":
        described = next((value for value in values if isinstance(value, str)), "")
        note: dict[str, Json] = {"description": one_line(described, 300)} if described else {}
        return {**_type_schema(members[0], depth + 1), **note}
    if name in ("Optional", "Union"):
        nothing = [ast.Constant(value=None)] if name == "Optional" else []
        return _any_of([*members, *nothing], depth)
    if name in _ARRAYS:
        return {"type": "array", "items": _type_schema(members[0], depth + 1)}
    return _named_schema(annotation.value if name in _OBJECTS else annotation)


def _any_of(members: list[ast.expr], depth: int) -> dict[str, Json]:
    schemas = [_type_schema(member, depth + 1) for member in members]
    named_types = [schema["type"] for schema in schemas if set(schema) == {"type"}]
    if len(named_types) == len(schemas) and all(isinstance(name, str) for name in named_types):
        return {"type": named_types}
    options: list[Json] = [*schemas]
    return {"anyOf": options}


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""
