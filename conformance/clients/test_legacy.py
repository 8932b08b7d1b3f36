"""Programs from before 2019, with the SDKs of their time: Python's azure-storage 2.1 and azure-cosmosdb-table, Node's azure-storage.

They run in processes of their own, because their packages have the names of today's. The other end of time is every other file here: the SDKs that are
installed are the newest there are, previews included (no preview is newer than the release that followed it)."""

import pathlib
import subprocess

import pytest

from server import ACCOUNT, CACHE, KEY

HERE = pathlib.Path(__file__).resolve().parent / "legacy"
NAME = "legacy1"  # these SDKs know that the development account has no files


def endpoints(server):
    urls = server.endpoint, server.queue_endpoint, server.table_endpoint, server.file_endpoint
    return [url.replace(ACCOUNT, NAME) for url in urls]


@pytest.mark.parametrize("kind", ["python", "node"])
def test_a_program_of_its_time(own, tmp_path, kind):
    accounts = tmp_path / "accounts"
    accounts.write_text(f"{ACCOUNT}:{KEY}\n{NAME}:{KEY}\n")
    accounts.chmod(0o600)
    server = own(tmp_path / "data", flags=["--account-file", str(accounts)])
    command, environment = {
        "python": ([CACHE / "legacy/bin/python", HERE / "sdk.py"], {}),
        "node": ([CACHE / "bin/node", HERE / "sdk.cjs"], {"NODE_PATH": str(CACHE / "legacy-js/node_modules")}),
    }[kind]
    ran = subprocess.run([*command, *endpoints(server), NAME, KEY], capture_output=True, text=True, timeout=120, env=environment)
    assert ran.stdout.strip() == "done", ran.stdout + ran.stderr[-4000:]
