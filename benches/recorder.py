#!/usr/bin/env python3
"""What the recorder costs one PUT of 1 KiB with an account SAS: in instructions, counted by callgrind, or in time.

    cargo build --release -p lazuli
    benches/recorder.py [target/release/lazuli [DIRECTORY FOR THE PROFILES]]
    benches/recorder.py --time target/release/lazuli [--disk]

Instructions: each setting is run twice, with few and with many PUTs on one connection; the difference is what a PUT costs, without the start. They do not depend on
what else the machine does. The engine is the one in memory, which has no disk and no threads of its own; with a disk a PUT is longer and the recorder's share smaller.

Time: two servers run side by side, one without the recorder, and one connection to each puts in turns of 1,000. The pair of a round is compared, so that what else
the machine does falls on both. Told are the medians, and the quartiles of the difference.
"""

import base64
import hashlib
import hmac
import pathlib
import re
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[1]
ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
FEW, MANY = 300, 1500
TURN, WARM, ROUNDS = 1000, 4, 60
PORTS = [word for name in ("blob", "queue", "table", "file", "dfs", "web", "smb", "console") for word in (f"--{name}-port", "0")]


def account_sas():
    fields = {"sv": "2020-12-06", "ss": "b", "srt": "sco", "sp": "rwdlac", "st": "", "se": "2099-01-01T00:00:00Z", "sip": "", "spr": "", "ses": ""}
    signed = "\n".join([ACCOUNT, fields["sp"], fields["ss"], fields["srt"], fields["st"], fields["se"], fields["sip"], fields["spr"], fields["sv"], fields["ses"], ""])
    fields["sig"] = base64.b64encode(hmac.new(base64.b64decode(KEY), signed.encode(), hashlib.sha256).digest()).decode()
    return urllib.parse.urlencode({name: value for name, value in fields.items() if value})


def put(stream, path, query, body):
    head = (
        f"PUT /{ACCOUNT}/{path}?{query} HTTP/1.1\r\nHost: 127.0.0.1\r\nx-ms-version: 2020-12-06\r\nx-ms-blob-type: BlockBlob\r\n"
        f"x-ms-client-request-id: 0123456789abcdef\r\nUser-Agent: azsdk-python-storage-blob/12.19.0 Python/3.12\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    stream.sendall(head.encode() + body)
    answer = b""
    while b"\r\n\r\n" not in answer:
        answer += stream.recv(65536)
    head, _, rest = answer.partition(b"\r\n\r\n")
    length = int(re.search(rb"(?i)content-length: (\d+)", head).group(1))
    while len(rest) < length:
        rest += stream.recv(65536)
    assert head.startswith(b"HTTP/1.1 201"), head


def instructions(binary, recorder, count):
    with tempfile.TemporaryDirectory(prefix="lazuli-callgrind-") as scratch:
        out = pathlib.Path(scratch) / "out"
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", binary, "--in-memory", "--location", scratch, *PORTS, *recorder]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        port = next(int(found.group(1)) for line in process.stdout if (found := re.search(r"BlobEndpoint=http://127.0.0.1:(\d+)/", line)))
        sas = account_sas()
        with socket.create_connection(("127.0.0.1", port)) as stream:
            stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            put(stream, "bench", f"restype=container&{sas}", b"")
            for number in range(count):
                put(stream, f"bench/blob-{number:06}", sas, b"x" * 1024)
        process.send_signal(signal.SIGTERM)
        process.wait()
        if len(sys.argv) > 2:
            pathlib.Path(sys.argv[2]).joinpath(f"callgrind-{'with' if not recorder else 'without'}-{count}").write_bytes(out.read_bytes())
        return int(re.search(r"^(?:totals|summary): (\d+)", out.read_text(), re.M).group(1))


def server(binary, recorder, scratch, disk):
    place = ["--location", scratch] if disk else ["--in-memory", "--location", scratch]
    process = subprocess.Popen([binary, *place, *PORTS, *recorder], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    port = next(int(found.group(1)) for line in process.stdout if (found := re.search(r"BlobEndpoint=http://127.0.0.1:(\d+)/", line)))
    stream = socket.create_connection(("127.0.0.1", port))
    stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    put(stream, "bench", f"restype=container&{account_sas()}", b"")
    return process, stream


def timed(binary, disk):
    """Microseconds of one PUT, by rounds, without the recorder and with it."""
    sas, rounds = account_sas(), {"without": [], "with": []}
    with tempfile.TemporaryDirectory(prefix="lazuli-recorder-") as scratch:
        servers = {}
        try:
            for name, flags in (("without", ["--recorder", "0"]), ("with", [])):
                servers[name] = server(binary, flags, f"{scratch}/{name}", disk)
            for turn in range(ROUNDS + WARM):
                for name in ("without", "with") if turn % 2 else ("with", "without"):
                    stream = servers[name][1]
                    began = time.perf_counter()
                    for number in range(TURN):
                        put(stream, f"bench/blob-{number:06}", sas, b"x" * 1024)
                    if turn >= WARM:
                        rounds[name].append((time.perf_counter() - began) / TURN * 1e6)
        finally:
            for process, stream in servers.values():
                stream.close()
                process.send_signal(signal.SIGTERM)
                process.wait()
    return rounds


def tell_time(binary, disk):
    rounds = timed(binary, disk)
    without, recorded = (statistics.median(rounds[name]) for name in ("without", "with"))
    shares = [100 * (more / less - 1) for less, more in zip(rounds["without"], rounds["with"])]
    low, middle, high = statistics.quantiles(shares, n=4)
    print(
        f"one PUT of 1 KiB {'on the disk' if disk else 'in memory'}, {ROUNDS} rounds of {TURN}: {without:.1f} us without, {recorded:.1f} us with; "
        f"the recorder: {middle:+.1f} % (quartiles {low:+.1f} and {high:+.1f} %)"
    )


def main():
    if sys.argv[1:2] == ["--time"]:
        return tell_time(sys.argv[2], "--disk" in sys.argv[3:])
    binary = sys.argv[1] if len(sys.argv) > 1 else str(ROOT / "target/release/lazuli")
    cost = {}
    for name, flags in (("without", ["--recorder", "0"]), ("with", [])):
        cost[name] = (instructions(binary, flags, MANY) - instructions(binary, flags, FEW)) / (MANY - FEW)
    more = cost["with"] - cost["without"]
    print(f"one PUT of 1 KiB: {cost['without']:,.0f} instructions without, {cost['with']:,.0f} with; the recorder: {more:,.0f}, {100 * more / cost['without']:.1f} %")


main()
