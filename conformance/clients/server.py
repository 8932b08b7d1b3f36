"""The server under test: the built binary on free ports and an empty directory, or whatever LAZULI_ENDPOINT names.

LAZULI_ENDPOINT is the URL of an account that is already served (Azurite, another Lazuli), LAZULI_QUEUE_ENDPOINT,
LAZULI_TABLE_ENDPOINT and LAZULI_FILE_ENDPOINT those of its queues, tables and shares. What needs a process of our
own is skipped then.
"""

import os
import pathlib
import re
import signal
import subprocess
import tempfile
import threading
import urllib.request

ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = os.environ.get("LAZULI_BINARY", str(ROOT / "target/release/lazuli"))
CACHE = pathlib.Path(
    os.environ.get("LAZULI_CLIENTS")
    or pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "lazuli"
)
EVERY_PORT = [f"--{name}-port" for name in ("blob", "queue", "table", "file", "dfs", "web", "smb", "console")]


def connection_string(endpoint, account=ACCOUNT, key=KEY, queue=None, table=None, file=None):
    scheme = endpoint.split(":")[0]
    queues = f"QueueEndpoint={queue};" if queue else ""
    tables = f"TableEndpoint={table};" if table else ""
    files = f"FileEndpoint={file};" if file else ""
    return f"DefaultEndpointsProtocol={scheme};AccountName={account};AccountKey={key};BlobEndpoint={endpoint};{queues}{tables}{files}"


class Server:
    """One process. `endpoint`, `queue_endpoint`, `table_endpoint` and `file_endpoint` are the account's URLs; `console` that of /healthz and /metrics."""

    def __init__(self, directory=None, flags=(), ports=True, environment=None, scheme="http"):
        self.directory = directory or tempfile.mkdtemp(prefix="lazuli-test-")
        command = [BINARY, "--location", str(self.directory), *flags]
        if ports:
            command += [word for flag in EVERY_PORT for word in (flag, "0")]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **(environment or {})}
        )
        self.banner, self.log = [], []
        self.reading = threading.Thread(target=self._keep, args=(self.process.stderr, self.log), daemon=True)
        self.reading.start()
        self._await_banner(scheme)
        threading.Thread(target=self._keep, args=(self.process.stdout, self.banner), daemon=True).start()

    def _await_banner(self, scheme):
        self.endpoint = self.queue_endpoint = self.table_endpoint = self.file_endpoint = self.dfs_endpoint = self.console = None
        for line in self.process.stdout:
            self.banner.append(line)
            if found := re.search(rf"Data Lake +({scheme}://\S+)", line):
                self.dfs_endpoint = found.group(1)
            if found := re.search(r"Console +(http://\S+)", line):
                self.console = found.group(1)
            if found := re.search(rf"BlobEndpoint=({scheme}://[^;]+)", line):
                self.endpoint = found.group(1)
                queue = re.search(rf"QueueEndpoint=({scheme}://[^;]+)", line)
                self.queue_endpoint = queue and queue.group(1)
                file = re.search(rf"FileEndpoint=({scheme}://[^;]+)", line)
                self.file_endpoint = file and file.group(1)
                table = re.search(rf"TableEndpoint=({scheme}://[^;]+)", line)
                self.table_endpoint = table and table.group(1)
                return
        self.process.wait()
        self.reading.join()
        raise RuntimeError(f"the server ended at its start: {''.join(self.log)}")

    @staticmethod
    def _keep(stream, into):
        for line in stream:
            into.append(line)

    @property
    def connection_string(self):
        endpoints = {"queue": self.queue_endpoint, "table": self.table_endpoint, "file": self.file_endpoint}
        return connection_string(self.endpoint, **endpoints)

    @property
    def smb_port(self):
        """As text; nothing, where SMB is not served."""
        line = next((line for line in self.banner if line.strip().startswith("SMB")), None)
        return line and line.split("-p ")[1].split()[0]

    def ask_console(self, path):
        with urllib.request.urlopen(self.console + path, timeout=10) as answer:
            return answer.read().decode()

    def stop(self, how=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(how)
        code = self.process.wait(timeout=30)
        self.reading.join(timeout=10)
        return code


class Elsewhere:
    """A server that somebody else started."""

    def __init__(self, endpoint):
        self.endpoint = endpoint.rstrip("/")
        self.queue_endpoint = os.environ.get("LAZULI_QUEUE_ENDPOINT")
        self.table_endpoint = os.environ.get("LAZULI_TABLE_ENDPOINT")
        self.file_endpoint = os.environ.get("LAZULI_FILE_ENDPOINT")
        self.dfs_endpoint = self.endpoint
        endpoints = {"queue": self.queue_endpoint, "table": self.table_endpoint, "file": self.file_endpoint}
        self.connection_string = connection_string(self.endpoint, **endpoints)

    def stop(self):
        pass
