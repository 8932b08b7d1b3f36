"""The files of deploy/, as far as they can be run without root's systemd and without a container engine: HAProxy with two gateways behind it,
the command of the systemd unit, and the commands and the proxy of the compose file."""

import base64
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import socket
import subprocess
import time
import urllib.request
import uuid

import pytest
from azure.data.tables import TableServiceClient
from azure.storage.blob import BlobServiceClient
from azure.storage.fileshare import ShareServiceClient
from azure.storage.queue import QueueServiceClient

from conftest import BINARY, ROOT, gateways
from server import Server, connection_string

DEPLOY = ROOT / "deploy"
# As in the files.
PORTS = {"blob": 10000, "queue": 10001, "table": 10002, "file": 10003, "dfs": 10004, "smb": 10445, "console": 10080}


def found(program):
    """A missing program is a failure: conformance/ceph installs them."""
    path = shutil.which(program, path=os.environ["PATH"] + ":/usr/sbin")
    assert path, f"there is no {program}"
    return path


def rendered(text, fleet, ports):
    """A configuration whose servers a and b are these gateways; c is not there. It listens on free ports of loopback."""
    service_of = {number: name for name, number in PORTS.items()}

    def server(match):
        name, service = match["name"], service_of[int(match["port"])]
        if name == "c":
            return f"server c 127.0.0.1:{ports['nobody']} check port {ports['nobody']}"
        gateway = fleet.gateways["ab".index(name)]
        return f"server {name} 127.0.0.1:{gateway.ports[service]} check port {gateway.ports['console']}"

    text = re.sub(r"server (?P<name>[abc]) \S+:(?P<port>\d+)", server, text)
    return re.sub(r"bind :(\d+)", lambda match: f"bind 127.0.0.1:{ports[service_of[int(match[1])]]}", text)


def compose():
    """By Debian's reader of YAML, with its merges."""
    script = "import json, sys, yaml; json.dump(yaml.safe_load(sys.stdin), sys.stdout)"
    read = subprocess.run(["/usr/bin/python3", "-c", script], input=(DEPLOY / "compose.yaml").read_text(), capture_output=True, text=True, check=True)
    return json.loads(read.stdout)


CONFIGURATIONS = {
    "haproxy.cfg": lambda: (DEPLOY / "haproxy.cfg").read_text(),
    "compose.yaml": lambda: compose()["configs"]["haproxy"]["content"],
}


class Proxied:
    """HAProxy before a fleet."""

    def __init__(self, configuration, fleet, directory):
        names = [*PORTS, "nobody"]
        self.ports = dict(zip(names, gateways.free_ports(len(names))))
        file = directory / "haproxy.cfg"
        file.write_text(rendered(configuration, fleet, self.ports))
        haproxy = found("haproxy")
        checked = subprocess.run([haproxy, "-c", "-f", file], capture_output=True, text=True)
        assert checked.returncode == 0 and "WARNING" not in checked.stdout + checked.stderr, checked.stdout + checked.stderr
        self.log = directory / "haproxy.log"
        self.process = subprocess.Popen([haproxy, "-db", "-f", file], stdout=self.log.open("w"), stderr=subprocess.STDOUT)
        self.await_port(self.ports["blob"])
        endpoint = {name: f"http://127.0.0.1:{self.ports[name]}/{gateways.ACCOUNT}" for name in ("blob", "queue", "table", "file")}
        self.connection = connection_string(endpoint.pop("blob"), **endpoint)

    def await_port(self, port):
        for _ in range(200):
            assert self.process.poll() is None, self.log.read_text()
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                return
            except OSError:
                time.sleep(0.05)
        raise AssertionError("the proxy does not listen")

    def end(self):
        self.process.kill()
        self.process.wait()


