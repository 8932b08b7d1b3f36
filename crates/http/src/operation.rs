//! What an operation is: data. Routing, SAS permissions, limits, the conditional headers it takes, and the list of
//! operations all derive from one table of [`Spec`]s, so that they cannot disagree.

mod second;

use lazuli_model::account::BlobType;
use lazuli_model::service::Of;

pub use lazuli_model::authorize::{AccountNeeds, Anonymous, On};
pub use second::{By, Second};

use crate::answer::Answer;
use crate::head::{Head, Target};
use crate::refusal::{Failure, Refusal};
use crate::serve::Ask;
use crate::versions::Since;
use crate::{blob, file, lake, queue, table};

/// What comes with the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// Nothing that means anything; what is sent is thrown away, within reason.
    None,
    /// A document small enough to hold.
    Document { most: u64 },
    /// Bytes to be stored, streamed.
    Content { most: u64 },
}

/// A header or query parameter that tells two operations on the same path apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    Header(&'static str),
    NoHeader(&'static str),
    /// Values compare without case.
    HeaderIs(&'static str, &'static str),
    HeaderIsNot(&'static str, &'static str),
    Query(&'static str),
    NoQuery(&'static str),
    /// Values compare without case.
    QueryIs(&'static str, &'static str),
    QueryIsNot(&'static str, &'static str),
}

pub const IF_MATCH: u8 = 1;
pub const IF_NONE_MATCH: u8 = 2;
pub const IF_MODIFIED_SINCE: u8 = 4;
pub const IF_UNMODIFIED_SINCE: u8 = 8;
pub const IF_TAGS: u8 = 16;
pub const LEASE: u8 = 32;
pub const DATES: u8 = IF_MODIFIED_SINCE | IF_UNMODIFIED_SINCE;
pub const ETAGS: u8 = IF_MATCH | IF_NONE_MATCH;

/// Any permission will do.
pub const ANY: &str = "racwdxyltfmeopiu";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spec {
    pub name: &'static str,
    pub methods: &'static [&'static str],
    pub on: On,
    pub restype: Option<&'static str>,
    pub comp: Option<&'static str>,
    pub when: &'static [When],
    /// Any one of these letters of a service SAS suffices. Empty: no service SAS does.
    pub needs: &'static str,
    /// Of a SAS of this version and later `c` suffices; of an earlier one, only `w` does.
    pub create_since: Option<Since>,
    /// With this header the letter is needed as well.
    pub also: &'static [(&'static str, char)],
    /// `None`: no account SAS does.
    pub account_sas: Option<AccountNeeds>,
    pub anonymous: Anonymous,
    pub body: Body,
    /// The conditional and lease headers it takes: a set of the flags above.
    pub takes: u8,
    /// It changes what is stored, though its method does not say so.
    pub changes: bool,
    /// It changes nothing, though its method says so.
    pub reads: bool,
    /// Only a client with a bearer token may.
    pub bearer_only: bool,
    /// It acts on the snapshot or version that the query names. Others act on the base blob, whatever the query says.
    pub moments: bool,
    /// The type of blob that it makes, where that is certain; not every kind of account has it.
    pub makes: Option<BlobType>,
    /// The other resources that it touches.
    pub seconds: &'static [Second],
    /// It is of the Data Lake API.
    pub lake: bool,
}

impl Spec {
    /// The plainest operation, for struct update syntax.
    pub const PLAIN: Spec = Spec {
        name: "",
        methods: &[],
        on: On::Service,
        restype: None,
        comp: None,
        when: &[],
        needs: "",
        create_since: None,
        also: &[],
        account_sas: None,
        anonymous: Anonymous::Never,
        body: Body::None,
        takes: 0,
        changes: false,
        reads: false,
        bearer_only: false,
        moments: false,
        makes: None,
        seconds: &[],
        lake: false,
    };

    /// Whether it changes what is stored.
    pub fn writes(&self) -> bool {
        self.changes
            || !self.reads && self.methods.iter().any(|method| matches!(*method, "PUT" | "DELETE" | "POST" | "PATCH"))
    }

    pub fn matches(&self, asked: &Asked<'_>) -> bool {
        self.matches_path(asked)
            && self.methods.contains(&asked.head.method.as_str())
            && self.when.iter().all(|when| when.holds(asked.head))
    }

    fn matches_path(&self, asked: &Asked<'_>) -> bool {
        self.on == asked.on && same(self.comp, asked.comp) && same(self.restype, asked.restype)
    }
}

