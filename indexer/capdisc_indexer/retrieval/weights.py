"""What each kind of evidence is worth for a text: for a short request, for the long description of
a task, and between the two.

A request ("merge two PDF files") says in a few words what is wanted, and descriptions say what
they are for in the same few words. A task prompt is 50 to 200 words of context, file names and
conditions, of which the description of the right skill has almost none; its body uses many of them
again and again. Measured on 320 such prompts, written for 1,345 public skills with bodies of 9,000
characters: nDCG@10 44.5 with the weights of a request, 66.0 with those of a task (words alone:
51.4 and 63.1).
"""

from __future__ import annotations

from capdisc_indexer.model.frozen import fields, frozen
from capdisc_indexer.store.snapshot import Index

# A text with at most 10 different words that the index knows is a request, one with 20 or more a
# task; what lies between is weighed between. 6 and 16 gave the same, 15 and 40 two points less.
_REQUEST_TERMS, _TASK_TERMS = 10, 20
# From this share of capabilities with long bodies on, the weights of a task count fully.
_MANY_BODIES = 0.75


@frozen
class Weights:
    """The weight of each kind of evidence.

    `lexical`: the share of BM25 in a fused score when the catalogue knows every word. The share
    shrinks with the part that it knows: that gained 0.5 points on eight data sets against a fixed
    0.5, and 2 where people ask without the author's words. Reciprocal rank fusion lost 2.5.

    `topics`: BM25 over the words that a body uses most, beside BM25 over all texts. For requests
    of a few words it lost 4 points.

    `clause`: what the best clause of a text adds to the score of the whole. The first ten hits
    held all that a query needs 2 points more often, 7 on the data set with the most clauses; 0.3
    to 0.5 give the same. Clauses in place of the whole text lost 4 points. The clauses of a task
    are its conditions: they lost 5.

    `cover`: what a hit gains that stands out as the answer to a clause: this share of how far it
    lies above the fifth best for that clause. Measured on eleven data sets: 0.4 to 0.6 and the
    third to the tenth give the same within 0.2 points.

    `labels`: the share of their weight that the signals of name and description have.

    `body`: what the whole body with the best evidence gains among the first candidates
    (`siblings`). 0.5 to 0.7 give the same; after `topics` it lost 2 points.
    """

    lexical: float = 0.6
    topics: float = 0.0
    clause: float = 0.4
    cover: float = 0.5
    labels: float = 1.0
    body: float = 0.5


REQUEST = Weights()
TASK = Weights(lexical=0.84, topics=4.0, clause=0.08, cover=0.1, labels=0.0, body=0.0)


def choose_weights(index: Index, term_count: int) -> Weights:
    """The weights for a text of so many different words that the index knows: the further from a
    request's to a task's, the more of the capabilities have long bodies. The LanceDB table has no
    topics.
    """
    length = (term_count - _REQUEST_TERMS) / (_TASK_TERMS - _REQUEST_TERMS)
    if length <= 0.0 or index.passages is None or index.table is not None:
        return REQUEST
    body_share = index.passages.owner_count / len(index.documents)
    share = min(1.0, length) * min(1.0, body_share / _MANY_BODIES)
    ends = ((getattr(REQUEST, name), getattr(TASK, name)) for name in fields(Weights))
    return Weights(*(start + share * (end - start) for start, end in ends))
