"""The formats that a context can be printed in, by name.

A new format is one `RenderFormat` in a module here and one line in the table; its fields say what
it needs of the rest. Those of plug-ins are loaded where one of their names is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from capdisc_indexer.model.frozen import replace
from capdisc_indexer.plugins import registry
from capdisc_indexer.rendering.formats.json_format import JSON, MESSAGES
from capdisc_indexer.rendering.formats.text import MARKDOWN, SKILLS_XML, TEXT, XML
from capdisc_indexer.rendering.render_format import RenderFormat

FORMATS: Mapping[str, RenderFormat] = MappingProxyType(
    {form.name: form for form in (TEXT, MARKDOWN, XML, JSON, MESSAGES, SKILLS_XML)}
)


def find_format(name: str) -> RenderFormat:
    """The format of this name. Raises UsageError for an unknown one, and PluginError where that of
    a plug-in cannot be loaded.
    """
    if name in FORMATS:
        return FORMATS[name]
    references = registry.find_references("render_formats")
    if name not in references:
        from capdisc_indexer.text.similar_names import unknown_choice

        raise unknown_choice("format", name, (*FORMATS, *references))
    form: RenderFormat = registry.load_attribute(references[name])
    # The index stores no counts of its pieces.
    return replace(form, name=name, is_counted_ahead=False)


def list_added_formats() -> tuple[str, ...]:
    """The names of the formats that plug-ins add."""
    return tuple(registry.find_references("render_formats"))
