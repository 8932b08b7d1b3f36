"""The programs of examples/ run as they are."""

import os
import subprocess
import sys

import pytest

from server import CACHE, ROOT

EXAMPLES = sorted((ROOT / "examples" / "concurrency").rglob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=[path.stem for path in EXAMPLES])
def test_example(server, path):
    ran = subprocess.run([sys.executable, path, server.connection_string], capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stdout + ran.stderr


LAB = ROOT / "examples" / "lab"


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    from server import Server

    server = Server(tmp_path_factory.mktemp("lab"), flags=["--in-memory", "--lab"], environment={"LAZULI_OPERATOR_TOKEN": "the-operators-token"})
    yield server
    server.process.kill()
    server.process.wait()


def run_in_lab(lab, *command, **named):
    environment = {
        **os.environ,
        "LAZULI_CONSOLE": lab.console,
        "LAZULI_OPERATOR_TOKEN": "the-operators-token",
        "LAZULI_CONNECTION": lab.connection_string,
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    ran = subprocess.run(command, capture_output=True, text=True, timeout=180, env=environment, **named)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def test_two_workers_race_and_are_told_who_won(lab):
    said = run_in_lab(lab, sys.executable, LAB / "race.py", lab.connection_string, lab.console, "the-operators-token")
    assert "anna lost: " in said


def test_a_suite_in_python_proves_an_application(lab):
    run_in_lab(lab, sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", LAB / "test_orders.py", cwd=LAB)


def test_a_suite_in_javascript_proves_an_application(lab, tmp_path):
    # The packages are beside the clients of this suite, and not in the tree.
    for file in ("counter.mjs", "counter.test.mjs"):
        (tmp_path / file).write_text((LAB / file).read_text())
    (tmp_path / "node_modules").symlink_to(CACHE / "js" / "node_modules")
    run_in_lab(lab, CACHE / "bin" / "node", "--test", tmp_path / "counter.test.mjs", cwd=tmp_path)
