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


@pytest.mark.parametrize(
    ("code", "before", "after"),
    [
        ("byte-order-mark", "\ufeff" + skill(""), skill("")),
        ("line-ends-mixed", skill("").replace("\n", "\r\n", 2), skill("")),
        ("line-ends-mixed", skill("").replace("\n", "\r\n", 3), skill("").replace("\n", "\r\n")),
        ("invisible-character", skill("", "Fo\u200bld i\u2060t.\n"), skill("")),
        ("invisible-character", skill("", "Fo\u200dld it.\n"), skill("")),
        ("frontmatter-not-first", "\n \n" + skill(""), skill("")),
        ("frontmatter-in-code-fence", "```yaml\n" + skill("", "```\nFold it.\n"), skill("")),
        ("yaml-tab", skill("metadata:\n\ta: b\n"), skill("metadata:\n  a: b\n")),
        ("yaml-missing-blank", skill("license:MIT\n"), skill('license: "MIT"\n')),
        ("yaml-unquoted-colon", skill("license: MIT: or so\n"), skill('license: "MIT: or so"\n')),
        ("yaml-unbalanced-quote", skill('license: "MIT\n'), skill('license: "MIT"\n')),
        ("yaml-reserved-start", skill("license: @mit\n"), skill('license: "@mit"\n')),
        ("yaml-block-mark", skill("license: > MIT\n  or so\n"), skill('license: "MIT or so"\n')),
        ("yaml-block-mark", skill("license: | MIT\n  or so\n\n"), skill("license: |-\n  MIT\n  or so\n\n")),
        ("misspelt-field", skill("License: MIT\n"), skill("license: MIT\n")),
        ("misspelt-field", skill("allowed_tools: Read\n"), skill("allowed-tools: Read\n")),
        ("allowed-tools-type", skill("allowed-tools: [Read, A(b c)]\n"), skill("allowed-tools: Read A(b c)\n")),
        ("allowed-tools-type", skill("allowed-tools:\n- Read\n-  Edit\n\n"), skill("allowed-tools: Read Edit\n\n")),
        ("allowed-tools-type", skill('allowed-tools:\n  - "a: b()"\n'), None),
        ("allowed-tools-type", skill("allowed-tools:\n  - Read # why\n"), None),
        ("metadata-type", skill("metadata: {a: 1, b: {c: 2}}\n"), skill('metadata: {a: "1", b: {c: 2}}\n')),
        ("metadata-type", skill("metadata:\n  v: 1.0 # v\n  w: no\n"), skill('metadata:\n  v: "1.0" # v\n  w: "no"\n')),
        ("ambiguous-scalar", skill("version: 2024-01-31\n"), skill('version: "2024-01-31"\n')),
    ],
)  # fmt: skip
def test_each_fix_puts_its_own_finding_right(code: str, before: str, after: str | None) -> None:
    done = mended(before, wanted=RuleChoice(select=(code,)))
    assert done.after == (after or before)
    assert done.codes == ((code,) if after else ())


def test_a_comment_between_two_fields_never_becomes_a_value() -> None:
    text = skill("license: MIT: or so\n# not part of it\n")
    assert mended(text).after == text


@pytest.mark.parametrize(
    ("code", "fields"),
    [
        ("yaml-unquoted-colon", "license: MIT: or so # why\n"),
        ("yaml-unquoted-colon", "license: MIT: or\n  so # why\n"),
        ("yaml-missing-blank", "license:MIT # why\n"),
        ("yaml-unbalanced-quote", 'license: "MIT # why\n'),
        ("yaml-reserved-start", "license: @mit # why\n"),
        ("yaml-reserved-start", "license: @mit\t# why\n"),
        ("yaml-block-mark", "license: > MIT # why\n  or so\n"),
    ],
)
def test_only_the_author_knows_whether_a_sign_begins_a_comment(code: str, fields: str) -> None:
    done = mended(skill(fields), wanted=RuleChoice(select=(code,)))
    assert (done.codes, done.after) == ((), skill(fields))


