"""Azure's Python SDK, unmodified: what an application does with containers and block blobs."""

import base64
import contextlib
import datetime
import hashlib
import http.client
import io
import os
import urllib.parse
import urllib.request
import uuid

import pytest
from azure.core import MatchConditions
from azure.core.exceptions import (
    ClientAuthenticationError,
    HttpResponseError,
    ResourceExistsError,
    ResourceModifiedError,
    ResourceNotFoundError,
)
from azure.storage.blob import (
    AccessPolicy,
    AccountSasPermissions,
    BlobBlock,
    BlobClient,
    BlobLeaseClient,
    BlobPrefix,
    BlobSasPermissions,
    BlobServiceClient,
    ContainerClient,
    ContainerSasPermissions,
    ContentSettings,
    CorsRule,
    PublicAccess,
    ResourceTypes,
    StorageErrorCode,
    generate_account_sas,
    generate_blob_sas,
    generate_container_sas,
)

from server import ACCOUNT, KEY

MIB = 1 << 20


def soon(hours=1):
    return datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=hours)


@contextlib.contextmanager
def refused(code, status):
    """The block is refused with Azure's own error code."""
    with pytest.raises(HttpResponseError) as caught:
        yield
    got = getattr(caught.value, "error_code", "")
    assert (caught.value.status_code, getattr(got, "value", got)) == (status, code), caught.value


def new_name(prefix="test"):
    return f"{prefix}-{uuid.uuid4()}"


# --- The service -----------------------------------------------------------------------------------------------------


def test_account_information(service):
    info = service.get_account_information()
    assert info["sku_name"] and info["account_kind"]


def test_service_properties_keep_the_sections_that_are_left_out(service):
    rule = CorsRule(["https://example.com"], ["GET", "PUT"], allowed_headers=["x-ms-*"], exposed_headers=["etag"], max_age_in_seconds=60)
    service.set_service_properties(cors=[rule])
    service.set_service_properties(target_version="2021-08-06")
    properties = service.get_service_properties()
    assert [kept.allowed_origins for kept in properties["cors"]] == ["https://example.com"]
    assert properties["target_version"] == "2021-08-06"
    service.set_service_properties(cors=[])
    assert service.get_service_properties()["cors"] == []


def test_browsers_are_answered_by_the_cors_rules(service, container):
    service.set_service_properties(cors=[CorsRule(["https://example.com"], ["GET"], allowed_headers=["*"], max_age_in_seconds=60)])
    blob = container.upload_blob("page", b"text")
    try:
        url = urllib.parse.urlparse(blob.url)
        connection = http.client.HTTPConnection(url.netloc)
        ask = {"Origin": "https://example.com", "Access-Control-Request-Method": "GET"}
        connection.request("OPTIONS", url.path, headers=ask)
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 200
        assert answer.headers["Access-Control-Allow-Origin"] == "https://example.com"
        connection.request("OPTIONS", url.path, headers={**ask, "Origin": "https://elsewhere.example"})
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 403
    finally:
        service.set_service_properties(cors=[])


def test_listing_containers_by_prefix_and_page(service):
    prefix = new_name("page")
    names = [f"{prefix}-{n}" for n in range(5)]
    for name in names:
        service.create_container(name, metadata={"number": name[-1]})
    try:
        pages = service.list_containers(name_starts_with=prefix, include_metadata=True, results_per_page=2).by_page()
        found = [[item for item in page] for page in pages]
        assert [[item.name for item in page] for page in found] == [names[:2], names[2:4], names[4:]]
        assert found[0][1].metadata == {"number": "1"}
        assert found[0][0].etag and found[0][0].last_modified
    finally:
        for name in names:
            service.delete_container(name)


