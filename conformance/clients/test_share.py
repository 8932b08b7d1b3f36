"""Azure's Python SDK for file shares, unmodified: shares, directories, files, ranges, snapshots, leases and signatures."""

import concurrent.futures
import datetime
import os
import urllib.error
import urllib.request
import uuid

import pytest
from azure.core.exceptions import ClientAuthenticationError, HttpResponseError, ResourceNotFoundError
from azure.storage.fileshare import (
    AccessPolicy,
    AccountSasPermissions,
    ContentSettings,
    CorsRule,
    FileSasPermissions,
    NTFSAttributes,
    ResourceTypes,
    ShareClient,
    ShareFileClient,
    ShareSasPermissions,
    ShareServiceClient,
    generate_account_sas,
    generate_file_sas,
    generate_share_sas,
)

from server import ACCOUNT, KEY

MIB = 1 << 20
SDDL = "O:S-1-5-21-2127521184-1604012920-1887927527-21560751G:S-1-5-21-2127521184-1604012920-1887927527-513D:AI(A;;FA;;;SY)(A;;FA;;;BA)"


@pytest.fixture(scope="module")
def shares(server):
    if not server.file_endpoint:
        pytest.skip("no file endpoint")
    with ShareServiceClient.from_connection_string(server.connection_string, retry_total=0) as client:
        yield client


@pytest.fixture
def share(shares):
    client = shares.create_share(f"test-{uuid.uuid4()}")
    yield client
    try:
        client.delete_share(delete_snapshots=True)
    except HttpResponseError:
        pass  # The test deleted or leased it.


def soon(seconds=3600):
    return datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=seconds)


def refused(work, status, code):
    with pytest.raises(HttpResponseError) as error:
        work()
    assert (error.value.status_code, error.value.error_code) == (status, code)
    return error.value


def names(listing):
    return [item["name"] for item in listing]


def test_a_share_lives_and_dies(shares):
    client = shares.get_share_client(f"test-{uuid.uuid4()}")
    refused(client.get_share_properties, 404, "ShareNotFound")
    client.create_share(metadata={"colour": "blue"}, quota=7, access_tier="Hot")
    refused(client.create_share, 409, "ShareAlreadyExists")
    found = client.get_share_properties()
    assert (found.metadata, found.quota, found.access_tier) == ({"colour": "blue"}, 7, "Hot")
    client.set_share_quota(3)
    client.set_share_metadata({"Shape": "round"})
    found = client.get_share_properties()
    assert (found.metadata, found.quota) == ({"Shape": "round"}, 3)
    listed = list(shares.list_shares(name_starts_with=client.share_name, include_metadata=True))
    assert [(one.name, one.metadata, one.quota) for one in listed] == [(client.share_name, {"Shape": "round"}, 3)]
    client.delete_share()
    refused(client.delete_share, 404, "ShareNotFound")
    client.create_share()  # the name is free at once
    client.delete_share()


@pytest.mark.parametrize("name", ["UPPER", "a--b", "啊齄丂狛狜", "a_b"])
def test_share_names_are_judged(shares, name):
    refused(lambda: shares.create_share(name), 400, "InvalidResourceName")


def test_pages_of_shares(shares):
    prefix = f"page-{uuid.uuid4().hex[:8]}-"
    for number in range(5):
        shares.create_share(f"{prefix}{number}")
    pages = [[one.name for one in page] for page in shares.list_shares(prefix, results_per_page=2).by_page()]
    assert pages == [[f"{prefix}0", f"{prefix}1"], [f"{prefix}2", f"{prefix}3"], [f"{prefix}4"]]
    for number in range(5):
        shares.delete_share(f"{prefix}{number}")


