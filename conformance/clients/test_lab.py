"""The console's API, the recorder and the lab, as their users meet them: real clients make trouble for each other, or the lab does, and the record says who won."""

import datetime
import email.utils
import http.client
import json
import subprocess
import time
import urllib.parse
import urllib.request

import pytest
from azure.core import MatchConditions
from azure.core.exceptions import HttpResponseError, ResourceModifiedError, ResourceNotFoundError, ServiceRequestError, ServiceResponseError
from azure.data.tables import TableServiceClient
from azure.storage.blob import (
    AccountSasPermissions, BlobClient, BlobServiceClient, ResourceTypes, generate_account_sas, generate_blob_sas,
)
from azure.storage.queue import QueueServiceClient

from server import ACCOUNT, BINARY, KEY, Server

TOKEN = "the-operator-of-this-test"


class Console:
    """Speaks JSON with the console port; `headers` say who."""

    def __init__(self, server, headers=None):
        self.address = urllib.parse.urlsplit(server.console).netloc
        self.headers = headers or {}

    def ask(self, method, path, document=None, headers=None, body=None, raw=False):
        connection = http.client.HTTPConnection(self.address, timeout=30)
        content = json.dumps(document).encode() if document is not None else body
        connection.request(method, path, content, {**self.headers, **(headers or {})})
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        if raw:
            return answer, content
        try:
            return answer.status, json.loads(content) if content else None
        except ValueError:
            return answer.status, content.decode()

    def good(self, method, path, document=None, **named):
        status, answer = self.ask(method, path, document, **named)
        assert 200 <= status < 300, (status, answer)
        return answer

    def log_in(self, **credential):
        return self.begin("/api/session", credential)

    def become_operator(self, token):
        """The session goes on under another id."""
        return self.begin("/api/session/operator", {"operator": token})

    def begin(self, path, credential):
        answer, content = self.ask("POST", path, credential, raw=True)
        if answer.status != 200:
            return answer.status, json.loads(content)
        cookie = answer.getheader("Set-Cookie")
        assert "HttpOnly" in cookie and "SameSite=Strict" in cookie
        said = json.loads(content)
        self.headers = {"Cookie": cookie.split(";")[0], "X-Lazuli-CSRF": said["csrf"]}
        assert KEY not in content.decode()
        return 200, said


@pytest.fixture(scope="module")
def lab():
    """A server with a lab, for all tests of this file: each makes its own names."""
    server = Server(flags=["--in-memory", "--lab", "--create", "container:made,queue:made,table:made,share:made"],
                    environment={"LAZULI_OPERATOR_TOKEN": TOKEN})
    yield server
    server.process.kill()
    server.process.wait()


@pytest.fixture
def operator(lab):
    console = Console(lab, {"Authorization": f"Bearer {TOKEN}"})
    console.good("DELETE", "/api/lab/rules")
    yield console
    console.good("DELETE", "/api/lab/rules")


@pytest.fixture
def blobs(lab):
    return BlobServiceClient.from_connection_string(lab.connection_string, retry_total=0)


@pytest.fixture
def container(blobs, request):
    return blobs.create_container(request.node.name.replace("_", "-").split("[")[0][:60])


def request_id(error):
    return error.response.headers["x-ms-request-id"]


# Why was I refused?


def test_a_refusal_names_the_request_that_won(operator, container):
    blob = container.get_blob_client("cat.txt")
    first = blob.upload_blob(b"one")
    blob.upload_blob(b"two", overwrite=True, client_request_id="the-winner")
    with pytest.raises(ResourceModifiedError) as refused:
        blob.upload_blob(b"late", overwrite=True, etag=first["etag"], match_condition=MatchConditions.IfNotModified)
    told = operator.good("GET", f"/api/explain/{request_id(refused.value)}")
    assert told["why"] == "replaced" and told["certain"]
    assert told["winner"]["client_request_id"] == "the-winner"
    assert told["record"]["etag_before"].strip('"') == told["winner"]["etag"].strip('"')
    assert "If-Match named" in told["text"] and "the-winner" in told["text"]
    timeline = operator.good("GET", "/api/timeline?object=" + urllib.parse.quote(told["record"]["object"]))["records"]
    assert [record["kind"] for record in timeline] == ["change", "change", "refusal"]
    hot = operator.good("GET", "/api/hot")["objects"]
    assert any(one["object"] == told["record"]["object"] and one["refusals"] == 1 for one in hot)


