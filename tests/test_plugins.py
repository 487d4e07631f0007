"""Plug-ins of other distributions: the example of docs/plugins.md, and all that may be wrong with one."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.test_new_client import ENTRY
from conftest import Result

REPOSITORY = Path(__file__).resolve().parent.parent
PAGE = (REPOSITORY / "docs" / "plugins.md").read_text(encoding="utf-8")
BUILD = "from hatchling.build import build_wheel; print(build_wheel('.'))"
VALUE = "from capdisc_indexer.plugins.plugin import Plugin, PluginCommand\nPLUGIN = Plugin(name='it', {})\n"
COMMAND = "PluginCommand(about='Say it.', function='{}:say')"
SAY = '\ndef say() -> int:\n    """Say it."""\n    print(\'it is said\')\n    return 0\n'
Run = Callable[..., Result]


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example of the page, built, and installed into a folder of its own."""
    source, site = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("site")
    (project,) = re.findall(r"`pyproject.toml`:\n\n```text\n(.*?)```", PAGE, re.S)
    (module,) = re.findall(r"the module `capdisc_recipes`:\n\n```python\n(.*?)```", PAGE, re.S)
    (source / "pyproject.toml").write_text(project)
    (source / "capdisc_recipes.py").write_text(module)
    build = [sys.executable, "-c", BUILD]
    wheel = subprocess.run(build, cwd=source, check=True, capture_output=True, text=True).stdout
    zipfile.ZipFile(source / wheel.split()[-1]).extractall(site)
    return site


@pytest.fixture
def site(tmp_path: Path) -> Path:
    folder = tmp_path / "site"
    folder.mkdir()
    return folder


@pytest.fixture
def run(process, site) -> Run:
    """Runs a command line with the folder on the path, and expects this exit status."""

    def run_command(*words: str, status: int = 0, path: Path = site) -> Result:
        # Byte code in the folder would change its stamp.
        result = process(*words, env={"PYTHONPATH": str(path), "PYTHONDONTWRITEBYTECODE": "1"})
        assert result.code == status, result.err
        return result

    return run_command


def install(site: Path, name: str, text: str, value: str = "") -> None:
    """A distribution of one module, as an installer leaves it."""
    about = site / f"{name}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(
        f"[capdisc.plugins]\n{name} = {value or f'{name}:PLUGIN'}\n"
    )
    (site / f"{name}.py").write_text(text)


def install_command(site: Path, name: str, command: str) -> None:
    fields = f"commands={{'{command}': {COMMAND.format(name)}}}"
    install(site, name, VALUE.format(fields) + SAY)


@pytest.fixture
def kitchen(hermetic) -> Path:
    folder = hermetic / "kitchen"
    folder.mkdir()
    (folder / "omelette.recipe").write_text("an omelette with chives\nWhisk three eggs.\n")
    (folder / "soup.recipe").write_text("soup\n")
    return folder


def test_the_example_of_the_page_works(run, example, kitchen) -> None:
    run("index", "kitchen", path=example)
    assert "document:omelette" in run("search", "an omelette with chives", path=example).out
    checked = run("validate", "kitchen", "--format", "concise", status=1, path=example).out
    assert [line.partition(": ")[0] for line in checked.splitlines()] == [
        "kitchen/soup.recipe:1:1"
    ]
    assert "recipe-steps" in checked
    assert run("validate", "kitchen", "--ignore", "recipe-", path=example).out == ""
    assert "Nobody can cook it." in run("validate", "--rule", "recipe-steps", path=example).out
    assert run("hello", "Ada", path=example).out == "Hello Ada, what shall we cook?\n"
    assert "hello       Greet a cook." in run("help", "--all", path=example).out
    assert "recipes of capdisc-recipes" in run("doctor", "--all", path=example).out


