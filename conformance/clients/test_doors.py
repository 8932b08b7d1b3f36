"""Two doors of one share: what an SMB client holds, against what REST calls do, and the other way round.

The tables are those of "Managing file locks", every cell: by share mode, by access, pending deletions, byte-range locks, the read-only
attribute, and what clients cache.
"""

import uuid

import pytest
from azure.core.exceptions import HttpResponseError, ResourceNotFoundError
from azure.storage.fileshare import ContentSettings, NTFSAttributes, ShareServiceClient

from doors import Holder, Refused, outcome, pool
from test_smb import port_of

TEXT = b"0123456789" * 100

# Every call of the File service that meets others on a file, by its name in the documentation.
CALLS = {
    "List": lambda file: list(file.directory.list_directories_and_files()),
    "Properties": lambda file: file.get_file_properties(),
    "Metadata": lambda file: file.get_file_properties().metadata,
    "Get": lambda file: file.download_file().readall(),
    "Ranges": lambda file: list(file.list_ranges()),
    "PutRange": lambda file: file.upload_range(b"x", 0, 1),
    "ClearRange": lambda file: file.clear_range(0, 512),
    "SetProperties": lambda file: file.set_http_headers(ContentSettings(), file_attributes="Archive"),
    "SetMetadata": lambda file: file.set_file_metadata({"a": "b"}),
    "Create": lambda file: file.create_file(10),
    "Lease": lambda file: file.acquire_lease().release(),
    "Delete": lambda file: file.delete_file(),
}
# As the tables call them: one row of theirs for several calls.
GROUPS = {"Get": ["Get"], "Ranges": ["Ranges"], "Write": ["PutRange", "ClearRange", "SetProperties", "SetMetadata"],
          "Create": ["Create"], "Lease": ["Lease"], "Delete": ["Delete"], "Look": ["List", "Properties", "Metadata"]}
REST = [call for group in GROUPS.values() for call in group]


def group_of(call):
    return next(group for group, calls in GROUPS.items() if call in calls)


@pytest.fixture(scope="module")
def share(server):
    client = ShareServiceClient.from_connection_string(server.connection_string, retry_total=0)
    share = client.create_share(f"doors-{uuid.uuid4().hex[:12]}")
    share.port = port_of(server)
    yield share
    share.delete_share()


@pytest.fixture(scope="module")
def smb(share):
    holder = Holder(share.share_name, share.port)
    yield holder
    holder.stop()


class Named:
    """A file by its name in the share, with the directory that lists it."""

    def __init__(self, share):
        self.name = f"{uuid.uuid4().hex[:12]}.txt"
        self.directory = share
        self.file = share.get_file_client(self.name)
        self.file.upload_file(TEXT)
        # The key of a lease, and names for handles.
        self.key = uuid.uuid4().hex

    def __getattr__(self, name):
        return getattr(self.file, name)

    def listed(self):
        return self.name in [entry.name for entry in self.directory.list_directories_and_files(name_starts_with=self.name[:8])]


@pytest.fixture
def file(share):
    return Named(share)


BY_SHARE_MODE = {
    "": "Create Get Write Delete Ranges Lease",
    "R": "Create Write Delete Lease",
    "W": "Create Get Delete Ranges Lease",
    "D": "Create Get Write Ranges Delete Lease",
    "RW": "Create Delete Lease",
    "RD": "Create Write Delete Lease",
    "WD": "Get Ranges Delete Lease",
    "RWD": "Delete",
}


@pytest.mark.parametrize("mode", BY_SHARE_MODE)
@pytest.mark.parametrize("dialect", ["SMB_2_0_2", "SMB_3_1_1"])
def test_share_modes(share, smb, mode, dialect):
    """A handle that reads, and what REST may do beside it. In every dialect: the rules are the file's, not the connection's."""
    for call in REST:
        file = Named(share)
        smb.open("held", path=file.name, access="R", share=mode, by=dialect, dialect=dialect)
        want = "SharingViolation" if group_of(call) in BY_SHARE_MODE[mode].split() else ""
        assert outcome(lambda: CALLS[call](file)) == want, call
        if call == "Delete":
            assert file.get_file_properties().size == len(TEXT)
        smb.close("held")
        assert outcome(lambda: CALLS[call](file)) == "", f"{call}, closed"


