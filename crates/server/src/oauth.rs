//! Bearer tokens, as the operator configures them: whose are accepted, where their keys are, and who has which role.
//! Keys are read at the start, every hour, and when a token comes with a key that is not known.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use lazuli_http::auth::{Assignment, Mode, Trust, Who};
use lazuli_model::roles::{Role, Scope};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::cli::{Flags, Oauth};
use crate::fetch;
use crate::listen::stopped;

/// Issuers publish new keys long before they use them.
const HOURLY: Duration = Duration::from_secs(60 * 60);
/// However many tokens come with keys that nobody has.
const PAUSE: Duration = Duration::from_secs(30);

/// Where the keys of an issuer are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeySource {
    issuer: String,
    from: From,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum From {
    File(PathBuf),
    Url(String),
}

/// `None`: no tokens are accepted. `tls` says whether there is a certificate.
pub fn trust(flags: &Flags, tls: bool) -> Result<(Option<Arc<Trust>>, Vec<KeySource>), String> {
    let mode = match flags.oauth {
        None if flags.oauth_issuers.is_empty() && flags.roles.is_empty() => return Ok((None, Vec::new())),
        None | Some(Oauth::Verify) => Mode::Verified,
        Some(Oauth::Basic) => Mode::Basic,
    };
    if mode == Mode::Verified && flags.oauth_issuers.is_empty() {
        return Err("--oauth verify needs --oauth-issuer ISSUER=KEYS; --oauth basic accepts any well-formed token of Microsoft's issuers \
                    without checking its signature, for development"
            .into());
    }
    // Azurite starts, and refuses such tokens when they come.
    if !tls && !flags.oauth_insecure && !flags.program.is_azurite() {
        return Err("bearer tokens are secrets and need HTTPS: give --cert and --key, or --oauth-insecure to accept them on plain \
                    HTTP"
            .into());
    }
    let mut issuers = Vec::new();
    let mut sources = Vec::new();
    for text in &flags.oauth_issuers {
        let (issuer, keys) = text.split_once('=').map_or((text.as_str(), None), |(issuer, keys)| (issuer, Some(keys)));
        issuers.push(issuer.to_string());
        match keys {
            Some(keys) => sources.push(KeySource { issuer: issuer.into(), from: source(keys)? }),
            None if mode == Mode::Basic => {}
            None => {
                return Err(format!("--oauth-issuer {text}: write ISSUER=KEYS, where KEYS is a JWKS file or its URL"));
            }
        }
    }
    let assignments = flags.roles.iter().map(|text| assignment(text, mode, &issuers)).collect::<Result<_, _>>()?;
    let mut trust = Trust::new(mode, issuers);
    trust.insecure = flags.oauth_insecure;
    trust.audiences.clone_from(&flags.oauth_audiences);
    trust.assignments = assignments;
    Ok((Some(Arc::new(trust)), sources))
}

fn source(text: &str) -> Result<From, String> {
    if !text.contains("://") {
        return Ok(From::File(text.into()));
    }
    fetch::check(text)?;
    Ok(From::Url(text.into()))
}

/// `WHO[@ISSUER]=ROLE[@ACCOUNT[/CONTAINER]]`
fn assignment(text: &str, mode: Mode, issuers: &[String]) -> Result<Assignment, String> {
    let (principal, rest) = text
        .split_once('=')
        .ok_or_else(|| format!("--role {text}: write WHO=ROLE, as in *=Storage Blob Data Reader@account/container"))?;
    let (who, issuer) = principal_of(principal).ok_or_else(|| {
        format!("--role {text}: WHO is an object id, user:ID, group:ID, app:APPLICATION-ID, or * for everybody")
    })?;
    match &issuer {
        None if issuers.len() > 1 && who != Who::Anyone => {
            return Err(format!(
                "--role {text}: there are several issuers, and each may call somebody so; say whom you mean, as in {principal}@{}=…",
                issuers[0]
            ));
        }
        Some(issuer) if mode == Mode::Verified && !issuers.iter().any(|other| same(other, issuer)) => {
            return Err(format!("--role {text}: {issuer} is none of the issuers given with --oauth-issuer"));
        }
        Some(_) | None => {}
    }
    let (role, scope) = rest.split_once('@').map_or((rest, None), |(role, scope)| (role, Some(scope)));
    let role = Role::parse(role).ok_or_else(|| {
        let names: Vec<_> = Role::all().map(Role::name).collect();
        format!("--role {text}: there is no role {role:?}; there are {}", names.join(", "))
    })?;
    let (account, within) = match scope.map(|scope| scope.split_once('/').unwrap_or((scope, ""))) {
        None => (None, None),
        Some((account, within)) => {
            (Some(account.to_string()), Some(within.to_string()).filter(|name| !name.is_empty()))
        }
    };
    Ok(Assignment { who, issuer, role, scope: Scope { account, within } })
}

