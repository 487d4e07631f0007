"""One builds and others read: from the store when it has news, else from their copy."""

import os
import subprocess
import sys

import pytest

from capdisc_indexer.store.shared_index import SharedIndex, StoreAccess
from capdisc_remote.bucket import Bucket
from capdisc_remote.store_layout import StoreError

pytestmark = pytest.mark.s3


def copy_of(home):
    (top,) = (home / ".cache" / "capdisc" / "shared").iterdir()
    return top / "copy"


def test_what_one_machine_builds_another_finds_as_if_it_were_its_own(
    capdisc, store, machine, skills, tmp_path
):
    machine("ci")
    built = capdisc("index", str(skills), "--json")
    assert (built.code, built.json["index_dir"], built.json["published"]) == (0, store.url, True)
    alone = capdisc("index", str(skills), "--index-dir", str(tmp_path / "alone"))
    assert alone.code == 0
    expected = capdisc(
        "search", "join pdf files", "--index-dir", str(tmp_path / "alone"), "--json"
    ).json
    machine("reader")
    answer = capdisc("search", "join pdf files", "--json").json
    # The disk of a machine that only reads says nothing of a shared index.
    assert answer.pop("freshness")["state"] == "unchecked"
    assert expected.pop("freshness")["state"] == "current"
    assert answer == expected
    assert "Joins several PDF" in capdisc("render", "join pdf files").out
    assert "send-mail" in capdisc("list").out


def test_a_reader_who_has_the_newest_asks_for_the_pointer_alone(capdisc, store, reader):
    store.seen.clear()  # the writer may read the table that it writes
    capdisc("search", "pdf")
    assert not [key for key in store.seen if "/table/" in key and key.startswith("GET")]
    assert not (copy_of(reader) / "table").exists()
    store.seen.clear()
    assert capdisc("search", "pdf").code == 0
    assert store.seen == ["GET CURRENT"]


def test_a_new_generation_is_picked_up_by_the_next_command(
    capdisc, machine, skills, write_skill, reader
):
    assert capdisc("search", "brew espresso").code == 1
    machine("ci")
    write_skill(skills, "brew-espresso", "Brews an espresso.")
    capdisc("index", str(skills))
    machine("reader")
    assert capdisc("search", "brew espresso", "--ids").out.split()[0] == "skill:brew-espresso"


def test_the_store_is_left_alone_for_as_long_as_the_setting_says(
    capdisc, store, monkeypatch, reader
):
    monkeypatch.setenv("CAPDISC_STORE_FRESH_FOR", "3600")
    capdisc("search", "pdf")
    store.seen.clear()
    assert capdisc("search", "pdf").code == 0
    assert store.seen == []


def test_without_a_store_the_last_copy_answers_and_says_so(capdisc, store, machine, reader):
    capdisc("search", "pdf")
    store.stop()
    result = capdisc("search", "pdf", "--json")
    assert result.code == 0 and result.json["hits"][0]["id"] == "skill:merge-pdfs"
    assert "does not answer; answering from the copy of " in result.json["degraded"][0]
    assert result.err.count("does not answer") == 1
    assert "does not answer" in capdisc("list").err
    machine("stranger")
    nothing = capdisc("search", "pdf")
    assert (nothing.code, nothing.out) == (
        4,
        "",
    ) and "hint: check AWS_ACCESS_KEY_ID" in nothing.err


def test_rights_that_were_taken_away_are_named_by_the_stores_own_word(
    capdisc, store, machine, skills
):
    machine("ci")
    store.spoil = lambda what, headers: (403, b"<Error><Code>AccessDenied</Code></Error>")
    refused = capdisc("index", str(skills))
    assert refused.code == 4 and "cannot be used: AccessDenied" in refused.err


def test_where_nothing_was_built_readers_learn_what_to_run(capdisc, store, machine):
    machine("reader")
    nothing = capdisc("search", "pdf")
    assert nothing.code == 4 and f"there is no index at {store.url} yet" in nothing.err
    store.url = "s3://no-such-bucket/x"
    assert "NoSuchBucket" in capdisc("search", "pdf", "--index-dir", store.url).err


def test_a_copy_that_was_damaged_here_is_copied_again(capdisc, reader):
    capdisc("search", "pdf")
    (copy_of(reader) / "gens/00000001/matrix/matrix.i8").write_bytes(b"?")
    result = capdisc("search", "pdf")
    assert (result.code, result.err) == (0, "") and "merge-pdfs" in result.out


def test_status_and_doctor_name_the_store_and_the_copy(capdisc, store, reader):
    facts = capdisc("status", "--json").json
    assert (facts["index_dir"], facts["copy"]) == (store.url, str(copy_of(reader)))
    deep = capdisc("doctor", "--deep", "--json").json
    assert {check["name"]: check["state"] for check in deep["checks"]}["store"] == "ok"
    assert deep["index_dir"] == store.url and not [
        check for check in deep["checks"] if check["state"] == "unusable"
    ]
    store.stop()
    down = capdisc("doctor")
    assert down.code == 1 and "does not answer" in down.out


def test_what_would_need_the_builders_files_says_why_it_does_not_work(capdisc, skills, built):
    assert "watch does not publish" in capdisc("watch", str(skills)).err
    run = capdisc("run", "merge-pdfs")
    assert run.code == 5 and "which others write" in run.err


def test_no_secret_is_in_a_file_or_a_message(capdisc, store, machine, skills, tmp_path):
    secret = os.environ["AWS_SECRET_ACCESS_KEY"]
    machine("ci")
    results = [
        capdisc("index", str(skills)),
        capdisc("search", "pdf"),
        capdisc("config", "--json"),
    ]
    store.spoil = lambda what, headers: (500, b"")
    results += [capdisc("doctor", "--json")]
    assert not [result for result in results if secret in result.out + result.err]
    assert not [
        path
        for path in tmp_path.rglob("*")
        if path.is_file() and secret.encode() in path.read_bytes()
    ]
    assert not [key for key in store.listing() if secret.encode() in store.get(key)]


def test_large_objects_go_up_and_come_down_in_parts(store, tmp_path):
    access = StoreAccess(
        options={"aws_endpoint_url": store.endpoint, "aws_skip_signature": "true"}, allow_http=True
    )
    bucket = Bucket(SharedIndex(bucket=store.bucket, prefix="idx", top=tmp_path, access=access))
    large = tmp_path / "large"
    large.write_bytes(os.urandom(20_000_001))
    bucket.put("text/large", large)
    pieces = list(bucket.read_chunks("text/large", 20_000_001))
    assert b"".join(pieces) == large.read_bytes() and len(pieces) == 3
    assert [request for request in store.seen if request.startswith("POST")]
    with pytest.raises(StoreError, match="larger than 1,000 bytes"):
        bucket.read("text/large", 1_000)


def test_two_commands_that_need_the_same_generation_copy_it_once(capdisc, store, reader):
    store.seen.clear()
    words = [sys.executable, "-m", "capdisc", "search", "pdf", "--ids"]
    both = [subprocess.Popen(words, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert [process.communicate()[0].split()[0] for process in both] == ["skill:merge-pdfs"] * 2
    assert len([request for request in store.seen if request.endswith("/MANIFEST")]) == 1


def test_without_the_extra_one_line_says_what_to_install(capdisc, store, machine, monkeypatch):
    machine("reader")
    monkeypatch.setitem(sys.modules, "obstore", None)
    missing = capdisc("search", "pdf")
    assert missing.code == 3 and "install the extra s3: " in missing.err
