"""Several gateways on the cluster of LAZULI_CEPH_CONF, for tests that have to know which one they ask."""

import importlib.machinery
import importlib.util
import os
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "conformance/clients"))
BINARY = os.environ.get("LAZULI_BINARY", str(ROOT / "target/debug/lazuli"))

loader = importlib.machinery.SourceFileLoader("gateways", str(ROOT / "conformance/gateways"))
gateways = importlib.util.module_from_spec(importlib.util.spec_from_loader("gateways", loader))
loader.exec_module(gateways)


class Fleet(gateways.Fleet):
    def connection_string(self, gateway, account=gateways.ACCOUNT, key=gateways.KEY):
        """Of one gateway, past the proxy."""
        ports = self.gateways[gateway].ports
        endpoints = "".join(f"{name.capitalize()}Endpoint=http://127.0.0.1:{ports[name]}/{account};" for name in ("blob", "queue", "table", "file"))
        return f"DefaultEndpointsProtocol=http;AccountName={account};AccountKey={key};{endpoints}"


@pytest.fixture(scope="session")
def fleet():
    fleet = Fleet(BINARY, 2)
    yield fleet
    fleet.end()


@pytest.fixture
def own_fleet():
    """For tests that end gateways."""
    fleet = Fleet(BINARY, 2)
    yield fleet
    fleet.end()


@pytest.fixture
def new_pool():
    pool = f"import-{os.getpid()}"
    gateways.ceph("osd", "pool", "create", pool, "8", "8", "replicated")
    gateways.ceph("osd", "pool", "application", "enable", pool, "lazuli")
    yield pool
    gateways.ceph("osd", "pool", "rm", pool, pool, "--yes-i-really-really-mean-it")


@pytest.fixture
def flags():
    """How a command reaches the cluster."""
    return lambda pool: ["--engine", "rados", "--pool", pool, "--ceph-conf", os.environ["LAZULI_CEPH_CONF"]]
