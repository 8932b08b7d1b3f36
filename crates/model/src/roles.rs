//! Azure's built-in roles for data, as a table: which role may do what. "Azure built-in roles for Storage" and the reference's
//! "Permissions for calling data operations" are the sources.

use serde::{Deserialize, Serialize};

/// What an operation does, as role definitions name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Known to anyone who has any role here: account information, the outside of a batch.
    Any,
    /// Properties of a service. Management, which no role for data includes.
    ServiceRead,
    ServiceWrite,
    /// Get User Delegation Key.
    Delegate(Data),
    ContainerRead,
    ContainerWrite,
    ContainerDelete,
    ContainerAcl,
    BlobRead,
    BlobWrite,
    BlobAdd,
    BlobDelete,
    BlobFilter,
    BlobTags,
    BlobDeleteVersion,
    /// Owners, permissions and immutability.
    BlobOwn,
    QueueRead,
    QueueWrite,
    QueueDelete,
    QueueAcl,
    MessageRead,
    MessageAdd,
    MessageUpdate,
    /// Take a message and delete it.
    MessageProcess,
    MessageClear,
    TableRead,
    TableWrite,
    TableDelete,
    EntityRead,
    EntityAdd,
    EntityUpdate,
    EntityUpsert,
    EntityDelete,
    FileRead,
    FileWrite,
    FileDelete,
    FilePermissions,
}

/// A service's kind of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Data {
    Blob,
    Queue,
    Table,
    File,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Role {
    AccountContributor,
    BlobOwner,
    BlobContributor,
    BlobReader,
    BlobDelegator,
    QueueContributor,
    QueueReader,
    QueueProcessor,
    QueueSender,
    QueueDelegator,
    TableContributor,
    TableReader,
    TableDelegator,
    FileContributor,
    FileReader,
    FileDelegator,
}

use Role::*;

/// Names and ids, as Azure has them. Ids of the delegators other than Blob's are not published.
const ROLES: &[(Role, &str, &str)] = &[
    (AccountContributor, "Storage Account Contributor", "17d1049b-9a84-46fb-8f53-869881c3d3ab"),
    (BlobOwner, "Storage Blob Data Owner", "b7e6dc6d-f1e8-4753-8033-0f276bb0955b"),
    (BlobContributor, "Storage Blob Data Contributor", "ba92f5b4-2d11-453d-a403-e96b0029c9fe"),
    (BlobReader, "Storage Blob Data Reader", "2a2b9908-6ea1-4ae2-8e65-a410df84e7d1"),
    (BlobDelegator, "Storage Blob Delegator", "db58b8e5-c6ad-4a2a-8342-4190687cbf4a"),
    (QueueContributor, "Storage Queue Data Contributor", "974c5e8b-45b9-4653-ba55-5f855dd0fb88"),
    (QueueReader, "Storage Queue Data Reader", "19e7f393-937e-4f77-808e-94535e297925"),
    (QueueProcessor, "Storage Queue Data Message Processor", "8a0f0c08-91a1-4084-bc3d-661d67233fed"),
    (QueueSender, "Storage Queue Data Message Sender", "c6a89b2d-59bc-44d0-9896-0f6e12d7b80a"),
    (QueueDelegator, "Storage Queue Delegator", ""),
    (TableContributor, "Storage Table Data Contributor", "0a9a7e1f-b9d0-4cc4-a60d-0319b160aaa3"),
    (TableReader, "Storage Table Data Reader", "76199698-9eea-4c19-bc75-cec21354c6b6"),
    (TableDelegator, "Storage Table Delegator", ""),
    (FileContributor, "Storage File Data Privileged Contributor", "69566ab7-960f-475b-8e7c-b3118f30c6bd"),
    (FileReader, "Storage File Data Privileged Reader", "b8eda974-7b85-4f76-af95-65846b26df6d"),
    (FileDelegator, "Storage File Delegator", ""),
];

