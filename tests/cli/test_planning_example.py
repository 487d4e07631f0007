"""The planning example with the tools that its prompt names: VIP spending by quarter."""

import json
import sqlite3

import pytest

ROWS = """
create table customers (id integer primary key, name text not null, tier text);
create table orders (id integer primary key, customer_id integer references customers (id), total real, ordered_on text
);
insert into customers values (1, 'Ada', 'gold'), (2, 'Bob', 'plain');
insert into orders values (1, 1, 90.5, '2026-01-12'), (2, 1, 12, '2026-05-02'), (3, 2, 7, '2026-05-03');
"""


@pytest.fixture
def shop(capdisc, hermetic, monkeypatch):
    (hermetic / "data").mkdir()
    with sqlite3.connect(hermetic / "data" / "shop.sqlite") as database:
        database.executescript(ROWS)
    database.close()
    monkeypatch.setenv("CAPDISC_INDEX_DIR", str(hermetic / "index"))
    assert capdisc("index", "data").code == 0

    def call(tool: str, **arguments):
        made = capdisc("call", tool, json.dumps(arguments))
        assert made.code == 0, made.err
        return json.loads(made.out)

    return call


def test_vip_example(capdisc, shop) -> None:
    """The planning example runs: prompt, fact, tables and columns (S72, S75)."""
    prompt = capdisc("render", "VIP spending by quarter", "--template", "planner").out
    assert "resolve_fact" in prompt
    assert "orders" in prompt
    shop("add_fact", name="VIP", value="a customer whose tier is gold")
    assert "gold" in json.dumps(shop("resolve_fact", question="who is a VIP?"))
    assert "orders" in json.dumps(shop("search_tables", query="what customers spend in orders"))
    columns = [
        json.dumps(shop("get_table_schema", database="shop", table=table))
        for table in ("customers", "orders")
    ]
    assert "tier" in columns[0]
    assert "ordered_on" in columns[1]


def test_a_table_of_ones_own_making_is_refused(capdisc, shop) -> None:
    """A table that the index lacks is refused by name, with status 2 (S76)."""
    made = capdisc("call", "get_table_schema", '{"database": "shop", "table": "vip_orders"}')
    assert made.code == 2
    assert "vip_orders" in made.err
