//! One or more of each message, with every optional part somewhere.

use bytes::Bytes;
use lazuli_smb::packet::create::{self, Access, Action, CreateOptions, Disposition, ShareAccess};
use lazuli_smb::packet::create_context::{
    AppInstance, AppleAnswer, AppleQuery, Asked, DurableAsked, DurableFlags, DurableGiven, DurableReconnect, Given,
    Lease, LeaseFlags, LeaseSecond, MaximalAccess, OnDiskId,
};
use lazuli_smb::packet::error::ErrorData;
use lazuli_smb::packet::file::*;
use lazuli_smb::packet::ioctl::{self, IoctlFlags};
use lazuli_smb::packet::logon::{SessionFlags, SetupFlags, SetupRequest, SetupResponse};
use lazuli_smb::packet::negotiate::{self, Capabilities, SecurityMode};
use lazuli_smb::packet::negotiate_context::{AES_GMAC, AES256_GCM, Context, salted};
use lazuli_smb::packet::oplock::{Break, LeaseAck, LeaseBreak, LeaseBreakFlags, LeaseState, OplockBreak};
use lazuli_smb::packet::query::*;
use lazuli_smb::packet::tree::{self, ConnectFlags, ShareFlags};
use lazuli_smb::packet::{Command, Request, Response};
use lazuli_smb::status::Status;
use lazuli_smb::time::FileTime;

const FILE: FileId = FileId { persistent: 3, volatile: 4 };

fn lease(second: bool) -> Lease {
    Lease {
        key: [8; 16],
        state: LeaseState::READ.with(LeaseState::HANDLE),
        flags: LeaseFlags::PARENT_KEY_SET,
        second: second.then_some(LeaseSecond { parent: [9; 16], epoch: 2 }),
    }
}

fn contexts() -> Vec<Context> {
    vec![
        salted(&[1; 32]),
        Context::Encryption(vec![AES256_GCM, 1]),
        Context::Compression { flags: 1, algorithms: vec![1, 2, 3] },
        Context::NetName("host".into()),
        Context::Transport(1),
        Context::Rdma(vec![1]),
        Context::Signing(vec![AES_GMAC, 1, 0]),
        Context::Unknown { kind: 0x100, data: Bytes::from_static(b"posix") },
    ]
}

