#!/usr/bin/env python3
"""Installs each package as a user does and uses it: an empty home, no Rust, a real MCP client over stdio.

From the first command of the installation to a memory that was saved and found, each has 60 seconds. The packages
are those that pack.py made; what is not there for this machine is an error and not left out.
"""

import argparse
import asyncio
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

from gather import gather
from tools import Tools, fail, run, target_folder

SECONDS_MAX = 60
# Programs of the system and Node; a folder that holds cargo must not be among them.
FOLDERS = ["/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"]


class Room:
    """A clean home, and the environment of its user."""

    def __init__(self, folder: Path):
        self.folder, self.home = folder, folder / "home"
        self.home.mkdir(parents=True)
        node = shutil.which("node")
        folders = [*FOLDERS, *([str(Path(node).parent)] if node else [])]
        folders = [each for each in folders if not (Path(each) / "cargo").exists()]
        self.environment = {"HOME": str(self.home), "PATH": ":".join(folders), "LANG": "C.UTF-8"}

    def run(self, *command, **more) -> str:
        return run(list(command), env={**self.environment, **more}, cwd=self.folder).stdout


def from_archive(room: Room, out: Path, tools: Tools) -> list[str]:
    with tarfile.open(one(out, "*.tar.gz")) as tar:
        tar.extractall(room.folder, filter="data")
    folder = one(room.folder, "cerebro-*")
    check_sums(folder)
    for file in ["LICENSE", "THIRD-PARTY.txt", "completions/cerebro.bash", "man/cerebro.1"]:
        if not (folder / file).is_file():
            fail(f"the archive lacks {file}")
    return [str(folder / "cerebro")]


def from_debian(room: Room, out: Path, tools: Tools) -> list[str]:
    """dpkg itself installs it, into a root of its own with a database of its own."""
    root = room.folder / "root"
    database = root / "var/lib/dpkg"
    (database / "info").mkdir(parents=True)
    (database / "updates").mkdir()
    (database / "status").touch()
    room.run(
        "dpkg", f"--instdir={root}", f"--admindir={database}", "--log=/dev/null", "--force-not-root",
        "--force-depends", "--install", one(out, "*.deb"),
    )  # fmt: skip
    return [str(root / "usr/bin/cerebro")]


def from_wheel(room: Room, out: Path, tools: Tools) -> list[str]:
    venv = room.folder / "venv"
    room.run(sys.executable, "-m", "venv", venv)
    options = ["--no-index", "--no-deps", "--disable-pip-version-check"]
    room.run(venv / "bin/python", "-m", "pip", "install", *options, one(out, "*.whl"))
    # By the package's own name, which is what `uvx` and `pipx run` start.
    return [str(venv / "bin/cerebro-memory")]


def from_uvx(room: Room, out: Path, tools: Tools) -> list[str]:
    """Nothing is installed: each start is `uvx`, which keeps the wheel in its own cache."""
    uvx = tools.python().with_name("uvx")
    return [str(uvx), "--offline", "--python", sys.executable, "--from", str(one(out, "*.whl")), "cerebro-memory"]


def from_npx(room: Room, out: Path, tools: Tools) -> list[str]:
    """Nothing is installed: each start is `npx`, which keeps both packages in its own cache."""
    packages = [f"--package={path}" for path in sorted(out.glob("cerebro-memory-*.tgz"))]
    return ["npx", "--yes", "--offline", "--omit=optional", *packages, "cerebro-memory"]


def from_npm(room: Room, out: Path, tools: Tools) -> list[str]:
    prefix = room.folder / "npm"
    packages = sorted(out.glob("cerebro-memory-*.tgz"))
    options = ["--global", "--prefix", prefix, "--offline", "--no-audit", "--no-fund", "--omit=optional"]
    # The platform's package is next to the launcher, where npm installs it.
    room.run("npm", "install", *options, *packages)
    return [str(prefix / "bin/cerebro-memory")]


