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


@pytest.fixture
def index_tools(capdisc, hermetic):
    """Index a number of tools, spread over a number of categories."""

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
