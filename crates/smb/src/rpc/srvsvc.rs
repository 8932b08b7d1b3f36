//! The server service ([MS-SRVS]): NetrShareEnum, NetrShareGetInfo, NetrServerGetInfo.

use bytes::Bytes;

use super::ndr::{Reader, Writer};
use super::pdu::{Fault, Syntax};
use super::{Server, Share};
use crate::packet::wire::{Parsed, numbers};

/// 4b324fc8-1670-01d3-1278-5a47bf6ee188, version 3.
pub const SYNTAX: Syntax = Syntax {
    uuid: [0xc8, 0x4f, 0x32, 0x4b, 0x70, 0x16, 0xd3, 0x01, 0x12, 0x78, 0x5a, 0x47, 0xbf, 0x6e, 0xe1, 0x88],
    version: 3,
};

numbers! { Operation: u16 {
    ShareEnum = 15,
    ShareGetInfo = 16,
    ServerGetInfo = 21,
} }

numbers! { ShareLevel: u32 {
    Name = 0,
    Kind = 1,
    Path = 2,
    Flags = 501,
    Security = 502,
    OnlyFlags = 1005,
} }

pub const SUCCESS: u32 = 0;
pub const MORE_DATA: u32 = 234;
pub const INVALID_LEVEL: u32 = 124;
pub const NAME_NOT_FOUND: u32 = 2310;
const UNLIMITED: u32 = u32::MAX;
const KIND_DISK: u32 = 0;
/// Of pipes, and not shown to people.
const KIND_IPC: u32 = 0x8000_0003;
/// "Windows NT", which is what every server says.
pub const PLATFORM: u32 = 500;
const KIND_WORKSTATION_AND_SERVER: u32 = 0x3 | 0x1000 | 0x8000;

pub fn call(opnum: u16, stub: Bytes, server: &Server) -> Result<Vec<u8>, Fault> {
    let operation = Operation::from_code(opnum).ok_or(Fault::UnknownOperation)?;
    let mut reader = Reader::new(stub);
    let result = match operation {
        Operation::ShareEnum => share_enum(&mut reader, server),
        Operation::ShareGetInfo => share_get_info(&mut reader, server),
        Operation::ServerGetInfo => server_get_info(&mut reader, server),
    };
    result.map_err(|_| Fault::BadStub)
}

fn share_enum(reader: &mut Reader, server: &Server) -> Parsed<Vec<u8>> {
    reader.optional_string()?;
    let level = reader.u32()?;
    let _union = reader.u32()?;
    if reader.pointer()? {
        let _entries = reader.u32()?;
        // A client has no shares to tell; where it points to some, they would follow.
        if reader.pointer()? {
            return Err(crate::packet::Malformed::Value);
        }
    }
    let length_max = reader.u32()?;
    let resume = if reader.pointer()? { Some(reader.u32()?) } else { None };
    let from = (resume.unwrap_or(0) as usize).min(server.shares.len());
    let Some(known) = listed(level) else { return Ok(enum_result(level, None, 0, resume, INVALID_LEVEL)) };
    let left = &server.shares[from..];
    let page = &left[..fitting(left, length_max)];
    let more = page.len() < left.len();
    let resume = resume.map(|_| if more { (from + page.len()) as u32 } else { 0 });
    let status = if more { MORE_DATA } else { SUCCESS };
    Ok(enum_result(level, Some((known, page)), left.len() as u32, resume, status))
}

/// One structure for each share: only the levels that a list may have.
fn listed(level: u32) -> Option<ShareLevel> {
    match ShareLevel::from_code(level)? {
        ShareLevel::OnlyFlags => None,
        level @ (ShareLevel::Name | ShareLevel::Kind | ShareLevel::Path | ShareLevel::Flags | ShareLevel::Security) => {
            Some(level)
        }
    }
}

