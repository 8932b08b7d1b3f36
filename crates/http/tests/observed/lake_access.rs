//! Data Lake Storage: reads, access control, lists, deletes, and what the Blob endpoint of such an account says.

use crate::client::{ACCOUNT, Client, accounts, start};
use crate::lake::{FUTURE, LEASE, PAST, V, head, table, with_file_system};
use crate::{Headers, done, element};
use lazuli_http::Service;

const NONE: Headers<'static> = &[];
const USER: &str = "7f2e2f52-a4b8-4e0e-a2c0-9e9f0a1b2c3d";

#[tokio::test]
async fn l8_reads_say_whose_it_is() {
    let (mut dfs, mut blob, _) = with_file_system().await;
    done(&mut dfs, V, ("PUT", "/tree/d/f?resource=file", &[], "")).await;
    let rows: &[(&str, &str, bool)] = &[
        ("2019-12-12", "x-ms-owner", false),
        ("2020-06-12", "x-ms-owner", true),
        ("2020-06-12", "x-ms-permissions", true),
        ("2020-08-04", "x-ms-resource-type", false),
        ("2020-10-02", "x-ms-resource-type", true),
        // "DataLakePathClient.GetProperties" of the .NET changelog for 2023-11-03.
        ("2023-08-03", "x-ms-acl", false),
        ("2023-11-03", "x-ms-acl", true),
    ];
    for (version, name, told) in rows {
        for (method, target) in [("GET", "/tree/d/f"), ("HEAD", "/tree/d/f"), ("HEAD", "/tree/d")] {
            let seen = done(&mut blob, version, (method, target, &[], "")).await;
            assert_eq!(seen.header(name).is_some(), *told, "{version} {method} {target} {name}");
        }
    }
    let directory = head(&mut blob, "/tree/d").await;
    for (name, value) in [
        ("content-length", "0"),
        ("x-ms-blob-type", "BlockBlob"),
        ("x-ms-meta-hdi_isfolder", "true"),
        ("x-ms-resource-type", "directory"),
        ("x-ms-lease-state", "available"),
        ("x-ms-access-tier-inferred", "true"),
    ] {
        assert_eq!(directory.header(name), Some(value), "{name}");
    }
    let read = done(&mut blob, V, ("GET", "/tree/d/f", &[], "")).await;
    assert_eq!(read.header("x-ms-access-tier"), None, "only HEAD has a tier");
    let range = [("x-ms-range", "bytes=0-1"), ("x-ms-version", V)];
    let refused = blob.send("GET", "/tree/d/f", &range, b"").await;
    assert_eq!((refused.status, refused.header("content-range")), (416, Some("bytes */0")));
}

