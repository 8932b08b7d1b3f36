"""Tiers, immutability, legal holds, expiry, customers' keys and encryption scopes, with the Python SDK."""

import base64
import datetime
import hashlib
import pathlib
import subprocess
import time
import uuid

import pytest
from azure.core.exceptions import HttpResponseError, ResourceNotFoundError
from azure.storage.blob import BlobServiceClient, CustomerProvidedEncryptionKey, ImmutabilityPolicy

from server import ACCOUNT

SETTINGS = (
    "versioning=on", "immutability=on", "encryption-scopes=one,two,off:disabled", "last-access-tracking=on",
    "default-tier=cool",
)


@pytest.fixture
def prepared(own, tmp_path):
    flags = [word for setting in SETTINGS for word in ("--setting", f"{ACCOUNT}:{setting}")]
    server = own(tmp_path / "data", flags=[*flags, "--rehydrate-seconds", "3"])
    with BlobServiceClient.from_connection_string(server.connection_string, retry_total=0) as service:
        yield server, service


@pytest.fixture
def box(prepared):
    return prepared[1].create_container(f"test-{uuid.uuid4()}")


def code(call, *arguments, **named):
    with pytest.raises(HttpResponseError) as refused:
        call(*arguments, **named)
    return refused.value.status_code, refused.value.response.headers.get("x-ms-error-code")


def key(seed):
    raw = bytes([seed]) * 32
    digest = base64.b64encode(hashlib.sha256(raw).digest()).decode()
    return CustomerProvidedEncryptionKey(base64.b64encode(raw).decode(), digest)


def test_the_archive_and_the_way_back(box):
    blob = box.upload_blob("b", b"cold")
    assert (blob.get_blob_properties().blob_tier, blob.get_blob_properties().blob_tier_inferred) == ("Cool", True)
    blob.set_standard_blob_tier("Archive")
    assert code(blob.download_blob) == (409, "BlobArchived")
    assert code(blob.set_blob_metadata, {"a": "b"})[1] == "BlobArchived"
    blob.set_standard_blob_tier("Hot", rehydrate_priority="High")
    seen = blob.get_blob_properties()
    assert (seen.blob_tier, seen.archive_status, seen.rehydrate_priority) == (
        "Archive", "rehydrate-pending-to-hot", "High",
    )
    listed = next(iter(box.list_blobs()))
    assert (listed.blob_tier, listed.archive_status) == ("Archive", "rehydrate-pending-to-hot")
    assert code(blob.set_standard_blob_tier, "Cool")[1] == "BlobBeingRehydrated"
    deadline = time.monotonic() + 60
    while blob.get_blob_properties().archive_status and time.monotonic() < deadline:
        time.sleep(0.2)
    assert blob.download_blob().readall() == b"cold"
    assert blob.get_blob_properties().blob_tier == "Hot"


def test_a_policy_and_a_hold_keep_a_blob(prepared, box):
    blob = box.upload_blob("b", b"evidence")
    until = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)
    blob.set_immutability_policy(ImmutabilityPolicy(expiry_time=until, policy_mode="Unlocked"))
    assert code(blob.delete_blob) == (409, "BlobImmutableDueToPolicy")
    assert code(blob.set_http_headers)[1] == "BlobImmutableDueToPolicy"
    assert blob.set_legal_hold(True)["legal_hold"]
    assert code(blob.delete_blob) == (409, "BlobImmutableDueToLegalHold")
    assert code(box.delete_container)[0] == 409
    listed = next(iter(box.list_blobs(include=["immutabilitypolicy", "legalhold"])))
    assert listed.immutability_policy.policy_mode == "unlocked" and listed.has_legal_hold
    blob.set_blob_tags({"still": "allowed"})
    blob.delete_immutability_policy()
    blob.set_legal_hold(False)
    blob.set_immutability_policy(ImmutabilityPolicy(expiry_time=until, policy_mode="Locked"))
    assert code(blob.delete_immutability_policy)[1] == "BlobImmutableDueToPolicy"


