"""An MCP server on stdin and stdout: answers calls of tools in every version of the protocol that
the SDK speaks, and tells its clients when the index has changed.
"""

from __future__ import annotations

import base64
import os
import signal
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar
from urllib.parse import unquote

from capdisc.mcp_service.client_questions import InputNeededError, make_caller
from capdisc.mcp_service.discovery_service import DiscoveryService
from capdisc.mcp_service.opening import SERVER_NAME, AnswerFilter, Opening, open_rest
from capdisc.mcp_service.served_skills import (
    SKILL_SCHEME,
    DirectoryChild,
    SkillEntry,
    SkillFile,
    SkillOffer,
    SkillPage,
    complete_path,
    get_skill,
    read_directory,
    read_file,
)
from capdisc_indexer import lazy_imports
from capdisc_indexer.model.errors import CapdiscError, IndexStateError, UsageError
from capdisc_indexer.model.json_types import Arguments, JsonObject
from capdisc_indexer.model.version import __version__
from capdisc_indexer.sources.formats.skill_answers import EXTENSION
from capdisc_indexer.text.normalization import one_line
from capdisc_indexer.tools.call_context import Caller

T = TypeVar("T")

OVERVIEW_URI = "capdisc://tier0"
_POLL_SECONDS = 1.0
# Less than the time between a signal and the end of the process.
_SETTLE_SECONDS = 1.0
_MAX_THREADS = 40
# A capability is a resource under its id.
CAPABILITY_URI = "capdisc://capability/"
PROMPT = "find-capabilities"


class RequestTracker:
    """The calls that are being answered, each in a thread of its own, as a tool may run for long.
    When a caller cancels a call, or the server ends, what the call runs is killed.
    """

    def __init__(self, sdk: Any, service: DiscoveryService) -> None:
        self._sdk, self._service = sdk, service
        self._unfinished: set[threading.Event] = set()

    async def answer_call(self, context: Any, params: Any) -> tuple[str, bool]:
        """The text of the answer and False, or that of an error and True. Raises InputNeededError
        where the user has to answer something first.
        """
        abandoned = threading.Event()
        caller = make_caller(self._sdk, context, params, abandoned.is_set)
        try:
            answer = partial(self._answer, params.name, params.arguments or {}, caller)
            text, is_error = await self._sdk.anyio.to_thread.run_sync(
                answer, abandon_on_cancel=True, limiter=self._sdk.answer_threads
            )
            return text, is_error
        finally:
            abandoned.set()

    def settle(self) -> None:
        """Waits a moment for abandoned calls to end what they run."""
        ends = time.monotonic() + _SETTLE_SECONDS
        for finished in list(self._unfinished):
            finished.wait(max(0.0, ends - time.monotonic()))

    def _answer(self, name: str, arguments: Arguments, caller: Caller) -> tuple[str, bool]:
        # Only here: a call that is cancelled while it waits for a thread never begins.
        finished = threading.Event()
        self._unfinished.add(finished)
        try:
            return self._service.answer(name, arguments, caller)
        except InputNeededError:
            raise
        except CapdiscError as error:
            return format_error(error), True
        except Exception as error:
            return f"this is a bug in capdisc ({type(error).__name__}): {error}", True
        finally:
            finished.set()
            self._unfinished.discard(finished)


def format_error(error: CapdiscError) -> str:
    """An error as an agent reads it."""
    return f"{error.message}\nhint: {error.hint}" if error.hint else error.message


def serve(service: DiscoveryService, opening: Opening, stdin: int) -> None:
    """Serves until stdin ends, of which `opening` was read before."""
    sdk = lazy_imports.mcp_sdk()
    # Not anyio's own threads, which read stdin: its end would be seen behind all waiting calls.
    sdk.answer_threads = sdk.anyio.CapacityLimiter(_MAX_THREADS)
    calls = RequestTracker(sdk, service)
    try:
        sdk.anyio.run(_serve, sdk, service, calls, opening, stdin)
    finally:
        calls.settle()


