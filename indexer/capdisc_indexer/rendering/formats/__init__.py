"""The formats that a context can be printed in, by name.

A new format is one `RenderFormat` in a module here and one line in the table; its fields say what
it needs of the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from capdisc_indexer.rendering.formats.format import RenderFormat
from capdisc_indexer.rendering.formats.json_format import JSON
from capdisc_indexer.rendering.formats.text import MARKDOWN, MESSAGES, TEXT
from capdisc_indexer.rendering.formats.xml import SKILLS_XML, XML

FORMATS: Mapping[str, RenderFormat] = MappingProxyType(
    {form.name: form for form in (TEXT, MARKDOWN, XML, JSON, MESSAGES, SKILLS_XML)}
)
