//! Operations × the other resources that they name: a credential that covers the URL and not the other resource is refused, and nothing
//! changes. The rows are the `seconds` of the table of operations; one whose request is not written down here fails.

use lazuli_http::operation::{By, CATALOGUES, On, Second};
use lazuli_http::{Service, Spec};

use super::signed::{Key, Signed, delegation_key, good};
use super::tokens::bearer_of;
use super::{ACCOUNT, Credential, LETTERS, SCOPED, Sas, VERSION, World, code, header, service};

/// What the requests are about: `con` and `sha` are asked for, `prv` and `prs` are others' business.
struct Scene {
    world: World,
    /// Of `con/page`: an earlier snapshot and a later one.
    earlier: String,
    later: String,
    /// Of `prv/page`.
    private: String,
    blob_key: Key,
    file_key: Key,
}

impl Scene {
    async fn new() -> Self {
        let world = World::new().await;
        let bytes = "s".repeat(512);
        let page = "x-ms-blob-type: PageBlob\r\nx-ms-blob-content-length: 512\r\n";
        let file = "x-ms-type: file\r\nx-ms-content-length: 10\r\n";
        let made: &[(Service, &str, &str, &str)] = &[
            (Service::Blob, "/prv?restype=container", "", ""),
            (Service::Blob, "/prv/secret", "x-ms-blob-type: BlockBlob\r\n", &bytes),
            (Service::Blob, "/prv/page", page, ""),
            (Service::Blob, "/con/page", page, ""),
            (Service::Blob, "/con/append", "x-ms-blob-type: AppendBlob\r\n", ""),
            (Service::File, "/prs?restype=share", "", ""),
            (Service::File, "/prs/secret.txt", file, ""),
            (Service::File, "/sha/secret.txt", file, ""),
            (Service::File, "/sha/private?restype=directory", "", ""),
        ];
        for (service, target, headers, body) in made {
            world.make(*service, "PUT", target, headers, body).await;
        }
        let mut snapshots = Vec::new();
        for blob in ["/con/page", "/con/page", "/prv/page"] {
            let answer = world.make(Service::Blob, "PUT", &format!("{blob}?comp=snapshot"), "", "").await;
            snapshots.push(header(&answer, "x-ms-snapshot").to_owned());
        }
        let blob_key = delegation_key(&world, Service::Blob, "Storage Blob Data Owner").await;
        let file_key = delegation_key(&world, Service::File, "Storage File Data Privileged Contributor").await;
        let [earlier, later, private] = snapshots.try_into().expect("three");
        Self { world, earlier, later, private, blob_key, file_key }
    }

    fn key(&self, of: Service) -> Option<Key> {
        Some(if of == Service::File { self.file_key.clone() } else { self.blob_key.clone() })
    }
}

/// A request, complete but for its credential and the other resource.
struct Attempt {
    spec: &'static Spec,
    second: &'static Second,
    of: Service,
    path: &'static str,
    query: Vec<String>,
    headers: Vec<(&'static str, String)>,
    /// The other resource, without the account.
    other: &'static str,
    /// Parameters of its address.
    parameters: String,
}

impl Attempt {
    fn new(scene: &Scene, of: Service, spec: &'static Spec, second: &'static Second) -> Self {
        let range = |name: &'static str, bytes: &str| (name, bytes.to_owned());
        let (path, parameter, headers): (&'static str, &str, Vec<(&'static str, String)>) = match spec.name {
            "CopyBlob" | "IncrementalCopyBlob" => ("/con/new", "", vec![]),
            "CopyBlobFromURL" => ("/con/new", "", vec![("x-ms-requires-sync", "true".into())]),
            "PutBlobFromURL" => ("/con/new", "", vec![("x-ms-blob-type", "BlockBlob".into())]),
            "PutBlockFromURL" => ("/con/new", "blockid=QUFB", vec![]),
            "AppendBlockFromURL" => ("/con/append", "", vec![]),
            "PutPageFromURL" => {
                let headers = vec![
                    range("x-ms-range", "bytes=0-511"),
                    range("x-ms-source-range", "bytes=0-511"),
                    range("x-ms-page-write", "update"),
                ];
                ("/con/page", "", headers)
            }
            "GetPageRanges" | "GetPageRangesDiff" => ("/con/page", "", vec![]),
            "RestoreContainer" => ("/con", "", vec![("x-ms-deleted-container-version", "01D".into())]),
            "CopyFile" => ("/sha/new", "", vec![]),
            "PutRangeFromUrl" => {
                let headers = vec![
                    range("x-ms-range", "bytes=0-9"),
                    range("x-ms-source-range", "bytes=0-9"),
                    range("x-ms-write", "update"),
                ];
                ("/sha/dir/f", "", headers)
            }
            "RenameFile" => ("/sha/dir/f", "", vec![("x-ms-file-rename-replace-if-exists", "true".into())]),
            "RenameDirectory" => ("/sha/moved", "", vec![]),
            "CreateHardLink" => ("/sha/link", "", vec![]),
            "RestoreShare" => ("/sha", "", vec![("x-ms-deleted-share-version", "01D".into())]),
            other => panic!("{other} names another resource: say here how it is asked for"),
        };
        let (other, parameters) = match (second.by, spec.name, of) {
            (By::CopySource, "IncrementalCopyBlob", _) => ("prv/page", format!("snapshot={}", scene.private)),
            (By::CopySource, _, Service::File) => ("prs/secret.txt", String::new()),
            (By::CopySource, ..) => ("prv/secret", String::new()),
            (By::FileRenameSource, "RenameDirectory", _) => ("sha/private", String::new()),
            (By::FileRenameSource | By::FileTargetFile, ..) => ("sha/secret.txt", String::new()),
            (By::DeletedShareName, ..) => ("prs", String::new()),
            (By::DeletedContainerName, ..) => ("prv", String::new()),
            (By::PreviousSnapshotUrl | By::PreviousSnapshot, ..) => ("con/page", format!("snapshot={}", scene.earlier)),
        };
        let mut query: Vec<String> = spec.restype.map(|value| format!("restype={value}")).into_iter().collect();
        query.extend(spec.comp.map(|value| format!("comp={value}")));
        query.extend(Some(parameter.to_owned()).filter(|parameter| !parameter.is_empty()));
        Self { spec, second, of, path, query, headers, other, parameters }
    }