def test_customers_keys_encrypt_at_rest(own, tmp_path):
    # The SDK sends keys over HTTPS only.
    cert, secret_key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
         "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", secret_key, "-out", cert], check=True, capture_output=True,
    )
    server = own(tmp_path / "data", flags=["--cert", str(cert), "--key", str(secret_key)], scheme="https")
    service = BlobServiceClient.from_connection_string(
        server.connection_string, retry_total=0, connection_verify=str(cert)
    )
    box = service.create_container(f"test-{uuid.uuid4()}")
    words = [b"a small secret that nobody should find", b"a large secret that nobody should find " * 4000]
    for at, secret in enumerate(words):
        blob = box.get_blob_client(f"whole-{at}")
        blob.upload_blob(secret, cpk=key(1), metadata={"a": "b"})
        assert blob.download_blob(cpk=key(1)).readall() == secret
        assert blob.download_blob(offset=5, length=20, cpk=key(1)).readall() == secret[5:25]
        assert code(blob.download_blob) == (409, "BlobUsesCustomerSpecifiedEncryption")
        assert code(blob.download_blob, cpk=key(2)) == (409, "BlobCustomerSpecifiedEncryptionMismatch")
        assert code(blob.set_blob_metadata, {})[1] == "BlobUsesCustomerSpecifiedEncryption"
        assert blob.get_blob_properties(cpk=key(1)).encryption_key_sha256 == key(1).key_hash
        blocks = box.get_blob_client(f"blocks-{at}")
        blocks.stage_block("a", secret, cpk=key(1))
        blocks.stage_block("b", secret[::-1], cpk=key(1))
        assert code(blocks.commit_block_list, ["a", "b"])[1] == "BlobUsesCustomerSpecifiedEncryption"
        blocks.commit_block_list(["b", "a"], cpk=key(1))
        assert blocks.download_blob(cpk=key(1)).readall() == secret[::-1] + secret
    plain = box.upload_blob("plain", b"for everyone")
    assert code(plain.download_blob, cpk=key(1))[1] == "BlobDoesNotUseCustomerSpecifiedEncryption"
    server.process.terminate()
    server.process.wait()
    found = [
        path for path in pathlib.Path(server.directory).rglob("*") if path.is_file()
        for data in [path.read_bytes()] if b"secret that nobody" in data or bytes([1]) * 32 in data
    ]
    assert not found


def test_scopes(prepared, box):
    service = prepared[1]
    blob = box.get_blob_client("b")
    blob.upload_blob(b"x", encryption_scope="one")
    assert blob.get_blob_properties().encryption_scope == "one"
    assert next(iter(box.list_blobs())).encryption_scope == "one"
    assert code(blob.set_blob_metadata, {"a": "b"})[1] == "BlobUsesCustomerSpecifiedEncryption"
    assert code(blob.create_snapshot, encryption_scope="two")[1] == "BlobCustomerSpecifiedEncryptionMismatch"
    assert code(blob.upload_blob, b"x", overwrite=True, encryption_scope="unknown")[0] == 400
    assert code(blob.upload_blob, b"x", overwrite=True, encryption_scope="off")[0] == 403
    closed = service.create_container(
        f"test-{uuid.uuid4()}",
        container_encryption_scope={"default_encryption_scope": "one", "prevent_encryption_scope_override": True},
    )
    closed.upload_blob("b", b"x")
    assert closed.get_blob_client("b").get_blob_properties().encryption_scope == "one"
    refused = code(closed.upload_blob, "c", b"x", encryption_scope="two")
    assert refused == (403, "RequestForbiddenByContainerEncryptionPolicy")
    assert closed.get_container_properties().encryption_scope.default_encryption_scope == "one"


