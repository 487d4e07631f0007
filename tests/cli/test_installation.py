"""Hints name the command that fits how capdisc was installed."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest

from capdisc_indexer import installation, lazy_imports
from capdisc_indexer.model.errors import InputError

METADATA = """Metadata-Version: 2.4
Name: capdisc-cli
Version: 9.9
Requires-Dist: pyyaml>=6
Requires-Dist: matplotlib>=3.9; extra == 'plot'
Requires-Dist: ctok<2,>=1.3; (python_version >= "3.12") and extra == "claude"

Requires-Dist: not-a-requirement; extra == 'plot'
"""

# The names of what installers leave in an environment.
NOTES = {"pipx": "pipx_metadata.json", "receipt": "uv-receipt.toml"}


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Makes this process run from an environment that an installer has left these notes in."""

    def install(
        direct_url=None, installer="pip", prefix="env", name="capdisc_cli", **notes: str
    ) -> Path:
        environment = tmp_path / prefix
        packages = environment / "lib" / "site-packages"
        metadata = packages / f"{name}-9.9.dist-info"
        metadata.mkdir(parents=True)
        (metadata / "METADATA").write_text(METADATA)
        (metadata / "INSTALLER").write_text(f"{installer}\n")
        if direct_url:
            (metadata / "direct_url.json").write_text(json.dumps(direct_url))
        for name, text in notes.items():
            (environment / NOTES[name]).write_text(text)
        monkeypatch.setattr(sys, "prefix", str(environment))
        monkeypatch.setattr(sys, "executable", str(environment / "bin" / "python"))
        monkeypatch.syspath_prepend(packages)
        monkeypatch.setitem(sys.modules, "matplotlib", None)
        return environment

    return install


@pytest.fixture
def hint():
    """The command that the hint about the missing extra plot names."""

    def read() -> str:
        with pytest.raises(InputError) as failure:
            lazy_imports.matplotlib()
        return failure.value.hint.removeprefix("install the extra plot: ")

    return read


def local(path: Path, **info: object) -> dict[str, object]:
    return {"url": f"file://{path}", **info}


def test_from_the_package_index_pip_gets_the_name_of_the_distribution(installed, hint) -> None:
    environment = installed()
    assert hint() == f"{environment}/bin/python -m pip install 'capdisc-cli[plot]'"


def test_an_editable_clone_is_named_by_its_folder(installed, hint, tmp_path) -> None:
    environment = installed(local(tmp_path, dir_info={"editable": True}))
    assert hint() == f"{environment}/bin/python -m pip install -e '{tmp_path}[plot]'"


def test_a_folder_with_a_blank_in_its_name_is_decoded_and_quoted(installed, hint, tmp_path):
    clone = tmp_path / "my clone"
    clone.mkdir()
    installed(local(Path(str(clone).replace(" ", "%20")), dir_info={}))
    assert shlex.split(hint())[-1] == f"{clone}[plot]"


def test_a_folder_that_is_gone_is_not_named(installed, hint, tmp_path) -> None:
    installed(local(tmp_path / "gone", dir_info={}))
    assert hint().endswith("pip install 'capdisc-cli[plot]'")


def test_a_repository_is_named_with_its_commit(installed, hint) -> None:
    url = "https://code.example/capdisc.git"
    installed({"url": url, "vcs_info": {"vcs": "git", "commit_id": "1234abcd"}})
    assert hint().endswith(f"pip install 'capdisc-cli[plot] @ git+{url}@1234abcd'")


def test_an_environment_of_uv_has_no_pip(installed, hint) -> None:
    environment = installed(installer="uv")
    assert hint() == f"uv pip install --python {environment} 'capdisc-cli[plot]'"


def test_pipx_injects_what_the_extra_consists_of(installed, hint) -> None:
    installed(prefix="capdisc-cli-next", pipx="{}", installer="uv")
    assert hint() == "pipx inject capdisc-cli-next 'matplotlib>=3.9'"


