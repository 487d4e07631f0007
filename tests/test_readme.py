"""Every block of the README and of docs/ is run: what it prints is what the page shows.

A console block holds commands after `$ ` and what they print, stdout before stderr. A command ends
with status 0, or with the N of a comment `# exit status N` behind it. With CAPDISC_WRITE_GOLDEN=1
the blocks are written anew.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from adopting import adopt

from capdisc_indexer.indexing.pipeline import build_index
from capdisc_indexer.model.types import BuildOptions

REPOSITORY = Path(__file__).resolve().parent.parent
README = REPOSITORY / "README.md"
PAGES = [README, *sorted((REPOSITORY / "docs").rglob("*.md"))]
KINDS = {"sh", "console", "json", "toml", "yaml", "markdown", "text", "js", "python"}
HOOK_PAGE = REPOSITORY / "docs" / "hook.md"
STORIES = REPOSITORY / "docs" / "internals" / "five-designs.md"
WRITE = bool(os.environ.get("CAPDISC_WRITE_GOLDEN"))


def blocks(page: Path, kind: str) -> list[str]:
    """The fenced blocks of one kind on a page."""
    text = page.read_text(encoding="utf-8")
    found = re.findall(r"^(`{3,})(\w+)\n(.*?)^\1$", text, re.S | re.M)
    return [body for _, language, body in found if language == kind]


def on_pages(kind: str, pages: list[Path] = PAGES) -> list[object]:
    """Every block of one kind as a case of a test, named after its page and its first line."""
    return [
        pytest.param(page, body, id=f"{page.stem}: {body.splitlines()[0][:60]}")
        for page in pages
        for body in blocks(page, kind)
    ]


SET_UP = README.read_text(encoding="utf-8").split("## Set up", 1)[1].split("\n## ", 1)[0]
SHELL = [body for body in blocks(README, "sh") if body not in SET_UP]
PIPES = [body for body in SHELL if body.startswith("capdisc ")]
CLIENTS = [line for body in SHELL if body not in PIPES for line in body.splitlines()]


@pytest.fixture(scope="session")
def indexed_clone(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A folder for copies of the shipped fixtures, and the index of their small catalogue there."""
    folder = tmp_path_factory.mktemp("readme")
    work = folder / "clone"
    shutil.copytree(REPOSITORY / "fixtures", work / "fixtures")
    options = BuildOptions(workspace=str(work))
    build_index([work / "fixtures" / "catalogs" / "small"], folder / "index", options)
    return work, folder / "index"


@pytest.fixture
def shell(hermetic, indexed_clone, tmp_path):
    """Run a script in a copy of the shipped fixtures, with stand-ins for the programs that models answer through."""
    work, index = indexed_clone
    shutil.rmtree(work)
    shutil.copytree(REPOSITORY / "fixtures", work / "fixtures")
    (work / ".git").mkdir()  # which makes it a workspace
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("llm", "claude"):
        (programs / name).write_text("#!/bin/sh\ncat\n")
        (programs / name).chmod(0o755)
    here = programs / "capdisc"
    here.write_text(f'#!/bin/sh\nexec {sys.executable} -m capdisc "$@"\n')
    here.chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{programs}:{os.environ['PATH']}",
        "CAPDISC_INDEX_DIR": str(tmp_path / "ix"),
    }
    adopt(shutil.copytree(index, tmp_path / "ix"))

    def run(script: str, ends: int = 0) -> str:
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", script], cwd=work, env=environment, capture_output=True, text=True,
            stdin=subprocess.DEVNULL, check=False,
        )  # fmt: skip
        assert done.returncode == ends, done.stderr
        return (done.stdout + done.stderr).replace(str(work), "/home/me/project")

    return run


@pytest.mark.golden
@pytest.mark.parametrize(("page", "block"), on_pages("console"))
def test_a_transcript_shows_what_the_commands_print(shell, page, block) -> None:
    if "capdisc index" in block:
        shell("rm -r $CAPDISC_INDEX_DIR")
    made = ""
    for command in re.findall(r"^\$ (.*)$", block, re.M):
        ends = re.search(r"# exit status (\d+)$", command)
        made += f"$ {command}\n{_steady(shell(command, int(ends[1]) if ends else 0))}"
        made += "" if made.endswith("\n") else "\n"
    if WRITE:
        page.write_text(page.read_text(encoding="utf-8").replace(block, made), encoding="utf-8")
    assert made == block or WRITE


