"""Which tool a call means, and its arguments under the names that the tool takes."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TypedDict

from capdisc_indexer.model.errors import InputError, UsageError
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.json_types import Arguments
from capdisc_indexer.text.normalization import one_line
from capdisc_indexer.text.similar_names import compact_name, nearest_names
from capdisc_indexer.tools.tool_types import Tool
from capdisc_indexer.validation.arguments import MAX_BYTES, fill_defaults, find_problems, too_deep


class _ForeignNames(TypedDict):
    """Names of other registries of tools: of our `parameters` by our names, and of `tools` that
    do not exist here, with the hint that says what does their work.
    """

    parameters: dict[str, list[str]]
    tools: dict[str, str]


@cache
def _load_foreign_names() -> _ForeignNames:
    import tomllib  # which most calls do not need

    text = Path(__file__).with_name("foreign_names.toml").read_text(encoding="utf-8")
    names: _ForeignNames = tomllib.loads(text)  # type: ignore[assignment]
    return names


@frozen(kw_only=True)
class BoundCall:
    """A tool with arguments that fit it; `notices` names the parameters that were understood under
    another name.
    """

    tool: Tool
    arguments: Arguments
    notices: tuple[str, ...] = ()


def bind_arguments(tools: Mapping[str, Tool], name: str, arguments: object) -> BoundCall:
    """The tool of this name with the arguments, defaults filled in. Raises UsageError for a name
    that no tool has, and for arguments that the tool does not take.
    """
    tool = _require_tool(tools, name)
    _check_size(arguments)
    named_arguments = arguments
    notices: tuple[str, ...] = ()
    if isinstance(arguments, Mapping):
        named_arguments, notices = _rename_arguments(tool, arguments)
    problems = find_problems(tool.input_schema, named_arguments)
    if problems or not isinstance(named_arguments, Mapping):
        # By the name that was typed, which may be an alias of the tool.
        texts = [re.sub(r"^([\w.]+): (is|must|has) ", r"\1 \2 ", text) for text in problems]
        raise UsageError(
            f"the arguments do not fit {one_line(name, 80)}: {'; '.join(texts)}",
            f"it takes: {describe_parameters(tool)}",
        )
    return BoundCall(
        tool=tool, arguments=fill_defaults(tool.input_schema, named_arguments), notices=notices
    )


def _check_size(arguments: object) -> None:
    """Raises UsageError for arguments of more than MAX_BYTES, and for text that is not Unicode."""
    if too_deep(arguments):
        return  # `find_problems` reports it
    try:
        size = len(json.dumps(arguments, ensure_ascii=False, default=str).encode())
    except UnicodeEncodeError as error:
        raise UsageError(
            "the arguments hold half of a surrogate pair", "write the whole character"
        ) from error
    if size > MAX_BYTES:
        raise UsageError(
            f"the arguments have more than {MAX_BYTES // 1024} KiB", "give names, not contents"
        )


def describe_parameters(tool: Tool) -> str:
    """The names of the parameters, optional ones in brackets.

    >>> from capdisc_indexer.tools.discovery_tools import TOOLS
    >>> describe_parameters(TOOLS[2])
    '[query], [limit]'
    """
    required_names = tool.input_schema.get("required", ())
    names = [
        name if name in required_names else f"[{name}]" for name in tool.input_schema["properties"]
    ]
    return ", ".join(names) or "nothing"


def match_tool(tools: Mapping[str, Tool], name: str) -> Tool | None:
    """The tool of this name or alias, without regard to case and separators."""
    tools_by_name = {
        compact_name(alias): tool
        for tool in tools.values()
        for alias in (tool.name, *tool.aliases)
    }
    return tools_by_name.get(compact_name(name))


def _require_tool(tools: Mapping[str, Tool], name: str) -> Tool:
    if tool := match_tool(tools, name):
        return tool
    for foreign_name, hint in _load_foreign_names()["tools"].items():
        if compact_name(foreign_name) == compact_name(name):
            raise InputError(f"{foreign_name} is not a discovery tool of capdisc", hint)
    near = nearest_names(
        name, [*tools, *(alias for tool in tools.values() for alias in tool.aliases)]
    )
    suggestion = f"did you mean: {', '.join(near)}? " if near else ""
    commands = "capdisc tools --all --names lists them, capdisc search finds capabilities"
    raise UsageError(
        f"there is no discovery tool {one_line(name, 80)!r}", f"{suggestion}{commands}"
    )


def _rename_arguments(tool: Tool, arguments: Arguments) -> tuple[Arguments, tuple[str, ...]]:
    """The arguments under the tool's own names, and a notice for each that had another."""
    own_names = tool.input_schema["properties"]
    renamed = {name: value for name, value in arguments.items() if name in own_names}
    notices = []
    for name, value in arguments.items():
        if name in own_names:
            continue
        free_names = (own_name for own_name in own_names if own_name not in renamed)
        new_name = next((free for free in free_names if _is_synonym(name, free)), name)
        renamed[new_name] = value
        if new_name != name:
            notices.append(f"{tool.name}: took {one_line(name, 80)} for {new_name}")
    return renamed, tuple(notices)


def _is_synonym(name: str, parameter_name: str) -> bool:
    synonyms = (parameter_name, *_load_foreign_names()["parameters"].get(parameter_name, ()))
    return compact_name(name) in map(compact_name, synonyms)
