"""A bucket is believed only as far as it fits its pointer, and only the user names one."""

import hashlib
import json
import subprocess
import sys

import pytest

from capdisc_indexer.model.errors import IndexStateError, UsageError
from capdisc_indexer.plugins.registry import find_store
from capdisc_indexer.store.generation import SCHEMA_VERSION
from capdisc_indexer.store.shared_index import StoreAccess
from capdisc_remote import store_layout
from capdisc_remote.store_layout import parse_address
from case_rows import read_rows

COUNTS = dict.fromkeys(
    "capabilities rows dim deleted files passages passage_dim deleted_passages "
    "passage_limit passage_bytes reranker_dim".split(),
    1,
)
FACTS = {
    "made_by": "1",
    "builder_id": "",
    "encoder": "",
    "fingerprint": "",
    "pieces": "",
    "reranker": "",
    "reranker_fingerprint": "",
    "background": 0.0,
    "built_at": "",
}


def manifest(files):
    return json.dumps(
        {"schema_version": SCHEMA_VERSION, "counts": COUNTS, "files": files, **FACTS}
    ).encode()


@pytest.mark.parametrize("name", read_rows(__file__, "names"))
def test_a_manifest_that_names_anything_but_plain_files_is_refused(name):
    data = manifest({name: {"size": 1, "sha256": "0" * 64}})
    with pytest.raises(IndexStateError, match="names what no index has"):
        store_layout.manifest_files(data, hashlib.sha256(data).hexdigest())


@pytest.mark.parametrize("entry", [{"size": -1, "sha256": "0" * 64}, {"size": 1, "sha256": "0"}])
def test_sizes_and_digests_must_be_such(entry):
    data = manifest({"text/a": entry})
    with pytest.raises(IndexStateError, match="names what no index has"):
        store_layout.manifest_files(data, hashlib.sha256(data).hexdigest())


def test_more_than_any_index_has_is_refused_before_a_byte_is_fetched():
    for files in (
        {"text/a": {"size": 1 << 50, "sha256": "0" * 64}},
        {
            f"text/{number}": {"size": 0, "sha256": "0" * 64}
            for number in range(store_layout.MAX_FILES + 1)
        },
    ):
        data = manifest(files)
        with pytest.raises(IndexStateError, match="larger than an index may be"):
            store_layout.manifest_files(data, hashlib.sha256(data).hexdigest())


def test_a_manifest_that_the_pointer_does_not_name_is_refused():
    with pytest.raises(IndexStateError, match="does not match its digest"):
        store_layout.manifest_files(manifest({}), "0" * 64)


@pytest.mark.parametrize("text", read_rows(__file__, "pointers"))
def test_a_damaged_pointer_is_named(text):
    with pytest.raises(IndexStateError, match="pointer is damaged"):
        store_layout.parse_pointer(text)


def test_addresses_are_plain():
    assert parse_address("s3:/team/a/b/") == parse_address("s3://team/a//b") == ("team", "a/b")
    assert find_store("indexes/s3") is find_store("./s3:/x") is None
    for text in (
        "s3://",
        "s3://team/../x",
        "gs://team/x",
        "https://host/x",
        "s3://te am/x",
        "s3://team/a?b",
        "s3://team/.x",
    ):
        with pytest.raises(UsageError):
            parse_address(text)


def test_secrets_are_not_part_of_what_an_access_looks_like():
    assert "hunter2" not in repr(StoreAccess(options={"aws_secret_access_key": "hunter2"}))


def test_another_kind_of_address_is_no_folder(capdisc):
    refused = capdisc("search", "pdf", "--index-dir", "gs://team/idx")
    assert refused.code == 2 and "s3://BUCKET/PREFIX" in refused.err


def test_a_search_in_a_folder_loads_nothing_of_all_this(small):
    code = (
        "import sys; from capdisc.args import command_table; command_table.run_command(['search', 'pdf'])\n"
        "sys.exit(any(name.startswith(('obstore', 'capdisc_remote.store_layout')) for name in sys.modules))"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode
        == 0
    )


def test_a_copy_that_is_fresh_needs_nothing_that_speaks_to_a_store():
    code = (
        "import sys, capdisc_remote.store_access\n"
        "sys.exit(any(name.endswith(('capdisc_remote.bucket', 'remote_generation', 'obstore')) for name in sys.modules))"
    )
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert process.returncode == 0, process.stderr


