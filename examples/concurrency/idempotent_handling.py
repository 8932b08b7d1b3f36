"""Idempotent handling: a message may come twice (its worker was slow, or died after the work and before the delete), so the work
must be harmless when repeated. Here each job leaves a marker under a name of its own, and a handler that finds the marker does nothing.

    python idempotent_handling.py "UseDevelopmentStorage=true"
"""

import sys
import time
import uuid

from azure.core.exceptions import ResourceExistsError, ResourceNotFoundError
from azure.storage.blob import BlobServiceClient
from azure.storage.queue import QueueServiceClient

name = f"idempotent-{uuid.uuid4()}"
queue = QueueServiceClient.from_connection_string(sys.argv[1]).create_queue(name)
done = BlobServiceClient.from_connection_string(sys.argv[1]).create_container(name)
balance = 0


def handle(job):
    """True if this call did the work. `overwrite=False` is If-None-Match: *, so of two calls one wins."""
    global balance
    try:
        done.upload_blob(job.id, b"", overwrite=False)
    except ResourceExistsError:
        return False
    balance += int(job.content)
    return True


def next_job(seconds):
    while (job := queue.receive_message(visibility_timeout=seconds)) is None:
        time.sleep(0.05)
    return job


queue.send_message("100")
slow = next_job(1)
assert handle(slow)  # ... but it is slow to delete the message, and its time runs out
second = next_job(30)
assert second.id == slow.id and second.dequeue_count == 2
assert not handle(second)
try:
    queue.delete_message(slow)
    raise AssertionError("a receipt that is no longer good was taken")
except ResourceNotFoundError:
    pass  # MessageNotFound: somebody else holds it now, so the delete is theirs
queue.delete_message(second)
assert balance == 100
print("delivered twice, done once: the balance is", balance)
queue.delete_queue()
done.delete_container()
