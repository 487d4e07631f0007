"""Arguments inside program text: found wherever a program would run them, and only there."""

import json

import pytest

from capdisc_guard import find_misuses, refuse_misuses
from capdisc_guard.program_text.command_reading import MAX_STEPS
from capdisc_indexer.model.errors import ApprovalRequiredError

NAMES = "abxyfgs"
SCHEMA = {
    "properties": {**{name: {"type": "string"} for name in NAMES}, "n": {"type": "integer"}},
    "required": [*NAMES, "n"],
}

RUN = [
    ["watch", "ls", "--color={x}"],
    ["some-wrapper", "deno", "eval", "{x}"],
    ["jq", "-n", "--x={x}"],
    ["sh", "-c", "echo {x}"],
    ["bash", "-lc", "echo {x}"],
    ["sh", "-ec", "echo '{x}'"],
    ["/bin/bash", "-c", "echo {x}"],
    ["BASH.EXE", "-c", "echo {x}"],
    ["sh", "-c", "-e", "echo {x}"],
    ["sh", "-c", "--", "{x}"],
    ["bash", "+e", "-c", "{x}"],
    ["bash", "-o", "pipefail", "-c", "{x}"],
    ["env", "-S", "sh -c", "echo {x}"],
    ["env", "-S", "sh -c 'echo {x}'"],
    ["env", "A=b", "sh", "-c", "{x}"],
    ["env", "LD_PRELOAD={x}", "ls"],
    ["env", "{x}", "ls"],
    ["sudo", "-u", "root", "sh", "-c", "{x}"],
    ["timeout", "5", "bash", "-c", "{x}"],
    ["timeout", "5", "{x}"],
    ["nice", "-n", "5", "{x}"],
    ["xargs", "sh", "-c", "{x}"],
    ["foo", "--bar", "sh", "-c", "{x}"],
    ["{s}", "-c", "echo hi"],
    ["sh", "{f}", "echo hi"],
    ["sh", "-{f}", "echo hi"],
    ["python3", "-c", "print({x})"],
    ["python3.11", "-Ic", "print({x})"],
    ["python3", "-cprint({x})"],
    ["python3", "-m", "{x}"],
    ["python3", "-m", "timeit", "{x}"],
    ["node", "-e", "{x}"],
    ["node", "--eval={x}"],
    ["node", "-p", "-e", "{x}"],
    ["node", "-pe", "{x}"],
    ["node", "--import", "{x}"],
    ["deno", "eval", "{x}"],
    ["deno", "run", "{x}"],
    ["bun", "-e", "{x}"],
    ["perl", "-lane", "print {x}"],
    ["perl", "-e{x}"],
    ["perl", "-M{x}", "-e", "1"],
    ["ruby", "-ne", "{x}"],
    ["php", "-r", "{x}"],
    ["lua", "-e", "{x}"],
    ["pwsh", "-Command", "echo {x}"],
    ["powershell.exe", "-NoProfile", "-Comm", "echo", "{x}"],
    ["pwsh", "-c", "echo $args[0]", "{x}"],
    ["powershell", "-enc", "{x}"],
    ["cmd", "/c", "dir {x}"],
    ["CMD.EXE", "/d", "/C", "dir", "{x}"],
    ["cmd", "/s/c", "{x}"],
    ["osascript", "-e", "say {x}"],
    ["psql", "-c", "select {x}"],
    ["psql", "db", "--comm", "select {x}"],
    ["psql", "--command=select {x}"],
    ["mysql", "-e", "{x}"],
    ["mysql", "-u", "root", "-e{x}"],
    ["sqlite3", "db", "{x}"],
    ["sqlite3", "-json", "db", "select {x}"],
    ["duckdb", "-c", "{x}"],
    ["awk", "{x}", "f"],
    ["awk", "-F", ":", "$1 == {x}", "f"],
    ["sed", "s/a/{x}/", "f"],
    ["sed", "-i", "-e", "s/a/{x}/", "f"],
    ["sed", "-ne", "{x}p"],
    ["jq", ".[{x}]"],
    ["jq", "-r", "--arg", "a", "b", ".{x}"],
    ["make", "A={x}"],
    ["make", "{x}"],
    ["make", "-j", "4", "{x}"],
    ["ssh", "host", "ls {x}"],
    ["ssh", "host", "ls", "{x}"],
    ["ssh", "-p", "22", "user@host", "ls", "{x}"],
    ["ssh", "-o", "ProxyCommand={x}", "host"],
    ["ssh", "-o{x}", "host"],
    ["docker", "exec", "-it", "c", "sh", "-c", "{x}"],
    ["docker", "run", "--rm", "-v", "a:b", "img", "sh", "-c", "{x}"],
    ["kubectl", "exec", "pod", "--", "sh", "-c", "{x}"],
    ["kubectl", "exec", "pod", "--", "{x}"],
    ["eval", "{x}"],
    ["busybox", "sh", "-c", "{x}"],
    ["busybox", "{x}"],
    ["su", "root", "-c", "{x}"],
    ["watch", "ls {x}"],
    ["find", ".", "-exec", "sh", "-c", "{x}", ";"],
    ["find", ".", "-exec", "{x}", ";"],
    ["git", "-c", "core.pager={x}", "log"],
    ["git", "-c", "{x}", "log"],
    ["tar", "xf", "a", "--to-command={x}"],
    ["rsync", "-e", "ssh {x}", "a", "b"],
    ["vim", "-c", "{x}"],
    ["vim", "+{x}"],
    ["gdb", "-ex", "{x}"],
    ["sh", "-c", 'eval "$1"', "sh", "{x}"],
    ["sh", "-c", 'python3 -c "$1"', "sh", "{x}"],
    ["sh", "-c", '"$@"', "sh", "{x}"],
    ["sh", "-c", 'ssh host "$1"', "sh", "{x}"],
    ["sh", "-c", 'echo "$1" | bash', "sh", "{x}"],
    ["sh", "-c", "a=$1; eval $a", "sh", "{x}"],
    ["sh", "-c", "{x...}"],
    ["bash", "--rcfile", "a", "-c", "{x}"],
    ["fish", "--command={x}"],
    ["npx", "-c", "{x}"],
    ["npx", "{x}"],
    ["uv", "run", "{x}"],
    ["uv", "run", "python", "-c", "{x}"],
    ["Rscript", "-e", "{x}"],
    ["julia", "-e", "{x}"],
    ["nix-shell", "--run", "{x}"],
    ["tsx", "-e", "{x}"],
    ["sudo", "--", "sh", "-c", "{x}"],
    ["time", "-p", "sh", "-c", "{x}"],
    ["exec", "sh", "-c", "{x}"],
    ["flock", "/tmp/l", "-c", "{x}"],
    ["su", "-c", "{x}"],
    ["script", "-c", "{x}"],
    ["yq", "e", "{x}"],
    ["jq", "--arg", "k", "{q}", "$k", "{x}"],
    ["C:\\Windows\\System32\\cmd.exe", "/c", "{x}"],
    ["csh", "-c", "{x}"],
    ["busybox", "awk", "{x}"],
    ["python3", "{x}", "{y}"],
    ["scp", "-o", "ProxyCommand={x}", "a", "b"],
    ["scp", "-S", "{x}", "a", "b"],
    ["scp", "-o{x}", "a", "b"],
    ["sftp", "-S", "{x}", "host"],
    ["sftp", "-o", "ProxyCommand={x}", "host"],
    ["sftp", "-D", "{x}"],
    ["man", "-P", "{x}", "ls"],
    ["man", "--pager={x}", "ls"],
    ["split", "--filter={x}", "f"],
    ["split", "-b", "1m", "--filter", "gzip > {x}", "f"],
    ["git", "difftool", "-x", "{x}", "HEAD"],
    ["git", "difftool", "--extcmd={x}"],
    ["git", "filter-branch", "--tree-filter", "{x}", "HEAD"],
    ["git", "filter-branch", "--msg-filter", "sed s/a/{x}/"],
    ["git", "push", "--receive-pack={x}", "origin"],
    ["git", "grep", "--open-files-in-pager={x}", "y"],
    ["git", "send-email", "--to-cmd={x}", "a.patch"],
    ["git", "archive", "--exec={x}", "HEAD"],
    ["raku", "-e", "{x}"],
    ["raku", "-ne", "{x}"],
    ["crystal", "eval", "{x}"],
    ["bun", "eval", "{x}"],
    ["bun", "exec", "{x}"],
    ["node", "-r", "{x}", "a.js"],
    ["node", "--require={x}", "a.js"],
    ["ruby", "-r", "{x}", "a.rb"],
    ["lua", "-l", "{x}", "a.lua"],
    ["adb", "shell", "{x}"],
    ["adb", "-s", "emulator-5554", "shell", "input", "text", "{x}"],
    ["ansible", "all", "-m", "shell", "-a", "{x}"],
    ["ansible", "all", "-a", "echo {x}"],
    ["ansible-playbook", "--ssh-common-args={x}", "a.yml"],
    ["rails", "runner", "{x}"],
    ["bin/rails", "runner", "-e", "test", "{x}"],
    ["bundle", "exec", "rails", "runner", "puts {x}"],
    ["wp", "eval", "{x}"],
    ["wp", "--exec={x}", "plugin", "list"],
    ["wp", "plugin", "list", "--exec={x}"],
    ["wp", "db", "query", "{x}"],
    ["socat", "-", "EXEC:{x}"],
    ["socat", "-", "{x}"],
    ["socat", "TCP-LISTEN:80,fork", "SYSTEM:{x}"],
    ["ncat", "-c", "{x}", "h", "80"],
    ["ncat", "--sh-exec={x}", "h", "80"],
    ["nc", "-l", "-e", "{x}"],
    ["ncat", "--exec", "{x}", "h"],
    ["nix", "eval", "--expr", "{x}"],
    ["nix", "build", "--impure", "--expr", "{x}"],
    ["nix-build", "-E", "{x}"],
    ["nix-shell", "-p", "{x}"],
    ["nix", "develop", "-c", "{x}"],
    ["nix", "run", "{x}"],
    ["gcloud", "compute", "ssh", "vm", "--command={x}"],
    ["gcloud", "compute", "ssh", "vm", "--zone", "a", "--command", "ls {x}"],
    ["raku", "-M{x}", "a.raku"],
]
SAFE = [
    ["sed", "--in-place={x}", "s/a/b/", "f"],
    ["gawk", "--profile={x}", "1", "f"],
    ["sh", "-c", 'echo "$1"', "sh", "{x}"],
    ["sh", "-c", 'echo "$@"', "sh", "{x...}"],
    ["bash", "-lc", 'cp -- "$1" "$2"', "bash", "{x}", "{y}"],
    ["sh", "-c", "awk '{{print}} $1 == 2' \"$1\"", "sh", "{x}"],
    ["sh", "-c", 'for f in "$@"; do wc -l "$f"; done', "sh", "{x...}"],
    ["python3", "-c", "import sys; print(sys.argv[1])", "{x}"],
    ["python3", "{x}"],
    ["python3", "--", "{x}", "{y}"],
    ["python3", "script.py", "{x}"],
    ["python3", "-m", "pip", "install", "{x}"],
    ["python3", "-W", "{x}", "script.py"],
    ["node", "script.js", "{x}"],
    ["node", "-e", "console.log(process.argv[1])", "{x}"],
    ["node", "--max-old-space-size={n}", "script.js"],
    ["perl", "-ne", "print", "{x}"],
    ["ruby", "-e", "puts ARGV[0]", "{x}"],
    ["pwsh", "-File", "a.ps1", "{x}"],
    ["pwsh", "-NoProfile", "-File", "a.ps1", "-Name", "{x}"],
    ["psql", "-v", "a={x}", "-f", "q.sql"],
    ["psql", "-d", "{x}", "-c", "select 1"],
    ["psql", "-c", "select * from t limit {n}"],
    ["awk", "-v", "a={x}", "{{print}}", "{y}"],
    ["awk", "{ print $1 }", "{x}"],
    ["sed", "-n", "{n}p", "{x}"],
    ["sed", "s/a/b/", "{x}"],
    ["sed", "-e", "s/a/b/", "{x}", "{y}"],
    ["jq", "--arg", "a", "{x}", ".b[$a]", "{y}"],
    ["jq", "-r", ".a", "{x}"],
    ["make", "-C", "{x}", "all"],
    ["make", "-j{n}", "all"],
    ["ssh", "{x}", "uptime"],
    ["ssh", "-p", "{n}", "{x}", "uptime"],
    ["timeout", "{n}", "curl", "{x}"],
    ["sudo", "-u", "{x}", "ls"],
    ["env", "A={x}", "prog"],
    ["echo", "{x}"],
    ["git", "log", "--max-count={n}", "--", "{x}"],
    ["git", "-c", "user.name={x}", "commit", "-m", "{y}"],
    ["git", "commit", "-m", "{x}"],
    ["grep", "-e", "{x}", "bash"],
    ["rg", "{x}", "{y}"],
    ["find", "{x}", "-name", "{y}"],
    ["docker", "exec", "{x}", "ls", "{y}"],
    ["docker", "run", "--rm", "-v", "{x}:/data", "img", "convert", "{y}"],
    ["kubectl", "get", "pods", "-n", "{x}"],
    ["kubectl", "exec", "{x}", "--", "ls", "{y}"],
    ["curl", "-sS", "--data", "{x}", "https://a.example.com"],
    ["ls", ["--width", "{n}"], "--", "{x...}"],
    ["tar", "-czf", "{x}", "{y}"],
    ["ffmpeg", "-i", "{x}", "{y}"],
    ["nice", "-n", "{n}", "ls"],
    ["uv", "run", "script.py", "{x}"],
    ["npx", "prettier", "{x}"],
    ["sqlite3", "{x}", "select 1"],
    ["sqlite3", "{x}", ".tables"],
    ["xargs", "-a", "{x}", "ls"],
    ["bash", "scripts/{x}.sh", "{y}"],
    ["scripts/go.sh", "{x}"],
    ["printf", "%s", "{x}"],
    ["docker", "run", "img", "{x}"],
    ["vim", "{x}"],
    ["npm", "install", "{x}"],
    ["scp", "-P", "{n}", "{x}", "{y}"],
    ["scp", "-o", "Port={n}", "a", "{x}"],
    ["scp", "-i", "{x}", "a", "b"],
    ["sftp", "-P", "{n}", "{x}"],
    ["man", "{x}"],
    ["man", "-s", "{n}", "{x}"],
    ["split", "-b", "{n}", "{x}", "{y}"],
    ["split", "-l", "{x}", "f"],
    ["git", "difftool", "-t", "vimdiff", "{x}"],
    ["git", "push", "-u", "{x}", "{y}"],
    ["git", "push", "{x}"],
    ["git", "grep", "-n", "{x}"],
    ["git", "diff", "{x}"],
    ["git", "archive", "-o", "{x}", "{y}"],
    ["raku", "a.raku", "{x}"],
    ["crystal", "run", "a.cr", "--", "{x}"],
    ["bun", "run", "{x}"],
    ["bun", "a.ts", "{x}"],
    ["node", "-r", "dotenv/config", "a.js", "{x}"],
    ["ruby", "-r", "json", "a.rb", "{x}"],
    ["adb", "push", "{x}", "{y}"],
    ["adb", "-s", "{x}", "install", "{y}"],
    ["ansible", "{x}", "-m", "ping"],
    ["ansible-playbook", "a.yml", "-e", "v={x}", "-l", "{y}"],
    ["rails", "runner", "a.rb", "{x}"],
    ["rails", "db:migrate"],
    ["rails", "generate", "model", "{x}"],
    ["wp", "post", "get", "{n}"],
    ["wp", "plugin", "install", "{x}"],
    ["socat", "-", "TCP:localhost:{n}"],
    ["ncat", "{x}", "{n}"],
    ["nc", "-z", "-w", "{n}", "{x}", "{y}"],
    ["nix", "build", "{x}"],
    ["nix", "develop", "-c", "ls", "{x}"],
    ["nix", "run", "a#b", "--", "{x}"],
    ["gcloud", "compute", "instances", "list", "--filter={x}"],
    ["gcloud", "compute", "ssh", "{x}", "--command=uptime"],
    ["man", "{n}", "{x}"],
]
RUN_FROM_STDIN = [
    ["sh"],
    ["sh", "-s"],
    ["python3", "-"],
    ["bash", "/dev/stdin"],
    ["psql", "-f", "-"],
    ["mysql", "db"],
    ["sqlite3", "db"],
    ["ssh", "host"],
    ["ssh", "host", "bash -s"],
    ["sh", "-c", "bash"],
    ["sh", "-c", "cat | bash"],
    ["xargs", "sh", "-c"],
    ["xargs", "-I", "%", "sh", "-c", "echo %"],
    ["env", "sh"],
    ["docker", "exec", "-i", "c", "sh"],
    ["node"],
    ["at", "now"],
    ["pwsh", "-Command", "-"],
    ["awk", "-f", "/dev/stdin"],
    ["adb", "shell"],
    ["sftp", "host"],
    ["sftp", "-b", "-", "host"],
]
READ_FROM_STDIN = [
    ["cat"],
    ["jq", "."],
    ["python3", "a.py"],
    ["python3", "-m", "tool"],
    ["node", "a.js"],
    ["ssh", "host", "cat > f"],
    ["sh", "-c", "cat > f"],
    ["docker", "run", "-i", "img"],
    ["psql", "-f", "q.sql"],
    ["xargs", "-n1", "python3", "-c", "import sys"],
    ["sed", "s/a/b/"],
    ["adb", "shell", "cat > f"],
    ["sftp", "-b", "commands", "host"],
    ["awk", "{ print }"],
    ["psql", "-c", "copy t from stdin"],
]


