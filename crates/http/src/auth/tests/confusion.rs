//! Requests that would be signed alike, and are not the same.

use super::*;
use crate::operation::CATALOGUES;

/// A1: whichever of the two would do, and however it is written.
#[test]
fn a_parameter_of_a_sas_comes_once() {
    for Sas { name, url } in SAS {
        let (path, query) = url.split_once('?').expect("a query");
        for pair in query.split('&') {
            let (field, value) = pair.split_once('=').expect("a value");
            if matches!(field, "restype" | "comp" | "snapshot" | "versionid") {
                continue;
            }
            let upper = field.to_uppercase();
            let encoded = format!("%{:02x}{}", field.as_bytes()[0], &field[1..]);
            for again in [pair, &format!("{upper}={value}"), &format!("{encoded}={value}"), &format!("{field}=")] {
                for url in [format!("{path}?{query}&{again}"), format!("{path}?{again}&{query}")] {
                    let said = detail(identify(&head("GET", &url, &[]), &accounts()));
                    assert!(said.contains("more than once"), "{name}: {url}: {said}");
                }
            }
        }
    }
}

/// M2: one line of what is signed is one parameter.
#[test]
fn a_line_end_or_a_colon_makes_no_other_request_of_a_signature() {
    let sign = |service: Service, method: &'static str, path: &str, query: &str, lines: &str| {
        let text = format!(
            "{method}\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:{DATE}\nx-ms-version:2021-08-06\n/{ACCOUNT}/{ACCOUNT}{path}{lines}"
        );
        let authorization = authorized("SharedKey", &text);
        let headers = [("x-ms-date", DATE), ("x-ms-version", "2021-08-06"), ("authorization", authorization.as_str())];
        identify(&head_on(arrival(service, NOW), method, &format!("{PLACE}{path}?{query}"), &headers), &accounts())
    };
    let deletion = "\ntimeout:30\nversionid:V";
    let peek = "\nnumofmessages:1\npeekonly:true";
    let table = [
        (Service::Blob, "DELETE", "/c/b", "timeout=30&versionid=V", deletion, true),
        (Service::Blob, "DELETE", "/c/b", "timeout%3A30%0Aversionid=V", deletion, false),
        (Service::Blob, "DELETE", "/c/b", "timeout=30%0Aversionid%3AV", deletion, false),
        (Service::Queue, "GET", "/q/messages", "peekonly=true&numofmessages=1", peek, true),
        (Service::Queue, "GET", "/q/messages", "numofmessages%3A1%0Apeekonly=true", peek, false),
        (Service::Blob, "GET", "/c/b", "a%3Ab=c", "\na:b:c", false),
        (Service::Blob, "GET", "/c/b", "a=b%3Ac", "\na:b:c", true),
        (Service::Blob, "GET", "/c/b", "a=b%0Dc", "\na:b\rc", false),
        (Service::Blob, "GET", "/c/b", "a%00=b", "\na\0:b", false),
        // Joined by commas, two values are as one.
        (Service::Blob, "GET", "/c/b", "prefix=a,b", "\nprefix:a,b", true),
        (Service::Blob, "GET", "/c/b", "prefix=a&prefix=b", "\nprefix:a,b", false),
        (Service::Blob, "GET", "/c/b", "include=b&include=a", "\ninclude:a,b", true),
    ];
    for (service, method, path, query, lines, good) in table {
        let identity = sign(service, method, path, query, lines);
        assert_eq!(identity.is_ok(), good, "{method} {path}?{query}: {identity:?}");
        if !good {
            assert!(matches!(identity, Err(Refusal::Denied(Denied::AuthenticationFailed { .. }))), "{identity:?}");
        }
    }
}

/// L4: no field of a SAS has a line's end, nor what it signs besides.
#[test]
fn a_field_of_a_sas_is_one_line() {
    let account = SAS.iter().find(|sas| sas.name == "account").expect("an account SAS").url;
    for field in ["ses", "sduoid", "skdutid", "saoid", "suoid", "scid", "snapshot", "VersionId", "rscc", "srk"] {
        for end in ["%0A", "%0d"] {
            let said = detail(identify(&head("GET", &format!("{account}&{field}=a{end}b"), &[]), &accounts()));
            assert!(said.contains("not well formed"), "{field}: {said}");
        }
    }
    for names in ["srq=a%3Ab", "srh=a%3Ab", "srq=a&a=b%0Ac"] {
        let said = detail(identify(&head("GET", &format!("{account}&{names}"), &[]), &accounts()));
        assert!(said.contains("not well formed"), "{names}: {said}");
    }
    // What is not signed may say what it likes.
    assert!(identify(&head("GET", &format!("{account}&prefix=a%0Ab"), &[]), &accounts()).is_ok());
}

