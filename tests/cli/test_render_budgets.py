"""How much `capdisc render` prints, and whose tokens count."""

import json
import math
import random
import sys
import types

import pytest

from capdisc_indexer.lazy_imports import load_token_counter
from product_lists import TIERED_FORMATS

COUNT = load_token_counter()
QUERY = "send the customer an invoice as a PDF"


def tiers(made) -> dict:
    return {tier["level"]: tier for tier in made.json["tiers"]}


@pytest.fixture
def index_tools(capdisc, hermetic):
    """Index so many tools, spread over so many categories, and one skill."""

    def index(tools: int, categories: int) -> None:
        lines = [
            {"name": f"tool-{n}", "description": f"Does {n}.", "category": f"c{n % categories}"}
            for n in range(tools)
        ]  # fmt: skip
        (hermetic / "caps").mkdir()
        (hermetic / "caps" / "capabilities.jsonl").write_text("\n".join(map(json.dumps, lines)))
        assert capdisc("index", "caps").code == 0

    return index


@pytest.fixture
def cranes(capdisc, hermetic, write_skill):
    """Index a skill about paper cranes with this body."""

    def index(body: str) -> None:
        write_skill(hermetic / "skills", "cranes", "Folds paper cranes. Use when asked.", body)
        write_skill(hermetic / "skills", "boats", "Folds paper boats. Use when asked.")
        assert capdisc("index", "skills").code == 0

    return index


def test_each_tier_has_a_budget_of_its_own(capdisc, small) -> None:
    """Each tier has a budget, and what one leaves the next may use (S129, S134)."""
    made = tiers(capdisc("render", QUERY, "--json", "--tier-budget", "0=80,1=140,2=400"))
    assert 0 < made[0]["tokens"] <= 80
    assert 0 < made[1]["tokens"] <= 140
    assert 0 < made[2]["tokens"] <= 400
    assert len(made[1]["blocks"]) >= 5
    assert made[1]["left_out_count"]


def test_how_many_of_each_can_be_chosen(capdisc, small) -> None:
    """--tier-top sets how many entries each tier has (S134)."""
    made = tiers(capdisc("render", QUERY, "--json", "--tier-top", "1=7,2=1", "--budget", "6000"))
    assert [len(made[level]["blocks"]) for level in (1, 2)] == [7, 1]


@pytest.mark.parametrize("text", ["3=5", "1", "1=", "1=x", "1=-4", "=5", "1=1e3"])
def test_a_budget_that_cannot_be_read_is_a_mistake(capdisc, small, text) -> None:
    made = capdisc("render", QUERY, "--tier-budget", text)
    assert (made.code, made.out) == (2, "")
    assert "--tier-budget" in made.err


def test_a_tier_without_a_budget_is_not_printed_and_one_too_small_is_named(capdisc, small) -> None:
    assert "Available" not in capdisc("render", QUERY, "--tier-budget", "0=0").out
    made = capdisc("render", QUERY, "--tier-budget", "0=4")
    assert made.code == 2
    assert "a budget of 4 tokens for tier 0 is too small" in made.err


def test_what_was_shortened_or_left_out_is_said_on_stderr_and_in_json(capdisc, small) -> None:
    made = capdisc("render", QUERY, "--json", "--tier-budget", "1=30,2=60")
    found = tiers(made)
    assert found[1]["left_out_count"]
    assert "tool:send-invoice" in found[2]["left_out"]
    assert "notice: tier 1: " in made.err
    assert "notice: tier 2: " in made.err


def test_a_tier_is_never_left_empty_without_a_word(capdisc, small) -> None:
    """Tier 1 is printed at every budget, and a Tier 2 left out is reported (S134, S139)."""
    for budget in range(60, 700, 40):
        made = capdisc("render", QUERY, "--tier", "1,2", "--budget", str(budget))
        assert "Relevant capabilities:" in made.out
        if "Detailed" not in made.out:
            assert "tier 2: left out to fit" in made.err