/// Who, and which issuer calls them so. An issuer is a URL.
fn principal_of(text: &str) -> Option<(Who, Option<String>)> {
    let at = text.find("@https://").or_else(|| text.find("@http://"));
    let (who, issuer) = at.map_or((text, None), |at| (&text[..at], Some(text[at + 1..].to_string())));
    let named = |id: &str| Some(id.to_string()).filter(|id| !id.is_empty());
    let who = match who.split_once(':') {
        Some(("user", id)) => Who::User(named(id)?),
        Some(("group", id)) => Who::Group(named(id)?),
        Some(("app", id)) => Who::Application(named(id)?),
        Some(_) => return None,
        None if who == "*" => Who::Anyone,
        None => Who::Object(named(who)?),
    };
    Some((who, issuer))
}

fn same(one: &str, other: &str) -> bool {
    one.trim_end_matches('/') == other.trim_end_matches('/')
}

/// Reads all keys. A file that is not there is a mistake; an issuer that does not answer may do so later.
pub async fn load(trust: &Trust, sources: &[KeySource]) -> Result<(), String> {
    for source in sources {
        match (read(trust, source).await, &source.from) {
            (Ok(_), _) => {}
            (Err(why), From::File(file)) => {
                return Err(format!("--oauth-issuer {}: {}: {why}", source.issuer, file.display()));
            }
            (Err(why), From::Url(url)) => {
                tracing::warn!(issuer = source.issuer, url, why, "no keys of a token issuer, for now")
            }
        }
    }
    Ok(())
}

async fn read(trust: &Trust, source: &KeySource) -> Result<usize, String> {
    let set = match &source.from {
        From::File(file) => std::fs::read(file).map_err(|error| error.to_string())?,
        From::Url(url) => fetch::get(url).await?,
    };
    trust.set_keys(&source.issuer, &set).map_err(|bad| bad.to_string())
}

/// Reads the keys again, until the stop.
pub async fn refresh(trust: Arc<Trust>, sources: Vec<KeySource>, mut stop: watch::Receiver<bool>) {
    let turning = async {
        loop {
            // Asked for or not: it is time.
            let _ = timeout(HOURLY, trust.keys_wanted()).await;
            for source in &sources {
                if let Err(why) = read(&trust, source).await {
                    tracing::warn!(issuer = source.issuer, why, "the keys of a token issuer could not be read again");
                }
            }
            pause().await;
        }
    };
    tokio::select! {
        () = turning => {}
        () = stopped(&mut stop) => {}
    }
}

#[expect(clippy::disallowed_methods, reason = "work in the background")]
async fn pause() {
    tokio::time::sleep(PAUSE).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "https://login.example/one/v2.0";
    const TWO: &str = "https://login.example/two/v2.0";

    fn read(text: &str, issuers: &[&str]) -> Result<Assignment, String> {
        let issuers: Vec<String> = issuers.iter().map(ToString::to_string).collect();
        assignment(text, Mode::Verified, &issuers)
    }

    #[test]
    fn assignments_are_read() {
        let one = |text: &str| read(text, &[ONE]).map(|one| (one.who, one.role, one.scope.account, one.scope.within));
        let some = |text: &str| Some(text.to_string());
        let object = |id: &str| Who::Object(id.into());
        assert_eq!(one("*=Storage Blob Data Reader"), Ok((Who::Anyone, Role::BlobReader, None, None)));
        assert_eq!(
            one("oid=Blob Data Owner@account1/container"),
            Ok((object("oid"), Role::BlobOwner, some("account1"), some("container")))
        );
        assert_eq!(one("oid=BlobDataOwner@account1"), Ok((object("oid"), Role::BlobOwner, some("account1"), None)));
        assert!(one("oid").unwrap_err().contains("WHO=ROLE"));
        assert!(one("oid=Wizard").unwrap_err().contains("Storage Blob Data Owner"));
    }

    /// M3: an assignment says of which kind its id is, and whose.
    #[test]
    fn assignments_are_typed_and_name_their_issuer() {
        let who =
            |text: &str| read(&format!("{text}=BlobDataReader@a/c"), &[ONE, TWO]).map(|one| (one.who, one.issuer));
        let two = || Some(TWO.to_string());
        let table = [
            ("user:u", Who::User("u".into())),
            ("group:g", Who::Group("g".into())),
            ("app:a", Who::Application("a".into())),
            ("oid", Who::Object("oid".into())),
            ("someone@example.com", Who::Object("someone@example.com".into())),
        ];
        for (text, expected) in table {
            assert_eq!(who(&format!("{text}@{TWO}")), Ok((expected.clone(), two())), "{text}");
            assert!(who(text).unwrap_err().contains("several issuers"), "{text}");
            let alone = read(&format!("{text}=BlobDataReader"), &[ONE]).map(|one| (one.who, one.issuer));
            assert_eq!(alone, Ok((expected, None)), "{text}");
        }
        assert_eq!(who("*"), Ok((Who::Anyone, None)));
        assert_eq!(who(&format!("*@{TWO}/")), Ok((Who::Anyone, Some(format!("{TWO}/")))));
        assert!(who("oid@https://login.example/three").unwrap_err().contains("none of the issuers"));
        for bad in ["user:", "robot:x", ""] {
            assert!(who(&format!("{bad}@{ONE}")).unwrap_err().contains("WHO is"), "{bad}");
        }
    }
}
