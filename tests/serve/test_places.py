"""Where the socket lies: nobody else may decide what a part of its path leads to."""

import os
import shutil
import tempfile
from pathlib import Path

import pytest

from capdisc.serve import protocol

QUERY = ("search", "put two PDF files into one", "--ids", "-k", "1")
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another user")
OTHER = 65_533


def refused(client) -> str:
    """What `serve` says where it makes nothing; a query is answered all the same."""
    code, out, err = client("serve", "--idle", "1s")
    assert (code, out) == (4, "")
    assert client(*QUERY)[0] == 0
    assert client(*QUERY, "--server", "require")[0] == 75
    return err


@pytest.mark.parametrize("kind", ["link", "dangling", "file"])
def test_the_folder_itself_is_no_link(small, client, runtime, hermetic, kind) -> None:
    mine = hermetic / "mine"
    if kind == "link":
        mine.mkdir(mode=0o700)
    if kind == "file":
        (runtime / "capdisc").write_text("")
    else:
        (runtime / "capdisc").symlink_to(mine)
    assert f"{runtime}/capdisc is {'no folder' if kind == 'file' else 'a link'}" in refused(client)
    assert kind == "file" or not mine.exists() or list(mine.iterdir()) == []


def test_a_folder_above_that_others_may_write_to_is_refused(small, client, runtime) -> None:
    runtime.chmod(0o777)
    assert f"others may write to {runtime}" in refused(client)
    assert not (runtime / "capdisc").exists()


def test_a_sticky_folder_above_is_as_good_as_a_private_one(small, runtime) -> None:
    runtime.chmod(0o1777)
    assert protocol.path_flaw(f"{runtime}/capdisc") == ""


def test_what_a_link_above_leads_to_is_looked_at_as_well(
    small, client, runtime, monkeypatch
) -> None:
    target = Path(tempfile.mkdtemp(prefix="cd-"))
    try:
        (runtime / "run").symlink_to(target)
        monkeypatch.setenv("XDG_RUNTIME_DIR", f"{runtime}/run")
        assert protocol.path_flaw(f"{runtime}/run/capdisc") == ""
        target.chmod(0o777)
        assert f"others may write to {target}" in refused(client)
        (runtime / "loop").symlink_to("loop")
        assert protocol.path_flaw(f"{runtime}/loop/capdisc") == f"{runtime}/loop is a link"
    finally:
        shutil.rmtree(target)


def test_dots_in_a_path_lead_where_the_system_goes(runtime) -> None:
    inner = runtime / "inner"
    inner.mkdir(mode=0o777)
    inner.chmod(0o777)
    assert protocol.path_flaw(f"{inner}/../capdisc") == f"others may write to {inner}"
    assert protocol.path_flaw(f"{runtime}/./x/../capdisc") == ""


def test_the_doctor_says_why_no_server_is_asked(small, capdisc, runtime) -> None:
    (runtime / "capdisc").symlink_to(runtime)
    checks = {each["name"]: each for each in capdisc("doctor", "--json").json["checks"]}
    assert f"{runtime}/capdisc is a link" in checks["server"]["text"]
    assert checks["server"]["state"] == "notice"


@as_root
def test_a_link_of_another_user_is_not_followed(small, client, runtime, hermetic) -> None:
    """A folder for all, as /tmp is, in which somebody else was faster."""
    runtime.chmod(0o1777)
    mine = hermetic / "mine"
    mine.mkdir(mode=0o700)
    (runtime / "capdisc").symlink_to(mine)
    os.lchown(runtime / "capdisc", OTHER, OTHER)
    assert f"{runtime}/capdisc belongs to another user" in refused(client)
    assert list(mine.iterdir()) == []


@as_root
@pytest.mark.parametrize("part", ["", "capdisc"])
def test_a_folder_of_another_user_is_refused(small, client, runtime, part) -> None:
    (runtime / "capdisc").mkdir(mode=0o700)
    os.chown(runtime / part, OTHER, OTHER)
    assert "belongs to another user" in refused(client)
