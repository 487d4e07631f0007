"""A call made, within its limits, and without the values of its secrets in what comes back."""

from __future__ import annotations

from collections.abc import Mapping

from capdisc_indexer.execution import http_client, process
from capdisc_indexer.execution.call_types import Call, CallLimits, CommandCall, HttpCall, Outcome
from capdisc_indexer.execution.environment import build_environment, read_secrets
from capdisc_indexer.execution.output_masking import mask_outcome
from capdisc_indexer.fetch.connection import NetworkStack
from capdisc_indexer.model.frozen import replace
from capdisc_indexer.sources.formats.mcp_servers import fill_variables

_SYSTEM_NETWORK = NetworkStack()


def execute_call(
    call: Call,
    environ: Mapping[str, str],
    limits: CallLimits,
    network: NetworkStack = _SYSTEM_NETWORK,
) -> Outcome:
    """What the call gave. Raises InputError where it cannot be made (a secret that is not set, a
    program that does not start), LinkRefusedError for a host that is not allowed.
    """
    hidden = read_secrets(environ, call.environment)
    outcome = _dispatch_call(call, environ, hidden, limits, network)
    return mask_outcome(outcome, hidden, limits.max_bytes)


def _dispatch_call(
    call: Call,
    environ: Mapping[str, str],
    hidden: Mapping[str, str],
    limits: CallLimits,
    network: NetworkStack,
) -> Outcome:
    if isinstance(call, HttpCall):
        return http_client.send_request(call, hidden, limits, network)
    if isinstance(call, CommandCall):
        return process.run_process(call, build_environment(environ, call.environment), limits)
    from capdisc_indexer.execution.mcp_client import call_tool

    words = tuple(fill_variables(word, hidden) or word for word in call.argv)
    return call_tool(
        replace(call, argv=words), build_environment(environ, call.environment), limits
    )
