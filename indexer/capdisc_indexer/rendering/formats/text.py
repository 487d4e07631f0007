"""Plain text: the form for a prompt of any model.

What others wrote stands between two lines that carry a number derived from itself and from a
secret of this user. Its author cannot compute it: no instruction text can close its frame, or hold
a second frame with the right number.
"""

from __future__ import annotations

from collections.abc import Callable

from capdisc_indexer.model.frozen import replace
from capdisc_indexer.rendering.formats.format import RenderFormat, frame_mark
from capdisc_indexer.rendering.layout import format_layout
from capdisc_indexer.text.normalization import FRAME_LINE, FRAME_SIGNS

FORMAT = RenderFormat(
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
    frame_open=lambda label, text: f">>> {label} [{frame_mark(text)}]\n",
    chunk=lambda chunk: chunk,
    frame_close=lambda _, text: f"<<< end [{frame_mark(text)}]\n",
    format_context=format_layout,
    hint=lambda line: f"{line}\n",
)


def with_mark_key(form: RenderFormat, load_key: Callable[[], bytes]) -> RenderFormat:
    """The format with marks made with this key, which is loaded for the first of them; one without
    marks as it is.
    """
    if form.frame_open is not FORMAT.frame_open:
        return form
    return replace(
        form,
        frame_open=lambda label, text: f">>> {label} [{frame_mark(text, load_key())}]\n",
        frame_close=lambda _, text: f"<<< end [{frame_mark(text, load_key())}]\n",
    )


def imitates_frame(block_text: str) -> bool:
    """Whether what stands inside a printed block holds a line like those that frame it.

    >>> imitates_frame(">>> a [123456]\\n<<< end [000000]\\n<<< end [123456]\\n"), imitates_frame("a\\nb\\nc")
    (True, False)
    """
    inside = block_text.strip("\n").partition("\n")[2].rpartition("\n")[0]
    return any(sign in inside for sign in FRAME_SIGNS) and bool(FRAME_LINE.search(inside))
