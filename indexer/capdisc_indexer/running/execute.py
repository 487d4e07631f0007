"""A call made, within its limits, and without the values of its secrets in what comes back."""

from __future__ import annotations

from collections.abc import Mapping

from capdisc_indexer.frozen import replace
from capdisc_indexer.network.connection import Network
from capdisc_indexer.running import process, sending
from capdisc_indexer.running.masking import mask_outcome
from capdisc_indexer.running.surroundings import environment, secrets
from capdisc_indexer.running.values import Call, CommandCall, HttpCall, Limits, Outcome
from capdisc_indexer.sources.server_config import filled

_SYSTEM = Network()


def execute(call: Call, environ: Mapping[str, str], limits: Limits, network: Network = _SYSTEM) -> Outcome:
    """What the call gave. Raises InputError where it cannot be made (a secret that is not set, a program that does not
    start), LinkRefusedError for a host that is not allowed."""
    hidden = secrets(environ, call.environment)
    outcome = _made(call, environ, hidden, limits, network)
    return mask_outcome(outcome, hidden, limits.max_bytes)


def _made(
    call: Call, environ: Mapping[str, str], hidden: Mapping[str, str], limits: Limits, network: Network
) -> Outcome:
    if isinstance(call, HttpCall):
        return sending.send(call, hidden, limits, network)
    if isinstance(call, CommandCall):
        return process.run(call, environment(environ, call.environment), limits)
    from capdisc_indexer.running.mcp_client import called

    words = tuple(filled(word, hidden) or word for word in call.argv)
    return called(replace(call, argv=words), environment(environ, call.environment), limits)
