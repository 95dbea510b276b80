//! Names and paths as callers have them: with their end, as lists of directories give them, or without, as archives do.

use std::ffi::{CStr, CString};
use std::io;

/// LIMIT: the kernel takes paths up to this, with the byte that ends them.
pub const PATH_BYTES_MAX: usize = 4096;

/// A name or a path for a call. One without its end is copied to where there is room for it, on the stack.
pub trait PathArgument: Copy {
    /// Calls `call` with the path and its end.
    fn with<T>(self, call: impl FnOnce(&CStr) -> io::Result<T>) -> io::Result<T>;
}

impl PathArgument for &CStr {
    #[inline(always)]
    fn with<T>(self, call: impl FnOnce(&CStr) -> io::Result<T>) -> io::Result<T> {
        call(self)
    }
}

impl PathArgument for &CString {
    fn with<T>(self, call: impl FnOnce(&CStr) -> io::Result<T>) -> io::Result<T> {
        call(self)
    }
}

impl PathArgument for &[u8] {
    fn with<T>(self, call: impl FnOnce(&CStr) -> io::Result<T>) -> io::Result<T> {
        let mut buffer = [0_u8; PATH_BYTES_MAX];
        if self.len() >= buffer.len() {
            return Err(rustix::io::Errno::NAMETOOLONG.into());
        }
        buffer[..self.len()].copy_from_slice(self);
        call(CStr::from_bytes_with_nul(&buffer[..=self.len()]).map_err(io::Error::other)?)
    }
}

impl<const LENGTH: usize> PathArgument for &[u8; LENGTH] {
    fn with<T>(self, call: impl FnOnce(&CStr) -> io::Result<T>) -> io::Result<T> {
        self.as_slice().with(call)
    }
}

impl PathArgument for &Vec<u8> {
    fn with<T>(self, call: impl FnOnce(&CStr) -> io::Result<T>) -> io::Result<T> {
        self.as_slice().with(call)
    }
}
