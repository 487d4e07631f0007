"""The forty behaviours that the reference library of the Agent Skills specification tests, asked of the profile
`strict`, which stands for it; and where it is worse than a reader has to be, the better behaviour.

The behaviours are those of skills-ref 0.1.1: fifteen of its parser, four of its prompt, twenty-one of its validator.
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
def strict(capdisc: Any) -> Callable[..., tuple[int, set[str]]]:
    """The status and the codes of all errors under the reference's rules."""

    def run(*paths: str) -> tuple[int, set[str]]:
        done = capdisc("validate", "--profile", "strict", "--json", *paths)
        findings = done.json["findings"] if done.out else []
        return done.code, {one["code"] for one in findings if one["severity"] == "error"}

    return run


@pytest.fixture
def shown(
    capdisc: Any, hermetic: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], dict[str, Any]]:
    """A skill as the index has it."""

    def run(name: str) -> dict[str, Any]:
        monkeypatch.setenv("CAPDISC_INDEX_DIR", str(hermetic / "index"))
        assert capdisc("index", ".").code == 0
        found: dict[str, Any] = capdisc("show", name, "--json").json["capabilities"][0]
        return found

    return run


@pytest.fixture
def prompt(capdisc: Any, hermetic: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], str]:
    """The catalogue of all skills here, as a prompt has it."""

    def run() -> str:
        monkeypatch.setenv("CAPDISC_INDEX_DIR", str(hermetic / "index"))
        assert capdisc("index", ".").code == 0
        out: str = capdisc("render", "--format", "skills-xml", "--budget", "5000").out
        return out

    return run


class TestParser:
    def test_fields_and_body_are_told_apart(self, put, shown) -> None:
        put("cranes")
        found = shown("cranes")
        assert (found["name"], found["content"]) == ("cranes", BODY.strip())

    def test_a_file_without_front_matter_is_refused(self, put, strict) -> None:
        put("cranes", text="# Only a heading\n")
        assert strict("cranes") == (1, {"frontmatter-missing"})

    def test_front_matter_that_is_never_closed_is_refused(self, put, strict) -> None:
        put("cranes", text="---\nname: cranes\ndescription: Folds cranes.\n")
        assert strict("cranes") == (1, {"frontmatter-unclosed"})

    def test_what_is_no_yaml_is_refused(self, put, strict) -> None:
        put("cranes", text="---\nname: [cranes\ndescription: }{\n---\nFold.\n")
        code, errors = strict("cranes")
        assert code == 1 and any(each.startswith("yaml-") for each in errors)

    def test_a_list_in_the_place_of_fields_is_refused(self, put, strict) -> None:
        put("cranes", text="---\n- one\n- two\n---\nFold.\n")
        assert strict("cranes") == (1, {"yaml-not-mapping"})

    def test_a_sound_skill_is_read(self, put, shown) -> None:
        put("cranes", "license: MIT\n")
        found = shown("cranes")
        assert (found["id"], found["extra"]["license"]) == ("skill:cranes", "MIT")
        assert found["description"].startswith("Folds paper cranes.")

    def test_metadata_is_kept_as_it_was_written(self, put, shown) -> None:
        put("cranes", "metadata:\n  author: Ayşe\n  version: 1.0\n")
        metadata = shown("cranes")["extra"]["metadata"]
        assert {key: str(value) for key, value in metadata.items()} == {
            "author": "Ayşe",
            "version": "1.0",
        }

    def test_a_folder_without_a_skill_is_said(self, capdisc, hermetic) -> None:
        (hermetic / "empty").mkdir()
        done = capdisc("validate", "empty")
        assert (done.code, done.out) == (2, "")
        assert "holds no capability file" in done.err

    def test_a_missing_name_is_refused(self, put, strict) -> None:
        put("cranes", text="---\ndescription: Folds paper cranes on tables.\n---\nFold.\n")
        assert strict("cranes") == (1, {"name-missing"})

    def test_a_missing_description_is_refused(self, put, strict) -> None:
        put("cranes", text="---\nname: cranes\n---\nFold.\n")
        assert strict("cranes") == (1, {"description-missing"})

    def test_of_two_spellings_the_upper_case_one_is_read(self, put, shown, capdisc) -> None:
        put(
            "cranes",
            filename="skill.md",
            text="---\nname: cranes\ndescription: The other one.\n---\n",
        )
        put("cranes")
        assert "The other one" not in shown("cranes")["description"]
        assert "skill.md" in capdisc("validate", "cranes", "--select", "misnamed-manifest").out

    def test_a_lower_case_name_is_found(self, put, capdisc) -> None:
        put("cranes", filename="skill.md")
        done = capdisc("validate", "cranes", "--profile", "strict", "--format", "concise")
        assert done.code == 0
        assert done.out.startswith("cranes/skill.md:1:1: misnamed-manifest")

    def test_where_there_is_none_none_is_found(self, put, capdisc, hermetic) -> None:
        put("cranes", filename="README.md")
        assert capdisc("validate", "cranes").code == 2

    def test_a_file_with_a_lower_case_name_is_read(self, put, shown) -> None:
        put("cranes", filename="skill.md")
        assert shown("cranes")["content"] == BODY.strip()

    def test_allowed_tools_are_read_under_the_key_of_the_format(self, put, shown) -> None:
        put("cranes", "allowed-tools: Bash(jq:*) Bash(git log)\n")
        assert shown("cranes")["extra"]["allowed-tools"] == ["Bash(jq:*)", "Bash(git log)"]


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


