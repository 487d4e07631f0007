"""Metrics and their intervals against values worked out by hand."""

from __future__ import annotations

import math
import random

import pytest

from capdisc_audit.evaluation import (
    METRICS,
    column_means,
    compute_metrics,
    half_widths,
    percentile,
)

LOG3 = math.log2(3)


def figures(ids: list[str], gold: dict[str, float]) -> dict[str, float]:
    return dict(zip(METRICS, compute_metrics(ids, gold), strict=True))


@pytest.mark.parametrize(
    ("ids", "gold", "expected"),
    [
        (
            ["a", "b"],
            {"a": 1},
            {"nDCG@10": 1, "R@1": 1, "R@5": 1, "R@10": 1, "MRR": 1, "C@10": 1, "refused": 0},
        ),
        (["b", "a"], {"a": 1}, {"nDCG@10": 1 / LOG3, "R@1": 0, "R@5": 1, "MRR": 0.5, "C@10": 1}),
        (
            ["a", "x"],
            {"a": 2, "b": 1},
            {"nDCG@10": 2 / (2 + 1 / LOG3), "R@1": 0.5, "R@10": 0.5, "C@10": 0},
        ),
        (
            ["b", "a"],
            {"a": 2, "b": 1},
            {"nDCG@10": (1 + 2 / LOG3) / (2 + 1 / LOG3), "R@1": 0.5, "C@10": 1},
        ),
        ([], {"a": 1}, {"nDCG@10": 0, "R@10": 0, "MRR": 0, "C@10": 0, "refused": 1}),
        (["x"], {"a": 1}, {"nDCG@10": 0, "MRR": 0, "refused": 0}),
        (["x", "x", "a"], {"a": 1}, {"MRR": 0.5}),
        ([*"0123456789", "a"], {"a": 1}, {"nDCG@10": 0, "R@10": 0, "MRR": 1 / 11, "C@10": 0}),
        (
            list("abcdefghijkl"),
            dict.fromkeys("abcdefghijkl", 1.0),
            {"nDCG@10": 1, "R@5": 5 / 12, "C@10": 0},
        ),
    ],
)
def test_a_ranking_is_worth_what_it_is_by_hand(ids, gold, expected) -> None:
    found = figures(ids, gold)
    assert {name: found[name] for name in expected} == pytest.approx(expected)


def test_means_are_by_column() -> None:
    assert column_means([(0.0, 1.0), (1.0, 1.0)]) == (0.5, 1.0)


def test_percentiles_are_values_that_occurred() -> None:
    values = [float(n) for n in range(100, 0, -1)]
    assert [percentile(values, each) for each in (50, 95, 99, 100)] == [50, 95, 99, 100]
    assert percentile([7.0], 99) == 7.0


def test_an_interval_is_as_wide_as_theory_says() -> None:
    coin = [(float(n % 2), 1.0) for n in range(400)]
    half, certain = half_widths(coin)
    assert half == pytest.approx(1.96 * 0.5 / math.sqrt(400), rel=0.1)
    assert certain == 0
    assert half_widths(coin) == half_widths(coin)


def test_the_interval_of_five_hundred_queries_is_narrow_for_every_metric() -> None:
    rng = random.Random(1)
    rows = [tuple(rng.random() for _ in METRICS) for _ in range(500)]
    widths = half_widths(rows)
    assert len(widths) == len(METRICS)
    # 1.96 standard errors of a uniform number: 1.96 / sqrt(12 * 500) = 0.0253.
    assert all(width == pytest.approx(0.0253, rel=0.15) for width in widths)
