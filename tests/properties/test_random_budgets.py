"""Random contexts keep their budgets; a release asks for CAPDISC_RENDER_ROUNDS=1000."""

import os
import random
import shutil

from adopting import adopt

from capdisc_indexer.indexing.pipeline import build_index
from capdisc_indexer.model.types import BuildOptions
from capdisc_sessions import session_files as sessions
from conftest import CATALOGS
from properties.room import World, fault

SEED = int(os.environ.get("CAPDISC_SEED", "1"))
ROUNDS = int(os.environ.get("CAPDISC_RENDER_ROUNDS", "60"))


def _world(folder) -> World:
    shutil.copytree(CATALOGS / "small", folder / "caps")
    (folder / "caps" / "guidance").mkdir()
    for category in ("finance", "documents", "calendar", "general"):
        lines = "".join(
            f"{n}. Look at step {n} of {category} before the next.\n" for n in range(1, 30)
        )
        (folder / "caps" / "guidance" / f"{category}.md").write_text(
            f"# How {category} goes\n\n{lines}"
        )
    (folder / "caps" / "long").mkdir()
    long = f"name: long\nkind: tool\ndescription: Merges PDF invoices.\ntitle: {'PDF ' * 900}\n"
    (folder / "caps" / "long" / "CAPABILITY.yaml").write_text(long)
    build_index([folder / "caps"], folder / "index", BuildOptions())
    state = folder / "state"
    sessions.record_discoveries(
        state, "trip", ["tool:send-invoice", "skill:merge-pdfs", "tool:create-event"]
    )
    sessions.update_session(
        state,
        "trip",
        lambda last: sessions.Session(**{**_fields(last), "active": ("tool:git-status",)}),
    )
    texts, templates = (
        (folder / "note.md", folder / "slash.txt"),
        (folder / "own.txt", folder / "none.txt"),
    )
    texts[0].write_text("Invoices are sent on Fridays.\n" * 40)
    texts[1].write_text("/etc is not to be touched.\n\n\n/var neither")
    templates[0].write_text("A $$ and $query.\n$details\nThen:\n$overview$memory\nThe end, $date")
    templates[1].write_text("Nothing of it is named here.")
    return World(folder / "index", "trip", texts, templates)


def _fields(value) -> dict:
    return {name: getattr(value, name) for name in value.__slots__}


def test_no_context_is_over_its_budget_and_no_tier_that_has_room_is_empty(
    tmp_path, monkeypatch
) -> None:
    rng = random.Random(SEED)
    world = _world(tmp_path)
    monkeypatch.setenv("CAPDISC_STATE_DIR", str(tmp_path / "state"))
    adopt(world.index)
    for number in range(ROUNDS):
        told = fault(rng, world)
        assert not told, f"seed {SEED}, round {number}: {told}"