def test_wrong_key_is_refused(server):
    wrong = base64.b64encode(b"not the key").decode()
    client = BlobServiceClient(server.endpoint, credential={"account_name": ACCOUNT, "account_key": wrong}, retry_total=0)
    with pytest.raises(ClientAuthenticationError) as caught:
        list(client.list_containers())
    assert caught.value.status_code == 403
    assert caught.value.error_code == StorageErrorCode.AUTHENTICATION_FAILED


# --- Containers ------------------------------------------------------------------------------------------------------


def test_container_life(service):
    client = service.get_container_client(new_name())
    assert not client.exists()
    client.create_container(metadata={"colour": "blue"})
    assert client.exists()
    with refused("ContainerAlreadyExists", 409):
        client.create_container()
    properties = client.get_container_properties()
    assert properties.metadata == {"colour": "blue"} and properties.lease.state == "available"
    before = properties.etag
    client.set_container_metadata({"colour": "green", "size": "9"})
    properties = client.get_container_properties()
    assert properties.metadata == {"colour": "green", "size": "9"} and properties.etag != before
    client.delete_container()
    assert not client.exists()
    with refused("ContainerNotFound", 404):
        client.get_container_properties()


def test_a_deleted_container_takes_its_blobs_with_it(service, container):
    container.upload_blob("gone", b"x")
    container.delete_container()
    with refused("ContainerNotFound", 404):
        container.get_blob_client("gone").download_blob()
    service.create_container(container.container_name)
    assert list(container.list_blobs()) == []
    with refused("BlobNotFound", 404):
        container.get_blob_client("gone").download_blob()


@pytest.mark.parametrize("name", ["UPPER", "-dash", "a", "two--dashes", "x" * 64])
def test_bad_container_names_are_refused(service, name):
    with pytest.raises(HttpResponseError) as caught:
        service.create_container(name)
    assert caught.value.status_code == 400


def test_container_lease_guards_deletion(container):
    lease = container.acquire_lease(lease_duration=15)
    assert container.get_container_properties().lease.state == "leased"
    with refused("LeaseIdMissing", 412):
        container.delete_container()
    container.upload_blob("free", b"a lease on a container does not guard its blobs")
    lease.renew()
    lease.change(str(uuid.uuid4()))
    container.delete_container(lease=lease)


def test_access_policies_come_back_as_they_were_set(container):
    policy = AccessPolicy(permission=ContainerSasPermissions(read=True, list=True), start=soon(-1), expiry=soon())
    container.set_container_access_policy({"reader": policy, "empty": AccessPolicy()}, public_access=PublicAccess.BLOB)
    answer = container.get_container_access_policy()
    assert answer["public_access"] == "blob"
    assert [identifier.id for identifier in answer["signed_identifiers"]] == ["reader", "empty"]
    assert answer["signed_identifiers"][0].access_policy.permission == "rl"


# --- Uploading and downloading ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 1, 1000, 16 << 10, (16 << 10) + 1, 4 * MIB, 4 * MIB + 1])
def test_what_goes_up_comes_down(container, size):
    content = os.urandom(size)
    blob = container.upload_blob("blob", content)
    assert blob.download_blob().readall() == content
    assert blob.get_blob_properties().size == size


def test_properties_travel_with_the_blob(container):
    settings = ContentSettings(
        content_type="text/plain; charset=utf-8", content_encoding="identity", content_language="de",
        content_disposition='attachment; filename="a.txt"', cache_control="max-age=60",
    )
    blob = container.upload_blob("blob", "grüße", content_settings=settings, metadata={"a": "1", "B": "zwei"})
    properties = blob.get_blob_properties()
    got = properties.content_settings
    assert (got.content_type, got.content_encoding, got.content_language) == ("text/plain; charset=utf-8", "identity", "de")
    assert (got.content_disposition, got.cache_control) == ('attachment; filename="a.txt"', "max-age=60")
    assert properties.metadata == {"a": "1", "B": "zwei"} and properties.blob_type == "BlockBlob"
    assert bytes(got.content_md5) == hashlib.md5("grüße".encode()).digest()
    before = properties.etag
    blob.set_http_headers(ContentSettings(content_type="text/html"))
    properties = blob.get_blob_properties()
    assert properties.content_settings.content_type == "text/html" and properties.etag != before
    assert properties.content_settings.cache_control is None, "headers that are left out are cleared"
    blob.set_blob_metadata({"only": "this"})
    assert blob.get_blob_properties().metadata == {"only": "this"}


