"""What SMB clients cache, against REST: breaks, waits for them and their end; handles listed and closed by REST; changes that are told.

The table is that of "Managing file locks" for oplocks. `wait X`: the client goes down to X before the call goes on. `tell X`: it is told,
and nobody waits. `-`: it keeps what it has.
"""

import threading

import pytest
from azure.core.exceptions import ResourceNotFoundError

from doors import Refused, outcome, pool
from test_doors import CALLS, TEXT, Named, file, share, smb  # noqa: F401: fixtures

READS = ("wait RH", "-", "wait R")
WRITES = ("wait ", "tell ", "wait ")
BREAKS = {
    "Get": READS, "Properties": READS, "Metadata": READS, "Ranges": READS,
    "List": ("-", "-", "-"),
    "PutRange": WRITES, "ClearRange": WRITES, "SetProperties": WRITES, "SetMetadata": WRITES, "Create": WRITES,
    "Delete": ("wait RW", "wait R", "-"),
}


def sees(call, file, text):
    """The call's outcome; and that it saw what the client had cached, if it is one that reads."""
    def run():
        got = CALLS[call](file)
        if call == "Get":
            assert got.startswith(text), got[:20]
    return outcome(run)


@pytest.mark.parametrize("caches", ["RWH", "RH", "RW"])
@pytest.mark.parametrize("call", BREAKS)
@pytest.mark.parametrize("second", [True, False], ids=["v2", "v1"])
def test_leases(file, smb, call, caches, second):  # noqa: F811
    want = BREAKS[call][["RWH", "RH", "RW"].index(caches)]
    held = smb.open("held", path=file.name, access="RW", lease=caches, key=file.key, second=second)
    assert held["granted"] == caches
    # What is open stays open: a deletion is refused when it has asked.
    end = "SharingViolation" if call == "Delete" else ""
    started = pool.submit(sees, call, file, b"cached" if want.startswith("wait") else b"0123")
    how, _, left = want.partition(" ")
    if how == "-":
        assert started.result(60) == end
        assert smb.open("again", path=file.name, access="R", lease=caches, key=file.key, second=second)["granted"] == caches
        assert smb.unbroken()
        smb.close("again")
    else:
        heard = smb.broken()
        assert (heard["broken"], heard["was"], heard["to"], heard["answer"]) == (file.key, caches, left, True)
        if how == "wait":
            assert not started.done()
            smb.write("held", text="cached")
            smb.answer(by="one", key=file.key, to=left)
            assert started.result(60) == end
        else:
            assert started.result(60) == end, "nobody waits for the answer"
            smb.answer(by="one", key=file.key, to=left)
    smb.close("held")


# An oplock goes to II, or to nothing.
OPLOCKS = {
    "batch": {"Get": "wait II", "PutRange": "wait ", "Delete": "wait II", "List": "-"},
    "exclusive": {"Get": "wait II", "PutRange": "wait ", "Delete": "-", "List": "-"},
    "II": {"Get": "-", "PutRange": "tell ", "Delete": "-", "List": "-"},
}


@pytest.mark.parametrize("level, call, want", [(level, call, want) for level, row in OPLOCKS.items() for call, want in row.items()])
def test_oplocks(file, smb, level, call, want):  # noqa: F811
    name = file.key
    assert smb.open(name, path=file.name, access="RW", oplock=level)["granted"] == level
    end = "SharingViolation" if call == "Delete" else ""
    started = pool.submit(sees, call, file, b"cached" if want.startswith("wait") else b"0123")
    how, _, left = want.partition(" ")
    if how == "-":
        assert started.result(60) == end and smb.unbroken()
    else:
        heard = smb.broken()
        assert (heard["broken"], heard["to"]) == (name, left)
        if how == "wait":
            assert not started.done()
            smb.write(name, text="cached")
            smb.answer(by="one", name=name, to=left)
        assert started.result(60) == end
    smb.close(name)