def test_the_command_explains_too(lab, operator, container):
    blob = container.get_blob_client("cat.txt")
    blob.upload_blob(b"one", client_request_id="who-made-it")
    with pytest.raises(HttpResponseError) as refused:
        blob.upload_blob(b"late", overwrite=False)
    port = lab.console.rsplit(":", 1)[1]
    command = [BINARY, "explain", request_id(refused.value), "--operator-token", TOKEN, "--console-port", port]
    told = subprocess.run(command, capture_output=True, text=True, timeout=30)
    assert told.returncode == 0, told.stderr
    assert "BlobAlreadyExists" in told.stdout and "who-made-it" in told.stdout, told.stdout


def test_live_leases_and_messages_name_their_holders(lab, operator, container):
    blob = container.get_blob_client("held")
    blob.upload_blob(b"x")
    lease = blob.acquire_lease(60)
    lease.renew()
    with pytest.raises(HttpResponseError):
        blob.upload_blob(b"y", overwrite=True)
    [live] = [one for one in operator.good("GET", "/api/leases")["leases"] if one["object"].endswith("/held")]
    assert live["id"] == lease.id and live["renewals"] == 1 and 50 < live["seconds_left"] <= 60 and len(live["refused"]) == 1
    queue = QueueServiceClient.from_connection_string(lab.connection_string).create_queue("live-messages")
    queue.send_message("job")
    job = queue.receive_message(visibility_timeout=30)
    [flying] = operator.good("GET", "/api/messages")["messages"]
    assert flying["id"] == job.id and flying["dequeues"] == 1
    queue.delete_message(job)
    assert operator.good("GET", "/api/messages")["messages"] == []


def test_conflicts_are_told_as_they_happen(lab, operator, container):
    connection = http.client.HTTPConnection(operator.address, timeout=20)
    connection.request("GET", "/api/events", headers=operator.headers)
    stream = connection.getresponse()
    assert stream.getheader("Content-Type") == "text/event-stream"
    assert stream.readline().startswith(b": hello")
    blob = container.get_blob_client("event")
    blob.upload_blob(b"one")
    with pytest.raises(HttpResponseError) as refused:
        blob.upload_blob(b"two", overwrite=False)
    lines = []
    while not any(line.startswith(b"data:") for line in lines):
        lines.append(stream.readline())
    record = json.loads(next(line for line in lines if line.startswith(b"data:"))[5:])
    assert record["request_id"] == request_id(refused.value) and record["code"] == "BlobAlreadyExists"
    connection.close()


# Rehearsals


def test_a_conditional_write_loses_a_real_race(operator, container):
    blob = container.get_blob_client("raced")
    blob.upload_blob(b"one", metadata={"kept": "yes"})
    etag = blob.get_blob_properties().etag
    rule = operator.good("POST", "/api/lab/rules", {"do": "lose-race", "operation": "PutBlob", "container": container.container_name, "count": 1})
    with pytest.raises(ResourceModifiedError) as refused:
        blob.upload_blob(b"two", overwrite=True, etag=etag, match_condition=MatchConditions.IfNotModified)
    now = blob.get_blob_properties()
    assert now.etag != etag and now.metadata == {"kept": "yes"} and blob.download_blob().readall() == b"one"
    told = operator.good("GET", f"/api/explain/{request_id(refused.value)}")
    assert told["winner"]["agent"] == "lazuli-lab" and told["record"]["rehearsed"] == rule["id"]
    blob.upload_blob(b"two", overwrite=True, etag=now.etag, match_condition=MatchConditions.IfNotModified)
    assert operator.good("GET", "/api/lab")["rules"] == [], "one time was all"


@pytest.mark.parametrize("apply", [False, True])
@pytest.mark.parametrize("status, code", [(503, "ServerBusy"), (500, "InternalError")])
def test_a_write_fails_before_or_after_it_happened(operator, blobs, status, code, apply):
    container = blobs.create_container(f"fails-{status}-{str(apply).lower()}")
    operator.good("POST", "/api/lab/rules", {"do": "fail", "status": status, "apply": apply, "operation": "PutBlob", "count": 1})
    blob = container.get_blob_client("b")
    with pytest.raises(HttpResponseError) as failed:
        blob.upload_blob(b"x")
    assert failed.value.status_code == status and failed.value.error_code == code
    assert blob.exists() is apply
    blob.upload_blob(b"y", overwrite=True)


