"""Extending visibility: a worker that needs longer than it thought says so, again and again, and keeps notes in the message. Each update
gives a new receipt, and only the newest is good.

    python extending_visibility.py "UseDevelopmentStorage=true"
"""

import sys
import time
import uuid

from azure.storage.queue import QueueServiceClient

queue = QueueServiceClient.from_connection_string(sys.argv[1]).create_queue(f"extending-{uuid.uuid4()}")
queue.send_message("step 0")
job = queue.receive_message(visibility_timeout=2)
for step in range(1, 5):
    time.sleep(0.8)  # a part of the work; all of it takes longer than the first timeout
    job = queue.update_message(job, visibility_timeout=2, content=f"step {step}")
    assert queue.receive_message() is None, "nobody else may see it while it is held"
# Had the worker died here, the next one would have gone on from the last note:
job = queue.update_message(job, visibility_timeout=0)
successor = queue.receive_message(visibility_timeout=30)
assert (successor.content, successor.dequeue_count) == ("step 4", 2)
queue.delete_message(successor)
print("held for longer than its timeout; the successor went on from", repr(successor.content))
queue.delete_queue()
