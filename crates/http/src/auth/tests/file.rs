//! Signatures for shares and files.

use super::*;
use crate::file::{create_directory, delete_share, get_file, list_files};

// Made with azure-storage-file-share 12.27.1 (generate_file_sas, generate_share_sas).
const FILE: &str = "http://127.0.0.1:10003/devstoreaccount1/s/dir/f.txt?st=2022-08-01T01%3A02%3A03Z&se=2022-08-02T01%3A02%3A03Z&sp=rw&sv=2026-10-06&sr=f&sig=gpL0xmNtoDNnxP%2Bep4S7CyQyCojNgUtODnSkhMjlNvk%3D";
const NAMED: &str = "http://127.0.0.1:10003/devstoreaccount1/s/a%20b%2B%E5%95%8A?se=2022-08-02T01%3A02%3A03Z&sp=r&sv=2026-10-06&sr=f&rscc=no-cache&rsct=text/x&sig=XdI/FY/vaqCFgMa6qh8CGgvKkCdMXE%2B9RbhGdimy1pE%3D";
const SHARE: &str = "http://127.0.0.1:10003/devstoreaccount1/s/dir?restype=directory&comp=list&se=2022-08-02T01%3A02%3A03Z&sp=rl&sv=2026-10-06&sr=s&sig=w15vG4Fkzmld9lB33e3QYquziw4pLUkJp8Xj0COM7II%3D";
const POLICY: &str = "http://127.0.0.1:10003/devstoreaccount1/s/f?sv=2026-10-06&si=policy1&sr=s&sig=ti/jUe0oz7u0nt8i3/MZx1/rbKiHEZ6vy3qodjxkjOQ%3D";

fn on_file(url: &str) -> Head {
    head_on(arrival(Service::File, NOW), "GET", url, &[])
}

#[test]
fn as_the_python_client_signs() {
    for (url, resource) in
        [(FILE, Signed::File), (NAMED, Signed::File), (SHARE, Signed::Share), (POLICY, Signed::Share)]
    {
        match identify(&on_file(url), &accounts()) {
            Ok(Identity::ServiceSas(sas)) => assert_eq!(sas.terms.signed, resource, "{url}"),
            other => panic!("{url}: {other:?}"),
        }
    }
}

/// `sr` is not signed, so nothing may be won by changing it, nor by asking for something else.
#[test]
fn it_opens_nothing_else() {
    for changed in [
        FILE.replace("sr=f", "sr=s"),
        FILE.replace("sr=f", "sr=b"),
        FILE.replace("&sr=f", ""),
        FILE.replace("/f.txt", ""),
        FILE.replace("/f.txt", "/g.txt"),
        FILE.replace("sp=rw", "sp=rwd"),
        SHARE.replace("sr=s", "sr=f"),
        SHARE.replace("/s/dir", "/t/dir"),
        SHARE.replace("sp=rl", "sp=rwl"),
    ] {
        let identity = identify(&on_file(&changed), &accounts());
        assert!(
            matches!(identity, Err(Refusal::Denied(Denied::AuthenticationFailed { .. }))),
            "{changed}: {identity:?}"
        );
    }
}

#[test]
fn letters_and_resources() {
    let judge = |url: &str, spec: &Spec| {
        let head = on_file(url);
        let identity = identify(&head, &accounts()).expect("a good signature");
        authorize(&identity, spec, &head, None).map(|_| ())
    };
    let table = [
        (FILE, &get_file::SPEC, Ok(())),
        (FILE, &list_files::SPEC, Err(Denied::AuthorizationResourceTypeMismatch)),
        (SHARE, &list_files::SPEC, Ok(())),
        (SHARE, &get_file::SPEC, Ok(())),
        (SHARE, &create_directory::SPEC, Err(Denied::AuthorizationPermissionMismatch)),
        (SHARE, &delete_share::SPEC, Err(Denied::AuthorizationFailure)),
    ];
    for (url, spec, expected) in table {
        assert_eq!(judge(url, spec), expected, "{} {url}", spec.name);
    }
}
