// Written by `capdisc setup opencode`; `capdisc setup opencode --undo` removes it.
// Adds the capabilities that fit a message to it. If that fails, the message stays as it is.
// Says when a session was compacted, since it has lost what was added before, and which skill was
// read, so that capdisc learns what is used.
import { spawn } from "node:child_process"

const COMMAND = ["capdisc", "hook", "opencode"]
const TIME_LIMIT_MS = 10_000
const MARK = "capdisc"

function askCapdisc(event, cwd) {
  return new Promise((resolve) => {
    const options = { cwd, stdio: ["pipe", "pipe", "ignore"], timeout: TIME_LIMIT_MS }
    const child = spawn(COMMAND[0], COMMAND.slice(1), options)
    let answer = ""
    child.stdout.setEncoding("utf8")
    child.stdout.on("data", (piece) => { answer += piece })
    child.on("error", () => resolve(""))
    child.on("close", () => resolve(answer))
    child.stdin.on("error", () => {})
    child.stdin.end(JSON.stringify({ cwd, ...event }))
  })
}

export const CapdiscPlugin = async ({ directory }) => ({
  "chat.message": async (input, output) => {
    try {
      const texts = output.parts.filter((part) => part.type === "text" && !part.synthetic)
      if (texts.length === 0) return
      const answer = await askCapdisc({
        hook_event_name: "chat.message",
        session_id: input.sessionID,
        prompt: texts.map((part) => part.text).join("\n"),
      }, directory)
      const text = answer && JSON.parse(answer).additionalContext
      if (!text) return
      // A part needs an id of its own; with this one it sorts behind the message's text.
      const { id, sessionID, messageID } = texts[texts.length - 1]
      output.parts.push({
        id: `${id}${MARK}`, sessionID, messageID, type: "text", text, synthetic: true, ignored: true,
      })
    } catch {}
  },
  // Requests leave out what is ignored. The one for the session's title takes the messages before
  // this is called, and must keep them: so each is replaced, and none changed.
  "experimental.chat.messages.transform": async (_, { messages }) => {
    messages.forEach((message, index) => {
      const parts = message.parts.map((part) => (part.id.endsWith(MARK) ? { ...part, ignored: false } : part))
      messages[index] = { ...message, parts }
    })
  },
  "tool.execute.after": async ({ tool, sessionID, args }) => {
    if (tool !== "skill" && !args?.filePath?.endsWith?.("/SKILL.md")) return
    await askCapdisc({
      hook_event_name: "tool.execute.after",
      session_id: sessionID,
      tool_name: tool,
      tool_input: args,
    }, directory)
  },
  event: async ({ event }) => {
    if (event.type !== "session.compacted") return
    await askCapdisc({
      hook_event_name: event.type,
      session_id: event.properties.sessionID,
    }, directory)
  },
})
