"""Azure's Python SDK for tables, unmodified: what an application does with tables and entities."""

import concurrent.futures
import datetime
import json
import math
import urllib.error
import urllib.request
import uuid

import pytest
from azure.core import MatchConditions
from azure.core.credentials import AzureNamedKeyCredential, AzureSasCredential
from azure.core.exceptions import HttpResponseError, ResourceExistsError, ResourceModifiedError, ResourceNotFoundError
from azure.data.tables import (
    AccountSasPermissions,
    EdmType,
    EntityProperty,
    ResourceTypes,
    TableAccessPolicy,
    TableClient,
    TableCorsRule,
    TableSasPermissions,
    TableServiceClient,
    TableTransactionError,
    UpdateMode,
    generate_account_sas,
    generate_table_sas,
)

from server import ACCOUNT, KEY

CREDENTIAL = AzureNamedKeyCredential(ACCOUNT, KEY)


@pytest.fixture(scope="module")
def tables(server):
    if not server.table_endpoint:
        pytest.skip("no table endpoint")
    with TableServiceClient.from_connection_string(server.connection_string, retry_total=0) as client:
        yield client


@pytest.fixture
def table(tables):
    client = tables.create_table(f"t{uuid.uuid4().hex}")
    yield client
    client.delete_table()


def soon(seconds=3600):
    return datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=seconds)


def refused(work, status, code):
    with pytest.raises(HttpResponseError) as error:
        work()
    # The SDK does not read the code of every error.
    said = getattr(error.value, "error_code", None) or json.loads(error.value.response.text())["odata.error"]["code"]
    assert (error.value.status_code, said) == (status, code)
    return error.value


def entity(row, partition="p", **properties):
    return {"PartitionKey": partition, "RowKey": row, **properties}


def test_a_table_lives_and_dies(tables):
    name = f"Test{uuid.uuid4().hex}"
    tables.create_table(name)
    with pytest.raises(ResourceExistsError):
        tables.create_table(name.lower())  # names have no case
    assert tables.create_table_if_not_exists(name)
    assert [found.name for found in tables.query_tables(f"TableName eq '{name}'")] == [name]
    assert name in [found.name for found in tables.list_tables(results_per_page=1)]
    tables.delete_table(name)
    tables.delete_table(name)  # to this SDK a table that is gone is no error
    tables.create_table(name)  # the name is free at once
    tables.delete_table(name)
    for bad in ["1a2", "a_b", "ab"]:
        with pytest.raises((HttpResponseError, ValueError)):
            tables.create_table(bad)


def test_every_type_comes_back_as_it_was(table):
    guid, when = uuid.uuid4(), datetime.datetime(2024, 2, 29, 12, 34, 56, 789012, tzinfo=datetime.timezone.utc)
    sent = entity(
        "all",
        text="grüße 啊齄 \U00010000 \"'<&\n",
        empty="",
        yes=True,
        number=-(2**31),
        large=EntityProperty(2**63 - 1, EdmType.INT64),
        double=0.1 + 0.2,
        whole=5.0,
        huge=1.7976931348623157e308,
        infinite=math.inf,
        binary=bytes(range(256)),
        guid=guid,
        when=when,
        nothing=None,
    )
    table.create_entity(sent)
    got = table.get_entity("p", "all")
    assert got.pop("large").value == 2**63 - 1
    for name, value in sent.items():
        if name in ("nothing", "large"):
            assert name not in got
        else:
            assert got[name] == value and type(got[name]).__name__.removeprefix("Tables").replace("Entity", "").lower() in (
                type(value).__name__.lower(), "datetime"), name
    table.create_entity(entity("nan", nan=math.nan))
    assert math.isnan(table.get_entity("p", "nan")["nan"])