def test_no_overwriting_unless_asked(container):
    blob = container.upload_blob("blob", b"first")
    with refused("BlobAlreadyExists", 409):
        container.upload_blob("blob", b"second")
    blob.upload_blob(b"second", overwrite=True)
    assert blob.download_blob().readall() == b"second"


@pytest.mark.parametrize("name", [
    "plain", "with space", "a/b/c", "dot.txt", "per%cent", "plus+and&=?#", "ümlaut/ß", "日本語", "emoji😀", "trailing/", "x" * 1024,
    "quote'\"", "a//b",
])
def test_names_of_every_kind(container, name):
    blob = container.upload_blob(name, name.encode())
    assert blob.download_blob().readall() == name.encode()
    assert [item.name for item in container.list_blobs()] == [name]
    blob.delete_blob()


@pytest.mark.parametrize("offset, length, expected", [(0, 5, b"01234"), (3, 4, b"3456"), (7, None, b"789"), (5, 100, b"56789")])
def test_ranges(container, offset, length, expected):
    blob = container.upload_blob("blob", b"0123456789")
    assert blob.download_blob(offset=offset, length=length).readall() == expected


def test_a_range_past_the_end_is_refused(container):
    blob = container.upload_blob("blob", b"0123456789")
    with refused("InvalidRange", 416):
        blob.download_blob(offset=10, length=1).readall()


def test_large_blob_in_parallel_blocks(container):
    content = os.urandom(MIB) * 100
    blob = container.get_blob_client("large")
    blob.upload_blob(content, max_concurrency=8)
    assert blob.get_blob_properties().size == len(content)
    assert len(blob.get_block_list()[0]) == 25
    got = blob.download_blob(max_concurrency=8).readall()
    assert hashlib.sha256(got).digest() == hashlib.sha256(content).digest()
    start = 37 * MIB - 11
    assert blob.download_blob(offset=start, length=5 * MIB + 3).readall() == content[start : start + 5 * MIB + 3]


def test_a_large_single_put(server):
    with BlobServiceClient.from_connection_string(server.connection_string, max_single_put_size=128 * MIB) as service:
        container = service.create_container(new_name())
        content = os.urandom(MIB) * 80
        blob = container.upload_blob("large", content)
        assert blob.get_block_list()[0] == []
        assert blob.download_blob(max_concurrency=4).readall() == content
        container.delete_container()


def test_a_stream_of_unknown_length(container):
    class Stream(io.RawIOBase):
        left = 9 * MIB

        def readable(self):
            return True

        def readinto(self, buffer):
            size = min(len(buffer), self.left, 100_000)
            buffer[:size] = b"s" * size
            self.left -= size
            return size

    blob = container.get_blob_client("stream")
    blob.upload_blob(Stream())
    assert blob.download_blob().readall() == b"s" * (9 * MIB)


@pytest.mark.parametrize("validate", [True, "md5", "crc64", "auto"])
@pytest.mark.parametrize("size", [1000, 9 * MIB])
def test_content_is_validated_both_ways(server, validate, size):
    options = {"max_single_put_size": 4 * MIB, "max_block_size": 2 * MIB, "max_single_get_size": 3 * MIB, "max_chunk_get_size": 2 * MIB}
    with BlobServiceClient.from_connection_string(server.connection_string, retry_total=0, **options) as service:
        container = service.create_container(new_name())
        content = os.urandom(size)
        blob = container.get_blob_client("blob")
        blob.upload_blob(content, validate_content=validate)
        assert blob.download_blob(validate_content=validate).readall() == content
        blob.upload_blob(io.BytesIO(content), overwrite=True, validate_content=validate)
        assert blob.download_blob(validate_content=validate, max_concurrency=3).readall() == content
        container.delete_container()


