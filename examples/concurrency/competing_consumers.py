"""Competing consumers: several workers take from one queue, and each message is handled by one of them.

While a worker holds a message nobody else sees it. A worker that dies simply never deletes it: after the visibility timeout the message
is back, with a higher dequeue count.

    python competing_consumers.py "UseDevelopmentStorage=true"
"""

import sys
import threading
import time
import uuid

from azure.storage.queue import QueueServiceClient

service = QueueServiceClient.from_connection_string(sys.argv[1])
queue = service.create_queue(f"competing-{uuid.uuid4()}")
JOBS = 50
handled, lock = {}, threading.Lock()


def work(crash_once):
    while len(handled) < JOBS:
        job = queue.receive_message(visibility_timeout=2)
        if job is None:
            time.sleep(0.05)  # others hold what is left
        elif crash_once:
            crash_once.pop()  # this worker "dies" here, holding the message: another one gets it
        else:
            with lock:
                handled.setdefault(job.content, []).append(job.dequeue_count)
            queue.delete_message(job)


for number in range(JOBS):
    queue.send_message(f"job {number}")
workers = [threading.Thread(target=work, args=(crash,)) for crash in (["once"], [], [], [])]
for worker in workers:
    worker.start()
for worker in workers:
    worker.join()

assert all(len(times) == 1 for times in handled.values()), handled
again = [job for job, [count] in handled.items() if count > 1]
print(f"{len(handled)} jobs, each handled once; after the crash {again} came back")
assert len(again) == 1
queue.delete_queue()
