"""R61, R62: arguments in program text, secrets at the end of what is cut."""

from __future__ import annotations

import json
import os
import random
import shlex
import shutil
import stat
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from figure import Figure
from workbench import command, index, run

from capdisc_indexer.model.errors import CapdiscError
from capdisc_indexer.model.types import Descriptor, SourceRef
from capdisc_indexer.tools.call_context import ExecutionContext
from capdisc_indexer.validation.shell_word_fixes import rewrite_shell_text
from capdisc_run.call_types import CallLimits, CommandCall, Outcome
from capdisc_run.output_masking import LEAST_PARTIAL
from capdisc_run.prepare import execute_call, prepare_call

SCHEMA = {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]}

# Interpreters with what they run: their options, and a text that does nothing but hold the value.
# Those that are not on this machine are stood in for by a program that runs its words as `sh` would.
TEXTS = (
    (["sh", "-c"], "echo {}"), (["bash", "-c"], "echo {}"), (["bash", "-lc"], "true {}"), (["dash", "-ec"], "echo {}"),
    (["zsh", "-c"], "echo {}"), (["ksh", "-c"], "echo {}"), (["fish", "--command"], "echo {}"),
    (["busybox", "sh", "-c"], "echo {}"), (["python3", "-c"], "print({})"), (["python3", "-Ic"], "x = {}"),
    (["python3", "-m", "timeit", "-n1"], "{}"), (["node", "-e"], "f({})"), (["node", "--eval"], "{}"),
    (["deno", "eval"], "{}"), (["bun", "-e"], "{}"), (["perl", "-e"], "print {}"), (["perl", "-lane"], "print {}"),
    (["ruby", "-e"], "puts {}"), (["php", "-r"], "echo {};"), (["lua", "-e"], "print({})"),
    (["pwsh", "-NoProfile", "-Command"], "echo {}"), (["cmd", "/c"], "echo {}"), (["osascript", "-e"], "say {}"),
    (["psql", "-c"], "select {}"), (["mysql", "-e"], "select {}"), (["sqlite3", "/dev/null"], "select {}"),
    (["awk"], "BEGIN {{print}} {}"), (["sed"], "s/a/{}/e"), (["jq", "-n"], "{}"), (["make", "-f", "a.mk"], "A:={}"),
    (["ssh", "host"], "echo {}"), (["eval"], "echo {}"), (["su", "-c"], "echo {}"), (["watch", "-n1"], "echo {}"),
)  # fmt: skip
WRAPPERS = (
    [], ["env"], ["env", "-i", "A=b"], ["env", "-u", "A"], ["nice", "-n", "5"], ["nohup"], ["setsid"],
    ["timeout", "-k", "1", "20"], ["stdbuf", "-oL"], ["xargs", "-a", "/dev/null"], ["sudo", "-u", "nobody"],
    ["env", "nice", "timeout", "9"], ["docker", "exec", "-i", "box"], ["some-wrapper", "--quiet"],
)  # fmt: skip
# How the value stands in the text.
QUOTES = (
    "{x}",
    '"{x}"',
    "'{x}'",
    "a{x}b",
    '"a {x} b"',
    "$'{x}'",
    "\\{x}",
    "--x={x}",
    '$(printf %s "{x}")',
)
# Values that make the file CANARY when some language runs them.
ATTACKS = (
    "; touch CANARY", "$(touch CANARY)", "`touch CANARY`", "' ; touch CANARY ; '", '" ; touch CANARY ; "',
    "\n touch CANARY\n", "& touch CANARY &", "| touch CANARY", "') ; touch CANARY #", "'; touch CANARY #",
    "__import__('os').system('touch CANARY')", "');import os;os.system('touch CANARY')#",
    "require('fs').writeFileSync('CANARY','')", "`touch CANARY`;", "system('touch CANARY')", "$(shell touch CANARY)",
    "1; BEGIN{system(\"touch CANARY\")}", "a/;1e touch CANARY\n#", "a/e;s/.*/touch CANARY/e", "-c touch${IFS}CANARY",
    "$(touch${IFS}CANARY)", "${x:=$(touch CANARY)}", "a[$(touch CANARY)]", "\\'; touch CANARY; \\'",
)  # fmt: skip
# Sound commands, and what they print of the value.
HONEST = (
    (["sh", "-c", 'printf "%s" "$1"', "sh", "{x}"], "{x}"), (["bash", "-ec", 'printf %s "$1"', "bash", "{x}"], "{x}"),
    (["sh", "-c", 'for a in "$@"; do printf %s "$a"; done', "sh", "{x}"], "{x}"),
    (["python3", "-c", "import sys; sys.stdout.write(sys.argv[1])", "{x}"], "{x}"),
    (["perl", "-e", "print $ARGV[0]", "--", "{x}"], "{x}"), (["printf", "%s", "{x}"], "{x}"),
    (["env", "printf", "%s", "{x}"], "{x}"), (["env", "A={x}", "sh", "-c", 'printf %s "$A"'], "{x}"),
    (["timeout", "20", "nice", "-n", "1", "printf", "%s", "{x}"], "{x}"),
    (["xargs", "-a", "/dev/null", "printf", "%s", "{x}"], "{x}"),
    (["awk", "-v", "a=1", "BEGIN { printf \"%s\", ARGV[1] }", "{x}"], "{x}"),
    (["jq", "-n", "-j", "--arg", "a", "{x}", "$a"], "{x}"), (["printf", "%s", "<{x}>"], "<{x}>"),
    (["sh", "-c", "eval 'printf %s ok'", "sh", "{x}"], "ok"),
)  # fmt: skip
_STAND_IN = """#!/bin/sh
# Runs every word, and the last words as text, as careless an interpreter as there can be.
for word in "$@"; do sh -c "$word" >/dev/null 2>&1 </dev/null; done
"""


