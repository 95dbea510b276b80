//! Names of calls and errors on this machine's architecture, and which calls begin with a descriptor.

use super::layout::{CALL_OF_32_BIT, CALL_OTHER, CALLS_KNOWN};
use syscalls::{Errno, Sysno};

/// Stands for whatever a running thread does, where only a look from outside was possible.
pub const CALL_RUNNING: u32 = CALLS_KNOWN;

/// What a call is called.
pub fn call_name(number: u32) -> String {
    match number {
        CALL_OTHER => "(other calls)".to_owned(),
        CALL_RUNNING => "(on a CPU)".to_owned(),
        CALL_OF_32_BIT => "(32-bit calls)".to_owned(),
        _ => match Sysno::new(number as usize) {
            Some(call) => call.name().to_owned(),
            None => format!("call_{number}"),
        },
    }
}

/// The number of a call, by name or as digits; none when this architecture has no such call.
pub fn call_number(name: &str) -> Option<u32> {
    let number = match name.parse::<Sysno>() {
        Ok(call) => u32::try_from(call.id()).ok()?,
        Err(_no_name) => name.parse().ok()?,
    };
    (number < CALLS_KNOWN).then_some(number)
}

/// What an error is called; 0 stands for others.
pub fn error_name(number: u16) -> String {
    match number {
        0 => "others".to_owned(),
        // The four that a program never sees: the kernel repeats the call, or says EINTR in their place.
        512..=514 | 516 => "interrupted".to_owned(),
        _ => match Errno::new(number.into()).name() {
            Some(name) => name.to_owned(),
            None => format!("error {number}"),
        },
    }
}

/// Calls whose first argument is a descriptor.
const ON_DESCRIPTORS: &[Sysno] = &[
    Sysno::read,
    Sysno::write,
    Sysno::fstat,
    Sysno::lseek,
    Sysno::ioctl,
    Sysno::pread64,
    Sysno::pwrite64,
    Sysno::readv,
    Sysno::writev,
    Sysno::preadv,
    Sysno::pwritev,
    Sysno::preadv2,
    Sysno::pwritev2,
    Sysno::connect,
    Sysno::accept,
    Sysno::accept4,
    Sysno::sendto,
    Sysno::recvfrom,
    Sysno::sendmsg,
    Sysno::recvmsg,
    Sysno::sendmmsg,
    Sysno::recvmmsg,
    Sysno::shutdown,
    Sysno::bind,
    Sysno::listen,
    Sysno::fcntl,
    Sysno::flock,
    Sysno::fsync,
    Sysno::fdatasync,
    Sysno::ftruncate,
    Sysno::fallocate,
    Sysno::getdents64,
    Sysno::sync_file_range,
    Sysno::epoll_ctl,
    Sysno::epoll_pwait,
    Sysno::epoll_pwait2,
    Sysno::io_uring_enter,
    Sysno::fchmod,
    Sysno::fchown,
    Sysno::fadvise64,
    Sysno::sendfile,
    Sysno::copy_file_range,
];

/// Whether the first argument of a call is a descriptor.
pub fn is_on_descriptor(number: u32) -> bool {
    ON_DESCRIPTORS.iter().any(|call| call.id() == number as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_go_both_ways() {
        let close = call_number("close").expect("every architecture has it");
        assert_eq!(call_name(close), "close");
        assert_eq!(call_number("3"), Some(3));
        assert_eq!(call_number("511"), None, "that number stands for others");
        assert_eq!(call_number("no_such_call"), None);
        assert_eq!(call_name(CALL_OF_32_BIT), "(32-bit calls)");
        let is_on = |name| is_on_descriptor(call_number(name).expect("there"));
        assert!(is_on("fsync") && !is_on("getppid"));
        assert!(!is_on("close"), "who looks afterwards finds what was opened since");
    }

    #[test]
    fn errors_have_names_too() {
        assert_eq!(error_name(9), "EBADF");
        assert_eq!(error_name(512), "interrupted");
        assert_eq!(error_name(0), "others");
        assert_eq!(error_name(4000), "error 4000");
    }
}
