"""Each promise in SECURITY.md names a test, and each of these tests exists."""

import re
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
TESTS = (REPOSITORY / "tests", *REPOSITORY.glob("plugins/*/tests"))
TEXT = (REPOSITORY / "SECURITY.md").read_text(encoding="utf-8")
PROMISES = TEXT.partition("## Not promised")[0]


def test_every_promise_names_a_test() -> None:
    promises = re.split(r"^- \*\*", PROMISES, flags=re.MULTILINE)[1:]
    assert len(promises) > 15
    assert [promise[:60] for promise in promises if "`test_" not in promise] == []


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
