//! The workstation service ([MS-WKST]): NetrWkstaGetInfo.

use bytes::Bytes;

use super::Server;
use super::ndr::{Reader, Writer};
use super::pdu::{Fault, Syntax};
use super::srvsvc::{INVALID_LEVEL, PLATFORM, SUCCESS};
use crate::packet::wire::Parsed;

/// 6bffd098-a112-3610-9833-46c3f87e345a, version 1.
pub const SYNTAX: Syntax = Syntax {
    uuid: [0x98, 0xd0, 0xff, 0x6b, 0x12, 0xa1, 0x10, 0x36, 0x98, 0x33, 0x46, 0xc3, 0xf8, 0x7e, 0x34, 0x5a],
    version: 1,
};

const GET_INFO: u16 = 0;
const WORKGROUP: &str = "WORKGROUP";

pub fn call(opnum: u16, stub: Bytes, server: &Server) -> Result<Vec<u8>, Fault> {
    match opnum {
        GET_INFO => get_info(&mut Reader::new(stub), server).map_err(|_| Fault::BadStub),
        _ => Err(Fault::UnknownOperation),
    }
}

fn get_info(reader: &mut Reader, server: &Server) -> Parsed<Vec<u8>> {
    reader.optional_string()?;
    let level = reader.u32()?;
    let mut writer = Writer::default();
    writer.u32(level);
    if !(100..=102).contains(&level) {
        writer.null();
        writer.u32(INVALID_LEVEL);
        return Ok(writer.finish());
    }
    writer.pointer();
    writer.u32(PLATFORM);
    writer.text(&server.name);
    writer.text(WORKGROUP);
    writer.u32(10);
    writer.u32(0);
    if level >= 101 {
        writer.text("");
    }
    if level >= 102 {
        writer.u32(1);
    }
    writer.settle();
    writer.u32(SUCCESS);
    Ok(writer.finish())
}