async def _serve(
    sdk: Any, service: DiscoveryService, calls: RequestTracker, opening: Opening, stdin: int
) -> None:
    bus = sdk.Bus()
    sessions: set[Any] = set()
    server = _build_server(sdk, service, calls, sdk.ListenHandler(bus), sessions)
    options = server.create_initialization_options(
        sdk.NotificationOptions(tools_changed=True, resources_changed=True)
    )
    lines = sdk.anyio.wrap_file(open_rest(opening, stdin))
    async with (
        sdk.stdio_server(stdin=lines) as (incoming, outgoing),
        sdk.anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(_notify_changes, sdk, service, bus, sessions)
        await server.run(incoming, AnswerFilter(outgoing, opening.answered), options)
        tasks.cancel_scope.cancel()
        # A client that reads no more would hold up the answer that is being written.
        end = threading.Timer(_SETTLE_SECONDS, os.kill, (os.getpid(), signal.SIGTERM))
        end.start()
    end.cancel()


def _build_server(
    sdk: Any,
    service: DiscoveryService,
    calls: RequestTracker,
    subscriptions: Any,
    sessions: set[Any],
) -> Any:
    """The server. Sessions of older protocol versions are added to `sessions` as they begin."""
    types = sdk.types

    async def list_tools(context: Any, params: Any) -> Any:
        return types.ListToolsResult(
            tools=[types.Tool.model_validate(definition) for definition in service.tools()]
        )

    async def call_tool(context: Any, params: Any) -> Any:
        try:
            text, is_error = await calls.answer_call(context, params)
        except InputNeededError as error:
            return types.InputRequiredResult(input_requests=error.requests)
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=text)], is_error=is_error
        )

    async def remember_session(context: Any, params: Any) -> None:
        sessions.add(context.session)

    server = sdk.Server(
        SERVER_NAME,
        version=__version__,
        instructions=service.instructions,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_subscriptions_listen=subscriptions,
        **_resource_handlers(sdk, service),
        **_prompt_handlers(sdk, service),
    )
    _add_skill_methods(server, sdk, service.skills)
    server.add_notification_handler(
        "notifications/initialized", types.NotificationParams, remember_session
    )
    return server


def _resource_handlers(sdk: Any, service: DiscoveryService) -> dict[str, Any]:
    """What answers requests for the overview, for the capabilities and for the files of skills as
    resources. Of these, lists have each SKILL.md, on as many pages as it takes.
    """
    types = sdk.types

    async def list_resources(context: Any, params: Any) -> Any:
        cursor = (params.cursor if params else None) or ""
        page = await _answer_in_thread(sdk, _list_skills, service, cursor)
        skills = [_skill_resource(types, entry) for entry in page.entries]
        overview = types.Resource(
            uri=OVERVIEW_URI,
            name="overview",
            title="Overview",
            description="The categories of capabilities that there are, in at most 200 tokens.",
            mime_type="text/plain",
        )
        return types.ListResourcesResult(
            resources=skills if cursor else [overview, *skills],
            next_cursor=page.next_cursor or None,
        )

    async def list_templates(context: Any, params: Any) -> Any:
        capability = types.ResourceTemplate(
            uri_template=f"{CAPABILITY_URI}{{id}}",
            name="capability",
            title="Capability",
            description="One capability as read_capability shows it, by its id or name.",
            mime_type="text/markdown",
        )
        skill_file = types.ResourceTemplate(
            uri_template=f"{SKILL_SCHEME}{{+path}}",
            name="skill-file",
            title="File of a skill",
            description="The SKILL.md of a skill, or a file of its folder.",
        )
        return types.ListResourceTemplatesResult(resource_templates=[capability, skill_file])

    async def read_resource(context: Any, params: Any) -> Any:
        uri = str(params.uri)
        if uri.startswith(SKILL_SCHEME):
            file: SkillFile = await _answer_in_thread(sdk, service.skills.answer, read_file, uri)
            return types.ReadResourceResult(contents=[_file_contents(types, file)])
        text = await _answer_in_thread(sdk, _read_resource, service, uri)
        mime_type = "text/plain" if uri == OVERVIEW_URI else "text/markdown"
        content = types.TextResourceContents(uri=uri, text=text, mime_type=mime_type)
        return types.ReadResourceResult(contents=[content])

    return {
        "on_list_resources": list_resources,
        "on_list_resource_templates": list_templates,
        "on_read_resource": read_resource,
    }


def _list_skills(service: DiscoveryService, cursor: str) -> SkillPage:
    """A page of the skills; none where there is no index yet, which the overview says."""
    try:
        return service.skills.list_page(cursor)
    except IndexStateError:
        return SkillPage(entries=(), next_cursor="")


def _read_resource(service: DiscoveryService, uri: str) -> str:
    """The text of a resource. Raises UsageError for an unknown address."""
    if uri == OVERVIEW_URI:
        return service.overview()
    if uri.startswith(CAPABILITY_URI):
        return service.capability(unquote(uri.removeprefix(CAPABILITY_URI)))
    raise UsageError(
        f"there is no resource but {OVERVIEW_URI}, {CAPABILITY_URI}ID and {SKILL_SCHEME}PATH"
    )


