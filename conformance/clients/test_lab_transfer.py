"""Commands for data: copies between directories and endpoints, which go on where they stopped; and a quick measurement."""

import os
import subprocess
import time

import pytest
from azure.storage.blob import BlobServiceClient

from server import BINARY, CACHE, Server, connection_string
from test_azurite import Program
from test_lab import TOKEN, Console


@pytest.fixture(scope="module")
def lab():
    server = Server(flags=["--in-memory", "--lab"], environment={"LAZULI_OPERATOR_TOKEN": TOKEN})
    yield server
    server.process.kill()
    server.process.wait()


@pytest.fixture
def operator(lab):
    console = Console(lab, {"Authorization": f"Bearer {TOKEN}"})
    console.good("DELETE", "/api/lab/rules")
    yield console
    console.good("DELETE", "/api/lab/rules")


@pytest.fixture
def blobs(lab):
    return BlobServiceClient.from_connection_string(lab.connection_string, retry_total=0)


def lazuli(*command, **environment):
    return subprocess.run([BINARY, *map(str, command)], capture_output=True, text=True, timeout=120, env={**os.environ, **environment})


def test_directories_are_copied_there_and_back(lab, operator, blobs, tmp_path):
    source, back = tmp_path / "source", tmp_path / "back"
    (source / "deep er").mkdir(parents=True)
    (source / "deep er" / "ä & b.txt").write_text("hello")
    (source / "empty").write_bytes(b"")
    large = bytes(range(256)) * (20 << 12)  # three blocks
    (source / "large").write_bytes(large)
    container = blobs.create_container("copied")
    url = f"{lab.endpoint}/copied/below"
    ran = lazuli("cp", "--recursive", source, url)
    assert ran.returncode == 0 and "3 objects" in ran.stdout, ran.stderr
    assert container.get_blob_client("below/large").download_blob().readall() == large
    text = container.get_blob_client("below/deep er/ä & b.txt")
    assert text.get_blob_properties().content_settings.content_type == "text/plain"
    listed = lazuli("ls", url + "/", "--recursive").stdout
    assert "below/deep er/ä & b.txt" in listed and str(len(large)) in listed
    assert "below/deep er/" in lazuli("ls", url + "/").stdout
    assert "copied" in lazuli("ls", lab.endpoint).stdout.split()
    ran = lazuli("cp", "--recursive", url, back)
    assert ran.returncode == 0, ran.stderr
    assert (back / "large").read_bytes() == large and (back / "deep er" / "ä & b.txt").read_text() == "hello"
    assert sorted(path.name for path in back.iterdir()) == ["deep er", "empty", "large"], "nothing is left over"
    # One blob, from endpoint to endpoint.
    assert lazuli("cp", f"{url}/large", f"{lab.endpoint}/copied/again").returncode == 0
    assert container.get_blob_client("again").download_blob().readall() == large
    assert lazuli("cp", f"{url}/large", tmp_path / "one").returncode == 0 and (tmp_path / "one").read_bytes() == large
    # A second run of sync copies what changed, and deletes what has gone.
    assert "0 objects" in lazuli("sync", source, url).stdout
    (source / "empty").write_text("no more")
    (source / "large").unlink()
    ran = lazuli("sync", "--delete", source, url)
    assert ran.returncode == 0 and "1 objects" in ran.stdout, ran.stderr
    assert sorted(blob.name for blob in container.list_blobs(name_starts_with="below/")) == ["below/deep er/ä & b.txt", "below/empty"]
    assert lazuli("rm", f"{lab.endpoint}/copied/again").returncode == 0
    assert "2 objects deleted" in lazuli("rm", "--recursive", url).stdout
    assert list(container.list_blobs()) == []


def test_a_copy_goes_on_where_it_stopped(lab, operator, blobs, tmp_path):
    large = bytes(range(256)) * (20 << 12)
    (tmp_path / "large").write_bytes(large)
    container = blobs.create_container("resumed")
    url = f"{lab.endpoint}/resumed/large"
    operator.good("POST", "/api/lab/rules", {"do": "fail", "operation": "PutBlockList"})
    ran = lazuli("cp", tmp_path / "large", url)
    assert ran.returncode != 0 and "run it again" in ran.stderr, ran.stderr
    operator.good("DELETE", "/api/lab/rules")
    before = [record for record in operator.good("GET", "/api/records?operation=PutBlock&limit=1000")["records"] if "/resumed/" in record["object"]]
    assert len(before) == 3
    assert lazuli("cp", tmp_path / "large", url).returncode == 0
    after = [record for record in operator.good("GET", "/api/records?operation=PutBlock&limit=1000")["records"] if "/resumed/" in record["object"]]
    assert after == before, "no block was sent twice"
    assert container.get_blob_client("large").download_blob().readall() == large
    # Downloads go on too: the first try dies after its first blocks.
    target = tmp_path / "back"
    operator.good("POST", "/api/lab/rules", {"do": "fail", "operation": "GetBlob", "probability": 1.0, "count": 5})
    ran = lazuli("cp", "--parallel", 1, url, target)
    assert ran.returncode != 0 and not target.exists()
    operator.good("DELETE", "/api/lab/rules")
    assert lazuli("cp", url, target).returncode == 0 and target.read_bytes() == large
    assert [path.name for path in tmp_path.iterdir() if "lazuli-" in path.name] == []


