//! Bearer tokens: every operation with every role that must not do it, and with tokens that nobody believes.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use lazuli_http::operation::{CATALOGUES, On};
use lazuli_http::{Service, Spec};
use lazuli_model::roles::Role;

use super::{Credential, ISSUER, Request, World, code, service};

const AUDIENCE: &str = "https://storage.azure.com/";
const LATER: &str = "4070908800";

/// A token of somebody who has these roles.
pub fn bearer(roles: &[&str]) -> String {
    let roles: Vec<String> = roles.iter().map(|role| format!("\"{role}\"")).collect();
    token(ISSUER, AUDIENCE, LATER, &roles.join(","))
}

fn token(issuer: &str, audience: &str, expiry: &str, roles: &str) -> String {
    token_of("11111111-1111-1111-1111-111111111111", issuer, audience, expiry, roles)
}

/// Of somebody who has what the operator assigned.
pub fn bearer_of(oid: &str) -> String {
    token_of(oid, ISSUER, AUDIENCE, LATER, "")
}

/// Of a member of a group.
pub fn bearer_in(oid: &str, group: &str) -> String {
    of_claims(&format!(r#""iss":"{ISSUER}","aud":"{AUDIENCE}","exp":{LATER},"oid":"{oid}","groups":["{group}"]"#))
}

fn token_of(oid: &str, issuer: &str, audience: &str, expiry: &str, roles: &str) -> String {
    of_claims(&format!(r#""iss":"{issuer}","aud":"{audience}","exp":{expiry},"oid":"{oid}","roles":[{roles}]"#))
}

fn of_claims(claims: &str) -> String {
    let claims = format!(r#"{{{claims},"tid":"22222222-2222-2222-2222-222222222222"}}"#);
    let encode = |text: &str| BASE64_URL_SAFE_NO_PAD.encode(text);
    format!("Bearer {}.{}.{}", encode(r#"{"alg":"ES256","typ":"JWT"}"#), encode(&claims), encode("unsigned"))
}

fn ask_as(spec: &'static Spec, authorization: String) -> String {
    let mut request = Request::of(spec);
    // Files are shown to tokens only where the request says that it goes round their own permissions.
    request.headers.push(("x-ms-file-request-intent".into(), "backup".into()));
    request.text(&Credential::Header(authorization))
}

/// Tokens with any claims about the caller, or for another audience.
fn is_for_anybody(spec: &Spec) -> bool {
    let is_account = spec.restype == Some("account") || spec.name == "GetFileSystemAccount";
    is_account || spec.comp == Some("batch") || spec.on == On::Batch
}

/// Whether the documentation of the role leaves no doubt that it may not.
fn barred(role: Option<Role>, of: Service, spec: &Spec) -> bool {
    let delegates = spec.comp == Some("userdelegationkey");
    let of_service = spec.on == On::Service && spec.restype == Some("service") && !delegates;
    let writes = spec.writes() && spec.comp != Some("query");
    let Some(role) = role else { return !is_for_anybody(spec) };
    if is_for_anybody(spec) {
        return false;
    }
    let own = match role {
        Role::AccountContributor => {
            let data = [On::Blob, On::Messages, On::Message, On::Entities, On::Entity, On::Directory, On::File];
            // The rights of a table are asked for as if they were its entities.
            return data.contains(&spec.on) && spec.comp.is_none();
        }
        Role::BlobOwner | Role::BlobContributor | Role::BlobReader | Role::BlobDelegator => Service::Blob,
        Role::QueueContributor | Role::QueueReader | Role::QueueDelegator => Service::Queue,
        Role::QueueProcessor | Role::QueueSender => Service::Queue,
        Role::TableContributor | Role::TableReader | Role::TableDelegator => Service::Table,
        Role::FileContributor | Role::FileReader | Role::FileDelegator => Service::File,
    };
    let of = if of == Service::Dfs { Service::Blob } else { of };
    if of != own || of_service {
        return true;
    }
    match role {
        Role::BlobDelegator | Role::QueueDelegator | Role::TableDelegator | Role::FileDelegator => !delegates,
        // A session can do no more than its maker.
        Role::BlobReader => writes && !delegates && spec.comp != Some("session"),
        Role::QueueReader | Role::TableReader | Role::FileReader => writes,
        Role::QueueSender => spec.name != "PutMessage",
        Role::QueueProcessor => !matches!(spec.name, "PeekMessages" | "GetMessages" | "DeleteMessage"),
        Role::BlobContributor => {
            matches!(spec.comp, Some("acl" | "immutabilityPolicies" | "legalhold")) || spec.name.contains("SetAccess")
        }
        Role::AccountContributor | Role::BlobOwner | Role::QueueContributor => false,
        Role::TableContributor | Role::FileContributor => false,
    }
}

#[tokio::test]
async fn no_role_does_more_than_it_says() {
    let world = World::new().await;
    let before = world.engine.entries();
    let (mut tried, mut wrong) = (0, Vec::new());
    for role in Role::all().map(Some).chain([None]) {
        let name = role.map(Role::name);
        let authorization = bearer(name.as_slice());
        for catalogue in CATALOGUES {
            let of = service(catalogue.name);
            for spec in catalogue.served.iter().map(|operation| operation.spec).filter(|spec| barred(role, of, spec)) {
                let (status, answer) = world.ask(of, &ask_as(spec, authorization.clone())).await;
                tried += 1;
                if status != 403 {
                    wrong.push(format!("{} as {name:?}: {status} {}", spec.name, code(&answer)));
                }
            }
        }
        assert!(world.engine.entries() == before, "{name:?} changed something");
    }
    println!("{tried} requests refused");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(tried > 1500, "only {tried} were tried");
}

#[tokio::test]
async fn roles_do_what_they_say() {
    let table = [
        (Role::AccountContributor, "CreateContainer"),
        (Role::BlobOwner, "SetBlobTags"),
        (Role::BlobContributor, "DeleteBlob"),
        (Role::BlobReader, "GetBlob"),
        (Role::BlobReader, "ListBlobs"),
        (Role::QueueContributor, "ClearMessages"),
        (Role::QueueReader, "PeekMessages"),
        (Role::QueueProcessor, "GetMessages"),
        (Role::QueueSender, "PutMessage"),
        (Role::TableContributor, "DeleteEntity"),
        (Role::TableReader, "QueryEntities"),
        (Role::FileContributor, "DeleteFile"),
        (Role::FileReader, "GetFile"),
        (Role::BlobOwner, "SetAccessControl"),
        (Role::BlobContributor, "CreatePath"),
        (Role::BlobContributor, "DeletePath"),
        (Role::BlobReader, "ListPaths"),
        (Role::BlobReader, "GetAccessControl"),
    ];
    let mut seen = 0;
    for catalogue in CATALOGUES {
        let of = service(catalogue.name);
        for spec in catalogue.served.iter().map(|operation| operation.spec) {
            for (role, _) in table.iter().filter(|(_, name)| *name == spec.name) {
                assert!(!barred(Some(*role), of, spec), "{role:?} and {}", spec.name);
                let world = World::new().await;
                let (status, answer) = world.ask(of, &ask_as(spec, bearer(&[role.name()]))).await;
                assert!(!matches!(status, 401 | 403), "{} as {role:?}: {status} {}", spec.name, code(&answer));
                seen += 1;
            }
        }
    }
    assert_eq!(seen, table.len(), "operations have other names");
}

#[tokio::test]
async fn tokens_that_nobody_believes_do_not_do() {
    let world = World::new().await;
    let before = world.engine.entries();
    let everything: Vec<String> = Role::all().map(|role| format!("\"{}\"", role.name())).collect();
    let everything = everything.join(",");
    let tokens = [
        ("an expired token", token(ISSUER, AUDIENCE, "1600000000", &everything)),
        ("a token for others", token(ISSUER, "https://graph.microsoft.com/", LATER, &everything)),
        ("a token for another account", token(ISSUER, "https://other.blob.core.windows.net/", LATER, &everything)),
        ("a token of a stranger", token("https://evil.example/", AUDIENCE, LATER, &everything)),
    ];
    let mut wrong = Vec::new();
    for catalogue in CATALOGUES {
        let of = service(catalogue.name);
        for spec in catalogue.served.iter().map(|operation| operation.spec) {
            for (what, token) in &tokens {
                let (status, answer) = world.ask(of, &ask_as(spec, token.clone())).await;
                if !matches!(status, 401 | 403) {
                    wrong.push(format!("{} with {what}: {status} {}", spec.name, code(&answer)));
                }
            }
        }
        assert!(world.engine.entries() == before, "a token that nobody believes changed something");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
