"""Facts: stored, read from a text, and found for a question."""

from __future__ import annotations

from typing import TypedDict

from capdisc_indexer.model.errors import InputError
from capdisc_indexer.model.frozen import asdict
from capdisc_indexer.model.json_types import Arguments, JsonObject
from capdisc_indexer.text.normalization import one_line
from capdisc_indexer.tools.tool_types import (
    Tool,
    ToolAnswer,
    ToolContext,
    input_schema,
    limit_schema,
    query_schema,
)
from capdisc_sessions import facts
from capdisc_sessions.fact_files import (
    MAX_CHARACTERS,
    MAX_NAME,
    MAX_VALUE,
    AnswerSource,
    ExtractedFact,
    Fact,
)
from capdisc_sessions.question_terms import spelling_key

# Of the lines that state nothing, so many are shown; the others are counted.
MAX_SKIPPED_SHOWN = 50


def _resolve_fact(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    question = arguments["question"]
    encoder = None if ctx.mode == "lexical" else ctx.encoder()
    resolution = facts.resolve_question(
        ctx.index, ctx.state_dir, question, encoder, ctx.mode, ctx.available
    )
    note = resolution.note
    try:
        facts.record_question(ctx.state_dir, question, answered=resolution.answer is not None)
    except InputError as error:  # an answer is worth more than the record of its question
        note += f"; the question was not noted: {error.message}"
    return {
        "question": resolution.question,
        "answer": resolution.answer,
        "confidence": resolution.confidence,
        "sources": [_source_row(source) for source in resolution.sources],
        "sources_checked": list(resolution.checked_ids),
        "needs_clarification": resolution.needs_clarification,
        "note": note,
    }


def _source_row(source: AnswerSource) -> JsonObject:
    return asdict(source) | {"confidence": round(source.confidence, 2)}


def _add_fact(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    name = one_line(arguments["name"], MAX_NAME)  # as it is stored, so that it is found again
    fact = Fact(name=name, value=arguments["value"], reasoning=arguments.get("reasoning", ""))
    replaced = facts.add_facts(ctx.state_dir, [fact])
    stored = next(
        stored_fact
        for stored_fact in facts.list_facts(ctx.state_dir)
        if spelling_key(stored_fact.name) == spelling_key(fact.name)
    )
    return {
        "added": asdict(stored),
        "replaced": [asdict(replaced_fact) for replaced_fact in replaced.values()],
    }


def _list_known_facts(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    stored_facts = facts.list_facts(ctx.state_dir)
    latest = stored_facts[-arguments["limit"] :]
    return {"facts": [asdict(fact) for fact in latest], "total": len(stored_facts)}


def _get_unresolved_facts(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    questions = facts.list_unresolved_questions(ctx.state_dir)
    return {
        "questions": [asdict(question) for question in reversed(questions)][: arguments["limit"]],
        "total": len(questions),
    }


class StatementRow(TypedDict):
    """A fact that a line of the text states, and the rule that read it."""

    name: str
    value: str
    rule: str
    line: int


class SkippedRow(TypedDict):
    """A line that states nothing, and why."""

    line: int
    text: str
    why: str


def _extract_facts(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    text = arguments["text"]
    lines = facts.extract_facts(text)
    statements = [line for line in lines if line.rule]
    skipped = [_skipped_row(line) for line in lines if not line.rule]
    is_saved = bool(arguments.get("save") and statements)
    replaced = (
        facts.add_facts(ctx.state_dir, [_to_fact(statement) for statement in statements])
        if is_saved
        else {}
    )
    return {
        "facts": [_statement_row(statement) for statement in statements],
        "skipped": skipped[:MAX_SKIPPED_SHOWN],
        "skipped_total": len(skipped),
        "rules": list(facts.RULES),
        "saved": is_saved,
        "replaced": [asdict(fact) for fact in replaced.values()],
        "read_characters": min(len(text), MAX_CHARACTERS),
        "note": "by rules on single sentences, no language model; look at what was skipped",
    }


def _statement_row(statement: ExtractedFact) -> StatementRow:
    return {
        "name": statement.name,
        "value": statement.value,
        "rule": statement.rule,
        "line": statement.line,
    }


def _skipped_row(line: ExtractedFact) -> SkippedRow:
    return {"line": line.line, "text": line.text, "why": line.why}


def _to_fact(statement: ExtractedFact) -> Fact:
    return Fact(
        name=statement.name, value=statement.value, reasoning=f"a text says: {statement.text}"
    )


_VALUE_SCHEMA = {
    "type": ["string", "number", "boolean"],
    "maxLength": MAX_VALUE,
    "description": "What is so.",
}

TOOLS = (
    Tool(
        name="resolve_fact",
        description="Answer a question with a stored fact or a sentence of the indexed texts, with its source.",
        input_schema=input_schema(
            "question", question=query_schema("Such as: What defines a VIP customer?")
        ),
        answer=_resolve_fact,
        group="facts",
    ),
    Tool(
        name="add_fact",
        description="Keep a fact, so that later questions find it; one of the same name is replaced.",
        input_schema=input_schema(
            "name value",
            name={
                "type": "string",
                "minLength": 1,
                "maxLength": MAX_NAME,
                "description": "What it is about.",
            },
            value=_VALUE_SCHEMA,
            reasoning={
                "type": "string",
                "maxLength": MAX_VALUE,
                "default": "",
                "description": "Why it is believed.",
            },
        ),
        answer=_add_fact,
        group="facts",
    ),
    Tool(
        name="list_known_facts",
        description="List the kept facts.",
        input_schema=input_schema(limit=limit_schema(50)),
        answer=_list_known_facts,
        group="facts",
    ),
    Tool(
        name="get_unresolved_facts",
        description="List the questions that found no answer.",
        input_schema=input_schema(limit=limit_schema(50)),
        answer=_get_unresolved_facts,
        group="facts",
    ),
    Tool(
        name="extract_facts_from_text",
        description="Find plain statements (X is Y, X: Y, X = Y, change X to Y) in a text; kept only with save.",
        input_schema=input_schema(
            "text",
            text={"type": "string", "minLength": 1, "maxLength": MAX_CHARACTERS},
            save={"type": "boolean", "default": False},
        ),
        answer=_extract_facts,
        group="facts",
    ),
)
