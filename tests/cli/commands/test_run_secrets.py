"""capdisc run: a tool's output shows no secret, and some variables are no secrets."""

import json

import pytest

from capdisc.context import surroundings

SECRET = "hush-0123456789-value"


@pytest.fixture
def tool(hermetic, monkeypatch, capdisc):
    """Write a capability called `say` that is given KEY, and index it."""
    monkeypatch.setenv("CAPDISC_INDEX_DIR", str(hermetic / "index"))
    monkeypatch.setenv("KEY", SECRET)

    def write(text: str, secrets: str = "KEY") -> None:
        path = hermetic / "tools" / "say" / "CAPABILITY.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        run = json.dumps({"command": ["sh", "-c", text]})
        path.write_text(
            f"name: say\nkind: tool\ndescription: Says what it knows.\nrequiredSecrets: [{secrets}]\nrun: {run}\n"
        )
        assert capdisc("index", "tools").code == 0

    return write


def test_a_secret_at_the_limit_of_output_does_not_come_out_in_part(capdisc, tool) -> None:
    """Once, after 1,012 bytes and a secret, stdout ended in its first 12 characters."""
    tool("head -c 1012 /dev/zero | tr '\\0' x; echo $KEY; head -c 2000 /dev/zero")
    found = capdisc("run", "say", "--yes", "--max-output", "1", "--json")
    assert (found.code, found.json["status"]) == (124, "too-large")
    assert found.json["stdout"] == "x" * 1012 + "<secret KEY>"


@pytest.mark.parametrize(("stream", "name"), [("1", "stdout"), ("2", "stderr")])
def test_a_secret_at_the_limit_of_time_does_not_come_out_in_part(
    capdisc, tool, stream: str, name: str
) -> None:
    """Once half of a secret came out when the time limit fell between two writes."""
    tool(f"printf %.9s $KEY >&{stream}; sleep 60")
    found = capdisc("run", "say", "--yes", "--timeout", "1s", "--json")
    assert (found.json["status"], found.json[name]) == ("timeout", "<secret KEY>")
    done = capdisc("run", "say", "--yes", "--timeout", "1s")
    assert "hush" not in done.out + done.err


def test_secrets_too_short_to_be_masked_are_named_before_a_yes(capdisc, tool, monkeypatch) -> None:
    tool("echo $PIN", secrets="PIN, KEY")
    monkeypatch.setenv("PIN", "1234")
    note = "note: too short to be taken out of what is printed (under 6 characters): PIN\n"
    for flags in (("--dry-run",), ("--yes",)):
        assert note in capdisc("run", "say", *flags).err
    for flags in (("--dry-run", "--json"), ("--yes", "--json")):
        assert capdisc("run", "say", *flags).json["unmasked"] == ["PIN"]
    monkeypatch.setattr(surroundings, "is_terminal", lambda stream: True)
    asked = capdisc("run", "say", stdin="n\n").err
    assert 0 < asked.index(note) < asked.index("Run it?")
    monkeypatch.setenv("PIN", "123456")
    assert "too short" not in capdisc("run", "say", "--dry-run").err


@pytest.mark.parametrize(
    "name", ["PATH", "HOME", "LD_PRELOAD", "PYTHONPATH", "IFS", "BASH_ENV", "GIT_SSH_COMMAND"]
)
def test_a_variable_that_steers_programs_is_no_secret(
    capdisc, tool, monkeypatch, name: str
) -> None:
    """Once `requiredSecrets: [PATH]` brought the relative parts of PATH back."""
    monkeypatch.setenv(name, f".:{SECRET}:/usr/bin:/bin")
    tool(f"echo ${name}", secrets=name)
    for flags in (("--dry-run",), ("--yes",)):
        done = capdisc("run", "say", *flags)
        assert (done.code, done.out) == (3, "")
        assert f"{name} is no secret: it decides what programs find, load or start" in done.err
        assert f"hint: leave {name} out of requiredSecrets" in done.err
    [finding] = capdisc("validate", "tools", "--format", "json").json["findings"]
    assert (finding["code"], finding["severity"], finding["line"]) == (
        "steering-variable",
        "error",
        4,
    )


@pytest.mark.parametrize(
    "name", ["GITHUB_TOKEN", "LDAP_PASSWORD", "GIT_TOKEN", "PYPI_TOKEN", "LUMA_KEY"]
)
def test_names_that_only_begin_like_them_are_secrets(
    capdisc, tool, monkeypatch, name: str
) -> None:
    monkeypatch.setenv(name, SECRET)
    tool(f"echo ${name}", secrets=name)
    assert capdisc("run", "say", "--yes").out == f"<secret {name}>\n"
    assert capdisc("validate", "tools").code == 0
