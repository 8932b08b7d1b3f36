//! Opening and closing, as SMB does it: the path is resolved, the disposition decided, what is new is made and what is to go is emptied
//! in the transaction that lets the handle in. What handles are open is in the share's rows, so that REST and every gateway see it; a
//! handle goes with the gateway that holds it.

use lazuli_model::file::arbiter::{self, Caching, Open, Opening, Reach, Verdict};
use lazuli_model::file::{
    AskedRights, Attributes, CreateDirectory, CreateFile, Disposition, Done, Entry, FileId, FilePath, Kind, Node,
    Principal, Rights, Sddl, SetAttributes, SetPermission, SetSmb,
};
use lazuli_model::{Refusal, Timestamp};

use super::rows::Held;
use super::standing::judged;
use super::tree::{Reached, Tree};
use super::waits::{Attempt, Wait};
use super::watches::{Filter, Happened};
use super::{FileAt, HandleAt, ShareAt, Waiting, entry};
use crate::transact::Decided;
use crate::{Failure, Store};

/// What the client says that it opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    Anything,
    Directory,
    File,
}

/// What something new has, and what is overwritten gets.
#[derive(Clone, Debug, Default)]
pub struct NewEntry {
    pub attributes: Attributes,
    pub permission: Option<SetPermission>,
}

/// Somebody whom security descriptors bind, and what they ask for.
#[derive(Clone, Debug)]
pub struct RightsClaim {
    pub who: Principal,
    pub asked: AskedRights,
}

/// What came of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Granted {
    pub rights: Rights,
    /// All that could have been asked for.
    pub maximal: Rights,
}

impl Granted {
    /// What who is not bound has: all that is asked for.
    pub fn freely(asked: AskedRights) -> Self {
        Self { rights: if asked.most { Rights::ALL } else { asked.all }, maximal: Rights::ALL }
    }
}

/// An open by an SMB client.
#[derive(Clone, Debug)]
pub struct OpenFile {
    pub session: u64,
    pub gateway: u128,
    pub client: String,
    pub client_name: String,
    /// Nobody is asked for rights who has none of these: the client may do everything, as who has the key in Azure.
    pub claim: Option<RightsClaim>,
    /// Access and reach are those of the claim, if there is one.
    pub opening: Opening,
    pub disposition: Disposition,
    pub wanted: Wanted,
    pub new: NewEntry,
}

#[derive(Clone, Debug)]
pub struct Opened {
    pub handle: u64,
    pub done: Done,
    pub caching: Caching,
    pub epoch: u16,
    /// A break of its lease is under way.
    pub breaking: bool,
    pub entry: Entry,
    /// By the security descriptor, if that was asked.
    pub granted: Option<Granted>,
}

impl Store {
    /// Waits while others have to give up what they cache first; nothing, when the caller did not want to.
    pub async fn open_handle(
        &self,
        at: &FileAt,
        open: OpenFile,
        waiting: &dyn Waiting,
    ) -> Result<Option<Opened>, Failure> {
        let share = at.share_at();
        let mut wait = Wait::new(self, waiting);
        loop {
            let settled = wait.listen();
            let (path, mut open) = (at.path.clone(), open.clone());
            open.opening.again = wait.begun;
            match self.change_tree(&share, move |tree| attempt(tree, &path, &open)).await? {
                Attempt::Done(opened) => return Ok(Some(*opened)),
                Attempt::Wait(until) if !wait.pass(settled, until).await => return Ok(None),
                Attempt::Wait(_) => {}
            }
        }
    }

    /// True when the file went with it.
    pub async fn close_handle(&self, at: &ShareAt, file: FileId, handle: u64) -> Result<bool, Failure> {
        let gone = self.change_tree(at, move |tree| close(tree, file, handle)).await?;
        self.breaks.all_have_looked().await;
        Ok(gone)
    }

    /// Closed by somebody else than its client, whose gateway is told.
    pub(super) async fn force_close(&self, at: &ShareAt, file: FileId, handle: u64) -> Result<bool, Failure> {
        self.change_tree(at, move |tree| {
            let gateway = tree.standing(file)?.find(handle)?.gateway;
            tree.notify(gateway, &super::Notice::Closed { file, handle });
            close(tree, file, handle)
        })
        .await
    }

    /// A client that lost its connection goes on with its handle in another session.
    pub async fn adopt_handle(&self, at: &HandleAt, session: u64, client: String) -> Result<Opened, Failure> {
        let (file, handle) = (at.file, at.handle);
        self.change_tree(&at.share, move |tree| {
            let standing = tree.standing(file)?;
            let open = standing.find(handle)?;
            let reconnected = Some(tree.now());
            tree.put_open(file, &Open { session, client: client.clone(), reconnected, ..open.clone() });
            let (caching, epoch, breaking) = (open.caching, open.epoch, open.breaking.is_some());
            let node = tree.node(file)?.ok_or(Refusal::ResourceNotFound)?;
            let parent = node.parent;
            let entry = entry(node, parent, standing.lease);
            Ok(Opened { handle, done: Done::Opened, caching, epoch, breaking, entry, granted: None })
        })
        .await
    }
}

