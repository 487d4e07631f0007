"""How a context is printed. A format is a table of small functions; adding one means a file and one line below."""

from __future__ import annotations

from capdisc_indexer.render import json_format, markdown, messages, skills_xml, text, xml
from capdisc_indexer.render.format import Format

FORMATS: dict[str, Format] = {
    each.name: each
    for each in (text.FORMAT, markdown.FORMAT, xml.FORMAT, json_format.FORMAT, messages.FORMAT, skills_xml.FORMAT)
}
