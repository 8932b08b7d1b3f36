//! Calls as clients make them, and their results, read as clients read them.

use super::ndr::Reader;
use super::pdu::{Context, Decision, NDR, Syntax, encode_bind, encode_request};
use super::*;

fn server() -> Server {
    let share = |name: &str, pipes| Share { name: name.into(), comment: format!("about {name}"), pipes };
    Server {
        name: "LAZULI".into(),
        comment: "Lazuli".into(),
        shares: vec![share("data", false), share("backup", false), share("IPC$", true)],
    }
}

fn bind(interface: Syntax, encoding: Syntax) -> Bind {
    let contexts = vec![Context { id: 3, interface, encodings: vec![encoding] }];
    Bind { alter: false, send_max: 4280, receive_max: 4280, group: 0, contexts }
}

/// A pipe that is bound, as context 3.
fn bound(interface: Interface) -> Pipe {
    let mut pipe = Pipe::new(interface);
    let ack = pipe.write(&encode_bind(1, &bind(interface.syntax(), NDR)), &server()).expect("a bind");
    assert_eq!(ack[2], 12, "it is acknowledged");
    pipe
}

fn request(opnum: u16, stub: Vec<u8>) -> Vec<u8> {
    encode_request(7, &Call { first: true, last: true, context: 3, opnum, stub: stub.into() })
}

/// The parameters that name a server, and whatever follows.
fn stub(build: impl FnOnce(&mut ndr::Writer)) -> Vec<u8> {
    let mut writer = ndr::Writer::default();
    writer.text(r"\\LAZULI");
    writer.settle();
    build(&mut writer);
    writer.finish()
}

/// The result of a call, from all its fragments.
fn result(answer: &[u8]) -> Reader {
    let (mut stub, mut rest) = (Vec::new(), answer);
    while let Some(length) = pdu::length(rest).expect("units") {
        assert_eq!(rest[2], 2, "a response: {rest:x?}");
        assert_eq!(rest[12..16], [7, 0, 0, 0], "to the call");
        stub.extend_from_slice(&rest[24..length]);
        rest = &rest[length..];
    }
    assert!(rest.is_empty());
    Reader::new(stub.into())
}

fn text(reader: &mut Reader) -> String {
    reader.string().expect("a string").to_text().expect("text")
}

fn skip(reader: &mut Reader, words: usize) {
    (0..words).for_each(|_| assert!(reader.u32().is_ok()));
}

fn share_enum(level: u32, length_max: u32, resume: Option<u32>) -> Vec<u8> {
    stub(|writer| {
        writer.u32(level);
        writer.u32(level);
        writer.pointer();
        writer.u32(0);
        writer.null();
        writer.u32(length_max);
        match resume {
            Some(handle) => {
                writer.pointer();
                writer.u32(handle);
            }
            None => writer.null(),
        }
    })
}

/// Words of each share's structure, strings of each, of the levels that a list has.
const LEVELS: [(u32, usize, usize); 5] = [(0, 1, 1), (1, 3, 2), (2, 8, 3), (501, 4, 2), (502, 10, 3)];

#[test]
fn shares_are_listed_at_every_level() {
    for (level, words, strings) in LEVELS {
        let answer = bound(Interface::Srvsvc).write(&request(15, share_enum(level, u32::MAX, None)), &server());
        let mut reader = result(&answer.expect("an answer"));
        assert_eq!([reader.u32(), reader.u32()], [Ok(level), Ok(level)]);
        assert_eq!(
            (reader.pointer(), reader.u32(), reader.pointer(), reader.u32()),
            (Ok(true), Ok(3), Ok(true), Ok(3))
        );
        let structures: Vec<Vec<u32>> =
            (0..3).map(|_| (0..words).map(|_| reader.u32().expect("a word")).collect()).collect();
        let names: Vec<String> = (0..3 * strings).map(|_| text(&mut reader)).step_by(strings).collect();
        assert_eq!(names, ["data", "backup", "IPC$"], "level {level}");
        if level > 0 {
            assert_eq!(structures.iter().map(|words| words[1]).collect::<Vec<_>>(), [0, 0, 0x8000_0003]);
        }
        assert_eq!([reader.u32(), reader.u32(), reader.u32()], [Ok(3), Ok(0), Ok(srvsvc::SUCCESS)]);
    }
}

