#!/usr/bin/env python3
"""Collects the packages of all platforms: one folder, one list of checksums, one server.json."""

import json
import shutil
import sys
from pathlib import Path

from pack import digest
from tools import fail


def gather(parts: Path, out: Path) -> None:
    out.mkdir(parents=True)
    # The names at npm and PyPI are the same.
    packages: dict[tuple[str, str], dict] = {}
    server = None
    for part in sorted(path for path in parts.iterdir() if path.is_dir()):
        for file in sorted(part.iterdir()):
            if file.name == "SHA256SUMS":
                continue
            if file.name == "server.json":
                server = json.loads(file.read_text())
                packages |= {(one["registryType"], one["identifier"]): one for one in server["packages"]}
                continue
            place = out / file.name
            if place.exists() and digest(place) != digest(file):
                fail(f"{file.name} is another one in {part.name}: the builds were not of one source")
            shutil.copyfile(file, place)
    if server is None:
        fail(f"{parts} holds no packages")
    server["packages"] = list(packages.values())
    (out / "server.json").write_text(json.dumps(server, indent=2) + "\n")
    sums = (f"{digest(file)}  {file.name}\n" for file in sorted(out.iterdir()))
    (out / "SHA256SUMS").write_text("".join(sums))


if __name__ == "__main__":
    gather(Path(sys.argv[1]), Path(sys.argv[2]))
