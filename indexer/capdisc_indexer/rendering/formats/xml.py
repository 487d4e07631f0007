"""The XML formats, which keep content and frame apart by escaping: ours, and the catalogue of the
Agent Skills reference library.
"""

from __future__ import annotations

from capdisc_indexer.model.types import Descriptor
from capdisc_indexer.rendering.capability_text import availability_note
from capdisc_indexer.rendering.formats.format import RenderFormat
from capdisc_indexer.rendering.layout import format_layout
from capdisc_indexer.text.normalization import one_line


def escape(text: str) -> str:
    """The text with `<`, `>`, `&` and quotes as entities."""
    from html import escape as escape_html  # 1 ms that no other format needs

    return escape_html(text)


def _format_summary(descriptor: Descriptor, line: str, path: str) -> str:
    identifier = escape(one_line(descriptor.id, 100))
    place = f' path="{escape(path)}"' if path else ""
    return f'<capability id="{identifier}"{place}>{escape(line)}</capability>\n'


def _escape_literal(text: str) -> str:
    return f"<instructions>\n{escape(text.strip())}\n</instructions>\n" if text.strip() else ""


XML = RenderFormat(
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
    has_closing_tags=True,
)


def _format_skill(descriptor: Descriptor, *_: str) -> str:
    """One line for each tag and each value, name and description escaped; the form has no other
    place for a mark than the description.
    """
    mark = availability_note((), warnings=descriptor.warnings)
    fields = (
        "<skill>",
        "<name>",
        escape(descriptor.name),
        "</name>",
        "<description>",
        escape(f"{mark} {descriptor.description}" if mark else descriptor.description),
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


# The catalogue of the reference library, byte for byte (skills-ref `to-prompt`, 0.1.1).
SKILLS_XML = RenderFormat(
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
    is_fixed_form=True,
    suits=lambda kind: kind == "skill",
)
