//! Names of users and groups, both ways, as the system's own tables have them. Slow the first time: keep the answers.

use std::ffi::{CStr, CString};

/// LIMIT: longest line of the tables that is read; groups of thousands of members need no more.
const LINE_BYTES_MAX: usize = 1 << 20;

/// Calls `look` with larger and larger buffers until its answer fits.
fn with_room<T>(look: impl Fn(&mut [libc::c_char]) -> Result<Option<T>, i32>) -> Option<T> {
    let mut room = 1024;
    while room <= LINE_BYTES_MAX {
        let mut buffer = vec![0; room];
        match look(&mut buffer) {
            Err(libc::ERANGE) => room *= 4,
            answer => return answer.ok().flatten(),
        }
    }
    None
}

fn user<T>(
    ask: impl Fn(*mut libc::passwd, &mut [libc::c_char], *mut *mut libc::passwd) -> i32,
    tell: impl Fn(&libc::passwd) -> T,
) -> Option<T> {
    with_room(|buffer| {
        // SAFETY: passwd is plain pointers and numbers, for which zeros are valid.
        let mut entry: libc::passwd = unsafe { std::mem::zeroed() };
        let mut found = std::ptr::null_mut();
        match ask(&raw mut entry, buffer, &raw mut found) {
            0 if found.is_null() => Ok(None),
            0 => Ok(Some(tell(&entry))),
            error => Err(error),
        }
    })
}

fn group<T>(
    ask: impl Fn(*mut libc::group, &mut [libc::c_char], *mut *mut libc::group) -> i32,
    tell: impl Fn(&libc::group) -> T,
) -> Option<T> {
    with_room(|buffer| {
        // SAFETY: group is plain pointers and numbers, for which zeros are valid.
        let mut entry: libc::group = unsafe { std::mem::zeroed() };
        let mut found = std::ptr::null_mut();
        match ask(&raw mut entry, buffer, &raw mut found) {
            0 if found.is_null() => Ok(None),
            0 => Ok(Some(tell(&entry))),
            error => Err(error),
        }
    })
}

/// SAFETY of callers: `name` is the text of an entry that was just found, inside its buffer.
fn text(name: *const libc::c_char) -> Vec<u8> {
    // SAFETY: the table's functions fill in NUL-terminated text that lives as long as the buffer, which the caller still has.
    unsafe { CStr::from_ptr(name) }.to_bytes().to_vec()
}

/// The number of the user called `name`.
pub fn user_number(name: &[u8]) -> Option<u32> {
    user_and_group_numbers(name).map(|(user, _)| user)
}

/// The numbers of the user called `name` and of the group that it belongs to first.
pub fn user_and_group_numbers(name: &[u8]) -> Option<(u32, u32)> {
    let name = CString::new(name).ok()?;
    user(
        // SAFETY: the name is NUL-terminated, the buffer has as many bytes as are told, both pointers are to values of ours.
        |entry, room, found| unsafe { libc::getpwnam_r(name.as_ptr(), entry, room.as_mut_ptr(), room.len(), found) },
        |entry| (entry.pw_uid, entry.pw_gid),
    )
}

/// The number of the group called `name`.
pub fn group_number(name: &[u8]) -> Option<u32> {
    let name = CString::new(name).ok()?;
    group(
        // SAFETY: as in `user_number`.
        |entry, room, found| unsafe { libc::getgrnam_r(name.as_ptr(), entry, room.as_mut_ptr(), room.len(), found) },
        |entry| entry.gr_gid,
    )
}

/// The name of user `uid`.
pub fn user_name(uid: u32) -> Option<Vec<u8>> {
    user(
        // SAFETY: as in `user_number`, without a name.
        |entry, room, found| unsafe { libc::getpwuid_r(uid, entry, room.as_mut_ptr(), room.len(), found) },
        |entry| text(entry.pw_name),
    )
}

/// The name of group `gid`.
pub fn group_name(gid: u32) -> Option<Vec<u8>> {
    group(
        // SAFETY: as in `user_number`, without a name.
        |entry, room, found| unsafe { libc::getgrgid_r(gid, entry, room.as_mut_ptr(), room.len(), found) },
        |entry| text(entry.gr_name),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_is_root_both_ways_and_nobody_has_no_such_name() {
        assert_eq!(user_name(0).as_deref(), Some(&b"root"[..]));
        assert_eq!((user_number(b"root"), group_number(b"root")), (Some(0), Some(0)));
        assert_eq!(user_and_group_numbers(b"root"), Some((0, 0)));
        assert!(group_name(0).is_some());
        assert_eq!(user_number(b"no such user here"), None);
        assert_eq!(user_number(b"with\0nul"), None);
    }
}
