// Memory with Cerebro, written by `cerebro setup opencode`; `cerebro unsetup opencode` removes it.
// It reports what happens in a session to `cerebro hook`, which answers within a second or not at all.
import { spawn } from "node:child_process"

const COMMAND = [/* COMMAND */]
const PATIENCE_MS = 1500
const SESSIONS_MAX = 100
const BEGUN_AT = Date.now()
// How often a session without a context requests one: after a cold start the first answer may come too late.
const TRIES_MAX = 5
// The tools that belong to a session, each with the argument that names it.
const SESSION_ARGUMENT = {
  cerebro_mem_session_start: "id",
  cerebro_mem_session_end: "session_id",
  cerebro_mem_session_summary: "session_id",
  cerebro_mem_save: "session_id",
  cerebro_mem_save_prompt: "session_id",
}

function hook(event, input) {
  return new Promise((resolve) => {
    let said = ""
    try {
      const [program, ...words] = COMMAND
      const child = spawn(program, [...words, event], { stdio: ["pipe", "pipe", "ignore"] })
      const timer = setTimeout(() => {
        child.kill()
        resolve("")
      }, PATIENCE_MS)
      child.on("error", () => {
        clearTimeout(timer)
        resolve("")
      })
      child.on("close", () => {
        clearTimeout(timer)
        resolve(said)
      })
      child.stdout.on("data", (piece) => (said += piece))
      child.stdin.on("error", () => {})
      child.stdin.end(JSON.stringify(input))
    } catch {
      resolve("")
    }
  })
}

const texts = (parts) =>
  parts
    .filter((part) => part?.type === "text" && !part.synthetic)
    .map((part) => part.text)
    .join("\n")

export const Cerebro = async ({ client, directory }) => {
  // The system prompt of a session must not change from one request to the next, or the model's provider
  // caches nothing. So a context is stored here. An empty one is requested again.
  const contexts = new Map()
  // Sessions whose conversation was compacted after their context was requested.
  const shortened = new Set()
  const about = (sessionID, more = {}) => ({ session_id: sessionID, cwd: directory, ...more })
  // Why a session requests its context. The context includes the session's own work only after a compaction, which
  // removed it from the conversation.
  const sourceOf = async (sessionID) => {
    if (shortened.delete(sessionID)) return "compact"
    try {
      const answer = await client.session.get({ path: { id: sessionID } })
      return answer.data.time.created < BEGUN_AT ? "resume" : "startup"
    } catch {
      return "startup"
    }
  }
  const ask = async (sessionID) => hook("SessionStart", about(sessionID, { source: await sourceOf(sessionID) }))
  const contextOf = async (sessionID) => {
    if (!contexts.has(sessionID) && contexts.size >= SESSIONS_MAX) contexts.clear()
    const known = contexts.get(sessionID) ?? { tries: 0 }
    contexts.set(sessionID, known)
    if (!known.text && known.tries < TRIES_MAX) {
      known.tries += 1
      known.text = ask(sessionID)
    }
    const asked = known.text
    const text = await asked
    if (!text && known.text === asked) known.text = undefined
    return text
  }

  return {
    "experimental.chat.system.transform": async ({ sessionID }, output) => {
      if (!sessionID) return
      const text = await contextOf(sessionID)
      if (text) output.system.push(text)
    },
    "chat.message": async ({ sessionID }, { parts }) => {
      // Before the hook records anything of this session, so that the context is about the others.
      await contextOf(sessionID)
      await hook("UserPromptSubmit", about(sessionID, { prompt: texts(parts) }))
    },
    "tool.execute.before": async ({ tool, sessionID }, output) => {
      const argument = SESSION_ARGUMENT[tool]
      if (argument && output.args && !output.args[argument]) output.args[argument] = sessionID
    },
    "experimental.text.complete": async ({ sessionID }, { text }) => {
      if (text?.trim()) await hook("TextComplete", about(sessionID, { last_assistant_message: text }))
    },
    event: async ({ event }) => {
      const sessionID = event?.properties?.sessionID
      if (event?.type === "session.idle") await hook("Stop", about(sessionID))
      if (event?.type !== "session.compacted") return
      contexts.delete(sessionID)
      if (shortened.size >= SESSIONS_MAX) shortened.clear()
      shortened.add(sessionID)
      const answer = await client.session.messages({ path: { id: sessionID } }).catch(() => undefined)
      const summary = (answer?.data ?? []).filter((message) => message.info?.summary === true).pop()
      const text = texts(summary?.parts ?? [])
      if (text.trim()) await hook("PostCompact", about(sessionID, { compact_summary: text }))
    },
  }
}
