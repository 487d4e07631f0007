"""Only its owner can read an index, whatever the umask of the process."""

import os
import stat

import pytest

from capdisc_indexer.indexing.pipeline import build_index
from capdisc_indexer.model.errors import IndexStateError
from capdisc_indexer.model.types import BuildOptions
from capdisc_indexer.store import durable_files


@pytest.fixture
def umask():
    before = os.umask(0o022)
    yield os.umask
    os.umask(before)


@pytest.mark.parametrize("mask", [0o000, 0o077])
def test_whatever_the_umask_nobody_else_may_read_or_write(
    hermetic, write_skill, umask, mask
) -> None:
    write_skill(hermetic / "skills", "alpha")
    umask(mask)
    top = hermetic / "deep" / "down" / "index"
    build_index([hermetic / "skills"], top, BuildOptions())
    paths = [hermetic / "deep", hermetic / "deep" / "down", top, *top.rglob("*")]
    assert {stat.S_IMODE(path.stat().st_mode) for path in paths if path.is_dir()} == {0o700}
    assert {stat.S_IMODE(path.stat().st_mode) for path in paths if path.is_file()} == {0o600}


@pytest.mark.parametrize("name", [".", "gens"])
@pytest.mark.parametrize("mode", [0o777, 0o770, 0o1777])
def test_an_index_that_others_may_write_to_is_not_written_to(
    hermetic, write_skill, name, mode
) -> None:
    write_skill(hermetic / "skills", "alpha")
    index_dir = hermetic / "index"
    build_index([hermetic / "skills"], index_dir, BuildOptions())
    (index_dir / name).chmod(mode)
    with pytest.raises(IndexStateError, match="others may write") as caught:
        build_index([hermetic / "skills"], index_dir, BuildOptions())
    assert f"chmod go-w {(index_dir / name).resolve()}" in caught.value.hint


def test_an_index_of_another_user_is_not_written_to(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(IndexStateError, match="belongs to another user"):
        durable_files.check_ownership(tmp_path)


def test_searching_such_an_index_gives_a_notice(capdisc, hermetic, write_skill) -> None:
    write_skill(hermetic / "skills", "alpha", "Folds paper cranes. Use when asked.")
    capdisc("index", "skills", "--index-dir", "index")
    assert capdisc("search", "fold a crane", "--index-dir", "index").err == ""
    (hermetic / "index").chmod(0o777)
    result = capdisc("search", "fold a crane", "--index-dir", "index", "--ids")
    assert result.out == "skill:alpha\n"
    assert "may not be yours: others may write to it (mode 0777)" in result.err


def test_what_root_made_for_everyone_is_trusted(tmp_path, monkeypatch) -> None:
    mine = tmp_path.stat().st_uid
    monkeypatch.setattr(os, "geteuid", lambda: mine)
    assert durable_files.distrust_reason(tmp_path) == ""
    monkeypatch.setattr(os, "geteuid", lambda: mine + 1)
    assert bool(durable_files.distrust_reason(tmp_path)) is (mine != 0)
