//! Hostile SMB clients against the real binary: half frames, floods before a logon, wrong signatures, ids that come twice or too early, ten
//! thousand opens, compounds without end, credits that were never paid. Each is refused or left, memory stays within its bound, and an honest
//! client is served all the while.

use lazuli_smb::packet::create::{self, Access, CreateOptions, Disposition, ShareAccess};
use lazuli_smb::packet::file::{CloseRequest, FileId, ReadRequest, WriteRequest};
use lazuli_smb::packet::logon::SetupRequest;
use lazuli_smb::packet::{Header, Request, Response, frame};
use lazuli_smb::status::Status;
use lazuli_testkit::client::{ACCOUNT, Client, KEY};
use lazuli_testkit::process::{Directory, Server};
use lazuli_testkit::smb_client::{Gone, SmbClient};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

type Smb = SmbClient<TcpStream>;

/// No abuse here may make the server hold more than this.
const HELD_MAX_KIB: u64 = 400 << 10;
const SHARE: &str = "abused";

struct Fixture {
    server: Server,
    address: String,
    _directory: Directory,
}

impl Fixture {
    fn new(name: &str) -> Self {
        let directory = Directory::new(env!("CARGO_TARGET_TMPDIR"), name);
        let server = Server::start(env!("CARGO_BIN_EXE_lazuli"), &directory.0, &[]).expect("the server starts");
        let made = Client::new(server.endpoint("File")).send("PUT", SHARE, "restype=share", &[], &[]);
        assert_eq!(made.expect("it answers").status, 201);
        let port = server.banner().split("-p ").nth(1).and_then(|rest| rest.split_whitespace().next());
        let address = format!("127.0.0.1:{}", port.expect("SMB is announced"));
        Self { server, address, _directory: directory }
    }

    async fn stream(&self) -> TcpStream {
        TcpStream::connect(&self.address).await.expect("it accepts")
    }

    async fn client(&self, guid: u128) -> Smb {
        SmbClient::connect(self.stream().await, guid, ACCOUNT, KEY, SHARE).await.expect("who has the key gets in")
    }

    /// After all that, an honest client is served and memory is where it should be.
    async fn still_well(&self) {
        let mut client = self.client(0x600d).await;
        let file = opened(&mut client, "well", Disposition::OverwriteIf).await.expect("it opens");
        let data = b"still here"[..].into();
        let (status, _) = ask(&mut client, &Request::Write(WriteRequest { file, data, ..Default::default() })).await;
        assert_eq!(status, Status::Success);
        let (_, answer) = ask(&mut client, &read(file, 10)).await;
        assert!(matches!(answer, Response::Read(read) if &read.data[..] == b"still here"));
        ask(&mut client, &Request::Close(CloseRequest { file, ..Default::default() })).await;
        let held = self.server.held_kib();
        assert!(held < HELD_MAX_KIB, "{held} KiB are held");
    }
}

async fn ask(client: &mut Smb, request: &Request) -> (Status, Response) {
    client.ask(request).await.expect("it is answered")
}

fn read(file: FileId, length: u32) -> Request {
    Request::Read(ReadRequest { file, length, ..Default::default() })
}

fn open(name: &str, disposition: Disposition, options: CreateOptions) -> Request {
    Request::Create(create::Request {
        oplock: 0,
        impersonation: 2,
        access: Access(Access::READ_DATA.0 | Access::WRITE_DATA.0 | Access::READ_ATTRIBUTES.0),
        attributes: 0,
        sharing: ShareAccess(7),
        disposition: disposition.code(),
        options,
        name: name.into(),
        contexts: Vec::new(),
    })
}

async fn opened(client: &mut Smb, name: &str, disposition: Disposition) -> Result<FileId, Status> {
    match ask(client, &open(name, disposition, CreateOptions::NON_DIRECTORY_FILE)).await {
        (Status::Success, Response::Create(created)) => Ok(created.file),
        (status, _) => Err(status),
    }
}

