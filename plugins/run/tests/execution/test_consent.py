"""What needs consent before a call, and what a yes covers."""

import os
from pathlib import Path

import pytest

from capdisc_indexer.model.errors import InputError
from capdisc_indexer.model.frozen import replace
from capdisc_indexer.tools.call_context import ExecutionContext
from capdisc_run import approvals
from capdisc_run.prepare import prepare_call
from case_rows import read_rows

RUN = {"command": ["cat", "scripts/go.txt"]}
FIRST = ("it has not been run before as it is now",)
HARMFUL = [{"has_side_effects": True}, {"confirm": True}, {"risk": "medium"}, {"risk": "high"}, {"risk": "critical"}]  # fmt: skip


def _call(descriptor, arguments=None, cwd="/"):
    environ = {"PATH": os.environ["PATH"], "KEY": "x"}
    return prepare_call(
        descriptor, arguments or {}, ExecutionContext(environ=environ, cwd=Path(cwd))
    )


def _print(descriptor, arguments=None, cwd="/"):
    return approvals.fingerprint(descriptor, _call(descriptor, arguments, cwd))


@pytest.mark.parametrize(("fields", "is_known", "count"), read_rows(__file__, "reasons"))
def test_what_may_change_something_is_asked_about_each_time_and_all_else_once(
    described, fields, is_known, count
) -> None:
    tool = described(**({"run": RUN} | fields))
    reasons = approvals.approval_reasons(tool, _call(tool), is_known)
    assert len(reasons) == count
    assert is_known or reasons == FIRST


def test_a_yes_holds_for_other_arguments_and_for_nothing_else(described) -> None:
    schema = {"properties": {"a": {"type": "string", "default": "kind"}}}
    tool = described(run={"command": ["cat", "scripts/go.txt", "{a}"]}, schema=schema)
    script = Path(tool.source.path).parent / "scripts" / "go.txt"
    script.parent.mkdir()
    script.write_text("one")
    first = _print(tool, {"a": "1"})
    assert _print(tool, {"a": "2"}) == first
    changed = [
        replace(tool, run={"command": ["cat", "scripts/go.txt", "-n", "{a}"]}),
        replace(tool, id="tool:other"),
        replace(tool, secrets=("KEY",)),
        replace(tool, risk="low"),
        replace(tool, source=replace(tool.source, path=str(script))),
        replace(tool, schema={"properties": {"a": {"type": "string", "default": "cruel"}}}),
    ]
    prints = {first, *map(_print, changed)}
    assert len(prints) == 7
    script.write_text("two")
    assert _print(tool) not in prints


@pytest.mark.parametrize("word", ["go.sh", "./go.sh", "--file=go.sh"])
def test_a_yes_holds_for_the_files_where_it_is_run_and_for_that_folder(
    described, tmp_path, word: str
) -> None:
    tool = described(run={"command": ["sh", word]})
    here, there = tmp_path / "here", tmp_path / "there"
    for folder in (here, there):
        folder.mkdir()
        (folder / "go.sh").write_text("echo one")
    first = _print(tool, cwd=here)
    assert _print(tool, cwd=here) == first
    assert _print(tool, cwd=there) != first
    (here / "go.sh").write_text("echo two")
    assert _print(tool, cwd=here) != first


@pytest.mark.parametrize(("command", "schema", "file"), read_rows(__file__, "files"))
def test_a_yes_holds_for_files_however_the_call_names_them(
    described, command, schema, file: str
) -> None:
    if isinstance(command, str):
        words, _, script = command.partition("|")
        command = [*words.split(), *([script] if script else [])]
    tool = described(run={"command": command}, schema=schema or None)
    path = Path(tool.source.path).parent / file
    path.parent.mkdir(exist_ok=True)
    path.write_text("one")
    plain = _call(replace(tool, run={"command": ["true"]}, schema=None))
    call = replace(plain, argv=tuple(map(str, command)))
    first = approvals.fingerprint(tool, call)
    assert str(path) in approvals.list_covered_files(tool, call)
    path.write_text("two")
    assert approvals.fingerprint(tool, call) != first


def test_a_change_of_a_very_large_file_is_seen_without_reading_it(described) -> None:
    tool = described(run={"command": ["cat", "large.bin"]})
    path = Path(tool.source.path).parent / "large.bin"
    with path.open("wb") as stream:
        stream.truncate(2**30)
    first = _print(tool)
    assert _print(tool) == first
    stamps = path.stat()
    with path.open("r+b") as stream:
        stream.write(b"x")
    os.utime(path, ns=(stamps.st_atime_ns, stamps.st_mtime_ns))
    assert _print(tool) != first


def test_a_yes_holds_for_the_arguments_of_an_mcp_server(described) -> None:
    tool = described(run={"mcp": {"command": "python3", "args": ["-m", "server"]}})
    path = Path(tool.source.path).parent / "server.py"
    path.write_text("one")
    assert approvals.list_covered_files(tool, _call(tool)) == [str(path)]


def test_a_yes_is_kept_for_its_owner_alone(tmp_path) -> None:
    path = tmp_path / "running" / "approved.json"
    for name in "ab":
        assert not approvals.is_approved(tmp_path, name)
        approvals.approve(tmp_path, name, f"tool:{name}")
    assert [approvals.is_approved(tmp_path, name) for name in "abc"] == [True, True, False]
    assert path.stat().st_mode & 0o777 == 0o600
    # One that others could have written is not trusted, and a damaged one in nothing.
    path.parent.chmod(0o777)
    with pytest.raises(InputError, match="others may write"):
        approvals.is_approved(tmp_path, "a")
    path.parent.chmod(0o700)
    for text in ("", "[]", '{"approved": 3}', "[" * 100_000, '{"approved": {"a": '):
        path.write_text(text)
        with pytest.raises(InputError, match="cannot read"):
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
    first, other = _approval(tool, a="1", n=1, m="x"), _approval(tool, a="2", n=1, m="x")
    assert _approval(tool, a="1", n=2, m="y").exact == first.exact
    assert other.exact != first.exact
    assert other.any_arguments == first.any_arguments != ""


@pytest.mark.parametrize("fields", HARMFUL)
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
    for descriptor, reasons in ((tool, ()), (other, FIRST)):
        call, approval = _call(descriptor, {"a": "2"}), _approval(descriptor, a="2")
        assert approvals.pending_reasons(tmp_path, descriptor, call, approval) == reasons
