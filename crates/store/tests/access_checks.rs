//! Security descriptors of shares and those whom they bind: opens, new names and snapshots. Who is not bound, and REST, is above them.

mod share;
mod world;

use lazuli_model::file::arbiter::{Access, Cache, Caching, Opening, Reach};
use lazuli_model::file::*;
use lazuli_model::{AccountName, Refusal};
use lazuli_store::{Failure, HandleAt, NewEntry, OpenFile, Opened, Patience, RightsClaim, Wanted};
use share::*;
use world::*;

const ALL: u32 = 0x1f_01ff;
const READ: u32 = 0x12_0089;

fn me() -> Principal {
    Principal::of_account(&AccountName::parse("mine").unwrap())
}

/// What a handle that nobody shares rights with asks for.
fn open_file(claimed: Option<u32>, disposition: Disposition, wanted: Wanted) -> OpenFile {
    let asked = |bits: u32| AskedRights { all: Rights::from_bits(bits), most: bits & 0x200_0000 != 0 };
    let opening = Opening {
        access: Access::ALL,
        sharing: Access::ALL,
        reach: Reach::Content,
        truncate: disposition.overwrites(),
        delete_on_close: false,
        caching: Caching::NONE,
        cache: Cache::Oplock,
        epoch: 0,
        again: false,
    };
    OpenFile {
        session: 1,
        gateway: 5,
        client: "10.0.0.4:50000".into(),
        client_name: String::new(),
        claim: claimed.map(|bits| RightsClaim { who: me(), asked: asked(bits) }),
        opening,
        disposition,
        wanted,
        new: NewEntry::default(),
    }
}

struct Bound(World);

impl Bound {
    async fn new() -> Self {
        let world = World::plain();
        world.create_share(1).await;
        Self(world)
    }

    async fn opened(&self, path: &str, open: OpenFile) -> Result<Opened, Failure> {
        self.0.store.open_handle(&at(path), open, &Patience).await.map(|opened| opened.expect("nobody caches it"))
    }

    /// What is granted, and closed again.
    async fn open(&self, path: &str, asked: u32, disposition: Disposition) -> Result<u32, Failure> {
        let opened = self.opened(path, open_file(Some(asked), disposition, Wanted::File)).await?;
        self.0.store.close_handle(&share_at(), opened.entry.node.id, opened.handle).await?;
        Ok(opened.granted.expect("it was judged").rights.bits())
    }

    async fn make(&self, path: &str, wanted: Wanted) -> HandleAt {
        let opened = self.opened(path, open_file(Some(ALL), Disposition::Create, wanted)).await.unwrap();
        HandleAt { share: share_at(), snapshot: None, file: opened.entry.node.id, handle: opened.handle }
    }

    /// The list becomes this one; `ME` is who is bound.
    async fn set(&self, handle: &HandleAt, list: &str) {
        let sids = me().sids().map(|(authority, parts)| {
            parts.iter().fold(format!("S-1-{authority}"), |text, part| format!("{text}-{part}"))
        });
        let text = format!("O:{}G:SYD:{}", sids[0], list.replace("ME", &sids[0]));
        let bytes = Sddl::parse(&text, Format::Sddl).unwrap().to_bytes().unwrap();
        let merge = move |_: &[u8]| Some(bytes.clone());
        self.0.store.change_descriptor(handle, Frozen::default(), merge).await.unwrap();
    }
}

fn denied<T>() -> Result<T, Failure> {
    Err(Failure::Refused(Refusal::AuthorizationPermissionMismatch))
}

#[tokio::test]
async fn opens_are_judged_by_the_list_and_rest_is_not() {
    let bound = Bound::new().await;
    bound.make("d", Wanted::Directory).await;
    let file = bound.make("d/f", Wanted::File).await;
    assert_eq!(bound.open("d/f", ALL, Disposition::Open).await, Ok(ALL), "who made it may everything");
    bound.set(&file, "(A;;FR;;;ME)").await;
    let table = [
        (1, Disposition::Open, Ok(1)),
        (0x8000_0000, Disposition::Open, Ok(READ)),
        (2, Disposition::Open, denied()),
        (0x200_0000, Disposition::Open, Ok(READ | 0x5_0000)),
        (0x200_0002, Disposition::Open, denied()),
        (0x4_0000, Disposition::OpenIf, Ok(0x4_0000)),
        (1, Disposition::Overwrite, denied()),
        (1, Disposition::OverwriteIf, denied()),
        (1, Disposition::Supersede, denied()),
        (1, Disposition::Create, Err(Failure::Refused(Refusal::ResourceAlreadyExists))),
    ];
    for (asked, disposition, expected) in table {
        assert_eq!(bound.open("d/f", asked, disposition).await, expected, "{asked:x} {disposition:?}");
    }
    let free = bound.opened("d/f", open_file(None, Disposition::Overwrite, Wanted::File)).await;
    assert!(free.is_ok(), "who is not bound is not judged: {free:?}");
    bound.set(&file, "").await;
    assert_eq!(bound.open("d/f", 1, Disposition::Open).await, denied(), "an empty list");
    bound.set(&file, "NO_ACCESS_CONTROL").await;
    assert_eq!(bound.open("d/f", ALL, Disposition::Open).await, Ok(ALL), "no list");
    bound.set(&file, "").await;
    assert!(bound.0.read("d/f").await.is_ok(), "REST is above it");
}

#[tokio::test]
async fn names_are_made_and_moved_where_the_directory_lets() {
    let bound = Bound::new().await;
    let open = bound.make("open", Wanted::Directory).await;
    let closed = bound.make("closed", Wanted::Directory).await;
    let file = bound.make("open/f", Wanted::File).await;
    let inside = bound.make("closed/g", Wanted::File).await;
    bound.set(&closed, "(A;;FR;;;ME)").await;
    assert_eq!(bound.open("closed/new", 1, Disposition::Create).await, denied());
    let rename = async |handle: &HandleAt, to: &str, who: Option<&Principal>| {
        let to = FilePath::parse(to, false).unwrap();
        bound.0.store.rename_handle(handle, to, true, Frozen::default(), who, &Patience).await
    };
    for handle in [&open, &closed, &inside] {
        bound.0.store.close_handle(&share_at(), handle.file, handle.handle).await.unwrap();
    }
    assert_eq!(rename(&file, "closed/h", Some(&me())).await, denied());
    assert_eq!(rename(&file, "closed/g", Some(&me())).await, denied(), "nor over what is there");
    assert_eq!(rename(&file, "open/h", Some(&me())).await, Ok(Some(())));
    assert_eq!(rename(&file, "closed/h", None).await, Ok(Some(())), "who is not bound");
}

#[tokio::test]
async fn who_may_only_append_writes_at_the_end_wherever_that_is() {
    let bound = Bound::new().await;
    let (store, frozen) = (&bound.0.store, Frozen::default());
    let file = bound.make("f", Wanted::File).await;
    store.write_handle(&file, 0, "old".into(), frozen).await.unwrap();
    let (first, second) = tokio::join!(
        store.append_handle(&file, "first".into(), frozen),
        store.append_handle(&file, "other".into(), frozen)
    );
    let (first, second) = (first.unwrap(), second.unwrap());
    assert_eq!([first.min(second), first.max(second)], [3, 8], "neither over the other, nor over what was there");
    assert_eq!(store.query_handle(&file).await.unwrap().entry.node.length, 13);
}
