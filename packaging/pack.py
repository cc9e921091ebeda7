#!/usr/bin/env python3
"""Packs a given program: archive, Debian package, wheel, npm packages, MCP bundle, the plugins and the extension of
hosts, and the registry's server.json.

Two runs on the same program give the same bytes: times are those of the last commit (or SOURCE_DATE_EPOCH), names
and owners are fixed. Each package is made and checked by its ecosystem's own tool.
"""

import argparse
import email.utils
import gzip
import hashlib
import json
import os
import re
import shutil
import tarfile
import time
import zipfile
from dataclasses import dataclass
from pathlib import Path

from tools import GLIBC, Tools, fail, run, target_folder

ROOT = Path(__file__).resolve().parent.parent
HERE = ROOT / "packaging"
PROJECT = json.loads((HERE / "project.json").read_text())
NAME, PROGRAM = PROJECT["name"], PROJECT["program"]
SHELLS = {"bash": "cerebro.bash", "zsh": "_cerebro", "fish": "cerebro.fish"}
KINDS = ["archive", "debian", "wheel", "npm", "bundle", "hosts"]
NPM_PLATFORMS = [("linux", "x64"), ("linux", "arm64"), ("darwin", "x64"), ("darwin", "arm64")]
# The libraries that the program may link to: parts of glibc and, for a program that is not shipped, those of its
# package's dependencies.
OF_GLIBC = re.compile(r"^(ld-linux.*|lib(c|m|dl|rt|pthread|util|resolv)\.so\.\d+)$")
OF_COMPILER = re.compile(r"^lib(gcc_s|stdc\+\+)\.so\.\d+$")
# The largest that a package of the shipped program may be.
SHIPPED_BYTES_MAX = 40 * 1024 * 1024


# The packages for hosts, with the files that name the version, and the commands with which hosts check them. Codex
# has no such command: `make agents` installs its plugin.
HOSTS = {
    "claude-code": [".claude-plugin/marketplace.json", "cerebro/.claude-plugin/plugin.json"],
    "codex": ["cerebro/.codex-plugin/plugin.json"],
    "gemini-cli": ["gemini-extension.json"],
}
VALIDATORS = {
    "claude-code": ["claude", "plugin", "validate", "./cerebro"],
    "gemini-cli": ["gemini", "extensions", "validate", "."],
}

# No archive of this kind can hold an earlier time: 1 January 1980.
ZIP_BEGIN = 315_532_800


@dataclass
class Platform:
    """The platform of the program, in the terms of each ecosystem."""

    system: str
    processor: str
    glibc: tuple[int, int] | None

    @property
    def triple(self) -> str:
        return f"{self.processor}-" + {"linux": "unknown-linux-gnu", "darwin": "apple-darwin"}[self.system]

    @property
    def debian(self) -> str:
        return {"x86_64": "amd64", "aarch64": "arm64"}[self.processor]

    @property
    def npm(self) -> tuple[str, str]:
        return self.system, {"x86_64": "x64", "aarch64": "arm64"}[self.processor]

    @property
    def wheel(self) -> str:
        if self.system == "darwin":
            return "macosx_11_0_" + {"x86_64": "x86_64", "aarch64": "arm64"}[self.processor]
        return "manylinux_{}_{}_".format(*self.glibc) + self.processor


def platform_of(program: Path, shipped: bool) -> Platform:
    """Reads it from the file: the host may be another one. A shipped program is checked against its promises."""
    head = program.read_bytes()[:20]
    if head[:4] == b"\x7fELF":
        processor = {62: "x86_64", 183: "aarch64"}.get(int.from_bytes(head[18:20], "little"))
        if processor is None:
            fail(f"{program} is for a processor that is not packed")
        needed = re.findall(r"NEEDED.*\[(.+)\]", run(["readelf", "-d", program]).stdout)
        strange = [name for name in needed if not OF_GLIBC.match(name) and (shipped or not OF_COMPILER.match(name))]
        if strange:
            fail(f"{program} needs libraries that a machine may not have: {', '.join(strange)}")
        found = re.findall(r"GLIBC_(\d+)\.(\d+)", run(["readelf", "-V", program]).stdout)
        glibc = max((int(a), int(b)) for a, b in found)
        if shipped and glibc > GLIBC:
            fail("{} needs glibc {}.{}; what is shipped runs on {}.{} (`make dist`)".format(program, *glibc, *GLIBC))
        return Platform("linux", processor, glibc)
    if head[:4] == b"\xcf\xfa\xed\xfe":
        kind = int.from_bytes(head[4:8], "little")
        return Platform("darwin", {0x0100000C: "aarch64", 0x01000007: "x86_64"}[kind], None)
    fail(f"{program} is no program that is packed here")


