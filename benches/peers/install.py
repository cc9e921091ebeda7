"""The peers, at pinned versions from their registries, each in a folder of its own outside the checkout."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

INSTALL_SECONDS = 1800
SERVER_MEMORY = "2026.8.31"
MEMORY_SERVICE = "12.2.0"
MEMPALACE = "3.11.0"
ONNXRUNTIME = "1.31.1"
TOKENIZERS = "0.23.3"

# Asks a Python whether its SQLite loads extensions, which sqlite-vec needs and some builds leave out.
LOADS_EXTENSIONS = "import sqlite3; sqlite3.Connection.enable_load_extension"


class Missing(Exception):
    """Something that a peer needs is not on this machine; the message says what."""


def cache():
    return Path(os.environ.get("CEREBRO_PEERS") or Path.home() / ".cache/cerebro/peers")


def model_files():
    """The folder with the files of all-MiniLM-L6-v2 that `make model` fetched."""
    home = Path(os.environ.get("CEREBRO_MODEL_HOME") or Path.home() / ".cache/cerebro/model")
    if not (home / "models/all-minilm-l6-v2/model.onnx").is_file():
        raise Missing(f"no model in {home}: run `make model`")
    return home


def npm(name, version):
    """A package of npm; gives its folder."""
    if not shutil.which("npm"):
        raise Missing("npm is not installed")
    folder = once(f"{name.rsplit('/', 1)[-1]}-{version}", lambda into: [
        ["npm", "install", "--prefix", str(into), "--no-audit", "--no-fund", f"{name}@{version}"]])
    return folder / "node_modules" / name


def pip(name, *requirements, extensions=False):
    """Packages of PyPI in a virtual environment; gives its folder of programs."""
    python = next((python for python in (sys.executable, "/usr/bin/python3", "/usr/local/bin/python3")
                   if Path(python).exists() and (not extensions or answers(python, LOADS_EXTENSIONS))), None)
    if not python:
        raise Missing("no Python here has an SQLite that loads extensions (sqlite-vec needs it)")
    folder = once(name, lambda into: [
        [python, "-m", "venv", str(into)],
        [str(into / "bin/python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
         *requirements]])
    return folder / "bin"


def answers(python, code):
    return subprocess.run([python, "-c", code], stderr=subprocess.DEVNULL, check=False).returncode == 0


def once(name, steps):
    """Runs the steps in an empty folder, unless they came to their end before."""
    folder = cache() / name
    done = folder / ".installed"
    if done.is_file():
        return folder
    print(f"installing {name} into {folder}", file=sys.stderr)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for step in steps(folder):
        try:
            subprocess.run(step, cwd=folder, check=True, timeout=INSTALL_SECONDS, stdout=sys.stderr)
        except (OSError, subprocess.SubprocessError) as error:
            raise Missing(f"installing {name} failed: {error}") from error
    done.touch()
    return folder


def link_model(home, place):
    """Puts the model where a peer keeps what it downloads, below its own home."""
    folder = home / place
    folder.mkdir(parents=True)
    for name in ("model.onnx", "tokenizer.json"):
        (folder / name).symlink_to(model_files() / "models/all-minilm-l6-v2" / name)
    return folder