def from_bundle(room: Room, out: Path, tools: Tools) -> list[str]:
    """As a desktop host does: unpacked, and started as the manifest says."""
    folder = room.folder / "bundle"
    room.run(tools.mcpb(), "unpack", one(out, "*.mcpb"), folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    config = manifest["server"]["mcp_config"]
    command = [config["command"], *config["args"]]
    command = [word.replace("${__dirname}", str(folder)) for word in command]
    if command[1:] != ["mcp"]:
        fail(f"the manifest starts {command}")
    return command[:1]


WAYS = {
    "archive": from_archive,
    "debian": from_debian,
    "wheel": from_wheel,
    "uvx": from_uvx,
    "npm": from_npm,
    "npx": from_npx,
    "bundle": from_bundle,
}


async def save_and_find(command: list[str], room: Room) -> None:
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    server = StdioServerParameters(
        command=command[0], args=[*command[1:], "mcp"], env=room.environment, cwd=room.home
    )
    with (room.folder / "server.log").open("w") as log:
        async with stdio_client(server, errlog=log) as (reading, writing), ClientSession(reading, writing) as client:
            await client.initialize()
            saved = await client.call_tool("mem_save", {"title": "The shag dives", "content": "What: it dives deep."})
            found = await client.call_tool("mem_search", {"query": "shag dives"})
    for result in [saved, found]:
        if getattr(result, "is_error", False) or getattr(result, "isError", False):
            fail(f"a call failed: {result}")
    if "The shag dives" not in str(found):
        fail(f"the memory was not found: {found}")


def one(folder: Path, pattern: str) -> Path:
    found = sorted(folder.glob(pattern))
    if len(found) != 1:
        fail(f"{folder} has {len(found)} files like {pattern}; `make packages` makes one")
    return found[0]


def check_sums(folder: Path) -> None:
    for line in (folder / "SHA256SUMS").read_text().splitlines():
        sum_, name = line.split("  ", 1)
        if hashlib.sha256((folder / name).read_bytes()).hexdigest() != sum_:
            fail(f"{folder / name} is not what SHA256SUMS says")


def check_registry(out: Path) -> None:
    """Checks the fields by the registry's schema, and that each named bundle is the built one."""
    server = json.loads((out / "server.json").read_text())
    wanted = {"$schema", "name", "title", "description", "repository", "version", "packages"}
    if set(server) != wanted or not all(0 < len(server[name]) <= 100 for name in ["title", "description"]):
        fail(f"server.json has other fields than {sorted(wanted)}, or more than 100 characters in one")
    for package in server["packages"]:
        if package["version"] != server["version"]:
            fail(f"server.json names {package['identifier']} {package['version']}")
        if package["registryType"] == "mcpb":
            name = package["identifier"].rsplit("/", 1)[-1]
            if hashlib.sha256((out / name).read_bytes()).hexdigest() != package["fileSha256"]:
                fail(f"server.json has another sum of {name}")
        elif package["packageArguments"] != [{"type": "positional", "value": "mcp"}]:
            fail(f"server.json starts {package['identifier']} with {package['packageArguments']}")


def check_gather(out: Path) -> None:
    """The packages of two platforms in one server.json: each is named, and none replaces another."""
    server = json.loads((out / "server.json").read_text())
    with tempfile.TemporaryDirectory(prefix="cerebro-gather-") as folder:
        for platform_ in ["one", "two"]:
            part = Path(folder) / "parts" / platform_
            part.mkdir(parents=True)
            packages = [
                {**one, "identifier": one["identifier"] + (platform_ if one["registryType"] == "mcpb" else "")}
                for one in server["packages"]
            ]
            (part / "server.json").write_text(json.dumps({**server, "packages": packages}))
        gather(Path(folder) / "parts", Path(folder) / "all")
        gathered = json.loads((Path(folder) / "all/server.json").read_text())["packages"]
    kinds = sorted(one["registryType"] for one in gathered)
    if kinds != ["mcpb", "mcpb", "npm", "pypi"]:
        fail(f"the packages of two platforms are gathered as {kinds}")


def check_twice(out: Path) -> None:
    """Packs a small program of the system twice: the same bytes, whatever the clock says."""
    with tempfile.TemporaryDirectory(prefix="cerebro-package-") as folder:
        tool = from_archive(Room(Path(folder) / "room"), out, None)[0]
        sums = []
        for name in ["first", "second"]:
            place = Path(folder) / name
            pack = Path(__file__).with_name("pack.py")
            run([sys.executable, pack, "/usr/bin/gzip", "--tool", tool, "--out", place])
            sums.append((place / "SHA256SUMS").read_text())
        if sums[0] != sums[1]:
            fail(f"two runs give other bytes:\n{sums[0]}\n{sums[1]}")
        print("two runs give the same bytes")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=target_folder() / "packages")
    parser.add_argument("--only", nargs="+", choices=WAYS)
    args = parser.parse_args()
    tools = Tools(target_folder())
    python = tools.python()
    if Path(sys.prefix).resolve() != python.parent.parent.resolve():
        os.execv(python, [python, *sys.argv])
    tools.node()
    check_sums(args.out)
    check_registry(args.out)
    check_gather(args.out)
    if platform.system() == "Linux" and not args.only:
        check_twice(args.out)
    ways = dict(WAYS)
    if platform.system() == "Darwin":
        del ways["debian"]
    for name, install in ways.items():
        if args.only and name not in args.only:
            continue
        with tempfile.TemporaryDirectory(prefix="cerebro-package-") as folder:
            room = Room(Path(folder))
            begun = time.monotonic()
            command = install(room, args.out, tools)
            try:
                asyncio.run(asyncio.wait_for(save_and_find(command, room), SECONDS_MAX))
                seconds = time.monotonic() - begun
            finally:
                subprocess.run([*command, "daemon", "stop"], env=room.environment, capture_output=True, timeout=60)
            if seconds > SECONDS_MAX:
                fail(f"{name}: {seconds:.0f} s until a memory was found, {SECONDS_MAX} s are allowed")
            print(f"{name:8} installed, saved and found in {seconds:.1f} s")


if __name__ == "__main__":
    main()
