//! Which hosts may be reached. A page can name any host, and a name can lead anywhere: so names are
//! resolved here, the addresses are checked, and connections go to the checked addresses only.
//!
//! What is not public on the internet is closed, unless an allow rule names that very host, and
//! the name itself says that it is local. Where a name of the internet leads is up to whoever
//! owns it, so a rule that trusts the name opens nothing else.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::net::lookup_host;

use crate::permission::{Effect, View};

/// Why a host is not visited.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Closed {
    #[error("the address names no host")]
    NoHost,
    #[error(
        "{host} leads to {address}, which is not on the public internet. If the user wants it \
         fetched, they can add the allow rule `WebFetch(domain:{host})`"
    )]
    Private { host: String, address: IpAddr },
    #[error(
        "{host} is a name for this machine or its own network. If the user wants it fetched, they \
         can add the allow rule `WebFetch(domain:{host})`"
    )]
    LocalName { host: String },
    #[error(
        "{host} is a public name, but leads to {address}, which is not on the public internet. If the user \
         wants it fetched, they can add the allow rule `WebFetch(domain:{address})`; then give that \
         address instead of the name"
    )]
    Astray { host: String, address: IpAddr },
}

/// A host that may be visited, and where it is.
#[derive(Debug, Clone)]
pub struct Door {
    pub host: String,
    /// Empty where the name is not known here; a proxy may know it.
    pub addresses: Vec<SocketAddr>,
}

impl Door {
    /// Whether it is this machine, which no proxy can reach.
    pub fn is_loopback(&self) -> bool {
        !self.addresses.is_empty() && self.addresses.iter().all(|at| at.ip().is_loopback())
    }
}

/// The host of an address as rules write it: small letters, no dot at the end.
fn host_of(url: &Url) -> Option<String> {
    let host = url.host_str()?.trim_end_matches('.').to_ascii_lowercase();
    (!host.is_empty()).then_some(host)
}

/// Whether an allow rule names the host of this address, and not just many hosts or all.
pub fn is_named(url: &Url, view: &View) -> bool {
    let Some(host) = host_of(url) else { return false };
    let names = |named: &str| named == host || named == host.trim_matches(['[', ']']);
    let mut rules = view.rules.iter();
    rules.any(|rule| {
        rule.effect == Effect::Allow && rule.tool == "WebFetch" && rule.host().is_some_and(names)
    })
}

/// Finds out where an address leads, and whether it may be visited.
pub async fn open(url: &Url, view: &View) -> Result<Door, Closed> {
    let shown = host_of(url).ok_or(Closed::NoHost)?;
    let host = shown.trim_matches(['[', ']']).to_owned();
    let port = url.port_or_known_default().unwrap_or(443);
    let named = is_named(url, view);
    let literal: Option<IpAddr> = host.parse().ok();
    if literal.is_none() && !named && is_local_name(&host) {
        // Not even looked up.
        return Err(Closed::LocalName { host: shown });
    }
    let addresses: Vec<SocketAddr> = match literal {
        Some(address) => vec![SocketAddr::new(address, port)],
        None => lookup_host((host.as_str(), port)).await.map(Iterator::collect).unwrap_or_default(),
    };
    let found: Vec<IpAddr> = addresses.iter().map(SocketAddr::ip).collect();
    check(&host, &found, named)?;
    Ok(Door { host, addresses })
}

/// Whether a host may lead to these addresses.
fn check(host: &str, addresses: &[IpAddr], named: bool) -> Result<(), Closed> {
    // One bad address is enough: honest names do not mix them.
    let private = addresses.iter().copied().find(|address| !is_public(*address));
    let is_local = host.parse::<IpAddr>().is_ok() || is_local_name(host);
    match private {
        Some(_) if named && is_local => Ok(()),
        Some(address) if is_local => Err(Closed::Private { host: host.to_owned(), address }),
        Some(address) => Err(Closed::Astray { host: host.to_owned(), address }),
        None => Ok(()),
    }
}

/// Names that mean something only here, also where a proxy would resolve them.
fn is_local_name(host: &str) -> bool {
    let ends = [".localhost", ".local", ".internal", ".intranet", ".lan", ".home.arpa", ".test"];
    !host.contains('.') || ends.iter().any(|end| host.ends_with(end))
}

