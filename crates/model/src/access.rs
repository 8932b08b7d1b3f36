//! Who may do what: stored policies, public access, and the permission letters of a SAS.
//!
//! A SAS is what it says together with the policy it names: each field is in one of the two, and never in both.
//! Signatures are `http`'s affair; here a token's words are already known to be its maker's.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::{Refusal, Timestamp};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum PublicAccess {
    #[default]
    Off,
    Blob,
    Container,
}

/// A stored access policy. Each part may be left to the SAS that names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredPolicy {
    pub id: String,
    pub start: Option<Timestamp>,
    pub expiry: Option<Timestamp>,
    pub permissions: Option<String>,
}

/// Policies of one container, queue, table or share.
pub const POLICIES_MAX: usize = 5;
/// Characters of a policy's id.
pub const POLICY_ID_MAX: usize = 64;

impl StoredPolicy {
    /// The rules over a whole list: how many, how long, each id once. Azure answers a breach as a bad document.
    pub fn check_all(policies: &[StoredPolicy]) -> Result<(), Refusal> {
        let ids_fit = policies.iter().all(|policy| (1..=POLICY_ID_MAX).contains(&policy.id.chars().count()));
        let unique = policies.iter().enumerate().all(|(at, policy)| policies[..at].iter().all(|p| p.id != policy.id));
        if policies.len() <= POLICIES_MAX && ids_fit && unique {
            return Ok(());
        }
        Err(Refusal::InvalidXmlDocument { line: 0, position: 0, reason: "".into() })
    }
}

/// A set of permission letters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Permissions(u32);

impl Permissions {
    /// The order in which a service SAS or policy for blobs and containers must give its letters.
    pub const BLOB_ORDER: &'static str = "racwdxyltfmeopi";
    /// The letters of an account SAS, which come in any order.
    pub const ACCOUNT: &'static str = "rwdxylacuptfi";

    /// Letters of `order`, each at most once, in that order.
    pub fn parse_ordered(text: &str, order: &str) -> Option<Self> {
        let mut left = order.chars();
        let ordered = text.chars().all(|letter| left.any(|known| known == letter));
        ordered.then(|| Self::parse(text, order))?
    }

    /// Letters of `known`, each at most once.
    pub fn parse(text: &str, known: &str) -> Option<Self> {
        let mut set = Self::default();
        for letter in text.chars() {
            let bit = known.contains(letter).then(|| Self::bit(letter))??;
            if set.0 & bit != 0 {
                return None;
            }
            set.0 |= bit;
        }
        Some(set)
    }

    pub fn contains(self, letter: char) -> bool {
        Self::bit(letter).is_some_and(|bit| self.0 & bit != 0)
    }

    /// Whether the set meets an operation's need: groups joined by `+`, any one letter of each. `cw+t` is create or
    /// write, and tags. An empty need is one that no letter meets.
    pub fn satisfy(self, need: &str) -> bool {
        need.split('+').all(|group| group.chars().any(|letter| self.contains(letter)))
    }

    fn bit(letter: char) -> Option<u32> {
        letter.is_ascii_lowercase().then(|| 1 << (letter as u32 - 'a' as u32))
    }
}

/// What a SAS grants and when. `None` is a field that the token, or the policy, leaves out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    pub start: Option<Timestamp>,
    pub expiry: Option<Timestamp>,
    pub permissions: Option<String>,
}

impl Terms {
    /// The token's terms together with those of the policy it names. A field in both is refused, and so is a token
    /// that ends up without an expiry or permissions.
    pub fn merge(self, policy: Option<&StoredPolicy>) -> Result<Terms, Refusal> {
        let (start, expiry, permissions) =
            policy.map_or((None, None, None), |policy| (policy.start, policy.expiry, policy.permissions.clone()));
        let merged = Terms {
            start: either(self.start, start)?,
            expiry: either(self.expiry, expiry)?,
            permissions: either(self.permissions, permissions.filter(|letters| !letters.is_empty()))?,
        };
        if merged.expiry.is_none() {
            return Err(refuse("The signed expiry (se) is required, in the token or in the access policy it names."));
        }
        if merged.permissions.is_none() {
            return Err(refuse("Signed permissions (sp) are required, in the token or in the access policy it names."));
        }
        Ok(merged)
    }