    /// `sas`: what the address of the other resource has of its own.
    fn text(&self, credential: &Credential, sas: &str) -> String {
        let (mut query, mut headers) = (self.query.clone(), self.headers.clone());
        match credential {
            Credential::Nothing => {}
            Credential::Query(text) => query.push(text.clone()),
            Credential::Header(text) => headers.push(("authorization", text.clone())),
        }
        let parameters: Vec<&str> = [&*self.parameters, sas].into_iter().filter(|text| !text.is_empty()).collect();
        let joint = if parameters.is_empty() { "" } else { "?" };
        let url = format!("http://127.0.0.1/{ACCOUNT}/{}{joint}{}", self.other, parameters.join("&"));
        let name = match self.second.by {
            By::CopySource | By::FileRenameSource | By::PreviousSnapshotUrl => url,
            By::FileTargetFile => format!("/{}", self.other.split_once('/').expect("a path").1),
            By::DeletedShareName | By::DeletedContainerName => self.other.to_owned(),
            By::PreviousSnapshot => self.parameters.replace("snapshot=", ""),
        };
        match self.second.by.header() {
            Some(header) => headers.push((header, name)),
            None => query.push(format!("prevsnapshot={name}")),
        }
        let mut text = format!(
            "{} /{ACCOUNT}{}?{} HTTP/1.1\r\nhost: 127.0.0.1\r\nx-ms-version: {VERSION}\r\nx-ms-file-request-intent: backup\r\n",
            self.spec.methods[0],
            self.path,
            query.join("&")
        );
        headers.iter().for_each(|(name, value)| text += &format!("{name}: {value}\r\n"));
        text + "content-length: 0\r\nconnection: close\r\n\r\n"
    }

    /// A SAS for the URL and nothing beside it, if there can be one.
    fn narrow(&self, scene: &Scene, key: Option<Key>) -> Option<Signed> {
        let path = self.path.trim_start_matches('/');
        match (self.second.by, self.spec.on) {
            (By::PreviousSnapshot | By::PreviousSnapshotUrl, _) => {
                Some(Signed { moment: scene.later.clone(), ..good(self.of, "bs", path, key) })
            }
            (_, On::Blob) => Some(good(self.of, "b", path, key)),
            (_, On::File) => Some(good(self.of, "f", path, key)),
            (_, _) => None,
        }
    }

    /// A SAS for the container or share of the URL.
    fn wide(&self, letters: &str) -> Signed {
        let within = self.path.trim_start_matches('/').split('/').next().unwrap_or_default();
        let kind = if self.of == Service::File { "s" } else { "c" };
        Signed { letters: letters.into(), ..good(self.of, kind, within, None) }
    }

