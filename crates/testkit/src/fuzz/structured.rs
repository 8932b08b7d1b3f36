//! Structured message bodies: what is decoded does not depend on how the message is cut, and what is encoded decodes to itself.

use bytes::Bytes;
use lazuli_http::wire::structured::{Decoder, Encoder};
use lazuli_model::Refusal;

/// The content's length (two bytes), how to cut (one), then the message.
pub fn run(input: &[u8]) {
    let [low, high, step, message @ ..] = input else { return };
    let length = u64::from(u16::from_le_bytes([*low, *high]));
    let step = usize::from(*step).max(1);
    let whole = decode(message, length, message.len().max(1));
    let cut = decode(message, length, step);
    match (&whole, &cut) {
        (Ok(whole), Ok(cut)) => {
            assert_eq!(whole, cut);
            assert_eq!(whole.0.len() as u64, length, "the client said how much it is");
        }
        (one, other) => assert!(one.is_err() && other.is_err(), "{one:?} in one piece, {other:?} in pieces of {step}"),
    }
    let encoded = encode(message, step);
    let (content, _) = decode(&encoded, message.len() as u64, step).expect("what we write we read");
    assert_eq!(content, message);
}

fn decode(message: &[u8], length: u64, step: usize) -> Result<(Vec<u8>, u64), Refusal> {
    let mut decoder = Decoder::new(length);
    let mut out = Vec::new();
    for piece in message.chunks(step) {
        decoder.push(Bytes::copy_from_slice(piece), &mut out)?;
    }
    Ok((out.concat(), decoder.finish()?))
}

fn encode(content: &[u8], step: usize) -> Vec<u8> {
    let mut encoder = Encoder::new(content.len() as u64);
    let mut out = Vec::new();
    for piece in content.chunks(step) {
        encoder.push(Bytes::copy_from_slice(piece), &mut out);
    }
    if content.is_empty() {
        encoder.empty(&mut out);
    }
    let message = out.concat();
    assert_eq!(message.len() as u64, encoder.message_length());
    message
}
