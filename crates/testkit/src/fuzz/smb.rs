//! SMB's messages: whatever parses is encoded and parses to the same, in a form that is not much longer; what is signed or sealed comes back, and
//! changed it does not.
//!
//! The first byte says what the rest is taken for.

use bytes::{Bytes, BytesMut};
use lazuli_smb::crypt::{Cipher, Opener, Sealer, SigningAlgorithm, SigningKey};
use lazuli_smb::info::{directory, file, file_system, notify};
use lazuli_smb::packet::compound::{Chain, split};
use lazuli_smb::packet::frame::{self, Kind};
use lazuli_smb::packet::fsctl;
use lazuli_smb::packet::header::HEADER_SIZE;
use lazuli_smb::packet::security::SecurityDescriptor;
use lazuli_smb::packet::transform::Transform;
use lazuli_smb::packet::wire::Field;
use lazuli_smb::packet::{Header, Request, Response, legacy};
use lazuli_smb::text::Wide;
use lazuli_smb::wildcard;

pub const WORDS: &[&str] = &[
    "\u{0}SMB",
    "@\0",
    "\0\0",
    "MxAc",
    "QFid",
    "AlSi",
    "SecD",
    "TWrp",
    "RqLs",
    "DHnQ",
    "DHnC",
    "DH2Q",
    "DH2C",
    "AAPL",
    "ExtA",
    "*\0",
    "\x11\x03",
    "\x02\x02",
    "SMB 2.???",
    "SMB 2.002",
];

/// Parts of a message may lie over each other, and are encoded one behind the other.
const GROWTH_MAX: usize = 40;

pub fn run(input: &[u8]) {
    let Some((kind, rest)) = input.split_first() else { return };
    let bytes = Bytes::copy_from_slice(rest);
    match kind % 8 {
        0 => requests(&bytes),
        1 => responses(&bytes),
        2 => frames(&bytes),
        3 => file_information(&bytes),
        4 => lists(&bytes),
        5 => payloads(&bytes),
        6 => protected(&bytes),
        _ => names(rest),
    }
}

fn bounded(encoded: usize, from: &Bytes) {
    assert!(encoded <= GROWTH_MAX * from.len() + 4096, "{encoded} bytes of {}", from.len());
}

/// A compound of requests.
fn requests(bytes: &Bytes) {
    let Ok(parts) = split(bytes) else { return };
    let mut encoded = Vec::new();
    for part in parts {
        let Ok(header) = Header::parse(&part) else { return };
        assert_eq!(Header::parse(&header.to_bytes()), Ok(header.clone()));
        let Ok(request) = Request::parse(header.command, part.clone()) else { return };
        assert_eq!(request.command(), header.command);
        request.moves();
        let message = request.encode(&header);
        bounded(message.len(), &part);
        let again = Request::parse(header.command, message.clone().flatten().freeze());
        assert_eq!(again, Ok(request));
        encoded.push(message);
    }
    let count = encoded.len();
    let joined = Chain::join(encoded).flatten().freeze();
    assert_eq!(split(&joined).map(|parts| parts.len()), Ok(count));
}

fn responses(bytes: &Bytes) {
    let Ok(header) = Header::parse(bytes) else { return };
    let Ok(response) = Response::parse(&header, bytes.clone()) else { return };
    let message = response.encode(&header);
    bounded(message.len(), bytes);
    assert_eq!(Response::parse(&header, message.flatten().freeze()), Ok(response));
}

/// However the bytes arrive, the same frames come out.
fn frames(bytes: &Bytes) {
    let take = |step: usize| {
        let (mut arrived, mut frames) = (BytesMut::new(), Vec::new());
        for piece in bytes.chunks(step.max(1)) {
            arrived.extend_from_slice(piece);
            loop {
                match frame::next(&mut arrived, 1 << 12) {
                    Ok(Some(message)) => frames.push(message.freeze()),
                    Ok(None) => break,
                    Err(wrong) => return (frames, Some(wrong)),
                }
            }
        }
        (frames, None)
    };
    let whole = take(bytes.len());
    assert_eq!(whole, take(3));
    for message in whole.0 {
        match Kind::of(&message) {
            Ok(Kind::Legacy) => drop(legacy::parse(message)),
            Ok(Kind::Sealed) => drop(Transform::parse(&message)),
            Ok(Kind::Plain | Kind::Compressed) | Err(_) => {}
        }
    }
}

fn again<T: Field + PartialEq + std::fmt::Debug>(bytes: &Bytes) {
    if let Ok(value) = T::from_bytes(bytes.clone()) {
        let encoded = value.to_bytes();
        bounded(encoded.len(), bytes);
        assert_eq!(T::from_bytes(encoded), Ok(value));
    }
}