#[tokio::test]
async fn half_frames_and_floods_before_a_logon() {
    let fixture = Fixture::new("smb-strangers");
    let mut held = Vec::new();
    for number in 0..600_usize {
        let mut stream = fixture.stream().await;
        // A frame that is announced and does not come; one that is longer than anything before a logon; one that is cut; noise.
        let bytes: Vec<u8> = match number % 4 {
            0 => frame::head(60_000).to_vec(),
            1 => frame::head(0xff_ffff).to_vec(),
            2 => frame::framed(&[0xfe, b'S', b'M', b'B', 64])[..6].to_vec(),
            _ => (0..200).map(|at| (at * number) as u8).collect(),
        };
        let _ = stream.write_all(&bytes).await;
        held.push(stream);
    }
    for number in 0..400_u128 {
        let Ok(mut client) = SmbClient::negotiate(fixture.stream().await, number).await else { continue };
        let token = vec![number as u8; 3000].into();
        let setup = Request::SessionSetup(SetupRequest { token, ..Default::default() });
        let refused = client.ask(&setup).await;
        assert!(!matches!(refused, Ok((Status::Success, _))), "noise was let in");
        let wrong = client.log_on(ACCOUNT, "wrong").await;
        assert!(!matches!(wrong, Ok(Status::Success)), "a wrong key was let in");
    }
    fixture.still_well().await;
    drop(held);
    fixture.still_well().await;
}

#[tokio::test]
async fn wrong_signatures_change_nothing() {
    let fixture = Fixture::new("smb-signatures");
    let mut client = fixture.client(1).await;
    let file = opened(&mut client, "f", Disposition::OverwriteIf).await.expect("it opens");
    let write = |data: &'static [u8]| Request::Write(WriteRequest { file, data: data.into(), ..Default::default() });
    assert_eq!(ask(&mut client, &write(b"right")).await.0, Status::Success);
    for at in [20, 48, 63, 64, 112] {
        let request = write(b"wrong");
        let id = client.next_id;
        client.next_id += 1;
        let mut message = client.signed(&request, &client.header(&request, id));
        // Of the header: where the client may not have meant it, or the signature itself; of the body: its size, its data.
        message[at] ^= 1;
        client.send_frame(&message).await.expect("it is taken");
        match client.answer(id).await {
            Ok((status, _)) => assert_eq!(status, Status::AccessDenied, "byte {at}"),
            Err(Gone) => client = fixture.client(1).await,
        }
    }
    let mut honest = fixture.client(2).await;
    let file = opened(&mut honest, "f", Disposition::Open).await.expect("it opens");
    let (_, answer) = ask(&mut honest, &read(file, 100)).await;
    assert!(matches!(answer, Response::Read(read) if &read.data[..] == b"right"), "what was forged was written");
    fixture.still_well().await;
}

#[tokio::test]
async fn ids_that_were_used_or_not_granted_end_the_connection() {
    let fixture = Fixture::new("smb-ids");
    for ahead in [-1_i64, 1 << 20, i64::MAX >> 1] {
        let mut client = fixture.client(1).await;
        assert_eq!(ask(&mut client, &Request::Echo).await.0, Status::Success);
        let id = client.next_id.wrapping_add_signed(ahead);
        let message = client.signed(&Request::Echo, &client.header(&Request::Echo, id));
        client.send_frame(&message).await.expect("it is taken");
        assert_eq!(client.answer(id).await.err(), Some(Gone), "id {ahead} from the next");
    }
    fixture.still_well().await;
}

