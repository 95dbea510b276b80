//! What a path is stored on: file system, device, and whether that is memory, flash, a turning disk or another machine.
//! Measures nothing: what a device can do is for a run's own clocks to say.

use crate::host::{Host, HostError};
use crate::mounts::{DeviceNumber, Mount, mounts};
use serde::Serialize;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What a path is stored on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Storage {
    /// Type of the file system, such as `ext4` or `tmpfs`.
    pub filesystem: String,
    /// The whole block device, such as `nvme0n1`, if there is one.
    pub device: Option<String>,
    /// Where the file system is mounted.
    pub mount_point: PathBuf,
    /// What the device says about turning disks, if it says anything.
    pub rotational: Option<bool>,
    /// What that amounts to.
    pub kind: StorageKind,
}

/// How storage behaves under parallel access, roughly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum StorageKind {
    /// Memory: nothing to wait for.
    Memory,
    /// Flash: many requests at once pay.
    SolidState,
    /// Turning disks: one reader at a time pays.
    Rotating,
    /// Another machine.
    Network,
    /// It does not say, or what it says is not to be believed.
    Unknown,
}

/// Says what the existing file or directory `path` is stored on. Links are followed.
pub fn storage_of(host: &Host, path: &Path) -> Result<Storage, HostError> {
    let located = host.locate(path);
    let failed = |cause| HostError::Read { path: path.to_owned(), cause };
    let device = fs::metadata(&located).map_err(failed)?.dev();
    let real = fs::canonicalize(&located).map_err(failed)?;
    let root = fs::canonicalize(host.locate(Path::new("/"))).map_err(failed)?;
    let real = Path::new("/").join(real.strip_prefix(&root).unwrap_or(&real));
    let mounts = mounts(host)?;
    let covering = |mount: &&Mount| real.starts_with(&mount.mount_point);
    let depth = |mount: &&Mount| mount.mount_point.as_os_str().len();
    let number = DeviceNumber::of(device);
    let same_device = mounts.iter().filter(|mount| mount.device == number);
    // LIE: btrfs and some overlays give files another st_dev than mountinfo shows; the deepest mount decides then. Of
    // equally deep ones max_by_key takes the last, which covers the others.
    let mount = same_device.filter(covering).max_by_key(depth);
    let mount = mount.or_else(|| mounts.iter().filter(covering).max_by_key(depth));
    describe(host, mount, number)
}

/// File systems of this machine's own disks and memory (statfs(2), linux/magic.h).
const LOCAL: [u64; 9] = [
    0xef53,      // ext2, ext3, ext4
    0x5846_5342, // xfs
    0x9123_683e, // btrfs
    0xf2f5_2010, // f2fs
    0x2fc1_2fc1, // zfs
    0xca45_1a4e, // bcachefs
    0x794c_7630, // overlay
    0x0102_1994, // tmpfs
    0x8584_58f6, // ramfs
];

/// Whether `path` is there and on a file system of this machine's own: no other machine, and no program, has to answer for it.
pub fn is_on_this_machine(path: &Path) -> bool {
    // The type's width and sign differ between architectures; magic numbers have 32 bits.
    rustix::fs::statfs(path).is_ok_and(|found| LOCAL.contains(&(found.f_type as u64 & 0xffff_ffff)))
}

/// Says the same for an open descriptor's `st_dev`, as `fstat(2)` gives it.
pub fn storage_of_device(host: &Host, device: u64) -> Result<Storage, HostError> {
    let number = DeviceNumber::of(device);
    let mounts = mounts(host)?;
    let same_device = || mounts.iter().filter(|mount| mount.device == number);
    // A bind mount shows a part only; the whole file system's own mount point says more to a reader.
    let whole = same_device().find(|mount| mount.root == Path::new("/"));
    describe(host, whole.or_else(|| same_device().next()), number)
}

fn describe(host: &Host, mount: Option<&Mount>, number: DeviceNumber) -> Result<Storage, HostError> {
    let absent = || HostError::absent(Path::new("/proc/self/mountinfo"), "the mount of a device");
    let mount = mount.ok_or_else(absent)?;
    let directory = device_directory(host, number).or_else(|| source_directory(host, mount));
    let device = directory.as_deref().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
    let rotational = directory.as_deref().and_then(rotational);
    let is_virtual = directory.as_deref().is_some_and(is_virtual);
    Ok(Storage {
        kind: kind(&mount.filesystem, device.as_deref(), rotational.filter(|turns| !turns || !is_virtual)),
        filesystem: mount.filesystem.clone(),
        device,
        mount_point: mount.mount_point.clone(),
        rotational,
    })
}

