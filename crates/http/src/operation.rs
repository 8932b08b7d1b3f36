//! What an operation is: data. Routing, SAS permissions, limits, the conditional headers it takes, and the list of
//! operations all derive from one table of [`Spec`]s, so that they cannot disagree.

/// What an operation acts on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    Service,
    Container,
    Blob,
}

/// Who may ask without saying who they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anonymous {
    Never,
    /// When the container's public access is `blob` or `container`.
    Blob,
    /// When the container's public access is `container`.
    Container,
}

/// What an account SAS needs: its signed resource type and any one of the permission letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccountNeeds {
    pub resource: char,
    pub any: &'static str,
}

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
    /// With this header the letter is needed as well.
    pub also: &'static [(&'static str, char)],
    /// `None`: no account SAS does.
    pub account_sas: Option<AccountNeeds>,
    pub anonymous: Anonymous,
    pub body: Body,
    /// The conditional and lease headers it takes: a set of the flags above.
    pub takes: u8,
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
        also: &[],
        account_sas: None,
        anonymous: Anonymous::Never,
        body: Body::None,
        takes: 0,
    };

    /// Whether it changes what is stored.
    pub fn writes(&self) -> bool {
        self.methods.iter().any(|method| matches!(*method, "PUT" | "DELETE" | "POST" | "PATCH"))
    }
}
