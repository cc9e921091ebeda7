// Memory with Cerebro, written by `cerebro setup opencode`; `cerebro unsetup opencode` removes it.
// It carries what happens in a session to `cerebro hook`, which answers within a second or not at all.
import { spawn } from "node:child_process"

const COMMAND: string[] = [/* COMMAND */]
const PATIENCE_MS = 1500
const SESSIONS_MAX = 100
// The tools that belong to a session, and the argument by which they are told of it.
const SESSION_ARGUMENT: Record<string, string> = {
  cerebro_mem_session_start: "id",
  cerebro_mem_session_end: "session_id",
  cerebro_mem_session_summary: "session_id",
  cerebro_mem_save: "session_id",
  cerebro_mem_save_prompt: "session_id",
}

function hook(event: string, input: object): Promise<string> {
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

const texts = (parts: any[]) =>
  parts
    .filter((part) => part?.type === "text" && !part.synthetic)
    .map((part) => part.text)
    .join("\n")

export const Cerebro = async ({ client, directory }: any) => {
  // The system prompt of a session must not change from one request to the next, or nothing is cached.
  const contexts = new Map<string, Promise<string>>()
  const about = (sessionID: string, more: object = {}) => ({ session_id: sessionID, cwd: directory, ...more })

  return {
    "experimental.chat.system.transform": async ({ sessionID }: any, output: any) => {
      if (!sessionID) return
      if (!contexts.has(sessionID)) {
        if (contexts.size >= SESSIONS_MAX) contexts.clear()
        contexts.set(sessionID, hook("SessionStart", about(sessionID)))
      }
      const text = await contexts.get(sessionID)
      if (text) output.system.push(text)
    },
    "chat.message": async ({ sessionID }: any, { parts }: any) => {
      await hook("UserPromptSubmit", about(sessionID, { prompt: texts(parts) }))
    },
    "tool.execute.before": async ({ tool, sessionID }: any, output: any) => {
      const argument = SESSION_ARGUMENT[tool]
      if (argument && output.args && !output.args[argument]) output.args[argument] = sessionID
    },
    "experimental.text.complete": async ({ sessionID }: any, { text }: any) => {
      if (text?.trim()) await hook("Stop", about(sessionID, { last_assistant_message: text }))
    },
    event: async ({ event }: any) => {
      if (event?.type !== "session.compacted") return
      const sessionID = event.properties?.sessionID
      contexts.delete(sessionID)
      const answer = await client.session.messages({ path: { id: sessionID } }).catch(() => undefined)
      const summary = (answer?.data ?? []).filter((message: any) => message.info?.summary === true).pop()
      const text = texts(summary?.parts ?? [])
      if (text.trim()) await hook("PostCompact", about(sessionID, { compact_summary: text }))
    },
  }
}
