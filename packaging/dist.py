#!/usr/bin/env python3
"""Compiles the program as it is shipped, into `dist/cerebro` of the target folder.

On Linux, Zig's compiler and linker (from PyPI) stand in for the machine's, so that the program needs no newer glibc
than `GLIBC` and no other library, whatever the machine has. The profile is `dist`; expect an hour on two cores.
"""

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

from tools import GLIBC, Tools, fail, target_folder

ROOT = Path(__file__).resolve().parent.parent


def main() -> None:
    target = target_folder()
    command = ["build", "--profile", "dist", "--locked", "--bin", "cerebro"]
    environment = dict(os.environ)
    made = target / "dist/cerebro"
    if platform.system() == "Linux":
        triple = f"{platform.machine()}-unknown-linux-gnu"
        zig = Tools(target).zig()
        environment["PATH"] = f"{zig}:{environment['PATH']}"
        command = ["zig" + command[0], *command[1:], "--target", f"{triple}.{GLIBC[0]}.{GLIBC[1]}"]
        made = target / triple / "dist/cerebro"
        # Kernels of 64-bit ARM have pages of 4, 16 or 64 KiB; a heap that was built for the largest runs on all.
        if platform.machine() == "aarch64":
            environment.setdefault("JEMALLOC_SYS_WITH_LG_PAGE", "16")
    done = subprocess.run(["cargo", *command], cwd=ROOT, env=environment)
    if done.returncode != 0:
        sys.exit(done.returncode)
    if not made.is_file():
        fail(f"cargo made no {made}")
    shipped = target / "dist/cerebro"
    if made != shipped:
        shipped.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(made, shipped)
    print(f"the program to ship: {shipped}")


if __name__ == "__main__":
    main()
