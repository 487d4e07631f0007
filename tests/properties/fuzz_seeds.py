"""Valid files of every source format, which fuzz tests change: those of the fixtures, and those of
`seeds`, one or more of each format: `seeds/FORMAT/NUMBER-NAME.seed` is a file called NAME.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from capdisc_indexer.sources.format_table import SOURCES, declared_source, source_for

FIXTURES = Path(__file__).resolve().parent.parent.parent / "fixtures"
SEEDS = Path(__file__).with_name("seeds")
MAX_BYTES = 16 * 1024


@cache
def seeds_by_format() -> Mapping[str, tuple[tuple[str, bytes], ...]]:
    """Names and contents of valid files, for each format of the table of sources."""
    seeds: dict[str, list[tuple[str, bytes]]] = defaultdict(list)
    for path in sorted(SEEDS.glob("*/*.seed")):
        name = path.name.removesuffix(".seed").partition("-")[2]
        seeds[path.parent.name].append((name, path.read_bytes()))
    for path in sorted(FIXTURES.rglob("*")):
        is_small = path.is_file() and path.stat().st_size < MAX_BYTES
        if not is_small or path.is_relative_to(FIXTURES / "catalogs" / "office"):
            continue
        source = source_for(path.name)
        for word in ("openapi", "graphql", "table", "document", "sql"):
            source = source or declared_source(word, path.name)
        if source is not None:
            seeds[source.format].append((path.name, path.read_bytes()))
    return {format_name: tuple(seeds[format_name]) for format_name in SOURCES}