@pytest.mark.parametrize("apply", [False, True])
def test_the_connection_ends_before_or_after_the_commit(operator, blobs, apply):
    container = blobs.create_container(f"disconnects-{str(apply).lower()}")
    operator.good("POST", "/api/lab/rules", {"do": "disconnect", "apply": apply, "operation": "PutBlob", "count": 1})
    blob = container.get_blob_client("b")
    with pytest.raises((ServiceRequestError, ServiceResponseError)):
        blob.upload_blob(b"x")
    assert blob.exists() is apply


def test_an_sdk_with_its_retries_survives_a_lost_answer(lab, operator, container):
    retrying = BlobServiceClient.from_connection_string(lab.connection_string, retry_total=3, initial_backoff=0.01, increment_base=0.01)
    operator.good("POST", "/api/lab/rules", {"do": "fail", "operation": "PutBlob", "count": 2})
    retrying.get_blob_client(container.container_name, "b").upload_blob(b"x")
    assert container.get_blob_client("b").download_blob().readall() == b"x"


def test_bodies_are_cut_and_answers_are_late(operator, container):
    blob = container.get_blob_client("b")
    blob.upload_blob(b"0123456789")
    operator.good("POST", "/api/lab/rules", {"do": "truncate", "bytes": 4, "operation": "GetBlob", "count": 1})
    with pytest.raises(Exception) as cut:
        blob.download_blob().readall()
    assert not isinstance(cut.value, AssertionError)
    operator.good("POST", "/api/lab/rules", {"do": "slow", "milliseconds": 300, "operation": "GetBlob", "count": 1})
    since = time.monotonic()
    assert blob.download_blob().readall() == b"0123456789"
    assert time.monotonic() - since >= 0.3


def test_a_lease_is_broken_or_expires_under_its_holder(operator, container):
    blob = container.get_blob_client("b")
    blob.upload_blob(b"x")
    for what in ("break-lease", "expire-lease"):
        lease = blob.acquire_lease(60)
        operator.good("POST", "/api/lab/rules", {"do": what, "operation": "PutBlob", "count": 1})
        with pytest.raises(HttpResponseError) as lost:
            blob.upload_blob(b"y", overwrite=True, lease=lease)
        assert lost.value.status_code == 412 and lost.value.error_code == "LeaseLost", what
        told = operator.good("GET", f"/api/explain/{request_id(lost.value)}")
        assert told["why"] == ("broken" if what == "break-lease" else "expired"), told["text"]


def test_a_message_is_delivered_twice(lab, operator):
    queue = QueueServiceClient.from_connection_string(lab.connection_string).create_queue("twice")
    queue.send_message("job")
    operator.good("POST", "/api/lab/rules", {"do": "deliver-twice", "container": "twice", "count": 1})
    first = queue.receive_message(visibility_timeout=30)
    second = queue.receive_message(visibility_timeout=30)
    assert first.id == second.id and (first.dequeue_count, second.dequeue_count) == (1, 2)
    with pytest.raises(HttpResponseError) as stale:
        queue.delete_message(first)
    told = operator.good("GET", f"/api/explain/{request_id(stale.value)}")
    assert told["why"] == "taken" and told["winner"]["operation"] == "GetMessages"
    queue.delete_message(second)


def test_a_copy_stays_pending_as_long_as_the_rule(operator, container):
    source, copy = container.get_blob_client("source"), container.get_blob_client("copy")
    source.upload_blob(b"some bytes")
    rule = operator.good("POST", "/api/lab/rules", {"do": "hold-copy"})
    assert copy.start_copy_from_url(source.url)["copy_status"] == "pending"
    assert copy.get_blob_properties().copy.status == "pending"
    operator.good("DELETE", f"/api/lab/rules/{rule['id']}")
    for _ in range(200):
        if (status := copy.get_blob_properties().copy.status) != "pending":
            break
        time.sleep(0.02)
    assert status == "success" and copy.download_blob().readall() == b"some bytes"


