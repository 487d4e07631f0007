"""What does a text say that its capability is not for?

"Fills PDF forms. Do not use for spreadsheets." names spreadsheets so that nobody takes it for
them; to a search by words it looks like any other word of the text. `split_exclusions` takes such
sentences out, and gives what they exclude. It reads English, German, French, Spanish, Italian,
Portuguese, Chinese and Japanese.

Of 1,574 different descriptions of public skills 60 hold such a sentence, in 73 places. The forms
are those that were found there; what merely says "not" ("does not change files", "cases where X is
not used for Y") does not count. A form has to begin its sentence or clause.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.text.normalization import compile_late

# What an exclusion names is about as long as a request; the rest of a long one says little more.
MAX_EXCLUSIONS = 16
_MAX_CHARACTERS = 400
# A build splits the texts of one capability several times.
_CACHE_SIZE = 8
# Reads no more of a text than the longest description that is accepted.
_MAX_READ = 4_096

# A text, and a sentence, without any of these (in lower case) has no exclusion: true of eight
# texts in nine, and found out in 3 µs.
_HINTS = (
    "not ",
    "n't ",
    "n’t ",
    "never ",
    "avoid ",
    "skip",
    "scope",
    " instead",
    ", see ",
    ", use ",
    "nicht ",
    "ne pas ",
    "ne conv",
    "jamais ",
    "pas ",
    "no ",
    "non ",
    "não ",
    "不",
    "勿",
    "别",
    "并非",
    "並非",
    "ない",
    "ません",
    "不可",
    "不向き",
    "対象外",
)
_SENTENCE_END = compile_late(
    r"(?<!e\.g)(?<!i\.e)(?<!\betc)(?<!\bz\.B)(?<!\bvs)[.!?]+[\"'”’)]*(?=\s|$)|[。！？；]|\n(?!\s*[-*•])|\n(?=\s*\n)"
)

# The own thing of the text: "do not use this skill for ...".
_OWN = (
    r"(?:\s+(?:this|the|it|its)(?:\s+(?:skill|tool|agent|command|function|server|plugin|one))?)?"
)
_SUBJECT = r"(?:(?:it|this|this\s+\w+|the\s+(?:skill|tool|agent))\s+)"
_FORMS = r"""
      (?:please\s+)?(?:do\s+not|don['’]t|never)\s+
        (?:use|apply|trigger|invoke|activate|call|load|choose|select|pick)OWN
        \s+(?:for|when(?:ever)?|if|to|on|with|as|where|while)\b
    | SUBJECT(?:should|must|can)(?:\s+not|n['’]t)\s+be\s+(?:used|applied|called)\s+(?:for|when|if|to|on|as)\b
    | (?:SUBJECT(?:is\s+)?|is\s+|are\s+)?not\s+(?:to\s+be\s+)?
        (?:(?:used|meant|intended|suitable|suited|designed|recommended|appropriate|made|built)\s+(?:for|to|when|as|if)
        | (?:for|when)(?!\s+(?:profit|long|now|sale|to)\b))\b
    | that\s+(?:is|are)\s+(?-i:NOT\b)
    | when\s+not\s+to\s+(?:use|apply|call|trigger)OWN\s*:
    | skip(?:\s+(?:this|it))?(?:\s+(?:skill|tool))?(?:\s+only)?(?:\s+(?:when|for|if)\b|\s*:)
    | avoid(?:\s+using)?(?:\s+(?:this|it))?(?:\s+(?:skill|tool))?\s+(?:for|when|if)\b
    | out\s+of\s+scope\s*:
    | SUBJECT?(?:does\s+not|doesn['’]t)\s+(?:handle|cover|support)\b

    | (?:bitte\s+)?(?:verwenden?|verwendet|benutzen?|nutzen?|nimm)(?:\s+sie)?
        (?:\s+(?:diese[nrs]?\s+\w+|ihn|sie|es))?\s+nicht,?\s+(?:für|bei|beim|wenn|falls|um|zum|zur|mit|als)\b
    | (?:nicht|nie)\s+(?:(?:zu\s+)?(?:verwenden|benutzen|nutzen|anwenden|einsetzen|geeignet|gedacht|bestimmt|vorgesehen),?\s+)?
        (?:für|bei|beim|wenn|falls|zum|zur|um)\b
    | (?:(?:es|er|sie|diese[rs]?\s+\w+)\s+)?(?:ist|eignet\s+sich)\s+nicht\s+(?:(?:geeignet|gedacht|bestimmt)\s+)?(?:für|zum|zur)\b

    | (?:à\s+)?ne\s+(?:pas|jamais)\s+(?:l['’])?(?:utiliser|employer|invoquer|déclencher|appliquer|activer)
        (?:\s+(?:cette|cet|ce)\s+\w+)?\s+(?:pour|quand|lorsqu\w*|si|avec|en\s+cas\s+d\w*)\b
    | n['’](?:utilisez|utilise|employez|invoquez)\s+(?:pas|jamais)(?:\s+(?:cette|cet|ce)\s+\w+)?\s+(?:pour|quand|lorsqu\w*|si|avec)\b
    | (?:(?:il|elle|(?:cette|cet|ce)\s+\w+)\s+)?ne\s+convient\s+pas\s+(?:aux?|à|pour|lorsqu\w*|si)\b
    | (?:pas|non)\s+(?:destiné|adapté|prévu|conçu|recommandé)e?s?\s+(?:aux?|à|pour)\b | pas\s+pour\b

    | no\s+(?:l[ao]\s+)?(?:usar|utilizar|emplear|uses?|utilices?|emplees?|invocar|activar|aplicar)(?:l[ao])?
        (?:\s+est[ae]\s+\w+)?\s+(?:para|cuando|si|con|en)\b
    | no\s+(?:es\s+|está\s+)?(?:(?:apt|adecuad|indicad|destinad|pensad|recomendad)[oa]|sirve)\s+(?:para|cuando|si)\b
    | no\s+(?:es\s+)?para\b

    | non\s+(?:usar|utilizzar|impiegar|invocar)(?:e|l[ao])(?:\s+quest[ao]\s+\w+)?\s+(?:per|quando|se|con)\b
    | non\s+(?:usate|utilizzate|usa|utilizza)(?:\s+quest[ao]\s+\w+)?\s+(?:per|quando|se|con)\b
    | non\s+(?:è\s+)?(?:adatt|indicat|pensat|destinat)[oa]\s+(?:a|al|alla|ai|alle|per)\b | non\s+per\b

    | não\s+(?:usar|use|utilizar|utilize|empregar|invocar)(?:\s+est[ae]\s+\w+)?\s+(?:para|quando|se|com|em)\b
    | não\s+(?:é\s+)?(?:(?:adequad|indicad|destinad|recomendad)[oa]|serve)\s+(?:para|quando|se)\b
    | não\s+(?:é\s+)?para\b
"""
_CLAUSE_START = r"(?:^|[—–;:,(（，、]|\s(?=that\s+(?:is|are)\s+NOT\b)|\s-{1,2}\s|\b(?:but|and|aber|und|mais|et|pero|ma|mas)\s)"
_FORM = compile_late(
    rf"(?ix){_CLAUSE_START}[\s\-*•\"'“]*(?P<form>{_FORMS.replace('OWN', _OWN).replace('SUBJECT', _SUBJECT)})"
    r"|(?P<chinese>(?:请|請)?(?:不要|不可|不能|不得|不应|不應|切勿|勿|别)(?:将其|将此|將其|把它|把其)?"
    r"(?:使用于|使用於|应用于|應用於|适用于|用于|用於|用来|用來|用作|用在|在)"
    r"|不(?:适用|適用|适合|適合)(?:于|於|用于|用於|用来|用來)?|不用(?:于|於)|(?:并非|並非|不是)(?:用于|用於|用来|用來)|不支持|不处理|不處理)"
)
# Forms in which what is excluded stands before the words that exclude it.
_SUBJECT_FIRST = compile_late(
    r"""(?ix)^\s*(?P<subject>.+?)\s+(?:is|are)\s+out\s+of\s+scope\s*$
    | (?:^|[;—–])\s*for\s+(?!(?:more|further|details|information|examples|help|instructions)\b)(?P<wish>[^.;]+?),?\s+
        (?:please\s+)?(?:use|see|prefer|try|choose)\s+(?:the\s+)?
        (?: [\w:@/`'"-]+(?:(?:,|\s+or|,\s+or)\s+[\w:@/`'"-]+)*(?:\s+(?:skill|tool|agent)s?)?\s+instead\b
        | (?!\S+\.\w)[\w`:@/]+(?:-[\w`:@/]+)+(?:\s+(?:skill|tool|agent))?\s*$)
    """
)
_JAPANESE = compile_late(
    r"""(?x)^\s*(?P<subject>.+?)(?:(?:する)?(?:の)?(?:場合|とき|時|際)|用途)?(?:に|で|には|では|は|にも)?、?
        (?:使用しない|使用しません|使用不可|使用できません|使わない|使いません|利用しない|利用しません|適してい(?:ない|ません)|適さない
        |適しません|向いてい(?:ない|ません)|不向き|対象外|対応してい(?:ない|ません))
    """
)
_KANA = compile_late("[\u3040-\u30ff]")
# Where the rest of the sentence says what to take instead, or that the text is for after all.
_REDIRECTION = compile_late(
    r"""(?ix)\s*(?:[—–;(（]|[ ]-{1,2}\s|,\s*(?=(?:use|see|prefer)\b[^,]*\binstead\b)|[，,](?=\s*(?:请|請)?(?:使用|改用)))\s*"""
)
_OTHER_NAME = compile_late(
    r"(?i)(?:please\s+)?(?:use|see|prefer|try|choose|that['’]?s|instead|those|they|the|verwende|nutze|dafür|utilisez|voir|usa|use|"
    r"使用|请|請|改用)\b"
)
_LONE_STOP = compile_late(r"\s(?=[.!?](?:\s|$))")
_LAST_WORDS = compile_late(
    r"(?:\s+(?:verwenden|benutzen|nutzen|einsetzen|geeignet|gedacht|bestimmt|vorgesehen)|(?:时|時|的时候|情况下|中)?(?:使用|调用))\s*$"
)


@frozen
class SplitText:
    """A text without its exclusions, and what they exclude, each as its author wrote it."""

    text: str
    exclusions: tuple[str, ...] = ()


@lru_cache(_CACHE_SIZE)
def split_exclusions(text: str) -> SplitText:
    """The text without the sentences and clauses that say what it is not for, and what they name.

    A text without any comes back as it is.

    >>> split_exclusions("Fills PDF forms. Do not use for spreadsheets (use xlsx). Flattens them.")
    SplitText(text='Fills PDF forms. Flattens them.', exclusions=('spreadsheets',))
    >>> split_exclusions("Builds pages - not for single-file HTML.").exclusions
    ('single-file HTML',)
    >>> split_exclusions("Finds code that is not used for anything.").exclusions
    ()
    """
    if not _has_hint(text[:_MAX_READ]):
        return SplitText(text)
    kept_parts, exclusions, end = list[str](), dict[str, None](), 0
    for start, stop in _sentences(text):
        sentence = text[start:stop]
        excluded = _find_exclusion(sentence) if _has_hint(sentence) else None
        if excluded is None:
            continue
        first, last, subject = excluded
        kept_parts.append(text[end : start + first].rstrip())
        end = start + last
        if subject:
            exclusions.setdefault(subject[:_MAX_CHARACTERS])
        if not sentence[:first].strip() and not sentence[last:].strip():
            end = _SENTENCE_END.match(text, stop).end() if stop < len(text) else stop  # type: ignore[union-attr]
    if not kept_parts:
        return SplitText(text)
    remaining = " ".join(part for piece in (*kept_parts, text[end:]) if (part := piece.strip()))
    return SplitText(_LONE_STOP.sub("", remaining), tuple(exclusions)[:MAX_EXCLUSIONS])


def read_exclusions(texts: Sequence[str], declared: Sequence[str]) -> tuple[str, ...]:
    """All that a capability is not for: what its author declared, then what its texts say."""
    written = [exclusion for text in texts for exclusion in split_exclusions(text).exclusions]
    return tuple(dict.fromkeys((*declared, *written)))[:MAX_EXCLUSIONS]


def _has_hint(text: str) -> bool:
    lower = text.lower()
    return any(hint in lower for hint in _HINTS)


def _sentences(text: str) -> list[tuple[int, int]]:
    """Where each sentence begins and ends, without its full stop."""
    spans, start = [], 0
    for match in _SENTENCE_END.finditer(text, 0, _MAX_READ):
        spans.append((start, match.start()))
        start = match.end()
    if start < min(len(text), _MAX_READ):
        spans.append((start, len(text)))
    return spans


def _find_exclusion(sentence: str) -> tuple[int, int, str] | None:
    """Where the exclusion in a sentence begins and ends, and what it excludes."""
    subject_first = _JAPANESE if _KANA.search(sentence) else _SUBJECT_FIRST
    if match := subject_first.search(sentence):
        return match.start(), len(sentence), _tidy(match[str(match.lastgroup)])
    match = _FORM.search(sentence)
    if match is None:
        return None
    begin = match.end()
    is_bracketed = sentence[match.start()] in "(（"
    closing = sentence.find("）" if sentence[match.start()] == "（" else ")", begin)
    stop = closing if is_bracketed and closing >= 0 else len(sentence)
    subject_end, end = stop, stop + (is_bracketed and closing >= 0)
    if redirection := _REDIRECTION.search(sentence, begin, stop):
        subject_end = redirection.start()
        if not _OTHER_NAME.match(sentence, redirection.end()):
            end = redirection.start() if redirection[0].strip() not in "(（" else end
    return match.start(), end, _tidy(sentence[begin:subject_end])


def _tidy(text: str) -> str:
    text = " ".join(_LAST_WORDS.sub("", text).replace("\n", " ").split())
    return text.strip(" :,;-*•、，：")
