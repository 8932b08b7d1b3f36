//! How an account may be reached: over which transport, from which addresses, with which kind of credential. These are settings of Azure's
//! management plane; a request that fails one of them is refused before anything else is looked at.

use std::fmt;
use std::net::IpAddr;

use crate::Refusal;
use crate::account::AccountSettings;

/// What a request came over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    Plain,
    Tls(TlsVersion),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum TlsVersion {
    V1_0,
    V1_1,
    #[default]
    V1_2,
    V1_3,
}

impl Transport {
    pub fn is_secure(self) -> bool {
        match self {
            Transport::Plain => false,
            Transport::Tls(_) => true,
        }
    }
}

/// Whether a connection is encrypted, for callers to whom its version does not matter: good enough for every account.
impl From<bool> for Transport {
    fn from(secure: bool) -> Self {
        if secure { Transport::Tls(TlsVersion::V1_3) } else { Transport::Plain }
    }
}

impl TlsVersion {
    pub const NAMES: [(&'static str, TlsVersion); 4] =
        [("1.0", TlsVersion::V1_0), ("1.1", TlsVersion::V1_1), ("1.2", TlsVersion::V1_2), ("1.3", TlsVersion::V1_3)];

    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, version)| *version == self).map_or("1.2", |(name, _)| name)
    }
}

/// From where an account may be reached ("Azure Storage firewall rules").
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum NetworkRules {
    #[default]
    Open,
    /// Only from these; from nowhere, if there are none.
    Only(Vec<IpRange>),
}

/// An address, or those that begin with the same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IpRange {
    address: IpAddr,
    bits: u8,
}

impl IpRange {
    pub fn parse(text: &str) -> Option<Self> {
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits.parse::<u8>().ok()?)),
            None => (text, None),
        };
        let written: IpAddr = address.parse().ok()?;
        let most = if written.is_ipv4() { 32 } else { 128 };
        let bits = bits.unwrap_or(most);
        // An IPv4 address may be written as an IPv6 one, whose last 32 bits it is.
        let address = written.to_canonical();
        let before = if written.is_ipv6() && address.is_ipv4() { 96 } else { 0 };
        (before..=most).contains(&bits).then(|| Self { address, bits: bits - before })
    }

    /// An IPv4 address that came in over an IPv6 socket is the IPv4 address.
    pub fn contains(self, peer: IpAddr) -> bool {
        let same = |left: u128, right: u128, width: u8| {
            let rest = u32::from(width - self.bits);
            left.checked_shr(rest).unwrap_or(0) == right.checked_shr(rest).unwrap_or(0)
        };
        match (self.address, peer.to_canonical()) {
            (IpAddr::V4(own), IpAddr::V4(peer)) => {
                let bits = |address: std::net::Ipv4Addr| u128::from(u32::from(address));
                same(bits(own), bits(peer), 32)
            }
            (IpAddr::V6(own), IpAddr::V6(peer)) => same(u128::from(own), u128::from(peer), 128),
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => false,
        }
    }
}

impl fmt::Display for IpRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let most = if self.address.is_ipv4() { 32 } else { 128 };
        if self.bits == most { write!(f, "{}", self.address) } else { write!(f, "{}/{}", self.address, self.bits) }
    }
}

impl NetworkRules {
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "off" | "" => Some(NetworkRules::Open),
            "deny" => Some(NetworkRules::Only(Vec::new())),
            list => {
                list.split(',').map(|part| IpRange::parse(part.trim())).collect::<Option<_>>().map(NetworkRules::Only)
            }
        }
    }

    pub fn admits(&self, peer: IpAddr) -> bool {
        match self {
            NetworkRules::Open => true,
            NetworkRules::Only(ranges) => ranges.iter().any(|range| range.contains(peer)),
        }
    }
}

impl fmt::Display for NetworkRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NetworkRules::Open => f.write_str("off"),
            NetworkRules::Only(ranges) if ranges.is_empty() => f.write_str("deny"),
            NetworkRules::Only(ranges) => {
                let shown: Vec<_> = ranges.iter().map(IpRange::to_string).collect();
                f.write_str(&shown.join(","))
            }
        }
    }
}

