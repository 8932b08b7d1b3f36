//! Service SAS: signed for one container, blob or queue (later table, share or file). The string that is signed
//! has grown with the versions; `sv` says which form it has. "Create a service SAS" is the source.

use lazuli_model::access::{Letters, Terms};
use lazuli_model::authorize::Signed;
use lazuli_model::{Refusal, Version};

use super::failed;
use super::parameters::unbroken;
use super::sas::{SIGNS_SCOPE, check_source, field, malformed, matches, mismatch, times};
use crate::accounts::Account;
use crate::head::{Head, Service, Target};

const HAS_VERSION: Version = Version::new(2012, 2, 12);
const HAS_RESPONSE_HEADERS: Version = Version::new(2013, 8, 15);
const NAMES_THE_SERVICE: Version = Version::new(2015, 2, 21);
const HAS_ADDRESS_AND_PROTOCOL: Version = Version::new(2015, 4, 5);
const SIGNS_RESOURCE: Version = Version::new(2018, 11, 9);
const HAS_DIRECTORIES: Version = Version::new(2020, 2, 10);

/// A verified service SAS. Times and letters may still come from the policy it names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceSas {
    pub version: Version,
    pub terms: Terms,
    pub overrides: Overrides,
}

/// Response headers that the SAS sets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    pub cache_control: Option<String>,
    pub content_disposition: Option<String>,
    pub content_encoding: Option<String>,
    pub content_language: Option<String>,
    pub content_type: Option<String>,
}

pub fn verify(head: &Head, account: &Account, signature: &str) -> Result<ServiceSas, Refusal> {
    let version = match field(head, "sv") {
        "" => Version::OLDEST,
        text => Version::parse(text).ok_or_else(malformed)?,
    };
    let resource = resource(head, version)?;
    unbroken(head)?;
    let text = string_to_sign(head, version, &canonical(head, version, resource)?, resource);
    if !(matches(account, &text, signature) || root_directory(head, account, version, resource, signature)) {
        return Err(mismatch(&text));
    }
    let terms = Terms {
        signed: resource,
        letters: match field(head, "sp") {
            "" => None,
            text => Some(Letters::parse(text).ok_or_else(malformed)?),
        },
        times: times(head)?,
        policy: Some(field(head, "si")).filter(|id| !id.is_empty()).map(str::to_owned),
    };
    if terms.policy.is_none() {
        terms.in_force(&[], head.wall)?;
    }
    check_source(head)?;
    Ok(ServiceSas { version, terms, overrides: overrides(head, version) })
}

/// The signature of the service SAS whose other fields are in the query, for what the path names.
pub fn sign(head: &Head, account: &Account) -> Result<String, Refusal> {
    let version = Version::parse(field(head, "sv")).ok_or_else(malformed)?;
    let resource = resource(head, version)?;
    unbroken(head)?;
    let text = string_to_sign(head, version, &canonical(head, version, resource)?, resource);
    Ok(account.sign(text.as_bytes()))
}

/// Before 2018-11-09 the kind of resource was not signed, so nobody may then choose one that reaches further: a blob's
/// signature must not open the directory of the same name.
pub(super) fn resource(head: &Head, version: Version) -> Result<Signed, Refusal> {
    let resource = kind(head)?;
    let since = match resource {
        Signed::Snapshot | Signed::Version => SIGNS_RESOURCE,
        Signed::Directory => HAS_DIRECTORIES,
        Signed::Blob | Signed::Container | Signed::Share | Signed::File | Signed::Other => Version::OLDEST,
    };
    // A signature for a moment names it.
    let named = match resource {
        Signed::Snapshot | Signed::Version => !moment(head, resource).is_empty(),
        Signed::Blob | Signed::Container | Signed::Directory | Signed::Share | Signed::File | Signed::Other => true,
    };
    if version >= since && named { Ok(resource) } else { Err(malformed()) }
}

fn kind(head: &Head) -> Result<Signed, Refusal> {
    match (head.service, field(head, "sr")) {
        (Service::Blob | Service::Dfs, "b") => Ok(Signed::Blob),
        (Service::Blob | Service::Dfs, "bs") => Ok(Signed::Snapshot),
        (Service::Blob | Service::Dfs, "bv") => Ok(Signed::Version),
        (Service::Blob | Service::Dfs, "c") => Ok(Signed::Container),
        (Service::Blob | Service::Dfs, "d") => Ok(Signed::Directory),
        (Service::Blob | Service::Dfs, "") => Err(failed("sr is mandatory. Cannot be empty")),
        (Service::Blob | Service::Dfs, _) => Err(malformed()),
        (Service::File, "s") => Ok(Signed::Share),
        (Service::File, "f") => Ok(Signed::File),
        (Service::File, "") => Err(failed("sr is mandatory. Cannot be empty")),
        (Service::File, _) => Err(malformed()),
        (Service::Queue | Service::Table, _) => Ok(Signed::Other),
    }
}

