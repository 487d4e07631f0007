"""Markdown: headings, lists, and what others wrote inside a fence that it cannot close."""

from __future__ import annotations

import re

from capdisc_indexer.rendering.formats.format import RenderFormat
from capdisc_indexer.rendering.layout import format_layout

_BACKTICK_RUN = re.compile(r"`{4,}")


def _fence(text: str) -> str:
    longest = max(map(len, _BACKTICK_RUN.findall(text))) if "````" in text else 3
    return "`" * (longest + 1)


FORMAT = RenderFormat(
    name="markdown",
    levels=(0, 1, 2),
    opening="",
    closing="",
    headings=(
        "## Available capabilities\n\n",
        "## Relevant capabilities\n\n",
        "## Capability reference\n\n",
        "## Session memory\n\n",
        "## Additional Context\n\n",
    ),
    endings=('- More: `capdisc search "what you need"`, `capdisc show ID`\n', "", "", "", ""),
    category=lambda line: f"- {line}\n",
    summary=lambda _, line: f"- {line}\n",
    frame_open=lambda label, text: f"### {label}\n\n{_fence(text)}markdown\n",
    chunk=lambda chunk: chunk,
    frame_close=lambda _, text: f"{_fence(text)}\n",
    format_context=format_layout,
    hint=lambda line: f"- {line}\n",
)