def r61(work: Path, rng: random.Random, scale: float) -> Figure:
    """Manifests whose command holds an argument in program text: none runs, none that is sound is refused."""
    place = ExecutionContext(
        environ={"PATH": f"{_stand_ins(work)}:{os.environ['PATH']}", "HOME": str(work)}, cwd=work
    )
    broken: list[str] = []
    counts: Counter[str] = Counter()
    for number, words in enumerate(_injected(rng, max(600, round(1_500 * scale)))):
        counts["injected"] += 1
        value = rng.choice(ATTACKS)
        try:
            execute_call(
                prepare_call(_tool(work, words), {"x": value}, place),
                place.environ,
                CallLimits(seconds=20),
            )
            broken.append(f"{number} ran: {words}")
        except CapdiscError as error:
            counts[type(error).__name__] += 1
        if _took_the_bait(work):
            broken.append(f"{number} canary: {words} {value!r}")
    for words, printed in _honest(rng, max(150, round(400 * scale))):
        value = rng.choice(ATTACKS)
        counts["sound"] += 1
        outcome = _outcome(work, words, "x" + value, place)
        if outcome.stdout.decode() != printed.replace("{x}", "x" + value) or _took_the_bait(work):
            broken.append(
                f"sound: {words} {value!r} {outcome.status} {outcome.stdout!r} {outcome.stderr[:80]!r}"
            )
    broken += _mended(work, rng, place, counts, max(100, round(300 * scale)))
    broken += _through_the_command_line(work, rng, max(10, round(40 * scale)))
    note = "; ".join(broken[:3]) or ", ".join(f"{name} {count}" for name, count in counts.items())
    done = counts["injected"] + counts["sound"] + counts["rewritten"]
    return Figure("R61", "no argument is run as program text", done, len(broken), note)


def _injected(rng: random.Random, count: int) -> Iterator[list[object]]:
    """Every interpreter behind every wrapper at least once, in one of the ways to write the value; then at random."""
    pairs = [(wrapper, text) for wrapper in WRAPPERS for text in TEXTS]
    rng.shuffle(pairs)
    for number in range(max(count, len(pairs))):
        wrapper, (program, text) = pairs[number % len(pairs)]
        word = text.replace("{}", rng.choice(QUOTES), 1)
        if wrapper[:1] == ["some-wrapper"] and program[0] in (
            "awk",
            "sed",
            "jq",
            "make",
            "ssh",
            "eval",
            "su",
            "watch",
        ):
            wrapper = []  # behind a program that is not known these are words like any other
        if rng.random() < 0.2 and program[-1].startswith("--"):
            yield [*wrapper, *program[:-1], f"{program[-1]}={word}"]
        elif rng.random() < 0.1:
            yield [*wrapper, *program, [word]]
        else:
            yield [*wrapper, _disguised(program[0], rng), *program[1:], word]


