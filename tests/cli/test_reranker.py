"""A second encoder that reorders the first hits of a search. The one of these tests knows three words
and is counted on to disagree with the table.
"""

import json

import numpy as np
import pytest

from capdisc.context import surroundings
from capdisc.context.freshness import IndexPlace
from capdisc.mcp_service.live_index import LiveIndex
from capdisc_indexer import lazy_imports
from capdisc_indexer.indexing import build_plan, reranker_vectors
from capdisc_indexer.retrieval import reranker as reranking

SKILLS = {
    "merge-pdfs": "Joins PDF documents into one file.",
    "split-pdfs": "Cuts PDF documents into several files.",
    "weather": "Tells the forecast for a city.",
}
QUESTION = "join PDF documents into one file"
# What the words of a text have in common with a question that has none of them.
OPINIONS = {"several": [1.0, 0.0], "forecast": [0.0, 1.0]}


class OpinionatedEncoder:
    """Holds texts that say "several" to answer everything, and remembers what it has encoded."""

    name, dim = "opinionated", 2

    def __init__(self, version: str = "1") -> None:
        self.fingerprint = f"opinionated:{version}"
        self.texts: list[str] = []
        self.fails_on: str | None = None

    def encode(self, texts):
        if self.fails_on is not None and any(self.fails_on in text for text in texts):
            raise RuntimeError("out of order")
        self.texts += texts
        rows = [
            next((row for word, row in OPINIONS.items() if word in text), [0.0, 1.0])
            for text in texts
        ]
        return np.array(rows, np.float32)

    def encode_query(self, text: str) -> bytes:
        return bytes([127, 0])


@pytest.fixture
def reranker(monkeypatch):
    """Stands in for the encoder named "opinionated", of which no package need be installed."""
    loaded = OpinionatedEncoder()

    def load(name):
        return (loaded, "") if name == loaded.name else load_named(name)

    load_named = build_plan.encoders.try_load_encoder
    for module in (reranker_vectors, build_plan.encoders):
        monkeypatch.setattr(module, "try_load_encoder", load)
    monkeypatch.setattr(reranking, "load_encoder", lambda _: loaded)
    reranking._load_reranker.cache_clear()
    yield loaded
    reranking._load_reranker.cache_clear()


@pytest.fixture
def skills(hermetic, write_skill, monkeypatch):
    for name, description in SKILLS.items():
        write_skill(hermetic / "skills", name, description)
    monkeypatch.setenv("CAPDISC_INDEX_DIR", str(hermetic / "index"))
    monkeypatch.setenv("CAPDISC_RERANKER", "opinionated")
    return hermetic / "skills"


def search(capdisc, *words: str):
    return capdisc("search", QUESTION, *words, "--json").json


def names(found) -> list[str]:
    return [hit["name"] for hit in found["hits"]]


def test_the_cosine_of_the_reranker_is_added_to_the_scores_where_it_is_asked_for(
    capdisc, skills, reranker
) -> None:
    assert capdisc("index", "skills").code == 0
    plain, reranked = search(capdisc), search(capdisc, "--mode", "rerank")
    assert (plain["mode"], reranked["mode"]) == ("hybrid", "rerank")
    assert (names(plain)[0], names(reranked)[0]) == ("merge-pdfs", "split-pdfs")
    assert reranked["hits"][0]["signals"]["reranker"] == 1
    assert not any("reranker" in hit["signals"] for hit in plain["hits"])
    assert reranked["degraded"] == []


