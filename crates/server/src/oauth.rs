//! Bearer tokens, as the operator configures them: whose are accepted, where their keys are, and who has which role.
//! Keys are read at the start, every hour, and when a token comes with a key that is not known.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use lazuli_http::auth::{Assignment, Mode, Trust};
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
    if !tls && !flags.oauth_insecure {
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
    let mut trust = Trust::new(mode, issuers);
    trust.insecure = flags.oauth_insecure;
    trust.audiences.clone_from(&flags.oauth_audiences);
    trust.assignments = flags.roles.iter().map(|text| assignment(text)).collect::<Result<_, _>>()?;
    Ok((Some(Arc::new(trust)), sources))
}

fn source(text: &str) -> Result<From, String> {
    if !text.contains("://") {
        return Ok(From::File(text.into()));
    }
    fetch::check(text)?;
    Ok(From::Url(text.into()))
}

/// `WHO=ROLE[@ACCOUNT[/CONTAINER]]`
fn assignment(text: &str) -> Result<Assignment, String> {
    let (principal, rest) = text
        .split_once('=')
        .ok_or_else(|| format!("--role {text}: write WHO=ROLE, as in *=Storage Blob Data Reader@account/container"))?;
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
    Ok(Assignment { principal: principal.into(), role, scope: Scope { account, within } })
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

    #[test]
    fn assignments_are_read() {
        let read =
            |text: &str| assignment(text).map(|one| (one.principal, one.role, one.scope.account, one.scope.within));
        let some = |text: &str| Some(text.to_string());
        assert_eq!(read("*=Storage Blob Data Reader"), Ok(("*".into(), Role::BlobReader, None, None)));
        assert_eq!(
            read("oid=Blob Data Owner@account1/container"),
            Ok(("oid".into(), Role::BlobOwner, some("account1"), some("container")))
        );
        assert_eq!(read("oid=BlobDataOwner@account1"), Ok(("oid".into(), Role::BlobOwner, some("account1"), None)));
        assert!(read("oid").unwrap_err().contains("WHO=ROLE"));
        assert!(read("oid=Wizard").unwrap_err().contains("Storage Blob Data Owner"));
    }
}