    /// A SAS for the other resource alone, or for its share where there is none for it.
    fn of_other(&self, letters: &str) -> Signed {
        let share = self.other.split('/').next().unwrap_or_default();
        let sas = match (self.of, self.spec.on) {
            (Service::File, On::Directory) => good(self.of, "s", share, None),
            (Service::File, _) => good(self.of, "f", self.other, None),
            _ => good(self.of, "b", self.other, None),
        };
        Signed { letters: letters.into(), ..sas }
    }

    /// All letters but those that would do for one of the rights that are needed.
    fn letters_too_few(&self) -> Vec<String> {
        let mine = self.second.judged_as.iter().filter(|spec| (spec.on == On::Blob) == (self.of == Service::Blob));
        mine.map(|spec| LETTERS.chars().filter(|letter| !spec.needs.contains(*letter)).collect()).collect()
    }

    /// Whether a resource without a credential is judged by the request's.
    fn is_lent(&self) -> bool {
        self.second.by != By::CopySource
    }

    fn takes_its_own(&self) -> bool {
        matches!(self.second.by, By::CopySource | By::FileRenameSource)
    }
}

/// What must not do: a credential of the request, and the SAS of the other resource.
fn refused(scene: &Scene, attempt: &Attempt) -> Vec<(String, Credential, String)> {
    let mut all = Vec::new();
    let mut add = |what: &str, credential: String, sas: &str| {
        all.push((what.to_owned(), Credential::Query(credential), sas.to_owned()));
    };
    for key in [None, scene.key(attempt.of)] {
        if let Some(narrow) = attempt.narrow(scene, key) {
            let moment = Some(&narrow.moment).filter(|moment| !moment.is_empty());
            let named = moment.map(|moment| format!("snapshot={moment}&")).unwrap_or_default();
            add("a SAS for the URL alone", format!("{named}{}", narrow.query()), "");
        }
    }
    let whole = attempt.wide(LETTERS).query();
    if attempt.is_lent() && !attempt.spec.needs.is_empty() && attempt.second.by != By::PreviousSnapshot {
        let enough = |letters: &&String| attempt.spec.needs.chars().any(|letter| letters.contains(letter));
        for letters in attempt.letters_too_few().iter().filter(enough) {
            add(&format!("a wide SAS with {letters}"), attempt.wide(letters).query(), "");
            let account = Sas { permissions: letters.clone(), ..Sas::everything() };
            add(&format!("an account SAS with {letters}"), account.query(), "");
        }
    }
    if attempt.takes_its_own() {
        for letters in attempt.letters_too_few() {
            add(&format!("a source with {letters}"), whole.clone(), &attempt.of_other(&letters).query());
        }
        let own = attempt.of_other(LETTERS);
        let wrong = [
            ("a source with a SAS for something else", Signed { path: format!("{}x", own.path), ..own.clone() }),
            ("a source with an expired SAS", Signed { expiry: "2020-01-01T00:00:00Z", ..own.clone() }),
            // L2: the address says http or https; what counts is the connection.
            ("a source with a SAS for HTTPS", Signed { protocol: "https", ..own.clone() }),
            ("a source with another account's SAS", Signed { signed_by: super::OTHER, ..own.clone() }),
        ];
        for (what, sas) in wrong {
            add(what, whole.clone(), &sas.query());
        }
        // A1: a parameter of it that comes twice.
        add("a source with a parameter twice", whole.clone(), &format!("{}&sp=r", own.query()));
    }
    if !attempt.other.starts_with("con") && !attempt.other.starts_with("sha") {
        all.push(("a role elsewhere".into(), Credential::Header(bearer_of(SCOPED)), String::new()));
    }
    all
}

fn attempts(scene: &Scene) -> Vec<Attempt> {
    let mut all = Vec::new();
    for catalogue in CATALOGUES {
        let of = service(catalogue.name);
        for spec in catalogue.served.iter().map(|operation| operation.spec) {
            all.extend(spec.seconds.iter().map(|second| Attempt::new(scene, of, spec, second)));
        }
    }
    all
}

