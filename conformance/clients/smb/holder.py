"""An SMB client that does what it is told: PORT USER KEY SHARE, then one JSON array a line on its standard input.

    ["open", NAME, PATH, ACCESS, SHARING, OPLOCK]   ACCESS and SHARING of the letters r, w, d; OPLOCK is 0 or 9 (batch)
    ["lock", NAME, FROM, LENGTH]  ["write", NAME, FROM, TEXT]  ["read", NAME, FROM, LENGTH]  ["delete", NAME]  ["close", NAME]

It answers each line with {"done": true}, or with the status, and the numbers of the session and of the message, by which a record is asked for.
"""

import json
import sys
import uuid

from smbprotocol.connection import Connection
from smbprotocol.exceptions import SMBResponseException
from smbprotocol.file_info import FileDispositionInformation
from smbprotocol.open import (
    CreateDisposition, CreateOptions, FileAttributes, FilePipePrinterAccessMask, ImpersonationLevel, LockFlags, Open, ShareAccess, SMB2LockElement, SMB2SetInfoRequest,
)
from smbprotocol.session import Session
from smbprotocol.tree import TreeConnect

port, user, key, share = sys.argv[1:]
connection = Connection(uuid.uuid4(), "127.0.0.1", int(port))
connection.connect()
session = Session(connection, user, key, auth_protocol="ntlm")
session.connect()
tree = TreeConnect(session, rf"\\127.0.0.1\{share}")
tree.connect()
opens = {}
MASK = FilePipePrinterAccessMask
ACCESS = {"r": MASK.FILE_READ_DATA, "w": MASK.FILE_WRITE_DATA, "d": MASK.DELETE}
SHARING = {"r": ShareAccess.FILE_SHARE_READ, "w": ShareAccess.FILE_SHARE_WRITE, "d": ShareAccess.FILE_SHARE_DELETE}


def bits(letters, table):
    return sum(table[letter] for letter in letters)


def act(what, name, *more):
    if what == "open":
        path, access, sharing, oplock = more
        one = Open(tree, path)
        one.create(ImpersonationLevel.Impersonation, bits(access, ACCESS), FileAttributes.FILE_ATTRIBUTE_NORMAL, bits(sharing, SHARING),
                   CreateDisposition.FILE_OPEN_IF, CreateOptions.FILE_NON_DIRECTORY_FILE, oplock_level=oplock)
        opens[name] = one
    elif what == "lock":
        element = SMB2LockElement()
        element["offset"], element["length"] = more
        element["flags"].set_flag(LockFlags.SMB2_LOCKFLAG_EXCLUSIVE_LOCK)
        element["flags"].set_flag(LockFlags.SMB2_LOCKFLAG_FAIL_IMMEDIATELY)
        opens[name].lock([element])
    elif what == "write":
        opens[name].write(more[1].encode(), more[0])
    elif what == "read":
        opens[name].read(more[0], more[1])
    elif what == "delete":
        change = FileDispositionInformation()
        change["delete_pending"] = True
        request = SMB2SetInfoRequest()
        request["info_type"], request["file_info_class"] = 1, 13
        request["file_id"], request["buffer"] = opens[name].file_id, change
        sent = connection.send(request, session.session_id, tree.tree_connect_id)
        connection.receive(sent)
    elif what == "close":
        opens.pop(name).close()


for line in sys.stdin:
    try:
        act(*json.loads(line))
        told = {"done": True}
    except SMBResponseException as error:
        told = {"status": hex(error.status), "session": error.header["session_id"].get_value(), "message": error.header["message_id"].get_value()}
    print(json.dumps(told), flush=True)