def _disguised(name: str, rng: random.Random) -> str:
    """The program by another path or spelling that starts the same."""
    return rng.choice([name, name, f"/usr/bin/{name}", f"{name}.exe", name.upper()])


def _honest(rng: random.Random, count: int) -> Iterator[tuple[list[str], str]]:
    usable = [
        (words, printed)
        for words, printed in HONEST
        if all(shutil.which(word) for word in words[:1])
    ]
    return (rng.choice(usable) for _ in range(count))


def _mended(
    work: Path, rng: random.Random, place: ExecutionContext, counts: Counter[str], number: int
) -> list[str]:
    """What `--fix` makes of a shell text prints the value, and runs nothing of it."""
    broken = []
    for _ in range(number):
        before, after = (
            rng.choice(["", "x ", "-n x ", "'a;b' "]),
            rng.choice(["", " y", " | cat", " && true", "; true"]),
        )
        text = f"printf '<%s>' {before}{rng.choice(QUOTES)}{after}"
        rewritten = rewrite_shell_text(["sh", "-c", text], SCHEMA)
        if rewritten is None:
            counts["left as they are"] += 1
            continue
        counts["rewritten"] += 1
        value = "x" + rng.choice(ATTACKS)
        outcome = _outcome(work, ["sh", "-c", rewritten[0], *rewritten[1]], value, place)
        if value not in outcome.stdout.decode() or _took_the_bait(work):
            broken.append(f"mended: {text} -> {rewritten[0]} {outcome.stdout!r}")
    return broken


def _through_the_command_line(work: Path, rng: random.Random, count: int) -> list[str]:
    """Some of them as a user has them: validate says so, run refuses with status 5."""
    root, index_dir, broken = work / "root", work / "index", []
    samples = list(_injected(rng, 1))[:count]
    for number, words in enumerate(samples):
        folder = root / f"tool-{number}"
        folder.mkdir(parents=True)
        fields = {
            "name": folder.name,
            "kind": "tool",
            "description": "Says what it is told.",
            "inputSchema": SCHEMA,
        }
        (folder / "CAPABILITY.yaml").write_text(json.dumps(fields | {"run": {"command": words}}))
    index(work, root, index_dir)
    found = run(
        work, command("validate", str(root), "--format", "json", "--select", "program-text")
    )
    named = {Path(one["path"]).parent.name for one in json.loads(found.out)["findings"]}
    for number, words in enumerate(samples):
        value = json.dumps({"x": rng.choice(ATTACKS)})
        done = run(
            work, command("run", f"tool-{number}", value, "--yes", "--index-dir", str(index_dir))
        )
        if (
            f"tool-{number}" not in named
            or done.code != 5
            or not done.is_plain
            or _took_the_bait(work)
        ):
            broken.append(f"command line: {words} {done.code} {done.err[-200:]}")
    return broken


def _tool(work: Path, words: list[object]) -> Descriptor:
    source = SourceRef(path=str(work / "CAPABILITY.yaml"), format="capability", root=str(work))
    return Descriptor(
        id="tool:probe", kind="tool", name="probe", description="A tool.", source=source, schema=SCHEMA,
        run={"command": words},
    )  # fmt: skip


def _outcome(work: Path, words: list[object], value: str, place: ExecutionContext) -> Outcome:
    try:
        return execute_call(
            prepare_call(_tool(work, words), {"x": value}, place),
            place.environ,
            CallLimits(seconds=20),
        )
    except CapdiscError as error:
        return Outcome(status="refused", exit_code=5, stdout=b"", stderr=error.message.encode())


def _stand_ins(work: Path) -> Path:
    """A folder with a careless program for each name that is not on this machine."""
    folder = work / "bin"
    folder.mkdir()
    names = {words[0] for words, _ in TEXTS} | {words[0] for words in WRAPPERS if words}
    for name in sorted(names):
        for spelt in (name, f"{name}.exe", name.upper()):
            if not shutil.which(spelt):
                path = folder / spelt
                path.write_text(_STAND_IN)
                path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return folder


