"""What of front matter no case of `cases/frontmatter.case` shows."""

from __future__ import annotations

from capdisc_indexer.sources.readers.frontmatter import split_front_matter
from capdisc_indexer.sources.readers.yaml_reader import CERTAIN_SLIPS, repair_block


def test_block_and_body_know_their_lines() -> None:
    halves = split_front_matter("---\nname: a\n---\n\nBody\n---\nmore\n")
    assert (halves.block, halves.block_line) == ("name: a\n", 2)
    assert (halves.body, halves.body_line) == ("\nBody\n---\nmore\n", 4)
    assert halves.findings == ()


def test_only_certain_slips_are_put_right_where_a_file_may_be_half_written() -> None:
    block = 'name: a\ndescription: "cut off\n'
    assert repair_block(block, slips=CERTAIN_SLIPS) == (block, ())
