"""File shares over SMB, by clients that nobody here wrote; and what one door does, seen through the other."""

import os
import pathlib
import subprocess
import sys
import textwrap
import uuid

import pytest
from azure.core.exceptions import HttpResponseError, ResourceNotFoundError
from azure.storage.fileshare import ShareServiceClient

from server import ACCOUNT, BINARY, CACHE, KEY

PYTHON = CACHE / "smb/bin/python"


def port_of(server):
    port = getattr(server, "smb_port", None)
    if port is None:
        pytest.skip("no SMB here")
    return int(port)


@pytest.fixture
def share(server):
    client = ShareServiceClient.from_connection_string(server.connection_string, retry_total=0)
    share = client.create_share(f"smb-{uuid.uuid4().hex[:12]}")
    share.port = port_of(server)
    yield share
    share.delete_share()


def smbclient(share, commands, *flags, cwd=None, check=True, name=None):
    command = ["smbclient", "-p", str(share.port), "-U", f"{ACCOUNT}%{KEY}", *flags, f"//127.0.0.1/{name or share.share_name}", "-c", commands]
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, timeout=120)
    if check:
        assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def python(code, *arguments):
    done = subprocess.run([PYTHON, "-c", textwrap.dedent(code), *map(str, arguments)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_who_reaches_an_account(own, tmp_path):
    """What the account's settings say of REST holds here too: from where, and how well protected."""
    server = own(tmp_path)
    client = ShareServiceClient.from_connection_string(server.connection_string, retry_total=0)
    share = client.create_share("reached")
    share.port = port_of(server)

    def set(*changes):
        command = [BINARY, "account", "set", ACCOUNT, *changes, "--location", str(tmp_path)]
        subprocess.run(command, check=True, capture_output=True, timeout=60)

    def connects(*flags):
        said = smbclient(share, "ls", *flags, check=False)
        assert "NT_STATUS" not in said or "NT_STATUS_ACCESS_DENIED" in said, said
        return "NT_STATUS" not in said

    old, plain, sealed = ("-m", "SMB2_10"), ("-m", "SMB3_11"), ("-m", "SMB3_11", "--client-protection=encrypt")
    assert connects(*old) and connects(*plain) and connects(*sealed)
    set("network-rules=192.0.2.0/24")
    assert not connects(*plain) and not connects(*sealed)
    set("network-rules=127.0.0.1")
    assert connects(*plain)
    # SMB 2.1 has no encryption; a client of 3.x is told to encrypt, and does.
    set("secure-transfer=on")
    assert not connects(*old) and not connects("-m", "SMB2_02")
    assert connects(*plain) and connects(*sealed)
    set("secure-transfer=off")
    assert connects(*old)


def test_descriptors_bind_who_is_bound(own, tmp_path):
    """With `smb-access-checks` a descriptor that REST set refuses SMB clients; without, and over REST, who has the key may do everything."""
    server = own(tmp_path)
    share = ShareServiceClient.from_connection_string(server.connection_string, retry_total=0).create_share("bound")
    share.port = port_of(server)
    (tmp_path / "content").write_text("from SMB")

    def set(value):
        command = [BINARY, "account", "set", ACCOUNT, f"smb-access-checks={value}", "--location", str(tmp_path)]
        subprocess.run(command, check=True, capture_output=True, timeout=60)

    directory = share.create_directory("closed", file_permission="O:SYG:SYD:(A;;FR;;;WD)")
    readable = directory.get_file_client("readable")
    readable.create_file(4, file_permission="O:SYG:SYD:(A;;FR;;;WD)")
    secret = directory.get_file_client("secret")
    secret.create_file(4, file_permission="O:SYG:SYD:(D;;CC;;;AU)(A;;FA;;;WD)")
    put, get = f"put {tmp_path}/content closed/%s", f"get closed/%s {tmp_path}/got"
    table = [
        (put % "readable", False),
        (get % "readable", True),
        (get % "secret", False),
        (put % "new", False),
        ("mkdir closed/new", False),
        ("del closed/readable", False),
        ("rename closed/readable moved", False),
        ("ls closed/*", True),
        (f"put {tmp_path}/content elsewhere", True),
        ("rename elsewhere closed/here", False),
        ("del elsewhere", True),
    ]
    set("on")
    for command, may in table:
        said = smbclient(share, command, check=False)
        assert ("NT_STATUS_ACCESS_DENIED" not in said) == may and ("NT_STATUS" not in said) == may, (command, said)
    readable.upload_range(b"REST", 0, 4)
    assert readable.download_file().readall() == b"REST", "REST is above descriptors"
    set("off")
    for command in [put % "readable", get % "secret", put % "new", "del closed/readable", "rename closed/new moved"]:
        assert "NT_STATUS" not in smbclient(share, command), command
    assert share.get_file_client("moved").download_file().readall() == b"from SMB"



@pytest.mark.parametrize("flags", [
    ("-m", "SMB2_02"), ("-m", "SMB2_10"), ("-m", "SMB3_00"), ("-m", "SMB3_02"), ("-m", "SMB3_11"),
    ("--client-protection=sign",), ("--client-protection=encrypt",),
])
def test_smbclient_takes_a_tree_up_and_down(share, tmp_path, flags):
    up, down = tmp_path / "up", tmp_path / "down"
    (up / "a/b").mkdir(parents=True)
    down.mkdir()
    files = {"one": b"1", "a/two": os.urandom(70_000), "a/b/three": os.urandom(3_000_000), "a/empty": b""}
    for name, content in files.items():
        (up / name).write_bytes(content)
    smbclient(share, "recurse; prompt; mput *", *flags, cwd=up)
    assert share.get_file_client("a/b/three").download_file().readall() == files["a/b/three"]
    smbclient(share, "recurse; prompt; mget *", *flags, cwd=down)
    for name, content in files.items():
        assert (down / name).read_bytes() == content
    listed = smbclient(share, "rename one other; ls; del other; deltree a; ls", *flags)
    assert "other" in listed
    assert list(share.list_directories_and_files()) == []


def test_shares_are_listed_and_strangers_are_not_let_in(share):
    done = subprocess.run(["smbclient", "-p", str(share.port), "-U", f"{ACCOUNT}%{KEY}", "-L", "127.0.0.1"], capture_output=True, text=True, timeout=60)
    assert share.share_name in done.stdout and "IPC$" in done.stdout
    for user in (f"{ACCOUNT}%wrong", "nobody%" + KEY, "%"):
        command = ["smbclient", "-p", str(share.port), "-U", user, f"//127.0.0.1/{share.share_name}", "-c", "ls"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert done.returncode != 0 and "NT_STATUS_" in done.stdout + done.stderr
    assert "NT_STATUS_BAD_NETWORK_NAME" in smbclient(share, "ls", check=False, name="nosuchshare")


def test_smbprotocol_and_rest_see_each_other(share):
    """Share modes, locks and a pending deletion of an SMB client refuse REST calls by name."""
    file = share.get_file_client("held.txt")
    file.upload_file(b"0123456789")
    held = subprocess.Popen([PYTHON, "-c", textwrap.dedent("""
        import sys
        import smbclient
        from smbprotocol.file_info import FileDispositionInformation
        share, port, user, key = sys.argv[1:]
        smbclient.ClientConfig(username=user, password=key)
        path = rf"\\\\127.0.0.1\\{share}\\held.txt"
        for line in sys.stdin:
            if line.strip() == "exclusive":
                open_ = smbclient.open_file(path, mode="rb", share_access="", port=int(port))
            elif line.strip() == "shared":
                open_ = smbclient.open_file(path, mode="r+b", share_access="rwd", port=int(port))
            elif line.strip() == "close":
                open_.close()
            print("done", flush=True)
    """), share.share_name, str(share.port), ACCOUNT, KEY], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(word):
        held.stdin.write(word + "\n")
        held.stdin.flush()
        assert held.stdout.readline().strip() == "done"

    try:
        ask("exclusive")
        for call in (lambda: file.download_file().readall(), lambda: file.upload_range(b"x", 0, 1), file.delete_file):
            with pytest.raises(HttpResponseError) as refused:
                call()
            assert refused.value.error_code == "SharingViolation"
        assert file.get_file_properties().size == 10
        handles = list(file.list_handles())
        assert len(handles) == 1
        ask("close")
        file.upload_range(b"x", 0, 1)
        assert list(file.list_handles()) == []
        ask("shared")
        assert file.download_file().readall() == b"x123456789"
        with pytest.raises(HttpResponseError) as refused:
            file.delete_file()
        assert refused.value.error_code == "SharingViolation"
        assert file.close_all_handles()["closed_handles_count"] == 1
        file.delete_file()
        with pytest.raises(ResourceNotFoundError):
            file.get_file_properties()
    finally:
        held.kill()
        held.wait()


def test_who_may_only_append_writes_at_the_end(share):
    """The offset does not count then, as Windows documents it; and COPYCHUNK, whose chunks say where they go, is refused."""
    file = share.get_file_client("log.txt")
    file.upload_file(b"0123")
    python("""
        import sys
        from smbprotocol.connection import Connection
        from smbprotocol.open import CreateDisposition, FileAttributes, FilePipePrinterAccessMask, ImpersonationLevel, Open, ShareAccess
        from smbprotocol.session import Session
        from smbprotocol.tree import TreeConnect
        import uuid
        share, port, user, key = sys.argv[1:]
        connection = Connection(uuid.uuid4(), "127.0.0.1", int(port))
        connection.connect()
        session = Session(connection, user, key)
        session.connect()
        tree = TreeConnect(session, rf"\\\\127.0.0.1\\{share}")
        tree.connect()
        opened = Open(tree, "log.txt")
        everybody = ShareAccess.FILE_SHARE_READ | ShareAccess.FILE_SHARE_WRITE | ShareAccess.FILE_SHARE_DELETE
        opened.create(ImpersonationLevel.Impersonation, FilePipePrinterAccessMask.FILE_APPEND_DATA, FileAttributes.FILE_ATTRIBUTE_NORMAL,
                      everybody, CreateDisposition.FILE_OPEN, 0)
        opened.write(b"45", 0)
        opened.write(b"67", 1)
        opened.close()
        connection.disconnect()
    """, share.share_name, str(share.port), ACCOUNT, KEY)
    assert file.download_file().readall() == b"01234567"


def test_impacket_takes_files_up_and_down(share):
    python("""
        import io, os, sys
        from impacket.smbconnection import SMBConnection
        share, port, user, key = sys.argv[1:]
        client = SMBConnection("127.0.0.1", "127.0.0.1", sess_port=int(port))
        client.login(user, key)
        content = os.urandom(200_000)
        client.createDirectory(share, "d")
        client.putFile(share, r"d\\f", io.BytesIO(content).read)
        back = io.BytesIO()
        client.getFile(share, r"d\\f", back.write)
        assert back.getvalue() == content
        client.rename(share, r"d\\f", r"d\\g")
        names = [entry.get_longname() for entry in client.listPath(share, r"d\\*")]
        assert sorted(names) == [".", "..", "g"], names
        client.deleteFile(share, r"d\\g")
        client.deleteDirectory(share, "d")
        assert share in [found["shi1_netname"][:-1] for found in client.listShares()]
    """, share.share_name, share.port, ACCOUNT, KEY)


@pytest.mark.parametrize("encryption", ["allowed", "required"])
def test_the_rust_crate_takes_a_tree_up_and_down(share, encryption):
    """conformance/smb-rust does the whole, signed or encrypted, and compares."""
    program = CACHE / "smb-rust/debug/smb-rust"
    done = subprocess.run([program, share.share_name, str(share.port), ACCOUNT, KEY, encryption], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("encrypted", [False, True], ids=["signed", "encrypted"])
def test_smbprotocol_takes_a_tree_up_and_down(share, encrypted):
    python("""
        import os, sys
        import smbclient
        share, port, user, key, encrypted = sys.argv[1:]
        smbclient.ClientConfig(username=user, password=key)
        session = dict(port=int(port), encrypt=encrypted == "True")
        root = rf"\\\\127.0.0.1\\{share}"
        smbclient.register_session("127.0.0.1", username=user, password=key, **session)
        smbclient.makedirs(root + r"\\tree\\deep", port=int(port))
        files = {str(length): os.urandom(length) for length in (0, 1, 4096, 65537, 3_000_000)}
        for name, content in files.items():
            with smbclient.open_file(rf"{root}\\tree\\deep\\{name}", mode="wb", port=int(port)) as file:
                file.write(content)
        assert sorted(smbclient.listdir(root + r"\\tree\\deep", port=int(port))) == sorted(files)
        for name, content in files.items():
            path = rf"{root}\\tree\\deep\\{name}"
            with smbclient.open_file(path, mode="rb", port=int(port)) as file:
                assert file.read() == content, name
            assert smbclient.stat(path, port=int(port)).st_size == len(content)
            smbclient.rename(path, rf"{root}\\tree\\moved-{name}", port=int(port))
        assert len(smbclient.listdir(root + r"\\tree", port=int(port))) == len(files) + 1
        for name in files:
            smbclient.remove(rf"{root}\\tree\\moved-{name}", port=int(port))
        smbclient.rmdir(root + r"\\tree\\deep", port=int(port))
        smbclient.rmdir(root + r"\\tree", port=int(port))
        assert smbclient.listdir(root, port=int(port)) == []
    """, share.share_name, share.port, ACCOUNT, KEY, encrypted)


def test_rclone_takes_a_tree_up_and_down(share, tmp_path):
    rclone = CACHE / "bin/rclone"
    up = tmp_path / "up"
    (up / "deep/er").mkdir(parents=True)
    for number in range(20):
        (up / f"deep/er/{number}").write_bytes(os.urandom(number * 1000))
    hidden = subprocess.run([rclone, "obscure", KEY], capture_output=True, text=True, check=True).stdout.strip()
    remote = f":smb,host=127.0.0.1,port={share.port},user={ACCOUNT},pass={hidden}:{share.share_name}/tree"
    empty = {**os.environ, "RCLONE_CONFIG": str(tmp_path / "none")}
    subprocess.run([rclone, "copy", up, remote], check=True, timeout=120, env=empty)
    subprocess.run([rclone, "copy", remote, tmp_path / "down"], check=True, timeout=120, env=empty)
    for file in up.rglob("*"):
        if file.is_file():
            assert (tmp_path / "down" / file.relative_to(up)).read_bytes() == file.read_bytes()
    subprocess.run([rclone, "purge", remote], check=True, timeout=120, env=empty)
    assert list(share.list_directories_and_files()) == []


def test_samba_tests_that_pass_still_do():
    """A bounded part of Samba's own suite: what is listed as passing and takes little time. On a server of its own, which evaluates descriptors."""
    torture = pathlib.Path(__file__).parents[1] / "smbtorture"
    done = subprocess.run([sys.executable, torture, "--quick"], capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout
