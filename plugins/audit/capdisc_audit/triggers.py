"""Does each capability answer the requests that it should, and stay away from the others?

A test is a request and a capability that it should, or should not, trigger. Tests come from what
authors write anyway: `phrases` and their kin, what a capability is not for, the phrases of its
neighbours; and from files of requests, in the forms that the skill-creator of the public
collection of skills, vendors of skills and several runners of skill tests write: `should_trigger`,
`expected_skill`, and the prompts of `evals.json`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from capdisc_audit.evaluation import Progress
from capdisc_indexer.encoders import Encoder
from capdisc_indexer.model.errors import InputError
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.json_types import CapabilityHeader
from capdisc_indexer.model.types import Finding, Query, Ranking
from capdisc_indexer.retrieval.pipeline import search_index
from capdisc_indexer.retrieval.verdict import select_shown_hits
from capdisc_indexer.sources.readers.file_bytes import decode
from capdisc_indexer.sources.readers.yaml_nodes import Json, to_json
from capdisc_indexer.sources.readers.yaml_reader import read_yaml
from capdisc_indexer.store.snapshot import Index

# A phrase of another capability is a near miss for what stands among this many of its first hits.
NEIGHBOUR_DEPTH = 5
_SEARCH_DEPTH = 10
# A hook prints at most this many hits; how many requests find theirs among them is reported.
SHOWN_HITS = 3
# The id of a test whose request nothing here should answer.
NOBODY = ""
# What a test comes from, as reports name it; a file is named by its path.
PHRASE, EXCLUSION, NEIGHBOUR = "phrase", "not for", "neighbour"

# What changed since an earlier state: tests that failed before and pass now, that passed and fail,
# and that fail and could not be asked before, since their capability was not there.
BETTER, WORSE, FAILING_NEW = "better", "worse", "failing_new"

# A test by what it asks: the id, the request without regard to case, and what is expected.
TestKey: TypeAlias = tuple[str, str, bool]


@frozen
class TriggerTest:
    """A request that should, or should not, trigger the capability; for NOBODY it should trigger
    none at all. `origin` is PHRASE, EXCLUSION or NEIGHBOUR, or the name of a file.
    """

    id: str
    request: str
    should_trigger: bool
    origin: str

    @property
    def key(self) -> TestKey:
        """What makes two tests the same one, whatever they come from."""
        return self.id, " ".join(self.request.casefold().split()), self.should_trigger


@frozen
class TriggerResult:
    """A test with the place of its capability (0: not found) and the first hit ("": none)."""

    test: TriggerTest
    rank: int
    winner: str
    has_passed: bool


# The results of tests by BETTER, WORSE and FAILING_NEW.
TriggerChanges: TypeAlias = Mapping[str, Sequence[TriggerResult]]


@frozen
class TriggerFigures:
    """The results of one capability, or of all.

    `recall` is the share 0..1 of the requests that should trigger it which do, `precision` the
    share of the requests that trigger it which should; None where there are no such requests.
    """

    id: str
    results: Sequence[TriggerResult]

    @property
    def recall(self) -> float | None:
        """The share of what should trigger that does."""
        return _share(self._triggered(expected=True), self.wanted)

    @property
    def precision(self) -> float | None:
        """The share of what triggers that should."""
        right = self._triggered(expected=True)
        return _share(right, right + self._triggered(expected=False))

    @property
    def recall_in_three(self) -> float | None:
        """The share of what should trigger that is among the first SHOWN_HITS."""
        ranks = [result.rank for result in self.results if result.test.should_trigger]
        return _share(sum(0 < rank <= SHOWN_HITS for rank in ranks), len(ranks))

    @property
    def wanted(self) -> int:
        """The number of requests that should trigger."""
        return sum(result.test.should_trigger for result in self.results)

    @property
    def failures(self) -> Sequence[TriggerResult]:
        """The tests that failed."""
        return [result for result in self.results if not result.has_passed]

    def _triggered(self, expected: bool) -> int:
        return sum(
            result.has_passed is expected
            for result in self.results
            if result.test.should_trigger is expected
        )


_TEXT_KEYS = ("query", "prompt", "request", "text", "input")
_NAME_KEYS = ("skill", "skill_name", "capability")
# A row may have these for itself.
_WEAK_NAME_KEYS = ("name", "id")
_PROMPTS_KEY = "evals"  # the requests in this list are for the skill where nothing else is said
_LIST_KEYS = (_PROMPTS_KEY, "triggers", "tests", "queries", "cases", "test_cases")
_EXPECTATIONS: Mapping[str, bool] = {
    "should_trigger": True,
    "should_match": True,
    "expect_invoke": True,
    "should_not_trigger": False,
    "should_not_match": False,
}
_EXPECTED_KEYS = ("expected_skill", "expected")
_NOBODY_WORDS = ("", "none", "null")
# None of those that the file is about; another one may be right.
_OTHERS_WORD = "neither"
_FILE_HINT = 'write [{"query": "…", "should_trigger": true}], or lists should_trigger and should_not_trigger'


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def count_confusions(results: Iterable[TriggerResult]) -> list[tuple[tuple[str, str], int]]:
    """How often another capability came first: the wanted one and the winner, most frequent
    first.
    """
    pairs = Counter(
        (result.test.id, result.winner)
        for result in results
        if result.test.should_trigger and result.winner and result.rank != 1
    )
    return sorted(pairs.items(), key=lambda item: (-item[1], item[0]))


# Requests in files.


@frozen
class FileRequest:
    """A request of a file; `name` is the capability that the file names, "" where it does not,
    None where no capability should answer.
    """

    name: str | None
    request: str
    should_trigger: bool


def parse_trigger_file(data: bytes, path: str) -> tuple[FileRequest, ...]:
    """The requests of a JSON, JSON lines or YAML file; none where it says of none what is
    expected.

    Raises InputError for a file that cannot be read.
    """
    text = decode(data, path)
    if isinstance(text, Finding):
        raise InputError(f"{path}: {text.message}", text.hint)
    return tuple(_read_requests(_parse(text, path), "", is_wanted=False))


def _parse(text: str, path: str) -> Json:
    try:
        value: Json = json.loads(text)
    except (ValueError, RecursionError):
        pass
    else:
        return value
    lines = [line for line in text.splitlines() if line.strip()]
    if lines and all(line.lstrip().startswith("{") for line in lines):
        try:
            return [json.loads(line) for line in lines]
        except (ValueError, RecursionError) as error:
            raise InputError(f"{path} is not JSON: {error}", _FILE_HINT) from error
    result = read_yaml(text, path)
    if not result.documents:
        problem = result.finding.message if result.finding else "it is empty"
        raise InputError(f"{path} cannot be read: {problem}", _FILE_HINT)
    return to_json(result.documents[0])


def _read_requests(value: Json, name: str, is_wanted: bool) -> Iterator[FileRequest]:
    """The requests in a value of a file, and in what it holds; `name` is that of the level above,
    and `is_wanted` says that it should answer where nothing else is said.
    """
    if isinstance(value, list):
        for item in value:
            yield from _read_requests(item, name, is_wanted)
    if not isinstance(value, dict):
        return
    name = _first_text(value, _NAME_KEYS) or name or _first_text(value, _WEAK_NAME_KEYS)
    yield from _requests_of_row(value, name, is_wanted)
    for key in _LIST_KEYS:
        yield from _read_requests(value.get(key), name, key == _PROMPTS_KEY)


def _requests_of_row(
    value: Mapping[str, Json], name: str, is_wanted: bool
) -> Iterator[FileRequest]:
    """The request of the row by what is expected of it, and those in its lists."""
    request = _first_text(value, _TEXT_KEYS)
    expected_key = next((key for key in _EXPECTED_KEYS if key in value), "")
    if request and expected_key:
        expected_name = str(value[expected_key] or "").strip()
        if expected_name.casefold() in _NOBODY_WORDS:
            yield FileRequest(None, request, False)
        elif expected_name.casefold() != _OTHERS_WORD:
            yield FileRequest(expected_name, request, True)
    elif request and is_wanted and not _EXPECTATIONS.keys() & value.keys():
        yield FileRequest(name, request, True)
    for key, expected in _EXPECTATIONS.items():
        expectation = value.get(key)
        if isinstance(expectation, bool) and request:
            yield FileRequest(name, request, expectation is expected)
        elif isinstance(expectation, str) and request:
            yield FileRequest(expectation, request, expected)
        elif isinstance(expectation, list):
            for item in expectation:
                if isinstance(item, str) and item.strip():
                    yield FileRequest(name, item, expected)


def _first_text(value: Mapping[str, Json], keys: Iterable[str]) -> str:
    texts = (value.get(key) for key in keys)
    return next((text for text in texts if isinstance(text, str) and text.strip()), "")


# Tests, and what becomes of them.


def collect_tests(
    headers: Iterable[CapabilityHeader], from_files: Sequence[TriggerTest]
) -> list[TriggerTest]:
    """The tests of these capabilities, each once: of files, then of phrases, then of exclusions.
    What is hidden from agents has none.
    """
    tests: dict[TestKey, TriggerTest] = {test.key: test for test in from_files}
    for header in headers:
        if header.get("hidden"):
            continue
        for phrase in header.get("phrases", ()):
            test = TriggerTest(header["id"], phrase, True, PHRASE)
            tests.setdefault(test.key, test)
        for exclusion in header.get("exclusions", ()):
            test = TriggerTest(header["id"], exclusion, False, EXCLUSION)
            tests.setdefault(test.key, test)
    return list(tests.values())


def run_tests(
    index: Index,
    tests: Sequence[TriggerTest],
    encoder: Encoder | None,
    mode: str,
    limit: int,
    progress: Progress,
) -> tuple[list[TriggerResult], tuple[str, ...]]:
    """The results of the tests, and of the near misses that they lead to: a phrase that should
    trigger one capability should not trigger another one that it finds, too. And what the searches
    had to do without.

    A request triggers what is among its first `limit` hits. Copies count as one.
    """
    requests = {test.key[1]: test.request for test in tests}
    wanted = {(test.id, test.key[1]) for test in tests if test.should_trigger}
    stated = {test.key for test in tests}
    rankings: dict[str, Ranking] = {}
    for done, (key, request) in enumerate(requests.items(), 1):
        query = Query(texts=(request,), limit=max(_SEARCH_DEPTH, limit))
        rankings[key] = search_index(index, query, encoder, mode)
        progress("Asking", done, len(requests))
    results = []
    for test in tests:
        ranking = rankings[test.key[1]]
        results.append(_judge(test, ranking, limit))
        if test.should_trigger and test.origin == PHRASE:
            near_misses = _near_misses(test, ranking, wanted, limit)
            fresh = [near_miss for near_miss in near_misses if near_miss.key not in stated]
            stated.update(near_miss.key for near_miss in fresh)
            results += [_judge(near_miss, ranking, limit) for near_miss in fresh]
    degraded = dict.fromkeys(text for ranking in rankings.values() for text in ranking.degraded)
    return results, tuple(degraded)


def _near_misses(
    test: TriggerTest, ranking: Ranking, wanted: set[tuple[str, str]], limit: int
) -> list[TriggerTest]:
    """The capabilities among the first hits that the request of another one is not for. With a
    larger `limit` only those count that stand before the right one: the others may follow it.
    """
    near_misses = []
    for hit in ranking.hits[: max(NEIGHBOUR_DEPTH, limit)]:
        ids = (hit.id, *hit.copies)
        if test.id in ids:
            if limit > 1:
                break
            continue
        if not hit.via and not any((key, test.key[1]) in wanted for key in ids):
            near_misses.append(TriggerTest(hit.id, test.request, False, NEIGHBOUR))
    return near_misses


def _judge(test: TriggerTest, ranking: Ranking, limit: int) -> TriggerResult:
    rank = next(
        (
            rank
            for rank, hit in enumerate(ranking.hits, 1)
            if test.id == hit.id or test.id in hit.copies
        ),
        0,
    )
    if test.id == NOBODY:
        shown = list(select_shown_hits(ranking.hits))
        rank = 1 if shown and (ranking.gate is None or ranking.gate.is_request) else 0
    winner = ranking.hits[0].id if ranking.hits else ""
    is_triggered = 0 < rank <= limit
    return TriggerResult(test, rank, winner, is_triggered is test.should_trigger)


def figures_by_capability(results: Iterable[TriggerResult]) -> list[TriggerFigures]:
    """The figures of each capability that has a test, in order of their ids."""
    by_id: dict[str, list[TriggerResult]] = {}
    for result in results:
        if result.test.id != NOBODY:
            by_id.setdefault(result.test.id, []).append(result)
    return [TriggerFigures(key, by_id[key]) for key in sorted(by_id)]


def compare_results(
    now: Iterable[TriggerResult],
    before: Iterable[TriggerResult],
    ids_now: Iterable[str],
    ids_before: Iterable[str],
) -> TriggerChanges:
    """How the results of the same tests differ between two states of a collection, which hold
    these capabilities.
    """
    earlier = {result.test.key: result for result in before}
    current = {result.test.key: result for result in now}
    known, remaining = {NOBODY, *ids_before}, {NOBODY, *ids_now}
    changes: dict[str, list[TriggerResult]] = {name: [] for name in (BETTER, WORSE, FAILING_NEW)}
    for key, result in current.items():
        # A near miss is asked only where it is found: where it was not, it passed.
        had_passed = earlier[key].has_passed if key in earlier else not result.test.should_trigger
        if result.test.id not in known:
            changes[FAILING_NEW] += [] if result.has_passed else [result]
        elif result.has_passed != had_passed:
            changes[BETTER if result.has_passed else WORSE].append(result)
    changes[BETTER] += [
        result
        for key, result in earlier.items()
        if key not in current and not result.has_passed and result.test.id in remaining
    ]
    return changes
