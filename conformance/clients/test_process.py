"""The process around the protocol: restarts, crashes, flags, accounts, TLS, console, errors at the start."""

import base64
import datetime
import glob
import http.client
import json
import os
import re
import signal
import socket
import ssl
import subprocess
import threading
import urllib.error
import urllib.request

import pytest
from azure.core.exceptions import AzureError
from azure.storage.blob import (
    AccountSasPermissions, BlobServiceClient, ResourceTypes, generate_account_sas, generate_blob_sas,
)

from server import ACCOUNT, BINARY, EVERY_PORT, KEY, connection_string

MIB = 1 << 20


def client(server, **options):
    return BlobServiceClient.from_connection_string(server.connection_string, retry_total=0, **options)


def ended(*flags, environment=None):
    """Runs the binary that should refuse to start; its words."""
    environment = {**os.environ, **(environment or {})}
    ran = subprocess.run([BINARY, *map(str, flags)], capture_output=True, text=True, timeout=30, env=environment)
    assert ran.returncode != 0 and "panicked" not in ran.stderr, ran.stderr
    return ran.stderr


# --- Restarts --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_everything_is_there_after_a_restart(own, tmp_path, how):
    first = own(tmp_path)
    container = client(first).create_container("kept", metadata={"colour": "blue"})
    large = os.urandom(MIB) * 12
    blob = container.upload_blob("large", large, metadata={"a": "b"})
    lease = blob.acquire_lease()
    container.upload_blob("small", b"small").create_snapshot()
    container.get_blob_client("staged").stage_block("block", b"staged")
    container.upload_blob("deleted", b"x").delete_blob()
    etag = blob.get_blob_properties().etag
    code = first.stop(how)
    assert code == (-9 if how == signal.SIGKILL else 0)

    container = client(own(tmp_path)).get_container_client("kept")
    assert container.get_container_properties().metadata == {"colour": "blue"}
    blob = container.get_blob_client("large")
    assert blob.download_blob().readall() == large
    properties = blob.get_blob_properties()
    assert (properties.etag, properties.metadata, properties.lease.state) == (etag, {"a": "b"}, "leased")
    listed = [(item.name, bool(item.snapshot)) for item in container.list_blobs(include=["snapshots", "uncommittedblobs"])]
    assert listed == [("large", False), ("small", True), ("small", False), ("staged", False)]
    staged = container.get_blob_client("staged")
    staged.commit_block_list(["block"])
    assert staged.download_blob().readall() == b"staged"
    blob.upload_blob(b"new", overwrite=True, lease=lease.id)


def test_acknowledged_writes_survive_kill_9_under_load(own, tmp_path):
    """Writers never pause; the process is killed in the middle. What was acknowledged is there, whole."""
    acknowledged, lock = {}, threading.Lock()
    for round in range(3):
        server = own(tmp_path)
        container = client(server).get_container_client("load")
        if round == 0:
            container.create_container()
        # What an earlier round was told must still be true.
        for name, length in acknowledged.items():
            assert container.download_blob(name).readall() == name.encode() * length
        enough = threading.Event()

        def write(worker):
            mine = client(server).get_container_client("load")
            for number in range(10_000):
                name, length = f"{round}-{worker}-{number}", 1 + 3000 * (number % 4)
                try:
                    mine.upload_blob(name, name.encode() * length)
                except AzureError:
                    return
                with lock:
                    acknowledged[name] = length
                    if len(acknowledged) >= 150 * (round + 1):
                        enough.set()

        writers = [threading.Thread(target=write, args=(worker,)) for worker in range(6)]
        for writer in writers:
            writer.start()
        assert enough.wait(timeout=60)
        server.stop(signal.SIGKILL)
        for writer in writers:
            writer.join()

    server = own(tmp_path)
    container = client(server).get_container_client("load")
    listed = set(container.list_blob_names())
    assert set(acknowledged) <= listed
    for name in listed:
        length = 1 + 3000 * (int(name.rsplit("-", 1)[1]) % 4)
        assert container.download_blob(name).readall() == name.encode() * length
    assert server.stop() == 0


def test_a_request_in_flight_is_finished_at_a_stop(own, tmp_path):
    server = own(tmp_path)
    client(server).create_container("flight")
    hour = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)
    sas = generate_blob_sas(ACCOUNT, "flight", "blob", account_key=KEY, permission="cw", expiry=hour)
    body = os.urandom(MIB)
    address = re.search(r"//([^/]+)/", server.endpoint).group(1)
    connection = http.client.HTTPConnection(address, timeout=20)
    connection.putrequest("PUT", f"/devstoreaccount1/flight/blob?{sas}")
    for name, value in {"x-ms-blob-type": "BlockBlob", "x-ms-version": "2021-08-06", "Content-Length": str(2 * MIB)}.items():
        connection.putheader(name, value)
    connection.endheaders(body)
    # Once the server counts the connection it has the request; a stop that comes before is another test.
    while " 1\n" not in re.search(r"^lazuli_connections .*\n", server.ask_console("/metrics"), re.M).group(0):
        pass
    server.process.send_signal(signal.SIGTERM)
    while "stopping" not in "".join(server.log):
        pass
    connection.send(body)
    assert connection.getresponse().status == 201
    assert server.process.wait(20) == 0
    assert client(own(tmp_path)).get_blob_client("flight", "blob").download_blob().readall() == body * 2


