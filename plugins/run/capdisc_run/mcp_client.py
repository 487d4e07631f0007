"""What a running MCP server lists as its tools and skills, and what one of its tools answers;
`call_tool` starts the server for one call and ends it after that.
"""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal, TypeAlias

from capdisc_indexer import lazy_imports
from capdisc_indexer.model.errors import CapdiscError
from capdisc_indexer.model.json_types import JsonObject
from capdisc_indexer.model.version import __version__
from capdisc_indexer.sources.formats.skill_answers import (
    DRAFT_INDEX,
    EXTENSION,
    MAX_TEXT_BYTES,
    is_draft_document,
    is_skill_uri,
    keep_content,
    keep_entry,
    read_content,
    read_draft_document,
)
from capdisc_indexer.text.normalization import one_line
from capdisc_run.call_types import CallLimits, Outcome, ToolCall
from capdisc_run.mcp_server_process import ServerProcess

MAX_PAGES = 50
MAX_BYTES = 4 * 1024 * 1024
_POLL_SECONDS = 0.05
LIST_TIMEOUT_S = 20.0
# For all skills of a server. Those of the 2,000 files in a large collection have 18 MB.
MAX_SKILLS = 2_000
MAX_SKILLS_BYTES = 16 * 1024 * 1024
SKILLS_TIMEOUT_S = 120.0
_TOO_LATE = "the server took too long"
# How much of the list of resources is read of a server that does not declare the extension.
_MAX_RESOURCE_PAGES = 10

# A page of what a server says: {"tools": [...]}, as MCP's `tools/list` has it, or one of skills.
ToolsPage: TypeAlias = JsonObject


async def request_pages(client: Any) -> list[ToolsPage]:
    """The pages of the server's list, at most MAX_PAGES."""
    pages: list[ToolsPage] = []
    cursor = None
    while len(pages) < MAX_PAGES:
        page = await client.list_tools(cursor=cursor)
        tools = [
            tool.model_dump(by_alias=True, exclude_none=True, mode="json") for tool in page.tools
        ]
        pages.append({"tools": tools})
        cursor = page.next_cursor
        if not cursor:
            break
    return pages


def call_tool(call: ToolCall, environment: Mapping[str, str], limits: CallLimits) -> Outcome:
    """What the tool answered, its texts as stdout. The server may speak any version of the
    protocol, from the first one on. Raises InputError without the SDK, or where the server cannot
    be started.
    """
    sdk = lazy_imports.mcp_sdk()
    result: Outcome = sdk.anyio.run(_call_tool, sdk, call, environment, limits)
    return result


async def _call_tool(
    sdk: Any, call: ToolCall, environment: Mapping[str, str], limits: CallLimits
) -> Outcome:
    began = time.monotonic()
    server = ServerProcess(sdk, call.argv, call.cwd, environment, limits.max_bytes)
    request = partial(_request_tool, sdk, server, call)
    result, error, status = await request_within(sdk, limits, request)
    if isinstance(error, CapdiscError):
        raise error
    problem = first_line(error) if error else ""
    status = "too-large" if server.is_too_large else status
    return build_outcome(result, status, problem, server.stderr, time.monotonic() - began)


async def _request_tool(sdk: Any, server: ServerProcess, call: ToolCall) -> Any:
    async with sdk.Client(server.connect(), client_info=client_info(sdk)) as client:
        return await client.call_tool(call.tool, dict(call.arguments))


def client_info(sdk: Any) -> Any:
    """What servers are told of us."""
    return sdk.types.Implementation(name="capdisc", version=__version__)


async def request_within(
    sdk: Any, limits: CallLimits, request: Callable[[], Awaitable[Any]]
) -> tuple[Any, BaseException | None, str]:
    """The result of the request or None, its first error, and the status where we ended it, as it
    took too long or its caller is gone.
    """
    result, error = None, None
    with sdk.anyio.move_on_after(limits.seconds) as scope:
        try:
            async with sdk.anyio.create_task_group() as tasks:
                tasks.start_soon(_end_when_stopped, sdk, limits, scope)
                result = await request()
                tasks.cancel_scope.cancel()
        except Exception as errors:
            error = first_error(errors)
    is_ended = scope.cancelled_caught
    return result, error, ("stopped" if limits.is_stopped() else "timeout") if is_ended else ""