def test_directories(share):
    top = share.create_directory("Top", metadata={"a": "1"})
    refused(lambda: share.create_directory("top"), 409, "ResourceAlreadyExists")  # names are kept, and compared without case
    refused(lambda: share.create_directory("no/where"), 404, "ParentNotFound")
    sub = top.create_subdirectory("sub")
    assert share.get_directory_client("TOP/SUB").exists()
    refused(top.delete_directory, 409, "DirectoryNotEmpty")
    top.set_directory_metadata({"b": "2"})
    assert top.get_directory_properties().metadata == {"b": "2"}
    sub.delete_directory()
    top.delete_directory()
    assert not top.exists()
    refused(top.get_directory_properties, 404, "ResourceNotFound")


def test_listings(share):
    top = share.create_directory("top")
    for name in ["b", "A", "c0", "ümlaut ß", "per%cent", "[x] & 'y'"]:
        top.upload_file(name, name.encode())
    for name in ["dir", "c1"]:
        top.create_subdirectory(name)
    found = list(top.list_directories_and_files())
    assert sorted(names(found)) == sorted(["b", "A", "c0", "c1", "dir", "ümlaut ß", "per%cent", "[x] & 'y'"])
    assert {item["name"]: item["is_directory"] for item in found}["c1"] is True
    assert sorted(names(top.list_directories_and_files(name_starts_with="C"))) == ["c0", "c1"]
    pages = [names(page) for page in top.list_directories_and_files(results_per_page=3).by_page()]
    assert sorted(sum(pages, [])) == sorted(names(found)) and [len(page) for page in pages] == [3, 3, 2]
    rich = top.list_directories_and_files(include=["timestamps", "Etag", "Attributes", "PermissionKey"], include_extended_info=True)
    [one] = [item for item in rich if item["name"] == "b"]
    assert one["etag"] and one["last_write_time"] and one["file_attributes"] == "Archive" and one["permission_key"] and one["file_id"]
    refused(lambda: list(share.get_directory_client("none").list_directories_and_files()), 404, "ResourceNotFound")


@pytest.mark.parametrize("name", ["a|b", 'q"q', "a<b", "a*b", "a:b", "x" * 256])
def test_path_names_are_judged(share, name):
    with pytest.raises(HttpResponseError) as error:
        share.create_directory(name)
    assert error.value.status_code == 400


@pytest.mark.parametrize("size", [0, 1, 511, 4096, 16 * 1024, 70_000, 5 * MIB + 3])
def test_content_comes_back_exactly(share, size):
    content = os.urandom(size)
    file = share.get_file_client("file.bin")
    file.upload_file(content, max_concurrency=3)
    assert file.get_file_properties().size == size
    assert file.download_file().readall() == content
    if size > 10:
        assert file.download_file(offset=3, length=5).readall() == content[3:8]
    assert file.download_file(validate_content=True).readall() == content


def test_ranges(share):
    file = share.get_file_client("sparse")
    file.create_file(1 << 40)
    file.upload_range(b"a" * 512, 0, 512)
    file.upload_range(b"b" * 512, 1 << 39, 512, validate_content=True)
    assert file.get_ranges() == [{"start": 0, "end": 511}, {"start": 1 << 39, "end": (1 << 39) + 511}]
    assert file.download_file(offset=(1 << 39) - 2, length=4).readall() == b"\0\0bb"
    file.clear_range(0, 512)
    assert file.get_ranges() == [{"start": 1 << 39, "end": (1 << 39) + 511}]
    file.resize_file(1024)
    assert file.get_ranges() == [] and file.download_file().readall() == bytes(1024)
    refused(lambda: file.upload_range(b"x", 1024, 1), 416, "InvalidRange")
    refused(lambda: share.get_file_client("none").upload_range(b"x", 0, 1), 404, "ResourceNotFound")


def test_many_writers_write_their_ranges(share):
    file = share.get_file_client("shared")
    file.create_file(64 * 4096)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        work = [pool.submit(file.upload_range, bytes([at]) * 4096, at * 4096, 4096) for at in range(64)]
        for done in work:
            done.result()
    assert file.download_file().readall() == b"".join(bytes([at]) * 4096 for at in range(64))


