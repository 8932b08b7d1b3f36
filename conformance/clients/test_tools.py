"""The command-line tools that people move data with: az, AzCopy and rclone. Each uploads, lists, copies down and deletes."""

import datetime
import filecmp
import json
import os
import pathlib
import subprocess
import uuid

import pytest
from azure.storage.blob import AccountSasPermissions, BlobServiceClient, ResourceTypes, generate_account_sas
from azure.storage.fileshare import ShareServiceClient

from server import ACCOUNT, CACHE, KEY

MIB = 1 << 20


def run(command, environment=None, check=True):
    ran = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, timeout=300, env={**os.environ, **(environment or {})}
    )
    assert not check or ran.returncode == 0, f"{command} ended with {ran.returncode}:\n{ran.stdout}\n{ran.stderr}"
    return ran


@pytest.fixture
def tree(tmp_path):
    """A directory as people have them: nested, with odd names, an empty file and a large one."""
    root = tmp_path / "tree"
    for name, content in {
        "readme.txt": b"hello",
        "empty": b"",
        "deep/er/file with space.bin": os.urandom(70_000),
        "deep/ümlaut ß.txt": "grüße".encode(),
        "deep/per%cent+plus.txt": b"%",
        "large.bin": os.urandom(MIB) * 20,
    }.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return root


def files(root):
    root = pathlib.Path(root)
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())


def assert_same(one, other):
    assert files(one) == files(other)
    _, different, unreadable = filecmp.cmpfiles(one, other, files(one), shallow=False)
    assert (different, unreadable) == ([], [])


# --- az --------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def az(server, tmp_path_factory):
    environment = {
        "AZURE_STORAGE_CONNECTION_STRING": server.connection_string,
        "AZURE_CONFIG_DIR": str(tmp_path_factory.mktemp("az")),
        "AZURE_CORE_COLLECT_TELEMETRY": "false",
        "AZURE_CORE_NO_COLOR": "true",
        "AZURE_CORE_ONLY_SHOW_ERRORS": "true",
    }

    def az(*words, check=True):
        ran = run([CACHE / "bin/az", "storage", *words, "--output", "json"], environment, check)
        return (json.loads(ran.stdout) if ran.stdout.strip().startswith(("{", "[", '"', "t", "f")) else ran.stdout) if check else ran

    return az


def test_az_containers_and_blobs(az, tree, tmp_path):
    name = f"az-{uuid.uuid4()}"
    assert az("container", "create", "--name", name, "--metadata", "colour=blue")["created"]
    assert az("container", "show", "--name", name)["metadata"] == {"colour": "blue"}
    uploaded = az("blob", "upload", "-c", name, "-n", "docs/readme.txt", "-f", tree / "readme.txt", "--content-type", "text/markdown")
    assert uploaded["etag"]
    shown = az("blob", "show", "-c", name, "-n", "docs/readme.txt")
    assert (shown["properties"]["contentLength"], shown["properties"]["contentSettings"]["contentType"]) == (5, "text/markdown")
    az("blob", "upload-batch", "-d", name, "-s", tree, "--max-connections", "4")
    listed = [item["name"] for item in az("blob", "list", "-c", name)]
    assert listed == sorted(["docs/readme.txt", *files(tree)])
    down = tmp_path / "down"
    down.mkdir()
    az("blob", "download", "-c", name, "-n", "large.bin", "-f", down / "large.bin")
    assert (down / "large.bin").read_bytes() == (tree / "large.bin").read_bytes()
    az("blob", "delete", "-c", name, "-n", "docs/readme.txt")
    az("blob", "download-batch", "-d", down, "-s", name, "--overwrite")
    assert_same(tree, down)
    az("container", "delete", "--name", name)
    assert az("container", "exists", "--name", name) == {"exists": False}


