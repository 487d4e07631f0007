"""What a discovery tool is, and what it may look at while it answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from capdisc_indexer.encoders import Encoder
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.json_types import JsonSchema
from capdisc_indexer.model.types import Descriptor
from capdisc_indexer.retrieval.graph_expansion import IsAvailable
from capdisc_indexer.store.snapshot import Index

# The words in which tools declare what they take.

# Names and wishes are short; a text that is longer is no name, and of a wish the first 4,096
# characters are read.
MAX_NAME = 300
MAX_QUERY = 8_192
MAX_LIMIT = 200


def input_schema(required: str = "", **properties: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of an object with these members and no others; `required` holds names with blanks
    between.
    """
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required.split()
    return schema | {"additionalProperties": False}


def name_schema(about: str = "") -> dict[str, Any]:
    """The name of one thing."""
    return _with_description({"type": "string", "minLength": 1, "maxLength": MAX_NAME}, about)


def query_schema(about: str = "") -> dict[str, Any]:
    """A wish in words."""
    return _with_description({"type": "string", "minLength": 1, "maxLength": MAX_QUERY}, about)


def limit_schema(default: int) -> dict[str, Any]:
    """How many at most."""
    return {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": default}


def choice_schema(default: str, *alternatives: str) -> dict[str, Any]:
    """One word of several, the default first."""
    return {"type": "string", "enum": [default, *alternatives], "default": default}


def _with_description(schema: dict[str, Any], about: str) -> dict[str, Any]:
    return schema | {"description": about} if about else schema


ToolAnswer: TypeAlias = dict[str, Any]
# Runs a capability with arguments that were checked, and gives what is printed as JSON.
Executor: TypeAlias = Callable[[Descriptor, Mapping[str, Any]], ToolAnswer]


@frozen(kw_only=True)
class ToolContext:
    """The open index with all that a tool answers from. `encoder` is called when a tool first
    needs it and gives None where words alone decide; `state_dir` holds facts and sessions;
    `environ` is for what is available here. `execute` is given by who may run capabilities;
    without it, `execute_tool` says the call and does not make it. It reaches the discovery tools
    that `offers` says yes to.
    """

    index: Index
    encoder: Callable[[], Encoder | None]
    available: IsAvailable
    environ: Mapping[str, str]
    state_dir: Path
    mode: str = "auto"
    execute: Executor | None = None
    offers: Callable[[str], bool] = lambda _: True


ToolHandler: TypeAlias = Callable[[ToolContext, Mapping[str, Any]], ToolAnswer]


@frozen(kw_only=True)
class Tool:
    """One tool that an agent may call. `input_schema` is a JSON schema of an object; `answer`
    gives what is printed as JSON and raises UsageError for arguments that make no sense. `group`
    is the family that lists show it under. A tool with `kinds` is listed where the index holds one
    of them.
    """

    name: str
    description: str
    input_schema: Mapping[str, Any]
    answer: ToolHandler
    group: str
    aliases: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()


class ToolFactory(Protocol):
    """Makes the tools of one group: name, what it is for, answer, schema, and the other names that
    it is known by.
    """

    def __call__(
        self,
        name: str,
        about: str,
        answer: ToolHandler,
        schema: JsonSchema,
        *aliases: str,
        kinds: tuple[str, ...] = (),
    ) -> Tool:
        """The tool; `kinds` where it needs others than its group."""


def tool_factory(group: str, needed: tuple[str, ...] = ()) -> ToolFactory:
    """What makes the tools of a group, listed where the index holds one of the kinds that they
    need.
    """

    def tool(
        name: str,
        about: str,
        answer: ToolHandler,
        schema: JsonSchema,
        *aliases: str,
        kinds: tuple[str, ...] = (),
    ) -> Tool:
        return Tool(
            name=name,
            description=about,
            input_schema=schema,
            answer=answer,
            group=group,
            aliases=aliases,
            kinds=kinds or needed,
        )

    return tool
