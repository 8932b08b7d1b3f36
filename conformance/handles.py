"""Handles that SMB clients had open when a recording was made, as its lists of handles show them.

The client is `smbprotocol`, in an environment of its own (conformance/install), so it runs as a process that is told what to open: `python handles.py PORT
ACCOUNT KEY` reads lines of JSON, each a list of [path, rights], opens all of them and answers `done`. An empty list closes what is open. Lists without
handles, and those of snapshots, need none.
"""
import base64
import json
import os
import pathlib
import subprocess
import sys
from urllib.parse import unquote

import replay


class Handles:
    """for a session of the tool: what was open is opened before a recording and closed after it"""

    opened = 0
    client = None

    def open_handles(self):
        """opens what the lists of the recording show, in the order of its handles"""
        rows = {}
        for e in self.entries:
            if e.service == "file" and "comp=listhandles" in e.query and e.status < 300 and "sharesnapshot" not in e.query:
                share = unquote(e.path).strip("/").split("/")[0]
                for row in replay.parse_xml(e.rbody).iter("Handle"):
                    rights = [one.text for one in row.findall("AccessRightList/AccessRight")]
                    rows[int(row.findtext("HandleId"))] = [f"{share}/{row.findtext('Path') or ''}", rights]
        # A server that is reached over REST alone has none.
        wanted = [rows[handle] for handle in sorted(rows)] if os.environ.get("REPLAY_SMB_PORT") else []
        for path, _ in wanted:
            self.restore_place(*path.strip("/").split("/"))
        if wanted:
            self.tell(wanted)
            Handles.opened += len(wanted)

    def close_handles(self):
        if Handles.client:
            self.tell([])

    def tell(self, wanted):
        if Handles.client is None:
            home = os.environ.get("LAZULI_CLIENTS") or pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "lazuli"
            key = base64.b64encode(self.cfg.key).decode()  # the tool has it decoded
            arguments = [os.environ["REPLAY_SMB_PORT"], self.cfg.account, key]
            Handles.client = subprocess.Popen(
                [f"{home}/smb/bin/python", __file__, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        Handles.client.stdin.write(json.dumps(wanted) + "\n")
        Handles.client.stdin.flush()
        if Handles.client.stdout.readline() != "done\n":
            raise RuntimeError("the SMB client could not open " + json.dumps(wanted))


def hold(port, account, key):
    import smbclient
    from smbprotocol.exceptions import SMBOSError, SMBResponseException

    smbclient.ClientConfig(username=account, password=key)
    opened = []
    for line in sys.stdin:
        wanted = json.loads(line)
        for path, rights in wanted:
            kind = "file" if "." in path.rsplit("/", 1)[-1] else "dir"
            mode = "wb" if rights == ["Write"] else "rb"
            opened.append(smbclient.open_file(
                r"\\127.0.0.1" + "\\" + path.strip("/").replace("/", "\\"), mode=mode, buffering=0, file_type=kind, share_access="rwd", port=int(port)))
        if not wanted:
            for one in opened:
                try:
                    one.close()
                except (SMBOSError, SMBResponseException):
                    pass  # the recording has closed it
            opened.clear()
            smbclient.reset_connection_cache()  # the share is about to go
        print("done", flush=True)


if __name__ == "__main__":
    hold(*sys.argv[1:])
