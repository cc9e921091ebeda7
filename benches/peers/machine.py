"""What the kernel tells: memory of the processes of one home, bytes of a folder, the machine."""

import datetime
import os
import signal
import time
from pathlib import Path

END_SECONDS = 20


def processes(home):
    """The processes that were started with this folder as HOME, whoever their parent is now."""
    mark = f"HOME={home}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if mark in (entry / "environ").read_bytes().split(b"\0"):
                found.append(int(entry.name))
        except OSError:
            continue  # it ended meanwhile
    return found


def resident_bytes(home):
    """The resident memory of those processes; pages that two of them share count twice."""
    total = 0
    for pid in processes(home):
        try:
            status = Path(f"/proc/{pid}/status").read_text()
        except OSError:
            continue
        total += sum(int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith("VmRSS:"))
    return total


def end_all(home):
    """Ends what is left of a home: asked first, then made to."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        for pid in processes(home):
            try:
                os.kill(pid, sign)
            except OSError:
                continue
        until = time.monotonic() + END_SECONDS
        while processes(home) and time.monotonic() < until:
            time.sleep(0.1)


def disk_bytes(folder):
    """What the files of a folder take on the disk; a link counts as itself, so linked models do not count."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(place, name)).st_blocks * 512
            except OSError:
                continue
    return total


def line():
    """The machine in a few words."""
    words = Path("/proc/cpuinfo").read_text().splitlines()
    cpu = next((word.split(":", 1)[1].strip() for word in words if word.startswith("model name")), "unknown CPU")
    memory = int(Path("/proc/meminfo").read_text().split()[1]) >> 20
    return f"{os.cpu_count()} × {cpu}, {memory} GiB, Linux {os.uname().release}, {datetime.date.today()}"
