//! `lazuli reset`: empties accounts for the next test. A running server is asked through its console, and must have been started with `--lab`.

use lazuli_model::AccountName;
use lazuli_store::{Emptied, Store};

/// Those of the configuration and those that are stored.
pub async fn accounts(store: &Store, configured: Vec<AccountName>) -> Vec<AccountName> {
    let mut names = configured;
    if let Ok(stored) = store.accounts().await {
        names.extend(stored.into_iter().map(|(name, _)| name));
    }
    names.sort_by(|a, b| a.as_str().cmp(b.as_str()));
    names.dedup();
    names
}

/// Empties `only`, or all of `names`.
pub async fn empty(store: &Store, names: &[AccountName], only: Option<&str>) -> Result<Emptied, String> {
    let mut all = Emptied::default();
    let chosen: Vec<_> = names.iter().filter(|name| only.is_none_or(|only| name.as_str() == only)).collect();
    if let (Some(only), true) = (only, chosen.is_empty()) {
        return Err(format!("there is no account {only}"));
    }
    for name in chosen {
        let one =
            store.empty_account(name).await.map_err(|failure| format!("{name} cannot be emptied: {failure:?}"))?;
        all.containers += one.containers;
        all.queues += one.queues;
        all.tables += one.tables;
        all.shares += one.shares;
    }
    Ok(all)
}
