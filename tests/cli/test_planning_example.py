"""The planning example with the tools that its prompt names: VIP spending by quarter."""

import json
import sqlite3
from contextlib import closing

import jsonschema
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
    with closing(sqlite3.connect(hermetic / "data" / "shop.sqlite")) as database, database:
        database.executescript(ROWS)
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


def make_plan(**changes) -> dict:
    """The plan of the example, with other steps or another context."""
    context = {
        "facts": [{"term": "VIP", "definition": "tier is gold", "source": "user"}],
        "tables": ["shop.orders", "shop.customers"],
        "apis": [],
    }
    steps = [
        {"number": 1, "goal": "Identify VIPs", "databases": ["shop"], "tables": ["customers"]},
        {
            "number": 2,
            "goal": "Aggregate VIP spending by quarter",
            "inputs": ["step_1_vip_ids"],
            "tables": ["orders"],
            "columns": ["orders.total", "ordered_on"],
        },
    ]
    plan = {"reasoning": "VIPs first", "discovered_context": context, "plan": {"steps": steps}}
    steps[1].update(changes)
    return plan


def test_a_plan_is_checked_against_the_schema(capdisc, shop, hermetic) -> None:
    """`plan check FILE` looks up each table, column and database that a plan names (S74, S76)."""
    (hermetic / "plan.json").write_text(json.dumps(make_plan()))
    done = capdisc("plan", "check", "plan.json")
    assert (done.code, done.err) == (0, "")
    assert (
        done.out == "the plan names nothing that is not here (4 tables, 1 database, 2 columns)\n"
    )
    fenced = f"Here is my plan:\n```json\n{json.dumps(make_plan())}\n```\n"
    assert capdisc("plan", "check", "-", "--json", stdin=fenced).json["ok"] is True


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"tables": ["vip_orders"]}, "plan.steps[1].tables[0]: there is no table 'vip_orders'"),
        ({"databases": ["shopp"]}, "plan.steps[1].databases[0]: there is no database 'shopp'"),
        ({"columns": ["orders.vip"]}, "there is no column 'vip' in orders"),
        ({"apis": ["petstore"]}, "plan.steps[1].apis[0]: there is no API 'petstore'"),
        ({"documents": ["handbook"]}, "plan.steps[1].documents[0]: there is no document"),
        ({"inputs": ["step_3_results"]}, "comes from step 3, which is not an earlier step"),
        ({"number": 7}, "plan.steps[1].number: is 7, and this is step 2"),
        ({"goal": ""}, "plan.steps[1].goal: "),
    ],
)
def test_a_plan_names_only_what_was_discovered(capdisc, shop, changes, problem) -> None:
    """What a plan invents is named with its place, and the exit status is 1 (S74, S76)."""
    done = capdisc("plan", "check", "-", stdin=json.dumps(make_plan(**changes)))
    assert done.code == 1
    assert problem in done.out


def test_a_table_that_exists_and_was_not_discovered_may_not_be_read(capdisc, shop) -> None:
    """Only what discovery verified may be in a plan (S76)."""
    plan = make_plan()
    plan["discovered_context"]["tables"] = ["shop.customers"]
    found = capdisc("plan", "check", "-", "--json", stdin=json.dumps(plan))
    assert found.code == 1
    assert found.json["problems"] == [
        {
            "where": "plan.steps[1].tables",
            "problem": "shop.orders is not in discovered_context.tables",
            "hint": "discover a table before a step reads it",
        }
    ]


def test_what_is_no_plan_is_refused(capdisc, shop) -> None:
    for text in ("", "tables", "[1]"):
        done = capdisc("plan", "check", "-", stdin=text)
        assert (done.code, done.out) == (3, "")
        assert "capdisc plan schema" in done.err
    assert capdisc("plan", "check").code == 2
    assert capdisc("plan", "chek", "x").code == 2


def test_the_form_of_a_plan_is_a_schema(capdisc) -> None:
    """The form of a plan is printed as a JSON Schema, which accepts the example (S74)."""
    schema = capdisc("plan", "schema").json
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(make_plan(), schema)


def test_a_table_of_ones_own_making_is_refused(capdisc, shop) -> None:
    """A table that the index lacks is refused by name, with status 2."""
    made = capdisc("call", "get_table_schema", '{"database": "shop", "table": "vip_orders"}')
    assert made.code == 2
    assert "vip_orders" in made.err