/// The parts of a request that routing looks at for every spec, looked up once.
pub struct Asked<'a> {
    head: &'a Head,
    on: On,
    comp: Option<&'a str>,
    restype: Option<&'a str>,
}

impl<'a> Asked<'a> {
    pub fn of(head: &'a Head) -> Self {
        let restype = head.query.get("restype");
        let on = match head.target {
            Target::Service => On::Service,
            Target::Container(_) => On::Container,
            Target::Blob { .. } => On::Blob,
            Target::Queue(_) => On::Queue,
            Target::Messages(_) => On::Messages,
            Target::Message { .. } => On::Message,
            Target::Share(_) => On::Share,
            Target::Path { .. } if restype.is_some_and(|restype| restype.eq_ignore_ascii_case("directory")) => {
                On::Directory
            }
            Target::Path { .. } => On::File,
            Target::Table(ref target) => target.on(),
        };
        Self { head, on, comp: head.query.get("comp"), restype }
    }
}

fn same(spec: Option<&str>, asked: Option<&str>) -> bool {
    match (spec, asked) {
        (None, None) => true,
        (Some(spec), Some(asked)) => spec.eq_ignore_ascii_case(asked),
        (Some(_), None) | (None, Some(_)) => false,
    }
}

impl When {
    fn holds(&self, head: &Head) -> bool {
        match *self {
            When::Header(name) => head.says(name),
            When::NoHeader(name) => !head.says(name),
            When::HeaderIs(name, value) => head.text(name).is_some_and(|text| text.eq_ignore_ascii_case(value)),
            When::HeaderIsNot(name, value) => !head.text(name).is_some_and(|text| text.eq_ignore_ascii_case(value)),
            When::Query(name) => head.query.get(name).is_some(),
            When::NoQuery(name) => head.query.get(name).is_none(),
            When::QueryIs(name, value) => head.query.get(name).is_some_and(|text| text.eq_ignore_ascii_case(value)),
            When::QueryIsNot(name, value) => !head.query.get(name).is_some_and(|text| text.eq_ignore_ascii_case(value)),
        }
    }
}

pub type Running<'a> = std::pin::Pin<Box<dyn Future<Output = Result<Answer, Failure>> + Send + 'a>>;

/// An operation that is served: what it is, and what it does.
pub struct Operation {
    pub spec: &'static Spec,
    pub run: for<'a> fn(&'a mut Ask) -> Running<'a>,
}

/// A table of operations from `file::SPEC` for each.
macro_rules! served_table {
    ($($file:ident :: $spec:ident),* $(,)?) => {
        &[$(Operation { spec: &$file::$spec, run: |ask| Box::pin($file::run(ask)) }),*]
    };
}
pub(crate) use served_table;

/// A service's table.
pub struct Catalogue {
    pub name: &'static str,
    pub served: &'static [Operation],
}

/// In the order of the rows of metrics.
pub static CATALOGUES: &[Catalogue] = &[
    Catalogue { name: "Blob", served: blob::SERVED },
    Catalogue { name: "Queue", served: queue::SERVED },
    Catalogue { name: "Table", served: table::SERVED },
    Catalogue { name: "File", served: file::SERVED },
    Catalogue { name: "DataLake", served: lake::SERVED },
];

/// The operation of a row.
pub fn served(row: usize) -> &'static Operation {
    let mut at = row;
    for service in CATALOGUES {
        match service.served.get(at) {
            Some(operation) => return operation,
            None => at -= service.served.len(),
        }
    }
    unreachable!("routing gave the row {row}")
}

/// The row of an operation of the Blob service.
pub(crate) fn blob_row(spec: &Spec) -> Option<usize> {
    blob::SERVED.iter().position(|operation| operation.spec.name == spec.name)
}

/// What a row is called, in metrics and records.
pub fn name(row: usize) -> &'static str {
    let rows: usize = CATALOGUES.iter().map(|service| service.served.len()).sum();
    if row < rows { served(row).spec.name } else { "Other" }
}

/// Finds the row of an operation of `service`: its place among all services' ([`served`]), and in the metrics. When there is none,
/// says what to blame as precisely as the table allows.
pub fn route_in(service: Of, head: &Head) -> Result<usize, Refusal> {
    let before = match service {
        Of::Blob => 0,
        Of::Queue => 1,
        Of::Table => 2,
        Of::File => 3,
    };
    route_among(before, head)
}

/// The same for a call of the Data Lake API.
pub fn route_lake(head: &Head) -> Result<usize, Refusal> {
    route_among(CATALOGUES.len() - 1, head)
}