def test_create_with_data(share):
    file = share.get_file_client("at once")
    file.create_file(11, data=b"hello world", content_settings=ContentSettings(content_type="text/plain"))
    found = file.get_file_properties()
    assert (found.size, found.content_settings.content_type) == (11, "text/plain")
    assert file.download_file().readall() == b"hello world"


def test_properties(share):
    file = share.get_file_client("file")
    when = datetime.datetime(2020, 2, 3, 4, 5, 6, tzinfo=datetime.timezone.utc)
    file.create_file(
        5, metadata={"Kind": "x"}, file_attributes=NTFSAttributes(hidden=True, temporary=True), file_creation_time=when,
        file_last_write_time=when, file_permission=SDDL,
        content_settings=ContentSettings(content_type="text/plain", content_language="de", cache_control="no-store"),
    )
    found = file.get_file_properties()
    assert found.metadata == {"Kind": "x"} and found.content_settings.content_language == "de"
    assert (found.file_attributes, found.creation_time, found.last_write_time) == ("Hidden | Archive | Temporary", when, when)
    assert share.get_permission_for_share(found.permission_key).startswith("O:S-1-5-21-2127521184")
    file.set_http_headers(ContentSettings(content_type="image/png"), file_attributes="ReadOnly")
    found = file.get_file_properties()
    assert (found.content_settings.content_type, found.content_settings.content_language) == ("image/png", None)
    assert found.file_attributes == "ReadOnly"
    refused(lambda: file.upload_range(b"12345", 0, 5), 409, "ReadOnlyAttribute")
    refused(lambda: share.get_file_client("bad").create_file(1, file_permission="abcde"), 400, "FileInvalidPermission")


def test_permissions_are_kept_once(share):
    key = share.create_permission_for_share(SDDL)
    assert share.create_permission_for_share(SDDL) == key
    assert share.get_permission_for_share(key).startswith("O:S-1-5-21-2127521184")
    directory = share.get_directory_client("dir")
    directory.create_directory(file_permission_key=key)
    assert directory.get_directory_properties().permission_key == key


def test_rename(share):
    source = share.create_directory("one").create_subdirectory("inner")
    source.upload_file("file", b"content")
    share.create_directory("two")
    moved = source.rename_directory("two/moved")
    assert moved.get_file_client("file").download_file().readall() == b"content"
    assert not source.exists()
    file = moved.get_file_client("file").rename_file("file2")
    assert file.download_file().readall() == b"content"
    share.get_file_client("taken").upload_file(b"old")
    refused(lambda: file.rename_file("taken"), 409, "ResourceAlreadyExists")
    replaced = file.rename_file("taken", overwrite=True)
    assert replaced.download_file().readall() == b"content"
    assert names(share.get_directory_client("two/moved").list_directories_and_files()) == []


def test_copy(share):
    share.get_file_client("source").upload_file(b"x" * 70_000, metadata={"a": "1"})
    target = share.get_file_client("target")
    started = target.start_copy_from_url(share.get_file_client("source").url)
    assert started["copy_status"] == "success"
    found = target.get_file_properties()
    assert (found.copy.status, found.size, found.metadata) == ("success", 70_000, {"a": "1"})
    assert target.download_file().readall() == b"x" * 70_000
    refused(lambda: target.abort_copy(started["copy_id"]), 409, "NoPendingCopyOperation")
    refused(lambda: target.start_copy_from_url(share.get_file_client("none").url), 404, "ResourceNotFound")


def test_range_from_url(share):
    share.get_file_client("source").upload_file(bytes(range(256)) * 16)
    token = generate_file_sas(ACCOUNT, share.share_name, ["source"], KEY, FileSasPermissions(read=True), soon())
    target = share.get_file_client("target")
    target.create_file(4096)
    target.upload_range_from_url(f"{share.get_file_client('source').url}?{token}", 512, 512, 1024)
    assert target.download_file().readall() == bytes(512) + (bytes(range(256)) * 16)[1024:1536] + bytes(3072)


