"""Azure's Data Lake client against an account with a hierarchical namespace, and the Blob client on the same files."""

import asyncio
import re
import uuid

import pytest
from azure.core.exceptions import HttpResponseError, ResourceExistsError, ResourceModifiedError, ResourceNotFoundError
from azure.storage.blob import BlobServiceClient
from azure.storage.filedatalake import DataLakeServiceClient
from azure.storage.filedatalake.aio import DataLakeServiceClient as AsyncDataLakeServiceClient

from server import KEY

LAKE = "devstorelake1"


@pytest.fixture(scope="session")
def lake(server):
    """The account that a development server has for lake tools."""
    return re.sub(r"/[^/]*$", f"/{LAKE}", server.endpoint)


@pytest.fixture
def service(lake):
    with DataLakeServiceClient(lake, credential=KEY, retry_total=0) as client:
        yield client


@pytest.fixture
def blobs(lake):
    with BlobServiceClient(lake, credential=KEY, retry_total=0) as client:
        yield client


@pytest.fixture
def place(service):
    system = service.create_file_system(f"lake-{uuid.uuid4()}")
    yield system
    system.delete_file_system()


def names(system, **how):
    return [path.name for path in system.get_paths(**how)]


def test_files_and_directories(place):
    file = place.get_file_client("dir/sub/file.txt")
    file.upload_data(b"hello world", overwrite=True)
    assert file.download_file().readall() == b"hello world"
    assert names(place) == ["dir", "dir/sub", "dir/sub/file.txt"]
    assert names(place, recursive=False) == ["dir"]
    assert names(place, path="dir/sub") == ["dir/sub/file.txt"]
    listed = list(place.get_paths(path="dir"))
    assert [path.is_directory for path in listed] == [True, False] and listed[1].content_length == 11
    with pytest.raises(HttpResponseError):
        place.get_directory_client("dir").get_sub_directory_client("").get_directory_properties(lease=str(uuid.uuid4()))
    place.get_directory_client("dir").delete_directory()
    assert names(place) == []


def test_append_in_any_order_and_flush(place):
    file = place.create_file("f")
    file.append_data(b"world", 5)
    file.append_data(b"hello", 0)
    assert file.get_file_properties().size == 0
    file.flush_data(10)
    assert file.download_file().readall() == b"helloworld"
    with pytest.raises(HttpResponseError) as refused:
        file.flush_data(20)
    assert refused.value.error_code == "InvalidFlushPosition"
    file.append_data(b"!", 10, flush=True)
    assert file.download_file(offset=8).readall() == b"ld!"


def test_large_upload(place):
    data = bytes(range(256)) * (40 << 10)
    file = place.get_file_client("big")
    file.upload_data(data, overwrite=True, chunk_size=4 << 20)
    assert file.download_file().readall() == data


def test_a_rename_is_seen_by_both_doors(place, blobs):
    place.get_file_client("from/a/b").upload_data(b"x", overwrite=True)
    before = place.get_file_client("from/a/b").get_file_properties()
    moved = place.get_directory_client("from").rename_directory(f"{place.file_system_name}/to")
    assert moved.exists() and not place.get_directory_client("from").exists()
    after = place.get_file_client("to/a/b").get_file_properties()
    assert (before.etag, before.last_modified) == (after.etag, after.last_modified)
    container = blobs.get_container_client(place.file_system_name)
    assert [blob.name for blob in container.list_blobs()] == ["to", "to/a", "to/a/b"]
    assert container.download_blob("to/a/b").readall() == b"x"
    with pytest.raises(ResourceNotFoundError):
        container.download_blob("from/a/b")
    place.get_file_client("to/a/c").upload_data(b"y", overwrite=True)
    place.create_directory("other/full")
    with pytest.raises(ResourceExistsError):
        place.get_directory_client("to").rename_directory(f"{place.file_system_name}/other")


