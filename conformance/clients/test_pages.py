"""Azure's Python SDK, unmodified: page blobs and append blobs."""

import os

import pytest
from azure.core import MatchConditions
from azure.core.exceptions import HttpResponseError, ResourceModifiedError

from test_python import new_name, refused

MIB = 1 << 20
TIB = 1 << 40


# --- Page blobs ------------------------------------------------------------------------------------------------------


def ranges(blob, **options):
    return [(found.start, found.end, found.cleared) for found in blob.list_page_ranges(**options)]


def test_one_page_in_a_tebibyte(container):
    blob = container.get_blob_client("disk")
    blob.create_page_blob(TIB)
    page = os.urandom(512)
    blob.upload_page(page, offset=TIB - 512, length=512)
    assert ranges(blob) == [(TIB - 512, TIB - 1, False)]
    assert blob.download_blob(offset=TIB - 1024, length=1024).readall() == bytes(512) + page
    properties = blob.get_blob_properties()
    assert (properties.size, properties.blob_type.value, properties.page_blob_sequence_number) == (TIB, "PageBlob", 0)


def test_pages_are_written_cleared_and_listed(container):
    blob = container.get_blob_client("disk")
    blob.create_page_blob(4 * MIB)
    data = os.urandom(3 * MIB)
    blob.upload_page(data, offset=512 * 1024, length=len(data), validate_content=True)
    blob.clear_page(offset=MIB, length=MIB)
    want = bytearray(4 * MIB)
    want[512 * 1024 : 512 * 1024 + len(data)] = data
    want[MIB : 2 * MIB] = bytes(MIB)
    assert blob.download_blob().readall() == bytes(want)
    assert ranges(blob) == [(512 * 1024, MIB - 1, False), (2 * MIB, 512 * 1024 + len(data) - 1, False)]
    assert ranges(blob, offset=0, length=MIB) == [(512 * 1024, MIB - 1, False)]
    pages = blob.list_page_ranges(results_per_page=1).by_page()
    assert [[found.start for found in page] for page in pages] == [[512 * 1024], [2 * MIB]]


def test_a_snapshot_keeps_its_pages_and_tells_the_difference(container):
    blob = container.get_blob_client("disk")
    blob.create_page_blob(8192)
    blob.upload_page(b"a" * 4096, offset=0, length=4096)
    taken = blob.create_snapshot()["snapshot"]
    blob.upload_page(b"b" * 512, offset=512, length=512)
    blob.clear_page(offset=2048, length=512)
    assert container.get_blob_client("disk", snapshot=taken).download_blob().readall() == b"a" * 4096 + bytes(4096)
    assert ranges(blob, previous_snapshot=taken) == [(512, 1023, False), (2048, 2559, True)]
    blob.delete_blob(delete_snapshots="include")


def test_sequence_numbers_guard_writes(container):
    blob = container.get_blob_client("disk")
    blob.create_page_blob(512, sequence_number=7)
    page = b"p" * 512
    blob.upload_page(page, offset=0, length=512, if_sequence_number_eq=7)
    with refused("SequenceNumberConditionNotMet", 412):
        blob.upload_page(page, offset=0, length=512, if_sequence_number_lt=7)
    assert blob.set_sequence_number("increment")["blob_sequence_number"] == 8
    assert blob.set_sequence_number("max", 3)["blob_sequence_number"] == 8
    assert blob.set_sequence_number("update", 3)["blob_sequence_number"] == 3


def test_a_blob_is_cut_and_grows_again_empty(container):
    blob = container.get_blob_client("disk")
    blob.create_page_blob(2048)
    blob.upload_page(b"x" * 2048, offset=0, length=2048)
    blob.resize_blob(512)
    blob.resize_blob(2048)
    assert blob.download_blob().readall() == b"x" * 512 + bytes(1536)
    with refused("InvalidPageRange", 416):
        blob.upload_page(b"x" * 512, offset=2048, length=512)


