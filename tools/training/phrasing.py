"""Summaries turned into requests: the same need as a person would type it."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise

ACTIONS = (
    "how do I {}?",
    "how can I {}",
    "how to {}",
    "I want to {}",
    "I need to {}",
    "can you {} for me?",
    "could you {}",
    "please {}",
    "{}",
    "{}.",
    "{} please",
    "help me {}",
    "can you help me {}?",
    "I'd like to {}",
    "I'm trying to {}",
    "is there a way to {}?",
    "what is the best way to {}?",
    "show me how to {}",
    "I have to {} today, what should I use?",
    "we need something that can {}",
    "would you be able to {}?",
    "let's {}",
    "are you able to {}?",
    "what do I do to {}",
    "I was wondering if you could {}",
    "tell me how i can {}",
    "go ahead and {}",
    "I'm looking for a way to {}",
)
THINGS = (
    "I need {}",
    "{}",
    "find {}",
    "is there anything for {}?",
    "show me {}",
    "I'm looking for {}",
    "help me with {}",
    "what can I use for {}?",
    "do you have {}?",
    "can you find me something about {}?",
    "tell me about {}",
    "what is there for {}",
    "I have a question about {}",
    "can you get me {}",
    "where can I get {}?",
    "give me {}",
)
EVERYDAY = (
    "what is the {} of {}?",
    "tell me about {} and {}",
    "I need a {} for {}",
    "why does my {} {}?",
    "where is the {} {}",
    "can you {} the {} for me",
    "how many {} are there in {}?",
    "I would like some {} {}",
    "is {} better than {}?",
    "my {} is about {}",
    "please check the {} of my {}",
    "find {} near {}",
    "{} {}",
    "{} {} {}",
    "a {} with {} and {}",
    "I don't understand {}, please explain {}",
    "we talked about {} before {}",
    "what does {} mean for {}",
    "show {} {}",
    "when was {} {}",
    "who is {} {}?",
    "give me a list of {} {}",
    "make {} {} {}",
    "i lost my {}, what about {}?",
)
OPENINGS = (
    "Hi, ",
    "Hey! ",
    "Hello there. ",
    "Quick question: ",
    "I'm new to this. ",
    "For my project, ",
    "ok so ",
)
CLOSINGS = (
    " Thanks!",
    " Can you assist me?",
    " right now",
    " as soon as possible",
    " thank you",
    " It's urgent.",
)

KINDS = (
    "library package tool tools toolkit module framework wrapper client cli plugin utility utilities script scripts "
    "server app application sdk api interface component components function functions helper helpers collection set "
    "program bindings extension implementation service generator parser suite engine bot integration middleware"
)
LEAD = re.compile(
    rf"^(?:\S+\s+){{0,6}}?(?:{KINDS.replace(' ', '|')})\s+"
    r"(to|for|that|which|used to|designed to|designed for|that can|that helps you|that lets you|that allows you to)\s+",
    re.IGNORECASE,
)
ARTICLE = re.compile(
    r"^(?:an?|the|this is an?|this|my|yet another|simple|easy|fast|lightweight|python)\s+",
    re.IGNORECASE,
)
CUT = re.compile(
    r"[.;:!?]\s|[.;:!?]$|\(|\s[-–|]\s|,\s(?:and\s)?(?:with|including|using|built|which|written|based)"
)
STOP_WORDS = (
    "a an and are as at be by can for from has have in into is it its of on or that the this to use used using via "
    "with you your which all any based simple easy fast python library package module node javascript"
)
STOP = frozenset(STOP_WORDS.split())


class Verbs:
    """Base forms of the verbs that summaries use, found by counting: no word list is needed."""

    def __init__(self, summaries: Iterable[str]) -> None:
        after_to: Counter[str] = Counter()
        words: Counter[str] = Counter()
        for summary in summaries:
            tokens = re.findall(r"[a-z]+", summary.lower())
            words.update(tokens)
            after_to.update(word for before, word in pairwise(tokens) if before == "to")
        self._base: dict[str, str] = {}
        for verb, count in sorted(after_to.items(), key=lambda item: item[1]):
            if (
                count >= 10
                and len(verb) > 2
                and verb not in STOP
                and max(words[g] for g in _gerunds(verb)) >= 6
            ):
                self._base |= dict.fromkeys([verb, *_gerunds(verb), *_third_persons(verb)], verb)

    def base(self, word: str) -> str | None:
        """`convert` for `converts`, `converting`, `Convert`; None if the word is not a known verb."""
        return self._base.get(word.lower())


def request(summary: str, verbs: Verbs, rng: random.Random) -> str:
    """One request that the summary would answer: a question, an order, a wish, or just its keywords."""
    core, is_action = _core(summary, verbs)
    if rng.random() < 0.2:
        return keywords(core, rng)
    text = rng.choice(ACTIONS if is_action else THINGS).format(core)
    if rng.random() < 0.12:
        text = rng.choice(OPENINGS) + text
    if rng.random() < 0.12:
        text += rng.choice(CLOSINGS)
    return text.lower().rstrip("?.") if rng.random() < 0.4 else text


def keywords(text: str, rng: random.Random) -> str:
    """Two to six content words of the text, in their order."""
    words = [
        word
        for word in re.findall(r"[A-Za-z0-9+#.-]*[A-Za-z0-9+#]", text)
        if word.lower() not in STOP
    ]
    wanted = rng.randint(2, 6)
    chosen = sorted(rng.sample(range(len(words)), min(wanted, len(words))))
    return " ".join(words[i] for i in chosen) or text


def everyday(words: list[str], count: int, rng: random.Random) -> list[str]:
    """`count` sentences of any words at all: how the teacher weighs words that no package summary uses."""
    return [_filled(rng.choice(EVERYDAY), words, rng) for _ in range(count)]


def _filled(template: str, words: list[str], rng: random.Random) -> str:
    return template.format(*rng.sample(words, template.count("{}")))


def _core(summary: str, verbs: Verbs) -> tuple[str, bool]:
    """What the package does (base verb first, True) or what it is (False), in at most 14 words."""
    lead = LEAD.match(summary)
    rest = CUT.split(summary[lead.end() :] if lead else summary, maxsplit=1)[0]
    words = rest.split()[:14]
    if len(words) >= 2 and (verb := verbs.base(words[0])):
        return " ".join([verb, *words[1:]]), True
    return ARTICLE.sub("", " ".join(words)) or summary, False


def _gerunds(verb: str) -> list[str]:
    return [verb + "ing", verb + verb[-1] + "ing"] + (
        [verb[:-1] + "ing"] if verb.endswith("e") else []
    )


def _third_persons(verb: str) -> list[str]:
    return [verb + "s", verb + "es"] + ([verb[:-1] + "ies"] if verb.endswith("y") else [])
