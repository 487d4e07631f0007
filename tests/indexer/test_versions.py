"""An index of another release is recognised before a native library opens it."""

import hashlib
import json

import pytest

from capdisc_indexer import lazy_imports
from capdisc_indexer.indexing.pipeline import build_index
from capdisc_indexer.model.errors import IndexStateError
from capdisc_indexer.model.types import BuildOptions
from capdisc_indexer.store import generation
from capdisc_indexer.store.snapshot import Index
from case_rows import read_rows

HERE = generation.SCHEMA_VERSION


@pytest.fixture
def built(hermetic, write_skill):
    root, index_dir = hermetic / "skills", hermetic / "index"
    write_skill(root, "alpha")
    build_index([root], index_dir, BuildOptions())
    return root, index_dir


def _rewrite(index_dir, content: bytes) -> None:
    """Put another manifest in place, with the digest that goes with it."""
    (generation.generation_folder(index_dir, 1) / "MANIFEST").write_bytes(content)
    (index_dir / "CURRENT").write_text(f"1 {hashlib.sha256(content).hexdigest()}\n")


def _manifest(index_dir, **changes) -> bytes:
    manifest = (
        json.loads((generation.generation_folder(index_dir, 1) / "MANIFEST").read_bytes())
        | changes
    )
    return json.dumps(
        {key: value for key, value in manifest.items() if value is not None}
    ).encode()


VERSIONS = (0, 1, 2, HERE - 1, HERE + 1, 10**9, -1)
CHANGES = [*({"schema_version": each} for each in VERSIONS), *read_rows(__file__, "changes")]


@pytest.mark.parametrize("changes", CHANGES, ids=str)
def test_other_versions_are_refused_unopened_and_then_built_anew(
    built, monkeypatch, changes
) -> None:
    root, index_dir = built
    _rewrite(index_dir, _manifest(index_dir, **changes))
    with monkeypatch.context() as patch:
        patch.setattr(lazy_imports, "tantivy", lambda: pytest.fail("opened by the text engine"))
        with pytest.raises(IndexStateError, match="another version of capdisc") as caught:
            Index(index_dir)
    assert "capdisc index" in caught.value.hint
    with pytest.raises(IndexStateError, match="another version") as refused:
        build_index([root], index_dir, BuildOptions(may_rebuild=False))
    assert refused.value.hint == "run: capdisc index --rebuild"
    report = build_index([root], index_dir, BuildOptions())
    assert "rebuilding it" in report.degraded[0]
    assert len(Index(index_dir).documents) == 1


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"7", b"\xff\xfe", b'"text"', b"[" * 5000], ids=range(6)
)
def test_a_manifest_of_a_kind_we_do_not_know_is_another_version_too(built, content) -> None:
    root, index_dir = built
    _rewrite(index_dir, content)
    with pytest.raises(IndexStateError, match="another version"):
        Index(index_dir)
    assert build_index([root], index_dir, BuildOptions()).published


def test_a_newer_one_is_named_as_newer(built) -> None:
    _, index_dir = built
    _rewrite(index_dir, _manifest(index_dir, schema_version=HERE + 3))
    with pytest.raises(IndexStateError, match=rf"newer one .format {HERE + 3}") as caught:
        Index(index_dir)
    assert "install that version again" in caught.value.hint


def test_a_release_that_shares_the_format_is_read_and_then_rebuilt(built, monkeypatch) -> None:
    root, index_dir = built
    monkeypatch.setattr("capdisc_indexer.plugins.entry_points.__version__", "0.0.1")
    assert len(Index(index_dir).documents) == 1
    with pytest.raises(IndexStateError, match="another release"):
        build_index([root], index_dir, BuildOptions(may_rebuild=False))
    assert build_index([root], index_dir, BuildOptions()).counts["parsed"] == 1
