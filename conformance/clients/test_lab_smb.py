"""SMB clients in the record: who has what open, and who is refused because of whom, over either door."""

import json
import pathlib
import subprocess
import uuid

import pytest
from azure.core.exceptions import HttpResponseError
from azure.storage.fileshare import ShareServiceClient

from server import ACCOUNT, BINARY, CACHE, KEY, Server
from test_lab import TOKEN, Console, request_id
from test_smb import port_of


class Holder:
    """A client in a process of its own."""

    def __init__(self, share):
        program = pathlib.Path(__file__).parent / "smb/holder.py"
        command = [CACHE / "smb/bin/python", program, str(share.port), ACCOUNT, KEY, share.share_name]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, *line):
        self.process.stdin.write(json.dumps(line) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def do(self, *line):
        assert self.ask(*line) == {"done": True}, line

    def refused(self, *line):
        """The status, and the id by which the refusal is asked about."""
        told = self.ask(*line)
        return told["status"], f"smb-{told['session']}-{told['message']}"

    def end(self):
        self.process.kill()
        self.process.wait()


@pytest.fixture(scope="module")
def lab():
    server = Server(flags=["--in-memory"], environment={"LAZULI_OPERATOR_TOKEN": TOKEN})
    yield server
    server.process.kill()
    server.process.wait()


@pytest.fixture
def operator(lab):
    return Console(lab, {"Authorization": f"Bearer {TOKEN}"})


@pytest.fixture
def share(lab):
    client = ShareServiceClient.from_connection_string(lab.connection_string, retry_total=0)
    share = client.create_share(f"smb-{uuid.uuid4().hex[:12]}")
    share.port = port_of(lab)
    return share


@pytest.fixture
def holders(share):
    started = []

    def start():
        started.append(Holder(share))
        return started[-1]

    yield start
    for one in started:
        one.end()


def opened(operator, name):
    """The request that opened a file, as the live view has it."""
    [one] = [one for one in operator.good("GET", "/api/opens")["opens"] if one["object"].endswith(f"/{name}")]
    return one


def test_a_rest_call_names_the_smb_client_that_keeps_it_out(operator, share, holders):
    file = share.get_file_client("held.txt")
    file.upload_file(b"0123456789")
    holder = holders()
    holder.do("open", "one", "held.txt", "rw", "r", 0)
    live = opened(operator, "held.txt")
    assert (live["access"], live["share"], live["cache"], live["locks"]) == ("read, write", "read", "", [])
    assert live["client"].startswith("127.0.0.1:") and live["holder"]["operation"] == "SmbOpen" and live["refused"] == []
    for call, operation in [(lambda: file.upload_range(b"x", 0, 1), "PutRange"), (file.delete_file, "DeleteFile")]:
        with pytest.raises(HttpResponseError) as refused:
            call()
        assert refused.value.error_code == "SharingViolation"
        told = operator.good("GET", f"/api/explain/{request_id(refused.value)}")
        assert (told["why"], told["certain"], told["record"]["operation"]) == ("held", True, operation)
        assert told["winner"]["request_id"] == live["holder"]["request_id"] and told["winner"]["principal"] == "smb"
        assert told["record"]["held_by"] == live["handle"] == told["winner"]["handle"]
        assert "SmbOpen by 127.0.0.1 (smb)" in told["text"] and "opened it" in told["text"], told["text"]
    assert [one["operation"] for one in opened(operator, "held.txt")["refused"]] == ["DeleteFile", "PutRange"]
    timeline = operator.good("GET", f"/api/timeline?object=file/{ACCOUNT}/{share.share_name}/held.txt")["records"]
    assert [one["operation"] for one in timeline][-3:] == ["SmbOpen", "PutRange", "DeleteFile"]
    holder.do("close", "one")
    assert [one for one in operator.good("GET", "/api/opens")["opens"] if one["object"].endswith("/held.txt")] == []
    file.delete_file()


def test_a_read_over_rest_names_the_lock_that_is_in_its_way(operator, share, holders):
    file = share.get_file_client("locked.txt")
    file.upload_file(b"0123456789")
    holder = holders()
    holder.do("open", "one", "locked.txt", "rw", "rwd", 0)
    holder.do("lock", "one", 0, 2)
    holder.do("lock", "one", 5, 3)
    assert opened(operator, "locked.txt")["locks"] == [{"from": "0", "to": "2", "exclusive": True}, {"from": "5", "to": "8", "exclusive": True}]
    assert file.download_file(offset=2, length=3).readall() == b"234"
    with pytest.raises(HttpResponseError) as refused:
        file.download_file(offset=7, length=2).readall()
    assert refused.value.error_code == "FileLockConflict"
    told = operator.good("GET", f"/api/explain/{request_id(refused.value)}")
    assert told["winner"]["operation"] == "SmbLock" and told["winner"]["locks"] == [{"from": "5", "to": "8", "exclusive": True}]
    assert "locked a range of it" in told["text"]


def test_smb_clients_are_told_about_each_other(lab, operator, share, holders):
    first, second = holders(), holders()
    first.do("open", "one", "both.txt", "rw", "rwd", 0)
    first.do("lock", "one", 0, 10)
    second.do("open", "two", "both.txt", "rw", "rwd", 0)
    lock = [one for one in operator.good("GET", "/api/records?operation=SmbLock")["records"] if one["object"].endswith("/both.txt")][0]
    for line, status, operation in [
        (("lock", "two", 9, 1), "0xc0000055", "SmbLock"),
        (("write", "two", 4, "x"), "0xc0000054", "SmbWrite"),
        (("read", "two", 4, 1), "0xc0000054", "SmbRead"),
    ]:
        found, request = second.refused(*line)
        assert found == status
        told = operator.good("GET", f"/api/explain/{request}")
        assert (told["record"]["operation"], told["why"]) == (operation, "held")
        assert told["winner"]["request_id"] == lock["request_id"], told["text"]
    second.do("open", "three", "alone.txt", "rw", "", 0)
    status, request = first.refused("open", "four", "alone.txt", "r", "rwd", 0)
    assert status == "0xc0000043"
    port = lab.console.rsplit(":", 1)[1]
    command = [BINARY, "explain", request, "--operator-token", TOKEN, "--console-port", port]
    told = subprocess.run(command, capture_output=True, text=True, timeout=30)
    assert told.returncode == 0, told.stderr
    holder = opened(operator, "alone.txt")["holder"]["request_id"]
    assert "was refused" in told.stdout and "SharingViolation" in told.stdout and holder in told.stdout, told.stdout


def test_a_lease_and_a_coming_deletion_name_who_made_them(operator, share, holders):
    file = share.get_file_client("leased.txt")
    file.upload_file(b"x")
    lease = file.acquire_lease(client_request_id="the-lease")
    holder = holders()
    status, request = holder.refused("open", "one", "leased.txt", "rw", "rwd", 0)
    assert status == "0xc0000043"
    told = operator.good("GET", f"/api/explain/{request}")
    assert told["why"] == "leased" and told["winner"]["client_request_id"] == "the-lease", told
    lease.release()
    holder.do("open", "one", "leased.txt", "rwd", "rwd", 0)
    holder.do("delete", "one")
    with pytest.raises(HttpResponseError) as refused:
        file.upload_range(b"x", 0, 1)
    assert refused.value.error_code == "DeletePending"
    told = operator.good("GET", f"/api/explain/{request_id(refused.value)}")
    assert told["why"] == "deleted" and told["winner"]["operation"] == "SmbMarkForDeletion", told


def test_a_cache_is_shown_until_it_is_given_up(operator, share, holders):
    share.get_file_client("cached.txt").upload_file(b"x")
    holder = holders()
    holder.do("open", "one", "cached.txt", "rw", "rwd", 9)
    assert opened(operator, "cached.txt")["cache"] == "RWH"
    holder.do("close", "one")


def test_an_account_sees_its_own_handles_alone(lab, share, holders):
    holder = holders()
    holder.do("open", "one", "mine.txt", "r", "rwd", 0)
    console = Console(lab)
    assert console.log_in(account=ACCOUNT, key=KEY)[0] == 200
    assert any(one["object"].endswith("/mine.txt") for one in console.good("GET", "/api/opens")["opens"])
    stranger = Console(lab)
    assert stranger.ask("GET", "/api/opens")[0] == 401
