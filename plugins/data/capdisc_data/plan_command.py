"""capdisc plan: whether what an agent plans can be done with what is indexed."""

from __future__ import annotations

from typing import Annotated

from capdisc.args import params
from capdisc.args.params import argument
from capdisc.context import open_index, query_execution, surroundings, user_files
from capdisc.output import console
from capdisc.output.failures import ExitCode
from capdisc_indexer.model.errors import UsageError
from capdisc_indexer.text.similar_names import unknown_choice

VERBS = ("check", "schema")
MAX_PLAN_BYTES = 1024 * 1024


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
    from capdisc_data import plan_check

    if target is None:
        console.print_result(console.format_json_text(plan_check.PLAN_SCHEMA))
        return ExitCode.OK
    data = user_files.read_file_or_stdin(
        surroundings.current_runtime(), target, MAX_PLAN_BYTES, "a plan names steps, and no data"
    )
    document = plan_check.parse_plan(data.decode("utf-8-sig", "replace"), target)
    with open_index.open_index(index_dir, fresh) as ctx:
        report = plan_check.check_plan(query_execution.build_tool_context(ctx), document)
    if json:
        console.print_document(
            {"ok": not report.problems, "checked": report.checked, "problems": report.problems}
        )
    elif report.problems:
        for problem in report.problems:
            console.print_lines([f"{problem.where}: {problem.problem}"])
            if problem.hint:
                console.print_notice(f"  hint: {problem.hint}")
    else:
        names = ", ".join(
            console.format_count(count, sort.removesuffix("s"), sort)
            for sort, count in report.checked.items()
        )
        console.print_lines([f"the plan names nothing that is not here ({names or 'no names'})"])
    return ExitCode.FINDINGS if report.problems else ExitCode.OK
