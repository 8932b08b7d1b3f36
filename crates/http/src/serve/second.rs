//! The other resources that a request names besides the one of its URL: the source of a copy or a rename, the target of a link, an
//! earlier snapshot, what is restored.
//!
//! Held true here:
//! * an operation learns such a name only if its row in the table declares it ([`Ask::naming`]);
//! * the resource is touched only when all the rights that the row asks for are there ([`Edge::admit_second`]);
//! * a resource that brings no credential of its own is judged by the request's. A signature for one resource is then checked again, over
//!   the other resource, so it opens that one only if it covers both.

use std::sync::Arc;

use http::header::AUTHORIZATION;
use lazuli_model::account::Transport;

use super::{Ask, Edge};
use crate::auth::{self, Grant, Identity};
use crate::head::{Head, Query, Service, Target};
use crate::operation::{By, On, Second, Spec};
use crate::refusal::{Denied, Failure, Refusal};

/// How a request names another resource.
#[derive(Clone, Copy)]
pub struct Naming<'a> {
    pub text: &'a str,
    pub second: &'static Second,
}

impl Naming<'_> {
    /// What is said of a name that names nothing.
    pub fn invalid(&self) -> Refusal {
        let value = self.text.to_owned();
        match self.second.by.header() {
            Some(header) => Refusal::InvalidHeaderValue { header: header.into(), value },
            None => Refusal::InvalidQueryParameterValue { name: PREVIOUS.into(), value, reason: "".into() },
        }
    }
}

const PREVIOUS: &str = "prevsnapshot";

impl Ask {
    /// What the request names in this way, if its operation declares that it may.
    pub fn naming(&self, by: By) -> Option<Naming<'_>> {
        let second = self.spec.seconds.iter().find(|second| second.by == by)?;
        let text = match by.header() {
            Some(_) => std::str::from_utf8(self.head.headers.naming(by)?.as_bytes()).ok()?.trim(),
            None => self.head.query.get(PREVIOUS)?,
        };
        (!text.is_empty()).then_some(Naming { text, second })
    }

    /// As [`Ask::naming`], for a header that must be there.
    pub fn required_naming(&self, by: By) -> Result<Naming<'_>, Refusal> {
        self.naming(by).ok_or(Refusal::MissingRequiredHeader { header: by.header().unwrap_or(PREVIOUS).into() })
    }

    /// Whether `target`, of the same account and service, may be touched as `second` says. `query` is that of the address it was named
    /// by, which may hold a SAS of its own.
    pub async fn permit_second(&self, second: &Second, target: Target, query: &str) -> Result<(), Failure> {
        let mut head = Head { target, ..self.head.clone() };
        let query = Query::parse(query)?;
        let token = second.by.authorization().and_then(|name| self.head.headers.get(name));
        let identity = if query.get("sig").is_some() || token.is_some() {
            head.query = Arc::new(query.into());
            head.headers.remove(AUTHORIZATION);
            token.into_iter().for_each(|token| head.headers.insert(AUTHORIZATION, token.clone()));
            auth::identify(&head, &self.edge.accounts)?
        } else {
            self.own_identity(&head)?
        };
        auth::permit_intent(&identity, &head)?;
        let grant = self.edge.admit_second(second, &identity, &head).await?;
        // Lists are asked for the caller of the request; another's are not looked at.
        if grant.by_lists && !(self.grant.by_lists && identity == self.identity) {
            return Err(Denied::AuthorizationPermissionMismatch.into());
        }
        Ok(())
    }

    /// Who the request's own credential proves to be where `head` is asked for.
    fn own_identity(&self, head: &Head) -> Result<Identity, Refusal> {
        match &self.identity {
            Identity::Owner | Identity::AccountSas(_) | Identity::Token(_) | Identity::Anonymous => {
                Ok(self.identity.clone())
            }
            // What the service says of a rename whose source it was given no SAS for (observed).
            Identity::ServiceSas(_) | Identity::Delegated(..) => {
                auth::identify(head, &self.edge.accounts).map_err(|_| Denied::AuthorizationFailure.into())
            }
        }
    }
}

impl Edge {
    /// Whether the source of a copy may be read, by what it was named with. `owned`: a source that names nobody is the owner's.
    pub(crate) async fn admit_source(&self, second: &Second, head: &Head, owned: bool) -> Result<Grant, Failure> {
        self.accounts.learn(&head.account, &self.store).await?;
        // The source's account is reached from where the request came from, and over its connection.
        if let Some(account) = self.accounts.get(&head.account) {
            account.settings().permit_network(head.peer)?;
            if !head.secure {
                account.settings().permit_transport(&head.account, Transport::Plain)?;
            }
        }
        let named = head.query.get("sig").is_some() || head.text("authorization").is_some();
        let identity = if owned && !named { Identity::Owner } else { auth::identify(head, &self.accounts)? };
        self.admit_second(second, &identity, head).await
    }

    /// Whether `identity` may do to `head`'s resource all that `second` asks for.
    async fn admit_second(&self, second: &Second, identity: &Identity, head: &Head) -> Result<Grant, Failure> {
        let openness = if identity.needs_record() { self.openness(head).await? } else { None };
        let mut grant = Err(Denied::AuthorizationFailure);
        for spec in second.judged_as.iter().filter(|spec| is_of(spec, head.service)) {
            grant = Ok(auth::authorize(identity, spec, head, openness.as_ref())?);
        }
        Ok(grant?)
    }
}

fn is_of(spec: &Spec, service: Service) -> bool {
    match spec.on {
        On::Container | On::Blob => matches!(service, Service::Blob | Service::Dfs),
        On::Share | On::Directory | On::File => service == Service::File,
        On::Queue | On::Messages | On::Message => service == Service::Queue,
        On::Tables | On::Table | On::Entities | On::Entity | On::Batch => service == Service::Table,
        On::Service => false,
    }
}
