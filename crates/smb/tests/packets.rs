//! Every command's request and answer: encoded, parsed, the same again; cut short or with any byte changed, never a panic.

mod samples;

use bytes::Bytes;
use lazuli_smb::packet::compound::{Chain, split};
use lazuli_smb::packet::file::{ReadResponse, WriteRequest};
use lazuli_smb::packet::header::Flags;
use lazuli_smb::packet::{Command, Header, Request, Response};
use lazuli_smb::status::Status;
use samples::{requests, responses};

fn request_header(request: &Request) -> Header {
    Header { credits: 10, session: 5, ..Header::request(request.command(), 7) }
}

#[test]
fn requests_parse_as_they_were_encoded() {
    for request in requests() {
        let header = request_header(&request);
        let message = request.encode(&header).flatten().freeze();
        assert_eq!(Header::parse(&message), Ok(header.clone()));
        assert_eq!(Request::parse(header.command, message.clone()), Ok(request.clone()));
    }
}

#[test]
fn answers_parse_as_they_were_encoded() {
    for (command, status, response) in responses() {
        let header = Header::request(command, 9).response(status.code(), 1);
        let message = response.encode(&header).flatten().freeze();
        let read = Header::parse(&message).expect("a header");
        assert_eq!(read, header);
        assert!(read.flags.has(Flags::RESPONSE));
        assert_eq!(Response::parse(&read, message), Ok(response.clone()), "{command:?}");
    }
}

#[test]
fn every_command_has_a_sample() {
    for command in Command::KNOWN {
        assert!(requests().iter().any(|request| request.command() == command), "{command:?}");
        assert!(command == Command::Cancel || responses().iter().any(|(of, ..)| *of == command), "{command:?}");
    }
}

#[test]
fn what_is_cut_short_is_refused_or_shorter_but_never_a_panic() {
    for request in requests() {
        let header = request_header(&request);
        let whole = request.encode(&header).flatten().freeze();
        for end in 0..whole.len() {
            let cut = whole.slice(..end);
            let _ = Header::parse(&cut);
            let _ = Request::parse(header.command, cut);
        }
    }
    for (command, status, response) in responses() {
        let header = Header::request(command, 9).response(status.code(), 1);
        let whole = response.encode(&header).flatten().freeze();
        (0..whole.len()).for_each(|end| drop(Response::parse(&header, whole.slice(..end))));
    }
}

#[test]
fn no_changed_byte_makes_a_panic_and_what_parses_encodes_to_itself() {
    for request in requests() {
        let header = request_header(&request);
        let whole = request.encode(&header).flatten();
        for at in 0..whole.len() {
            for change in [0x00, 0x01, 0x7f, 0x80, 0xff] {
                let mut changed = whole.clone();
                changed[at] = change;
                if let Ok(read) = Request::parse(header.command, changed.freeze()) {
                    let again = read.encode(&header).flatten().freeze();
                    assert_eq!(Request::parse(header.command, again), Ok(read), "{change:x} at {at}");
                }
            }
        }
    }
}

/// Where the bytes of a large WRITE and READ are is where they were.
#[test]
fn data_is_not_copied() {
    let data = Bytes::from(vec![7; 1 << 20]);
    let write = Request::Write(WriteRequest { data: data.clone(), ..Default::default() });
    let encoded = write.encode(&request_header(&write));
    assert_eq!(encoded.payload.as_ptr(), data.as_ptr());
    let message = encoded.flatten().freeze();
    let Ok(Request::Write(parsed)) = Request::parse(Command::Write, message.clone()) else { panic!("a write") };
    assert_eq!(parsed.data.as_ptr(), message[message.len() - data.len()..].as_ptr());

    let read = Response::Read(ReadResponse { data: data.clone().into(), remaining: 0 });
    let encoded = read.encode(&Header::request(Command::Read, 1).response(0, 1));
    assert_eq!(encoded.payload.as_ptr(), data.as_ptr());
    assert_eq!(encoded.head.len(), 80);
    let chain = Chain::join([encoded]);
    assert_eq!(chain.payload.as_ptr(), data.as_ptr(), "nor for a frame of its own");
}

#[test]
fn a_compound_of_everything_comes_apart_again() {
    let all = requests();
    let headers: Vec<Header> = all.iter().map(request_header).collect();
    let chain = Chain::join(all.iter().zip(&headers).map(|(request, header)| request.encode(header)));
    let parts = split(&chain.flatten().freeze()).expect("a compound");
    assert_eq!(parts.len(), all.len());
    for (part, request) in parts.into_iter().zip(all) {
        let header = Header::parse(&part).expect("a header");
        let read = Request::parse(header.command, part).expect("a request");
        // Padding behind a buffer belongs to no field.
        assert_eq!(read, request);
    }
}

#[test]
fn credits_are_charged_by_what_is_moved() {
    let write = Request::Write(WriteRequest { data: Bytes::from(vec![0; 65537]), ..Default::default() });
    assert_eq!(write.moves(), 65537);
    assert_eq!(Request::Echo.moves(), 0);
    assert_eq!(Status::Success.code(), 0);
}
