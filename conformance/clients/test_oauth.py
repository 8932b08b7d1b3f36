"""Bearer tokens and user delegation SAS, with the real SDKs over TLS and an issuer of our own."""

import base64
import datetime
import json
import ssl
import subprocess
import time
import urllib.error
import urllib.request

import pytest
from azure.core.credentials import AccessToken
from azure.core.exceptions import ClientAuthenticationError, HttpResponseError
from azure.storage.blob import (
    BlobClient, BlobServiceClient, ContainerClient, generate_blob_sas, generate_container_sas,
)
from azure.storage.queue import QueueClient, QueueServiceClient, generate_queue_sas
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from server import ACCOUNT, BINARY

ISSUER = "https://login.example/tenant/v2.0"
READER, OWNER, NOBODY = (str(number) * 8 + "-0000-0000-0000-000000000000" for number in (1, 2, 3))
TENANT = "44444444-0000-0000-0000-000000000000"


def encode(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Issuer:
    def __init__(self):
        self.key = rsa.generate_private_key(public_exponent=65537, key_size=2048)

    def keys(self):
        numbers = self.key.public_key().public_numbers()
        number = lambda value: encode(value.to_bytes((value.bit_length() + 7) // 8, "big"))
        return json.dumps({"keys": [
            {"kty": "RSA", "use": "sig", "kid": "1", "alg": "RS256", "n": number(numbers.n), "e": number(numbers.e)}
        ]})

    def token(self, oid, **claims):
        claims = {
            "iss": ISSUER, "aud": "https://storage.azure.com", "exp": int(time.time()) + 3600, "nbf": int(time.time()),
            "oid": oid, "tid": TENANT, **claims,
        }
        signed = f"{encode(json.dumps({'alg': 'RS256', 'typ': 'JWT', 'kid': '1'}).encode())}.{encode(json.dumps(claims).encode())}"
        return f"{signed}.{encode(self.key.sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256()))}"


class Credential:
    def __init__(self, token):
        self.token = token

    def get_token(self, *scopes, **named):
        return AccessToken(self.token, int(time.time()) + 3600)


class World:
    """A server with TLS that trusts one issuer."""

    def __init__(self, own, directory, *flags):
        self.issuer = Issuer()
        self.cert = directory / "cert.pem"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
             "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", directory / "key.pem", "-out", self.cert],
            check=True, capture_output=True,
        )
        (directory / "keys.json").write_text(self.issuer.keys())
        self.server = own(directory / "data", scheme="https", flags=[
            "--cert", str(self.cert), "--key", str(directory / "key.pem"),
            "--oauth-issuer", f"{ISSUER}={directory / 'keys.json'}",
            "--role", f"{READER}=Storage Blob Data Reader", "--role", f"{READER}=Storage Queue Data Reader",
            "--role", f"{OWNER}=Storage Blob Data Owner", "--role", f"{OWNER}=Storage Queue Data Contributor", *flags,
        ])
        self.common = {"retry_total": 0, "connection_verify": str(self.cert)}

    def blobs(self, oid, **claims):
        credential = Credential(self.issuer.token(oid, **claims))
        return BlobServiceClient(self.server.endpoint, credential=credential, **self.common)

    def queues(self, oid):
        credential = Credential(self.issuer.token(oid))
        return QueueServiceClient(self.server.queue_endpoint, credential=credential, **self.common)


@pytest.fixture
def world(own, tmp_path):
    return World(own, tmp_path)


def in_an_hour():
    return datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)


def a_minute_ago():
    return datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(minutes=1)


def refusal(call, *arguments, **named):
    with pytest.raises(HttpResponseError) as refused:
        call(*arguments, **named)
    return refused.value.status_code, refused.value.error_code


def test_roles_decide(world):
    owner, reader, nobody = (world.blobs(oid) for oid in (OWNER, READER, NOBODY))
    owner.create_container("ccc").upload_blob("b", b"data", tags={"a": "b"})
    assert reader.get_blob_client("ccc", "b").download_blob().readall() == b"data"
    assert [blob.name for blob in reader.get_container_client("ccc").list_blobs()] == ["b"]
    mismatch = (403, "AuthorizationPermissionMismatch")
    assert refusal(reader.get_blob_client("ccc", "b").delete_blob) == mismatch
    assert refusal(reader.get_blob_client("ccc", "b").get_blob_tags) == mismatch
    assert refusal(reader.create_container, "ddd") == mismatch
    assert refusal(nobody.get_blob_client("ccc", "b").download_blob) == mismatch
    assert refusal(owner.set_service_properties, cors=[]) == mismatch
    assert world.blobs(NOBODY, roles=["Storage Blob Data Reader"]).get_container_client("ccc").exists()


def test_queues_have_roles_too(world):
    queue = world.queues(OWNER).create_queue("qqq")
    queue.send_message("hello")
    reader = world.queues(READER).get_queue_client("qqq")
    assert [message.content for message in reader.peek_messages()] == ["hello"]
    assert refusal(reader.send_message, "x") == (403, "AuthorizationPermissionMismatch")
    assert refusal(lambda: list(reader.receive_messages())) == (403, "AuthorizationPermissionMismatch")


