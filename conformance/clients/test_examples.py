"""The programs of examples/ run as they are."""

import subprocess
import sys

import pytest

from server import ROOT

EXAMPLES = sorted((ROOT / "examples").rglob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=[path.stem for path in EXAMPLES])
def test_example(server, path):
    ran = subprocess.run([sys.executable, path, server.connection_string], capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stdout + ran.stderr
