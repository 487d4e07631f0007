"""Text as pieces of a vocabulary: the same ids in memory and on disk, for any text."""

from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capdisc_indexer.encoders import word_pieces
from capdisc_indexer.encoders.word_pieces import (
    WordPieceTokenizer,
    make_disk_lookup,
    pack_vocabulary,
    split_words,
    unpack_vocabulary,
)
from case_rows import read_rows

VOCABULARY = "get user by id uber ##gr ##oße ##n c c++ github git hub 关闭 关 客厅 灯 свет ##s a b # ##b".split()
TEXT, STARTS = pack_vocabulary(VOCABULARY)
MEMORY = unpack_vocabulary(TEXT)
DISK = make_disk_lookup(memoryview(TEXT), memoryview(array("I", STARTS)))
NAMES = {number: piece for piece, number in MEMORY.items()}


def _cut(text: str) -> list[str]:
    return [NAMES[number] for number in WordPieceTokenizer(MEMORY.get).ids(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    read_rows(__file__, "pieces"),
)
def test_pieces(text, expected) -> None:
    assert _cut(text) == expected


@given(st.text(max_size=60))
def test_a_vocabulary_on_disk_cuts_as_one_in_memory(text) -> None:
    assert WordPieceTokenizer(DISK).ids(text) == WordPieceTokenizer(MEMORY.get).ids(text)


@given(
    st.lists(st.text(alphabet="abcdefgh#ß灯", min_size=1, max_size=4), unique=True, max_size=40)
)
def test_every_piece_of_a_packed_vocabulary_is_found_under_its_number(known) -> None:
    text, starts = pack_vocabulary(known)
    memory, disk = (
        unpack_vocabulary(text),
        make_disk_lookup(memoryview(text), memoryview(array("I", starts))),
    )
    assert sorted(memory) == sorted(known)
    assert all(disk(piece) == memory[piece] for piece in known)
    assert disk("zz") is None


@given(st.text())
def test_words_hold_no_blank_and_are_none_for_blanks_alone(text) -> None:
    assert all(word and not any(char.isspace() for char in word) for word in split_words(text))
    assert split_words(" \t\n.,") == []


@given(
    st.text(
        alphabet=st.one_of(
            st.characters(), st.sampled_from("aE1 -é\u0301\u0327\u0338ﬁ①가ᄀが\u3099\u2002—")
        ),
        max_size=40,
    )
)
def test_a_run_of_letters_beyond_ascii_loses_its_accents_as_the_whole_text_would(text) -> None:
    plain = word_pieces.unicodedata.normalize("NFKD", text)
    plain = word_pieces.unicodedata.normalize("NFC", word_pieces._ACCENTS.sub("", plain))
    assert split_words(text) == [word for word in word_pieces._SEPARATORS.split(plain) if word]
