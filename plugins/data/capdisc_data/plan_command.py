"""capdisc plan: whether what an agent plans can be done with what is indexed. Does every table,
database, column, operation and document that it names exist, and was it discovered before a step
reads it?

A plan is the JSON that the template `planner` asks for. Its form is checked first, since a name in
a wrong place would not be looked up. Facts are not checked: a user may have stated them.
"""

from __future__ import annotations

import json as json_module
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any

from capdisc.args import params
from capdisc.args.command_line import argument
from capdisc.context import open_index, query_execution, surroundings, user_files
from capdisc.output import console
from capdisc.output.command_process import ExitCode
from capdisc_data.api_answers import find_api
from capdisc_data.data_lookup import StoredTable, find_database, find_table
from capdisc_indexer.model.errors import InputError, UsageError
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.json_types import JsonObject
from capdisc_indexer.text.similar_names import unknown_choice
from capdisc_indexer.tools.capability_lookup import find_capability
from capdisc_indexer.tools.tool_types import ToolContext
from capdisc_indexer.validation.arguments import find_problems

VERBS = ("check", "schema")
MAX_PLAN_BYTES = 1024 * 1024
_NAMES: JsonObject = {"type": "array", "items": {"type": "string", "minLength": 1}}
PLAN_SCHEMA: JsonObject = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "A plan that answers a question with what was discovered",
    "type": "object",
    "required": ["discovered_context", "plan"],
    "properties": {
        "reasoning": {"type": "string", "description": "Why these steps."},
        "discovered_context": {
            "type": "object",
            "description": "What discovery tools have shown: only this may be in the plan.",
            "properties": {
                "facts": {
                    "type": "array",
                    "items": {
                        "type": ["string", "object"],
                        "properties": {
                            "term": {"type": "string"},
                            "definition": {"type": "string"},
                            "source": {"type": "string"},
                        },
                    },
                },
                "tables": {**_NAMES, "description": "TABLE or DATABASE.TABLE."},
                "apis": {**_NAMES, "description": "API or API.OPERATION."},
                "documents": {**_NAMES, "description": "Names or ids of documents."},
            },
        },
        "plan": {
            "type": "object",
            "required": ["steps"],
            "properties": {
                "steps": {
                    "type": "array",
                    "minItems": 1,
                    "items": {
                        "type": "object",
                        "required": ["number", "goal"],
                        "properties": {
                            "number": {"type": "integer", "minimum": 1},
                            "goal": {"type": "string", "minLength": 1},
                            "databases": _NAMES,
                            "tables": _NAMES,
                            "columns": {**_NAMES, "description": "COLUMN or TABLE.COLUMN."},
                            "apis": _NAMES,
                            "documents": _NAMES,
                            "inputs": {
                                **_NAMES,
                                "description": "What earlier steps give: step_1_results.",
                            },
                        },
                    },
                }
            },
        },
    },
}
# A model often puts its JSON into a fenced block.
_FENCED = re.compile(r"```(?:json)?[ \t]*\n(.*?)\n[ \t]*```", re.DOTALL)
_STEP_INPUT = re.compile(r"step[_ -]?(\d+)", re.IGNORECASE)


def plan(
    verb: Annotated[str, argument(metavar="VERB", help=f"{', '.join(VERBS)}.")],
    target: Annotated[
        str | None, argument(metavar="[FILE]", help="With check: the plan; - is stdin.")
    ] = None,
    index_dir: params.IndexDir = None,
    fresh: params.Fresh = None,
    json: params.Json = False,
) -> int:
    """Check a plan of an agent, as the template planner asks for it, against the index.

    check FILE looks up every database, table, column, API and document that the plan names. A step
    may read only what the plan lists as discovered, and take inputs only from earlier steps. Exit
    status 1: something does not exist, and is named. schema prints the JSON Schema of a plan.

    Example: capdisc render "VIP spending by quarter" --template planner | llm | capdisc plan check -
    """
    if verb not in VERBS:
        raise unknown_choice("verb", verb, VERBS)
    if (target is None) is not (verb == "schema"):
        message = "schema takes no file" if target else "no plan was named"
        raise UsageError(message, "capdisc plan check FILE, or - for stdin")
    if target is None:
        console.print_result(console.format_json_text(PLAN_SCHEMA))
        return ExitCode.OK
    data = user_files.read_file_or_stdin(
        surroundings.current_runtime(), target, MAX_PLAN_BYTES, "a plan names steps, and no data"
    )
    document = _parse_plan(data.decode("utf-8-sig", "replace"), target)
    with open_index.open_index(index_dir, fresh) as ctx:
        problems, checked = _check_plan(query_execution.build_tool_context(ctx), document)
    if json:
        console.print_document({"ok": not problems, "checked": checked, "problems": problems})
    elif problems:
        for problem in problems:
            console.print_lines([f"{problem.where}: {problem.problem}"])
            if problem.hint:
                console.print_notice(f"  hint: {problem.hint}")
    else:
        names = ", ".join(
            console.format_count(count, sort.removesuffix("s"), sort)
            for sort, count in checked.items()
        )
        console.print_lines([f"the plan names nothing that is not here ({names or 'no names'})"])
    return ExitCode.FINDINGS if problems else ExitCode.OK


@frozen
class PlanProblem:
    """What is wrong at one place of a plan, and what may help ("": nothing does)."""

    where: str
    problem: str
    hint: str = ""