def test_commands_and_options_of_a_plugin_complete(run, site) -> None:
    parameters = "deep: Annotated[bool, option('--deep', help='Say more. Much more.')] = False"
    imports = "from typing import Annotated\nfrom capdisc.args.params import option\n"
    install_command(site, "talk", "hello")
    path = site / "talk.py"
    path.write_text(imports + path.read_text().replace("say()", f"say({parameters})"))
    assert "hello\tSay it.\n" in run("--complete", "he").out
    assert run("--complete", "hello", "--d").out == "--deep\tSay more\n"


def test_a_new_plugin_is_seen_in_folders_that_did_not_change(run, example, kitchen, site) -> None:
    run("index", "kitchen")
    run("list", status=1)
    assert "2 added" in run("index", path=example).out
    run("index")
    run("list", status=1)


def test_a_render_format_of_a_plugin(run, site, hermetic, write_skill) -> None:
    write_skill(hermetic / ".agents/skills", "fold", description="Folds napkins.")
    shout = (
        "\nfrom capdisc_indexer.model.frozen import replace\n"
        "from capdisc_indexer.rendering.formats.text import TEXT\n"
        "SHOUT = replace(TEXT, summary=lambda _, line, path: f'! {line}\\n', is_counted_ahead=True)\n"
    )
    install(site, "shouting", VALUE.format("render_formats={'shout': 'shout:SHOUT'}"))
    (site / "shout.py").write_text(shout)
    run("index")
    assert "! skill:fold" in run("render", "napkins", "--format", "shout").out
    assert "|shout" in run("render", "--help").out
    assert "shout" in run("render", "napkins", "--format", "shot", status=2).err
    (site / "shout.py").write_text("SHOUTED = 1\n")
    assert "there is no shout:SHOUT" in run("render", "x", "--format", "shout", status=4).err
    run("render", "napkins")


@pytest.mark.parametrize(
    ("check", "reason"),
    [
        ("raise KeyError(path)", "KeyError"),
        ("return [Finding(code='odd', severity='error', message='', path=path)]", "no rule odd"),
    ],
)
def test_a_check_that_fails_costs_one_finding(
    run, site, hermetic, write_skill, check, reason
) -> None:
    write_skill(hermetic, "fold", description="")
    text = "from capdisc_indexer.model.types import Finding\n" + VALUE.format(
        "checks=('odd:check',)"
    )
    install(site, "odd", f"{text}\ndef check(descriptor, path):\n    {check}\n")
    checked = run("validate", ".", "--json", status=1).json
    findings = {finding["code"]: finding["message"] for finding in checked["findings"]}
    assert findings["internal"] == f"the check odd:check of the plug-in 'it' fails: {reason}"
    assert len(findings) > 1


def test_a_rule_of_a_plugin_may_have_its_code_from_an_enum(
    run, site, hermetic, write_skill
) -> None:
    write_skill(hermetic, "fold", description="Folds napkins. Use when guests come.")
    imports = (
        "from enum import StrEnum\n"
        "from capdisc_indexer.model.types import Finding, RuleExplanation, Severity\n"
        "class Code(StrEnum):\n    ODD = 'odd-napkin'\n"
        "RULE = RuleExplanation(code=Code.ODD, group='napkins', severity=Severity.WARNING, "
        "summary='A napkin is odd.', why='It falls.', fix='Iron it.')\n"
    )
    check = (
        "\ndef check(descriptor, path):\n"
        "    return [Finding(code=Code.ODD, severity=Severity.WARNING, message='It is odd.', path=path)]\n"
    )
    install(site, "odd", imports + VALUE.format("rules=(RULE,), checks=('odd:check',)") + check)
    assert "odd-napkin" in run("validate", ".", "--format", "concise").out


