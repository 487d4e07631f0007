"""Lists that the product holds, for tests that try every member of one.

A new render format, template or profile is tried by these tests without an edit here. Where a test
spells a list out instead, the list is what it asserts, and a comment beside it says so.
"""

from __future__ import annotations

from capdisc.validate import finding_formats
from capdisc_indexer.graph.drawing import DRAWINGS
from capdisc_indexer.rendering.formats import FORMATS
from capdisc_indexer.rendering.prompt_templates import list_templates
from capdisc_indexer.retrieval.pipeline import MODES
from capdisc_indexer.sources.formats.identity_fields import CAPABILITY_KINDS
from capdisc_indexer.tools.provider_formats import DEFINITION_FORMATS
from capdisc_indexer.validation.rules import PROFILES

RENDER_FORMATS = tuple(FORMATS)
# Those with all tiers; `skills-xml` is a list of summaries and nothing else.
TIERED_FORMATS = tuple(name for name, form in FORMATS.items() if form.levels == (0, 1, 2))
TEMPLATES = tuple(list_templates())
REPORT_FORMATS = tuple(finding_formats.FORMATS)
RULE_PROFILES = tuple(PROFILES)
SEARCH_MODES = tuple(MODES)
GRAPH_DRAWINGS = tuple(DRAWINGS)
TOOL_FORMATS = tuple(DEFINITION_FORMATS)
KINDS = tuple(sorted(CAPABILITY_KINDS))