def test_a_long_body_is_cut_at_a_heading_and_points_to_the_rest(capdisc, cranes) -> None:
    """Of a body of 9,000 characters, sections that fit the request stay whole (S139)."""
    body = "\n".join(
        f"## Part {n}\n\n" + "Fold the paper once more along the line.\n" * 18 for n in range(12)
    )
    body += "\n## Wings of cranes\n\n" + "Bend it down.\n" * 12
    cranes(body)
    made = capdisc("render", "fold paper cranes", "--tier", "2", "--tier-budget", "2=1500")
    assert len(body) > 9000
    assert 0 < COUNT(made.out) <= 1500
    before, after = made.out.split(
        "[what is left out: capdisc show skill:cranes --section HEADING]\n"
    )
    assert after.startswith("<<< end")
    sections = before.split("\n## ")[1:]
    parts = [section.splitlines()[0] for section in sections if "Part" in section]
    assert parts == [f"Part {n}" for n in range(12)]
    assert {section.count("Fold the paper") for section in sections[:-1]} == {0, 18}
    assert "[…]" in before
    assert sections[-1].count("Bend it down.") == 12


def test_one_endless_line_is_left_out_and_not_cut(capdisc, cranes) -> None:
    cranes("paper crane " * 4000)
    out = capdisc("render", "fold paper cranes", "--tier", "2", "--budget", "600").out
    assert "Folds paper cranes. Use when asked." in out
    assert "paper crane paper crane" not in out
    assert "[…]\n[what is left out: capdisc show skill:cranes" in out


def test_levels_of_detail(capdisc, small) -> None:
    """Detail has three levels: a name, a line, or everything (S128, S320)."""
    made = {
        detail: capdisc("render", QUERY, "--detail", detail).out
        for detail in ("name", "summary", "full")
    }
    assert made["name"].splitlines()[1] == "- tool:send-invoice"
    assert made["summary"] == capdisc("render", QUERY, "--tier", "1").out
    assert made["full"] == capdisc("render", QUERY, "--tier", "2").out
    assert len({*made.values()}) == 3
    assert capdisc("render", QUERY, "--detail", "name", "--tier", "1").code == 2


def test_the_overview_keeps_its_budget_with_a_hundred_categories(capdisc, index_tools) -> None:
    """The overview of 300 capabilities in 100 categories keeps its budget, in each format (S127)."""
    index_tools(300, 100)
    out = capdisc("render", "--tier", "0").out
    assert COUNT(out) <= 200
    assert " more categories" in out
    for name in TIERED_FORMATS:
        made = capdisc("render", "tool 7", "--format", name, "--budget", "900", "--tier", "0,1,2")
        assert made.code == 0, (name, made.err)
        assert COUNT(made.out) <= 900
        assert "more categories" in made.out
        assert len(made.err) < 2000


def test_an_overview_by_kind_has_room_for_a_small_kind_next_to_a_large_one(
    capdisc, index_tools, cranes
) -> None:
    """Once it failed: of the large kind there was no line with all names."""
    index_tools(300, 5)
    cranes("Fold it.")
    out = capdisc("render", "--by-kind", "--budget", "400").out
    assert "boats, cranes" in out
    assert "tools / c0: tool-" in out


def test_the_overview_can_be_of_some_kinds_or_by_kind(capdisc, small) -> None:
    """The overview follows filters by kind, and they leave no trace (S131, S133, S147)."""
    whole = capdisc("render", "--tier", "0").out
    skills = capdisc("render", "--tier", "0", "--kind", "skill").out
    assert "clean-csv" in skills
    assert "send-invoice" not in skills
    assert "clean-csv" not in capdisc("render", "--tier", "0", "--exclude", "skill:clean-csv").out
    assert capdisc("render", "--tier", "0").out == whole
    blocks = [
        line[2:].partition(" /")[0]
        for line in capdisc("render", "--by-kind").out.splitlines()[1:-1]
    ]
    assert list(dict.fromkeys(blocks)) == ["skills", "tools", "extensions", "others"]
    assert blocks == sorted(blocks, key=["skills", "tools", "extensions", "others"].index)


@pytest.mark.parametrize(
    ("hint", "said"), [("cli", "capdisc search"), ("tool", "call tool_search"), ("none", "")]
)
# json has no hint, and messages always ends with that of the command.
@pytest.mark.parametrize("form", ["text", "markdown", "xml"])
def test_the_overview_says_how_to_have_more(capdisc, small, hint, said, form) -> None:
    """The overview ends with a hint for the command, for the tool, or with none (S132)."""
    out = capdisc("render", "--format", form, "--hint", hint).out
    assert said in out
    assert ("More: " in out) is bool(said)


