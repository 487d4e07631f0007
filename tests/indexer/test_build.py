"""The index follows the folders, reading only what changed."""

import os
import shutil

import pytest

from capdisc_indexer import encoders
from capdisc_indexer.encoders.static_encoder import MODEL_FOLDER
from capdisc_indexer.indexing.pipeline import build_index
from capdisc_indexer.model.errors import EncoderError
from capdisc_indexer.model.types import BuildOptions, Query
from capdisc_indexer.store.snapshot import Index


@pytest.fixture
def root(hermetic, write_skill):
    for name in ("alpha", "beta", "gamma"):
        write_skill(hermetic / "skills", name)
    return hermetic / "skills"


@pytest.fixture
def index_dir(hermetic):
    return hermetic / "index"


def ids(index_dir) -> list[str]:
    with Index(index_dir) as index:
        return [head["id"] for head in index.documents.all_headers()]


def test_only_what_changed_is_parsed_and_embedded(root, index_dir, write_skill) -> None:
    """The last index is the cache of vectors (S175); one changed file is parsed and embedded alone
    (S213), and a change of a body alone embeds nothing (S172).
    """

    def build(**options) -> tuple[int, int, bool]:
        report = build_index([root], index_dir, BuildOptions(**options))
        return report.counts["parsed"], report.counts["embedded"], report.published

    assert build() == (3, 3, True)
    assert build() == (0, 0, False)
    assert build(verify=True) == (3, 0, False)
    write_skill(root, "beta", body="Another body, the same description.")
    assert build() == (1, 0, True)
    write_skill(root, "beta", "Something else entirely. Use when asked.")
    assert build() == (1, 1, True)
    with Index(index_dir) as index:
        assert index.descriptor("beta").description.startswith("Something else")


