"""capdisc completion: the script that lets a shell complete commands, options, ids and values."""

from __future__ import annotations

from typing import Annotated

from capdisc.args.completion import SCRIPTS
from capdisc.args.params import argument
from capdisc.output import console
from capdisc.output.failures import ExitCode
from capdisc_indexer.text.similar_names import unknown_choice


def completion(
    shell: Annotated[str, argument(metavar="SHELL", help="bash, zsh or fish.")],
) -> int:
    """Print the script that lets a shell complete commands, options, ids, kinds, categories, tags,
    rules and sessions.

    A shell loads it from the file that it reads at its start:

    bash: eval "$(capdisc completion bash)"

    zsh: source <(capdisc completion zsh)

    fish: capdisc completion fish | source

    Example: capdisc completion bash
    """
    if shell not in SCRIPTS:
        raise unknown_choice("shell", shell, SCRIPTS)
    console.print_result(SCRIPTS[shell])
    return ExitCode.OK