def test_too_many_requests_are_throttled(operator, container):
    blob = container.get_blob_client("b")
    operator.good("POST", "/api/lab/rules", {"do": "throttle", "requests_per_second": 3, "container": container.container_name, "operation": "PutBlob"})
    codes = []
    for _ in range(6):
        try:
            blob.upload_blob(b"x", overwrite=True)
            codes.append(201)
        except HttpResponseError as busy:
            codes.append(busy.status_code)
    assert codes[:3] == [201] * 3 and 503 in codes


def test_too_many_bytes_are_throttled_and_come_back_with_time(operator, container):
    """As Azure does it: what is beyond a second's worth is refused with 503 ServerBusy, and nothing else is."""
    rule = {"do": "throttle", "bytes_per_second": 1000, "container": container.container_name, "operation": "PutBlob"}
    operator.good("POST", "/api/lab/rules", rule)
    container.upload_blob("first", b"x" * 900)
    with pytest.raises(HttpResponseError) as busy:
        container.upload_blob("second", b"x" * 900)
    assert (busy.value.status_code, busy.value.error_code) == (503, "ServerBusy")
    assert "Retry-After" not in busy.value.response.headers or int(busy.value.response.headers["Retry-After"]) >= 0
    assert [blob.name for blob in container.list_blobs()] == ["first"]
    told = operator.good("GET", f"/api/explain/{request_id(busy.value)}")
    assert told["why"] == "rehearsed"


def test_a_message_is_taken_over_before_its_worker_deletes_it(lab, operator):
    queue = QueueServiceClient.from_connection_string(lab.connection_string, retry_total=0).create_queue("taken-over")
    queue.send_message("job")
    job = queue.receive_message(visibility_timeout=30)
    operator.good("POST", "/api/lab/rules", {"do": "lose-race", "container": "taken-over", "count": 1})
    with pytest.raises(HttpResponseError) as refused:
        queue.delete_message(job)
    told = operator.good("GET", f"/api/explain/{request_id(refused.value)}")
    assert told["why"] == "taken" and told["winner"]["agent"] == "lazuli-lab", told["text"]
    assert queue.get_queue_properties().approximate_message_count == 1


def test_an_entity_is_raced_for(lab, operator):
    table = TableServiceClient.from_connection_string(lab.connection_string, retry_total=0).create_table("raced")
    made = table.create_entity({"PartitionKey": "p", "RowKey": "r", "n": 1})
    operator.good("POST", "/api/lab/rules", {"do": "lose-race", "container": "raced", "count": 1})
    with pytest.raises(HttpResponseError) as refused:
        table.update_entity({"PartitionKey": "p", "RowKey": "r", "n": 2}, etag=made["etag"], match_condition=MatchConditions.IfNotModified)
    assert refused.value.status_code == 412
    assert table.get_entity("p", "r")["n"] == 1


def test_the_secondary_lags(lab, operator, container):
    blob = container.get_blob_client("b")
    blob.upload_blob(b"x")
    operator.good("POST", "/api/lab/rules", {"do": "lag", "milliseconds": 60_000})
    endpoint = lab.endpoint + "-secondary"
    secondary = BlobServiceClient(endpoint, credential={"account_name": ACCOUNT, "account_key": KEY}, retry_total=0)
    with pytest.raises(ResourceNotFoundError):
        secondary.get_blob_client(container.container_name, "b").download_blob()
    until = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=400)
    sas = generate_account_sas(ACCOUNT, KEY, ResourceTypes(True, True, True), AccountSasPermissions(read=True), until)
    with urllib.request.urlopen(f"{endpoint}/?restype=service&comp=stats&{sas}") as answer:
        synced = answer.read().decode().split("<LastSyncTime>")[1].split("<")[0]
    behind = datetime.datetime.now(datetime.timezone.utc) - email.utils.parsedate_to_datetime(synced)
    assert 50 < behind.total_seconds() < 120
    operator.good("DELETE", "/api/lab/rules")
    assert secondary.get_blob_client(container.container_name, "b").download_blob().readall() == b"x"