def test_memory_only_leaves_nothing(own, tmp_path):
    server = own(tmp_path / "unused", flags=["--in-memory"])
    client(server).create_container("brief").upload_blob("blob", b"x")
    assert client(server).get_blob_client("brief", "blob").download_blob().readall() == b"x"
    server.stop()
    assert not (tmp_path / "unused").exists()


# --- Flags, environment, file ----------------------------------------------------------------------------------------


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


def test_a_command_line_for_azurite_works(own, tmp_path):
    port = free_port()
    flags = [
        "--blobHost", "127.0.0.1", "--blobPort", port, "--queueHost", "127.0.0.1", "--queuePort", free_port(), "--tableHost", "127.0.0.1",
        "--tablePort", free_port(), "--file-port", "0", "--loose", "--skipApiVersionCheck", "--disableTelemetry", "--debug", str(tmp_path / "debug.log"),
    ]
    server = own(tmp_path, flags=flags, ports=False)
    assert server.endpoint == f"http://127.0.0.1:{port}/devstoreaccount1"
    client(server).create_container("azurites").upload_blob("blob", b"x")
    server.stop()
    log = (tmp_path / "debug.log").read_text()
    assert "PutBlob" in log, "the debug log names the operations"
    again = own(tmp_path, flags=flags, ports=False)
    assert client(again).get_blob_client("azurites", "blob").download_blob().readall() == b"x"


def test_a_workspace_of_azurite_stays_as_it_is(own, tmp_path):
    (tmp_path / "__azurite_db_blob__.json").write_text("{}")
    server = own(tmp_path)
    client(server).create_container("beside")
    assert (tmp_path / "__azurite_db_blob__.json").read_text() == "{}"
    assert (tmp_path / "lazuli-data").is_dir()


def test_silence(tmp_path):
    port = free_port()
    process = subprocess.Popen(
        [BINARY, "--silent", "--location", tmp_path, "--blob-port", port, "--queue-port", "0", "--table-port", "0", "--file-port", "0", "--console-port", "0"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )
    try:
        for _ in range(200):
            try:
                socket.create_connection(("127.0.0.1", int(port)), timeout=1).close()
                break
            except OSError:
                threading.Event().wait(0.05)
        BlobServiceClient.from_connection_string(connection_string(f"http://127.0.0.1:{port}/devstoreaccount1")).create_container("quiet")
    finally:
        process.terminate()
    assert process.communicate(timeout=20) == ("", "")


@pytest.mark.parametrize("way", ["flag", "LAZULI_ACCOUNTS", "AZURITE_ACCOUNTS", "file"])
def test_accounts_of_ones_own(own, tmp_path, way):
    keys = [base64.b64encode(os.urandom(64)).decode() for _ in range(3)]
    accounts = [f"first:{keys[0]}:{keys[1]}", f"second:{keys[2]}"]
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"account": accounts, "log-level": "debug"}))
    server = {
        "flag": lambda: own(tmp_path / "data", flags=["--account", accounts[0], "--account", accounts[1]]),
        "file": lambda: own(tmp_path / "data", flags=["--config", str(config)]),
    }.get(way, lambda: own(tmp_path / "data", environment={way: ";".join(accounts)}))()
    base = server.endpoint.rsplit("/", 1)[0]
    for name, key in [("first", keys[0]), ("first", keys[1]), ("second", keys[2])]:
        service = BlobServiceClient.from_connection_string(connection_string(f"{base}/{name}", name, key), retry_total=0)
        container = service.get_container_client(f"for-{name}")
        if not container.exists():
            container.create_container()
        assert [item.name for item in service.list_containers()] == [f"for-{name}"], "accounts do not see each other"
    development = BlobServiceClient.from_connection_string(connection_string(f"{base}/devstoreaccount1"), retry_total=0)
    with pytest.raises(AzureError):
        list(development.list_containers())
    server.stop()
    shown = "".join(server.banner + server.log)
    assert not any(key in shown for key in keys), "keys are never shown"


