//! QUERY_DIRECTORY: names that fit a pattern, page by page. A page costs what is on it, or what was passed over for it.

use lazuli_model::file::{Kind, Node, fold};

use crate::info::directory::{Class, Listing as Page};
use crate::packet::Response;
use crate::packet::create::Access;
use crate::packet::query::{DirectoryFlags, DirectoryRequest, Output};
use crate::serve::dispatch::{Ask, Outcome};
use crate::serve::opens::{File, Listing};
use crate::status::Status;
use crate::wildcard::{is_wild, matches};

use super::describe;

/// Names that are read at a time.
const BATCH: usize = 128;

pub(super) async fn run(ask: &Ask<'_>, request: &DirectoryRequest) -> Outcome {
    let open = ask.open(request.file)?;
    let file = open.file()?;
    if file.kind != Kind::Directory || request.output_max > ask.gateway.policy.transfer_max {
        return Err(Status::InvalidParameter);
    }
    let class = Class::from_code(request.class).ok_or(Status::InvalidInfoClass)?;
    open.may(Access::READ_DATA)?;
    let pattern = request.pattern.to_text().map_err(|_| Status::ObjectNameInvalid)?;
    if pattern.contains(['/', '\\', ':', '|']) {
        return Err(Status::ObjectNameInvalid);
    }
    let restarts = request.flags.has(DirectoryFlags::RESTART) || request.flags.has(DirectoryFlags::REOPEN);
    let mut listing = {
        let mut state = open.state();
        match state.listing.take() {
            Some(listing) if !restarts => listing,
            Some(listing) if pattern.is_empty() => Listing { pattern: listing.pattern, ..Listing::default() },
            Some(_) | None => Listing { pattern: pattern.clone(), ..Listing::default() },
        }
    };
    let outcome = page(ask, file, request, class, &mut listing).await;
    open.state().listing = Some(listing);
    outcome
}

async fn page(ask: &Ask<'_>, file: &File, request: &DirectoryRequest, class: Class, listing: &mut Listing) -> Outcome {
    let single = request.flags.has(DirectoryFlags::SINGLE_ENTRY);
    let mut page = Page::new(class, request.output_max as usize);
    let store = &ask.gateway.store;
    let wild = listing.pattern.is_empty() || is_wild(&listing.pattern);
    let pattern = if listing.pattern.is_empty() { "*".to_owned() } else { fold(&listing.pattern) };
    let mut full = false;
    while listing.dots < 2 && wild && !full {
        let name = if listing.dots == 0 { "." } else { ".." };
        if matches(&pattern, name) {
            let node = store.query_handle(&file.at).await?.entry.node;
            full = !page.push(&describe::entry(&node, name));
            full = full || {
                listing.any = true;
                single
            };
            if page.is_empty() || (full && !single) {
                break;
            }
        }
        listing.dots += 1;
    }
    if !wild && listing.from.is_empty() {
        listing.from = pattern.clone().into_bytes();
    }
    while !full && !listing.over {
        let most = if single || !wild { 1 } else { BATCH };
        let children = store.list_handle(&file.at, &listing.from, most).await?;
        let count = children.items.len();
        for (at, item) in children.items.iter().enumerate() {
            if fits(&pattern, &item.name, wild) && !push(&mut page, &item.node, &item.name) {
                full = true;
                listing.from = fold(&item.name).into_bytes();
                break;
            }
            if fits(&pattern, &item.name, wild) {
                listing.any = true;
                full = single;
            }
            if at + 1 == count || full {
                // Behind this name, which ends in NUL in its row.
                listing.from = [fold(&item.name).as_bytes(), &[1]].concat();
            }
            if full {
                break;
            }
        }
        match children.next {
            Some(next) if !full => listing.from = next,
            Some(_) => {}
            None if !full => listing.over = true,
            None => {}
        }
        if !wild {
            listing.over = !full || single || listing.any;
        }
    }
    if page.is_empty() {
        return Err(match (full, listing.any) {
            (true, _) => Status::InfoLengthMismatch,
            (false, true) => Status::NoMoreFiles,
            (false, false) => Status::NoSuchFile,
        });
    }
    Ok((Status::Success, Response::QueryDirectory(Output(page.finish()))))
}

fn fits(pattern: &str, name: &str, wild: bool) -> bool {
    if wild { matches(pattern, &fold(name)) } else { fold(name) == pattern }
}

fn push(page: &mut Page, node: &Node, name: &str) -> bool {
    page.push(&describe::entry(node, name))
}
