//! Who a token speaks for, and which of the operator's assignments are theirs.
//!
//! Ids of different kinds are never compared with each other: an object id is no group, an application's role is for the application
//! itself and not for the users who sign in through it, and an issuer speaks only for its own.

use lazuli_model::roles::{Granted, Role, Scope};

use super::trust::Trust;

/// Whom a role is assigned to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Who {
    /// Everybody whose token is accepted.
    Anyone,
    /// The object id of a user or of a service principal.
    Object(String),
    /// A user: the object id, or the subject where the issuer knows no object ids.
    User(String),
    Group(String),
    /// An application's id, for tokens that it has by itself.
    Application(String),
}

/// A role that somebody has, somewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    pub who: Who,
    /// Whose tokens it is for. `None`: those of every issuer that is trusted.
    pub issuer: Option<String>,
    pub role: Role,
    pub scope: Scope,
}

/// How an issuer knows the holder of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// By object id.
    User,
    /// By the object id of its service principal.
    Application,
    /// Not by object id.
    Other,
}

impl Kind {
    pub const ALL: [Kind; 3] = [Kind::User, Kind::Application, Kind::Other];

    pub fn name(self) -> &'static str {
        match self {
            Kind::User => "user",
            Kind::Application => "app",
            Kind::Other => "other",
        }
    }

    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// Whom a token is about, in its own words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TokenSubject<'a> {
    pub issuer: &'a str,
    pub oid: Option<&'a str>,
    pub sub: Option<&'a str>,
    /// The application that the token was given to.
    pub application: Option<&'a str>,
    /// The token is the application's own: no user is behind it.
    pub app_only: bool,
    pub groups: &'a [String],
}

impl<'a> TokenSubject<'a> {
    /// Whom an issuer once called so.
    pub fn again(issuer: &'a str, kind: Kind, oid: &'a str) -> Self {
        let oid = match kind {
            Kind::User | Kind::Application => Some(oid),
            Kind::Other => None,
        };
        Self { issuer, oid, app_only: kind == Kind::Application, ..Self::default() }
    }

    pub fn kind(&self) -> Kind {
        match (self.oid, self.app_only) {
            (None, _) => Kind::Other,
            (Some(_), true) => Kind::Application,
            (Some(_), false) => Kind::User,
        }
    }

    /// What the operator assigned to them.
    pub fn assigned(&self, trust: &Trust) -> Vec<Granted> {
        let own = trust.assignments.iter().filter(|assignment| self.is(assignment));
        own.map(|one| Granted { role: one.role, scope: one.scope.clone(), lasting: self.is_lasting(&one.who) })
            .collect()
    }

    fn is(&self, assignment: &Assignment) -> bool {
        let of_issuer = assignment.issuer.as_deref().is_none_or(|issuer| same_issuer(issuer, self.issuer));
        of_issuer
            && match &assignment.who {
                Who::Anyone => true,
                Who::Object(id) => self.oid == Some(id),
                Who::User(id) => !self.app_only && self.oid.or(self.sub) == Some(id),
                Who::Group(id) => self.groups.contains(id),
                Who::Application(id) => self.app_only && self.application == Some(id),
            }
    }

    /// Whether the assignment will be found again by [`TokenSubject::again`].
    fn is_lasting(&self, who: &Who) -> bool {
        match who {
            Who::Anyone | Who::Object(_) => true,
            Who::User(_) => self.oid.is_some(),
            Who::Group(_) | Who::Application(_) => false,
        }
    }
}

/// Issuers are written with and without a slash at the end.
pub fn same_issuer(one: &str, other: &str) -> bool {
    one.trim_end_matches('/') == other.trim_end_matches('/')
}
