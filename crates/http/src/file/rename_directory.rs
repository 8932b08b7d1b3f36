//! Rename Directory, with all that is in it.

use lazuli_store::Failure;

use crate::answer::Answer;
use crate::file::rename_file;
use crate::operation::{On, Spec};
use crate::serve::Ask;

pub const SPEC: Spec =
    Spec { name: "RenameDirectory", on: On::Directory, restype: Some("directory"), ..rename_file::SPEC };

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    rename_file::rename(ask, true).await
}
