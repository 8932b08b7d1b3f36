"""Pessimistic concurrency: the holder of the lease writes, and everybody else is refused.

A second writer without the lease is told 412; one that wants the lease is told 409 until it is released or runs out.

    python leased_blob.py "UseDevelopmentStorage=true"
"""

import sys
import uuid

from azure.core.exceptions import HttpResponseError, ResourceExistsError
from azure.storage.blob import BlobServiceClient

service = BlobServiceClient.from_connection_string(sys.argv[1])
container = service.create_container(f"leased-{uuid.uuid4()}")
blob = container.upload_blob("document", b"draft")

lease = blob.acquire_lease(lease_duration=15)
try:
    blob.upload_blob(b"of a second writer", overwrite=True)
    raise AssertionError("a writer without the lease got through")
except HttpResponseError as refused:
    assert (refused.status_code, refused.error_code) == (412, "LeaseIdMissing"), refused
try:
    blob.acquire_lease(lease_duration=15)
    raise AssertionError("two held the lease")
except ResourceExistsError as refused:
    assert refused.error_code == "LeaseAlreadyPresent", refused

blob.upload_blob(b"of the holder", overwrite=True, lease=lease)
assert blob.download_blob().readall() == b"of the holder"  # reading needs no lease
lease.release()
blob.upload_blob(b"of anybody", overwrite=True)
print("while one held the lease, a second writer was refused; after its release anybody may write")
container.delete_container()
