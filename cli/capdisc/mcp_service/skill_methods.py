"""The skills extension of MCP (`io.modelcontextprotocol/skills`, SEP-2640): its methods and URIs,
for a server that offers skills.

The text followed is that of September 2026 in modelcontextprotocol/ext-skills, written against
revision 2026-07-28 of the protocol. Clients of older revisions get the same answers.
"""

from __future__ import annotations

import base64
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias

from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.json_types import JsonObject
from capdisc_indexer.sources.formats.skill_answers import EXTENSION

SKILL_SCHEME = "skill://"
DIRECTORY_TYPE = "inode/directory"

# An entry of `skills/list`: {"uri", "frontmatter", "resources": [{"uri", "digest", "size"}]}.
SkillEntry: TypeAlias = JsonObject
# Gives an answer in a thread; errors of ours become those of the protocol.
AnswerInThread: TypeAlias = Callable[..., Awaitable[Any]]


@frozen(kw_only=True)
class SkillPage:
    """One page of a list of skills; `next_cursor` is "" on the last page."""

    entries: Sequence[SkillEntry]
    next_cursor: str


@frozen(kw_only=True)
class SkillFile:
    """The bytes of one file of a skill."""

    uri: str
    mime_type: str
    data: bytes


@frozen(kw_only=True)
class DirectoryChild:
    """A file or folder directly in a folder of a skill; `mime_type` is DIRECTORY_TYPE for a folder."""

    uri: str
    name: str
    mime_type: str


@frozen(kw_only=True)
class SkillService:
    """What a server answers from. All raise UsageError for a URI or cursor that nothing is served at.

    `list_page` gives the skills that follow a cursor ("": from the start), `get` the entry of one
    skill, `read` a file, `read_directory` what lies directly in a folder, `complete_path` the
    paths of skills with a beginning.
    """

    list_page: Callable[[str], SkillPage]
    get: Callable[[str], SkillEntry]
    read: Callable[[str], SkillFile]
    read_directory: Callable[[str], Sequence[DirectoryChild]]
    complete_path: Callable[[str], list[str]]


def add_skill_methods(server: Any, sdk: Any, skills: SkillService, answer: AnswerInThread) -> None:
    """Declares the extension at the server, with its three methods."""
    types = sdk.types

    async def list_skills(context: Any, params: Any) -> JsonObject:
        page: SkillPage = await answer(skills.list_page, params.cursor or "")
        document: JsonObject = _complete_result(skills=list(page.entries))
        return document | ({"nextCursor": page.next_cursor} if page.next_cursor else {})

    async def get_skill(context: Any, params: Any) -> JsonObject:
        return _complete_result(skill=await answer(skills.get, params.uri))

    async def read_directory(context: Any, params: Any) -> JsonObject:
        children: Sequence[DirectoryChild] = await answer(skills.read_directory, params.uri)
        resources = [
            {"uri": child.uri, "name": child.name, "mimeType": child.mime_type}
            for child in children
        ]
        return {"resultType": "complete", "resources": resources}

    server.extensions[EXTENSION] = {"directoryRead": True}
    server.add_request_handler("skills/list", types.PaginatedRequestParams, list_skills)
    server.add_request_handler("skills/get", types.ReadResourceRequestParams, get_skill)
    server.add_request_handler(
        "resources/directory/read", types.ReadResourceRequestParams, read_directory
    )


def _complete_result(**members: object) -> JsonObject:
    """A result that no client may take for current later: a digest changes with its file."""
    return {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", **members}


def skill_resource(types: Any, entry: SkillEntry) -> Any:
    """The SKILL.md of an entry as `resources/list` names it."""
    frontmatter = entry["frontmatter"]
    size = next((file["size"] for file in entry["resources"] if file["uri"] == entry["uri"]), None)
    return types.Resource(
        uri=entry["uri"],
        name=frontmatter["name"],
        description=frontmatter["description"],
        mime_type="text/markdown",
        size=size,
    )


def file_contents(types: Any, file: SkillFile) -> Any:
    """A file as `resources/read` answers it: a text that has the file's very bytes in UTF-8, or a
    blob.
    """
    try:
        text = file.data.decode("utf-8")
    except UnicodeDecodeError:
        blob = base64.b64encode(file.data).decode("ascii")
        return types.BlobResourceContents(uri=file.uri, blob=blob, mime_type=file.mime_type)
    return types.TextResourceContents(uri=file.uri, text=text, mime_type=file.mime_type)