def test_signatures_are_not_logged(own, tmp_path):
    server = own(tmp_path, flags=["--log-level", "trace", "--log-format", "json"])
    client(server).create_container("open", public_access="container")
    with pytest.raises(urllib.error.HTTPError):
        urllib.request.urlopen(f"{server.endpoint}/open/blob?sv=2021-08-06&sr=b&sp=r&se=2099-01-01&sig=SECRETSECRET")
    server.stop()
    log = "".join(server.log)
    assert "SECRETSECRET" not in log and "SharedKey" not in log and KEY not in log
    lines = [json.loads(line) for line in server.log]
    assert any("/open/blob" in json.dumps(line) for line in lines), "but the request is"


# --- Errors at the start ---------------------------------------------------------------------------------------------


def no_ports():
    return [word for flag in EVERY_PORT for word in (flag, "0")]


def test_a_port_in_use(own, tmp_path):
    port = re.search(r":(\d+)/", own(tmp_path / "first").endpoint).group(1)
    said = ended("--location", tmp_path / "second", "--blob-port", port, "--queue-port", "0", "--table-port", "0", "--file-port", "0", "--console-port", "0")
    assert port in said and "--blob-port" in said


def test_a_directory_in_use(own, tmp_path):
    own(tmp_path)
    assert "in use" in ended("--location", tmp_path, *no_ports())


def test_somebody_elses_directory(tmp_path):
    (tmp_path / "thesis.doc").write_text("years of work")
    said = ended("--location", tmp_path, *no_ports())
    assert "thesis.doc" in said and "choose" in said
    assert os.listdir(tmp_path) == ["thesis.doc"]


def test_a_damaged_directory(own, tmp_path):
    own(tmp_path).stop()
    (tmp_path / "lazuli.format").write_text("nonsense")
    assert str(tmp_path) in ended("--location", tmp_path, *no_ports())


@pytest.mark.parametrize("flags, advice", [
    (["--account", "name"], "NAME:KEY"),
    (["--account", "name:***"], "base64"),
    (["--oauth", "basic"], "--oauth-insecure"),
    (["--oauth", "verify", "--oauth-insecure"], "--oauth-issuer"),
    (["--role", "*=Wizard", "--oauth", "basic", "--oauth-insecure"], "Storage Blob Data Owner"),
    (["--cert", "missing.pem", "--key", "missing.pem"], "missing.pem"),
    (["--cert", "cert.pfx", "--key", "x"], "--pwd PASSWORD instead of --key"),
    (["--cert", "missing.pfx", "--pwd", "y"], "missing.pfx"),
    (["--cert", "alone.pem"], "needs --key"),
    (["--blob-port", "99999"], "--blob-port"),
    (["--no-such-flag"], "--no-such-flag"),
    (["--config", "missing.json"], "missing.json"),
    (["--host", "nowhere"], "127.0.0.1"),
])
def test_mistakes_are_explained(tmp_path, flags, advice):
    assert advice in ended("--location", tmp_path / "data", *(flags if "--blob-port" in flags else [*no_ports(), *flags]))


# --- TLS and console -------------------------------------------------------------------------------------------------


def make_certificate(directory, name):
    """A certificate for 127.0.0.1 that nobody else has; where it is, and its key."""
    cert, key = directory / f"{name}.pem", directory / f"{name}.key"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={name}",
         "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost", "-keyout", key, "-out", cert], check=True, capture_output=True,
    )
    return cert, key


def shown_certificate(server):
    host, port = re.match(r"https://([^/:]+):(\d+)/", server.endpoint).groups()
    return ssl.get_server_certificate((host, int(port)))


def test_https(own, tmp_path):
    cert, key = make_certificate(tmp_path, "plain")
    server = own(tmp_path / "data", flags=["--cert", str(cert), "--key", str(key)], scheme="https")
    assert server.endpoint.startswith("https://")
    service = client(server, connection_verify=str(cert))
    content = os.urandom(3 * MIB)
    blob = service.create_container("secure").upload_blob("blob", content)
    assert blob.download_blob().readall() == content


@pytest.mark.parametrize("how", [[], ["-legacy"], ["-keypbe", "PBE-SHA1-3DES", "-certpbe", "PBE-SHA1-3DES", "-macalg", "sha1"]])
def test_a_pfx_file_is_a_certificate(own, tmp_path, how):
    """As openssl 3 writes it (AES), as older ones did (RC2 and 3DES), and as Windows exports it (3DES)."""
    cert, key = make_certificate(tmp_path, "one")
    pfx = tmp_path / "one.pfx"
    subprocess.run(["openssl", "pkcs12", "-export", *how, "-in", cert, "-inkey", key, "-out", pfx, "-passout", "pass:pass word"], check=True, capture_output=True)
    server = own(tmp_path / "data", flags=["--cert", str(pfx), "--pwd", "pass word"], scheme="https")
    client(server, connection_verify=str(cert)).create_container("secure")
    assert shown_certificate(server) == cert.read_text()
    assert "--pwd" in ended("--location", tmp_path / "other", *no_ports(), "--cert", pfx, "--pwd", "wrong")


