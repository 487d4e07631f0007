"""Which capabilities are worth a line in a prompt that did not ask for any?

Two ensembles of trees decide, each over the features of pairs of turn and capability: one for the
turns of a session with a coding agent, where three of four need nothing and a wrong line is worse
than none, and one for plain requests ("merge two PDF files"), which mostly ask for something.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.json_types import CapabilityHeader
from capdisc_indexer.model.types import Ranking
from capdisc_indexer.retrieval.request_gate import logistic
from capdisc_indexer.store.snapshot import Index
from capdisc_indexer.suggestion.model import Ensemble, SuggestionModel
from capdisc_indexer.suggestion.pair_features import Pair, UseHistory, collect_pairs
from capdisc_indexer.suggestion.turn_profile import TurnProfile
from capdisc_indexer.text.normalization import MAX_QUERY_CHARACTERS

# Where a turn of a coding session and a plain request are as likely, by the logit of the turn: of
# requests in public data sets 85 in a hundred lie below -1, of turns that need nothing 4. Behind
# other turns it is less likely to be a plain request, whatever it says: the logit rises with each.
EVEN_LOGIT = -1.0
LOGIT_OF_EARLIER_TURN, COUNTED_EARLIER_TURNS = 1.0, 2
# A further capability is offered only near the first: with this share of its probability in a
# coding session, and in plain requests. These mostly want something, and siblings are hard to tell
# apart: a second line there brings the right one of 26 siblings for 63 in a hundred prompts
# instead of 56.
NEAR_SHARE_CODING, NEAR_SHARE_REQUEST = 0.6, 0.25
# From this probability on a plain request is sure, in a turn that is not clearly one of coding.
SURE_REQUEST, SURE_CODING_SHARE = 0.85, 0.88
# The confidence of the search that a plain request needs, unless what is offered was used before.
# Of requests for something else than the catalogue has (27 pairs of requests and catalogues, 28 to
# 1,355 capabilities) 21 in a hundred get a line so, 35 without it; of 11 sets of requests for what
# it has, 97 of a hundred that get one keep it.
MIN_CONFIDENCE_OF_REQUEST, MAX_CODING_SHARE_OF_REQUEST = 0.2, 0.5

# Below this logit of the gate a turn is talk ("thanks!", "go on") and is not searched for: of
# 1,549 recorded turns 111 are, none of which needed anything.
TALK_LOGIT = -3.0

# A person types a name near the beginning; further on it is part of what was pasted.
_WORDS, _MAX_NAMES = 200, 3
_QUOTES = "`'\"“”‘’«».,;:!?()[]{}<>*"
_NOUNS = frozenset(("skill", "skills", "agent", "subagent", "command", "tool", "workflow"))


@frozen
class Offer:
    """A capability to offer, and how likely it is wanted, 0..1."""

    header: CapabilityHeader
    probability: float


@frozen(kw_only=True)
class Decision:
    """What to offer for a turn, best first, and what was best of all (None: there was nothing to
    judge). `threshold` is the probability 0..1 from which on the best one is offered.
    """

    offers: Sequence[Offer]
    best: Offer | None
    threshold: float


def decide_offers(
    index: Index,
    model: SuggestionModel,
    turn: TurnProfile,
    rankings: tuple[Ranking, Ranking],
    prompt: str,
    history: Mapping[str, UseHistory],
) -> Decision:
    """What to offer for a turn, from the rankings of the whole turn and of its first line."""
    # A single letter ("q", "y") asks for nothing that a description could answer.
    has_words = sum(map(str.isalnum, prompt)) > 1
    pairs = collect_pairs(index, model, turn, rankings, prompt, history) if has_words else ()
    share = coding_share(turn.coding_here, turn.earlier_turns)
    if share < MAX_CODING_SHARE_OF_REQUEST and rankings[0].confidence < MIN_CONFIDENCE_OF_REQUEST:
        pairs = [pair for pair in pairs if pair.features["uses"]]
    return choose_offers(model.coding, model.request, share, pairs)


def is_talk(turn: TurnProfile) -> bool:
    """Whether a turn says so little that no capability can be wanted for it."""
    return max(turn.asks, turn.head_asks) < TALK_LOGIT


def coding_share(coding_logit: float, earlier_turns: float) -> float:
    """How likely a turn with this logit, after this many others, is one of a session with a coding
    agent and no plain request, 0..1.
    """
    by_place = LOGIT_OF_EARLIER_TURN * min(earlier_turns, COUNTED_EARLIER_TURNS)
    return logistic(coding_logit - EVEN_LOGIT + by_place)


def choose_offers(
    coding: Ensemble, request: Ensemble, share: float, pairs: Iterable[Pair]
) -> Decision:
    """The likeliest pair, if it is likely enough to be wanted, and those near it. The two
    ensembles count by the `share` of coding turns, 0..1; where a turn may be a plain request, one
    that is sure as such is enough.
    """
    offers = []
    for pair in pairs:
        as_request = logistic(request.logit(pair.features))
        as_coding = logistic(coding.logit(pair.features))
        probability = share * as_coding + (1.0 - share) * as_request
        if as_request >= SURE_REQUEST and share < SURE_CODING_SHARE:
            probability = max(probability, as_request)
        offers.append(Offer(pair.header, probability))
    offers.sort(key=lambda offer: -offer.probability)
    threshold = share * coding.threshold + (1.0 - share) * request.threshold
    best = offers[0] if offers else None
    if best is None or best.probability < threshold:
        return Decision(offers=(), best=best, threshold=threshold)
    near_share = share * NEAR_SHARE_CODING + (1.0 - share) * NEAR_SHARE_REQUEST
    least = near_share * best.probability
    return Decision(
        offers=tuple(offer for offer in offers if offer.probability >= least),
        best=best,
        threshold=threshold,
    )


def shorten_prompt(prompt: str) -> str:
    """The beginning and the end of a prompt that is longer than a search reads: a request stands
    before or after what was pasted.
    """
    if len(prompt) <= MAX_QUERY_CHARACTERS:
        return prompt
    half = MAX_QUERY_CHARACTERS // 2
    return f"{prompt[: half - 1]}\n{prompt[-half:]}"


# Which capabilities does a turn name? "use executing-plans", "/github-pr-review", "the reviewer
# skill". A name of several words joined by signs is taken for one wherever it stands; a name of
# one word only behind a slash or next to a word such as "skill".


def find_typed_names(index: Index, text: str) -> list[CapabilityHeader]:
    """The headers of the capabilities that the text names, in its order."""
    headers: dict[str, CapabilityHeader] = {}
    for name in dict.fromkeys(_list_possible_names(text)):
        matches = [
            header
            for header in index.documents.by_alias(name)
            if header["name"].casefold() == name.casefold() and not header.get("hidden")
        ]
        if matches:
            headers.setdefault(matches[0]["id"], matches[0])
    return list(headers.values())[:_MAX_NAMES]


def _list_possible_names(text: str) -> Iterator[str]:
    words = [word.strip(_QUOTES) for word in text.split()[:_WORDS]]
    for place, word in enumerate(words):
        if not word or "://" in word or "." in word.strip("."):
            continue
        # The plug-in of a client stands before a colon.
        name = word.removeprefix("/").rpartition(":")[2]
        neighbours = {near.lower() for near in words[max(place - 1, 0) : place + 2]}
        is_marked = (
            word.startswith("/")
            or "-" in name
            or "_" in name
            or bool(neighbours & _NOUNS - {word.lower()})
        )
        if is_marked and len(name) > 1 and "/" not in name:
            yield name