def test_an_upload_of_a_stream_skips_empty_pages(container):
    blob = container.get_blob_client("disk")
    data = bytes(4 * MIB) + os.urandom(4 * MIB) + bytes(1024)
    blob.upload_blob(data, blob_type="PageBlob")
    assert blob.download_blob().readall() == data
    assert ranges(blob) == [(4 * MIB, 8 * MIB - 1, False)]


# --- Append blobs ----------------------------------------------------------------------------------------------------


def test_blocks_are_appended_in_order(container):
    blob = container.get_blob_client("log")
    blob.create_append_blob()
    lines = [f"line {number}\n".encode() for number in range(300)]
    for number, line in enumerate(lines):
        answer = blob.append_block(line, validate_content=number % 2 == 0)
        assert answer["blob_committed_block_count"] == number + 1
    blob.append_block(b"z" * 100_000)
    assert blob.download_blob().readall() == b"".join(lines) + b"z" * 100_000
    properties = blob.get_blob_properties()
    assert (properties.append_blob_committed_block_count, properties.is_append_blob_sealed) == (301, None)


def test_position_and_size_are_conditions(container):
    blob = container.get_blob_client("log")
    etag = blob.create_append_blob()["etag"]
    blob.append_block(b"12345", appendpos_condition=0, etag=etag, match_condition=MatchConditions.IfNotModified)
    with refused("AppendPositionConditionNotMet", 412):
        blob.append_block(b"6", appendpos_condition=0)
    with refused("MaxBlobSizeConditionNotMet", 412):
        blob.append_block(b"6", maxsize_condition=5)
    with pytest.raises(ResourceModifiedError):
        blob.append_block(b"6", etag=etag, match_condition=MatchConditions.IfNotModified)
    assert blob.download_blob().readall() == b"12345"


def test_a_sealed_blob_takes_no_more(container):
    blob = container.get_blob_client("log")
    blob.create_append_blob()
    blob.append_block(b"the end")
    blob.seal_append_blob()
    with refused("BlobIsSealed", 409):
        blob.append_block(b", or not")
    assert blob.get_blob_properties().is_append_blob_sealed is True
    assert blob.download_blob().readall() == b"the end"


def test_snapshots_of_a_log_stay_as_they_were(container):
    blob = container.get_blob_client("log")
    blob.upload_blob(b"one", blob_type="AppendBlob")
    taken = blob.create_snapshot()["snapshot"]
    blob.upload_blob(b"two", blob_type="AppendBlob")
    assert blob.download_blob().readall() == b"onetwo"
    assert container.get_blob_client("log", snapshot=taken).download_blob().readall() == b"one"
    blob.delete_blob(delete_snapshots="include")


# --- One name, three kinds -------------------------------------------------------------------------------------------


def test_each_operation_wants_its_own_kind(container):
    kinds = {"block": container.get_blob_client("block"), "page": container.get_blob_client("page"), "append": container.get_blob_client("append")}
    kinds["block"].upload_blob(b"b")
    kinds["page"].create_page_blob(512)
    kinds["append"].create_append_blob()
    operations = {
        "block": lambda blob: blob.stage_block("QUFB", b"x"),
        "page": lambda blob: blob.upload_page(b"p" * 512, offset=0, length=512),
        "append": lambda blob: blob.append_block(b"a"),
    }
    for of, operation in operations.items():
        for kind, blob in kinds.items():
            if of == kind:
                operation(blob)
            else:
                with refused("InvalidBlobType", 409):
                    operation(blob)
    listed = {blob.name: blob.blob_type.value for blob in container.list_blobs()}
    assert listed == {"append": "AppendBlob", "block": "BlockBlob", "page": "PageBlob"}
    kinds["page"].upload_blob(b"now a block blob", overwrite=True)
    assert kinds["page"].download_blob().readall() == b"now a block blob"


def test_another_kind_may_take_the_place(container):
    blob = container.get_blob_client(new_name("kind"))
    blob.upload_blob(b"block")
    blob.create_append_blob()
    blob.append_block(b"append")
    blob.create_page_blob(512)
    assert blob.download_blob().readall() == bytes(512)
    with pytest.raises(HttpResponseError):
        blob.append_block(b"not any more")
