//! The steps of a random program that are about page blobs and append blobs.

use super::*;

/// Longer than a window, so that writes go over its border.
const PAGES: [u64; 3] = [512, 4096, (1 << 20) + 4096];

impl Run {
    pub async fn sparse_step(&mut self, name: &str) {
        match self.random.below(9) {
            0 => self.create_pages(name).await,
            1 | 2 => self.put_page(name).await,
            3 => self.clear_pages(name).await,
            4 => self.set_page_properties(name).await,
            5 => self.create_append(name).await,
            6 | 7 => self.append(name).await,
            _ => self.seal(name).await,
        }
    }

    async fn create_pages(&mut self, name: &str) {
        let put = PutBlob { conditions: self.conditions(name), lease: self.lease(), ..put_blob() };
        let length = *self.random.pick(&PAGES);
        let want = put.decide_pages(self.base(name), 1, length, 5, self.world.store.now());
        let overwritten = self.permit_overwrite(name);
        let got = self.world.store.create_page_blob(&blob(name), put, length, 5).await;
        if let Some(blob) = same("create pages", got, want.and(overwritten)) {
            let blocks = vec![(None, vec![0; length as usize])];
            self.replace(name, Kept { blob, blocks });
            self.reference.pending.remove(name);
        }
    }

    async fn create_append(&mut self, name: &str) {
        let put = PutBlob { conditions: self.conditions(name), lease: self.lease(), ..put_blob() };
        let want = put.decide_append(self.base(name), 1, self.world.store.now());
        let overwritten = self.permit_overwrite(name);
        let got = self.world.store.create_append_blob(&blob(name), put).await;
        if let Some(blob) = same("create append", got, want.and(overwritten)) {
            self.replace(name, Kept { blob, blocks: Vec::new() });
            self.reference.pending.remove(name);
        }
    }

    fn pages(&mut self) -> PutPageParts {
        let length = [1, 8, 33, 200][self.random.below(4)];
        let from = [0, 1, 7, 2040, 2047, 2050][self.random.below(6)];
        let pages = Pages::new(from * PAGE, (from + length) * PAGE - 1).unwrap();
        let number = self.random.chance(20).then(|| 4 + self.random.below(3) as u64);
        PutPageParts { pages, sequence: SequenceConditions { at_most: number, ..SequenceConditions::default() } }
    }

    async fn put_page(&mut self, name: &str) {
        let PutPageParts { pages, sequence } = self.pages();
        let put = PutPage {
            pages,
            sequence,
            encryption: Encryption::Service,
            conditions: self.conditions(name),
            lease: self.lease(),
        };
        let bytes = pattern(self.random.next() % 251, pages.length() as usize);
        let want = put.decide(self.base(name), self.world.store.now());
        let content = self.world.receive(&bytes).await;
        let got = self.world.store.put_page(&blob(name), put, content).await;
        if let Some(blob) = same("put page", got, want.map(drop)) {
            self.rewrite(name, blob, pages, &bytes);
        }
    }

    async fn clear_pages(&mut self, name: &str) {
        let PutPageParts { pages, sequence } = self.pages();
        let put = PutPage {
            pages,
            sequence,
            encryption: Encryption::Service,
            conditions: self.conditions(name),
            lease: self.lease(),
        };
        let want = put.decide(self.base(name), self.world.store.now());
        let got = self.world.store.clear_pages(&blob(name), put).await;
        if let Some(blob) = same("clear pages", got, want.map(drop)) {
            self.rewrite(name, blob, pages, &vec![0; pages.length() as usize]);
        }
    }

    fn rewrite(&mut self, name: &str, blob: Blob, pages: Pages, bytes: &[u8]) {
        let kept = self.reference.bases.get_mut(name).unwrap();
        kept.blob = blob;
        kept.blocks[0].1[pages.from as usize..pages.to as usize].copy_from_slice(bytes);
    }

    async fn set_page_properties(&mut self, name: &str) {
        let set = SetPageProperties {
            length: self.random.chance(70).then(|| *self.random.pick(&PAGES)),
            sequence: Some(SequenceAction::Increment),
            headers: None,
            conditions: self.conditions(name),
            lease: self.lease(),
        };
        let want = set.decide(self.base(name), self.world.store.now());
        let got = self.world.store.set_page_properties(&blob(name), set).await;
        if let Some(blob) = same("set page properties", got, want.map(drop)) {
            let kept = self.reference.bases.get_mut(name).unwrap();
            kept.blocks[0].1.resize(blob.content.length as usize, 0);
            kept.blob = blob;
        }
    }

    async fn append(&mut self, name: &str) {
        let bytes = pattern(self.random.next() % 251, *self.random.pick(&LENGTHS[1..]));
        let length = self.base(name).map_or(0, |blob| blob.content.length);
        let append = AppendBlock {
            position: self.random.chance(20).then(|| length + self.random.below(2) as u64),
            most: self.random.chance(20).then_some(200_000),
            encryption: Encryption::Service,
            conditions: self.conditions(name),
            lease: self.lease(),
        };
        let want = append.decide(self.base(name), bytes.len() as u64, self.world.store.now());
        let content = self.world.receive(&bytes).await;
        let got = self.world.store.append_block(&blob(name), append, content).await;
        if let Some((offset, blob)) = same("append", got, want.map(drop)) {
            assert_eq!(offset, length);
            let kept = self.reference.bases.get_mut(name).unwrap();
            kept.blob = blob;
            kept.blocks.push((None, bytes));
        }
    }

    async fn seal(&mut self, name: &str) {
        let seal = SealBlob { position: None, conditions: self.conditions(name), lease: self.lease() };
        let want = seal.decide(self.base(name), self.world.store.now());
        let got = self.world.store.seal_blob(&blob(name), seal).await;
        if let Some(blob) = same("seal", got, want.map(drop)) {
            self.reference.bases.get_mut(name).unwrap().blob = blob;
        }
    }
}

struct PutPageParts {
    pages: Pages,
    sequence: SequenceConditions,
}
