//! Threads and processes as they end, with what they used, as the kernel reports them to whoever listens: taskstats over generic netlink
//! (Documentation/accounting/taskstats.rst and include/uapi/linux/taskstats.h of the kernel). Needs `CAP_NET_ADMIN` where the machine's own
//! numbers of users and processes are, so not in a container.

use rustix::net::netlink::{GENERIC, SocketAddrNetlink};
use rustix::net::sockopt::set_socket_recv_buffer_size_force;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, recv, send, socket_with};
use std::io;
use std::os::fd::OwnedFd;

/// What the kernel reports.
pub struct EndedTasks {
    socket: OwnedFd,
    message: Vec<u8>,
}

/// A thread that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndedTask<'a> {
    /// Its number.
    pub thread: u32,
    /// The number of its process.
    pub process: u32,
    /// Its name.
    pub name: &'a [u8],
    /// Where it was the last thread of its process: the CPU time of them all.
    pub all_used_ns: Option<u64>,
}

/// LIMIT: reports that wait to be taken, in bytes; one takes some 2 KiB. What does not fit is lost, and [`EndedTasks::take`] says so.
const WAITING_BYTES: usize = 32 << 20;

/// Bytes of the longest message: a header and two structures of some 600 bytes.
const MESSAGE_BYTES: usize = 16 << 10;

/// Numbers of include/uapi/linux/{netlink,genetlink,taskstats}.h.
mod number {
    pub const FLAGS_REQUEST_AND_ACKNOWLEDGE: u16 = 1 | 4;
    pub const NETLINK_ERROR: u16 = 2;
    pub const CONTROLLER: u16 = 16;
    pub const CONTROLLER_GET_FAMILY: u8 = 3;
    pub const FAMILY_ID: u16 = 1;
    pub const FAMILY_NAME: u16 = 2;
    pub const TASKSTATS_GET: u8 = 1;
    pub const REGISTER_CPUS: u16 = 3;
    pub const PROCESS_NUMBER: u16 = 1;
    pub const GROUP_NUMBER: u16 = 2;
    pub const STATISTICS: u16 = 3;
    pub const OF_PROCESS: u16 = 4;
    pub const OF_GROUP: u16 = 5;
}

/// Where things stand in `struct taskstats`.
mod place {
    pub const VERSION: usize = 0;
    pub const FLAGS: usize = 8;
    pub const CPU_RUN_VIRTUAL_TOTAL: usize = 72;
    pub const COMM: std::ops::Range<usize> = 80..112;
    pub const TGID: usize = 368;
    /// Of the first version that has all these.
    pub const END: usize = 400;
}

/// From this version on the flag says that a thread was its process's last.
const VERSION_LEAST: u16 = 12;
/// LIE: in this version all has moved; the next one has it back in its place.
const VERSION_MOVED: u16 = 15;
/// `AGROUP` of include/uapi/linux/acct.h.
const WAS_THE_LAST: u8 = 0x20;

const NETLINK_HEADER_BYTES: usize = 16;
const GENERIC_HEADER_BYTES: usize = 4;
const ATTRIBUTE_HEADER_BYTES: usize = 4;

