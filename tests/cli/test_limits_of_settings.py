"""Settings that a clone or a client brings: none may take the memory or the time of a command, nor end it with a bug."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from capdisc_indexer.config.settings_reader import (
    MAX_LEVELS,
    parse_commented_json,
    parse_json,
    parse_toml,
)

REPOSITORY = Path(__file__).resolve().parents[2]
MIB = 1024 * 1024
LONG_KEY = ".".join(["a"] * 100_000)
HOSTILE = {
    "a key of many parts": f"{LONG_KEY} = 1",
    "parts in quotes, with blanks": " . ".join(['"a.b"'] * 50_000) + " = 1",
    "a header of many parts": f"[{LONG_KEY}]",
    "an inline table in a long key": f"x = {{ {LONG_KEY} = 1 }}",
    "arrays in arrays": "a = " + "[" * 200_000,
    "inline tables in inline tables": "a = " + "{a=" * 200_000,
    "long keys, and many of them": "".join(
        f"{'.'.join('a' * 60)}.k{n} = 1\n" for n in range(8_000)
    ),
    "a number without end": "limit = 0x" + "f" * 50_000,
    "more than a MiB": "# " + "x" * MIB,
    "a string that never ends": 'a = "' + "\\\\" * 200_000,
}


def run_limited(*words: str, seconds: int = 60) -> tuple[int, str, str]:
    """What the command answers within 100 MiB, which is less than any of these files took, and in so much processor time."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_DATA, (100 * MIB, 100 * MIB))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))

    done = subprocess.run(
        [sys.executable, "-m", "capdisc", *words], capture_output=True, text=True, check=False, preexec_fn=limit,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_configuration_is_an_error_that_names_it(hermetic, text) -> None:
    (hermetic / "capdisc.toml").write_text(text)
    code, out, err = run_limited("search", "merge files")
    assert (code, out) == (3, "")
    assert f"the configuration cannot be read: {hermetic}/capdisc.toml: " in err
    assert "hint: mend the file, or move it away" in err


@pytest.mark.parametrize(
    "name", [".capdisc/config.toml", "pyproject.toml", "../home/.config/capdisc/config.toml"]
)
def test_so_it_is_in_every_file_of_settings(hermetic, name) -> None:
    path = hermetic / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"[tool.capdisc]\n{LONG_KEY} = 1\n")
    code, _, err = run_limited("search", "merge files")
    assert code == 3
    assert "levels deep, parts of keys included (at line 2)" in err


def test_a_file_of_gigabytes_is_not_read_whole(hermetic) -> None:
    with (hermetic / "capdisc.toml").open("wb") as stream:
        stream.truncate(2 * 1024 * MIB)
    code, _, err = run_limited("search", "merge files")
    assert code == 3
    assert "it has more than 1 MiB" in err


def test_a_pyproject_of_others_is_none_of_our_business(hermetic) -> None:
    (hermetic / "pyproject.toml").write_text(f"{LONG_KEY} = 1\n")
    assert run_limited("config", "get", "limit")[0] == 0
    with (hermetic / "pyproject.toml").open("wb") as stream:
        stream.truncate(2 * 1024 * MIB)
    assert run_limited("config", "get", "limit")[0] == 0


def test_a_hook_says_nothing_and_logs_it(hermetic, capdisc) -> None:
    (hermetic / "capdisc.toml").write_text(f"{LONG_KEY} = 1\n")
    done = subprocess.run(
        [sys.executable, "-m", "capdisc", "hook", "claude", "--deadline", "60"], input=json.dumps({"prompt": "merge files"}),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "")
    (hermetic / "capdisc.toml").unlink()
    assert "the configuration cannot be read" in capdisc("doctor").out


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (".codex/config.toml", f"{LONG_KEY} = 1"),
        (".mcp.json", '{"mcpServers": ' + "[" * 200_000),
        (".mcp.json", "/*" * 200_000),
        (".mcp.json", '"' + '\\"' * 200_000),
        (".vscode/mcp.json", "[" + "1, " * 400_000),
        (".gemini/settings.json", None),
    ],
)
@pytest.mark.parametrize("words", [("trust",), ("mcp", "--gateway", "--list")])
def test_a_clients_file_costs_itself_alone_and_is_named(hermetic, name, text, words) -> None:
    path = hermetic / name
    path.parent.mkdir(exist_ok=True)
    with path.open("w") as stream:
        stream.truncate(2 * 1024 * MIB) if text is None else stream.write(text)
    code, _, err = run_limited(*words)
    assert code == 0
    assert f"{path}: cannot be read: " in err


def test_a_configuration_that_is_a_link_out_is_not_followed(
    hermetic, capdisc, write_skill
) -> None:
    write_skill(hermetic / ".claude" / "skills", "merge-files", "Merges files. Use when asked.")
    secret = hermetic.parent / "home" / "note.txt"
    secret.write_text("limit = 1 # not for others\n")
    (hermetic / "capdisc.toml").symlink_to(secret)
    notice = f"notice: {hermetic}/capdisc.toml is a link out of the workspace, and is not read"
    done = capdisc("search", "merge files")
    assert done.code == 0
    assert "skill:merge-files" in done.out
    assert notice in done.err
    assert notice in capdisc("trust").err
    assert capdisc("config", "get", "limit").out != "1\n"
    assert capdisc("config", "set", "limit", "3", "--workspace").code == 5
    assert secret.read_text() == "limit = 1 # not for others\n"


