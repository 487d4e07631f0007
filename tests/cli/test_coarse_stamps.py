"""File systems whose time stamps move in steps of one or two seconds, as HFS+ and FAT have them: a file that changes
twice within a step, and keeps its size, has the stamps of before."""

import pytest

from capdisc_indexer.indexing import tree_scan
from capdisc_indexer.store.durable_files import Mount
from folding_file_system import mounted

TEXT = (
    "---\nname: fold-crane\ndescription: Folds a {}. Use when asked to fold paper.\n---\n# Fold\n"
)


@pytest.mark.parametrize("kind", ["", "apfs"], ids=["unknown disk", "local disk"])
@pytest.mark.parametrize("step_s", [1, 2])
def test_a_second_change_within_a_step_is_noticed(tmp_path, capdisc, monkeypatch, step_s, kind):
    # Of a local disk, the stamps of folders are believed, too.
    monkeypatch.setattr(tree_scan, "find_mount", lambda folder: Mount(point="/", kind=kind))
    with mounted(tmp_path, step_s=step_s) as mac:
        file = mac / "skills" / "fold-crane" / "SKILL.md"
        file.parent.mkdir(parents=True)
        for name in ("crane", "whale", "horse", "snail"):  # of one length
            file.write_text(TEXT.format(name))
            if name in ("crane", "horse"):  # before other answers, the index looks by itself
                assert capdisc("index", str(mac / "skills")).code == 0
            assert f"Folds a {name}." in capdisc("show", "fold-crane").out
        for number in range(3):
            (mac / "skills" / f"new-{number}").mkdir()
            (mac / "skills" / f"new-{number}" / "SKILL.md").write_text(
                TEXT.format("box").replace("crane", f"{number}")
            )
            assert f"{number + 2} capabilities" in capdisc("index").out
