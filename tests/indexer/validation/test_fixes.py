"""A fix keeps the meaning of a file, and a second fix finds nothing to do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from capdisc_indexer.model.errors import InputError
from capdisc_indexer.model.frozen import replace
from capdisc_indexer.sources.format_table import source_for
from capdisc_indexer.sources.scan.file_scan import scan_roots
from capdisc_indexer.sources.scan.scanned_files import FoundFile
from capdisc_indexer.validation.finding_selection import RuleChoice
from capdisc_indexer.validation.fixes import FIXES, FixedFile, fix_file, rewrite_file
from capdisc_indexer.validation.validate import loaded_from

CATALOGS = Path(__file__).resolve().parents[3] / "fixtures" / "catalogs"
Rewrite = Callable[[], FoundFile]


def file_of(name: str) -> FoundFile:
    source = source_for(name)
    assert source is not None
    path = f"/dev/null/cranes/{name}"
    return FoundFile(
        path=path, resolved=path, size=0, mtime_ns=0, ctime_ns=0, inode=0, relative=name, root="/dev/null",
        root_order=0, format=source.format,
    )  # fmt: skip


def mended(
    text: str, name: str = "SKILL.md", wanted: RuleChoice | None = None, profile: str = "spec"
) -> FixedFile:
    return fix_file(file_of(name), text.encode(), profile, wanted or RuleChoice())


def skill(fields: str, body: str = "Fold it.\n") -> str:
    return f"---\nname: cranes\ndescription: Folds cranes when asked to.\n{fields}---\n{body}"


def test_a_mark_that_may_stay_does_not_hinder_the_others() -> None:
    before = "\ufeff" + skill("version: 1.0\n")
    assert mended(
        before, wanted=RuleChoice(ignore=("byte-order-mark",))
    ).after == "\ufeff" + skill('version: "1.0"\n')


def test_what_is_not_utf8_stays_as_it_is() -> None:
    done = fix_file(file_of("SKILL.md"), b"\xff\xfe---", "spec", RuleChoice())
    assert (done.codes, done.before, done.after) == ((), "", "")


def meaning(name: str, text: str) -> list[object]:
    """The capabilities as a lenient reader has them, but for where they come from and what is text in metadata."""
    file, data = file_of(name), text.encode()
    found = loaded_from(file, data).descriptors
    return [
        replace(each, source=replace(each.source, content_hash=""), extra={}, warnings=())
        for each in found
    ]


# Pieces of front matter, right and wrong, so that most texts have something to put right.
lines = st.sampled_from(
    """
name: cranes
Name: cranes
description: Folds cranes when asked to.
description: Use when: asked
description: | Use when asked
  and so on
version: 1.0
license: "MIT
license: @mit
license:MIT
metadata:
  a: 1
	b: no
  c: [d]
allowed-tools: [Read, Bash(a b)]
allowed_tools: Read
allowed-tools:
- Read
  - Edit
# a comment
title: 2024-01-01
tags: a, b
hidden: yes
requires: >  a
  b
- x
...
"quoted": no
{flow: no}
x: {y: 1""".split("\n")
)
ends = st.sampled_from(["\n", "\n", "\n", "\r\n"])
blocks = st.lists(st.tuples(lines, ends), max_size=8).map(
    lambda pairs: "".join(line + end for line, end in pairs)
)
texts = st.tuples(
    st.sampled_from(["", "\ufeff", "\n", "```yaml\n"]),
    blocks,
    st.sampled_from(["", "Fo\u200bld.\n", "```\n"]),
)


@given(texts.map(lambda parts: f"{parts[0]}---\n{parts[1]}---\n{parts[2]}"))
@example(skill("metadata:\n\tx: 1\nlicense: a: b\n\ty: 2\n"))
def test_a_mended_skill_says_what_was_read_before(text: str) -> None:
    done = mended(text)
    before, after = (
        meaning("SKILL.md", each.replace("\u200b", "")) for each in (text, done.after)
    )
    assert not before or before == after
    assert mended(done.after).codes == ()


@given(blocks)
def test_a_mended_manifest_says_what_was_read_before(block: str) -> None:
    text = "kind: tool\n" + block
    done = mended(text, "CAPABILITY.yaml")
    before, after = meaning("CAPABILITY.yaml", text), meaning("CAPABILITY.yaml", done.after)
    assert not before or before == after
    assert mended(done.after, "CAPABILITY.yaml").codes == ()


@pytest.mark.parametrize("catalog", ["small", "office", "messy", "broken"])
def test_the_fixtures_can_be_put_right_once_and_never_again(catalog: str) -> None:
    for file in scan_roots([CATALOGS / catalog]).files:
        data = Path(file.path).read_bytes()
        done = fix_file(file, data, "spec", RuleChoice())
        if done.codes:
            again = fix_file(file, done.after.encode(), "spec", RuleChoice())
            assert (again.codes, again.after) == ((), done.after)
        elif done.before:
            assert done.after.encode() == data


def test_every_fix_leaves_any_text_without_its_findings_alone() -> None:
    text = skill("license: MIT\nmetadata:\n  a: b\n")
    for code, fix in FIXES.items():
        assert fix(text, frozenset()) == text, code


@pytest.fixture
def on_disk(tmp_path: Path) -> Path:
    path = tmp_path / "cranes" / "SKILL.md"
    path.parent.mkdir()
    path.write_text(skill("version: 1.0\n"))
    return path


def test_a_file_is_replaced_in_one_step_with_its_mode(on_disk: Path) -> None:
    on_disk.chmod(0o604)
    (file,) = scan_roots([on_disk]).files
    rewrite_file(file, b"new")
    assert (on_disk.read_bytes(), on_disk.stat().st_mode & 0o777) == (b"new", 0o604)
    assert on_disk.stat().st_ino != file.inode
    assert [path.name for path in on_disk.parent.iterdir()] == ["SKILL.md"]


def test_a_file_that_changed_meanwhile_is_not_replaced(on_disk: Path) -> None:
    (file,) = scan_roots([on_disk]).files
    on_disk.write_text("changed by somebody else")
    with pytest.raises(InputError, match="has changed since it was read"):
        rewrite_file(file, b"new")
    assert on_disk.read_text() == "changed by somebody else"


def test_a_folder_that_became_a_link_is_not_followed(on_disk: Path, tmp_path: Path) -> None:
    (file,) = scan_roots([on_disk]).files
    moved = tmp_path / "elsewhere"
    on_disk.parent.rename(moved)
    on_disk.parent.symlink_to(moved)
    with pytest.raises(InputError, match="cannot be written"):
        rewrite_file(file, b"new")
    assert (moved / "SKILL.md").read_text() == skill("version: 1.0\n")


def test_a_folder_that_cannot_be_written_is_said(
    on_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import os

    (file,) = scan_roots([on_disk]).files

    def full(*args: object, **more: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(InputError, match="No space left on device"):
        rewrite_file(file, b"new")
    assert on_disk.read_text() == skill("version: 1.0\n")
    assert [path.name for path in on_disk.parent.iterdir()] == ["SKILL.md"]
