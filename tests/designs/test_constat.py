"""A walk through the first design, tool-based discovery over databases, APIs, documents and skills."""

from __future__ import annotations

import pytest


@pytest.fixture
def workspace(open_design):
    return open_design("constat")


@pytest.mark.parametrize(
    ("model", "use_tools"),
    [
        ("claude-sonnet-4-20250514", True),
        ("gpt-4", True),
        ("gemini-pro", True),
        ("claude-2", False),
        ("claude-instant-1", False),
        ("gpt-3.5-turbo-instruct", False),
        ("text-davinci-003", False),
    ],
)
def test_the_model_chooses_between_a_minimal_and_a_full_prompt(
    capdisc, workspace, model, use_tools
) -> None:
    """A tool-capable model gets a minimal prompt, a legacy model the full metadata (S1, S2, S3)."""
    prompt = capdisc("render", "--model", model, "--json").json
    assert prompt["use_tools"] is use_tools
    text = capdisc("render", "--model", model).out
    assert ("capdisc call TOOL JSON" in text) is use_tools
    assert ("VARCHAR(200)" in text) is not use_tools
    if use_tools:
        assert prompt["savings_percent"] > 50


@pytest.mark.parametrize(
    "query", ["customer purchases", "revenue by customer", "tracks and albums"]
)
def test_the_relevance_of_tables_and_operations_is_their_order(workspace, ask, query) -> None:
    """Of two tables the first one is never less relevant, and the best ones differ from the last
    (S21, S32).
    """
    shown = [row["relevance"] for row in ask("search_tables", query=query)["tables"]]
    assert shown == sorted(shown, reverse=True)
    assert shown[0] > 2 * shown[-1]
    found = ask("search_operations", query="list pets by country status")["operations"]
    graded = [row["relevance"] for row in found]
    assert len(graded) > 2
    assert graded == sorted(set(graded), reverse=True)


def test_an_overlay_gives_a_table_the_words_of_its_users(capdisc, workspace, ask) -> None:
    """Purchases of customers are invoices, whose columns and rows stay (S19, S21)."""
    with (workspace / "capdisc.toml").open("a") as settings:
        settings.write(
            '[[overlay]]\nid = "table:chinook.invoices"\nphrases = ["customer purchases"]\n'
        )
    (first, second, *_) = ask("search_tables", query="customer purchases")["tables"]
    assert (first["table"], first["relevance"]) == ("invoices", 1.0)
    assert second["relevance"] < 0.9
    schema = ask("get_table_schema", database="chinook", table="invoices")
    assert (len(schema["columns"]), schema["row_count"]) == (4, 2)
    assert f"Overlay: {workspace}/capdisc.toml adds phrases" in (
        capdisc("show", "table:chinook.invoices").out
    )


def test_databases_tables_and_their_schemas_are_looked_up(workspace, ask) -> None:
    """SQL and files appear alike in list_databases, list_tables, get_table_schema and
    search_tables; the configuration may describe a source (S17, S18, S19, S20, S21, S25)."""
    databases = ask("list_databases")["databases"]
    assert databases[2]["description"].startswith("Web traffic of the shop by day and page. ")
    assert [(row["name"], row["type"]) for row in databases] == [
        ("chinook", "sqlite"),
        ("events", "json"),
        ("web_metrics", "csv"),
    ]
    tables = ask("list_tables", database="chinook")["tables"]
    assert {row["name"]: row["row_count"] for row in tables} == {
        "albums": 2,
        "artists": 3,
        "customers": 2,
        "invoice_lines": 3,
        "invoices": 2,
        "tracks": 3,
    }
    described = {row["name"]: row["description"] for row in tables}
    assert described["artists"].startswith("Music artists and bands.")
    schema = ask("get_table_schema", database="chinook", table="tracks")
    columns = {column["name"]: column for column in schema["columns"]}
    assert (columns["TrackId"]["primary_key"], columns["TrackId"]["nullable"]) == (True, False)
    assert columns["Name"]["type"] == "VARCHAR(200)"
    assert columns["Name"]["nullable"] is False
    assert columns["AlbumId"]["foreign_key"] == "albums.AlbumId"
    assert schema["row_count"] == 3
    assert schema["sample_values"]["Name"] == ["Ferry Song", "Foghorn", "Lamp Post"]
    found = ask("search_tables", query="customer purchases", limit=5)["tables"]
    assert (found[0]["database"], found[0]["table"]) == ("chinook", "invoices")
    assert found[0]["relevance"] > 0.8
    assert "customers" in [row["table"] for row in found]
    metrics = ask("get_table_schema", database="web_metrics", table="web_metrics")
    assert [column["name"] for column in metrics["columns"]] == [
        "day", "page", "visits", "bounce_rate",
    ]  # fmt: skip
    relations = ask("get_table_relationships", database="chinook", table="invoices")
    assert {(row["from_table"], row["to_table"]) for row in relations["relationships"]} == {
        ("invoices", "customers"),
        ("invoice_lines", "invoices"),
    }
    values = ask("get_sample_values", database="chinook", table="customers", column="Country")
    assert (values["values"], values["is_complete"]) == (["Norway", "India"], True)


