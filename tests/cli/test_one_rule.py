"""Two commands that speak of the same thing say the same: ids that are taken, what is required."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize("second", ["PDF", "pdf"])
def test_validate_and_index_agree_on_ids_that_are_taken(capdisc, hermetic, second) -> None:
    for folder, name, what in (("a", "pdf", "Fills forms."), ("b", second, "Splits pages.")):
        path = hermetic / "skills" / folder / name / "SKILL.md"
        path.parent.mkdir(parents=True)
        path.write_text(f"---\nname: {name}\ndescription: {what}\n---\n\nDo it.\n")
    checked = capdisc("validate", "skills", "--format", "json").json
    indexed = capdisc("index", "skills", "--json").json

    def taken(findings):
        return {
            (finding["path"][-len("b/pdf/SKILL.md") :], finding["severity"])
            for finding in findings
            if finding["code"] == "duplicate-id"
        }

    assert len(taken(checked["findings"])) == 1
    assert taken(indexed["findings"]) == taken(checked["findings"])
    listed = capdisc("list", "--json").json["capabilities"]
    ids = sorted(row["id"] for row in listed)
    assert len({identifier.casefold() for identifier in ids}) == len(ids) == 2


@pytest.mark.parametrize("field", ["dependencies: docker-build", "allowed-tools: docker-build"])
def test_search_brings_along_what_the_graph_says_is_required(capdisc, hermetic, field) -> None:
    skill = hermetic / "skills" / "ship" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text(
        f"---\nname: ship\ndescription: Puts a release into production.\n{field}\n---\n\nGo.\n"
    )
    tool = hermetic / "skills" / "docker-build" / "CAPABILITY.yaml"
    tool.parent.mkdir(parents=True)
    tool.write_text("name: docker-build\nkind: tool\ndescription: Makes an image of a folder.\n")
    capdisc("index", "skills")
    edges = capdisc("graph", "--json").json
    required = {
        (edge["source"], edge["target"]) for edge in edges["edges"] if edge["kind"] == "REQUIRES"
    }
    assert required == {("skill:ship", "tool:docker-build")}
    hits = capdisc("search", "release into production", "--json").json["hits"]
    assert {(hit["via"], hit["id"]) for hit in hits if hit.get("via")} == required
