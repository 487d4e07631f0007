"""docs/commands.md says what the commands declare."""

import re
import tomllib

import pytest

from capdisc.args.command_table import summarise_commands
from capdisc.commands.help import EXIT_CODE_MEANINGS
from capdisc.output.command_process import ExitCode
from capdisc_indexer.config.client_table import client_sections
from documentation import client_table, completion_table
from documentation.command_reference import PAGE, reference

TEXT = PAGE.read_text(encoding="utf-8")


def test_the_page_is_what_the_generator_writes() -> None:
    assert reference() == TEXT, "run: just docs"


def test_every_exit_code_is_explained() -> None:
    assert set(EXIT_CODE_MEANINGS) >= set(ExitCode)


def test_the_table_of_completion_is_what_the_generator_writes() -> None:
    written = completion_table.PATH.read_text(encoding="utf-8")
    assert written == completion_table.format_table(), "run: just docs"


def test_the_table_of_clients_is_what_the_generator_writes() -> None:
    written = client_table.PATH.read_text(encoding="utf-8")
    assert written == client_table.format_table(), "run: just docs"


@pytest.mark.parametrize("name", client_table.PAGES)
def test_a_page_that_lists_clients_is_what_the_generator_writes(name) -> None:
    written = (client_table.DOCS / name).read_text(encoding="utf-8")
    assert written == client_table.format_page(name), "run: just docs"


@pytest.mark.parametrize(
    ("page", "heading", "kind"),
    [
        ("sources.md", "`{}`", "skills"),
        ("setup.md", "\n## {}\n", "programs"),
        ("hook.md", "hook {}", "hook"),
    ],
)
def test_a_page_names_every_client(page, heading, kind) -> None:
    text = (client_table.DOCS / page).read_text(encoding="utf-8").replace('hook", "', "hook ")
    assert [name for name in client_sections(kind) if heading.format(name) not in text] == []


def test_every_key_of_the_table_of_clients_is_explained() -> None:
    guide = (client_table.DOCS.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    guide = guide.split("\n## Add a client\n", 1)[1].split("\n## ", 1)[0]
    keys = {
        key
        for entry in tomllib.loads(client_table.SOURCE.read_text(encoding="utf-8")).values()
        for kind, section in entry.items()
        for key in (kind, *(section if isinstance(section, dict) and kind != "folders" else ()))
    }
    assert [key for key in sorted(keys) if f"`{key}`" not in guide] == []


def test_every_client_says_where_its_entry_comes_from() -> None:
    clients = client_sections("title").keys() - {"all", "capdisc", "agents"}
    assert clients == client_sections("sources").keys()
    for sources in client_sections("sources").values():
        assert all(re.fullmatch(r"2026-\d\d-\d\d", source["date"]) for source in sources)


@pytest.mark.parametrize("command", summarise_commands())
def test_every_option_of_the_help_is_on_the_page(capdisc, command) -> None:
    section = TEXT.split(f"\n## capdisc {command}\n", 1)[1].split("\n## ", 1)[0]
    help_text = capdisc(command, "--help", "--all").out.split("\nOptions:\n", 1)[1]
    in_help = {
        word
        for line in re.findall(r"^  (-.*?)(?:   |$)", help_text, re.M)
        for word in re.findall(r"(?<![\w-])--?[a-z][\w-]*", line)
    }
    on_page = _option_names(section)
    for line in TEXT.split("\n## Shared options\n", 1)[1].split("\n## ", 1)[0].splitlines():
        names = _option_names(line.partition(":")[0])
        on_page |= names if names & on_page else set()
    assert in_help - {"-h", "--help"} <= on_page


def _option_names(text: str) -> set[str]:
    return set(re.findall(r"(?<![\w-])--?[a-z][\w-]*", text))
