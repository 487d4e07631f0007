"""Agents, commands and plugins of clients: found where each client keeps them."""

import json
import os
import shutil
from pathlib import Path

import pytest

from capdisc_indexer.config.client_plugins import find_plugins


@pytest.fixture
def home() -> Path:
    return Path(os.environ["HOME"])


@pytest.fixture(autouse=True)
def project(hermetic) -> Path:
    (hermetic / ".git").mkdir()
    return hermetic


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def save(path: Path, value: object) -> Path:
    return write(path, json.dumps(value))


def described(capdisc) -> dict[str, str]:
    return {
        each["id"]: each["description"] for each in capdisc("list", "--json").json["capabilities"]
    }


def shown(capdisc, name: str) -> dict[str, object]:
    return capdisc("show", name, "--json").json["capabilities"][0]


@pytest.fixture
def indexed(capdisc):
    """The ids of what there is after `capdisc index`, which has nothing to say."""

    def run() -> set[str]:
        done = capdisc("index")
        assert (done.code, done.err) == (0, "")
        return set(described(capdisc))

    return run


MARKDOWN = "---\ndescription: {}\n---\nDo it.\n"
# The path below the home folder or the project, and the id.
PLACES = [
    ("home", ".claude/agents/a.md", "agent:a"),
    ("home", ".claude/commands/deep/b.md", "command:deep.b"),
    ("home", ".codex/prompts/c.md", "command:c"),
    ("home", ".gemini/agents/d.md", "agent:d"),
    ("home", ".config/opencode/agent/e.md", "agent:e"),
    ("home", ".config/opencode/commands/f.md", "command:f"),
    ("home", ".copilot/agents/g.agent.md", "agent:g"),
    ("home", ".cursor/commands/h.md", "command:h"),
    ("home", ".config/Code/User/prompts/i.prompt.md", "command:i"),
    ("home", ".config/Code/User/prompts/j.chatmode.md", "agent:j"),
    ("project", ".claude/agents/team/k.md", "agent:k"),
    ("project", ".claude/commands/l.md", "command:l"),
    ("project", ".opencode/modes/m.md", "agent:m"),
    ("project", ".opencode/command/n.md", "command:n"),
    ("project", ".github/agents/o.agent.md", "agent:o"),
    ("project", ".github/prompts/p.prompt.md", "command:p"),
    ("project", ".github/chatmodes/q.chatmode.md", "agent:q"),
    ("project", ".cursor/agents/r.md", "agent:r"),
]


def test_every_place_of_every_client_is_read(project, home, capdisc) -> None:
    for base, path, identifier in PLACES:
        folder = home if base == "home" else project
        write(folder / path, MARKDOWN.format(f"About {identifier}."))
    write(project / ".github/prompts/notes.md", "Not a prompt file.\n")
    write(home / ".config/Code/User/prompts/style.instructions.md", "Not a prompt.\n")
    done = capdisc("index")
    assert (done.code, done.err) == (0, "")
    assert described(capdisc) == {
        identifier: f"About {identifier}." for _, _, identifier in sorted(PLACES)
    }


def test_commands_and_agents_in_toml_are_read(project, home, capdisc) -> None:
    write(
        project / ".gemini/commands/git/fix.toml",
        'description = "Fixes an issue."\nprompt = """\nFix {{args}}.\n"""\n',
    )
    write(
        home / ".codex/agents/checker.toml",
        'name = "checker"\ndescription = "Checks facts."\nmodel = "m"\n'
        'developer_instructions = "Check every claim."\n',
    )
    done = capdisc("index")
    assert (done.code, done.err) == (0, "")
    command, agent = shown(capdisc, "command:git.fix"), shown(capdisc, "agent:checker")
    assert (command["title"], command["content"]) == ("/git:fix", "Fix {{args}}.")
    assert (agent["content"], agent["extra"]) == ("Check every claim.", {"model": "m"})


def test_a_broken_file_costs_that_capability_alone(project, capdisc) -> None:
    write(project / ".gemini/commands/bad.toml", "prompt = \n")
    write(project / ".claude/agents/bad.md", "---\n- a\n---\nDo it.\n")
    write(project / ".claude/commands/fine.md", "Says what is new.\n")
    write(project / ".claude/agents/README.md", "About these agents.\n")
    done = capdisc("index")
    assert done.code == 1
    assert "bad.toml:1:1: error[toml-syntax]: it is not TOML" in done.err
    assert "error[yaml-not-mapping]" in done.err
    assert described(capdisc) == {"command:fine": "Says what is new."}


