"""capdisc audit --html writes one page that needs no network and runs nothing that a skill says."""

import base64
import hashlib
import json
import re
import time
from html.parser import HTMLParser
from pathlib import Path

import pytest

from capdisc.hook import client_session, use_memory
from capdisc_audit import audit_page
from chromium import PROGRAM, open_page

TEMPLATE = Path(audit_page.__file__).with_name("audit_page.html")
HOSTILE = (
    "</script><script>document.title = 'owned'</script><img src=x onerror=\"document.title='owned'\">"
    "<!--<script> & '\"` {{audit}} \\u003c ${1} end"
)
_TOPICS = ("volcano", "violin", "bakery", "chess", "tax", "glacier", "tailor", "radio")


class PageReader(HTMLParser):
    """The elements of a page as a browser reads it, and the text of its scripts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.scripts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.scripts += [""] if tag == "script" else []

    def handle_data(self, data: str) -> None:
        if self.tags[-1:] == ["script"]:
            self.scripts[-1] += data


def read_data(page: str) -> dict:
    return json.loads(PageReader(page).scripts[0])


@pytest.fixture
def shop(capdisc, hermetic, write_skill, monkeypatch) -> Path:
    """Skills of Claude Code: eight that are long, a pair that overlaps, and a hostile one; one of
    them in use, and a week of the hook."""
    for name in ("CLAUDE_CONFIG_DIR", "SLASH_COMMAND_TOOL_CHAR_BUDGET", "SKILL_CHAR_BUDGET"):
        monkeypatch.delenv(name, raising=False)
    home = hermetic.parent / "home"
    skills = home / ".claude" / "skills"
    about = "Writes the {} of a plant and waters it. Use when somebody asks for it. "
    for topic in _TOPICS:
        write_skill(skills, topic, about.format(topic) + "More words. " * 30)
    text = "Writes the changelog of a release. Use for notes on what changed."
    write_skill(skills, "changelog-writer", text)
    write_skill(skills, "release-notes", "Writes release notes from the changelog of a version.")
    hostile = write_skill(skills, "hostile", "Does harm.")
    hostile.write_text(hostile.read_text().replace("Does harm.", json.dumps(HOSTILE)))
    assert capdisc("index").code == 0
    state = home / ".local" / "state" / "capdisc"
    offers = {"skill:violin": ("digest", 0.9), "skill:chess": ("digest", 0.9)}
    client_session.record_turn(state, "claude", "one", None, offers)
    client_session.record_name(state, "claude", "one", "violin")
    use_memory.record_use(state, "violin", [], "", time.time())
    return hermetic


@pytest.fixture
def page(capdisc, shop) -> Path:
    assert capdisc("audit", "--html", "page.html").code == 0
    return shop / "page.html"


def test_its_data_are_those_of_the_report(capdisc, page) -> None:
    data, report = read_data(page.read_text(encoding="utf-8")), capdisc("audit", "--json").json
    assert [client["states"] for client in data["clients"]] == [
        client["states"] for client in report["clients"]
    ]
    assert data["overlaps"]["overlaps"] == report["overlaps"]
    rivals = ("skill:changelog-writer", "skill:release-notes")
    assert rivals in {(pair["first"], pair["second"]) for pair in report["overlaps"]}
    assert data["week"] == report["hook_week"]
    assert data["week"]["by_name"] == {"chess": [1, 0], "violin": [1, 1]}
    claude = data["clients"][0]
    entries = {entry[0]: entry[1:] for entry in claude["entries"]}
    whole = capdisc("audit", "claude", "--json").json["clients"][0]["skills"]
    states = ("full", "cut", "dropped", "named", "left-out")
    assert {skill["id"]: skill["state"] for skill in whole} == {
        name: states[entry[0]] for name, entry in entries.items()
    }
    assert (len(data["skills"]), len(entries)) == (11, 11)
    assert len({(x, y) for *_, x, y in data["skills"]}) == 11
    # What nobody used needs no description, as `--fix` has it.
    fix = capdisc("audit", "claude", "--fix", "--json").json
    assert len(claude["saving"]["ids"]) == fix["changed"] == 10
    assert "skill:violin" not in claude["saving"]["ids"]
    assert [row[1:] for row in claude["saving"]["tokens"]] == [
        [row["tokens_before"], row["tokens_after"]] for row in fix["windows"]
    ]


def test_no_text_of_a_skill_ends_the_data_or_begins_an_element(capdisc, page, write_skill) -> None:
    text = page.read_text(encoding="utf-8")
    read, template = PageReader(text), PageReader(TEMPLATE.read_text(encoding="utf-8"))
    assert read.tags == template.tags
    assert len(read.scripts) == 2 and read.scripts[1] == template.scripts[1]
    assert read.scripts[0].count("<") == 0
    (about,) = [skill[2] for skill in read_data(text)["skills"] if skill[1] == "hostile"]
    assert about.startswith("</script><script>document.title") and "{{audit}}" in about


def test_the_name_of_a_folder_is_data_too(capdisc, hermetic, write_skill, monkeypatch) -> None:
    folder = hermetic / "<img src=x onerror=alert(1)>"
    write_skill(folder / ".claude" / "skills", "one", "Does one thing.")
    (folder / ".git").mkdir()
    monkeypatch.chdir(folder)
    capdisc("index")
    text = capdisc("audit", "--html", "-").out
    assert "<img" not in text
    assert read_data(text)["title"] == folder.name


@pytest.mark.parametrize("count", [1, 2, 3, 5, 20])
def test_a_map_of_few_skills_keeps_its_dots_apart(capdisc, hermetic, write_skill, count) -> None:
    for number in range(count):
        topic = f"{_TOPICS[number % 8]}-{number}"
        write_skill(hermetic / "skills", topic, f"Explains the {topic}.")
    capdisc("index", "skills")
    text = capdisc("audit", "--html", "-").out
    assert len({(x, y) for *_, x, y in read_data(text)["skills"]}) == count
    assert capdisc("audit", "--html", "-").out == text


def test_the_page_itself_is_small_and_allows_no_network() -> None:
    text = TEMPLATE.read_text(encoding="utf-8")
    assert len(text.encode()) < 80_000 and max(map(len, text.splitlines())) <= 100
    assert text.count("{{audit}}") == 1
    assert re.findall(r"https?://[^\"']*", text) == ["http://www.w3.org/2000/svg"]
    assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|style=", text)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1]
    hashes = {
        f"{tag}-src": base64.b64encode(
            hashlib.sha256(re.search(rf"<{tag}>(.*?)</{tag}>", text, re.S)[1].encode()).digest()
        ).decode()
        for tag in ("script", "style")
    }
    rules = dict(rule.split() for rule in policy.split(";"))
    assert rules == {
        "default-src": "'none'",
        "base-uri": "'none'",
        "form-action": "'none'",
        **{name: f"'sha256-{value}'" for name, value in hashes.items()},
    }


_needs_chromium = pytest.mark.skipif(not PROGRAM, reason="there is no Chromium on PATH")


def _text(page, selector: str) -> str:
    return page.evaluate(f"document.querySelector({selector!r}).innerText")


@_needs_chromium
def test_a_browser_draws_it_without_network_and_errors(page, tmp_path) -> None:
    with open_page(page, tmp_path / "profile") as browser:
        shown = browser.evaluate("document.body.innerText")
        assert "11 skills" in _text(browser, "#totals")
        assert "Claude Code" in shown and "8,000 characters" in shown
        assert "without a description in Claude Code" in _text(browser, "#summary")
        assert "changelog-writer\trelease-notes" in _text(browser, "#pairs")
        assert "1\nprompts\n2\nsuggestions\n1\nused\n1\nignored" in re.sub(
            r"\n+", "\n", _text(browser, "#uses")
        )
        assert "capdisc audit claude --fix" in _text(browser, "#plans")
        assert browser.evaluate("document.querySelectorAll('#map circle').length") == 11
        pairs = len(read_data(page.read_text(encoding="utf-8"))["overlaps"]["overlaps"])
        assert browser.evaluate("document.querySelectorAll('#map line').length") == pairs > 0
        assert browser.evaluate("document.title") == f"Skills in {page.parent.name}"
        # The hostile text is there to be read, and nothing of it was run or loaded.
        browser.evaluate("choose(skills.find(({ name }) => name === 'hostile'))")
        assert _text(browser, "#pane .about").startswith("</script><script>")
        assert browser.evaluate("document.querySelectorAll('img').length") == 0
        assert browser.requests == [page.as_uri()]
        assert browser.errors == []


@_needs_chromium
def test_the_page_is_light_or_dark_as_its_reader_prefers(page, tmp_path) -> None:
    colours = {}
    with open_page(page, tmp_path / "profile") as browser:
        for scheme in ("light", "dark"):
            browser.set_scheme(scheme)
            names = ("backgroundColor", "color")
            read = "[{}]".format(
                ",".join(f"getComputedStyle(document.body).{name}" for name in names)
            )
            colours[scheme] = [
                sum(map(int, re.findall(r"\d+", colour))) for colour in browser.evaluate(read)
            ]
        assert browser.errors == []
    (paper, ink), (dark_paper, dark_ink) = colours["light"], colours["dark"]
    assert paper > 700 > 200 > ink and dark_paper < 200 < 600 < dark_ink


@_needs_chromium
def test_keys_alone_reach_every_part(page, tmp_path) -> None:
    with open_page(page, tmp_path / "profile") as browser:
        browser.evaluate("document.querySelector('#choice :checked').focus()")
        browser.press("ArrowDown")
        assert _text(browser, "#client h3").startswith("Codex")
        assert "no skill" in _text(browser, "#choice .client:has(:checked)").lower()
        browser.press("ArrowUp")
        # The map: one stop of the Tab key, in which arrows go from skill to skill.
        browser.evaluate("document.querySelector('#map').focus()")
        names = set()
        for key in ("ArrowRight", "ArrowRight", "ArrowLeft", "ArrowDown", "ArrowUp"):
            browser.press(key)
            names.add(_text(browser, "#pane h3"))
        assert len(names) > 1
        browser.press("+")
        assert browser.evaluate("eye.zoom") > 1
        browser.press("0")
        assert browser.evaluate("eye.zoom") == 1
        browser.evaluate("document.querySelector('#find').focus()")
        for letter in "violin":
            browser.press(letter)
        assert _text(browser, "#entries").count("Writes the") == 1
        # Each control has a name, and each table a caption.
        assert browser.evaluate(
            "[...document.querySelectorAll('button, a')].every(part => part.textContent.trim() || "
            "part.getAttribute('aria-label'))"
        )
        assert browser.evaluate(
            "[...document.querySelectorAll('table')].every(part => part.caption)"
        )
        assert browser.errors == []


@_needs_chromium
def test_a_long_table_shows_its_first_rows_until_it_is_asked_for_all(
    capdisc, hermetic, write_skill, tmp_path
) -> None:
    for number in range(40):
        write_skill(hermetic / "skills", f"skill-{number}", f"Explains the number {number}.")
    capdisc("index", "skills")
    assert capdisc("audit", "claude", "--html", "page.html").code == 0
    with open_page(hermetic / "page.html", tmp_path / "profile") as browser:
        rows = "document.querySelectorAll('#entries tbody tr').length"
        assert browser.evaluate(rows) == 12
        browser.evaluate("document.querySelector('#entries .more').click()")
        assert browser.evaluate(rows) == 40
        assert "capdisc setup claude" in _text(browser, "#week")


@_needs_chromium
def test_without_vectors_there_is_no_map_and_the_rest_stays(
    capdisc, shop, tmp_path, monkeypatch
) -> None:
    monkeypatch.setenv("CAPDISC_ENCODER", "none")
    capdisc("index", "--rebuild")
    assert capdisc("audit", "--html", "page.html").code == 0
    with open_page(shop / "page.html", tmp_path / "profile") as browser:
        assert "There is no map" in _text(browser, "#overlaps")
        assert "volcano" in _text(browser, "#entries")
        assert browser.evaluate("document.querySelectorAll('.skill, #map').length") == 0
        assert browser.errors == []
