//! Rename Directory, with all that is in it.

use crate::answer::Answer;
use crate::file::{get_directory_properties, rename_file};
use crate::operation::{By, On, Second, Spec};
use crate::refusal::Failure;
use crate::serve::Ask;

pub const SPEC: Spec = Spec {
    name: "RenameDirectory",
    on: On::Directory,
    restype: Some("directory"),
    seconds: &[Second { by: By::FileRenameSource, judged_as: &[&get_directory_properties::SPEC, &MOVED] }],
    ..rename_file::SPEC
};

const MOVED: Spec = Spec { on: On::Directory, ..rename_file::MOVED };

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    rename_file::rename(ask, true).await
}