def test_a_skill_an_agent_and_a_command_of_one_name_are_three(home, write_skill, capdisc) -> None:
    write_skill(home / ".claude/skills", "review", "Reviews as a skill. Use when asked.")
    write(
        home / ".claude/agents/x.md", "---\nname: review\ndescription: Reviews alone.\n---\nDo.\n"
    )
    write(home / ".claude/commands/review.md", MARKDOWN.format("Starts a review."))
    assert "3 capabilities" in capdisc("index").out
    assert described(capdisc).keys() == {"skill:review", "agent:review", "command:review"}


def test_the_project_wins_and_one_client_can_be_chosen(
    project, home, capdisc, monkeypatch
) -> None:
    write(home / ".claude/commands/ship.md", MARKDOWN.format("Ships for the user."))
    write(project / ".claude/commands/ship.md", MARKDOWN.format("Ships for the project."))
    write(home / ".cursor/commands/other.md", MARKDOWN.format("Another client."))
    capdisc("index")
    assert described(capdisc)["command:ship"] == "Ships for the project."
    monkeypatch.setenv("CAPDISC_FOLDERS", "claude")
    capdisc("index")
    assert described(capdisc) == {"command:ship": "Ships for the user."}


def test_a_hidden_agent_is_found_only_when_asked_for(project, home, capdisc) -> None:
    write(home / ".github/agents/x.md", "")  # the user's home has no such place
    write(
        project / ".github/agents/quiet.agent.md",
        "---\ndescription: Tidies up.\ndisable-model-invocation: true\n---\nTidy.\n",
    )
    capdisc("index")
    assert shown(capdisc, "agent:quiet")["hidden"] is True


def test_a_named_folder_of_a_client_gives_its_agents(project, home, capdisc) -> None:
    write(project / ".claude/agents/a.md", MARKDOWN.format("Acts."))
    write(home / ".claude/agents/b.md", MARKDOWN.format("Is elsewhere."))
    capdisc("index", "--only", ".claude")
    assert described(capdisc).keys() == {"agent:a"}
    assert "1 file" in capdisc("index", "--only", ".claude/agents/a.md").out


def test_a_place_of_the_workspace_that_leads_out_waits_for_trust(
    project, tmp_path, capdisc, indexed
) -> None:
    write(tmp_path / "private/a.md", MARKDOWN.format("Private."))
    write(project / ".claude/commands/b.md", MARKDOWN.format("Own."))
    (project / ".claude/agents").symlink_to(tmp_path / "private")
    done = capdisc("index")
    assert f"left out until you trust it: link {project}/.claude/agents" in done.err
    assert described(capdisc).keys() == {"command:b"}
    assert capdisc("trust", "--yes").code == 0
    assert indexed() == {"agent:a", "command:b"}


# Plugins.


@pytest.fixture
def plugin(home, write_skill):
    """Install a plugin of Claude Code: `plugin("brass")`; switched on by its user, unless `is_on` says otherwise."""
    registry = home / ".claude/plugins/installed_plugins.json"

    def install(name: str, is_on: bool | None = True, **record: object) -> Path:
        identifier, folder = f"{name}@mkt", home / ".claude/plugins/cache/mkt" / name / "1.0.0"
        if is_on is not None:
            switch(home / ".claude/settings.json", **{name: is_on})
        write_skill(folder / "skills", f"{name}-skill")
        installed = json.loads(registry.read_text()) if registry.exists() else {"version": 2}
        entry = {"scope": "user", "installPath": str(folder), "version": "1.0.0", **record}
        installed.setdefault("plugins", {}).setdefault(identifier, []).append(entry)
        save(registry, installed)
        return folder

    return install


def switch(path: Path, **plugins: bool) -> None:
    known = json.loads(path.read_text())["enabledPlugins"] if path.exists() else {}
    named = {f"{name}@mkt": value for name, value in plugins.items()}
    save(path, {"enabledPlugins": known | named})


