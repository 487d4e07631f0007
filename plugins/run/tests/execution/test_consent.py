"""What needs consent before a call, and what a yes covers."""

import os
from pathlib import Path

import pytest

from capdisc_indexer.model.errors import InputError
from capdisc_indexer.model.frozen import replace
from capdisc_indexer.tools.call_context import ExecutionContext
from capdisc_run import approvals
from capdisc_run.prepare import prepare_call

RUN = {"command": ["cat", "scripts/go.txt"]}


def _reasons(descriptor, is_known=True):
    return approvals.approval_reasons(descriptor, _call(descriptor), is_known)


def _call(descriptor, arguments=None):
    place = ExecutionContext(environ={"PATH": os.environ["PATH"], "KEY": "x"}, cwd=Path("/"))
    return prepare_call(descriptor, arguments or {}, place)


def test_what_only_reads_and_is_known_is_not_asked_about(described) -> None:
    assert _reasons(described(run=RUN, risk="low")) == ()


@pytest.mark.parametrize(
    "fields",
    [
        {"has_side_effects": True},
        {"confirm": True},
        {"risk": "medium"},
        {"risk": "high"},
        {"risk": "critical"},
    ],
)
def test_side_effects_risk_and_the_manifests_wish_are_asked_about_each_time(
    described, fields
) -> None:
    """Side effects, confirm and any risk above low each ask for consent (S280, S281)."""
    assert len(_reasons(described(run=RUN, **fields))) == 1


@pytest.mark.parametrize(
    ("method", "count"), [("GET", 0), ("HEAD", 0), ("POST", 1), ("DELETE", 1), ("PATCH", 1)]
)
def test_a_request_that_may_change_something_is_asked_about(
    described, method: str, count: int
) -> None:
    http = {"http": {"method": method, "url": "https://a.example.com/"}}
    assert len(_reasons(described(run=http))) == count


def test_the_first_time_is_always_asked_about(described) -> None:
    assert _reasons(described(run=RUN, risk="low"), is_known=False) == (
        "it has not been run before as it is now",
    )


def test_a_yes_holds_for_other_arguments_and_for_nothing_else(described) -> None:
    run = {"command": ["cat", "scripts/go.txt", "{a}"]}
    tool = described(run=run)
    script = Path(tool.source.path).parent / "scripts" / "go.txt"
    script.parent.mkdir()
    script.write_text("one")
    first = approvals.fingerprint(tool, _call(tool, {"a": "1"}))
    assert approvals.fingerprint(tool, _call(tool, {"a": "2"})) == first
    changed = [
        replace(tool, run={"command": ["cat", "scripts/go.txt", "-n", "{a}"]}),
        replace(tool, id="tool:other"),
        replace(tool, secrets=("KEY",)),
        replace(tool, risk="low"),
        replace(tool, source=replace(tool.source, path=str(script))),
    ]
    prints = {approvals.fingerprint(changed_tool, _call(changed_tool)) for changed_tool in changed}
    assert len(prints | {first}) == 6
    script.write_text("two")
    assert approvals.fingerprint(tool, _call(tool)) not in prints | {first}


def test_a_yes_does_not_survive_another_default(described) -> None:
    schema = {"properties": {"a": {"type": "string", "default": "kind"}}}
    tool = described(run={"command": ["echo", "{a}"]}, schema=schema)
    other = replace(tool, schema={"properties": {"a": {"type": "string", "default": "cruel"}}})
    assert approvals.fingerprint(tool, _call(tool)) != approvals.fingerprint(other, _call(other))


@pytest.mark.parametrize("word", ["go.sh", "./go.sh", "--file=go.sh"])
def test_a_yes_holds_for_the_files_where_it_is_run_and_for_that_folder(
    described, tmp_path, word: str
) -> None:
    tool = described(run={"command": ["sh", word]})
    first_folder, second_folder = tmp_path / "here", tmp_path / "there"
    for folder in (first_folder, second_folder):
        folder.mkdir()
        (folder / "go.sh").write_text("echo one")

    def print_in(folder: Path) -> str:
        return approvals.fingerprint(
            tool, prepare_call(tool, {}, ExecutionContext(environ=os.environ, cwd=folder))
        )

    first = print_in(first_folder)
    assert print_in(first_folder) == first
    assert print_in(second_folder) != first
    (first_folder / "go.sh").write_text("echo two")
    assert print_in(first_folder) != first


_DEFAULT = {"properties": {"script": {"type": "string", "default": "go.py"}}}
_LISTED = {"properties": {"scripts": {"type": "array", "default": ["x", "scripts/go.sh"]}}}
_STEM = {"properties": {"name": {"type": "string", "default": "go"}}}


