"""Each promise in SECURITY.md names a test or, with its file, a case; and each of these exists."""

import re
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
TESTS = (REPOSITORY / "tests", *REPOSITORY.glob("plugins/*/tests"))
TEXT = (REPOSITORY / "SECURITY.md").read_text(encoding="utf-8")
PROMISES = TEXT.partition("## Not promised")[0]


def test_every_promise_names_a_test() -> None:
    promises = re.split(r"^- \*\*", PROMISES, flags=re.MULTILINE)[1:]
    assert len(promises) > 15
    named = re.compile(r"`test_|`\w+\.(?:txt|case|toml): ")
    assert [promise[:60] for promise in promises if not named.search(promise)] == []


def test_every_test_that_is_named_is_there() -> None:
    names = set(re.findall(r"`(test_\w+)`", PROMISES))
    defined = {
        name
        for folder in TESTS
        for path in folder.rglob("test_*.py")
        for name in re.findall(
            r"^ *def (test_\w+)\(", path.read_text(encoding="utf-8"), flags=re.MULTILINE
        )
    }
    assert sorted(names - defined) == []


def test_every_case_that_is_named_is_there() -> None:
    named = re.findall(r"`(\w+\.(?:txt|case|toml)): ([^`]+)`", PROMISES)
    assert named
    for file, sentence in named:
        (path,) = (path for folder in TESTS for path in folder.rglob(file))
        escaped = re.escape(" ".join(sentence.split()))
        heading = re.compile(rf'^(?:# |==== |\["){escaped}(?:"\])?$', re.M)
        assert heading.search(path.read_text(encoding="utf-8")), (file, sentence)
