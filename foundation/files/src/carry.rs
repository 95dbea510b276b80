//! Copying what a file carries besides its bytes, from descriptor to descriptor: owner, mode, extended attributes, times.
//! Never goes by name, so a file swapped meanwhile cannot receive another's rights (CVE-2005-0953's class).

use crate::access_list::{ACCESS_LIST, DEFAULT_LIST, list_of_a_new_file};
use rustix::fs::{
    Gid, Mode, Timestamps, Uid, XattrFlags, fchmod, fchown, fgetxattr, flistxattr, fremovexattr, fsetxattr, fstat,
    futimens, getxattr,
};
use rustix::io::Errno;
use rustix::time::Timespec;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;

/// What could not be carried over. The target keeps the safer choice: no rights that the source did not grant.
#[derive(Debug)]
pub struct NotCarried {
    /// `owner`, `mode`, `times`, or `attribute NAME`.
    pub what: String,
    /// The kernel's answer.
    pub cause: io::Error,
}

/// Carries owner, mode, extended attributes and times of `from` over to `to`, in that order, and goes on past a refusal.
///
/// COMPAT: as for gzip and xz, a refused owner is no error (only root may give files away), set-id bits are not carried, and
/// where the group is refused it gets no more rights than everybody has. Other refusals are returned.
///
/// A file in another directory may bring that one's default access control list, as [`default_list`] returns it: it gets what a new file of
/// this mode gets there, and no list of the source's.
pub fn carry_over(from: impl AsFd, to: impl AsFd, list: Option<&[u8]>) -> io::Result<Vec<NotCarried>> {
    let mut refused = carry(&from, &to, list)?;
    let status = fstat(&from)?;
    let times = Timestamps {
        last_access: Timespec { tv_sec: status.st_atime, tv_nsec: status.st_atime_nsec as _ },
        last_modification: Timespec { tv_sec: status.st_mtime, tv_nsec: status.st_mtime_nsec as _ },
    };
    note(&mut refused, "times", futimens(&to, &times));
    Ok(refused)
}

/// The same but for the times: for a file with other content that takes the place of `from`.
pub fn carry_rights(from: impl AsFd, to: impl AsFd) -> io::Result<Vec<NotCarried>> {
    carry(&from, &to, None)
}

fn carry(from: &impl AsFd, to: &impl AsFd, list: Option<&[u8]>) -> io::Result<Vec<NotCarried>> {
    let status = fstat(from)?;
    let mut refused = Vec::new();
    // Set-id bits are for the program that was there, not for what was made from it.
    let mut mode = Mode::from_raw_mode(status.st_mode) & Mode::from_raw_mode(0o777);
    if !carry_owner(to, status.st_uid, status.st_gid) {
        // The file stays in our group: that group gets no more than everybody.
        let others = mode.as_raw_mode() & 0o007;
        mode &= Mode::from_raw_mode(0o707 | others << 3);
    }
    // What it has from its directory's default list is not the source's. A file system without lists has nothing to remove.
    let _has_none = fremovexattr(to, ACCESS_LIST);
    carry_attributes(from, to, &mut refused);
    match list {
        Some(list) => {
            let list = list_of_a_new_file(list, mode.as_raw_mode());
            note(&mut refused, "access control list", fsetxattr(to, ACCESS_LIST, &list, XattrFlags::empty()));
        }
        None => note(&mut refused, "mode", fchmod(to, mode)),
    }
    Ok(refused)
}

/// The access control list that new files of a directory begin with, if it has one.
pub fn default_list(directory: &Path) -> Option<Vec<u8>> {
    // LIMIT: as below.
    let mut value = vec![0_u8; 64 << 10];
    let length = getxattr(directory, DEFAULT_LIST, value.as_mut_slice()).ok()?;
    value.truncate(length);
    Some(value)
}

/// Whether the group arrived; it is tried alone when the owner is refused.
fn carry_owner(to: &impl AsFd, uid: u32, gid: u32) -> bool {
    let group = Some(Gid::from_raw(gid));
    fchown(to, Some(Uid::from_raw(uid)), group).is_ok() || fchown(to, None, group).is_ok()
}

fn carry_attributes(from: &impl AsFd, to: &impl AsFd, refused: &mut Vec<NotCarried>) {
    // LIMIT: 64 KiB is the kernel's own bound for the list and for one value (XATTR_LIST_MAX, XATTR_SIZE_MAX).
    let mut names = vec![0_u8; 64 << 10];
    let Ok(length) = flistxattr(from, &mut names) else { return };
    let mut value = Vec::new();
    // What security modules attach (capabilities) belongs to the program that was there.
    let is_wanted = |name: &&[u8]| !name.is_empty() && !name.starts_with(b"security.");
    for name in names[..length].split(|&byte| byte == 0).filter(is_wanted) {
        value.resize(64 << 10, 0);
        let copied = fgetxattr(from, name, value.as_mut_slice())
            .and_then(|bytes| fsetxattr(to, name, &value[..bytes], XattrFlags::empty()));
        match copied {
            // COMPAT: cp -a passes over what the target cannot hold or what only the system may set.
            Ok(()) | Err(Errno::NOTSUP | Errno::PERM | Errno::NODATA) => {}
            Err(cause) => refused
                .push(NotCarried { what: format!("attribute {}", String::from_utf8_lossy(name)), cause: cause.into() }),
        }
    }
}

fn note(refused: &mut Vec<NotCarried>, what: &str, outcome: Result<(), Errno>) {
    if let Err(cause) = outcome {
        refused.push(NotCarried { what: what.to_owned(), cause: cause.into() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    #[test]
    fn mode_times_and_attributes_arrive() {
        let directory = tempfile::tempdir().expect("a directory");
        let (from, to) = (directory.path().join("from"), directory.path().join("to"));
        std::fs::write(&from, b"x").expect("write");
        std::fs::write(&to, b"y").expect("write");
        std::fs::set_permissions(&from, PermissionsExt::from_mode(0o640)).expect("chmod");
        let source = File::options().read(true).write(true).open(&from).expect("open");
        let past = Timespec { tv_sec: 1_000_000_007, tv_nsec: 123_456_789 };
        let times = Timestamps { last_access: past, last_modification: past };
        futimens(&source, &times).expect("utimens");
        let has_attributes = fsetxattr(&source, "user.colour", b"blue", XattrFlags::empty()).is_ok();
        let target = File::options().write(true).open(&to).expect("open");

        let refused = carry_over(&source, &target, None).expect("fstat");

        assert!(refused.is_empty(), "{refused:?}");
        let status = std::fs::metadata(&to).expect("stat");
        assert_eq!(status.mode() & 0o7777, 0o640);
        assert_eq!((status.mtime(), status.mtime_nsec()), (1_000_000_007, 123_456_789));
        if has_attributes {
            let mut value = [0_u8; 16];
            let length = fgetxattr(&target, "user.colour", value.as_mut_slice()).expect("getxattr");
            assert_eq!(&value[..length], b"blue");
        }
    }
}
