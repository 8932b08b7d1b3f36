"""Azure's Python SDK for queues, unmodified: what an application does with queues and messages."""

import concurrent.futures
import datetime
import threading
import time
import urllib.error
import urllib.request
import uuid

import pytest
from azure.core.exceptions import ClientAuthenticationError, HttpResponseError, ResourceExistsError, ResourceNotFoundError
from azure.storage.queue import (
    AccessPolicy,
    AccountSasPermissions,
    BinaryBase64DecodePolicy,
    BinaryBase64EncodePolicy,
    CorsRule,
    QueueClient,
    QueueSasPermissions,
    QueueServiceClient,
    ResourceTypes,
    generate_account_sas,
    generate_queue_sas,
)

from server import ACCOUNT, KEY


@pytest.fixture(scope="module")
def queues(server):
    if not server.queue_endpoint:
        pytest.skip("no queue endpoint")
    with QueueServiceClient.from_connection_string(server.connection_string, retry_total=0) as client:
        yield client


@pytest.fixture
def queue(queues):
    client = queues.create_queue(f"test-{uuid.uuid4()}")
    yield client
    try:
        client.delete_queue()
    except ResourceNotFoundError:
        pass  # The test deleted it.


def soon(seconds=3600):
    return datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=seconds)


def refused(work, status, code):
    with pytest.raises(HttpResponseError) as error:
        work()
    assert (error.value.status_code, error.value.error_code) == (status, code)
    return error.value


def test_a_queue_lives_and_dies(queues):
    name = f"test-{uuid.uuid4()}"
    client = queues.get_queue_client(name)
    refused(client.get_queue_properties, 404, "QueueNotFound")
    client.create_queue(metadata={"colour": "blue"})
    # To this SDK both are an error; the service says 204 to the first.
    for colour, status in [("blue", 204), ("red", 409)]:
        with pytest.raises(ResourceExistsError) as error:
            client.create_queue(metadata={"colour": colour})
        assert error.value.status_code == status
    client.set_queue_metadata({"Shape": "round"})
    properties = client.get_queue_properties()
    assert (properties.metadata, properties.approximate_message_count) == ({"Shape": "round"}, 0)
    listed = [found for found in queues.list_queues(name_starts_with=name, include_metadata=True)]
    assert [(found.name, found.metadata) for found in listed] == [(name, {"Shape": "round"})]
    client.delete_queue()
    refused(client.delete_queue, 404, "QueueNotFound")
    client.create_queue()  # the name is free at once
    client.delete_queue()


@pytest.mark.parametrize("name", ["UPPER", "a--b", "啊齄丂狛狜", "a_b"])
def test_names_are_judged(queues, name):
    refused(lambda: queues.create_queue(name), 400, "InvalidResourceName")


def test_pages(queues):
    prefix = f"page-{uuid.uuid4().hex[:8]}-"
    for number in range(5):
        queues.create_queue(f"{prefix}{number}")
    pages = [[found.name for found in page] for page in queues.list_queues(prefix, results_per_page=2).by_page()]
    assert pages == [[f"{prefix}0", f"{prefix}1"], [f"{prefix}2", f"{prefix}3"], [f"{prefix}4"]]
    for number in range(5):
        queues.delete_queue(f"{prefix}{number}")


@pytest.mark.parametrize(
    "text", ["plain", "", "  spaces \t\n", "<xml attr='1'>&amp;</xml>", "啊齄丂狛狜 𐀀", "a\nb", "x" * 65536]
)
def test_text_comes_back_exactly(queue, text):
    queue.send_message(text)
    assert queue.peek_messages()[0].content == text
    assert queue.receive_message().content == text


def test_binary(server, queue):
    client = QueueClient.from_connection_string(
        server.connection_string,
        queue.queue_name,
        message_encode_policy=BinaryBase64EncodePolicy(),
        message_decode_policy=BinaryBase64DecodePolicy(),
    )
    client.send_message(bytes(range(256)))
    assert client.receive_message().content == bytes(range(256))


def test_limits(queue):
    refused(lambda: queue.send_message("x" * 65537), 413, "RequestBodyTooLarge")
    refused(lambda: queue.send_message("\x01"), 400, "InvalidXmlDocument")
    error = refused(lambda: next(queue.receive_messages(messages_per_page=33)), 400, "OutOfRangeQueryParameterValue")
    assert "<MinimumAllowed>1</MinimumAllowed><MaximumAllowed>32</MaximumAllowed>" in error.response.text()
    refused(lambda: queue.receive_message(visibility_timeout=604801), 400, "OutOfRangeQueryParameterValue")
    refused(lambda: queue.send_message("m", time_to_live=0), 400, "InvalidQueryParameterValue")
    refused(lambda: queue.send_message("m", visibility_timeout=5, time_to_live=5), 400, "InvalidQueryParameterValue")


def test_first_in_first_out(queue):
    for number in range(40):
        queue.send_message(str(number))
    assert queue.get_queue_properties().approximate_message_count == 40
    assert [message.content for message in queue.peek_messages(32)] == [str(number) for number in range(32)]
    got = [message.content for message in queue.receive_messages(messages_per_page=7)]
    assert got == [str(number) for number in range(40)]
    assert queue.receive_message() is None
    queue.clear_messages()
    assert queue.get_queue_properties().approximate_message_count == 0