#[tokio::test]
async fn ten_thousand_opens() {
    let fixture = Fixture::new("smb-opens");
    let mut client = fixture.client(1).await;
    for number in 0..10_000 {
        let name = format!("held{}", number % 100);
        assert!(opened(&mut client, &name, Disposition::OpenIf).await.is_ok(), "open {number}");
    }
    let mut honest = fixture.client(2).await;
    assert!(opened(&mut honest, "held0", Disposition::Open).await.is_ok(), "others open what they like");
    fixture.still_well().await;
    // They go with the connection, and so does what they kept others from.
    drop((client, honest));
    let mut alone = fixture.client(3).await;
    let Request::Create(shared) = open("held1", Disposition::Open, CreateOptions::default()) else { return };
    let exclusive = Request::Create(create::Request { sharing: ShareAccess(0), ..shared });
    let mut tries = 0;
    loop {
        let (status, _) = ask(&mut alone, &exclusive).await;
        if status == Status::Success {
            break;
        }
        assert_eq!(status, Status::SharingViolation);
        tries += 1;
        assert!(tries < 100_000, "its handles outlive the client");
    }
    fixture.still_well().await;
}

#[tokio::test]
async fn compounds_without_end_and_credits_that_are_not_there() {
    let fixture = Fixture::new("smb-compounds");
    let compound = |client: &Smb, count: u64| {
        let mut whole = Vec::new();
        for number in 0..count {
            let mut message = client.signed(&Request::Echo, &client.header(&Request::Echo, client.next_id + number));
            message.resize(message.len().next_multiple_of(8), 0);
            let next = if number + 1 == count { 0 } else { message.len() as u32 };
            message[20..24].copy_from_slice(&next.to_le_bytes());
            whole.extend_from_slice(&message);
        }
        whole
    };
    // More than a compound has; and one whose every part points at itself.
    let mut client = fixture.client(1).await;
    let endless = compound(&client, 5000);
    client.send_frame(&endless).await.expect("it is taken");
    let id = client.next_id;
    assert_eq!(client.answer(id).await.err(), Some(Gone), "a compound of 5,000");
    let mut client = fixture.client(1).await;
    let mut circle = compound(&client, 2);
    circle[20..24].copy_from_slice(&8_u32.to_le_bytes());
    client.send_frame(&circle).await.expect("it is taken");
    let id = client.next_id;
    assert_eq!(client.answer(id).await.err(), Some(Gone), "a compound that goes round");
    // Eight MiB for the price of 64 KiB; and no more credits than the window has, whatever is asked.
    let mut client = fixture.client(1).await;
    let file = opened(&mut client, "f", Disposition::OverwriteIf).await.expect("it opens");
    assert_eq!(ask(&mut client, &read(file, 8 << 20)).await.0, Status::InvalidParameter);
    for _ in 0..300 {
        let id = client.next_id;
        client.next_id += 1;
        let header = Header { credits: u16::MAX, ..client.header(&Request::Echo, id) };
        let message = client.signed(&Request::Echo, &header);
        client.send_frame(&message).await.expect("it is taken");
        assert_eq!(client.answer(id).await.map(|(status, _)| status), Ok(Status::Success));
    }
    let beyond = client.next_id + 9000;
    let message = client.signed(&Request::Echo, &client.header(&Request::Echo, beyond));
    client.send_frame(&message).await.expect("it is taken");
    assert_eq!(client.answer(beyond).await.err(), Some(Gone), "an id beyond every window");
    fixture.still_well().await;
}

#[tokio::test]
async fn nobody_gets_in_and_who_becomes_nobody_gets_no_further() {
    let fixture = Fixture::new("smb-nobody");
    let mut stranger = SmbClient::negotiate(fixture.stream().await, 1).await.expect("it negotiates");
    assert_eq!(stranger.log_on_as_nobody().await, Ok(Status::AccessDenied));
    let mut client = fixture.client(2).await;
    let file = opened(&mut client, "f", Disposition::OverwriteIf).await.expect("it opens");
    assert_eq!(client.log_on_as_nobody().await, Ok(Status::Success), "signed with the session's key");
    assert_eq!(ask(&mut client, &read(file, 1)).await.0, Status::EndOfFile, "what is open goes on");
    assert_eq!(opened(&mut client, "f", Disposition::Open).await, Err(Status::AccessDenied));
    assert_eq!(client.log_on(ACCOUNT, KEY).await, Ok(Status::Success));
    assert!(opened(&mut client, "f", Disposition::Open).await.is_ok(), "itself again");
    fixture.still_well().await;
}