def test_az_queues_and_messages(az):
    name = f"az-{uuid.uuid4()}"
    assert az("queue", "create", "--name", name)["created"]
    az("message", "put", "-q", name, "--content", "one & <two>")
    assert [message["content"] for message in az("message", "peek", "-q", name)] == ["one & <two>"]
    [got] = az("message", "get", "-q", name, "--visibility-timeout", "60")
    held = ["-q", name, "--id", got["id"]]
    updated = az("message", "update", *held, "--pop-receipt", got["popReceipt"], "--visibility-timeout", "0", "--content", "three")
    az("message", "delete", *held, "--pop-receipt", updated["popReceipt"])
    az("message", "clear", "-q", name)
    assert name in [queue["name"] for queue in az("queue", "list")]
    assert az("queue", "delete", "--name", name) == {"deleted": True}


def test_az_shares_directories_and_files(az, tree, tmp_path):
    name = f"az-{uuid.uuid4()}"
    assert az("share", "create", "--name", name, "--quota", "5")["created"]
    assert az("share", "show", "--name", name)["properties"]["quota"] == 5
    az("directory", "create", "-s", name, "-n", "dir")
    az("file", "upload", "-s", name, "--source", tree / "readme.txt", "-p", "dir/readme.txt", "--content-type", "text/markdown")
    shown = az("file", "show", "-s", name, "-p", "dir/readme.txt")
    assert (shown["properties"]["contentLength"], shown["properties"]["contentSettings"]["contentType"]) == (5, "text/markdown")
    assert [item["name"] for item in az("file", "list", "-s", name, "-p", "dir")] == ["readme.txt"]
    az("file", "delete", "-s", name, "-p", "dir/readme.txt")
    az("directory", "delete", "-s", name, "-n", "dir")
    az("file", "upload-batch", "-d", name, "-s", tree, "--max-connections", "4")
    down = tmp_path / "down"
    down.mkdir()
    az("file", "download-batch", "-d", down, "-s", name)
    assert_same(tree, down)
    snapshot = az("share", "snapshot", "--name", name)["snapshot"]
    assert az("share", "delete", "--name", name, "--delete-snapshots", "include") == {"deleted": True}
    assert snapshot and az("share", "exists", "--name", name) == {"exists": False}


def test_az_tables_and_entities(az):
    name = f"az{uuid.uuid4().hex}"
    assert az("table", "create", "--name", name)["created"]
    az("entity", "insert", "-t", name, "-e", "PartitionKey=p", "RowKey=r", "Content=one & <two>", "Count=3", "Count@odata.type=Edm.Int32")
    shown = az("entity", "show", "-t", name, "--partition-key", "p", "--row-key", "r")
    assert (shown["Content"], shown["Count"]) == ("one & <two>", 3)
    az("entity", "merge", "-t", name, "-e", "PartitionKey=p", "RowKey=r", "More=x")
    az("entity", "replace", "-t", name, "-e", "PartitionKey=p", "RowKey=r", "Only=y")
    az("entity", "insert", "-t", name, "-e", "PartitionKey=p", "RowKey=s", "--if-exists", "replace")
    found = az("entity", "query", "-t", name, "--filter", "PartitionKey eq 'p' and RowKey lt 's'")["items"]
    assert [(one["RowKey"], one.get("Only"), one.get("More")) for one in found] == [("r", "y", None)]
    az("entity", "delete", "-t", name, "--partition-key", "p", "--row-key", "r")
    az("table", "policy", "create", "-t", name, "-n", "reader", "--permissions", "r", "--expiry", "2099-01-01T00:00Z")
    assert list(az("table", "policy", "list", "-t", name)) == ["reader"]
    assert name in [table["name"] for table in az("table", "list")]
    assert az("table", "exists", "--name", name) == {"exists": True}
    assert az("table", "delete", "--name", name) == {"deleted": True}
    assert az("table", "exists", "--name", name) == {"exists": False}


