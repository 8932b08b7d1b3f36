"""Optimistic concurrency: read, change, write back only if nobody else has written since.

The ETag that came with the read goes into If-Match of the write. A writer that was too slow is told 412, reads again and tries again; no
update is lost.

    python optimistic_blob.py "UseDevelopmentStorage=true"
"""

import sys
import threading
import uuid

from azure.core import MatchConditions
from azure.core.exceptions import ResourceModifiedError
from azure.storage.blob import BlobServiceClient

service = BlobServiceClient.from_connection_string(sys.argv[1])
container = service.create_container(f"optimistic-{uuid.uuid4()}")
blob = container.upload_blob("counter", b"0")
WORKERS, ROUNDS = 4, 10
conflicts, lock = [], threading.Lock()


def count():
    for _ in range(ROUNDS):
        while True:
            read = blob.download_blob()
            number = int(read.readall()) + 1
            try:
                blob.upload_blob(
                    str(number), overwrite=True, etag=read.properties.etag, match_condition=MatchConditions.IfNotModified
                )
                break
            except ResourceModifiedError:
                with lock:
                    conflicts.append(number)


workers = [threading.Thread(target=count) for _ in range(WORKERS)]
for worker in workers:
    worker.start()
for worker in workers:
    worker.join()
total = int(blob.download_blob().readall())
print(f"counted to {total}; {len(conflicts)} writes came too late and were made again")
assert total == WORKERS * ROUNDS
container.delete_container()
