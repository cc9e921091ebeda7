"""The official Inspector's strict lint of the tool list, in both eras of the protocol.

It lints how portable the schemas are between agents. Silence and exit code 0 mean a clean list.
"""

import json
import os
import subprocess
from dataclasses import dataclass, field

import install

PACKAGE = ("@modelcontextprotocol/inspector", "2.12.0")
LINT_SECONDS = 60
TOOLS = 13


@dataclass
class Lint:
    era: str
    tools: int = 0
    faults: list = field(default_factory=list)

    def line(self):
        verdict = "clean" if not self.faults else "NOT clean"
        return f"Inspector {PACKAGE[1]} --strict, {self.era}: {self.tools} tools, {verdict}"


def check(bench):
    node = install.node()
    path = f"{node}{os.pathsep}{os.environ['PATH']}"
    folder = install.package("inspector", *PACKAGE, environment=os.environ | {"PATH": path})
    program = folder / "node_modules/.bin/inspector"
    return [lint(bench, program, path, era) for era in ("legacy", "modern")]


def lint(bench, program, path, era):
    lint = Lint(era)
    command = [program, "--cli", bench.cerebro, "mcp", "--method", "tools/list",
               "--protocol-era", era, "--strict", "--format", "json"]
    done = subprocess.run(command, cwd=bench.work, env=bench.environment({"PATH": path}),
                          timeout=LINT_SECONDS, capture_output=True, text=True, check=False)
    (bench.root / f"inspector-{era}.output").write_text(done.stdout + done.stderr)
    try:
        lint.tools = len(json.loads(done.stdout)["result"]["tools"])
    except (ValueError, KeyError):
        pass
    if lint.tools != TOOLS:
        lint.faults.append(f"Inspector ({era}) listed {lint.tools} tools")
    if done.returncode != 0 or done.stderr.strip():
        said = (done.stdout + done.stderr)[-2000:]
        lint.faults.append(f"Inspector ({era}) ended with {done.returncode}: {said}")
    return lint
