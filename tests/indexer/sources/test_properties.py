"""Loading a file returns findings and never raises, whatever the file holds."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from capdisc_indexer.model.types import LoadedFile
from capdisc_indexer.sources.format_table import SOURCES
from capdisc_indexer.sources.readers.frontmatter import split_front_matter
from capdisc_indexer.sources.readers.yaml_reader import repair_block
from capdisc_indexer.sources.scan.scanned_files import FoundFile


def load(format_name: str, data: bytes) -> LoadedFile:
    source = SOURCES[format_name]
    name = (*source.filenames, *(f"x{suffix}" for suffix in source.suffixes))[0]
    path = f"/nowhere/at-all/{name}"
    file = FoundFile(
        path=path,
        resolved=path,
        size=len(data),
        mtime_ns=0,
        ctime_ns=0,
        inode=0,
        relative=f"at-all/{name}",
        root="/nowhere",
        root_order=0,
        format=format_name,
    )
    return SOURCES[format_name].load(file, data)


def check(loaded: LoadedFile) -> None:
    assert loaded.descriptors or loaded.findings
    for finding in loaded.findings:
        assert finding.code and finding.message and finding.path
        assert finding.line >= 1 and finding.column >= 1
    for descriptor in loaded.descriptors:
        assert descriptor.id and descriptor.name and descriptor.description
    repr(loaded).encode()


# A format that opens its file itself is given none here; of documents and DDL, nothing is expected.
MANIFESTS = ("capability", "catalogue", "functions", "mcp", "mcp-servers", "openapi", "skill")
formats = st.sampled_from(MANIFESTS)
# Pieces that mean something to the parsers, so that random texts get past the first line.
pieces = st.sampled_from(
    [
        *"\n\n  :-[]{}\"'|>#&*!%@`,?\t\r~",
        "---\n",
        "name: ",
        "kind: tool\n",
        "description: ",
        "\u2028",
        "\x85",
        "é",
        "a",
        "0",
    ]
)


@given(formats, st.lists(pieces, max_size=60).map("".join))
@example("skill", "---\nname: a\ndescription: '\u2028\n---\n")
def test_random_fragments_never_raise(format_name: str, text: str) -> None:
    check(load(format_name, text.encode()))
    check(load(format_name, f"---\n{text}\n---\n".encode()))


@given(st.lists(pieces, max_size=60).map("".join))
def test_a_split_loses_no_line_of_block_or_body(text: str) -> None:
    halves = split_front_matter(f"---\n{text}\n---\nbody")
    if halves.block is not None:
        assert text.startswith(halves.block.removesuffix("\n"))


@given(st.lists(pieces, max_size=60).map("".join))
def test_a_repair_keeps_the_number_of_lines(text: str) -> None:
    assert repair_block(text)[0].count("\n") == text.count("\n")
