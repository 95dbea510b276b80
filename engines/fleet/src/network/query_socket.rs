//! The UDP socket of one family: for an agent, which joins the group on each interface, and for a viewer, which sends
//! to it on each. Hop limits are 1: a query never leaves its network.

use crate::query::PACKET_BYTES;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, ipproto, socket_with, sockopt};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};

/// Administratively scoped.
const GROUP_V4: Ipv4Addr = Ipv4Addr::new(239, 255, 77, 77);
/// Of the link.
const GROUP_V6: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0x7a, 1);

/// One family's socket.
#[derive(Debug)]
pub(crate) struct QuerySocket {
    socket: UdpSocket,
    is_v6: bool,
}

impl QuerySocket {
    /// A socket on all addresses and `port`, or any port for 0.
    pub fn open(is_v6: bool, port: u16) -> io::Result<Self> {
        let family = if is_v6 { AddressFamily::INET6 } else { AddressFamily::INET };
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(family, SocketType::DGRAM, flags, Some(ipproto::UDP))?;
        let any: IpAddr = if is_v6 { Ipv6Addr::UNSPECIFIED.into() } else { Ipv4Addr::UNSPECIFIED.into() };
        if is_v6 {
            sockopt::set_ipv6_v6only(&socket, true)?;
            sockopt::set_ipv6_multicast_hops(&socket, 1)?;
        } else {
            sockopt::set_ip_multicast_ttl(&socket, 1)?;
        }
        bind(&socket, &SocketAddr::new(any, port))?;
        Ok(Self { socket: UdpSocket::from(socket), is_v6 })
    }

    /// Joins the group on an interface; joined already is joined.
    pub fn join(&self, index: u32) -> io::Result<()> {
        let joined = if self.is_v6 {
            sockopt::set_ipv6_add_membership(&self.socket, &GROUP_V6, index)
        } else {
            sockopt::set_ip_add_membership_with_ifindex(&self.socket, &GROUP_V4, &Ipv4Addr::UNSPECIFIED, index)
        };
        match joined {
            Err(rustix::io::Errno::ADDRINUSE) => Ok(()),
            joined => Ok(joined?),
        }
    }

    /// Sends to the group on an interface. An interface without an address of the family refuses; others may have one.
    pub fn send_to_group(&self, packet: &[u8], index: u32, port: u16) -> io::Result<()> {
        let target = if self.is_v6 {
            sockopt::set_ipv6_multicast_if(&self.socket, index)?;
            SocketAddr::V6(SocketAddrV6::new(GROUP_V6, port, 0, index))
        } else {
            let any = Ipv4Addr::UNSPECIFIED;
            sockopt::set_ip_multicast_if_with_ifindex(&self.socket, &any, &any, index)?;
            SocketAddr::new(GROUP_V4.into(), port)
        };
        self.send(packet, &target)
    }

    /// Sends to one address, if it is of this family.
    pub fn send(&self, packet: &[u8], target: &SocketAddr) -> io::Result<()> {
        if target.is_ipv6() == self.is_v6 {
            self.socket.send_to(packet, target)?;
        }
        Ok(())
    }

    /// The next packet of the right size that has arrived. Others are dropped; at most so many are looked at in a turn.
    pub fn receive(&self) -> Option<([u8; PACKET_BYTES], SocketAddr)> {
        let mut buffer = [0; PACKET_BYTES + 1];
        for _ in 0..PACKETS_MAX {
            match self.socket.recv_from(&mut buffer) {
                Ok((PACKET_BYTES, source)) => {
                    let packet = buffer.first_chunk().expect("one byte less than the buffer");
                    return Some((*packet, source));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return None,
                // Too long, too short, or the network's answer to something that was sent before.
                Ok(_) | Err(_) => {}
            }
        }
        None
    }
}

/// LIMIT: packets in one turn, so that a flood does not keep sessions waiting.
const PACKETS_MAX: usize = 64;

impl AsFd for QuerySocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
