//! What a recorder is told of calls through SMB handles: each that changed something, and each that was refused because of what others hold.

use std::net::IpAddr;

use lazuli_model::Timestamp;
use lazuli_model::file::arbiter::Lock;

use super::ShareAt;
use crate::Sighted;

/// What was done, or tried, by the name that records give it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandleAct {
    Open,
    Close,
    /// A close that deletes the file, now or with its last handle.
    CloseAndDelete,
    Read,
    Write,
    Lock,
    Unlock,
    Rename,
    MarkForDeletion,
    SetInfo,
    AcknowledgeBreak,
}

impl HandleAct {
    pub const ALL: [HandleAct; 11] = [
        HandleAct::Open,
        HandleAct::Close,
        HandleAct::CloseAndDelete,
        HandleAct::Read,
        HandleAct::Write,
        HandleAct::Lock,
        HandleAct::Unlock,
        HandleAct::Rename,
        HandleAct::MarkForDeletion,
        HandleAct::SetInfo,
        HandleAct::AcknowledgeBreak,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            HandleAct::Open => "SmbOpen",
            HandleAct::Close => "SmbClose",
            HandleAct::CloseAndDelete => "SmbCloseAndDelete",
            HandleAct::Read => "SmbRead",
            HandleAct::Write => "SmbWrite",
            HandleAct::Lock => "SmbLock",
            HandleAct::Unlock => "SmbUnlock",
            HandleAct::Rename => "SmbRename",
            HandleAct::MarkForDeletion => "SmbMarkForDeletion",
            HandleAct::SetInfo => "SmbSetInfo",
            HandleAct::AcknowledgeBreak => "SmbAcknowledgeBreak",
        }
    }
}

/// One such call.
#[derive(Clone, Copy, Debug)]
pub struct HandleCall<'a> {
    pub act: HandleAct,
    pub share: &'a ShareAt,
    /// As the client wrote it, with slashes.
    pub path: &'a str,
    /// That was opened, or used. Zero: none was.
    pub handle: u64,
    pub session: u64,
    /// The number of the message, on its connection.
    pub message: u64,
    pub peer: IpAddr,
    /// The status that it was refused with.
    pub refused: Option<&'static str>,
    /// When it was decided, and what the decision saw.
    pub at: Timestamp,
    pub found: Sighted,
    /// That it locked, gave up, or was refused.
    pub locks: &'a [Lock],
}

/// Is told before the answer leaves.
pub trait HandleObserver: Send + Sync + 'static {
    fn observe(&self, call: &HandleCall<'_>);
}
