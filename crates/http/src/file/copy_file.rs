//! Copy File, from a file or a blob. It is done when it is answered: `x-ms-copy-status` is `success`, as the service has it for
//! small files.

use http::StatusCode;
use lazuli_model::file::{CopyFile, Entry, Format, SetAttributes, SetPermission, SetPosix, SetSmb, SetTime};
use lazuli_store::{FileAt, ShareAt, Store};

use crate::answer::{Answer, name};
use crate::file::source::{self, OpenedFile};
use crate::file::{place, smb};
use crate::head::{Head, guid};
use crate::operation::{AccountNeeds, By, LEASE, On, Spec, When};
use crate::refusal::{Failure, Refusal};
use crate::serve::Ask;
use crate::sources;
use crate::wire::headers;

pub const SPEC: Spec = Spec {
    name: "CopyFile",
    methods: &["PUT"],
    on: On::File,
    when: &[When::Header("x-ms-copy-source")],
    needs: "cw",
    account_sas: Some(AccountNeeds { resource: 'o', any: "cw" }),
    takes: LEASE,
    seconds: &[sources::COPY_SOURCE],
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let at = place::writable_file(&ask.head)?;
    let asked = Asked::read(&ask.head)?;
    let mut opened = source::open(ask, true).await?;
    let store = ask.store.clone();
    let permission = permission(&store, &at, &asked, opened.file.as_ref()).await?;
    let copy = copy(ask, asked, &opened, permission)?;
    let length = opened.length;
    let file = ask.store.copy_file(&at, copy, &mut opened, length).await?;
    let copied = file.node.copied.as_ref().map(|copied| guid(copied.id));
    Ok(Answer::new(StatusCode::ACCEPTED)
        .etag(file.node.etag, file.node.modified)
        .optional(&name::COPY_ID, copied)
        .constant(&name::COPY_STATUS, "success"))
}

/// What the headers say, before the source is known.
struct Asked {
    /// Where a header says `source`, this has what stands beside it.
    smb: SetSmb,
    from_source: FromSource,
    posix: SetPosix,
}

#[derive(Clone, Copy)]
struct FromSource {
    attributes: bool,
    created: bool,
    written: bool,
    changed: bool,
    permission: bool,
    mode: bool,
    owner: bool,
}

impl Asked {
    fn read(head: &Head) -> Result<Self, Refusal> {
        let says_source = |name: &str| head.text(name).is_some_and(|text| text.eq_ignore_ascii_case("source"));
        let mode = |name: &'static str| {
            head.opt(name, |text| match text.to_ascii_lowercase().as_str() {
                "source" => Some(true),
                "override" => Some(false),
                _ => None,
            })
        };
        let from_source = FromSource {
            attributes: says_source("x-ms-file-attributes"),
            created: says_source("x-ms-file-creation-time"),
            written: says_source("x-ms-file-last-write-time"),
            changed: says_source("x-ms-file-change-time"),
            permission: mode("x-ms-file-permission-copy-mode")?.unwrap_or(false),
            mode: mode("x-ms-file-mode-copy-mode")?.unwrap_or(false),
            owner: mode("x-ms-file-owner-copy-mode")?.unwrap_or(false),
        };
        let mut plain = head.clone();
        for header in
            ["x-ms-file-attributes", "x-ms-file-creation-time", "x-ms-file-last-write-time", "x-ms-file-change-time"]
        {
            if says_source(header) {
                plain.headers.remove(header);
            }
        }
        Ok(Self { smb: smb::optional(&plain)?, from_source, posix: smb::posix(head)? })
    }
}

/// The source's permission: by its key within a share, by its text from one share to another.
async fn permission(
    store: &Store,
    at: &FileAt,
    asked: &Asked,
    source: Option<&(Entry, ShareAt)>,
) -> Result<Option<SetPermission>, Failure> {
    match source {
        Some((entry, share)) if asked.from_source.permission => {
            let key = entry.node.smb.permission;
            if *share == at.share_at() {
                return Ok(Some(SetPermission::Key(key)));
            }
            let text = store.permission(share, key, Format::Sddl).await?;
            Ok(Some(SetPermission::Text { text, format: Format::Sddl }))
        }
        Some(_) | None => Ok(asked.smb.permission.clone()),
    }
}

fn copy(ask: &Ask, asked: Asked, opened: &OpenedFile, permission: Option<SetPermission>) -> Result<CopyFile, Refusal> {
    let entry = opened.file.as_ref().map(|(entry, _)| entry);
    let said = headers::metadata(&ask.head)?;
    Ok(CopyFile {
        id: (ask.ids)(),
        source: sources::shown(ask.required_naming(By::CopySource)?.text),
        headers: opened.headers.clone(),
        metadata: if said.is_empty() { opened.metadata.clone() } else { said },
        smb: SetSmb { permission, ..with_source(asked.smb, asked.from_source, entry) },
        posix: posix_with_source(asked.posix, asked.from_source, entry),
        ignore_read_only: ask.head.flag("x-ms-file-copy-ignore-readonly")?,
        // Observed: without the header too.
        set_archive: ask.head.text("x-ms-file-copy-set-archive").is_none()
            || ask.head.flag("x-ms-file-copy-set-archive")?,
        lease: headers::lease_id(&ask.head)?,
        may_overwrite: ask.grant.may_overwrite,
    })
}

fn with_source(set: SetSmb, from: FromSource, entry: Option<&Entry>) -> SetSmb {
    let Some(Entry { node, .. }) = entry else { return set };
    SetSmb {
        attributes: if from.attributes { Some(SetAttributes::To(node.smb.attributes)) } else { set.attributes },
        created: if from.created { Some(SetTime::At(node.smb.created)) } else { set.created },
        written: if from.written { Some(SetTime::At(node.smb.written)) } else { set.written },
        changed: if from.changed { Some(SetTime::At(node.smb.changed)) } else { set.changed },
        permission: set.permission,
        restore: set.restore,
    }
}

fn posix_with_source(set: SetPosix, from: FromSource, entry: Option<&Entry>) -> SetPosix {
    let Some(posix) = entry.and_then(|entry| entry.node.posix.as_ref()) else { return set };
    SetPosix {
        mode: if from.mode { Some(posix.mode) } else { set.mode },
        owner: if from.owner { Some(posix.owner) } else { set.owner },
        group: if from.owner { Some(posix.group) } else { set.group },
    }
}
