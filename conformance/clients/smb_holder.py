"""An SMB client that holds what it is told to: opens, locks, leases, oplocks. Run by test_doors.py in the environment that has smbprotocol.

Commands come as lines of JSON on stdin, each in a thread of its own; answers and breaks go as lines of JSON to stdout. A client is a
connection with an id of its own, so that leases of two clients are not taken for one's.
"""

import json
import struct
import sys
import threading
import time
import uuid

from smbprotocol.change_notify import CompletionFilter, FileSystemWatcher
from smbprotocol.connection import Connection, Dialects
from smbprotocol.create_contexts import (
    CreateContextName, LeaseState, SMB2CreateContextRequest, SMB2CreateRequestLease, SMB2CreateRequestLeaseV2,
)
from smbprotocol.exceptions import SMBResponseException
from smbprotocol.file_info import FileDispositionInformation, FileInformationClass, FileRenameInformation
from smbprotocol.open import (
    CreateDisposition, CreateOptions, ImpersonationLevel, Open, ShareAccess, SMB2SetInfoRequest,
)
from smbprotocol.session import Session
from smbprotocol.tree import TreeConnect

SHARE, PORT, USER, KEY = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
UNSOLICITED = b"\xff" * 8
BREAK, LOCK = 0x12, 0x0A
OPLOCKS = {"": 0x00, "II": 0x01, "exclusive": 0x08, "batch": 0x09}
LEVELS = {level: name for name, level in OPLOCKS.items()}
SHARING = {"R": ShareAccess.FILE_SHARE_READ, "W": ShareAccess.FILE_SHARE_WRITE, "D": ShareAccess.FILE_SHARE_DELETE}
CACHING = {"R": LeaseState.SMB2_LEASE_READ_CACHING, "H": LeaseState.SMB2_LEASE_HANDLE_CACHING, "W": LeaseState.SMB2_LEASE_WRITE_CACHING}
ACCESS = {"R": 0x1, "W": 0x2, "D": 0x10000, "A": 0x4}
STATUS = {
    0xC0000022: "AccessDenied", 0xC0000034: "ObjectNameNotFound", 0xC0000043: "SharingViolation", 0xC0000054: "FileLockConflict",
    0xC0000055: "LockNotGranted", 0xC0000056: "DeletePending", 0xC0000121: "CannotDelete", 0xC0000128: "FileClosed",
}
# Reading attributes and waiting: what an open has that only looks.
LOOKS = 0x100080

saying = threading.Lock()


def say(**words):
    with saying:
        print(json.dumps(words), flush=True)


def bits(letters, table):
    return sum(table[letter] for letter in letters)


def letters(value, table=CACHING):
    return "".join(letter for letter in "RWH" if value & table[letter])


class Raw:
    """A request of which smbprotocol knows nothing: its bytes."""

    def __init__(self, command, body):
        self.COMMAND, self.body = command, body

    def pack(self):
        return self.body

    def __len__(self):
        return len(self.body)

    def __getitem__(self, name):
        raise KeyError(name)


class Client:
    def __init__(self, name, dialect):
        self.name = name
        self.connection = Connection(uuid.uuid4(), "127.0.0.1", PORT, require_signing=True)
        self.connection.connect(dialect)
        receive = self.connection.transport.recv
        # smbprotocol does not know of breaks, which nobody asked for.
        def without_breaks(timeout):
            while True:
                frame = receive(timeout)
                if not frame or frame[24:32] != UNSOLICITED:
                    return frame
                self.broken(frame[64:])
        self.connection.transport.recv = without_breaks
        self.session = Session(self.connection, USER, KEY, require_encryption=False)
        self.session.connect()
        self.tree = TreeConnect(self.session, rf"\\127.0.0.1\{SHARE}")
        self.tree.connect()

    def broken(self, body):
        """[MS-SMB2] 2.2.23: an oplock, or a lease."""
        if struct.unpack_from("<H", body)[0] == 24:
            file = body[8:24]
            opened = next((name for name, held in opens.items() if held.file_id == file), None)
            say(broken=opened, to=LEVELS[body[2]], client=self.name, answer=True)
        else:
            epoch, flags = struct.unpack_from("<HI", body, 2)
            key, (was, to) = body[8:24], struct.unpack_from("<II", body, 24)
            say(broken=key.hex(), was=letters(was), to=letters(to), client=self.name, answer=bool(flags & 1), epoch=epoch)

    def ask(self, message):
        request = self.connection.send(message, self.session.session_id, self.tree.tree_connect_id)
        return self.connection.receive(request)


clients, opens, watchers = {}, {}, {}
making = threading.Lock()


def client(name, dialect="SMB_3_1_1"):
    with making:
        if name not in clients:
            clients[name] = Client(name, getattr(Dialects, dialect))
        return clients[name]


