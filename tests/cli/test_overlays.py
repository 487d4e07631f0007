"""After every change of overlays an index is as one built from nothing; transcripts/overlays.txt has
what they add.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from case_files import write_files

FILES = Path(__file__).parent / "transcripts" / "overlays.files"


@pytest.fixture
def workspace(hermetic: Path) -> Path:
    write_files(FILES.read_text("utf-8"), hermetic)
    return hermetic


def add_overlay(workspace: Path, sources: str, *lines: str) -> None:
    (workspace / "capdisc.toml").write_text("\n".join([sources, "[[overlay]]", *lines, ""]))


def write_manifest(workspace: Path, *lines: str, name: str = "overlay") -> Path:
    path = workspace / ".capdisc" / "capabilities" / name / "CAPABILITY.yaml"
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join([*lines, ""]))
    return path


def read_all(capdisc, *options: str) -> list[dict]:
    ids = capdisc("list", "--ids", *options).out.split()
    return capdisc("show", "--json", *ids, *options).json["capabilities"]


def test_after_every_change_the_index_is_as_one_built_from_nothing(
    capdisc, workspace, monkeypatch
) -> None:
    """Overlays come, change and go in settings and manifests, and so do the files below them; a
    search takes each change in."""
    table = workspace / "data" / "invoices.csv"
    skill = workspace / ".capdisc" / "capabilities" / "water-plants" / "SKILL.md"
    sources = (workspace / "capdisc.toml").read_text()
    assert capdisc("index").code == 0
    original = read_all(capdisc)

    def mend_skill() -> None:
        skill.write_text(
            "---\nname: water-plants\ndescription: Plans a watering can.\n---\n\nDo it.\n"
        )

    changes = [
        lambda: add_overlay(
            workspace, sources, 'id = "table:*"', 'description = "What was bought."'
        ),
        lambda: write_manifest(workspace, "overlay: skill:*", "phrases: [the ferns are dry]"),
        lambda: table.write_text("id,total,day\n1,3.5,2\n"),
        lambda: skill.write_text(skill.read_text().replace("can", "hose")),
        lambda: write_manifest(workspace, "overlay: '*:*'", "tags: [everything]"),
        lambda: add_overlay(
            workspace, sources, 'id = "table:*"', 'tags = ["paid"]', 'risk = "medium"'
        ),
        lambda: write_manifest(workspace, "overlay: skill:water-plants", "tags: [b]", name="b"),
        lambda: write_manifest(workspace, "overlay: skill:water-plants", "tags: [c]"),
        mend_skill,
        lambda: table.write_text("id,total\n1,3.5\n2,4.5\n"),
        lambda: (workspace / "capdisc.toml").write_text(sources),
        lambda: [
            path.unlink()
            for path in (workspace / ".capdisc" / "capabilities").glob("*/CAPABILITY.yaml")
        ],
    ]
    for change in changes:
        change()
        assert capdisc("search", "what was bought").code in (0, 1)
        now = read_all(capdisc)
        with monkeypatch.context() as elsewhere:
            elsewhere.setenv("CAPDISC_INDEX_DIR", str(workspace.parent / "other"))
            assert capdisc("index", "--rebuild").code == 0
            assert read_all(capdisc) == now
    assert now == original