def test_apis_and_their_operations_are_looked_up(workspace, ask) -> None:
    """GraphQL and OpenAPI alike, in list_apis, list_operations, get_operation_details and
    search_operations (S28, S29, S30, S31, S32)."""
    apis = {row["name"]: row for row in ask("list_apis")["apis"]}
    assert apis["countries"]["type"] == "graphql"
    assert apis["countries"]["description"] == "Country and continent data"
    assert apis["countries"]["url"] == "https://countries.example.org/graphql"
    assert apis["petstore"]["type"] == "openapi"
    assert apis["petstore"]["description"] == "Pet store inventory management"
    operations = ask("list_operations", api="countries")
    assert operations["operations"] == [
        {
            "name": "countries",
            "type": "query",
            "description": "Get all countries with optional filters",
        },
        {"name": "country", "type": "query", "description": "Get a single country by code"},
    ]
    assert ask("list_api_operations", api="countries") == operations
    details = ask("get_operation_details", api="petstore", operation="getPetById")
    assert (details["type"], details["method"], details["path"]) == (
        "query",
        "GET",
        "/pet/{petId}",
    )
    assert details["parameters"][0]["name"] == "petId"
    assert details["response_schema"]["properties"]["status"]["enum"] == [
        "available", "pending", "sold",
    ]  # fmt: skip
    found = ask("search_operations", query="find pets by availability status")["operations"]
    assert (found[0]["api"], found[0]["operation"]) == ("petstore", "findPetsByStatus")


def test_documents_are_listed_read_and_searched(workspace, ask) -> None:
    """list_documents, get_document, search_documents and get_document_section (S34 to S37)."""
    documents = {row["name"]: row for row in ask("list_documents")["documents"]}
    rules = documents["business_rules"]
    assert (rules["type"], rules["format"], rules["tags"]) == (
        "file",
        "markdown",
        ["finance", "rules"],
    )
    assert rules["description"].startswith("Revenue calculation rules and thresholds. Sections: ")
    document = ask("get_document", name="business_rules")
    assert "## Revenue Rules" in document["content"]
    assert document["last_updated"].endswith("Z")
    found = ask("search_documents", query="who is a VIP customer", limit=5)["results"]
    assert (found[0]["document"], found[0]["section"]) == (
        "business_rules",
        "Customer Classifications",
    )
    assert found[0]["excerpt"].startswith("VIP Customer: A customer with lifetime value")
    section = ask(
        "get_document_section", name="business_rules", section="Customer Classifications"
    )
    assert "twelve months" in section["content"]
    assert "refund" not in section["content"]


