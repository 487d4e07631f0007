"""Plain text: the form for a prompt of any model.

Each detailed capability stands between two lines that carry a number derived from its own content, which that content
therefore cannot hold: no instruction text can close its frame and pose as something else.
"""

from __future__ import annotations

from capdisc_indexer.render.content import summary_line
from capdisc_indexer.render.format import Format, concatenated, nonce
from capdisc_indexer.text import one_line
from capdisc_indexer.types import Descriptor


def _summary(descriptor: Descriptor) -> str:
    return f"- {summary_line(descriptor)}\n"


def _open(descriptor: Descriptor) -> str:
    return f">>> {one_line(descriptor.id, 100)} [{nonce(descriptor)}]\n"


def _close(descriptor: Descriptor) -> str:
    return f"<<< end [{nonce(descriptor)}]\n"


FORMAT = Format(
    name="text",
    levels=(0, 1, 2),
    opening="",
    closing="",
    headings=(
        "Available capabilities:\n",
        "Relevant capabilities:\n",
        "--- Detailed Capability Reference ---\n",
    ),
    endings=('More: capdisc search "what you need", capdisc show ID\n', "", ""),
    category=lambda line: f"- {line}\n",
    summary=_summary,
    detail_open=_open,
    detail_chunk=lambda chunk: chunk,
    detail_close=_close,
    printed=concatenated,
)
