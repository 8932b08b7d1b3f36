#!/usr/bin/env python3
"""Races SMB: Lazuli against a private Samba, all by smbclient, data on the same disk.

Samba runs twice: with every write synced before it is answered (`strict sync`, `sync always`), which is Lazuli's promise, and as it comes.
The sides take turns for each measurement, so that all meet the same hour. Everything is removed at the end.

    benches/smb.py BINARY [--scratch DIR] [--rounds N] [--mebibytes N] [--files N] [--entries N] [--only NAME,...] [--report FILE]

With `--only`, the rows that were not measured stay as they are in the report.
"""

import argparse
import getpass
import http.client
import os
import pathlib
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "conformance/clients"))
SHARE, SMALL = "race", 4096
CLIENTS = 8
ROWS = [
    *(f"{way} {label}" for label in ("plain", "signed", "encrypted") for way in ("put", "get")),
    *("small put", "small get", "8 clients put", "8 clients get", "open and close", "stat", "list"),
]
SAMBA = """[global]
server role = standalone server
smb ports = {port}
interfaces = 127.0.0.1/8
bind interfaces only = yes
disable netbios = yes
server min protocol = SMB2_02
private dir = {home}/private
lock directory = {home}/lock
state directory = {home}/state
cache directory = {home}/cache
pid directory = {home}/pid
ncalrpc dir = {home}/ncalrpc
log file = {home}/log.%m
passdb backend = tdbsam:{home}/private/passdb.tdb
load printers = no
disable spoolss = yes
map to guest = never
{more}
[{share}]
path = {home}/root
read only = no
"""


def free_port():
    with socket.socket() as asked:
        asked.bind(("127.0.0.1", 0))
        return asked.getsockname()[1]


def await_port(port):
    until = time.monotonic() + 30
    while time.monotonic() < until:
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.05)
    raise RuntimeError(f"nothing listens on port {port}")