def _took_the_bait(work: Path) -> bool:
    """Whether some value was run; the file that it made is taken away."""
    found = (work / "CANARY").exists()
    (work / "CANARY").unlink(missing_ok=True)
    return found


def r62(work: Path, rng: random.Random, scale: float) -> Figure:
    """Outputs with secrets in them, cut by size and time wherever it may be: no beginning of one is the end."""
    rounds, broken = max(60, round(400 * scale)), []
    cut: Counter[str] = Counter()
    for number in range(rounds):
        secrets = {f"KEY_{place}": _secret(rng) for place in range(rng.choice([1, 1, 2, 3]))}
        pieces, stream = _pieces(rng, list(secrets.values())), rng.choice(["1", "2"])
        limits = CallLimits(max_bytes=rng.randrange(1, 400), seconds=rng.choice([20, 20, 20, 0.4]))
        outcome = _wrote(work, pieces, stream, limits, secrets, rng)
        cut[outcome.status] += 1
        for name, data in (("stdout", outcome.stdout), ("stderr", outcome.stderr)):
            if leak := _leak(data, list(secrets.values()), len(data) >= limits.max_bytes):
                broken.append(
                    f"{number} {name} {outcome.status}: {leak!r} at the end of {data[-60:]!r}"
                )
    note = "; ".join(broken[:3]) or ", ".join(f"{status} {count}" for status, count in cut.items())
    return Figure("R62", "what is cut ends in no part of a secret", rounds, len(broken), note)


def _secret(rng: random.Random) -> str:
    alphabet = rng.choice(["abcdefghijklmnop0123456789", "ab", 'xyz"\\/ +%ä', "-_ABCDEF"])
    # Not what the outputs are filled with, so that what looks like a beginning is one.
    return "§" + "".join(rng.choice(alphabet) for _ in range(rng.randrange(5, 60)))


def _pieces(rng: random.Random, secrets: list[str]) -> list[bytes]:
    """An output in pieces as it is written, with borders inside the secrets; some of them as JSON."""
    text = b""
    for _ in range(rng.randrange(1, 6)):
        secret = rng.choice(secrets)
        written = rng.choice([secret, secret, json.dumps(secret)[1:-1]])
        text += b"." * rng.randrange(0, 120) + written.encode()
    text += b"." * rng.randrange(0, 60)
    borders = sorted(rng.sample(range(len(text) + 1), min(len(text), rng.randrange(0, 4))))
    return [
        text[start:end] for start, end in zip([0, *borders], [*borders, len(text)], strict=True)
    ]


def _wrote(
    work: Path,
    pieces: list[bytes],
    stream: str,
    limits: CallLimits,
    secrets: dict[str, str],
    rng: random.Random,
) -> Outcome:
    """A program that writes these pieces, now and then waiting between two of them."""
    lines = []
    for number, piece in enumerate(pieces):
        (work / f"piece-{number}").write_bytes(piece)
        lines.append(f"cat {shlex.quote(str(work / f'piece-{number}'))} >&{stream}")
        lines.append(
            "sleep 30"
            if limits.seconds < 1 and number == len(pieces) - 2
            else rng.choice([":", "sleep 0.02"])
        )
    call = CommandCall(
        argv=("/bin/sh", "-c", "\n".join(lines)), cwd=work, environment=tuple(secrets)
    )
    return execute_call(call, {"PATH": os.environ["PATH"], **secrets}, limits)


def _leak(data: bytes, secrets: list[str], is_full: bool) -> bytes:
    """A secret in the data, or the beginning of one at its end. Where the limit of bytes fell into `<secret NAME>`,
    what is left of that is none."""
    for secret in secrets:
        for form in {
            secret.encode(),
            json.dumps(secret)[1:-1].encode(),
            json.dumps(secret, ensure_ascii=False)[1:-1].encode(),
        }:
            if form in data:
                return form
            for size in range(len(form) - 1, LEAST_PARTIAL - 1, -1):
                if data.endswith(form[:size]):
                    return form[:size]
    return b""