def configured(hermetic, text, name="capdisc.toml"):
    path = hermetic / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_a_workspaces_file_may_not_make_us_use_the_network(capdisc, hermetic):
    configured(hermetic, 'index_dir = "s3://evil/idx"\n[store]\nallow = ["s3://evil/"]\n')
    for command in (("search", "pdf"), ("index",), ("doctor",), ("status",)):
        refused = capdisc(*command)
        assert (refused.code, refused.out) == (5, "")
        assert "names an index on a network, s3://evil/idx, which only you may do" in refused.err
    shown = capdisc("config")
    assert (
        shown.code == 0
        and "which only you may do" in shown.err
        and "store.allow (set it in your own file)" in shown.err
    )


@pytest.mark.s3
def test_what_the_user_allowed_a_workspaces_file_may_name(
    capdisc, store, hermetic, machine, skills, monkeypatch
):
    monkeypatch.delenv("CAPDISC_INDEX_DIR")
    home = machine("ci")
    configured(hermetic, f'index_dir = "{store.url}"\n')
    assert capdisc("index", str(skills)).code == 5 and store.seen == []
    monkeypatch.setenv("CAPDISC_STORE_ALLOW", f"s3://{store.bucket}x")
    assert capdisc("index", str(skills)).code == 5
    monkeypatch.delenv("CAPDISC_STORE_ALLOW")
    configured(home, f'[store]\nallow = ["s3://{store.bucket}/"]\n', ".config/capdisc/config.toml")
    assert capdisc("index", str(skills)).code == 0
    assert capdisc("search", "pdf").code == 0


@pytest.mark.s3
def test_what_the_user_trusts_a_workspaces_file_may_name(
    capdisc, store, hermetic, machine, skills, monkeypatch
):
    monkeypatch.delenv("CAPDISC_INDEX_DIR")
    machine("ci")
    configured(hermetic, f'index_dir = "{store.url}"\n')
    refused = capdisc("index", str(skills))
    assert refused.code == 5 and "capdisc trust" in refused.err and store.seen == []
    shown = capdisc("trust", "--yes")
    assert (shown.code, store.seen) == (0, []) and f"index_dir {store.url}" in shown.out
    assert capdisc("index", str(skills)).code == 0
    assert capdisc("search", "pdf").code == 0
    configured(hermetic, f'index_dir = "{store.url}"\nlimit = 3\n')
    assert capdisc("search", "pdf").code == 5


@pytest.mark.s3
def test_an_object_that_was_tampered_with_is_refused_and_the_last_copy_answers(
    capdisc, store, machine, skills, write_skill, reader
):
    capdisc("search", "pdf")
    machine("ci")
    write_skill(skills, "brew-espresso", "Brews an espresso.")
    capdisc("index", str(skills))
    for key in store.listing():
        if "/00000002" in key and key.endswith("overview.json"):
            store.put(key, store.get(key).replace(b"skill", b"skull"))
    machine("reader")
    result = capdisc("search", "espresso")
    assert result.code == 1 and "does not match its digest; answering from the copy" in result.err
    stranger = machine("stranger")
    refused = capdisc("search", "espresso")
    assert refused.code == 4 and "does not match its digest" in refused.err
    assert not list(stranger.rglob("overview.json"))


@pytest.mark.s3
def test_a_reader_whose_generation_is_removed_while_it_copies_takes_the_newer_one(
    capdisc, process, store, machine, skills, write_skill
):
    ci = {"HOME": str(machine("ci"))}
    capdisc("index", str(skills))
    (old,) = store.generations()

    def replace(what, headers):
        if what.endswith("meta/state") and old in what:
            store.spoil = None
            write_skill(skills, "brew-espresso", "Brews an espresso.")
            assert process("index", str(skills), env=ci).code == 0
            for key in store.listing():
                if old in key:
                    store.direct("DELETE", f"/{store.bucket}/idx/{key}")

    store.spoil = replace
    machine("reader")
    result = capdisc("search", "espresso", "--ids")
    assert (result.out.split()[0], result.err) == ("skill:brew-espresso", "")