class Samba:
    def __init__(self, name, scratch, more):
        self.name, self.home, self.port = name, scratch / name.replace(" ", "-"), free_port()
        for part in ("private", "lock", "state", "cache", "pid", "ncalrpc", "root"):
            (self.home / part).mkdir(parents=True)
        config = self.home / "smb.conf"
        config.write_text(SAMBA.format(port=self.port, home=self.home, more=more, share=SHARE))
        self.login = f"{getpass.getuser()}%race"
        subprocess.run(["smbpasswd", "-c", config, "-s", "-a", getpass.getuser()], input="race\nrace\n", text=True, check=True, stdout=subprocess.DEVNULL)
        self.process = subprocess.Popen(["/usr/sbin/smbd", "-F", "--no-process-group", "-s", config], start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        await_port(self.port)

    def fill(self, directory, entries):
        home = self.home / "root" / directory
        home.mkdir()
        for at in range(entries):
            (home / f"entry-{at:06}").touch()

    def stop(self):
        self.process.terminate()
        self.process.wait()


class Lazuli:
    name = "Lazuli"

    def __init__(self, scratch):
        import server
        self.server = server.Server(directory=scratch / "lazuli")
        until = time.monotonic() + 10
        while self.server.smb_port is None and time.monotonic() < until:
            time.sleep(0.05)
        self.port, self.login = self.server.smb_port, f"{server.ACCOUNT}%{server.KEY}"
        from azure.storage.fileshare import AccountSasPermissions, ResourceTypes, ShareServiceClient, generate_account_sas
        client = ShareServiceClient.from_connection_string(self.server.connection_string)
        client.create_share(SHARE)
        everything = ResourceTypes(service=True, container=True, object=True)
        self.sas = generate_account_sas(server.ACCOUNT, server.KEY, everything, AccountSasPermissions(read=True, write=True, create=True, list=True), "2099-01-01")
        self.shares = client

    def fill(self, directory, entries):
        """Over REST, by several connections: what is measured is how they are listed."""
        self.shares.get_share_client(SHARE).create_directory(directory)
        place = urllib.parse.urlsplit(self.server.file_endpoint)

        def some(first):
            connection = http.client.HTTPConnection(place.netloc)
            for at in range(first, entries, CLIENTS):
                headers = {"x-ms-version": "2021-12-02", "x-ms-type": "file", "x-ms-content-length": "0", "Content-Length": "0"}
                connection.request("PUT", f"{place.path}/{SHARE}/{directory}/entry-{at:06}?{self.sas}", headers=headers)
                answer = connection.getresponse()
                answer.read()
                assert answer.status == 201, answer.status
        workers = [threading.Thread(target=some, args=(first,)) for first in range(CLIENTS)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()

    def stop(self):
        self.server.stop()


class Race:
    def __init__(self, options, scratch):
        self.options, self.scratch, self.results = options, scratch, {}
        self.big = scratch / "big"
        with open(self.big, "wb") as file:
            for _ in range(options.mebibytes):
                file.write(os.urandom(1 << 20))
        self.small = scratch / "small"
        self.small.mkdir()
        for at in range(options.files):
            (self.small / f"f{at}").write_bytes(os.urandom(SMALL))
        synced = "strict sync = yes\nsync always = yes"
        self.sides = [Lazuli(scratch), Samba("Samba synced", scratch, synced), Samba("Samba default", scratch, "")]

    def smbclient(self, side, commands, *flags, cwd=None, script=None):
        command = ["smbclient", "-p", str(side.port), "-U", side.login, "-m", "SMB3_11", *flags, f"//127.0.0.1/{SHARE}"]
        begun = time.monotonic()
        if script is None:
            done = subprocess.run([*command, "-c", commands], capture_output=True, text=True, cwd=cwd, timeout=300)
        else:
            done = subprocess.run(command, input=script, capture_output=True, text=True, cwd=cwd, timeout=300)
        said = done.stdout + done.stderr
        assert done.returncode == 0 and "NT_STATUS" not in said, said[-400:]
        return time.monotonic() - begun, done.stdout

    def measure(self, name, unit, amount, run):
        """Every side in turn, for as many rounds; the median counts. The disk is synced before each turn, so that no side pays for another's writes."""
        if not self.wants(name):
            return
        rates = {side.name: [] for side in self.sides}
        for _ in range(self.options.rounds):
            for side in self.sides:
                os.sync()
                rates[side.name].append(amount / run(side))
        self.results[name] = (unit, {side: statistics.median(rate) for side, rate in rates.items()})
        print(f"{name}, {unit}: " + ", ".join(f"{side} {' '.join(f'{each:,.0f}' for each in rate)}" for side, rate in rates.items()), flush=True)

    def wants(self, name):
        return not self.options.only or any(name.startswith(only) for only in self.options.only.split(","))

    def prepare(self):
        """What is read has to be there, also when its writing is not measured."""
        for side in self.sides:
            self.smbclient(side, f"mkdir small; put {self.small / 'f0'} small/f0")
            if self.options.only and self.wants("get") and not self.wants("put"):
                self.smbclient(side, f"put {self.big} big")
            if self.options.only and self.wants("8 clients get") and not self.wants("8 clients put"):
                self.together(side, f"put {self.part()} part{{}}")
            if self.options.only and self.wants("small get") and not self.wants("small put"):
                self.small_put(side)
            if self.wants("list"):
                side.fill("many", self.options.entries)

    def run(self):
        options = self.options
        self.prepare()
        for label, flags in (("plain", ()), ("signed", ("--client-protection=sign",)), ("encrypted", ("--client-protection=encrypt",))):
            self.measure(f"put {label}", "MiB/s", options.mebibytes, lambda side: self.smbclient(side, f"put {self.big} big", *flags)[0])
            self.measure(f"get {label}", "MiB/s", options.mebibytes, lambda side: self.smbclient(side, "get big /dev/null", *flags)[0])
        self.measure("small put", "files/s", options.files, self.small_put)
        self.measure("small get", "files/s", options.files, self.small_get)
        self.measure("8 clients put", "MiB/s", CLIENTS * options.mebibytes // 8, lambda side: self.together(side, f"put {self.part()} part{{}}"))
        self.measure("8 clients get", "MiB/s", CLIENTS * options.mebibytes // 8, lambda side: self.together(side, "get part{} /dev/null"))
        times = 2000
        self.measure("open and close", "/s", times, lambda side: self.opens(side, times))
        self.measure("stat", "/s", times, lambda side: self.stats(side, times))
        self.measure("list", "entries/s", options.entries, self.listing)

    def small_put(self, side):
        return self.smbclient(side, "cd small; prompt; mput f*", cwd=self.small)[0]

    def small_get(self, side):
        with tempfile.TemporaryDirectory(dir="/dev/shm") as down:
            taken, _ = self.smbclient(side, "cd small; prompt; mget f*", cwd=down)
            assert len(os.listdir(down)) == self.options.files
            return taken

    def part(self):
        part = self.scratch / "part"
        if not part.exists():
            with open(self.big, "rb") as big, open(part, "wb") as file:
                file.write(big.read(self.options.mebibytes * (1 << 20) // 8))
        return part

    def together(self, side, command):
        begun = time.monotonic()
        workers = [threading.Thread(target=self.smbclient, args=(side, command.format(at))) for at in range(CLIENTS)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        return time.monotonic() - begun

    def opens(self, side, times):
        """A handle that was closed gives its number to the next."""
        taken, said = self.smbclient(side, "", script="open small/f0\nclose 1\n" * times)
        assert said.count("fnum 1") == times, said[-400:]
        return taken

    def stats(self, side, times):
        """`ls` of one name: the directory is opened, asked for the name, and closed, and the free space is asked for. (`allinfo` ends at the short name, which Lazuli refuses.)"""
        taken, said = self.smbclient(side, "", script="ls small/f0\n" * times)
        assert said.count("blocks available") == times, said[-400:]
        return taken

    def listing(self, side):
        taken, listed = self.smbclient(side, "cd many; ls")
        assert listed.count("entry-") == self.options.entries, listed.count("entry-")
        return taken

    def table(self, before=""):
        """The rows that were measured, and of the others those of an earlier table."""
        names = [side.name for side in self.sides]
        rows = dict(re.findall(r"^\| ([^|]+?) (\|.*)$", before, re.MULTILINE))
        for name, (unit, rates) in self.results.items():
            own = rates["Lazuli"]
            parts = [f"{rates[side]:,.0f} {unit}" for side in names]
            rows[name] = "| " + " | ".join(parts) + f" | {own / rates['Samba synced']:.2f} | {own / rates['Samba default']:.2f} |"
        lines = ["| | " + " | ".join(names) + " | of synced | of default |", "|---|" + "---:|" * (len(names) + 2)]
        return "\n".join(lines + [f"| {name} {rows[name]}" for name in ROWS if name in rows])

    def stop(self):
        for side in self.sides:
            side.stop()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("--scratch", default=str(ROOT / "target"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--mebibytes", type=int, default=1024)
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--entries", type=int, default=100_000)
    parser.add_argument("--only", default="")
    parser.add_argument("--report")
    options = parser.parse_args()
    os.environ["LAZULI_BINARY"] = os.path.abspath(options.binary)
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="race-smb-", dir=options.scratch)).resolve()
    race = Race(options, scratch)
    try:
        race.run()
        print(race.table())
    finally:
        race.stop()
        shutil.rmtree(scratch, ignore_errors=True)
    if options.report:
        report = pathlib.Path(options.report)
        text = report.read_text()
        first, last = "<!-- measured smb: written by benches/run -->", "<!-- end of smb -->"
        before, rest = text.split(first)
        old, after = rest.split(last)
        report.write_text(f"{before}{first}\n\n{race.table(old)}\n\n{last}{after}")


main()