/// Eleven lines for one blob are five lines for another, whose name has six.
#[test]
fn a_name_is_not_taken_for_fields() {
    let text = format!("r\n\n2022-08-02\n/{ACCOUNT}/c/b\n\n2013-08-15\n\n\n\n\n");
    for (path, query, good) in [
        ("/c/b", "sp=r&se=2022-08-02&sr=b&sv=2013-08-15", true),
        ("/c/b%0A%0A2013-08-15%0A%0A%0A%0A", "sp=r&se=2022-08-02&sr=b", false),
    ] {
        let identity = identify(&head("GET", &service_sas(path, query, &text), &[]), &accounts());
        assert_eq!(identity.is_ok(), good, "{path}: {identity:?}");
    }
    let text = format!("r\n\n2022-08-02\n/blob/{ACCOUNT}/c/a\nb\n\n\n\n2020-12-06\nb\n\n\n\n\n\n\n");
    let url = service_sas("/c/a%0Ab", "sp=r&se=2022-08-02&sr=b&sv=2020-12-06", &text);
    assert!(identify(&head("GET", &url, &[]), &accounts()).is_ok(), "today a line's end is part of a name");
}

/// M1: a signature for a snapshot or a version opens what acts on that moment.
#[test]
fn a_signature_for_a_moment_opens_that_moment() {
    const MOMENT: &str = "2022-08-01T23:15:21.0293116Z";
    for (sr, field) in [("bs", "snapshot"), ("bv", "versionid")] {
        let sas = |moment: &str| {
            let text = format!(
                "rwdxylacuptfimeo\n\n2022-08-02\n/blob/{ACCOUNT}/c/b\n\n\n\n2020-12-06\n{sr}\n{moment}\n\n\n\n\n\n"
            );
            let path = if moment.is_empty() { "/c/b".to_owned() } else { format!("/c/b?{field}={moment}") };
            service_sas(&path, &format!("sp=rwdxylacuptfimeo&se=2022-08-02&sr={sr}&sv=2020-12-06"), &text)
        };
        assert!(
            detail(identify(&head("GET", &sas(""), &[]), &accounts())).contains("not well formed"),
            "{sr} of nothing"
        );
        let mut open = Vec::new();
        for spec in CATALOGUES[0].served.iter().map(|operation| operation.spec).filter(|spec| spec.on == On::Blob) {
            let head = head(spec.methods[0], &sas(MOMENT), &[]);
            let identity = identify(&head, &accounts()).expect("a good signature");
            match authorize(&identity, spec, &head, None) {
                Ok(_) => open.push(spec.name),
                Err(Denied::AuthorizationResourceTypeMismatch | Denied::AuthorizationFailure) => {}
                Err(other) => panic!("{}: {other:?}", spec.name),
            }
        }
        open.sort_unstable();
        let expected = [
            "DeleteBlob",
            "DeleteBlobImmutabilityPolicy",
            "DeleteBlobPermanently",
            "DeleteBlobVersion",
            "GetBlob",
            "GetBlobMetadata",
            "GetBlobProperties",
            "GetBlobTags",
            "GetBlockList",
            "GetPageRanges",
            "GetPageRangesDiff",
            "QueryBlobContents",
            "SetBlobImmutabilityPolicy",
            "SetBlobLegalHold",
            "SetBlobTags",
            "SetBlobTier",
        ];
        assert_eq!(open, expected, "{sr}");
    }
}

/// L1: a row's key without its partition's bounds nothing, so it is refused; empty is absent.
#[test]
fn rows_are_bounded_within_their_partitions() {
    use lazuli_model::table::Within;
    let judge = |bounds: &str, lines: &str| {
        let text = format!("r\n\n2022-08-02\n/table/{ACCOUNT}/tab\n\n\n\n2020-12-06\n{lines}");
        let url = service_sas("/tab", &format!("sp=r&se=2022-08-02&tn=tab&sv=2020-12-06{bounds}"), &text);
        let head = head_on(arrival(Service::Table, NOW), "GET", &url, &[]);
        let identity = identify(&head, &accounts()).expect("a good signature");
        let spec =
            CATALOGUES[2].served.iter().find(|operation| operation.spec.name == "QueryEntities").expect("it").spec;
        authorize(&identity, spec, &head, None).map(|grant| grant.table.expect("a table").within)
    };
    let edge = |partition: &str, row: Option<&str>| Some((partition.to_owned(), row.map(str::to_owned)));
    assert_eq!(judge("", "\n\n\n"), Ok(Within::default()));
    assert_eq!(judge("&spk=p&srk=1", "p\n1\n\n"), Ok(Within { from: edge("p", Some("1")), to: None }));
    assert_eq!(judge("&epk=p&erk=", "\n\np\n"), Ok(Within { from: None, to: edge("p", None) }));
    assert_eq!(judge("&spk=&epk=", "\n\n\n"), Ok(Within::default()), "as if they were not there");
    for (bounds, lines) in [("&srk=2", "\n2\n\n"), ("&erk=2", "\n\n\n2"), ("&spk=&srk=2", "\n2\n\n")] {
        let refused = judge(bounds, lines);
        assert!(matches!(refused, Err(Denied::AuthenticationFailed { .. })), "{bounds}: {refused:?}");
    }
}

/// L5: nobody chooses which of two counts.
#[test]
fn a_request_has_one_host() {
    let read = |hosts: &[&str]| {
        let mut request = http::Request::builder().uri("/devstoreaccount1/c/b");
        for host in hosts {
            request = request.header("host", *host);
        }
        Head::read(request.body(()).expect("a request").into_parts().0, arrival(Service::Blob, NOW)).map(|_| ())
    };
    assert_eq!(read(&["one"]), Ok(()));
    let refused = Refusal::InvalidHeaderValue { header: "Host".into(), value: "two".into() };
    assert_eq!(read(&["one", "two"]), Err(refused));
}