def test_what_answers_many_queries_uses_it_by_itself(capdisc, skills, reranker, tmp_path) -> None:
    """A server, and an evaluation of what it finds; `--compare` has both. A single call does not."""
    capdisc("index", "skills")
    answer = capdisc("call", "search_tool", json.dumps({"query": QUESTION}))
    assert 0 <= answer.out.find("merge-pdfs") < answer.out.find("split-pdfs")
    runtime = surroundings.current_runtime()
    place = IndexPlace(index_dir=skills.parent / "index", runtime=runtime, config=runtime.config())
    with LiveIndex(runtime, runtime.config(), place, None).open_newest() as generation:
        assert generation.tool_ctx.mode == "rerank"
    (tmp_path / "queries.jsonl").write_text(json.dumps({"qid": "1", "text": QUESTION}) + "\n")
    (tmp_path / "qrels.tsv").write_text("1\tskill:split-pdfs\t1\n")
    judged = (str(tmp_path / "queries.jsonl"), str(tmp_path / "qrels.tsv"))
    assert [run["mode"] for run in capdisc("eval", *judged, "--json").json["modes"]] == ["rerank"]
    runs = capdisc("eval", *judged, "--compare", "hybrid,rerank", "--json").json["modes"]
    assert [run["mode"] for run in runs] == ["hybrid", "rerank"]


def test_only_what_changed_is_encoded_again(capdisc, skills, reranker, write_skill) -> None:
    capdisc("index", "skills")
    assert len(reranker.texts) == 2 * len(SKILLS)  # descriptions alone, and with their bodies
    reranker.texts.clear()
    write_skill(skills, "weather", "Tells the temperature of the sea.")
    capdisc("index", "skills")
    assert {text.partition(":")[0] for text in reranker.texts} == {"Weather"}
    assert names(search(capdisc, "--mode", "rerank"))[0] == "split-pdfs"
    reranker.texts.clear()
    capdisc("index", "skills")
    (skills / "weather" / "SKILL.md").unlink()
    capdisc("index", "skills")
    assert reranker.texts == []
    assert names(search(capdisc, "--mode", "rerank"))[0] == "split-pdfs"


def test_a_model_that_has_changed_is_not_asked_until_its_vectors_are_made_anew(
    capdisc, skills, reranker
) -> None:
    capdisc("index", "skills")
    reranker.fingerprint = "opinionated:2"
    found = search(capdisc, "--mode", "rerank")
    assert (found["mode"], names(found)[0]) == ("hybrid", "merge-pdfs")
    assert "opinionated is not what it was; run: capdisc index --rebuild" in found["degraded"][0]
    reranker.fingerprint = "opinionated:1"
    assert names(search(capdisc, "--mode", "rerank"))[0] == "split-pdfs"  # a failure is not kept
    reranking._load_reranker.cache_clear()
    reranker.fingerprint = "opinionated:2"
    reranker.texts.clear()
    capdisc("index", "skills", "--rebuild")
    assert len(reranker.texts) == 2 * len(SKILLS)
    assert names(search(capdisc, "--mode", "rerank"))[0] == "split-pdfs"


def test_status_and_doctor_name_it_and_none_removes_it(
    capdisc, skills, reranker, monkeypatch
) -> None:
    capdisc("index", "skills")
    assert capdisc("status", "--json").json["reranker"] == "opinionated"
    assert "reranker    opinionated" in capdisc("status").out
    checks = {check["name"]: check for check in capdisc("doctor", "--json").json["checks"]}
    assert (checks["reranker"]["state"], checks["reranker"]["text"]) == ("ok", "opinionated")
    monkeypatch.delenv("CAPDISC_RERANKER")  # as the index was made
    capdisc("index", "skills", "--rebuild")
    assert capdisc("status", "--json").json["reranker"] == "opinionated"
    monkeypatch.setenv("CAPDISC_RERANKER", "none")
    capdisc("index", "skills")
    assert capdisc("status", "--json").json["reranker"] is None
    assert "reranker" not in capdisc("status").out
    found = search(capdisc, "--mode", "rerank")
    assert (found["mode"], names(found)[0]) == ("hybrid", "merge-pdfs")
    assert "the index has no vectors of a reranker" in found["degraded"][0]


