//! Every operation of the Data Lake API × who asks × what access control lists say, on the way down and at the end. The rows are the table of
//! operations; one that has no line here fails. What each needs is from "Access control lists (ACLs) in Azure Data Lake Storage", the table of
//! levels. Who may not is refused with 403, and nothing stored has changed.

use lazuli_http::Service;
use lazuli_http::operation::CATALOGUES;
use lazuli_model::AccountName;

use super::signed::{Key, delegation_key, good};
use super::tokens::{bearer, bearer_in, bearer_of};
use super::{ACCOUNT, Sas, VERSION, World, code};

const AGENT: &str = "66666666-6666-6666-6666-666666666666";
const GROUP: &str = "77777777-7777-7777-7777-777777777777";

const R: u8 = 4;
const W: u8 = 2;
const X: u8 = 1;

/// What an operation needs of the root directory, of `d` in it, and of the file `d/f`.
#[derive(Clone, Copy, Debug)]
enum Needs {
    Bits([u8; 3]),
    /// To own what it changes, and to get there: these bits of the directories above it.
    Owner([u8; 2]),
    /// A role: no list says enough.
    Role,
}

/// The request, and what it needs.
struct Case {
    method: &'static str,
    target: &'static str,
    headers: &'static str,
    body: &'static str,
    needs: Needs,
}

fn case(name: &str) -> Case {
    let of = |method, target, headers, needs| Case { method, target, headers, body: "", needs };
    let bits = |root, directory, file| Needs::Bits([root, directory, file]);
    match name {
        "CreatePath" => of("PUT", "/con/d/new?resource=file", "", bits(X, W | X, 0)),
        "RenamePath" => of("PUT", "/con/d/new?mode=legacy", "x-ms-rename-source: /con/d/f\r\n", bits(X, W | X, 0)),
        "DeletePath" => of("DELETE", "/con/d/f?recursive=false", "", bits(X, W | X, 0)),
        "AppendData" => {
            Case { body: "more", ..of("PATCH", "/con/d/f?action=append&position=7", "", bits(X, X, R | W)) }
        }
        "FlushData" => of("PATCH", "/con/d/f?action=flush&position=7", "", bits(X, X, R | W)),
        "ReadPath" => of("GET", "/con/d/f", "", bits(X, X, R)),
        "GetPathProperties" => of("HEAD", "/con/d/f", "", bits(X, X, 0)),
        "GetPathStatus" => of("HEAD", "/con/d/f?action=getStatus", "", bits(X, X, 0)),
        "GetRootStatus" => of("HEAD", "/con?action=getStatus", "", bits(0, 0, 0)),
        "SetPathProperties" => {
            of("PATCH", "/con/d/f?action=setProperties", "x-ms-properties: a=Yg==\r\n", bits(X, X, W))
        }
        "ListPaths" => of("GET", "/con?resource=filesystem&recursive=true&directory=d", "", bits(X, R | X, 0)),
        "GetAccessControl" => of("HEAD", "/con/d/f?action=getAccessControl", "", bits(X, X, 0)),
        "GetRootAccessControl" => of("HEAD", "/con?action=getAccessControl", "", bits(0, 0, 0)),
        "SetAccessControl" => {
            of("PATCH", "/con/d/f?action=setAccessControl", "x-ms-permissions: 0777\r\n", Needs::Owner([X, X]))
        }
        "SetRootAccessControl" => {
            of("PATCH", "/con?action=setAccessControl", "x-ms-permissions: 0777\r\n", Needs::Owner([0, 0]))
        }
        // What it may not change it tells of, and answers 200: see below.
        "SetAccessControlRecursive" => of(
            "PATCH",
            "/con/d/f?action=setAccessControlRecursive&mode=modify",
            "x-ms-acl: other::rwx\r\n",
            Needs::Owner([X, X]),
        ),
        "SetRootAccessControlRecursive" => of(
            "PATCH",
            "/con?action=setAccessControlRecursive&mode=modify",
            "x-ms-acl: other::rwx\r\n",
            Needs::Owner([0, 0]),
        ),
        "LeasePath" => of(
            "POST",
            "/con/d/f",
            "x-ms-lease-action: acquire\r\nx-ms-lease-duration: -1\r\nx-ms-proposed-lease-id: 88888888-8888-8888-8888-888888888888\r\n",
            bits(X, X, W),
        ),
        "CreateFileSystem" => of("PUT", "/new?resource=filesystem", "", Needs::Role),
        "GetFileSystemProperties" => of("HEAD", "/con?resource=filesystem", "", Needs::Role),
        "SetFileSystemProperties" => {
            of("PATCH", "/con?resource=filesystem", "x-ms-properties: a=Yg==\r\n", Needs::Role)
        }
        "DeleteFileSystem" => of("DELETE", "/con?resource=filesystem", "", Needs::Role),
        "ListFileSystems" => of("GET", "/?resource=account", "", Needs::Role),
        "GetFileSystemAccount" => of("HEAD", "/?resource=account", "", Needs::Role),
        other => panic!("{other} has no line here: say what it needs of each level"),
    }
}

