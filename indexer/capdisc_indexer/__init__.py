"""The core of capdisc: turns folders of capability descriptions into an index, and a line of text
into a context.

Words used throughout
    capability   something an agent can use: a skill, a tool, a table, an operation
    manifest     the file that describes it (CAPABILITY.yaml, SKILL.md)
    descriptor   the same facts in one shape, whatever the format
    source       a format that descriptors are read from; root: a folder that is scanned
    finding      something wrong with a file: code, severity, message, hint, place
    query, hit, ranking   what is asked, one answer, all answers in order
    score        orders the hits of one ranking; relevance: absolute, 0..1; confidence: that the first hit is right
    encoder      turns text into a vector; embedding text: the text of a capability that is encoded
    tier         level of detail of a rendered context: 0 overview, 1 summaries, 2 detail
    block        one piece of a tier; budget: hard limit on printed tokens
    generation   one published, immutable state of the index

This package prints nothing, reads no environment variable and makes no network call.
"""

__version__ = "0.1.0"