pub fn requests() -> Vec<Request> {
    let negotiate = |dialects: &[u16], contexts| {
        Request::Negotiate(negotiate::Request {
            security_mode: SecurityMode::SIGNING_ENABLED,
            capabilities: Capabilities::LARGE_MTU,
            client: [7; 16],
            dialects: dialects.to_vec(),
            contexts,
        })
    };
    let setup = SetupRequest {
        flags: SetupFlags::BINDING,
        security_mode: 1,
        capabilities: 1,
        previous_session: 99,
        token: Bytes::from_static(b"token"),
    };
    let connect = |contexts| tree::Request { flags: ConnectFlags::default(), path: r"\\host\share".into(), contexts };
    let create = create::Request {
        oplock: 0xff,
        impersonation: 2,
        access: Access::GENERIC_READ,
        attributes: 0x80,
        sharing: ShareAccess::READ,
        disposition: Disposition::OpenIf.code(),
        options: CreateOptions::NON_DIRECTORY_FILE,
        name: r"dir\file.txt".into(),
        contexts: vec![
            Asked::Security(Bytes::from_static(b"descriptor")),
            Asked::Durable,
            Asked::Reconnect(FILE),
            Asked::Allocation(4096),
            Asked::MaximalAccess(None),
            Asked::MaximalAccess(Some(5)),
            Asked::Timewarp(6),
            Asked::OnDiskId,
            Asked::Lease(lease(false)),
            Asked::Lease(lease(true)),
            Asked::DurableSecond(DurableAsked { timeout: 1, flags: DurableFlags::PERSISTENT, create: [2; 16] }),
            Asked::ReconnectSecond(DurableReconnect { file: FILE, create: [2; 16], flags: DurableFlags::default() }),
            Asked::AppInstance(AppInstance { id: [3; 16] }),
            Asked::Apple(AppleQuery { command: 1, asked: 7, client: 0 }),
            Asked::ExtendedAttributes(Bytes::from_static(b"attributes")),
            Asked::Unknown { name: Bytes::from_static(b"Xxxx"), data: Bytes::from_static(b"x") },
        ],
    };
    let info = InfoRequest {
        kind: InfoType::Security,
        class: 0,
        output_max: 65536,
        additional: SecurityInformation::DACL.0,
        flags: 0,
        file: FILE,
        input: Bytes::from_static(b"in"),
    };
    let set =
        SetRequest { kind: InfoType::File, class: 13, additional: 0, file: FILE, input: Bytes::from_static(&[1]) };
    let ioctl = ioctl::Request {
        code: 0x0014_0204,
        file: FileId::RELATED,
        input: Bytes::from_static(b"input"),
        input_max: 0,
        output_max: 24,
        flags: IoctlFlags::FSCTL,
    };
    let lock = |offset| LockElement { offset, length: 10, flags: LockFlags::EXCLUSIVE };
    let directory = DirectoryRequest {
        class: 37,
        flags: DirectoryFlags::RESTART,
        index: 0,
        file: FILE,
        output_max: 65536,
        pattern: "*.txt".into(),
    };
    let notify =
        NotifyRequest { flags: NotifyFlags::WATCH_TREE, output_max: 4096, file: FILE, filter: NotifyFilter::FILE_NAME };
    vec![
        negotiate(&[0x0202, 0x0210, 0x0300], vec![]),
        negotiate(&[0x0202, 0x0311], contexts()),
        Request::SessionSetup(setup),
        Request::Logoff,
        Request::TreeConnect(connect(None)),
        Request::TreeConnect(connect(Some(vec![(1, Bytes::from_static(b"id")), (2, Bytes::new())]))),
        Request::TreeDisconnect,
        Request::Create(create),
        Request::Create(create::Request::default()),
        Request::Close(CloseRequest { flags: CloseFlags::POST_QUERY, file: FILE }),
        Request::Flush(FlushRequest { file: FILE }),
        Request::Read(ReadRequest { length: 65536, offset: 1 << 33, file: FILE, minimum: 1, ..Default::default() }),
        Request::Write(WriteRequest { offset: 5, file: FILE, data: Bytes::from_static(b"data"), ..Default::default() }),
        Request::Write(WriteRequest::default()),
        Request::Lock(LockRequest { sequence: 0x11, file: FILE, locks: vec![lock(0), lock(100)] }),
        Request::Ioctl(ioctl),
        Request::Cancel,
        Request::Echo,
        Request::QueryDirectory(directory),
        Request::ChangeNotify(notify),
        Request::QueryInfo(info),
        Request::SetInfo(set),
        Request::OplockBreak(Break::Oplock(OplockBreak { level: 1, file: FILE })),
        Request::OplockBreak(Break::LeaseAck(LeaseAck { flags: 0, key: [1; 16], state: LeaseState::READ })),
    ]
}