@pytest.mark.parametrize(
    ("command", "schema", "file"),
    [
        (["python3", "{script}"], _DEFAULT, "go.py"),
        (["python3", "scripts/{name}.py"], _STEM, "scripts/go.py"),
        (["cat", "{scripts...}"], _LISTED, "scripts/go.sh"),
        (["python3", "-m", "tool"], None, "tool.py"),
        (["python3", "-um", "tool.sub"], None, "tool/sub.py"),
        (["python3", "-mtool.sub"], None, "tool/__init__.py"),
        (["python3", "-m", "tool"], None, "tool/__main__.py"),
        (["python3", "tool"], None, "tool/__main__.py"),
        (["sh", "-c", "exec ./go.sh --fast"], None, "go.sh"),
        (["sh", "-c", "cd scripts && . './go.sh'; echo $(sh x.sh)"], None, "scripts/x.sh"),
        (["sh", "-c", "python3 -m tool </dev/null"], None, "tool.py"),
        (["cat", ["--directory", "server"], "main.py"], None, "server/main.py"),
        (["cat", "-fgo.awk"], None, "go.awk"),
        (["cat", "@words.txt"], None, "words.txt"),
    ],
)
def test_a_yes_holds_for_files_however_the_call_names_them(
    described, command, schema, file: str
) -> None:
    tool = described(run={"command": command}, schema=schema)
    path = Path(tool.source.path).parent / file
    path.parent.mkdir(exist_ok=True)
    path.write_text("one")
    call = replace(_call(described(run={"command": ["true"]})), argv=tuple(map(str, command)))
    first = approvals.fingerprint(tool, call)
    assert str(path) in approvals.list_covered_files(tool, call)
    path.write_text("two")
    assert approvals.fingerprint(tool, call) != first


def test_a_change_of_a_very_large_file_is_seen_without_reading_it(described) -> None:
    tool = described(run={"command": ["cat", "large.bin"]})
    path = Path(tool.source.path).parent / "large.bin"
    with path.open("wb") as stream:
        stream.truncate(2**30)
    first = approvals.fingerprint(tool, _call(tool))
    assert approvals.fingerprint(tool, _call(tool)) == first
    stamps = path.stat()
    with path.open("r+b") as stream:
        stream.write(b"x")
    os.utime(path, ns=(stamps.st_atime_ns, stamps.st_mtime_ns))
    assert approvals.fingerprint(tool, _call(tool)) != first


def test_a_yes_holds_for_the_arguments_of_an_mcp_server(described) -> None:
    tool = described(run={"mcp": {"command": "python3", "args": ["-m", "server"]}})
    path = Path(tool.source.path).parent / "server.py"
    path.write_text("one")
    assert approvals.list_covered_files(tool, _call(tool)) == [str(path)]


def test_a_yes_is_kept_for_its_owner_alone(tmp_path) -> None:
    state = tmp_path / "state"
    assert not approvals.is_approved(state, "a")
    approvals.approve(state, "a", "tool:a")
    approvals.approve(state, "b", "tool:b")
    assert approvals.is_approved(state, "a")
    assert approvals.is_approved(state, "b")
    assert not approvals.is_approved(state, "c")
    assert (state / "running" / "approved.json").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "text", ["", "[]", '{"approved": 3}', "[" * 100_000, '{"approved": {"a": ']
)
def test_a_damaged_file_of_yeses_is_said_and_trusted_in_nothing(tmp_path, text: str) -> None:
    approvals.approve(tmp_path, "a", "tool:a")
    (tmp_path / "running" / "approved.json").write_text(text)
    with pytest.raises(InputError):
        approvals.is_approved(tmp_path, "a")


def test_yeses_that_others_could_have_written_are_not_trusted(tmp_path) -> None:
    approvals.approve(tmp_path, "a", "tool:a")
    (tmp_path / "running").chmod(0o777)
    with pytest.raises(InputError, match="others may write"):
        approvals.is_approved(tmp_path, "a")


_TYPED = {
    "properties": {"a": {"type": "string"}, "n": {"type": "integer"}, "m": {"enum": ["x", "y"]}}
}
_TAKES = {"command": ["echo", "--", "{a}", "{n}", "{m}"]}


def _approval(descriptor, **arguments):
    return approvals.approval_of(descriptor, _call(descriptor, arguments), arguments)


def test_a_yes_covers_exact_values_and_any_number_or_choice(described) -> None:
    """A yes covers the values it was given for; numbers and choices may vary."""
    tool = described(run=_TAKES, schema=_TYPED)
    first = _approval(tool, a="1", n=1, m="x")
    assert _approval(tool, a="1", n=2, m="y").exact == first.exact
    assert _approval(tool, a="2", n=1, m="x").exact != first.exact
    assert _approval(tool, a="2", n=1, m="x").any_arguments == first.any_arguments != ""


@pytest.mark.parametrize(
    "fields", [{"has_side_effects": True}, {"risk": "high"}, {"confirm": True}]
)
def test_a_yes_to_what_may_do_harm_covers_exact_values_alone(described, fields) -> None:
    tool = described(run=_TAKES, schema=_TYPED, **fields)
    first = _approval(tool, a="1", n=1)
    assert _approval(tool, a="1", n=2).exact != first.exact
    assert first.any_arguments == ""


def test_a_yes_to_one_definition_is_none_to_another(described, tmp_path) -> None:
    tool = described(run=_TAKES, schema=_TYPED)
    approval = _approval(tool, a="1")
    approvals.approve(tmp_path, approval.any_arguments, tool.id, approval.definition)
    other = replace(tool, run={"command": ["printf", "--", "{a}", "{n}", "{m}"]})
    for descriptor, reasons in ((tool, 0), (other, 1)):
        approval = _approval(descriptor, a="2")
        assert (
            len(
                approvals.pending_reasons(
                    tmp_path, descriptor, _call(descriptor, {"a": "2"}), approval
                )
            )
            == reasons
        )