#[tokio::test]
async fn l9_l10_l13_l14_access_control() {
    let (mut dfs, mut blob, _) = with_file_system().await;
    done(&mut dfs, V, ("PUT", "/tree/f?resource=file", &[], "")).await;
    let before = head(&mut blob, "/tree/f").await.header("etag").unwrap_or_default().to_owned();
    let set = "/tree/f?action=setAccessControl";
    let rows: &[(Headers<'_>, &str, &str)] = &[
        (&[("x-ms-permissions", "rw---x--T")], "rw---x--T", "user::rw-,group::--x,other::---"),
        (&[("x-ms-permissions", "0777")], "rwxrwxrwx", "user::rwx,group::rwx,other::rwx"),
        (
            &[("x-ms-acl", "user::rwx,group::r--,other::---,mask::rwx")],
            "rwxrwx---+",
            "user::rwx,group::r--,mask::rwx,other::---",
        ),
        (&[("x-ms-owner", USER), ("x-ms-acl", "")], "rwxrwx---+", "user::rwx,group::r--,mask::rwx,other::---"),
    ];
    for (headers, permissions, acl) in rows {
        let answer = done(&mut dfs, V, ("PATCH", set, headers, "")).await;
        assert_eq!(answer.header("etag"), Some(before.as_str()), "{headers:?}");
        assert_eq!(answer.header("x-ms-namespace-enabled"), Some("true"));
        let seen = head(&mut dfs, "/tree/f?action=getAccessControl&upn=false").await;
        assert_eq!((seen.header("x-ms-permissions"), seen.header("x-ms-acl")), (Some(*permissions), Some(*acl)));
    }
    assert_eq!(head(&mut dfs, "/tree/f?action=getAccessControl").await.header("x-ms-owner"), Some(USER));
    let mode = ("x-ms-permissions", "0777");
    table(
        &mut dfs,
        V,
        &[
            (("PATCH", set, &[("x-ms-permissions", "asdf")], ""), 400, "InvalidPermission"),
            (("PATCH", set, &[("x-ms-acl", "asdf")], ""), 400, "InvaldAccessControlList"),
            (("PATCH", set, &[mode, ("if-match", "\"0x8D000000000000\"")], ""), 412, "ConditionNotMet"),
            (("PATCH", set, &[mode, ("if-none-match", &before)], ""), 412, "ConditionNotMet"),
            (("PATCH", set, &[mode, ("if-modified-since", FUTURE)], ""), 412, "ConditionNotMet"),
            (("PATCH", set, &[mode, ("if-unmodified-since", PAST)], ""), 412, "ConditionNotMet"),
            (("PATCH", set, &[mode, ("x-ms-lease-id", LEASE)], ""), 412, "LeaseNotPresent"),
            (("HEAD", "/tree/none?action=getAccessControl", NONE, ""), 404, "PathNotFound"),
            (("DELETE", "/tree/f", &[("if-none-match", &before)], ""), 412, "ConditionNotMet"),
            (("DELETE", "/tree/f", &[("if-modified-since", FUTURE)], ""), 412, "ConditionNotMet"),
            (("PUT", "/tree/f?resource=file", &[("if-none-match", &before)], ""), 412, "ConditionNotMet"),
        ],
    )
    .await;
    table(
        &mut blob,
        V,
        &[
            (("HEAD", "/tree/f", &[("if-none-match", &before)], ""), 304, "ConditionNotMet"),
            (("PUT", "/tree/f?comp=metadata", &[("if-none-match", &before)], ""), 412, "ConditionNotMet"),
            (("PUT", "/tree/f?comp=properties", &[("if-modified-since", FUTURE)], ""), 412, "ConditionNotMet"),
        ],
    )
    .await;
    // A child changes nothing of its directory.
    done(&mut dfs, V, ("PUT", "/tree/d?resource=directory", &[], "")).await;
    let before = head(&mut blob, "/tree/d").await.header("etag").unwrap_or_default().to_owned();
    done(&mut dfs, V, ("PUT", "/tree/d/x?resource=file", &[], "")).await;
    done(&mut dfs, V, ("DELETE", "/tree/d/x", &[], "")).await;
    assert_eq!(head(&mut blob, "/tree/d").await.header("etag"), Some(before.as_str()));
}

#[tokio::test]
async fn l11_access_control_below_a_directory() {
    let (mut dfs, _, _) = with_file_system().await;
    for name in ["d/a", "d/b", "d/e/f", "d/e/g"] {
        done(&mut dfs, V, ("PUT", &format!("/tree/{name}?resource=file"), &[], "")).await;
    }
    let at = "/tree/d?action=setAccessControlRecursive&mode=modify&maxRecords=2";
    let entry = format!("user:{USER}:rwx");
    let acl = [("x-ms-acl", entry.as_str())];
    let mut next = String::new();
    let mut sums = Vec::new();
    loop {
        let target = format!("{at}&continuation={next}");
        let answer = done(&mut dfs, V, ("PATCH", &target, &acl, "")).await;
        let seen = (answer.header("content-type"), answer.header("x-ms-namespace-enabled"), answer.header("etag"));
        assert_eq!(seen, (None, Some("true"), None));
        sums.push(answer.text());
        match answer.header("x-ms-continuation") {
            Some(more) => next = more.replace('+', "%2B").replace('/', "%2F").replace('=', "%3D"),
            None => break,
        }
    }
    let expected = [(1, 1), (1, 1), (0, 2)].map(|(directories, files)| {
        format!(
            "{{\"directoriesSuccessful\":{directories},\"failedEntries\":[],\"failureCount\":0,\"filesSuccessful\":{files}}}\n"
        )
    });
    assert_eq!(sums, expected, "the directory itself, then depth first by name");
    let seen = head(&mut dfs, "/tree/d/e/g?action=getAccessControl").await;
    assert!(seen.header("x-ms-acl").is_some_and(|acl| acl.contains(&entry)));
    let remove = [("x-ms-acl", "mask,user:7f2e2f52-a4b8-4e0e-a2c0-9e9f0a1b2c3d")];
    table(
        &mut dfs,
        V,
        &[
            (("PATCH", "/tree/d?action=setAccessControlRecursive&mode=remove", &remove, ""), 200, ""),
            (("PATCH", "/tree/none?action=setAccessControlRecursive&mode=set", &acl, ""), 404, "PathNotFound"),
            (("PATCH", &format!("{at}&continuation=garbage"), &acl, ""), 500, "InternalError"),
        ],
    )
    .await;
}

#[tokio::test]
async fn l12_paths_under_a_customers_key() {
    let (mut dfs, mut blob, _) = with_file_system().await;
    let key = [
        ("x-ms-encryption-key", "MDEyMzQ1NjcwMTIzNDU2NzAxMjM0NTY3MDEyMzQ1Njc="),
        ("x-ms-encryption-key-sha256", "3QFFFpRA5+XANHqwwbT4yXDmrT/2JaLt/FKHjzhOdoE="),
        ("x-ms-encryption-algorithm", "AES256"),
    ];
    for target in ["/tree/f?resource=file", "/tree/d?resource=directory"] {
        let made = done(&mut dfs, V, ("PUT", target, &key, "")).await;
        assert_eq!(made.header("x-ms-encryption-key-sha256"), Some(key[1].1), "{target}");
    }
    done(&mut dfs, V, ("PUT", "/tree/plain?resource=file", &[], "")).await;
    let append = "/tree/f?action=append&position=0";
    table(
        &mut dfs,
        V,
        &[
            (("PATCH", append, NONE, "x"), 409, "BlobUsesCustomerSpecifiedEncryption"),
            (("PATCH", append, &key, "x"), 202, ""),
            (("PATCH", "/tree/f?action=flush&position=1", NONE, ""), 409, "BlobUsesCustomerSpecifiedEncryption"),
            (
                ("PATCH", "/tree/plain?action=append&position=0", &key, "x"),
                409,
                "BlobDoesNotUseCustomerSpecifiedEncryption",
            ),
            (("HEAD", "/tree/f?action=getAccessControl", NONE, ""), 200, ""),
            (("PUT", "/tree/g?mode=legacy", &[("x-ms-rename-source", "/tree/f")], ""), 201, ""),
        ],
    )
    .await;
    let flushed = done(&mut dfs, V, ("PATCH", "/tree/g?action=flush&position=1", &key, "")).await;
    assert_eq!(flushed.header("x-ms-request-server-encrypted"), Some("true"));
    let lease = [("x-ms-lease-action", "acquire"), ("x-ms-lease-duration", "15")];
    table(
        &mut blob,
        V,
        &[
            (("GET", "/tree/g", NONE, ""), 409, "BlobUsesCustomerSpecifiedEncryption"),
            (("HEAD", "/tree/g", &key, ""), 200, ""),
            (("PUT", "/tree/g?comp=metadata", NONE, ""), 409, "BlobUsesCustomerSpecifiedEncryption"),
            (("PUT", "/tree/g?comp=properties", NONE, ""), 200, ""),
            (("PUT", "/tree/g?comp=lease", &lease, ""), 201, ""),
        ],
    )
    .await;
}

#[tokio::test]
async fn l15_delete_and_undelete() {
    let (mut dfs, mut blob, server) = with_file_system().await;
    for name in ["f", "d/x", "d/y"] {
        done(&mut dfs, V, ("PUT", &format!("/tree/{name}?resource=file"), &[], "")).await;
    }
    done(&mut dfs, V, ("PUT", "/tree/empty?resource=directory", &[], "")).await;
    table(
        &mut dfs,
        V,
        &[
            (("DELETE", "/tree/d?recursive=false", NONE, ""), 409, "DirectoryNotEmpty"),
            (("DELETE", "/tree/empty", NONE, ""), 200, ""),
            (("DELETE", "/tree/f", &[("x-ms-lease-id", LEASE)], ""), 412, "LeaseNotPresent"),
            (("DELETE", "/tree/none", NONE, ""), 404, "PathNotFound"),
            (("DELETE", "/none/f", NONE, ""), 404, "FilesystemNotFound"),
        ],
    )
    .await;
    let gone = done(&mut dfs, V, ("DELETE", "/tree/d?recursive=true", &[], "")).await;
    let seen = (gone.status, gone.header("content-length"), gone.header("x-ms-delete-type-permanent"));
    assert_eq!(seen, (200, Some("0"), Some("true")));
    server.set(&[("blob-soft-delete", "7")]).await;
    let before = head(&mut blob, "/tree/f").await.header("etag").unwrap_or_default().to_owned();
    let kept = done(&mut dfs, V, ("DELETE", "/tree/f", &[], "")).await;
    assert_eq!(kept.header("x-ms-delete-type-permanent"), Some("false"));
    let id = kept.header("x-ms-deletion-id").unwrap_or_default().to_owned();
    let list = done(&mut blob, V, ("GET", "/tree?restype=container&comp=list&showonly=deleted", &[], "")).await.text();
    assert_eq!(element(&list, "DeletionId"), Some(id.as_str()), "{list}");
    assert_eq!((element(&list, "RemainingRetentionDays"), element(&list, "ResourceType")), (Some("6"), Some("file")));
    assert!(list.contains("<Expiry-Time>") && !list.contains("<LeaseStatus>") && list.contains("<OrMetadata />"));
    let source = format!("?deletionid={id}");
    let back = done(&mut blob, V, ("PUT", "/tree/f?comp=undelete", &[("x-ms-undelete-source", &source)], "")).await;
    assert_eq!((back.status, back.header("x-ms-resource-type")), (200, Some("file")));
    assert_eq!(head(&mut blob, "/tree/f").await.header("etag"), Some(before.as_str()));
}

#[tokio::test]
async fn l16_lists() {
    let (mut dfs, _, _) = with_file_system().await;
    for name in ["d/b", "d/a/x", "z"] {
        done(&mut dfs, V, ("PUT", &format!("/tree/{name}?resource=file"), &[], "")).await;
    }
    let names = |text: &str| -> Vec<String> {
        text.split("\"name\":\"").skip(1).map(|rest| rest.split('"').next().unwrap_or_default().to_owned()).collect()
    };
    for (query, expected) in [
        ("recursive=true", vec!["d", "d/a", "d/a/x", "d/b", "z"]),
        ("recursive=false", vec!["d", "z"]),
        ("recursive=true&directory=d", vec!["d/a", "d/a/x", "d/b"]),
        ("recursive=false&directory=d", vec!["d/a", "d/b"]),
    ] {
        let list = done(&mut dfs, V, ("GET", &format!("/tree?resource=filesystem&{query}"), &[], "")).await;
        assert_eq!(names(&list.text()), expected, "{query}");
    }
    let page = done(&mut dfs, V, ("GET", "/tree?resource=filesystem&recursive=true&maxResults=2", &[], "")).await;
    assert!(page.header("x-ms-continuation").is_some());
    for (version, created, expires) in
        [("2019-12-12", false, false), ("2020-02-10", true, false), ("2021-02-12", true, true)]
    {
        let list = done(&mut dfs, version, ("GET", "/tree?resource=filesystem&recursive=false", &[], "")).await.text();
        assert_eq!((list.contains("creationTime"), list.contains("expiryTime")), (created, expires), "{version}");
    }
    let list = done(&mut dfs, V, ("GET", "/tree?resource=filesystem&recursive=false", &[], "")).await.text();
    let order = ["contentLength", "creationTime", "etag", "expiryTime", "group", "isDirectory", "lastModified", "name"];
    let places: Vec<_> = order.iter().map(|member| list.find(member)).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{list}");
    assert_eq!(list.matches("isDirectory").count(), 1, "only of directories: {list}");
    let missing = "/none?resource=filesystem&recursive=true";
    table(&mut dfs, V, &[(("GET", missing, NONE, ""), 404, "FilesystemNotFound")]).await;
}

#[tokio::test]
async fn l17_expiry() {
    let (mut dfs, mut blob, _) = with_file_system().await;
    let made = done(&mut dfs, V, ("PUT", "/tree/f?resource=file", &[], "")).await;
    let expire = [("x-ms-expiry-option", "Absolute"), ("x-ms-expiry-time", FUTURE)];
    let set = done(&mut blob, V, ("PUT", "/tree/f?comp=expiry", &expire, "")).await;
    assert_eq!((set.status, set.header("etag")), (200, made.header("etag")));
    assert_eq!(head(&mut blob, "/tree/f").await.header("x-ms-expiry-time"), Some(FUTURE));
    done(&mut blob, V, ("PUT", "/tree/f?comp=expiry", &[("x-ms-expiry-option", "NeverExpire")], "")).await;
    assert_eq!(head(&mut blob, "/tree/f").await.header("x-ms-expiry-time"), None);
    table(&mut blob, V, &[(("PUT", "/tree/none?comp=expiry", &expire, ""), 404, "BlobNotFound")]).await;
}

#[tokio::test]
async fn l18_the_blob_host_of_such_an_account() {
    let (mut dfs, mut blob, _) = with_file_system().await;
    let block = [("x-ms-blob-type", "BlockBlob")];
    done(&mut blob, V, ("PUT", "/tree/d/b", &block, "x")).await;
    assert_eq!(head(&mut blob, "/tree/d").await.header("x-ms-resource-type"), Some("directory"), "parents are made");
    let list = done(&mut blob, V, ("GET", "/tree?restype=container&comp=list&delimiter=/", &[], "")).await.text();
    let prefix = element(&list, "BlobPrefix").unwrap_or_default();
    for part in
        ["<ResourceType>directory</ResourceType>", "<Content-Type />", "<AccessTierInferred>true", "<LeaseState>"]
    {
        assert!(prefix.contains(part), "{part}: {prefix}");
    }
    done(&mut blob, V, ("PUT", "/tree/d?comp=metadata", &[("x-ms-meta-a", "b")], "")).await;
    let seen = head(&mut blob, "/tree/d").await;
    assert_eq!((seen.header("x-ms-meta-a"), seen.header("x-ms-meta-hdi_isfolder")), (Some("b"), Some("true")));
    let page = [("x-ms-blob-type", "PageBlob"), ("x-ms-blob-content-length", "512")];
    done(&mut blob, V, ("PUT", "/tree/page", &page, "")).await;
    done(&mut blob, V, ("PUT", "/tree/append", &[("x-ms-blob-type", "AppendBlob")], "")).await;
    for target in ["/tree/page", "/tree/append"] {
        assert_eq!(head(&mut blob, target).await.header("x-ms-access-tier-inferred"), Some("true"), "{target}");
    }
    let query =
        "<QueryRequest><QueryType>SQL</QueryType><Expression>SELECT _1 FROM BlobStorage</Expression></QueryRequest>";
    let answer = blob.send("POST", "/tree/d/b?comp=query", &[("x-ms-version", V)], query.as_bytes()).await;
    assert_eq!((answer.header("x-ms-resource-type"), answer.header("x-ms-lease-state")), (Some("file"), None));
    done(&mut dfs, V, ("DELETE", "/tree/d?recursive=true", &[], "")).await;
}

#[tokio::test]
async fn l19_flat_accounts() {
    let server = start();
    let (mut dfs, mut blob) = (Client::to_service(&server, Service::Dfs), Client::to(&server));
    done(&mut dfs, V, ("PUT", "/tree?resource=filesystem", &[], "")).await;
    done(&mut dfs, V, ("PUT", "/tree/d?resource=directory", &[], "")).await;
    done(&mut dfs, V, ("PUT", "/tree/d/f?resource=file", &[], "")).await;
    done(&mut dfs, V, ("PATCH", "/tree/d/f?action=append&position=0", &[], "hello")).await;
    done(&mut dfs, V, ("PATCH", "/tree/d/f?action=flush&position=5", &[], "")).await;
    let seen = head(&mut blob, "/tree/d").await;
    assert_eq!((seen.header("x-ms-meta-hdi_isfolder"), seen.header("x-ms-owner")), (Some("true"), None));
    let list = done(&mut dfs, V, ("GET", "/tree?resource=filesystem&recursive=true", &[], "")).await.text();
    assert!(list.contains("\"creationTime\":\"") && list.contains(" GMT\""), "a date: {list}");
    for member in ["owner", "group", "permissions", "expiryTime"] {
        assert!(!list.contains(member), "{member}: {list}");
    }
}

/// A SAS for a directory, as deep as it is.
fn directory_sas(path: &str, depth: &str, permissions: &str) -> String {
    let (version, end) = ("2020-02-10", "2099-01-01T00:00:00Z");
    let resource = format!("/blob/{ACCOUNT}/tree{path}");
    let text = format!("{permissions}\n\n{end}\n{resource}\n\n\n\n{version}\nd\n\n\n\n\n\n");
    let signature = accounts().get(ACCOUNT).unwrap().sign(text.as_bytes());
    let signature = signature.replace('+', "%2B").replace('/', "%2F").replace('=', "%3D");
    format!("sv={version}&sr=d&sdd={depth}&sp={permissions}&se={end}&sig={signature}")
}

#[tokio::test]
async fn l20_a_signature_for_a_directory() {
    let (mut dfs, _, server) = with_file_system().await;
    for name in ["a/b/f", "a/c", "x"] {
        done(&mut dfs, V, ("PUT", &format!("/tree/{name}?resource=file"), &[], "")).await;
    }
    let (deep, whole) = (directory_sas("/a", "1", "rl"), directory_sas("", "0", "rl"));
    let list =
        |sas: &str, directory: &str| format!("/tree?resource=filesystem&recursive=true&directory={directory}&{sas}");
    let mut guest = Client::unsigned_to(&server, Service::Dfs);
    table(
        &mut guest,
        V,
        &[
            (("HEAD", &format!("/tree/a/b/f?{deep}"), NONE, ""), 200, ""),
            (("GET", &list(&deep, "a"), NONE, ""), 200, ""),
            (("GET", &list(&deep, "a/b"), NONE, ""), 200, ""),
            (("GET", &list(&deep, ""), NONE, ""), 403, "AuthenticationFailed"),
            (("HEAD", &format!("/tree/x?{deep}"), NONE, ""), 403, "AuthenticationFailed"),
            (("GET", &list(&whole, ""), NONE, ""), 200, ""),
            (("DELETE", &format!("/tree/a/c?{deep}"), NONE, ""), 403, "AuthorizationPermissionMismatch"),
        ],
    )
    .await;
}