/// H1 and its kin.
#[tokio::test]
async fn a_request_is_authorised_for_everything_it_names() {
    let scene = Scene::new().await;
    let before = scene.world.engine.entries();
    let (mut tried, mut wrong) = (0, Vec::new());
    for attempt in attempts(&scene) {
        let (name, by) = (attempt.spec.name, attempt.second.by);
        let all = refused(&scene, &attempt);
        assert!(!all.is_empty(), "{name}: nothing is known that must not do for {by:?}");
        for (what, credential, sas) in all {
            for https in [false, true].into_iter().filter(|https| !https || by == By::CopySource) {
                let text = attempt.text(&credential, &sas);
                let text = if https { text.replace("-source: http:", "-source: https:") } else { text };
                let (status, answer) = scene.world.ask(attempt.of, &text).await;
                tried += 1;
                let allowed: &[u16] = match by {
                    // A container comes back under its own name alone.
                    By::DeletedContainerName => &[400, 403],
                    // To nobody, a private source is not there (observed of Copy File).
                    By::CopySource => &[401, 403, 404],
                    By::FileRenameSource | By::FileTargetFile | By::DeletedShareName => &[403],
                    By::PreviousSnapshotUrl | By::PreviousSnapshot => &[403],
                };
                if !allowed.contains(&status) {
                    wrong.push(format!("{name} with {what} for {by:?}: {status} {}", code(&answer)));
                }
                if scene.world.engine.entries() != before {
                    panic!("{name} with {what} for {by:?} changed something: {status}");
                }
            }
        }
    }
    println!("{tried} requests refused");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(tried > 100, "only {tried} were tried");
}