def test_scopes_encrypt_what_is_stored(own, tmp_path):
    setting = f"{ACCOUNT}:encryption-scopes=one,two"
    server = own(tmp_path, flags=("--setting", setting))
    service = BlobServiceClient.from_connection_string(server.connection_string, retry_total=0)
    box = service.create_container("box")
    secret = b"a secret that nobody reads on the disk " * 2048
    secret = secret[: len(secret) // 512 * 512]
    whole = box.upload_blob("whole", secret, encryption_scope="one")
    box.upload_blob("small", secret[:100], encryption_scope="two")
    blocks = box.get_blob_client("blocks")
    for name, part in (("a", secret[:60_000]), ("b", secret[60_000:])):
        blocks.stage_block(name, part, encryption_scope="one")
    blocks.commit_block_list(["a", "b"], encryption_scope="one")
    pages = box.get_blob_client("pages")
    pages.create_page_blob(len(secret), encryption_scope="one")
    pages.upload_page(secret[:1024], offset=0, length=1024, encryption_scope="one")
    pages.upload_page(secret[1024:], offset=1024, length=len(secret) - 1024, encryption_scope="one")
    appended = box.get_blob_client("appended")
    appended.create_append_blob(encryption_scope="two")
    appended.append_block(secret[:700], encryption_scope="two")
    appended.append_block(secret[700:], encryption_scope="two")
    snapshot = pages.create_snapshot(encryption_scope="one")["snapshot"]
    pages.clear_page(offset=512, length=512, headers={"x-ms-encryption-scope": "one"})
    copies = []
    for source in (whole, blocks, pages, appended):
        for scope in ("one", "two"):
            copy = box.get_blob_client(f"{source.blob_name}-{scope}")
            copy.start_copy_from_url(source.url, headers={"x-ms-encryption-scope": scope})
            copies.append((source, copy))

    def check(service):
        box = service.get_container_client("box")
        for name in ("whole", "blocks", "appended"):
            blob = box.get_blob_client(name)
            assert blob.download_blob().readall() == secret, name
            assert blob.download_blob(offset=650, length=100_00).readall() == secret[650:10_650], name
        assert box.download_blob("small").readall() == secret[:100]
        assert box.get_blob_client("pages", snapshot=snapshot).download_blob().readall() == secret
        holed = secret[:512] + bytes(512) + secret[1024:]
        assert box.download_blob("pages").readall() == holed
        for source, copy in copies:
            want = holed if source.blob_name == "pages" else secret
            assert box.download_blob(copy.blob_name).readall() == want, copy.blob_name

    check(service)
    server.process.terminate()
    server.process.wait()
    files = [path for path in pathlib.Path(tmp_path).rglob("*") if path.is_file()]
    assert not [path for path in files if b"a secret that nobody" in path.read_bytes()]
    # The keys are the account's own, and are there after a restart; a disabled scope gives nothing away.
    server = own(tmp_path, flags=("--setting", f"{ACCOUNT}:encryption-scopes=one,two:disabled"))
    service = BlobServiceClient.from_connection_string(server.connection_string, retry_total=0)
    assert code(service.get_blob_client("box", "small").download_blob) == (403, "EncryptionScopeDisabled")
    server.process.terminate()
    server.process.wait()
    check(BlobServiceClient.from_connection_string(own(tmp_path, flags=("--setting", setting)).connection_string))


def test_an_expired_blob_is_gone(prepared, box):
    blob = box.upload_blob("b", b"for a moment")
    # The SDK has this for Data Lake files only.
    blob._client.blob.set_expiry("RelativeToNow", expires_on="1500")
    assert blob.exists()
    deadline = time.monotonic() + 60
    while blob.exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    with pytest.raises(ResourceNotFoundError):
        blob.get_blob_properties()
    assert list(box.list_blobs()) == []
    box.upload_blob("b", b"again")


def test_last_access_is_shown(box):
    blob = box.upload_blob("b", b"x")
    seen = blob.get_blob_properties()
    assert seen.last_accessed_on == seen.last_modified
    assert next(iter(box.list_blobs())).last_accessed_on == seen.last_modified
