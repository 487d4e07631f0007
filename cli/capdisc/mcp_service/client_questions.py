"""What can an MCP client be asked while it waits for a call, and what did it answer?

Up to the version of 2025-11-25 a server sends its questions while the call is open. From that of
2026-07-28 on, the call ends with the questions (`InputNeededError`), and the client makes it again
with the answers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from capdisc_indexer.model.json_types import JsonObject
from capdisc_indexer.tools.call_context import Caller, Consent

# A person answers, or nobody does.
ANSWER_SECONDS = 600.0
_ALWAYS = "always"
_CONSENT_SCHEMA = {
    "type": "object",
    "properties": {
        _ALWAYS: {
            "type": "boolean",
            "title": "Also later calls",
            "description": "Call this tool without asking until this server ends.",
            "default": False,
        }
    },
}


class InputNeededError(Exception):
    """The call needs answers of the user first; `requests` are the questions by their keys."""

    def __init__(self, requests: JsonObject) -> None:
        super().__init__("the call needs an answer of the user")
        self.requests = requests


def make_caller(sdk: Any, context: Any, params: Any, is_stopped: Callable[[], bool]) -> Caller:
    """The caller of this request; to be made in the event loop that answers it."""
    run_in_loop = partial(_run_in_loop, sdk, sdk.anyio.lowlevel.current_token())
    session = context.session
    wants_progress = bool(context.meta and context.meta.get("progress_token") is not None)
    report = partial(_report_progress, run_in_loop, session) if wants_progress else None
    capabilities = session.client_capabilities
    elicitation = capabilities.elicitation if capabilities else None
    if elicitation is None or (elicitation.form is None and elicitation.url is not None):
        return Caller(is_stopped=is_stopped, progress=report)
    if not session.can_send_request:
        return Caller(
            is_stopped=is_stopped,
            confirm=partial(_confirm_by_retry, sdk, params.input_responses or {}),
            progress=report,
        )

    async def send(document: JsonObject) -> Any:
        form = sdk.types.ElicitRequestFormParams.model_validate(document)
        with sdk.anyio.fail_after(ANSWER_SECONDS):
            return await session.elicit_form(
                form.message, form.requested_schema, related_request_id=context.request_id
            )

    def elicit(document: JsonObject) -> JsonObject:
        if document.get("mode", "form") != "form":
            return {"action": "decline"}
        try:
            answer = run_in_loop(send, document)
        except (TimeoutError, sdk.Error, ValueError):
            return {"action": "cancel"}
        answered: JsonObject = answer.model_dump(by_alias=True, exclude_none=True, mode="json")
        return answered

    def confirm(question: str, binding: str) -> Consent:
        return _read_consent(elicit({"message": question, "requestedSchema": _CONSENT_SCHEMA}))

    return Caller(is_stopped=is_stopped, confirm=confirm, elicit=elicit, progress=report)


def _run_in_loop(
    sdk: Any, token: Any, function: Callable[..., Awaitable[Any]], *arguments: object
) -> Any:
    return sdk.anyio.from_thread.run(function, *arguments, token=token)


def _report_progress(
    run_in_loop: Callable[..., Any], session: Any, done: float, total: float | None, text: str
) -> None:
    run_in_loop(session.report_progress, done, total, text or None)


def _confirm_by_retry(sdk: Any, responses: Any, question: str, binding: str) -> Consent:
    """The answer that came with the call. Its key holds what the question was about, so that a
    yes to one call is not a yes to another. Raises InputNeededError where there is no answer yet.
    """
    key = f"approve-{hashlib.sha256(binding.encode()).hexdigest()[:32]}"
    if (response := responses.get(key)) is not None:
        return _read_consent(response.model_dump(by_alias=True, exclude_none=True, mode="json"))
    form = sdk.types.ElicitRequestFormParams.model_validate(
        {"message": question, "requestedSchema": _CONSENT_SCHEMA}
    )
    raise InputNeededError({key: sdk.types.ElicitRequest(params=form)})


def _read_consent(answer: JsonObject) -> Consent:
    if answer.get("action") != "accept":
        return Consent.NO
    content = answer.get("content")
    is_always = isinstance(content, dict) and content.get(_ALWAYS) is True
    return Consent.ALWAYS if is_always else Consent.ONCE