def _parse_plan(text: str, name: str) -> JsonObject:
    """The plan in a text: JSON, or the first fenced block of JSON. Raises InputError for any other
    text; `name` is that of its file.
    """
    fenced = _FENCED.search(text)
    try:
        plan = json_module.loads(fenced[1] if fenced else text)
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{name} is not a plan: {error}", "a plan is JSON: capdisc plan schema"
        ) from error
    if not isinstance(plan, dict):
        raise InputError(
            f"{name} is not a plan: expected a JSON object", "see its form: capdisc plan schema"
        )
    return plan


def _check_plan(ctx: ToolContext, plan: JsonObject) -> tuple[list[PlanProblem], Mapping[str, int]]:
    """What is wrong with the plan: its form; else what it names and the index lacks, what it uses
    and did not discover, and inputs that no earlier step gives. And how many names of each sort
    were looked up.
    """
    problems = [
        PlanProblem(where, problem)
        for text in find_problems(PLAN_SCHEMA, plan, closed=False)
        for where, _, problem in [text.partition(": ")]
    ]
    if problems:
        return problems, {}
    checker = _PlanChecker(ctx)
    context = plan["discovered_context"]
    checker.check_context(context)
    for position, step in enumerate(plan["plan"]["steps"]):
        checker.check_step(step, f"plan.steps[{position}]", position)
    return checker.problems, checker.checked


class _PlanChecker:
    """One check in progress: the problems until now, and what the plan says was discovered."""

    def __init__(self, ctx: ToolContext) -> None:
        self._ctx = ctx
        self._discovered: dict[str, set[str]] = {"tables": set(), "apis": set()}
        self._numbers: set[int] = set()
        self.problems: list[PlanProblem] = []
        self.checked: dict[str, int] = {}

    def check_context(self, context: Mapping[str, Any]) -> None:
        """Looks up what was discovered."""
        where = "discovered_context"
        for table in self._look_up(context, "tables", where, self._table):
            self._discovered["tables"].add(table.descriptor.id)
        self._discovered["apis"].update(self._look_up(context, "apis", where, self._api_or_part))
        list(self._look_up(context, "documents", where, self._document))

    def check_step(self, step: Mapping[str, Any], where: str, position: int) -> None:
        """Looks up what a step reads, whether it was discovered, and which step gives its inputs."""
        number = step["number"]
        if number != position + 1:
            self._add(f"{where}.number", f"is {number}, and this is step {position + 1}")
        databases = list(
            self._look_up(step, "databases", where, lambda name: find_database(self._ctx, name))
        )
        tables = list(
            self._look_up(step, "tables", where, lambda name: self._table(name, databases))
        )
        for table in tables:
            if table.descriptor.id not in self._discovered["tables"]:
                self._add(
                    f"{where}.tables",
                    f"{table.database}.{table.name} is not in discovered_context.tables",
                    "discover a table before a step reads it",
                )
        for api in self._look_up(step, "apis", where, self._api_or_part):
            known = self._discovered["apis"]
            if api not in known and api.partition(".")[0] not in known:
                self._add(
                    f"{where}.apis",
                    f"{api} is not in discovered_context.apis",
                    "discover an API before a step calls it",
                )
        list(self._look_up(step, "documents", where, self._document))
        list(self._look_up(step, "columns", where, lambda name: _require_column(tables, name)))
        for index, name in enumerate(step.get("inputs") or ()):
            source = _STEP_INPUT.match(name)
            if source and int(source[1]) not in self._numbers:
                self._add(
                    f"{where}.inputs[{index}]",
                    f"{name} comes from step {source[1]}, which is not an earlier step",
                )
        self._numbers.add(number)

    def _look_up(
        self, names: Mapping[str, Any], key: str, where: str, find: Callable[[str], Any]
    ) -> Iterator[Any]:
        """What `find` has for each name below the key; a name that it refuses is a problem."""
        for index, name in enumerate(names.get(key) or ()):
            self.checked[key] = self.checked.get(key, 0) + 1
            try:
                yield find(name)
            except UsageError as error:
                self._add(f"{where}.{key}[{index}]", error.message, error.hint)

    def _table(self, name: str, databases: Sequence[str] = ()) -> StoredTable:
        """The table; its database may stand before a dot, or be the only one of the step."""
        database, _, table = name.rpartition(".")
        if not database and len(databases) == 1:
            database = databases[0]
        return find_table(self._ctx, table, find_database(self._ctx, database) if database else "")

    def _api_or_part(self, name: str) -> str:
        """The name of the API, or API.OPERATION, as it is written in the index."""
        api, _, operation = name.partition(".")
        if not operation:
            return find_api(self._ctx, name)
        api = find_api(self._ctx, api)
        return f"{api}.{find_capability(self._ctx, operation, 'operation', within=api).name}"

    def _document(self, name: str) -> str:
        return find_capability(self._ctx, name, "document", "section").id

    def _add(self, where: str, problem: str, hint: str = "") -> None:
        self.problems.append(PlanProblem(where, problem, hint))


def _require_column(tables: Sequence[StoredTable], name: str) -> str:
    """The name of a column that one of the tables has. Raises UsageError where none has it."""
    table_name, _, column = name.rpartition(".")
    asked = [
        table
        for table in tables
        if not table_name or table.name.lower() == table_name.rpartition(".")[2].lower()
    ]
    columns = {column.lower() for table in asked for column in table.column_names}
    if column.lower() in columns:
        return name
    names = ", ".join(table.name for table in asked) or "the tables of this step"
    raise UsageError(
        f"there is no column {column!r} in {names}",
        f"columns there: {', '.join(sorted(columns)[:20]) or 'none'}",
    )
