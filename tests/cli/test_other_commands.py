"""index, show, list, config, init, new, validate: what a transcript cannot show."""

import os
import shutil
import stat
import subprocess
import sys

import pytest

from capdisc_indexer.encoders.static_encoder import MODEL_FOLDER


@pytest.fixture
def here(hermetic, monkeypatch):
    monkeypatch.setenv("CAPDISC_INDEX_DIR", str(hermetic / "index"))
    return hermetic


def test_the_index_folder_is_for_its_owner_alone(capdisc, here, write_skill) -> None:
    write_skill(here / "skills", "alpha")
    capdisc("index", "skills")
    assert stat.S_IMODE((here / "index").stat().st_mode) == 0o700


def test_a_read_only_index_still_answers(capdisc, here, write_skill, monkeypatch) -> None:
    write_skill(here / "skills", "alpha", "Folds paper cranes. Use when asked.")
    capdisc("index", "skills")
    before = sorted(str(path) for path in (here / "index").rglob("*"))
    real = os.access
    # Root may write anywhere, so the answer of a folder without write permission is given by hand.
    monkeypatch.setattr(
        os, "access", lambda path, mode: False if mode == os.W_OK else real(path, mode)
    )
    assert capdisc("search", "fold a crane", "--ids").out == "skill:alpha\n"
    assert sorted(str(path) for path in (here / "index").rglob("*")) == before


def test_the_first_line_of_a_new_manifest_names_a_schema_that_accepts_it(capdisc, here) -> None:
    import json

    import jsonschema
    import yaml

    capdisc("new", "tool", "zip-folder", "--description", "Packs: a folder # into a zip.")
    path = here / ".capdisc" / "capabilities" / "zip-folder" / "CAPABILITY.yaml"
    text = path.read_text()
    schema = (path.parent / text.splitlines()[0].partition("$schema=")[2]).resolve()
    manifest = yaml.safe_load(text)
    jsonschema.validate(manifest, json.loads(schema.read_text()))
    assert manifest["description"] == "Packs: a folder # into a zip."


def test_the_version_is_printed_with_little_loaded() -> None:
    code = (
        "import os, sys; from capdisc import __main__; sys.argv[1:] = ['--version']; "
        "os._exit = lambda status: sys.exit(print('capdisc_indexer.platforms' in sys.modules)); "
        "__main__.main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    version, is_loaded = done.stdout.splitlines()
    assert version.startswith("capdisc 0.")
    assert is_loaded == "False"


@pytest.mark.parametrize(
    "argv",
    [
        ("--help",),
        ("search", "merge PDF files"),
        ("render", "merge PDF files"),
        ("validate", "skills"),
        ("tools", "merge PDF files"),
        ("call", "search_tool", '{"query": "merge PDF files"}'),
    ],
)
def test_cold_commands_import_nothing_heavy(small, hermetic, write_skill, argv) -> None:
    write_skill(hermetic / "skills", "alpha")
    heavy = [
        "lancedb",
        "pyarrow",
        "torch",
        "sentence_transformers",
        "numpy",
        "rich",
        "pydantic",
        "asyncio",
    ]
    listed = f"[name for name in {heavy!r} if name in sys.modules]"
    script = f"import sys; from capdisc.args import command_table; command_table.run_command({list(argv)!r}); print({listed}, file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stderr.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    "argv",
    [
        ("show", "\udcff"),
        ("search", "--tag", "\udcff", "pdf"),
        ("render", "merge \udcff", "--format", "json"),
    ],
)
def test_bytes_that_are_no_text_are_no_bug(capdisc, small, argv) -> None:
    assert capdisc(*argv).code in (0, 1, 2)


def test_a_reader_that_is_gone_is_no_error_and_a_lost_stderr_costs_no_answer(small) -> None:
    def run(*argv: str, **streams: int) -> subprocess.CompletedProcess[bytes]:
        reading, writing = os.pipe()
        os.close(reading)
        chosen = {name: writing if value == -9 else value for name, value in streams.items()}
        done = subprocess.run([sys.executable, "-m", "capdisc", *argv], check=False, **chosen)
        os.close(writing)
        return done

    assert run("list", "--json", stdout=-9, stderr=subprocess.PIPE).returncode == 0
    query = ("search", "merge PDF files", "--exclude", "nosuch", "--ids")
    found = run(*query, stdout=subprocess.PIPE, stderr=-9)
    assert (found.returncode, found.stdout.split()[0]) == (0, b"skill:merge-pdfs")
    assert run("search", "--bogus", stdout=subprocess.PIPE, stderr=-9).returncode == 2


@pytest.mark.parametrize("harm", ["MANIFEST", "meta/overview.json"])
def test_after_damage_the_encoder_and_the_folders_are_still_known(
    capdisc, here, write_skill, harm
) -> None:
    write_skill(here / "skills", "alpha")
    shutil.copytree(MODEL_FOLDER, here / "mine")
    capdisc("index", "skills", "--encoder", "mine")
    path = here / "index" / "gens" / "00000001" / harm
    path.write_bytes(path.read_bytes() + b" ")
    done = capdisc("index", "--json").json
    assert "rebuilding it" in done["degraded"][0]
    assert done["roots"] == [str(here / "skills")]
    assert str(here / "mine") in (here / "index" / "gens" / "00000002" / "MANIFEST").read_text()


def test_an_encoder_in_a_file_is_meant_from_that_file(
    capdisc, here, write_skill, monkeypatch
) -> None:
    write_skill(here / "skills", "alpha", "Folds paper cranes. Use when asked.")
    shutil.copytree(MODEL_FOLDER, here / "mine")
    (here / "capdisc.toml").write_text('encoder = "./mine"\nroots = ["skills"]\n')
    (here / "sub").mkdir()
    monkeypatch.chdir(here / "sub")
    capdisc("trust", "--yes")
    assert capdisc("index").err == ""
    found = capdisc("search", "fold a crane", "--json")
    assert (found.json["mode"], found.err) == ("hybrid", "")
