"""Coming from Azurite: a link to the binary under Azurite's name, with Azurite's flags, for clients that know nothing else."""

import os
import re
import subprocess
import threading
import urllib.request

import pytest
from azure.data.tables import TableServiceClient
from azure.storage.blob import BlobServiceClient
from azure.storage.queue import QueueServiceClient

from server import ACCOUNT, BINARY, CACHE, KEY, connection_string

# What testcontainers (Java, .NET, Node, Python) and pytest fixtures look for.
AWAITED = {
    "Blob": r"^Azurite Blob service is successfully listening at (https?)://([^ ]+):(\d+)$",
    "Queue": r"^Azurite Queue service is successfully listening at (https?)://([^ ]+):(\d+)$",
    "Table": r"^Azurite Table service is successfully listening at (https?)://([^ ]+):(\d+)$",
}


class Program:
    def __init__(self, path, directory, *flags, services=("Blob", "Queue", "Table"), node=False):
        command = [CACHE / "bin/node", path] if node else [path]
        self.process = subprocess.Popen(
            [*command, "--location", str(directory), *flags], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self.lines, self.found = [], {}
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))
            for service in services:
                if found := re.match(AWAITED[service], line):
                    self.found[service] = found.groups()
            if len(self.found) == len(services):
                break
        threading.Thread(target=self.process.stdout.read, daemon=True).start()
        assert len(self.found) == len(services), self.lines

    def url(self, service, host="127.0.0.1"):
        scheme, _, port = self.found[service]
        return f"{scheme}://{host}:{port}/{ACCOUNT}"


@pytest.fixture
def run(tmp_path):
    started = []

    def run(name, *flags, **named):
        link = tmp_path / name
        if not link.exists():
            link.symlink_to(os.path.abspath(BINARY))
        started.append(Program(link, tmp_path / "work", *flags, **named))
        return started[-1]

    yield run
    for program in started:
        program.process.terminate()
        program.process.wait(timeout=30)


PORTS = ["--blobPort", "0", "--queuePort", "0", "--tablePort", "0"]


def test_all_three_services(run):
    program = run("azurite", "--silent", *PORTS)
    for service in ("Blob", "Queue", "Table"):
        assert program.found[service][:2] == ("http", "127.0.0.1")
    text = connection_string(program.url("Blob"), queue=program.url("Queue"), table=program.url("Table"))
    BlobServiceClient.from_connection_string(text).create_container("ccc").upload_blob("blob", b"x")
    QueueServiceClient.from_connection_string(text).create_queue("qqq").send_message("x")
    TableServiceClient.from_connection_string(text).create_table("ttt").create_entity({"PartitionKey": "p", "RowKey": "r"})


def test_the_lines_are_azurites_own(run, tmp_path):
    """The same flags, the real Azurite beside it: what both say differs in nothing but the port."""
    script = CACHE / "azurite/node_modules/azurite/dist/src/azurite.js"
    flags = ["--silent", *PORTS, "--blobHost", "0.0.0.0", "--disableTelemetry", "--skipApiVersionCheck", "--loose"]
    ours = run("azurite", *flags)
    theirs = Program(script, tmp_path / "theirs", *flags, node=True)
    theirs.process.terminate()
    theirs.process.wait(timeout=30)
    plain = lambda lines: sorted(re.sub(r":\d+$", ":PORT", line) for line in lines)
    assert plain(ours.lines) == plain(theirs.lines)


@pytest.mark.parametrize("name, service", [("azurite-blob", "Blob"), ("azurite-queue", "Queue"), ("azurite-table", "Table")])
def test_one_service(run, name, service):
    program = run(name, "-s", f"--{service.lower()}Port", "0", services=[service])
    url, credential = program.url(service), {"account_name": ACCOUNT, "account_key": KEY}
    {
        "Blob": lambda: BlobServiceClient(url, credential).create_container("ccc"),
        "Queue": lambda: QueueServiceClient(url, credential).create_queue("qqq"),
        "Table": lambda: TableServiceClient.from_connection_string(connection_string(url, table=url)).create_table("ttt"),
    }[service]()


def test_a_host_holds_for_everything(run, tmp_path):
    program = run("azurite", *PORTS, "--blobHost", "0.0.0.0", "--queueHost", "0.0.0.0", "--tableHost", "0.0.0.0")
    assert {found[1] for found in program.found.values()} == {"0.0.0.0"}
    listening = subprocess.run(["cat", f"/proc/{program.process.pid}/net/tcp"], capture_output=True, text=True).stdout
    inodes = {os.readlink(f"/proc/{program.process.pid}/fd/{fd}") for fd in os.listdir(f"/proc/{program.process.pid}/fd")}
    rows = [line.split() for line in listening.splitlines()[1:]]
    own = [row[1] for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in inodes]
    # Blob, Queue, Table, File, Data Lake, SMB, Website, Console.
    assert len(own) == 8 and all(address.startswith("00000000:") for address in own), own


def test_a_name_for_the_host_with_the_account_in_the_path(run):
    program = run("azurite", "-s", *PORTS, "--disableProductStyleUrl")
    service = BlobServiceClient(program.url("Blob"), {"account_name": ACCOUNT, "account_key": KEY})
    service.create_container("ccc", public_access="container").upload_blob("blob", b"found")
    for host in ("azurite", "storage.example.com", "azurite.blob.svc.cluster.local"):
        request = urllib.request.Request(program.url("Blob") + "/ccc/blob", headers={"Host": host})
        assert urllib.request.urlopen(request).read() == b"found", host


def test_a_pfx_file(run, tmp_path):
    cert, key, pfx = (tmp_path / name for name in ("cert.pem", "key.pem", "both.pfx"))
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
         "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", cert], check=True, capture_output=True,
    )
    subprocess.run(["openssl", "pkcs12", "-export", "-in", cert, "-inkey", key, "-out", pfx, "-passout", "pass:y"], check=True)
    program = run("azurite", "-s", *PORTS, "--cert", str(pfx), "--pwd", "y", "--oauth", "basic")
    assert program.found["Blob"][0] == "https"
    service = BlobServiceClient(program.url("Blob"), {"account_name": ACCOUNT, "account_key": KEY}, connection_verify=str(cert))
    service.create_container("secure")
