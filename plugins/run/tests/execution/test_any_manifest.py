"""Any `run` of a manifest leads to a call or to an error of ours."""

import os
from contextlib import suppress
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from capdisc_indexer.model.errors import CapdiscError
from capdisc_indexer.tools.call_context import ExecutionContext
from capdisc_run import approvals, call_preview
from capdisc_run.prepare import prepare_call, timeout_seconds

WORDS = st.sampled_from(
    ["ls", "{a}", "{b...}", "--", "{{a}}", "https://a.example.com/{a}", "json", "path", "a", "./x"]
)
LEAVES = st.none() | st.booleans() | st.integers() | WORDS | st.text(max_size=5)
KEYS = st.sampled_from(
    "command stdin cwd timeout mcp http args env tool server method url parameters name in body security secret".split()
)
JSON = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)
RUNS = st.dictionaries(
    st.sampled_from(["command", "mcp", "http", "stdin", "cwd", "timeout"]), JSON, max_size=4
)
ARGUMENTS = st.dictionaries(
    st.sampled_from(["a", "b", "c"]), LEAVES | st.lists(LEAVES, max_size=2), max_size=3
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(run=RUNS, arguments=ARGUMENTS)
def test_no_manifest_leads_to_a_bug(make, run, arguments) -> None:
    tool = make(run)
    assert 0 < timeout_seconds(tool, None) <= 600
    with suppress(CapdiscError):
        call = prepare_call(
            tool, arguments, ExecutionContext(environ={"PATH": os.environ["PATH"]}, cwd=Path("/"))
        )
        assert approvals.approval_reasons(tool, call, is_known=False)
        assert approvals.fingerprint(tool, call)
        assert call_preview.call_document(call)["line"]