fn attempt(tree: &mut Tree<'_, '_>, path: &FilePath, open: &OpenFile) -> Decided<Attempt<Box<Opened>>> {
    let reached = if path.is_root() { None } else { Some(tree.reach(path)?) };
    let current = match &reached {
        None => tree.node(FileId::ROOT)?,
        Some(Reached { found: Some(found), .. }) => Some(tree.node_of(found)?),
        Some(_) => None,
    };
    let done = open.disposition.decide(current.is_some())?;
    match (current, reached) {
        (Some(node), reached) => open_there(tree, node, reached.map(|reached| reached.parent), done, open),
        (None, Some(reached)) => create(tree, &reached, open),
        (None, None) => Err(Refusal::ResourceNotFound.into()),
    }
}

fn open_there(
    tree: &mut Tree<'_, '_>,
    node: Node,
    parent: Option<FileId>,
    done: Done,
    open: &OpenFile,
) -> Decided<Attempt<Box<Opened>>> {
    let directory = node.kind == Kind::Directory;
    match (open.wanted, directory) {
        (Wanted::Directory, false) | (Wanted::File, true) => return Err(Refusal::ResourceTypeMismatch.into()),
        (Wanted::Anything, true) if done != Done::Opened => return Err(Refusal::ResourceTypeMismatch.into()),
        (Wanted::Anything, _) | (Wanted::Directory, true) | (Wanted::File, false) => {}
    }
    let (granted, mut opening) = claimed(tree, &node, parent, done, open)?;
    opening.truncate = done != Done::Opened;
    if directory {
        opening.caching = Caching::NONE;
    }
    let now = tree.now();
    let mut standing = tree.standing(node.id)?;
    arbiter::permit_handle(&standing, node.id == FileId::ROOT)?;
    let judgement = arbiter::open(&opening, &standing, !directory && node.is_read_only(), now);
    let (verdict, cached) = judged(judgement, || arbiter::open_obstacle(&opening, &standing))?;
    let node = match (&verdict, done) {
        (Verdict::Go(_), Done::Overwritten | Done::Superseded) => overwrite(tree, &node, open)?,
        (Verdict::Go(_) | Verdict::Wait(_), _) => node,
    };
    let (Verdict::Go(breaks) | Verdict::Wait(breaks)) = &verdict;
    tree.break_caches(node.id, &mut standing, breaks);
    if matches!(verdict, Verdict::Wait(_)) {
        return Ok(Attempt::Wait(standing.next_end()));
    }
    let before = standing.opens.clone();
    let new = standing.admit(new_open(tree, open, &opening, now), opening.caching, cached);
    tree.write_back(node.id, &before, &standing);
    tree.enter(&node)?;
    let parent = parent.unwrap_or(FileId::ROOT);
    let breaking = new.breaking.is_some();
    let (handle, caching, epoch) = (new.handle, new.caching, new.epoch);
    let entry = entry(node, parent, standing.lease);
    Ok(Attempt::Done(Box::new(Opened { handle, done, caching, epoch, breaking, entry, granted })))
}

/// What the descriptor of something that is there grants, and the opening with that.
fn claimed(
    tree: &mut Tree<'_, '_>,
    node: &Node,
    parent: Option<FileId>,
    done: Done,
    open: &OpenFile,
) -> Decided<(Option<Granted>, Opening)> {
    let Some(claim) = &open.claim else { return Ok((None, open.opening.clone())) };
    let own = tree.permission_of(node.id)?;
    let above = match parent {
        Some(parent) => Some(tree.permission_of(parent)?),
        None => None,
    };
    let rights = own.permit_open(above.as_ref(), &claim.who, claim.asked, done)?;
    let maximal = own.maximal(above.as_ref(), &claim.who);
    Ok((Some(Granted { rights, maximal }), with_rights(&open.opening, rights)?))
}

fn with_rights(opening: &Opening, rights: Rights) -> Result<Opening, Refusal> {
    if opening.delete_on_close && !rights.has(Rights::DELETE) {
        return Err(Refusal::AuthorizationPermissionMismatch);
    }
    Ok(Opening { access: arbiter::Access::of(rights), reach: Reach::of(rights), ..opening.clone() })
}