/// Who asks, and by which entry of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    Owner,
    Named,
    /// Named, with more than the mask lets through.
    Masked,
    Member,
    Stranger,
    /// The agent of a user delegation SAS, by his own entry.
    Agent,
}

const EVERYBODY: [Who; 6] = [Who::Owner, Who::Named, Who::Masked, Who::Member, Who::Stranger, Who::Agent];

impl Who {
    /// A list that gives so much, and as much as possible to all others.
    fn list(self, bits: u8) -> String {
        let text = |bits: u8| -> String {
            [(R, 'r'), (W, 'w'), (X, 'x')]
                .map(|(bit, letter)| if bits & bit != 0 { letter } else { '-' })
                .iter()
                .collect()
        };
        let own = text(bits);
        match self {
            Who::Owner => format!("user::{own},group::rwx,other::rwx"),
            Who::Named | Who::Agent => format!("user::rwx,user:{AGENT}:{own},group::rwx,mask::rwx,other::rwx"),
            Who::Masked => format!("user::rwx,user:{AGENT}:rwx,group::rwx,mask::{own},other::---"),
            // Of a group that gives less, others are asked as well.
            Who::Member => format!("user::rwx,group::---,group:{GROUP}:{own},mask::rwx,other::---"),
            Who::Stranger => format!("user::rwx,group::rwx,mask::rwx,other::{own}"),
        }
    }

    fn owner(self) -> &'static str {
        if self == Who::Owner { AGENT } else { "$superuser" }
    }
}

/// A file system with `d/f` in it, and lists that say so much at each level.
async fn scene(who: Who, levels: [u8; 3]) -> World {
    let world = World::empty();
    let account = AccountName::parse(ACCOUNT).expect("a name");
    let on = vec![("hierarchical-namespace".to_owned(), "on".to_owned())];
    world.store.set_account(&account, on).await.expect("it is empty");
    world.make(Service::Blob, "PUT", "/con?restype=container", "", "").await;
    world.make(Service::Blob, "PUT", "/con/d/f", "x-ms-blob-type: BlockBlob\r\n", "content").await;
    for (path, bits) in ["/con", "/con/d", "/con/d/f"].into_iter().zip(levels) {
        let headers = format!("x-ms-acl: {}\r\nx-ms-owner: {}\r\n", who.list(bits), who.owner());
        let target = format!("{path}?action=setAccessControl");
        let (status, answer) = world.ask_as_owner(Service::Dfs, "PATCH", &target, &headers, "").await;
        assert_eq!(status, 200, "{answer}");
    }
    world
}

async fn ask(world: &World, case: &Case, credential: &Credential) -> (u16, String) {
    let (joint, header) = match credential {
        Credential::Token(text) => (String::new(), format!("authorization: {text}\r\n")),
        Credential::Query(text) => {
            (format!("{}{text}", if case.target.contains('?') { "&" } else { "?" }), String::new())
        }
    };
    let text = format!(
        "{} /{ACCOUNT}{}{joint} HTTP/1.1\r\nhost: 127.0.0.1\r\nx-ms-version: {VERSION}\r\n{header}{}content-length: {}\r\n\
         connection: close\r\n\r\n{}",
        case.method,
        case.target,
        case.headers,
        case.body.len(),
        case.body
    );
    world.ask(Service::Dfs, &text).await
}

enum Credential {
    Token(String),
    Query(String),
}

fn credential(who: Who, key: Option<Key>) -> Credential {
    match who {
        Who::Owner | Who::Named | Who::Masked | Who::Stranger => Credential::Token(bearer_of(AGENT)),
        Who::Member => Credential::Token(bearer_in(AGENT, GROUP)),
        Who::Agent => {
            let mut sas = good(Service::Dfs, "c", "con", key);
            sas.agent = AGENT.into();
            Credential::Query(sas.query())
        }
    }
}

