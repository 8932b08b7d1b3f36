"""Two workers race for one blob, one lease and one queue. For each refusal the server is asked who was faster, and why.

    lazuli --in-memory --lab            (prints the operator's token)
    python race.py "UseDevelopmentStorage=true" http://127.0.0.1:10080 TOKEN

While it runs, the console's page shows the same conflicts as they happen.
"""

import json
import sys
import threading
import urllib.request
import uuid

from azure.core import MatchConditions
from azure.core.exceptions import HttpResponseError
from azure.storage.blob import BlobServiceClient
from azure.storage.queue import QueueServiceClient

connection, console, token = sys.argv[1:4]
blobs = BlobServiceClient.from_connection_string(connection, retry_total=0)
queues = QueueServiceClient.from_connection_string(connection, retry_total=0)
name = f"race-{uuid.uuid4()}"
container, queue = blobs.create_container(name), queues.create_queue(name)
together = threading.Barrier(2)
refusals, lock = [], threading.Lock()


def attempt(worker, what):
    """Does `what` under the worker's name; a refusal is kept for later."""
    try:
        return what({"client_request_id": worker})
    except HttpResponseError as refused:
        with lock:
            refusals.append((worker, refused.response.headers["x-ms-request-id"]))


def work(worker):
    for round in range(5):
        counter, held = container.get_blob_client(f"counter-{round}"), container.get_blob_client(f"held-{round}")
        if worker == "anna":
            counter.upload_blob(b"0")
            held.upload_blob(b"")
            queue.send_message(f"job {round}")
        together.wait()
        # One blob: both read it, and both write what they made of it, if nobody else has.
        etag = counter.get_blob_properties().etag
        together.wait()
        attempt(worker, lambda named: counter.upload_blob(
            worker, overwrite=True, etag=etag, match_condition=MatchConditions.IfNotModified, **named))
        # One lease.
        together.wait()
        attempt(worker, lambda named: held.acquire_lease(15, **named))
        # One message: the first to take it gives it back at once, so both get it, and only the last receipt is good.
        together.wait()
        job = queue.receive_message(visibility_timeout=1) if worker == "anna" else None
        together.wait()
        if worker == "anna":
            stale = job.pop_receipt
            queue.update_message(job, visibility_timeout=0)
        together.wait()
        if worker == "boris":
            job = queue.receive_message(visibility_timeout=30)
        together.wait()
        if worker == "anna":
            attempt(worker, lambda named: queue.delete_message(job.id, stale, **named))
        together.wait()
        if worker == "boris":
            queue.delete_message(job)


workers = [threading.Thread(target=work, args=(worker,)) for worker in ("anna", "boris")]
for worker in workers:
    worker.start()
for worker in workers:
    worker.join()

for worker, request in refusals:
    ask = urllib.request.Request(f"{console}/api/explain/{request}", headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(ask) as answer:
        told = json.load(answer)
    print(f"{worker} lost: {told['text']}\n")
    assert told["certain"] and told["winner"], told
    if told["winner"]["operation"] in ("PutBlob", "AcquireBlobLease"):
        assert told["winner"]["client_request_id"] != worker, "nobody loses to himself"
# Each round has one loser for the blob, one for the lease and one for the message.
assert len(refusals) == 15, len(refusals)
container.delete_container()
queue.delete_queue()