def test_snapshots(share):
    directory = share.create_directory("dir")
    file = directory.upload_file("file", b"a" * 1024)
    taken = share.create_snapshot(metadata={"why": "test"})
    then = ShareClient.from_connection_string(share_connection(share), share.share_name, snapshot=taken, credential=KEY)
    file.upload_range(b"b" * 512, 512, 512)
    directory.upload_file("later", b"x")
    assert then.get_file_client("dir/file").download_file().readall() == b"a" * 1024
    assert names(then.get_directory_client("dir").list_directories_and_files()) == ["file"]
    assert then.get_share_properties().metadata == {"why": "test"}
    ranges, cleared = file.get_ranges_diff(taken["snapshot"])
    assert (ranges, cleared) == ([{"start": 512, "end": 1023}], [])
    refused(share.delete_share, 409, "ShareHasSnapshots")
    then.delete_share()
    refused(then.get_share_properties, 404, "ShareNotFound")


def share_connection(share):
    return f"DefaultEndpointsProtocol=http;AccountName={ACCOUNT};AccountKey={KEY};FileEndpoint={share.url.rsplit('/', 1)[0]};"


def test_leases(share):
    file = share.get_file_client("file")
    file.upload_file(b"x")
    lease = file.acquire_lease()
    refused(lambda: file.upload_range(b"y", 0, 1), 412, "LeaseIdMissing")
    refused(file.delete_file, 412, "LeaseIdMissing")
    refused(lambda: file.acquire_lease(lease_id=str(uuid.uuid4())), 409, "LeaseAlreadyPresent")
    refused(lambda: file.upload_range(b"y", 0, 1, lease=str(uuid.uuid4())), 412, "LeaseIdMismatchWithFileOperation")
    file.upload_range(b"y", 0, 1, lease=lease)
    found = file.get_file_properties()
    assert (found.lease.state, found.lease.status, found.lease.duration) == ("leased", "locked", "infinite")
    lease.change(str(uuid.uuid4()))
    assert lease.break_lease() == 0
    file.upload_range(b"z", 0, 1)
    held = share.acquire_lease(lease_duration=15)
    refused(share.delete_share, 412, "LeaseIdMissing")
    held.renew()
    held.release()
    assert share.get_share_properties().lease.state == "available"


def test_handles_are_listed_and_closed(share):
    file = share.get_file_client("file")
    file.upload_file(b"x")
    assert list(file.list_handles()) == []
    assert file.close_all_handles() == {"closed_handles_count": 0, "failed_handles_count": 0}
    root = share.get_directory_client()
    assert list(root.list_handles(recursive=True)) == []
    assert root.close_all_handles(recursive=True) == {"closed_handles_count": 0, "failed_handles_count": 0}


def test_trailing_dots(server, shares):
    keeps = ShareServiceClient.from_connection_string(server.connection_string, allow_trailing_dot=True, retry_total=0)
    share = keeps.create_share(f"test-{uuid.uuid4()}")
    share.create_directory("dir.").upload_file("file..", b"x")
    assert names(share.list_directories_and_files()) == ["dir."]
    plain = shares.get_share_client(share.share_name)
    assert not plain.get_directory_client("dir.").exists()
    plain.create_directory("dir.")
    assert sorted(names(share.list_directories_and_files())) == ["dir", "dir."]
    share.delete_share()


def test_statistics(share):
    assert share.get_share_stats() == 0
    share.get_file_client("file").upload_file(b"x" * 3000)
    assert share.get_share_stats() > 0


@pytest.mark.parametrize(
    "letters, allowed",
    [("r", {"read"}), ("c", {"create"}), ("w", {"create", "write"}), ("d", {"delete"}), ("l", {"list"}), ("rcwdl", None)],
)
def test_share_sas(server, share, letters, allowed):
    share.get_file_client("there").upload_file(b"x")
    token = generate_share_sas(ACCOUNT, share.share_name, KEY, ShareSasPermissions.from_string(letters), soon())
    client = ShareClient(server.file_endpoint, share.share_name, credential=token, retry_total=0)
    there = client.get_file_client("there")
    calls = {
        "read": lambda: there.download_file().readall(),
        "create": lambda: client.get_file_client("new").create_file(1),
        "write": lambda: there.upload_range(b"y", 0, 1),
        "list": lambda: list(client.list_directories_and_files()),
        "delete": there.delete_file,
    }
    for name, call in calls.items():
        if allowed is None or name in allowed:
            call()
        else:
            refused(call, 403, "AuthorizationPermissionMismatch")
    refused(client.delete_share, 403, "AuthorizationFailure")