/// Whether lists that say so much let it happen.
fn may(needs: Needs, who: Who, levels: [u8; 3]) -> bool {
    let has = |needed: &[u8]| needed.iter().zip(levels).all(|(needed, given)| needed & given == *needed);
    match needs {
        Needs::Bits(needed) => has(&needed),
        Needs::Owner(needed) => who == Who::Owner && has(&needed),
        Needs::Role => false,
    }
}

fn states() -> Vec<[u8; 3]> {
    let mut all = vec![[0, R | W | X, R | W], [R | W, R | W | X, R | W]];
    for directory in [0, X, W | X, R | X, R | W, R | W | X] {
        all.extend([0, R, W, R | W].map(|file| [X, directory, file]));
    }
    all
}

#[tokio::test]
async fn lists_say_who_may() {
    let specs: Vec<&str> = CATALOGUES
        .iter()
        .filter(|catalogue| catalogue.name == "DataLake")
        .flat_map(|catalogue| catalogue.served.iter().map(|operation| operation.spec.name))
        .collect();
    let (mut refused, mut done, mut wrong) = (0, 0, Vec::new());
    for who in EVERYBODY {
        for levels in states() {
            let mut world = scene(who, levels).await;
            for name in &specs {
                let case = case(name);
                let key = match who {
                    Who::Agent => Some(delegation_key(&world, Service::Blob, "Storage Blob Data Owner").await),
                    Who::Owner | Who::Named | Who::Masked | Who::Member | Who::Stranger => None,
                };
                let before = world.engine.entries();
                let (status, answer) = ask(&world, &case, &credential(who, key)).await;
                let is_changed = world.engine.entries() != before;
                // What may not be changed is told in the answer, where lists are changed below a path that can be reached.
                let fails_inside = name.contains("Recursive") && answer.contains("\"failureCount\":1");
                match (may(case.needs, who, levels), status) {
                    (true, 401 | 403) => {
                        wrong.push(format!("{name} as {who:?} with {levels:?}: {status} {}", code(&answer)))
                    }
                    (true, _) => done += 1,
                    (false, 403) if !is_changed => refused += 1,
                    (false, 200) if fails_inside && !is_changed => refused += 1,
                    (false, _) => {
                        wrong.push(format!("{name} as {who:?} with {levels:?}: {status}, changed: {is_changed}"))
                    }
                }
                if is_changed {
                    world = scene(who, levels).await;
                }
            }
        }
    }
    println!("{refused} refused, {done} done");
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), wrong.len() + refused + done, wrong.join("\n"));
    assert!(refused > 1000 && done > 500, "{refused} refused, {done} done");
}

/// Roles come first: who has one that says enough is not asked for lists, and who has none that does, is. Keys and what they signed pass them by.
#[tokio::test]
async fn roles_and_keys_pass_lists_by() {
    let shut = [0, 0, 0];
    for (name, credential, passes) in [
        ("ReadPath", Credential::Token(bearer(&["Storage Blob Data Reader"])), true),
        ("ListPaths", Credential::Token(bearer(&["Storage Blob Data Reader"])), true),
        ("AppendData", Credential::Token(bearer(&["Storage Blob Data Reader"])), false),
        ("DeletePath", Credential::Token(bearer(&["Storage Blob Data Reader"])), false),
        ("AppendData", Credential::Token(bearer(&["Storage Blob Data Contributor"])), true),
        ("DeletePath", Credential::Token(bearer(&["Storage Blob Data Contributor"])), true),
        ("RenamePath", Credential::Token(bearer(&["Storage Blob Data Contributor"])), true),
        ("SetAccessControl", Credential::Token(bearer(&["Storage Blob Data Contributor"])), false),
        ("SetAccessControl", Credential::Token(bearer(&["Storage Blob Data Owner"])), true),
        ("DeletePath", Credential::Query(Sas::everything().query()), true),
        ("ReadPath", Credential::Query(good(Service::Dfs, "c", "con", None).query()), true),
    ] {
        let world = scene(Who::Stranger, shut).await;
        let (status, answer) = ask(&world, &case(name), &credential).await;
        assert_eq!(!matches!(status, 401 | 403), passes, "{name}: {status} {}", code(&answer));
    }
}
