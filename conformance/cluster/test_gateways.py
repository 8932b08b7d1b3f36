"""What several gateways promise together, and what their commands do."""

import datetime
import os
import signal
import socket
import subprocess
import tempfile
import time
import uuid

import pytest
from azure.core import MatchConditions
from azure.data.tables import TableServiceClient
from azure.storage.blob import BlobServiceClient, generate_blob_sas
from azure.storage.fileshare import ShareServiceClient
from azure.storage.queue import QueueServiceClient

from conftest import BINARY
from server import KEY, Server


def lazuli(*words, check=True, before=()):
    done = subprocess.run([*before, BINARY, *map(str, words)], capture_output=True, text=True, timeout=300)
    if check:
        assert done.returncode == 0, done.stdout + done.stderr
    return done


def test_an_account_that_is_made_at_one_place_works_at_every_gateway(fleet, flags):
    name = f"made{uuid.uuid4().hex[:8]}"
    made = lazuli("account", "create", name, *flags(fleet.pool)).stdout
    shown = lazuli("account", "show", name, "--keys", *flags(fleet.pool)).stdout
    keys = [word for word in shown.split() if word.endswith("==")]
    assert keys, made + shown
    first, second = (BlobServiceClient.from_connection_string(fleet.connection_string(n, name, keys[0]), retry_total=0) for n in (0, 1))
    first.create_container("one")
    assert [container.name for container in second.list_containers()] == ["one"]


def test_a_gateway_does_not_start_with_a_wrong_clock(fleet, flags):
    started = lazuli(*flags(fleet.pool), "--location", tempfile.mkdtemp(), "--blob-port", 0, check=False, before=["faketime", "-f", "+40s"])
    assert started.returncode == 1
    assert "from that of the cluster's monitors" in started.stderr, started.stderr


def fill(connection):
    """Something of every kind; gives what a reader of it has to find."""
    blobs = BlobServiceClient.from_connection_string(connection, retry_total=0)
    found = {}
    for n in range(3):
        container = blobs.create_container(f"box{n}", metadata={"n": str(n)})
        for m in range(40):
            content = os.urandom([10, 5_000, 70_000, 300_000][m % 4])
            container.upload_blob(f"b{m}", content, metadata={"m": str(m)})
            found[f"box{n}/b{m}"] = content
    large = os.urandom(9 << 20)
    container.upload_blob("large", large, max_concurrency=2)
    found["box2/large"] = large
    container.get_blob_client("large").create_snapshot()
    copy = blobs.get_blob_client("box0", "copy")
    copy.start_copy_from_url(container.get_blob_client("large").url)
    found["box0/copy"] = large
    page = container.get_blob_client("page")
    page.create_page_blob(4 << 20)
    page.upload_page(large[:1 << 20], 1 << 20, 1 << 20)
    found["box2/page"] = bytes(1 << 20) + large[:1 << 20] + bytes(2 << 20)
    append = container.get_blob_client("append")
    append.create_append_blob()
    for part in (large[:100], large[100:200_000]):
        append.append_block(part)
    found["box2/append"] = large[:200_000]
    blobs.delete_container("box1")
    found = {name: content for name, content in found.items() if not name.startswith("box1/")}
    queue = QueueServiceClient.from_connection_string(connection).create_queue("jobs")
    for n in range(20):
        queue.send_message(f"message {n}" * (1 + n % 3 * 300))
    table = TableServiceClient.from_connection_string(connection).create_table("things")
    for n in range(60):
        table.create_entity({"PartitionKey": f"p{n % 7}", "RowKey": f"r{n}", "n": n})
    share = ShareServiceClient.from_connection_string(connection).create_share("files")
    share.create_directory("d").upload_file("f", large[:3 << 20])
    share.create_snapshot()
    share.get_directory_client("d").upload_file("f", large[:1 << 20])
    return found


def check(connection, found):
    blobs = BlobServiceClient.from_connection_string(connection, retry_total=0)
    assert [container.name for container in blobs.list_containers()] == ["box0", "box2"]
    names = {f"{name}/{blob.name}" for name in ("box0", "box2") for blob in blobs.get_container_client(name).list_blobs()}
    assert names == set(found)
    etags = {}
    for name, content in found.items():
        blob = blobs.get_blob_client(*name.split("/"))
        assert blob.download_blob().readall() == content, name
        etags[name] = blob.get_blob_properties().etag
    snapshots = [blob for blob in blobs.get_container_client("box2").list_blobs(include=["snapshots"]) if blob.snapshot]
    assert len(snapshots) == 1
    peeked = QueueServiceClient.from_connection_string(connection).get_queue_client("jobs").peek_messages(max_messages=32)
    assert [message.content.split()[1] for message in peeked][:2] == ["0", "1message"] and len(peeked) == 20
    entities = list(TableServiceClient.from_connection_string(connection).get_table_client("things").list_entities())
    assert sorted(entity["n"] for entity in entities) == list(range(60))
    share = ShareServiceClient.from_connection_string(connection).get_share_client("files")
    large = found["box2/large"]
    assert share.get_file_client("d/f").download_file().readall() == large[:1 << 20]
    return etags


