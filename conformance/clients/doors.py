"""A client that holds files over SMB, told what to do from tests that call REST: smb_holder.py in a process of its own."""

import itertools
import json
import queue
import subprocess
import threading
from concurrent.futures import Future, ThreadPoolExecutor

from azure.core.exceptions import HttpResponseError

from server import ACCOUNT, CACHE, KEY, ROOT

PYTHON = CACHE / "smb/bin/python"


class Refused(Exception):
    """What SMB said instead of yes."""

    def __init__(self, status):
        super().__init__(status)
        self.status = status


class Holder:
    """Its methods are the commands of smb_holder.py. `start_…` gives a Future, the plain name waits."""

    def __init__(self, share, port):
        command = [PYTHON, ROOT / "conformance/clients/smb_holder.py", share, str(port), ACCOUNT, KEY]
        self.process = subprocess.Popen(list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.ids, self.waiting, self.breaks = itertools.count(), {}, queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self):
        for line in self.process.stdout:
            said = json.loads(line)
            if "id" not in said:
                self.breaks.put(said)
                continue
            future = self.waiting.pop(said["id"])
            if said["status"]:
                future.set_exception(Refused(said["status"]))
            else:
                future.set_result(said)

    def start(self, do, **arguments):
        id, future = next(self.ids), Future()
        self.waiting[id] = future
        self.process.stdin.write(json.dumps({"id": id, "do": do, **arguments}) + "\n")
        self.process.stdin.flush()
        return future

    def __getattr__(self, do):
        return lambda *name, **arguments: self.start(do, **dict(zip(("name",), name)), **arguments).result(timeout=60)

    def broken(self):
        """The next break that a client hears of."""
        return self.breaks.get(timeout=20)

    def unbroken(self):
        """Everything that was sent before an answer has been heard by then."""
        return self.breaks.empty()

    def stop(self):
        self.process.kill()
        self.process.wait()


def outcome(call):
    """What REST said: nothing, or the code of its refusal."""
    try:
        call()
    except HttpResponseError as refused:
        return refused.error_code or str(refused.status_code)
    return ""


pool = ThreadPoolExecutor(32)
