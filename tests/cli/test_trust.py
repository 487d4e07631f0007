"""capdisc trust at a terminal and beside other processes; transcripts/trust.txt has what it allows."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from capdisc.context import surroundings


def test_no_profile_is_milder_where_a_rule_guards_the_reader() -> None:
    from capdisc_indexer.validation.finding_selection import is_guarded
    from capdisc_indexer.validation.rules import ONLY, PROFILES

    assert not [code for code in ONLY if is_guarded(code)]
    milder = {
        (profile, code)
        for profile, table in PROFILES.items()
        for code in table
        if is_guarded(code) and table[code] != "error"
    }
    # Claude Code mends both as capdisc does, so that no two of its readers disagree.
    mended = ("yaml-reserved-start", "yaml-unquoted-colon")
    assert milder == {("claude-code", code) for code in mended}


@pytest.mark.parametrize(
    ("answer", "code"), [("y\n", 0), ("yes\n", 0), ("\n", 5), ("n\n", 5), ("", 5)]
)
def test_at_a_terminal_it_asks(capdisc, clone, monkeypatch, answer, code) -> None:
    (clone / "capdisc.toml").write_text('roots = ["../outside"]\n')
    with monkeypatch.context() as patched:
        patched.setattr(surroundings, "is_terminal", lambda stream: True)
        assert capdisc("trust", stdin=answer).code == code
    assert ("roots" in capdisc("index").err) is bool(code)


def test_one_of_an_older_version_has_to_be_built_again(capdisc, clone) -> None:
    capdisc("index", "--index-dir", "one")
    from capdisc_indexer.store import publication

    manifest = clone / "one" / "gens" / "00000001" / "MANIFEST"
    record = json.loads(manifest.read_bytes())
    del record["builder_id"]
    manifest.write_text(json.dumps(record | {"schema_version": 7}))
    (clone / "one" / "CURRENT").write_text(publication.format_pointer(1, manifest.read_bytes()))
    done = capdisc("list", "--index-dir", "one")
    assert done.code == 4 and done.err.count("\n") == 2 and "run: capdisc index" in done.err
    assert capdisc("index", "--index-dir", "one").code == 0
    assert capdisc("list", "--index-dir", "one").code == 0


def test_two_first_builds_at_once_agree(clone) -> None:
    argv = [sys.executable, "-m", "capdisc", "index", "--index-dir", "idx", "--lock-timeout", "60"]
    builds = [
        subprocess.Popen(argv, stderr=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(2)
    ]
    assert [child.wait(timeout=120) for child in builds] == [0, 0]
    for child in builds:
        child.communicate()
    done = subprocess.run(
        [*argv[:3], "list", "--ids", "--index-dir", "idx"], capture_output=True, check=False
    )
    assert done.stdout.split() == [b"skill:fold"]


def test_searching_a_workspace_that_waits_for_nothing_reads_no_grant(clone, capdisc) -> None:
    (clone / "capdisc.toml").write_text('roots = ["docs"]\nlimit = 3\n')
    capdisc("index")
    code = (
        "import sys; from capdisc.args import command_table; from capdisc_indexer.store import state_file\n"
        "state_file.load_grant = None\n"  # whoever reads a grant fails
        "code = command_table.run_command(['search', 'fold'])\n"
        "sys.exit(code or any(name in sys.modules for name in ('capdisc.commands.trust_grants', 'shlex')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=False, env=dict(os.environ)
    )
    assert done.returncode == 0