def _steady(output: str) -> str:
    output = re.sub(
        r"^(Reading|Writing): .* s\n", "", output, flags=re.M
    )  # after ten seconds each
    return re.sub(r"\b\d+\.\d s\b", "1.2 s", output)


@pytest.mark.parametrize("block", PIPES, ids=lambda body: body.splitlines()[0][:60])
def test_a_pipeline_carries_the_context(shell, block) -> None:
    assert "skill:merge-pdfs" in shell(block)


@pytest.mark.parametrize("line", CLIENTS, ids=lambda line: line.split()[0])
def test_a_client_is_given_a_server_that_starts_so(line) -> None:
    from capdisc.args import command_line
    from capdisc.commands.mcp import mcp

    words = shlex.split(line)
    command = words[words.index("--") + 1 :]
    assert command[:2] == ["capdisc", "mcp"]
    options = command_line.parse(mcp, command[2:])
    assert options is not None
    assert not options.get("tools")


PRE_COMMIT = REPOSITORY / "docs" / "pre-commit.md"  # whose YAML is for other programs
MANIFEST_PAGES = [page for page in PAGES[1:] if page != PRE_COMMIT]


@pytest.mark.parametrize(("page", "manifest"), on_pages("yaml", MANIFEST_PAGES))
def test_a_manifest_is_valid_and_found(capdisc, hermetic, monkeypatch, page, manifest) -> None:
    fields = yaml.safe_load(manifest)
    path = hermetic / "caps" / fields["name"] / "CAPABILITY.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(manifest)
    monkeypatch.setenv("CAPDISC_INDEX_DIR", str(hermetic / "index"))
    assert capdisc("validate", str(path), "--strict").out == ""
    assert capdisc("index", "caps").code == 0
    found = capdisc("search", fields["phrases"][0], "--ids").out
    assert found == f"{fields['kind']}:{fields['name']}\n"


@pytest.mark.parametrize(("page", "skill"), on_pages("markdown"))
def test_a_skill_is_valid(capdisc, hermetic, page, skill) -> None:
    name = yaml.safe_load(skill.split("---\n")[1])["name"]
    path = hermetic / name / "SKILL.md"
    path.parent.mkdir()
    path.write_text(skill)
    assert capdisc("validate", str(path), "--strict").out == ""


@pytest.mark.parametrize(("page", "settings"), on_pages("json", [HOOK_PAGE]))
def test_the_hooks_in_the_settings_of_clients_answer(shell, page, settings) -> None:
    commands = set(re.findall(r'"(capdisc hook \w+)"', settings))
    assert commands
    event = shlex.quote(json.dumps({"prompt": "merge these PDF files"}))
    for command in commands:
        assert "merge-pdfs" in shell(f"echo {event} | {command} --deadline 60s")


DRIVER = """
const parts = [{ id: "prt_1", type: "text", text: "merge these PDF files" }]
const { Capdisc } = await import(process.argv[2])
const hooks = await Capdisc({ directory: process.cwd() })
await hooks["chat.message"]({ sessionID: "s" }, { message: { id: "m" }, parts })
await hooks.event({ event: { type: "session.compacted", properties: { sessionID: "s" } } })
console.log(JSON.stringify(parts))
"""


@pytest.mark.skipif(not shutil.which("node"), reason="node runs the plugin")
def test_the_plugin_for_opencode_adds_a_part_to_a_message(shell, tmp_path) -> None:
    (plugin,) = blocks(HOOK_PAGE, "js")
    words = '["hook", "opencode"]'
    assert words in plugin
    # A busy machine may take longer for a hook than a person would wait.
    patient = plugin.replace(words, '["hook", "opencode", "--deadline", "60s"]')
    (tmp_path / "plugin.mjs").write_text(patient)
    (tmp_path / "driver.mjs").write_text(DRIVER)
    printed = shell(f"node {tmp_path}/driver.mjs {tmp_path}/plugin.mjs")
    first, second = json.loads(printed)
    assert "merge-pdfs" in second["text"]
    assert second["id"] > first["id"] and second["synthetic"] and second["messageID"] == "m"


