"""The rules: what explains each of them, from rules.toml, which is read only when a rule is
explained; and the severity of its findings under a profile, the clients and specifications that a
file is for.

A lenient reader accepts what it understands; a profile says who else must understand it. `spec` is
the Agent Skills specification, `strict` the names and fields that its reference validator accepts,
`claude-ai` what claude.ai and the Skills API take, `claude-code`, `codex` and `opencode` what
those clients load. A code that a profile does not name keeps the severity that its rule gave it.

The profile `claude-code` is what Claude Code 2.1.330 does, seen in its schema of front matter and
in the answers of `claude plugin validate`. It takes any name, since the folder names the command,
both lists and commas in allowed-tools, and reads a colon or an @ without quotes; it drops all
fields where the YAML cannot be read.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

from capdisc_indexer.config.client_table import client_sections
from capdisc_indexer.model.frozen import replace
from capdisc_indexer.model.types import Finding, RuleExplanation, Severity
from capdisc_indexer.plugins.registry import load_plugins

_E, _W, _I = Severity.ERROR, Severity.WARNING, Severity.INFO
# What is not YAML to a parser that repairs nothing; and fields in whose place a build takes
# something else, but that an author should write.
_STRICT_YAML = dict.fromkeys(
    """
    field-empty field-missing yaml-block-mark yaml-missing-blank yaml-repaired yaml-reserved-start yaml-tab
    yaml-unbalanced-quote yaml-unquoted-colon
    """.split(),
    _E,
)
_SPEC: Mapping[str, Severity] = {
    **_STRICT_YAML,
    **dict.fromkeys(
        """
        compatibility-length description-missing description-too-long frontmatter-in-code-fence frontmatter-missing
        frontmatter-not-first metadata-shape name-case name-characters name-hyphens name-missing name-too-long
        """.split(),
        _E,
    ),
    # An information to a build, since capdisc and Claude Code read lists and commas, too.
    "allowed-tools-type": _W,
    "line-ends-mixed": _W,
}
_OTHER_FIELDS = dict.fromkeys(
    ("claude-code-field", "client-field", "misspelt-field", "unknown-field"), _E
)
# What the profiles of clients begin with.
_BASES = {"spec": _SPEC, "yaml": _STRICT_YAML}

# The manifests whose fields have a JSON Schema, for editors and for the rules of form.
SCHEMAS = ("capability", "skill")
# Other names of profiles. Everywhere else in capdisc `claude` is Claude Code; here it was
# claude.ai before there were two profiles, and stays so, since that one is the stricter.
PROFILE_ALIASES: Mapping[str, str] = MappingProxyType(
    {
        "agent-skills": "spec",
        "agentskills": "spec",
        "claude": "claude-ai",
        "claude.ai": "claude-ai",
        "claudecode": "claude-code",
        "skills-api": "claude-ai",
    }
)
PROFILES: Mapping[str, Mapping[str, Severity]] = MappingProxyType(
    {
        "spec": _SPEC,
        "strict": {
            **_SPEC,
            **_OTHER_FIELDS,
            **dict.fromkeys(("byte-order-mark", "field-type", "name-folder-mismatch"), _E),
        },
        "claude-ai": {
            **_SPEC,
            **_OTHER_FIELDS,
            **dict.fromkeys(("description-xml", "name-reserved-word"), _E),
            "name-folder-mismatch": _I,
        },
        # Those of clients, whose table lists the codes of rules by severity.
        **{
            section.get("profile", client): {
                **_BASES[section["like"]],
                **{code: severity for severity in Severity for code in section.get(severity, ())},
            }
            for client, section in client_sections("validation").items()
        },
    }
)
# Rules of some profiles only; the others have no finding.
_NOT_OF_CLAUDE_CODE = tuple(profile for profile in PROFILES if profile != "claude-code")
ONLY: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "allowed-tools-type": _NOT_OF_CLAUDE_CODE,
        "claude-code-field": _NOT_OF_CLAUDE_CODE,
        "claude-code-value": ("claude-code",),
        "description-xml": ("claude-ai",),
        "name-reserved-word": ("claude-ai",),
    }
)


def find_profile(name: str) -> str:
    """The profile of this name or of this other name. Raises UsageError for an unknown one.

    >>> find_profile("Claude.ai"), find_profile("claude_code")
    ('claude-ai', 'claude-code')
    """
    plain = name.strip().lower().replace("_", "-").replace(" ", "-")
    profile = PROFILE_ALIASES.get(plain, plain)
    if profile not in PROFILES:
        from capdisc_indexer.text.similar_names import unknown_choice

        raise unknown_choice("profile", name, PROFILES)
    return profile


@cache
def load_rules() -> Mapping[str, RuleExplanation]:
    """Every rule by its code, in the order of the file, where the rules of a group are together;
    then those of plug-ins, which replace none.
    """
    import tomllib

    text = Path(__file__).with_name("rules.toml").read_text(encoding="utf-8")
    rules = {
        code: RuleExplanation(
            code=code,
            **{
                **table,
                "severity": Severity(table["severity"]),
                "refs": tuple(table.get("refs", ())),
            },
        )
        for code, table in tomllib.loads(text).items()
    }
    for plugin in load_plugins():
        for rule in plugin.rules:
            rules.setdefault(rule.code, rule)
    return rules


def manifest_schema(name: str) -> str:
    """The JSON Schema of a manifest's fields as text; `name` is one of SCHEMAS."""
    path = Path(__file__).with_name("schemas") / f"{name}.schema.json"
    return path.read_text(encoding="utf-8")


def apply_profile(finding: Finding, profile: str) -> Finding | None:
    """The finding with the severity of the profile; None for a rule that the profile does not
    have.
    """
    if profile not in ONLY.get(finding.code, (profile,)):
        return None
    severity = PROFILES[profile].get(finding.code, finding.severity)
    return finding if severity is finding.severity else replace(finding, severity=severity)
