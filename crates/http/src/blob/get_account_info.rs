//! Get Account Information, of the service, a container or a blob. It answers the same everywhere, and needs no
//! permission in particular.

use http::StatusCode;

use crate::answer::{Answer, name};
use crate::operation::{ANY, AccountNeeds, On, Spec};
use crate::refusal::Failure;
use crate::serve::Ask;

pub const OF_SERVICE: Spec = Spec {
    name: "GetAccountInfo",
    methods: &["GET", "HEAD"],
    on: On::Service,
    restype: Some("account"),
    comp: Some("properties"),
    needs: ANY,
    account_sas: Some(AccountNeeds { resource: 's', any: ANY }),
    ..Spec::PLAIN
};
pub const OF_CONTAINER: Spec = Spec {
    name: "GetAccountInfoOfContainer",
    on: On::Container,
    account_sas: Some(AccountNeeds { resource: 'c', any: ANY }),
    ..OF_SERVICE
};
pub const OF_BLOB: Spec = Spec {
    name: "GetAccountInfoOfBlob",
    on: On::Blob,
    account_sas: Some(AccountNeeds { resource: 'o', any: ANY }),
    ..OF_SERVICE
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    Ok(Answer::new(StatusCode::OK)
        .constant(&name::SKU_NAME, ask.settings.kind.sku())
        .constant(&name::ACCOUNT_KIND, ask.settings.kind.told())
        .constant(&name::IS_HNS_ENABLED, if ask.settings.hierarchical_namespace { "true" } else { "false" }))
}
