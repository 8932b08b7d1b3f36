//! Set Blob Properties of a page blob: what lies beyond a new end is gone, also if the blob grows again.

use lazuli_model::blob::{Blob, SetPageProperties, Which};
use lazuli_model::feed::Event;
use lazuli_model::lake::Right;

use super::base_to_write;
use super::put_page::{CLEARED_AT_ONCE, seen};
use super::replace::touch;
use crate::claims::Trash;
use crate::feed::note;
use crate::sparse::Editor;
use crate::transact::now;
use crate::{BlobAt, Failure, Store};

impl Store {
    /// A blob that loses much is emptied beyond its new end in several steps; the last one changes the record.
    pub async fn set_page_properties(&self, at: &BlobAt, set: SetPageProperties) -> Result<Blob, Failure> {
        loop {
            let (address, set) = (self.address(at).await?, set.clone());
            let partition = address.partition();
            let (blob, done, trash) = self
                .transact(partition, move |txn| {
                    let keys = address.find(txn, Right::Write)?;
                    let old = base_to_write(txn, &keys)?;
                    let new = set.decide(old.as_ref(), now(txn))?;
                    let mut trash = Trash::default();
                    let mut done = true;
                    if old.as_ref().is_some_and(|old| old.content.length > new.content.length) {
                        let mut editor = Editor::new(&keys, seen(&new));
                        done = editor.clear(txn, new.content.length, u64::MAX, CLEARED_AT_ONCE)?.is_none();
                        editor.finish(&mut trash);
                    }
                    if done {
                        let time = now(txn);
                        let told = |old| Event::changed(Which::Current, old, &new, time);
                        note(txn, &keys, Which::Current, || old.as_ref().and_then(told));
                        touch(txn, &keys, &new);
                    }
                    Ok((new, done, trash.leave(txn, &keys)))
                })
                .await?;
            self.hint_left(trash);
            if done {
                return Ok(blob);
            }
        }
    }
}
