//! The C library's text for an error of the kernel (`strerror_r(3)`): `Permission denied`, without a number.

use std::ffi::CStr;
use std::io;

/// LIMIT: the longest text of any C library has half of that.
const TEXT_BYTES: usize = 128;

/// The text for the error number `code`.
pub fn error_text(code: i32) -> String {
    let mut text = [0u8; TEXT_BYTES];
    // SAFETY: the buffer is as long as is said, and the call writes nothing beyond it.
    let _says_unknown_error = unsafe { libc::strerror_r(code, text.as_mut_ptr().cast(), text.len()) };
    CStr::from_bytes_until_nul(&text)
        .map_or_else(|_| format!("error {code}"), |text| text.to_string_lossy().into_owned())
}

/// The text of `error`: the kernel's without its number, any other as it is.
pub fn message(error: &io::Error) -> String {
    error.raw_os_error().map_or_else(|| error.to_string(), error_text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_what_errors_of_the_kernel_say_before_their_number() {
        for code in [libc::EACCES, libc::ENOSPC, libc::ELOOP, libc::ENOTSUP, 9999] {
            let error = io::Error::from_raw_os_error(code);
            assert_eq!(error.to_string(), format!("{} (os error {code})", message(&error)));
        }
        assert_eq!(message(&io::Error::other("no (os error 22)")), "no (os error 22)");
    }
}
