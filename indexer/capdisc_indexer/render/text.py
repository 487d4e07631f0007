"""Plain text: the form for a prompt of any model.

What others wrote stands between two lines that carry a number derived from itself, which it therefore cannot hold: no
instruction text can close its frame and pose as something else.
"""

from __future__ import annotations

from capdisc_indexer.render.format import Format, nonce
from capdisc_indexer.render.layout import concatenated

FORMAT = Format(
    name="text",
    levels=(0, 1, 2),
    opening="",
    closing="",
    headings=(
        "Available capabilities:\n",
        "Relevant capabilities:\n",
        "--- Detailed Capability Reference ---\n",
        "Session memory:\n",
        "Additional Context:\n",
    ),
    endings=('More: capdisc search "what you need", capdisc show ID\n', "", "", "", ""),
    category=lambda line: f"- {line}\n",
    summary=lambda _, line: f"- {line}\n",
    frame_open=lambda label, text: f">>> {label} [{nonce(text)}]\n",
    chunk=lambda chunk: chunk,
    frame_close=lambda _, text: f"<<< end [{nonce(text)}]\n",
    printed=concatenated,
    hint=lambda line: f"{line}\n",
)