def contexts(lease, key, second):
    if lease is None:
        return None
    asked = SMB2CreateRequestLeaseV2() if second else SMB2CreateRequestLease()
    asked["lease_key"] = bytes.fromhex(key)
    asked["lease_state"] = bits(lease, CACHING)
    if second:
        asked["parent_lease_key"], asked["epoch"] = bytes(16), bytes(2)
    context = SMB2CreateContextRequest()
    context["buffer_name"] = CreateContextName.SMB2_CREATE_REQUEST_LEASE
    context["buffer_data"] = asked
    return [context]


def do_open(name, path, access="R", share="RWD", by="one", lease=None, key="00" * 16, second=True, oplock="", disposition="FILE_OPEN",
            delete_on_close=False, directory=False, dialect="SMB_3_1_1"):
    opened = Open(client(by, dialect).tree, path)
    options = CreateOptions.FILE_DIRECTORY_FILE if directory else CreateOptions.FILE_NON_DIRECTORY_FILE
    if delete_on_close:
        options |= CreateOptions.FILE_DELETE_ON_CLOSE
    given = opened.create(
        ImpersonationLevel.Impersonation, LOOKS | bits(access, ACCESS), 0, bits(share, SHARING), getattr(CreateDisposition, disposition),
        options, create_contexts=contexts(lease, key, second), oplock_level=0xFF if lease is not None else OPLOCKS[oplock],
    )
    opens[name] = opened
    leases = [answer for answer in given or [] if "lease_state" in getattr(answer, "fields", {})]
    return {"granted": letters(leases[0]["lease_state"].get_value()) if leases else LEVELS.get(opened.oplock_level)}


def do_close(name):
    opens.pop(name).close()


def do_read(name, at=0, length=1 << 16):
    return {"bytes": opens[name].read(at, length).decode("latin-1")}


def do_write(name, text, at=0):
    opens[name].write(text.encode("latin-1"), at)


def do_lock(name, ranges, fail=True):
    """Each range: from, length, and "shared", "exclusive" or "free"."""
    flags = {"shared": 0x1, "exclusive": 0x2, "free": 0x4}
    body = struct.pack("<HHI", 48, len(ranges), 0) + opens[name].file_id
    for start, length, how in ranges:
        body += struct.pack("<QQII", start, length, flags[how] | (0x10 if fail and how != "free" else 0), 0)
    held = opens[name]
    connection, tree = held.connection, held.tree_connect
    connection.receive(connection.send(Raw(LOCK, body), tree.session.session_id, tree.tree_connect_id))


def set_info(name, info):
    held = opens[name]
    request = SMB2SetInfoRequest()
    request["info_type"], request["file_info_class"] = info.INFO_TYPE, info.INFO_CLASS
    request["file_id"], request["buffer"] = held.file_id, info
    connection, tree = held.connection, held.tree_connect
    connection.receive(connection.send(request, tree.session.session_id, tree.tree_connect_id))


def do_flag(name, pending):
    info = FileDispositionInformation()
    info["delete_pending"] = pending
    set_info(name, info)


def do_rename(name, to, replace=False):
    info = FileRenameInformation()
    info["replace_if_exists"], info["file_name"] = replace, to
    set_info(name, info)


def do_list(name):
    entries = opens[name].query_directory("*", FileInformationClass.FILE_NAMES_INFORMATION)
    return {"names": sorted(entry["file_name"].get_value().decode("utf-16-le") for entry in entries)}


def do_watch(name):
    """Ends when the server has said that it watches."""
    watcher = watchers[name] = FileSystemWatcher(opens[name])
    watcher.start(CompletionFilter.FILE_NOTIFY_CHANGE_FILE_NAME)
    while watcher._request.async_id is None:
        time.sleep(0.01)


def do_watched(name):
    """The first changes."""
    return {"changes": [[change["action"].get_value(), change["file_name"].get_value()] for change in watchers.pop(name).wait()]}


def do_answer(by, to, key=None, name=None):
    """Acknowledges a break: of the lease with the key, or of the oplock of a handle."""
    if key is not None:
        body = struct.pack("<HHI", 36, 0, 0) + bytes.fromhex(key) + struct.pack("<IQ", bits(to, CACHING), 0)
    else:
        body = struct.pack("<HBBI", 24, OPLOCKS[to], 0, 0) + opens[name].file_id
    clients[by].ask(Raw(BREAK, body))


def do_drop(by):
    """The connection is lost; nothing is closed."""
    clients.pop(by).connection.transport.close()


def run(id, do, **arguments):
    try:
        say(id=id, status="", **(globals()[f"do_{do}"](**arguments) or {}))
    except SMBResponseException as refused:
        code = refused.header["status"].get_value()
        say(id=id, status=STATUS.get(code, hex(code)))
    except Exception as broken:
        say(id=id, status=f"{type(broken).__name__}: {broken}")


for line in sys.stdin:
    threading.Thread(target=run, kwargs=json.loads(line), daemon=True).start()
