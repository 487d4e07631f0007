"""A client's list keeps within its budget, whatever the skills are, and loses none without saying so."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from capdisc_audit.client_listings import CLIENT_LISTINGS
from capdisc_audit.listing_budgets import (
    ListedSkill,
    ListingSettings,
    ListingState,
    list_everything,
    list_skills,
)

_SKILLS = st.lists(
    st.builds(
        lambda name, description, uses: (name, description, uses),
        st.text("abcdef", min_size=1, max_size=8),
        st.builds(
            lambda text, times: text * times, st.text("ab é漢字", max_size=8), st.integers(0, 60)
        ),
        st.floats(0, 9),
    ),
    max_size=12,
    unique_by=lambda skill: skill[0],
)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    client=st.sampled_from(sorted(CLIENT_LISTINGS)),
    skills=_SKILLS,
    budget=st.integers(1, 4_000),
    has_own_skills=st.booleans(),
)
def test_a_list_keeps_within_its_budget_unless_its_names_alone_exceed_it(
    client, skills, budget, has_own_skills
) -> None:
    rule = CLIENT_LISTINGS[client]
    listed = [
        ListedSkill(id=name, name=name, description=description, short_path=f"r1/{name}/SKILL.md")
        for name, description, _ in skills
    ]
    own_settings = ListingSettings(
        budget=budget,
        has_own_skills=has_own_skills,
        uses={name: uses for name, _, uses in skills},
    )
    listing = list_skills(rule, listed, own_settings)
    assert [entry.id for entry in listing.entries] == [skill.id for skill in listed]
    assert all(
        (entry.line == "") == (entry.state == ListingState.LEFT_OUT) for entry in listing.entries
    )
    if rule.fit is list_everything:
        return
    own = listing.own if client == "claude" else 0  # Codex cuts its own skills with all others
    is_names_only = all(entry.shown_characters == 0 for entry in listing.entries)
    assert own + listing.takes <= budget or (client == "claude" and is_names_only)
