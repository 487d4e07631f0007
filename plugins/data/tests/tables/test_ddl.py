"""CREATE TABLE and what belongs to it, in the dialects of common dumps."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capdisc_data import ddl
from capdisc_data.tables import Column, Table
from found_files import found

POSTGRES = r"""--
-- PostgreSQL database dump
--
SET statement_timeout = 0;
CREATE FUNCTION public.f() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN; CREATE TABLE not_this (a int); RETURN NEW; END; $body$;
--
-- Name: users; Type: TABLE; Schema: public; Owner: me
--
CREATE TABLE public.users (
    id integer NOT NULL,
    email character varying(255) DEFAULT 'a;b''c\'::character varying NOT NULL,
    seen timestamp with time zone,
    tags text[] DEFAULT '{}'::text[],
    org_id bigint
);
COMMENT ON TABLE public.users IS 'People who signed up; it''s us';
COMMENT ON COLUMN public.users.email IS 'Where they get mail';
CREATE TABLE public.orgs (id bigint NOT NULL, name text);
COPY public.users (id, email) FROM stdin;
1	CREATE TABLE nor_this (a int);
\.

ALTER TABLE ONLY public.users ADD CONSTRAINT users_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.orgs ADD CONSTRAINT orgs_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.users
    ADD CONSTRAINT fk FOREIGN KEY (org_id) REFERENCES public.orgs(id) ON DELETE CASCADE;
CREATE VIEW public.active AS SELECT u.id, lower(u.email) AS mail, count(*) FROM users u;
CREATE TABLE audit.log (at date);
"""
MYSQL = r"""-- MySQL dump 10.13
/*!40101 SET NAMES utf8 */;
DROP TABLE IF EXISTS `order items`;
CREATE TABLE `order items` (
  `id` int unsigned NOT NULL AUTO_INCREMENT COMMENT 'it\'s; the number',
  `key` varchar(10) CHARACTER SET utf8 DEFAULT 'x',
  `at` timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
  `kind` enum('a','b,)') COLLATE utf8_bin DEFAULT NULL,
  product int,
  PRIMARY KEY (`id`,`key`(5)),
  KEY `idx` (`at`),
  CONSTRAINT `fk` FOREIGN KEY (`product`) REFERENCES `products` (`id`)
) ENGINE=InnoDB AUTO_INCREMENT=3 DEFAULT CHARSET=utf8 COMMENT='What was ordered';
INSERT INTO `order items` VALUES (1,'a\'; CREATE TABLE nope (y int);'),(2,'b');
create table products (id int primary key, -- the number
   # how it is called
   name text);