def test_who_only_looks_denies_nothing(share, smb):
    """A handle for attributes alone takes no part in sharing; but nothing is deleted that is open at all."""
    for call in REST:
        file = Named(share)
        smb.open("held", path=file.name, access="", share="")
        assert outcome(lambda: CALLS[call](file)) == ("SharingViolation" if call == "Delete" else ""), call
        smb.close("held")


BY_ACCESS = {"": True, "R": True, "W": False, "D": False, "RW": False, "RD": False, "WD": False, "RWD": False}


@pytest.mark.parametrize("access", BY_ACCESS)
def test_leases_against_handles(file, smb, access):
    """A lease wants to write and delete, and lets others read: both when it is acquired and while it lasts."""
    fits = BY_ACCESS[access]
    smb.open("held", path=file.name, access=access)
    if fits:
        lease = file.acquire_lease()
    else:
        assert outcome(file.acquire_lease) == "SharingViolation"
        smb.close("held")
        lease = file.acquire_lease()
    if fits:
        smb.close("held")
        smb.open("held", path=file.name, access=access)
        smb.close("held")
    else:
        with pytest.raises(Refused, match="SharingViolation"):
            smb.open("held", path=file.name, access=access)
    lease.break_lease()
    smb.open("held", path=file.name, access=access)
    smb.close("held")


def test_a_released_lease_lets_smb_write(file, smb):
    lease = file.acquire_lease()
    with pytest.raises(Refused, match="SharingViolation"):
        smb.open("held", path=file.name, access="W")
    with pytest.raises(Refused, match="SharingViolation"):
        smb.open("held", path=file.name, access="R", disposition="FILE_OVERWRITE")
    assert lease.release() is None
    smb.open("held", path=file.name, access="W")
    smb.write("held", text="smb")
    smb.close("held")
    assert file.download_file().readall()[:3] == b"smb"


@pytest.mark.parametrize("how", ["flag", "on close"])
def test_a_deletion_pends_until_the_last_handle_closes(share, smb, how):
    for call in REST:
        file = Named(share)
        smb.open("other", path=file.name, access="R")
        smb.open("deletes", path=file.name, access="RD", delete_on_close=how == "on close")
        assert file.listed() and file.get_file_properties().size == len(TEXT), "open, and not pending"
        if how == "flag":
            smb.flag("deletes", pending=True)
        smb.close("deletes")
        assert not file.listed()
        if call != "List":
            assert outcome(lambda: CALLS[call](file)) == "DeletePending", call
        with pytest.raises(Refused, match="DeletePending"):
            smb.open("late", path=file.name)
        assert [handle.path for handle in file.list_handles()] == [file.name], "handles are shown"
        assert smb.read("other", length=5)["bytes"] == "01234", "who has it open goes on"
        smb.close("other")
        with pytest.raises(ResourceNotFoundError):
            file.get_file_properties()
        assert not file.listed()


def test_a_pending_deletion_is_taken_back(file, smb):
    smb.open("deletes", path=file.name, access="RD")
    smb.flag("deletes", pending=True)
    assert not file.listed() and outcome(file.get_file_properties) == "DeletePending"
    smb.flag("deletes", pending=False)
    assert file.listed() and file.download_file().readall() == TEXT
    smb.close("deletes")
    assert file.download_file().readall() == TEXT


def test_a_pending_directory(share, smb):
    directory = share.create_directory(f"d{uuid.uuid4().hex[:8]}")
    smb.open("held", path=directory.directory_path, access="D", directory=True)
    assert outcome(directory.delete_directory) in ("SharingViolation", "CannotDeleteFileOrDirectory")
    smb.flag("held", pending=True)
    assert outcome(directory.get_directory_properties) == "DeletePending"
    assert outcome(lambda: directory.create_subdirectory("below")) == "DeletePending"
    assert outcome(lambda: directory.get_file_client("f").create_file(1)) == "DeletePending"
    smb.close("held")
    with pytest.raises(ResourceNotFoundError):
        directory.get_directory_properties()