/// `/blob/account/container/blob`, decoded; what of the path is signed depends on the resource.
pub(super) fn canonical(head: &Head, version: Version, resource: Signed) -> Result<String, Refusal> {
    let service = match head.service {
        Service::Blob | Service::Dfs => "/blob",
        Service::Queue => "/queue",
        Service::Table => "/table",
        Service::File => "/file",
    };
    let service = if version >= NAMES_THE_SERVICE { service } else { "" };
    let account = &head.account;
    let outside = || failed("Signature did not match. The signature is for another kind of resource than the request.");
    let path = match (resource, &head.target) {
        // Rule B26.
        (_, Target::Service) if head.service != Service::Table => {
            return Err(failed("The specified signed resource is not allowed for this resource level"));
        }
        (Signed::Container, Target::Container(container) | Target::Blob { container, .. }) => container.clone(),
        (Signed::Blob | Signed::Snapshot | Signed::Version, Target::Blob { container, blob }) => {
            format!("{container}/{blob}")
        }
        (Signed::Directory, Target::Blob { container, blob }) => format!("{container}/{}", directory(head, blob)?),
        // What is listed is in the query; any other call is about the root directory.
        (Signed::Directory, Target::Container(container)) if crate::lake::is_call(head) => {
            let lists = head.method == http::Method::GET;
            let within = head.query.get("directory").filter(|_| lists).unwrap_or_default();
            format!("{container}/{}", directory(head, within.trim_start_matches('/'))?)
        }
        (Signed::Other, _) if head.service == Service::Table => field(head, "tn").to_ascii_lowercase(),
        (Signed::Other, Target::Container(name)) => name.clone(),
        (Signed::Other, Target::Queue(queue) | Target::Messages(queue) | Target::Message { queue, .. }) => {
            queue.clone()
        }
        (Signed::Other, Target::Blob { container, blob }) => format!("{container}/{blob}"),
        (Signed::Share, Target::Share(share) | Target::Path { share, .. }) => share.clone(),
        (Signed::File, Target::Path { share, path }) => format!("{share}/{path}"),
        (Signed::Blob | Signed::Snapshot | Signed::Version | Signed::Directory, Target::Container(_))
        | (Signed::Share | Signed::File, Target::Container(_) | Target::Blob { .. })
        | (_, Target::Share(_) | Target::Path { .. })
        | (_, Target::Service | Target::Queue(_) | Target::Messages(_) | Target::Message { .. } | Target::Table(_)) => {
            return Err(outside());
        }
    };
    // A blob's name may end with a slash; a directory's is signed without.
    let path = if resource == Signed::Directory { path.trim_end_matches('/') } else { &path };
    // A name may have line ends. While the lines did not say their service, a longer form with a short name was a shorter one with a long.
    if version < NAMES_THE_SERVICE && path.contains(['\n', '\r']) {
        return Err(malformed());
    }
    Ok(format!("{service}/{account}/{path}"))
}

/// The first `sdd` segments of the blob's name.
fn directory<'a>(head: &Head, blob: &'a str) -> Result<&'a str, Refusal> {
    let depth: usize = field(head, "sdd").parse().map_err(|_| malformed())?;
    if depth == 0 {
        return Ok("");
    }
    let segments = blob.split('/').filter(|segment| !segment.is_empty()).count();
    if segments < depth {
        return Err(failed("Signature did not match. The signed directory is deeper than the request's path."));
    }
    Ok(blob.match_indices('/').nth(depth - 1).map_or(blob, |(end, _)| &blob[..end]))
}

/// The root directory (`sdd=0`) is signed with a slash at the end by some clients and without it by others.
fn root_directory(head: &Head, account: &Account, version: Version, resource: Signed, signature: &str) -> bool {
    if resource != Signed::Directory || field(head, "sdd") != "0" {
        return false;
    }
    let canonical = canonical(head, version, resource).map(|text| text + "/");
    canonical.is_ok_and(|text| matches(account, &string_to_sign(head, version, &text, resource), signature))
}

pub(super) const RESPONSE_HEADERS: [&str; 5] = ["rscc", "rscd", "rsce", "rscl", "rsct"];

fn string_to_sign(head: &Head, version: Version, canonical: &str, resource: Signed) -> String {
    let blob = matches!(head.service, Service::Blob | Service::Dfs);
    let mut fields: Vec<&str> = Vec::with_capacity(16);
    fields.extend([field(head, "sp"), field(head, "st"), field(head, "se"), canonical, field(head, "si")]);
    if version >= HAS_ADDRESS_AND_PROTOCOL {
        fields.extend([field(head, "sip"), field(head, "spr")]);
    }
    if version >= HAS_VERSION {
        fields.push(field(head, "sv"));
    }
    if blob && version >= SIGNS_RESOURCE {
        fields.extend([field(head, "sr"), moment(head, resource)]);
        if version >= SIGNS_SCOPE {
            fields.push(field(head, "ses"));
        }
    }
    match head.service {
        Service::Blob | Service::Dfs | Service::File if version >= HAS_RESPONSE_HEADERS => {
            fields.extend(RESPONSE_HEADERS.map(|name| field(head, name)));
        }
        Service::Table => fields.extend(["spk", "srk", "epk", "erk"].map(|name| field(head, name))),
        Service::Blob | Service::Dfs | Service::File | Service::Queue => {}
    }
    fields.join("\n")
}

/// The snapshot or version that the signature is for.
pub(super) fn moment(head: &Head, resource: Signed) -> &str {
    match resource {
        Signed::Snapshot => field(head, "snapshot"),
        Signed::Version => field(head, "versionid"),
        Signed::Blob | Signed::Container | Signed::Directory | Signed::Other | Signed::Share | Signed::File => "",
    }
}

pub(super) fn overrides(head: &Head, version: Version) -> Overrides {
    if version < HAS_RESPONSE_HEADERS {
        return Overrides::default();
    }
    let [cache_control, content_disposition, content_encoding, content_language, content_type] =
        RESPONSE_HEADERS.map(|name| head.query.get(name).map(str::to_owned));
    Overrides { cache_control, content_disposition, content_encoding, content_language, content_type }
}