"""
SQLITE = """-- Songs that people can buy
CREATE TABLE IF NOT EXISTS [Track] (
  TrackId INTEGER PRIMARY KEY AUTOINCREMENT, -- as printed
  Name TEXT NOT NULL, /* how it is called */
  -- who made it
  Artist INTEGER REFERENCES Artist ON DELETE SET NULL,
  price REAL DEFAULT (1 + 2) CHECK (price > 0),
  key TEXT,
  whole TEXT GENERATED ALWAYS AS (Name || 'x') STORED
) STRICT;
CREATE TABLE Artist(ArtistId INTEGER PRIMARY KEY, Name);
"""


def tables(sql: str) -> dict[str, Table]:
    return {table.name: table for table in ddl.read_ddl(sql).tables}


def columns(table: Table) -> dict[str, Column]:
    return {column.name: column for column in table.columns}


def test_a_dump_of_postgres_gives_its_tables_and_nothing_else() -> None:
    """A PostgreSQL dump gives tables and views with types, keys and comments (S26)."""
    found_tables = tables(POSTGRES)
    assert list(found_tables) == ["users", "orgs", "active", "audit.log"]
    assert found_tables["users"].comment == "People who signed up; it's us"
    users = columns(found_tables["users"])
    assert [column.type for column in users.values()] == [
        "integer",
        "character varying(255)",
        "timestamp with time zone",
        "text[]",
        "bigint",
    ]
    assert (users["id"].key, users["org_id"].refers_to) == (1, "orgs.id")
    assert users["email"] == Column(
        name="email",
        type="character varying(255)",
        nullable=False,
        default=r"'a;b''c\'::character varying",
        comment="Where they get mail",
    )
    assert (found_tables["active"].is_view, list(columns(found_tables["active"]))) == (
        True,
        ["id", "mail"],
    )


def test_a_dump_of_mysql_gives_its_tables_keys_and_comments() -> None:
    """A MySQL dump gives its tables with types, composite keys, references and comments (S26)."""
    found_tables = tables(MYSQL)
    assert list(found_tables) == ["order items", "products"]
    items = found_tables["order items"]
    assert items.comment == "What was ordered"
    assert {name: (c.type, c.key, c.refers_to) for name, c in columns(items).items()} == {
        "id": ("int unsigned", 1, ""),
        "key": ("varchar(10)", 2, ""),
        "at": ("timestamp", 0, ""),
        "kind": ("enum('a','b,)')", 0, ""),
        "product": ("int", 0, "products.id"),
    }
    assert columns(items)["id"].comment == "it's; the number"
    assert [c.comment for c in found_tables["products"].columns] == [
        "the number",
        "how it is called",
    ]


def test_comments_of_sqlite_go_to_what_they_stand_beside() -> None:
    """SQLite comments go to the table or column that they stand beside (S26)."""
    track = tables(SQLITE)["Track"]
    assert track.comment == "Songs that people can buy"
    assert {c.name: c.comment for c in track.columns if c.comment} == {
        "TrackId": "as printed",
        "Name": "how it is called",
        "Artist": "who made it",
    }
    assert columns(track)["Artist"].refers_to == "Artist.ArtistId"
    assert (columns(track)["key"].type, columns(track)["price"].default) == ("TEXT", "(1 + 2)")


@pytest.mark.parametrize(
    ("sql", "kind"), [(POSTGRES, "postgresql"), (MYSQL, "mysql"), (SQLITE, "sqlite"), ("", "sql")]
)
def test_the_dialect_is_told(sql: str, kind: str) -> None:
    """The dialect of a dump is recognised, and an empty one is plain sql (S18)."""
    assert ddl.read_ddl(sql).kind == kind


def test_what_declares_no_columns_is_said() -> None:
    notes = ddl.read_ddl("CREATE TABLE a (x int);\n\nCREATE TABLE copy AS SELECT * FROM a;").notes
    assert [(note.code, note.line) for note in notes] == [("table-skipped", 3)]


def test_a_type_in_angle_brackets_is_one_type() -> None:
    sql = "CREATE TABLE t (a MAP<STRING, INT>, b STRUCT<x INT, y ARRAY<STRING>> NOT NULL, c int)"
    assert [(c.name, c.type, c.nullable) for c in tables(sql)["t"].columns] == [
        ("a", "MAP<STRING, INT>", True),
        ("b", "STRUCT<x INT, y ARRAY<STRING>>", False),
        ("c", "int", True),
    ]


def test_a_view_is_found_behind_the_options_that_mysql_writes() -> None:
    sql = "CREATE ALGORITHM=UNDEFINED DEFINER=`root`@`localhost` SQL SECURITY DEFINER VIEW `v` AS "
    view = tables(sql + "select `a`.`id` AS `key` from `a`")["v"]
    assert (view.is_view, list(columns(view))) == (True, ["key"])


def test_keys_of_several_columns_are_paired() -> None:
    sql = "CREATE TABLE a (x int, y int, PRIMARY KEY (x, y));"
    sql += "CREATE TABLE b (p int, q int, FOREIGN KEY (p, q) REFERENCES a);"
    assert [column.refers_to for column in tables(sql)["b"].columns] == ["a.x", "a.y"]


def test_a_file_becomes_a_database(tmp_path: Path) -> None:
    path = tmp_path / "shop.sql"
    path.write_text(SQLITE)
    loaded = ddl.load(found(path, "ddl"), path.read_bytes())
    assert [table.id for table in loaded.descriptors] == [
        "database:shop",
        "table:shop.Track",
        "table:shop.Artist",
    ]
    assert loaded.descriptors[1].description.startswith(
        "Songs that people can buy. Columns: track id, name,"
    )
    assert loaded.descriptors[1].extra["row_count"] is None


@pytest.mark.parametrize(
    "text",
    [
        "'",
        "/*",
        "$a$",
        "CREATE TABLE (",
        "CREATE TABLE t (a int,",
        "CREATE TABLE t (a default ",
        "COMMENT ON ",
        "COPY a FROM stdin;\n",
    ],
)
def test_endless_repetition_is_read_to_its_end(text: str) -> None:
    """Reading that tried each place anew would take hours for this."""
    names = [table.name for table in ddl.read_ddl(text * 20_000).tables]
    assert names == (["t"] if text.startswith("CREATE TABLE t") else [])


@given(
    st.lists(
        st.sampled_from([*SQLITE.split(), *MYSQL.split(), "(", ")", ";", "'", '"', "--", "\n"]),
        max_size=60,
    )
)
@settings(max_examples=150, deadline=None)
def test_whatever_words_come_nothing_is_raised(words: list[str]) -> None:
    for table in ddl.read_ddl(" ".join(words)).tables:
        assert table.name