impl Role {
    /// By name (in any case, with or without `Storage` and blanks) or id.
    pub fn parse(text: &str) -> Option<Self> {
        let plain = |text: &str| {
            let plain: String =
                text.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
            plain.strip_prefix("storage").map(str::to_owned).unwrap_or(plain)
        };
        let wanted = plain(text);
        let found = ROLES.iter().find(|(_, name, id)| plain(name) == wanted || (!id.is_empty() && plain(id) == wanted));
        found.map(|(role, ..)| *role)
    }

    pub fn all() -> impl Iterator<Item = Role> {
        ROLES.iter().map(|(role, ..)| *role)
    }

    pub fn name(self) -> &'static str {
        ROLES.iter().find(|(role, ..)| *role == self).map_or("", |(_, name, _)| name)
    }

    /// The table. A new action does not compile until its row is written.
    pub fn allows(self, action: Action) -> bool {
        let may: &[Role] = match action {
            Action::Any => return true,
            Action::ServiceRead | Action::ServiceWrite => &[AccountContributor],
            Action::Delegate(Data::Blob) => {
                &[AccountContributor, BlobOwner, BlobContributor, BlobReader, BlobDelegator]
            }
            Action::Delegate(Data::Queue) => &[AccountContributor, QueueContributor, QueueDelegator],
            Action::Delegate(Data::Table) => &[AccountContributor, TableContributor, TableDelegator],
            Action::Delegate(Data::File) => &[AccountContributor, FileContributor, FileDelegator],
            Action::ContainerRead => &[AccountContributor, BlobOwner, BlobContributor, BlobReader],
            Action::ContainerWrite | Action::ContainerDelete => &[AccountContributor, BlobOwner, BlobContributor],
            Action::ContainerAcl => &[AccountContributor, BlobOwner],
            Action::BlobRead => &[BlobOwner, BlobContributor, BlobReader],
            Action::BlobWrite | Action::BlobAdd | Action::BlobDelete => &[BlobOwner, BlobContributor],
            Action::BlobFilter | Action::BlobTags | Action::BlobDeleteVersion | Action::BlobOwn => &[BlobOwner],
            Action::QueueRead => &[AccountContributor, QueueContributor, QueueReader],
            Action::QueueWrite | Action::QueueDelete => &[AccountContributor, QueueContributor],
            Action::QueueAcl => &[AccountContributor],
            Action::MessageRead => &[QueueContributor, QueueReader, QueueProcessor],
            Action::MessageAdd => &[QueueContributor, QueueSender],
            Action::MessageUpdate | Action::MessageClear => &[QueueContributor],
            Action::MessageProcess => &[QueueContributor, QueueProcessor],
            Action::TableRead => &[AccountContributor, TableContributor, TableReader],
            Action::TableWrite | Action::TableDelete => &[AccountContributor, TableContributor],
            Action::EntityRead => &[TableContributor, TableReader],
            Action::EntityAdd | Action::EntityUpdate | Action::EntityUpsert | Action::EntityDelete => {
                &[TableContributor]
            }
            Action::FileRead => &[FileContributor, FileReader],
            Action::FileWrite | Action::FileDelete | Action::FilePermissions => &[FileContributor],
        };
        may.contains(&self)
    }
}

/// Where an assignment holds: everywhere, in an account, or in one container, queue, table or share of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    pub account: Option<String>,
    pub within: Option<String>,
}

impl Scope {
    pub fn covers(&self, account: &str, within: Option<&str>) -> bool {
        let same =
            |scope: &Option<String>, asked: Option<&str>| scope.as_deref().is_none_or(|name| asked == Some(name));
        same(&self.account, Some(account)) && same(&self.within, within)
    }
}

/// A role that somebody has, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Granted {
    pub role: Role,
    pub scope: Scope,
    /// It will be found again by the object id alone.
    pub lasting: bool,
}

impl Granted {
    /// Whether one of the roles allows an action there.
    pub fn any_allows(roles: &[Granted], action: Action, account: &str, within: Option<&str>) -> bool {
        roles.iter().any(|granted| granted.role.allows(action) && granted.scope.covers(account, within))
    }
}

