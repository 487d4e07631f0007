# Writes skills as clients have them: `write_skills.sh` four of the user and one of the project for Claude Code and one
# more for Codex, `write_skills.sh FOLDER NAME [DESCRIPTION]` one there; `write_skills.sh used NAME` records a use as
# Claude Code does.
skill() {
  mkdir -p "$1/$2"
  about=${3:-Writes about the $2. Use when somebody asks for a text on it.}
  printf -- '---\nname: %s\ndescription: %s\n---\n\nDo it.\n' "$2" "$about" > "$1/$2/SKILL.md"
}
if [ "$1" = used ]; then
  echo "{\"skillUsage\": {\"$2\": {\"usageCount\": 3, \"lastUsedAt\": $(date +%s)000}}}" > ~/.claude.json
elif [ "$1" ]; then
  skill "$@"
else
  for topic in volcano violin bakery chess; do skill ~/.claude/skills $topic; done
  skill .claude/skills tailor
  skill ~/.codex/skills radio
fi
