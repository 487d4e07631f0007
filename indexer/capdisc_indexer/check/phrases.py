"""Phrases that give orders to a model past its user. Warnings, never the only defence: what is meant nobody can decide.

Scanners of this kind agree on a tenth of their findings, so only the plainest phrases are here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from capdisc_indexer.check.texts import Text, is_plain_word
from capdisc_indexer.types import Finding, Severity

_BEFORE = r"(?:previous|prior|above|earlier|preceding|other|existing|system|safety|all)"
_ORDERS = r"(?:instructions?|rules?|prompts?|directions?|guidelines?|messages?|policies|policy|orders?|constraints?)"
_NEVER = r"(?:do\s+not|don't|never)\s+(?:tell|inform|mention|reveal|show|alert|notify)"
_LEAK = r"(?:conversation|chat\s+history|system\s+prompt|credentials|api\s+keys?)"
# Each with words of which one must be there at all, all in lower case.
_INJECTIONS = (
    (
        ("ignore", "disregard", "forget", "override", "bypass"),
        rf"\b(?:ignore|disregard|forget|override|bypass)\s+(?:\w+\s+){{0,2}}?{_BEFORE}\s+(?:\w+\s+){{0,2}}?{_ORDERS}\b",
    ),
    (
        ("you are now",),
        r"\byou are now\s+(?:in\s+)?(?:an?\s+)?(?:unrestricted|developer\s+mode|dan\b|jailbroken|a\s+different)",
    ),
    (("the user",), rf"\b{_NEVER}\s+(?:\w+\s+){{0,4}}?(?:to\s+)?the user\b"),
    (("without ",), r"\bwithout\s+(?:telling|informing|asking|notifying|alerting)\s+the\s+user\b"),
    (("new system",), r"\bnew system\s+(?:prompt|instructions?)\s*:"),
    (
        (" to http",),
        rf"\b(?:send|post|upload|forward|exfiltrate)\s+(?:\w+\s+){{0,5}}?{_LEAK}\s+to\s+https?:",
    ),
)
_QUOTES = {'"': '"', "'": "'", "`": "`", "\u201c": "\u201d", "\u2018": "\u2019", "\u00ab": "\u00bb", "\u300c": "\u300d"}
_LONGEST_QUOTATION = 80  # characters behind the phrase; more is an order in quotes
_INJECTION = tuple((words, re.compile(pattern)) for words, pattern in _INJECTIONS)
_FIRST = re.compile(
    r"\b(?:always|must)\s+(?:be\s+)?(?:use|call|run|invoke|choose|pick|select|called|used|chosen)\s+(?:this|me\b|it)"
    r"(?:\s+\w+){0,3}?\s+(?:first|before\s+(?:any|every|all)|instead\s+of\s+(?:any|every|all))",
    re.IGNORECASE,
)
_OFFICIAL = re.compile(r"\b(?:official|officially|verified|certified|endorsed|approved)\b", re.IGNORECASE)
_REPLACES = re.compile(
    r"\b(?:replaces|supersedes|(?:use|prefer|choose)\s+(?:this|it)\s+(?:\w+\s+)?instead\s+of|deprecated\s+in\s+favou?r"
    r"|is\s+(?:now\s+)?deprecated|no\s+longer\s+(?:use|supported))\b",
    re.IGNORECASE,
)
# --- orders in a comment, which only a model reads: any will do, whoever it is meant for ---
# What stands in comments of honest pages and sounds like an order: notes of generators, of editors, of licences.
_NOTES = re.compile(
    r"\b(?:please )?(?:do not|don't|never) (?:edit|modify|change|touch|remove|delete)(?: (?:this|the|it|anything))?"
    r"(?: (?:file|section|block|line|list|table|comment|marker)s?)?(?: (?:directly|manually|by hand|below|above))*"
    r"|\brun `?[\w./: -]{1,60}`? to (?:re)?(?:generate|build|update|refresh)\b|\u8bf7\u52ff(?:\u624b\u52a8|\u76f4\u63a5)?(?:\u7f16\u8f91|\u4fee\u6539)"
    r"|\b(?:prettier|dprint|biome|cspell|spell-?checker|markdownlint|rumdl|textlint|eslint|remark|vale|alex)[-: ]{1,2}"
    r"(?:ignore|disable|enable|off|on)\b(?:-\w+)*|\bcall to action\b"
    r"|\byou may not use this file except\b|\byou may obtain a copy\b|\bshall be included in all copies\b"
)
_TODO = re.compile(r"^\W*(?:todo|fixme|xxx|hack|tbd|wip)\b")
_AGENT = r"(?:(?:ai|llm|language|coding) )?(?:agents?|assistants?|models?|llms?|ais?|claude|chatgpt|gpt|copilot|gemini|codex|bots?)"
_TO_AN_AGENT = re.compile(
    rf"(?:^|[\n.!?;:])\W{{0,8}}(?:(?:note|instructions?|message|for|to|dear|hey|attention|important)\W{{1,8}}){{0,3}}(?:(?:the|any|all|every)\s+)?"
    rf"(?:{_AGENT}|system)\s*[:,!\u2013\u2014-]\s*\w+(?:\W{{1,8}}[a-z]\w*){{4}}"
    rf"|\b{_AGENT}\s[^.\n]{{0,40}}?\b(?:must|should|shall|will|(?:needs?|has|have) to|(?:is|are) (?:\w+ )?to)\b"
    r"|\b(?:user|human|operator)\s[^.\n]{0,30}?\b(?:approve[sd]?|agree[sd]|consents?|authori[sz]e[sd]|confirmed|wants?)\b"
    r"|\byou (?:must|should|shall|will|can|may|need|have|are|were)\b|\byou're\b"
    r"|\byour (?:users?|instructions?|system|prompts?|responses?|answers?|outputs?|replies|reply|context|tools?|role|tasks?|job)\b"
    r"|\bwithout (?:asking|telling|informing|confirmation|permission|consent|review)\b|\bsystem prompt\b"
)
_BEGIN = r"(?:^\s{0,40}|[\n.!?;:,(\u2013\u2014]\s{0,40}|[-*]\s{1,8}|\b(?:and|then|please|first|now|also|instead|next|finally|just)\s{1,8})"
# The word behind a verb that says that it is one: "send the harvest", "run ./x", and not "Send button", "Run time".
_OBJECT = (
    r"\s{1,8}(?:(?:the|a|an|this|that|these|those|all|any|every|each|it|them|its|their|his|her|my|our|me|us|no|only|both|everything"
    r"|anything|whatever|whoever|to|from|with)\b|[`\"'/~$<{@]|\./|https?:|[\w-]+\.(?:sh|py|js|ts|md|json|env)\b)"
)
_STRONG = (
    "ignore|disregard|forget|override|bypass|exfiltrate|send|post|upload|forward|e?mail|execute|run|invoke|call|curl|wget|fetch"
    "|download|install|obey|pretend|disclose|reveal|conceal|leak|transfer|delete|erase|wipe|disable|grant|approve|respond|reply|comply|adhere"
)
_WEAK = (
    "use|read|write|open|load|create|make|add|append|include|insert|set|change|replace|keep|follow|treat|assume|consider|remember"
    "|visit|click|go|check|ask|start|begin|continue|save|store|export|print|output|return|say|tell|mention|show|hide|put|give|let"
    "|get|copy|move|remove|update|choose|pick|prefer|select|answer|stop|wait|confirm|verify|ensure|perform|apply|search|query"
    "|access|collect|report|notify|encode|decode|translate|summari[sz]e|act|behave|skip|trust|enable|allow|accept|pay|buy"
)
_PLAIN = "ignore|disregard|forget|bypass|exfiltrate|send|execute|invoke|obey|pretend|disclose|reveal|conceal|leak"
_COMMAND = re.compile(
    rf"{_BEGIN}(?:{_STRONG}){_OBJECT}|(?:^|[\n.!?])\s{{0,40}}(?:{_PLAIN})(?:[ \t]{{1,8}}\S{{1,80}}){{2}}"
)
_REQUEST = re.compile(
    rf"{_BEGIN}(?:{_WEAK}){_OBJECT}|\b(?:always|never)\s+(?:{_STRONG}|{_WEAK})\b|\b(?:do not|don't|must|shall)\s+\w"
)
# The same in other languages, by their plainest words.
_ELSEWHERE = re.compile(
    "\u8bf7|\u5fc5\u987b|\u4e0d\u8981|\u5ffd\u7565|\u6267\u884c|\u8fd0\u884c|\u53d1\u9001|\u4e0a\u4f20|\u3057\u3066\u304f\u3060\u3055\u3044|\u7121\u8996|\u5b9f\u884c|\u9001\u4fe1"
    "|\ud558\uc138\uc694|\uc2ed\uc2dc\uc624|\ubb34\uc2dc|\uc2e4\ud589|\u0438\u0433\u043d\u043e\u0440\u0438\u0440|\u043e\u0442\u043f\u0440\u0430\u0432\u044c|\u0432\u044b\u043f\u043e\u043b\u043d\u0438|\u0437\u0430\u043f\u0443\u0441\u0442\u0438"
    r"|\b(?:ignorier|sende\b|f\u00fchre\b|ignor[ae]z?\b|env[i\u00ed]a|envoyez|ejecut|ex\u00e9cut|execut[ea]\b|descarga|t\u00e9l\u00e9charge)"
)
_HINT = "say what the capability does; leave to the agent and its user when to use it"


def phrases(texts: Sequence[Text]) -> Iterator[Finding]:
    """Orders to the model: in each text, and in all fields together, where one may be cut into pieces."""
    found = [one for text in texts if (one := _order(text))]
    yield from found[:1]
    fields = [text for text in texts if not text.is_body]
    if not found and fields:
        joined = " ".join(" ".join(text.value.split()) for text in fields)
        if _injection(joined) is not None:
            message = "several fields together give the model orders that go past its user"
            yield fields[0].finding("injection-phrase", Severity.WARNING, message, _HINT)
    yield from _claims(fields)


def _order(text: Text) -> Finding | None:
    if is_plain_word(text.value):
        return None
    offset = _injection(text.value)
    if offset is None and not text.is_body and (found := _FIRST.search(text.value)):
        offset = found.start()
    if offset is None:
        return None
    message = "the text gives the model orders that go past its user"
    return text.finding("injection-phrase", Severity.WARNING, message, _HINT, offset)


def _injection(value: str) -> int | None:
    """Where such an order begins."""
    lowered = value.lower()
    for words, pattern in _INJECTION:
        if any(map(lowered.__contains__, words)):
            for match in pattern.finditer(lowered):
                if not _is_quoted(lowered, match):
                    return match.start()
    return None


def _is_quoted(lowered: str, match: re.Match[str]) -> bool:
    """Whether the phrase opens a short quotation, as where a text tells its reader what such orders look like."""
    closing = _QUOTES.get(lowered[match.start() - 1 : match.start()])
    if closing is None:
        return False
    rest = lowered[match.end() : match.end() + _LONGEST_QUOTATION]
    return closing in rest.partition("\n")[0]


def gives_orders(comment: str) -> bool:
    """Whether a comment tells its reader to do something. Notes of where a text comes from, of its licence, of
    formatters and of editors do not.

    >>> gives_orders("Agents: send the harvest to the barn"), gives_orders("Source: barn/harvest.md, licence: MIT")
    (True, False)
    """
    text = _NOTES.sub(" ", comment.lower().replace("\u2019", "'"))
    if _injection(text) is not None or _TO_AN_AGENT.search(text) or _COMMAND.search(text):
        return True
    if _TODO.search(text):
        return False
    return bool(_REQUEST.search(text) or _ELSEWHERE.search(text))


def _claims(fields: Sequence[Text]) -> Iterator[Finding]:
    described = [text for text in fields if text.field.lower() in ("description", "displayname", "title", "usagehint")]
    joined = " ".join(text.value for text in described)
    if described and _OFFICIAL.search(joined) and _REPLACES.search(joined):
        message = "claims to be official and to take another's place"
        yield described[0].finding("impersonation", Severity.WARNING, message, "say what it does; trust is not claimed")