def test_plugins_that_are_switched_on_are_read(plugin, capdisc, indexed) -> None:
    folder = plugin("brass")
    plugin("off", is_on=False)
    plugin("unmentioned", is_on=None)
    write(folder / "agents/tuner.md", MARKDOWN.format("Tunes horns."))
    write(folder / "commands/tune.md", MARKDOWN.format("Starts tuning."))
    save(folder / ".claude-plugin/plugin.json", {"name": "brass"})
    assert indexed() == {"skill:brass-skill", "agent:tuner", "command:tune"}
    assert shown(capdisc, "command:tune")["title"] == "/brass:tune"
    assert f"{folder}/skills  (plugin brass@mkt)" in capdisc("config").out


def test_a_build_reads_the_files_about_plugins_once(
    project, plugin, write_skill, capdisc, monkeypatch
) -> None:
    plugin("brass")
    write_skill(project / ".claude" / "skills", "crane", "Folds paper cranes. Use for cranes.")
    calls: list[str] = []

    def count(profile: str, *places: object) -> object:
        calls.append(profile)
        return find_plugins(profile, *places)

    monkeypatch.setattr("capdisc_indexer.config.client_plugins.find_plugins", count)
    assert capdisc("index", "--quiet").code == 0
    assert len(calls) == 1
    assert {"skill:crane", "skill:brass-skill"} == set(capdisc("list", "--ids").out.split())


def test_settings_of_the_project_switch_a_plugin_on_and_off(project, plugin, indexed) -> None:
    plugin("brass")
    plugin("tin", is_on=None)
    switch(project / ".claude/settings.json", brass=False, tin=True)
    assert indexed() == {"skill:tin-skill"}
    switch(project / ".claude/settings.local.json", brass=True)
    assert indexed() == {"skill:tin-skill", "skill:brass-skill"}