#[test]
fn a_list_comes_in_pages_if_it_is_asked_for_so() {
    let mut pipe = bound(Interface::Srvsvc);
    let (mut resume, mut names) = (0, Vec::new());
    loop {
        let answer = pipe.write(&request(15, share_enum(0, 1, Some(resume))), &server()).expect("an answer");
        let mut reader = result(&answer);
        skip(&mut reader, 3);
        assert_eq!([reader.u32(), Ok(1)], [Ok(1), Ok(1)], "one at a time");
        skip(&mut reader, 3);
        names.push(text(&mut reader));
        assert_eq!(reader.u32(), Ok(4 - names.len() as u32), "so many were left");
        reader.u32().expect("a pointer");
        resume = reader.u32().expect("where to go on");
        match reader.u32() {
            Ok(srvsvc::MORE_DATA) => assert_eq!(resume, names.len() as u32),
            status => break assert_eq!(status, Ok(srvsvc::SUCCESS)),
        }
    }
    assert_eq!(names, ["data", "backup", "IPC$"]);
}

#[test]
fn a_level_that_is_not_there_is_refused() {
    let answer = bound(Interface::Srvsvc).write(&request(15, share_enum(77, u32::MAX, None)), &server());
    let mut reader = result(&answer.expect("an answer"));
    assert_eq!([reader.u32(), reader.u32(), reader.u32()], [Ok(77), Ok(77), Ok(0)]);
    assert_eq!([reader.u32(), reader.u32(), reader.u32()], [Ok(0), Ok(0), Ok(srvsvc::INVALID_LEVEL)]);
}

#[test]
fn one_share_is_described() {
    let ask = |name: &str, level| {
        let stub = stub(|writer| {
            writer.string(&name.into());
            writer.u32(level);
        });
        result(&bound(Interface::Srvsvc).write(&request(16, stub), &server()).expect("an answer"))
    };
    let mut reader = ask("DATA", 1);
    assert_eq!([reader.u32(), reader.u32().map(|pointer| u32::from(pointer != 0))], [Ok(1), Ok(1)]);
    skip(&mut reader, 3);
    assert_eq!([text(&mut reader), text(&mut reader)], ["data", "about data"]);
    assert_eq!(reader.u32(), Ok(srvsvc::SUCCESS));
    let mut reader = ask("data", 1005);
    assert_eq!((reader.u32(), reader.pointer(), reader.u32(), reader.u32()), (Ok(1005), Ok(true), Ok(0), Ok(0)));
    let mut reader = ask("nothing", 1);
    assert_eq!([reader.u32(), reader.u32(), reader.u32()], [Ok(1), Ok(0), Ok(srvsvc::NAME_NOT_FOUND)]);
    let mut reader = ask("data", 3);
    assert_eq!([reader.u32(), reader.u32(), reader.u32()], [Ok(3), Ok(0), Ok(srvsvc::INVALID_LEVEL)]);
}

#[test]
fn the_server_and_the_workstation_say_what_they_are() {
    let table = [
        (Interface::Srvsvc, 21, 100, 2, 1),
        (Interface::Srvsvc, 21, 101, 6, 2),
        (Interface::Srvsvc, 21, 102, 13, 3),
        (Interface::Wkssvc, 0, 100, 5, 2),
        (Interface::Wkssvc, 0, 101, 6, 3),
        (Interface::Wkssvc, 0, 102, 7, 3),
    ];
    for (interface, opnum, level, words, strings) in table {
        let stub = stub(|writer| writer.u32(level));
        let mut reader = result(&bound(interface).write(&request(opnum, stub), &server()).expect("an answer"));
        assert_eq!((reader.u32(), reader.pointer(), reader.u32()), (Ok(level), Ok(true), Ok(500)));
        skip(&mut reader, words - 1);
        let names: Vec<String> = (0..strings).map(|_| text(&mut reader)).collect();
        assert_eq!(names[0], "LAZULI", "{interface:?} {level}");
        assert_eq!(reader.u32(), Ok(srvsvc::SUCCESS), "{interface:?} {level}");
    }
}

#[test]
fn only_what_is_there_can_be_bound() {
    let ndr64 = Syntax { uuid: [0x33; 16], version: 1 };
    let features =
        Syntax { uuid: [0x2c, 0x1c, 0xb7, 0x6c, 0x12, 0x98, 0x40, 0x45, 3, 0, 0, 0, 0, 0, 0, 0], version: 1 };
    let table = [
        (srvsvc::SYNTAX, NDR, Decision::Accepted),
        (Syntax { version: 4, ..srvsvc::SYNTAX }, NDR, Decision::UnknownInterface),
        (wkssvc::SYNTAX, NDR, Decision::UnknownInterface),
        (srvsvc::SYNTAX, ndr64, Decision::UnknownEncoding),
        (srvsvc::SYNTAX, features, Decision::Features),
    ];
    for (interface, encoding, decision) in table {
        let bind = bind(interface, encoding);
        assert_eq!(bind.contexts[0].decide(srvsvc::SYNTAX), decision);
        let mut pipe = Pipe::new(Interface::Srvsvc);
        pipe.write(&encode_bind(1, &bind), &server()).expect("an answer");
        let answer = pipe.write(&request(15, share_enum(1, u32::MAX, None)), &server()).expect("an answer");
        assert_eq!(answer[2] == 2, decision.is_accepted(), "{decision:?}");
    }
}

