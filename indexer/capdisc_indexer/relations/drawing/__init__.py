"""Pictures of a network, as text for programs that draw, and as SVG."""

from __future__ import annotations

from collections.abc import Callable

from capdisc_indexer.relations.drawing.dot import dot
from capdisc_indexer.relations.drawing.mermaid import mermaid
from capdisc_indexer.relations.drawing.svg import svg
from capdisc_indexer.relations.values import Network

DRAWINGS: dict[str, Callable[[Network], str]] = {"dot": dot, "mermaid": mermaid, "svg": svg}
