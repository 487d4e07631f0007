"""XML: the form that keeps content and frame apart by escaping."""

from __future__ import annotations

from html import escape

from capdisc_indexer.render.format import Format
from capdisc_indexer.render.layout import concatenated
from capdisc_indexer.text import one_line
from capdisc_indexer.types import Descriptor


def _summary(descriptor: Descriptor, line: str) -> str:
    return f'<capability id="{escape(one_line(descriptor.id, 100))}">{escape(line)}</capability>\n'


def _literal(text: str) -> str:
    return f"<instructions>\n{escape(text.strip())}\n</instructions>\n" if text.strip() else ""


FORMAT = Format(
    name="xml",
    levels=(0, 1, 2),
    opening="<capabilities>\n",
    closing="</capabilities>\n",
    headings=("<overview>\n", "<relevant>\n", "<reference>\n", "<memory>\n", "<additional>\n"),
    endings=("</overview>\n", "</relevant>\n", "</reference>\n", "</memory>\n", "</additional>\n"),
    category=lambda line: f"<category>{escape(line)}</category>\n",
    summary=_summary,
    frame_open=lambda label, _: f'<detail id="{escape(label)}">\n',
    chunk=escape,
    frame_close=lambda *_: "</detail>\n",
    printed=concatenated,
    hint=lambda line: f"<hint>{escape(line)}</hint>\n" if line else "",
    literal=_literal,
)
