"""Versions, soft delete, restored containers, and finding blobs by their tags, as the Python SDK sees them."""

import uuid

import pytest
from azure.core import MatchConditions
from azure.core.exceptions import HttpResponseError, ResourceNotFoundError
from azure.storage.blob import BlobServiceClient, ContainerSasPermissions, generate_container_sas

from server import ACCOUNT, KEY, Server


def serve(directory, **settings):
    flags = [
        word
        for name, value in settings.items()
        for word in ("--setting", f"{ACCOUNT}:{name.replace('_', '-')}={value}")
    ]
    return Server(directory, flags=flags)


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A server that keeps everything, and one that keeps no versions."""
    both = serve(
        tmp_path_factory.mktemp("versions"),
        versioning="on", blob_soft_delete=7, permanent_delete="on", container_soft_delete=7,
    )
    plain = serve(tmp_path_factory.mktemp("deleted"), blob_soft_delete=7)
    yield {"versions": client(both), "deleted": client(plain)}
    for server in (both, plain):
        server.stop()


def client(server):
    return BlobServiceClient.from_connection_string(server.connection_string, retry_total=0)


@pytest.fixture
def versions(kept):
    return kept["versions"].create_container(f"test-{uuid.uuid4()}")


@pytest.fixture
def deleted(kept):
    return kept["deleted"].create_container(f"test-{uuid.uuid4()}")


def listed(container, *include):
    return [
        (blob.name, blob.snapshot is not None, bool(blob.deleted), bool(blob.is_current_version), bool(blob.has_versions_only))
        for blob in container.list_blobs(include=list(include))
    ]


def test_every_write_is_a_version(versions):
    blob = versions.get_blob_client("a")
    first = blob.upload_blob(b"one")["version_id"]
    second = blob.upload_blob(b"two", overwrite=True)["version_id"]
    third = blob.set_blob_metadata({"k": "v"})["version_id"]
    assert len({first, second, third}) == 3
    assert blob.download_blob(version_id=first).readall() == b"one"
    old, new = blob.get_blob_properties(version_id=second), blob.get_blob_properties()
    assert (old.metadata, old.is_current_version, new.metadata, new.is_current_version) == ({}, None, {"k": "v"}, True)
    assert [item.version_id for item in versions.list_blobs(include=["versions"])] == [first, second, third]


def test_a_deleted_blob_is_its_versions_and_one_is_promoted(versions):
    blob = versions.get_blob_client("a")
    first = blob.upload_blob(b"one")["version_id"]
    blob.upload_blob(b"two", overwrite=True)
    blob.delete_blob()
    assert not blob.exists()
    assert listed(versions) == []
    assert listed(versions, "deletedwithversions") == [("a", False, False, False, True)]
    blob.upload_blob(blob.download_blob(version_id=first).readall())
    assert blob.download_blob().readall() == b"one"
    assert len(listed(versions, "versions")) == 3


def test_a_version_is_deleted_softly_then_for_good(versions):
    blob = versions.get_blob_client("a")
    first = blob.upload_blob(b"one")["version_id"]
    second = blob.upload_blob(b"two", overwrite=True)["version_id"]
    with pytest.raises(HttpResponseError) as refused:
        blob.delete_blob(version_id=second)
    assert (refused.value.status_code, refused.value.error_code) == (403, "OperationNotAllowedOnRootBlob")
    blob.delete_blob(version_id=first)
    with pytest.raises(ResourceNotFoundError) as missing:
        blob.get_blob_properties(version_id=first)
    assert missing.value.response.headers["x-ms-is-soft-deleted"] == "true"
    blob.undelete_blob()
    assert blob.download_blob(version_id=first).readall() == b"one"
    blob.delete_blob(version_id=first)
    one = versions.get_blob_client("a")
    one._client.blob.delete(version_id=first, blob_delete_type="Permanent")
    blob.undelete_blob()
    with pytest.raises(ResourceNotFoundError):
        blob.get_blob_properties(version_id=first)


def test_what_was_deleted_comes_back_with_its_snapshots(deleted):
    blob = deleted.get_blob_client("a")
    blob.upload_blob(b"one", metadata={"k": "v"})
    snapshot = blob.create_snapshot()
    blob.upload_blob(b"two", overwrite=True)
    blob.delete_blob(delete_snapshots="include")
    assert listed(deleted) == []
    everything = listed(deleted, "snapshots", "deleted")
    assert everything == [("a", True, True, False, False)] * 2 + [("a", False, True, False, False)]
    item = next(iter(deleted.list_blobs(include=["deleted"])))
    assert item.deleted_time and item.remaining_retention_days in (6, 7)
    blob.undelete_blob()
    assert blob.download_blob().readall() == b"two"
    old = deleted.get_blob_client("a", snapshot=snapshot["snapshot"])
    assert old.download_blob().readall() == b"one"
    assert old.get_blob_properties().metadata == {"k": "v"}
    assert len(listed(deleted, "snapshots")) == 3


def test_a_condition_does_not_see_what_was_deleted(deleted):
    blob = deleted.get_blob_client("a")
    etag = blob.upload_blob(b"one")["etag"]
    blob.delete_blob()
    with pytest.raises(HttpResponseError) as refused:
        blob.upload_blob(b"two", overwrite=True, etag=etag, match_condition=MatchConditions.IfNotModified)
    assert refused.value.status_code == 412
    blob.upload_blob(b"three")
    blob.undelete_blob()
    assert blob.download_blob().readall() == b"three"
    assert len(listed(deleted, "snapshots")) == 2


def test_a_container_is_restored(kept):
    service = kept["versions"]
    container = service.create_container(f"test-{uuid.uuid4()}")
    name = container.container_name
    container.upload_blob("a", b"text")
    container.delete_container()
    with pytest.raises(ResourceNotFoundError):
        container.get_container_properties()
    gone = [one for one in service.list_containers(name_starts_with=name, include_deleted=True) if one.deleted]
    assert len(gone) == 1
    service.create_container(name)
    with pytest.raises(HttpResponseError) as refused:
        service.undelete_container(name, gone[0].version)
    assert refused.value.error_code == "ContainerAlreadyExists"
    service.delete_container(name)
    service.undelete_container(name, gone[0].version)
    assert container.download_blob("a").readall() == b"text"


def test_blobs_are_found_by_their_tags(kept):
    service = kept["versions"]
    mark = uuid.uuid4().hex
    one, two = (service.create_container(f"test-{mark}-{n}") for n in (1, 2))
    for n in range(10):
        one.upload_blob(f"b{n}", b"x", tags={"mark": mark, "n": f"{n:02}"})
    two.upload_blob("other", b"x", tags={"mark": mark, "n": "99", "a b": "c:d"})

    def found(text, where=service):
        return [(blob.container_name, blob.name) for blob in where.find_blobs_by_tags(text, results_per_page=3)]

    assert len(found(f"mark='{mark}'")) == 11
    assert found(f"mark='{mark}' AND n='05'") == [(one.container_name, "b5")]
    assert found(f"mark='{mark}' AND n>'07'") == [
        (one.container_name, "b8"), (one.container_name, "b9"), (two.container_name, "other"),
    ]
    assert found(f"@container='{two.container_name}' AND mark='{mark}'") == [(two.container_name, "other")]
    assert found(f"\"a b\"='c:d' AND mark='{mark}'") == [(two.container_name, "other")]
    assert len(found("n>='00'", one)) == 10
    item = next(iter(one.find_blobs_by_tags("n='03'")))
    assert item.tags == {"n": "03"}
    one.get_blob_client("b3").set_blob_tags({"n": "30"})
    assert found("n='03'", one) == []
    one.upload_blob("b4", b"y", overwrite=True)
    assert found("n='04'", one) == []
    one.delete_blob("b5")
    assert found("n='05'", one) == []
    with pytest.raises(HttpResponseError) as refused:
        found("n='1' OR n='2'")
    assert refused.value.status_code == 400


def test_a_sas_needs_the_letter_for_a_search(kept):
    service = kept["versions"]
    container = service.create_container(f"test-{uuid.uuid4()}")
    container.upload_blob("a", b"x", tags={"t": "1"})

    def search(**letters):
        token = generate_container_sas(
            ACCOUNT, container.container_name, account_key=KEY, permission=ContainerSasPermissions(**letters),
            expiry="2100-01-01T00:00:00Z",
        )
        client = BlobServiceClient(service.url, credential=token, retry_total=0)
        return [blob.name for blob in client.get_container_client(container.container_name).find_blobs_by_tags("t='1'")]

    assert search(filter_by_tags=True) == ["a"]
    with pytest.raises(HttpResponseError) as refused:
        search(read=True, list=True, write=True)
    assert refused.value.error_code == "AuthorizationPermissionMismatch"
