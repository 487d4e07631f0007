"""What files say, as the command line shows it, beyond the transcripts in tests/rows."""

from __future__ import annotations

import zipfile
from collections.abc import Callable

import pytest

Write = Callable[..., None]


@pytest.fixture
def write(hermetic, monkeypatch) -> Write:
    """Write files by path; the commands after it use one index."""
    monkeypatch.setenv("CAPDISC_INDEX_DIR", str(hermetic / "index"))

    def make(files: dict[str, str]) -> None:
        for name, text in files.items():
            path = hermetic / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    return make


def manifest(name: str, rest: str = "", description: str = "Does it.") -> str:
    return f"kind: tool\nname: {name}\ndescription: {description}\n{rest}"


def test_a_word_document_is_read_as_sections(capdisc, write, hermetic) -> None:
    """A .docx of a [[source]] is found by its text (S40)."""
    write(
        {
            "capdisc.toml": '[[source]]\nformat = "document"\npath = "notes.docx"\n',
        }
    )
    body = "<w:p><w:r><w:t>Turnips are watered on Mondays.</w:t></w:r></w:p>"
    space = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    with zipfile.ZipFile(hermetic / "notes.docx", "w") as archive:
        archive.writestr(
            "word/document.xml", f"<w:document {space}><w:body>{body}</w:body></w:document>"
        )
    assert capdisc("index", "--quiet").code == 0
    assert "notes" in capdisc("search", "when are turnips watered", "--ids").out


def test_vectors_survive_a_rebuild_unless_they_are_damaged(capdisc, write, hermetic) -> None:
    """`index --rebuild` reads every file again and embeds no text whose intact vector is there;
    damaged ones are embedded anew (S175).
    """
    write({f"t/{n}/CAPABILITY.yaml": manifest(f"tool-{n}", "", f"Does {n}.") for n in "abcd"})
    index = ("index", "t", "--index-dir", str(hermetic / "own"))
    capdisc(*index, "--quiet")
    counts = capdisc(*index, "--rebuild", "--json").json["counts"]
    assert (counts["parsed"], counts["added"], counts["embedded"]) == (4, 4, 0)
    write({"t/a/CAPABILITY.yaml": manifest("tool-a", "", "Folds a paper crane.")})
    counts = capdisc(*index, "--rebuild", "--json").json["counts"]
    assert (counts["parsed"], counts["embedded"]) == (4, 1)
    own = ("--index-dir", str(hermetic / "own"))
    assert capdisc("search", "folding paper", "--ids", *own).out == "tool:tool-a\n"
    vectors = max((hermetic / "own").glob("gens/*/vectors/rows.f32"))
    data = vectors.read_bytes()
    vectors.write_bytes(bytes(255 - byte for byte in data))
    assert capdisc("doctor", "--deep", *own).code != 0
    assert capdisc(*index, "--rebuild", "--json").json["counts"]["embedded"] == 4
    assert capdisc("doctor", "--deep", *own).code == 0