def test_hints_of_use_are_shown_where_they_are_wanted_and_always_in_full(capdisc, small) -> None:
    """A usage hint is in Tier 1 with --hints only, and in Tier 2 always (S278)."""
    argv = ("render", "post a message to the team in slack")
    assert "Hint: Prefer a thread" not in capdisc(*argv, "--tier", "1").out
    assert "Hint: Prefer a thread" in capdisc(*argv, "--tier", "1", "--hints").out
    assert "When to use: Prefer a thread" in capdisc(*argv, "--tier", "2").out


def test_what_is_missing_is_named_and_setting_it_is_enough(
    capdisc, small, monkeypatch, tmp_path
) -> None:
    """A missing secret is named; setting it is enough (S137, S156)."""
    monkeypatch.setenv("PATH", str(tmp_path))
    argv = ("render", QUERY, "--tier", "1,2")
    out = capdisc(*argv).out
    assert "Ask before use. [missing: BILLING_API_KEY]\n" in out
    assert "[missing: weasyprint]\nFile: " in out
    assert "send-invoice" not in capdisc(*argv, "--available").out
    monkeypatch.setenv("BILLING_API_KEY", "s3cr3t")
    out = capdisc(*argv).out
    assert "BILLING_API_KEY]" not in out
    assert "s3cr3t" not in out
    assert "[missing: weasyprint]" in out


def test_what_is_asked_before_use_says_so_however_short_it_is(capdisc, small) -> None:
    """A line cut short still says that the capability wants confirmation (S281)."""
    lines = [
        line
        for budget in range(40, 120, 5)
        for line in capdisc(
            "render", QUERY, "--tier", "1", "--budget", str(budget)
        ).out.splitlines()
        if line.startswith("- tool:send-invoice")
    ]
    assert len(set(lines)) >= 2
    assert all("Ask before use." in line for line in lines)


def test_risky_ones_can_be_left_out(capdisc, small) -> None:
    assert "tool:send-invoice" not in capdisc("render", QUERY, "--max-risk", "medium").out