RECEIPT = """[tool]
requirements = [{ name = "other" }, { name = "capdisc-cli", extras = ["sql"] }]
"""


def test_uv_tool_keeps_the_extras_that_are_there(installed, hint) -> None:
    installed(installer="uv", receipt=RECEIPT)
    assert hint() == "uv tool install 'capdisc-cli[sql,plot]'"


def test_a_broken_receipt_still_gives_a_hint(installed, hint) -> None:
    installed(installer="uv", receipt="[tool\n")
    assert hint() == "uv tool install 'capdisc-cli[plot]'"


def test_uvx_makes_its_environments_in_a_cache(installed, hint) -> None:
    installed(prefix="cache/archive-v0/A1b2", installer="uv")
    assert hint() == "uvx --from 'capdisc-cli[plot]' capdisc"


def test_a_wheel_that_was_installed_is_named_by_its_file(installed, hint, tmp_path) -> None:
    wheel = tmp_path / "capdisc_cli-9.9-py3-none-any.whl"
    wheel.touch()
    installed(local(wheel, archive_info={}), installer="uv", receipt=RECEIPT)
    assert hint() == f"uv tool install '{wheel}[sql,plot]'"


@pytest.mark.parametrize(
    ("prefix", "notes", "command"),
    [
        ("env", {}, "/env/bin/python -m pip install capdisc-cli"),
        ("capdisc-cli", {"pipx": "{}"}, "pipx reinstall capdisc-cli"),
        ("env", {"receipt": RECEIPT}, "uv tool install --reinstall 'capdisc-cli[sql]'"),
        ("archive-v0/A1", {}, "uvx --refresh --from capdisc-cli capdisc"),
    ],
)
def test_a_library_that_is_not_installed_is_named_with_the_command_that_brings_it(
    installed, capdisc, monkeypatch, prefix, notes, command
) -> None:
    """So it is where only what `validate` needs was installed."""
    installed(prefix=prefix, **notes)
    monkeypatch.setitem(sys.modules, "tantivy", None)
    skill = Path("skills/tidy/SKILL.md")
    skill.parent.mkdir(parents=True)
    skill.write_text(
        "---\nname: tidy\ndescription: Tidies a changelog. Use it on request.\n---\nx\n"
    )
    done = capdisc("index", "skills")
    assert (done.code, done.out) == (4, "")
    assert "error: this needs the library tantivy, which is not installed" in done.err
    assert done.err.strip().endswith(command)


LIGHT_RECEIPT = """[tool]
requirements = [{ name = "capdisc-light", extras = ["sql"] }]
"""


@pytest.mark.parametrize(
    ("notes", "expected"),
    [
        ({}, "/env/bin/python -m pip install 'capdisc-light[full]'"),
        ({"receipt": LIGHT_RECEIPT}, "uv tool install 'capdisc-light[sql,full]'"),
    ],
)
def test_of_a_light_installation_all_libraries_are_an_extra(installed, notes, expected) -> None:
    installed(name="capdisc_light", **notes)
    assert installation.repair_hint().endswith(expected)


def test_a_distribution_in_a_folder_of_a_repository_is_named_with_it(installed, hint, tmp_path):
    url = "https://code.example/capdisc.git"
    origin = {"vcs_info": {"vcs": "git", "commit_id": "1234abcd"}, "subdirectory": "light"}
    installed({"url": url, **origin}, name="capdisc_light")
    wanted = f"'capdisc-light[plot] @ git+{url}@1234abcd#subdirectory=light'"
    assert hint().endswith(f"pip install {wanted}")


def test_a_folder_of_a_clone_is_named_as_a_whole(installed, hint, tmp_path) -> None:
    (tmp_path / "light").mkdir()
    installed(local(tmp_path, vcs_info={}, subdirectory="light"), name="capdisc_light")
    assert hint().endswith(f"pip install '{tmp_path}/light[plot]'")