def test_a_wrong_md5_is_refused_and_nothing_is_kept(container):
    blob = container.get_blob_client("blob")
    wrong = base64.b64encode(hashlib.md5(b"other").digest()).decode()
    with refused("Md5Mismatch", 400):
        blob.upload_blob(b"content", headers={"Content-MD5": wrong})
    assert not blob.exists()


# --- Blocks ----------------------------------------------------------------------------------------------------------


def block(number):
    return f"block-{number:03}"


def test_blocks_are_invisible_until_committed(container):
    blob = container.get_blob_client("blob")
    for number in range(3):
        blob.stage_block(block(number), bytes([65 + number]) * 10)
    assert not blob.exists() and list(container.list_blobs()) == []
    assert [item.name for item in container.list_blobs(include=["uncommittedblobs"])] == ["blob"]
    committed, uncommitted = blob.get_block_list("all")
    assert (len(committed), sorted(part.id for part in uncommitted)) == (0, [block(n) for n in range(3)])
    blob.commit_block_list([BlobBlock(block(2)), BlobBlock(block(0)), BlobBlock(block(2))])
    assert blob.download_blob().readall() == b"C" * 10 + b"A" * 10 + b"C" * 10
    committed, uncommitted = blob.get_block_list("all")
    assert ([part.id for part in committed], uncommitted) == ([block(2), block(0), block(2)], [])


def test_a_blob_is_edited_by_its_blocks(container):
    blob = container.get_blob_client("blob")
    for number in range(4):
        blob.stage_block(block(number), bytes([65 + number]) * 5)
    blob.commit_block_list([BlobBlock(block(n)) for n in range(4)], metadata={"edition": "1"})
    blob.stage_block(block(1), b"new")
    blob.commit_block_list([BlobBlock(block(0)), BlobBlock(block(1)), BlobBlock(block(3))], metadata={"edition": "2"})
    assert blob.download_blob().readall() == b"AAAAAnewDDDDD"
    assert blob.get_blob_properties().metadata == {"edition": "2"}


def test_a_list_with_an_unknown_block_is_refused(container):
    blob = container.get_blob_client("blob")
    blob.stage_block(block(1), b"x")
    with refused("InvalidBlockList", 400):
        blob.commit_block_list([BlobBlock(block(1)), BlobBlock(block(9))])
    assert not blob.exists()


def test_block_ids_of_different_lengths_are_refused(container):
    blob = container.get_blob_client("blob")
    blob.stage_block("aaaa", b"x")
    with refused("InvalidBlobOrBlock", 400):
        blob.stage_block("aaaaaaaa", b"x")


# --- Snapshots and deletion ------------------------------------------------------------------------------------------


def test_a_snapshot_keeps_what_was(container):
    blob = container.upload_blob("blob", b"first", metadata={"edition": "1"})
    snapshot = blob.create_snapshot()
    blob.upload_blob(b"second", overwrite=True)
    then = BlobClient(
        container.url.rsplit("/", 1)[0], container.container_name, "blob", snapshot=snapshot["snapshot"], credential=container.credential
    )
    assert then.download_blob().readall() == b"first" and then.get_blob_properties().metadata == {"edition": "1"}
    assert blob.download_blob().readall() == b"second"
    listed = [(item.name, item.snapshot) for item in container.list_blobs(include=["snapshots"])]
    assert listed == [("blob", snapshot["snapshot"]), ("blob", None)]
    then.delete_blob()
    with refused("BlobNotFound", 404):
        then.download_blob()


