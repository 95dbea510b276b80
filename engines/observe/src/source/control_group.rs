//! What a control group's files tell of CPU time: version 1 (`cpuacct.usage`, `cpu.stat`) and 2 (`cpu.stat`), cgroups(7); and
//! the name by which people know a group.

use super::words::{lines, number, number_of};
use serde::{Deserialize, Serialize};

/// What a group was allowed and refused, since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Throttling {
    /// Quota periods in which some thread of the group could run.
    pub periods: u64,
    /// Of those, periods in which the quota was used up.
    pub throttled_periods: u64,
}

/// The counters of `cpu.stat`, both versions; none where the group has no quota file's lines.
pub fn throttling(text: &[u8]) -> Option<Throttling> {
    Some(Throttling {
        periods: number_of(text, b"nr_periods ")?,
        throttled_periods: number_of(text, b"nr_throttled ")?,
    })
}

/// CPU time of all threads of a group since it was made, version 2's `cpu.stat`, in nanoseconds.
pub fn usage_v2_ns(text: &[u8]) -> Option<u64> {
    number_of(text, b"usage_usec ").map(|us| us.saturating_mul(1000))
}

/// CPU time of all threads of a group, version 1's `cpuacct.usage`.
pub fn usage_v1_ns(text: &[u8]) -> Option<u64> {
    number(text.trim_ascii())
}

/// The group of a process in `/proc/PID/cgroup`: version 1's CPU controller where it is bound, else version 2's; the other
/// hierarchies say nothing about CPU time.
pub fn of_process(text: &[u8]) -> Option<&[u8]> {
    let mut unified = None;
    for line in lines(text) {
        let mut columns = line.splitn(3, |&byte| byte == b':').skip(1);
        let (Some(controllers), Some(path)) = (columns.next(), columns.next()) else { continue };
        if controllers.is_empty() {
            unified = Some(path);
        } else if controllers.split(|&byte| byte == b',').any(|name| name == b"cpu") {
            return Some(path);
        }
    }
    unified
}

/// What people call a group: the service, scope or container in its path, else the path.
pub fn unit(path: &str) -> &str {
    // LIMIT: container runtimes name groups by 64 hexadecimal digits, and show people the first 12.
    const ID_DIGITS: usize = 64;
    const ID_SHOWN: usize = 12;
    let parts = path.rsplit('/').filter(|part| !part.is_empty());
    for part in parts {
        let bare = part.strip_suffix(".scope").unwrap_or(part);
        let id = bare.rsplit('-').next().unwrap_or(bare);
        if id.len() == ID_DIGITS && id.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return &id[..ID_SHOWN];
        }
        if part.ends_with(".service") || part.ends_with(".scope") {
            return part;
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_tell_usage_and_throttling() {
        let v2 = b"usage_usec 12\nuser_usec 5\nnr_periods 26\nnr_throttled 25\nthrottled_usec 886446\n";
        assert_eq!(usage_v2_ns(v2), Some(12_000));
        assert_eq!(throttling(v2), Some(Throttling { periods: 26, throttled_periods: 25 }));
        assert_eq!(throttling(b"usage_usec 12\n"), None);
        assert_eq!(usage_v1_ns(b"886446138\n"), Some(886_446_138));
    }

    #[test]
    fn the_cpu_hierarchy_counts() {
        let v1 = b"9:name=systemd:/\n4:memory:/m\n1:cpu,cpuacct:/app:1\n0::/u\n";
        assert_eq!(of_process(v1), Some(&b"/app:1"[..]));
        assert_eq!(of_process(b"4:memory:/m\n0::/u\n"), Some(&b"/u"[..]));
        assert_eq!(of_process(b"garbage\n"), None);
    }

    #[test]
    fn groups_have_the_names_people_use() {
        let id = "0123456789abcdef".repeat(4);
        assert_eq!(unit(&format!("/system.slice/docker-{id}.scope")), "0123456789ab");
        assert_eq!(unit(&format!("/kubepods/pod1/{id}")), "0123456789ab");
        assert_eq!(unit("/system.slice/mysql.service/worker"), "mysql.service");
        assert_eq!(unit("/batch"), "/batch");
        assert_eq!(unit("/"), "/");
    }
}
