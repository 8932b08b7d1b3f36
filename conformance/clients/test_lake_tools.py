"""Tools for lakes on an account with a hierarchical namespace: adlfs, pyarrow, DuckDB, Delta Lake, Polars, OpenDAL, az and AzCopy."""

import concurrent.futures
import datetime
import json
import os
import re
import subprocess
import uuid

import adlfs
import deltalake
import opendal
import polars
import pyarrow
import pyarrow.parquet
import pytest
from azure.storage.blob import AccountSasPermissions, ResourceTypes, generate_account_sas
from azure.storage.filedatalake import DataLakeServiceClient
from pyarrow import fs

from server import CACHE, KEY

LAKE = "devstorelake1"


@pytest.fixture
def connection_string(server):
    """As the banner has it."""
    blob, dfs = (re.sub(r"/[^/]*$", f"/{LAKE}", url) for url in (server.endpoint, server.dfs_endpoint))
    return f"DefaultEndpointsProtocol=http;AccountName={LAKE};AccountKey={KEY};BlobEndpoint={blob};DfsEndpoint={dfs};"


@pytest.fixture(params=["host", "path"])
def arrow(server, request):
    """With the account in the host name, or in the path: then the C++ SDK leaves it out of the new name of a rename."""
    blob, dfs = (re.match(r"http://([^:]+)(:\d+)/", url).groups() for url in (server.endpoint, server.dfs_endpoint))
    blob, dfs = (f".blob.localhost{blob[1]}", f".dfs.localhost{dfs[1]}") if request.param == "host" else ("".join(blob), "".join(dfs))
    return lambda: fs.AzureFileSystem(
        LAKE, account_key=KEY, blob_storage_scheme="http", dfs_storage_scheme="http", blob_storage_authority=blob, dfs_storage_authority=dfs,
    )


def test_adlfs(connection_string):
    lake = adlfs.AzureBlobFileSystem(account_name=LAKE, connection_string=connection_string, skip_instance_cache=True)
    place = f"adlfs-{uuid.uuid4()}"
    lake.mkdir(place)
    with lake.open(f"{place}/dir/sub/file", "wb") as file:
        file.write(b"x" * 100_000)
    assert lake.cat(f"{place}/dir/sub/file") == b"x" * 100_000
    assert lake.find(place) == [f"{place}/dir/sub/file"]
    assert lake.isdir(f"{place}/dir") and lake.ls(f"{place}/dir", detail=False) == [f"{place}/dir/sub"]
    lake.mv(f"{place}/dir/sub/file", f"{place}/dir/moved")
    assert lake.exists(f"{place}/dir/moved") and not lake.exists(f"{place}/dir/sub/file")
    lake.rm(place, recursive=True)


def test_arrow_makes_a_file_system_and_directories_at_once(arrow):
    lake, place = arrow(), f"arrow-{uuid.uuid4()}"
    lake.create_dir(f"{place}/a/b")
    assert arrow().get_file_info(f"{place}/a/b").type == fs.FileType.Directory


def test_arrow_makes_directories_and_moves_them(arrow):
    place = f"arrow-{uuid.uuid4()}"
    arrow().create_dir(place)
    # Asked once and remembered: whether there is a hierarchy. Where there was no file system, Arrow takes it that there is none.
    arrow = arrow()
    arrow.create_dir(f"{place}/a/b")
    assert arrow.get_file_info(f"{place}/a/b").type == fs.FileType.Directory
    table = pyarrow.table({"cat": ["tom"], "lives": [9]})
    pyarrow.parquet.write_table(table, f"{place}/a/b/cats.parquet", filesystem=arrow)
    arrow.move(f"{place}/a/b", f"{place}/c")
    assert pyarrow.parquet.read_table(f"{place}/c/cats.parquet", filesystem=arrow) == table
    assert arrow.get_file_info(f"{place}/a/b").type == fs.FileType.NotFound
    listed = arrow.get_file_info(fs.FileSelector(place, recursive=True))
    assert sorted(info.path for info in listed) == [f"{place}/{path}" for path in ("a", "c", "c/cats.parquet")]
    # Arrow breaks the lease that it moves with, which ends some seconds later: what was moved is left for the file system's end.
    arrow.delete_dir(f"{place}/a")
    assert arrow.get_file_info(f"{place}/a").type == fs.FileType.NotFound
    arrow.delete_dir(place)

@pytest.fixture
def place(connection_string):
    """A file system for one test, by its name."""
    with DataLakeServiceClient.from_connection_string(connection_string, retry_total=0) as service:
        system = service.create_file_system(f"tools-{uuid.uuid4()}")
        yield system.file_system_name
        system.delete_file_system()


def names(connection_string, place):
    with DataLakeServiceClient.from_connection_string(connection_string) as service:
        return [path.name for path in service.get_file_system_client(place).get_paths()]


