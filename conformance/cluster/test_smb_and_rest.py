"""An SMB client of one gateway and REST clients of another agree about opens, locks and pending deletions."""

import signal
import subprocess
import textwrap
import time
import uuid

import pytest
from azure.core.exceptions import HttpResponseError, ResourceNotFoundError
from azure.storage.fileshare import ShareServiceClient

from server import ACCOUNT, CACHE, KEY

PYTHON = CACHE / "smb/bin/python"

CLIENT = """
    import sys
    import smbclient
    from smbclient._io import SMBFileTransaction, set_info
    from smbprotocol.exceptions import SMBOSError, SMBResponseException
    from smbprotocol.file_info import FileDispositionInformation
    from smbprotocol.open import LockFlags, SMB2LockElement
    share, port, user, key = sys.argv[1:]
    smbclient.ClientConfig(username=user, password=key)
    path = rf"\\\\127.0.0.1\\{share}\\held.txt"

    def lock(flags):
        element = SMB2LockElement()
        element["offset"], element["length"], element["flags"] = 2, 3, flags
        held.fd.lock([element])

    for line in sys.stdin:
        word = line.strip()
        try:
            if word == "exclusive":
                held = smbclient.open_file(path, mode="r+b", share_access="", port=int(port), buffering=0)
            elif word in ("shared", "delete"):
                held = smbclient.open_file(path, mode="r+b", share_access="rwd", port=int(port), buffering=0, desired_access=0x001301BF)
            if word == "delete":
                with SMBFileTransaction(held) as transaction:
                    disposition = FileDispositionInformation()
                    disposition["delete_pending"] = True
                    set_info(transaction, disposition)
            elif word == "lock":
                lock(LockFlags.SMB2_LOCKFLAG_EXCLUSIVE_LOCK | LockFlags.SMB2_LOCKFLAG_FAIL_IMMEDIATELY)
            elif word == "unlock":
                lock(LockFlags.SMB2_LOCKFLAG_UNLOCK)
            elif word == "close":
                held.close()
            print("done", flush=True)
        except SMBOSError as error:
            print(hex(error.ntstatus), flush=True)
        except SMBResponseException as error:
            print(hex(error.status), flush=True)
"""


class Client:
    """smbprotocol in a process of its own, which does as it is told."""

    def __init__(self, share, port):
        command = [PYTHON, "-c", textwrap.dedent(CLIENT), share, str(port), ACCOUNT, KEY]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, word):
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def end(self):
        self.process.kill()
        self.process.wait()


def make(fleet, gateway):
    service = ShareServiceClient.from_connection_string(fleet.connection_string(gateway), retry_total=0)
    share = service.create_share(f"smb-{uuid.uuid4().hex[:12]}")
    file = share.get_file_client("held.txt")
    file.upload_file(b"0123456789")
    return share, file


def refusal(call):
    with pytest.raises(HttpResponseError) as refused:
        call()
    return refused.value.error_code


def test_opens_and_pending_deletions_hold_at_every_gateway(fleet):
    share, file = make(fleet, 1)
    client, other = (Client(share.share_name, fleet.gateways[n].ports["smb"]) for n in (0, 1))
    try:
        assert client.ask("exclusive") == "done"
        for call in (lambda: file.download_file().readall(), lambda: file.upload_range(b"x", 0, 1), file.delete_file):
            assert refusal(call) == "SharingViolation"
        assert other.ask("shared") == "0xc0000043", "STATUS_SHARING_VIOLATION"
        assert len(list(file.list_handles())) == 1
        assert client.ask("close") == "done"
        file.upload_range(b"x", 0, 1)
        assert client.ask("delete") == "done"
        assert refusal(lambda: file.upload_range(b"y", 0, 1)) == "DeletePending"
        assert other.ask("shared") == "0xc0000056", "STATUS_DELETE_PENDING"
        assert client.ask("close") == "done"
        with pytest.raises(ResourceNotFoundError):
            file.get_file_properties()
    finally:
        client.end()
        other.end()
        share.delete_share()


def test_byte_locks_hold_at_every_gateway(fleet):
    share, file = make(fleet, 1)
    client, other = (Client(share.share_name, fleet.gateways[n].ports["smb"]) for n in (0, 1))
    try:
        assert (client.ask("shared"), other.ask("shared")) == ("done", "done")
        assert client.ask("lock") == "done"
        assert other.ask("lock") == "0xc0000055", "STATUS_LOCK_NOT_GRANTED"
        assert refusal(lambda: file.upload_range(b"xyz", 2, 3)) == "FileLockConflict"
        assert refusal(lambda: file.download_file(offset=2, length=3).readall()) == "FileLockConflict"
        assert client.ask("unlock") == "done"
        assert other.ask("lock") == "done"
        assert other.ask("close") == "done"
        file.upload_range(b"xyz", 2, 3)
        assert file.download_file().readall() == b"01xyz56789"
    finally:
        client.end()
        other.end()
        share.delete_share()


def test_a_handle_is_closed_by_a_rest_client_of_another_gateway(fleet):
    share, file = make(fleet, 1)
    client = Client(share.share_name, fleet.gateways[0].ports["smb"])
    try:
        assert client.ask("shared") == "done"
        assert refusal(file.delete_file) == "SharingViolation"
        assert file.close_all_handles()["closed_handles_count"] == 1
        file.delete_file()
    finally:
        client.end()
        share.delete_share()


def test_the_handles_of_a_gateway_that_stopped_end_within_a_minute(own_fleet):
    """And the gateway, when it goes on, finds that it was taken for dead, and ends."""
    share, file = make(own_fleet, 1)
    silent = own_fleet.gateways.pop(0)
    client = Client(share.share_name, silent.ports["smb"])
    try:
        assert client.ask("exclusive") == "done"
        silent.process.send_signal(signal.SIGSTOP)
        since = time.monotonic()
        assert refusal(file.delete_file) == "SharingViolation"
        while time.monotonic() - since < 90:
            try:
                file.delete_file()
                break
            except HttpResponseError as refused:
                assert refused.error_code == "SharingViolation"
                time.sleep(1)
        took = time.monotonic() - since
        assert took < 65, f"{took:.0f} s"
        silent.process.send_signal(signal.SIGCONT)
        assert silent.process.wait(timeout=60) == 1
        assert any("took this one for dead" in line for line in silent.log), silent.log[-5:]
        share.delete_share()
    finally:
        silent.process.kill()
        client.end()