def test_az_leases_snapshots_and_signatures(az, server, tree):
    name = f"az-{uuid.uuid4()}"
    az("container", "create", "--name", name)
    az("blob", "upload", "-c", name, "-n", "blob", "-f", tree / "readme.txt")
    lease = az("blob", "lease", "acquire", "-c", name, "-b", "blob", "--lease-duration", "15")
    denied = az("blob", "delete", "-c", name, "-n", "blob", check=False)
    assert denied.returncode != 0 and "LeaseIdMissing" in denied.stderr
    az("blob", "lease", "release", "-c", name, "-b", "blob", "--lease-id", lease)
    assert az("blob", "snapshot", "-c", name, "-n", "blob")["snapshot"]
    expiry = (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)).strftime("%Y-%m-%dT%H:%MZ")
    sas = az("container", "generate-sas", "--name", name, "--permissions", "rl", "--expiry", expiry)
    with_sas = run(
        [CACHE / "bin/az", "storage", "blob", "list", "--blob-endpoint", server.endpoint, "-c", name, "--sas-token", sas, "-o", "tsv", "--query", "[].name"],
        {"AZURE_STORAGE_CONNECTION_STRING": ""},
    )
    assert with_sas.stdout.split() == ["blob"]
    az("container", "delete", "--name", name)


# --- AzCopy ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def azcopy(tmp_path):
    environment = {
        "AZCOPY_LOG_LOCATION": str(tmp_path / "azcopy-log"), "AZCOPY_JOB_PLAN_LOCATION": str(tmp_path / "azcopy-plan"),
        "AZCOPY_DISABLE_SYSLOG": "true",
    }
    return lambda *words: run([CACHE / "bin/azcopy", *words, "--skip-version-check"], environment).stdout


def test_azcopy(azcopy, server, service, tree, tmp_path):
    sas = generate_account_sas(
        ACCOUNT, KEY, resource_types=ResourceTypes(service=True, container=True, object=True),
        permission=AccountSasPermissions(read=True, write=True, delete=True, list=True, add=True, create=True),
        expiry=datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1),
    )
    name = f"azcopy-{uuid.uuid4()}"
    url = lambda path="": f"{server.endpoint}/{name}{path}?{sas}"
    service.create_container(name)  # AzCopy makes containers only where the host's name says "blob".
    azcopy("copy", f"{tree}/*", url(), "--recursive", "--from-to=LocalBlob", "--put-md5")
    listed = azcopy("list", url(), "--machine-readable", "--location=Blob")
    for file in files(tree):
        assert file in listed
    down = tmp_path / "down"
    azcopy("copy", url("/*"), down, "--recursive", "--from-to=BlobLocal", "--check-md5=FailIfDifferentOrMissing")
    assert_same(tree, down)
    # From server to server: small blobs by Put Blob From URL, large ones by Put Block From URL.
    there = service.create_container(f"{name}-copy")
    azcopy("copy", url("/*"), f"{server.endpoint}/{name}-copy?{sas}", "--recursive", "--from-to=BlobBlob")
    container = service.get_container_client(name)
    for file in files(tree):
        assert there.download_blob(file).readall() == container.download_blob(file).readall()
    (tree / "readme.txt").write_bytes(b"changed")
    (tree / "new.txt").write_bytes(b"new")
    azcopy("sync", tree, url(), "--from-to=LocalBlob", "--delete-destination=true", "--compare-hash=MD5", "--put-md5")
    container = service.get_container_client(name)
    assert container.download_blob("readme.txt").readall() == b"changed"
    assert sorted(container.list_blob_names()) == files(tree)
    azcopy("remove", url("/deep"), "--recursive", "--from-to=BlobTrash")
    assert [blob for blob in container.list_blob_names() if blob.startswith("deep/")] == []
    azcopy("remove", url(), "--recursive", "--from-to=BlobTrash")
    assert list(container.list_blob_names()) == []


