"""config get, set, unset, edit and path."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

FILE = """# mine
limit = 3 # three

[validate]
# the profile
profile = "spec"

[[source]]
format = "openapi"
path = "x.yaml"
"""


@pytest.fixture
def user_file(hermetic) -> Path:
    return hermetic.parent / "home" / ".config" / "capdisc" / "config.toml"


def test_set_makes_the_users_own_file(capdisc, user_file) -> None:
    assert capdisc("config", "path").out == f"{user_file}\n"
    done = capdisc("config", "set", "limit", "5")
    assert (done.code, done.out, done.err) == (0, f"limit = 5  ({user_file})\n", "")
    assert capdisc("config", "get", "limit").out == "5\n"
    assert tomllib.loads(user_file.read_text()) == {"limit": 5}


@pytest.mark.parametrize(
    ("words", "value"),
    [
        (("lock_timeout", "2"), 2.0),
        (("lock-timeout", "2.5"), 2.5),
        (("pin", "a", "b c"), ["a", "b c"]),
        (("allow_secret_files", "true"), True),
        (("validate.profile", "strict"), "strict"),
        (("store.fresh_for", "60"), 60.0),
    ],
)
def test_values_have_the_type_of_their_setting(capdisc, user_file, words, value) -> None:
    assert capdisc("config", "set", *words, "--json").json["value"] == value
    name = words[0].replace("-", "_")
    assert capdisc("config", "get", name, "--json").json["value"] == value


def test_comments_order_and_everything_else_stay(capdisc, hermetic) -> None:
    file = hermetic / "capdisc.toml"
    file.write_text(FILE)
    capdisc("config", "set", "limit", "4", "--workspace")
    assert file.read_text() == FILE.replace("limit = 3", "limit = 4")
    capdisc("config", "set", "validate.profile", "strict", "--workspace")
    capdisc("config", "set", "budget", "900", "--workspace")
    content = tomllib.loads(file.read_text())
    assert (content["budget"], content["validate"]["profile"]) == (900, "strict")
    assert "# the profile" in file.read_text()
    capdisc("config", "unset", "budget", "--workspace")
    capdisc("config", "unset", "limit", "--workspace")
    assert "limit" not in tomllib.loads(file.read_text())


def test_the_spelling_of_a_key_in_the_file_is_kept(capdisc, hermetic) -> None:
    file = hermetic / "pyproject.toml"
    file.write_text('[project]\nname = "x"\n\n[tool.capdisc]\ntier1-top-k = 3\n')
    capdisc("config", "set", "tier1_top_k", "7", "--workspace")
    assert file.read_text() == ('[project]\nname = "x"\n\n[tool.capdisc]\ntier1-top-k = 7\n')


def test_a_path_is_taken_from_the_current_folder(
    capdisc, hermetic, user_file, monkeypatch
) -> None:
    (hermetic / ".git").mkdir()
    (hermetic / "inner").mkdir()
    monkeypatch.chdir(hermetic / "inner")
    capdisc("config", "set", "roots", "skills")
    assert tomllib.loads(user_file.read_text())["roots"] == [str(hermetic / "inner" / "skills")]
    capdisc("config", "set", "roots", "skills", "--workspace")
    assert tomllib.loads((hermetic / "capdisc.toml").read_text())["roots"] == ["inner/skills"]


def test_what_wins_over_the_changed_file_is_named(capdisc, hermetic, monkeypatch) -> None:
    (hermetic / "capdisc.toml").write_text("limit = 3\n")
    assert "capdisc.toml wins over" in capdisc("config", "set", "limit", "5").err
    monkeypatch.setenv("CAPDISC_LIMIT", "7")
    assert "CAPDISC_LIMIT wins over" in capdisc("config", "set", "limit", "5").err


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("set", "limit", "x"), 3, "must be a whole number"),
        (("set", "limit", "0"), 3, "between 1 and 1000"),
        (("set", "limit"), 2, "there is no value for limit"),
        (("set", "limit", "1", "2"), 2, "limit takes one value"),
        (("set", "validate.ignore", "E1"), 2, "there is no rule"),
        (("set", "store.allow", "s3://x", "--workspace"), 2, "only in your own file"),
        (("get",), 2, "which setting"),
        (("get", "limit", "5"), 2, "takes no value"),
        (("unset", "limit"), 3, "does not set limit"),
        (("edit",), 2, "on a terminal only"),
        (("path", "limit"), 2, "takes no setting"),
        (("--workspace",), 2, "--workspace goes with"),
    ],
)
def test_what_makes_no_sense_changes_nothing(capdisc, user_file, words, code, message) -> None:
    done = capdisc("config", *words)
    assert (done.code, done.out) == (code, "")
    assert message in done.err
    assert not user_file.exists() or user_file.read_text() == ""


def test_a_file_that_is_not_toml_is_left_as_it_is(capdisc, user_file) -> None:
    user_file.parent.mkdir(parents=True)
    user_file.write_text("limit = = 3\n")
    assert capdisc("config", "set", "limit", "5").code == 3
    assert user_file.read_text() == "limit = = 3\n"


def test_config_shows_the_variable_of_each_setting(capdisc, hermetic) -> None:
    assert "CAPDISC_LIMIT" in capdisc("config").out