pub fn responses() -> Vec<(Command, Status, Response)> {
    let negotiate = |dialect, contexts| {
        Response::Negotiate(negotiate::Response {
            security_mode: SecurityMode::SIGNING_ENABLED.with(SecurityMode::SIGNING_REQUIRED),
            dialect,
            server: [5; 16],
            capabilities: Capabilities::LEASING,
            max_transact: 1 << 23,
            max_read: 1 << 23,
            max_write: 1 << 23,
            now: FileTime(1),
            started: FileTime(2),
            token: Bytes::from_static(b"token"),
            contexts,
        })
    };
    let setup = SetupResponse { flags: SessionFlags::ENCRYPT_DATA, token: Bytes::from_static(b"answer") };
    let create = create::Response {
        oplock: 0xff,
        action: Action::Created,
        created: FileTime(1),
        accessed: FileTime(2),
        written: FileTime(3),
        changed: FileTime(4),
        allocation: 4096,
        end_of_file: 5,
        attributes: 0x20,
        file: FILE,
        contexts: vec![
            Given::Durable,
            Given::MaximalAccess(MaximalAccess { status: 0, access: 0x1f_01ff }),
            Given::OnDiskId(OnDiskId { file: 1, volume: 2 }),
            Given::Lease(lease(true)),
            Given::DurableSecond(DurableGiven { timeout: 60_000, flags: DurableFlags::default() }),
            Given::Apple(AppleAnswer { command: 1, server: Some(1), volume: None, model: Some("Lazuli".into()) }),
            Given::Unknown { name: Bytes::from_static(b"Xxxx"), data: Bytes::new() },
        ],
    };
    let close = CloseResponse { flags: CloseFlags::POST_QUERY, end_of_file: 8, attributes: 0x20, ..Default::default() };
    let output = || Output(Bytes::from_static(b"information"));
    let answer = tree::Answer { kind: 1, flags: ShareFlags::ENCRYPT_DATA, maximal_access: 1, ..Default::default() };
    let lease_break = LeaseBreak {
        epoch: 3,
        flags: LeaseBreakFlags::ACK_REQUIRED,
        key: [4; 16],
        current: LeaseState::READ.with(LeaseState::WRITE),
        new: LeaseState::READ,
    };
    let lease_ack = LeaseAck { flags: 0, key: [4; 16], state: LeaseState::READ };
    let ioctl = ioctl::Response { code: 0x0014_0204, file: FILE, output: Bytes::from_static(b"output") };
    let read =
        |data: &'static [u8]| Response::Read(ReadResponse { data: Bytes::from_static(data).into(), remaining: 0 });
    let ok = Status::Success;
    vec![
        (Command::Negotiate, ok, negotiate(0x0302, vec![])),
        (Command::Negotiate, ok, negotiate(0x0311, contexts())),
        (Command::SessionSetup, Status::MoreProcessingRequired, Response::SessionSetup(setup)),
        (Command::Logoff, ok, Response::Logoff),
        (Command::TreeConnect, ok, Response::TreeConnect(answer)),
        (Command::TreeDisconnect, ok, Response::TreeDisconnect),
        (Command::Create, ok, Response::Create(create)),
        (Command::Close, ok, Response::Close(close)),
        (Command::Flush, ok, Response::Flush),
        (Command::Read, ok, read(b"data")),
        (Command::Read, Status::BufferOverflow, read(b"")),
        (Command::Write, ok, Response::Write(WriteResponse { count: 4, remaining: 0 })),
        (Command::Lock, ok, Response::Lock),
        (Command::Ioctl, ok, Response::Ioctl(ioctl.clone())),
        (Command::Ioctl, Status::InvalidParameter, Response::Ioctl(ioctl)),
        (Command::Ioctl, Status::InvalidParameter, Response::Error(ErrorData::None)),
        (Command::Echo, ok, Response::Echo),
        (Command::QueryDirectory, ok, Response::QueryDirectory(output())),
        (Command::ChangeNotify, Status::NotifyEnumDir, Response::ChangeNotify(Output::default())),
        (Command::QueryInfo, Status::BufferOverflow, Response::QueryInfo(output())),
        (Command::SetInfo, ok, Response::SetInfo),
        (Command::OplockBreak, ok, Response::OplockBreak(Break::Lease(lease_break))),
        (Command::OplockBreak, ok, Response::OplockBreak(Break::LeaseAck(lease_ack))),
        (Command::OplockBreak, ok, Response::OplockBreak(Break::Oplock(OplockBreak { level: 0, file: FILE }))),
        (Command::Create, Status::AccessDenied, Response::Error(ErrorData::None)),
        (Command::QueryInfo, Status::BufferTooSmall, Response::Error(ErrorData::needed(100, false))),
        (Command::QueryInfo, Status::BufferTooSmall, Response::Error(ErrorData::needed(100, true))),
        (
            Command::Create,
            Status::StoppedOnSymlink,
            Response::Error(ErrorData::Contexts(vec![(0, Bytes::from_static(b"link")), (1, Bytes::from_static(b"x"))])),
        ),
        (Command::QueryDirectory, Status::NoMoreFiles, Response::Error(ErrorData::None)),
    ]
}