def lines_of(path):
    try:
        return path.read_bytes().count(b"\n")
    except FileNotFoundError:
        return 0


def test_a_directory_moves_to_a_cluster_and_back(new_pool, flags, tmp_path):
    there, back = tmp_path / "there", tmp_path / "back"
    server = Server(there)
    found = fill(server.connection_string)
    etags = check(server.connection_string, found)
    server.stop()
    command = ["import", "--from", there, "--to", "rados", *flags(new_pool)]
    journal, known = tmp_path / "there.import", 1
    # Broken off, twice, when it has written something since; unless it is quicker.
    for _ in range(2):
        process = subprocess.Popen([BINARY, *map(str, command)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while process.poll() is None and lines_of(journal) <= known:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        if process.wait() == 0:
            break
        known = lines_of(journal)
    if journal.exists():
        refused = lazuli(*flags(new_pool), "--location", tmp_path / "none", "--blob-port", 0, check=False)
        assert refused.returncode == 1 and "import" in refused.stderr
    said = lazuli(*command).stdout
    assert "were moved and read back" in said
    assert not journal.exists()
    again = lazuli(*command, check=False)
    assert again.returncode == 1 and "it is not empty" in again.stderr
    gateway = Server(tmp_path / "gateway", flags=[*flags(new_pool), "--key-file", there / "secrets.key"])
    assert check(gateway.connection_string, found) == etags
    blobs = BlobServiceClient.from_connection_string(gateway.connection_string, retry_total=0)
    blob = blobs.get_blob_client("box0", "b1")
    written = blob.upload_blob(b"new", overwrite=True, etag=etags["box0/b1"], match_condition=MatchConditions.IfNotModified)
    assert written["etag"] > etags["box0/b1"]
    found["box0/b1"] = b"new"
    blobs.get_blob_client("box0", "b2").delete_blob()
    del found["box0/b2"]
    gateway.stop()
    lazuli("import", "--from", "rados", "--to", back, *flags(new_pool))
    (back / "secrets.key").write_bytes((there / "secrets.key").read_bytes())
    server = Server(back)
    check(server.connection_string, found)
    server.stop()
    assert "nothing is damaged" in lazuli("check", "--location", back).stdout


def objects_of(pool):
    """The objects of a pool that hold content."""
    listed = subprocess.run(["rados", "--conf", os.environ["LAZULI_CEPH_CONF"], "--pool", pool, "ls"], capture_output=True, text=True, check=True)
    return [name for name in listed.stdout.split() if name.startswith("c.")]


def test_what_one_gateway_streams_another_does_not_give_back(own_fleet):
    """A blob is deleted at one gateway while a client of the other one reads it: the reader gets all of it, and then its objects go."""
    first, second = (BlobServiceClient.from_connection_string(own_fleet.connection_string(n), retry_total=0) for n in (0, 1))
    content = os.urandom(64 << 20)
    blob = first.create_container("read").upload_blob("large", content, max_concurrency=2)
    request = f"GET /devstoreaccount1/read/large?{sas(blob)} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    with socket.create_connection(("127.0.0.1", own_fleet.gateways[0].ports["blob"])) as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
        slow.sendall(request.encode())
        answer = slow.makefile("rb")
        assert b" 200 " in answer.readline()
        while answer.readline().strip():
            pass
        received = answer.read(1 << 20)
        second.get_blob_client("read", "large").delete_blob()
        # Another one that nobody reads shows that the sweeper is at work: its objects go, and those of the first one stay.
        assert len(objects_of(own_fleet.pool)) >= 16
        second.get_container_client("read").upload_blob("other", content[:8 << 20])
        second.get_blob_client("read", "other").delete_blob()

        def look():
            # A client that takes nothing for a minute is cut off.
            nonlocal received
            received += answer.read(1 << 16)
            return len(objects_of(own_fleet.pool))

        left = eventually(look, lambda count: count <= 17, "what nobody reads is not swept")
        assert left >= 16, "what is being read was swept"
        received += answer.read(len(content) - len(received))
    assert received == content
    eventually(lambda: objects_of(own_fleet.pool), lambda left: not left, "what was read is not swept")


def sas(blob):
    """The right to read a blob for an hour."""
    until = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)
    return generate_blob_sas(blob.account_name, blob.container_name, blob.blob_name, account_key=KEY, permission="r", expiry=until)


def eventually(look, holds, otherwise, seconds=120):
    since = time.monotonic()
    while not holds(found := look()):
        assert time.monotonic() - since < seconds, f"{otherwise}: {found}"
        time.sleep(1)
    return found