def test_rules_that_make_no_sense_are_refused(operator):
    for rule in [{"do": "dance"}, {"do": "fail", "status": 404}, {"do": "fail", "operation": "PutBolb"}, {"do": "slow", "probability": 2},
                 {"do": "throttle"}, {"do": "fail", "count": 0}, {"do": "fail", "colour": "red"}, {}]:
        status, answer = operator.ask("POST", "/api/lab/rules", rule)
        assert status == 400 and answer["error"]["message"], rule


# Time


def test_the_clock_goes_forward_and_the_directory_remembers(own, tmp_path):
    directory = tmp_path / "data"
    server = own(directory, flags=["--lab"])
    service = BlobServiceClient.from_connection_string(server.connection_string, retry_total=0)
    blob = service.create_container("time").get_blob_client("b")
    blob.upload_blob(b"x")
    blob.acquire_lease(60)
    until = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)
    sas = generate_blob_sas(ACCOUNT, "time", "b", account_key=KEY, permission="r", expiry=until)
    assert BlobClient.from_blob_url(f"{blob.url}?{sas}").download_blob().readall() == b"x"
    queue = QueueServiceClient.from_connection_string(server.connection_string).create_queue("time")
    queue.send_message("job")
    queue.receive_message(visibility_timeout=600)
    before = blob.get_blob_properties().last_modified
    moved = subprocess.run([BINARY, "clock", "advance", "61s", "--location", directory], capture_output=True, text=True)
    assert moved.returncode == 0, moved.stderr
    assert blob.get_blob_properties().lease.state == "expired"
    assert queue.receive_message() is None
    subprocess.run([BINARY, "clock", "advance", "2h", "--location", directory], check=True, capture_output=True)
    assert queue.receive_message().dequeue_count == 2
    with pytest.raises(HttpResponseError) as over:
        BlobClient.from_blob_url(f"{blob.url}?{sas}", retry_total=0).download_blob()
    assert over.value.status_code == 403
    # Clients sign with the machine's date all the same.
    blob.upload_blob(b"y", overwrite=True)
    assert blob.get_blob_properties().last_modified - before > datetime.timedelta(hours=2)
    assert subprocess.run([BINARY, "clock", "advance", "-5s", "--location", directory], capture_output=True).returncode != 0
    server.stop()
    again = own(directory)
    assert any("moved 7261 seconds" in line for line in again.banner + again.log) or "7261" in "".join(again.log)
    service = BlobServiceClient.from_connection_string(again.connection_string, retry_total=0)
    later = service.get_blob_client("time", "c")
    later.upload_blob(b"z")
    assert later.get_blob_properties().last_modified - before > datetime.timedelta(hours=2), "never back"
    assert Console(again).ask("GET", "/readyz")[0] == 200


# Begin and reset


def test_what_was_asked_for_is_there(lab, blobs):
    assert blobs.get_container_client("made").exists()
    assert "made" in [queue.name for queue in QueueServiceClient.from_connection_string(lab.connection_string).list_queues()]
    assert "made" in [table.name for table in TableServiceClient.from_connection_string(lab.connection_string).list_tables()]