fn overwrite(tree: &mut Tree<'_, '_>, node: &Node, open: &OpenFile) -> Decided<Node> {
    let empty = node.overwritten(open.new.attributes, tree.now())?;
    tree.resize(node.length, 0)?;
    tree.retire(node);
    tree.put_node(&empty)?;
    let filter = Filter::SIZE.with(Filter::WRITTEN).with(Filter::ATTRIBUTES);
    tree.happened(node.parent, &[(Happened::Modified, &node.name)], filter)?;
    Ok(empty)
}

fn create(tree: &mut Tree<'_, '_>, reached: &Reached, open: &OpenFile) -> Decided<Attempt<Box<Opened>>> {
    let directory = open.wanted == Wanted::Directory;
    let attributes = open.new.attributes.settable();
    if open.opening.delete_on_close && attributes.has(Attributes::READ_ONLY) && !directory {
        return Err(Refusal::ReadOnlyAttribute.into());
    }
    let who = open.claim.as_ref().map(|claim| &claim.who);
    let permission = tree.new_permission(open.new.permission.as_ref(), reached.parent, directory, who)?;
    let (granted, opening) = match &open.claim {
        None => (None, open.opening.clone()),
        Some(claim) => {
            let parent = tree.permission_of(reached.parent)?;
            let kind = if directory { Kind::Directory } else { Kind::File };
            let rights = parent.permit_create(&claim.who, kind, claim.asked)?;
            let own = tree.permission(permission)?.unwrap_or_else(Sddl::root);
            let maximal = own.maximal(Some(&parent), &claim.who);
            (Some(Granted { rights, maximal }), with_rights(&open.opening, rights)?)
        }
    };
    let spot = tree.spot(reached, permission);
    let now = tree.now();
    let smb = SetSmb { attributes: Some(SetAttributes::To(attributes)), ..SetSmb::default() };
    let node = if directory {
        CreateDirectory { smb, ..CreateDirectory::default() }.decide(&spot, now)
    } else {
        CreateFile { smb, ..CreateFile::empty() }.decide(&spot, None, now)?
    };
    tree.put_new(reached, &node)?;
    tree.happened(reached.parent, &[(Happened::Added, &node.name)], Filter::name(node.kind))?;
    let asked = Opening { caching: if directory { Caching::NONE } else { opening.caching }, ..opening };
    let mut standing = arbiter::Standing::default();
    let (_, cached) = arbiter::open(&asked, &standing, false, now)?;
    let new = standing.admit(new_open(tree, open, &asked, now), asked.caching, cached);
    tree.put_open(node.id, &new);
    tree.enter(&node)?;
    let (handle, caching, epoch) = (new.handle, new.caching, new.epoch);
    let entry = entry(node, reached.parent, standing.lease);
    let done = Done::Created;
    Ok(Attempt::Done(Box::new(Opened { handle, done, caching, epoch, breaking: false, entry, granted })))
}

fn new_open(tree: &mut Tree<'_, '_>, open: &OpenFile, opening: &Opening, now: Timestamp) -> Open {
    Open {
        handle: tree.txn.stamp().0,
        session: open.session,
        gateway: open.gateway,
        client: open.client.clone(),
        client_name: open.client_name.clone(),
        access: opening.access,
        sharing: opening.sharing,
        opened: now,
        reconnected: None,
        delete_on_close: opening.delete_on_close,
        attributes_only: opening.reach == Reach::Attributes,
        caching: Caching::NONE,
        cache: opening.cache,
        epoch: opening.epoch,
        breaking: None,
        locks: Vec::new(),
    }
}

fn close(tree: &mut Tree<'_, '_>, file: FileId, handle: u64) -> Decided<bool> {
    let mut standing = tree.standing(file)?;
    let goes = arbiter::close(&mut standing, handle)?;
    tree.settles = true;
    tree.txn.delete(tree.keys.open(file, handle));
    tree.unwatch(file, handle)?;
    let node = tree.node(file)?;
    if let Some(node) = &node {
        tree.leave(node)?;
    }
    let held = tree.held(file)?;
    if held.delete_pending != standing.delete_pending {
        tree.put_held(file, Held { delete_pending: standing.delete_pending, ..held });
    }
    if !goes {
        if standing.delete_pending && !held.delete_pending {
            tree.doomed(file)?;
        }
        return Ok(false);
    }
    let Some(node) = node else { return Ok(false) };
    // Something came into the directory since it was marked: it stays.
    if node.kind == Kind::Directory && tree.count_children(file)? > 0 {
        tree.put_held(file, Held { delete_pending: false, ..held });
        return Ok(false);
    }
    let name = node.name.clone();
    tree.happened(node.parent, &[(Happened::Removed, &name)], Filter::name(node.kind))?;
    if tree.unlink(&node, node.parent, &name)? > 0 {
        tree.put_held(file, Held { delete_pending: false, ..held });
    }
    Ok(true)
}