class Packer:
    def __init__(self, program: Path, tool: Path, out: Path, shipped: bool):
        self.platform, self.out, self.shipped = platform_of(program, shipped), out, shipped
        self.version = re.search(r'^version = "(.+)"', (ROOT / "Cargo.toml").read_text(), re.M).group(1)
        self.epoch = int(os.environ.get("SOURCE_DATE_EPOCH") or commit_time())
        self.tools = Tools(target_folder())
        self.work = out / "work"
        empty(out)
        self.work.mkdir(parents=True)
        self.files = self.make_files(program, tool)

    def make_files(self, program: Path, tool: Path) -> Path:
        """The files from which every package takes its part."""
        files = self.work / "files"
        (files / "completions").mkdir(parents=True)
        shutil.copyfile(program, files / PROGRAM)
        if self.platform.system == "linux":
            strip = os.environ.get("STRIP", "strip")
            run([strip, "--strip-all", files / PROGRAM])
        said = run([tool, "--version"]).stdout.split()
        if said != [PROGRAM, self.version]:
            fail(f"{tool} is {' '.join(said)}, and this checkout {PROGRAM} {self.version}")
        for shell, name in SHELLS.items():
            (files / "completions" / name).write_text(run([tool, "completions", shell]).stdout)
        run([tool, "man", files / "man"])
        shutil.copyfile(ROOT / "LICENSE", files / "LICENSE")
        for name in ["README.md", "CHANGELOG.md"]:
            (files / name).write_text(linked((ROOT / name).read_text(), self.version))
        (files / "THIRD-PARTY.txt").write_text(third_party(self.platform))
        self.settle(files, programs=[files / PROGRAM])
        return files

    def settle(self, folder: Path, programs: list[Path]) -> None:
        """Sets the same times and permissions on everything below a folder, for reproducible packages."""
        for path in [folder, *folder.rglob("*")]:
            path.chmod(0o755 if path.is_dir() or path in programs else 0o644)
            os.utime(path, (self.epoch, self.epoch))

    # The packages.

    def archive(self) -> Path:
        name = f"{PROGRAM}-{self.version}-{self.platform.triple}"
        path = self.out / f"{name}.tar.gz"
        sums = "".join(
            f"{digest(each)}  {each.relative_to(self.files)}\n"
            for each in sorted(self.files.rglob("*"))
            if each.is_file()
        )
        (self.files / "SHA256SUMS").write_text(sums)
        self.settle(self.files, [self.files / PROGRAM])

        def plain(info: tarfile.TarInfo) -> tarfile.TarInfo:
            info.uid = info.gid = 0
            info.uname = info.gname = "root"
            info.mtime = self.epoch
            return info

        with path.open("wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=self.epoch) as packed:
            with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as tar:
                for each in [self.files, *sorted(self.files.rglob("*"))]:
                    tar.add(each, Path(name) / each.relative_to(self.files), recursive=False, filter=plain)
        (self.files / "SHA256SUMS").unlink()
        return path

    def debian(self) -> Path:
        tree = self.work / "debian"
        share = tree / "usr/share"
        doc = share / "doc" / NAME
        places = {
            tree / "usr/bin" / PROGRAM: self.files / PROGRAM,
            share / "bash-completion/completions/cerebro": self.files / "completions/cerebro.bash",
            share / "zsh/vendor-completions/_cerebro": self.files / "completions/_cerebro",
            share / "fish/vendor_completions.d/cerebro.fish": self.files / "completions/cerebro.fish",
            doc / "THIRD-PARTY.txt": self.files / "THIRD-PARTY.txt",
        }
        for place, file in places.items():
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, place)
        pages = share / "man/man1"
        pages.mkdir(parents=True)
        for page in (self.files / "man").iterdir():
            (pages / f"{page.name}.gz").write_bytes(self.gzipped(page.read_bytes()))
        (doc / "copyright").write_text(copyright_file())
        (doc / "changelog.gz").write_bytes(self.gzipped(self.debian_changelog().encode()))
        (doc / "NEWS.md.gz").write_bytes(self.gzipped((self.files / "CHANGELOG.md").read_bytes()))
        self.settle(tree, [tree / "usr/bin" / PROGRAM])
        control = tree / "DEBIAN"
        control.mkdir()
        size = sum(path.stat().st_size for path in tree.rglob("*") if path.is_file()) // 1024
        (control / "control").write_text(
            f"Package: {NAME}\nVersion: {self.version}\nArchitecture: {self.platform.debian}\n"
            f"Maintainer: {PROJECT['maintainer']}\nInstalled-Size: {size}\nSection: utils\nPriority: optional\n"
            f"Depends: {self.depends()}\nHomepage: {PROJECT['repository']}\n"
            f"Description: {PROJECT['summary'][0].lower()}{PROJECT['summary'][1:]}\n"
            " Agents such as Claude Code, Codex, Gemini CLI and OpenCode save what they\n"
            " decide, fix and learn, and find it again in later sessions. One program, an\n"
            " embedded database in the home folder, no account and no network.\n"
        )
        listed = sorted(path for path in tree.rglob("*") if path.is_file() and control not in path.parents)
        sums = "".join(f"{digest(path, 'md5')}  {path.relative_to(tree)}\n" for path in listed)
        (control / "md5sums").write_text(sums)
        self.settle(control, [])
        path = self.out / f"{NAME}_{self.version}_{self.platform.debian}.deb"
        environment = {**os.environ, "SOURCE_DATE_EPOCH": str(self.epoch)}
        run(["dpkg-deb", "--root-owner-group", "-Zxz", "--build", tree, path], env=environment)
        if shutil.which("lintian"):
            said = run(["lintian", "--allow-root", "--fail-on", "error,warning", path])
            print(said.stdout, end="")
        else:
            words = "lintian is not installed: the Debian package was not checked"
            if self.shipped:
                fail(words)
            print(words)
        return path

    def debian_changelog(self) -> str:
        moment = email.utils.formatdate(self.epoch)
        return (
            f"{NAME} ({self.version}) unstable; urgency=medium\n\n"
            f"  * Release {self.version}; NEWS.md.gz says what changed.\n\n -- {PROJECT['maintainer']}  {moment}\n"
        )

    def depends(self) -> str:
        """The packages of the libraries that the program links to."""
        packages = {"libc6 (>= {}.{})".format(*self.platform.glibc)}
        needed = run(["readelf", "-d", self.files / PROGRAM]).stdout
        for library, package in [("libstdc++.so.6", "libstdc++6"), ("libgcc_s.so.1", "libgcc-s1")]:
            if f"[{library}]" in needed:
                packages.add(package)
        return ", ".join(sorted(packages))

    def gzipped(self, data: bytes) -> bytes:
        # Without a timestamp: lintian forbids one in documentation.
        return gzip.compress(data, 9, mtime=0)

    def wheel(self) -> Path:
        folder = self.work / "wheel"
        folder.mkdir()
        for name in ["hatch_build.py", "cerebro-memory"]:
            shutil.copyfile(HERE / "python" / name, folder / name)
        for name in [PROGRAM, "LICENSE", "THIRD-PARTY.txt"]:
            shutil.copyfile(self.files / name, folder / name)
        for name in [PROGRAM, "cerebro-memory"]:
            (folder / name).chmod(0o755)
        (folder / "README.md").write_text(self.readme())
        (folder / "pyproject.toml").write_text(
            (HERE / "python/pyproject.toml.in").read_text().format(version=self.version, **PROJECT)
        )
        environment = {
            **os.environ,
            "SOURCE_DATE_EPOCH": str(self.epoch),
            "CEREBRO_WHEEL_PLATFORM": self.platform.wheel,
        }
        python = self.tools.python()
        made = self.work / "wheels"
        run([python, "-m", "build", "--wheel", "--no-isolation", "--outdir", made, folder], env=environment)
        path = self.moved(next(made.glob("*.whl")))
        run([python, "-m", "twine", "check", "--strict", path])
        return path

    def npm(self) -> list[Path]:
        """The launcher and the package of this platform."""
        system, processor = self.platform.npm
        common = {
            "version": self.version,
            "license": PROJECT["license"],
            "repository": {"type": "git", "url": f"git+{PROJECT['repository']}.git"},
        }
        own = self.work / "npm-platform"
        (own / "bin").mkdir(parents=True)
        shutil.copyfile(self.files / PROGRAM, own / "bin" / PROGRAM)
        platform = {
            "name": f"{NAME}-{system}-{processor}",
            "description": f"The program of {NAME} for {system} {processor}",
            **common,
            "os": [system],
            "cpu": [processor],
            **({"libc": ["glibc"]} if system == "linux" else {}),
            "files": ["bin", "LICENSE", "THIRD-PARTY.txt"],
        }
        launcher = self.work / "npm-launcher"
        (launcher / "bin").mkdir(parents=True)
        shutil.copyfile(HERE / "npm/launcher.js", launcher / "bin/cerebro.js")
        packages = {f"{NAME}-{a}-{b}": self.version for a, b in NPM_PLATFORMS}
        main = {
            "name": NAME,
            "description": PROJECT["summary"],
            **common,
            "mcpName": PROJECT["registry_name"],
            "keywords": ["mcp", "memory", "agents", "claude-code", "codex"],
            "bin": {PROGRAM: "bin/cerebro.js", NAME: "bin/cerebro.js"},
            "files": ["bin", "LICENSE"],
            "engines": {"node": ">=18"},
            "optionalDependencies": packages,
        }
        made = []
        for folder, package, program in [
            (own, platform, own / "bin" / PROGRAM),
            (launcher, main, launcher / "bin/cerebro.js"),
        ]:
            (folder / "package.json").write_text(json.dumps(package, indent=2) + "\n")
            (folder / "README.md").write_text(self.readme())
            for name in ["LICENSE", "THIRD-PARTY.txt"]:
                shutil.copyfile(self.files / name, folder / name)
            self.settle(folder, [program])
            run(["npm", "pack", "--dry-run", "--json"], cwd=folder)
            said = json.loads(run(["npm", "pack", "--json", "--pack-destination", self.out], cwd=folder).stdout)
            said = said if isinstance(said, list) else list(said.values())
            made.append(self.out / said[0]["filename"])
        return made

    def bundle(self) -> Path:
        folder = self.work / "bundle"
        (folder / "server").mkdir(parents=True)
        shutil.copyfile(self.files / PROGRAM, folder / "server" / PROGRAM)
        for name in ["LICENSE", "THIRD-PARTY.txt", "README.md"]:
            shutil.copyfile(self.files / name, folder / name)
        tools = json.loads((ROOT / "tests/golden/tools.json").read_text())
        command = "${__dirname}/server/" + PROGRAM
        manifest = {
            "manifest_version": "0.3",
            "name": NAME,
            "display_name": PROJECT["title"],
            "version": self.version,
            "description": PROJECT["description"],
            "author": {"name": PROJECT["maintainer"].split(" <")[0]},
            "repository": {"type": "git", "url": PROJECT["repository"]},
            "license": PROJECT["license"],
            "keywords": ["memory", "agents"],
            "server": {
                "type": "binary",
                "entry_point": f"server/{PROGRAM}",
                "mcp_config": {"command": command, "args": ["mcp"], "env": {}},
            },
            "tools": [{"name": tool["name"], "description": tool["description"]} for tool in tools],
            "compatibility": {"platforms": [self.platform.system]},
        }
        (folder / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n")
        self.settle(folder, [folder / "server" / PROGRAM])
        mcpb = self.tools.mcpb()
        run([mcpb, "validate", folder / "manifest.json"])
        packed = self.work / "packed.mcpb"
        run([mcpb, "pack", folder, packed])
        path = self.out / f"{NAME}-{self.version}-{self.platform.system}-{self.platform.processor}.mcpb"
        self.rewrite(packed, path)
        run([mcpb, "info", path])
        return path

    def hosts(self) -> list[Path]:
        """The packages for hosts: plugins with their marketplaces, and the extension. They contain no program."""
        made = []
        for host, described in HOSTS.items():
            folder = self.work / host
            shutil.copytree(HERE / host, folder)
            shutil.copyfile(self.files / "LICENSE", folder / "LICENSE")
            self.settle(folder, [])
            for name in described:
                versions = set(re.findall(r'"version": "(.+?)"', (folder / name).read_text()))
                if versions - {self.version}:
                    fail(f"packaging/{host}/{name} is of version {', '.join(versions)}, and this is {self.version}")
            for path in folder.rglob("*.json"):
                json.loads(path.read_text())
            self.validate(host, folder)
            path = self.out / f"{NAME}-{self.version}-{host}.zip"
            with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:
                for each in sorted(path for path in folder.rglob("*") if path.is_file()):
                    info = zipfile.ZipInfo(str(each.relative_to(folder)), time.gmtime(max(self.epoch, ZIP_BEGIN))[:6])
                    info.external_attr, info.create_system = 0o100644 << 16, 3
                    info.compress_type = zipfile.ZIP_DEFLATED
                    packed.writestr(info, each.read_bytes())
            made.append(path)
        return made

    def validate(self, host: str, folder: Path) -> None:
        """Checks with the host's own command, if the host is installed and has one."""
        if host not in VALIDATORS:
            return
        program, *words = VALIDATORS[host]
        if shutil.which(program):
            run([program, *[folder / word if word == "." or "/" in word else word for word in words]])
        else:
            print(f"{program} is not installed: its package was not checked by it (`make agents` does)")

    def rewrite(self, packed: Path, path: Path) -> None:
        """The same archive with fixed times in place of those that its tool writes."""
        moment = time.gmtime(max(self.epoch, ZIP_BEGIN))[:6]
        with zipfile.ZipFile(packed) as old, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as new:
            for entry in sorted(old.infolist(), key=lambda entry: entry.filename):
                info = zipfile.ZipInfo(entry.filename, moment)
                info.external_attr, info.create_system = entry.external_attr, 3
                info.compress_type = zipfile.ZIP_DEFLATED
                new.writestr(info, old.read(entry))

    def registry(self, bundles: list[Path]) -> Path:
        """The description for the MCP registry."""
        release = f"{PROJECT['repository']}/releases/download/v{self.version}"
        arguments = [{"type": "positional", "value": "mcp"}]
        started = {"transport": {"type": "stdio"}, "version": self.version}
        packages = [
            {"registryType": "npm", "identifier": NAME, "runtimeHint": "npx", "packageArguments": arguments, **started},
            {"registryType": "pypi", "identifier": NAME, "runtimeHint": "uvx", "packageArguments": arguments, **started},
        ]
        for bundle in bundles:
            packages.append(
                {
                    "registryType": "mcpb",
                    "identifier": f"{release}/{bundle.name}",
                    "fileSha256": digest(bundle),
                    **started,
                }
            )
        server = {
            "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
            "name": PROJECT["registry_name"],
            "title": PROJECT["title"],
            "description": PROJECT["description"],
            "repository": {"url": PROJECT["repository"], "source": "github"},
            "version": self.version,
            "packages": packages,
        }
        if not re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", server["name"]):
            fail(f"the registry takes no name like {server['name']}")
        if len(server["description"]) > 100:
            fail("the registry takes at most 100 characters of description")
        path = self.out / "server.json"
        path.write_text(json.dumps(server, indent=2) + "\n")
        return path

    def readme(self) -> str:
        """The project's README, with the line by which the MCP registry verifies the package's owner."""
        return f"<!-- mcp-name: {PROJECT['registry_name']} -->\n\n" + (self.files / "README.md").read_text()

    def moved(self, path: Path) -> Path:
        place = self.out / path.name
        shutil.move(path, place)
        return place

    def sums(self) -> None:
        made = sorted(path for path in self.out.iterdir() if path.is_file())
        (self.out / "SHA256SUMS").write_text("".join(f"{digest(path)}  {path.name}\n" for path in made))


def empty(out: Path) -> None:
    """Removes the packages of an earlier run, and nothing else that a folder may hold."""
    if out.exists() and any(out.iterdir()) and not any((out / name).exists() for name in ["SHA256SUMS", "work"]):
        fail(f"{out} holds something else than packages; name another folder")
    shutil.rmtree(out, ignore_errors=True)


def linked(text: str, version: str) -> str:
    """A text of the repository whose links also work outside of it: at PyPI, in an archive."""

    def absolute(link: re.Match) -> str:
        place = "raw" if link["picture"] else "blob"
        return f"{link['picture']}[{link['words']}]({PROJECT['repository']}/{place}/v{version}/{link['path']})"

    return re.sub(r"(?P<picture>!?)\[(?P<words>[^\]]*)\]\((?!https?:|#)(?P<path>[^)\s]+)\)", absolute, text)


def digest(path: Path, algorithm: str = "sha256") -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, algorithm).hexdigest()


