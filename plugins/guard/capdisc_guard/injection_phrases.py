"""Finds phrases that give a model orders past its user. They are warnings and never the only
defence, since nobody can decide what a phrase is meant to do.

Scanners of this kind agree on a tenth of their findings, so only the plainest phrases are here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from capdisc_guard.placed_text import CapabilityText, find_places, is_plain_word
from capdisc_indexer.model.types import Finding
from capdisc_indexer.text.normalization import compile_late

_BEFORE = r"(?:previous|prior|above|earlier|preceding|other|existing|system|safety|all)"
_ORDERS = r"(?:instructions?|rules?|prompts?|directions?|guidelines?|messages?|policies|policy|orders?|constraints?)"
_NEVER = r"(?:do\s+not|don't|never)\s+(?:tell|inform|mention|reveal|show|alert|notify)"
_LEAK = r"(?:conversation|chat\s+history|system\s+prompt|credentials|api\s+keys?)"
# Each with words of which the text must hold one, and those of which one begins every match, where
# that are others; all in lower case.
_INJECTIONS = (
    (
        ("ignore", "disregard", "forget", "override", "bypass"),
        (),
        rf"\b(?:ignore|disregard|forget|override|bypass)\s+(?:\w+\s+){{0,2}}?{_BEFORE}\s+(?:\w+\s+){{0,2}}?{_ORDERS}\b",
    ),
    (
        ("you are now",),
        (),
        r"\byou are now\s+(?:in\s+)?(?:an?\s+)?(?:unrestricted|developer\s+mode|dan\b|jailbroken|a\s+different)",
    ),
    (("the user",), ("do", "never"), rf"\b{_NEVER}\s+(?:\w+\s+){{0,4}}?(?:to\s+)?the user\b"),
    (
        ("without ",),
        ("without",),
        r"\bwithout\s+(?:telling|informing|asking|notifying|alerting)\s+the\s+user\b",
    ),
    (("new system",), (), r"\bnew system\s+(?:prompt|instructions?)\s*:"),
    (
        (" to http",),
        ("send", "post", "upload", "forward", "exfiltrate"),
        rf"\b(?:send|post|upload|forward|exfiltrate)\s+(?:\w+\s+){{0,5}}?{_LEAK}\s+to\s+https?:",
    ),
)
_QUOTES = {
    '"': '"',
    "'": "'",
    "`": "`",
    "\u201c": "\u201d",
    "\u2018": "\u2019",
    "\u00ab": "\u00bb",
    "\u300c": "\u300d",
}
_LONGEST_QUOTATION = 80  # characters behind the phrase; more is an order in quotes
# In one clause; "do not hesitate to" and its like ask for what follows.
_DENIED = compile_late(
    r"\b(?:never|not|don't|avoid|cannot|can't|mustn't|shouldn't|won't)\b"
    r"(?! (?:hesitate|worry|wait|bother|forget|fail|stop))[^.!?;:,\n]*\Z"
)
_DENIED_WITHIN = 120  # characters
_INJECTION = tuple(
    (words, beginnings or words, compile_late(pattern))
    for words, beginnings, pattern in _INJECTIONS
)
# A capability that wants to go before all others, or before whatever an agent does. "Before any
# creative work" and "before every commit" name an occasion, which is what descriptions are for.
_RIVALS = (
    r"(?:else|others?|tools?|skills?|functions?|capabilit(?:y|ies)|agents?|servers?|plugins?|actions?|steps?|tasks?"
    r"|requests?|messages?|prompts?|questions?|responses?|answers?|repl(?:y|ies)|calls?|turns?|conversations?"
    r"|sessions?|commands?|operations?)\b"
)
_FIRST = compile_late(
    r"\b(?:always|must)\s+(?:be\s+)?(?:use|call|run|invoke|choose|pick|select|called|used|chosen)\s+(?:this|me\b|it)"
    r"(?:\s+\w+){0,3}?\s+(?:first|instead\s+of\s+(?:any|every|all)"
    rf"|before\s+(?:anything|everything|(?:any|every|all)\s+(?:of\s+)?(?:(?:the|your|user|single)\s+){{0,2}}{_RIVALS}))",
    re.IGNORECASE,
)
_OFFICIAL = compile_late(
    r"\b(?:official|officially|verified|certified|endorsed|approved)\b", re.IGNORECASE
)
_REPLACES = compile_late(
    r"\b(?:replaces|supersedes|(?:use|prefer|choose)\s+(?:this|it)\s+(?:\w+\s+)?instead\s+of|deprecated\s+in\s+favou?r"
    r"|is\s+(?:now\s+)?deprecated|no\s+longer\s+(?:use|supported))\b",
    re.IGNORECASE,
)
# Orders in a comment, where any order will do: only a model reads them. First what stands in
# comments of honest pages and sounds like one: notes of generators, formatters and licences.
_NOTES = compile_late(
    r"""
    \b(?:please\ )?(?:do\ not|don't|never)\ (?:edit|modify|change|touch|remove|delete)(?:\ (?:this|the|it|anything))?
        (?:\ (?:file|section|block|line|list|table|comment|marker)s?)?(?:\ (?:directly|manually|by\ hand|below|above))*
    | \brun\ `?[\w./:\ -]{1,60}`?\ to\ (?:re)?(?:generate|build|update|refresh)\b
    | \b(?:prettier|dprint|biome|cspell|spell-?checker|markdownlint|rumdl|textlint|eslint|remark|vale|alex)[-:\ ]{1,2}
        (?:ignore|disable|enable|off|on)\b(?:-\w+)*
    | \byou\ may\ (?:not\ use\ this\ file\ except|obtain\ a\ copy)\b | \bshall\ be\ included\ in\ all\ copies\b
    | \bcall\ to\ action\b | 请勿(?:手动|直接)?(?:编辑|修改)
    """,
    re.VERBOSE,
)
_TODO = compile_late(r"^\W*(?:todo|fixme|xxx|hack|tbd|wip)\b")
_AGENT = (
    r"(?:(?:ai|llm|language|coding)\ )?"
    r"(?:agents?|assistants?|models?|llms?|ais?|claude|chatgpt|gpt|copilot|gemini|codex|bots?)"
)
_TO_AN_AGENT = compile_late(
    rf"""
    (?:^|[\n.!?;:])\W{{0,8}}(?:(?:note|instructions?|message|for|to|dear|hey|attention|important)\W{{1,8}}){{0,3}}
        (?:(?:the|any|all|every)\s)?(?:{_AGENT}|system)\s?[:,!–—-]\s?\w+(?:\W{{1,8}}[a-z]\w*){{4}}
    | \b{_AGENT}\s[^.\n]{{0,40}}?\b(?:must|should|shall|will|(?:needs?|has|have)\ to|(?:is|are)\ (?:\w+\ )?to)\b
    | \b(?:user|human|operator)\s[^.\n]{{0,30}}?
        \b(?:approve[sd]?|agree[sd]|consents?|authori[sz]e[sd]|confirmed|wants?)\b
    | \byou\ (?:must|should|shall|will|can|may|need|have|are|were)\b | \byou're\b
    | \byour\ (?:users?|instructions?|system|prompts?|responses?|answers?|outputs?|reply|replies|context|tools?|role
        |tasks?|job)\b
    | \bwithout\ (?:asking|telling|informing|confirmation|permission|consent|review)\b | \bsystem\ prompt\b
    """,
    re.VERBOSE,
)
_CLAUSE = (
    r"(?:^\s{0,40}|[\n.!?;:,(–—]\s{0,40}|[-*]\s{1,8}|"
    r"\b(?:and|then|please|first|now|also|instead|next|finally|just)\s{1,8})"
)
# The word behind a verb that says that it is one: "send the harvest", "run ./x", and not "Send
# button", "Run time".
_OBJECT = (
    r"\s{1,8}(?:(?:the|a|an|this|that|these|those|all|any|every|each|it|them|its|their|his|her|my|our|me|us|no|only|both"
    r"|everything|anything|whatever|whoever|to|from|with)\b"
    r"|[`\"'/~$<{@]|\./|https?:|[\w-]+\.(?:sh|py|js|ts|md|json|env)\b)"
)
_PLAIN = "ignore|disregard|forget|bypass|exfiltrate|send|execute|invoke|obey|pretend|disclose|reveal|conceal|leak"
_STRONG = (
    f"{_PLAIN}|override|post|upload|forward|e?mail|run|call|curl|wget|fetch|download|install|transfer|delete|erase|wipe"
    "|disable|grant|approve|respond|reply|comply|adhere"
)
# Verbs that remind editors of their work, too, so that they say nothing in a note of what is to be
# done.
_WEAK = (
    "use|read|write|open|load|create|make|add|append|include|insert|set|change|replace|keep|follow|treat|assume|consider"
    "|remember|visit|click|go|check|ask|start|begin|continue|save|store|export|print|output|return|say|tell|mention|show"
    "|hide|put|give|let|get|copy|move|remove|update|choose|pick|prefer|select|answer|stop|wait|confirm|verify|ensure"
    "|perform|apply|search|query|access|collect|report|notify|encode|decode|translate|summari[sz]e|act|behave|skip|trust"
    "|enable|allow|accept|pay|buy"
)
_COMMAND = compile_late(
    rf"{_CLAUSE}(?:{_STRONG}){_OBJECT}|(?:^|[\n.!?])\s{{0,40}}(?:{_PLAIN})(?:[ \t]{{1,8}}\S{{1,80}}){{2}}"
)
_REQUEST = compile_late(
    rf"{_CLAUSE}(?:{_WEAK}){_OBJECT}|\b(?:always|never)\s+(?:{_STRONG}|{_WEAK})\b|\b(?:do not|don't|must|shall)\s+\w"
)
# The same in other languages, by their plainest words.
_ELSEWHERE = compile_late(
    "请|必须|不要|忽略|执行|运行|发送|上传|してください|無視|実行|送信|하세요|십시오|무시|실행"
    "|игнорир|отправь|выполни|запусти"
    r"|\b(?:ignorier|sende\b|führe\b|ignora\b|ignorez\b|env[ií]a\b|envoyez|ejecut|exécut|descarga\b|télécharge)"
)
# Fields that say what the capability is.
_DESCRIBING = ("description", "displayname", "title", "usagehint")
_HINT = "say what the capability does; leave to the agent and its user when to use it"


def injection_findings(texts: Sequence[CapabilityText]) -> Iterator[Finding]:
    """Findings for orders to the model: in a text, or in all fields together, as an order may be
    cut into pieces.
    """
    fields = [text for text in texts if not text.is_body]
    orders = ((text, _order_offset(text)) for text in texts if not is_plain_word(text.value))
    order = next(((text, offset) for text, offset in orders if offset is not None), None)
    if order:
        message = "the text gives the model orders that go past its user"
        yield order[0].finding("injection-phrase", message, _HINT, order[1])
    elif _injection_offset(" ".join(" ".join(text.value.split()) for text in fields)) is not None:
        message = "several fields together give the model orders that go past its user"
        yield fields[0].finding("injection-phrase", message, _HINT)
    described = [text for text in fields if text.field.lower() in _DESCRIBING]
    joined = " ".join(text.value for text in described)
    if _OFFICIAL.search(joined) and _REPLACES.search(joined):
        message = "claims to be official and to take another's place"
        hint = "say what it does; trust is not claimed"
        yield described[0].finding("impersonation", message, hint)


def _order_offset(text: CapabilityText) -> int | None:
    offset = _injection_offset(text.value)
    if offset is None and not text.is_body and (match := _FIRST.search(text.value)):
        return match.start()
    return offset


def _injection_offset(value: str) -> int | None:
    """The offset of the first order that is neither quoted nor denied."""
    lowered = value.lower()
    for words, beginnings, pattern in _INJECTION:
        if any(map(lowered.__contains__, words)):
            for match in _find_matches(pattern, beginnings, lowered):
                if not _is_quoted(lowered, match) and not _is_denied(lowered, match):
                    return match.start()
    return None


def _find_matches(
    pattern: re.Pattern[str], beginnings: Sequence[str], lowered: str
) -> Iterator[re.Match[str]]:
    """What `pattern.finditer` finds, for a pattern whose matches begin with one of these words: to
    look for the words alone is ten times as fast.
    """
    end = 0
    for place in sorted(find_places(lowered, *beginnings)):
        if place >= end and (match := pattern.match(lowered, place)):
            end = match.end()
            yield match


def _is_denied(lowered: str, match: re.Match[str]) -> bool:
    """Whether the words before say not to do it: "never push without asking the user"."""
    return (
        _DENIED.search(lowered, max(0, match.start() - _DENIED_WITHIN), match.start()) is not None
    )


def _is_quoted(lowered: str, match: re.Match[str]) -> bool:
    """Whether the phrase opens a short quotation: a text may tell its reader what such orders look
    like.
    """
    closing = _QUOTES.get(lowered[match.start() - 1 : match.start()])
    if closing is None:
        return False
    after = lowered[match.end() : match.end() + _LONGEST_QUOTATION]
    return closing in after.partition("\n")[0]


def gives_orders(comment: str) -> bool:
    """Whether a comment tells its reader to do something. Notes about the source of a text, its
    licence, formatters and editors do not.

    >>> gives_orders("Agents: send the harvest to the barn"), gives_orders("Source: barn/harvest.md, licence: MIT")
    (True, False)
    """
    text = _NOTES.sub(" ", comment.lower().replace("\u2019", "'"))
    if _injection_offset(text) is not None or _TO_AN_AGENT.search(text) or _COMMAND.search(text):
        return True
    if _TODO.search(text):
        return False
    return bool(_REQUEST.search(text) or _ELSEWHERE.search(text))
