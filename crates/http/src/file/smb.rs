//! The headers that set what SMB and NFS know of a file: attributes, times, permission; mode, owner, group.

use lazuli_model::Timestamp;
use lazuli_model::blob::ContentHeaders;
use lazuli_model::file::{Attributes, Format, PermissionKey, SetAttributes, SetPermission, SetPosix, SetSmb, SetTime};

use crate::head::Head;
use crate::refusal::Refusal;
use crate::versions::Since;
use crate::wire::digest::parse_kept_md5;

/// A permission in a header is at most this long; a longer one has to be created first, and named by its key.
const PERMISSION_MAX: usize = 8 << 10;

/// What the request says. Before 2019-02-02 there were no such headers, and until 2021-06-08 they had to be there.
pub fn properties(head: &Head) -> Result<SetSmb, Refusal> {
    if head.lacks(Since::SmbProperties) {
        return Ok(SetSmb::default());
    }
    let set = optional(head)?;
    if head.lacks(Since::SmbOptional) {
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

/// As [`properties`], of something new. Rule F13: until 2021-10-04, something that is made with a time of creation has changed then, too, unless
/// it is said when; and so its ETag and date are of that time.
pub fn of_new(head: &Head) -> Result<SetSmb, Refusal> {
    let set = properties(head)?;
    match (set.created, set.changed) {
        (created @ Some(SetTime::At(_)), None) if head.lacks(Since::CreatedNow) => {
            Ok(SetSmb { changed: created, ..set })
        }
        (_, _) => Ok(set),
    }
}

/// As [`properties`], for operations that never demanded them.
pub fn optional(head: &Head) -> Result<SetSmb, Refusal> {
    Ok(SetSmb {
        attributes: head.opt("x-ms-file-attributes", attributes)?,
        created: head.opt("x-ms-file-creation-time", time)?,
        written: head.opt("x-ms-file-last-write-time", time)?,
        changed: head.opt("x-ms-file-change-time", time)?,
        permission: permission(head)?,
        restore: head.opt("x-ms-file-property-semantics", semantics)?.unwrap_or(false),
    })
}

/// Whether properties are restored as they are, or those of something new.
fn semantics(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "new" => Some(false),
        "restore" => Some(true),
        _ => None,
    }
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

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use super::*;
    use crate::head::{Arrival, Service};

    fn head(version: &str, headers: &[(&str, &str)]) -> Head {
        let mut request = http::Request::put("/account/share/file").header("x-ms-version", version);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let arrival = Arrival {
            service: Service::File,
            secure: false,
            peer: IpAddr::V4(Ipv4Addr::LOCALHOST),
            now: Timestamp::from_ticks(0),
            wall: Timestamp::from_ticks(0),
            request_id: 0,
            loose: false,
        };
        Head::read(request.body(()).unwrap().into_parts().0, arrival).unwrap()
    }

    #[test]
    fn times_and_attributes() {
        let at = Timestamp::parse_iso("2022-03-10T10:14:30.5000000Z").unwrap();
        let sent = [
            ("x-ms-file-attributes", "ReadOnly|Directory"),
            ("x-ms-file-creation-time", "Now"),
            ("x-ms-file-last-write-time", "preserve"),
            ("x-ms-file-change-time", "2022-03-10T10:14:30.5000000Z"),
            ("x-ms-file-permission", "Inherit"),
        ];
        let expected = SetSmb {
            attributes: Some(SetAttributes::To(Attributes::READ_ONLY.with(Attributes::DIRECTORY))),
            created: Some(SetTime::Now),
            written: Some(SetTime::Preserve),
            changed: Some(SetTime::At(at)),
            permission: Some(SetPermission::Inherit),
            restore: false,
        };
        assert_eq!(properties(&head("2021-06-08", &sent)), Ok(expected));
    }

    /// "Create File": required from 2019-02-02 on, optional since 2021-06-08.
    #[test]
    fn what_may_be_left_out_depends_on_the_version() {
        let missing = Err(Refusal::MissingRequiredHeader { header: "x-ms-file-attributes".into() });
        assert_eq!(properties(&head("2018-11-09", &[])), Ok(SetSmb::default()));
        assert_eq!(properties(&head("2019-02-02", &[])), missing);
        assert_eq!(properties(&head("2021-06-08", &[])), Ok(SetSmb::default()));
    }

    #[test]
    fn nonsense_is_named() {
        for (name, value) in [
            ("x-ms-file-attributes", "Shiny"),
            ("x-ms-file-creation-time", "yesterday"),
            ("x-ms-file-permission-key", "1"),
            ("x-ms-mode", "9999"),
            ("x-ms-owner", "-1"),
        ] {
            let head = head("2025-05-05", &[(name, value)]);
            let refusal = properties(&head).err().or(posix(&head).err());
            assert_eq!(refusal, Some(Refusal::InvalidHeaderValue { header: name.into(), value: value.into() }));
        }
    }

    #[test]
    fn a_permission_is_text_or_a_key() {
        let text = ("x-ms-file-permission", "O:BAG:BAD:");
        let key = ("x-ms-file-permission-key", "1*9622787259914961209");
        let set = |sent: &[(&str, &str)]| optional(&head("2024-11-04", sent)).map(|set| set.permission);
        let binary = Some(SetPermission::Text { text: "O:BAG:BAD:".into(), format: Format::Binary });
        assert_eq!(set(&[text, ("x-ms-file-permission-format", "binary")]), Ok(binary));
        assert!(matches!(set(&[key]), Ok(Some(SetPermission::Key(_)))));
        assert!(set(&[text, key]).is_err());
    }

    #[test]
    fn modes_are_octal() {
        let set = posix(&head("2025-05-05", &[("x-ms-mode", "0644"), ("x-ms-owner", "345"), ("x-ms-group", "0")]));
        assert_eq!(set, Ok(SetPosix { mode: Some(0o644), owner: Some(345), group: Some(0) }));
    }
}