CATALOGUE_PAGES = [page for page in PAGES[1:] if page != HOOK_PAGE]


@pytest.mark.parametrize(("page", "line"), on_pages("json", CATALOGUE_PAGES))
def test_a_line_of_a_catalogue_is_read(capdisc, hermetic, monkeypatch, page, line) -> None:
    (hermetic / "capabilities.jsonl").write_text(line)
    monkeypatch.setenv("CAPDISC_INDEX_DIR", str(hermetic / "index"))
    assert capdisc("index", ".").code == 0
    assert len(capdisc("list", "--ids").out.splitlines()) == len(line.splitlines())


OWN_PAGES = [page for page in PAGES if page != HOOK_PAGE]  # that one has settings of clients


@pytest.mark.parametrize(("page", "settings"), on_pages("toml", OWN_PAGES))
def test_the_settings_of_an_example_are_known(capdisc, hermetic, page, settings) -> None:
    (hermetic / "capdisc.toml").write_text(settings)
    result = capdisc("config")
    assert (result.code, result.err) == (0, "")


def test_the_sources_of_the_configuration_are_read(capdisc, hermetic, monkeypatch) -> None:
    (settings,) = [
        body
        for body in blocks(REPOSITORY / "docs" / "sources.md", "toml")
        if 'format = "document"' in body and 'format = "table"' in body
    ]
    (hermetic / "capdisc.toml").write_text(settings)
    (hermetic / "handbook").mkdir()
    (hermetic / "handbook" / "leave.md").write_text(
        "# Leave\n\n## Sick days\n\nCall before nine o'clock.\n"
    )
    (hermetic / "exports").mkdir()
    (hermetic / "exports" / "orders.csv").write_text("order,customer\n1,Ann\n2,Bo\n")
    (hermetic / ".mcp.json").write_text('{"mcpServers": {}}')
    monkeypatch.setenv("CAPDISC_INDEX_DIR", str(hermetic / "index"))
    assert capdisc("index").code == 0
    kinds = {each["kind"] for each in capdisc("list", "--json").json["capabilities"]}
    assert kinds >= {"document", "section", "table"}


@pytest.mark.parametrize("page", [README, PRE_COMMIT], ids=lambda page: page.name)
def test_the_hooks_of_pre_commit_exist(page) -> None:
    settings = yaml.safe_load(blocks(page, "yaml")[0])
    hooks = yaml.safe_load((REPOSITORY / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    named = {hook["id"] for repo in settings["repos"] for hook in repo["hooks"]}
    assert named == {hook["id"] for hook in hooks}


def test_the_inputs_of_the_action_exist() -> None:
    """The example and the table of its page name inputs that the action has."""
    action = yaml.safe_load((REPOSITORY / "action.yml").read_text(encoding="utf-8"))
    example = yaml.safe_load(blocks(PRE_COMMIT, "yaml")[1])
    assert set(example["steps"][1]["with"]) <= set(action["inputs"])
    rows = re.findall(r"^\| `([\w-]+)` \| `([^`]+)` \|", PRE_COMMIT.read_text("utf-8"), re.M)
    assert dict(rows) == {name: entry["default"] for name, entry in action["inputs"].items()}


def test_there_are_exactly_two_set_up_commands(shell) -> None:
    commands = re.findall(r"```sh\n(.*?)```", SET_UP, re.S)
    assert len(commands) == 2
    # CI runs the second as printed, and the first installs before it runs: what is left of it is run here.
    rest = commands[0].split("&&", 2)[2].replace(".venv/bin/", "")
    assert "tool:send-invoice" in shell(rest)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_block_is_of_a_kind_that_is_tested(page) -> None:
    text = page.read_text(encoding="utf-8")
    # Scripts have tests of their own: here, and in tests/designs/test_stories.py.
    assert set(re.findall(r"^`{3,}(\w+)$", text, re.M)) <= KINDS - (
        {"sh"} if page not in (README, STORIES) else set()
    )
    # A block without a kind would be tested by nobody.
    assert len(re.findall(r"^`{3,}", text, re.M)) == 2 * sum(len(blocks(page, k)) for k in KINDS)


def test_the_readme_stays_short() -> None:
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 150
