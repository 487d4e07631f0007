"""XML: the form that keeps content and frame apart by escaping."""

from __future__ import annotations

from html import escape

from capdisc_indexer.render.content import summary_line
from capdisc_indexer.render.format import Format, concatenated
from capdisc_indexer.text import one_line
from capdisc_indexer.types import Descriptor


def _summary(descriptor: Descriptor) -> str:
    return f'<capability id="{escape(one_line(descriptor.id, 100))}">{escape(summary_line(descriptor))}</capability>\n'


FORMAT = Format(
    name="xml",
    levels=(0, 1, 2),
    opening="<capabilities>\n",
    closing="</capabilities>\n",
    headings=("<overview>\n", "<relevant>\n", "<reference>\n"),
    endings=("</overview>\n", "</relevant>\n", "</reference>\n"),
    category=lambda line: f"<category>{escape(line)}</category>\n",
    summary=_summary,
    detail_open=lambda descriptor: f'<detail id="{escape(one_line(descriptor.id, 100))}">\n',
    detail_chunk=escape,
    detail_close=lambda _: "</detail>\n",
    printed=concatenated,
)
