"""The integrations in the tree: the plugin of llm, the plugin of Claude Code, and the GitHub action."""

import importlib.util
import json
import os
import subprocess
import sys
import tomllib

import pytest
import yaml

from capdisc.args.command_table import summarise_commands
from conftest import REPOSITORY

INTEGRATIONS = REPOSITORY / "integrations"
ACTION = yaml.safe_load((REPOSITORY / "action.yml").read_text(encoding="utf-8"))


@pytest.fixture
def plugin(small, monkeypatch, tmp_path):
    """The plugin, registered in llm, with a model that answers with its prompt."""
    llm = pytest.importorskip("llm", reason="needs the package llm")
    monkeypatch.setenv("LLM_USER_PATH", str(tmp_path / "llm"))
    # The command of this tree, whatever is installed.
    monkeypatch.setenv("PATH", os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"])
    path = INTEGRATIONS / "llm-capdisc" / "llm_capdisc.py"
    spec = importlib.util.spec_from_file_location("llm_capdisc", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    class Echo(llm.Model):
        model_id = "echo"

        def execute(self, prompt, stream, response, conversation):
            yield prompt.prompt

    class Models:
        @llm.hookimpl
        def register_models(self, register):
            register(Echo())

    from llm.plugins import load_plugins, pm

    load_plugins()
    plugins = [pm.register(module), pm.register(Models())]
    yield module
    for name in plugins:
        pm.unregister(name=name)


def run_llm(*argv: str):
    from click.testing import CliRunner
    from llm.cli import cli

    return CliRunner().invoke(cli, list(argv))


@pytest.mark.sdk
def test_a_fragment_of_llm_is_the_context_for_its_request(plugin) -> None:
    done = run_llm(
        "-m", "echo", "-n", "--no-stream", "-f", "capdisc:send the customer an invoice", "do it"
    )
    assert done.exit_code == 0, done.output
    assert "send-invoice" in done.output
    assert done.output.rstrip().endswith("do it")


@pytest.mark.sdk
@pytest.mark.parametrize("request_text", ["qqxzv wkrtl", "--limit", "-"])
def test_a_fragment_with_nothing_in_it_is_an_error(plugin, request_text) -> None:
    done = run_llm("-m", "echo", "-n", "-f", f"capdisc:{request_text}", "do it")
    assert done.exit_code != 0
    assert "Traceback" not in done.output


@pytest.mark.sdk
def test_a_model_of_llm_searches_and_reads(plugin) -> None:
    toolbox = plugin.Capdisc()
    found = json.loads(toolbox.search("send the customer an invoice", limit=2))
    assert "send-invoice" in [tool["name"] for tool in found["tools"]]
    assert json.loads(toolbox.read("send-invoice"))["match_type"] == "exact"
    assert "must be" in json.loads(toolbox.search("x", limit=-1))["error"]


@pytest.mark.sdk
def test_llm_lists_the_loader_and_the_toolbox(plugin) -> None:
    assert "capdisc:" in run_llm("fragments", "loaders").output
    assert "Capdisc" in run_llm("tools", "list").output


@pytest.mark.sdk
def test_without_an_index_the_model_reads_why(plugin, monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("CAPDISC_INDEX_DIR", str(tmp_path / "nothing"))
    assert "capdisc index" in json.loads(plugin.Capdisc().search("anything"))["error"]


def test_the_plugin_of_llm_needs_no_package_of_another_project() -> None:
    """The package index has another project called capdisc."""
    project = tomllib.loads((INTEGRATIONS / "llm-capdisc" / "pyproject.toml").read_text())[
        "project"
    ]
    assert [name.partition(">")[0] for name in project["dependencies"]] == ["llm"]
    assert project["entry-points"]["llm"] == {"capdisc": "llm_capdisc"}


def test_the_plugin_of_claude_code_runs_commands_that_exist() -> None:
    folder = INTEGRATIONS / "claude-code"
    hooks = json.loads((folder / "hooks" / "hooks.json").read_text())["hooks"]
    servers = json.loads((folder / ".mcp.json").read_text())["mcpServers"]
    lines = [
        hook["command"] for groups in hooks.values() for group in groups for hook in group["hooks"]
    ]
    lines += [" ".join([server["command"], *server["args"]]) for server in servers.values()]
    assert set(hooks) == {"UserPromptSubmit", "SessionStart", "SubagentStart", "PostToolUse"}
    assert {line.split()[0] for line in lines} == {"capdisc"}
    assert {line.split()[1] for line in lines} <= set(summarise_commands())


def test_the_marketplace_of_the_repository_leads_to_the_plugin() -> None:
    marketplace = json.loads((REPOSITORY / ".claude-plugin" / "marketplace.json").read_text())
    (entry,) = marketplace["plugins"]
    manifest = json.loads(
        (REPOSITORY / entry["source"] / ".claude-plugin" / "plugin.json").read_text()
    )
    assert manifest["name"] == entry["name"] == "capdisc"


def test_the_action_puts_no_input_into_a_script() -> None:
    """A path with `$(…)` in it would run."""
    steps = ACTION["runs"]["steps"]
    assert ACTION["runs"]["using"] == "composite"
    assert not [step for step in steps if "${{" in step.get("run", "")]
    assert all(step["shell"] == "bash" for step in steps if "run" in step)
    used = {
        value
        for step in steps
        for value in {**step.get("env", {}), **step.get("with", {})}.values()
    }
    assert used == {f"${{{{ inputs.{name} }}}}" for name in ACTION["inputs"]}


@pytest.mark.parametrize(
    ("paths", "code", "line"),
    [
        ("good", 0, ""),
        ("good\nbad files", 1, "::error file=bad files/SKILL.md"),
        ("$(touch pwned)\n", 2, "$(touch pwned)"),
    ],
)
def test_the_action_marks_the_findings_of_its_paths(
    hermetic, write_skill, paths, code, line
) -> None:
    write_skill(hermetic, "good", "Folds cranes. Use when paper is there.")
    (hermetic / "bad files").mkdir()
    (hermetic / "bad files" / "SKILL.md").write_text("---\nname: x\n---\n")
    tool = hermetic / "capdisc" / "bin" / "capdisc"
    tool.parent.mkdir(parents=True)
    tool.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m capdisc "$@"\n')
    tool.chmod(0o755)
    step = ACTION["runs"]["steps"][-1]
    values = {name: str(entry["default"]) for name, entry in ACTION["inputs"].items()} | {
        "paths": paths
    }
    env = {
        key: values[text.removeprefix("${{ inputs.").removesuffix(" }}")]
        for key, text in step["env"].items()
    }
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
        env={**os.environ, **env, "RUNNER_TEMP": str(hermetic)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    assert line in done.stdout + done.stderr
    assert not (hermetic / "pwned").exists()


# A model that looks something up twice and then answers with what it was told.
MODEL = """#!/bin/sh
echo turn >> turns
cat > seen.txt
case $(wc -l < turns) in
    *1) echo '{"tool": "search_tool", "arguments": {"query": "render pdf"}}' ;;
    *2) echo 'One more look.'
        echo '{"tool": "no_such_tool", "arguments": {}}' ;;
    *) echo "Use render-pdf."
       grep -c '^{"tool"' seen.txt ;;
esac
"""


def run_loop(hermetic, *argv: str, model: str = "./model.sh") -> subprocess.CompletedProcess:
    (hermetic / "model.sh").write_text(MODEL)
    (hermetic / "model.sh").chmod(0o755)
    path = os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]
    return subprocess.run(
        [str(INTEGRATIONS / "shell" / "agent-loop.sh"), *argv],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PATH": path, "MODEL": model},
        check=False,
    )


def test_a_loop_of_the_shell_calls_tools_until_the_model_answers(small, hermetic) -> None:
    """Ten lines of shell around a model's command line: calls are answered, a failed one too, and
    the text without a call is the answer (S77)."""
    done = run_loop(hermetic, "make a PDF of an invoice")
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "Use render-pdf.")
    seen = (hermetic / "seen.txt").read_text()
    assert '"tool":"search_tool"' in seen.replace('": "', '":"')
    assert "tool:render-pdf" in seen
    assert "no_such_tool" in seen
    assert (hermetic / "turns").read_text().count("turn") == 3


def test_the_loop_of_the_shell_ends_after_its_steps(small, hermetic) -> None:
    """A model that never answers is asked so many times, and the loop fails (S77)."""
    done = run_loop(hermetic, "make a PDF", "1")
    assert (done.returncode, done.stdout) == (1, "")
    assert "no answer after 1 steps" in done.stderr
