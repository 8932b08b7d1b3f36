"""pyarrow's AzureFileSystem. It asks first whether the account has a hierarchical namespace; ours say that they are flat, and it does with blobs."""

import re
import uuid

import pyarrow
import pyarrow.parquet
import pytest
from pyarrow import fs

from server import ACCOUNT, KEY


def authority(url):
    return re.match(r"http://([^/]+)/", url).group(1)


@pytest.fixture(params=["blob", "dfs"])
def azure(server, request):
    """Its Data Lake calls go to the port of blobs, as with Azurite, or to one of their own."""
    lake = server.endpoint if request.param == "blob" else server.dfs_endpoint
    return fs.AzureFileSystem(
        ACCOUNT, account_key=KEY, blob_storage_scheme="http", dfs_storage_scheme="http",
        blob_storage_authority=authority(server.endpoint), dfs_storage_authority=authority(lake),
    )


@pytest.fixture
def place(azure):
    name = f"arrow-{uuid.uuid4()}"
    azure.create_dir(name)
    yield name
    azure.delete_dir(name)


def listed(azure, place):
    found = azure.get_file_info(fs.FileSelector(place, recursive=True))
    return sorted((one.path.removeprefix(place + "/"), one.type.name, one.size) for one in found)


def test_directories_and_files(azure, place):
    azure.create_dir(f"{place}/one/two", recursive=True)
    with azure.open_output_stream(f"{place}/one/a.txt", metadata={"content-type": "text/plain"}) as out:
        out.write(b"hello ")
        out.write(b"world")
    with azure.open_input_stream(f"{place}/one/a.txt") as stream:
        assert stream.read() == b"hello world"
    with azure.open_input_file(f"{place}/one/a.txt") as file:
        assert (file.size(), file.read_at(5, 6)) == (11, b"world")
    with azure.open_append_stream(f"{place}/one/a.txt") as out:
        out.write(b"!")
    azure.copy_file(f"{place}/one/a.txt", f"{place}/one/two/b.txt")
    assert listed(azure, place) == [
        ("one", "Directory", None), ("one/a.txt", "File", 12), ("one/two", "Directory", None), ("one/two/b.txt", "File", 12),
    ]
    assert azure.get_file_info(f"{place}/none").type == fs.FileType.NotFound
    assert azure.get_file_info(f"{place}-none/none").type == fs.FileType.NotFound
    azure.delete_file(f"{place}/one/a.txt")
    azure.delete_dir_contents(f"{place}/one/two")
    assert listed(azure, place) == [("one", "Directory", None), ("one/two", "Directory", None)]
    azure.delete_dir(f"{place}/one")
    assert listed(azure, place) == []


def test_moving_is_what_it_is_on_any_flat_account(azure, place):
    with azure.open_output_stream(f"{place}/a") as out:
        out.write(b"x")
    with pytest.raises(NotImplementedError, match="without Hierarchical Namespace"):
        azure.move(f"{place}/a", f"{place}/b")


def test_a_parquet_dataset(azure, place):
    table = pyarrow.table({"colour": ["grey", "black", "grey"], "lives": [9, 7, 1]})
    pyarrow.parquet.write_to_dataset(table, f"{place}/cats", partition_cols=["colour"], filesystem=azure)
    read = pyarrow.parquet.read_table(f"{place}/cats", filesystem=azure, filters=[("lives", ">", 5)])
    assert sorted(zip(read["colour"].to_pylist(), read["lives"].to_pylist())) == [("black", 7), ("grey", 9)]
