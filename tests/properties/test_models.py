"""A damaged model is refused before it gives a vector; words answer without model or network."""

import shutil

import pytest
from adopting import adopt
from damaged_models import DAMAGES, another, copy_of

from capdisc_indexer import encoders
from capdisc_indexer.encoders import static_encoder
from capdisc_indexer.indexing.pipeline import build_index
from capdisc_indexer.model.errors import EncoderError
from capdisc_indexer.model.types import BuildOptions
from capdisc_indexer.store.snapshot import Index
from hostile.guard import GUARD


@pytest.fixture
def model(tmp_path):
    """A copy of the shipped model, which is too large to be kept after every test."""
    yield copy_of(tmp_path / "model")
    shutil.rmtree(tmp_path / "model", ignore_errors=True)


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_model_is_refused_before_anything_is_stored(
    name, model, tmp_path, write_skill, monkeypatch
) -> None:
    write_skill(tmp_path / "skills", "pull-turnips")
    index = tmp_path / "index"
    DAMAGES[name](model)
    monkeypatch.setattr(static_encoder, "MODEL_FOLDER", model)
    with pytest.raises(EncoderError):
        build_index([tmp_path / "skills"], index, BuildOptions(encoder_required=True))
    assert not (index / "CURRENT").exists()


@pytest.mark.parametrize("name", ["flipped weights", "another table under a right digest"])
def test_an_index_made_without_its_model_has_no_vectors_and_says_so(
    name, model, tmp_path, write_skill, monkeypatch
) -> None:
    """A missing encoder leaves an index without vectors, with a notice (S267)."""
    write_skill(tmp_path / "skills", "pull-turnips")
    DAMAGES[name](model)
    monkeypatch.setattr(static_encoder, "MODEL_FOLDER", model)
    report = build_index([tmp_path / "skills"], tmp_path / "index", BuildOptions())
    assert len(report.degraded) == 1
    assert report.generation.counts["rows"] == 0


def test_vectors_of_two_models_of_one_dimension_never_mix(
    model, tmp_path, write_skill, capdisc
) -> None:
    """An index built with one model is not asked with another of the same dimension (S174)."""
    skills, index, other = tmp_path / "skills", tmp_path / "index", another(model)
    write_skill(skills, "pull-turnips", "Pulls turnips. Use in autumn.")
    build_index([skills], index, BuildOptions())
    adopt(index)
    found = capdisc(
        "search", "pull turnips", "--encoder", str(other), "--index-dir", str(index), "--json"
    ).json
    assert found["mode"] == "lexical"
    assert any("another encoder" in text for text in found["degraded"])
    write_skill(skills, "sow-beets", "Sows beets. Use in spring.")
    report = build_index([skills], index, BuildOptions(encoder=str(other)))
    with Index(index) as opened:
        assert opened.generation.fingerprint == encoders.load_encoder(str(other)).fingerprint
        assert report.counts["embedded"] == report.generation.counts["rows"] == 2


def test_without_a_model_or_a_network_there_is_one_notice(
    small, capdisc, tmp_path, monkeypatch
) -> None:
    monkeypatch.setattr(static_encoder, "MODEL_FOLDER", tmp_path / "nothing")
    assert capdisc("search", "merge PDF files").err.count("notice:") == 1


def test_without_a_model_or_a_network_words_answer(small, capdisc, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(static_encoder, "MODEL_FOLDER", tmp_path / "nothing")
    GUARD.start((str(tmp_path),))
    found = capdisc("search", "merge PDF files")
    noted = GUARD.stop()
    assert found.code == 0
    assert "skill:merge-pdfs" in found.out
    assert "words alone" in found.err
    assert not [text for text in noted if not text.startswith("a change")]


def test_a_model_by_name_is_not_fetched(small, capdisc, tmp_path) -> None:
    GUARD.start((str(tmp_path),))
    found = capdisc("search", "merge PDF files", "--encoder", "no-such-model-anywhere")
    noted = GUARD.stop()
    assert found.code == 0
    assert "notice:" in found.err
    assert not [text for text in noted if text.startswith("a connection")]
