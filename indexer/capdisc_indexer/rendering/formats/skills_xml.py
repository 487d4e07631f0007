"""The catalogue form of the Agent Skills reference library, byte for byte (skills-ref `to-prompt`,
0.1.1): one line a tag and a value, name and description escaped, the location as it is.
"""

from __future__ import annotations

from html import escape

from capdisc_indexer.model.types import Descriptor
from capdisc_indexer.rendering.formats.format import RenderFormat
from capdisc_indexer.rendering.layout import format_layout


def _format_skill(descriptor: Descriptor, _: str) -> str:
    fields = (
        "<skill>",
        "<name>",
        escape(descriptor.name),
        "</name>",
        "<description>",
        escape(descriptor.description),
        "</description>",
        "<location>",
        _format_location(descriptor.source.path),
        "</location>",
        "</skill>",
    )
    return "\n".join(fields) + "\n"


def _format_location(path: str) -> str:
    """The path as it is, which is what the reference prints; escaped where it would be markup."""
    return escape(" ".join(path.splitlines())) if set(path) & set("<>&\n\r") else path


def _no_text(*_: object) -> str:
    return ""


FORMAT = RenderFormat(
    name="skills-xml",
    levels=(1,),
    opening="<available_skills>\n",
    closing="</available_skills>\n",
    headings=("", "", "", "", ""),
    endings=("", "", "", "", ""),
    category=_no_text,
    summary=_format_skill,
    frame_open=_no_text,
    chunk=_no_text,
    frame_close=_no_text,
    format_context=format_layout,
    hint=_no_text,
    additive=False,
    suits=lambda kind: kind == "skill",
)
