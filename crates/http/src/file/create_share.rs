//! Create Share.

use http::StatusCode;
use lazuli_model::account::AccountKind;
use lazuli_model::file::{CreateShare, ShareSettings, ShareTier};

use crate::answer::Answer;
use crate::file::{describe, place, settings};
use crate::operation::{AccountNeeds, On, Spec};
use crate::refusal::{Failure, Refusal};
use crate::serve::Ask;
use crate::wire::headers;

pub const SPEC: Spec = Spec {
    name: "CreateShare",
    methods: &["PUT"],
    on: On::Share,
    restype: Some("share"),
    account_sas: Some(AccountNeeds { resource: 'c', any: "cw" }),
    ..Spec::PLAIN
};

pub async fn run(ask: &mut Ask) -> Result<Answer, Failure> {
    let at = place::writable_share(&ask.head)?;
    let create = CreateShare {
        id: (ask.ids)(),
        metadata: headers::metadata(&ask.head)?,
        settings: of_kind(ask, settings::settings(&ask.head)?)?,
        protocol: settings::protocol(&ask.head)?,
    };
    let share = ask.store.create_share(&at, create).await?;
    Ok(describe::changed_share(Answer::new(StatusCode::CREATED), &ask.head, &share, false))
}

/// All shares of a premium account are premium ones.
fn of_kind(ask: &Ask, settings: ShareSettings) -> Result<ShareSettings, Refusal> {
    match (ask.settings.kind, settings.tier) {
        (AccountKind::PremiumFile, None | Some(ShareTier::Premium)) => {
            Ok(ShareSettings { tier: Some(ShareTier::Premium), ..settings })
        }
        (AccountKind::PremiumFile, Some(ShareTier::TransactionOptimized | ShareTier::Hot | ShareTier::Cool)) => {
            let value = ask.head.text("x-ms-access-tier").unwrap_or_default().to_owned();
            Err(Refusal::InvalidHeaderValue { header: "x-ms-access-tier".into(), value })
        }
        (AccountKind::Standard | AccountKind::PremiumBlockBlob | AccountKind::PremiumPageBlob, _) => Ok(settings),
    }
}