@pytest.mark.parametrize(
    ("text", "value", "reason"),
    [
        ("raise ValueError('boom\\nand more')", "", "ValueError: boom and more"),
        ("PLUGIN = 3", "", "bad:PLUGIN is not a Plugin"),
        ("", "", "there is no bad:PLUGIN"),
        ("", "missing:PLUGIN", "No module named 'missing'"),
        ("import missing_library", "", "No module named 'missing_library'"),
        ("from capdisc_indexer.sources.format_table import SOURCES\n", "", "import"),
    ],
)
def test_a_broken_plugin_costs_itself_alone(
    run, site, hermetic, write_skill, text, value, reason
) -> None:
    write_skill(hermetic / ".agents/skills", "fold", description="Folds napkins.")
    install(site, "bad", text, value)
    install_command(site, "good", "say")
    told = run("index").err
    assert told.count("the plug-in 'bad' of bad cannot be loaded") == 1
    assert reason in told
    assert "fold" in run("search", "napkins").out
    assert run("say").out == "it is said\n"
    assert reason in run("no-command", status=2).err
    (check,) = [
        check for check in run("doctor", "--json").json["checks"] if check["name"] == "plugins"
    ]
    assert check["state"] == "notice" and reason in check["text"] and check["fix"]


def test_doctor_tries_what_a_plugin_names(run, site) -> None:
    install_command(site, "talk", "hello")
    (site / "talk.py").write_text((site / "talk.py").read_text().replace("def say", "def sing"))
    assert "there is no talk:say" in run("doctor", status=4).out
    assert "there is no talk:say" in run("hello", status=4).err


def test_a_plugin_replaces_nothing_of_capdisc(run, site, hermetic, write_skill) -> None:
    write_skill(hermetic / ".agents/skills", "fold", description="Folds napkins.")
    entry = "SourceFormat(format='skill', load=lazy_loader('taker'), limit_bytes=9, filenames=('SKILL.md',))"
    rule = "RuleExplanation(code='name-case', group='g', severity='error', summary='S', why='W', fix='F')"
    command = COMMAND.format("taker")
    imports = (
        "from capdisc_indexer.model.types import RuleExplanation\n"
        "from capdisc_indexer.sources.source_format import SourceFormat, lazy_loader\n"
    )
    fields = (
        f"commands={{'status': {command}, 'plan': {command}}}, formats=({entry},), rules=({rule},)"
    )
    install(site, "taker", imports + VALUE.format(fields) + SAY)
    run("index")
    assert "skill:fold" in run("list", "--ids").out
    assert "it is said" not in run("status").out + run("plan", "--help").out
    assert (
        "W" not in run("validate", "--rule", "name-case", "--json").json["rules"][0]["why"].split()
    )


@pytest.mark.parametrize("path", [".", "{folder}", ""])
def test_a_distribution_in_the_current_folder_is_not_loaded(
    process, site, monkeypatch, path
) -> None:
    install_command(site, "talk", "hello")
    environment = {"PYTHONPATH": path.format(folder=site)}
    assert process("hello", env={"PYTHONPATH": str(site)}).code == 0
    monkeypatch.chdir(site)
    assert "No such command 'hello'" in process("hello", env=environment).err
    assert "talk" not in process("doctor", "--all", env=environment).out


def test_entry_points_are_read_once(run, site, hermetic) -> None:
    install_command(site, "talk", "hello")
    code = (
        "import sys; from capdisc.args.command_table import run_command; run_command(['hello'])\n"
        "print('importlib.metadata' in sys.modules)"
    )

    def reads_metadata() -> bool:
        done = subprocess.run(
            [sys.executable, "-c", f"import sys; sys.path[0] = {str(site)!r}; {code}"],
            capture_output=True, text=True, check=True,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        )  # fmt: skip
        said, answer = done.stdout.splitlines()
        assert said == "it is said"
        return answer == "True"

    assert [reads_metadata(), reads_metadata()] == [True, False]
    install_command(site, "song", "sing")
    assert [reads_metadata(), reads_metadata()] == [True, False]
    assert run("sing").out == "it is said\n"


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"stamps": 1}', '{"stamps": [], "plugins": [3]}']
)
def test_a_damaged_cache_is_read_anew(run, site, hermetic, content) -> None:
    install_command(site, "talk", "hello")
    assert run("hello").out == "it is said\n"
    (cache,) = (hermetic.parent / "home").rglob("plugins.json")
    known = json.loads(cache.read_text())
    cache.write_text(content)
    assert run("hello").out == "it is said\n"
    assert json.loads(cache.read_text()) == known


