//! Whom the kernel ended for want of memory: its log has the names, and only who may read it (root, usually) learns them.

use machine::Host;
use rustix::fs::{Mode, OFlags, open};
use rustix::io::{Errno, read};

/// LIMIT: records of the log that are looked through; it holds fewer.
const RECORDS_MAX: usize = 200_000;
/// LIMIT: bytes of a record (PRINTK_MESSAGE_MAX and its head).
const RECORD_BYTES: usize = 8192;
/// LIMIT: victims that are named.
const VICTIMS_MAX: usize = 8;

/// `name/PID` of those that were ended since `since_ns` of the monotonic clock. None are known without rights.
pub fn victims(host: &Host, since_ns: u64) -> Vec<String> {
    if !host.is_real() {
        return Vec::new();
    }
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let Ok(log) = open("/dev/kmsg", flags, Mode::empty()) else { return Vec::new() };
    let (mut record, mut found) = ([0; RECORD_BYTES], Vec::new());
    for _ in 0..RECORDS_MAX {
        match read(&log, &mut record) {
            Ok(count) if count > 0 => found.extend(victim(&record[..count], since_ns)),
            // What was next has been overwritten: reading goes on behind it.
            Err(Errno::PIPE | Errno::INTR) => {}
            _ => break,
        }
    }
    found.truncate(VICTIMS_MAX);
    found
}

/// The victim that a record (`6,1234,TIME_US,-;MESSAGE`) tells of.
fn victim(record: &[u8], since_ns: u64) -> Option<String> {
    let text = String::from_utf8_lossy(record);
    let (head, message) = text.split_once(';')?;
    let at_us: u64 = head.split(',').nth(2)?.parse().ok()?;
    let (_, killed) = message.split_once("Killed process ").filter(|_| at_us.saturating_mul(1000) >= since_ns)?;
    let (pid, name) = killed.split_once(" (")?;
    // A name may hold brackets; what follows it has a colon.
    let name = name.split_once(") total-vm:").or_else(|| name.split_once("), ")).map(|(name, _)| name)?;
    Some(format!("{name}/{}", pid.parse::<u32>().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn victims_are_named_in_every_form_of_the_record() {
        let record = |at_us: u64, message: &str| victim(format!("3,99,{at_us},-;{message}\n").as_bytes(), 5_000_000);
        let killed = "Out of memory: Killed process 4711 (mysqld) total-vm:9kB, anon-rss:8kB, UID:0";
        assert_eq!(record(6_000, killed).as_deref(), Some("mysqld/4711"));
        let of_group = "Memory cgroup out of memory: Killed process 7 (a) (b) total-vm:9kB, anon-rss:8kB";
        assert_eq!(record(5_000, of_group).as_deref(), Some("a) (b/7"));
        assert_eq!(record(4_999, killed), None, "before this interval");
        for other in ["Killed process x (y) total-vm:1kB", "Killed process 7", "usb 1-1: new device", ""] {
            assert_eq!(record(6_000, other), None, "{other}");
        }
        assert_eq!((victim(b"", 0), victim(b"\xff;\xff", 0)), (None, None));
    }
}
