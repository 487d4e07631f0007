"""Only its owner can read an index, whatever the umask of the process."""

import os

import pytest

from capdisc_indexer.model.errors import IndexStateError
from capdisc_indexer.store import durable_files


def test_an_index_of_another_user_is_not_written_to(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(IndexStateError, match="belongs to another user"):
        durable_files.check_ownership(tmp_path)


def test_what_root_made_for_everyone_is_trusted(tmp_path, monkeypatch) -> None:
    mine = tmp_path.stat().st_uid
    monkeypatch.setattr(os, "geteuid", lambda: mine)
    assert durable_files.distrust_reason(tmp_path) == ""
    monkeypatch.setattr(os, "geteuid", lambda: mine + 1)
    assert bool(durable_files.distrust_reason(tmp_path)) is (mine != 0)