impl EndedTasks {
    /// Listens to ends on `cpus`, a list of ranges as in `/sys/devices/system/cpu/possible`.
    ///
    /// Errors are the kernel's: `PermissionDenied` without the rights, `NotFound` where the kernel has no taskstats, `InvalidInput` in a
    /// container or where a CPU is not there.
    pub fn listen(cpus: &str) -> io::Result<Self> {
        let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, Some(GENERIC))?;
        bind(&socket, &SocketAddrNetlink::new(0, 0))?;
        let mut listener = Self { socket, message: vec![0; MESSAGE_BYTES] };
        let answer =
            listener.ask(number::CONTROLLER, number::CONTROLLER_GET_FAMILY, number::FAMILY_NAME, "TASKSTATS")?;
        let family =
            attributes(answer).find(|(kind, _)| *kind == number::FAMILY_ID).and_then(|(_, value)| u16_at(value, 0));
        let family = family.ok_or(io::ErrorKind::InvalidData)?;
        // The acknowledgement of what has been answered.
        listener.receive(RecvFlags::empty())?;
        // With fewer waiting more are lost.
        let _as_many_as_usual = set_socket_recv_buffer_size_force(&listener.socket, WAITING_BYTES);
        listener.ask(family, number::TASKSTATS_GET, number::REGISTER_CPUS, cpus)?;
        Ok(listener)
    }

    /// Hands over what has been reported since the last time. False where some of it was lost, as there was no room for it.
    pub fn take(&mut self, mut each: impl FnMut(EndedTask<'_>)) -> io::Result<bool> {
        let mut is_whole = true;
        loop {
            match self.receive(RecvFlags::DONTWAIT) {
                Ok(bytes) => {
                    if let Some(task) = payload(bytes).and_then(ended_task) {
                        each(task);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(is_whole),
                Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => is_whole = false,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Sends a command with one text, and returns the attributes of what is answered.
    fn ask(&mut self, family: u16, command: u8, attribute: u16, text: &str) -> io::Result<&[u8]> {
        send(&self.socket, &request(family, command, attribute, text), SendFlags::empty())?;
        payload(self.receive(RecvFlags::empty())?).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    /// One message. One that tells an error is that error.
    fn receive(&mut self, flags: RecvFlags) -> io::Result<&[u8]> {
        let (count, _) = recv(&self.socket, self.message.as_mut_slice(), flags)?;
        let bytes = &self.message[..count.min(MESSAGE_BYTES)];
        let is_error = u16_at(bytes, 4) == Some(number::NETLINK_ERROR);
        match bytes.get(NETLINK_HEADER_BYTES..NETLINK_HEADER_BYTES + 4).filter(|_| is_error) {
            Some(&[a, b, c, d]) if [a, b, c, d] != [0; 4] => {
                Err(io::Error::from_raw_os_error(i32::from_ne_bytes([a, b, c, d]).saturating_neg()))
            }
            _ => Ok(bytes),
        }
    }
}

fn request(family: u16, command: u8, attribute: u16, text: &str) -> Vec<u8> {
    let value_bytes = text.len() + 1;
    let attribute_bytes = ATTRIBUTE_HEADER_BYTES + value_bytes;
    let total_bytes = NETLINK_HEADER_BYTES + GENERIC_HEADER_BYTES + attribute_bytes.next_multiple_of(4);
    let mut bytes = Vec::with_capacity(total_bytes);
    bytes.extend((total_bytes as u32).to_ne_bytes());
    bytes.extend(family.to_ne_bytes());
    bytes.extend(number::FLAGS_REQUEST_AND_ACKNOWLEDGE.to_ne_bytes());
    // No sequence, and the kernel knows who sends.
    bytes.extend([0; 8]);
    bytes.extend([command, 1, 0, 0]);
    bytes.extend((attribute_bytes as u16).to_ne_bytes());
    bytes.extend(attribute.to_ne_bytes());
    bytes.extend(text.as_bytes());
    bytes.resize(total_bytes, 0);
    bytes
}

/// The attributes of a message.
fn payload(message: &[u8]) -> Option<&[u8]> {
    let length = u32_at(message, 0)? as usize;
    message.get(NETLINK_HEADER_BYTES + GENERIC_HEADER_BYTES..length)
}

/// Kinds and values, up to the first that is not whole.
fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = usize::from(u16_at(bytes, 0)?);
        let value = bytes.get(ATTRIBUTE_HEADER_BYTES..length)?;
        // The two uppermost bits say how it is written.
        let kind = u16_at(bytes, 2)? & 0x3fff;
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, value))
    })
}

fn ended_task(of_message: &[u8]) -> Option<EndedTask<'_>> {
    let part = |wanted| attributes(of_message).find(|(kind, _)| *kind == wanted).map(|(_, value)| value);
    let (thread, own) = numbered(part(number::OF_PROCESS)?, number::PROCESS_NUMBER)?;
    let used_ns = |statistics| u64_at(statistics, place::CPU_RUN_VIRTUAL_TOTAL);
    if !is_known_version(own) {
        return None;
    }
    let all_used_ns = match part(number::OF_GROUP) {
        // LIE: some kernels leave the version out here.
        Some(group) => Some(used_ns(numbered(group, number::GROUP_NUMBER)?.1)?),
        // Of a process that never had another thread.
        None if own[place::FLAGS] & WAS_THE_LAST != 0 => Some(used_ns(own)?),
        None => None,
    };
    let name = own[place::COMM].split(|byte| *byte == 0).next().unwrap_or_default();
    Some(EndedTask { thread, process: u32_at(own, place::TGID)?, name, all_used_ns })
}