def test_receipts(queue):
    queue.send_message("work")
    first = queue.receive_message(visibility_timeout=1)
    assert (first.dequeue_count, queue.receive_message()) == (1, None)
    again = wait_for(queue)
    assert (again.id, again.dequeue_count) == (first.id, 2)
    refused(lambda: queue.delete_message(first), 404, "MessageNotFound")
    refused(lambda: queue.delete_message(again.id, "nonsense"), 400, "InvalidQueryParameterValue")
    updated = queue.update_message(again, visibility_timeout=0, content="more work")
    assert updated.pop_receipt != again.pop_receipt
    refused(lambda: queue.delete_message(again), 404, "MessageNotFound")
    seen = queue.receive_message()
    assert (seen.content, seen.dequeue_count) == ("more work", 3)
    kept = queue.update_message(seen, visibility_timeout=60)
    assert (kept.content, queue.receive_message()) == ("more work", None)
    queue.delete_message(kept)
    refused(lambda: queue.delete_message(kept), 404, "MessageNotFound")


def wait_for(queue):
    for _ in range(100):
        if message := queue.receive_message():
            return message
        time.sleep(0.05)
    raise AssertionError("the message did not come back")


def test_messages_expire_and_wait(queue):
    queue.send_message("short", time_to_live=1)
    queue.send_message("later", visibility_timeout=2)
    forever = queue.send_message("forever", time_to_live=-1)
    assert forever.expires_on.year == 9999
    time.sleep(1.1)
    assert [message.content for message in queue.peek_messages(32)] == ["forever"]
    queue.delete_message(queue.receive_message())
    assert wait_for(queue).content == "later"
    assert queue.get_queue_properties().approximate_message_count == 1


def test_competing_consumers_share_the_work(queue):
    sent = {queue.send_message(str(number)).id for number in range(100)}
    seen, lock = [], threading.Lock()

    def consume():
        while message := queue.receive_message():
            with lock:
                seen.append(message.id)
            queue.delete_message(message)

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(consume) for _ in range(8)]:
            done.result()
    assert len(seen) == len(set(seen)) and set(seen) == sent
    assert queue.get_queue_properties().approximate_message_count == 0


@pytest.mark.parametrize(
    "letters, allowed",
    [("r", {"peek", "count"}), ("a", {"send"}), ("u", {"update"}), ("p", {"receive", "clear"}), ("raup", None)],
)
def test_queue_sas(server, queue, letters, allowed):
    held = queue.send_message("m")
    token = generate_queue_sas(ACCOUNT, queue.queue_name, KEY, QueueSasPermissions.from_string(letters), soon())
    client = QueueClient(server.queue_endpoint, queue.queue_name, credential=token, retry_total=0)
    calls = {
        "peek": client.peek_messages,
        "count": client.get_queue_properties,
        "send": lambda: client.send_message("m"),
        "update": lambda: client.update_message(held, visibility_timeout=0),
        "receive": client.receive_message,
        "clear": client.clear_messages,
    }
    for name, call in calls.items():
        if allowed is None or name in allowed:
            call()
        else:
            refused(call, 403, "AuthorizationPermissionMismatch")
    refused(client.delete_queue, 403, "AuthorizationFailure")


def test_stored_policy(server, queue):
    policy = AccessPolicy(permission=QueueSasPermissions(read=True), expiry=soon())
    queue.set_queue_access_policy({"readers": policy})
    assert queue.get_queue_access_policy()["readers"].permission == "r"
    token = generate_queue_sas(ACCOUNT, queue.queue_name, KEY, policy_id="readers")
    client = QueueClient(server.queue_endpoint, queue.queue_name, credential=token, retry_total=0)
    assert client.peek_messages() == []
    queue.set_queue_access_policy({})
    with pytest.raises(ClientAuthenticationError):
        client.peek_messages()


def test_account_sas(server, queue):
    def client(services="q", types=ResourceTypes(object=True), letters="rap"):
        token = generate_account_sas(
            ACCOUNT, KEY, types, AccountSasPermissions.from_string(letters), soon(), services=services
        )
        return QueueClient(server.queue_endpoint, queue.queue_name, credential=token, retry_total=0)

    client().send_message("m")
    assert client().receive_message().content == "m"
    refused(lambda: client(services="b").peek_messages(), 403, "AuthorizationServiceMismatch")
    refused(lambda: client(letters="r").send_message("m"), 403, "AuthorizationPermissionMismatch")
    refused(lambda: client(types=ResourceTypes(service=True)).peek_messages(), 403, "AuthorizationResourceTypeMismatch")


def test_nobody_gets_in_without_a_key(server, queue):
    url = f"{server.queue_endpoint}/{queue.queue_name}/messages?peekonly=true"
    with pytest.raises(urllib.error.HTTPError) as error:
        urllib.request.urlopen(urllib.request.Request(url, headers={"x-ms-version": "2021-02-12"}))
    assert (error.value.code, error.value.headers["x-ms-error-code"]) == (401, "NoAuthenticationInformation")
    client = QueueClient(server.queue_endpoint, queue.queue_name, credential="d3Jvbmc=", retry_total=0)
    with pytest.raises(ClientAuthenticationError):
        client.peek_messages()


def test_service_properties(queues):
    rule = CorsRule(["http://a.example"], ["GET"], max_age_in_seconds=5)
    queues.set_service_properties(cors=[rule])
    found = queues.get_service_properties()
    assert [rule.allowed_origins for rule in found["cors"]] == ["http://a.example"]
    queues.set_service_properties(cors=[])
    assert queues.get_service_properties()["cors"] == []