def test_adlfs_moves_and_finds(connection_string, place):
    lake = adlfs.AzureBlobFileSystem(account_name=LAKE, connection_string=connection_string, skip_instance_cache=True)
    lake.makedirs(f"{place}/a/b")
    lake.pipe_file(f"{place}/a/b/one", b"1")
    lake.pipe_file(f"{place}/a/b/two", b"22")
    assert lake.glob(f"{place}/a/*/t*") == [f"{place}/a/b/two"]
    assert lake.du(f"{place}/a") == 3
    lake.cp_file(f"{place}/a/b/one", f"{place}/a/copied")
    for name in ("one", "two"):
        lake.mv(f"{place}/a/b/{name}", f"{place}/c/{name}")
    assert sorted(lake.find(f"{place}/c")) == [f"{place}/c/one", f"{place}/c/two"]
    lake.rm(f"{place}/a", recursive=True)
    assert not lake.exists(f"{place}/a") and lake.cat_file(f"{place}/c/two", start=1, end=2) == b"2"


@pytest.fixture
def duckdb(connection_string):
    import duckdb
    from duckdb_extensions import import_extension

    with duckdb.connect() as connection:
        import_extension("azure", con=connection)
        connection.execute("load azure")
        connection.execute(f"create secret lake (type azure, connection_string '{connection_string}')")
        yield connection


def test_duckdb(duckdb, place):
    rows = "select i as id, i % 3 as part, repeat('x', 100) as filler from range(10000) as numbers(i)"
    duckdb.execute(f"copy ({rows}) to 'abfss://{place}/one.parquet' (format parquet)")
    duckdb.execute(f"copy ({rows}) to 'abfss://{place}/parted' (format parquet, partition_by (part))")
    assert duckdb.execute(f"select count(*), sum(id) from 'abfss://{place}/one.parquet'").fetchone() == (10000, 49995000)
    parted = f"read_parquet('abfss://{place}/parted/*/*.parquet', hive_partitioning = true)"
    assert duckdb.execute(f"select part, count(*) from {parted} group by part order by part").fetchall() == [(0, 3334), (1, 3333), (2, 3333)]
    duckdb.execute(f"copy (select 1 as a, 'two' as b) to 'abfss://{place}/deep/er/few.csv' (header)")
    assert duckdb.execute(f"select * from 'abfss://{place}/deep/er/*.csv'").fetchall() == [(1, "two")]
    everything = duckdb.execute(f"select file from glob('abfss://{place}/**') order by file").fetchall()
    assert len(everything) == 5 and everything[0][0].endswith("deep/er/few.csv")


@pytest.fixture
def delta_options(server):
    lake = re.sub(r"/[^/]*$", f"/{LAKE}", server.endpoint)
    return {"account_name": LAKE, "account_key": KEY, "azure_storage_endpoint": lake, "allow_http": "true"}


def test_deltalake(delta_options, place):
    url = f"abfss://{place}@{LAKE}.dfs.core.windows.net/tables/cats"
    for number in range(3):
        deltalake.write_deltalake(url, pyarrow.table({"id": [number, number + 10]}), mode="append", storage_options=delta_options)
    table = deltalake.DeltaTable(url, storage_options=delta_options)
    assert (table.version(), sorted(table.to_pyarrow_table()["id"].to_pylist())) == (2, [0, 1, 2, 10, 11, 12])
    table.delete("id >= 10")
    table.optimize.compact()
    removed = table.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    assert removed and sorted(polars.read_delta(url, storage_options=delta_options)["id"]) == [0, 1, 2]
    assert polars.read_delta(url, version=4, storage_options=delta_options).height == 3


def test_deltalake_takes_one_of_two_commits(delta_options, place):
    """The log's next file is made only if nobody has made it: Put Blob with If-None-Match, or a rename."""
    url = f"abfss://{place}@{LAKE}.dfs.core.windows.net/raced"
    deltalake.write_deltalake(url, pyarrow.table({"id": [0]}), storage_options=delta_options)

    def add(number):
        deltalake.write_deltalake(url, pyarrow.table({"id": [number]}), mode="append", storage_options=delta_options)

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(add, range(1, 9)))
    table = deltalake.DeltaTable(url, storage_options=delta_options)
    assert (table.version(), sorted(table.to_pyarrow_table()["id"].to_pylist())) == (8, list(range(9)))


def test_polars(delta_options, place):
    base = f"abfss://{place}@{LAKE}.dfs.core.windows.net"
    frame = polars.DataFrame({"id": range(1000), "name": [f"n{number}" for number in range(1000)]})
    frame.write_parquet(f"{base}/frames/a.parquet", storage_options=delta_options)
    frame.lazy().sink_parquet(f"{base}/frames/b.parquet", storage_options=delta_options)
    read = polars.scan_parquet(f"{base}/frames/*.parquet", storage_options=delta_options).filter(polars.col("id") > 989).collect()
    assert read.height == 20


