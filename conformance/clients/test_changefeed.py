"""The change feed with the real SDK, which lists the segments, follows them to their logs and decodes the Avro in them."""

import datetime
import glob
import json
import os
import subprocess
import time

import pytest
from azure.core.exceptions import HttpResponseError
from azure.storage.blob import (
    AccountSasPermissions, BlobServiceClient, ContentSettings, ResourceTypes, StandardBlobTier, generate_account_sas,
)
from azure.storage.blob.changefeed import ChangeFeedClient

from server import ACCOUNT, CACHE, KEY
from test_account import lazuli


@pytest.fixture
def feed(own, tmp_path):
    server = own(tmp_path / "data")
    lazuli(server.directory, "set", ACCOUNT, "change-feed=on")
    return server


def service_of(server):
    return BlobServiceClient.from_connection_string(server.connection_string, retry_total=0)


def events(server, wanted):
    """All events, as soon as there are so many."""
    client = ChangeFeedClient(server.endpoint, credential={"account_name": ACCOUNT, "account_key": KEY})
    for _ in range(120):
        try:
            found = list(client.list_changes())
        except HttpResponseError as error:  # Not begun yet.
            assert error.status_code == 404
            found = []
        if len(found) >= wanted:
            return found
        time.sleep(0.5)
    raise AssertionError(f"{len(found)} events of {wanted}")


def work(container):
    """Changes of one blob, and what is told of them."""
    blob = container.upload_blob("dir/a b.txt", b"one", content_settings=ContentSettings(content_type="text/plain"))
    blob.set_blob_metadata({"k": "v"})
    blob.set_http_headers(ContentSettings(content_type="text/html"))
    blob.set_blob_tags({"t": "1"})
    blob.set_standard_blob_tier(StandardBlobTier.COOL)
    blob.create_snapshot()
    blob.acquire_lease(15).release()
    blob.upload_blob(b"three", overwrite=True)
    with pytest.raises(HttpResponseError):
        blob.upload_blob(b"refused", overwrite=False)
    blob.delete_blob(delete_snapshots="include")
    return [
        ("BlobCreated", "PutBlob"),
        ("BlobPropertiesUpdated", "SetBlobMetadata"),
        ("BlobPropertiesUpdated", "SetBlobProperties"),
        ("BlobPropertiesUpdated", "SetBlobTags"),
        ("BlobTierChanged", "SetBlobTier"),
        ("BlobSnapshotCreated", "SnapshotBlob"),
        ("BlobCreated", "PutBlob"),
        ("BlobDeleted", "DeleteBlob"),
        ("BlobDeleted", "DeleteBlob"),
    ]


def test_the_sdk_reads_what_was_changed(feed):
    with service_of(feed) as service:
        expected = work(service.create_container("box"))
        told = events(feed, len(expected))
        assert [(event["eventType"], event["data"]["api"]) for event in told] == expected
        first, typed, tagged, tier = told[0], told[2], told[3], told[4]
        assert first["schemaVersion"] == 5
        assert first["subject"] == "/blobServices/default/containers/box/blobs/dir/a b.txt"
        assert first["topic"].endswith(f"/storageAccounts/{ACCOUNT}")
        assert first["data"]["contentLength"] == 3 and first["data"]["blobType"] == "BlockBlob"
        assert len(first["data"]["clientRequestId"]) == 36
        changed = typed["data"]["blobPropertiesUpdated"]["ContentType"]
        assert (changed["current"], changed["previous"]) == ("text/html", "text/plain")
        assert tagged["data"]["blobTagsUpdated"]["current"] == {"t": "1"}
        assert tier["data"]["previousInfo"]["PreviousTier"] == "Hot" and tier["data"]["blobTier"] == "Cool"
        assert told[5]["data"]["snapshot"] == told[8]["data"]["snapshot"]
        assert len({event["id"] for event in told}) == len(told)
        order = [event["data"]["sequencer"] for event in told]
        assert order == sorted(order)


def test_a_reader_goes_on_where_it_was(feed):
    with service_of(feed) as service:
        container = service.create_container("box")
        for name in "abc":
            container.upload_blob(name, name)
        events(feed, 3)
        client = ChangeFeedClient(feed.endpoint, credential={"account_name": ACCOUNT, "account_key": KEY})
        pages = client.list_changes(results_per_page=2).by_page()
        assert [event["subject"][-1] for event in next(pages)] == ["a", "b"]
        container.upload_blob("d", "d")
        events(feed, 4)
        rest = client.list_changes(results_per_page=5).by_page(continuation_token=pages.continuation_token)
        assert [event["subject"][-1] for page in rest for event in page] == ["c", "d"]