@pytest.mark.parametrize("call", ["Get", "PutRange", "Create", "Delete"])
@pytest.mark.parametrize("closes", [True, False], ids=["closed", "open"])
def test_a_clash_asks_whether_the_handle_is_open(file, smb, call, closes):  # noqa: F811
    """A client that caches the handle may have closed it: it is asked first, and refuses only if it has not."""
    smb.open("held", path=file.name, access="R", share="", lease="RH", key=file.key)
    started = pool.submit(outcome, lambda: CALLS[call](file))
    heard = smb.broken()
    assert heard["was"] == "RH" and "H" not in heard["to"]
    assert not started.done()
    if closes:
        smb.close("held")
        assert started.result(60) == ""
    else:
        smb.answer(by="one", key=file.key, to=heard["to"])
        assert started.result(60) == "SharingViolation"
        smb.close("held")


@pytest.mark.parametrize("call, arguments", [
    ("download_file", {}), ("get_file_properties", {}), ("upload_range", {"data": b"x", "offset": 0, "length": 1}),
    ("set_file_metadata", {"metadata": {"a": "b"}}), ("create_file", {"size": 10}), ("delete_file", {}),
])
def test_a_client_that_never_answers(file, smb, call, arguments):  # noqa: F811
    """REST waits as long as its client lets it, and says why it gave up. Nothing was done."""
    smb.open("held", path=file.name, access="RW", lease="RWH", key=file.key)
    assert outcome(lambda: getattr(file, call)(**arguments, timeout=1)) == "ClientCacheFlushDelay"
    smb.broken()
    assert smb.read("held")["bytes"].encode() == TEXT
    smb.close("held")
    assert file.download_file().readall() == TEXT


def test_what_rest_changed_is_what_smb_reads(file, smb):  # noqa: F811
    """A client that caches reads hears of the change, and then reads it."""
    smb.open("held", path=file.name, access="R", lease="R", key=file.key)
    file.upload_range(b"rest", 0, 4)
    heard = smb.broken()
    assert (heard["to"], heard["answer"]) == ("", False), "R is taken away without an answer"
    assert smb.read("held", length=6)["bytes"] == "rest45"
    smb.close("held")


def test_clients_break_each_other(file, smb):  # noqa: F811
    smb.open("held", path=file.name, access="RW", lease="RWH", key=file.key)
    second = smb.start("open", name="second", path=file.name, access="RW", by="two")
    heard = smb.broken()
    assert (heard["client"], heard["to"]) == ("one", "RH") and not second.done()
    smb.write("held", text="cached")
    smb.answer(by="one", key=file.key, to="RH")
    second.result(60)
    assert smb.read("second", length=6)["bytes"] == "cached"
    smb.write("second", text="second")
    assert smb.broken()["to"] == ""
    assert file.download_file().readall().startswith(b"second")
    smb.answer(by="one", key=file.key, to="")
    smb.close("held")
    smb.close("second")


def test_handles_are_listed_and_closed_by_rest(file, share, smb):  # noqa: F811
    smb.open("reads", path=file.name, access="R")
    smb.open("writes", path=file.name, access="RW", by="two")
    smb.lock("writes", ranges=[[0, 10, "exclusive"]])
    handles = list(file.list_handles())
    assert [handle.path for handle in handles] == [file.name] * 2
    assert all(handle.client_ip.startswith("127.0.0.1") and handle.open_time for handle in handles)
    assert len({handle.id for handle in handles}) == len({handle.session_id for handle in handles}) == 2
    assert {handle.file_id for handle in handles} == {file.get_file_properties().file_id}
    in_share = share.get_directory_client("").list_handles(recursive=True)
    assert {handle.id for handle in handles} <= {handle.id for handle in in_share}
    assert outcome(file.download_file) == "FileLockConflict"
    writes = next(handle for handle in handles if "Write" in handle.access_rights)
    assert file.close_handle(writes)["closed_handles_count"] == 1
    with pytest.raises(Refused, match="FileClosed"):
        smb.read("writes")
    assert file.download_file().readall() == TEXT, "its lock is gone with it"
    assert smb.read("reads", length=1)["bytes"] == "0", "others go on"
    assert file.close_all_handles()["closed_handles_count"] == 1
    with pytest.raises(Refused, match="FileClosed"):
        smb.read("reads")
    assert list(file.list_handles()) == []
    file.delete_file()


