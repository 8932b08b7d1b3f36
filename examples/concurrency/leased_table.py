"""Pessimistic concurrency for tables: a leased blob guards work on several partitions, which no one transaction could do.

The holder of the lease may work; the others wait. The lease ends by itself when its holder dies. The holder writes its number of the
blob's turns (a fencing token) with each change, so that one who lost the lease without noticing is found out.

    python leased_table.py "UseDevelopmentStorage=true"
"""

import sys
import threading
import time
import uuid

from azure.core.exceptions import HttpResponseError
from azure.data.tables import TableServiceClient
from azure.storage.blob import BlobServiceClient

tables = TableServiceClient.from_connection_string(sys.argv[1])
blobs = BlobServiceClient.from_connection_string(sys.argv[1])
name = f"guarded{uuid.uuid4().hex}"
table = tables.create_table(name)
container = blobs.create_container(name)
guard = container.upload_blob("guard", b"", metadata={"turn": "0"})
WORKERS, TURNS = 4, 5
inside, seen = [], []


def with_lease(work):
    while True:
        try:
            lease = guard.acquire_lease(lease_duration=15)
            break
        except HttpResponseError as error:
            if error.error_code != "LeaseAlreadyPresent":
                raise
            time.sleep(0.01)  # somebody else's turn
    try:
        turn = int(guard.get_blob_properties().metadata["turn"]) + 1
        guard.set_blob_metadata({"turn": str(turn)}, lease=lease)
        work(turn)
    finally:
        lease.release()


def move(turn):
    """Takes one from the left partition and gives it to the right one: two writes that nobody may see half of."""
    inside.append(turn)
    assert len(inside) == 1, "two at once"
    left, right = (table.get_entity(side, "count") for side in ("left", "right"))
    assert left["n"] + right["n"] == 100, "half of somebody's work"
    for one, change in ((left, -1), (right, 1)):
        assert one["turn"] < turn, "somebody with a later turn was here: our lease is not what we thought"
        table.update_entity({**one, "n": one["n"] + change, "turn": turn})
    seen.append(turn)
    inside.remove(turn)


for side, number in (("left", 100), ("right", 0)):
    table.create_entity({"PartitionKey": side, "RowKey": "count", "n": number, "turn": 0})
workers = [threading.Thread(target=lambda: [with_lease(move) for _ in range(TURNS)]) for _ in range(WORKERS)]
for worker in workers:
    worker.start()
for worker in workers:
    worker.join()

counts = [table.get_entity(side, "count")["n"] for side in ("left", "right")]
print(f"{WORKERS} workers took {len(seen)} turns, one at a time: {counts}")
assert seen == list(range(1, WORKERS * TURNS + 1)) and counts == [100 - len(seen), len(seen)]
table.delete_table()
container.delete_container()
