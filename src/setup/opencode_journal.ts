// The journal of work of Cerebro, written by `cerebro setup opencode`; `cerebro unsetup opencode` removes it.
// It tells `cerebro hook` of commands, edits and plans. Nothing waits for it, and its end is not looked at.
import { spawn } from "node:child_process"

const COMMAND = [/* COMMAND */]
const PATIENCE_MS = 1500
// Most hooks that run at once; what comes while they do is left out.
const RUNNING_MAX = 8
const COMMANDS = ["bash"]
const TOLD = ["bash", "edit", "write", "patch", "apply_patch", "multiedit", "todowrite"]

let running = 0

function hook(event, input) {
  if (running >= RUNNING_MAX) return
  try {
    const [program, ...words] = COMMAND
    const child = spawn(program, [...words, event], { stdio: ["pipe", "ignore", "ignore"] })
    running += 1
    const timer = setTimeout(() => child.kill(), PATIENCE_MS)
    const over = () => {
      clearTimeout(timer)
      running -= 1
    }
    let ended = false
    const once = () => {
      if (!ended) over()
      ended = true
    }
    child.on("error", once)
    child.on("close", once)
    child.stdin.on("error", () => {})
    child.stdin.end(JSON.stringify(input))
  } catch {}
}

export const CerebroJournal = async ({ directory }) => {
  const about = (session_id, more) => ({ session_id, cwd: directory, ...more })
  return {
    "tool.execute.before": async ({ tool, sessionID, callID }, output) => {
      if (!COMMANDS.includes(tool)) return
      hook("PreToolUse", about(sessionID, { tool_name: tool, tool_use_id: callID, tool_input: output?.args }))
    },
    "tool.execute.after": async ({ tool, sessionID, callID, args }, output) => {
      if (!TOLD.includes(tool)) return
      const tool_response = { output: output?.output, metadata: { exit: output?.metadata?.exit } }
      hook("PostToolUse", about(sessionID, { tool_name: tool, tool_use_id: callID, tool_input: args, tool_response }))
    },
    event: async ({ event }) => {
      const sessionID = event?.properties?.sessionID
      if (event?.type === "session.error" && sessionID) {
        hook("StopFailure", about(sessionID, { error: event.properties?.error?.name ?? "error" }))
      }
    },
  }
}