@pytest.mark.parametrize("command", RUN, ids=json.dumps)
def test_an_argument_that_a_program_would_run_or_obey_is_found(command) -> None:
    """Each command hands an argument to a program that would run or obey it."""
    assert find_misuses({"command": command}, SCHEMA)


@pytest.mark.parametrize("command", SAFE, ids=json.dumps)
def test_an_argument_that_stays_a_value_is_left_alone(command) -> None:
    assert find_misuses({"command": command}, SCHEMA) == ()


@pytest.mark.parametrize("command", RUN_FROM_STDIN, ids=json.dumps)
@pytest.mark.parametrize("stdin", ["json", "{x}"])
def test_a_program_on_stdin_is_none_of_the_arguments(command, stdin) -> None:
    assert find_misuses({"command": command, "stdin": stdin}, SCHEMA)
    assert find_misuses({"command": command}, SCHEMA) == ()


@pytest.mark.parametrize("command", READ_FROM_STDIN, ids=json.dumps)
def test_data_on_stdin_is_left_alone(command) -> None:
    assert find_misuses({"command": command, "stdin": "json"}, SCHEMA) == ()


@pytest.mark.parametrize("name", ["sed", "psql", "make"])
def test_numbers_and_choices_are_fine_where_there_is_no_other_way(name: str) -> None:
    command = {
        "sed": ["sed", "{v}", "f"], "psql": ["psql", "-c", "select {v}"], "make": ["make", "{v}"]
    }[name]  # fmt: skip
    for declared, count in [
        ({"type": "integer"}, 0), ({"enum": ["all", "clean"]}, 0), ({"type": "string"}, 1), ({}, 1),
        ({"type": ["integer", "string"]}, 1), ({"enum": ["a", {"b": 1}]}, 1),
    ]:  # fmt: skip
        schema = {"properties": {"v": declared}, "required": ["v"]}
        assert len(find_misuses({"command": command}, schema)) == count, declared


