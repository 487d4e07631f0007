"""Variables of the environment that decide which programs, libraries or settings are loaded.

A tool that is handed one of them is steered by whoever set it, and a relative part of it
(`PATH=.:…`, an empty entry of PYTHONPATH) leads into the folder where the tool happens to run. So
none of them is a secret, and none is handed on. The names are those of ld.so(8), bash(1), and the
manuals of the interpreters and of git.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from capdisc_indexer.model.json_types import JsonSchema

# What the schema of a parameter says about the text of its values.

_CLOSED_TYPES = frozenset({"integer", "number", "boolean"})
# A pattern that names a leading dash itself: `^-?[0-9]+$`, `^(?:-v|…)$`, `^[-+]`. A dash that a
# class lets through by the way, as in `^[a-z-]+$` for a slug, is no leave for options.
_NAMES_DASH = re.compile(r"\^\(*(?:\?:\(*)?(?:\\?-|\[(?:-|\+-|-\+)\])")
# JSON numbers as Python writes them; not -Infinity, which JSON does not have.
_NEGATIVE = re.compile(r"-[0-9.]+(?:[eE][+-]?[0-9]+)?", re.ASCII)


def parameter_schema(schema: JsonSchema | None, name: str) -> Mapping[str, Any]:
    """The schema of one parameter, or of the items where it is a list; {} where nothing is said.

    References are not followed: what they lead to counts as unknown.
    """
    properties = (schema or {}).get("properties")
    declared = properties.get(name) if isinstance(properties, Mapping) else None
    return declared if isinstance(declared, Mapping) else {}


def is_closed(schema: JsonSchema | None, name: str) -> bool:
    """Whether the parameter's values are the author's own words, numbers or truth values."""
    declared = parameter_schema(schema, name)
    choices = declared.get("enum", [declared["const"]] if "const" in declared else None)
    if isinstance(choices, list):
        return all(value is None or isinstance(value, str | int | float) for value in choices)
    return bool(types := _types(declared)) and types <= _CLOSED_TYPES


def is_always_given(schema: JsonSchema | None, name: str) -> bool:
    """Whether no call can leave the parameter out, or give null for it."""
    declared, required = parameter_schema(schema, name), (schema or {}).get("required")
    is_filled = isinstance(required, list) and name in required
    is_filled = is_filled or declared.get("default") is not None
    if isinstance(choices := declared.get("enum"), list):
        return is_filled and None not in choices
    return is_filled and bool(types := _types(declared)) and "null" not in types


def may_lead_with_dash(schema: JsonSchema | None, name: str) -> bool:
    """Whether the schema lets some value begin with a dash."""
    declared = _of_items(parameter_schema(schema, name))
    choices = [*_listed(declared.get("enum")), declared.get("const")]
    if any(isinstance(value, str) and value.startswith("-") for value in choices):
        return True
    return _names_dash(declared) or (
        bool(_types(declared) & {"integer", "number"}) and not _is_positive(declared)
    )


def allows_dash(schema: JsonSchema | None, name: str, value: Any) -> bool:
    """Whether the schema says that this value, whose text begins with a dash, is meant: it is a
    number where numbers are, one of the choices, or the pattern names the dash.

    >>> slug = {"properties": {"a": {"type": "string", "pattern": "^[a-z-]+$"}}}
    >>> count = {"properties": {"a": {"type": "integer"}}}
    >>> allows_dash(slug, "a", "-rf"), allows_dash(count, "a", -9), allows_dash(None, "a", "-9")
    (False, True, False)
    """
    declared = _of_items(parameter_schema(schema, name))
    if isinstance(value, int | float) and not isinstance(value, bool):
        is_plain = _NEGATIVE.fullmatch(str(value)) is not None
        return is_plain and bool(_types(declared) & {"integer", "number"})
    choices = [*_listed(declared.get("enum")), declared.get("const")]
    return value in choices or (_names_dash(declared) and isinstance(value, str))


def _of_items(declared: Mapping[str, Any]) -> Mapping[str, Any]:
    items = declared.get("items")
    return items if isinstance(items, Mapping) and "array" in _types(declared) else declared


def _names_dash(declared: Mapping[str, Any]) -> bool:
    pattern = declared.get("pattern")
    return isinstance(pattern, str) and _NAMES_DASH.match(pattern) is not None


def _is_positive(declared: Mapping[str, Any]) -> bool:
    least = declared.get("minimum", declared.get("exclusiveMinimum"))
    return isinstance(least, int | float) and not isinstance(least, bool) and least >= 0


def _types(declared: Mapping[str, Any]) -> frozenset[str]:
    types = declared.get("type")
    return frozenset(
        {types}
        if isinstance(types, str)
        else {name for name in _listed(types) if isinstance(name, str)}
    )


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


# Every program gets these, PATH without its relative parts.
ALWAYS_GIVEN = frozenset({"PATH", "HOME", "LANG"})
_NAMES = frozenset(
    """
    PATH HOME LANG SHELL IFS ENV BASH_ENV BASHOPTS SHELLOPTS CDPATH FPATH GLOBIGNORE ZDOTDIR PS4
    PROMPT_COMMAND INPUTRC PWD OLDPWD TMPDIR EDITOR VISUAL PAGER BROWSER MANPAGER LESSOPEN LESSCLOSE
    LESSEDIT PERLLIB NODE_OPTIONS NODE_PATH NODE_REPL_EXTERNAL_MODULE RUBYLIB RUBYOPT GEM_PATH GEM_HOME
    BUNDLE_GEMFILE LUA_INIT LUA_PATH LUA_CPATH PHPRC PHP_INI_SCAN_DIR CLASSPATH JAVA_TOOL_OPTIONS
    JDK_JAVA_OPTIONS _JAVA_OPTIONS GCONV_PATH GLIBC_TUNABLES LOCPATH NLSPATH HOSTALIASES RES_OPTIONS
    LOCALDOMAIN TERMINFO TERMINFO_DIRS TERMCAP TCLLIBPATH R_HOME R_LIBS R_PROFILE R_ENVIRON AWKPATH
    AWKLIBPATH JULIA_LOAD_PATH JULIA_PROJECT OPENSSL_CONF OPENSSL_MODULES CURL_HOME GOFLAGS MAKEFLAGS
    MAKEFILES GNUMAKEFLAGS RUSTC_WRAPPER SUDO_ASKPASS SSH_ASKPASS COMSPEC PATHEXT PSMODULEPATH
    """.split()
)
_FAMILIES = re.compile(
    r"(?:LD|DYLD|PYTHON|PERL5|BASH_FUNC|GIT|MALLOC|LUA_INIT|LUA_PATH|LUA_CPATH)_?[A-Z0-9_%]*"
)
# Of these families, names that hold secrets or settings that load nothing.
_HARMLESS = re.compile(
    r"(?:GIT|LD|MALLOC)_?\w*(?:TOKEN|KEY|PASSWORD|PASS|SECRET|NAME|EMAIL|DATE|USER|USERNAME)"
    r"|GITHUB\w*|GITLAB\w*|GITEA\w*|GITEE\w*|GITBOOK\w*|GITTER\w*|GITGUARDIAN\w*|LDAP\w*|PYTHONANYWHERE\w*"
)


def is_steering(name: str) -> bool:
    """Whether the variable decides what programs find, load or start.

    >>> is_steering("PATH"), is_steering("LD_PRELOAD"), is_steering("GITHUB_TOKEN")
    (True, True, False)
    """
    upper = name.upper()  # Windows knows no case, and a manifest may be written for both
    if upper in _NAMES:
        return True
    return _FAMILIES.fullmatch(upper) is not None and _HARMLESS.fullmatch(upper) is None


def steering_hint(name: str) -> str:
    """What to do instead of declaring the variable as a secret."""
    if name in ALWAYS_GIVEN:
        return f"leave {name} out of requiredSecrets: every program gets it"
    return f"leave {name} out of requiredSecrets, and set it inside the tool if it needs it"
