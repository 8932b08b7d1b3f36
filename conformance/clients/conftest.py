"""Fixtures, and the JavaScript suite as tests of this run."""

import os
import re
import subprocess
import uuid

import pytest
from azure.storage.blob import BlobServiceClient

from server import CACHE, Elsewhere, Server


@pytest.fixture(scope="session")
def server():
    elsewhere = os.environ.get("LAZULI_ENDPOINT")
    server = Elsewhere(elsewhere) if elsewhere else Server()
    yield server
    server.stop()


@pytest.fixture
def own(tmp_path):
    """Starts servers of the test's own; all end with it."""
    if os.environ.get("LAZULI_ENDPOINT"):
        pytest.skip("needs a process of its own")
    started = []

    def start(*arguments, **named):
        server = Server(*arguments, **named)
        started.append(server)
        return server

    yield start
    for server in started:
        server.process.kill()
        server.process.wait()


@pytest.fixture(scope="session")
def service(server):
    # The SDK waits 15 s and more before it tries again: a test should see the first answer.
    with BlobServiceClient.from_connection_string(server.connection_string, retry_total=0) as client:
        yield client


@pytest.fixture
def container(service):
    client = service.create_container(f"test-{uuid.uuid4()}")
    yield client
    try:
        client.delete_container()
    except Exception:
        pass  # The test deleted or leased it.


def pytest_collect_file(file_path, parent):
    if file_path.name.endswith(".test.mjs"):
        return JavaScript.from_parent(parent, path=file_path)


OPERATOR = "the-operator-of-these-tests"


class JavaScript(pytest.File):
    """A file of node:test tests. Node runs once; each of its tests is a test here."""

    outcome = None

    def collect(self):
        for name in re.findall(r'^test\("([^"]+)"', self.path.read_text(), re.M):
            yield JavaScriptTest.from_parent(self, name=name)

    def flags(self):
        """A first line "// server: --flag" says how the server is to be started."""
        found = re.match(r"// server: (.*)", self.path.read_text())
        return found.group(1).split() if found else []

    def run_once(self):
        if self.outcome is None:
            elsewhere = os.environ.get("LAZULI_ENDPOINT")
            server = Elsewhere(elsewhere) if elsewhere else Server(flags=self.flags(), environment={"LAZULI_OPERATOR_TOKEN": OPERATOR})
            environment = {
                **os.environ, "CONNECTION_STRING": server.connection_string, "MODULES": str(CACHE / "js/node_modules"),
                "CONSOLE": getattr(server, "console", None) or "", "CONSOLE_MODULES": str(CACHE / "console/node_modules"), "OPERATOR": OPERATOR,
                "SMB_PYTHON": str(CACHE / "smb/bin/python"), "SMB_PORT": getattr(server, "smb_port", None) or "",
            }
            command = [CACHE / "bin/node", "--test", "--test-reporter=tap", self.path]
            ran = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=600)
            server.stop()
            self.outcome = ran.stdout + ran.stderr
        return self.outcome


class JavaScriptTest(pytest.Item):
    def runtest(self):
        if os.environ.get("LAZULI_ENDPOINT") and self.parent.flags():
            pytest.skip("needs a process of its own")
        output = self.parent.run_once()
        line = re.search(rf"^ *(ok|not ok) \d+ - {re.escape(self.name)}$\n((?: .*\n)*)", output, re.M)
        if not line or line.group(1) != "ok":
            raise JavaScriptFailed(line.group(0) if line else output)

    def repr_failure(self, failure):
        return str(failure.value) if isinstance(failure.value, JavaScriptFailed) else super().repr_failure(failure)

    def reportinfo(self):
        return self.path, None, self.name


class JavaScriptFailed(Exception):
    pass