/// What a delegation key may have been given by someone whose roles are not looked up again: each service's distinct sets of roles.
/// A key is derived from the set, so a SAS can do no more than its maker could.
pub fn levels(data: Data) -> &'static [&'static [Role]] {
    match data {
        Data::Blob => &[&[], &[BlobOwner], &[BlobContributor], &[BlobReader]],
        Data::Queue => &[
            &[],
            &[QueueContributor],
            &[QueueReader],
            &[QueueProcessor],
            &[QueueSender],
            &[QueueReader, QueueProcessor],
            &[QueueReader, QueueSender],
            &[QueueProcessor, QueueSender],
            &[QueueReader, QueueProcessor, QueueSender],
        ],
        Data::Table => &[&[], &[TableContributor], &[TableReader]],
        Data::File => &[&[], &[FileContributor], &[FileReader]],
    }
}

/// The greatest level that `roles` come to.
pub fn level(data: Data, roles: &[Role]) -> usize {
    let levels = levels(data);
    // The first of the levels with one role is the one that includes all others.
    if levels[1].iter().all(|role| roles.contains(role)) {
        return 1;
    }
    let held = |level: &&[Role]| level.iter().all(|role| roles.contains(role));
    let best = |at: &usize| (levels[*at].len(), std::cmp::Reverse(*at));
    (0..levels.len()).filter(|at| held(&levels[*at])).max_by_key(best).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_are_known_by_name_and_id() {
        for (role, name, id) in ROLES {
            assert_eq!(Role::parse(name), Some(*role));
            assert_eq!(Role::parse(&name.replace(' ', "").to_uppercase()), Some(*role));
            assert_eq!(Role::parse(name.strip_prefix("Storage ").unwrap()), Some(*role));
            if !id.is_empty() {
                assert_eq!(Role::parse(id), Some(*role));
            }
            assert_eq!(role.name(), *name);
        }
        assert_eq!(Role::parse("Storage Wizard"), None);
        assert_eq!(Role::parse(""), None);
    }

    #[test]
    fn who_may_what() {
        for (role, may, may_not) in [
            (BlobReader, Action::BlobRead, Action::BlobWrite),
            (BlobReader, Action::Delegate(Data::Blob), Action::ContainerWrite),
            (BlobContributor, Action::BlobDelete, Action::BlobTags),
            (BlobOwner, Action::BlobTags, Action::ServiceWrite),
            (BlobDelegator, Action::Delegate(Data::Blob), Action::BlobRead),
            (QueueSender, Action::MessageAdd, Action::MessageRead),
            (QueueProcessor, Action::MessageProcess, Action::MessageAdd),
            (TableReader, Action::EntityRead, Action::EntityAdd),
            (FileReader, Action::FileRead, Action::FileWrite),
            (AccountContributor, Action::ServiceWrite, Action::BlobRead),
        ] {
            assert!(role.allows(may), "{role:?} {may:?}");
            assert!(!role.allows(may_not), "{role:?} {may_not:?}");
        }
    }

    #[test]
    fn a_level_is_never_more_than_the_roles() {
        for data in [Data::Blob, Data::Queue, Data::Table, Data::File] {
            for (at, roles) in levels(data).iter().enumerate() {
                assert_eq!(level(data, roles), at, "{roles:?}");
            }
            let all: Vec<Role> = Role::all().collect();
            assert_eq!(level(data, &all), 1);
            assert_eq!(level(data, &[]), 0);
        }
        assert_eq!(level(Data::Blob, &[BlobReader, BlobContributor]), 2);
    }

    #[test]
    fn scopes_cover() {
        let scope = |account: &str, within: &str| Scope {
            account: Some(account.to_owned()).filter(|text| !text.is_empty()),
            within: Some(within.to_owned()).filter(|text| !text.is_empty()),
        };
        for (scope, account, within, covered) in [
            (scope("", ""), "a", None, true),
            (scope("a", ""), "a", Some("c"), true),
            (scope("a", ""), "b", Some("c"), false),
            (scope("a", "c"), "a", Some("c"), true),
            (scope("a", "c"), "a", Some("d"), false),
            (scope("a", "c"), "a", None, false),
        ] {
            assert_eq!(scope.covers(account, within), covered, "{scope:?} {account} {within:?}");
        }
    }
}
