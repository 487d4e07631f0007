"""Completion: the answer to a shell, and the scripts in the shells themselves."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest


def test_an_answer_imports_neither_the_commands_nor_a_library(small) -> None:
    code = (
        "import sys; from capdisc.args.completion import find_candidates; "
        "find_candidates(['search', '--k']); early = set(sys.modules); find_candidates(['show', 's']); "
        "heavy = ('typer', 'tantivy', 'numpy', 'yaml', 'capdisc.commands', 'capdisc_indexer.retrieval'); "
        "print('capdisc.context.surroundings' in early, [name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False []\n"


# The scripts, in the shells


@pytest.fixture
def path_with_capdisc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "bin" / "capdisc"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m capdisc "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")


def run_shell(shell: str, script: str) -> list[str]:
    options = {"bash": ["--norc"], "zsh": ["-f"], "fish": ["--no-config"]}[shell]
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    done = subprocess.run(
        [shell, *options, "-c", script], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


BASH_CASES = [
    # the words as bash splits them, and the candidates that it adds to the last of them
    (("capdisc", "sear"), ["search"]),
    (("capdisc", "show", "skill", ":", "merge"), ["merge-pdfs"]),
    (("capdisc", "show", "skill", ":"), None),
    (("capdisc", "search", "--kind", "=", "sk"), ["skill"]),
    (("capdisc", "search", "--kind", "sk"), ["skill"]),
    (("capdisc", "search", "--kind", ""), ["channel", "extension", "skill", "term", "tool"]),
    (("capdisc", "validate", "some"), ["some\\ file"]),
]


@pytest.mark.parametrize(("typed", "expected"), BASH_CASES)
def test_bash_gets_the_rest_of_the_word(
    hermetic, small, path_with_capdisc, typed, expected
) -> None:
    (hermetic / "some file").touch()
    line = " ".join(typed).replace(" : ", ":").replace(" :", ":").replace(" = ", "=")
    script = (
        'eval "$(capdisc completion bash)"\n'
        f"COMP_LINE='{line}' COMP_POINT={len(line)} COMP_WORDS=({' '.join(map(repr, typed))})\n"
        f"COMP_CWORD={len(typed) - 1}\n"
        "_capdisc\n"
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    candidates = run_shell("bash", script)
    if expected is None:
        assert "merge-pdfs" in candidates
    else:
        assert [word.replace("\\", "") for word in candidates] == [
            word.replace("\\", "") for word in expected
        ]


def test_fish_gets_words_and_what_they_mean(hermetic, small, path_with_capdisc) -> None:
    script = "capdisc completion fish | source; complete -C 'capdisc show skill:merge'; complete -C 'capdisc sear'"
    assert run_shell("fish", script) == [
        "skill:merge-pdfs",
        "search\tFind the skills and tools that fit a request.",
    ]


def test_zsh_loads_the_script(hermetic, small, path_with_capdisc) -> None:
    script = (
        "autoload -Uz compinit; compinit -D -u\n"
        "source <(capdisc completion zsh)\n"
        'print -r -- "$_comps[capdisc]"\n'
        '_describe() { print -rl -- "${candidates[@]}" }\n'
        "words=(capdisc show skill:merge); CURRENT=3; PREFIX=skill:merge; _capdisc"
    )
    assert run_shell("zsh", script) == ["_capdisc", "skill\\:merge-pdfs"]
    paths = script.replace("capdisc show skill:merge", "capdisc trust").replace("skill:merge", ".")
    paths = paths.replace("words=", "_files() { print files }\nwords=")
    assert run_shell("zsh", paths) == ["_capdisc", "files"]


# Manual pages


@pytest.mark.parametrize("name", [None, "search", "render", "call", "config"])
def test_a_manual_page_has_no_flaw(capdisc, hermetic, name) -> None:
    page = capdisc("help", "--man", *([name] if name else []))
    assert page.out.startswith('.TH "CAPDISC')
    assert page.out.isascii()
    if not shutil.which("groff"):
        pytest.skip("groff is not installed")
    done = subprocess.run(
        ["groff", "-man", "-ww", "-Tutf8"],
        input=page.out,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    assert done.stdout.count("(1)") >= 2
