"""capdisc uninstall at a terminal, and the command that it names; transcripts/uninstall.txt has the rest."""

from __future__ import annotations

import pytest

from capdisc.commands import uninstall
from capdisc_indexer.installation import Installation, remove_command


@pytest.mark.parametrize(("answer", "code"), [("n", 5), ("y", 0)])
def test_a_person_is_asked(capdisc, clone, home, monkeypatch, answer, code) -> None:
    capdisc("index")
    monkeypatch.setattr(uninstall, "has_person", lambda _: True)
    monkeypatch.setattr(uninstall, "read_answer", lambda _: answer)
    done = capdisc("uninstall")
    assert done.code == code
    assert (home / ".cache/capdisc").exists() is (answer == "n")


@pytest.mark.parametrize(
    ("installer", "command"),
    [
        ("pip", "/v/bin/python -m pip uninstall capdisc-cli"),
        ("pipx", "pipx uninstall v"),
        ("uv tool", "uv tool uninstall capdisc-cli"),
        ("uv pip", "uv pip uninstall --python /v capdisc-cli"),
        ("uvx", "uv cache clean capdisc-cli"),
    ],
)
def test_the_command_that_removes_the_program(installer, command) -> None:
    there = Installation(installer=installer, prefix="/v", python="/v/bin/python")
    assert remove_command(there) == command
