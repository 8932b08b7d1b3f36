"""Optimistic concurrency: several writers change one entity, and no change is lost.

Each reads the entity, changes what it read, and writes it back on the condition that it is still what was read. Who comes too late is
told so (412), reads again and tries again. Nobody waits for a lock, and nobody overwrites what it has not seen.

    python optimistic_entity.py "UseDevelopmentStorage=true"
"""

import random
import sys
import threading
import time
import uuid

from azure.core import MatchConditions
from azure.core.exceptions import ResourceModifiedError
from azure.data.tables import TableServiceClient

service = TableServiceClient.from_connection_string(sys.argv[1])
table = service.create_table(f"optimistic{uuid.uuid4().hex}")
WRITERS, DEPOSITS = 5, 20
retries = []


def deposit(amount):
    for attempt in range(1_000):
        account = table.get_entity("accounts", "shared")
        account["balance"] += amount
        try:
            table.update_entity(account, etag=account.metadata["etag"], match_condition=MatchConditions.IfNotModified)
            return
        except ResourceModifiedError:
            retries.append(attempt)
            time.sleep(random.uniform(0, 0.002 * min(attempt + 1, 10)))  # make room for the others
    raise RuntimeError("nobody should have to try so often")


table.create_entity({"PartitionKey": "accounts", "RowKey": "shared", "balance": 0})
writers = [threading.Thread(target=lambda: [deposit(1) for _ in range(DEPOSITS)]) for _ in range(WRITERS)]
for writer in writers:
    writer.start()
for writer in writers:
    writer.join()

balance = table.get_entity("accounts", "shared")["balance"]
print(f"{WRITERS} writers, {WRITERS * DEPOSITS} deposits, balance {balance}; {len(retries)} came too late and tried again")
assert balance == WRITERS * DEPOSITS
table.delete_table()
