//! Interfaces and their addresses, asked of the kernel by rtnetlink, which also reports when they change. What it sends
//! is trusted, and read with bounds all the same.

use crate::Error;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, recv, send, socket_with};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// rtnetlink(7), netlink(7), netdevice(7).
const NEW_LINK: u16 = 16;
const GET_LINK: u16 = 18;
const NEW_ADDRESS: u16 = 20;
const GET_ADDRESS: u16 = 22;
const DONE: u16 = 3;
const FAILED: u16 = 2;
const REQUEST_DUMP: u16 = 0x301;
const LINK_HEAD: usize = 16;
const ADDRESS_HEAD: usize = 8;
const NAME: u16 = 3;
const MASTER: u16 = 10;
const ADDRESS: u16 = 1;
const LOCAL: u16 = 2;
const IS_UP: u32 = 1;
const IS_LOOPBACK: u32 = 8;
const HAS_MULTICAST: u32 = 0x1000;
/// Links, addresses of IPv4 and of IPv6.
const CHANGES: u32 = 0x1 | 0x10 | 0x100;

/// The kernel sends no more at once.
const MESSAGE_BYTES: usize = 64 << 10;

/// LIMIT: hosts of containers have a few thousand.
const ENTRIES_MAX: usize = 16 << 10;

const OPERATION: &str = "list network interfaces with";

/// One interface that is up.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Link {
    index: u32,
    name: String,
    flags: u32,
    /// A port of a bridge or a bond, which has the address.
    is_port: bool,
}

/// An address with the length of its network's prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct OwnAddress {
    index: u32,
    address: IpAddr,
    prefix: u8,
}

/// Interfaces and addresses at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NetworkView {
    links: Vec<Link>,
    addresses: Vec<OwnAddress>,
}

impl NetworkView {
    /// Asks the kernel. With `only`, interfaces of other names are not there.
    pub fn look(only: &[String]) -> Result<Self, Error> {
        let socket = open(0, SocketFlags::CLOEXEC)?;
        let mut view = Self::default();
        dump(&socket, GET_LINK, |kind, body| {
            view.links.extend(link(kind, body).filter(|link| only.is_empty() || only.contains(&link.name)));
        })?;
        dump(&socket, GET_ADDRESS, |kind, body| {
            let known = |own: &OwnAddress| view.links.iter().any(|link| link.index == own.index);
            view.addresses.extend(address(kind, body).filter(known));
        })?;
        Ok(view)
    }

    /// Indexes of interfaces that are up and have multicast. Loopback has not. Ports come last: a socket joins groups
    /// on so many interfaces only (`igmp_max_memberships`, 20), and hosts of containers have hundreds of ports.
    pub fn multicast_indexes(&self) -> Vec<u32> {
        let fits = |link: &&Link| link.flags & HAS_MULTICAST != 0 && link.flags & IS_LOOPBACK == 0;
        let mut links: Vec<&Link> = self.links.iter().filter(fits).collect();
        links.sort_by_key(|link| (link.is_port, link.index));
        links.into_iter().map(|link| link.index).collect()
    }

    /// Whether a packet's source is on the network of one of the interfaces.
    pub fn is_near(&self, source: &SocketAddr) -> bool {
        self.addresses.iter().any(|own| match (source, own.address) {
            (SocketAddr::V4(source), IpAddr::V4(address)) => {
                share_prefix(&source.ip().octets(), &address.octets(), own.prefix)
            }
            (SocketAddr::V6(source), IpAddr::V6(address)) => {
                let is_here = !source.ip().is_unicast_link_local() || source.scope_id() == own.index;
                is_here && share_prefix(&source.ip().octets(), &address.octets(), own.prefix)
            }
            _ => false,
        })
    }
}

fn share_prefix(one: &[u8], other: &[u8], prefix: u8) -> bool {
    let (whole, rest) = (usize::from(prefix / 8), prefix % 8);
    let (Some(first), Some(second)) = (one.get(..whole), other.get(..whole)) else { return false };
    let differ = |at: usize| match (one.get(at), other.get(at)) {
        (Some(one), Some(other)) => (one ^ other) >> (8 - rest) != 0,
        _ => true,
    };
    first == second && (rest == 0 || !differ(whole))
}

/// Reports when interfaces or addresses change.
#[derive(Debug)]
pub(crate) struct InterfaceWatch(OwnedFd);

impl InterfaceWatch {
    pub fn new() -> Result<Self, Error> {
        Ok(Self(open(CHANGES, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK)?))
    }

    /// Whether anything has changed since the last question. A queue that overflowed has lost changes, so it counts as
    /// one.
    pub fn has_changed(&self) -> bool {
        let mut buffer = vec![0; MESSAGE_BYTES];
        let mut changed = false;
        loop {
            match recv(&self.0, &mut buffer[..], RecvFlags::empty()) {
                Ok(_) | Err(rustix::io::Errno::NOBUFS) => changed = true,
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return changed,
            }
        }
    }
}

impl AsFd for InterfaceWatch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn open(groups: u32, flags: SocketFlags) -> Result<OwnedFd, Error> {
    let failed = |cause| Error::system(OPERATION, "rtnetlink", cause);
    // The protocol without a number is rtnetlink.
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, None).map_err(failed)?;
    bind(&socket, &SocketAddrNetlink::new(0, groups)).map_err(failed)?;
    Ok(socket)
}