def test_it_survives_a_kill_and_tells_nothing_twice(own, tmp_path):
    server = own(tmp_path / "data")
    lazuli(server.directory, "set", ACCOUNT, "change-feed=on")
    names = []
    for turn in range(4):
        with service_of(server) as service:
            container = service.get_container_client("box")
            if not container.exists():
                container.create_container()
            for number in range(10):
                names.append(f"{turn}-{number}")
                container.upload_blob(names[-1], b"x")
        time.sleep(turn * 2)  # now before, now while, now after it is published
        server.process.kill()
        server.process.wait()
        server = own(tmp_path / "data")
    told = events(server, len(names))
    assert [event["subject"].rsplit("/", 1)[1] for event in told] == names


def test_only_the_service_writes_it(feed):
    with service_of(feed) as service:
        service.create_container("box").upload_blob("a", b"x")
        events(feed, 1)
        container = service.get_container_client("$blobchangefeed")
        names = [blob.name for blob in container.list_blobs()]
        assert "meta/segments.json" in names and names[0] == "idx/segments/1601/01/01/0000/meta.json"
        assert json.loads(container.download_blob("meta/segments.json").readall())["version"] == 0
        log = next(name for name in names if name.startswith("log/00/"))
        assert container.get_blob_client(log).get_blob_properties().blob_type == "AppendBlob"
        segment = json.loads(container.download_blob(names[1]).readall())
        assert segment["status"] == "Publishing" and segment["chunkFilePaths"] == ["$blobchangefeed/" + log[:-10]]
        for attempt in (
            lambda: container.upload_blob("mine", b"x"),
            lambda: container.delete_blob(log),
            lambda: container.delete_container(),
            lambda: container.set_container_metadata({"a": "b"}),
        ):
            with pytest.raises(HttpResponseError) as refused:
                attempt()
            assert refused.value.status_code == 403 and refused.value.error_code == "InsufficientAccountPermissions"
        with pytest.raises(HttpResponseError) as refused:
            container.create_container()
        assert refused.value.status_code == 409
        assert "$blobchangefeed" not in [found.name for found in service.list_containers()]


READ = """
import { createRequire } from "node:module";
const { BlobChangeFeedClient } = createRequire(process.env.MODULES + "/")("@azure/storage-blob-changefeed");
const client = BlobChangeFeedClient.fromConnectionString(process.env.CONNECTION_STRING);
for await (const event of client.listChanges()) console.log(event.eventType, event.data.api);
"""


def test_javascript_reads_an_hour_that_is_over(own, tmp_path):
    """This SDK heeds `lastConsumable`, so the changes are made by a server that lives three hours ago."""
    library = glob.glob("/usr/lib/*/faketime/libfaketime.so.1")
    past = own(tmp_path / "data", environment={"LD_PRELOAD": library[0], "FAKETIME": "-3h"})
    lazuli(past.directory, "set", ACCOUNT, "change-feed=on")
    now, day = datetime.datetime.now(datetime.timezone.utc), datetime.timedelta(days=1)
    sas = generate_account_sas(
        ACCOUNT, KEY, ResourceTypes(service=True, container=True, object=True),
        AccountSasPermissions(read=True, write=True, delete=True, list=True, create=True, tag=True), now + day, now - day,
    )
    with BlobServiceClient(past.endpoint, credential=sas, retry_total=0) as service:
        while not service.get_container_client("$blobchangefeed").get_blob_client("meta/segments.json").exists():
            time.sleep(0.1)
        time.sleep(1)
        expected = work(service.create_container("box"))
    past.stop()
    server = own(tmp_path / "data")
    environment = {
        **os.environ, "CONNECTION_STRING": server.connection_string, "MODULES": str(CACHE / "js/node_modules"),
    }
    command = [CACHE / "bin/node", "--input-type=module", "-e", READ]
    for _ in range(60):
        ran = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60)
        if ran.stdout:
            break
        time.sleep(0.5)
    assert [tuple(line.split()) for line in ran.stdout.splitlines()] == expected, ran.stderr
