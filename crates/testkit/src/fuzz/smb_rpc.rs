//! What is written to a pipe: however it is cut, the same comes out; units are whole, no longer than was agreed, and few.

use lazuli_smb::rpc::{Interface, Pipe, Server, Share, pdu};

/// How to cut (one byte), then what is written.
pub fn run(input: &[u8]) {
    let Some((step, written)) = input.split_first() else { return };
    for interface in [Interface::Srvsvc, Interface::Wkssvc] {
        let whole = write(interface, written, written.len().max(1));
        let cut = write(interface, written, usize::from(*step).max(1));
        match (whole, cut) {
            (Ok(whole), Ok(cut)) => {
                assert_eq!(whole, cut);
                units(&whole, written.len());
            }
            // Where the mistake is found, and what was answered before, depends on the cut.
            (one, other) => assert!(one.is_err() && other.is_err(), "{one:?} in one piece, {other:?} cut"),
        }
    }
}

fn write(interface: Interface, written: &[u8], step: usize) -> Result<Vec<u8>, lazuli_smb::packet::Malformed> {
    let share = |name: &str, pipes| Share { name: name.into(), comment: "about it".into(), pipes };
    let shares = vec![share("data", false), share("backup", false), share("IPC$", true)];
    let server = Server { name: "LAZULI".into(), comment: String::new(), shares };
    let mut pipe = Pipe::new(interface);
    let mut out = Vec::new();
    for piece in written.chunks(step) {
        out.extend(pipe.write(piece, &server)?);
    }
    Ok(out)
}

fn units(out: &[u8], written: usize) {
    let mut rest = out;
    let mut count = 0;
    while !rest.is_empty() {
        let length = pdu::length(rest).expect("our own").expect("whole");
        assert!(length <= pdu::FRAGMENT_MAX);
        rest = &rest[length..];
        count += 1;
    }
    assert!(count <= written / 16, "no more units than came");
}
