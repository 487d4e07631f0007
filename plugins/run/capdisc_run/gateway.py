"""Calls of tools of the MCP servers that the user's clients are configured with: what is served,
who agreed to it, and what came back.

The list of tools of each server is kept in a file of the state folder, from which the index is
built. A tool is called only while its server still defines it as the index has it. A tool that
its server declares as read-only is called without a question; any other one once the user has
approved it by its name, or says yes when asked. An approval holds for the definition and the entry
of the server as they were then.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence

from capdisc_indexer.config.client_servers import ServerDeclaration
from capdisc_indexer.model.errors import ApprovalRequiredError, CapdiscError, InputError
from capdisc_indexer.model.frozen import field, frozen, replace
from capdisc_indexer.model.json_types import Arguments, JsonObject
from capdisc_indexer.model.types import Descriptor
from capdisc_indexer.text.normalization import one_line
from capdisc_indexer.tools.call_context import Caller, Consent
from capdisc_run import approvals
from capdisc_run.call_types import DEFAULT_SECONDS, MAX_MANIFEST_SECONDS, CallLimits, Outcome
from capdisc_run.gateway_lists import (
    LIST_SECONDS,
    annotations_of,
    approval_digest,
    approval_reason,
    definition_text,
    is_read_only,
    list_descriptors,
    read_list,
    server_of,
    start_digest,
    write_list,
)
from capdisc_run.mcp_client import ToolsPage
from capdisc_run.prepare import check_arguments
from capdisc_run.server_connection import ToolRequest
from capdisc_run.server_launch import GatewayPlaces, ServerLaunch, prepare_launch
from capdisc_run.server_pool import ServerPool

_MAX_SHOWN_ARGUMENTS = 600


@frozen(kw_only=True)
class ListRefresh:
    """What asking servers for their tools gave: the names of those with a changed list, and a
    problem by the name of each that could not be asked.
    """

    changed: tuple[str, ...] = ()
    problems: Mapping[str, str] = field(default_factory=dict)


class Gateway:
    """The servers that are served, each started by its first call. `on_change` is called with the
    name of a server that says that its tools have changed.
    """

    def __init__(
        self,
        servers: Sequence[ServerDeclaration],
        places: GatewayPlaces,
        on_change: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.servers = {server.name: server for server in servers}
        self._places = places
        self._on_change = on_change
        self._pool = ServerPool(on_change)
        self._confirmed: set[str] = set()

    def serves(self, descriptor: Descriptor) -> bool:
        """Whether the capability is a tool of a server's list in the gateway's own folder."""
        return bool(server_of(descriptor, self._places.lists))

    def call(self, descriptor: Descriptor, arguments: Arguments, caller: Caller) -> JsonObject:
        """What the tool answered, as JSON. Raises as `run` does."""
        outcome = self.run(descriptor, arguments, caller)
        return _answer_document(descriptor, self.declaration_of(descriptor), outcome)

    def run(
        self,
        descriptor: Descriptor,
        arguments: Arguments,
        caller: Caller,
        limits: CallLimits | None = None,
    ) -> Outcome:
        """What the call gave, within these limits (None: those of `limits_of`).

        Raises UsageError with everything that is wrong with the arguments, ApprovalRequiredError
        where nobody agreed to the call, InputError where the server cannot be reached or no
        longer defines the tool like this.
        """
        declaration = self.declaration_of(descriptor)
        filled = check_arguments(descriptor, arguments)
        self._require_approval(descriptor, declaration, arguments, caller)
        annotations = annotations_of(descriptor)
        request = ToolRequest(
            tool=descriptor.name,
            # The server fills in its own defaults; those of the index have their keys masked.
            arguments={name: filled[name] for name in arguments},
            limits=replace(limits or self.limits_of(descriptor), is_stopped=caller.is_stopped),
            check=lambda pages: self._check_definition(descriptor, declaration, pages),
            may_repeat=is_read_only(descriptor) or annotations.get("idempotentHint") is True,
            elicit=caller.elicit,
            progress=caller.progress,
        )
        return self._pool.call(self._prepare_launch(declaration), request)

    def limits_of(self, descriptor: Descriptor) -> CallLimits:
        """The limits of a call of the tool, by the entry of its server. Raises InputError where
        the server is not served.
        """
        seconds = self.declaration_of(descriptor).timeout_s or DEFAULT_SECONDS
        return CallLimits(seconds=min(seconds, MAX_MANIFEST_SECONDS))

    def refresh_lists(self, names: Sequence[str]) -> ListRefresh:
        """Asks these servers for their tools, several at once, and keeps what they say."""
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(max_workers=4) as workers:
            results = dict(zip(names, workers.map(self._refresh_list, names), strict=True))
        return ListRefresh(
            changed=tuple(name for name, result in results.items() if result is True),
            problems={name: text for name, text in results.items() if isinstance(text, str)},
        )

    def stale_servers(self) -> list[str]:
        """The servers that have no list, one of another entry, or an old one."""
        now_s = time.time()
        return [
            name
            for name, declaration in self.servers.items()
            if not (stored := read_list(self._places.lists, name))
            or stored.start != start_digest(declaration)
            or not 0 <= now_s - stored.asked_at_s <= LIST_SECONDS
        ]

    def close(self) -> None:
        """Ends all servers."""
        self._pool.close()

    def declaration_of(self, descriptor: Descriptor) -> ServerDeclaration:
        """The entry of the tool's server. Raises InputError where it is not served."""
        name = server_of(descriptor, self._places.lists)
        if declaration := self.servers.get(name):
            return declaration
        raise InputError(
            f"{one_line(descriptor.id, 100)} was not called: its server is not served here",
            "capdisc mcp --gateway --list says which are",
        )

    def _require_approval(
        self,
        descriptor: Descriptor,
        declaration: ServerDeclaration,
        arguments: Arguments,
        caller: Caller,
    ) -> None:
        """Raises ApprovalRequiredError unless the tool is read-only, approved or confirmed."""
        if is_read_only(descriptor):
            return
        digest = approval_digest(descriptor, declaration)
        if digest in self._confirmed or approvals.is_approved(self._places.approvals, digest):
            return
        identifier, reason = one_line(descriptor.id, 100), approval_reason(descriptor)
        if caller.confirm is None:
            raise ApprovalRequiredError(
                f"{identifier} was not called: {reason}, and nobody has approved it",
                f"let the user do it at a terminal: capdisc trust {identifier}",
            )
        written = json.dumps(dict(arguments), ensure_ascii=False, sort_keys=True)
        question = (
            f"Call {identifier} of the MCP server {declaration.name} with "
            f"{one_line(written, _MAX_SHOWN_ARGUMENTS)}? ({reason})"
        )
        consent = caller.confirm(question, f"{digest} {written}")
        if consent is Consent.NO:
            raise ApprovalRequiredError(
                f"{identifier} was not called: the user said no",
                "do without it, or ask the user what to do",
            )
        if consent is Consent.ALWAYS:
            self._confirmed.add(digest)

    def _check_definition(
        self, descriptor: Descriptor, declaration: ServerDeclaration, pages: Sequence[ToolsPage]
    ) -> None:
        """Raises InputError where the server no longer defines the tool as the index has it."""
        current = list_descriptors(self._places.lists, declaration, pages, descriptor.name)
        if current and definition_text(current[0]) == definition_text(descriptor):
            return
        self._on_change(declaration.name)
        verb = "has changed" if current else "is gone"
        identifier = one_line(descriptor.id, 100)
        raise InputError(
            f"{identifier} was not called: its definition at the server {verb} since it was listed",
            "search for it again in a moment; a suspicious change waits for: "
            f"capdisc trust {identifier}",
        )

    def _prepare_launch(self, declaration: ServerDeclaration) -> ServerLaunch:
        """How the server is reached. Raises ApprovalRequiredError where it has changed since its
        user trusted it, and InputError where it cannot be reached.
        """
        if reason := self._places.refusal(declaration):
            message = f"the server {declaration.name} was not started: {reason}"
            raise ApprovalRequiredError(message, "capdisc trust shows what it asks for")
        return prepare_launch(declaration, self._places)

    def _refresh_list(self, name: str) -> bool | str:
        """Whether the list has changed, or what went wrong."""
        declaration = self.servers[name]
        try:
            pages = self._pool.list_tools(self._prepare_launch(declaration))
            return write_list(self._places.lists, declaration, pages)
        except CapdiscError as error:
            return f"{error.message} ({error.hint})" if error.hint else error.message


def _answer_document(
    descriptor: Descriptor, declaration: ServerDeclaration, outcome: Outcome
) -> JsonObject:
    """The outcome for an agent. Structured content comes once: servers send it as a text, too."""
    text = outcome.stdout.decode("utf-8", "replace").rstrip("\n")
    document: JsonObject = {
        "executed": True,
        "tool": descriptor.id,
        "server": declaration.name,
        "status": outcome.status,
    }
    structured = outcome.details.get("structured_content")
    if isinstance(structured, dict) and list(structured.values()) == [text]:
        structured = None  # as SDKs wrap the text of a plain function
    elif structured is not None and _is_same(structured, text):
        text = ""
    if text:
        document["content"] = text
    if structured is not None:
        document["structured_content"] = structured
    if outcome.stderr and outcome.status != "ok" and not text:
        document["log"] = outcome.stderr.decode("utf-8", "replace").strip()
    return document


def _is_same(structured: object, text: str) -> bool:
    """Whether the text says as JSON what the structured content, or its only member, does."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return False
    is_only_member = isinstance(structured, dict) and list(structured.values()) == [value]
    return bool(value == structured) or is_only_member
