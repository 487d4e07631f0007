"""What could steer a program from outside: variables of its environment, and values of parameters
that are not closed or begin with a dash.

Some variables decide which programs, libraries or settings are loaded. A tool that gets one of
them is steered by the one who set it, and a relative part of it (`PATH=.:…`, an empty entry of
PYTHONPATH) leads into the folder where the tool happens to run. So none of them is a secret, and
none is handed on. The names are those of ld.so(8), bash(1), and the manuals of the interpreters
and of git.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from capdisc_indexer.model.json_types import JsonSchema
from capdisc_indexer.text.normalization import compile_late

# Every program gets these, PATH without its relative parts.
ALWAYS_GIVEN = frozenset({"PATH", "HOME", "LANG"})
_VARIABLES = frozenset(
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
_VARIABLE_FAMILIES = compile_late(
    r"(?:LD|DYLD|PYTHON|PERL5|BASH_FUNC|GIT|MALLOC|LUA_INIT|LUA_PATH|LUA_CPATH)_?[A-Z0-9_%]*"
)
# Names of these families that hold secrets, or settings that load nothing.
_HARMLESS_VARIABLES = compile_late(
    r"(?:GIT|LD|MALLOC)_?\w*(?:TOKEN|KEY|PASSWORD|PASS|SECRET|NAME|EMAIL|DATE|USER|USERNAME)"
    r"|GITHUB\w*|GITLAB\w*|GITEA\w*|GITEE\w*|GITBOOK\w*|GITTER\w*|GITGUARDIAN\w*|LDAP\w*|PYTHONANYWHERE\w*"
)
_CLOSED_TYPES = frozenset({"integer", "number", "boolean"})
# A pattern that names a leading dash itself: `^-?[0-9]+$`, `^(?:-v|…)$`, `^[-+]`. A dash somewhere
# in a class, as in `^[a-z-]+$` for a slug, does not permit options.
_NAMES_DASH = compile_late(r"\^\(*(?:\?:\(*)?(?:\\?-|\[(?:-|\+-|-\+)\])")
# JSON numbers as Python writes them; not -Infinity, which JSON does not have.
_NEGATIVE = compile_late(r"-[0-9.]+(?:[eE][+-]?[0-9]+)?", re.ASCII)


def is_steering(name: str) -> bool:
    """Whether the variable decides what programs find, load or start.

    >>> is_steering("PATH"), is_steering("LD_PRELOAD"), is_steering("GITHUB_TOKEN")
    (True, True, False)
    """
    upper = name.upper()  # Windows knows no case, and a manifest may be written for both
    if upper in _VARIABLES:
        return True
    return (
        _VARIABLE_FAMILIES.fullmatch(upper) is not None
        and _HARMLESS_VARIABLES.fullmatch(upper) is None
    )


def steering_hint(name: str) -> str:
    """What to do instead of declaring the variable as a secret."""
    if name in ALWAYS_GIVEN:
        return f"leave {name} out of requiredSecrets: every program gets it"
    return f"leave {name} out of requiredSecrets, and set it inside the tool if it needs it"


def parameter_schema(schema: JsonSchema | None, name: str) -> JsonSchema:
    """The schema of one parameter; {} where there is none. References are not followed: what they
    lead to counts as unknown.
    """
    properties = (schema or {}).get("properties")
    declared = properties.get(name) if isinstance(properties, Mapping) else None
    return declared if isinstance(declared, Mapping) else {}


def is_closed(schema: JsonSchema | None, name: str) -> bool:
    """Whether all values of the parameter are words that the author chose, numbers or truth
    values.
    """
    declared = parameter_schema(schema, name)
    choices = declared.get("enum", [declared["const"]] if "const" in declared else None)
    if isinstance(choices, list):
        return all(value is None or isinstance(value, str | int | float) for value in choices)
    return bool(types := _types(declared)) and types <= _CLOSED_TYPES


def is_always_given(schema: JsonSchema | None, name: str) -> bool:
    """Whether no call can leave the parameter out, or give null for it."""
    declared, required = parameter_schema(schema, name), (schema or {}).get("required")
    is_required = isinstance(required, list) and name in required
    is_filled = is_required or declared.get("default") is not None
    if isinstance(choices := declared.get("enum"), list):
        return is_filled and None not in choices
    return is_filled and bool(types := _types(declared)) and "null" not in types


def may_lead_with_dash(schema: JsonSchema | None, name: str) -> bool:
    """Whether the schema lets some value begin with a dash."""
    declared = _item_schema(parameter_schema(schema, name))
    choices = [*_list_or_empty(declared.get("enum")), declared.get("const")]
    if any(isinstance(value, str) and value.startswith("-") for value in choices):
        return True
    return _names_dash(declared) or (
        bool(_types(declared) & {"integer", "number"}) and not _is_positive(declared)
    )


def allows_dash(schema: JsonSchema | None, name: str, value: Any) -> bool:
    """Whether the schema permits this value, whose text begins with a dash: a number where numbers
    are, one of the choices, or text of a pattern that names the dash.

    >>> slug = {"properties": {"a": {"type": "string", "pattern": "^[a-z-]+$"}}}
    >>> count = {"properties": {"a": {"type": "integer"}}}
    >>> allows_dash(slug, "a", "-rf"), allows_dash(count, "a", -9), allows_dash(None, "a", "-9")
    (False, True, False)
    """
    declared = _item_schema(parameter_schema(schema, name))
    if isinstance(value, int | float) and not isinstance(value, bool):
        is_plain = _NEGATIVE.fullmatch(str(value)) is not None
        return is_plain and bool(_types(declared) & {"integer", "number"})
    choices = [*_list_or_empty(declared.get("enum")), declared.get("const")]
    return value in choices or (_names_dash(declared) and isinstance(value, str))


def _item_schema(declared: JsonSchema) -> JsonSchema:
    """The schema of the items if the parameter is a list, else its own."""
    items = declared.get("items")
    return items if isinstance(items, Mapping) and "array" in _types(declared) else declared


def _names_dash(declared: JsonSchema) -> bool:
    pattern = declared.get("pattern")
    return isinstance(pattern, str) and _NAMES_DASH.match(pattern) is not None


def _is_positive(declared: JsonSchema) -> bool:
    minimum = declared.get("minimum", declared.get("exclusiveMinimum"))
    return isinstance(minimum, int | float) and not isinstance(minimum, bool) and minimum >= 0


def _types(declared: JsonSchema) -> frozenset[str]:
    types = declared.get("type")
    if isinstance(types, str):
        return frozenset({types})
    return frozenset(name for name in _list_or_empty(types) if isinstance(name, str))


def _list_or_empty(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
