"""The behaviours that the reference library of the Agent Skills specification (skills-ref 0.1.1) tests; and where it is
worse than a reader has to be, the better behaviour. What its validator says is in tests/cases/reference.case.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Put = Callable[..., Path]
FIELDS = "name: {name}\ndescription: Folds paper cranes. Use when a table needs decoration.\n"
BODY = "# Cranes\n\nFold twice.\n"


@pytest.fixture
def put(hermetic: Path) -> Put:
    """Write a skill: `put("cranes", "license: MIT\\n")`."""

    def write(
        folder: str,
        more: str = "",
        *,
        name: str | None = None,
        text: str | bytes | None = None,
        filename: str = "SKILL.md",
    ) -> Path:
        path = hermetic / folder / filename
        path.parent.mkdir(exist_ok=True)
        made = (
            f"---\n{FIELDS.format(name=folder if name is None else name)}{more}---\n{BODY}"
            if text is None
            else text
        )
        path.write_bytes(made if isinstance(made, bytes) else made.encode())
        return path

    return write


@pytest.fixture
def index(capdisc: Any, hermetic: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """A command line that asks a new index of all skills here."""

    def run(*words: str) -> Any:
        monkeypatch.setenv("CAPDISC_INDEX_DIR", str(hermetic / "index"))
        assert capdisc("index", ".").code == 0
        return capdisc(*words)

    return run


@pytest.fixture
def shown(index: Callable[..., Any]) -> Callable[[str], dict[str, Any]]:
    """A skill as the index has it."""
    return lambda name: dict(index("show", name, "--json").json["capabilities"][0])


@pytest.fixture
def prompt(index: Callable[..., Any]) -> Callable[[], str]:
    """The catalogue of all skills here, as a prompt has it."""
    return lambda: str(index("render", "--format", "skills-xml", "--budget", "5000").out)


class TestParser:
    @pytest.mark.parametrize("filename", ["SKILL.md", "skill.md"])
    def test_a_sound_skill_is_read(self, put, shown, filename) -> None:
        put("cranes", "license: MIT\nallowed-tools: Bash(jq:*) Bash(git log)\n", filename=filename)
        found = shown("cranes")
        assert (found["id"], found["name"]) == ("skill:cranes", "cranes")
        assert found["description"].startswith("Folds paper cranes.")
        assert found["content"] == BODY.strip()
        assert found["extra"]["license"] == "MIT"
        assert found["extra"]["allowed-tools"] == ["Bash(jq:*)", "Bash(git log)"]

    def test_metadata_is_kept_as_it_was_written(self, put, shown) -> None:
        put("cranes", "metadata:\n  author: Ayşe\n  version: 1.0\n")
        metadata = shown("cranes")["extra"]["metadata"]
        assert {key: str(value) for key, value in metadata.items()} == {
            "author": "Ayşe",
            "version": "1.0",
        }

    def test_of_two_spellings_the_upper_case_one_is_read(self, put, shown, capdisc) -> None:
        text = "---\nname: cranes\ndescription: The other one.\n---\n"
        put("cranes", filename="skill.md", text=text)
        put("cranes")
        assert "The other one" not in shown("cranes")["description"]
        assert "skill.md" in capdisc("validate", "cranes", "--select", "misnamed-manifest").out


class TestPrompt:
    def entry(self, path: Path, description: str) -> str:
        fields = (
            ("name", path.parent.name),
            ("description", description),
            ("location", str(path)),
        )
        return (
            "<skill>\n"
            + "".join(f"<{tag}>\n{value}\n</{tag}>\n" for tag, value in fields)
            + "</skill>\n"
        )

    def test_without_skills_there_are_two_lines(self, put, prompt, hermetic) -> None:
        manifest = hermetic / "tool" / "CAPABILITY.yaml"
        manifest.parent.mkdir()
        manifest.write_text("name: fold\nkind: tool\ndescription: Folds paper cranes.\n")
        assert prompt() == "<available_skills>\n</available_skills>\n"

    def test_one_skill_has_its_name_description_and_place(self, put, prompt) -> None:
        path = put("cranes")
        entry = self.entry(path, "Folds paper cranes. Use when a table needs decoration.")
        assert prompt() == f"<available_skills>\n{entry}</available_skills>\n"

    def test_several_skills_stand_one_after_the_other(self, put, prompt) -> None:
        put("boats")
        put("cranes")
        text = prompt()
        assert text.count("<skill>") == 2
        assert text.index("boats") < text.index("cranes")

    def test_what_means_something_in_xml_is_escaped(self, put, prompt) -> None:
        put(
            "cranes",
            text="---\nname: cranes\ndescription: 'Folds \"cranes\" & <boats>, as ''usual''.'\n---\nFold.\n",
        )
        assert "Folds &quot;cranes&quot; &amp; &lt;boats&gt;, as &#x27;usual&#x27;." in prompt()


class TestBetterThanTheReference:
    def test_the_current_folder_can_be_checked(self, put, capdisc, hermetic, monkeypatch) -> None:
        put("cranes")
        monkeypatch.chdir(hermetic / "cranes")
        done = capdisc("validate", ".", "--profile", "strict")
        assert (done.code, done.out) == (0, "")

    def test_a_value_that_holds_three_hyphens_is_kept_whole(self, put, shown) -> None:
        put(
            "cranes",
            text="---\nname: cranes\ndescription: Folds --- and unfolds --- cranes.\nlicense: MIT\n---\nFold.\n",
        )
        found = shown("cranes")
        assert found["description"] == "Folds --- and unfolds --- cranes."
        assert found["extra"]["license"] == "MIT"

    def test_other_bytes_than_utf8_are_no_traceback(self, put, process) -> None:
        put("cranes", text=b"---\nname: \xff\xfe\n---\n")
        done = process("validate", "cranes", "--profile", "strict")
        assert done.code == 1
        assert "error[encoding]" in done.out
        assert "Traceback" not in done.err

    @pytest.mark.skipif(sys.flags.utf8_mode == 1, reason="the locale has no say in UTF-8 mode")
    def test_the_locale_has_no_say_in_how_files_are_read(self, put, process) -> None:
        put("cranes", "license: Ünïcode\n")
        done = process(
            "validate",
            "cranes",
            "--profile",
            "strict",
            env={"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        )
        assert (done.code, done.out) == (0, "")