def test_a_render_in_which_something_is_missing_loads_no_tokenizer(process, small) -> None:
    import subprocess

    script = (
        f"import sys; from capdisc.args import command_table; code = command_table.run_command(['render', {QUERY!r}, '--hint', 'tool']);"
        "sys.exit(code or int('rs_bpe' in sys.modules or 'toktok' in sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "[missing: BILLING_API_KEY]" in done.stdout


def test_the_estimate_of_each_part_adds_up_to_the_text(capdisc, small) -> None:
    """Counts of the parts add up to the text, by the named tokenizer (S143, S144)."""
    made = capdisc("render", QUERY, "--json", "--budget", "2500").json
    estimate = made["tokenEstimate"]
    assert set(estimate) == {"tier0", "tier1", "tier2", "total"}
    assert (
        estimate["total"]
        == sum(value for key, value in estimate.items() if key != "total")
        == made["tokens"]
    )
    assert [tier["tokens"] for tier in made["tiers"]] == [
        COUNT(printed_tier(tier)) for tier in made["tiers"]
    ]


def printed_tier(tier: dict) -> str:
    """What plain text prints for a tier of the JSON, whose paths are fields. Here all capabilities
    of a kind have a folder of their name.
    """
    heading, ending = {
        0: (
            "Available capabilities:\n",
            'More: capdisc search "what you need", capdisc show ID\n',
        ),
        1: ("Relevant capabilities:\n", ""),
        2: ("--- Detailed Capability Reference ---\n", ""),
    }[tier["level"]]
    lines = [f"{block['text']}\n" for block in tier["blocks"]]
    if tier["level"] == 1:
        lines = [line + place for line, place in zip(lines, places(tier["blocks"]), strict=True)]
    return "".join([heading, *lines, ending]) if lines else ""


def places(blocks: list[dict]) -> list[str]:
    """The line that says where each file lies: the rule, at the first that follows it, or a path."""
    rules = list(map(rule_of, blocks))
    return [
        f"  {block['path']}\n"
        if rules.count(rule) == 1
        else ("" if rule in rules[:place] else f"  {rule}\n")
        for place, (block, rule) in enumerate(zip(blocks, rules, strict=True))
    ]


def rule_of(block: dict) -> str:
    kind, _, name = block["id"].partition(":")
    return f"{kind}:NAME is in {block['path'].replace(f'/{name}/', '/NAME/')}"


@pytest.mark.parametrize(
    "options",
    [
        "", "--hints", "--tier 0", "--tier 1", "--tier 1,2", "--tier-budget 1=200", "--detail name",
        "--hint none", "--style tools", "--style full", "--template minimal", "--template full",
        "--split prefix", "--split suffix", "--split both", "--split both --tier 1",
        "--split prefix --template full", "--split both --style full", "--append note.md",
    ],
)  # fmt: skip
def test_json_counts_the_text_that_render_prints(capdisc, small, hermetic, options: str) -> None:
    (hermetic / "note.md").write_text("Invoices are sent on Fridays.\n")
    for words in (QUERY, "search the web", "send an e-mail to a customer", "thanks", ""):
        argv = ["render", *filter(None, [words]), *options.split(), "--budget", "30000"]
        printed, made = capdisc(*argv).out, capdisc(*argv, "--json").json
        assert made["tokens"] == made["tokenEstimate"]["total"] == COUNT(printed), argv
        argv += ["--tokenizer", "chars4"]
        printed, made = capdisc(*argv).out, capdisc(*argv, "--json").json
        assert made["tokens"] == math.ceil(len(printed) / 4), argv


def test_json_of_any_budget_counts_its_own_text_and_keeps_the_budget(capdisc, small) -> None:
    rng = random.Random(7)
    for budget in rng.sample(range(120, 2400), 20):
        words = rng.choice([QUERY, "search the web", "send an e-mail to a customer"])
        done = capdisc("render", words, "--json", "--budget", str(budget))
        assert COUNT(done.out) <= budget
        text = "".join(map(printed_tier, done.json["tiers"]))
        # Where one alone of several hits of a kind is shown, its path and the rule count alike.
        assert abs(done.json["tokens"] - COUNT(text)) <= 5, (words, budget)


def test_what_it_saves_is_counted_against_everything_in_full(capdisc, small) -> None:
    """Savings are counted against everything in full (S10, S11, S124, S216)."""
    made = capdisc("render", QUERY, "--json", "--style", "tools").json
    assert made["static_tokens"] == capdisc("list", "--cost", "--json").json["total"]
    assert made["tokens"] == COUNT(made["prompt"])
    assert made["savings_percent"] == round((1 - made["tokens"] / made["static_tokens"]) * 100)


def test_characters_can_stand_for_tokens(capdisc, small) -> None:
    """Four characters may stand for a token, with a notice (S143)."""
    argv = ("render", QUERY, "--tokenizer", "chars4")
    made = capdisc(*argv, "--budget", "500")
    assert 400 < len(made.out) / 4 <= 500
    assert "four characters are taken for one token" in made.err
    assert capdisc(*argv, "--json").json["tokenizer"] == "chars4"


def test_claude_is_estimated_with_room_to_spare_and_the_estimate_says_so(
    capdisc, small, monkeypatch
) -> None:
    monkeypatch.setitem(sys.modules, "ctok", None)
    made = capdisc("render", QUERY, "--tokenizer", "claude", "--budget", "900")
    assert 350 < COUNT(made.out) <= 450
    assert "estimated as 2 × o200k_base" in made.err
    monkeypatch.setenv("CAPDISC_TOKENIZER", "claude")
    assert (
        capdisc("render", QUERY, "--json").json["tokenizer"] == "claude (estimate: 2 × o200k_base)"
    )


def test_claude_is_counted_where_the_extra_is_installed(capdisc, small, monkeypatch) -> None:
    """A stand-in for the package, which Python 3.11 does not have: a frame of seven tokens, and one for each word."""
    fake = types.ModuleType("ctok")
    fake.token_count = lambda text, family: 7 + len(text.split())
    monkeypatch.setitem(sys.modules, "ctok", fake)
    made = capdisc("render", QUERY, "--tokenizer", "claude", "--budget", "300")
    assert 200 < len(made.out.split()) <= 300
    assert "estimate" not in made.err


def test_a_tokenizer_that_there_is_not(capdisc, small) -> None:
    made = capdisc("render", QUERY, "--tokenizer", "gpt2")
    assert (made.code, made.out) == (2, "")
    assert "o200k, claude, chars4" in made.err


def test_all_is_printed_where_it_is_small_beside_the_context(capdisc, small) -> None:
    """A small catalogue is printed whole, and the choice is said (S90, S321)."""
    part = capdisc("render", QUERY, "--auto", "--context-size", "40000")
    assert part.out == capdisc("render", QUERY).out
    assert "40,000" not in part.out
    assert "4,000 are allowed: a part is printed" in part.err
    whole = capdisc("render", QUERY, "--auto", "--context-size", "200000")
    ids = capdisc("list", "--ids").out.split()
    assert all(f">>> {identifier} [" in whole.out for identifier in ids)
    assert "20,000 are allowed: all is printed" in whole.err
    printed = capdisc("render", QUERY, "--auto", "--json").json
    assert (printed["disclosure"], printed["savings_percent"]) == ("static", 0)
    assert (
        capdisc("render", QUERY, "--auto", "--threshold-pct", "1", "--json").json["disclosure"]
        == "progressive"
    )


def test_only_what_is_relevant_enough(capdisc, small) -> None:
    """--min-relevance leaves out weaker hits, but not their requirements (S138, S241)."""
    argv = ("render", "send the customer an invoice", "--tier", "1")
    assert "skill:write-newsletter" in capdisc(*argv).out
    kept = capdisc(*argv, "--min-relevance", "0.9").out
    assert "skill:write-newsletter" not in kept
    assert "- tool:send-invoice" in kept
    assert "- tool:render-pdf" in kept


def test_when_nothing_fits(capdisc, small) -> None:
    """--on-empty prints the overview, every capability, or an error (S200)."""
    argv = ("render", "frobnicate the quuxly zorbleflux", "--on-empty")
    assert capdisc(*argv, "none").out == capdisc("render").out
    every = capdisc(*argv, "all")
    assert "- tool:send-invoice" in every.out
    assert "- skill:clean-csv" in every.out
    assert "printed every capability" in every.err
    nothing = capdisc(*argv, "error")
    assert (nothing.code, nothing.out) == (1, "")
    assert "zorbleflux" in nothing.err
    assert capdisc(*argv, "perhaps").code == 2


def test_nothing_indexed_is_an_error_that_says_what_to_do(capdisc, hermetic) -> None:
    """Rendering an empty index exits with 4 and says how to index (S146)."""
    (hermetic / "empty").mkdir()
    capdisc("index", "empty")
    made = capdisc("render", "merge PDF files")
    assert (made.code, made.out) == (4, "")
    assert "no capabilities are indexed" in made.err
    assert "capdisc index PATH" in made.err


def test_where_the_time_went(capdisc, small) -> None:
    """Times of the stages do not add up to more than the whole (S145)."""
    made = capdisc("render", QUERY, "--json", "--diagnostics").json["diagnostics"]
    assert {"queryTimeMs", "embeddingTimeMs", "graphTraversalTimeMs", "candidatesScanned"} < set(
        made
    )
    assert made["embeddingTimeMs"] <= made["rankingTimeMs"] <= made["queryTimeMs"] + 0.01
    assert made["graphTraversalTimeMs"] <= made["queryTimeMs"] + 0.01
    assert made["capabilitiesRetrieved"] <= made["candidatesScanned"]
    assert "queryTimeMs" in capdisc("render", QUERY, "--diagnostics").err


def test_a_good_query_has_another_confidence_than_a_hopeless_one(capdisc, small) -> None:
    """Confidence, sources, mode and unmatched words are given (S233, S317, S318)."""
    good, bad = (
        capdisc("render", query, "--json").json for query in (QUERY, "frobnicate the zorbleflux")
    )
    assert good["confidence"] > 0.7 > bad["confidence"]
    first = good["tiers"][1]["blocks"][0]
    assert (first["id"], first["source"], first["relevance"] > 0.9) == (
        "tool:send-invoice",
        "send-invoice/CAPABILITY.yaml",
        True,
    )
    assert good["mode"] == "hybrid"
    assert "zorbleflux" in bad["unmatched"]
    assert "answer" not in good


def test_show_keeps_a_limit_too(capdisc, small) -> None:
    """`show` keeps within --max-tokens and says where it cut (S126)."""
    made = capdisc("show", "tool:send-invoice", "--max-tokens", "120")
    assert 60 < COUNT(made.out) <= 120
    assert made.out.endswith("[cut to fit the budget]\n")
    assert "cut to 120 tokens" in made.err
    whole = capdisc("show", "tool:send-invoice")
    assert capdisc("show", "tool:send-invoice", "--max-tokens", "9000").out == whole.out
    assert capdisc("show", "tool:send-invoice", "--max-tokens", "3").code == 2
    assert capdisc("show", "tool:send-invoice", "--max-tokens", "30", "--json").code == 2


def test_who_costs_how_much_and_without_whom_it_is_less(capdisc, small) -> None:
    """Each capability's cost is listed, and an exclusion lowers it (S319)."""
    costs = [each["tokens"] for each in capdisc("list", "--cost", "--json").json["each"]]
    assert costs == sorted(costs, reverse=True)
    with_all, without = (
        capdisc("render", "--auto", "--json", *extra).json["static_tokens"]
        for extra in ((), ("--exclude", "clean-csv"))
    )
    assert without < with_all == sum(costs)


def test_the_parts_can_be_used_without_the_command_line(small) -> None:
    """Index, graph, assembler, encoder, scanner and tools can be imported (S130)."""
    import subprocess

    parts = "store graph encoders sources.scan tools rendering retrieval.pipeline indexing"
    code = "; ".join(f"import capdisc_indexer.{part}" for part in parts.split())
    code += "; import sys; sys.exit(any(name in sys.modules for name in ('capdisc', 'typer', 'click')))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_description_with_headings_is_never_left_out(capdisc, hermetic) -> None:
    folder = hermetic / "caps" / "crane"
    folder.mkdir(parents=True)
    (folder / "CAPABILITY.yaml").write_text(
        "name: crane\nkind: tool\ndisplayName: Paper crane folder\n"
        "description: |\n  Folds a paper crane.\n\n  # When\n\n  On Sundays.\nskillContent: |\n"
        + "".join(f"  ## Part {n}\n\n  {'Fold it. ' * 200}\n" for n in range(4))
    )
    capdisc("index", "caps")
    printed = capdisc("render", "fold a paper crane", "--tier", "2", "--budget", "300").out
    assert "Title: Paper crane folder\nFolds a paper crane.\n\n# When\n\nOn Sundays.\n" in printed
    assert "## Part 3" in printed and "Fold it." not in printed


def test_a_step_is_printed_only_with_the_steps_before_it(capdisc, cranes) -> None:
    """Half a procedure is worse than none: a later step alone would be followed."""
    words = ("paper", "crease", "wings", "head")
    cranes(
        "# Cranes\n\n## Why\n\nFor luck.\n"
        + "".join(
            f"\n## Step {number}: {word}\n\n" + f"Work on the {word} with care.\n" * 25
            for number, word in enumerate(words, 1)
        )
    )
    for budget in range(200, 1100, 60):
        typed = ("fold the head of a paper crane", "--tier", "2", "--budget", str(budget))
        printed = capdisc("render", *typed).out.partition(">>> skill:boats")[0]
        counts = [printed.count(f"the {word} with") for word in words]
        shown = counts.count(25)
        assert counts == [25] * shown + [0] * (4 - shown)
        headings = printed.count("\n## Step")
        assert headings in (0, 4)
        assert not headings or printed.count("\n\n[…]\n") >= 4 - shown


@pytest.mark.parametrize("budget", [200, 300])
def test_as_many_categories_as_fit_name_what_they_hold(capdisc, index_tools, budget) -> None:
    """Tier 0 with 25 categories at budget 200 and 300 names capabilities of the first of them, and
    the others by themselves, instead of none (S127)."""
    index_tools(75, 25)
    typed = ("render", "--tier", "0", "--budget", str(budget), "--tier-budget", f"0={budget}")
    out = capdisc(*typed).out
    listed = [line for line in out.splitlines() if line.startswith("- ")]
    with_names = [line for line in listed if "tool-" in line]
    assert COUNT(out) <= budget
    assert budget - COUNT(out) < 20  # no room is left for one more line with names
    assert (len(listed), listed[: len(with_names)]) == (25, with_names)
    assert 0 < len(with_names) < 25