def test_a_seed_and_a_reset(own, tmp_path):
    seed = tmp_path / "seed"
    (seed / "pictures" / "cats").mkdir(parents=True)
    (seed / "pictures" / "cats" / "a cat.txt").write_text("meow")
    server = own(tmp_path / "data", flags=["--lab", "--seed", str(seed), "--create", "queue:jobs,table:cats,share:home"])
    service = BlobServiceClient.from_connection_string(server.connection_string)
    blob = service.get_blob_client("pictures", "cats/a cat.txt")
    assert blob.download_blob().readall() == b"meow"
    assert blob.get_blob_properties().content_settings.content_type == "text/plain"
    service.get_container_client("pictures").acquire_lease(-1)
    blob.acquire_lease(-1)
    ran = subprocess.run([BINARY, "reset", "--location", tmp_path / "data"], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert "1 containers, 1 queues, 1 tables, 1 shares" in ran.stdout
    assert list(service.list_containers()) == []
    service.create_container("pictures")
    assert list(service.get_container_client("pictures").list_blobs()) == []


# Who may


LAB_PATHS = [("GET", "/api/lab"), ("POST", "/api/lab/rules"), ("DELETE", "/api/lab/rules"), ("DELETE", "/api/lab/rules/1"),
             ("POST", "/api/lab/clock"), ("POST", "/api/lab/reset")]


def documents(path):
    return {"/api/lab/rules": {"do": "fail"}, "/api/lab/clock": {"advance_seconds": 5}}.get(path, {})


def test_without_the_flag_there_is_no_lab_for_anybody(own, tmp_path):
    server = own(tmp_path / "data", environment={"LAZULI_OPERATOR_TOKEN": TOKEN})
    operator = Console(server, {"Authorization": f"Bearer {TOKEN}"})
    keyed = Console(server)
    assert keyed.log_in(account=ACCOUNT, key=KEY)[0] == 200
    raised = Console(server)
    raised.log_in(account=ACCOUNT, key=KEY)
    assert raised.become_operator(TOKEN)[0] == 200
    for console in (operator, keyed, raised):
        for method, path in LAB_PATHS:
            status, answer = console.ask(method, path, documents(path))
            assert (status, answer["error"]["code"]) == (404, "LabOff"), (method, path)
    assert operator.good("GET", "/api/server")["lab"] is False
    assert "lazuli_lab 0" in server.ask_console("/metrics") and not any("LAB" in line for line in server.banner)
    for command in (["lab", "add", "fail"], ["clock", "advance", "1s"], ["reset"]):
        ran = subprocess.run([BINARY, *command, "--location", tmp_path / "data"], capture_output=True, text=True)
        assert ran.returncode != 0 and "--lab" in ran.stderr, command


def test_the_lab_is_loud(lab):
    assert any("LAB" in line for line in lab.banner + lab.log)
    assert "lazuli_lab 1" in lab.ask_console("/metrics")


def test_no_credential_of_the_data_plane_opens_the_lab(lab):
    until = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=400)
    sas = generate_account_sas(ACCOUNT, KEY, ResourceTypes(True, True, True), AccountSasPermissions(read=True, list=True, write=True), until)
    keyed, signed, nobody = Console(lab), Console(lab), Console(lab)
    assert keyed.log_in(account=ACCOUNT, key=KEY)[0] == 200
    assert signed.log_in(account=ACCOUNT, sas=sas)[0] == 200
    guesses = [Console(lab, {"Authorization": f"Bearer {guess}"}) for guess in (KEY, "x" * 16, "")]
    for console, expected in [(keyed, 403), (signed, 403), (nobody, 401), *((guess, 401) for guess in guesses)]:
        for method, path in LAB_PATHS:
            assert console.ask(method, path, documents(path))[0] == expected, (method, path)
    assert signed.ask("GET", "/api/records")[0] == 403 and nobody.ask("GET", "/api/records")[0] == 401
    assert keyed.ask("POST", "/api/session/operator", {"operator": KEY})[0] == 403