def test_a_fact_is_resolved_or_asked_back(workspace, ask) -> None:
    """resolve_fact answers with confidence and sources; what nothing answers is clarified, and a
    stored fact answers the next time (S45, S46, S48, S50)."""
    fact = ask("resolve_fact", question="What defines a VIP customer?")
    assert fact["answer"] == "VIP Customer: A customer with lifetime value exceeding $100,000."
    assert (fact["confidence"] >= 0.9, fact["needs_clarification"]) == (True, False)
    assert fact["sources"][0]["name"] == "section:business_rules.customer-classifications"
    unknown = ask("resolve_fact", question="What is my age?")
    assert unknown["needs_clarification"] is True
    assert ask("get_unresolved_facts")["total"] == 1
    ask("add_fact", name="my age", value="50")
    assert ask("list_known_facts")["total"] == 1
    assert "50" in ask("resolve_fact", question="What is my age?")["answer"]
    facts = ask("extract_facts_from_text", text="The VIP threshold is 100000 dollars.")["facts"]
    assert facts[0]["name"] == "VIP threshold"


def test_skills_come_with_what_they_link_to(capdisc, workspace, ask) -> None:
    """list_skills, get_skill, search_skills, list_skill_links and resolve_skill_link; a link into
    the network is fetched only where one says so (S52 to S61)."""
    skills = {row["name"]: row for row in ask("list_skills")["skills"]}
    assert skills["financial-analysis"]["path"].endswith(
        ".constat/skills/financial-analysis/SKILL.md"
    )
    assert skills["financial-analysis"]["allowed_tools"] == [
        "Read", "Grep", "list_tables", "get_table_schema",
    ]  # fmt: skip
    skill = ask("get_skill", name="financial-analysis")
    assert "## Liquidity Ratios" in skill["references"]["references/indicators.md"]
    found = ask("search_skills", query="analyse the finances of a company", limit=3)["skills"]
    assert found[0]["name"] == "financial-analysis"
    links = ask("list_skill_links", name="financial-analysis")["links"]
    assert [(link["target"], link["is_url"]) for link in links] == [
        ("references/indicators.md", False),
        ("https://api.example.org/metrics", True),
    ]
    target = "references/indicators.md"
    linked = ask("resolve_skill_link", name="financial-analysis", target=target)
    assert linked["content"].startswith("# Financial Indicators")
    remote = capdisc(
        "call",
        "resolve_skill_link",
        '{"name": "financial-analysis", "target": "https://api.example.org/metrics"}',
    )
    assert (remote.code, "not fetched" in remote.err) == (5, True)


PLAN = """{
  "reasoning": "Lifetime value first, then the VIP customers, then their quarters.",
  "discovered_context": {
    "facts": [{"term": "VIP customer", "definition": "above $100,000", "source": "business_rules"}],
    "tables": ["chinook.invoices", "chinook.customers"],
    "apis": []
  },
  "plan": {"steps": [
    {"number": 1, "goal": "Sum up invoices", "databases": ["chinook"], "tables": ["invoices"]},
    {"number": 2, "goal": "Identify VIPs", "inputs": ["step_1_results"], "tables": ["customers"]},
    {"number": 3, "goal": "Aggregate", "inputs": ["step_2_vip_ids"], "tables": ["invoices"]}
  ]}
}
"""


def test_a_plan_is_prompted_for_and_checked(capdisc, workspace, ask) -> None:
    """The planning prompt names tools that can be called, and a plan with a table of its own
    making fails the check (S72, S73, S74, S76)."""
    question = "Show me VIP customer spending trends by quarter"
    prompt = capdisc("render", question, "--template", "planner").out
    for word in ("DISCOVER", "CLARIFY", "PLAN", "OUTPUT", "resolve_fact", "search_tables"):
        assert word in prompt
    assert "table:chinook.invoices" in prompt
    assert capdisc("plan", "check", "-", stdin=PLAN).code == 0
    invented = capdisc(
        "plan", "check", "-", stdin=PLAN.replace("chinook.customers", "chinook.vips")
    )
    assert (invented.code, "there is no table 'vips' in chinook" in invented.out) == (1, True)


def test_the_log_has_the_ids_that_an_answer_comes_from(capdisc, workspace, monkeypatch) -> None:
    """Sources of a fact, and what is read by its name; the path of an operation is no source."""
    monkeypatch.setenv("CAPDISC_LOG", "1")
    capdisc("call", "resolve_fact", "What defines a VIP customer?")
    capdisc("call", "get_operation_details", "getPetById")
    capdisc("call", "get_skill", "financial-analysis")
    log = capdisc("log", "--json").json
    assert log["nothing_found"] == []
    found = [row["id"] for row in log["found"]]
    assert "section:business_rules.customer-classifications" in found
    assert [key for key in found if "pet" in key] == ["operation:petstore.getPetById"]
    assert log["used"] == [{"id": "skill:financial-analysis", "count": 1}]