#[test]
fn what_cannot_be_called_is_a_fault() {
    let mut pipe = bound(Interface::Srvsvc);
    let fault = |answer: Vec<u8>| (answer[2], u32::from_le_bytes([answer[24], answer[25], answer[26], answer[27]]));
    let answer = pipe.write(&request(14, vec![]), &server()).expect("an answer");
    assert_eq!(fault(answer), (3, Fault::UnknownOperation.code()));
    let answer = pipe.write(&request(15, vec![1, 2, 3]), &server()).expect("an answer");
    assert_eq!(fault(answer), (3, Fault::BadStub.code()));
}

#[test]
fn units_may_come_in_pieces_and_calls_in_fragments() {
    let mut pipe = bound(Interface::Srvsvc);
    let stub = share_enum(1, u32::MAX, None);
    let fragment = |first, last, stub: &[u8]| {
        encode_request(7, &Call { first, last, context: 3, opnum: 15, stub: Bytes::copy_from_slice(stub) })
    };
    let sent = [fragment(true, false, &stub[..20]), fragment(false, true, &stub[20..])].concat();
    let mut answer = Vec::new();
    for byte in sent {
        answer.extend(pipe.write(&[byte], &server()).expect("no mistake"));
    }
    let whole = bound(Interface::Srvsvc).write(&request(15, stub), &server()).expect("an answer");
    assert_eq!(answer, whole);
}

#[test]
fn a_long_list_goes_out_in_fragments() {
    let shares = (0..500).map(|at| Share { name: format!("share-{at}"), ..Default::default() }).collect();
    let many = Server { shares, ..server() };
    let answer = bound(Interface::Srvsvc).write(&request(15, share_enum(1, u32::MAX, None)), &many).expect("an answer");
    let mut reader = result(&answer);
    skip(&mut reader, 3);
    assert_eq!(reader.u32(), Ok(500));
    assert!(answer.len() > 5 * pdu::FRAGMENT_MAX);
    assert!(u16::from_le_bytes([answer[8], answer[9]]) as usize <= pdu::FRAGMENT_MAX);
}

/// Small calls have large answers; many of them in one write do not have as many.
#[test]
fn what_waits_to_be_read_is_bounded() {
    let shares = (0..5000).map(|at| Share { name: format!("share-{at}"), ..Default::default() }).collect();
    let many = Server { shares, ..server() };
    let calls = request(15, share_enum(1, u32::MAX, None)).repeat(100);
    assert_eq!(bound(Interface::Srvsvc).write(&calls, &many), Err(Malformed::Length));
    assert!(bound(Interface::Srvsvc).write(&request(15, share_enum(1, u32::MAX, None)), &many).is_ok());
}

#[test]
fn a_pipe_keeps_no_more_than_its_share() {
    let mut pipe = bound(Interface::Srvsvc);
    let endless =
        encode_request(7, &Call { first: true, last: false, context: 3, opnum: 15, stub: vec![0; 4000].into() });
    let ended = (0..1000).find_map(|_| pipe.write(&endless.clone(), &server()).err());
    assert_eq!(ended, None, "each begins a call anew");
    let more =
        encode_request(7, &Call { first: false, last: false, context: 3, opnum: 15, stub: vec![0; 4000].into() });
    assert!((0..20).any(|_| pipe.write(&more, &server()).is_err()));
    assert!(Pipe::new(Interface::Srvsvc).write(&vec![5; WRITTEN_MAX + 1], &server()).is_err());
}

#[test]
fn pipes_are_known_by_their_names() {
    let table = [
        ("srvsvc", Some(Interface::Srvsvc)),
        (r"\srvsvc", Some(Interface::Srvsvc)),
        (r"\PIPE\wkssvc", Some(Interface::Wkssvc)),
        ("lsarpc", None),
        ("", None),
    ];
    for (name, interface) in table {
        assert_eq!(Interface::of(name), interface, "{name}");
    }
}