def test_optimistic_updates(table):
    etag = table.create_entity(entity("r", a=1))["etag"]
    refused(lambda: table.create_entity(entity("r")), 409, "EntityAlreadyExists")
    same = {"etag": etag, "match_condition": MatchConditions.IfNotModified}
    newer = table.update_entity(entity("r", b=2), mode=UpdateMode.MERGE, **same)["etag"]
    assert newer != etag
    found = table.get_entity("p", "r")
    assert (found["a"], found["b"], found.metadata["etag"]) == (1, 2, newer)
    with pytest.raises(ResourceModifiedError):
        table.update_entity(entity("r", c=3), **same)
    with pytest.raises(ResourceModifiedError):
        table.delete_entity("p", "r", **same)
    table.update_entity(entity("r", c=3), mode=UpdateMode.REPLACE)  # whatever is there
    assert set(table.get_entity("p", "r")) == {"PartitionKey", "RowKey", "c"}
    with pytest.raises(ResourceNotFoundError):
        table.update_entity(entity("absent", c=3))
    table.upsert_entity(entity("absent", c=4), mode=UpdateMode.MERGE)
    table.upsert_entity(entity("absent", d=5), mode=UpdateMode.REPLACE)
    assert set(table.get_entity("p", "absent")) == {"PartitionKey", "RowKey", "d"}
    table.delete_entity("p", "absent")
    refused(lambda: table.get_entity("p", "absent"), 404, "ResourceNotFound")


def test_lost_updates_do_not_happen(table):
    table.create_entity(entity("counter", n=0))

    def add(_):
        for _ in range(10):
            while True:
                found = table.get_entity("p", "counter")
                found["n"] += 1
                try:
                    table.update_entity(found, etag=found.metadata["etag"], match_condition=MatchConditions.IfNotModified)
                    break
                except ResourceModifiedError:
                    pass  # somebody else was faster: look again

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(add, range(4)))
    assert table.get_entity("p", "counter")["n"] == 40


def test_queries(table):
    for number in range(30):
        table.create_entity(entity(f"{number:03}", f"p{number % 3}", n=number, name=f"it's {number}", even=number % 2 == 0))

    def rows(text, **more):
        return [found["n"] for found in table.query_entities(text, **more)]

    assert rows("PartitionKey eq 'p1'") == list(range(1, 30, 3))
    assert rows("PartitionKey eq 'p1' and RowKey ge '010' and RowKey lt '020'") == [10, 13, 16, 19]
    assert rows("PartitionKey eq 'p0' and n gt 20 or RowKey eq '001'") == [21, 24, 27, 1]
    assert rows("even and n lt 5") == [0, 4, 2]
    assert rows("not (n ge 2)") == [0, 1]
    assert rows("name eq @name", parameters={"name": "it's 7"}) == [7]
    assert rows("n ge 25 and 27 gt n") == [25, 26]
    assert rows("missing eq 1") == []
    pages = [list(page) for page in table.query_entities("PartitionKey ne 'p1'", results_per_page=7).by_page()]
    assert [len(page) for page in pages] == [7, 7, 6]
    [only] = table.query_entities("n eq 5", select=["n", "absent"])
    assert set(only) == {"n", "absent"} and only["absent"] is None
    refused(lambda: rows("n eq"), 400, "InvalidInput")
    refused(lambda: rows("startswith(name,'it')"), 501, "NotImplemented")
    refused(lambda: list(table.query_entities(f"{'(' * 5000}n eq 1{')' * 5000}")), 400, "InvalidInput")


