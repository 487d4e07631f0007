"""The catalogue form of the Agent Skills reference library, byte for byte (skills-ref `to-prompt`, 0.1.1): one line a
tag and a value, name and description escaped, the location as it is."""

from __future__ import annotations

from html import escape

from capdisc_indexer.render.format import Format
from capdisc_indexer.render.layout import concatenated
from capdisc_indexer.types import Descriptor


def _skill(descriptor: Descriptor, _: str) -> str:
    fields = (
        "<skill>",
        "<name>",
        escape(descriptor.name),
        "</name>",
        "<description>",
        escape(descriptor.description),
        "</description>",
        "<location>",
        _location(descriptor.source.path),
        "</location>",
        "</skill>",
    )
    return "\n".join(fields) + "\n"


def _location(path: str) -> str:
    """The path as it is, which is what the reference prints; escaped where it would be markup."""
    return escape(" ".join(path.splitlines())) if set(path) & set("<>&\n\r") else path


def _nothing(*_: object) -> str:
    return ""


FORMAT = Format(
    name="skills-xml",
    levels=(1,),
    opening="<available_skills>\n",
    closing="</available_skills>\n",
    headings=("", "", "", "", ""),
    endings=("", "", "", "", ""),
    category=_nothing,
    summary=_skill,
    frame_open=_nothing,
    chunk=_nothing,
    frame_close=_nothing,
    printed=concatenated,
    hint=_nothing,
    additive=False,
    suits=lambda kind: kind == "skill",
)
