//! The mounts this process sees (`/proc/self/mountinfo`, proc_pid_mountinfo(5)).
//! Chooses no mount for a path: `storage` and `cgroup` do.

use crate::host::{Host, HostError};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// A device as the kernel numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceNumber {
    /// The driver.
    pub major: u32,
    /// The device, or partition, of that driver.
    pub minor: u32,
}

impl DeviceNumber {
    /// Takes a `dev_t`, as `stat(2)` gives it, apart.
    pub fn of(device: u64) -> Self {
        Self { major: rustix::fs::major(device), minor: rustix::fs::minor(device) }
    }

    fn parse(text: &str) -> Option<Self> {
        let (major, minor) = text.split_once(':')?;
        Some(Self { major: major.parse().ok()?, minor: minor.parse().ok()? })
    }
}

/// One mount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// `st_dev` of the files on it. LIE: btrfs gives its files another number.
    pub device: DeviceNumber,
    /// Which part of the file system is mounted: `/` except for bind mounts and namespaces.
    pub root: PathBuf,
    /// Where it is mounted.
    pub mount_point: PathBuf,
    /// Its type, such as `ext4` or `tmpfs`.
    pub filesystem: String,
    /// What is mounted, such as `/dev/nvme0n1p2`; free text for many types.
    pub source: PathBuf,
    /// Options of the file system itself; a v1 control group lists its controllers here.
    pub options: String,
}

const PATH: &str = "/proc/self/mountinfo";

/// Reads all mounts in the kernel's order: of two at one place the later covers the earlier.
pub fn mounts(host: &Host) -> Result<Vec<Mount>, HostError> {
    let path = Path::new(PATH);
    let text = host.read(path)?;
    text.lines().map(|line| parse(line).ok_or_else(|| HostError::absent(path, "the columns of a mount"))).collect()
}

/// `36 35 98:0 /root /point options [optional fields] - type source options`
fn parse(line: &str) -> Option<Mount> {
    let (left, right) = line.split_once(" - ")?;
    let mut left = left.split(' ').skip(2);
    let mut right = right.splitn(3, ' ');
    Some(Mount {
        device: DeviceNumber::parse(left.next()?)?,
        root: unescape(left.next()?),
        mount_point: unescape(left.next()?),
        filesystem: right.next()?.to_owned(),
        source: unescape(right.next()?),
        options: right.next().unwrap_or_default().to_owned(),
    })
}

/// Undoes the kernel's `\040` for space, tab, line feed and backslash.
fn unescape(text: &str) -> PathBuf {
    let bytes = text.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        match octal(&bytes[at..]) {
            Some(byte) => {
                plain.push(byte);
                at += 4;
            }
            None => {
                plain.push(bytes[at]);
                at += 1;
            }
        }
    }
    PathBuf::from(OsString::from_vec(plain))
}

/// The byte of a leading `\ooo`, if there is one.
fn octal(bytes: &[u8]) -> Option<u8> {
    let [b'\\', digits @ ..] = bytes.get(..4)? else { return None };
    digits.iter().try_fold(0_u8, |value, digit| match digit {
        b'0'..=b'7' => value.checked_mul(8)?.checked_add(digit - b'0'),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_host::FakeHost;

    #[test]
    fn optional_fields_and_escapes_are_understood() {
        let fake = FakeHost::new();
        fake.file(
            "/proc/self/mountinfo",
            "36 35 98:0 /sub /mnt/two\\040words rw shared:1 master:2 - ext3 /dev/root rw\n",
        );
        let expected = Mount {
            device: DeviceNumber { major: 98, minor: 0 },
            root: PathBuf::from("/sub"),
            mount_point: PathBuf::from("/mnt/two words"),
            filesystem: "ext3".to_owned(),
            source: PathBuf::from("/dev/root"),
            options: "rw".to_owned(),
        };
        assert_eq!(mounts(&fake.host()).expect("a good file"), [expected]);
    }

    #[test]
    fn only_whole_octal_escapes_are_undone() {
        assert_eq!(unescape(r"a\134b\9\04"), Path::new(r"a\b\9\04"));
        assert_eq!(unescape(r"\777"), Path::new(r"\777"));
    }

    #[test]
    fn malformed_lines_are_refused() {
        for bad in ["36 35 98:0 / /mnt rw ext3 /dev/root rw\n", "36 35 98 / /mnt rw - ext3 x rw\n", "\n"] {
            let fake = FakeHost::new();
            fake.file("/proc/self/mountinfo", bad);
            let error = mounts(&fake.host()).expect_err(bad);
            assert_eq!(error.to_string(), "find the columns of a mount in '/proc/self/mountinfo'");
        }
    }

    #[test]
    fn the_real_host_is_understood() {
        let found = mounts(&Host::real()).expect("Linux has mountinfo");
        assert!(found.iter().any(|mount| mount.mount_point == Path::new("/proc")));
    }
}
