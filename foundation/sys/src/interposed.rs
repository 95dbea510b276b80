//! Whether another library stands between this program and the C library's calls on files, and the one such call that `files` needs from here
//! when none does.

use rustix::io::Errno;
use std::ffi::c_void;
use std::io;
use std::os::fd::{IntoRawFd, OwnedFd};
use std::sync::LazyLock;

/// Whether calls straight to the kernel do what the C library's would: no other library (fakeroot's, a tracer's: `ld.so(8)`, `LD_PRELOAD`) has
/// functions of the same names, which would want to see them.
pub fn is_free() -> bool {
    static IS_FREE: LazyLock<bool> = LazyLock::new(|| {
        let calls = [
            libc::openat as *const c_void,
            libc::fstat as _,
            libc::unlinkat as _,
            libc::close as _,
            libc::futimens as _,
            libc::fchown as _,
            libc::fchmod as _,
            libc::flistxattr as _,
            libc::pread64 as _,
            libc::pwrite64 as _,
        ];
        let library = object_of(libc::__errno_location as _);
        library.is_some() && calls.into_iter().all(|call| object_of(call) == library)
    });
    *IS_FREE
}

/// Which of the loaded objects an address belongs to.
fn object_of(address: *const c_void) -> Option<usize> {
    struct Search {
        address: usize,
        number: usize,
        found: Option<usize>,
    }
    /// # Safety
    /// Called by the loader, with an object of its own and the `Search` that was lent to it.
    unsafe extern "C" fn look(object: *mut libc::dl_phdr_info, _bytes: usize, search: *mut c_void) -> libc::c_int {
        // SAFETY: both are live, as above; nobody else has the `Search` meanwhile.
        let (object, search) = unsafe { (&*object, &mut *search.cast::<Search>()) };
        // SAFETY: an object has as many program headers as it says; they stay mapped while it is looked at.
        let parts = unsafe { std::slice::from_raw_parts(object.dlpi_phdr, object.dlpi_phnum.into()) };
        let is_in = |part: &libc::Elf64_Phdr| {
            let offset = (search.address as u64).wrapping_sub(object.dlpi_addr + part.p_vaddr);
            part.p_type == libc::PT_LOAD && offset < part.p_memsz
        };
        if parts.iter().any(is_in) {
            search.found = Some(search.number);
        }
        search.number += 1;
        search.found.is_some().into()
    }
    let mut search = Search { address: address.addr(), number: 0, found: None };
    // SAFETY: `look` takes what is given here, and nothing keeps it.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut search).cast()) };
    search.found
}

/// `close(2)` past the C library, as [`crate::tree_calls::close`] otherwise.
#[inline(always)]
pub fn close(file: OwnedFd) -> io::Result<()> {
    // SAFETY: it was ours alone, and nobody has it any more, whatever the answer.
    match unsafe { rustix::io::try_close(file.into_raw_fd()) } {
        Ok(()) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_found_in_their_objects() {
        let (ours, theirs) = (object_of(object_of as _), object_of(libc::getpid as _));
        assert!(ours.is_some() && theirs.is_some() && ours != theirs, "{ours:?} {theirs:?}");
        assert_eq!(object_of(std::ptr::without_provenance(1)), None);
    }
}