fn dump(socket: &OwnedFd, kind: u16, mut each: impl FnMut(u16, &[u8])) -> Result<(), Error> {
    let failed = |cause| Error::system(OPERATION, "rtnetlink", cause);
    let mut request = Vec::new();
    request.extend_from_slice(&((16 + LINK_HEAD) as u32).to_ne_bytes());
    request.extend_from_slice(&kind.to_ne_bytes());
    request.extend_from_slice(&REQUEST_DUMP.to_ne_bytes());
    request.resize(16 + LINK_HEAD, 0);
    send(socket, &request, SendFlags::empty()).map_err(failed)?;
    let mut buffer = vec![0; MESSAGE_BYTES];
    let mut entries = 0;
    while entries < ENTRIES_MAX {
        let (read, _) = recv(socket, &mut buffer[..], RecvFlags::empty()).map_err(failed)?;
        let mut rest = &buffer[..read];
        while let Some((kind, body, after)) = message(rest) {
            match kind {
                DONE => return Ok(()),
                FAILED => return Err(Error::refused(OPERATION, "rtnetlink", "the kernel refused")),
                _ => each(kind, body),
            }
            entries += 1;
            rest = after;
        }
    }
    Ok(())
}

/// The first message: its kind, its body, and what follows it.
fn message(bytes: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let length = u32_at(bytes, 0)? as usize;
    let body = bytes.get(16..length)?;
    Some((u16_at(bytes, 4)?, body, bytes.get(length.next_multiple_of(4)..).unwrap_or_default()))
}

fn link(kind: u16, body: &[u8]) -> Option<Link> {
    let (index, flags) = (u32_at(body, 4)?, u32_at(body, 8)?);
    let attributes = body.get(LINK_HEAD..)?;
    let (name, is_port) = (attribute(attributes, NAME)?, attribute(attributes, MASTER).is_some());
    let name = String::from_utf8_lossy(name.strip_suffix(b"\0").unwrap_or(name)).into_owned();
    (kind == NEW_LINK && flags & IS_UP != 0).then_some(Link { index, name, flags, is_port })
}

fn address(kind: u16, body: &[u8]) -> Option<OwnAddress> {
    let (prefix, index) = (*body.get(1)?, u32_at(body, 4)?);
    let attributes = body.get(ADDRESS_HEAD..)?;
    // On a point-to-point interface ADDRESS is the other end.
    let bytes = attribute(attributes, LOCAL).or_else(|| attribute(attributes, ADDRESS))?;
    let address = match bytes.len() {
        4 => IpAddr::V4(Ipv4Addr::from(<[u8; 4]>::try_from(bytes).ok()?)),
        _ => IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?)),
    };
    (kind == NEW_ADDRESS).then_some(OwnAddress { index, address, prefix })
}

fn attribute(mut bytes: &[u8], wanted: u16) -> Option<&[u8]> {
    loop {
        let (length, kind) = (usize::from(u16_at(bytes, 0)?), u16_at(bytes, 2)?);
        let content = bytes.get(4..length)?;
        if kind == wanted {
            return Some(content);
        }
        bytes = bytes.get(length.next_multiple_of(4)..)?;
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(addresses: &[(u32, &str, u8)]) -> NetworkView {
        let own = |&(index, address, prefix): &(u32, &str, u8)| OwnAddress {
            index,
            address: address.parse().expect("an address"),
            prefix,
        };
        NetworkView { links: Vec::new(), addresses: addresses.iter().map(own).collect() }
    }

    #[test]
    fn near_is_what_shares_a_network() {
        let view = view(&[(2, "10.9.9.1", 24), (2, "fe80::1", 64), (3, "192.168.7.1", 30), (3, "2001:db8::1", 61)]);
        for (address, is_near) in [
            ("10.9.9.200:1", true),
            ("10.9.8.200:1", false),
            ("192.168.7.2:1", true),
            ("192.168.7.5:1", false),
            ("[2001:db8:0:7::9]:1", true),
            ("[2001:db8:0:8::9]:1", false),
            ("[fe80::9%2]:1", true),
            ("[fe80::9%3]:1", false),
            ("[::ffff:10.9.9.200]:1", false),
        ] {
            assert_eq!(view.is_near(&address.parse().expect("an address")), is_near, "{address}");
        }
    }

    #[test]
    fn ports_of_bridges_come_last() {
        let link = |index, flags, is_port| Link { index, name: String::new(), flags: flags | IS_UP, is_port };
        let links = vec![
            link(1, IS_LOOPBACK | HAS_MULTICAST, false),
            link(2, HAS_MULTICAST, true),
            link(3, 0, false),
            link(4, HAS_MULTICAST, false),
        ];
        assert_eq!(NetworkView { links, addresses: Vec::new() }.multicast_indexes(), [4, 2]);
    }

    #[test]
    fn the_kernel_lists_this_host() {
        let view = NetworkView::look(&[]).expect("rtnetlink answers");
        if view.links.iter().any(|link| link.name == "lo") {
            assert!(view.is_near(&"127.0.0.9:1".parse().expect("an address")));
            assert!(NetworkView::look(&["lo".to_owned()]).expect("it answers").multicast_indexes().is_empty());
        }
        assert_eq!(NetworkView::look(&["nosuch".to_owned()]).expect("it answers"), NetworkView::default());
    }

    #[test]
    fn damaged_messages_are_not_read() {
        assert_eq!(message(&[3, 0, 0, 0, 1, 0]), None);
        assert_eq!(message(&[200, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]), None);
        assert_eq!(attribute(&[0, 0, 9, 0], 3), None);
        assert_eq!(attribute(&[4, 0, 9, 0], 3), None);
    }
}