def test_a_cache_that_cannot_be_written_is_no_error(run, site, hermetic, monkeypatch) -> None:
    install_command(site, "talk", "hello")
    (hermetic / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(hermetic / "file"))
    result = run("hello")
    assert (result.out, result.err) == ("it is said\n", "")


def test_a_client_of_a_distribution_is_known(run, site, hermetic, write_skill) -> None:
    (site / "fables").mkdir()
    (site / "fables" / "__init__.py").write_text("raise ValueError('imported')\n")
    table = site / "fables" / "clients.toml"
    table.write_text(ENTRY)
    install(site, "unused", VALUE.format(""))
    (site / "unused-1.0.dist-info" / "entry_points.txt").write_text(
        "[capdisc.clients]\nfables = fables:clients.toml\n"
    )
    write_skill(hermetic / ".fabel/skills", "blind", description="Hems a skirt.")
    run("index")
    assert "skill:blind" in run("list", "--ids").out
    assert "fabel" in run("setup").out
    assert "\n  fabel " in run("audit").out
    assert run("config", "set", "folders", "fabel").code == 0
    assert "1 file," in run("validate", "--profile", "fabel").err
    run("config", "unset", "folders")
    assert "the clients fabel of unused" in run("doctor", "--all").out
    table.write_text(ENTRY.replace("prompt_event", "event"))
    assert "fabel: hook lacks prompt_event" in run("doctor").out
    assert "fabel" not in run("setup").out
    table.write_text("[fabel")
    assert "clients.toml: Expected" in run("doctor").out
    table.write_text('[codex]\ntitle = "Mine"\n')
    assert "codex: the name is taken" in run("doctor").out


def test_a_cold_query_imports_no_plugin(site, hermetic, run, write_skill) -> None:
    install_command(site, "talk", "hello")
    write_skill(hermetic / ".agents/skills", "fold", description="Folds napkins.")
    run("index")
    for line in (["search", "napkins"], ["render", "napkins", "--format", "xml"]):
        code = (
            f"import sys; sys.path[0] = {str(site)!r}\n"
            f"from capdisc.args.command_table import run_command; run_command({line!r})\n"
            "names = {name.partition('.')[0] for name in sys.modules}\n"
            "print(names & {'talk', 'capdisc_data', 'capdisc_sessions', 'capdisc_audit', 'capdisc_remote'})"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        assert "napkins" in done.stdout
        assert done.stdout.splitlines()[-1] == "set()"


MISSING = "import sys; sys.modules['capdisc_{}'] = None; sys.argv[0] = 'capdisc'; from capdisc.__main__ import main; main()"


def run_without(name: str, *words: str) -> tuple[int, str]:
    """The status and the output of a command line where this plug-in of capdisc is missing."""
    done = subprocess.run(
        [sys.executable, "-c", MISSING.format(name), *words],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


def test_what_setup_did_is_undone_without_the_plugin_that_runs(hermetic) -> None:
    (hermetic / ".git").mkdir()
    assert run_without("none", "setup", "claude", "--hook", "--scope", "project", "--yes")[0] == 0
    settings = hermetic / ".claude" / "settings.json"
    assert settings.exists()
    assert run_without("run", "setup", "claude", "--scope", "project", "--undo", "--yes")[0] == 0
    assert not settings.exists()


def test_a_missing_plugin_of_capdisc_costs_its_own(hermetic, write_skill) -> None:
    write_skill(hermetic / ".agents/skills", "fold", description="Folds napkins.")
    reason = "the plug-in 'data' cannot be loaded"
    code, text = run_without("data", "index")
    assert code == 0 and text.count(reason) == 1
    assert "fold" in run_without("data", "search", "napkins")[1]
    code, text = run_without("data", "plan", "x")
    assert code == 2 and reason in text
    (hermetic / "capdisc.toml").write_text('[[source]]\nformat = "openapi"\npath = "shop.json"\n')
    code, text = run_without("data", "index")
    assert code == 3 and f"there is no format 'openapi'; {reason}" in text