def test_a_blob_with_snapshots_is_deleted_only_on_purpose(container):
    blob = container.upload_blob("blob", b"x")
    blob.create_snapshot()
    with refused("SnapshotsPresent", 409):
        blob.delete_blob()
    blob.delete_blob(delete_snapshots="only")
    assert [item.snapshot for item in container.list_blobs(include=["snapshots"])] == [None]
    blob.create_snapshot()
    blob.delete_blob(delete_snapshots="include")
    assert list(container.list_blobs(include=["snapshots"])) == []
    with refused("BlobNotFound", 404):
        blob.delete_blob()


# --- Conditions and leases -------------------------------------------------------------------------------------------


def test_optimistic_concurrency(container):
    blob = container.upload_blob("blob", b"1")
    etag = blob.get_blob_properties().etag
    unchanged = {"etag": etag, "match_condition": MatchConditions.IfNotModified}
    blob.upload_blob(b"2", overwrite=True, **unchanged)
    with pytest.raises(ResourceModifiedError) as caught:
        blob.upload_blob(b"3", overwrite=True, **unchanged)
    assert (caught.value.status_code, caught.value.error_code) == (412, StorageErrorCode.CONDITION_NOT_MET)
    with pytest.raises(ResourceModifiedError):
        blob.delete_blob(**unchanged)
    with pytest.raises(ResourceModifiedError):
        blob.set_blob_metadata({"a": "b"}, **unchanged)
    assert blob.download_blob().readall() == b"2"


def test_reading_only_what_changed(container):
    blob = container.upload_blob("blob", b"1")
    properties = blob.get_blob_properties()
    with pytest.raises(HttpResponseError) as caught:
        blob.download_blob(etag=properties.etag, match_condition=MatchConditions.IfModified)
    assert caught.value.status_code == 304
    with pytest.raises(HttpResponseError) as caught:
        blob.get_blob_properties(if_modified_since=properties.last_modified + datetime.timedelta(minutes=1))
    assert caught.value.status_code == 304
    assert blob.download_blob(if_unmodified_since=properties.last_modified).readall() == b"1"


def test_a_lease_keeps_others_from_writing(container):
    blob = container.upload_blob("blob", b"1")
    lease = blob.acquire_lease(lease_duration=15)
    with refused("LeaseIdMissing", 412):
        blob.upload_blob(b"2", overwrite=True)
    with refused("LeaseIdMismatchWithBlobOperation", 412):
        blob.upload_blob(b"2", overwrite=True, lease=str(uuid.uuid4()))
    with refused("LeaseIdMissing", 412):
        blob.delete_blob()
    with refused("LeaseAlreadyPresent", 409):
        BlobLeaseClient(blob, str(uuid.uuid4())).acquire()
    assert blob.download_blob().readall() == b"1", "reading needs no lease"
    blob.upload_blob(b"2", overwrite=True, lease=lease)
    properties = blob.get_blob_properties()
    assert (properties.lease.status, properties.lease.state, properties.lease.duration) == ("locked", "leased", "fixed")
    lease.release()
    blob.upload_blob(b"3", overwrite=True)
    assert blob.get_blob_properties().lease.state == "available"


def test_breaking_changing_and_renewing_a_lease(container):
    blob = container.upload_blob("blob", b"1")
    lease = blob.acquire_lease()
    assert blob.get_blob_properties().lease.duration == "infinite"
    other = str(uuid.uuid4())
    lease.change(other)
    assert lease.id == other
    lease.renew()
    assert lease.break_lease(lease_break_period=0) == 0
    assert blob.get_blob_properties().lease.state == "broken"
    with refused("LeaseIsBrokenAndCannotBeRenewed", 409):
        lease.renew()
    blob.upload_blob(b"2", overwrite=True)
    again = blob.acquire_lease(lease_duration=60)
    assert again.break_lease(lease_break_period=30) in (29, 30)
    assert blob.get_blob_properties().lease.state == "breaking"


# --- Listings --------------------------------------------------------------------------------------------------------


