"""Guidance of categories and memory of sessions in a prompt."""

import pytest

from capdisc_indexer.lazy_imports import load_token_counter
from product_lists import TIERED_FORMATS

COUNT = load_token_counter()
PHOTOS = ("crop", "turn", "blur")


@pytest.fixture
def photos(capdisc, hermetic):
    """Three tools of one category, and what is to be known of it."""
    for name in PHOTOS:
        path = hermetic / "caps" / name / "CAPABILITY.yaml"
        path.parent.mkdir(parents=True)
        text = f"name: {name}-photo\nkind: tool\ncategory: Images\ndescription: Photos can be {name}ed.\n"
        path.write_text(
            text + "guidance: Never overwrite the original.\ninstructions: Say which photo.\n"
        )
    (hermetic / "caps" / "guidance").mkdir()
    (hermetic / "caps" / "guidance" / "images.md").write_text(
        "# Images\n\nShow a small one first.\n"
    )
    assert capdisc("index", "caps").code == 0
    return hermetic / "caps"


def test_guidance_is_within_the_budget_of_tier_2_and_leaves_room_for_tools(
    capdisc, photos
) -> None:
    """Guidance is cut to fit Tier 2 in each format and leaves room for the tools (S290)."""
    (photos / "guidance" / "images.md").write_text(
        "# Images\n\n" + "Look at the photo again before you go on.\n" * 300
    )
    capdisc("index", "caps")
    limits = ("--tier", "2", "--tier-budget", "2=400")
    for form in TIERED_FORMATS:
        made = capdisc("render", "blur and crop photos", *limits, "--format", form)
        assert COUNT(made.out) <= 3000
        assert "cut to fit: guidance:images" in made.err
        assert "blur-photo" in made.out
    assert COUNT(capdisc("render", "blur photos", *limits).out) <= 400


@pytest.mark.parametrize("form", TIERED_FORMATS)
def test_memory_has_a_budget_of_its_own_inside_the_whole(capdisc, small, form) -> None:
    for query in ("book a room", "merge PDF files", "send an invoice", "translate a document"):
        capdisc("render", query, "--session", "trip")
    argv = ("render", "resize photos", "--session", "trip", "--format", form)
    made = capdisc(*argv, "--tier-budget", "memory=60")
    assert COUNT(made.out) <= 3000
    assert "create-event" in made.out or "more" in made.out
    none = capdisc(*argv, "--tier-budget", "memory=0")
    assert "Session memory" not in none.out
    assert '"memory"' not in none.out
