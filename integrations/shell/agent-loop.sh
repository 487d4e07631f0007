#!/bin/sh
# Asks a model until it answers without a call: MODEL='llm -m MODEL' agent-loop.sh QUESTION [STEPS]
set -eu
log=$(mktemp) && trap 'rm -f "$log"' EXIT
capdisc render "$1" --hint tool > "$log"
echo 'To look something up, print lines such as {"tool": "search_tool", "arguments": {"query": "…"}}; else answer.' >> "$log"
echo "Question: $1" >> "$log"
for _ in $(seq "${2:-5}"); do
    reply=$($MODEL < "$log")
    calls=$(printf '%s\n' "$reply" | grep '^{"tool"') || { printf '%s\n' "$reply"; exit 0; }
    printf '%s\n' "$calls" >> "$log"
    printf '%s\n' "$calls" | capdisc call --batch - >> "$log" || true # errors are answers, too
done
echo "no answer after ${2:-5} steps" >&2 && exit 1