def test_flat_listing_in_pages(container):
    names = [f"blob-{n:03}" for n in range(25)]
    for name in reversed(names):
        container.upload_blob(name, b"x")
    pages = [[item.name for item in page] for page in container.list_blobs(results_per_page=10).by_page()]
    assert [len(page) for page in pages] == [10, 10, 5]
    assert sum(pages, []) == names
    first = container.list_blobs(results_per_page=10).by_page()
    list(next(first))
    resumed = container.list_blobs(results_per_page=10).by_page(first.continuation_token)
    assert [item.name for page in resumed for item in page] == names[10:]
    assert list(container.list_blob_names(name_starts_with="blob-02")) == names[20:]


def test_a_listing_says_what_a_blob_is(container):
    container.upload_blob("blob", b"12345", metadata={"k": "v"}, content_settings=ContentSettings(content_type="text/css"))
    item = next(iter(container.list_blobs(include=["metadata"])))
    assert (item.size, item.metadata, item.blob_type) == (5, {"k": "v"}, "BlockBlob")
    assert item.content_settings.content_type == "text/css"
    assert item.lease.state == "available" and item.etag and item.creation_time and item.last_modified


def test_folders(container):
    for name in ["a/1", "a/2", "a/b/3", "c", "d/4", "e!"]:
        container.upload_blob(name, b"")

    def walk(prefix=""):
        found = container.walk_blobs(name_starts_with=prefix, delimiter="/", results_per_page=2)
        return [(item.name, isinstance(item, BlobPrefix)) for item in found]

    assert walk() == [("a/", True), ("c", False), ("d/", True), ("e!", False)]
    assert walk("a/") == [("a/1", False), ("a/2", False), ("a/b/", True)]


# --- Shared access signatures and public access ----------------------------------------------------------------------


def test_blob_sas_allows_what_it_says(server, container):
    blob = container.upload_blob("blob", b"shared")
    sas = generate_blob_sas(ACCOUNT, container.container_name, "blob", account_key=KEY, permission=BlobSasPermissions(read=True), expiry=soon())
    shared = BlobClient.from_blob_url(f"{blob.url}?{sas}")
    assert shared.download_blob().readall() == b"shared"
    with refused("AuthorizationPermissionMismatch", 403):
        shared.upload_blob(b"x", overwrite=True)
    other = BlobClient.from_blob_url(f"{container.get_blob_client('other').url}?{sas}")
    with refused("AuthenticationFailed", 403):
        other.download_blob()
    expired = generate_blob_sas(
        ACCOUNT, container.container_name, "blob", account_key=KEY, permission="r", start=soon(-3), expiry=soon(-2)
    )
    with refused("AuthenticationFailed", 403):
        BlobClient.from_blob_url(f"{blob.url}?{expired}").download_blob()


def test_a_sas_can_choose_response_headers(container):
    blob = container.upload_blob("blob", b"x", content_settings=ContentSettings(content_type="text/plain"))
    sas = generate_blob_sas(
        ACCOUNT, container.container_name, "blob", account_key=KEY, permission="r", expiry=soon(),
        content_type="image/png", content_disposition="attachment",
    )
    with urllib.request.urlopen(f"{blob.url}?{sas}") as answer:
        assert (answer.headers["Content-Type"], answer.headers["Content-Disposition"]) == ("image/png", "attachment")


def test_container_sas(container):
    container.upload_blob("one", b"1")
    sas = generate_container_sas(
        ACCOUNT, container.container_name, account_key=KEY, permission=ContainerSasPermissions(read=True, list=True, create=True), expiry=soon()
    )
    shared = ContainerClient.from_container_url(f"{container.url}?{sas}")
    assert [item.name for item in shared.list_blobs()] == ["one"]
    shared.upload_blob("two", b"2")
    with refused("UnauthorizedBlobOverwrite", 403):
        shared.upload_blob("one", b"overwritten", overwrite=True)
    with refused("AuthorizationPermissionMismatch", 403):
        shared.delete_blob("one")