def test_a_shell_has_another_way_so_a_number_is_refused_there_too() -> None:
    assert find_misuses({"command": ["sh", "-c", "sleep {n}"]}, SCHEMA)


def test_what_moves_to_the_place_of_a_word_that_is_left_out_is_found() -> None:
    command = ["jq", "--arg", "k", "{a}", ".[$k]", "{x}"]
    assert find_misuses({"command": command}, SCHEMA) == ()
    loose = {"properties": SCHEMA["properties"], "required": ["x"]}
    [misuse] = find_misuses({"command": command}, loose)
    assert (misuse.at, misuse.when_left_out) == ((5,), True)
    assert find_misuses({"command": ["jq", ["--arg", "k", "{a}"], ".[$k]", "{x}"]}, loose) == ()


def test_a_parameter_that_may_be_null_may_be_left_out() -> None:
    schema = {"properties": {"a": {"type": ["string", "null"]}, "x": {}}, "required": ["a", "x"]}
    assert find_misuses({"command": ["jq", "--arg", "k", "{a}", ".[$k]", "{x}"]}, schema)


def test_a_value_that_may_begin_with_a_dash_is_no_operand_of_an_interpreter() -> None:
    schema = {"properties": {"x": {"enum": ["-c", "a.sh"]}}, "required": ["x"]}
    assert find_misuses({"command": ["sh", "{x}"]}, schema)
    assert find_misuses({"command": ["sh", "--", "{x}"]}, schema) == ()