def requests_of(gateway):
    """How many requests a gateway has answered."""
    with urllib.request.urlopen(f"http://127.0.0.1:{gateway.ports['console']}/metrics", timeout=10) as answer:
        text = answer.read().decode()
    return sum(float(line.split()[-1]) for line in text.splitlines() if line.startswith("lazuli_requests_total{"))


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_a_proxy_leads_to_every_gateway_and_past_a_dead_one(name, own_fleet, tmp_path):
    proxied = Proxied(CONFIGURATIONS[name](), own_fleet, tmp_path)
    try:
        before = [requests_of(gateway) for gateway in own_fleet.gateways]
        container = f"c{uuid.uuid4().hex[:10]}"
        contents = {f"blob {n}": os.urandom(100_000 * n) for n in range(8)}
        for n, (blob, content) in enumerate(contents.items()):
            # Connections of their own, so that the proxy chooses each time.
            client = BlobServiceClient.from_connection_string(proxied.connection, retry_total=0).get_container_client(container)
            if n == 0:
                client.create_container()
            client.upload_blob(blob, content, metadata={"n": str(n)})
        client = BlobServiceClient.from_connection_string(proxied.connection).get_container_client(container)
        assert {blob: client.download_blob(blob).readall() for blob in contents} == contents
        queue = QueueServiceClient.from_connection_string(proxied.connection, retry_total=0).create_queue(container)
        for n in range(10):
            queue.send_message(f"message {n}")
        assert sorted(message.content for message in queue.receive_messages()) == [f"message {n}" for n in range(10)]
        table = TableServiceClient.from_connection_string(proxied.connection).create_table(container)
        table.create_entity({"PartitionKey": "a b", "RowKey": "é", "n": 1})
        assert table.get_entity("a b", "é")["n"] == 1
        share = ShareServiceClient.from_connection_string(proxied.connection).create_share(container)
        share.get_directory_client("").upload_file("f", contents["blob 7"])
        assert share.get_file_client("f").download_file().readall() == contents["blob 7"]
        answered = [requests_of(gateway) - then for gateway, then in zip(own_fleet.gateways, before)]
        assert min(answered) > 0, f"one gateway was not asked: {answered}"
        own_fleet.gateways.pop(0).end(signal.SIGKILL)
        # SDKs try again, as they do by default; after two failed checks nobody is led to the dead one.
        for n in range(20):
            client = BlobServiceClient.from_connection_string(proxied.connection).get_container_client(container)
            assert client.download_blob("blob 1").readall() == contents["blob 1"]
            client.upload_blob("late", str(n), overwrite=True)
    finally:
        proxied.end()


def command_of_unit():
    unit = (DEPLOY / "lazuli.service").read_text()
    return shlex.split(re.search(r"^ExecStart=(.*)$", unit, re.MULTILINE)[1])


def command_of_compose():
    entry = re.search(r"^ENTRYPOINT (.*)$", (DEPLOY / "Dockerfile").read_text(), re.MULTILINE)[1]
    services = compose()["services"]
    commands = [services[name]["command"] for name in "abc"]
    assert commands[0] == commands[1] == commands[2]
    return [*json.loads(entry), *commands[0]]


@pytest.mark.parametrize("command", [command_of_unit, command_of_compose])
def test_the_command_of_a_deployed_gateway_serves(command, new_pool, tmp_path):
    """Its flags as they are; only the places are others."""
    binary, *flags = command()
    assert pathlib.Path(binary).name == "lazuli"
    (tmp_path / "accounts").write_text(f"deployed:{gateways.KEY}\n")
    (tmp_path / "secrets.key").write_bytes(base64.b64encode(os.urandom(32)))
    places = {"--account-file": tmp_path / "accounts", "--key-file": tmp_path / "secrets.key", "--location": tmp_path / "data", "--pool": new_pool,
              "--host": "127.0.0.1"}
    replaced = [str(places[before]) if before in places else word for before, word in zip(["", *flags], flags)]
    directory = replaced[replaced.index("--location") + 1]
    rest = [word for at, word in enumerate(replaced) if word != "--location" and replaced[at - 1] != "--location"]
    server = Server(directory, flags=[*rest, "--ceph-conf", os.environ["LAZULI_CEPH_CONF"]])
    try:
        endpoint = server.endpoint.rsplit("/", 1)[0] + "/deployed"
        blobs = BlobServiceClient.from_connection_string(connection_string(endpoint, account="deployed"), retry_total=0)
        blobs.create_container("one").upload_blob("b", b"content")
        assert blobs.get_blob_client("one", "b").download_blob().readall() == b"content"
    finally:
        server.stop()


def test_systemd_takes_the_unit(tmp_path):
    """All of it but the program, which is where this build has put it."""
    unit = tmp_path / "lazuli.service"
    unit.write_text((DEPLOY / "lazuli.service").read_text().replace("/usr/local/bin/lazuli", BINARY))
    checked = subprocess.run([found("systemd-analyze"), "verify", unit], capture_output=True, text=True)
    assert checked.returncode == 0 and not checked.stderr.strip(), checked.stdout + checked.stderr