def _add_skill_methods(server: Any, sdk: Any, skills: SkillOffer) -> None:
    """Declares the skills extension of MCP (`io.modelcontextprotocol/skills`, SEP-2640) with its
    three methods.

    The text followed is that of September 2026 in modelcontextprotocol/ext-skills, written against
    revision 2026-07-28 of the protocol. Clients of older revisions get the same answers.
    """
    types, answer = sdk.types, partial(_answer_in_thread, sdk)

    async def list_skills(context: Any, params: Any) -> JsonObject:
        page: SkillPage = await answer(skills.list_page, params.cursor or "")
        document: JsonObject = _complete_result(skills=list(page.entries))
        return document | ({"nextCursor": page.next_cursor} if page.next_cursor else {})

    async def answer_skill(context: Any, params: Any) -> JsonObject:
        return _complete_result(skill=await answer(skills.answer, get_skill, params.uri))

    async def answer_directory(context: Any, params: Any) -> JsonObject:
        children: list[DirectoryChild] = await answer(skills.answer, read_directory, params.uri)
        resources = [
            {"uri": child.uri, "name": child.name, "mimeType": child.mime_type}
            for child in children
        ]
        return {"resultType": "complete", "resources": resources}

    server.extensions[EXTENSION] = {"directoryRead": True}
    server.add_request_handler("skills/list", types.PaginatedRequestParams, list_skills)
    server.add_request_handler("skills/get", types.ReadResourceRequestParams, answer_skill)
    server.add_request_handler(
        "resources/directory/read", types.ReadResourceRequestParams, answer_directory
    )


def _complete_result(**members: object) -> JsonObject:
    """A result that no client may take for current later: a digest changes with its file."""
    return {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", **members}


def _skill_resource(types: Any, entry: SkillEntry) -> Any:
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


def _file_contents(types: Any, file: SkillFile) -> Any:
    """A file for `resources/read`: a text with the file's very bytes in UTF-8, or a blob."""
    try:
        text = file.data.decode("utf-8")
    except UnicodeDecodeError:
        blob = base64.b64encode(file.data).decode("ascii")
        return types.BlobResourceContents(uri=file.uri, blob=blob, mime_type=file.mime_type)
    return types.TextResourceContents(uri=file.uri, text=text, mime_type=file.mime_type)


def _prompt_handlers(sdk: Any, service: DiscoveryService) -> dict[str, Any]:
    """What answers requests for the prompt, and completes the ids and paths of resources."""
    types = sdk.types
    completions: dict[str, Callable[[str], list[str]]] = {
        "id": service.complete_id,
        "path": partial(service.skills.answer, complete_path),
    }

    async def list_prompts(context: Any, params: Any) -> Any:
        task = types.PromptArgument(
            name="task", description="What has to be done, in a sentence.", required=True
        )
        prompt = types.Prompt(
            name=PROMPT,
            title="Find capabilities",
            description="Adds the skills, tools and documents here that fit a task.",
            arguments=[task],
        )
        return types.ListPromptsResult(prompts=[prompt])

    async def get_prompt(context: Any, params: Any) -> Any:
        if params.name != PROMPT:
            raise sdk.Error(types.INVALID_PARAMS, f"there is no prompt but {PROMPT}")
        task = (params.arguments or {}).get("task", "")
        text = await _answer_in_thread(sdk, service.prompt, task)
        message = types.PromptMessage(role="user", content=types.TextContent(text=text))
        return types.GetPromptResult(
            description=f"Capabilities for: {one_line(task, 200)}", messages=[message]
        )

    async def complete(context: Any, params: Any) -> Any:
        values: list[str] = []
        if complete_argument := completions.get(params.argument.name):
            values = await _answer_in_thread(sdk, complete_argument, params.argument.value)
        return types.CompleteResult(completion=types.Completion(values=values))

    return {
        "on_list_prompts": list_prompts,
        "on_get_prompt": get_prompt,
        "on_completion": complete,
    }


async def _answer_in_thread(sdk: Any, answer: Callable[..., T], *arguments: object) -> T:
    """The answer, as a search may wait for a first build; errors as the protocol has them."""
    try:
        value: T = await sdk.anyio.to_thread.run_sync(
            partial(answer, *arguments), limiter=sdk.answer_threads
        )
    except CapdiscError as error:
        is_usage = isinstance(error, UsageError)
        code = sdk.types.INVALID_PARAMS if is_usage else sdk.types.INTERNAL_ERROR
        raise sdk.Error(code, format_error(error)) from None
    return value


async def _notify_changes(
    sdk: Any, service: DiscoveryService, bus: Any, sessions: set[Any]
) -> None:
    """Checks every _POLL_SECONDS for a changed index, and tells all clients to list again."""
    last_version = service.live.version()
    while True:
        await sdk.anyio.sleep(_POLL_SECONDS)
        if (version := service.live.version()) == last_version:
            continue
        last_version = version
        for session in list(sessions):
            await session.send_tool_list_changed()
            await session.send_resource_list_changed()
        await bus.publish(sdk.ToolsListChanged())
        await bus.publish(sdk.ResourcesListChanged())
        await bus.publish(sdk.ResourceUpdated(OVERVIEW_URI))