class TestValidator:
    def test_a_sound_skill_passes(self, put, strict) -> None:
        put("cranes")
        assert strict("cranes") == (0, set())

    def test_a_path_that_is_not_there_is_said(self, capdisc) -> None:
        done = capdisc("validate", "nowhere", "--profile", "strict")
        assert (done.code, done.out) == (2, "")
        assert "cannot find" in done.err

    def test_a_file_that_is_no_skill_is_said(self, put, capdisc) -> None:
        put("cranes", filename="notes.txt")
        done = capdisc("validate", "cranes/notes.txt", "--profile", "strict")
        assert done.code == 2
        assert "is not a capability file" in done.err

    def test_a_folder_that_holds_no_skill_is_said(self, put, capdisc) -> None:
        put("cranes", filename="notes.txt")
        assert capdisc("validate", "cranes", "--profile", "strict").code == 2

    @pytest.mark.parametrize(
        ("name", "code"),
        [
            ("Cranes", "name-case"),
            ("c" * 70, "name-too-long"),
            ("-cranes", "name-hyphens"),
            ("paper--cranes", "name-hyphens"),
            ("paper_cranes", "name-characters"),
        ],
    )
    def test_a_name_that_the_format_forbids_is_refused(self, put, strict, name, code) -> None:
        put(name)
        assert strict("./" + name) == (1, {code})

    def test_a_name_other_than_the_folders_is_refused(self, put, strict) -> None:
        put("cranes", name="boats")
        assert strict("cranes") == (1, {"name-folder-mismatch"})

    def test_a_field_that_the_format_does_not_know_is_refused(self, put, strict) -> None:
        put("cranes", "colour: red\n")
        assert strict("cranes") == (1, {"unknown-field"})

    def test_every_field_of_the_format_passes(self, put, strict) -> None:
        put(
            "cranes",
            'license: MIT\ncompatibility: Needs paper.\nallowed-tools: Read\nmetadata:\n  author: "A"\n',
        )
        assert strict("cranes") == (0, set())

    def test_allowed_tools_pass(self, put, strict) -> None:
        put("cranes", "allowed-tools: Bash(jq:*) Bash(git:*)\n")
        assert strict("cranes") == (0, set())

    @pytest.mark.parametrize("name", ["折り紙", "бумажный-журавль", "журавль"])
    def test_names_in_other_scripts_pass(self, put, strict, name) -> None:
        put(name)
        assert strict(name) == (0, set())

    def test_capital_letters_of_other_scripts_are_refused(self, put, strict) -> None:
        put("ЖУРАВЛЬ")
        assert strict("ЖУРАВЛЬ") == (1, {"name-case"})

    def test_a_description_of_more_than_1024_characters_is_refused(self, put, strict) -> None:
        put("cranes", text=f"---\nname: cranes\ndescription: {'fold ' * 220}\n---\nFold.\n")
        assert strict("cranes") == (1, {"description-too-long"})

    def test_compatibility_passes(self, put, strict) -> None:
        put("cranes", "compatibility: Needs paper and patience.\n")
        assert strict("cranes") == (0, set())

    def test_compatibility_of_more_than_500_characters_is_refused(self, put, strict) -> None:
        put("cranes", f"compatibility: {'x' * 550}\n")
        assert strict("cranes") == (1, {"compatibility-length"})

    def test_two_ways_to_write_an_accent_are_one_name(self, put, strict) -> None:
        put("café", name="cafe\u0301")
        assert strict("café") == (0, set())


class TestBetterThanTheReference:
    def test_a_byte_order_mark_is_read_past_and_told(self, put, capdisc, strict) -> None:
        put(
            "cranes",
            text=b"\xef\xbb\xbf" + f"---\n{FIELDS.format(name='cranes')}---\n{BODY}".encode(),
        )
        done = capdisc("validate", "cranes", "--format", "concise")
        assert (done.code, done.out.split()[1]) == (0, "byte-order-mark")
        assert strict("cranes") == (1, {"byte-order-mark"})

    def test_flow_style_is_yaml(self, put, strict) -> None:
        put("cranes", 'metadata: {author: "A", version: "1"}\n')
        assert strict("cranes") == (0, set())

    def test_the_current_folder_can_be_checked(self, put, strict, hermetic, monkeypatch) -> None:
        put("cranes")
        monkeypatch.chdir(hermetic / "cranes")
        assert strict(".") == (0, set())

    def test_several_paths_can_be_checked_and_one_bad_file_stops_no_other(
        self, put, capdisc
    ) -> None:
        put("a", text=b"---\nname: caf\xe9\n---\n")
        put("b", "colour: red\n")
        done = capdisc("validate", "--profile", "strict", "--format", "concise", "a", "b")
        assert [line.split()[:2] for line in done.out.splitlines()] == [
            ["a/SKILL.md:2:10:", "encoding"],
            ["b/SKILL.md:4:1:", "unknown-field"],
        ]

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