/// How many shares fit into about so many bytes; one at least.
fn fitting(shares: &[Share], length_max: u32) -> usize {
    let mut length = 0_u64;
    let fit = shares.iter().take_while(|share| {
        length += 100 + 2 * (share.name.len() + share.comment.len()) as u64;
        length <= u64::from(length_max)
    });
    fit.count().max(1).min(shares.len())
}

fn enum_result(
    level: u32,
    page: Option<(ShareLevel, &[Share])>,
    total: u32,
    resume: Option<u32>,
    status: u32,
) -> Vec<u8> {
    let mut writer = Writer::default();
    writer.u32(level);
    writer.u32(level);
    match page {
        Some((level, shares)) => {
            writer.pointer();
            writer.u32(shares.len() as u32);
            writer.pointer();
            writer.u32(shares.len() as u32);
            shares.iter().for_each(|share| write_share(&mut writer, level, share));
            writer.settle();
        }
        None => writer.null(),
    }
    writer.u32(total);
    match resume {
        Some(handle) => {
            writer.pointer();
            writer.u32(handle);
        }
        None => writer.null(),
    }
    writer.u32(status);
    writer.finish()
}

fn share_get_info(reader: &mut Reader, server: &Server) -> Parsed<Vec<u8>> {
    reader.optional_string()?;
    let name = reader.string()?.to_text().unwrap_or_default();
    let level = reader.u32()?;
    let share = server.shares.iter().find(|share| share.name.eq_ignore_ascii_case(&name));
    let mut writer = Writer::default();
    writer.u32(level);
    let status = match (ShareLevel::from_code(level), share) {
        (None, _) => refuse(&mut writer, INVALID_LEVEL),
        (Some(_), None) => refuse(&mut writer, NAME_NOT_FOUND),
        (Some(level), Some(share)) => {
            writer.pointer();
            write_share(&mut writer, level, share);
            writer.settle();
            SUCCESS
        }
    };
    writer.u32(status);
    Ok(writer.finish())
}

fn refuse(writer: &mut Writer, status: u32) -> u32 {
    writer.null();
    status
}

fn write_share(writer: &mut Writer, level: ShareLevel, share: &Share) {
    if level == ShareLevel::OnlyFlags {
        return writer.u32(0);
    }
    writer.text(&share.name);
    if level == ShareLevel::Name {
        return;
    }
    writer.u32(if share.pipes { KIND_IPC } else { KIND_DISK });
    writer.text(&share.comment);
    match level {
        ShareLevel::Name | ShareLevel::Kind | ShareLevel::OnlyFlags => {}
        ShareLevel::Flags => writer.u32(0),
        ShareLevel::Path | ShareLevel::Security => {
            writer.u32(0);
            writer.u32(UNLIMITED);
            writer.u32(0);
            // A path on the server's disk: there is none, and clients want one.
            writer.text(if share.pipes { "" } else { r"C:\" });
            writer.null();
        }
    }
    if level == ShareLevel::Security {
        writer.u32(0);
        writer.null();
    }
}

fn server_get_info(reader: &mut Reader, server: &Server) -> Parsed<Vec<u8>> {
    reader.optional_string()?;
    let level = reader.u32()?;
    let mut writer = Writer::default();
    writer.u32(level);
    if !(100..=102).contains(&level) {
        let status = refuse(&mut writer, INVALID_LEVEL);
        writer.u32(status);
        return Ok(writer.finish());
    }
    writer.pointer();
    writer.u32(PLATFORM);
    writer.text(&server.name);
    if level >= 101 {
        writer.u32(10);
        writer.u32(0);
        writer.u32(KIND_WORKSTATION_AND_SERVER);
        writer.text(&server.comment);
    }
    if level >= 102 {
        // Users, minutes until an idle one is sent away, hidden, how often it tells of itself, licences.
        [UNLIMITED, 15, 0, 240, 3000, 0].into_iter().for_each(|number| writer.u32(number));
        writer.text(r"C:\");
    }
    writer.settle();
    writer.u32(SUCCESS);
    Ok(writer.finish())
}