def test_a_link_inside_and_a_link_of_the_user_are_followed(hermetic, capdisc) -> None:
    (hermetic / "settings").mkdir()
    (hermetic / "settings" / "shared.toml").write_text("limit = 7\n")
    (hermetic / "capdisc.toml").symlink_to("settings/shared.toml")
    dotfiles = hermetic.parent / "dotfiles.toml"
    dotfiles.write_text("budget = 900\n")
    config = hermetic.parent / "home" / ".config" / "capdisc"
    config.mkdir(parents=True)
    (config / "config.toml").symlink_to(dotfiles)
    assert capdisc("config", "get", "limit").out == "7\n"
    assert capdisc("config", "get", "budget").out == "900\n"


def test_project_settings_of_a_client_that_are_a_link_out_are_named(
    hermetic, capdisc, write_skill
) -> None:
    home = hermetic.parent / "home"
    plugin = home / "plugin"
    plugin.mkdir()
    installed = home / ".claude" / "plugins" / "installed_plugins.json"
    installed.parent.mkdir(parents=True)
    installed.write_text(
        json.dumps({"plugins": {"p@m": [{"scope": "user", "installPath": str(plugin)}]}})
    )
    (hermetic / ".claude").mkdir()
    (hermetic / ".claude" / "settings.json").symlink_to(home / "note.json")
    (home / "note.json").write_text("{}")
    write_skill(hermetic / ".claude" / "skills", "merge-files")
    assert (
        f"{hermetic}/.claude/settings.json is not read: it is a link out of the workspace"
        in capdisc("index").err
    )


def test_a_capability_of_many_aliases_is_not_added(capdisc) -> None:
    bomb = "a: &a [x, x]\n" + "".join(
        f"{n}: &{n} [*{b}, *{b}]\n" for b, n in zip("abcdefgh", "bcdefghi", strict=True)
    )
    done = capdisc("add", "-", stdin=f"name: x\n{bomb}")
    assert done.code == 3
    assert "alias" in done.err


REALISTIC = [
    (REPOSITORY / "pyproject.toml").read_text(),
    '[projects."/home/ann/a.b.c/d.e"]\ntrust_level = "trusted"\n' * 1,
    'text = """\nMore [than. one] {line}, and "two" quotes: ""\\"" \\\n  a.b.c.d"""\nnext = 1\n',
    "raw = '''\nit's [[[ '' a.b '''\nnext.part = 'C:\\dir.x'\n",
    'four = """"quoted""""\nempty = ""\nalso = \'\'\nsix = """"""\n# a [comment] with "quotes and \'one.\n',
    'list = [\n  "a.b", # [ and "\n  { name = "x", on.off = true },\n  1.5, 1979-05-27T07:32:00Z, 0xff,\n]\n',
    '[[a.b]]\nc.d.e = 1\n[[a.b]]\nc.d.e = 2\n[a.f]\n"g.h" = [[1, 2], [3]]\n',
    "".join(
        f'[servers.s{n}]\ncommand = "x"\nenv = {{ A = "b", C.D = "e" }}\n' for n in range(2_000)
    ),
    "a" + ".a" * (MAX_LEVELS - 1) + " = 1\n",
]


@pytest.mark.parametrize("text", REALISTIC)
def test_what_people_write_is_read_as_before(text) -> None:
    assert parse_toml(text) == tomllib.loads(text)


def test_the_edges_of_the_limits() -> None:
    deep = "[" * MAX_LEVELS + "]" * MAX_LEVELS
    assert parse_json(deep) == json.loads(deep)
    for refuse, text in (
        (parse_json, f"[{deep}]"),
        (parse_toml, "a" + ".a" * (MAX_LEVELS + 1) + " = 1"),
    ):
        with pytest.raises(ValueError, match="nested more than 64 levels deep"):
            refuse(text)
    assert parse_toml("".join(f"k{n} = 1\n" for n in range(49_000)))["k48999"] == 1
    with pytest.raises(ValueError, match="50,000 keys"):
        parse_toml("".join(f"k{n} = 1\n" for n in range(51_000)))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (
            '{"a": "//x", /* [[[ "b" \'*/ "c": [1, 2,], } // it\'s "the end',
            {"a": "//x", "c": [1, 2]},
        ),
        ('// "\n[1]', [1]),
        ('{"a": {"b": "\\"]]],"}}', {"a": {"b": '"]]],'}}),
    ],
)
def test_json_with_comments_is_read_as_before(text, value) -> None:
    assert parse_commented_json(text) == value


def test_patterns_of_a_workspace_take_time_in_proportion(hermetic) -> None:
    """300 patterns of fifty stars once held a build for ever."""
    (hermetic / "docs").mkdir()
    (hermetic / "docs" / f"{'a' * 200}.md").write_text(
        "# Notes\n\nSome words about folding paper.\n"
    )
    pattern = "docs/" + "*a" * 50 + "b.md"
    source = f'[[source]]\nformat = "document"\npath = "{pattern}"\n'
    (hermetic / "capdisc.toml").write_text(source * 300 + source.replace("ab.md", "a.md"))
    assert os.environ["CAPDISC_TABLE"] == "off"
    done = subprocess.run(
        [sys.executable, "-m", "capdisc", "index", "--json"], capture_output=True, text=True, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (30, 30)),
    )  # fmt: skip
    answer = json.loads(done.stdout)
    assert {finding["code"] for finding in answer["findings"]} >= {"source-missing"}
    assert answer["counts"]["added"] >= 1