def commit_time() -> str:
    return run(["git", "-C", ROOT, "log", "-1", "--format=%ct"]).stdout.strip()


def third_party(platform: Platform) -> str:
    """Every crate that is locked for the platform: the licences of those that are linked are named with the program."""
    manifest = ROOT / "Cargo.toml"
    options = ["--format-version", "1", "--locked", "--filter-platform", platform.triple, "--manifest-path", manifest]
    metadata = run(["cargo", "metadata", *options])
    crates = json.loads(metadata.stdout)["packages"]
    lines = sorted(
        f"{crate['name']} {crate['version']}: {crate['license'] or 'see its licence file'}"
        for crate in crates
        if crate["source"]
    )
    return "Cerebro contains these crates, each under its own licence:\n\n" + "\n".join(lines) + "\n"


def copyright_file() -> str:
    licence = (ROOT / "LICENSE").read_text().strip()
    holder = re.search(r"Copyright \(c\) (.+)", licence).group(1)
    body = "\n".join(f" {line}" if line.strip() else " ." for line in licence.split("\n\n", 2)[2].splitlines())
    return (
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n"
        f"Upstream-Name: {PROJECT['title']}\nSource: {PROJECT['repository']}\n\n"
        f"Files: *\nCopyright: {holder}\nLicense: Expat\n{body}\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", type=Path, help="the program to pack")
    parser.add_argument("--tool", type=Path, help="the same version for this machine, where the program is for another")
    parser.add_argument("--out", type=Path, default=target_folder() / "packages")
    parser.add_argument("--only", nargs="+", choices=KINDS)
    parser.add_argument("--shipped", action="store_true", help="hold it to what is promised of a release")
    args = parser.parse_args()
    packer = Packer(args.program.resolve(), (args.tool or args.program).resolve(), args.out, args.shipped)
    kinds = args.only or list(KINDS)
    if packer.platform.system == "darwin" and "debian" in kinds:
        kinds.remove("debian")
    bundles = []
    for kind in kinds:
        made = getattr(packer, kind)()
        if kind == "bundle":
            bundles = [made]
        for path in made if isinstance(made, list) else [made]:
            size = path.stat().st_size
            print(f"{size / 2**20:8.1f} MiB  {path}")
            if args.shipped and size > SHIPPED_BYTES_MAX:
                fail(f"{path.name} has more than {SHIPPED_BYTES_MAX >> 20} MiB")
    print(f"             {packer.registry(bundles)}")
    packer.sums()
    shutil.rmtree(packer.work)


if __name__ == "__main__":
    main()
