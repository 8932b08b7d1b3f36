//! The headers that set what SMB and NFS know of a file: attributes, times, permission; mode, owner, group.

use lazuli_model::blob::ContentHeaders;
use lazuli_model::file::{Attributes, Format, PermissionKey, SetAttributes, SetPermission, SetPosix, SetSmb, SetTime};
use lazuli_model::{Refusal, Timestamp};

use crate::file::{HAS_SMB_PROPERTIES, SMB_OPTIONAL};
use crate::head::Head;
use crate::wire::digest::parse_kept_md5;

/// A permission in a header is at most this long; a longer one has to be created first, and named by its key.
const PERMISSION_MAX: usize = 8 << 10;

/// What the request says. Before 2019-02-02 there were no such headers, and until 2021-06-08 they had to be there.
pub fn properties(head: &Head) -> Result<SetSmb, Refusal> {
    if head.version < HAS_SMB_PROPERTIES {
        return Ok(SetSmb::default());
    }
    let set = optional(head)?;
    if head.version < SMB_OPTIONAL {
        let missing = [
            (set.attributes.is_none(), "x-ms-file-attributes"),
            (set.created.is_none(), "x-ms-file-creation-time"),
            (set.written.is_none(), "x-ms-file-last-write-time"),
            (set.permission.is_none(), "x-ms-file-permission"),
        ];
        if let Some((_, header)) = missing.into_iter().find(|(missing, _)| *missing) {
            return Err(Refusal::MissingRequiredHeader { header: header.into() });
        }
    }
    Ok(set)
}

/// As [`properties`], for operations that never demanded them.
pub fn optional(head: &Head) -> Result<SetSmb, Refusal> {
    Ok(SetSmb {
        attributes: head.opt("x-ms-file-attributes", attributes)?,
        created: head.opt("x-ms-file-creation-time", time)?,
        written: head.opt("x-ms-file-last-write-time", time)?,
        changed: head.opt("x-ms-file-change-time", time)?,
        permission: permission(head)?,
    })
}

fn attributes(text: &str) -> Option<SetAttributes> {
    if text.eq_ignore_ascii_case("preserve") {
        return Some(SetAttributes::Preserve);
    }
    Attributes::parse(text).map(SetAttributes::To)
}

pub fn time(text: &str) -> Option<SetTime> {
    match text.to_ascii_lowercase().as_str() {
        "now" => Some(SetTime::Now),
        "preserve" => Some(SetTime::Preserve),
        _ => Timestamp::parse_iso(text).map(SetTime::At),
    }
}

/// `x-ms-file-permission-format`.
pub fn format(head: &Head) -> Result<Format, Refusal> {
    let read = |text: &str| match text.to_ascii_lowercase().as_str() {
        "sddl" => Some(Format::Sddl),
        "binary" => Some(Format::Binary),
        _ => None,
    };
    Ok(head.opt("x-ms-file-permission-format", read)?.unwrap_or_default())
}

/// One of the two headers, not both.
fn permission(head: &Head) -> Result<Option<SetPermission>, Refusal> {
    let key = head.opt("x-ms-file-permission-key", PermissionKey::parse)?;
    let Some(text) = head.text("x-ms-file-permission") else {
        return Ok(key.map(SetPermission::Key));
    };
    if key.is_some() || text.len() > PERMISSION_MAX {
        return Err(Refusal::InvalidHeaderValue { header: "x-ms-file-permission".into(), value: text.to_owned() });
    }
    Ok(Some(match text.to_ascii_lowercase().as_str() {
        "inherit" => SetPermission::Inherit,
        "preserve" => SetPermission::Preserve,
        _ => SetPermission::Text { text: text.to_owned(), format: format(head)? },
    }))
}

/// `x-ms-mode` (octal), `x-ms-owner` and `x-ms-group`.
pub fn posix(head: &Head) -> Result<SetPosix, Refusal> {
    let number = |text: &str| text.parse().ok();
    Ok(SetPosix {
        mode: head.opt("x-ms-mode", |text| u16::from_str_radix(text, 8).ok().filter(|mode| *mode <= 0o7777))?,
        owner: head.opt("x-ms-owner", number)?,
        group: head.opt("x-ms-group", number)?,
    })
}

const CONTENT_HEADERS: [&str; 6] = [
    "x-ms-content-type",
    "x-ms-content-encoding",
    "x-ms-content-language",
    "x-ms-content-md5",
    "x-ms-cache-control",
    "x-ms-content-disposition",
];

/// Whether the request sets any of the content's headers; setting one sets all.
pub fn sets_content_headers(head: &Head) -> bool {
    CONTENT_HEADERS.iter().any(|name| head.text(name).is_some())
}

pub fn content_headers(head: &Head) -> Result<ContentHeaders, Refusal> {
    let text = |name: &str| head.text(name).map(str::to_owned);
    Ok(ContentHeaders {
        content_type: text("x-ms-content-type"),
        encoding: text("x-ms-content-encoding"),
        language: text("x-ms-content-language"),
        md5: head.text("x-ms-content-md5").map(parse_kept_md5).transpose()?,
        cache_control: text("x-ms-cache-control"),
        disposition: text("x-ms-content-disposition"),
    })
}
