"""Choose what goes into each tier, within hard limits on tokens of printed text.

Tier 0 is an overview of the categories and depends on catalogue and budget alone, so that prompt
caches hold; tier 1 has a line for each of the first hits; tier 2 the best ones in full. What a
tier does not use, the next may. What is too long is shortened, then cut and marked; what is left
out is named in `dropped`.
"""

from capdisc_indexer.rendering.assembly import assemble
from capdisc_indexer.rendering.templates import Guidance, RenderInputs

__all__ = ["Guidance", "RenderInputs", "assemble"]