impl AccountSettings {
    /// Whether the account may be reached over `transport`. Rule B25: this comes before any credential. The minimum of TLS says nothing of
    /// plain http, which `secure-transfer` is for ("Enforce a minimum required version of TLS").
    pub fn permit_transport(&self, account: &str, transport: Transport) -> Result<(), Refusal> {
        match transport {
            Transport::Plain if self.secure_transfer => {
                Err(Refusal::AccountRequiresHttps { account: account.to_owned() })
            }
            Transport::Plain => Ok(()),
            Transport::Tls(version) if version < self.minimum_tls => Err(Refusal::TlsVersionNotPermitted),
            Transport::Tls(_) => Ok(()),
        }
    }

    pub fn permit_network(&self, peer: IpAddr) -> Result<(), Refusal> {
        if self.network_rules.admits(peer) { Ok(()) } else { Err(Refusal::AuthorizationFailure) }
    }

    /// Whether the account's keys may sign: requests, and SAS of accounts and services. A user delegation SAS is not signed with them.
    pub fn permit_key(&self) -> Result<(), Refusal> {
        if self.shared_key { Ok(()) } else { Err(Refusal::KeyBasedAuthenticationNotPermitted) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(changes: &[(&str, &str)]) -> AccountSettings {
        AccountSettings::default().with(changes.iter().copied()).unwrap()
    }

    #[test]
    fn addresses_and_ranges() {
        for (rules, peer, admits) in [
            ("off", "203.0.113.9", true),
            ("deny", "127.0.0.1", false),
            ("127.0.0.1", "127.0.0.1", true),
            ("127.0.0.1", "127.0.0.2", false),
            ("10.1.0.0/16, 192.0.2.7", "10.1.255.3", true),
            ("10.1.0.0/16, 192.0.2.7", "10.2.0.1", false),
            ("10.1.0.0/16, 192.0.2.7", "192.0.2.7", true),
            ("0.0.0.0/0", "203.0.113.9", true),
            ("0.0.0.0/0", "2001:db8::1", false),
            ("2001:db8::/32", "2001:db8:1::1", true),
            ("2001:db8::/32", "2001:db9::1", false),
            ("::/0", "2001:db9::1", true),
            ("127.0.0.1", "::ffff:127.0.0.1", true),
            ("::ffff:10.1.0.0/112", "10.1.255.3", true),
            ("::ffff:10.1.0.0/112", "10.2.0.1", false),
            ("::ffff:10.1.0.0/112", "2001:db8::1", false),
        ] {
            let settings = with(&[("network-rules", rules)]);
            assert_eq!(settings.permit_network(peer.parse().unwrap()).is_ok(), admits, "{rules} {peer}");
        }
        for wrong in ["10.0.0.0/33", "10.0.0", "host", "10.0.0.0/8,", "::/129", "::ffff:10.0.0.0/95"] {
            assert_eq!(NetworkRules::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn b25_transports() {
        let https = |settings: &AccountSettings, transport| settings.permit_transport("account1", transport);
        let refused = Err(Refusal::AccountRequiresHttps { account: "account1".into() });
        let (old, new) = (Transport::Tls(TlsVersion::V1_2), Transport::Tls(TlsVersion::V1_3));
        for (changes, plain, of_old, of_new) in [
            (&[][..], Ok(()), Ok(()), Ok(())),
            (&[("secure-transfer", "on")], refused.clone(), Ok(()), Ok(())),
            (&[("minimum-tls", "1.3")], Ok(()), Err(Refusal::TlsVersionNotPermitted), Ok(())),
            (
                &[("secure-transfer", "on"), ("minimum-tls", "1.3")],
                refused,
                Err(Refusal::TlsVersionNotPermitted),
                Ok(()),
            ),
        ] {
            let settings = with(changes);
            assert_eq!(https(&settings, Transport::Plain), plain, "{changes:?}");
            assert_eq!(https(&settings, old), of_old, "{changes:?}");
            assert_eq!(https(&settings, new), of_new, "{changes:?}");
        }
    }

    #[test]
    fn keys_may_be_switched_off() {
        assert_eq!(AccountSettings::default().permit_key(), Ok(()));
        assert_eq!(with(&[("shared-key", "off")]).permit_key(), Err(Refusal::KeyBasedAuthenticationNotPermitted));
    }
}
