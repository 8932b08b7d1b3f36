"""An application as many are: it takes orders from a queue, books each once, and counts what it has booked. Its logic for retries, lost races and
messages that come twice is what test_orders.py proves.
"""

import json
import uuid

from azure.core import MatchConditions
from azure.core.exceptions import HttpResponseError, ResourceExistsError, ResourceModifiedError, ServiceRequestError, ServiceResponseError
from azure.storage.blob import BlobServiceClient
from azure.storage.queue import QueueServiceClient

AMBIGUOUS = (ServiceRequestError, ServiceResponseError)


class Orders:
    def __init__(self, connection_string, attempts=5):
        self.container = BlobServiceClient.from_connection_string(connection_string, retry_total=0).get_container_client("orders")
        self.queue = QueueServiceClient.from_connection_string(connection_string, retry_total=0).get_queue_client("orders")
        self.attempts = attempts

    def place(self, order):
        self.queue.send_message(json.dumps(order))

    def work(self):
        """Handles one order, if there is one. Says whether there was."""
        message = self._retry(lambda: self.queue.receive_message(visibility_timeout=30))
        if message is not None:
            self.handle(message)
        return message is not None

    def handle(self, message):
        order = json.loads(message.content)
        if self._book(order):
            self._count(order["amount"])
        try:
            self.queue.delete_message(message)
        except HttpResponseError as gone:
            # It took too long, or somebody else has it now: that one finds the order booked.
            if gone.status_code not in (400, 404):
                raise

    def _book(self, order):
        """Makes the order's blob: true for the one who made it. If an answer was lost, the blob itself says who that was."""
        blob = self.container.get_blob_client(f"booked/{order['id']}")
        by = str(uuid.uuid4())

        def book():
            try:
                blob.upload_blob(json.dumps({**order, "by": by}), overwrite=False)
                return True
            except ResourceExistsError:
                return json.loads(blob.download_blob().readall())["by"] == by

        return self._retry(book)

    def _count(self, amount):
        """Adds to the total: reads, writes if nobody else has, and tries again if somebody has."""
        blob = self.container.get_blob_client("total")
        for _ in range(self.attempts):
            found = self._retry(lambda: blob.download_blob())
            total = json.loads(found.readall())
            try:
                blob.upload_blob(json.dumps(total + amount), overwrite=True, etag=found.properties.etag, match_condition=MatchConditions.IfNotModified)
                return
            except ResourceModifiedError:
                continue
        raise RuntimeError("lost the race too often")

    def _retry(self, what):
        for _ in range(self.attempts):
            try:
                return what()
            except AMBIGUOUS:
                continue
            except HttpResponseError as busy:
                if busy.status_code not in (500, 503):
                    raise
        raise RuntimeError("the server is not to be reached")

    def total(self):
        return json.loads(self.container.get_blob_client("total").download_blob().readall())
