//! Tells public internet addresses from private ones.

use std::net::{IpAddr, Ipv6Addr};

/// Returns whether an address is a public internet address.
#[must_use]
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => {
            // Carrier-grade NAT, protocol assignments, 6to4 relays, benchmarking, and ranges that
            // are reserved.
            let special = matches!(
                v4.octets(),
                [100, 64..128, ..]
                    | [192, 0, 0, _]
                    | [192, 88, 99, _]
                    | [198, 18..20, ..]
                    | [0, ..]
                    | [240..=255, ..]
            );
            !(v4.is_private()
                || v4.is_loopback()
                || v4.is_link_local()
                || v4.is_multicast()
                || v4.is_broadcast())
                && !(v4.is_documentation() || v4.is_unspecified() || special)
        }
        IpAddr::V6(v6) => match v6.to_ipv4_mapped() {
            Some(v4) => is_public(IpAddr::V4(v4)),
            None => is_public_v6(v6),
        },
    }
}

/// Returns whether an address is a public one of IPv6. Only 2000::/3 is assigned to the internet.
/// Everything else is local, reserved, or embeds an IPv4 address: IPv4-compatible and
/// IPv4-translated addresses, NAT64.
fn is_public_v6(address: Ipv6Addr) -> bool {
    let is_special = match address.segments() {
        // Protocol assignments, such as Teredo, benchmarking and ORCHID; documentation; 6to4.
        [0x2001, 0..0x200, ..] | [0x2001, 0xdb8, ..] | [0x2002, ..] | [0x3fff, 0..0x1000, ..] => {
            true
        }
        // ISATAP, which embeds an IPv4 address.
        [_, _, _, _, 0 | 0x200, 0x5efe, ..] => true,
        [first, ..] => !(0x2000..0x4000).contains(&first),
    };
    !is_special
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_and_private_addresses_are_not_public() {
        for text in [
            "127.0.0.1",
            "10.1.2.3",
            "192.168.0.1",
            "169.254.169.254",
            "100.64.0.1",
            "100.127.255.255",
            "0.0.0.0",
            "192.0.0.8",
            "192.0.2.1",
            "192.88.99.1",
            "198.18.0.1",
            "198.19.255.255",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::7f00:1",
            "fd00::1",
            "fe80::1",
            "fec0::1",
            "feff::1",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::ffff:198.18.0.1",
            "::ffff:0:7f00:1",
            "64:ff9b:1::7f00:1",
            "2001:2::1",
            "2001:20::1",
            "2606:4700::5efe:7f00:1",
            "2606:4700::200:5efe:7f00:1",
            "4000::1",
            "64:ff9b::7f00:1",
            "100::1",
            "2001::1",
            "2001:0:7f00:1::",
            "2001:db8::1",
            "2002:7f00:1::",
            "3fff::1",
            "3fff:fff::1",
            "5f00::1",
        ] {
            assert!(!is_public(text.parse().unwrap()), "{text}");
        }
        for text in [
            "93.184.216.34",
            "100.63.255.255",
            "100.128.0.1",
            "192.0.1.1",
            "192.88.98.1",
            "198.17.255.255",
            "198.20.0.1",
            "2001:4860:4860::8888",
            "2606:4700::1111",
            "3ffe::1",
            "3fff:1000::1",
        ] {
            assert!(is_public(text.parse().unwrap()), "{text}");
        }
    }
}