def test_what_fits_the_seed_patterns_is_loaded_ahead(capdisc, workspace) -> None:
    """context_preload with seed_patterns, similarity_threshold and max_tables (S79, S80, S81)."""
    prefix = capdisc("render", "click events", "--split", "prefix").out
    assert "- table:chinook.customers: " in prefix
    assert "- table:events" not in prefix
    assert capdisc("render", "click events", "--json").json["preload"]["cached"] is True


def test_of_what_is_loaded_ahead_only_what_was_asked_for_is_printed(capdisc, workspace) -> None:
    """The bodies of matching skills alone, whatever is loaded ahead (S69, S79)."""
    folder = workspace / ".constat" / "skills" / "ratios"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(
        "---\nname: ratios\ndescription: Computes financial ratios of revenue.\n---\nDivide.\n"
    )
    prompt = capdisc("render", "financial ratios", "--kind", "skill", "--tier", "2").out
    assert "Divide." in prompt and "table:" not in prompt and "Loaded ahead" not in prompt
    lines = capdisc("render", "financial ratios", "--kind", "skill").out
    assert "Loaded ahead:\n- skill:ratios: " in lines and "table:" not in lines


def test_documents_are_refreshed_one_by_one(capdisc, workspace) -> None:
    """A refresh reads what changed and counts added, updated, removed and unchanged (S42)."""
    (workspace / "docs" / "glossary.md").write_text("# Glossary\n\nChurn: customers who left.\n")
    (workspace / "docs" / "data_dictionary.md").unlink()
    rules = workspace / "docs" / "business_rules.md"
    rules.write_text(rules.read_text().replace("fourteen days", "thirty days"))
    counts = capdisc("index", "--json").json["counts"]
    assert (counts["parsed"], counts["removed_files"]) == (2, 1)
    assert min(counts["added"], counts["updated"], counts["removed"], counts["unchanged"]) > 0


@pytest.mark.parametrize(
    ("query", "mode"),
    [
        ("prove that revenue fell", "auditable"),
        ("verify the total of an invoice", "auditable"),
        ("the derivation of revenue", "auditable"),
        ("is it true that revenue fell?", "auditable"),
        ("analyze the revenue of a quarter", "exploratory"),
        ("explore the customers", "exploratory"),
        ("show me the invoices of this month", "exploratory"),
        ("what is the revenue of a quarter?", "exploratory"),
        ("explain revenue", "knowledge"),
        ("how does a refund change revenue?", "knowledge"),
        ("what is a lapsed customer?", "knowledge"),
    ],
)
def test_trigger_words_choose_the_execution_mode(capdisc, workspace, query, mode) -> None:
    """The words of the design choose AUDITABLE, EXPLORATORY or KNOWLEDGE (S82, S83)."""
    prompt = capdisc("render", query, "--template", "auto", "--json").json
    assert prompt["working_mode"]["mode"] == mode
    typed = capdisc("render", query)  # the settings of the workspace say that modes are automatic
    assert f"notice: mode {mode} for " in typed.err
    assert typed.out == capdisc("render", query, "--template", mode).out


def test_redo_keeps_the_mode_and_may_change_it(capdisc, workspace) -> None:
    """A redo keeps AUDITABLE, names another mode, or compares and explores (S86, S87)."""
    capdisc("session", "new", "s1")

    def note(text: str) -> str:
        assert capdisc("session", "note", "s1", text).code == 0
        return capdisc("session", "show", "s1", "--json").json["mode"]

    assert note("prove that revenue fell") == "auditable"
    assert note("redo, but change my age to 50") == "auditable"
    assert note("redo in exploratory mode") == "exploratory"
    assert note("prove that revenue fell") == "auditable"
    assert note("redo and compare to previous") == "exploratory"