/// The same requests with all the rights do what they say: only the credential was wrong.
#[tokio::test]
async fn who_may_both_gets_in() {
    let names: Vec<(&str, By)> =
        attempts(&Scene::new().await).iter().map(|attempt| (attempt.spec.name, attempt.second.by)).collect();
    let mut wrong = Vec::new();
    for (name, by) in names.into_iter().filter(|(_, by)| *by != By::DeletedContainerName) {
        for way in 0..4 {
            let scene = Scene::new().await;
            let attempts = attempts(&scene);
            let attempt =
                attempts.iter().find(|one| one.spec.name == name && one.second.by == by).expect("it was there");
            let own = if attempt.takes_its_own() { attempt.of_other("rw").query() } else { String::new() };
            let whole = Credential::Query(Sas::everything().query());
            let narrow = attempt.narrow(&scene, None).filter(|sas| attempt.takes_its_own() && sas.kind != "bs");
            let (what, credential, sas) = match way {
                0 => ("an account SAS", whole, own),
                1 if attempt.is_lent() && !attempt.spec.needs.is_empty() => {
                    // As recorded of the service: a share's SAS with `rw`, for the destination and for the source.
                    let letters = if by == By::FileRenameSource { "rw" } else { LETTERS };
                    ("a wide SAS", Credential::Query(attempt.wide(letters).query()), String::new())
                }
                2 if attempt.is_lent() => ("an account SAS for both", whole, String::new()),
                3 if narrow.is_some() => {
                    let narrow = narrow.expect("it was asked").query();
                    ("a SAS for each", Credential::Query(narrow), own)
                }
                _ => continue,
            };
            let (status, answer) = scene.world.ask(attempt.of, &attempt.text(&credential, &sas)).await;
            let fine =
                if by == By::DeletedShareName { !matches!(status, 401 | 403) } else { matches!(status, 200..=202) };
            if !fine {
                wrong.push(format!("{name} with {what} for {by:?}: {status} {}", code(&answer)));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// M1: with a signature for a snapshot nothing reaches the base blob, whether the operation takes a snapshot or not.
#[tokio::test]
async fn a_signature_for_a_snapshot_leaves_the_base_alone() {
    let mut wrong = Vec::new();
    let blobs = CATALOGUES[0].served.iter().map(|operation| operation.spec).filter(|spec| spec.on == On::Blob);
    for spec in blobs.filter(|spec| !spec.needs.is_empty()) {
        let world = World::new().await;
        let answer = world.make(Service::Blob, "PUT", "/con/b?comp=snapshot", "", "").await;
        let moment = header(&answer, "x-ms-snapshot").to_owned();
        let base = world.ask_as_owner(Service::Blob, "GET", "/con/b", "", "").await;
        let sas = Signed { moment: moment.clone(), ..good(Service::Blob, "bs", "con/b", None) };
        let before = world.engine.entries();
        let mut request = super::Request::of(spec);
        request.query.retain(|pair| !pair.starts_with("snapshot="));
        let credential = Credential::Query(format!("snapshot={moment}&{}", sas.query()));
        let (status, answer) = world.ask(Service::Blob, &request.text(&credential)).await;
        if !spec.moments && (status != 403 || world.engine.entries() != before) {
            wrong.push(format!("{}: {status} {}", spec.name, code(&answer)));
        }
        if spec.moments && matches!(status, 401 | 403) {
            wrong.push(format!("{}: {status} {}, though it acts on a snapshot", spec.name, code(&answer)));
        }
        let after = world.ask_as_owner(Service::Blob, "GET", "/con/b", "", "").await;
        let told = |answer: &str| {
            let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((answer, ""));
            (header(head, "etag").to_owned(), header(head, "x-ms-lease-state").to_owned(), body.to_owned())
        };
        if (base.0, told(&base.1)) != (after.0, told(&after.1)) {
            wrong.push(format!("{} reached the base blob", spec.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A batch whose only part deletes something, and what the part itself brings along.
fn batch(spec: &'static Spec, of: Service, credential: &Credential, part: &Credential) -> String {
    let (part_query, part_header) = match part {
        Credential::Nothing => (String::new(), String::new()),
        Credential::Query(text) => (format!("?{text}"), String::new()),
        Credential::Header(text) => (String::new(), format!("Authorization: {text}\r\n")),
    };
    let (target, kind) = match of {
        Service::Table => ("tab(PartitionKey='p',RowKey='r')", "Content-Transfer-Encoding: binary\r\n"),
        Service::Blob | Service::Queue | Service::File | Service::Dfs => {
            ("con/b", "Content-Transfer-Encoding: binary\r\nContent-ID: 0\r\n")
        }
    };
    let inner = format!(
        "Content-Type: application/http\r\n{kind}\r\nDELETE http://127.0.0.1/{ACCOUNT}/{target}{part_query} HTTP/1.1\r\n{part_header}If-Match: *\r\nContent-Length: 0\r\n\r\n"
    );
    let body = match of {
        Service::Table => format!(
            "--batch_1\r\nContent-Type: multipart/mixed; boundary=changeset_1\r\n\r\n--changeset_1\r\n{inner}\r\n--changeset_1--\r\n--batch_1--\r\n"
        ),
        Service::Blob | Service::Queue | Service::File | Service::Dfs => format!("--batch_1\r\n{inner}--batch_1--\r\n"),
    };
    let request = super::Request::of(spec).text(credential);
    let kind = format!("content-type: multipart/mixed; boundary=batch_1\r\ncontent-length: {}\r\n", body.len());
    request.replace("content-length: 0\r\n", &kind) + &body
}

/// What is in a batch is judged by itself: who may send the batch may not therefore do what is in it.
#[tokio::test]
async fn a_part_of_a_batch_is_authorised_too() {
    let mut wrong = Vec::new();
    let without_d: String = LETTERS.chars().filter(|letter| *letter != 'd').collect();
    for catalogue in CATALOGUES {
        let of = service(catalogue.name);
        let batches = |spec: &&'static Spec| spec.comp == Some("batch") || spec.on == On::Batch;
        for spec in catalogue.served.iter().map(|operation| operation.spec).filter(batches) {
            let world = World::new().await;
            let before = world.engine.entries();
            let everything = Credential::Query(Sas::everything().query());
            // Of the Table service, a part has no credential: the batch's has to do.
            let sas = |path: &str, letters: &str| {
                let kind = if of == Service::Blob { "b" } else { "" };
                Credential::Query(Signed { letters: letters.into(), ..good(of, kind, path, None) }.query())
            };
            let reader = |role: &str| Credential::Header(super::tokens::bearer(&[role]));
            let (refused, allowed) = match of {
                Service::Table => {
                    let nothing = |credential| (credential, Credential::Nothing);
                    let refused = vec![
                        nothing(sas("tabx", LETTERS)),
                        nothing(sas("tab", &without_d)),
                        nothing(reader("Storage Table Data Reader")),
                    ];
                    (refused, nothing(sas("tab", LETTERS)))
                }
                Service::Blob => {
                    let part = |part| (everything.clone(), part);
                    let refused = vec![
                        part(Credential::Nothing),
                        part(sas("con/bx", LETTERS)),
                        part(sas("con/b", &without_d)),
                        part(reader("Storage Blob Data Reader")),
                    ];
                    (refused, part(sas("con/b", "d")))
                }
                other @ (Service::Queue | Service::File | Service::Dfs) => {
                    panic!("{other:?} has batches: say here who may not")
                }
            };
            let told = |answer: &str| answer.split("HTTP/1.1 ").nth(2).map_or(0, |rest| rest[..3].parse().unwrap_or(0));
            for (at, (credential, part)) in refused.iter().enumerate() {
                let (status, answer) = world.ask(of, &batch(spec, of, credential, part)).await;
                let inner: u16 = told(&answer);
                let is_refused = |status: u16| matches!(status, 401 | 403);
                if !is_refused(status) && !is_refused(inner) || world.engine.entries() != before {
                    wrong.push(format!("{} with credential {at}: {status}, {inner}", spec.name));
                }
            }
            let (status, answer) = world.ask(of, &batch(spec, of, &allowed.0, &allowed.1)).await;
            if status != 202 || told(&answer) / 100 != 2 {
                wrong.push(format!("{} with all rights: {status}, {answer}", spec.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
