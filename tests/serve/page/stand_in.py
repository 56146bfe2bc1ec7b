"""A stand-in for the server: the page, and walks that were recorded, without JAX.

`python tests/serve/page/stand_in.py 8001` serves them to look at.
"""

import http.server
import json
import sys
import threading
import time
from pathlib import Path

PAGE = Path(__file__).parents[3] / "src/irem/serve/page"
WALKS = Path(__file__).parent / "walks"
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
}
# name, kind, title, task; the walk of a model is the file of its name.
MODELS = [
    ("sudoku", "puzzle", "Sudoku puzzles"),
    ("maze", "maze", "Shortest paths through mazes"),
    ("shortest-path", "graph", "Shortest paths in graphs"),
    ("connected-components", "relation", "Connected components"),
    ("matrix-inverse", "matrix", "Inverses of matrices"),
    ("matrix-completion", "table", "Tables with holes"),
    ("prefix-sums", "bits", "Parities of bits"),
    ("denoise", "picture", "Noisy pictures"),
    ("addition", "vectors", "Sums of vectors"),
    ("strange", "other", "Something else"),
]


def model(name, kind, title):
    return {
        "name": name,
        "task": name,
        "title": title,
        "kind": kind,
        "parameters": 545_929,
        "summary": f"{title}, answered by descending a learned energy.",
        "sizes": None,
        "card": f"# zoo:{name}\n\nA card.",
        "checked": kind != "picture",
    }


class StandIn(http.server.ThreadingHTTPServer):
    """How it misbehaves is an attribute: a status to answer walks with, a wait, a break."""

    daemon_threads = True

    def __init__(self, port=0):
        super().__init__(("127.0.0.1", port), Handler)
        self.behave()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def behave(self, *, error=None, wait=0.0, lines=None, token=None):
        """Answer walks by `error` (status, object), or `lines`, each after `wait` seconds."""
        self.error, self.wait, self.lines, self.token = error, wait, lines, token
        self.asked, self.left = [], 0

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}/"

    def handle_error(self, request, client_address):
        """Clients that leave are no news."""


class Handler(http.server.BaseHTTPRequestHandler):
    """The paths of the interface that the page uses."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        path, _, query = self.path.partition("?")
        if path == "/":
            self.file(PAGE / "index.html")
        elif path.startswith("/page/") and ".." not in path:
            self.file(PAGE / path.removeprefix("/page/"))
        elif self.server.token and self.headers["Authorization"] != f"Bearer {self.server.token}":
            self.json(
                401,
                {
                    "error": {
                        "code": "token",
                        "message": "A token is missing; give that which was printed at the start.",
                    }
                },
            )
        elif path == "/v1/models":
            self.json(200, {"models": [model(*one) for one in MODELS]})
        else:
            self.json(
                200,
                {
                    "problems": [
                        {"label": "recorded", "problem": problem(path.split("/")[3], query)}
                    ]
                },
            )

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append(body)
        if self.server.error:
            self.json(*self.server.error)
            return
        self.send_response(200)
        self.send_header("Content-Type", "application/x-ndjson")
        self.send_header("Connection", "close")  # which ends the stream
        self.end_headers()
        try:
            for line in walk(self.path.split("/")[3], body)[: self.server.lines]:
                time.sleep(self.server.wait)
                self.wfile.write(line)
        except ConnectionError:
            self.server.left += 1

    def file(self, path):
        if not path.is_file():
            self.json(404, {"error": {"code": "missing", "message": "There is no such file."}})
            return
        self.answer(200, TYPES[path.suffix], path.read_bytes())

    def json(self, status, content):
        self.answer(status, "application/json", json.dumps(content).encode())

    def answer(self, status, kind, content):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.send_header(
            "Cache-Control", "max-age=60" if self.path.startswith("/page/") else "no-store"
        )
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *parts):
        """Print nothing."""


def recorded(name, size):
    """The file of a walk: of puzzles there is one for every size."""
    if name == "sudoku":
        return f"sudoku-{size}"
    return {"addition": "prefix-sums", "strange": "matrix-inverse"}.get(name, name)


def problem(name, query):
    size = dict(part.split("=") for part in query.split("&")).get("size", "9")
    return json.loads(
        (WALKS / f"{recorded(name, int(size) if size.isdigit() else 9)}.json").read_text()
    )


def walk(name, body):
    """The lines of a walk, whatever the problem is."""
    grid = body["problem"].get("grid", "") if isinstance(body["problem"], dict) else ""
    return (
        (WALKS / f"{recorded(name, round(len(grid) ** 0.5))}.ndjson")
        .read_bytes()
        .splitlines(keepends=True)
    )


if __name__ == "__main__":
    server = StandIn(int(sys.argv[1]) if len(sys.argv) > 1 else 8001)
    print(server.url)
    threading.Event().wait()