    /// Whether `now` lies in the token's time. Azure's words, so that people who search for them find the cause.
    pub fn permit_at(&self, now: Timestamp) -> Result<(), Refusal> {
        let begun = self.start.is_none_or(|start| start <= now);
        let over = self.expiry.is_some_and(|expiry| expiry <= now);
        if begun && !over {
            return Ok(());
        }
        let show = |time: Option<Timestamp>| time.map_or_else(String::new, Timestamp::to_http);
        Err(Refusal::AuthenticationFailed {
            detail: format!(
                "Signature not valid in the specified time frame: Start [{}] - Expiry [{}] - Current [{}]",
                show(self.start),
                show(self.expiry),
                now.to_http()
            )
            .into(),
        })
    }
}

fn either<T>(token: Option<T>, policy: Option<T>) -> Result<Option<T>, Refusal> {
    match (token, policy) {
        (Some(_), Some(_)) => Err(refuse("A field is given in the token and in the access policy it names.")),
        (Some(value), None) | (None, Some(value)) => Ok(Some(value)),
        (None, None) => Ok(None),
    }
}

fn refuse(detail: &'static str) -> Refusal {
    Refusal::AuthenticationFailed { detail: detail.into() }
}

/// The addresses of `sip`: one, or from the first to the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IpRange {
    first: IpAddr,
    last: IpAddr,
}

impl IpRange {
    pub fn parse(text: &str) -> Option<Self> {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let address = |text: &str| text.trim().parse::<IpAddr>().ok().map(|ip| ip.to_canonical());
        let (first, last) = (address(first)?, address(last)?);
        (first.is_ipv4() == last.is_ipv4() && first <= last).then_some(Self { first, last })
    }

    /// An IPv4 caller may appear as an IPv6 one (`::ffff:1.2.3.4`), on a socket that takes both.
    pub fn permit(&self, caller: IpAddr) -> Result<(), Refusal> {
        let caller = caller.to_canonical();
        let inside = caller.is_ipv4() == self.first.is_ipv4() && (self.first..=self.last).contains(&caller);
        if inside { Ok(()) } else { Err(Refusal::AuthorizationSourceIpMismatch) }
    }
}

/// The protocols of `spr`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocols {
    #[default]
    Either,
    HttpsOnly,
}