def test_azcopy_shares(azcopy, server, tree, tmp_path):
    sas = generate_account_sas(
        ACCOUNT, KEY, resource_types=ResourceTypes(service=True, container=True, object=True),
        permission=AccountSasPermissions(read=True, write=True, delete=True, list=True, add=True, create=True),
        expiry=datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1), services="f",
    )
    name = f"azcopy-{uuid.uuid4()}"
    url = lambda path="": f"{server.file_endpoint}/{name}{path}?{sas}"
    with ShareServiceClient.from_connection_string(server.connection_string, retry_total=0) as shares:
        share = shares.create_share(name)
        azcopy("copy", f"{tree}/*", url(), "--recursive", "--from-to=LocalFile", "--put-md5")
        down = tmp_path / "down"
        azcopy("copy", url("/*"), down, "--recursive", "--from-to=FileLocal", "--check-md5=FailIfDifferentOrMissing")
        assert_same(tree, down)
        (tree / "readme.txt").write_bytes(b"changed")
        azcopy("sync", tree, url(), "--from-to=LocalFile", "--delete-destination=true")
        assert share.get_file_client("readme.txt").download_file().readall() == b"changed"
        azcopy("remove", url("/deep"), "--recursive", "--from-to=FileTrash")
        assert not share.get_directory_client("deep").exists()
        share.delete_share()


# --- rclone ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def rclone(server, tmp_path):
    environment = {
        "RCLONE_CONFIG": str(tmp_path / "rclone.conf"),
        "RCLONE_CONFIG_LAZULI_TYPE": "azureblob",
        "RCLONE_CONFIG_LAZULI_ACCOUNT": ACCOUNT,
        "RCLONE_CONFIG_LAZULI_KEY": KEY,
        "RCLONE_CONFIG_LAZULI_ENDPOINT": server.endpoint,
    }
    (tmp_path / "rclone.conf").touch()
    return lambda *words: run([CACHE / "bin/rclone", *words, "--retries", "1"], environment).stdout


def test_rclone(rclone, tree, tmp_path):
    bucket = f"lazuli:rclone-{uuid.uuid4()}"
    rclone("mkdir", bucket)
    rclone("copy", tree, bucket, "--transfers", "4", "--azureblob-chunk-size", "4Mi", "--azureblob-upload-cutoff", "8Mi")
    assert sorted(rclone("lsf", "-R", "--files-only", bucket).splitlines()) == files(tree)
    rclone("check", tree, bucket, "--download")
    sizes = json.loads(rclone("lsjson", "-R", "--files-only", bucket))
    assert {item["Path"]: item["Size"] for item in sizes}["large.bin"] == 20 * MIB
    down = tmp_path / "down"
    rclone("copy", bucket, down)
    assert_same(tree, down)
    (tree / "readme.txt").write_bytes(b"changed")
    (tree / "empty").unlink()
    rclone("sync", tree, bucket)
    rclone("check", tree, bucket, "--download")
    assert rclone("cat", f"{bucket}/readme.txt") == "changed"
    rclone("delete", f"{bucket}/deep")
    assert sorted(rclone("lsf", "-R", "--files-only", bucket).splitlines()) == ["large.bin", "readme.txt"]
    rclone("purge", bucket)
    assert bucket.split(":")[1] not in rclone("lsd", "lazuli:")


def test_azcopy_between_servers(azcopy, own, server, service, tree, tmp_path):
    """As README has it: the target is told that it may fetch from the source, and AzCopy what the addresses stand for."""
    target = own(tmp_path / "target", flags=["--copy-source", server.endpoint.split("/")[2]])
    sas = generate_account_sas(
        ACCOUNT, KEY, resource_types=ResourceTypes(service=True, container=True, object=True),
        permission=AccountSasPermissions(read=True, write=True, delete=True, list=True, add=True, create=True),
        expiry=datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1),
    )
    name = f"azcopy-{uuid.uuid4()}"
    here = service.create_container(name)
    there = BlobServiceClient.from_connection_string(target.connection_string, retry_total=0).create_container(name)
    for file in files(tree):
        here.upload_blob(file, (tree / file).read_bytes())
    # To AzCopy, addresses that differ in nothing but the port are the same place.
    url = f"{target.endpoint.replace('127.0.0.1', 'localhost')}/{name}?{sas}"
    azcopy("copy", f"{server.endpoint}/{name}/*?{sas}", url, "--recursive", "--from-to=BlobBlob")
    copied = {item.name: there.download_blob(item.name).readall() for item in there.list_blobs()}
    assert copied == {file: (tree / file).read_bytes() for file in files(tree)}