@pytest.mark.parametrize(
    "body",
    [
        "Use `a\u200bb` and ``c\u200bd``.\n",
        "A span `that\ngoes on\u200b` here.\n",
        "```\nx\u200by\n\nz\u200b\n```\n",
        "- item\n\n      ~~~sh\n      x\u200by\n      ~~~\n",
        "````\n```\nx\u200b\n```\ny\u200b\n````\n",
        "See `a`\n```\ncode\n\nmore\u200b\n```\n",
        "```inline``` and\n\n```\nx\u200b\n```\n",
        "Run:\n\n    x\u200by\n",
        "```\nnever closed\u200b\n",
        "\u2813\u2811\u2800\u283a \u2800 \u2813\n",
        "v1\u200b\u0e44\u0e17\u0e22 \u1780\u200b\u1781 2\u200b\u0ea5\u0eb2\u0ea7 3\u200b\u1019\n",
        "\u26a0\ufe0f and 1\ufe0f\u20e3\n",
        "An icon \ue0a0 of one font.\n",
    ],
)
def test_what_may_need_its_unseen_characters_keeps_them(body: str) -> None:
    text = skill("", f"Fo\u200bld.\n\n{body}")
    assert mended(text).after == skill("", f"Fold.\n\n{body}")


@pytest.mark.parametrize(
    ("body", "after"),
    [
        ("Fold\u3164 it\u2800 no\ufe0fw \u2764\ufe0f.\n", "Fold it now \u2764\ufe0f.\n"),
        (
            "`a`\n\nFo\u200bld `b`.\n\n```\nx\n```\nI\u200bt.\n",
            "`a`\n\nFold `b`.\n\n```\nx\n```\nIt.\n",
        ),
    ],
)
def test_what_shows_nothing_goes_from_around_the_code(body: str, after: str) -> None:
    assert mended(skill("", body)).after == skill("", after)
    windows = [skill("", each).replace("\n", "\r\n") for each in (body, after)]
    assert mended(windows[0]).after == windows[1]


def test_unseen_characters_go_only_where_they_were_found() -> None:
    text = skill("# a com\u200bment\nlicense: MI\u200bT\ntitle: a\n  b\u200b # c\u200b\n")
    hidden = text.replace("Fold it.", "Fold" + "\u200b" * 20)
    expected = hidden.replace("MI\u200bT", "MIT").replace("b\u200b # c\u200b", "b # c")
    assert mended(hidden).after == expected


def test_a_manifest_is_put_right_too() -> None:
    before = "name: cranes\nkind: tool\ndescription: Cranes: folds them all.\r\nversion: 1.0\n"
    done = mended(before, "CAPABILITY.yaml")
    assert (
        done.after
        == 'name: cranes\nkind: tool\ndescription: "Cranes: folds them all."\nversion: "1.0"\n'
    )


def test_each_of_several_capabilities_is_put_right() -> None:
    one = "  - name: {0}\n    kind: tool\n    description: Folds paper cranes.\n    version: {1}\n"
    before = "capabilities:\n" + one.format("a", "1.0") + one.format("b", "no")
    assert mended(before, "CAPABILITY.yaml").after == before.replace("1.0", '"1.0"').replace(
        " no\n", ' "no"\n'
    )


def test_only_what_was_found_is_changed() -> None:
    text = skill("version: 1.0\nhidden: no\n")
    assert mended(text).after == skill('version: "1.0"\nhidden: no\n')


def test_windows_line_ends_stay() -> None:
    before = skill("license: | MIT\n  or so\nversion: 1.0\n").replace("\n", "\r\n")
    after = skill('license: |-\n  MIT\n  or so\nversion: "1.0"\n').replace("\n", "\r\n")
    assert mended(before).after == after


def test_a_mark_that_may_stay_does_not_hinder_the_others() -> None:
    before = "\ufeff" + skill("version: 1.0\n")
    assert mended(
        before, wanted=RuleChoice(ignore=("byte-order-mark",))
    ).after == "\ufeff" + skill('version: "1.0"\n')


@pytest.mark.parametrize(
    "text",
    [
        # The right spelling stands there too, so that the key would be there twice.
        skill("License: MIT\nlicense: GPL\n"),
        # Written as the format has it, the name would be refused.
        "---\nName: Cranes\ndescription: Folds cranes when asked to.\n---\nFold it.\n",
        # Without the invisible letter there is no name left.
        "---\nname: \u3164\ndescription: Folds cranes when asked to.\n---\nFold it.\n",
    ],
)
def test_a_fix_that_brings_an_error_is_dropped(text: str) -> None:
    done = mended(text)
    assert (done.after, done.codes) == (text, ())


def test_what_a_comment_silences_is_left_and_the_rest_put_right() -> None:
    text = skill("version: 1.0  # capdisc: ignore=ambiguous-scalar\ntitle: 2.0\n")
    assert mended(text).after == text.replace("2.0", '"2.0"')


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