def test_a_sas_ends_with_its_stored_policy(container):
    blob = container.upload_blob("blob", b"x")
    container.set_container_access_policy({"readers": AccessPolicy(permission="r", expiry=soon())})
    sas = generate_blob_sas(ACCOUNT, container.container_name, "blob", account_key=KEY, policy_id="readers")
    shared = BlobClient.from_blob_url(f"{blob.url}?{sas}")
    assert shared.download_blob().readall() == b"x"
    container.set_container_access_policy({})
    with refused("AuthenticationFailed", 403):
        shared.download_blob()


def test_account_sas(server, container):
    sas = generate_account_sas(
        ACCOUNT, KEY, resource_types=ResourceTypes(service=True, container=True, object=True),
        permission=AccountSasPermissions(read=True, list=True, write=True, create=True), expiry=soon(),
    )
    shared = BlobServiceClient(server.endpoint, credential=sas)
    assert container.container_name in [item.name for item in shared.list_containers()]
    blob = shared.get_blob_client(container.container_name, "blob")
    blob.upload_blob(b"by SAS")
    assert blob.download_blob().readall() == b"by SAS"
    with refused("AuthorizationPermissionMismatch", 403):
        blob.delete_blob()
    objects = generate_account_sas(ACCOUNT, KEY, resource_types=ResourceTypes(object=True), permission="rl", expiry=soon())
    with refused("AuthorizationResourceTypeMismatch", 403):
        list(BlobServiceClient(server.endpoint, credential=objects).list_containers())


def test_a_sas_for_https_or_another_address_is_refused(container):
    blob = container.upload_blob("blob", b"x")
    for limits, code in [({"protocol": "https"}, "AuthorizationProtocolMismatch"), ({"ip": "203.0.113.7"}, "AuthorizationSourceIPMismatch")]:
        sas = generate_blob_sas(ACCOUNT, container.container_name, "blob", account_key=KEY, permission="r", expiry=soon(), **limits)
        with refused(code, 403):
            BlobClient.from_blob_url(f"{blob.url}?{sas}").download_blob()


def test_public_access(container):
    blob = container.upload_blob("blob", b"public")
    anonymous = BlobClient.from_blob_url(blob.url)
    visitor = ContainerClient.from_container_url(container.url)
    with pytest.raises(HttpResponseError):
        anonymous.download_blob()
    container.set_container_access_policy({}, public_access=PublicAccess.BLOB)
    assert anonymous.download_blob().readall() == b"public"
    with pytest.raises(HttpResponseError):
        list(visitor.list_blobs())
    container.set_container_access_policy({}, public_access=PublicAccess.CONTAINER)
    assert [item.name for item in visitor.list_blobs()] == ["blob"]
    with pytest.raises(HttpResponseError):
        anonymous.delete_blob()


# --- Errors that applications catch ----------------------------------------------------------------------------------


def test_the_errors_of_absent_things(service, container):
    with pytest.raises(ResourceNotFoundError) as caught:
        container.get_blob_client("absent").download_blob()
    assert caught.value.error_code == StorageErrorCode.BLOB_NOT_FOUND
    with pytest.raises(ResourceNotFoundError) as caught:
        service.get_container_client(new_name()).upload_blob("blob", b"x")
    assert caught.value.error_code == StorageErrorCode.CONTAINER_NOT_FOUND
    with pytest.raises(ResourceExistsError):
        service.create_container(container.container_name)
    with pytest.raises(ResourceNotFoundError):
        container.get_blob_client("absent").get_blob_properties()
    assert not container.get_blob_client("absent").exists()


def test_every_answer_carries_the_request_ids(container):
    seen = {}
    container.upload_blob("blob", b"x", raw_response_hook=lambda call: seen.update(call.http_response.headers))
    headers = {name.lower(): value for name, value in seen.items()}
    assert uuid.UUID(headers["x-ms-request-id"]) and uuid.UUID(headers["x-ms-client-request-id"])
    assert headers["x-ms-version"] and headers["date"]
