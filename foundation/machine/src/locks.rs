//! Which process has locked a file (proc_locks(5)). For messages: the answer may be old when it is returned.

use crate::host::{Host, HostError};
use crate::mounts::DeviceNumber;
use std::path::Path;

/// The process that has taken a lock on the whole of a file (flock(2)); none when nobody has, or one that is not to be seen from here.
pub fn lock_holder(host: &Host, device: DeviceNumber, inode: u64) -> Result<Option<u32>, HostError> {
    let text = host.read_if_there(Path::new("/proc/locks"))?.unwrap_or_default();
    let place = format!("{:02x}:{:02x}:{inode}", device.major, device.minor);
    let holder = |line: &str| {
        // `1: FLOCK  ADVISORY  WRITE 12345 08:01:1234 0 EOF`; with `->` behind the number those who wait.
        let mut words = line.split_whitespace().skip(1);
        let is_held = words.next() == Some("FLOCK");
        let pid = words.nth(2)?.parse().ok()?;
        (is_held && words.next() == Some(&place)).then_some(pid)
    };
    Ok(text.lines().find_map(holder))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_host::FakeHost;

    #[test]
    fn the_holder_of_a_lock_is_named_and_nobody_elses() {
        let host = FakeHost::new();
        host.file(
            "/proc/locks",
            "1: POSIX  ADVISORY  WRITE 11 08:01:77 0 EOF\n2: FLOCK  ADVISORY  WRITE 12 fe:0a:77 0 EOF\n\
             3: FLOCK  ADVISORY  WRITE 13 08:01:77 0 EOF\n3: -> FLOCK  ADVISORY  WRITE 14 08:01:78 0 EOF\n",
        );
        let holder = |major, minor, inode| {
            lock_holder(&host.host(), DeviceNumber { major, minor }, inode).expect("the table can be read")
        };
        assert_eq!((holder(8, 1, 77), holder(0xfe, 10, 77), holder(8, 1, 78)), (Some(13), Some(12), None));
    }
}