def test_sessions_hold_their_secrets(lab, container):
    console = Console(lab)
    assert console.log_in(account=ACCOUNT, key="AAAA")[0] == 403
    assert console.log_in(account="nobody1", key=KEY)[0] == 403
    status, said = console.log_in(account=ACCOUNT, key=KEY)
    assert (status, said["kind"], said["account"], said["operator"]) == (200, "key", ACCOUNT, False)
    path = f"/data/blob/{container.container_name}/a%20page.html"
    page = b"<script>alert(1)</script>"
    kind = {"x-ms-blob-type": "BlockBlob", "x-ms-blob-content-type": "text/html", "Content-Type": "text/html"}
    put, _ = console.ask("PUT", path, headers=kind, body=page, raw=True)
    assert put.status == 201
    assert container.get_blob_client("a page.html").download_blob().readall() == page
    # A link shows nothing that is stored as a page of the console.
    no_csrf = {"Cookie": console.headers["Cookie"]}
    answer, content = Console(lab, no_csrf).ask("GET", path, raw=True)
    assert content == page and answer.getheader("Content-Disposition") == "attachment"
    assert "sandbox" in answer.getheader("Content-Security-Policy") and answer.getheader("X-Content-Type-Options") == "nosniff"
    for method, refused in [("PUT", path), ("DELETE", path), ("GET", "/data/queue/made/messages"), ("DELETE", "/api/session")]:
        status, answer = Console(lab, no_csrf).ask(method, refused, headers=kind, body=b"")
        assert (status, answer["error"]["code"]) == (403, "CsrfMissing"), (method, refused)
    for foreign in ({"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
        assert console.ask("GET", "/api/session", headers=foreign)[0] == 401
    assert console.ask("GET", "/api/session", headers={"Host": "evil.example"})[0] == 421
    listing, content = console.ask("GET", f"/data/blob/{container.container_name}?restype=container&comp=list", raw=True)
    assert listing.status == 200 and b"a page.html" in content
    assert console.ask("DELETE", "/api/session")[0] == 204
    assert console.ask("GET", "/api/session")[0] == 401 and console.ask("GET", path)[0] == 401
    assert not any(KEY in line for line in lab.log)


def test_an_account_sees_its_own_record_only(own, tmp_path):
    other = "other1"
    server = own(tmp_path / "data", flags=["--account", f"{ACCOUNT}:{KEY}", "--account", f"{other}:{KEY}"])
    endpoint = server.endpoint.replace(ACCOUNT, other).replace(other + other, other)
    base = server.endpoint.rsplit("/", 1)[0]
    for account in (ACCOUNT, other):
        service = BlobServiceClient(f"{base}/{account}", credential={"account_name": account, "account_key": KEY})
        service.create_container(f"of-{account}")
    assert endpoint
    console = Console(server)
    console.log_in(account=other, key=KEY)
    objects = [record["object"] for record in console.good("GET", "/api/records")["records"]]
    assert objects == [f"blob/{other}/of-{other}"]
    assert console.good("GET", f"/api/timeline?object=blob/{ACCOUNT}/of-{ACCOUNT}")["records"] == []


def test_a_sas_is_made_and_judged(lab, container):
    container.get_blob_client("b").upload_blob(b"x")
    console = Console(lab)
    console.log_in(account=ACCOUNT, key=KEY)
    until = (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=400)).strftime("%Y-%m-%dT%H:%M:%SZ")
    made = console.good("POST", "/api/sas", {"service": "blob", "container": container.container_name, "name": "b", "permissions": "r", "expiry": until})
    assert BlobClient.from_blob_url(made["url"]).download_blob().readall() == b"x"
    judged = console.good("POST", "/api/sas/check", {"url": made["url"]})
    assert judged["accepted"] and "sig" not in judged["fields"] and judged["fields"]["sp"] == "r"
    judged = console.good("POST", "/api/sas/check", {"url": made["url"].replace("2027", "2017").replace("2028", "2018")})
    assert not judged["accepted"] and judged["code"] == "AuthenticationFailed" and judged["reason"]
    whole = console.good("POST", "/api/sas", {"account": True, "permissions": "rl", "expiry": until})
    assert list(BlobServiceClient(lab.endpoint, credential=whole["sas"]).list_containers())


def test_numbers_and_settings(lab, operator, container):
    container.get_blob_client("b").upload_blob(b"x")
    metrics = operator.good("GET", "/api/metrics")
    put = next(row for row in metrics["operations"] if row["name"] == "PutBlob")
    assert sum(count for _, count in put["latency"]) == sum(put["by_class"]) > 0
    assert metrics["recorder"]["records"] > 0 and metrics["memory_bytes"] > 0
    accounts = {account["name"]: account for account in operator.good("GET", "/api/accounts")["accounts"]}
    account = accounts[ACCOUNT]
    assert any(setting["name"] == "versioning" for setting in account["settings"])
    changed = operator.good("POST", f"/api/accounts/{ACCOUNT}/settings", {"blob-soft-delete": "3"})
    assert {"blob-soft-delete": "3"}.items() <= {setting["name"]: setting["value"] for setting in changed["settings"]}.items()
    operator.good("POST", f"/api/accounts/{ACCOUNT}/settings", {"blob-soft-delete": "off"})
    lines = operator.good("GET", "/api/log")
    assert any("LAB" in line["text"] for line in lines["lines"])
    assert operator.good("GET", "/api/health")["ready"] is True


def test_the_recorder_can_be_off(own, tmp_path):
    server = own(tmp_path / "data", flags=["--recorder", "0"], environment={"LAZULI_OPERATOR_TOKEN": TOKEN})
    console = Console(server, {"Authorization": f"Bearer {TOKEN}"})
    assert console.ask("GET", "/api/records")[0] == 404
    assert console.good("GET", "/api/server")["recorder"] is False
