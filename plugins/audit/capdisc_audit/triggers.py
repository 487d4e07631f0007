"""Does each capability answer the requests that it should, and stay away from the others?

A test is a request and a capability that it should, or should not, trigger. Tests come from what
authors write anyway: `phrases` and their kin, what a capability is not for, the phrases of its
neighbours; and from files of requests with `should_trigger`, as the skill-creator of the public
collection of skills and several runners of skill tests write them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from capdisc_audit.evaluation import Progress
from capdisc_indexer.encoders import Encoder
from capdisc_indexer.model.errors import InputError
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.json_types import CapabilityHeader
from capdisc_indexer.model.types import Finding, Query, Ranking
from capdisc_indexer.retrieval.pipeline import search_index
from capdisc_indexer.sources.readers.file_bytes import decode
from capdisc_indexer.sources.readers.yaml_nodes import Json, to_json
from capdisc_indexer.sources.readers.yaml_reader import read_yaml
from capdisc_indexer.store.snapshot import Index

# A phrase of another capability is a near miss for what stands among so many of its first hits.
NEIGHBOUR_DEPTH = 5
_SEARCH_DEPTH = 10
# What a test comes from, as reports name it; a file is named by its path.
PHRASE, EXCLUSION, NEIGHBOUR = "phrase", "not for", "neighbour"

# A test by what it asks: the id, the request without regard to case, and what is expected.
TestKey: TypeAlias = tuple[str, str, bool]


@frozen
class TriggerTest:
    """A request that should, or should not, trigger the capability. `origin` is PHRASE, EXCLUSION
    or NEIGHBOUR, or the name of a file.
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


@frozen
class TriggerAnswers:
    """The results of all tests, and what the searches had to do without."""

    results: Sequence[TriggerResult]
    degraded: tuple[str, ...] = ()


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


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


# Requests in files.

_TEXT_KEYS = ("query", "prompt", "request", "text", "input")
_NAME_KEYS = ("skill", "skill_name", "capability", "name", "id")
_LIST_KEYS = ("evals", "triggers", "tests", "queries", "cases")
_EXPECTATIONS: Mapping[str, bool] = {
    "should_trigger": True,
    "should_match": True,
    "should_not_trigger": False,
    "should_not_match": False,
}
_FILE_HINT = 'write [{"query": "…", "should_trigger": true}], or lists should_trigger and should_not_trigger'


@frozen
class FileRequest:
    """A request of a file; `name` is the capability that the file names, "" where it does not."""

    name: str
    request: str
    should_trigger: bool


def parse_trigger_file(data: bytes, path: str) -> tuple[FileRequest, ...]:
    """The requests of a JSON, JSON lines or YAML file; none where it holds no `should_trigger`.

    Raises InputError for a file that cannot be read.
    """
    text = decode(data, path)
    if isinstance(text, Finding):
        raise InputError(f"{path}: {text.message}", text.hint)
    return tuple(_read_requests(_parse(text, path), ""))


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
            raise InputError(f"{path} is no JSON: {error}", _FILE_HINT) from error
    result = read_yaml(text, path)
    if not result.documents:
        problem = result.finding.message if result.finding else "it is empty"
        raise InputError(f"{path} cannot be read: {problem}", _FILE_HINT)
    return to_json(result.documents[0])


def _read_requests(value: Json, name: str) -> Iterator[FileRequest]:
    """The requests in a value of a file, and in what it holds; `name` is that of the level above."""
    if isinstance(value, list):
        for item in value:
            yield from _read_requests(item, name)
    if not isinstance(value, dict):
        return
    name = next((text for key in _NAME_KEYS if isinstance(text := value.get(key), str)), name)
    request = next((text for key in _TEXT_KEYS if isinstance(text := value.get(key), str)), "")
    for key, expected in _EXPECTATIONS.items():
        expectation = value.get(key)
        if isinstance(expectation, bool) and request.strip():
            yield FileRequest(name, request, expectation is expected)
        elif isinstance(expectation, list):
            for item in expectation:
                if isinstance(item, str) and item.strip():
                    yield FileRequest(name, item, expected)
    for key in _LIST_KEYS:
        yield from _read_requests(value.get(key), name)


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
) -> TriggerAnswers:
    """The results of the tests, and of the near misses that they lead to: a phrase that should
    trigger one capability should not trigger another one that it finds, too.

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
    return TriggerAnswers(results, tuple(degraded))


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
    winner = ranking.hits[0].id if ranking.hits else ""
    is_triggered = 0 < rank <= limit
    return TriggerResult(test, rank, winner, is_triggered is test.should_trigger)


def figures_by_capability(results: Iterable[TriggerResult]) -> list[TriggerFigures]:
    """The figures of each capability that has a test, in order of their ids."""
    by_id: dict[str, list[TriggerResult]] = {}
    for result in results:
        by_id.setdefault(result.test.id, []).append(result)
    return [TriggerFigures(key, by_id[key]) for key in sorted(by_id)]


@frozen
class TriggerChanges:
    """The tests that failed before and pass now, that passed and fail, and that fail and could not
    be asked before, since their capability was not there.
    """

    fixed: Sequence[TriggerResult]
    broken: Sequence[TriggerResult]
    failing_new: Sequence[TriggerResult]


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
    known, remaining = set(ids_before), set(ids_now)
    fixed, broken, failing_new = (
        list[TriggerResult](),
        list[TriggerResult](),
        list[TriggerResult](),
    )
    current = {result.test.key: result for result in now}
    for key, result in current.items():
        # A near miss is asked only where it is found: where it was not, it passed.
        had_passed = earlier[key].has_passed if key in earlier else not result.test.should_trigger
        if result.test.id not in known:
            failing_new += [] if result.has_passed else [result]
        elif result.has_passed and not had_passed:
            fixed.append(result)
        elif had_passed and not result.has_passed:
            broken.append(result)
    fixed += [
        result
        for key, result in earlier.items()
        if key not in current and not result.has_passed and result.test.id in remaining
    ]
    return TriggerChanges(fixed, broken, failing_new)
