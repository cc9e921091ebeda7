#!/usr/bin/env node
// Starts the program of the package for this platform, with the same arguments, streams and signals.
"use strict"
const { spawn } = require("node:child_process")

const PACKAGES = {
  "linux x64": "cerebro-memory-linux-x64",
  "linux arm64": "cerebro-memory-linux-arm64",
  "darwin x64": "cerebro-memory-darwin-x64",
  "darwin arm64": "cerebro-memory-darwin-arm64",
}

function program() {
  const platform = `${process.platform} ${process.arch}`
  const name = PACKAGES[platform]
  if (!name) {
    console.error(`error: cerebro has no program for ${platform}`)
    process.exit(1)
  }
  try {
    return require.resolve(`${name}/bin/cerebro`)
  } catch {
    console.error(`error: the package ${name} is not installed`)
    console.error("hint: npm leaves optional packages out with --no-optional; install it again without")
    process.exit(1)
  }
}

const child = spawn(program(), process.argv.slice(2), { stdio: "inherit" })
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => child.kill(signal))
}
child.on("error", (error) => {
  console.error(`error: cerebro cannot be started: ${error.message}`)
  process.exit(1)
})
child.on("exit", (code, signal) => {
  if (signal === null) process.exit(code)
  // End as the program did, so that whoever waits sees the same.
  process.removeAllListeners(signal)
  process.kill(process.pid, signal)
})