@pytest.mark.parametrize("scope", ["project", "local"])
def test_a_plugin_of_one_project_counts_there_alone(
    project, plugin, capdisc, scope, tmp_path, monkeypatch, indexed
) -> None:
    plugin("brass", scope=scope, projectPath=str(project))
    assert indexed() == {"skill:brass-skill"}
    (tmp_path / "another/.git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "another")
    assert "there is nothing to index here" in capdisc("index").err


def test_a_plugin_that_is_installed_twice_is_that_of_the_project(
    project, plugin, write_skill, tmp_path, indexed
) -> None:
    write_skill(tmp_path / "older/skills", "older")
    plugin("brass", installPath=str(tmp_path / "older"))
    plugin("brass", scope="project", projectPath=str(project))
    assert indexed() == {"skill:brass-skill"}


def test_the_first_version_of_the_list_of_plugins_is_read(home, plugin, indexed) -> None:
    folder = plugin("brass")
    record = {
        "version": "1.0.0",
        "installedAt": "2025-10-09T00:00:00Z",
        "installPath": str(folder),
    }
    save(
        home / ".claude/plugins/installed_plugins.json",
        {"version": 1, "plugins": {"brass@mkt": record}},
    )
    assert indexed() == {"skill:brass-skill"}


def test_the_manifest_of_a_plugin_says_where_its_parts_lie(
    plugin, write_skill, tmp_path, indexed
) -> None:
    folder = plugin("brass")
    write_skill(folder / "extra", "polish")
    write_skill(tmp_path / "private", "secret")
    write(folder / "agents/ignored.md", MARKDOWN.format("Replaced by the key agents."))
    write(folder / "roles/tuner.md", MARKDOWN.format("Tunes horns."))
    write(folder / "prompts/start.md", MARKDOWN.format("Starts."))
    save(
        folder / ".claude-plugin/plugin.json",
        {
            "name": "brass",
            "skills": ["./extra", "../../../../../../../private", str(tmp_path / "private")],
            "agents": "./roles/tuner.md",
            "commands": {"begin": {"source": "./prompts/start.md"}},
        },
    )
    assert indexed() == {
        "skill:brass-skill", "skill:polish", "agent:tuner", "command:start",
    }  # fmt: skip


def test_a_plugin_without_a_manifest_is_described_by_its_marketplace(
    home, plugin, write_skill, indexed
) -> None:
    folder = plugin("brass")
    write_skill(folder / "skills", "wanted")
    market = home / ".claude/plugins/marketplaces/mkt"
    known = {"mkt": {"source": {"source": "github"}, "installLocation": str(market)}}
    save(home / ".claude/plugins/known_marketplaces.json", known)
    entry = {"name": "brass", "source": "./", "strict": False, "skills": ["./skills/wanted"]}
    save(market / ".claude-plugin/marketplace.json", {"name": "mkt", "plugins": [entry]})
    write_skill(market / "plugins/never/skills", "never-installed")
    assert indexed() == {"skill:wanted"}


def test_a_plugin_that_is_one_skill_is_read(plugin, write_skill, indexed) -> None:
    folder = plugin("brass")
    shutil.rmtree(folder / "skills")
    write(folder / "SKILL.md", "---\nname: brass\ndescription: Polishes horns.\n---\nRub.\n")
    write_skill(folder / "examples", "sample")
    assert indexed() == {"skill:brass"}


def test_links_in_a_plugin_lead_no_further_than_the_plugin(
    plugin, write_skill, tmp_path, capdisc
) -> None:
    folder = plugin("brass")
    write_skill(tmp_path / "private", "secret")
    write(tmp_path / "private/notes.md", MARKDOWN.format("Private."))
    (folder / "skills/leak").symlink_to(tmp_path / "private")
    write(folder / "commands/fine.md", MARKDOWN.format("Fine."))
    (folder / "commands/leak.md").symlink_to(tmp_path / "private/notes.md")
    assert capdisc("index").code == 1  # it names the links
    assert described(capdisc).keys() == {"skill:brass-skill", "command:fine"}


@pytest.mark.parametrize("text", ["{", "[]", '{"plugins": 7}', '{"plugins": {"a@b": [7, {}]}}'])
def test_a_broken_list_of_plugins_is_named_and_costs_nothing_else(
    home, write_skill, capdisc, text
) -> None:
    write_skill(home / ".claude/skills", "own")
    path = write(home / ".claude/plugins/installed_plugins.json", text)
    switch(home / ".claude/settings.json", a=True)
    done = capdisc("index")
    assert done.code == 0
    assert described(capdisc).keys() == {"skill:own"}
    expected = f"notice: {path} cannot be read: it is not valid JSON; its plugins are left out"
    assert (expected in done.err) == (text == "{")


def test_a_project_cannot_bring_plugins_of_its_own(
    project, write_skill, tmp_path, indexed
) -> None:
    """What is installed, and where, is said by the user's own files."""
    write_skill(tmp_path / "private/skills", "secret")
    write_skill(project / ".claude/skills", "own")
    record = {"scope": "user", "installPath": str(tmp_path / "private")}
    save(
        project / ".claude/plugins/installed_plugins.json",
        {"version": 2, "plugins": {"bad@mkt": [record]}},
    )
    settings = {
        "enabledPlugins": {"bad@mkt": True},
        "extraKnownMarketplaces": {
            "mkt": {"source": {"source": "directory", "path": str(tmp_path / "private")}}
        },
    }
    save(project / ".claude/settings.json", settings)
    assert indexed() == {"skill:own"}


def test_extensions_of_gemini_are_read_unless_they_are_switched_off(
    project, home, write_skill, tmp_path, indexed
) -> None:
    folder = home / ".gemini/extensions"
    for name in ("cloud", "off", "linked"):
        save(folder / name / "gemini-extension.json", {"name": name, "version": "1"})
        write_skill(folder / name / "skills", f"{name}-skill")
    write(folder / "cloud/commands/gcs/sync.toml", 'description = "Syncs."\nprompt = "Sync."\n')
    write(folder / "cloud/agents/ops.md", MARKDOWN.format("Operates."))
    save(folder / "extension-enablement.json", {"off": {"overrides": ["/*", f"!{project}/*"]}})
    work = tmp_path / "develop/linked"
    shutil.move(folder / "linked", work)
    save(
        folder / "linked/.gemini-extension-install.json",
        {"source": str(work), "type": "link"},
    )
    assert indexed() == {
        "skill:cloud-skill", "command:gcs.sync", "agent:ops", "skill:linked-skill",
    }  # fmt: skip


def test_plugins_of_codex_that_are_switched_on_are_read(home, write_skill, indexed) -> None:
    cache = home / ".codex/plugins/cache/mkt"
    for name in ("mail", "off"):
        save(
            cache / name / "1.0.0/.codex-plugin/plugin.json", {"name": name, "skills": "./skills/"}
        )
        write_skill(cache / name / "1.0.0/skills", f"{name}-skill")
    write(
        home / ".codex/config.toml",
        '[plugins."mail@mkt"]\nenabled = true\n[plugins."off@mkt"]\nenabled = false\n'
        '[plugins."../../x@mkt"]\nenabled = true\n',
    )
    assert indexed() == {"skill:mail-skill"}


def test_agents_and_commands_are_validated_like_skills(project, capdisc) -> None:
    path = write(project / ".claude/agents/a.md", "---\nname: a\n---\nAct.\n")
    expected = ".claude/agents/a.md:2:1: warning[description-vague]: the agent has no description"
    assert expected in capdisc("validate").out
    assert "description-vague" in capdisc("validate", str(path)).out
    assert "description-vague" in capdisc("validate", ".claude").out


def test_validation_follows_the_links_that_an_index_follows(
    home, write_skill, capdisc, tmp_path
) -> None:
    write_skill(tmp_path / "elsewhere", "bar", "")
    (home / ".claude/skills").mkdir(parents=True)
    (home / ".claude/skills/bar").symlink_to(tmp_path / "elsewhere/bar")
    assert f"{home}/.claude/skills/bar/SKILL.md" in capdisc("validate", "--user").out


def test_plugins_of_copilot_that_are_switched_on_are_read(
    home, write_skill, capdisc, tmp_path, indexed
) -> None:
    """As `copilot skill list` of 1.0.102 lists them."""
    folder = home / ".copilot"
    records = []
    for name, is_enabled in (("on", False), ("off", True), ("unmentioned", True)):
        place = folder / "installed-plugins/mkt" / name
        write_skill(place / "skills", f"{name}-skill")
        save(place / "plugin.json", {"name": name})
        records.append({"name": name, "marketplace": "mkt", "cache_path": str(place)})
        records[-1]["enabled"] = is_enabled
    direct = folder / "installed-plugins/_direct/horn"
    write_skill(direct / "skills", "replaced")
    write_skill(direct / "extra", "horn")
    save(direct / ".github/plugin/plugin.json", {"name": "horn", "skills": "./extra"})
    write(direct / "agents/tuner.agent.md", MARKDOWN.format("Tunes horns."))
    write(direct / "commands/tune.md", MARKDOWN.format("Starts tuning."))
    records.append({"name": "horn", "marketplace": "", "cache_path": str(direct), "enabled": True})
    write(
        folder / "config.json",
        "// This file is managed automatically.\n" + json.dumps({"installedPlugins": records}),
    )
    live = tmp_path / "market"
    write_skill(live / "plugins/live/skills", "live-skill")
    write_skill(tmp_path / "outside/skills", "outside-skill")
    entries = [
        {"name": "live", "source": "./plugins/live"},
        {"name": "outside", "source": "../outside"},
    ]
    save(live / ".claude-plugin/marketplace.json", {"name": "near", "plugins": entries})
    source = {"source": {"source": "directory", "path": str(live)}}
    switches = {"on@mkt": True, "off@mkt": False, "live@near": True, "outside@near": True}
    save(
        folder / "settings.json",
        {"enabledPlugins": switches, "extraKnownMarketplaces": {"near": source}},
    )
    assert indexed() == {
        "skill:on-skill", "skill:horn", "agent:tuner", "command:tune", "skill:live-skill",
    }  # fmt: skip
    (folder / "settings.json").unlink()
    assert "skill:off-skill" in described(capdisc) and "skill:on-skill" not in described(capdisc)


def test_local_plugins_of_cursor_are_read(home, write_skill, capdisc, indexed) -> None:
    folder = home / ".cursor/plugins/local"
    for name, manifest in (("horn", ".cursor-plugin/plugin.json"), ("drum", "plugin.json")):
        write_skill(folder / name / "skills", f"{name}-skill")
        save(folder / name / manifest, {"name": name})
    write_skill(folder / "none/skills", "of-no-plugin")
    write(folder / "horn/commands/tune.md", MARKDOWN.format("Starts tuning."))
    assert indexed() == {"skill:horn-skill", "skill:drum-skill", "command:tune"}
    write_skill(folder / "later/skills", "later-skill")
    save(folder / "later/plugin.json", {"name": "later"})
    assert "skill:later-skill" in described(capdisc)
