//! Lists of a part of a file system, against the reference.

use lazuli_store::{BlobPage, Entry, ListBlobs, ListPaths};

use super::world::*;
use super::{NAMES, Run, at};

impl Run {
    /// Lists that begin and end somewhere, by both doors. `all` is in the order of a walk.
    pub async fn compare_parts(&mut self, all: &[String]) {
        fn names(path: &str) -> Vec<&str> {
            path.split('/').collect()
        }
        let (from, to, directory) = (self.path(), self.path(), self.random.pick(&NAMES).to_string());
        let within = |path: &&String| names(path) >= names(&from) && names(path) < names(&to);
        let list = ListBlobs {
            most: 5000,
            start_from: Some(from.clone()),
            end_before: Some(to.clone()),
            ..ListBlobs::default()
        };
        let listed = self.world.store.list_blobs(&container("box"), list.clone()).await.unwrap();
        let want: Vec<&str> = all.iter().filter(within).map(String::as_str).collect();
        assert_eq!(blob_names(&listed), want, "from {from} to {to}");
        let list = ListBlobs { prefix: format!("{directory}/"), ..list };
        let listed = self.world.store.list_blobs(&container("box"), list).await.unwrap();
        let is_below = |path: &&String| names(path).len() > 1 && names(path)[0] == directory;
        let want: Vec<&str> = all.iter().filter(is_below).filter(within).map(String::as_str).collect();
        assert_eq!(blob_names(&listed), want, "below {directory} from {from} to {to}");
        if self.tree.get(&directory) != Some(&None) {
            return;
        }
        let list = ListPaths { recursive: true, continuation: None, begin_from: Some(from.clone()), most: 5000 };
        let page = self.world.store.list_paths(&at(&directory), list).await.unwrap();
        let got: Vec<&str> = page.items.iter().map(|item| item.path.as_str()).collect();
        let reached = |path: &&String| names(&path[directory.len() + 1..]) >= names(&from);
        let want: Vec<&str> = all.iter().filter(is_below).filter(reached).map(String::as_str).collect();
        assert_eq!(got, want, "in {directory} from {from}");
    }
}

pub fn blob_names(page: &BlobPage) -> Vec<&str> {
    fn name(entry: &Entry) -> &str {
        match entry {
            Entry::Blob(item) => item.name.as_str(),
            Entry::Prefix(_) | Entry::Directory(_) => panic!("a flat listing has no prefixes"),
        }
    }
    page.entries.iter().map(name).collect()
}
