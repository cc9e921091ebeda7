"""Reads and follows a running store with the official Python client, and tries what must be refused.

Arguments: the file that tells how to connect, and `ws` or `http`. Statements to try come on standard input.
Writes one JSON object a line; over `ws` it waits for a save between "following" and "news".
"""

import json
import sys
from pathlib import Path

from surrealdb import Surreal

access = json.loads(Path(sys.argv[1]).read_text())
protocol = sys.argv[2]
url = access["endpoint"].replace("ws://", f"{protocol}://")
place = {"namespace": access["namespace"], "database": access["database"]}


def say(**fact):
    print(json.dumps(fact, default=str), flush=True)


def attempt(name, work):
    try:
        say(attempt=name, answer=work())
    except Exception as error:  # whatever the client makes of a refusal
        say(attempt=name, refused=str(error) or type(error).__name__)


with Surreal(url) as db:
    attempt("guest", lambda: db.query("SELECT * FROM memory"))
    attempt("wrong password", lambda: db.signin({**place, "username": access["user"], "password": "guess"}))
    attempt("root", lambda: db.signin({"username": "root", "password": "root"}))
    db.signin({**place, "username": access["user"], "password": access["password"]})
    db.use(place["namespace"], place["database"])
    say(titles=db.query("SELECT VALUE title FROM memory ORDER BY title"))
    say(recent=len(db.query("RETURN fn::cerebro::recent($p, 5)", {"p": "demo"})))
    for text in sys.stdin.read().splitlines():
        attempt(text, lambda text=text: db.query(text))
    attempt("method create", lambda: db.create("memory", {"title": "by method"}))
    attempt("method delete", lambda: db.delete("memory"))
    if protocol == "ws":
        live = db.live("memory")
        news = db.subscribe_live(live)
        say(following=True)
        message = next(iter(news))
        record = message.get("result", message)
        say(news={"action": message.get("action"), "title": record.get("title")})
        db.kill(live)