def test_file_sas_and_policies(server, share):
    share.create_directory("dir").upload_file("file", b"content")
    share.get_file_client("other").upload_file(b"x")
    token = generate_file_sas(
        ACCOUNT, share.share_name, ["dir", "file"], KEY, FileSasPermissions(read=True), soon(), content_type="text/html"
    )
    client = ShareFileClient(server.file_endpoint, share.share_name, "dir/file", credential=token, retry_total=0)
    got = client.download_file()
    assert (got.readall(), got.properties.content_settings.content_type) == (b"content", "text/html")
    elsewhere = ShareFileClient(server.file_endpoint, share.share_name, "other", credential=token, retry_total=0)
    with pytest.raises(ClientAuthenticationError):
        elsewhere.download_file()
    share.set_share_access_policy({"readers": AccessPolicy(permission=ShareSasPermissions(read=True), expiry=soon())})
    assert share.get_share_access_policy()["signed_identifiers"][0].id == "readers"
    token = generate_share_sas(ACCOUNT, share.share_name, KEY, policy_id="readers")
    client = ShareFileClient(server.file_endpoint, share.share_name, "dir/file", credential=token, retry_total=0)
    assert client.download_file().readall() == b"content"
    share.set_share_access_policy({})
    with pytest.raises(ClientAuthenticationError):
        client.download_file()


def test_account_sas(server, share):
    def client(services="f", types=ResourceTypes(object=True), letters="rwc"):
        token = generate_account_sas(
            ACCOUNT, KEY, types, AccountSasPermissions.from_string(letters), soon(), services=services
        )
        return ShareClient(server.file_endpoint, share.share_name, credential=token, retry_total=0).get_file_client("file")

    client().upload_file(b"m")
    assert client().download_file().readall() == b"m"
    refused(lambda: client(services="b").get_file_properties(), 403, "AuthorizationServiceMismatch")
    refused(lambda: client(letters="r").upload_range(b"x", 0, 1), 403, "AuthorizationPermissionMismatch")
    refused(lambda: client(types=ResourceTypes(service=True)).get_file_properties(), 403, "AuthorizationResourceTypeMismatch")


def test_nobody_gets_in_without_a_key(server, share):
    url = f"{server.file_endpoint}/{share.share_name}?restype=directory&comp=list"
    # Who is asked for a token: only those who could have brought one.
    for version, refused in [("2021-06-08", (403, "AuthenticationFailed")), ("2023-01-03", (401, "NoAuthenticationInformation"))]:
        with pytest.raises(urllib.error.HTTPError) as error:
            urllib.request.urlopen(urllib.request.Request(url, headers={"x-ms-version": version}))
        assert (error.value.code, error.value.headers["x-ms-error-code"]) == refused
    client = ShareClient(server.file_endpoint, share.share_name, credential="d3Jvbmc=", retry_total=0)
    with pytest.raises(ClientAuthenticationError):
        client.get_share_properties()


def test_service_properties(shares):
    shares.set_service_properties(cors=[CorsRule(["http://a.example"], ["GET"], max_age_in_seconds=5)])
    found = shares.get_service_properties()
    assert [rule.allowed_origins for rule in found["cors"]] == ["http://a.example"]
    shares.set_service_properties(cors=[])
    assert shares.get_service_properties()["cors"] == []


def test_what_is_gone_is_gone(share):
    file = share.get_file_client("file")
    file.upload_file(b"x")
    file.delete_file()
    assert not file.exists()
    with pytest.raises(ResourceNotFoundError):
        file.download_file()
