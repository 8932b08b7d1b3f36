"""Without conditions, the last writer wins, and a reader sees one write or another, whole, and never a mixture.

    python last_writer_wins.py "UseDevelopmentStorage=true"
"""

import sys
import threading
import uuid

from azure.storage.blob import BlobServiceClient

service = BlobServiceClient.from_connection_string(sys.argv[1])
container = service.create_container(f"last-{uuid.uuid4()}")
blob = container.get_blob_client("shared")
SIZE = 200_000
blob.upload_blob(b"0" * SIZE)
torn = []


def write(letter):
    for _ in range(10):
        blob.upload_blob(letter * SIZE, overwrite=True)


def read():
    for _ in range(20):
        seen = blob.download_blob().readall()
        if len(seen) != SIZE or len(set(seen)) != 1:
            torn.append(seen[:20])


threads = [threading.Thread(target=write, args=(letter,)) for letter in (b"a", b"b", b"c")]
threads.append(threading.Thread(target=read))
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
last = blob.download_blob().readall()
print(f"the last writer was {last[:1].decode()}; readers saw whole writes only")
assert not torn and last == last[:1] * SIZE
container.delete_container()