def test_a_model_that_cannot_be_loaded_costs_no_answer(
    capdisc, skills, reranker, monkeypatch
) -> None:
    monkeypatch.setenv("CAPDISC_RERANKER", "no-such-model")
    built = capdisc("index", "skills", "--json")
    assert built.code == 0
    assert "hits are not reranked by no-such-model: " in built.json["degraded"][0]
    assert "hits are not reranked by no-such-model: " in built.err
    assert names(search(capdisc))[0] == "merge-pdfs"
    asked = capdisc("search", QUESTION, "--mode", "rerank")
    assert asked.code == 0
    assert "notice: hits are not reranked: no-such-model has made no vectors" in asked.err
    checks = {check["name"]: check for check in capdisc("doctor", "--json").json["checks"]}
    assert checks["reranker"]["state"] == "notice"
    monkeypatch.setenv("CAPDISC_RERANKER", "opinionated")
    reranker.fails_on = ""
    assert "it fails on 6 of 6 texts" in capdisc("index", "skills", "--json").json["degraded"][0]
    reranker.fails_on = None
    assert capdisc("index", "skills", "--rebuild", "--json").json["degraded"] == []
    assert names(search(capdisc, "--mode", "rerank"))[0] == "split-pdfs"


def test_a_text_on_which_it_fails_costs_only_its_own_row(
    capdisc, skills, reranker, write_skill
) -> None:
    reranker.fails_on = "forecast"
    built = capdisc("index", "skills", "--json").json
    assert built["degraded"] == ["hits are not reranked by opinionated: it fails on 2 of 6 texts"]
    reranked = search(capdisc, "--mode", "rerank")
    assert (names(reranked)[0], reranked["degraded"]) == ("split-pdfs", [])
    reranker.texts.clear()
    assert capdisc("index", "skills", "--json").json["published"] is False
    write_skill(skills, "merge-pdfs", "Merges PDF documents.")
    capdisc("index", "skills")
    assert {text.partition(":")[0] for text in reranker.texts} == {"Merge Pdfs"}


@pytest.mark.parametrize("options", [(), ("--json",)])
@pytest.mark.parametrize("name", ["/no/such/folder", "opinionated"])
def test_what_could_not_be_used_is_not_tried_again_for_unchanged_files(
    capdisc, skills, reranker, monkeypatch, name, options
) -> None:
    monkeypatch.setenv("CAPDISC_RERANKER", name)
    monkeypatch.setattr(lazy_imports, "sentence_transformers", None)  # a call would fail
    reranker.fails_on = ""
    first = capdisc("index", "skills", "--json").json
    if name != "opinionated":
        assert "there is no folder /no/such/folder; give the path of" in first["degraded"][0]
        assert "model.onnx and tokenizer.json" in first["degraded"][0]
    for module in (reranker_vectors, build_plan.encoders):
        monkeypatch.setattr(module, "try_load_encoder", None)
    again = capdisc("index", "skills", *options)
    assert again.code == 0
    assert f"notice: hits are not reranked by {name}: it has made no vectors" in again.err
    assert capdisc("index", "skills", "--json").json["generation"] == first["generation"]


def test_a_query_on_which_it_fails_is_answered_without_it(capdisc, skills, reranker) -> None:
    capdisc("index", "skills")
    reranker.encode_query = None  # a call raises an error
    found = search(capdisc, "--mode", "rerank")
    assert (found["mode"], names(found)[0]) == ("hybrid", "merge-pdfs")
    problem = "hits are not reranked: opinionated fails on the query (TypeError)"
    assert found["degraded"] == [problem]


def test_a_hook_does_not_wait_for_it(capdisc, skills, reranker, monkeypatch) -> None:
    capdisc("index", "skills")
    monkeypatch.setenv("CAPDISC_MODE", "rerank")
    reranker.encode_query = None  # a call would fail
    prompt = json.dumps({"prompt": QUESTION})
    answer = capdisc("hook", "claude", "--no-build", "--gate", "off", stdin=prompt)
    assert "merge-pdfs" in answer.out
