"""Runs a transcript: shell lines as a user types them, each with what must come of it.

    $ capdisc call search_tables '{"query": "customer purchases"}'
    .tables[0].table == "invoices"

`$ ` begins a line that is typed; of a pipe, `capdisc` runs in this process, all else in a shell
with GNU's programs.
The lines below it say what must come, until the next `$ `:

    text            this text is on stdout, after the text of the line before
    ! text          this text is nowhere on stdout
    2> text         this text is on stderr, which is empty where no line says so
    2! text         this text is nowhere on stderr
    2= text         stderr is this line and the others of this kind, and nothing else
    2?              stderr may have anything else
    = text          stdout is this line and the others of this kind, and nothing else
    nothing         stdout is empty
    same            stdout is that of the line typed before
    tokens <= 500   how many tokens stdout has; also == != < > >=
    exit 1          the exit status, which is 0 where nothing is said
    .a[0].b == 3    a value of the JSON on stdout; also != < <= > >= ~ (contains) !~ (does not);
                    [*] takes every item, [a=b] the one with that text there, .length counts
    // text         a remark
"""

from __future__ import annotations

import json
import operator
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from capdisc_indexer.lazy_imports import load_token_counter
from capdisc_indexer.platforms import system

# `python` is the one that runs the tests.
PROGRAMS = Path(sys.executable).parent
PROGRAM = system.abspath(
    PROGRAMS / ("Scripts/capdisc.exe" if sys.platform == "win32" else "capdisc")
)
Json = Any
RunCapdisc = Callable[..., Any]

_PATH = re.compile(
    r"\.(?P<name>[\w-]+)|\[(?P<index>-?\d+)\]|\[(?P<every>\*)\]|\[(?P<key>\".*?\")\]"
    r"|\[(?P<field>\w+)=(?P<value>[^\]]*)\]"
)
_JSON_LINE = re.compile(r"(?P<path>[.\[]\S*) (?P<sign>==|!=|<=|>=|<|>|~|!~) (?P<value>.+)")
_TOKENS_LINE = re.compile(r"tokens (?P<sign>==|!=|<=|>=|<|>) (?P<limit>\d+)")
_ASSIGNMENT = re.compile(r"[A-Z_]+=")
_ASSIGNMENTS = re.compile(r"^(?:[A-Z_]+=\S* )+")


@dataclass(frozen=True, slots=True)
class Step:
    """One line that is typed, and the lines that say what must come of it."""

    line: str
    expected: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Printed:
    """What one typed line gave."""

    code: int
    out: str
    err: str


@dataclass(frozen=True, slots=True)
class TypedStep:
    """What a line gave if it fails (else ""), its stdout, and its text in the transcript."""

    failure: str
    out: str
    text: str


def parse_transcript(text: str) -> tuple[Step, ...]:
    """The typed lines with what is expected of each."""
    steps: list[tuple[str, list[str]]] = []
    for line in re.sub(r"\s*\\\n\s*", " ", text).splitlines():
        stripped = line.strip()
        if stripped.startswith("$ "):
            steps.append((stripped[2:], []))
        elif stripped and not stripped.startswith("// "):
            steps[-1][1].append(stripped)
    return tuple(Step(line, tuple(expected)) for line, expected in steps)


def find_failure(text: str, capdisc: RunCapdisc, environment: Mapping[str, str]) -> str:
    """Type every line in the current folder; what the first one that fails gave, or nothing."""
    before = ""
    for step in parse_transcript(text):
        printed = _type_line(step.line, capdisc, environment)
        if failure := _describe_failure(step, printed, before):
            return failure
        before = printed.out
    return ""


def type_step(
    text: str, capdisc: RunCapdisc, environment: Mapping[str, str], before: str, writes: bool
) -> TypedStep:
    """Type one line, after that with the stdout `before`; with `writes`, the exact output in its text
    becomes the one that it has now.
    """
    (step,) = parse_transcript(text)
    printed = _type_line(step.line, capdisc, environment)
    if writes and "\n= " in text:
        exact = "".join(f"= {line}".rstrip() + "\n" for line in printed.out.splitlines())
        text = re.sub(r"(?:^= .*\n|^=\n)+", lambda _: exact, text, count=1, flags=re.M)
        (step,) = parse_transcript(text)
    return TypedStep(_describe_failure(step, printed, before), printed.out, text)


def _describe_failure(step: Step, printed: Printed, before: str) -> str:
    for failure in _failures(step, printed, before):
        return f"$ {step.line}\n{failure}\nexit {printed.code}\n{printed.out[:2000]}\n2> {printed.err[:1500]}"
    return ""