fn route_among(before: usize, head: &Head) -> Result<usize, Refusal> {
    let catalogue = &CATALOGUES[before];
    let first: usize = CATALOGUES[..before].iter().map(|service| service.served.len()).sum();
    let asked = Asked::of(head);
    let at = catalogue.served.iter().position(|operation| operation.spec.matches(&asked));
    at.map(|at| first + at).ok_or_else(|| unrouted(catalogue.served.iter().map(|operation| operation.spec), &asked))
}

fn unrouted(specs: impl Iterator<Item = &'static Spec>, asked: &Asked<'_>) -> Refusal {
    let here: Vec<_> = specs.filter(|spec| spec.matches_path(asked)).collect();
    if here.is_empty() {
        let (name, value) = match (asked.comp, asked.restype) {
            (Some(comp), _) => ("comp", comp),
            (None, Some(restype)) => ("restype", restype),
            (None, None) => return Refusal::UnsupportedHttpVerb,
        };
        return Refusal::InvalidQueryParameterValue { name: name.into(), value: value.to_owned(), reason: "".into() };
    }
    let method = asked.head.method.as_str();
    let discriminator = here.iter().filter(|spec| spec.methods.contains(&method)).find_map(|spec| {
        spec.when.iter().find_map(|when| match *when {
            When::HeaderIs(name, _) if !when.holds(asked.head) => Some(name),
            When::HeaderIs(..) | When::Header(_) | When::NoHeader(_) | When::HeaderIsNot(..) => None,
            When::Query(_) | When::NoQuery(_) | When::QueryIs(..) | When::QueryIsNot(..) => None,
        })
    });
    match discriminator {
        None => Refusal::UnsupportedHttpVerb,
        Some(header) => match asked.head.text(header) {
            None => Refusal::MissingRequiredHeader { header: header.into() },
            Some(value) => Refusal::InvalidHeaderValue { header: header.into(), value: value.to_owned() },
        },
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use super::*;
    use crate::blob::SERVED;
    use crate::head::{Arrival, Service};
    use crate::operation;
    use lazuli_model::Timestamp;

    fn head(method: &str, uri: &str, headers: &[(&str, &str)]) -> Head {
        head_at(Service::Blob, method, uri, headers)
    }

    fn head_at(service: Service, method: &str, uri: &str, headers: &[(&str, &str)]) -> Head {
        let mut request = http::Request::builder().method(method).uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let arrival = Arrival {
            service,
            secure: false,
            peer: IpAddr::V4(Ipv4Addr::LOCALHOST),
            now: Timestamp::from_ticks(0),
            wall: Timestamp::from_ticks(0),
            request_id: 0,
            loose: false,
        };
        Head::read(request.body(()).unwrap().into_parts().0, arrival).unwrap()
    }

    /// Of all services.
    fn all() -> Vec<&'static Spec> {
        CATALOGUES.iter().flat_map(|service| service.served).map(|operation| operation.spec).collect()
    }

    #[test]
    fn rows_are_in_the_order_of_the_catalogues() {
        let rows = CATALOGUES.iter().flat_map(|service| service.served).enumerate();
        for (row, operation) in rows {
            assert_eq!(operation::served(row).spec.name, operation.spec.name);
        }
    }

    fn specs_of(service: Service) -> impl Iterator<Item = &'static Spec> {
        let catalogue = match service {
            Service::Dfs => &CATALOGUES[4],
            service @ (Service::Blob | Service::Queue | Service::Table | Service::File) => {
                &CATALOGUES[service.properties().unwrap() as usize]
            }
        };
        catalogue.served.iter().map(|operation| operation.spec)
    }

    /// The plainest request that `spec` describes.
    fn plainest(spec: &Spec, method: &str) -> Head {
        let path = match spec.on {
            On::Service => "/account",
            On::Container => "/account/container",
            On::Blob => "/account/container/blob",
            On::Queue => "/account/queue",
            On::Messages => "/account/queue/messages",
            On::Message => "/account/queue/messages/id",
            On::Share => "/account/share",
            On::Directory | On::File => "/account/share/path",
            On::Tables => "/account/Tables",
            On::Table => "/account/Tables('name')",
            On::Entities => "/account/name",
            On::Entity => "/account/name(PartitionKey='a',RowKey='b')",
            On::Batch => "/account/$batch",
        };
        let mut query: Vec<String> = Vec::new();
        query.extend(spec.restype.map(|restype| format!("restype={restype}")));
        query.extend(spec.comp.map(|comp| format!("comp={comp}")));
        let mut headers = Vec::new();
        for when in spec.when {
            match *when {
                When::Header(name) => headers.push((name, "x")),
                When::HeaderIs(name, value) => headers.push((name, value)),
                When::Query(name) => query.push(format!("{name}=x")),
                When::QueryIs(name, value) => query.push(format!("{name}={value}")),
                When::NoHeader(_) | When::HeaderIsNot(..) | When::NoQuery(_) | When::QueryIsNot(..) => {}
            }
        }
        // A container without restype would be a blob in $root.
        let path =
            if spec.on == On::Container && spec.restype.is_none() { format!("{path}/") } else { path.to_owned() };
        let of = CATALOGUES
            .iter()
            .position(|service| service.served.iter().any(|operation| operation.spec.name == spec.name));
        let service = [Service::Blob, Service::Queue, Service::Table, Service::File, Service::Dfs][of.unwrap()];
        head_at(service, method, &format!("{path}?{}", query.join("&")), &headers)
    }

    #[test]
    fn every_operation_is_reached_by_its_own_request_and_by_no_other() {
        for spec in all() {
            for method in spec.methods {
                let head = plainest(spec, method);
                let asked = Asked::of(&head);
                let reached: Vec<_> =
                    specs_of(head.service).filter(|other| other.matches(&asked)).map(|other| other.name).collect();
                assert_eq!(reached, [spec.name], "{method}");
            }
        }
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = all().iter().map(|spec| spec.name).collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    /// Every combination of the headers and parameters that tell operations apart: never two operations for one request.
    #[test]
    fn no_request_has_two_operations() {
        let discriminators: [(&str, &[&str]); 6] = [
            ("x-ms-blob-type", &["", "BlockBlob", "PageBlob", "other"]),
            ("x-ms-copy-source", &["", "x"]),
            ("x-ms-requires-sync", &["", "true", "false"]),
            ("x-ms-lease-action", &["", "acquire", "break", "other"]),
            ("x-ms-blob-content-length", &["", "1"]),
            ("x-ms-sequence-number-action", &["", "max"]),
        ];
        let mut comps: Vec<_> = specs_of(Service::Blob).filter_map(|spec| spec.comp).collect();
        comps.sort_unstable();
        comps.dedup();
        comps.push("");
        let total: usize = discriminators.iter().map(|(_, values)| values.len()).product();
        for pick in 0..total {
            let mut rest = pick;
            let headers: Vec<(&str, &str)> = discriminators
                .iter()
                .map(|(name, values)| {
                    let value = values[rest % values.len()];
                    rest /= values.len();
                    (*name, value)
                })
                .filter(|(_, value)| !value.is_empty())
                .collect();
            for (path, restype) in [("/a", ""), ("/a/c", "container"), ("/a/c/b", "")] {
                for comp in &comps {
                    for method in ["GET", "HEAD", "PUT", "DELETE", "POST"] {
                        let head = head(method, &format!("{path}?restype={restype}&comp={comp}"), &headers);
                        let asked = Asked::of(&head);
                        let reached = specs_of(Service::Blob).filter(|spec| spec.matches(&asked)).count();
                        assert!(reached <= 1, "{method} {path} {comp} {headers:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn what_is_missing_is_named() {
        let invalid = |name: &'static str, value: &str| Refusal::InvalidQueryParameterValue {
            name: name.into(),
            value: value.to_owned(),
            reason: "".into(),
        };
        let missing = |header: &'static str| Refusal::MissingRequiredHeader { header: header.into() };
        let rock = Refusal::InvalidHeaderValue { header: "x-ms-blob-type".into(), value: "Rock".into() };
        let table = [
            ("PUT", "/a/c/b", "", missing("x-ms-blob-type")),
            ("PUT", "/a/c/b", "Rock", rock),
            ("PUT", "/a/c/b?comp=lease", "", missing("x-ms-lease-action")),
            ("PUT", "/a/c/b?comp=nonsense", "", invalid("comp", "nonsense")),
            // In the published description, and never switched on.
            ("PUT", "/a/c?restype=container&comp=rename", "", invalid("comp", "rename")),
            ("GET", "/a/c?restype=nonsense", "", invalid("restype", "nonsense")),
            ("POST", "/a/c/b", "", Refusal::UnsupportedHttpVerb),
            ("DELETE", "/a?comp=list", "", Refusal::UnsupportedHttpVerb),
            ("GET", "/a", "", Refusal::UnsupportedHttpVerb),
        ];
        for (method, uri, kind, expected) in table {
            match route_in(Of::Blob, &head(method, uri, &[("x-ms-blob-type", kind)])) {
                Err(refusal) => assert_eq!(refusal, expected, "{method} {uri}"),
                Ok(_) => panic!("{method} {uri} has an operation"),
            }
        }
    }

    /// The concurrency column of the published OpenAPI file, for what is served.
    #[test]
    fn conditions_are_those_of_the_reference() {
        let all = ETAGS | DATES | IF_TAGS;
        let table: &[(&str, u8)] = &[
            ("GetBlob", all | LEASE),
            ("GetBlobProperties", all | LEASE),
            ("GetBlobMetadata", all | LEASE),
            ("PutBlob", all | LEASE),
            ("PutBlock", LEASE),
            ("PutBlockList", all | LEASE),
            ("GetBlockList", IF_TAGS | LEASE),
            ("DeleteBlob", all | LEASE),
            ("SetBlobMetadata", all | LEASE),
            ("SetBlobProperties", all | LEASE),
            ("SnapshotBlob", all | LEASE),
            ("SetBlobTier", IF_TAGS | LEASE),
            ("SetBlobExpiry", LEASE),
            ("SetBlobImmutabilityPolicy", IF_UNMODIFIED_SINCE),
            ("DeleteBlobImmutabilityPolicy", 0),
            ("SetBlobLegalHold", 0),
            // ETags and dates were added to these two with 2026-02-06, under names of their own.
            ("GetBlobTags", all | LEASE),
            ("SetBlobTags", all | LEASE),
            ("AcquireBlobLease", all),
            ("RenewBlobLease", all | LEASE),
            ("ChangeBlobLease", all | LEASE),
            ("ReleaseBlobLease", all | LEASE),
            ("BreakBlobLease", all),
            ("CreateContainer", 0),
            ("DeleteContainer", DATES | LEASE),
            ("GetContainerProperties", LEASE),
            ("GetContainerMetadata", LEASE),
            ("SetContainerMetadata", IF_MODIFIED_SINCE | LEASE),
            ("GetContainerAcl", LEASE),
            ("SetContainerAcl", DATES | LEASE),
            ("AcquireContainerLease", DATES),
            ("RenewContainerLease", DATES | LEASE),
            ("ChangeContainerLease", DATES | LEASE),
            ("ReleaseContainerLease", DATES | LEASE),
            ("BreakContainerLease", DATES),
            ("ListBlobs", 0),
            ("ListContainers", 0),
            ("GetServiceProperties", 0),
            ("SetServiceProperties", 0),
            ("GetServiceStats", 0),
            ("GetUserDelegationKey", 0),
            ("QueryBlobContents", all | LEASE),
            ("GetAccountInfo", 0),
            ("GetAccountInfoOfContainer", 0),
            ("GetAccountInfoOfBlob", 0),
            ("CopyBlob", all | LEASE),
            ("CopyBlobFromURL", all | LEASE),
            ("IncrementalCopyBlob", all),
            ("AbortCopyBlob", LEASE),
            ("PutBlobFromURL", all | LEASE),
            ("PutBlockFromURL", LEASE),
            ("AppendBlockFromURL", all | LEASE),
            ("PutPageFromURL", all | LEASE),
            ("DeleteBlobVersion", all | LEASE),
            ("DeleteBlobPermanently", all | LEASE),
            ("UndeleteBlob", 0),
            ("PutAppendBlob", all | LEASE),
            ("AppendBlock", all | LEASE),
            ("SealAppendBlob", ETAGS | DATES | LEASE),
            ("PutPageBlob", all | LEASE),
            ("PutPage", all | LEASE),
            ("GetPageRanges", all | LEASE),
            ("GetPageRangesDiff", all | LEASE),
            ("ResizePageBlob", all | LEASE),
            ("SetSequenceNumber", all | LEASE),
            ("RestoreContainer", 0),
            ("CreateSession", 0),
            ("FindBlobsByTags", 0),
            ("FindBlobsByTagsInContainer", 0),
            ("BlobBatch", 0),
            ("BlobBatchByPath", 0),
            ("ContainerBatch", 0),
        ];
        assert_eq!(table.len(), SERVED.len());
        for &(name, takes) in table {
            let operation = SERVED.iter().find(|operation| operation.spec.name == name);
            assert_eq!(operation.map(|operation| operation.spec.takes), Some(takes), "{name}");
        }
    }
}
