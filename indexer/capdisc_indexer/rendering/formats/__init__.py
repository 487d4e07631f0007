"""How a context is printed. A format is a table of small functions; adding one means a file and
one line below.
"""

from __future__ import annotations

from capdisc_indexer.rendering.formats import json_format, markdown, messages, skills_xml, text, xml
from capdisc_indexer.rendering.formats.format import RenderFormat

FORMATS: dict[str, RenderFormat] = {
    render_format.name: render_format
    for render_format in (
        text.FORMAT,
        markdown.FORMAT,
        xml.FORMAT,
        json_format.FORMAT,
        messages.FORMAT,
        skills_xml.FORMAT,
    )
}