fn file_information(bytes: &Bytes) {
    again::<file::Basic>(bytes);
    again::<file::Standard>(bytes);
    again::<file::All>(bytes);
    again::<file::Name>(bytes);
    again::<file::Rename>(bytes);
    again::<file::NetworkOpen>(bytes);
    again::<file_system::Volume>(bytes);
    again::<file_system::Attribute>(bytes);
    again::<file_system::FullSize>(bytes);
    again::<SecurityDescriptor>(bytes);
    if let Some((class, input)) = bytes.split_first() {
        let _ = file::Change::parse(*class, bytes.slice_ref(input));
    }
}

fn lists(bytes: &Bytes) {
    let Some((class, rest)) = bytes.split_first() else { return };
    let rest = bytes.slice_ref(rest);
    let class = directory::Class::ALL[usize::from(*class) % directory::Class::ALL.len()];
    if let Ok(entries) = directory::read_list(class, rest.clone()) {
        let mut listing = directory::Listing::new(class, 1 << 24);
        assert!(entries.iter().all(|entry| listing.push(entry)), "there is room");
        assert_eq!(directory::read_list(class, listing.finish()), Ok(entries));
    }
    if let Ok(changes) = notify::read_list(rest.clone()) {
        let written = notify::write_list(&changes, 1 << 24).expect("there is room");
        assert_eq!(notify::read_list(written), Ok(changes));
    }
    if let Ok(streams) = file::Stream::read_list(rest.clone()) {
        assert_eq!(file::Stream::read_list(file::Stream::write_list(&streams)), Ok(streams));
    }
}

fn payloads(bytes: &Bytes) {
    again::<fsctl::ValidateRequest>(bytes);
    again::<fsctl::ValidateResponse>(bytes);
    again::<fsctl::CopyRequest>(bytes);
    again::<fsctl::PipeWait>(bytes);
    again::<fsctl::ZeroData>(bytes);
    let _ = fsctl::parse_referral(bytes.clone());
    let _ = fsctl::read_snapshots(bytes.clone());
    if let Ok(interfaces) = fsctl::read_interfaces(bytes.clone()) {
        assert_eq!(fsctl::read_interfaces(fsctl::write_interfaces(&interfaces)), Ok(interfaces));
    }
}

/// Two bytes say what is used and where a bit is changed.
fn protected(bytes: &Bytes) {
    let [kind, place, message @ ..] = &bytes[..] else { return };
    if message.len() < HEADER_SIZE {
        return;
    }
    let place = usize::from(*place) % message.len();
    let algorithm = SigningAlgorithm::ALL[usize::from(*kind) % 3];
    let key = SigningKey::new(algorithm, &[1; 16]);
    let mut signed = message.to_vec();
    key.sign(&mut signed, &[]);
    assert!(key.verify(&mut signed));
    signed[place] ^= 1 << (kind & 7);
    assert!(!key.verify(&mut signed), "{algorithm:?} at {place}");

    let cipher = Cipher::ALL[usize::from(*kind) % 4];
    let secret = vec![2; cipher.key_length()];
    let mut frame = Sealer::room(message.len());
    frame.extend_from_slice(message);
    Sealer::new(cipher, &secret, 9).seal(&mut frame).expect("nonces are left");
    let transform = Transform::parse(&frame).expect("our own");
    let opener = Opener::new(cipher, &secret);
    assert_eq!(opener.open(&transform, frame.clone()).as_deref(), Some(message));
    let end = frame.len() - 1;
    frame[end - place] ^= 1 << (kind & 7);
    assert_eq!(opener.open(&transform, frame), None, "{cipher:?}, {place} from the end");
}

/// A pattern and a name, with a line between.
fn names(rest: &[u8]) {
    let (pattern, name) = match rest.iter().position(|byte| *byte == b'\n') {
        Some(at) => (&rest[..at], &rest[at + 1..]),
        None => (rest, &b"name.txt"[..]),
    };
    if let Ok(wide) = Wide::from_wire(Bytes::copy_from_slice(name)) {
        match wide.to_text() {
            Ok(text) => assert_eq!(Wide::from(text.as_str()), wide),
            Err(_) => assert!(wide.units().any(|unit| (0xd800..0xe000).contains(&unit))),
        }
    }
    let (pattern, name) = (String::from_utf8_lossy(pattern), String::from_utf8_lossy(name));
    let (pattern, name) = (cut(&pattern), cut(&name));
    if wildcard::matches(pattern, name) {
        assert!(wildcard::matches(&format!("*{pattern}"), name), "{pattern} on {name}");
        assert!(wildcard::matches(&format!("{pattern}*"), name), "{pattern} on {name}");
    }
    if !wildcard::is_wild(pattern) {
        assert_eq!(wildcard::matches(pattern, name), pattern == name);
    }
}

/// As long as a name may be.
fn cut(text: &str) -> &str {
    text.char_indices().nth(255).map_or(text, |(end, _)| &text[..end])
}
