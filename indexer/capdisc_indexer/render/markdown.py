"""Markdown: headings, lists, and each capability's text inside a fence that its content cannot close."""

from __future__ import annotations

import re

from capdisc_indexer.render.content import detail_text, summary_line
from capdisc_indexer.render.format import Format, concatenated
from capdisc_indexer.text import one_line
from capdisc_indexer.types import Descriptor

_RUN = re.compile(r"`{3,}")


def _fence(descriptor: Descriptor) -> str:
    longest = max((len(run) for run in _RUN.findall(detail_text(descriptor))), default=3)
    return "`" * (longest + 1)


def _open(descriptor: Descriptor) -> str:
    return f"### {one_line(descriptor.id, 100)}\n\n{_fence(descriptor)}markdown\n"


FORMAT = Format(
    name="markdown",
    levels=(0, 1, 2),
    opening="",
    closing="",
    headings=("## Available capabilities\n\n", "## Relevant capabilities\n\n", "## Capability reference\n\n"),
    endings=('- More: `capdisc search "what you need"`, `capdisc show ID`\n', "", ""),
    category=lambda line: f"- {line}\n",
    summary=lambda descriptor: f"- {summary_line(descriptor)}\n",
    detail_open=_open,
    detail_chunk=lambda chunk: chunk,
    detail_close=lambda descriptor: f"{_fence(descriptor)}\n",
    printed=concatenated,
)
