# Everything one can do here. `pip install rust-just` brings `just`; the two commands of the README do without it.

bin := ".venv/bin"

# list the recipes
default:
    @just --list

# make the virtual environment with all that development needs
setup:
    python3 -m venv .venv
    {{bin}}/pip install --quiet -c constraints.txt -e '.[dev]'

# all that CI checks, but for the fresh clone
check: lint types layers test

# style and formatting
lint:
    {{bin}}/ruff check .
    {{bin}}/ruff format --check .

# mend what lint can mend
fix:
    {{bin}}/ruff check --fix .
    {{bin}}/ruff format .

# static types, strictly
types:
    {{bin}}/mypy

# the import order, as a contract
layers:
    {{bin}}/lint-imports

# the tests on all cores; arguments go to pytest: just test -n0 tests/cli -k search
test *ARGS:
    {{bin}}/python -m pytest -n auto {{ARGS}}

# some of them where what Windows lacks is taken away
windows *ARGS:
    {{bin}}/python tests/windows_suite.py -n auto {{ARGS}}

# files, settings, state and arguments changed by chance, at length: just fuzz 2000; another seed: just fuzz 500 --hypothesis-seed=7
fuzz EXAMPLES="1000" *ARGS:
    CAPDISC_FUZZ_EXAMPLES={{EXAMPLES}} {{bin}}/python -m pytest -n auto tests/properties/test_fuzz_sources.py tests/properties/test_fuzz_commands.py {{ARGS}}

# write the golden files anew, to be read in the diff
golden:
    CAPDISC_WRITE_GOLDEN=1 {{bin}}/python -m pytest -m golden

# write docs/commands.md and the table of completion from the declarations of the commands
docs:
    {{bin}}/python tools/documentation/command_reference.py

# write the manual pages from the declarations of the commands: just man ~/.local/share/man/man1
man FOLDER="build/man":
    {{bin}}/python -m capdisc.commands.help {{FOLDER}}

# draw docs/pictures anew from what the commands print and write
pictures:
    {{bin}}/python tools/documentation/pictures.py

# floors on retrieval quality, with the figures
relevance:
    {{bin}}/python -m pytest -m relevance -s

# the needs of the designs, each with what is typed and what must come: just rows S21 S74
rows *ARGS:
    {{bin}}/python tests/rows/table.py {{ARGS}}

# size, knots, names and walks of the product, with their ceilings; with a figure, what it counts: just house circles
house *ARGS:
    PYTHONPATH=tools {{bin}}/python -m house {{ARGS}}

# figures of speed as multiples of `python -c pass`: just bench --corpus ../shared/corpora/skills --sizes 10000; --short-texts: those of earlier releases
bench *ARGS:
    {{bin}}/python tools/bench/bench.py {{ARGS}}

# a library of any number of skills, recombined from real ones: just skills 80000 /tmp/library --seed 7; short bodies: --body-tokens 200
skills COUNT TARGET *ARGS:
    {{bin}}/python tools/bench/skill_library.py ../shared/corpora/skills {{COUNT}} {{TARGET}} {{ARGS}}

# memory and time of whole commands over such a library: just memory --corpus ../shared/corpora/skills --size 80000
memory *ARGS:
    {{bin}}/python tools/bench/memory.py {{ARGS}}

# time, memory and disk at several sizes, and what grows how: just growth --corpus ../shared/corpora/skills --sizes 10000 100000
growth *ARGS:
    {{bin}}/python tools/bench/growth.py {{ARGS}}

# the picture in the README, of what `just bench --short-texts --json tools/bench/measured.json` wrote
bench-plot:
    {{bin}}/python tools/bench/plot.py tools/bench/measured.json tools/bench/measured.svg

# what each command imports, slowest first
imports *COMMAND="search hello":
    {{bin}}/python -X importtime -m capdisc {{COMMAND}} 2>&1 >/dev/null | sort -t'|' -k2 -n | tail -25

# the tool on the real corpora beside the project
real:
    {{bin}}/python tools/bench/real.py ../shared

# what is found on the judged sets beside the project: just scores --encoder static
scores *ARGS:
    {{bin}}/python tools/bench/scores.py ../shared/eval {{ARGS}}

# deep sections of real skills by their headings: just sections ../shared
sections PATH *ARGS:
    {{bin}}/python tools/bench/sections.py {{PATH}} {{ARGS}}

# what is refused, and what of it should not be
refusal *ARGS:
    {{bin}}/python tools/bench/refusal.py ../shared/eval {{ARGS}}

# the engine of the second design on the same catalogues and vectors, where node has it: just second-engine ../shared
second-engine PATH *ARGS:
    {{bin}}/python tools/bench/second_engine.py {{PATH}} {{ARGS}}

# how much small talk gets a context, and how many requests do
gate *ARGS:
    {{bin}}/python tools/bench/gate.py ../shared/eval {{ARGS}}

# fits the model of the gate to gathered requests and a folder of SKILL.md files
fit-gate REQUESTS SKILLS:
    {{bin}}/python tools/training/fit_gate.py --requests {{REQUESTS}} --skills {{SKILLS}}

# fits what decides about suggestions (scikit-learn and lightgbm are needed): SESSIONS is a folder of folders of sessions
fit-suggestion SESSIONS SKILLS PROMPTS REQUESTS *ARGS:
    {{bin}}/python tools/training/fit_suggestion.py --sessions {{SESSIONS}}/* --skills {{SKILLS}} --prompts {{PROMPTS}} --requests {{REQUESTS}} {{ARGS}}

# fits the models of confidence to gathered requests, that for phrases last
fit-calibration REQUESTS:
    {{bin}}/python tools/training/fit_calibration.py --requests {{REQUESTS}}
    {{bin}}/python tools/training/fit_phrase_confidence.py --requests {{REQUESTS}}

# fits the verdict on answers: SESSIONS is a folder of folders of sessions
fit-verdict REQUESTS SKILLS SESSIONS:
    {{bin}}/python tools/training/fit_verdict.py --requests {{REQUESTS}} --skills {{SKILLS}} --sessions {{SESSIONS}}/*

# what attackers take from honest answers
abuse:
    {{bin}}/python tools/bench/abuse.py ../shared/corpora/skills

# the promises tried at length, see tools/torture/README.md: just torture --only R1,R2 --scale 0.1
torture *ARGS:
    {{bin}}/python tools/torture/run.py {{ARGS}}

# what each part of the ranking is worth, one off at a time
ablation *ARGS:
    {{bin}}/python tools/bench/ablation.py ../shared/eval {{ARGS}}

# train the shipped encoder anew: parallel text from unpacked packages (see gather.py), an English table, all languages
train-model TEACHER PACKAGES DESCRIPTIONS CLDR *LISTS:
    {{bin}}/python tools/training/gather.py --packages {{PACKAGES}} --descriptions {{DESCRIPTIONS}} --cldr {{CLDR}} --out build/pairs.tsv
    {{bin}}/python tools/training/train_static.py --teacher {{TEACHER}} --packages {{LISTS}} --dim 256 --vocabulary 40000 --out build/reader
    {{bin}}/python tools/training/train_static.py --teacher {{TEACHER}} --packages {{LISTS}} --pairs build/pairs.tsv --reader build/reader --out indexer/capdisc_indexer/encoders/model

# one command: just run search "merge PDF files"
run *ARGS:
    @{{bin}}/capdisc {{ARGS}}

# remove what can be made again
clean:
    rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist
