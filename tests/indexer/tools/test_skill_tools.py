"""The tools for skills, their links and files."""

import pytest

from capdisc_indexer.model.errors import InputError, LinkRefusedError


def test_skills_are_listed_with_path_and_allowed_tools(ask) -> None:
    """A skill is listed with its path and allowed tools (S55, S53, S54)."""
    [skill] = ask("list_skills")["skills"]
    assert skill["name"] == "track-orders"
    assert skill["path"].endswith("track-orders/SKILL.md")
    assert skill["allowed_tools"] == ["Read", "list_tables"]


@pytest.mark.parametrize("tool", ["get_skill", "load_skill"])
def test_a_skill_comes_with_the_files_that_it_links_to(ask, tool) -> None:
    """A skill is returned with the files it links to, under both tool names (S56, S52)."""
    found = ask(tool, name="track-orders")
    assert found["content"].startswith("# Track orders")
    assert found["references"] == {"references/codes.md": "# Codes\n\n7 means lost.\n"}
    assert found["allowed_tools"] == ["Read", "list_tables"]


def test_skills_are_searched(ask) -> None:
    """Skills are found by a query (S57)."""
    found = ask("search_skills", query="where is my parcel")
    assert [each["name"] for each in found["skills"]] == ["track-orders"]
    assert set(found["skills"][0]) == {"name", "relevance", "description"}


def test_links_are_listed_with_the_lines_of_the_file(ask) -> None:
    """Links are listed with text, target and the line of the file (S58)."""
    found = ask("list_skill_links", name="track-orders")
    assert found["links"] == [
        {"text": "the codes", "target": "references/codes.md", "is_url": False, "line_number": 9},
        {
            "text": "the site",
            "target": "https://example.com/track",
            "is_url": True,
            "line_number": 9,
        },
    ]


def test_a_link_is_read_inside_the_folder_alone(ask) -> None:
    """A link is read inside the skill's folder only (S59)."""
    assert (
        "7 means lost"
        in ask("resolve_skill_link", name="track-orders", target="references/codes.md")["content"]
    )
    for target in ("../../secret.txt", "/etc/passwd", "..%2f..%2fsecret.txt"):
        with pytest.raises(LinkRefusedError):
            ask("resolve_skill_link", name="track-orders", target=target)


def test_a_url_is_not_fetched_and_how_it_is_is_said(ask) -> None:
    """A URL is not fetched, and the hint is the command that would fetch it (S59)."""
    with pytest.raises(LinkRefusedError) as caught:
        ask("resolve_skill_link", name="track-orders", target="https://example.com/track")
    assert (
        caught.value.hint
        == "capdisc show skill:track-orders --link https://example.com/track --network fetches it"
    )


def test_a_file_of_the_folder_is_read_by_its_name(ask) -> None:
    """A file of a skill is read by name, and only inside its folder (S60)."""
    assert (
        "Codes"
        in ask("get_skill_file", name="track-orders", filename="references/codes.md")["content"]
    )
    for name in ("../../secret.txt", "/etc/passwd", "https://example.com/track", "~/x"):
        with pytest.raises(LinkRefusedError):
            ask("get_skill_file", name="track-orders", filename=name)
    with pytest.raises(InputError):
        ask("get_skill_file", name="track-orders", filename="none.md")


def test_of_long_files_get_skill_reads_some_and_names_the_others(
    capdisc, hermetic, write_skill
) -> None:
    """A skill comes with at most 20,000 characters of the files that it links to (S56)."""
    path = write_skill(hermetic / "skills", "long", body="See [a](a.md) and [b](b.md).")
    for name in ("a.md", "b.md"):
        path.with_name(name).write_text("x" * 15_000)
    capdisc("index", "skills")
    found = capdisc("call", "get_skill", '{"name": "long"}').json
    assert (list(found["references"]), found["references_left_out"]) == (["a.md"], ["b.md"])