async def _end_when_stopped(sdk: Any, limits: CallLimits, scope: Any) -> None:
    """Cancels the scope as soon as the caller is gone."""
    while not limits.is_stopped():
        await sdk.anyio.sleep(_POLL_SECONDS)
    scope.cancel()


def first_error(error: BaseException) -> BaseException:
    """The error; of several at once, the first."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def first_line(error: BaseException) -> str:
    """What went wrong, on one line."""
    return (str(error).splitlines() or [type(error).__name__])[0]


def build_outcome(
    result: Any, status: str, problem: str, stderr: bytes, seconds: float
) -> Outcome:
    """The outcome of a call: the result's texts as stdout, or, where there is no result or we
    ended the call (`status`), the problem and the log.
    """
    if result is None or status:
        # The message comes first, as the log may end in the middle of a secret.
        message = (
            f"the server did not answer: {problem}\n".encode() if problem and not status else b""
        )
        return Outcome(
            status=status or "failed",
            exit_code=1,
            stdout=b"",
            stderr=message + stderr,
            is_truncated=bool(status),
            seconds=seconds,
        )
    structured = result.structured_content
    text = "\n".join(_content_text(part) for part in result.content)
    if not text and structured is not None:
        text = json.dumps(structured, ensure_ascii=False)
    return Outcome(
        status="failed" if result.is_error else "ok",
        exit_code=int(bool(result.is_error)),
        stdout=(text + "\n" if text else "").encode("utf-8", "replace"),
        stderr=stderr,
        seconds=seconds,
        details={} if structured is None else {"structured_content": structured},
    )


def _content_text(content: Any) -> str:
    """A text as it is; for a picture, a sound or a file, its type, media type and URI."""
    if content.type == "text":
        return str(content.text)
    resource = getattr(content, "resource", None)
    if text := getattr(resource, "text", None):
        return str(text)
    media_type = getattr(content, "mime_type", None) or getattr(resource, "mime_type", None) or ""
    uri = getattr(content, "uri", None) or getattr(resource, "uri", None) or ""
    return " ".join(f"[{content.type} {media_type} {uri}".split()) + "]"


# Which skills the server publishes, and which texts they have.


async def request_skills(sdk: Any, client: Any) -> list[JsonObject]:
    """The server's skills as pages: {"skills": [...]} as `skills/list` has them, and one
    {"contents": [...]} with the text of each SKILL.md, or the problem that keeps it out. Of a
    server that does not declare the skills extension, those that a document of its drafts lists:
    the index `skill://index.json`, or else a `_manifest` for each skill.

    Of the skills only SKILL.md is read, since the index is made of it. What is more than
    MAX_SKILLS, MAX_SKILLS_BYTES or SKILLS_TIMEOUT_S is left out, with the reason.
    """
    capabilities = client.server_capabilities
    has_extension = EXTENSION in (capabilities.extensions or {})
    if not has_extension and capabilities.resources is None:
        return []
    request_entries = _request_skill_pages if has_extension else _request_draft_pages
    pages: list[JsonObject] = []
    contents: list[JsonObject] = []
    with sdk.anyio.move_on_after(SKILLS_TIMEOUT_S) as scope:
        try:
            async for page in request_entries(sdk, client):
                pages.append(page)  # noqa: PERF401 - what came before an error stays
        except (sdk.Error, ValueError, TypeError, TimeoutError) as error:
            if has_extension or pages:
                pages.append({"problem": one_line(str(error), 200) or _TOO_LATE})
        for uri in _skill_uris(pages):
            contents.append(await _request_text(sdk, client, uri, contents))
    late = _skill_uris(pages)[len(contents) :]
    if scope.cancelled_caught and not late and has_extension:
        pages.append({"problem": _TOO_LATE})
    contents += [{"uri": uri, "problem": _TOO_LATE} for uri in late]
    return [*pages, {"contents": contents}] if pages else []


async def _request_skill_pages(sdk: Any, client: Any) -> AsyncIterator[JsonObject]:
    """The pages of entries, at most MAX_SKILLS in all. Raises ValueError where there are more."""
    types, cursor, count = sdk.types, None, 0
    request_type = types.Request[types.PaginatedRequestParams, Literal["skills/list"]]
    while True:
        params = types.PaginatedRequestParams(cursor=cursor)
        with sdk.anyio.fail_after(LIST_TIMEOUT_S):
            answer = await client.session.send_request(
                request_type(method="skills/list", params=params), sdk.TypeAdapter(dict[str, Any])
            )
        entries = answer.get("skills")
        if not isinstance(entries, list):
            raise TypeError("its answer to skills/list holds no list of skills")
        yield {"skills": [keep_entry(entry) for entry in entries[: MAX_SKILLS - count]]}
        count, previous, cursor = count + len(entries), cursor, answer.get("nextCursor")
        if not cursor or not isinstance(cursor, str) or cursor == previous:
            return
        if count >= MAX_SKILLS:
            raise ValueError(f"it has more than {MAX_SKILLS:,} skills; the first ones are read")


def _skill_uris(pages: Sequence[JsonObject]) -> list[str]:
    """The URIs of entries that this server may be asked for, each once."""
    uris = (
        entry.get("uri")
        for page in pages
        for entry in page.get("skills", ())
        if isinstance(entry, dict)
    )
    return list(dict.fromkeys(str(uri) for uri in uris if is_skill_uri(uri)))


async def _request_text(
    sdk: Any, client: Any, uri: str, contents: Sequence[JsonObject]
) -> JsonObject:
    """The text of a SKILL.md, or why it is not kept."""
    remaining_bytes = MAX_SKILLS_BYTES - sum(
        len(content.get("text") or content.get("blob", "")) for content in contents
    )
    try:
        with sdk.anyio.fail_after(LIST_TIMEOUT_S):
            answer = await client.read_resource(uri)
    except TimeoutError:
        return {"uri": uri, "problem": _TOO_LATE}
    except sdk.Error as error:
        if error.code == sdk.types.CONNECTION_CLOSED:
            raise
        return {"uri": uri, "problem": f"the server says: {one_line(str(error), 200)}"}
    document = answer.model_dump(by_alias=True, exclude_none=True, mode="json")
    text = next(map(read_content, document["contents"]), None)
    if text is None:
        return {"uri": uri, "problem": "the server gives no text of it"}
    if len(text) > min(MAX_TEXT_BYTES, remaining_bytes):
        is_large = len(text) > MAX_TEXT_BYTES
        limit = "1 MiB" if is_large else "16 MiB together with the others"
        return {"uri": uri, "problem": f"its text is larger than {limit}"}
    return keep_content(uri, text)


# Servers of the time before the extension was final.


async def _request_draft_pages(sdk: Any, client: Any) -> AsyncIterator[JsonObject]:
    """The entries that documents of the drafts list, as pages."""
    uris = await _list_draft_documents(sdk, client)
    indexes = [uri for uri in uris if uri == DRAFT_INDEX]
    count = 0
    for uri in indexes or uris[:MAX_SKILLS]:
        content = await _request_text(sdk, client, uri, ())
        if "text" in content:
            entries = read_draft_document(uri, content["text"])[: MAX_SKILLS - count]
            count += len(entries)
            yield {"skills": entries}


async def _list_draft_documents(sdk: Any, client: Any) -> list[str]:
    """The resources of the server that list skills as the drafts had it."""
    uris: list[str] = []
    cursor = None
    for _ in range(_MAX_RESOURCE_PAGES):
        with sdk.anyio.fail_after(LIST_TIMEOUT_S):
            answer = await client.list_resources(cursor=cursor)
        uris += [str(resource.uri) for resource in answer.resources]
        cursor = answer.next_cursor
        if not cursor:
            break
    return list(dict.fromkeys(uri for uri in uris if is_draft_document(uri)))
