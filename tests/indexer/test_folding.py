"""Which descriptions are English; what follows for a search: spelling.txt of the transcripts."""

from __future__ import annotations

from capdisc_indexer.text.embedding_text import is_english
from case_rows import read_rows


def test_other_languages_are_told_from_english_and_its_names() -> None:
    assert not [text for text in read_rows(__file__, "other_languages") if is_english(text)]
    assert [text for text in read_rows(__file__, "english") if not is_english(text)] == []
