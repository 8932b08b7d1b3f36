"""`lazuli account`: accounts, keys and settings of a server that runs, and of a directory that no server uses."""

import json
import subprocess
import time

import pytest
from azure.core.exceptions import HttpResponseError
from azure.storage.blob import BlobServiceClient, RetentionPolicy

from server import ACCOUNT, BINARY


def lazuli(directory, *arguments, fails=False):
    ran = subprocess.run(
        [BINARY, "account", *arguments, "--location", str(directory)], capture_output=True, text=True, timeout=60
    )
    assert (ran.returncode != 0) == fails, ran.stderr
    return ran.stderr if fails else ran.stdout


def setting(text, name):
    return next(line.split()[1] for line in text.splitlines() if line.startswith(f"{name} "))


def blobs(server, account, key):
    url = server.endpoint.replace(ACCOUNT, account)
    return BlobServiceClient(url, credential={"account_name": account, "account_key": key}, retry_total=0)


def keys_of(text):
    return [line.split()[1] for line in text.splitlines() if line.startswith("key")]


def test_an_account_is_made_used_rotated_and_deleted_while_the_server_runs(own, tmp_path):
    server = own(tmp_path / "data")
    key1, key2 = keys_of(lazuli(server.directory, "create", "another1"))
    blobs(server, "another1", key2).create_container("ccc")
    old, (new, kept) = key1, keys_of(lazuli(server.directory, "rotate-key", "another1", "key1"))
    assert kept == key2 and new != old
    assert blobs(server, "another1", new).get_container_client("ccc").exists()
    with pytest.raises(HttpResponseError) as refused:
        blobs(server, "another1", old).get_container_client("ccc").get_container_properties()
    assert refused.value.status_code == 403
    assert "still has containers" in lazuli(server.directory, "delete", "another1", fails=True)
    blobs(server, "another1", new).delete_container("ccc")
    lazuli(server.directory, "delete", "another1")
    with pytest.raises(HttpResponseError) as refused:
        blobs(server, "another1", new).create_container("ccc")
    assert refused.value.status_code == 403


def test_soft_delete_is_the_same_in_both_places(own, tmp_path):
    server = own(tmp_path / "data")
    with BlobServiceClient.from_connection_string(server.connection_string, retry_total=0) as service:
        service.set_service_properties(delete_retention_policy=RetentionPolicy(enabled=True, days=5))
        assert setting(lazuli(server.directory, "show", ACCOUNT), "blob-soft-delete") == "5"
        lazuli(server.directory, "set", ACCOUNT, "blob-soft-delete=off")
        assert not service.get_service_properties()["delete_retention_policy"].enabled


def test_settings_survive_and_are_made_without_a_server(own, tmp_path):
    server = own(tmp_path / "data")
    lazuli(server.directory, "set", ACCOUNT, "public-access=off")
    server.process.kill()
    server.process.wait()
    assert setting(lazuli(server.directory, "show", ACCOUNT), "public-access") == "off"
    key, _ = keys_of(lazuli(server.directory, "create", "offline1", "versioning=on"))
    again = own(server.directory, flags=["--setting", f"{ACCOUNT}:container-soft-delete=3"])
    shown = lazuli(again.directory, "show", ACCOUNT)
    assert (setting(shown, "public-access"), setting(shown, "container-soft-delete")) == ("off", "3")
    blobs(again, "offline1", key).create_container("ccc")
    refused = lazuli(again.directory, "set", ACCOUNT, "nonsense=on", fails=True)
    assert "there are" in refused and "versioning" in refused


def test_objects_are_replicated_between_two_accounts(own, tmp_path):
    """The policy as Azure has it, given to both accounts; what the SDK tells of a source and of its copy."""
    server = own(tmp_path / "data")
    key, _ = keys_of(lazuli(server.directory, "create", "another1"))
    source, copies = BlobServiceClient.from_connection_string(server.connection_string, retry_total=0), blobs(server, "another1", key)
    source.create_container("orders")
    copies.create_container("copies")
    policy = tmp_path / "policy.json"
    rule = {"ruleId": "", "sourceContainer": "orders", "destinationContainer": "copies", "filters": {"prefixMatch": ["a"]}}
    policy.write_text(json.dumps({"properties": {"policyId": "default", "sourceAccount": ACCOUNT, "destinationAccount": "another1", "rules": [rule]}}))
    assert "versioning=on" in lazuli(server.directory, "set", "another1", f"object-replication=@{policy}", fails=True)
    lazuli(server.directory, "set", "another1", "versioning=on", f"object-replication=@{policy}")
    assert "change-feed=on" in lazuli(server.directory, "set", ACCOUNT, "versioning=on", f"object-replication=@{policy}", fails=True)
    lazuli(server.directory, "set", ACCOUNT, "versioning=on", "change-feed=on", f"object-replication=@{policy}")
    one = source.get_blob_client("orders", "a1")
    one.upload_blob(b"first", metadata={"kind": "order"})
    one.upload_blob(b"second", overwrite=True)
    source.get_blob_client("orders", "b1").upload_blob(b"not wanted")

    def outcomes():
        return [(rule.status, policy.policy_id) for policy in one.get_blob_properties().object_replication_source_properties for rule in policy.rules]

    deadline = time.monotonic() + 60
    while not outcomes() and time.monotonic() < deadline:
        time.sleep(0.05)
    (status, policy_id), = outcomes()
    assert status == "complete"
    copy = copies.get_blob_client("copies", "a1")
    assert copy.download_blob().readall() == b"second"
    assert copy.get_blob_properties().object_replication_destination_policy == policy_id
    assert len(list(copies.get_container_client("copies").list_blobs(include=["versions"]))) == 2
    listed = {blob.name: blob.object_replication_source_properties for blob in source.get_container_client("orders").list_blobs()}
    assert listed["a1"][0].rules[0].status == "complete" and not listed["b1"]
    with pytest.raises(HttpResponseError) as refused:
        copy.upload_blob(b"by hand", overwrite=True)
    assert refused.value.status_code == 409
    copy.delete_blob()
