"""The tools that look up names and words across all kinds."""


def test_an_entity_is_found_by_name_column_and_prefix(ask) -> None:
    """An entity is found by exact name, by prefix and by parameter (S24)."""
    found = ask("find_entity", name="albums")
    assert [(each["match"], each["id"]) for each in found["matches"]] == [
        ("exact", "table:music.albums"), ("exact", "table:workshop.albums"),
    ]  # fmt: skip
    assert [each["match"] for each in ask("find_entity", name="base_")["matches"]] == [
        "prefix",
        "prefix",
    ]
    assert ask("find_entity", name="top")["matches"][0]["match"] == "parameter"
    assert ask("find_entity", name="nothing like it")["matches"] == []


def test_search_all_says_how_sure_it_is_and_where_from(ask) -> None:
    """The answer has query, results, sources and a confidence that differs (S24, S233)."""
    good, bad = (
        ask("search_all", query="erase a whole disk"),
        ask("search_all", query="qqxzv wkrtl"),
    )
    assert good["results"][0]["id"] == "tool:wipe_disk"
    assert good["sources"][0].endswith("capabilities.jsonl")
    assert good["confidence"] > bad["confidence"] == 0
    assert bad["unmatched"] == ["qqxzv", "wkrtl"]


def test_a_term_is_looked_up_and_never_guessed(ask) -> None:
    """A term is looked up exactly, and near names are only proposed (S24)."""
    assert (
        ask("lookup_glossary_term", term="Churn")["definition"] == "Share of customers who left."
    )
    missing = ask("lookup_glossary_term", term="churns")
    assert (missing["found"], missing["definition"], missing["near"]) == (False, "", ["churn"])


def test_everything_that_mentions_a_name_is_listed_with_the_passage(ask) -> None:
    """Every passage that holds a name as a whole word is listed (S38)."""
    found = ask("explore_entity", name="ZANZIBAR")
    assert [each["id"] for each in found["mentions"]] == ["section:handbook.s3"]
    assert "zanzibar" in found["mentions"][0]["excerpt"]
    assert ask("explore_entity", name="zanzi")["mentions"] == []
