"""Programs that run text as a program, and programs that start another one, as data.

Each entry says which options take program text, which take another value, and what the other words
are; the source are the manuals of these programs. A program without an entry is taken not to run
its words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from capdisc_guard.program_text.interpreter_words import Interpreter, Operands, Role
from capdisc_indexer.text.normalization import compile_late

_BY_SCRIPT = "let a script of the capability take it as an argument"
_BY_POSITION = 'pass it as a word of its own: ["sh", "-c", "echo \\"$1\\"", "sh", "{x}"]'
_BY_SCHEMA = f"{_BY_SCRIPT}, or let its schema be an enum or a number"


def _roles(**options: str) -> dict[str, Role]:
    return {name: Role[role.upper()] for role, names in options.items() for name in names.split()}


def _shell(**options: str) -> Interpreter:
    return Interpreter(
        roles=_roles(**options), has_plus_options=True, is_shell=True, is_strong=True, reads_stdin=True,
        hint=_BY_POSITION,
    )  # fmt: skip


def _script(hint: str = _BY_SCRIPT, *, is_strong: bool = True, **options: str) -> Interpreter:
    return Interpreter(roles=_roles(**options), is_strong=is_strong, reads_stdin=True, hint=hint)


def _sql(operands: Operands = Operands.NONE, **options: str) -> Interpreter:
    return Interpreter(
        roles=_roles(**options), operands=operands, permutes=True, reads_stdin=True, takes_closed=True,
        is_strong=True, hint=_BY_SCHEMA,
    )  # fmt: skip


def _wrapper(skip: int = 0, *, assigns: bool = False, **options: str) -> Interpreter:
    return Interpreter(
        roles=_roles(**options), operands=Operands.COMMAND, skip=skip, takes_assignments=assigns,
        is_shell="text" in options, hint=_BY_SCRIPT,
    )  # fmt: skip


def _subcommands(
    inner: Mapping[str, Interpreter], *, is_strong: bool = False, **options: str
) -> Interpreter:
    return Interpreter(
        roles=_roles(**options), operands=Operands.NONE, subcommands=inner, is_strong=is_strong
    )  # fmt: skip


def _all_text(
    *, closed: bool = False, shell: bool = True, permutes: bool = False, **options: str
) -> Interpreter:
    hint = _BY_SCHEMA if closed else _BY_SCRIPT
    return Interpreter(
        roles=_roles(**options), operands=Operands.ALL, permutes=permutes, is_shell=shell,
        takes_closed=closed, hint=hint,
    )  # fmt: skip


def _commands(*, closed: bool = False, stdin: bool = False, **options: str) -> Interpreter:
    """A program of which only the values of options are commands."""
    return Interpreter(
        roles=_roles(**options), operands=Operands.NONE, permutes=True, reads_stdin=stdin, is_shell=True,
        takes_closed=closed, hint=_BY_SCRIPT,
    )  # fmt: skip


_SH = _shell(turn="-c", value="-o -O +o +O --rcfile --init-file")
_FISH = _shell(text="-c --command -C --init-command", value="-d -D -f -o --debug --features")
_PYTHON = _script(
    'pass it as a word of its own and read sys.argv[1]: ["python3", "-c", "...", "{x}"]',
    text="-c", value="-W -X -Q --check-hash-based-pycs", module="-m",
)  # fmt: skip
_TIMEIT = _all_text(shell=False, text="-s --setup", value="-n -r -u --number --repeat --unit")
_NODE = _script(
    'pass it as a word of its own and read process.argv[1]: ["node", "-e", "...", "{x}"]',
    text="-e --eval -p --print -pe --import --loader --experimental-loader",
    value="-C --conditions --env-file --stack-trace-limit --title --test-reporter",
    run="-r --require",
)  # fmt: skip
_DENO = _subcommands(
    {
        "eval": _all_text(shell=False, value="--ext --cert --config -c --import-map"),
        "run": Interpreter(roles={}, operands=Operands.TEXT, hint=_BY_SCRIPT),
        "repl": _script(text="--eval", value="--eval-file"),
    },
    is_strong=True,
    text="-e --eval",
)
_PERL = _script(
    'pass it as a word of its own and read $ARGV[0]: ["perl", "-e", "...", "{x}"]',
    text="-e -E -M -m -F", value="-I", rest_of_word="-i -x -D -d -V",
)  # fmt: skip
_RUBY = _script(
    'pass it as a word of its own and read ARGV[0]: ["ruby", "-e", "...", "{x}"]',
    text="-e", value="-I -C -E --encoding", rest_of_word="-i -F -T -W -x -K", run="-r",
)  # fmt: skip
_PHP = _script(
    'pass it as a word of its own and read $argv[1]: ["php", "-r", "...", "{x}"]',
    text="-r --run -B --process-begin -R --process-code -E --process-end -d --define",
    file="-f --file -F --process-file", value="-c --php-ini -t --docroot -S --server -z",
)  # fmt: skip
_LUA = _script(
    'pass it as a word of its own and read ...: ["lua", "-e", "...", "{x}"]',
    text="-e", run="-l",
)  # fmt: skip
_EVAL = _script(text="-e -E --eval -eval --print -p --expr --rpc-eval --execute -c -code")
_LISP = _script(text="-e --eval -eval --execute -f --funcall -c -x --init-eval-command -l --load")
_VIM = Interpreter(
    roles=_roles(text="-c --cmd -S", value="-u -U -w -W -s -T -i"), operands=Operands.NONE,
    has_plus_options=True, is_strong=True, permutes=True, hint=_BY_SCRIPT,
)  # fmt: skip
_DEBUGGER = Interpreter(
    roles=_roles(
        text="-ex --ex -iex --eval-command -init-eval-command -o -O --one-line --one-line-before-file",
        value="-p --pid -c --core -d --directory",
        file="-x --command -s --source",
        run="--args -args",
    ),
    operands=Operands.NONE, is_strong=True, permutes=True, reads_stdin=True, hint=_BY_SCRIPT,
)  # fmt: skip
_POWERSHELL = Interpreter(
    roles=_roles(
        rest="-command -encodedcommand -ec",
        turn="-commandwithargs -cwa",
        value="""-executionpolicy -ep -ex -version -psconsolefile -inputformat -outputformat -windowstyle
        -configurationname -workingdirectory -wd -settingsfile -encodedarguments -custompipename""",
        file="-file",
    ),
    operands=Operands.SCRIPT, has_prefix_options=True, has_slash_options=True, is_strong=True,
    reads_stdin=True, hint='write a script: ["pwsh", "-File", "script.ps1", "{x}"]',
)  # fmt: skip
_CMD = Interpreter(
    roles=_roles(rest="/c /k /r"), has_slash_options=True, is_strong=True, reads_stdin=True,
    hint=_BY_SCRIPT,
)  # fmt: skip
_OSASCRIPT = _script(
    "pass it as a word of its own, and let the script read it: on run argv",
    text="-e",
    value="-l -s",
)
_AWK = Interpreter(
    roles=_roles(
        text="-e --source", file="-f --file -E --exec",
        value="-F -v --field-separator --assign -i --include -l --load",
        rest_of_word="--lint --profile --dump-variables --pretty-print --debug",
    ),
    operands=Operands.TEXT, hint='pass it as a variable: ["awk", "-v", "x={x}", "..."]',
)  # fmt: skip
_SED = Interpreter(
    roles=_roles(
        text="-e --expression", file="-f --file", value="-l --line-length", rest_of_word="-i --in-place"
    ),
    operands=Operands.TEXT, permutes=True, takes_closed=True, hint=_BY_SCHEMA,
)  # fmt: skip
_JQ_ROLES = _roles(
    file="-f --from-file", value="-L --indent --library-path -o --output-format -p --input-format",
    two="--arg --argjson --slurpfile --rawfile --argfile", text="--expression",
)  # fmt: skip
_JQ = Interpreter(
    roles=_JQ_ROLES, operands=Operands.TEXT, permutes=True,
    hint='pass it as a variable: ["jq", "--arg", "x", "{x}", "..."]',
)  # fmt: skip
_YQ = Interpreter(
    roles=_JQ_ROLES, operands=Operands.TEXT, permutes=True, hint=_JQ.hint,
    subcommands=dict.fromkeys(("e", "eval", "ea", "eval-all"), _JQ),
)  # fmt: skip
_PSQL = _sql(
    text="-c --command", file="-f --file",
    value="""-d -F -h -L -o -p -P -R -T -U -v --dbname --field-separator --host --log-file --output --port
    --pset --record-separator --table-attr --username --set --variable""",
)  # fmt: skip
_MYSQL = _sql(
    text="-e --execute --init-command --init-command-add",
    value="-h --host -u --user -P --port -D --database -S --socket --defaults-file --protocol",
)
_SQLITE = _sql(
    Operands.AFTER_FIRST, text="-cmd --cmd -c -s", file="-init --init -f",
    value="-separator -newline -nullvalue -maxsize -mmap -vfs -A --separator --newline --nullvalue",
)  # fmt: skip
_QUERY = _sql(
    text="-q -Q --query -e --execute --execute-query -execute -c --command -s",
    value="-h --host -u --user -p --port -d --database -U -P -S", file="-f --file -i --queries-file",
)  # fmt: skip
_MAKE = _all_text(
    closed=True, shell=False, permutes=True, text="-E --eval",
    value="""-C -f -I -j -l -o -W --directory --file --makefile --include-dir --jobs --load-average --old-file
    --what-if --new-file --assume-new --assume-old""",
)  # fmt: skip
_SSH = Interpreter(
    roles=_roles(
        value="-b -B -c -D -E -e -F -I -i -J -L -l -m -O -p -P -Q -R -S -W -w", setting="-o"
    ),
    operands=Operands.AFTER_FIRST, is_shell=True, reads_stdin=True, hint=_BY_SCRIPT,
)  # fmt: skip
_ADB = Interpreter(
    roles=_roles(value="-e"),
    operands=Operands.ALL,
    is_shell=True,
    reads_stdin=True,
    hint=_BY_SCRIPT,
)
_SU = Interpreter(
    roles=_roles(
        text="-c --command --session-command", value="-s --shell -g --group -G --supp-group -w -u --user"
    ),
    operands=Operands.NONE, permutes=True, is_shell=True, reads_stdin=True, hint=_BY_SCRIPT,
)  # fmt: skip
_DOCKER_VALUES = """-a -c -e -h -l -m -p -u -v -w --add-host --annotation --cap-add --cap-drop --cgroupns --cidfile
--cpus --cpu-shares --cpuset-cpus --detach-keys --device --dns --env --env-file --expose --gpus --group-add
--hostname --ip --ipc --label --link --log-driver --log-opt --mac-address --memory --mount --name --net --network
--network-alias --pid --platform --publish --pull --restart --runtime --security-opt --shm-size --stop-signal
--storage-opt --tmpfs --ulimit --user --userns --volume --volumes-from --workdir --index -f -H --host --context
--config --log-level --tag -t"""
_IN_CONTAINER = _wrapper(1, value=_DOCKER_VALUES)
_OF_IMAGE = Interpreter(
    roles=_roles(value=_DOCKER_VALUES, run="--entrypoint"), operands=Operands.COMMAND, skip=1,
    has_own_program=True, hint=_BY_SCRIPT,
)  # fmt: skip
_CONTAINER = {"exec": _IN_CONTAINER, "run": _OF_IMAGE, "create": _OF_IMAGE}
_DOCKER = _subcommands(
    {
        **_CONTAINER,
        "container": _subcommands(_CONTAINER),
        "compose": _subcommands(
            _CONTAINER, value="-f -p --file --project-name --profile --env-file"
        ),
    },
    value="-H --host --context --config -l --log-level",
)
_KUBECTL = Interpreter(roles={}, operands=Operands.NONE, permutes=True)
_RUNNER = _subcommands(
    {"run": _wrapper(value="--with --from --python -p --package --extra --group -n --name")}
)
_NPX = _wrapper(text="-c --call", value="-p --package --userconfig")
_GIT_EXEC = Interpreter(
    roles=_roles(
        text="-x --exec --upload-pack --receive-pack --remote -u", setting="-c --config", value="-m -b"
    ),
    operands=Operands.NONE, permutes=True, is_shell=True, hint=_BY_SCRIPT,
)  # fmt: skip
_GIT_FILTERS = _commands(
    text="""-x --extcmd --open-files-in-pager --receive-pack --exec --smtp-server --sendmail-cmd --to-cmd --cc-cmd
    --header-cmd --setup --env-filter --tree-filter --index-filter --parent-filter --msg-filter --commit-filter
    --tag-name-filter""",
    value="-t --tool --to --cc",
)  # fmt: skip
_GIT = _subcommands(
    {
        **dict.fromkeys(("rebase", "clone", "fetch", "ls-remote", "pull", "archive"), _GIT_EXEC),
        **dict.fromkeys(("difftool", "filter-branch", "grep", "push", "send-email"), _GIT_FILTERS),
        "submodule": _subcommands({"foreach": _all_text()}),
        "bisect": _subcommands({"run": _wrapper()}),
    },
    setting="-c", value="-C --git-dir --work-tree --namespace --exec-path",
)  # fmt: skip
_FIRST_TEXT = Interpreter(
    roles=_roles(value="-e --environment"), operands=Operands.TEXT, permutes=True, hint=_BY_SCRIPT
)
_ARCHIVE_OPTIONS = """--to-command --checkpoint-action --use-compress-program -I --rsh-command --info-script
--new-volume-script --rsh --rsync-path -TT --unzip-command --compress-program --pre --hostname-bin"""
_FIND = Interpreter(
    roles=_roles(run="-exec -execdir -ok -okdir"), operands=Operands.NONE, permutes=True,
)  # fmt: skip
_FD = Interpreter(
    roles=_roles(run="-x --exec -X --exec-batch"), operands=Operands.NONE, permutes=True
)
_WAITING = Interpreter(
    roles={}, operands=Operands.NONE, reads_stdin=True, is_shell=True, hint=_BY_SCRIPT
)

_TABLE: tuple[tuple[str, Interpreter], ...] = (
    ("sh bash rbash dash zsh rzsh ksh rksh mksh lksh pdksh oksh loksh ash hush yash posh osh ysh", _SH),
    ("csh tcsh elvish", _shell(turn="-c")),
    ("fish", _FISH),
    ("nu nushell xonsh", _shell(text="-c --commands -e --execute", value="--config --env-config")),
    ("python pythonw pypy py jython micropython bpython ipython graalpy pyston cpython", _PYTHON),
    ("node nodejs iojs tsx ts-node esno", _NODE),
    ("bun", Interpreter(roles=_roles(text="-e --eval -p --print -r --preload"), is_strong=True, reads_stdin=True,
                        subcommands={"x": _wrapper(), "exec": _all_text(), "eval": _all_text(shell=False)},
                        hint=_NODE.hint)),
    ("deno", _DENO),
    ("perl", _PERL),
    ("ruby jruby mruby truffleruby", _RUBY),
    ("php php-cli", _PHP),
    ("lua luajit texlua tarantool", _LUA),
    ("pwsh powershell pwsh-preview", _POWERSHELL),
    ("cmd", _CMD),
    ("osascript", _OSASCRIPT),
    ("rscript r littler", Interpreter(roles=_EVAL.roles, reads_stdin=True, hint=_BY_SCRIPT)),
    ("julia groovy scala kotlin kotlinc clojure clj bb ghc runghc ocaml swift elixir iex erl racket octave "
     "octave-cli mongo mongosh wolframscript sage gnuplot qjs d8 jsc rhino janet", _EVAL),
    ("guile sbcl clisp ecl emacs emacsclient xemacs", _LISP),
    ("crystal", _subcommands({"eval": _all_text(shell=False, value="-D --define --error-trace")}, is_strong=True)),
    ("raku perl6 rakudo", _script(text="-e -M", value="-I")),
    ("rails", _subcommands(dict.fromkeys(("runner", "r"), _FIRST_TEXT))),
    ("wp", Interpreter(roles=_roles(text="--exec --ssh"), operands=Operands.NONE, permutes=True, takes_closed=True,
                       subcommands={"eval": _FIRST_TEXT, "db": _subcommands({"query": _FIRST_TEXT})},
                       hint=_BY_SCRIPT)),
    ("matlab", _script(text="-r -batch", is_strong=False)),
    ("expect tclsh wish", _script(text="-c")),
    ("vim nvim vi ex view gvim vimdiff", _VIM),
    ("gdb lldb", _DEBUGGER),
    ("dc", Interpreter(roles=_roles(text="-e --expression", file="-f --file"), operands=Operands.NONE,
                       reads_stdin=True, hint=_BY_SCRIPT)),
    ("awk gawk mawk nawk original-awk goawk", _AWK),
    ("sed gsed ssed", _SED),
    ("jq gojq jaq xq tomlq", _JQ),
    ("yq", _YQ),
    ("psql", _PSQL),
    ("mysql mariadb", _MYSQL),
    ("sqlite duckdb sqlcipher", _SQLITE),
    ("sql usql sqlcmd snowsql cqlsh mycli litecli pgcli trino presto beeline hive impala-shell influx mssql-cli "
     "clickhouse clickhouse-client clickhouse-local spark-sql", _QUERY),
    ("osqueryi", _all_text(shell=False, closed=True)),
    ("bq", _subcommands({"query": _all_text(shell=False, closed=True)})),
    ("redis-cli", _subcommands(dict.fromkeys(("eval", "EVAL"), _all_text(shell=False)), value="-h -p -n -a -u")),
    ("make gmake remake mingw-make", _MAKE),
    ("eval", _all_text()),
    ("watch", _all_text(value="-n --interval")),
    ("parallel", _all_text()),
    ("hyperfine", _all_text(
        permutes=True, text="-p --prepare -s --setup -c --cleanup", value="-w -r -m -M --warmup --runs",
    )),
    ("tmux screen", _all_text()),
    ("mshta", _all_text(shell=False)),
    ("ssh autossh mosh slogin rsh dbclient", _SSH),
    ("scp", _commands(value="-c -F -i -J -l -P -X", setting="-o", run="-S -D")),
    ("sftp", _commands(
        stdin=True, value="-c -F -i -J -l -P -X -B -R -s", file="-b", setting="-o", run="-S -D",
    )),
    ("adb", _subcommands(dict.fromkeys(("shell", "exec-out", "exec-in"), _ADB), value="-s -t -H -P -L")),
    ("ansible ansible-playbook", _commands(
        text="-a --args --ssh-common-args --ssh-extra-args --scp-extra-args --sftp-extra-args",
        value="-m -i -u -e -l -f -t -T -P -B -c -M",
    )),
    ("gcloud", _commands(closed=True, text="--command --ssh-flag --scp-flag")),
    # Any part of an address may name another one: `a!!EXEC:b`.
    ("socat", _all_text(closed=True, shell=False, value="-b -t -T")),
    ("ncat nc netcat", _commands(
        closed=True, text="-c -e --sh-exec --exec --lua-exec",
        value="-p -s -w -i -g -G -o -x -d -m -q -I -O -T -V -X",
    )),
    ("su runuser", _SU),
    ("at batch crontab", _WAITING),
    ("env", _wrapper(assigns=True, value="-u --unset -C --chdir -P", text="-S --split-string")),
    ("sudo doas", _wrapper(
        assigns=True,
        value="-u -g -h -p -C -D -R -T -U -r -t --user --group --host --prompt --chdir --chroot --close-from "
        "--other-user --role --type --command-timeout",
    )),
    ("nice", _wrapper(value="-n --adjustment")),
    ("ionice", _wrapper(value="-c -n --class --classdata")),
    ("chrt", _wrapper(1)),
    ("nohup setsid exec command builtin busybox toybox fakeroot dbus-run-session xvfb-run unbuffer winpty "
     "caffeinate catchsegv arch entr wsl start systemd-run firejail proot valgrind perf rlwrap chronic ts "
     "bunx pnpx pnpm-dlx", _wrapper()),
    ("time gtime", _wrapper(value="-f -o --format --output")),
    ("stdbuf", _wrapper(value="-i -o -e --input --output --error")),
    ("timeout gtimeout", _wrapper(1, value="-s --signal -k --kill-after")),
    ("chroot taskset prlimit", _wrapper(1)),
    ("nsenter unshare", _wrapper(value="-t --target -S -G --setuid --setgid")),
    ("strace ltrace", _wrapper(value="-e -o -p -s -u -E -a -P -I -O -S -X -b")),
    ("xargs", _wrapper(value="-a -d -E -I -L -n -P -s -J -R -S --arg-file --delimiter --max-args --max-procs "
                       "--max-lines --max-chars")),
    ("flock", _wrapper(1, value="-w -E --timeout --conflict-exit-code", text="-c --command")),
    ("script", _wrapper(text="-c --command")),
    ("sshpass", _wrapper(value="-p -f -d -P")),
    ("docker podman nerdctl", _DOCKER),
    ("docker-compose podman-compose", _subcommands(_CONTAINER, value="-f -p --file --project-name")),
    ("kubectl oc", _KUBECTL),
    ("uvx pipx-run", _wrapper(value="--with --from --python -p --package")),
    ("uv poetry pipenv pdm hatch rye conda mamba micromamba pipx", _RUNNER),
    ("nix", Interpreter(roles=_roles(text="--expr --apply", run="-c --command"), operands=Operands.NONE, permutes=True,
                        subcommands={"run": _wrapper(text="--expr --apply")}, hint=_BY_SCRIPT)),
    ("nix-build nix-instantiate nix-env", _commands(text="-E --expr")),
    ("nix-shell", Interpreter(roles=_roles(text="--run --command -E --expr -p --packages"), is_shell=True,
                              hint=_BY_SCRIPT)),
    ("npx", _NPX),
    ("npm", _subcommands({"exec": _NPX, "x": _NPX})),
    ("bundle", _subcommands({"exec": _wrapper()})),
    ("direnv", _subcommands({"exec": _wrapper(1)})),
    ("git", _GIT),
    ("man", _commands(closed=True, text="-P --pager --html", value="-C -R -L -m -M -S -s -e -r -E -p")),
    ("split gsplit", _commands(text="--filter", value="-a -b -C -l -n -t")),
    ("rsync sort zip rg", _commands(text=f"{_ARCHIVE_OPTIONS} -e")),
    ("tar bsdtar gtar", _commands(text=_ARCHIVE_OPTIONS)),
    ("find gfind", _FIND),
    ("fd fdfind", _FD),
)  # fmt: skip
INTERPRETERS: Mapping[str, Interpreter] = {
    name: interpreter for names, interpreter in _TABLE for name in names.split()
}
# Modules for `python -m` that run their words as a program.
MODULES: Mapping[str, Interpreter] = {"timeit": _TIMEIT, "pdb": _EVAL, "IPython": _PYTHON}

# `python3.11`, `bash-5.2`, `sqlite3`, `python3.13t`: the version is no part of the name.
_VERSION = compile_late(r"(?<=[a-z])[-_]?\d[\d._]*[a-z]?(?:-[a-z0-9]+)?$")
_ENDING = compile_late(r"\.(?:exe|com|cmd|bat)$")


def program_name(word: str) -> str:
    """The name of a program without folder, version and Windows ending, in small letters.

    >>> program_name("/usr/bin/python3.11"), program_name(r"C:\\\\Windows\\\\CMD.EXE"), program_name("sqlite3")
    ('python', 'cmd', 'sqlite')
    """
    name = _ENDING.sub("", re.split(r"[\\/]", word)[-1].casefold())
    return name if name in INTERPRETERS else _VERSION.sub("", name)


def interpreter_of(word: str) -> Interpreter | None:
    """The entry of a program; None for a program without one."""
    return INTERPRETERS.get(program_name(word))
