"""A day in the life of a program that was written before 2019: azure-storage 2.1 (2019-02-02 and before) and azure-cosmosdb-table 1.0 (2017-04-17).

    python sdk.py BLOB QUEUE TABLE FILE ACCOUNT KEY      the endpoints of one account

Runs in an environment of its own (conformance/install), because its packages have the names of today's. Ends with an AssertionError, or says "done".
"""
import datetime
import io
import sys
import uuid
from urllib.parse import urlsplit

from azure.common import AzureConflictHttpError, AzureHttpError, AzureMissingResourceHttpError
from azure.cosmosdb.table import EntityProperty, EdmType, TableBatch, TableService
from azure.storage.blob import AppendBlobService, BlockBlobService, ContainerPermissions, Include, PageBlobService, PublicAccess
from azure.storage.common import CorsRule, Logging, Metrics, RetentionPolicy, AccountPermissions, ResourceTypes
from azure.storage.file import ContentSettings as FileSettings, FileService
from azure.storage.queue import QueueService

BLOB, QUEUE, TABLE, FILE, ACCOUNT, KEY = sys.argv[1:7]
NAME = "legacy" + uuid.uuid4().hex[:12]


def connect(kind, url, service):
    """By connection string, which is the only way to say an endpoint with a path."""
    made = kind(connection_string=f"DefaultEndpointsProtocol=http;AccountName={ACCOUNT};AccountKey={KEY};{service}Endpoint={url};")
    assert urlsplit(url).netloc in made.primary_endpoint, made.primary_endpoint
    made.retry = lambda context: None
    return made


def refused(status, error, call, *arguments, **named):
    try:
        call(*arguments, **named)
    except error as told:
        assert told.status_code == status, told
        return told
    raise AssertionError(f"{call} was not refused")


def block_blobs():
    blobs = connect(BlockBlobService, BLOB, "Blob")
    blobs.MAX_SINGLE_PUT_SIZE, blobs.MAX_BLOCK_SIZE = 64 << 10, 32 << 10
    assert blobs.create_container(NAME, metadata={"hello": "world"})
    refused(409, AzureConflictHttpError, blobs.create_container, NAME, fail_on_exist=True)
    blobs.create_blob_from_text(NAME, "small", "text", metadata={"a": "b"})
    large = bytes(range(256)) * 1024  # eight blocks
    blobs.create_blob_from_bytes(NAME, "dir/large", large, max_connections=2)
    assert blobs.get_blob_to_bytes(NAME, "dir/large", max_connections=2).content == large
    stream = io.BytesIO()
    blobs.get_blob_to_stream(NAME, "dir/large", stream, start_range=1000, end_range=1999, validate_content=True)
    assert stream.getvalue() == large[1000:2000]
    properties = blobs.get_blob_properties(NAME, "small")
    assert properties.metadata == {"a": "b"} and properties.properties.content_length == 4
    assert properties.properties.blob_tier == "Hot" and properties.properties.blob_tier_inferred
    assert [one.name for one in blobs.list_blobs(NAME)] == ["dir/large", "small"]
    assert [one.name for one in blobs.list_blobs(NAME, delimiter="/")] == ["dir/", "small"]
    snapshot = blobs.snapshot_blob(NAME, "small")
    blobs.create_blob_from_text(NAME, "small", "other")
    assert blobs.get_blob_to_text(NAME, "small", snapshot=snapshot.snapshot).content == "text"
    listed = list(blobs.list_blobs(NAME, include=Include(snapshots=True, metadata=True), prefix="small"))
    assert [one.snapshot for one in listed] == [snapshot.snapshot, None]
    lease = blobs.acquire_blob_lease(NAME, "small", lease_duration=15)
    refused(412, AzureHttpError, blobs.delete_blob, NAME, "small", delete_snapshots="include")
    refused(412, AzureHttpError, blobs.create_blob_from_text, NAME, "small", "x", if_none_match="*", lease_id=str(uuid.uuid4()))
    blobs.release_blob_lease(NAME, "small", lease)
    refused(412, AzureHttpError, blobs.set_blob_metadata, NAME, "small", {}, if_match='"0x8D000000000000"')
    blobs.set_standard_blob_tier(NAME, "small", "Cool")
    assert blobs.get_blob_properties(NAME, "small").properties.blob_tier == "Cool"
    token = blobs.generate_blob_shared_access_signature(NAME, "small", permission="r", expiry=datetime.datetime.utcnow() + datetime.timedelta(hours=1))
    copied = blobs.copy_blob(NAME, "copy", f"{BLOB}/{NAME}/small?{token}")
    assert copied.status == "success" and blobs.get_blob_to_text(NAME, "copy").content == "other"
    account = blobs.generate_account_shared_access_signature(ResourceTypes.SERVICE, AccountPermissions.LIST, datetime.datetime.utcnow() + datetime.timedelta(hours=1))
    shared = BlockBlobService(connection_string=f"BlobEndpoint={BLOB};SharedAccessSignature={account}")
    assert NAME in [one.name for one in shared.list_containers(prefix=NAME)]
    blobs.set_container_acl(NAME, public_access=PublicAccess.Blob)
    assert blobs.get_container_acl(NAME).public_access == "blob"
    blobs.set_blob_service_properties(logging=Logging(delete=True, retention_policy=RetentionPolicy(True, 5)),
                                      cors=[CorsRule(["*"], ["GET"], max_age_in_seconds=5)])
    kept = blobs.get_blob_service_properties()
    assert kept.logging.delete and kept.cors[0].max_age_in_seconds == 5
    blobs.set_blob_service_properties(logging=Logging(), cors=[])
    refused(404, AzureMissingResourceHttpError, blobs.get_blob_to_text, NAME, "missing")
    blobs.delete_blob(NAME, "small", delete_snapshots="include")
    assert not blobs.exists(NAME, "small")
    return blobs