def test_a_handle_closed_by_rest_ends_what_waits_for_it(file, smb):  # noqa: F811
    smb.open("held", path=file.name, access="RW", lease="RWH", key=file.key)
    started = pool.submit(outcome, lambda: file.upload_range(b"rest", 0, 4))
    smb.broken()
    assert not started.done()
    assert file.close_all_handles()["closed_handles_count"] == 1
    assert started.result(60) == ""
    assert file.download_file().readall().startswith(b"rest")


def test_a_blocking_lock_is_granted_when_rest_closes_the_holder(file, smb):  # noqa: F811
    smb.open("first", path=file.name, access="RW")
    smb.open("second", path=file.name, access="RW", by="two")
    smb.lock("first", ranges=[[0, 10, "exclusive"]])
    with pytest.raises(Refused, match="LockNotGranted"):
        smb.lock("second", ranges=[[5, 10, "shared"]])
    waits = smb.start("lock", name="second", ranges=[[5, 10, "shared"]], fail=False)
    first = min(file.list_handles(), key=lambda handle: handle.open_time)
    assert file.close_handle(first)["closed_handles_count"] == 1
    waits.result(60)
    assert outcome(lambda: file.upload_range(b"x", 0, 1)) == "FileLockConflict"
    smb.close("second")


def test_a_lost_connection_gives_everything_up(file, smb):  # noqa: F811
    smb.open("held", path=file.name, access="RW", share="", by="lost")
    smb.lock("held", ranges=[[0, 10, "exclusive"]])
    assert outcome(file.download_file) == "SharingViolation"
    smb.drop(by="lost")
    left = threading.Event()
    for _ in range(200):
        if not list(file.list_handles()):
            break
        left.wait(0.05)
    assert file.download_file().readall() == TEXT
    file.delete_file()


def test_a_lost_connection_deletes_what_was_to_go(file, smb):  # noqa: F811
    smb.open("held", path=file.name, access="RD", by="gone", delete_on_close=True)
    smb.drop(by="gone")
    left = threading.Event()
    for _ in range(200):
        if outcome(file.get_file_properties) == "ResourceNotFound":
            break
        left.wait(0.05)
    with pytest.raises(ResourceNotFoundError):
        file.get_file_properties()


def test_rest_changes_are_not_told_to_those_who_watch(share, smb):  # noqa: F811
    """As Azure documents: SMB's changes raise notifications, REST's do not."""
    directory = share.create_directory("watched")
    smb.open("watched", path="watched", access="R", directory=True)
    smb.watch("watched")
    directory.get_file_client("rest").upload_file(b"1")
    smb.open("new", path=r"watched\smb", access="R", disposition="FILE_CREATE", by="two")
    assert smb.watched("watched")["changes"] == [[1, "smb"]], "added"
    smb.close("new")
    smb.close("watched")


def test_names_go_both_ways(share, smb):  # noqa: F811
    """Created, listed and renamed through one door, seen through the other."""
    smb.open("d", path="both", access="R", disposition="FILE_CREATE", directory=True)
    smb.open("f", path=r"both\smb.txt", access="RWD", share="RW", disposition="FILE_CREATE")
    smb.write("f", text="from smb")
    assert share.get_file_client("both/smb.txt").download_file().readall() == b"from smb"
    share.get_file_client("both/rest.txt").upload_file(b"from rest")
    assert smb.list("d")["names"] == [".", "..", "rest.txt", "smb.txt"]
    smb.rename("f", to=r"both\moved.txt")
    assert sorted(entry.name for entry in share.get_directory_client("both").list_directories_and_files()) == ["moved.txt", "rest.txt"]
    assert outcome(lambda: share.get_file_client("both/moved.txt").rename_file("both/again.txt")) == "SharingViolation"
    smb.close("f")
    share.get_file_client("both/moved.txt").rename_file("both/again.txt")
    smb.open("f", path=r"both\again.txt", access="R")
    assert smb.read("f")["bytes"] == "from smb"
    smb.close("f")
    smb.close("d")
