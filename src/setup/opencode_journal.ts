// The journal of work with Cerebro, written by `cerebro setup opencode`; `cerebro unsetup opencode` removes it.
// It reports commands, edits and plans to `cerebro hook`, one after the other. OpenCode does not wait for it.
import { spawn } from "node:child_process"

const COMMAND = [/* COMMAND */]
const PATIENCE_MS = 1500
// Most reports in the queue. Further ones are counted, and the next report says how many were dropped.
const WAITING_MAX = 64
const SESSIONS_MAX = 100
const COMMANDS = ["bash"]
const REPORTED = ["bash", "edit", "write", "patch", "apply_patch", "multiedit", "todowrite"]

const waiting = []
const missed = new Map()
let running = false

// Runs the hook to its end. Returns whether it succeeded.
function run(event, input) {
  return new Promise((resolve) => {
    try {
      const [program, ...words] = COMMAND
      const child = spawn(program, [...words, event], { stdio: ["pipe", "ignore", "ignore"] })
      const timer = setTimeout(() => child.kill(), PATIENCE_MS)
      const over = (taken) => {
        clearTimeout(timer)
        resolve(taken)
      }
      child.on("error", () => over(false))
      child.on("close", (code) => over(code === 0))
      child.stdin.on("error", () => {})
      child.stdin.end(JSON.stringify(input))
    } catch {
      resolve(false)
    }
  })
}

function miss(session, { count, from, to }) {
  const before = missed.get(session)
  if (!before && missed.size >= SESSIONS_MAX) missed.clear()
  missed.set(session, { count: count + (before?.count ?? 0), from: before?.from ?? from, to })
}

async function report() {
  if (running) return
  running = true
  for (let next = waiting.shift(); next; next = waiting.shift()) {
    const { event, input, at } = next
    const gap = missed.get(input.session_id)
    missed.delete(input.session_id)
    if (await run(event, gap ? { ...input, missed: gap } : input)) continue
    if (gap) miss(input.session_id, gap)
    miss(input.session_id, { count: 1, from: at, to: at })
  }
  running = false
}

function hook(event, input) {
  const at = Date.now()
  if (waiting.length >= WAITING_MAX) return miss(input.session_id, { count: 1, from: at, to: at })
  waiting.push({ event, input, at })
  report()
}

export const CerebroJournal = async ({ directory }) => {
  const about = (session_id, more) => ({ session_id, cwd: directory, ...more })
  return {
    "tool.execute.before": async ({ tool, sessionID, callID }, output) => {
      if (!COMMANDS.includes(tool)) return
      hook("PreToolUse", about(sessionID, { tool_name: tool, tool_use_id: callID, tool_input: output?.args }))
    },
    "tool.execute.after": async ({ tool, sessionID, callID, args }, output) => {
      if (!REPORTED.includes(tool)) return
      const tool_response = { output: output?.output, metadata: { exit: output?.metadata?.exit } }
      hook("PostToolUse", about(sessionID, { tool_name: tool, tool_use_id: callID, tool_input: args, tool_response }))
    },
    event: async ({ event }) => {
      const sessionID = event?.properties?.sessionID
      if (!sessionID) return
      if (event.type === "session.error") {
        hook("StopFailure", about(sessionID, { error: event.properties.error?.name ?? "error" }))
      }
      if (event.type === "session.compacted") hook("PreCompact", about(sessionID, { trigger: "auto" }))
    },
  }
}
