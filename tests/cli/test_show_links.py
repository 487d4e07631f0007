"""capdisc show --links and --link: what a capability points to, and how far it is followed."""

import socket

import pytest

from capdisc_run import download as fetching

CANARY = "canary-of-the-outside"
BODY = f"""# Guide

See [the reference](references/api.md#calls), [gone](references/gone.md) and [below](#more).
Also [out](../outside.txt), [root](/etc/passwd), [home](~/x), [file](file:///etc/passwd), [linked](linked.txt),
[coded](%2e%2e%2foutside.txt), [back](..\\\\outside.txt), [far](folder/secret.txt).

<https://docs.example.com/guide.md> [plain](http://docs.example.com/x) [here](http://127.0.0.1/) [mail](mailto:a@b.c)

[def]: references/two%20words.md
{"x" * 10}

## More

Text below.
"""


@pytest.fixture
def skill(hermetic, capdisc, write_skill):
    """A skill with files of its own, links of every kind, and a file outside that nobody may see."""
    folder = write_skill(hermetic / "skills", "guide", body=BODY).parent
    (folder / "references").mkdir()
    (folder / "references" / "api.md").write_text(
        "# API\n\nIntro.\n\n## Calls\n\nCall it.\n\n## Other\n\nNo.\n"
    )
    (folder / "references" / "two words.md").write_text("Two words.\n")
    (hermetic / "skills" / "outside.txt").write_text(CANARY)
    elsewhere = hermetic / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "secret.txt").write_text(CANARY)
    (folder / "linked.txt").symlink_to(elsewhere / "secret.txt")
    (folder / "folder").symlink_to(elsewhere)
    capdisc("index", "skills")
    return folder


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    """Nothing may so much as look up a name."""

    def refuse(*_, **__):
        raise AssertionError("the network was reached for")

    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)


def link(capdisc, target: str, *more: str):
    return capdisc("show", "guide", f"--link={target}", *more)


def test_links_are_listed_with_their_kind_and_none_is_read(capdisc, skill, monkeypatch) -> None:
    from capdisc_indexer import links

    monkeypatch.setattr(links, "read_path", lambda *_: pytest.fail("a link was read"))
    (guide,) = capdisc("show", "guide", "--links", "--json").json["capabilities"]
    found = {link["target"]: link for link in guide["links"]}
    assert {
        target: (link["kind"], link["exists"])
        for target, link in found.items()
        if link["kind"] != "refused"
    } == {
        "references/api.md#calls": ("file", True),
        "references/gone.md": ("file", False),
        "#more": ("anchor", None),
        "https://docs.example.com/guide.md": ("url", None),
        "http://docs.example.com/x": ("url", None),
        "references/two%20words.md": ("file", True),
    }
    refused = [target for target, link in found.items() if link["kind"] == "refused"]
    assert len(refused) == 10
    assert all(found[target]["reason"] for target in refused)
    assert found["references/api.md#calls"]["text"] == "the reference"


REFUSED = """
    ../outside.txt references/../../outside.txt /etc/passwd //etc/passwd ~/x $HOME/x file:///etc/passwd FILE:/etc/passwd
    c:\\outside.txt ..\\outside.txt %2e%2e%2foutside.txt ..%2Foutside.txt references%5c..%5c..%5coutside.txt linked.txt
    folder/secret.txt folder/../../outside.txt SKILL.md%00.txt %ff data:text/plain,hello javascript:alert(1)
""".split()


@pytest.mark.parametrize("target", [*REFUSED, "", "a\nb", "a" * 2000])
def test_what_leads_out_of_the_folder_is_refused_and_never_shown(capdisc, skill, target) -> None:
    for more in ((), ("--network", "--allow-http", "--allow-html")):
        for form in ((), ("--json",)):
            done = link(capdisc, target, *more, *form)
            assert done.code == 5
            assert done.json.keys() == {"schema_version", "error"} if form else done.out == ""
            assert "error: " in done.err
            assert "hint: " in done.err
            assert CANARY not in done.out + done.err
            assert "root:" not in done.out + done.err


def test_the_refusal_does_not_tell_whether_the_file_exists(capdisc, skill, hermetic) -> None:
    (skill / "nowhere.txt").symlink_to(hermetic / "elsewhere" / "not-there.txt")
    there, not_there = (link(capdisc, name) for name in ("linked.txt", "nowhere.txt"))
    assert (there.code, not_there.code) == (5, 5)
    assert there.err.replace("linked", "nowhere") == not_there.err


def test_a_folder_that_became_a_link_to_elsewhere_is_not_followed(
    capdisc, skill, hermetic
) -> None:
    skill.rename(hermetic / "moved")
    skill.symlink_to(hermetic / "elsewhere")
    done = link(capdisc, "secret.txt", "--fresh", "off")
    assert (done.code, done.out) == (5, "")
    assert "run: capdisc index" in done.err
    assert "there is no capability 'guide'" in capdisc("show", "guide").err


def test_a_url_is_not_fetched_unless_asked(capdisc, skill) -> None:
    done = link(capdisc, "https://docs.example.com/guide.md")
    assert (done.code, done.out) == (5, "")
    assert "--network" in done.err
    done = link(capdisc, "http://docs.example.com/x", "--network")
    assert done.code == 5
    assert "--allow-http" in done.err


def test_only_a_url_of_the_capability_is_fetched(capdisc, skill) -> None:
    done = link(capdisc, "https://docs.example.com/other.md", "--network")
    assert done.code == 5
    assert "is not a link of skill:guide" in done.err


def test_a_fetched_document_says_where_it_came_from(capdisc, skill, monkeypatch) -> None:
    asked = []

    def fetch(url, options, network):
        asked.append((url, options.allow_http, options.allow_html))
        return fetching.FetchedDocument(
            text="far away\n", url="https://cdn.example.com/guide.md", content_type="text/plain"
        )

    monkeypatch.setattr(fetching, "fetch_document", fetch)
    url = "https://docs.example.com/guide.md"
    found = link(capdisc, url, "--network", "--json").json
    assert (found["kind"], found["text"], found["bytes"]) == ("url", "far away\n", 9)
    assert (found["target"], found["url"]) == (url, "https://cdn.example.com/guide.md")
    assert link(capdisc, url, "--network", "--allow-html").out == "far away\n"
    assert asked == [(url, False, False), (url, False, True)]


def test_a_plain_show_loads_nothing_of_the_network(process, skill) -> None:
    code = "import sys; from capdisc.args import command_table; command_table.run_command(['show', 'guide', '--links']); "
    code += "sys.exit(any(name in sys.modules for name in ('http.client', 'ssl', 'capdisc_run.download')))"
    import subprocess
    import sys

    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode
        == 0
    )
