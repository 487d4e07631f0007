"""The tools for databases, tables, columns, samples and rows."""

import pytest

from capdisc_indexer.model.errors import InputError, UsageError


def test_databases_have_name_type_and_description(ask) -> None:
    """Databases are listed, also hand-written and implied ones (S17, S18, S26)."""
    assert ask("list_databases")["databases"] == [
        {"name": "music", "type": "sqlite", "description": "Artists and their albums."},
        {"name": "workshop", "type": "", "description": ""},
    ]


def test_the_tables_of_a_database_have_row_counts(ask) -> None:
    """Tables of one database, or of all, are listed with row counts (S19)."""
    found = ask("list_tables", database="Music")
    assert found["database"] == "music"
    assert [(each["name"], each["row_count"]) for each in found["tables"]] == [
        ("albums", 40),
        ("artists", 3),
    ]
    assert [each["database"] for each in ask("list_tables")["tables"]] == [
        "music",
        "music",
        "workshop",
        "workshop",
    ]


def test_an_unknown_database_is_told_with_those_that_there_are(ask) -> None:
    with pytest.raises(UsageError) as caught:
        ask("list_tables", database="musik")
    assert "music, workshop" in caught.value.hint


def test_a_schema_has_columns_counts_and_a_few_values(ask) -> None:
    """A schema has typed columns, keys, the row count and sample values (S20, S25, S26)."""
    found = ask("get_table_schema", database="music", table="albums")
    assert found["columns"][0] == {
        "name": "AlbumId",
        "type": "INTEGER",
        "nullable": False,
        "primary_key": True,
    }
    assert found["columns"][2]["foreign_key"] == "artists.ArtistId"
    assert found["row_count"] == 40
    assert found["sample_values"]["Title"] == ["Blue", "Red"]


@pytest.mark.parametrize("name", ["table:music.albums", "music.albums", "MUSIC.ALBUMS"])
def test_a_table_is_known_by_its_id_too(ask, name) -> None:
    """A table is named by its id or with its database, in any case (S225)."""
    assert ask("get_table_schema", table=name)["database"] == "music"


def test_a_table_that_two_databases_have_is_asked_back(ask) -> None:
    """A table name that two databases share needs the database, and the hint lists both (S225)."""
    with pytest.raises(UsageError) as caught:
        ask("get_table_schema", table="albums")
    assert "table:music.albums" in caught.value.hint
    assert "table:workshop.albums" in caught.value.hint
    assert ask("get_table_schema", table="albums", database="workshop")["database"] == "workshop"


def test_an_unknown_table_points_to_the_nearest(ask) -> None:
    with pytest.raises(UsageError) as caught:
        ask("get_table_schema", table="artist")
    assert "artists" in caught.value.hint


def test_search_tables_is_the_search_for_tables(ask, desk) -> None:
    """search_tables finds what discover_capabilities finds for the kind table (S21)."""
    found = ask("search_tables", query="albums of artists")
    same = ask("discover_capabilities", query="albums of artists", kind="table")
    assert [each["id"] for each in found["tables"]] == [
        each["id"] for each in same["capabilities"]
    ]
    assert set(found["tables"][0]) == {"id", "database", "table", "relevance", "description"}


def test_a_search_among_allowed_ones_fills_its_limit(ask) -> None:
    """A search in one database, kind, category or tag fills its limit (S27)."""
    found = ask("search_tables", query="albums", database="workshop", limit=1)
    assert [each["id"] for each in found["tables"]] == ["table:workshop.albums"]


def test_relationships_lead_both_ways(ask) -> None:
    """A foreign key is listed from both of its tables, and without a table among all (S22)."""
    key = {
        "database": "music",
        "from_table": "albums",
        "from_column": "ArtistId",
        "to_table": "artists",
        "to_column": "ArtistId",
    }
    assert ask("get_table_relationships", table="artists")["relationships"] == [key]
    assert ask("get_table_relationships", table="albums", database="music")["relationships"] == [
        key
    ]
    assert ask("get_table_relationships")["relationships"] == [key]


def test_sample_values_say_whether_they_are_all(ask) -> None:
    """Sample values count the distinct ones and say whether these are all (S23)."""
    whole = ask("get_sample_values", table="artists", column="name")
    assert whole == {
        "database": "music",
        "table": "artists",
        "column": "Name",
        "values": ["Nina", "Otis", "Ella"],
        "total_distinct": 3,
        "is_complete": True,
    }
    part = ask("get_sample_values", table="artists", column="Name", limit=2)
    assert (part["values"], part["is_complete"]) == (["Nina", "Otis"], False)
    assert ask("get_sample_values", table="music.albums", column="Title")["total_distinct"] == 40


def test_without_samples_that_is_said(ask) -> None:
    """A column without stored samples says so, and an unknown column is a usage error (S23)."""
    with pytest.raises(InputError) as caught:
        ask("get_sample_values", table="parts", column="Bolt")
    assert caught.value.message.startswith("no samples stored")
    with pytest.raises(UsageError):
        ask("get_sample_values", table="parts", column="Bolts")


def test_rows_are_chosen_by_criteria(ask) -> None:
    """Rows are chosen by criteria, and the answer says whether it is complete (S224)."""
    found = ask("get_table_rows", table="artists", criteria={"name": "otis"})
    assert (found["rows"], found["matched"], found["is_complete"]) == (
        [{"ArtistId": 2, "Name": "Otis"}],
        1,
        True,
    )
    part = ask("get_table_rows", table="music.albums", criteria={"AlbumId": 2})
    assert (part["rows"][0]["Title"], part["is_complete"]) == ("Red", False)
    assert ask("get_table_rows", table="artists", criteria={"Name": "nobody"})["rows"] == []
    with pytest.raises(UsageError):
        ask("get_table_rows", table="artists", criteria={"Nmae": "x"})


def test_values_are_searched_in_one_table_or_in_all(ask) -> None:
    """Values are searched in one table or in all, and the answer says if that is all (S224)."""
    found = ask("search_table_values", term="NINA")
    assert found["matches"][0]["row"] == {"ArtistId": 1, "Name": "Nina"}
    assert found["is_complete"] is False
    assert ask("search_table_values", term="nina", table="artists")["is_complete"] is True


def test_the_catalogue_of_tables(ask) -> None:
    """The catalogue, one table's columns and its rows can be listed (S223)."""
    found = ask("get_table_catalog")
    assert found["total"] == 4
    assert found["tables"][0]["id"] == "table:music.albums"
    info = ask("get_table_info", table="artists")
    assert info["column_names"] == ["ArtistId", "Name"]
    whole = ask("get_table_by_id", table="artists", limit=2)
    assert (len(whole["rows"]), whole["is_complete"], whole["row_count"]) == (2, False, 3)


def test_tables_by_category_and_keyword(ask) -> None:
    """Tables are found by category, by keyword and by the shortcuts of the designs (S223)."""
    wanted = ["table:workshop.parts"]
    assert [
        each["id"] for each in ask("get_tables_by_category", category="compatibility")["tables"]
    ] == wanted
    assert [each["id"] for each in ask("get_compatibility_tables")["tables"]] == wanted
    assert ask("get_tables_by_keyword", keyword="bolts")["tables"][0]["id"] == wanted[0]
    assert ask("get_measurement_tables")["tables"] == []


def test_overviews_of_tables(ask) -> None:
    """Overviews count tables and rows, and list the references of a table (S228)."""
    assert ask("get_table_overview")["databases"][0] == {
        "database": "music",
        "tables": 2,
        "rows": 43,
    }
    assert ask("get_table_overview", table="music.albums")["refers_to"][0]["to_table"] == "artists"
