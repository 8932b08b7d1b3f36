"""Copies and batches with the Python client: inside the server, between its accounts, and from another host."""

import http.server
import threading
import time
from datetime import datetime, timedelta, timezone

import pytest
from azure.core.exceptions import HttpResponseError, ResourceExistsError, ResourceNotFoundError
from azure.storage.blob import BlobBlock, BlobSasPermissions, BlobServiceClient, generate_blob_sas

from server import ACCOUNT

DATA = bytes(range(256)) * 4096  # 1 MiB


def signed(service, blob, permission="r"):
    """The blob's address with a SAS."""
    token = generate_blob_sas(
        service.account_name,
        blob.container_name,
        blob.blob_name,
        account_key=service.credential.account_key,
        permission=BlobSasPermissions.from_string(permission),
        expiry=datetime.now(timezone.utc) + timedelta(hours=1),
    )
    return f"{blob.url}?{token}"


def test_a_copy_keeps_what_it_copies(container):
    source = container.upload_blob("source", DATA, metadata={"from": "source"}, tags={"t": "1"})
    copy = container.get_blob_client("copy")
    started = copy.start_copy_from_url(source.url)
    assert started["copy_status"] == "success"
    properties = copy.get_blob_properties()
    assert properties.metadata == {"from": "source"} and not properties.tag_count
    assert properties.copy.id == started["copy_id"] and properties.copy.source == source.url
    assert properties.copy.progress == f"{len(DATA)}/{len(DATA)}"
    source.delete_blob()
    assert copy.download_blob().readall() == DATA
    with pytest.raises(ResourceExistsError) as refused:
        copy.abort_copy(started["copy_id"])
    assert refused.value.error_code == "NoPendingCopyOperation"
    with pytest.raises(ResourceNotFoundError):
        copy.start_copy_from_url(source.url)


def test_a_snapshot_is_copied_over_its_base(container):
    blob = container.upload_blob("blob", b"first")
    snapshot = blob.create_snapshot()["snapshot"]
    blob.upload_blob(b"second", overwrite=True)
    blob.start_copy_from_url(f"{blob.url}?snapshot={snapshot}")
    assert blob.download_blob().readall() == b"first"


def test_kinds_are_copied_as_they_are(container):
    pages = container.get_blob_client("pages")
    pages.create_page_blob(1 << 20)
    pages.upload_page(b"p" * 512, offset=512 * 100, length=512)
    appended = container.get_blob_client("appended")
    appended.create_append_blob()
    for part in (b"one", b"two" * 30_000):
        appended.append_block(part)
    for blob in (pages, appended):
        copy = container.get_blob_client(f"{blob.blob_name}-copy")
        assert copy.start_copy_from_url(blob.url)["copy_status"] == "success"
        assert copy.get_blob_properties().blob_type == blob.get_blob_properties().blob_type
        assert copy.download_blob().readall() == blob.download_blob().readall()
    ranges, _ = container.get_blob_client("pages-copy").get_page_ranges()
    assert [(found["start"], found["end"]) for found in ranges] == [(51200, 51711)]
    container.get_blob_client("appended-copy").append_block(b"three")
    assert appended.get_blob_properties().size == 90_003


def test_everything_can_be_written_from_a_url(service, container):
    source = container.upload_blob("source", DATA)
    url = signed(service, source)
    whole = container.get_blob_client("whole")
    whole.upload_blob_from_url(url)
    blocks = container.get_blob_client("blocks")
    blocks.stage_block_from_url("1", url, source_offset=0, source_length=1000)
    blocks.stage_block_from_url("2", url, source_offset=1000, source_length=len(DATA) - 1000)
    blocks.commit_block_list([BlobBlock("1"), BlobBlock("2")])
    appended = container.get_blob_client("appended")
    appended.create_append_blob()
    appended.append_block_from_url(url, source_offset=0, source_length=len(DATA))
    pages = container.get_blob_client("pages")
    pages.create_page_blob(len(DATA))
    pages.upload_pages_from_url(url, offset=0, length=len(DATA), source_offset=0)
    synchronous = container.get_blob_client("synchronous")
    synchronous.start_copy_from_url(url, requires_sync=True)
    for blob in (whole, blocks, appended, pages, synchronous):
        assert blob.download_blob().readall() == DATA, blob.blob_name
    assert "sig=" not in synchronous.get_blob_properties().copy.source


def test_a_source_is_read_under_its_own_rights(service, container):
    source = container.upload_blob("source", b"secret")
    target = container.get_blob_client("target")
    with pytest.raises(HttpResponseError) as refused:
        target.upload_blob_from_url(source.url)
    assert (refused.value.status_code, refused.value.error_code) == (401, "CannotVerifyCopySource")
    with pytest.raises(HttpResponseError) as refused:
        target.upload_blob_from_url(signed(service, source, "w"))
    assert (refused.value.status_code, refused.value.error_code) == (403, "CannotVerifyCopySource")
    # Nobody is fetched from whom the operator does not name.
    with pytest.raises(HttpResponseError) as refused:
        target.start_copy_from_url("http://127.0.0.1:9/secret")
    assert (refused.value.status_code, refused.value.error_code) == (403, "CannotVerifyCopySource")
    assert not target.exists()


