"""The shipped encoder gives right vectors, or none."""

import json
import shutil
from array import array

import numpy as np
import pytest

from capdisc_indexer import encoders, lazy_imports
from capdisc_indexer.encoders.quantisation import quantise, quantise_row
from capdisc_indexer.encoders.static_encoder import MODEL_FOLDER, StaticEncoder
from capdisc_indexer.model.errors import EncoderError


@pytest.fixture(scope="module")
def encoder():
    return encoders.load_encoder("static")


@pytest.fixture
def copy(tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(MODEL_FOLDER, folder)
    return folder


def test_vectors_are_unit_rows(encoder) -> None:
    rows = encoder.encode(["merge PDF files", "send an e-mail", ""])
    assert rows.shape == (3, encoder.dim)
    assert rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows, axis=1), [1, 1, 0], atol=1e-5)


def test_a_paraphrase_is_nearer_than_another_subject(encoder) -> None:
    query, near, far = encoder.encode(
        ["join two PDF documents", "merge PDF files into one", "weather forecast"]
    )
    assert query @ near > query @ far + 0.2


def test_the_query_path_agrees_with_the_bulk_path(encoder) -> None:
    for text in (
        "merge PDF files",
        "zażółć gęślą jaźń",
        "get_user_by_id",
        "x" * 20_000,
        "\ud800",
        "搜索文件",
    ):
        single = np.frombuffer(encoder.encode_query(text), np.int8).astype(np.float32)
        bulk = encoder.encode([text])[0]
        if text == "\ud800":  # no token, hence no direction
            assert not single.any()
        else:
            assert single @ bulk / np.linalg.norm(single) > 0.999


def test_a_query_has_the_same_vector_with_numpy_and_without(monkeypatch) -> None:
    texts = [
        "merge PDF files",
        "zażółć gęślą jaźń",
        "get_user_by_id",
        "\ud800",
        "",
        "搜索文件 " * 90,
    ]
    vectors = [StaticEncoder(MODEL_FOLDER).encode_query(text) for text in texts]
    monkeypatch.setattr(lazy_imports, "numpy_if_loaded", lambda: None)
    assert [StaticEncoder(MODEL_FOLDER).encode_query(text) for text in texts] == vectors


def test_the_vectors_of_many_queries_stay_right(encoder) -> None:
    first = encoder.encode_query("merge PDF files")
    for number in range(100):
        encoder.encode_query(f"query number {number}")
    assert encoder.encode_query("merge PDF files") == first


@pytest.mark.parametrize(
    ("name", "harm", "said"),
    [
        (
            "table.safetensors",
            lambda data: data[:500] + bytes([data[500] ^ 64]) + data[501:],
            "digest",
        ),
        ("table.safetensors", lambda data: data[:-100], "size"),
        ("table.safetensors", None, "missing"),
        ("model.json", None, "missing"),
    ],
)
def test_damage_is_found_before_any_vector_is_made(copy, name, harm, said) -> None:
    StaticEncoder(copy).check()
    data = (copy / name).read_bytes()
    (copy / name).unlink()
    if harm:
        (copy / name).write_bytes(harm(data))
    with pytest.raises(EncoderError, match=said):
        StaticEncoder(copy).check()


def test_another_table_has_another_fingerprint(copy, encoder) -> None:
    facts = json.loads((copy / "model.json").read_text())
    facts["files"]["table.safetensors"]["sha256"] = "0" * 64
    (copy / "model.json").write_text(json.dumps(facts))
    assert StaticEncoder(copy).fingerprint != encoder.fingerprint


def test_an_unknown_name_is_a_clear_error() -> None:
    with pytest.raises(EncoderError):
        encoders.load_encoder("no-such-model-anywhere")


def test_a_few_texts_give_the_very_rows_that_many_give(encoder) -> None:
    texts = [
        "Merges PDF files.",
        "",
        "日本語",
        "word " * 900,
        *(f"reads table {number} of mails" for number in range(80)),
    ]
    rows = encoder.encode(texts)
    assert encoder.encode_few(texts) == rows.tobytes()
    assert [quantise_row(array("f", row)) for row in rows.tolist()] == [
        row.tobytes() for row in quantise(rows)
    ]