def test_a_change_of_equal_size_with_the_old_time_stamp_is_found(root, index_dir) -> None:
    path = root / "alpha" / "SKILL.md"
    build_index([root], index_dir, BuildOptions())
    before = path.stat()
    path.write_text(path.read_text().replace("Does a thing", "Hoes a king"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert build_index([root], index_dir, BuildOptions()).counts["updated"] == 1


def test_the_first_root_wins_and_the_shadowed_one_is_reported(
    hermetic, root, index_dir, write_skill
) -> None:
    """The first root wins an id, and the shadowed file is reported (S152)."""
    other = hermetic / "other"
    shadowed = write_skill(other, "beta", "The other one. Use when asked.")
    report = build_index([root, other], index_dir, BuildOptions())
    assert ids(index_dir) == ["skill:alpha", "skill:beta", "skill:gamma"]
    found = [finding for finding in report.findings if finding.code == "shadowed-id"]
    assert [finding.path for finding in found] == [str(shadowed)]
    assert str(root / "beta" / "SKILL.md") in found[0].message
    assert build_index([other, root], index_dir, BuildOptions()).counts["shadowed"] == 1
    with Index(index_dir) as index:
        assert index.descriptor("skill:beta").description.startswith("The other one")
    build_index([root, other], index_dir, BuildOptions())
    (root / "beta" / "SKILL.md").unlink()
    build_index([root, other], index_dir, BuildOptions())
    with Index(index_dir) as index:
        assert index.descriptor("skill:beta").description.startswith("The other one")


def test_who_owns_an_id_inside_a_root(root, index_dir, write_skill) -> None:
    """A copy is indexed once, a second skill stays under a qualified id, and a second manifest of
    an id is an error (S152).
    """
    write_skill(root / "copy", "alpha")
    write_skill(root / "team", "beta", "The team's own. Use when asked.")
    for name in ("one", "two"):
        folder = root / name / "x"
        folder.mkdir(parents=True)
        (folder / "CAPABILITY.yaml").write_text(
            f"name: x\nkind: tool\ndescription: The {name} tool.\n"
        )
    report = build_index([root], index_dir, BuildOptions())
    owned = ["skill:alpha", "skill:beta", "skill:beta@team", "skill:gamma", "tool:x"]
    assert (ids(index_dir), report.counts["copies"]) == (owned, 1)
    severities = {(each.code, str(each.severity)) for each in report.findings}
    assert severities == {("duplicate-id", "warning"), ("duplicate-id", "error")}
    (taken,) = [each for each in report.findings if each.severity == "error"]
    assert "one/x" in taken.message and "two/x" in taken.path


def test_one_bad_file_never_stops_the_rest(root, index_dir) -> None:
    bad = root / "bad" / "CAPABILITY.yaml"
    bad.parent.mkdir()
    bad.write_text("name: [unclosed\n")
    report = build_index([root], index_dir, BuildOptions())
    assert report.counts["failed"] == 1
    errors = [finding for finding in report.findings if finding.severity == "error"]
    assert errors[0].path == str(bad)
    assert errors[0].line >= 1
    assert errors[0].hint
    assert len(ids(index_dir)) == 3


def test_an_empty_folder_gives_an_empty_index(hermetic, index_dir) -> None:
    (hermetic / "empty").mkdir()
    report = build_index([hermetic / "empty"], index_dir, BuildOptions())
    assert report.counts["capabilities"] == 0
    with Index(index_dir) as index:
        assert index.documents.search(["anything"], Query(texts=()), 5) == []


def test_a_file_that_could_not_be_read_once_is_tried_again(root, index_dir, monkeypatch) -> None:
    from capdisc_indexer.sources.readers import file_bytes
    from capdisc_indexer.sources.readers.file_bytes import read_bytes
    from capdisc_indexer.sources.scan.scanned_files import unreadable_finding

    broken = str(root / "beta" / "SKILL.md")
    problem = OSError(24, "Too many open files")

    def failing(file, limit):
        return (
            unreadable_finding(file.path, problem)
            if file.path == broken
            else read_bytes(file, limit)
        )

    monkeypatch.setattr(file_bytes, "read_bytes", failing)
    assert build_index([root], index_dir, BuildOptions()).counts["failed"] == 1
    monkeypatch.undo()
    assert build_index([root], index_dir, BuildOptions()).counts["failed"] == 0


def test_verify_sees_a_change_in_a_file_that_a_manifest_names(root, index_dir) -> None:
    folder = root / "long"
    folder.mkdir()
    (folder / "CAPABILITY.yaml").write_text(
        "name: long\nkind: tool\ndescription: Long.\nskillContent: text.md\n"
    )
    (folder / "text.md").write_text("The first text.")
    build_index([root], index_dir, BuildOptions())
    (folder / "text.md").write_text("The second text.")
    build_index([root], index_dir, BuildOptions(verify=True))
    with Index(index_dir) as index:
        assert "second" in index.descriptor("tool:long").content


def test_a_folder_with_a_line_break_in_its_name_disturbs_no_other_vector(
    root, index_dir, write_skill
) -> None:
    write_skill(root / "we\nird", "beta", "Boils water over a fire. Use when asked.")
    write_skill(root, "zeta", "Plays chess against a friend. Use when asked.")
    build_index([root], index_dir, BuildOptions())
    assert all("\n" not in identifier for identifier in ids(index_dir))
    encoder = encoders.load_encoder()
    with Index(index_dir) as index:
        assert index.matrix.nearest(encoder.encode_query("plays chess"), 1)[0][0] == "skill:zeta"


def test_an_encoder_that_was_asked_for_and_is_missing_is_an_error_that_changes_nothing(
    root, index_dir
) -> None:
    build_index([root], index_dir, BuildOptions())
    with pytest.raises(EncoderError):
        build_index(
            [root], index_dir, BuildOptions(encoder="no-such-model", encoder_required=True)
        )
    with Index(index_dir) as index:
        assert index.generation.number == 1


def test_a_rebuild_keeps_the_encoder(hermetic, root, index_dir) -> None:
    folder = hermetic / "model"
    shutil.copytree(MODEL_FOLDER, folder)
    build_index([root], index_dir, BuildOptions(encoder=str(folder)))
    assert build_index([root], index_dir, BuildOptions(rebuild=True)).generation.encoder == str(
        folder
    )


def test_an_added_root_without_files_is_remembered(hermetic, root, index_dir) -> None:
    build_index([root], index_dir, BuildOptions())
    (hermetic / "empty").mkdir()
    build_index([root, hermetic / "empty"], index_dir, BuildOptions())
    with Index(index_dir) as index:
        assert index.meta("scan")["roots"] == [str(root), str(hermetic / "empty")]


def test_a_manifest_whose_companion_cannot_be_read_stays_out_and_is_not_read_again(
    root, index_dir
) -> None:
    folder = root / "one" / "x"
    folder.mkdir(parents=True)
    (folder / "CAPABILITY.yaml").write_text("name: x\nkind: tool\ndescription: Half a tool.\n")
    (folder / "SKILL.md").write_text("y" * 2_000_000)
    first = build_index([root], index_dir, BuildOptions())
    assert [each.code for each in first.findings if each.severity == "error"] == ["file-too-large"]
    assert "tool:x" not in ids(index_dir)
    assert build_index([root], index_dir, BuildOptions()).published is False


def test_a_manifest_whose_companion_becomes_a_link_to_the_outside_goes_and_comes_back(
    root, index_dir, tmp_path
) -> None:
    (tmp_path / "outside.md").write_text("CANARY")
    folder = root / "linked"
    folder.mkdir()
    (folder / "CAPABILITY.yaml").write_text(
        "name: linked\nkind: tool\ndescription: A tool with a text beside it.\n"
    )
    build_index([root], index_dir, BuildOptions())
    assert "tool:linked" in ids(index_dir)
    (folder / "SKILL.md").symlink_to(tmp_path / "outside.md")
    report = build_index([root], index_dir, BuildOptions())
    assert [each.code for each in report.findings if each.severity == "error"] == ["symlink"]
    assert "tool:linked" not in ids(index_dir)
    (folder / "SKILL.md").unlink()
    build_index([root], index_dir, BuildOptions())
    assert "tool:linked" in ids(index_dir)
