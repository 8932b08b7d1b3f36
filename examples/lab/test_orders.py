"""Proves the logic of orders.py for all that goes wrong in production, without waiting for any of it.

    lazuli --in-memory --lab --create container:orders,queue:orders
    LAZULI_CONSOLE=http://127.0.0.1:10080 LAZULI_OPERATOR_TOKEN=… LAZULI_CONNECTION="UseDevelopmentStorage=true" pytest test_orders.py
"""

import json
import os
import urllib.request

import pytest

from orders import Orders

CONSOLE, TOKEN = os.environ["LAZULI_CONSOLE"], os.environ["LAZULI_OPERATOR_TOKEN"]


class Lab:
    """The few calls of the lab's API that a test suite needs."""

    def ask(self, method, path, document=None):
        headers = {"Authorization": f"Bearer {TOKEN}"}
        body = None if document is None else json.dumps(document).encode()
        ask = urllib.request.Request(CONSOLE + path, body, headers, method=method)
        with urllib.request.urlopen(ask) as answer:
            content = answer.read()
        return json.loads(content) if content else None

    def rule(self, do, **more):
        return self.ask("POST", "/api/lab/rules", {"do": do, "count": 1, **more})

    def advance(self, seconds):
        return self.ask("POST", "/api/lab/clock", {"advance_seconds": seconds})

    def fired(self):
        return self.ask("GET", "/api/lab")["fired"]


@pytest.fixture
def lab():
    lab = Lab()
    lab.ask("POST", "/api/lab/reset", {})
    yield lab
    lab.ask("DELETE", "/api/lab/rules")


@pytest.fixture
def orders(lab):
    orders = Orders(os.environ["LAZULI_CONNECTION"])
    orders.container.create_container()
    orders.queue.create_queue()
    orders.container.get_blob_client("total").upload_blob("0")
    orders.place({"id": "one", "amount": 7})
    return orders


def finish(orders):
    while orders.work():
        pass
    return orders.total()


def test_without_trouble(orders):
    assert finish(orders) == 7


@pytest.mark.parametrize("trouble", [
    dict(do="fail", operation="PutBlob", prefix="booked/"),
    dict(do="fail", operation="PutBlob", prefix="booked/", status=500, apply=True),
    dict(do="disconnect", operation="PutBlob", prefix="booked/"),
    dict(do="disconnect", operation="PutBlob", prefix="booked/", apply=True),
    dict(do="lose-race", operation="PutBlob", prefix="total"),
    dict(do="fail", operation="GetMessages"),
    dict(do="slow", operation="GetBlob", milliseconds=20),
], ids=lambda trouble: "-".join(map(str, trouble.values())))
def test_each_order_is_counted_once_whatever_happens(lab, orders, trouble):
    before = lab.fired()
    lab.rule(**trouble)
    assert finish(orders) == 7
    assert lab.fired() == before + 1, "the trouble came"


def test_an_order_that_is_delivered_twice_is_booked_once(lab, orders):
    lab.rule("deliver-twice", operation="GetMessages")
    first = orders.queue.receive_message(visibility_timeout=30)
    assert finish(orders) == 7, "another worker was handed it too"
    orders.handle(first)
    assert orders.total() == 7


def test_an_order_whose_worker_died_comes_back(lab, orders):
    assert orders.queue.receive_message(visibility_timeout=30) is not None  # and then it died
    assert finish(orders) == 0, "nobody sees it yet"
    lab.advance(31)
    assert finish(orders) == 7