/// The directory of the whole device in sysfs. No device (tmpfs, overlay, btrfs) is none, not an error.
fn device_directory(host: &Host, number: DeviceNumber) -> Option<PathBuf> {
    let link = format!("/sys/dev/block/{}:{}", number.major, number.minor);
    whole_device(&host.locate(Path::new(&link)))
}

/// The same by the name of what is mounted, for file systems with a number of their own.
fn source_directory(host: &Host, mount: &Mount) -> Option<PathBuf> {
    if !mount.source.starts_with("/dev") {
        return None;
    }
    // Names such as /dev/mapper/home are links to the kernel's own name.
    let node = fs::canonicalize(host.locate(&mount.source)).ok()?;
    whole_device(&host.locate(Path::new("/sys/class/block")).join(node.file_name()?))
}

fn whole_device(link: &Path) -> Option<PathBuf> {
    let directory = fs::canonicalize(link).ok()?;
    if directory.join("partition").exists() { directory.parent().map(Path::to_owned) } else { Some(directory) }
}

fn rotational(device_directory: &Path) -> Option<bool> {
    match fs::read_to_string(device_directory.join("queue/rotational")).ok()?.trim_end() {
        "0" => Some(false),
        "1" => Some(true),
        _ => None,
    }
}

/// LIE: virtual disks (virtio, Xen) say that they turn unless the host was told better, network block devices too. A file that stands in for a
/// disk says what the disk below it says; so do volumes of several disks, which name them.
fn is_virtual(device_directory: &Path) -> bool {
    let name = device_directory.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let below = fs::read_dir(device_directory.join("slaves")).into_iter().flatten().flatten();
    ["vd", "xvd", "nbd", "rbd", "loop"].iter().any(|prefix| name.starts_with(prefix))
        || below.filter_map(|disk| whole_device(&disk.path())).any(|disk| is_virtual(&disk))
}

const IN_MEMORY: [&str; 4] = ["tmpfs", "ramfs", "devtmpfs", "hugetlbfs"];

const ON_OTHER_MACHINES: [&str; 14] = [
    "nfs",
    "nfs4",
    "cifs",
    "smb3",
    "smbfs",
    "ceph",
    "fuse.ceph",
    "fuse.sshfs",
    "fuse.glusterfs",
    "afs",
    "lustre",
    "beegfs",
    "gpfs",
    "ocfs2",
];

