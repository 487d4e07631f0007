"""A model in the form of ONNX as an encoder; needs the extra `onnx`. The model of these tests gives
each word its own row of a table.
"""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

from capdisc_indexer import encoders
from capdisc_indexer.model.errors import EncoderError
from case_rows import read_rows

MISSING = [
    name for name in ("onnxruntime", "tokenizers") if importlib.util.find_spec(name) is None
]
pytestmark = [
    pytest.mark.onnx,
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}"),
]
WORDS = ("[UNK]", "pdf", "merge", "join", "weather", "forecast", "query", "passage")
# Synonyms have nearly the same row.
ROWS = read_rows(__file__, "rows")
INT64, FLOAT = 7, 1


def field(number: int, value: int | bytes | str) -> bytes:
    """One field of a message of protobuf."""

    def varint(rest: int) -> bytes:
        return bytes([rest]) if rest < 128 else bytes([rest % 128 + 128]) + varint(rest // 128)

    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def tensor_info(name: str, kind: int, rank: int) -> bytes:
    shape = b"".join(field(1, field(2, f"axis{axis}")) for axis in range(rank))
    return field(1, name) + field(2, field(1, field(1, kind) + field(2, shape)))


def write_model(folder: Path, rows=ROWS) -> Path:
    """A folder with a model that looks up a row for each token, and its tokenizer."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    folder.mkdir(parents=True, exist_ok=True)
    table = np.array(rows, np.float32)
    node = field(1, "table") + field(1, "input_ids") + field(2, "tokens") + field(4, "Gather")
    weights = b"".join(field(1, size) for size in table.shape)
    weights += field(2, FLOAT) + field(8, "table") + field(9, table.tobytes())
    graph = field(1, node) + field(2, "lookup") + field(5, weights)
    graph += field(11, tensor_info("input_ids", INT64, 2))
    graph += field(12, tensor_info("tokens", FLOAT, 3))
    model = field(1, 8) + field(7, graph) + field(8, field(2, 13))
    (folder / "model.onnx").write_bytes(model)
    numbers = {word: number for number, word in enumerate(WORDS)}
    tokenizer = Tokenizer(models.WordLevel(numbers, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


@pytest.fixture
def model(hermetic) -> Path:
    return write_model(hermetic / "model")


def test_vectors_are_the_mean_of_the_tokens_at_unit_length(model) -> None:
    encoder = encoders.load_encoder(str(model))
    rows = encoder.encode(["pdf merge", "weather"])
    assert np.allclose(rows, [[0.5**0.5, 0.5**0.5, 0], [0, 0, 1]], atol=1e-6)
    assert encoder.dim == 3
    assert list(np.frombuffer(encoder.encode_query("weather"), np.int8)) == [0, 0, 127]


def test_the_first_token_counts_where_the_model_says_so(model) -> None:
    (model / "1_Pooling").mkdir()
    (model / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_cls_token": True}))
    encoder = encoders.load_encoder(str(model))
    assert np.allclose(encoder.encode(["pdf merge"]), [[1, 0, 0]], atol=1e-6)


def test_prompts_of_the_model_stand_before_queries_and_texts(model) -> None:
    prompts = {"prompts": {"query": "query ", "passage": "passage "}}
    (model / "config_sentence_transformers.json").write_text(json.dumps(prompts))
    encoder = encoders.load_encoder(str(model))
    assert np.allclose(encoder.encode(["weather"]), [[0, -(0.5**0.5), 0.5**0.5]], atol=1e-6)
    assert list(np.frombuffer(encoder.encode_query("weather"), np.int8)) == [-127, 0, 127]


def test_a_file_below_its_configuration_and_another_model(model, hermetic) -> None:
    """A repository of a model has its ONNX files in a folder of their own."""
    (model / "onnx").mkdir()
    (model / "model.onnx").rename(model / "onnx" / "model_int8.onnx")
    encoder = encoders.load_encoder(str(model / "onnx" / "model_int8.onnx"))
    assert encoder.dim == 3
    other = write_model(hermetic / "other", rows=[row[::-1] for row in ROWS])
    assert encoders.load_encoder(str(other)).fingerprint != encoder.fingerprint


def test_what_is_missing_or_damaged_is_named(model) -> None:
    (model / "model.onnx").write_bytes(b"no model")
    with pytest.raises(EncoderError, match="cannot be loaded"):
        encoders.load_encoder(str(model))
    (model / "tokenizer.json").unlink()
    with pytest.raises(EncoderError, match=r"no tokenizer\.json next to"):
        encoders.load_encoder(str(model))


def test_a_model_replaces_the_table_or_reorders_what_the_table_finds(
    capdisc, hermetic, write_skill, model
) -> None:
    write_skill(hermetic / "skills", "merge", "Merge pdf files.")
    write_skill(hermetic / "skills", "weather", "The weather and its forecast.")
    place = ("--index-dir", str(hermetic / "index"))
    built = capdisc("index", "skills", "--encoder", "model", "--json", *place)
    assert (built.code, built.json["degraded"]) == (0, [])
    found = capdisc("search", "join pdf", "--json", *place).json
    assert (found["mode"], found["hits"][0]["id"]) == ("hybrid", "skill:merge")


def test_a_reranker_reads_the_first_hits(
    capdisc, hermetic, write_skill, model, monkeypatch
) -> None:
    write_skill(hermetic / "skills", "merge", "Merge pdf files.")
    monkeypatch.setenv("CAPDISC_RERANKER", "model")
    place = ("--index-dir", str(hermetic / "index"))
    built = capdisc("index", "skills", "--json", *place)
    assert (built.code, built.json["degraded"]) == (0, [])
    (hit,) = capdisc("search", "join pdf", "--mode", "rerank", "--json", *place).json["hits"]
    assert hit["signals"]["reranker"] > 0.9