def page_and_append_blobs():
    pages, appends = connect(PageBlobService, BLOB, "Blob"), connect(AppendBlobService, BLOB, "Blob")
    pages.create_blob(NAME, "pages", 4096)
    written = pages.update_page(NAME, "pages", b"p" * 1024, 512, 1535, validate_content=True)
    assert written.sequence_number == 0
    assert [(one.start, one.end) for one in pages.get_page_ranges(NAME, "pages")] == [(512, 1535)]
    before = pages.snapshot_blob(NAME, "pages").snapshot
    pages.clear_page(NAME, "pages", 512, 1023)
    differ = pages.get_page_ranges_diff(NAME, "pages", before)
    assert [(one.start, one.end, one.is_cleared) for one in differ] == [(512, 1023, True)]
    refused(412, AzureHttpError, pages.update_page, NAME, "pages", b"p" * 512, 0, 511, if_sequence_number_eq=9)
    appends.create_blob(NAME, "log")
    assert appends.append_block(NAME, "log", b"one\n").append_offset == 0
    assert appends.append_block(NAME, "log", b"two\n", appendpos_condition=4).committed_block_count == 2
    refused(412, AzureHttpError, appends.append_block, NAME, "log", b"x", appendpos_condition=4)
    assert appends.get_blob_to_bytes(NAME, "log").content == b"one\ntwo\n"


def queues():
    queue = connect(QueueService, QUEUE, "Queue")
    assert queue.create_queue(NAME, metadata={"a": "b"})
    sent = queue.put_message(NAME, "hello", time_to_live=60)
    assert sent.id and sent.pop_receipt
    queue.put_message(NAME, "never", time_to_live=-1)
    assert [one.content for one in queue.peek_messages(NAME, num_messages=2)] == ["hello", "never"]
    got = queue.get_messages(NAME, visibility_timeout=30)[0]
    assert got.content == "hello" and got.dequeue_count == 1
    changed = queue.update_message(NAME, got.id, got.pop_receipt, 0, content="changed")
    refused(404, AzureMissingResourceHttpError, queue.delete_message, NAME, got.id, got.pop_receipt)
    queue.delete_message(NAME, got.id, changed.pop_receipt)
    assert queue.get_queue_metadata(NAME).approximate_message_count == 1
    assert [one.name for one in queue.list_queues(prefix=NAME, include_metadata=True)] == [NAME]
    queue.clear_messages(NAME)
    queue.delete_queue(NAME)


def tables():
    table = connect(TableService, TABLE, "Table")
    name = NAME.capitalize()
    assert table.create_table(name)
    when = datetime.datetime(2015, 6, 7, 8, 9, 10, 123000, tzinfo=datetime.timezone.utc)
    entity = {"PartitionKey": "p", "RowKey": "1", "text": "t", "number": 7, "large": EntityProperty(EdmType.INT64, 1 << 40),
              "flag": True, "double": 1.5, "when": when, "bytes": EntityProperty(EdmType.BINARY, b"\x00\xff")}
    etag = table.insert_entity(name, entity)
    refused(409, AzureConflictHttpError, table.insert_entity, name, entity)
    back = table.get_entity(name, "p", "1")
    assert back.text == "t" and back.number == 7 and back.large == 1 << 40 and back.flag and back.double == 1.5, back
    assert back.when.replace(microsecond=0) == when.replace(microsecond=0) and back.etag == etag
    table.merge_entity(name, {"PartitionKey": "p", "RowKey": "1", "more": 1})
    refused(412, AzureHttpError, table.update_entity, name, {"PartitionKey": "p", "RowKey": "1"}, if_match=etag)
    batch = TableBatch()
    for row in range(2, 12):
        batch.insert_entity({"PartitionKey": "p", "RowKey": f"{row:02}", "number": row})
    table.commit_batch(name, batch)
    found = list(table.query_entities(name, filter="PartitionKey eq 'p' and number ge 10", select="RowKey,number"))
    assert [one.RowKey for one in found] == ["10", "11"], found
    assert len(list(table.query_entities(name, num_results=3))) == 3
    assert name in [one.name for one in table.list_tables()]
    table.delete_entity(name, "p", "1")
    table.delete_table(name)


def files():
    file = connect(FileService, FILE, "File")
    assert file.create_share(NAME, quota=5, metadata={"a": "b"})
    file.create_directory(NAME, "dir")
    file.create_file_from_bytes(NAME, "dir", "f", b"0123456789" * 1000, content_settings=FileSettings(content_type="text/plain"), metadata={"m": "n"})
    assert file.get_file_to_bytes(NAME, "dir", "f", start_range=10, end_range=19, validate_content=True).content == b"0123456789"
    file.update_range(NAME, "dir", "f", b"x" * 512, 0, 511)
    assert [(one.start, one.end) for one in file.list_ranges(NAME, "dir", "f")][0][0] == 0
    properties = file.get_file_properties(NAME, "dir", "f")
    assert properties.properties.content_length == 10000 and properties.metadata == {"m": "n"}
    assert [one.name for one in file.list_directories_and_files(NAME)] == ["dir"]
    snapshot = file.snapshot_share(NAME)
    file.delete_file(NAME, "dir", "f")
    assert file.exists(NAME, "dir", "f", snapshot=snapshot.snapshot) and not file.exists(NAME, "dir", "f")
    assert file.get_share_stats(NAME) is not None
    file.delete_share(NAME, delete_snapshots="include")


blobs = block_blobs()
page_and_append_blobs()
queues()
tables()
files()
blobs.delete_container(NAME)
print("done")