def test_a_full_directory_is_not_marked(share, smb):
    directory = share.create_directory(f"d{uuid.uuid4().hex[:8]}")
    directory.get_file_client("f").upload_file(b"1")
    smb.open("held", path=directory.directory_path, access="D", directory=True)
    with pytest.raises(Refused, match="0xc0000101"):
        smb.flag("held", pending=True)
    smb.close("held")
    assert outcome(directory.delete_directory) == "DirectoryNotEmpty"


def test_rest_deletes_are_atomic(file, smb):
    """Never pending: while somebody has it open they are refused, else it is gone."""
    smb.open("held", path=file.name, access="R")
    assert outcome(file.delete_file) == "SharingViolation"
    assert file.listed() and smb.read("held", length=1)["bytes"] == "0"
    smb.open("more", path=file.name, access="R")
    smb.close("more")
    smb.close("held")
    file.delete_file()
    with pytest.raises(Refused, match="ObjectNameNotFound"):
        smb.open("held", path=file.name)


# What is locked from 100 to 200, and what REST may do then.
LOCKED = {
    "shared": {"PutRange": "FileLockConflict", "ClearRange": "FileLockConflict", "SetProperties": "FileLockConflict",
               "SetMetadata": "FileLockConflict", "Create": "FileLockConflict"},
    "exclusive": {"PutRange": "FileLockConflict", "ClearRange": "FileLockConflict", "SetProperties": "FileLockConflict",
                  "SetMetadata": "FileLockConflict", "Create": "FileLockConflict", "Get": "FileLockConflict"},
}


@pytest.mark.parametrize("how", LOCKED)
def test_byte_range_locks(share, smb, how):
    for call in REST:
        if call in ("Delete", "Lease"):
            continue  # refused by the handle before any lock is looked at
        file = Named(share)
        smb.open("held", path=file.name, access="RW")
        smb.lock("held", ranges=[[100, 100, how]])
        assert outcome(lambda: CALLS[call](file)) == LOCKED[how].get(call, ""), call
        smb.lock("held", ranges=[[100, 100, "free"]])
        assert outcome(lambda: CALLS[call](file)) == "", f"{call}, unlocked"
        smb.close("held")


def test_reads_beside_an_exclusive_lock(file, smb):
    smb.open("held", path=file.name, access="RW")
    smb.lock("held", ranges=[[100, 100, "exclusive"]])
    for start, length, want in [(0, 100, ""), (0, 101, "FileLockConflict"), (199, 10, "FileLockConflict"), (200, 100, "")]:
        assert outcome(lambda: file.download_file(offset=start, length=length).readall()) == want, (start, length)
    smb.close("held")
    assert outcome(file.download_file().readall) == "", "locks go with their handle"


def test_rest_writes_wait_for_nobody_and_leave_locks(file, smb):
    """A lock that is asked for while REST reads is granted: REST holds nothing."""
    smb.open("held", path=file.name, access="RW")
    file.download_file().readall()
    file.upload_range(b"rest", 0, 4)
    smb.lock("held", ranges=[[0, 4, "exclusive"]])
    assert smb.read("held", length=4)["bytes"] == "rest"
    smb.close("held")


READ_ONLY = {"PutRange", "ClearRange", "SetMetadata", "Create"}


def test_the_read_only_attribute(share, smb):
    """Said by REST, seen by SMB; and the other way round."""
    for call in REST:
        if call == "SetProperties":
            continue  # it is how the attribute is taken away
        file = Named(share)
        file.set_http_headers(ContentSettings(), file_attributes=NTFSAttributes(read_only=True))
        if call != "Delete":
            assert outcome(lambda: CALLS[call](file)) == ("ReadOnlyAttribute" if call in READ_ONLY else ""), call
        with pytest.raises(Refused, match="AccessDenied"):
            smb.open("held", path=file.name, access="W")
        with pytest.raises(Refused, match="CannotDelete"):
            smb.open("held", path=file.name, access="D", delete_on_close=True)
        smb.open("held", path=file.name, access="R")
        smb.close("held")
    file.delete_file()  # REST deletes what is read-only
