"""Replaces frozen dataclasses: declaring a class costs a twentieth.

The standard library compiles half a dozen methods for each class when it is declared, and imports
`inspect` for it: for the 34 classes of one cold query that was 30 of 120 ms. Here all classes
share their methods, and only a class of many values gets a constructor of its own. To a type
checker the classes are dataclasses (PEP 681).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar, dataclass_transform, overload

T = TypeVar("T")
# The fields of a value by name.
FieldValues: TypeAlias = dict[str, Any]

# To compile a constructor takes 150 microseconds, as long as 100 values take that are made by the
# shared one. Most classes have a handful of values in a command; of hits there are hundreds.
_SHARED_INIT_VALUES = 64

_set_attribute = object.__setattr__


class _DefaultFactory:
    """A default that is computed for each value."""

    def __init__(self, factory: Callable[[], Any]) -> None:
        self.factory = factory


_UNSET: Any = object()


def field(*, default_factory: Callable[[], Any]) -> Any:
    """A field whose default is computed for each value."""
    return _DefaultFactory(default_factory)


@overload
def frozen(cls: type[T], /) -> type[T]: ...
@overload
def frozen(*, kw_only: bool = ...) -> Callable[[type[T]], type[T]]: ...
@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: Any = None, /, *, kw_only: bool = False) -> Any:
    """The class with slots, a constructor and immutable fields.

    Two values of one class are equal when all their fields are. With `kw_only` the constructor
    takes its arguments by name.
    """
    return (
        _make_value_class(cls, kw_only)
        if cls
        else lambda decorated: _make_value_class(decorated, kw_only)
    )


def fields(of: Any) -> tuple[str, ...]:
    """The names of the fields of a value or of a class of values, in order."""
    names: tuple[str, ...] = of.__value_fields__
    return names


def defaults(of: Any) -> FieldValues:
    """The defaults of a class of values by field; computed ones are left out."""
    return {
        name: default
        for name, default in of.__value_defaults__.items()
        if not isinstance(default, _DefaultFactory)
    }


def is_value(thing: object) -> bool:
    """Whether this is a value of a frozen class, and not the class itself."""
    return hasattr(type(thing), "__value_fields__")


def replace(old: T, /, **changes: Any) -> T:
    """A copy of the value with some fields changed."""
    return type(old)(**shallow_dict(old) | changes)


def shallow_dict(thing: Any) -> FieldValues:
    """The value's fields by name; nothing in them is copied."""
    return {name: getattr(thing, name) for name in fields(thing)}


def asdict(thing: Any) -> FieldValues:
    """The value and every value in it as dicts; lists and mappings are copied."""
    return {name: _to_plain(value) for name, value in shallow_dict(thing).items()}


def _to_plain(thing: Any) -> Any:
    if is_value(thing):
        return asdict(thing)
    if isinstance(thing, tuple | list):
        return type(thing)(map(_to_plain, thing))
    return (
        {key: _to_plain(value) for key, value in thing.items()}
        if isinstance(thing, dict)
        else thing
    )


def _make_value_class(cls: type, kw_only: bool) -> type:
    """A new class of the same name: an existing class cannot get slots."""
    # Not the annotations of a base: since Python 3.10 every class has its own, perhaps empty.
    names = tuple(cls.__annotations__)
    body = {
        name: member
        for name, member in vars(cls).items()
        if name not in ("__dict__", "__weakref__")
    }
    preset = {name: body.pop(name) for name in names if name in body}
    inherited = getattr(cls, "__value_fields__", ())
    body |= {
        "__slots__": names,
        "__match_args__": () if kw_only else (*inherited, *names),
        "__value_fields__": (*inherited, *names),
        "__value_defaults__": getattr(cls, "__value_defaults__", {}) | preset,
        "__value_kw_only__": kw_only,
        "__value_count__": [0],
        "__init__": _shared_init,
    }
    return type(cls)(cls.__name__, cls.__bases__, _METHODS | body)


def _shared_init(self: Any, *args: Any, **named: Any) -> None:
    """The constructor of the first values of each class; then the class gets its own, which also
    words the error where arguments are missing or unknown.
    """
    kind: Any = type(self)
    names, count = kind.__value_fields__, kind.__value_count__
    arguments = dict(zip(names, args, strict=False)) | named
    values = kind.__value_defaults__ | arguments
    count[0] += 1
    if (
        count[0] > _SHARED_INIT_VALUES
        or len(arguments) < len(args) + len(named)
        or values.keys() != set(names)
        or (args and kind.__value_kw_only__)
    ):
        kind = next(base for base in kind.__mro__ if "__value_fields__" in vars(base))
        constructor = _compile_init(kind)
        type.__setattr__(kind, "__init__", constructor)
        constructor(self, *args, **named)
        return
    for name, value in values.items():
        _set_attribute(self, name, value.factory() if type(value) is _DefaultFactory else value)


def _compile_init(kind: Any) -> Callable[..., None]:
    names: FieldValues = {"_set": _set_attribute, "_unset": _UNSET}
    parameters = ["self", *(["*"] if kind.__value_kw_only__ and kind.__value_fields__ else [])]
    lines = [" pass"]
    for name in kind.__value_fields__:
        parameter = value = name
        if name in kind.__value_defaults__:
            default, parameter = kind.__value_defaults__[name], f"{name}=_{name}"
            if isinstance(default, _DefaultFactory):
                default, parameter = default.factory, f"{name}=_unset"
                value = f"_{name}() if {name} is _unset else {name}"
            names[f"_{name}"] = default
        parameters.append(parameter)
        lines.append(f" _set(self, {name!r}, {value})")
    # The source holds only names of fields, which come from our own classes.
    exec("\n".join([f"def __init__({', '.join(parameters)}):", *lines]), names)
    init: Callable[..., None] = names["__init__"]
    init.__qualname__ = f"{kind.__qualname__}.__init__"
    return init


def _eq(self: Any, right: Any) -> Any:
    if type(self) is not type(right):
        return NotImplemented
    return all(getattr(self, name) == getattr(right, name) for name in self.__value_fields__)


def _hash(self: Any) -> int:
    return hash(tuple(getattr(self, name) for name in self.__value_fields__))


def _repr(self: Any) -> str:
    arguments = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__value_fields__)
    return f"{type(self).__qualname__}({arguments})"


def _reduce(self: Any) -> tuple[Any, ...]:
    return _rebuild, (type(self), tuple(getattr(self, name) for name in self.__value_fields__))


def _rebuild(kind: type[T], values: tuple[Any, ...]) -> T:
    """The value as `pickle` (in another process) or `copy` restores it."""
    instance = object.__new__(kind)
    for name, value in zip(fields(kind), values, strict=True):
        _set_attribute(instance, name, value)
    return instance


def _refuse_change(self: Any, name: str, *values: Any) -> None:
    raise AttributeError(f"{type(self).__name__} is frozen: {name} stays as it is")


_METHODS = {
    "__eq__": _eq,
    "__hash__": _hash,
    "__repr__": _repr,
    "__reduce__": _reduce,
    "__setattr__": _refuse_change,
    "__delattr__": _refuse_change,
}
