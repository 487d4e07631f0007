"""Expressions of code are kept between processes, expressions of requests are not."""

import subprocess
import sys

from capdisc.context.compiled_expressions import CompiledExpressions, _read_table

RUN = """
import sys, re
from capdisc.context.compiled_expressions import CompiledExpressions
kept = CompiledExpressions(sys.argv[1])
kept.install()
sys.path.insert(0, sys.argv[2])
import some_module
assert some_module.WORD.findall("ab 12") == ["ab"]
assert some_module.NAMED.match("k=v").groupdict() == {"key": "k", "value": "v"}
assert some_module.find("secret request") is None
print(len(kept._new))
kept.save()
"""
MODULE = """
import re
class Rules:
    SIGN = re.compile(rb"[+-]")
WORD = re.compile(r"[a-z]+", re.IGNORECASE)
NAMED = re.compile(r"(?P<key>\\w)=(?P<value>\\w)")
def find(text):
    return re.search(f"{text}!", text)
"""


def run(path, folder) -> str:
    command = [sys.executable, "-c", RUN, str(path), str(folder)]
    env = {"PATH": "/usr/bin:/bin"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_expressions_of_modules_are_compiled_once(tmp_path) -> None:
    (tmp_path / "some_module.py").write_text(MODULE)
    path = tmp_path / "expressions.bin"
    assert int(run(path, tmp_path)) >= 3
    assert run(path, tmp_path) == "0"
    assert {pattern for pattern, _ in _read_table(str(path))} >= {"[a-z]+", b"[+-]"}
    assert not any("secret" in str(pattern) for pattern, _ in _read_table(str(path)))


def test_a_damaged_file_is_no_file(tmp_path) -> None:
    (tmp_path / "some_module.py").write_text(MODULE)
    path = tmp_path / "expressions.bin"
    run(path, tmp_path)
    whole = path.read_bytes()
    for data in (b"", b"no marshal", whole[:-20], whole[:40] + bytes(40) + whole[80:]):
        path.write_bytes(data)
        run(path, tmp_path)


def test_a_file_that_cannot_be_written_is_no_error(tmp_path) -> None:
    kept = CompiledExpressions(str(tmp_path / "none" / "expressions.bin"))
    kept._new["a", 0] = b""
    kept.save()
