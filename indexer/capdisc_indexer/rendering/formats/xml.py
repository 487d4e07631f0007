"""XML: the form that keeps content and frame apart by escaping."""

from __future__ import annotations

from html import escape

from capdisc_indexer.model.types import Descriptor
from capdisc_indexer.rendering.formats.format import RenderFormat
from capdisc_indexer.rendering.layout import format_layout
from capdisc_indexer.text.normalization import one_line


def _format_summary(descriptor: Descriptor, line: str) -> str:
    return f'<capability id="{escape(one_line(descriptor.id, 100))}">{escape(line)}</capability>\n'


def _escape_literal(text: str) -> str:
    return f"<instructions>\n{escape(text.strip())}\n</instructions>\n" if text.strip() else ""


FORMAT = RenderFormat(
    name="xml",
    levels=(0, 1, 2),
    opening="<capabilities>\n",
    closing="</capabilities>\n",
    headings=("<overview>\n", "<relevant>\n", "<reference>\n", "<memory>\n", "<additional>\n"),
    endings=("</overview>\n", "</relevant>\n", "</reference>\n", "</memory>\n", "</additional>\n"),
    category=lambda line: f"<category>{escape(line)}</category>\n",
    summary=_format_summary,
    frame_open=lambda label, _: f'<detail id="{escape(label)}">\n',
    chunk=escape,
    frame_close=lambda *_: "</detail>\n",
    format_context=format_layout,
    hint=lambda line: f"<hint>{escape(line)}</hint>\n" if line else "",
    literal=_escape_literal,
)
