"""Tools for lakes on an account with a hierarchical namespace: adlfs, and pyarrow's file system with its directories and moves."""

import re
import uuid

import adlfs
import pyarrow
import pyarrow.parquet
import pytest
from pyarrow import fs

from server import KEY

LAKE = "devstorelake1"


@pytest.fixture
def connection_string(server):
    lake = re.sub(r"/[^/]*$", f"/{LAKE}", server.endpoint)
    return f"DefaultEndpointsProtocol=http;AccountName={LAKE};AccountKey={KEY};BlobEndpoint={lake};"


@pytest.fixture
def arrow(server):
    """With the account in the host name: where it is in the path, the C++ SDK leaves it out of the new name of a rename."""
    blob, dfs = (re.match(r"http://[^:]+(:\d+)/", url).group(1) for url in (server.endpoint, server.dfs_endpoint))
    return lambda: fs.AzureFileSystem(
        LAKE, account_key=KEY, blob_storage_scheme="http", dfs_storage_scheme="http",
        blob_storage_authority=f".blob.localhost{blob}", dfs_storage_authority=f".dfs.localhost{dfs}",
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
