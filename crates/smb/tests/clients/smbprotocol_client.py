"""Logs on with smbprotocol and connects to a share: PORT DIALECT signed|sealed USER PASSWORD. Prints `connected`, or the status."""

import sys
import uuid

from smbprotocol.connection import Connection
from smbprotocol.exceptions import SMBResponseException
from smbprotocol.session import Session
from smbprotocol.tree import TreeConnect

port, dialect, sealing, user, password = sys.argv[1:]
connection = Connection(uuid.uuid4(), "127.0.0.1", int(port), require_signing=True)
connection.connect(int(dialect, 16))
try:
    session = Session(connection, user, password, require_encryption=sealing == "sealed", auth_protocol="ntlm")
    session.connect()
    tree = TreeConnect(session, r"\\127.0.0.1\share")
    tree.connect(require_secure_negotiate=True)
    tree.disconnect()
    session.disconnect()
    print("connected")
except SMBResponseException as error:
    print(hex(error.status))
connection.disconnect(close=False)