def _type_line(line: str, capdisc: RunCapdisc, environment: Mapping[str, str]) -> Printed:
    printed = Printed(0, "", "")
    for part in _split_pipe(line):
        words = shlex.split(part)
        while _ASSIGNMENT.match(words[0]):
            name, _, value = words.pop(0).partition("=")
            environment = {**environment, name: value}
        if words[0] == "capdisc" and words[1] != "mcp":
            target = words[-1] if ">" in words[-2:] else None
            done = capdisc(*words[1 : -2 if target else None], stdin=printed.out, env=environment)
            printed = Printed(done.code, "" if target else done.out, printed.err + done.err)
            if target:
                Path(target).write_text(done.out, encoding="utf-8")
        elif words[0] == "cat" and len(words) == 2 and Path(words[1]).is_file():
            printed = Printed(0, Path(words[1]).read_text(encoding="utf-8"), printed.err)
        else:
            # A server reads the real stdin.
            command = part.replace("capdisc mcp", f"{sys.executable} -m capdisc mcp")
            shell = subprocess.run(
                ["sh", "-c", command], input=printed.out, capture_output=True, text=True, check=False,
                env={**environment, "LC_ALL": "C.UTF-8", "PATH": f"{PROGRAMS}:{environment['PATH']}"},
            )  # fmt: skip
            printed = Printed(shell.returncode, shell.stdout, printed.err + shell.stderr)
    return printed


def needs_shell(line: str) -> bool:
    """Whether the typed line has more than capdisc and cat, which run without a shell."""
    parts = [_ASSIGNMENTS.sub("", part.strip()) for part in _split_pipe(line)]
    return any(not re.match(r"cat \S+$|capdisc (?!mcp)", part) for part in parts)


def _split_pipe(line: str) -> list[str]:
    """The parts of a pipe: cut at each ` | ` that stands outside of quotes."""
    parts, quote = [""], ""
    for position, character in enumerate(line):
        if character in "'\"" and quote in ("", character):
            quote = "" if quote else character
        if character == "|" and not quote and line[position - 1] == " ":
            parts.append("")
        else:
            parts[-1] += character
    return parts


def _failures(step: Step, printed: Printed, before: str) -> Iterator[str]:
    code, position = 0, 0
    for name, sign, text in (("stdout", "=", printed.out), ("stderr", "2=", printed.err)):
        exact = [line[len(sign) + 1 :] for line in step.expected if line.split(" ")[0] == sign]
        if exact and exact != [line.rstrip() for line in text.splitlines()]:
            yield f"{name} is not exactly this"
    says_stderr = any(line.startswith(("2> ", "2=", "2?")) for line in step.expected)
    if printed.err and not says_stderr:
        yield "stderr is not empty"
    for line in step.expected:
        if line.split(" ")[0] in ("=", "2=", "2?"):
            continue
        if line.startswith("exit "):
            code = int(line[5:])
        elif line.startswith("2> "):
            if line[3:] not in printed.err:
                yield f"not on stderr: {line[3:]}"
        elif line.startswith("2! "):
            if line[3:] in printed.err:
                yield f"on stderr: {line[3:]}"
        elif line.startswith("! "):
            if line[2:] in printed.out:
                yield f"on stdout: {line[2:]}"
        elif line == "nothing":
            if printed.out:
                yield "stdout is not empty"
        elif limit := _TOKENS_LINE.fullmatch(line):
            if not _SIGNS[limit["sign"]](
                count := load_token_counter()(printed.out), int(limit["limit"])
            ):
                yield f"{line}: it has {count}"
        elif line == "same":
            if printed.out != before or not before:
                yield "stdout is not that of the line before"
        elif found := _JSON_LINE.fullmatch(line):
            yield from _json_failures(line, found, printed.out)
        elif (place := printed.out.find(line, position)) >= 0:
            position = place + len(line)
        else:
            yield f"not on stdout{' there' if line in printed.out else ''}: {line}"
    if printed.code != code:
        yield f"exit {printed.code} and not {code}"


def _contains(found: Json, value: Json) -> bool:
    if isinstance(value, list):
        return all(item in found for item in value)
    return value in found


_SIGNS: Mapping[str, Callable[[Json, Json], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "~": _contains,
    "!~": lambda found, value: not _contains(found, value),
}


def _json_failures(line: str, found: re.Match[str], out: str) -> Iterator[str]:
    try:
        document = json.loads(out)
    except ValueError:
        document = None
    # A path that begins with a number may lead into lines of JSON, a document each.
    if document is None or (found["path"].startswith("[") and not isinstance(document, list)):
        try:
            document = [json.loads(each) for each in out.splitlines()]
        except ValueError:
            yield f"no JSON on stdout for: {line}"
            return
    expected = json.loads(found["value"])
    try:
        value = _look_up(document, found["path"])
    except (KeyError, IndexError, TypeError, StopIteration) as error:
        yield f"{line}: nothing is there ({error!r})"
        return
    if not _SIGNS[found["sign"]](value, expected):
        yield f"{line}: it is {json.dumps(value)}"


def _look_up(document: Json, path: str) -> Json:
    """What stands at a path such as .tables[0].name, [*].id or .hits.length."""
    steps = list(_PATH.finditer(path))
    for number, step in enumerate(steps):
        if step["every"]:
            rest = path[step.end() :]
            if rest == ".length":
                return len(document)
            return [_look_up(item, rest) for item in document]
        if step["field"]:
            document = next(row for row in document if row[step["field"]] == step["value"])
            continue
        if (
            step["name"] == "length"
            and number == len(steps) - 1
            and not (isinstance(document, dict) and "length" in document)
        ):
            return len(document)
        if step["name"] == "keys" and not isinstance(document, list) and "keys" not in document:
            document = list(document)
        else:
            document = document[
                step["name"] or (json.loads(step["key"]) if step["key"] else int(step["index"]))
            ]
    return document
