"""Which JSON is read and what is refused."""

from __future__ import annotations

import pytest

from capdisc_indexer.model.types import Finding
from capdisc_indexer.sources.readers.json_reader import read_json
from case_rows import read_rows


def test_plain_json_is_read() -> None:
    assert read_json('{"a": [1, 2.5, null, "[[[ \\" ]"]}') == {"a": [1, 2.5, None, '[[[ " ]']}


@pytest.mark.parametrize(
    ("text", "code"),
    read_rows(__file__, "what_is_refused_is_named"),
)
def test_what_is_refused_is_named(text: str, code: str) -> None:
    finding = read_json(text)
    assert isinstance(finding, Finding)
    assert finding.code == code


def test_a_syntax_error_has_its_place() -> None:
    finding = read_json('{\n  "a": tru\n}')
    assert isinstance(finding, Finding)
    assert (finding.line, finding.column) == (2, 8)