def test_transactions_are_all_or_nothing(table):
    table.create_entity(entity("old", a=1))
    answers = table.submit_transaction(
        [
            ("create", entity("new", a=1)),
            ("update", entity("old", b=2), {"mode": "merge"}),
            ("upsert", entity("either", c=3)),
        ]
    )
    assert len(answers) == 3 and all(answer["etag"] for answer in answers)
    assert [found["RowKey"] for found in table.list_entities()] == ["either", "new", "old"]
    with pytest.raises(TableTransactionError) as error:
        table.submit_transaction([("delete", entity("either")), ("create", entity("more")), ("create", entity("old"))])
    assert (error.value.index, error.value.error_code) == (2, "EntityAlreadyExists")
    assert [found["RowKey"] for found in table.list_entities()] == ["either", "new", "old"]
    table.submit_transaction([("create", entity(f"n{n:02}", a=n)) for n in range(100)])
    with pytest.raises(TableTransactionError) as error:
        table.submit_transaction([("create", entity(f"m{n:03}")) for n in range(101)])
    assert error.value.error_code == "InvalidInput"
    with pytest.raises(TableTransactionError) as error:
        table.submit_transaction([("upsert", entity("x")), ("upsert", entity("x"))])
    assert error.value.error_code == "InvalidDuplicateRow"


def test_limits(table):
    refused(lambda: table.create_entity(entity("r", text="x" * (32 * 1024 + 1))), 400, "PropertyValueTooLarge")
    refused(lambda: table.create_entity(entity("r", **{f"p{n}": "x" * 32_000 for n in range(20)})), 400, "EntityTooLarge")
    refused(lambda: table.create_entity(entity("r", **{f"p{n}": n for n in range(253)})), 400, "TooManyProperties")
    refused(lambda: table.create_entity(entity("r", **{"n" * 256: 1})), 400, "PropertyNameTooLong")
    refused(lambda: table.create_entity(entity("a/b")), 400, "OutOfRangeInput")
    table.create_entity(entity("r", **{f"p{n}": b"\0" * 60_000 for n in range(17)}))
    assert sum(len(value) for value in table.get_entity("p", "r").values() if isinstance(value, bytes)) == 1_020_000
    table.create_entity(entity("", ""))
    assert table.get_entity("", "")["RowKey"] == ""


def test_signatures_open_what_they_say(server, table):
    table.create_entity(entity("b", "b"))
    table.create_entity(entity("d", "d"))

    def signed(**more):
        token = generate_table_sas(CREDENTIAL, table.table_name, expiry=soon(), **more)
        return TableClient(server.table_endpoint, table.table_name, credential=AzureSasCredential(token), retry_total=0)

    reader = signed(permission=TableSasPermissions(read=True))
    assert [found["RowKey"] for found in reader.list_entities()] == ["b", "d"]
    refused(lambda: reader.create_entity(entity("x")), 403, "AuthorizationPermissionMismatch")
    part = signed(permission="raud", start_pk="b", start_rk="b", end_pk="c", end_rk="c")
    assert [found["RowKey"] for found in part.list_entities()] == ["b"]
    part.upsert_entity(entity("c", "c"))
    refused(lambda: part.upsert_entity(entity("d", "c")), 403, "AuthorizationFailure")
    refused(lambda: part.get_entity("d", "d"), 404, "ResourceNotFound")
    part.submit_transaction([("upsert", entity("a", "c"))])
    refused(lambda: part.submit_transaction([("upsert", entity("z", "c"))]), 403, "AuthorizationFailure")
    adder = signed(permission="a")
    adder.create_entity(entity("x"))
    refused(lambda: adder.upsert_entity(entity("y")), 403, "AuthorizationPermissionMismatch")
    other = TableClient(server.table_endpoint, "another", credential=AzureSasCredential(
        generate_table_sas(CREDENTIAL, table.table_name, permission="r", expiry=soon())), retry_total=0)
    refused(lambda: list(other.list_entities()), 403, "AuthorizationFailure")


