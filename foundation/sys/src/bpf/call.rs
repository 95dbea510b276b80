//! The system call itself, and the shapes of what it takes. All numbers are the kernel's ABI (`linux/bpf.h`).
//! Interprets nothing.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

pub(super) const MAP_CREATE: libc::c_long = 0;
pub(super) const PROGRAM_LOAD: libc::c_long = 5;
pub(super) const PROGRAM_RUN: libc::c_long = 10;
pub(super) const INFORMATION: libc::c_long = 15;
pub(super) const RAW_TRACEPOINT_OPEN: libc::c_long = 17;
pub(super) const LINK_CREATE: libc::c_long = 28;
pub(super) const ITERATOR_CREATE: libc::c_long = 33;

pub(super) const MAP_TYPE_ARRAY: u32 = 2;
pub(super) const MAP_TYPE_HASH: u32 = 1;
pub(super) const MAP_FLAG_MMAPABLE: u32 = 1 << 10;

pub(super) const PROGRAM_TYPE_CLOCK: u32 = 7;
pub(super) const PROGRAM_TYPE_TRACING: u32 = 26;
pub(super) const PROGRAM_TYPE_ON_DEMAND: u32 = 31;
pub(super) const PROGRAM_FLAG_MAY_SLEEP: u32 = 1 << 4;
pub(super) const ATTACH_RAW_TRACEPOINT: u32 = 23;
pub(super) const ATTACH_ITERATOR: u32 = 28;

/// Bytes of an object's name, its closing zero included.
pub(super) const NAME_BYTES: usize = 16;

#[repr(C)]
#[derive(Default)]
pub(super) struct MapCreate {
    pub map_type: u32,
    pub key_bytes: u32,
    pub value_bytes: u32,
    pub entries: u32,
    pub flags: u32,
    pub inner_map: u32,
    pub numa_node: u32,
    pub name: [u8; NAME_BYTES],
    pub interface: u32,
}

#[repr(C)]
#[derive(Default)]
pub(super) struct ProgramLoad {
    pub program_type: u32,
    pub instruction_count: u32,
    pub instructions: u64,
    pub licence: u64,
    pub log_level: u32,
    pub log_bytes: u32,
    pub log: u64,
    pub kernel_version: u32,
    pub flags: u32,
    pub name: [u8; NAME_BYTES],
    pub interface: u32,
    pub attach_type: u32,
    pub btf: u32,
    pub function_info_bytes: u32,
    pub function_info: u64,
    pub function_info_count: u32,
    pub line_info_bytes: u32,
    pub line_info: u64,
    pub line_info_count: u32,
    pub attach_btf_id: u32,
    pub attach_object: u32,
    pub padding: u32,
}

#[repr(C)]
#[derive(Default)]
pub(super) struct ProgramRun {
    pub program: u32,
    pub result: u32,
    pub data_bytes: [u32; 2],
    pub data: [u64; 2],
    pub repeat: u32,
    pub duration: u32,
    pub context_bytes: [u32; 2],
    pub context: [u64; 2],
    pub flags: u32,
    pub cpu: u32,
    pub batch: u32,
    pub padding: u32,
}

#[repr(C)]
#[derive(Default)]
pub(super) struct RawTracepointOpen {
    pub name: u64,
    pub program: u32,
    pub padding: u32,
}

#[repr(C)]
#[derive(Default)]
pub(super) struct LinkCreate {
    pub program: u32,
    pub target: u32,
    pub attach_type: u32,
    pub flags: u32,
    pub information: u64,
    pub information_bytes: u32,
    pub padding: u32,
}

#[repr(C)]
#[derive(Default)]
pub(super) struct IteratorCreate {
    pub link: u32,
    pub flags: u32,
}

#[repr(C)]
#[derive(Default)]
pub(super) struct Information {
    pub object: u32,
    pub bytes: u32,
    pub information: u64,
}

/// Performs `command`. The pointers inside `attributes` must be to live memory of the lengths that stand beside them.
///
/// # Safety
/// As said: the kernel reads and writes through the pointers in `attributes`.
pub(super) unsafe fn perform<Attributes>(command: libc::c_long, attributes: &mut Attributes) -> io::Result<i32> {
    let attributes: *mut Attributes = attributes;
    // SAFETY: the structure is live and as long as said; the caller answers for the pointers in it.
    let result = unsafe { libc::syscall(libc::SYS_bpf, command, attributes, size_of::<Attributes>()) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result as i32) }
}

/// The same for a command that makes a descriptor; the kernel sets close-on-exec on all of them.
///
/// # Safety
/// As [`perform`], and `command` must return a new descriptor.
pub(super) unsafe fn perform_open<Attributes>(
    command: libc::c_long,
    attributes: &mut Attributes,
) -> io::Result<OwnedFd> {
    // SAFETY: the caller's promise is the one asked for.
    let descriptor = unsafe { perform(command, attributes) }?;
    // SAFETY: the kernel has just made this descriptor for us.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// `name` as the kernel takes it: letters, digits, `_` and `.`, cut to 15.
pub(super) fn object_name(name: &str) -> [u8; NAME_BYTES] {
    let mut bytes = [0; NAME_BYTES];
    for (to, from) in bytes.iter_mut().take(NAME_BYTES - 1).zip(name.bytes()) {
        *to = if from.is_ascii_alphanumeric() || from == b'.' { from } else { b'_' };
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_as_long_as_the_kernels() {
        assert_eq!(size_of::<MapCreate>(), 48);
        assert_eq!(size_of::<ProgramLoad>(), 120);
        assert_eq!(size_of::<ProgramRun>(), 80);
        assert_eq!(size_of::<RawTracepointOpen>(), 16);
        assert_eq!(size_of::<LinkCreate>(), 32);
    }

    #[test]
    fn names_are_cut_and_cleaned() {
        assert_eq!(&object_name("sys-enter of every call"), b"sys_enter_of_ev\0");
    }
}