def test_blobs_are_files(place, blobs):
    container = blobs.get_container_client(place.file_system_name)
    container.upload_blob("made/by/blob", b"123", metadata={"who": "blob"})
    assert names(place) == ["made", "made/by", "made/by/blob"]
    properties = place.get_file_client("made/by/blob").get_file_properties()
    assert properties.size == 3 and properties.metadata == {"who": "blob"}
    walked = list(container.walk_blobs())
    assert [blob.name for blob in walked] == ["made/"]
    folder = container.get_blob_client("made").get_blob_properties()
    assert folder.metadata["hdi_isfolder"] == "true"
    with pytest.raises(HttpResponseError) as refused:
        container.delete_blob("made")
    assert refused.value.status_code == 409
    with pytest.raises(HttpResponseError) as refused:
        container.upload_blob("made", b"", overwrite=True)
    assert refused.value.status_code == 409


def test_access_control(place):
    directory = place.create_directory("d", permissions="rwxr-x---", umask="0000")
    assert directory.get_access_control()["permissions"] == "rwxr-x---"
    directory.set_access_control(acl="user::rwx,group::r-x,other::---,default:user::rwx,default:group::r-x,default:other::---")
    file = directory.create_file("f")
    assert file.get_access_control()["acl"] == "user::rw-,group::r--,other::---"
    who = str(uuid.uuid4())
    changed = directory.update_access_control_recursive(acl=f"user:{who}:r-x", batch_size=1)
    assert (changed.counters.directories_successful, changed.counters.files_successful) == (1, 1)
    assert f"user:{who}:r-x" in file.get_access_control()["acl"]
    directory.remove_access_control_recursive(acl=f"user:{who}")
    assert who not in file.get_access_control()["acl"]
    with pytest.raises(HttpResponseError) as refused:
        directory.set_access_control(permissions="nonsense")
    assert refused.value.error_code == "InvalidPermission"


def test_leases_and_conditions(place):
    file = place.create_file("f")
    etag = file.get_file_properties().etag
    lease = file.acquire_lease()
    with pytest.raises(HttpResponseError) as refused:
        file.append_data(b"x", 0)
    assert refused.value.error_code == "LeaseIdMissing"
    file.append_data(b"x", 0, lease=lease)
    file.flush_data(1, lease=lease)
    with pytest.raises(ResourceModifiedError):
        file.delete_file(etag=etag, match_condition=__import__("azure.core").core.MatchConditions.IfNotModified, lease=lease)
    file.delete_file(lease=lease)
    assert not file.exists()
    with pytest.raises(ResourceNotFoundError):
        file.append_data(b"x", 0)
    place.create_file("g")
    with pytest.raises(ResourceExistsError):
        place.get_file_client("g").create_file(match_condition=__import__("azure.core").core.MatchConditions.IfMissing)


def test_pages_of_paths(place):
    for number in range(25):
        place.create_file(f"d/{number:02}")
    pages = place.get_paths(max_results=10).by_page()
    assert [len(list(page)) for page in pages] == [10, 10, 6]


def test_a_full_directory_is_no_blob_to_delete(place, blobs):
    place.create_file("full/file")
    with pytest.raises(HttpResponseError) as refused:
        blobs.get_blob_client(place.file_system_name, "full").delete_blob()
    assert (refused.value.status_code, refused.value.error_code) == (409, "DirectoryIsNotEmpty")


def test_asynchronously(lake):
    async def run():
        async with AsyncDataLakeServiceClient(lake, credential=KEY, retry_total=0) as service:
            system = await service.create_file_system(f"lake-{uuid.uuid4()}")
            file = system.get_file_client("a/b")
            await file.upload_data(b"later", overwrite=True)
            assert await (await file.download_file()).readall() == b"later"
            moved = await file.rename_file(f"{system.file_system_name}/c")
            assert (await moved.get_file_properties()).size == 5
            await system.delete_file_system()

    asyncio.run(run())


def test_a_flat_account_says_so(server):
    with DataLakeServiceClient(server.endpoint, credential=KEY, retry_total=0) as service:
        system = service.create_file_system(f"flat-{uuid.uuid4()}")
        with pytest.raises(HttpResponseError) as refused:
            system.get_directory_client("/").get_access_control()
        assert refused.value.status_code == 400
        file = system.create_file("dir/file")
        file.append_data(b"flat", 0)
        file.flush_data(4)
        assert file.download_file().readall() == b"flat"
        system.delete_file_system()
