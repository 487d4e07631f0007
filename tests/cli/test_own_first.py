"""What a project wrote for itself comes before what is near it in the home folder."""

from __future__ import annotations

from pathlib import Path

QUERY = "refund the customer"
OWN, OTHER = "skill:refund-order", "skill:payment-gateway"
OWN_TEXT = "Refunds an order in the back office and tells the customer."


def lead(capdisc) -> float:
    """How far the short skill is before the other one."""
    hits = capdisc("search", QUERY, "--json").json["hits"]
    scores = {hit["id"]: hit["score"] for hit in hits}
    return scores[OWN] - scores[OTHER]


def test_the_own_skill_is_first_where_it_is_near(capdisc, hermetic, write_skill) -> None:
    home, project = Path.home() / ".claude" / "skills", hermetic / ".claude" / "skills"
    about = "Refunds the customer of a payment gateway. Use when asked to refund the customer."
    write_skill(home, "payment-gateway", about)
    path = write_skill(home, "refund-order", OWN_TEXT)
    lead_at_home = lead(capdisc)
    path.unlink()
    write_skill(project, "refund-order", OWN_TEXT)
    assert lead(capdisc) > lead_at_home + 0.1
    assert capdisc("search", QUERY, "--ids").out.split()[0] == OWN
    assert capdisc("search", "payment gateway", "--ids").out.split()[0] == OTHER