def test_opendal(server, place):
    dfs = re.sub(r"/[^/]*$", f"/{LAKE}", server.dfs_endpoint)
    lake = opendal.Operator("azdls", filesystem=place, root="/top", endpoint=dfs, account_name=LAKE, account_key=KEY)
    lake.create_dir("dir/")
    lake.write("dir/file é", b"hello" * 1000)
    assert lake.read("dir/file é") == b"hello" * 1000
    assert (lake.stat("dir/file é").content_length, str(lake.stat("dir/").mode)) == (5000, "EntryMode.Dir")
    lake.rename("dir/file é", "dir/renamed")
    assert sorted(entry.path for entry in lake.list("dir/")) == ["dir/", "dir/renamed"]
    with pytest.raises(opendal.exceptions.NotFound):
        lake.stat("dir/file é")
    lake.delete("dir/renamed")
    assert [entry.path for entry in lake.list("dir/")] == ["dir/"]


def test_az(connection_string, place, tmp_path):
    environment = {
        **os.environ, "AZURE_STORAGE_CONNECTION_STRING": connection_string, "AZURE_CONFIG_DIR": str(tmp_path / "az"),
        "AZURE_CORE_COLLECT_TELEMETRY": "false", "AZURE_CORE_ONLY_SHOW_ERRORS": "true",
    }

    def az(*words):
        command = [str(word) for word in (CACHE / "bin/az", "storage", "fs", *words, "-f", place, "--output", "json")]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)
        assert ran.returncode == 0, f"{command}: {ran.stdout}{ran.stderr}"
        return json.loads(ran.stdout or "null")

    (tmp_path / "up").write_bytes(b"from az")
    az("directory", "create", "-n", "d/e")
    az("file", "upload", "-s", tmp_path / "up", "-p", "d/e/file")
    az("file", "move", "-p", "d/e/file", "--new-path", f"{place}/d/moved")
    az("directory", "move", "-n", "d", "--new-directory", f"{place}/dd")
    assert [item["name"] for item in az("file", "list")] == ["dd", "dd/e", "dd/moved"]
    az("file", "download", "-p", "dd/moved", "-d", tmp_path / "down")
    assert (tmp_path / "down").read_bytes() == b"from az"
    az("access", "set", "-p", "dd", "--acl", "user::rwx,group::r-x,other::--x")
    assert az("access", "show", "-p", "dd")["permissions"] == "rwxr-x--x"
    changed = az("access", "update-recursive", "-p", "dd", "--acl", f"user:{uuid.uuid4()}:r-x")
    assert changed["counters"] == {"directoriesSuccessful": 2, "failureCount": 0, "filesSuccessful": 1}
    az("directory", "delete", "-n", "dd", "-y")
    assert az("directory", "exists", "-n", "dd") == {"exists": False}


def test_azcopy(server, connection_string, place, tmp_path):
    """By its name for Data Lake, BlobFS: directories are real, also when they are empty."""
    environment = {**os.environ, "AZCOPY_LOG_LOCATION": str(tmp_path / "log"), "AZCOPY_JOB_PLAN_LOCATION": str(tmp_path / "plan")}
    expiry = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)
    sas = generate_account_sas(LAKE, KEY, ResourceTypes(True, True, True), AccountSasPermissions.from_string("rwdlacup"), expiry)
    dfs = re.sub(r"/[^/]*$", f"/{LAKE}", server.dfs_endpoint)
    url = lambda path: f"{dfs}/{place}/{path}?{sas}"

    def azcopy(*words):
        command = [str(word) for word in (CACHE / "bin/azcopy", *words)]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment, stdin=subprocess.DEVNULL)
        assert ran.returncode == 0, f"{command}: {ran.stdout}{ran.stderr}"

    tree = tmp_path / "tree"
    for name, content in {"a": b"", "sub/b c": b"b", "sub/deep/large": os.urandom(1 << 20) * 9}.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_bytes(content)
    (tree / "empty").mkdir()
    azcopy("copy", tree, url("top"), "--recursive", "--from-to", "LocalBlobFS")
    paths = ["top", "top/tree", "top/tree/a", "top/tree/empty", "top/tree/sub", "top/tree/sub/b c", "top/tree/sub/deep", "top/tree/sub/deep/large"]
    assert names(connection_string, place) == paths
    azcopy("copy", url("top/tree"), tmp_path / "down", "--recursive", "--from-to", "BlobFSLocal")
    seen = sorted(str(path.relative_to(tmp_path / "down/tree")) for path in (tmp_path / "down/tree").rglob("*"))
    assert seen == sorted(path.removeprefix("top/tree/") for path in paths[2:])
    assert (tmp_path / "down/tree/sub/deep/large").read_bytes() == (tree / "sub/deep/large").read_bytes()
    azcopy("remove", url("top"), "--recursive", "--from-to", "BlobFSTrash")
    assert names(connection_string, place) == []