@pytest.mark.parametrize("claims, detail", [
    ({"aud": "https://graph.microsoft.com"}, "Audience"),
    ({"exp": 1000}, "expired"),
    ({"iss": "https://evil.example"}, "Issuer"),
])
def test_bad_tokens_are_challenged(world, claims, detail):
    with pytest.raises(ClientAuthenticationError) as refused:
        world.blobs(OWNER, **claims).get_service_properties()
    assert refused.value.status_code == 401 and refused.value.error_code == "InvalidAuthenticationInfo"
    assert detail in str(refused.value)
    assert "authorization_uri=" in refused.value.response.headers["WWW-Authenticate"]


def test_a_forged_token_is_refused(world):
    forger = Issuer()
    client = BlobServiceClient(world.server.endpoint, credential=Credential(forger.token(OWNER)), **world.common)
    assert refusal(client.get_account_information)[0] == 401


def test_user_delegation_sas(world):
    owner, reader = world.blobs(OWNER), world.blobs(READER)
    container = owner.create_container("ccc")
    container.upload_blob("dir/b", b"data")
    for maker in (owner, reader):
        key = maker.get_user_delegation_key(a_minute_ago(), in_an_hour())
        assert key.signed_service == "b" and key.signed_tid == TENANT
        sas = generate_blob_sas(ACCOUNT, "ccc", "dir/b", user_delegation_key=key, permission="rwd", expiry=in_an_hour())
        blob = BlobClient(world.server.endpoint, "ccc", "dir/b", credential=sas, **world.common)
        assert blob.download_blob().readall() == b"data"
        if maker is reader:
            assert refusal(blob.upload_blob, b"more", overwrite=True) == (403, "AuthorizationPermissionMismatch")
        else:
            blob.upload_blob(b"data", overwrite=True)
        sas = generate_container_sas(ACCOUNT, "ccc", user_delegation_key=key, permission="rl", expiry=in_an_hour())
        listed = ContainerClient(world.server.endpoint, "ccc", credential=sas, **world.common).list_blobs()
        assert [blob.name for blob in listed] == ["dir/b"]
        sas = generate_blob_sas(
            ACCOUNT, "ccc", "dir/b", user_delegation_key=key, permission="r", expiry=in_an_hour(), user_delegation_oid=NOBODY,
        )
        blob = BlobClient(world.server.endpoint, "ccc", "dir/b", credential=sas, **world.common)
        assert refusal(blob.download_blob)[0] == 403, "bound to a user, whose token is missing"
        request = urllib.request.Request(
            blob.url, headers={"Authorization": f"Bearer {world.issuer.token(NOBODY)}", "x-ms-version": "2026-10-06"}
        )
        context = ssl.create_default_context(cafile=world.cert)
        assert urllib.request.urlopen(request, context=context).read() == b"data"
    assert refusal(world.blobs(NOBODY).get_user_delegation_key, a_minute_ago(), in_an_hour())[0] == 403
    key = owner.get_user_delegation_key(a_minute_ago(), in_an_hour())
    sas = generate_blob_sas(
        ACCOUNT, "ccc", "dir/b", user_delegation_key=key, permission="r", expiry=in_an_hour(),
        request_headers={"x-ms-meta-a": "1"}, request_query_params={"extra": "2"},
    )
    url = f"{world.server.endpoint}/ccc/dir/b?{sas}&extra=2"
    fetch = lambda value: urllib.request.urlopen(
        urllib.request.Request(url, headers={"x-ms-meta-a": value}), context=context
    ).read()
    assert fetch("1") == b"data"
    with pytest.raises(urllib.error.HTTPError) as refused:
        fetch("2")
    assert refused.value.code == 403
    subprocess.run([BINARY, "account", "revoke-delegation-keys", ACCOUNT, "--location", world.server.directory], check=True)
    assert refusal(blob.download_blob)[0] == 403


def test_user_delegation_sas_of_a_queue(world):
    service = world.queues(OWNER)
    service.create_queue("qqq").send_message("hello")
    key = service.get_user_delegation_key(expiry=in_an_hour(), start=a_minute_ago())
    assert key.signed_service == "q"
    sas = generate_queue_sas(ACCOUNT, "qqq", user_delegation_key=key, permission="r", expiry=in_an_hour())
    queue = QueueClient(world.server.queue_endpoint, "qqq", credential=sas, **world.common)
    assert [message.content for message in queue.peek_messages()] == ["hello"]
    assert refusal(queue.send_message, "x")[0] == 403


def test_a_key_is_asked_for_with_a_token_and_nothing_else(world):
    with BlobServiceClient.from_connection_string(world.server.connection_string, **world.common) as service:
        assert refusal(service.get_user_delegation_key, a_minute_ago(), in_an_hour()) == (403, "AuthenticationFailed")


def test_basic_mode_on_plain_http(own, tmp_path):
    server = own(tmp_path / "data", flags=["--oauth", "basic", "--oauth-insecure"])
    token = Issuer().token(NOBODY, iss="https://sts.windows.net/tenant/")
    def ask(method, path):
        request = urllib.request.Request(f"{server.endpoint}{path}", method=method, headers={
            "Authorization": f"Bearer {token}", "x-ms-version": "2021-08-06", "Content-Length": "0",
        })
        return urllib.request.urlopen(request).status
    assert ask("PUT", "/ccc?restype=container") == 201
    assert ask("GET", "?comp=list") == 200
