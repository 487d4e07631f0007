"""Variables of the environment that decide which programs, libraries or settings are loaded.

A tool that is handed one of them is steered by whoever set it, and a relative part of it
(`PATH=.:…`, an empty entry of PYTHONPATH) leads into the folder where the tool happens to run. So
none of them is a secret, and none is handed on. The names are those of ld.so(8), bash(1), and the
manuals of the interpreters and of git.
"""

from __future__ import annotations

import re

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
