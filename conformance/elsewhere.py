"""What recordings met outside the account, and what the tool does not read.

* A host to copy from: this serves, on loopback, as many bytes as the recording says there were, and keeps them back, so that a copy is as pending as it
  was. The server has to be started with `--copy-source` for the address in REPLAY_SOURCE.
* Batches whose boundary has `=` in it, or is no longer that of their body.
* Answers in Avro, whose blocks end in a mark that is drawn anew for each.
"""
import http.server
import os
import re
import threading
from urllib.parse import urlsplit

import replay

LENGTHS = {}
CLOSED = threading.Event()


class Source(http.server.BaseHTTPRequestHandler):
    def answer(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(LENGTHS[self.path]))
        self.send_header("ETag", '"1"')
        self.end_headers()

    def do_HEAD(self):
        self.answer()

    def do_GET(self):
        self.answer()
        CLOSED.wait(10)

    def log_message(self, *_):
        pass


class Elsewhere(replay.Session):
    served = 0
    listener = None

    def rewrite_source(self, value, shift):
        at = urlsplit(value)
        if "REPLAY_SOURCE" not in os.environ or replay.HOST.match(at.hostname or ""):
            return super().rewrite_source(value, shift)
        if not Elsewhere.listener:
            host, port = os.environ["REPLAY_SOURCE"].split(":")
            Elsewhere.listener = http.server.ThreadingHTTPServer((host, int(port)), Source)
            Elsewhere.listener.daemon_threads = True
            threading.Thread(target=Elsewhere.listener.serve_forever, daemon=True).start()
        CLOSED.clear()
        Elsewhere.served += 1
        told = [re.match(r"\d+/(\d+)", e.rheaders.get("x-ms-copy-progress", "")) for e in self.entries]
        path = f"/{at.hostname}{at.path}"
        LENGTHS[path] = next((int(m.group(1)) for m in told if m), 0)
        return f"http://{os.environ['REPLAY_SOURCE']}{path}"

    def norm(self, text, actual):
        return super().norm(text.replace(f"http://{os.environ['REPLAY_SOURCE']}/", "https://") if actual and "REPLAY_SOURCE" in os.environ else text, actual)

    def cleanup(self):
        CLOSED.set()
        super().cleanup()

    def build(self, e):
        declared, at, boundary = e.headers.get("content-type", "").partition("boundary=")
        first = e.body.split(b"\r\n", 1)[0].decode("latin-1")
        if at and first.startswith("--") and first != "--" + boundary:
            e.headers["content-type"] = declared + at + first[2:]
        return super().build(e)

    def rewrite_batch(self, e, body, shift):
        boundary = e.headers["content-type"].partition("boundary=")[2].strip('"').encode()
        if b"=" not in boundary:
            return super().rewrite_batch(e, body, shift)
        return super().rewrite_batch(e, body.replace(boundary, b"batch_boundary"), shift).replace(b"batch_boundary", boundary)

    def body_diff(self, e, status, h, body):
        if e.rheaders.get("content-type") == "avro/binary" and h.get("content-type") == "avro/binary":
            marked = lambda data: data.replace(data[-16:], bytes(16))
            if marked(e.rbody) == marked(body):
                return []
        return super().body_diff(e, status, h, body)
