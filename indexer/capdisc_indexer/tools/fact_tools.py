"""Questions of fact, and the facts that answer them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from capdisc_indexer import facts
from capdisc_indexer.errors import InputError
from capdisc_indexer.facts.extracting import MAX_CHARACTERS
from capdisc_indexer.facts.values import MAX_NAME, MAX_VALUE, Extracted, Fact
from capdisc_indexer.facts.wording import key
from capdisc_indexer.frozen import asdict
from capdisc_indexer.text import one_line
from capdisc_indexer.tools.inputs import inputs, limit, words
from capdisc_indexer.tools.values import Desk, Tool, ToolAnswer

# Of the lines that state nothing, so many are shown; the rest is counted.
SKIPPED_SHOWN = 50


def _resolve_fact(desk: Desk, arguments: Mapping[str, Any]) -> ToolAnswer:
    question = arguments["question"]
    encoder = None if desk.mode == "lexical" else desk.encoder()
    found = facts.resolve(desk.index, desk.state_dir, question, encoder, desk.mode, desk.available)
    answer: ToolAnswer = {
        "question": found.question,
        "answer": found.answer,
        "confidence": found.confidence,
        "sources": [asdict(each) | {"confidence": round(each.confidence, 2)} for each in found.sources],
        "sources_checked": list(found.checked),
        "needs_clarification": found.needs_clarification,
        "note": found.note,
    }
    try:
        facts.ask(desk.state_dir, question, answered=found.answer is not None)
    except InputError as error:  # what cannot be noted must not cost the answer
        answer["note"] += f"; the question was not noted: {error.message}"
    return answer


def _add_fact(desk: Desk, arguments: Mapping[str, Any]) -> ToolAnswer:
    name = one_line(arguments["name"], MAX_NAME)  # as it is kept, so that it is found again
    fact = Fact(name=name, value=arguments["value"], reasoning=arguments.get("reasoning", ""))
    replaced = facts.add(desk.state_dir, [fact])
    stored = next(each for each in facts.known(desk.state_dir) if key(each.name) == key(fact.name))
    return {"added": asdict(stored), "replaced": [asdict(each) for each in replaced.values()]}


def _list_known_facts(desk: Desk, arguments: Mapping[str, Any]) -> ToolAnswer:
    known = facts.known(desk.state_dir)
    shown = known[-arguments["limit"] :]
    return {"facts": [asdict(each) for each in shown], "total": len(known)}


def _get_unresolved_facts(desk: Desk, arguments: Mapping[str, Any]) -> ToolAnswer:
    asked = facts.unresolved(desk.state_dir)
    return {"questions": [asdict(each) for each in reversed(asked)][: arguments["limit"]], "total": len(asked)}


def _extract_facts(desk: Desk, arguments: Mapping[str, Any]) -> ToolAnswer:
    text = arguments["text"]
    found = facts.extract(text)
    stated = [each for each in found if each.rule]
    skipped = [{"line": each.line, "text": each.text, "why": each.why} for each in found if not each.rule]
    saved = bool(arguments.get("save") and stated)
    replaced = facts.add(desk.state_dir, [_fact(each) for each in stated]) if saved else {}
    return {
        "facts": [{"name": each.name, "value": each.value, "rule": each.rule, "line": each.line} for each in stated],
        "skipped": skipped[:SKIPPED_SHOWN],
        "skipped_total": len(skipped),
        "rules": list(facts.RULES),
        "saved": saved,
        "replaced": [asdict(each) for each in replaced.values()],
        "read_characters": min(len(text), MAX_CHARACTERS),
        "note": "by rules on single sentences, no language model; look at what was skipped",
    }


def _fact(each: Extracted) -> Fact:
    return Fact(name=each.name, value=each.value, reasoning=f"a text says: {each.text}")


_VALUE = {"type": ["string", "number", "boolean"], "maxLength": MAX_VALUE, "description": "What is so."}

TOOLS = (
    Tool(
        name="resolve_fact",
        description="Answer a question with a stored fact or a sentence of the indexed texts, with its source.",
        input_schema=inputs("question", question=words("Such as: What defines a VIP customer?")),
        answer=_resolve_fact,
        group="facts",
    ),
    Tool(
        name="add_fact",
        description="Keep a fact, so that later questions find it; one of the same name is replaced.",
        input_schema=inputs(
            "name value",
            name={"type": "string", "minLength": 1, "maxLength": MAX_NAME, "description": "What it is about."},
            value=_VALUE,
            reasoning={"type": "string", "maxLength": MAX_VALUE, "default": "", "description": "Why it is believed."},
        ),
        answer=_add_fact,
        group="facts",
    ),
    Tool(
        name="list_known_facts",
        description="List the kept facts.",
        input_schema=inputs(limit=limit(50)),
        answer=_list_known_facts,
        group="facts",
    ),
    Tool(
        name="get_unresolved_facts",
        description="List the questions that found no answer.",
        input_schema=inputs(limit=limit(50)),
        answer=_get_unresolved_facts,
        group="facts",
    ),
    Tool(
        name="extract_facts_from_text",
        description="Find plain statements (X is Y, X: Y, X = Y, change X to Y) in a text; kept only with save.",
        input_schema=inputs(
            "text",
            text={"type": "string", "minLength": 1, "maxLength": MAX_CHARACTERS},
            save={"type": "boolean", "default": False},
        ),
        answer=_extract_facts,
        group="facts",
    ),
)
