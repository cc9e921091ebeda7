"""The temporary home in which agents run: its git repository, its memory, and the environment of its user."""

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
TURN_SECONDS = 300
WAIT_SECONDS = 30
PROJECT = "acme/harbour"


class Bench:
    """A home, shared by all agents that run in it."""

    def __init__(self, cerebro, root):
        self.cerebro = cerebro
        self.root = root
        self.home = root / "home"
        self.work = root / "harbour"
        self.noted, self.logged = None, 0
        self.program = root / "bin/cerebro"
        for folder in (self.program.parent, self.home, self.work):
            folder.mkdir(parents=True)
        for arguments in (["init", "-q"], ["remote", "add", "origin", f"git@github.com:{PROJECT}.git"]):
            subprocess.run(["git", *arguments], cwd=self.work, check=True, env=self.environment({}))

    def install(self):
        """Puts the program at the path that the agents are given."""
        self.program.unlink(missing_ok=True)
        shutil.copy2(self.cerebro, self.program)

    def tap(self, log):
        """Puts a recorder between the agents and `cerebro mcp`, at the path that they are given."""
        self.program.unlink()
        listener = shlex.join([sys.executable, str(HERE / "tap.py"), str(log), str(self.cerebro)])
        self.program.write_text(f"""\
#!/bin/sh
for word in "$@"; do
  [ "$word" = mcp ] && exec {listener} "$@"
done
exec {shlex.quote(str(self.cerebro))} "$@"
""")
        self.program.chmod(0o755)

    def setup(self, *arguments, more):
        """Runs `cerebro setup` or `unsetup` as the user does."""
        done = subprocess.run([self.program, "--json", *arguments], cwd=self.work, timeout=60,
                              env=self.environment(more), capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    def files(self):
        """All files of the home except Cerebro's own."""
        own = self.home / ".cerebro"
        found = [path for path in self.home.rglob("*") if path.is_file() and own not in path.parents]
        return {path: path.read_bytes() for path in found}

    def environment(self, more):
        """A clean environment. The XDG folders are wrong on purpose: the memory must be found by HOME alone.
        The proxy does not exist: only the model server can be reached."""
        astray = str(self.root / "astray")
        proxy = "http://127.0.0.1:9"
        base = {
            "HOME": str(self.home), "PATH": os.environ["PATH"], "TERM": "dumb", "LANG": "C.UTF-8",
            "XDG_RUNTIME_DIR": astray, "XDG_DATA_HOME": astray, "XDG_STATE_HOME": astray,
            "HTTP_PROXY": proxy, "HTTPS_PROXY": proxy, "http_proxy": proxy, "https_proxy": proxy,
            "NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost",
        }
        return base | more

    def ask(self, *arguments, check=True):
        """Cerebro's own answer, for people, as JSON."""
        command = [self.cerebro, "--home", self.home / ".cerebro", "--json", *arguments]
        done = subprocess.run(command, cwd=self.work, env=self.environment({}), timeout=60,
                              capture_output=True, text=True, check=check)
        return json.loads(done.stdout)

    def daemon(self):
        """The process id of the daemon; None when none runs."""
        return self.ask("daemon", "status", check=False).get("pid")

    def kill_daemon(self):
        """Kills the daemon of this home and waits until it is dead; the agent's pump must start another."""
        killed = self.daemon()
        os.kill(killed, signal.SIGKILL)
        while self.daemon() == killed:
            time.sleep(0.05)

    def note_daemon(self):
        """Remembers which daemon serves, and how long its log is."""
        self.noted = self.daemon()
        self.logged = len(self.log())

    def log(self):
        return (self.home / ".cerebro/daemon.log").read_text().splitlines()

    def wait(self, look):
        """Repeats a check until it gives something, and returns that, or the last result."""
        until = time.monotonic() + WAIT_SECONDS
        while not (seen := look()) and time.monotonic() < until:
            time.sleep(0.1)
        return seen

    def stop(self):
        subprocess.run([self.cerebro, "--home", self.home / ".cerebro", "daemon", "stop"],
                       env=self.environment({}), timeout=60, capture_output=True, check=False)


def run(command, cwd, environment):
    """Runs a command under the time limit; the whole group of processes ends with it."""
    process = subprocess.Popen(command, cwd=cwd, env=environment, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
    try:
        output, _ = process.communicate(timeout=TURN_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        return "the time limit", output.decode("utf-8", "replace")
    return process.returncode, output.decode("utf-8", "replace")
