"""Query Blob Contents with the real SDK, which decodes the Avro framing."""


import io
import json

import nanoarrow
import pyarrow
import pytest
from azure.core.exceptions import HttpResponseError
from azure.storage.blob import ArrowDialect, DelimitedJsonDialect, DelimitedTextDialect
from nanoarrow import ipc
from pyarrow import parquet

CSV = b"id,name,price\n1,apple,0.5\n2,\"pear, green\",0.75\n3,fig\n4,kiwi,2\n"
HEADED = DelimitedTextDialect(delimiter=",", quotechar='"', lineterminator="\n", escapechar="", has_header=True)
PLAIN = DelimitedTextDialect(delimiter=",", quotechar='"', lineterminator="\n", escapechar="", has_header=False)


def ask(blob, sql, **named):
    errors = []
    reader = blob.query_blob(sql, on_error=errors.append, **named)
    return reader.readall(), [(error.error, error.is_fatal) for error in errors]


@pytest.mark.parametrize("sql, expected", [
    ("SELECT * FROM BlobStorage", b'1,apple,0.5\n2,"pear, green",0.75\n3,fig\n4,kiwi,2\n'),
    ("SELECT name FROM BlobStorage WHERE id > 1", b'"pear, green"\nfig\nkiwi\n'),
    ("SELECT _1, UPPER(name) FROM BlobStorage WHERE name LIKE '%i%' LIMIT 1", b"3,FIG\n"),
    ("SELECT COUNT(*), MAX(id), SUM(id) * 2 FROM BlobStorage", b"4,4,20\n"),
    ("SELECT id FROM BlobStorage WHERE id IN (1, 4) OR name = 'fig'", b"1\n3\n4\n"),
    ("SELECT id FROM BlobStorage LIMIT 2", b"1\n2\n"),
])
def test_csv(container, sql, expected):
    blob = container.upload_blob("fruit.csv", CSV)
    assert ask(blob, sql, blob_format=HEADED, output_format=PLAIN) == (expected, [])


def test_a_record_that_is_too_short_is_passed_over(container):
    blob = container.upload_blob("fruit.csv", CSV)
    data, errors = ask(blob, "SELECT price FROM BlobStorage", blob_format=HEADED, output_format=PLAIN)
    assert data == b"0.5\n0.75\n2\n"
    assert errors == [("InvalidColumnOrdinal", False)]


def test_json(container):
    blob = container.upload_blob("things.json", b'{"a":{"b":[1,2]},"n":1}\n{"a":{"b":[3]},"n":"x"}\n{"n":null}')
    json = DelimitedJsonDialect(delimiter="\n")
    assert ask(blob, "SELECT * FROM BlobStorage WHERE a.b[0] > 1", blob_format=json)[0] == b'{"a":{"b":[3]},"n":"x"}\n'
    assert ask(blob, "SELECT n FROM BlobStorage[*]", blob_format=json)[0] == b'{"n":1}\n{"n":"x"}\n{"n":null}\n'
    data, errors = ask(blob, "SELECT a.b[1] AS second, n FROM BlobStorage", blob_format=json, output_format=HEADED)
    assert data == b"second,n\n2,1\n,x\n,\n"


def test_csv_to_json(container):
    blob = container.upload_blob("fruit.csv", CSV)
    data, _ = ask(blob, "SELECT id, name FROM BlobStorage LIMIT 1", blob_format=HEADED, output_format=DelimitedJsonDialect(delimiter=";"))
    assert data == b'{"id":"1","name":"apple"};'


def test_broken_json_is_fatal(container):
    blob = container.upload_blob("bad.json", b'{"a":1}\n{bad}\n')
    data, errors = ask(blob, "SELECT * FROM BlobStorage", blob_format=DelimitedJsonDialect(delimiter="\n"))
    assert data == b'{"a":1}\n' and errors == [("ParseError", True)]


def test_arrow(container):
    blob = container.upload_blob("fruit.csv", CSV)
    schema = [ArrowDialect("int64", name="id"), ArrowDialect("string", name="name"), ArrowDialect("double", name="price")]
    data, _ = ask(blob, "SELECT id, name, id FROM BlobStorage", blob_format=HEADED, output_format=schema)
    with ipc.InputStream.from_readable(io.BytesIO(data)) as stream:
        rows = nanoarrow.ArrayStream(stream).read_all().to_pylist()
    names = ["apple", "pear, green", "fig", "kiwi"]
    assert rows == [{"id": at + 1, "name": name, "price": at + 1.0} for at, name in enumerate(names)]