/// Whether an address can belong to somebody on the internet.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let shared = a == 100 && (64..128).contains(&b); // between a provider and its customers
    let assigned = a == 192 && b == 0 && c == 0;
    let relay = a == 192 && b == 88 && c == 99;
    let benchmark = a == 198 && (18..20).contains(&b);
    !(a == 0
        || a >= 240
        || address.is_loopback()
        || address.is_private()
        || address.is_link_local()
        || address.is_multicast()
        || address.is_documentation()
        || shared
        || assigned
        || relay
        || benchmark)
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    if let Some(inner) = inner_v4(address) {
        return is_public_v4(inner);
    }
    let [first, second, third, ..] = address.segments();
    let local_translation = first == 0x64 && second == 0xff9b && third == 1;
    let tunnel_or_special = first == 0x2001 && second < 0x200;
    let documentation = (first == 0x2001 && second == 0xdb8) || first & 0xfff0 == 0x3ff0;
    // Only this part is given out; unique-local, link-local and multicast addresses are not in it.
    let global = first & 0xe000 == 0x2000;
    global && !(local_translation || tunnel_or_special || documentation)
}

/// The IPv4 address that an IPv6 address stands for: mapped, compatible, translated or 6to4.
fn inner_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let [a, b, c, d, e, f, g, h] = address.segments();
    let of = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        Ipv4Addr::new(a, b, c, d)
    };
    match [a, b, c, d, e, f] {
        [0, 0, 0, 0, 0, 0 | 0xffff] | [0, 0, 0, 0, 0xffff, 0] | [0x64, 0xff9b, 0, 0, 0, 0] => {
            Some(of(g, h))
        }
        [0x2002, high, low, ..] => Some(of(high, low)),
        _ => None,
    }
}

/// Resolves one host to its checked addresses, however often it is asked. Any other name is that
/// of a proxy, which the user has chosen.
#[derive(Debug)]
pub struct Pinned(pub Door);

impl Resolve for Pinned {
    fn resolve(&self, name: Name) -> Resolving {
        let asked = name.as_str().trim_end_matches('.').to_ascii_lowercase();
        let known = (asked == self.0.host).then(|| self.0.addresses.clone());
        Box::pin(async move {
            let found: Vec<SocketAddr> = match known {
                Some(addresses) => addresses,
                None => lookup_host((asked.as_str(), 0)).await?.collect(),
            };
            if found.is_empty() {
                return Err(format!("the name {asked} cannot be resolved").into());
            }
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_opens_what_is_local_by_its_name_and_no_name_of_the_internet() {
        let (metadata, own): (IpAddr, IpAddr) =
            ("169.254.169.254".parse().unwrap(), "10.1.2.3".parse().unwrap());
        let public: IpAddr = "93.184.216.34".parse().unwrap();
        for host in ["docs.example.org", "a.b.example", "local.example.com", "localhost.example"] {
            for named in [true, false] {
                assert_eq!(check(host, &[public], named), Ok(()));
                for bad in [metadata, own] {
                    let astray = Closed::Astray { host: host.to_owned(), address: bad };
                    // Among others, too.
                    assert_eq!(check(host, &[public, bad], named), Err(astray));
                }
            }
        }
        let local = ["10.1.2.3", "::1", "localhost", "nas", "a.local", "a.internal", "a.localhost"];
        for host in local.into_iter().chain(["a.test", "a.home.arpa", "a.lan"]) {
            assert_eq!(check(host, &[own], true), Ok(()), "{host}");
            let closed = Closed::Private { host: host.to_owned(), address: own };
            assert_eq!(check(host, &[own], false), Err(closed));
        }
    }

    #[test]
    fn only_what_is_on_the_internet_is_public() {
        let public = ["1.1.1.1", "93.184.216.34", "2606:4700::1111", "::ffff:8.8.8.8"];
        let closed = [
            "0.0.0.0",
            "0.1.2.3",
            "127.0.0.1",
            "127.255.0.9",
            "10.0.0.1",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "100.127.255.255",
            "192.0.0.8",
            "192.0.2.1",
            "198.18.0.1",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::127.0.0.1",
            "::ffff:0:127.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b:1::1",
            "2002:7f00:1::",
            "2002:c0a8:101::1",
            "2001::1",
            "2001:db8::1",
            "3fff::1",
            "fc00::1",
            "fd12:3456::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "100::1",
        ];
        for text in public {
            assert!(is_public(text.parse().unwrap()), "{text}");
        }
        for text in closed {
            assert!(!is_public(text.parse().unwrap()), "{text}");
        }
        for text in ["172.15.0.1", "172.32.0.1", "100.63.0.1", "100.128.0.1", "169.253.0.1"] {
            assert!(is_public(text.parse().unwrap()), "{text}");
        }
    }
}