impl Protocols {
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "https" => Some(Protocols::HttpsOnly),
            "https,http" | "http,https" => Some(Protocols::Either),
            _ => None,
        }
    }

    pub fn permit(self, is_https: bool) -> Result<(), Refusal> {
        match (self, is_https) {
            (Protocols::Either, _) | (Protocols::HttpsOnly, true) => Ok(()),
            (Protocols::HttpsOnly, false) => Err(Refusal::AuthorizationProtocolMismatch),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_ticks(0).plus_seconds(seconds)
    }

    #[test]
    fn letters_and_their_order() {
        for (text, ordered, listed) in [
            ("", true, true),
            ("r", true, true),
            ("racwdl", true, true),
            ("wr", false, true),
            ("rr", false, false),
            ("rz", false, false),
            ("R", false, false),
            ("é", false, false),
        ] {
            let order = Permissions::BLOB_ORDER;
            assert_eq!(Permissions::parse_ordered(text, order).is_some(), ordered, "{text}");
            assert_eq!(Permissions::parse(text, order).is_some(), listed, "{text}");
        }
    }

    #[test]
    fn needs_are_any_of_each_group() {
        for (held, need, met) in [
            ("r", "r", true),
            ("c", "cw", true),
            ("w", "cw", true),
            ("r", "cw", false),
            ("w", "cw+t", false),
            ("cwt", "cw+t", true),
            ("t", "cw+t", false),
            ("racwd", "", false),
            ("", "r", false),
        ] {
            let set = Permissions::parse(held, Permissions::BLOB_ORDER).unwrap();
            assert_eq!(set.satisfy(need), met, "{held} for {need}");
        }
    }

    #[test]
    fn a_field_is_in_the_token_or_in_the_policy() {
        // Every way of placing each of the three fields: nowhere, token, policy, both.
        for places in 0..64 {
            let place = |field: u32| places >> (2 * field) & 3;
            let token = |field| place(field) & 1 != 0;
            let policy = |field| place(field) & 2 != 0;
            let letters = || "r".to_owned();
            let terms = Terms {
                start: token(0).then(|| at(1)),
                expiry: token(1).then(|| at(2)),
                permissions: token(2).then(letters),
            };
            let stored = StoredPolicy {
                id: "p".into(),
                start: policy(0).then(|| at(1)),
                expiry: policy(1).then(|| at(2)),
                permissions: policy(2).then(letters),
            };
            let sound = place(0) != 3 && matches!(place(1), 1 | 2) && matches!(place(2), 1 | 2);
            let merged = terms.merge(Some(&stored));
            assert_eq!(merged.is_ok(), sound, "{places:b}");
            if let Ok(merged) = merged {
                let start = (place(0) != 0).then(|| at(1));
                assert_eq!(merged, Terms { start, expiry: Some(at(2)), permissions: Some("r".into()) });
            }
        }
        assert!(matches!(Terms::default().merge(None), Err(Refusal::AuthenticationFailed { .. })));
    }

    #[test]
    fn the_window_includes_its_start_and_not_its_end() {
        let terms = |start| Terms { start, expiry: Some(at(20)), permissions: None };
        for (start, now, inside) in [
            (Some(at(10)), 9, false),
            (Some(at(10)), 10, true),
            (Some(at(10)), 19, true),
            (Some(at(10)), 20, false),
            (None, 0, true),
            (None, 20, false),
        ] {
            assert_eq!(terms(start).permit_at(at(now)).is_ok(), inside, "{start:?} {now}");
        }
    }

    #[test]
    fn addresses() {
        for (range, caller, inside) in [
            ("168.1.5.65", "168.1.5.65", true),
            ("168.1.5.65", "168.1.5.66", false),
            ("168.1.5.60-168.1.5.70", "168.1.5.60", true),
            ("168.1.5.60-168.1.5.70", "168.1.5.70", true),
            ("168.1.5.60-168.1.5.70", "168.1.5.71", false),
            ("168.1.5.60-168.1.5.70", "::ffff:168.1.5.65", true),
            ("0.0.0.0-255.255.255.255", "::1", false),
            ("::1-::ff", "::7f", true),
            ("::1-::ff", "::1:0", false),
        ] {
            let permitted = IpRange::parse(range).unwrap().permit(caller.parse().unwrap());
            assert_eq!(permitted.is_ok(), inside, "{caller} in {range}");
        }
        for bad in ["", "-", "1.2.3", "1.2.3.4-", "1.2.3.4-1.2.3.3", "1.2.3.4-::1", "1.2.3.4/24"] {
            assert_eq!(IpRange::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn protocols() {
        assert_eq!(Protocols::parse("https"), Some(Protocols::HttpsOnly));
        assert_eq!(Protocols::parse("https,http"), Some(Protocols::Either));
        assert_eq!(Protocols::parse("http"), None);
        assert_eq!(Protocols::HttpsOnly.permit(false), Err(Refusal::AuthorizationProtocolMismatch));
        assert!(Protocols::HttpsOnly.permit(true).is_ok() && Protocols::Either.permit(false).is_ok());
    }

    #[test]
    fn policies_are_few_and_distinct() {
        let policies = |ids: &[&str]| -> Vec<_> {
            let policy = |id: &&str| StoredPolicy { id: id.to_string(), start: None, expiry: None, permissions: None };
            ids.iter().map(policy).collect()
        };
        let (fits, long) = ("i".repeat(64), "i".repeat(65));
        for good in [&[][..], &["a", "b", "c", "d", "e"], &[&fits]] {
            assert_eq!(StoredPolicy::check_all(&policies(good)), Ok(()), "{good:?}");
        }
        for bad in [&["a", "b", "c", "d", "e", "f"][..], &["a", "a"], &[""], &[&long]] {
            assert!(StoredPolicy::check_all(&policies(bad)).is_err(), "{bad:?}");
        }
    }
}