def test_the_error_says_what_to_write() -> None:
    with pytest.raises(ApprovalRequiredError, match=r"sh would run \{x\}") as raised:
        refuse_misuses("tool:a", {"command": ["sh", "-c", "echo {x}"]}, SCHEMA)
    assert r"echo \"$1\"" in raised.value.hint
    with pytest.raises(ApprovalRequiredError) as raised:
        refuse_misuses("tool:a", {"command": ["python3", "-c", "print({x})"]}, SCHEMA)
    assert "sys.argv[1]" in raised.value.hint


@pytest.mark.parametrize(
    ("command", "kinds"),
    [
        (["env"] * 50_000 + ["{x}"], ["unreadable"]),
        (["sh", "-c", "$(" * 50_000, "{x}"], []),
        (["sh", "-c", "sh -c '" * 1_000, "{x}"], []),
        (["ls", *(f"{{a{number}}}" for number in range(5_000)), "sh", "-c", "{x}"], []),
        (["sed", *(f"{{a{number}}}" for number in range(MAX_STEPS))], ["unreadable", "text"]),
        (["bash", "-" * 100_000 + "{x}"], ["option"]),
    ],
    ids=["wrappers", "substitutions", "shells", "left-out", "many", "dashes"],
)
def test_a_hostile_command_is_read_within_bounds(command, kinds) -> None:
    assert [misuse.kind for misuse in find_misuses({"command": command}, None)] == kinds


def test_what_is_no_command_is_nothing() -> None:
    for run in (
        None,
        {},
        {"command": "sh -c {x}"},
        {"command": []},
        {"command": [3, [4, "{x}"]]},
        {"mcp": {}},
    ):
        assert find_misuses(run, SCHEMA) == ()
