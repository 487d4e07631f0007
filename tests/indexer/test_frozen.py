"""Frozen values are immutable, equal by content, and can be pickled."""

import copy
import dataclasses
import pickle
from typing import Any

import pytest

from capdisc_indexer.model.frozen import asdict, defaults, field, fields, frozen, is_value, replace
from case_rows import read_rows


@frozen
class Point:
    x: int
    y: int = 2
    tags: list[str] = field(default_factory=list)

    @property
    def sum(self) -> int:
        return self.x + self.y


@frozen(kw_only=True)
class Named(Point):
    name: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Twin:
    x: int
    y: int = 2
    tags: list[str] = dataclasses.field(default_factory=list)


@pytest.mark.parametrize(
    "given", read_rows(__file__, "what_a_dataclass_says_of_itself_a_value_says")
)
def test_what_a_dataclass_says_of_itself_a_value_says(given: tuple[Any, Any]) -> None:
    positional, named = given
    one, other = Point(*positional, **named), Twin(*positional, **named)
    assert repr(one) == repr(other).replace("Twin", "Point")
    assert asdict(one) == dataclasses.asdict(other)


@pytest.mark.parametrize("given", read_rows(__file__, "arguments_that_do_not_fit_are_refused"))
def test_arguments_that_do_not_fit_are_refused(given: tuple[Any, Any]) -> None:
    with pytest.raises(TypeError):
        Point(*given[0], **given[1])
    with pytest.raises(TypeError):
        Twin(*given[0], **given[1])


def test_values_are_equal_by_class_and_content() -> None:
    assert Point(1) == Point(1) != Point(2)
    assert Point(1) != Twin(1)
    assert hash(Hashed(a=1)) == hash(Hashed(a=1))


@frozen(kw_only=True)
class Hashed:
    a: int


def test_nothing_of_a_value_changes() -> None:
    one = Point(1)
    for change in (
        lambda: setattr(one, "x", 2),
        lambda: delattr(one, "x"),
        lambda: setattr(one, "z", 2),
    ):
        with pytest.raises(AttributeError):
            change()
    assert replace(one, x=9).sum == 11
    assert one.x == 1


def test_a_default_that_is_made_anew_is_nobody_elses() -> None:
    Point(1).tags.append("a")
    assert Point(1).tags == []


def test_a_value_may_extend_another() -> None:
    one = Named(x=1, name="n")
    assert (one.sum, fields(one)) == (3, ("x", "y", "tags", "name"))
    assert replace(one, y=5).name == "n"
    with pytest.raises(TypeError):
        Named(1)
    assert Point(1).sum == 3


def test_a_value_is_the_same_in_another_process_and_as_a_copy() -> None:
    one = Named(x=1, tags=["t"], name="n")
    for other in (pickle.loads(pickle.dumps(one)), copy.deepcopy(one), copy.copy(one)):
        assert other == one


def test_what_is_a_value_is_told_from_its_class() -> None:
    assert is_value(Point(1))
    assert not is_value(Point)
    assert not is_value({"x": 1})
    assert dict(defaults(Point)) == {"y": 2}
    assert asdict(Named(x=1, tags=["a"])) == {"x": 1, "y": 2, "tags": ["a"], "name": ""}