def test_a_hangup_reads_the_certificate_again(own, tmp_path):
    used = [tmp_path / "cert.pem", tmp_path / "cert.key"]
    replace = lambda files: [to.write_bytes(file.read_bytes()) for file, to in zip(files, used)]
    old, new = make_certificate(tmp_path, "old"), make_certificate(tmp_path, "new")
    replace(old)
    server = own(tmp_path / "data", flags=["--cert", str(used[0]), "--key", str(used[1])], scheme="https")
    service = client(server, connection_verify=str(old[0]))
    service.create_container("kept")
    assert shown_certificate(server) == old[0].read_text()

    def hang_up(awaited):
        server.process.send_signal(signal.SIGHUP)
        for _ in range(200):
            if any(awaited in line for line in server.log):
                return
            threading.Event().wait(0.05)
        raise AssertionError("".join(server.log))

    replace(new)
    hang_up("was read again")
    assert shown_certificate(server) == new[0].read_text()
    assert service.get_container_client("kept").exists(), "connections that were open go on"
    used[1].write_text("no key")
    hang_up("old certificate stays in use")
    assert shown_certificate(server) == new[0].read_text()
    assert server.process.poll() is None


def test_a_clock_that_was_ahead_is_seen(own, tmp_path):
    """What was written in the future stays there; readiness says how far that is."""
    library = glob.glob("/usr/lib/*/faketime/libfaketime.so.1")
    ahead = own(tmp_path, environment={"LD_PRELOAD": library[0], "FAKETIME": "+2h"})
    sas = generate_account_sas(
        ACCOUNT, KEY, ResourceTypes(container=True), AccountSasPermissions(create=True),
        expiry=datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=1),
    )
    BlobServiceClient(ahead.endpoint, sas).create_container("early")
    ahead.stop()
    server = own(tmp_path)
    with pytest.raises(urllib.error.HTTPError) as caught:
        server.ask_console("/readyz")
    assert caught.value.code == 503
    bad = [check for check in json.load(caught.value)["checks"] if not check["ok"]]
    assert [check["name"] for check in bad] == ["clock"] and "clock" in bad[0]["do"]
    assert server.ask_console("/healthz") == "ok\n"


def test_console(own, tmp_path):
    server = own(tmp_path)
    assert server.ask_console("/healthz") == "ok\n"
    readiness = json.loads(server.ask_console("/readyz"))
    assert readiness["ready"] and [check["name"] for check in readiness["checks"]] == ["process", "engine", "disk", "content", "clock"]
    container = client(server).create_container("counted")
    container.upload_blob("blob", b"12345")
    with pytest.raises(AzureError):
        container.upload_blob("blob", b"12345")
    metrics = server.ask_console("/metrics")
    assert 'lazuli_requests_total{operation="PutBlob",status="2xx"} 1' in metrics
    assert 'lazuli_requests_total{operation="PutBlob",status="4xx"} 1' in metrics
    for name in ["lazuli_build_info", "lazuli_engine_commits_total", "process_resident_memory_bytes", "lazuli_connections"]:
        assert re.search(rf"^{name}[ {{]", metrics, re.M), name
    with pytest.raises(urllib.error.HTTPError) as caught:
        server.ask_console("/nothing")
    assert caught.value.code == 404


def test_host_style_addresses(own, tmp_path):
    server = own(tmp_path)
    client(server).create_container("hosted", public_access="container").upload_blob("blob", b"by host")
    address = re.search(r"//([^/]+)/", server.endpoint).group(1)
    connection = http.client.HTTPConnection(address)
    connection.request("GET", "/hosted/blob", headers={"Host": f"devstoreaccount1.blob.localhost:{address.rsplit(':', 1)[1]}"})
    assert connection.getresponse().read() == b"by host"


def test_ten_thousand_idle_connections(own, tmp_path):
    """They cost little, and nobody else notices."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = min(10_000, hard - 500)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, wanted + 500), hard))
    server = own(tmp_path)
    host, port = re.search(r"//([^:]+):(\d+)/", server.endpoint).groups()
    idle = []
    try:
        for _ in range(wanted):
            idle.append(socket.create_connection((host, int(port)), timeout=10))
        client(server).create_container("still").upload_blob("blob", b"x")
        resident = int(re.search(r"^process_resident_memory_bytes (\d+)", server.ask_console("/metrics"), re.M).group(1))
        assert resident < 300 * MIB, resident
    finally:
        for one in idle:
            one.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