def test_a_listing_in_arrow(container):
    for name in ("a", "b & c", "dir/one", "dir/two", "z"):
        container.upload_blob(name, name.encode(), metadata={"colour": "grey"}, tags={"k": name[0]})
    listed = {one.name: one for one in container.list_blobs(include=["metadata", "tags"])}
    for one in container.list_blobs(include=["metadata", "tags"], response_format="arrow", results_per_page=2):
        other = listed.pop(one.name)
        for attribute in ("size", "etag", "last_modified", "metadata", "tags", "blob_type", "server_encrypted", "creation_time"):
            assert one[attribute] == other[attribute], attribute
    assert not listed
    names = [one.name for one in container.list_blobs(response_format="arrow", start_from="b", end_before="dir/two")]
    assert names == ["b & c", "dir/one"]
    assert [one.name for one in container.walk_blobs(response_format="arrow")] == ["a", "b & c", "dir/", "z"]


def test_a_large_blob_streams(container):
    line = b"0123456789," + b"x" * 88 + b"\n"
    count = 200_000
    blob = container.upload_blob("large.csv", line * count)
    assert ask(blob, "SELECT COUNT(*) FROM BlobStorage")[0] == f"{count}\n".encode()
    reader = blob.query_blob("SELECT * FROM BlobStorage")
    assert reader.readall() == line * count


def test_bad_sql_is_refused(container):
    blob = container.upload_blob("fruit.csv", CSV)
    with pytest.raises(HttpResponseError) as refused:
        blob.query_blob("SELECT FROM WHERE")
    assert refused.value.status_code == 400


def fruit():
    """Typed, nested and missing things, in two row groups."""
    return pyarrow.table({
        "id": pyarrow.array([1, 2, 3, 4], pyarrow.int64()),
        "name": ["apple", "pear, green", None, "kiwi"],
        "price": [0.5, 0.75, None, 2.0],
        "picked": pyarrow.array([1577934245678000, None, 0, 1767225600000000], pyarrow.timestamp("us")),
        "tags": [["red", "sweet"], [], None, ["green"]],
        "farm": [{"name": "north", "size": 3}, None, {"name": None, "size": 1}, {"name": "south", "size": 2}],
    })


@pytest.mark.parametrize("compression, version", [("snappy", "1.0"), ("gzip", "2.0"), ("zstd", "1.0"), ("lz4", "2.0"), ("brotli", "1.0"), ("none", "1.0")])
def test_parquet(container, compression, version):
    file = io.BytesIO()
    parquet.write_table(fruit(), file, compression=compression, data_page_version=version, row_group_size=2)
    blob = container.upload_blob("fruit.parquet", file.getvalue())
    for sql, expected in [
        ("SELECT id, name FROM BlobStorage WHERE price > 0.6", b'2,"pear, green"\n4,kiwi\n'),
        ("SELECT COUNT(*) FROM BlobStorage", b"4\n"),
        ("SELECT SUM(id), MAX(price) FROM BlobStorage WHERE name IS NOT NULL", b"7,2\n"),
        ("SELECT id FROM BlobStorage WHERE farm.size > 1", b"1\n4\n"),
        ("SELECT tags[0], farm.name FROM BlobStorage", b"red,north\n,\n,\ngreen,south\n"),
        ("SELECT id FROM BlobStorage WHERE picked > CAST('2020-01-01' AS TIMESTAMP)", b"1\n4\n"),
        ("SELECT id FROM BlobStorage LIMIT 3", b"1\n2\n3\n"),
    ]:
        assert ask(blob, sql, blob_format="ParquetDialect", output_format=PLAIN) == (expected, []), sql
    rows, errors = ask(blob, "SELECT * FROM BlobStorage", blob_format="ParquetDialect", output_format=DelimitedJsonDialect(delimiter="\n"))
    rows = [json.loads(row) for row in rows.splitlines()]
    assert errors == [] and rows[0] == {
        "id": 1, "name": "apple", "price": 0.5, "picked": "2020-01-02T03:04:05.6780000Z", "tags": ["red", "sweet"],
        "farm": {"name": "north", "size": 3},
    }
    assert rows[2]["tags"] is None and rows[1]["tags"] == [] and rows[2]["farm"] == {"name": None, "size": 1}


def test_parquet_of_some_size_streams(container):
    count = 100_000
    table = pyarrow.table({"n": list(range(count)), "text": [f"row {n % 1000} of it" for n in range(count)]})
    file = io.BytesIO()
    parquet.write_table(table, file, row_group_size=30_000)
    blob = container.upload_blob("rows.parquet", file.getvalue())
    data, errors = ask(blob, "SELECT COUNT(*), SUM(n) FROM BlobStorage WHERE text = 'row 7 of it'", blob_format="ParquetDialect", output_format=PLAIN)
    assert (data, errors) == (f"100,{sum(range(7, count, 1000))}\n".encode(), [])


def test_parquet_that_cannot_be_read_says_so(container):
    blob = container.upload_blob("text.parquet", b"this is no parquet file")
    assert ask(blob, "SELECT * FROM BlobStorage", blob_format="ParquetDialect", output_format=PLAIN) == (b"", [("ParseError", True)])