def test_stored_policies_and_account_signatures(server, tables, table):
    table.set_table_access_policy({"reader": TableAccessPolicy(permission="r", expiry=soon())})
    assert table.get_table_access_policy()["reader"].permission == "r"
    token = generate_table_sas(CREDENTIAL, table.table_name, policy_id="reader")
    client = TableClient(server.table_endpoint, table.table_name, credential=AzureSasCredential(token), retry_total=0)
    assert list(client.list_entities()) == []
    table.set_table_access_policy({})
    refused(lambda: list(client.list_entities()), 403, "AuthenticationFailed")
    token = generate_account_sas(CREDENTIAL, ResourceTypes(service=True, container=True, object=True), AccountSasPermissions(
        read=True, list=True, add=True), soon())
    account = TableServiceClient(server.table_endpoint, credential=AzureSasCredential(token), retry_total=0)
    assert table.table_name in [found.name for found in account.list_tables()]
    inside = account.get_table_client(table.table_name)
    inside.create_entity(entity("r"))
    refused(lambda: inside.delete_entity("p", "r"), 403, "AuthorizationPermissionMismatch")


def test_service_properties(tables):
    tables.set_service_properties(cors=[TableCorsRule(["https://example.com"], ["GET", "MERGE"], max_age_in_seconds=5)])
    [rule] = tables.get_service_properties()["cors"]
    assert (rule.allowed_origins, rule.max_age_in_seconds) == (["https://example.com"], 5)
    tables.set_service_properties(cors=[])


def raw(server, method, path, body=None, **headers):
    """A request with a signature in its URL and whatever headers."""
    token = generate_account_sas(CREDENTIAL, ResourceTypes(service=True, container=True, object=True), AccountSasPermissions(
        read=True, write=True, list=True, add=True, update=True, delete=True, create=True), soon())
    joint = "&" if "?" in path else "?"
    request = urllib.request.Request(f"{server.table_endpoint}/{path}{joint}{token}", data=body, method=method)
    for name, value in headers.items():
        request.add_header(name.replace("_", "-"), value)
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read()


def test_verbs_in_disguise_and_old_forms(server, table):
    name, old = table.table_name, "2014-02-14"
    entry = (
        '<entry xmlns:d="http://schemas.microsoft.com/ado/2007/08/dataservices" xmlns="http://www.w3.org/2005/Atom" '
        'xmlns:m="http://schemas.microsoft.com/ado/2007/08/dataservices/metadata"><content type="application/xml"><m:properties>'
        '<d:PartitionKey>p</d:PartitionKey><d:RowKey>atom</d:RowKey><d:n m:type="Edm.Int64">7</d:n></m:properties></content></entry>'
    )
    status, headers, body = raw(server, "POST", name, entry.encode(), x_ms_version=old, Content_Type="application/atom+xml")
    assert status == 201 and b'<d:n m:type="Edm.Int64">7</d:n>' in body and headers["Content-Type"].startswith("application/atom+xml")
    at = f"{name}(PartitionKey='p',RowKey='atom')"
    assert raw(server, "GET", at, x_ms_version="2019-02-02", Accept="application/atom+xml")[0] == 415
    merge = {"X_HTTP_Method": "MERGE", "If_Match": "*", "Content_Type": "application/json", "x_ms_version": "2019-02-02"}
    assert raw(server, "POST", at, b'{"m":1}', **merge)[0] == 204
    assert raw(server, "MERGE", at, b'{"k":2}', If_Match="*", Content_Type="application/json", x_ms_version="2019-02-02")[0] == 204
    status, _, body = raw(server, "GET", at, x_ms_version="2019-02-02", Accept="application/json;odata=nometadata")
    assert {name: value for name, value in json.loads(body).items() if name != "Timestamp"} == {
        "PartitionKey": "p", "RowKey": "atom", "k": 2, "m": 1, "n": "7"}
    assert raw(server, "POST", at, b"{}", **{**merge, "X_HTTP_Method": "COPY"})[0] == 400
    assert raw(server, "DELETE", at, x_ms_version="2019-02-02")[0] == 400  # which one?
    feed = raw(server, "GET", f"{name}()", x_ms_version=old)[2]
    assert feed.count(b"<entry") == 1 and b"<feed" in feed