fn kind(filesystem: &str, device: Option<&str>, rotational: Option<bool>) -> StorageKind {
    if IN_MEMORY.contains(&filesystem) {
        return StorageKind::Memory;
    }
    if ON_OTHER_MACHINES.contains(&filesystem) {
        return StorageKind::Network;
    }
    let device = device.unwrap_or_default();
    match rotational {
        _ if device.starts_with("zram") || device.starts_with("ram") => StorageKind::Memory,
        Some(true) => StorageKind::Rotating,
        Some(false) => StorageKind::SolidState,
        None => StorageKind::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_host::FakeHost;

    /// A disk `sda` (8:0) with a partition (8:1), a `vda` (251:7), an `nvme0n1` with a partition (259:2).
    fn fake_with_disks() -> FakeHost {
        let fake = FakeHost::new();
        for (disk, partition, number, rotational) in
            [("sda", "sda1", "8:1", "1\n"), ("nvme0n1", "nvme0n1p2", "259:2", "0\n")]
        {
            let directory = format!("/sys/devices/pci/block/{disk}");
            fake.file(&format!("{directory}/queue/rotational"), rotational);
            fake.file(&format!("{directory}/{partition}/partition"), "1\n");
            fake.link(&format!("/sys/dev/block/{number}"), &format!("{directory}/{partition}"));
            fake.link(&format!("/sys/class/block/{partition}"), &format!("{directory}/{partition}"));
        }
        fake.file("/sys/devices/virtio/block/vda/queue/rotational", "1\n");
        fake.link("/sys/dev/block/251:7", "/sys/devices/virtio/block/vda");
        fake.file(
            "/proc/self/mountinfo",
            "27 1 251:7 / / rw - ext4 /dev/vda rw\n\
             28 27 8:1 /part /bound rw - xfs /dev/sda1 rw\n\
             29 27 8:1 / /data rw - xfs /dev/sda1 rw\n\
             30 27 0:40 / /dev/shm rw - tmpfs tmpfs rw\n\
             31 27 0:41 / /home rw - nfs4 server:/home rw\n\
             32 27 0:42 /@ /srv rw - btrfs /dev/nvme0n1p2 rw\n\
             33 27 0:43 / /layers rw - overlay overlay rw\n",
        );
        fake
    }

    fn by_number(major: u32, minor: u32) -> Storage {
        let fake = fake_with_disks();
        storage_of_device(&fake.host(), rustix::fs::makedev(major, minor)).expect("a known device")
    }

    #[test]
    fn a_partition_is_described_by_its_disk_and_the_whole_mount() {
        let expected = Storage {
            filesystem: "xfs".to_owned(),
            device: Some("sda".to_owned()),
            mount_point: PathBuf::from("/data"),
            rotational: Some(true),
            kind: StorageKind::Rotating,
        };
        assert_eq!(by_number(8, 1), expected);
    }

    #[test]
    fn a_virtual_disk_that_says_it_turns_is_not_believed() {
        let storage = by_number(251, 7);
        assert_eq!((storage.rotational, storage.kind), (Some(true), StorageKind::Unknown));
    }

    #[test]
    fn what_stands_on_a_virtual_disk_is_not_believed_either() {
        let fake = fake_with_disks();
        let mut mounts = String::new();
        for (volume, minor, disk) in
            [("dm-0", 0, Some("virtio/block/vda")), ("dm-1", 1, Some("pci/block/sda")), ("loop0", 2, None)]
        {
            let directory = format!("/sys/devices/virtual/block/{volume}");
            fake.file(&format!("{directory}/queue/rotational"), "1\n");
            fake.link(&format!("/sys/dev/block/253:{minor}"), &directory);
            disk.inspect(|disk| fake.link(&format!("{directory}/slaves/disk"), &format!("/sys/devices/{disk}")));
            mounts += &format!("{minor} 1 253:{minor} / /{volume} rw - ext4 /dev/{volume} rw\n");
        }
        fake.file("/proc/self/mountinfo", &mounts);
        let kind = |minor| storage_of_device(&fake.host(), rustix::fs::makedev(253, minor)).expect("mounted").kind;
        assert_eq!([0, 1, 2].map(kind), [StorageKind::Unknown, StorageKind::Rotating, StorageKind::Unknown]);
    }

    #[test]
    fn memory_network_and_layers_have_no_device() {
        for (minor, kind) in [(40, StorageKind::Memory), (41, StorageKind::Network), (43, StorageKind::Unknown)] {
            let storage = by_number(0, minor);
            assert_eq!((storage.device, storage.rotational, storage.kind), (None, None, kind));
        }
    }

    #[test]
    fn a_file_system_with_its_own_numbers_is_found_by_its_source() {
        let fake = fake_with_disks();
        fake.file("/dev/nvme0n1p2", "");
        fake.file("/srv/deep/file", "");
        // The fake file's st_dev is the temporary directory's and matches no line, as with btrfs.
        let storage = storage_of(&fake.host(), Path::new("/srv/deep/file")).expect("a covered path");
        assert_eq!(storage.mount_point, Path::new("/srv"));
        assert_eq!(storage.filesystem, "btrfs");
    }

    #[test]
    fn a_device_mounted_nowhere_is_an_error() {
        let fake = fake_with_disks();
        let error = storage_of_device(&fake.host(), rustix::fs::makedev(7, 7)).expect_err("not mounted");
        assert_eq!(error.to_string(), "find the mount of a device in '/proc/self/mountinfo'");
        let error = storage_of(&fake.host(), Path::new("/absent")).expect_err("no such path");
        assert_eq!(error.to_string(), "read '/absent'");
    }

    #[test]
    fn a_relative_path_is_looked_up_from_the_working_directory() {
        let here = std::env::current_dir().expect("a working directory");
        let relative = storage_of(&Host::real(), Path::new(".")).expect("it is mounted");
        assert_eq!(relative, storage_of(&Host::real(), &here).expect("it is mounted"));
        assert!(here.starts_with(&relative.mount_point));
    }

    #[test]
    fn shared_memory_of_the_real_host_is_memory() {
        let storage = storage_of(&Host::real(), Path::new("/dev/shm")).expect("Linux has /dev/shm");
        assert_eq!(storage.kind, StorageKind::Memory);
        assert_eq!(storage.mount_point, Path::new("/dev/shm"));
    }

    #[test]
    fn memory_and_disks_are_here_and_what_the_kernel_makes_up_is_not_told_from_programs() {
        assert!(is_on_this_machine(Path::new("/dev/shm")));
        assert!(!is_on_this_machine(Path::new("/proc")));
        assert!(!is_on_this_machine(Path::new("/dev/shm/no such file")));
    }
}
