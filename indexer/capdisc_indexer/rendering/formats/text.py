"""The formats for a prompt: plain text, Markdown and XML.

In plain text, what others wrote stands between two lines with a number derived from the text and
from a secret of this user. The author of a text cannot compute it: no instruction text can close
its frame, or hold a second frame with the right number. In Markdown the frame is a fence that is
longer than any in the text.
"""

from __future__ import annotations

from collections.abc import Callable

from capdisc_indexer.model.frozen import replace
from capdisc_indexer.model.types import Context, Descriptor
from capdisc_indexer.rendering.capability_text import availability_note
from capdisc_indexer.rendering.render_format import RenderFormat, format_layout, frame_mark
from capdisc_indexer.text.normalization import FRAME_LINE, FRAME_SIGNS, compile_late, one_line

_BACKTICK_RUN = compile_late(r"`{4,}")
# How long the secret is that frame marks are made with.
MARK_KEY_BYTES = 32
# With this begins the line of a capability; its text in full is framed.
LINE_BEGINNING = "- "
TEXT = RenderFormat(
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
    category=lambda line: f"{LINE_BEGINNING}{line}\n",
    summary=lambda _, line, path: f"{LINE_BEGINNING}{line}\n",
    location=lambda path: f"  {path}\n",
    frame_open=lambda label, text: f">>> {label} [{frame_mark(text)}]\n",
    chunk=lambda chunk: chunk,
    frame_close=lambda _, text: f"<<< end [{frame_mark(text)}]\n",
    format_context=format_layout,
    hint=lambda line: f"{line}\n",
    is_counted_ahead=True,
    counted_as="text",
)
MARKDOWN = replace(
    TEXT,
    name="markdown",
    headings=(
        "## Available capabilities\n\n",
        "## Relevant capabilities\n\n",
        "## Capability reference\n\n",
        "## Session memory\n\n",
        "## Additional Context\n\n",
    ),
    endings=('- More: `capdisc search "what you need"`, `capdisc show ID`\n', "", "", "", ""),
    frame_open=lambda label, text: f"### {label}\n\n{_fence(text)}markdown\n",
    frame_close=lambda _, text: f"{_fence(text)}\n",
    hint=lambda line: f"- {line}\n",
    counted_as="markdown",
)


def with_mark_key(form: RenderFormat, load_key: Callable[[], bytes]) -> RenderFormat:
    """The format with frame marks made with this key, which is loaded for the first of them. A
    format without marks is returned as it is.
    """
    if form.frame_open is not TEXT.frame_open:
        return form
    return replace(
        form,
        frame_open=lambda label, text: f">>> {label} [{frame_mark(text, load_key())}]\n",
        frame_close=lambda _, text: f"<<< end [{frame_mark(text, load_key())}]\n",
    )


def imitates_frame(block_text: str) -> bool:
    """Whether the text inside a printed block holds a line like those that frame it.

    >>> imitates_frame(">>> a [123456]\\n<<< end [000000]\\n<<< end [123456]\\n"), imitates_frame("a\\nb\\nc")
    (True, False)
    """
    inside = block_text.strip("\n").partition("\n")[2].rpartition("\n")[0]
    return any(sign in inside for sign in FRAME_SIGNS) and bool(FRAME_LINE.search(inside))


def text_inside(
    name: str,
    format_context: Callable[[RenderFormat, Context], str],
    *,
    needs_facts: bool = False,
    needs_request: bool = False,
    is_always_split: bool = False,
) -> RenderFormat:
    """A format for programs whose values are pieces of plain text. They are escaped when they are
    printed, so that only the printed text tells the count.
    """
    return replace(
        TEXT,
        name=name,
        format_context=format_context,
        additive=False,
        is_counted_ahead=False,
        needs_facts=needs_facts,
        needs_request=needs_request,
        is_always_split=is_always_split,
    )


def _fence(text: str) -> str:
    longest = max(map(len, _BACKTICK_RUN.findall(text))) if "````" in text else 3
    return "`" * (longest + 1)


# The XML formats, which keep content and frame apart by escaping: ours, and the catalogue of the
# Agent Skills reference library.


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