/// Whose statistics, and these, if they are whole.
fn numbered(of_part: &[u8], number: u16) -> Option<(u32, &[u8])> {
    let part = |wanted| attributes(of_part).find(|(kind, _)| *kind == wanted).map(|(_, value)| value);
    let (number, statistics) = (u32_at(part(number)?, 0)?, part(number::STATISTICS)?);
    (statistics.len() >= place::END).then_some((number, statistics))
}

fn is_known_version(statistics: &[u8]) -> bool {
    u16_at(statistics, place::VERSION).is_some_and(|version| version >= VERSION_LEAST && version != VERSION_MOVED)
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
        let mut bytes = ((ATTRIBUTE_HEADER_BYTES + value.len()) as u16).to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    fn statistics(version: u16, flags: u8, used_ns: u64, name: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; place::END];
        bytes[..2].copy_from_slice(&version.to_ne_bytes());
        bytes[place::FLAGS] = flags;
        bytes[place::CPU_RUN_VIRTUAL_TOTAL..][..8].copy_from_slice(&used_ns.to_ne_bytes());
        bytes[place::COMM.start..][..name.len()].copy_from_slice(name);
        bytes[place::TGID] = 5;
        bytes
    }

    fn part(kind: u16, number_kind: u16, number: u32, statistics: &[u8]) -> Vec<u8> {
        let inner = [attribute(number_kind, &number.to_ne_bytes()), attribute(number::STATISTICS, statistics)].concat();
        attribute(kind, &inner)
    }

    fn of_thread(version: u16, flags: u8) -> Vec<u8> {
        part(number::OF_PROCESS, number::PROCESS_NUMBER, 7, &statistics(version, flags, 50, b"one"))
    }

    #[test]
    fn a_message_tells_of_a_thread_and_with_the_last_one_of_the_process() {
        let group = part(number::OF_GROUP, number::GROUP_NUMBER, 5, &statistics(0, 0, 90, b""));
        let task = |all_used_ns| Some(EndedTask { thread: 7, process: 5, name: b"one", all_used_ns });
        assert_eq!(ended_task(&of_thread(16, 0)), task(None));
        assert_eq!(ended_task(&of_thread(16, WAS_THE_LAST)), task(Some(50)));
        assert_eq!(ended_task(&[of_thread(12, WAS_THE_LAST), group].concat()), task(Some(90)));
    }

    #[test]
    fn what_is_cut_or_of_another_version_is_left_out() {
        for version in [8, 11, VERSION_MOVED] {
            assert_eq!(ended_task(&of_thread(version, WAS_THE_LAST)), None);
        }
        let whole = of_thread(16, WAS_THE_LAST);
        for length in 0..whole.len() - 16 {
            assert_eq!(ended_task(&whole[..length]), None, "{length}");
        }
    }

    #[test]
    fn the_kernel_reports_who_ends_here_where_it_may() {
        let cpus = std::fs::read_to_string("/sys/devices/system/cpu/possible").expect("a list of CPUs");
        let mut listener = match EndedTasks::listen(cpus.trim()) {
            Ok(listener) => listener,
            Err(error) => {
                let may_be = [io::ErrorKind::PermissionDenied, io::ErrorKind::NotFound, io::ErrorKind::InvalidInput];
                assert!(may_be.contains(&error.kind()), "{error}");
                return;
            }
        };
        assert!(EndedTasks::listen("99999").is_err());
        // LIE: what has run since its last switch or tick is not in the count yet: of a program that never slept it may be nothing.
        let mut child = std::process::Command::new("sleep").arg("0.01").spawn().expect("a program");
        let pid = child.id();
        child.wait().expect("its end");
        let mut found = None;
        // Others end, too.
        let is_whole = listener.take(|task| {
            if let (Some(used_ns), true) = (task.all_used_ns, task.process == pid) {
                found = Some((task.name.to_vec(), used_ns));
            }
        });
        let (name, used_ns) = found.expect("reported before its parent could know");
        assert_eq!(name, b"sleep");
        assert!(is_whole.expect("readable") && used_ns > 10_000, "{used_ns}");
    }
}