def test_an_endpoint_is_measured(lab):
    ran = lazuli("bench", lab.endpoint, "--seconds", 1, "--parallel", 2)
    assert ran.returncode == 0, ran.stderr
    rows = [line.split() for line in ran.stdout.splitlines() if line.startswith(("put", "get"))]
    assert len(rows) == 4 and all(float(row[5]) > 0 and row[-1] == "0" for row in rows), ran.stdout


def blocks_sent(operator, container):
    records = operator.good("GET", "/api/records?operation=PutBlock&limit=1000")["records"]
    return [record for record in records if f"/{container}/" in record["object"]]


def killed_after(command, happened):
    """Kills a command in the middle of what it does."""
    process = subprocess.Popen([BINARY, *map(str, command)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(600):
        if happened():
            break
        assert process.poll() is None, "it ended before it could be killed"
        time.sleep(0.05)
    process.kill()
    assert process.wait() == -9


def test_a_copy_that_was_killed_goes_on(lab, operator, blobs, tmp_path):
    large = os.urandom(40 << 20)
    (tmp_path / "large").write_bytes(large)
    container = blobs.create_container("killed")
    url = f"{lab.endpoint}/killed/large"
    # Slow answers keep it busy until it is killed.
    operator.good("POST", "/api/lab/rules", {"do": "slow", "milliseconds": 300, "operation": "PutBlock"})
    killed_after(["cp", "--parallel", 1, tmp_path / "large", url], lambda: len(blocks_sent(operator, "killed")) >= 2)
    operator.good("DELETE", "/api/lab/rules")
    assert not container.get_blob_client("large").exists(), "nothing of it is seen before all of it is there"
    before = {record["seq"] for record in blocks_sent(operator, "killed")}
    assert lazuli("cp", tmp_path / "large", url).returncode == 0
    again = [record for record in blocks_sent(operator, "killed") if record["seq"] not in before]
    total = -(-len(large) // (8 << 20))
    assert len(again) <= total - len(before) + 1, "what had arrived is not sent again"
    assert container.get_blob_client("large").download_blob().readall() == large
    # The way back.
    target = tmp_path / "back"
    part = lambda: [path for path in tmp_path.iterdir() if path.name.endswith(".lazuli-done") and path.read_text().count("\n") >= 2]
    operator.good("POST", "/api/lab/rules", {"do": "slow", "milliseconds": 300, "operation": "GetBlob"})
    killed_after(["cp", "--parallel", 1, url, target], part)
    operator.good("DELETE", "/api/lab/rules")
    assert not target.exists()
    assert lazuli("cp", url, target).returncode == 0 and target.read_bytes() == large
    assert [path.name for path in tmp_path.iterdir() if "lazuli-" in path.name] == []


def test_a_tree_goes_to_azurite_and_from_there_to_this_server(lab, blobs, tmp_path):
    modules = CACHE / "azurite/node_modules/azurite/dist/src/azurite.js"
    azurite = Program(modules, tmp_path / "azurite", "--blobPort", "0", "--queuePort", "0", "--tablePort", "0", "--skipApiVersionCheck", "--disableTelemetry", "--silent", node=True)
    try:
        source = tmp_path / "source"
        (source / "deep").mkdir(parents=True)
        large = os.urandom(20 << 20)
        (source / "deep" / "large").write_bytes(large)
        (source / "small.txt").write_text("hello")
        theirs = BlobServiceClient.from_connection_string(connection_string(azurite.url("Blob")), retry_total=0)
        theirs.create_container("tree")
        ran = lazuli("cp", "--recursive", source, azurite.url("Blob") + "/tree")
        assert ran.returncode == 0, ran.stderr
        assert theirs.get_blob_client("tree", "deep/large").download_blob().readall() == large
        ours = blobs.create_container("from-azurite")
        ran = lazuli("sync", azurite.url("Blob") + "/tree", f"{lab.endpoint}/from-azurite")
        assert ran.returncode == 0 and "2 objects" in ran.stdout, ran.stdout + ran.stderr
        assert ours.get_blob_client("deep/large").download_blob().readall() == large
        assert "deep/large" in lazuli("ls", "--recursive", azurite.url("Blob") + "/tree").stdout
        assert "2 objects deleted" in lazuli("rm", "--recursive", azurite.url("Blob") + "/tree").stdout
        assert list(theirs.get_container_client("tree").list_blobs()) == []
    finally:
        azurite.process.terminate()
        azurite.process.wait(timeout=30)
