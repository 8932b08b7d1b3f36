//! TREE_CONNECT ([MS-SMB2] 2.2.9, 2.2.10).

use bytes::Bytes;

use super::wire::{Field, Malformed, Parsed, Sink, Source, bits, numbers, record};
use crate::text::Wide;

/// A server's name of 255 characters, a share's of 80, and the backslashes.
pub const PATH_MAX: usize = 1024;
const CONTEXTS_MAX: usize = 8;

bits! { ConnectFlags: u16 {
    CLUSTER_RECONNECT = 0x1,
    REDIRECT_TO_OWNER = 0x2,
    EXTENSION_PRESENT = 0x4,
} }

numbers! { ShareType: u8 {
    Disk = 1,
    Pipe = 2,
    Print = 3,
} }

bits! { ShareFlags: u32 {
    MANUAL_CACHING = 0x0,
    NO_CACHING = 0x30,
    FORCE_LEVEL_II_OPLOCK = 0x1000,
    ENCRYPT_DATA = 0x8000,
} }

bits! { ShareCapabilities: u32 {
    DFS = 0x8,
    CONTINUOUS_AVAILABILITY = 0x10,
} }

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Without `EXTENSION_PRESENT`, which `contexts` says.
    pub flags: ConnectFlags,
    pub path: Wide,
    /// Of the extension of 3.1.1: kind and data. None has a meaning outside a cluster.
    pub contexts: Option<Vec<(u16, Bytes)>>,
}

impl Field for Request {
    fn read(source: &mut Source) -> Parsed<Self> {
        let start = source.position();
        source.structure(9)?;
        let flags: ConnectFlags = source.read()?;
        let (offset, length) = (source.size16()?, source.size16()?);
        if length > PATH_MAX {
            return Err(Malformed::Length);
        }
        let extended = flags.has(ConnectFlags::EXTENSION_PRESENT);
        let contexts = if extended { Some(read_contexts(source, start)?) } else { None };
        let path = Wide::from_wire(source.buffer(offset, length)?)?;
        Ok(Self { flags: flags.without(ConnectFlags::EXTENSION_PRESENT), path, contexts })
    }

    fn write(&self, sink: &mut Sink) {
        let start = sink.offset();
        sink.u16(9);
        let extension = if self.contexts.is_some() { ConnectFlags::EXTENSION_PRESENT } else { ConnectFlags::default() };
        sink.write(&self.flags.with(extension));
        sink.size16(sink.offset() + 4 + if self.contexts.is_some() { 16 } else { 0 });
        sink.size16(self.path.len());
        let extension_at = sink.offset();
        sink.zeros(if self.contexts.is_some() { 16 } else { 0 });
        self.path.write(sink);
        if let Some(contexts) = &self.contexts {
            sink.align(8);
            sink.patch_u32(extension_at, sink.offset() - start);
            sink.patch_u16(extension_at + 4, contexts.len());
            for (kind, data) in contexts {
                sink.align(8);
                sink.u16(*kind);
                sink.size16(data.len());
                sink.zeros(4);
                sink.bytes(data);
            }
        }
    }
}

/// Their offset counts from the request, not from the header.
fn read_contexts(source: &mut Source, start: usize) -> Parsed<Vec<(u16, Bytes)>> {
    let (offset, count) = (source.size32()?, source.size16()?);
    source.skip(10)?;
    if count > CONTEXTS_MAX {
        return Err(Malformed::Count);
    }
    let mut there = source.clone();
    let mut contexts = Vec::new();
    for at in 0..count {
        if at == 0 {
            let gap = (start + offset).checked_sub(there.position()).ok_or(Malformed::Range)?;
            there.skip(gap)?;
        } else {
            there.align(8);
        }
        let (kind, length) = (there.u16()?, there.size16()?);
        there.skip(4)?;
        contexts.push((kind, there.take(length)?));
    }
    Ok(contexts)
}

record! { Answer, size 16 {
    kind: u8 => 1,
    flags: ShareFlags,
    capabilities: ShareCapabilities,
    maximal_access: u32,
} }

/// The share of `\\server\share`.
pub fn share_of(path: &str) -> Option<&str> {
    let (server, share) = path.strip_prefix(r"\\")?.split_once('\\')?;
    (!server.is_empty() && !share.is_empty() && !share.contains('\\')).then_some(share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_is_what_follows_the_server() {
        let table = [
            (r"\\127.0.0.1\share", Some("share")),
            (r"\\host\IPC$", Some("IPC$")),
            (r"\\host", None),
            (r"\\host\", None),
            (r"\\\share", None),
            (r"\\host\share\directory", None),
            ("share", None),
        ];
        for (path, share) in table {
            assert_eq!(share_of(path), share, "{path}");
        }
    }
}
