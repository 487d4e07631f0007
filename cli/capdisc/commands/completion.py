"""capdisc completion: the script that lets a shell complete commands, options, ids and values."""

from __future__ import annotations

from typing import Annotated

from capdisc.args.command_line import argument
from capdisc.output import console
from capdisc.output.command_process import ExitCode
from capdisc_indexer.text.similar_names import unknown_choice

# bash splits words at `:` and `=`, so the pieces of one word are put together again, and what
# stands before the last of the signs is taken off the candidates, which bash adds to it. bash 3.2,
# which macOS has, knows neither `compopt` nor `mapfile`.
_BASH = r"""# Completion of capdisc for bash: eval "$(capdisc completion bash)"
_capdisc() {
    local rest=$COMP_LINE word start line head i
    local -a words=()
    for ((i = 0; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        start=${rest%%[![:space:]]*}
        rest=${rest#"$start"}
        if ((i > 0)) && [[ -z $start && ${#words[@]} -gt 0 ]]; then
            words[${#words[@]} - 1]+=$word
        else
            words+=("$word")
        fi
        rest=${rest#"$word"}
    done
    local current=${words[${#words[@]} - 1]} program=${words[0]/#\~/$HOME}
    type "$program" &> /dev/null || program=capdisc
    head=${current%"${current##*[:=]}"}
    COMPREPLY=()
    while IFS= read -r line; do
        case $line in
        :files)
            compopt -o filenames 2> /dev/null
            while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -f -- "${current#"$head"}")
            ;;
        :dirs)
            compopt -o filenames 2> /dev/null
            while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -d -- "${current#"$head"}")
            ;;
        *)
            word=${line%%$'\t'*}
            word=${word#"$head"}
            [[ $current == [\'\"]* ]] || printf -v word %q "$word"
            COMPREPLY+=("$word")
            ;;
        esac
    done < <("$program" --complete "${words[@]:1}" 2> /dev/null)
}
complete -F _capdisc capdisc
"""
# The same text works where it is sourced, and as the file _capdisc in a folder of fpath.
_ZSH = r"""#compdef capdisc
# Completion of capdisc for zsh: source <(capdisc completion zsh)
_capdisc() {
    local line files program=${~words[1]}
    local -a lines candidates
    whence -p "$program" > /dev/null || program=capdisc
    lines=("${(@f)$("$program" --complete "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2> /dev/null)}")
    for line in $lines; do
        case $line in
        :files) _files; return ;;
        :dirs) _files -/; return ;;
        *$'\t'*) candidates+=("${${line%%$'\t'*}//:/\:}:${line#*$'\t'}") ;;
        *) candidates+=("${line//:/\:}") ;;
        esac
    done
    (( ${#candidates} )) && _describe -t capdisc capdisc candidates
    [[ -z $files ]] || _files
}
if [[ ${funcstack[1]} == _capdisc ]]; then _capdisc "$@"; else compdef _capdisc capdisc; fi
"""
_FISH = r"""# Completion of capdisc for fish: capdisc completion fish | source
function __capdisc_complete
    set -l words (commandline -opc)
    set -l program (string replace -r '^~' $HOME -- $words[1])
    type -q -- $program; or set program capdisc
    set -e words[1]
    set -l current (commandline -ct)
    for line in ($program --complete $words "$current" 2> /dev/null)
        switch $line
            case :files
                __fish_complete_path "$current"
            case :dirs
                __fish_complete_directories "$current"
            case '*'
                echo $line
        end
    end
end
complete -c capdisc -e
complete -c capdisc -f -a '(__capdisc_complete)'
"""
SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


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
