"""What a discovery tool is, what it may read for an answer, and how it declares its arguments."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path, PurePath
from typing import Protocol, TypeAlias

from capdisc_indexer.encoders import Encoder
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.json_types import Arguments, JsonObject, JsonSchema
from capdisc_indexer.model.types import Descriptor, RankingChoices
from capdisc_indexer.retrieval.candidates import IsAvailable
from capdisc_indexer.retrieval.verdict import MIN_SHOWN_RELEVANCE
from capdisc_indexer.store.snapshot import Index

# What a tool answers: an object that is printed as JSON. The rows in it have types, each declared
# above the function that makes it.
ToolAnswer: TypeAlias = JsonObject
# Runs a capability with checked arguments; the answer says what it printed.
Executor: TypeAlias = Callable[[Descriptor, Arguments], ToolAnswer]

# Schemas of arguments. Names have at most 300 characters; of a query only the first 4,096 are
# read.
MAX_NAME = 300
MAX_QUERY = 8_192
MAX_LIMIT = 200


@frozen(kw_only=True)
class ToolContext:
    """The open index, and everything else that a tool answers from.

    `tools` are the discovery tools by name, for a tool that looks another up or calls it.
    `encoder` is called when a tool first needs it, and gives None where words alone decide.
    `state_dir` holds facts and sessions. `environ` decides what is available on this machine.
    `execute` is there only where capabilities may be run; without it, `execute_tool` describes the
    call instead of making it. `execute_tool` reaches the discovery tools for whose names `offers`
    is true. Paths inside `workspace` are printed relative to it. Searches give no hit of less
    than `min_relevance`; `graph_boost` and `choices` are those of a Query.
    """

    index: Index
    tools: Mapping[str, Tool]
    encoder: Callable[[], Encoder | None]
    available: IsAvailable
    environ: Mapping[str, str]
    state_dir: Path
    mode: str = "auto"
    execute: Executor | None = None
    offers: Callable[[str], bool] = lambda _: True
    workspace: PurePath | None = None
    min_relevance: float = MIN_SHOWN_RELEVANCE
    graph_boost: float | None = None
    choices: RankingChoices = RankingChoices()


# What the arguments call a capability of whatever kind.
ANY_KIND = "any"
ToolHandler: TypeAlias = Callable[[ToolContext, Arguments], ToolAnswer]


@frozen(kw_only=True)
class Tool:
    """One tool that an agent may call.

    `input_schema` is a JSON schema of an object. `answer` raises UsageError for arguments that
    make no sense. `group` is the family under which lists show the tool. A tool with `kinds` is
    listed where the index holds a capability of one of them.
    """

    name: str
    description: str
    input_schema: JsonSchema
    answer: ToolHandler
    group: str
    aliases: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()


class ToolFactory(Protocol):
    """Makes the tools of one group."""

    def __call__(
        self,
        name: str,
        about: str,
        answer: ToolHandler,
        schema: JsonSchema,
        *aliases: str,
        kinds: tuple[str, ...] = (),
    ) -> Tool:
        """The tool; `kinds` replaces the kinds of its group."""


def tool_factory(group: str, group_kinds: tuple[str, ...] = ()) -> ToolFactory:
    """A function that makes the tools of a group. They are listed where the index holds a
    capability of one of `group_kinds`, or always where there are none.
    """

    def make_tool(
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
            kinds=kinds or group_kinds,
        )

    return make_tool


@cache
def _load_declarations() -> JsonObject:
    # Each group is loaded by a module of its own, and tools.toml takes 0.6 ms.
    return tomllib.loads(Path(__file__).with_name("tools.toml").read_text(encoding="utf-8"))


def load_tools(group: str, answers: Mapping[str, ToolHandler]) -> tuple[Tool, ...]:
    """The tools of a group as tools.toml declares them, with the functions that answer by name."""
    declared = _load_declarations()[group]
    return tuple(
        Tool(
            name=name,
            description=declared[name]["description"],
            input_schema=input_schema(
                " ".join(declared[name].get("required", ())),
                **declared[name].get("parameters", {}),
            ),
            answer=answer,
            group=group,
            aliases=tuple(declared[name].get("aliases", ())),
            kinds=tuple(declared[name].get("kinds", ())),
        )
        for name, answer in answers.items()
    )


def input_schema(required: str = "", **properties: JsonSchema) -> JsonSchema:
    """The schema of an object with these members and no others; `required` holds the names of
    those that a call needs, separated by blanks.
    """
    schema: JsonObject = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required.split()
    return schema | {"additionalProperties": False}


def name_schema(about: str = "") -> JsonSchema:
    """The schema of a name."""
    return _with_description({"type": "string", "minLength": 1, "maxLength": MAX_NAME}, about)


def query_schema(about: str = "") -> JsonSchema:
    """The schema of a text to search for."""
    return _with_description({"type": "string", "minLength": 1, "maxLength": MAX_QUERY}, about)


def limit_schema(default: int) -> JsonSchema:
    """The schema of the largest number of rows in an answer."""
    return {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": default}


def choice_schema(default: str, *alternatives: str) -> JsonSchema:
    """The schema of one word out of several, with the default first."""
    return {"type": "string", "enum": [default, *alternatives], "default": default}


def _with_description(schema: JsonObject, about: str) -> JsonSchema:
    return schema | {"description": about} if about else schema
