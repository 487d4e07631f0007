"""capdisc list: the options that narrow it."""

from __future__ import annotations

from capdisc.context.surroundings import Runtime


def test_categories_are_counted(capdisc, data) -> None:
    """Categories are listed with counts that agree with the list of each category (S113)."""
    found = capdisc("list", "--categories", "--json").json["categories"]
    assert found[0] == {"category": "office", "count": 6}
    counted = {each["category"]: each["count"] for each in found}
    assert counted["base"] == len(
        capdisc("list", "--category", "base", "--json").json["capabilities"]
    )
    assert "office" in capdisc("list", "--categories").out


def test_risk_and_confirmation_narrow_the_list(capdisc, data) -> None:
    """--risk and --confirm narrow the list, and an unknown risk is a usage error (S282)."""
    assert capdisc("list", "--risk", "critical", "--ids").out == "tool:wipe_disk\n"
    assert capdisc("list", "--confirm", "--ids").out == "tool:wipe_disk\n"
    high, every = (
        set(capdisc("list", *argv, "--ids").out.split()) for argv in (("--risk", "high"), ())
    )
    assert "tool:wipe_disk" not in high
    assert high and high < every
    assert capdisc("list", "--risk", "dire").code == 2


def test_what_authors_hide_is_left_out_where_agents_are_meant(
    capdisc, hermetic, write_skill, monkeypatch
) -> None:
    """--invocable and list_skills leave out skills that their authors hide from models (S55)."""
    monkeypatch.setenv("CAPDISC_INDEX_DIR", str(hermetic / "index"))
    write_skill(hermetic / "skills", "shown")
    write_skill(
        hermetic / "skills", "kept", "Kept. Use when asked.\ndisable-model-invocation: true"
    )
    capdisc("index", "skills")
    assert capdisc("list", "--ids").out.split() == ["skill:kept", "skill:shown"]
    assert capdisc("list", "--ids", "--invocable").out == "skill:shown\n"
    assert [each["name"] for each in capdisc("call", "list_skills").json["skills"]] == ["shown"]


def test_filters_of_a_search_narrow_the_list(capdisc, small) -> None:
    everything = capdisc("list", "--ids").out.split()
    left_out = "skill:merge-pdfs"
    listed = capdisc("list", "--ids", "--exclude", left_out).out.split()
    assert set(everything) - set(listed) == {left_out}
    calm = capdisc("list", "--ids", "--max-risk", "low").out.split()
    assert calm
    assert set(calm) < set(everything)
    assert capdisc("list", "--max-risk", "odd").err.startswith("error: unknown risk 'odd'")


def test_each_capability_stays_on_its_line_in_a_narrow_terminal(
    capdisc, small, monkeypatch
) -> None:
    monkeypatch.setattr(Runtime, "columns", 80)
    lines = capdisc("list").out.splitlines()
    assert max(map(len, lines)) <= 80 and any(line.endswith("…") for line in lines)
