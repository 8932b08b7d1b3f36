"""Logs on with impacket and lists the shares: PORT DIALECT USER PASSWORD. Prints their names, or the status."""

import sys

from impacket.smbconnection import SessionError, SMBConnection

port, dialect, user, password = sys.argv[1:]
try:
    connection = SMBConnection("127.0.0.1", "127.0.0.1", sess_port=int(port), preferredDialect=int(dialect, 16))
    connection.login(user, password, "AZURE")
    print(*(share["shi1_netname"].rstrip("\0") for share in connection.listShares()))
    connection.logoff()
except SessionError as error:
    print(hex(error.getErrorCode()))