def test_a_batch_answers_part_by_part(container):
    for name in ("a", "b"):
        container.upload_blob(name, b"x")
    answers = list(container.delete_blobs("a", "none", "b", raise_on_any_failure=False))
    assert [answer.status_code for answer in answers] == [202, 404, 202]
    assert list(container.list_blob_names()) == []


def test_an_incremental_copy_follows_the_snapshots_of_a_page_blob(service, container):
    disk = container.get_blob_client("disk")
    disk.create_page_blob(8192)
    backup = container.get_blob_client("backup")
    copied = []
    for n in range(3):
        disk.upload_page(bytes([n + 1]) * 512, offset=n * 1024, length=512)
        snapshot = disk.create_snapshot()["snapshot"]
        source = container.get_blob_client("disk", snapshot=snapshot)
        started = backup.start_copy_from_url(source.url, incremental_copy=True)
        assert started["copy_status"] == "pending"
        copy = backup.get_blob_properties().copy
        assert (copy.status, copy.id, copy.incremental_copy) == ("success", started["copy_id"], True)
        copied.append((source, copy.destination_snapshot))
    for source, snapshot in copied:
        kept = container.get_blob_client("backup", snapshot=snapshot)
        assert kept.download_blob().readall() == source.download_blob().readall()
    latest = container.get_blob_client("backup", snapshot=copied[2][1])
    written, cleared = latest.get_page_ranges(previous_snapshot_diff=copied[0][1])
    assert [(found["start"], found["end"]) for found in written] == [(1024, 1535), (2048, 2559)] and not cleared
    with pytest.raises(HttpResponseError) as refused:
        backup.start_copy_from_url(copied[0][0].url, incremental_copy=True)
    assert refused.value.status_code == 409
    with pytest.raises(HttpResponseError) as refused:
        backup.download_blob()
    assert refused.value.error_code == "OperationNotAllowedOnIncrementalCopyBlob"
    backup.delete_blob(delete_snapshots="include")


class Slow(http.server.BaseHTTPRequestHandler):
    """Sends the beginning at once, and the rest when it may."""

    go_on = threading.Event()

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", str(len(DATA)))
        self.send_header("Content-Type", "text/plain")
        self.end_headers()
        self.wfile.write(DATA[:1000])
        self.wfile.flush()
        self.go_on.wait(30)
        try:
            self.wfile.write(DATA[1000:])
        except OSError:
            pass  # the copy was aborted

    def log_message(self, *_):
        pass


def test_a_copy_from_elsewhere_goes_on_and_can_be_aborted(own):
    elsewhere = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Slow)
    threading.Thread(target=elsewhere.serve_forever, daemon=True).start()
    port = elsewhere.server_address[1]
    server = own(flags=("--copy-source", f"127.0.0.1:{port}"))
    with BlobServiceClient.from_connection_string(server.connection_string, retry_total=0) as service:
        container = service.create_container("copies")
        url = f"http://127.0.0.1:{port}/file"
        blob = container.get_blob_client("aborted")
        started = blob.start_copy_from_url(url)
        assert started["copy_status"] == "pending"
        with pytest.raises(ResourceExistsError) as refused:
            blob.set_blob_metadata({"a": "b"})
        assert refused.value.error_code == "PendingCopyOperation"
        blob.abort_copy(started["copy_id"])
        properties = blob.get_blob_properties()
        assert (properties.copy.status, properties.size) == ("aborted", 0)

        blob = container.get_blob_client("copied")
        blob.start_copy_from_url(url)
        Slow.go_on.set()
        for _ in range(600):
            properties = blob.get_blob_properties()
            if properties.copy.status != "pending":
                break
            time.sleep(0.05)
        assert properties.copy.status == "success", properties.copy.status_description
        assert blob.download_blob().readall() == DATA
        assert properties.content_settings.content_type == "text/plain"
    elsewhere.shutdown()


def test_a_copy_from_elsewhere_goes_on_after_a_crash(own, tmp_path):
    class Patient(Slow):
        go_on = threading.Event()

    elsewhere = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Patient)
    threading.Thread(target=elsewhere.serve_forever, daemon=True).start()
    port = elsewhere.server_address[1]
    flags = ("--copy-source", f"127.0.0.1:{port}", "--setting", f"{ACCOUNT}:encryption-scopes=one")
    server = own(tmp_path, flags=flags)
    url = f"http://127.0.0.1:{port}/file?sig=secret"
    with BlobServiceClient.from_connection_string(server.connection_string, retry_total=0) as service:
        container = service.create_container("copies")
        for name, headers in (("plain", {}), ("scoped", {"x-ms-encryption-scope": "one"})):
            started = container.get_blob_client(name).start_copy_from_url(url, headers=headers)
            assert started["copy_status"] == "pending"
    server.process.kill()
    server.process.wait()
    Patient.go_on.set()
    server = own(tmp_path, flags=flags)
    with BlobServiceClient.from_connection_string(server.connection_string, retry_total=0) as service:
        for name in ("plain", "scoped"):
            blob = service.get_blob_client("copies", name)
            for _ in range(600):
                properties = blob.get_blob_properties()
                if properties.copy.status != "pending":
                    break
                time.sleep(0.05)
            assert properties.copy.status == "success", properties.copy.status_description
            assert blob.download_blob().readall() == DATA
    elsewhere.shutdown()
