"""Names that other registries have and that are no discovery tool here, each with where its work is done."""

from __future__ import annotations

from collections.abc import Mapping

_HTTP = "capdisc call get_operation_details says method, path and parameters for a curl line; capdisc run ID calls it"
_FILES = "capabilities are files: capdisc new writes one, capdisc index takes it in"
_AGENT = "that is the agent's own turn, and needs no tool"

ELSEWHERE: Mapping[str, str] = {
    "execute_rest": _HTTP,
    "execute_graphql": _HTTP,
    "load_capability_extension": "capdisc loads no code; capdisc show ID says what a capability needs",
    "register_tool": _FILES,
    "register_doc": _FILES,
    "get_tool_function": "capdisc holds descriptions, no functions; capdisc run ID runs what says how",
    "listCapabilityIds": "run: capdisc list --ids",
    "getConfig": "run: capdisc config",
    "isInitialized": "run: capdisc status",
    "finalAnswer": _AGENT,
    "acknowledgeRequest": _AGENT,
}
