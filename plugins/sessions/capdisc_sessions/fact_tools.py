"""Facts: stored, read from a text, and found for a question."""

from __future__ import annotations

from capdisc_indexer.model.errors import InputError
from capdisc_indexer.model.frozen import shallow_dict
from capdisc_indexer.model.json_types import Arguments
from capdisc_indexer.text.normalization import one_line
from capdisc_indexer.tools.tool_types import (
    Tool,
    ToolAnswer,
    ToolContext,
    input_schema,
    limit_schema,
    query_schema,
)
from capdisc_sessions import fact_files, facts
from capdisc_sessions.fact_files import Fact
from capdisc_sessions.fact_texts import (
    MAX_CHARACTERS,
    MAX_NAME,
    MAX_VALUE,
    PATTERNS,
    read_statements,
)

# At most this many lines that state nothing are shown; the others are counted.
MAX_SKIPPED_SHOWN = 50


def _resolve_fact(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    question = arguments["question"]
    encoder = None if ctx.mode == "lexical" else ctx.encoder()
    answer = facts.resolve_question(
        ctx.index, ctx.state_dir, question, encoder, ctx.mode, ctx.available
    )
    try:
        fact_files.record_question(ctx.state_dir, question, answered=answer["answer"] is not None)
    except InputError as error:  # an answer is worth more than the record of its question
        answer["note"] += f"; the question was not noted: {error.message}"
    return answer


def _add_fact(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    fact = Fact(
        name=one_line(arguments["name"], MAX_NAME),
        value=arguments["value"],
        reasoning=arguments.get("reasoning", ""),
    )
    (stored,), replaced = fact_files.add_facts(ctx.state_dir, [fact])
    return {"added": shallow_dict(stored), "replaced": [shallow_dict(old) for old in replaced]}


def _list_known_facts(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    stored = fact_files.list_facts(ctx.state_dir)
    latest = stored[-arguments["limit"] :]
    return {"facts": [shallow_dict(fact) for fact in latest], "total": len(stored)}


def _get_unresolved_facts(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    questions = fact_files.list_unresolved_questions(ctx.state_dir)
    latest = questions[::-1][: arguments["limit"]]
    return {"questions": [shallow_dict(question) for question in latest], "total": len(questions)}


def _extract_facts(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    text = arguments["text"]
    statements = read_statements(text)
    stated = [statement for statement in statements if statement.rule]
    skipped = [statement for statement in statements if not statement.rule]
    is_saved = bool(arguments.get("save") and stated)
    new_facts = [
        Fact(
            name=statement.name, value=statement.value, reasoning=f"a text says: {statement.text}"
        )
        for statement in stated
    ]
    _, replaced = fact_files.add_facts(ctx.state_dir, new_facts) if is_saved else ([], [])
    return {
        "facts": [
            {key: getattr(statement, key) for key in ("name", "value", "rule", "line")}
            for statement in stated
        ],
        "skipped": [
            {key: getattr(statement, key) for key in ("line", "text", "why")}
            for statement in skipped[:MAX_SKIPPED_SHOWN]
        ],
        "skipped_total": len(skipped),
        "rules": list(PATTERNS),
        "saved": is_saved,
        "replaced": [shallow_dict(old) for old in replaced],
        "read_characters": min(len(text), MAX_CHARACTERS),
        "note": "by rules on single sentences, no language model; look at what was skipped",
    }


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
