//! Clocks that run a program of ours at a steady pace, on a CPU or on a thread (`perf_event_open(2)`, the software clock: it
//! needs no counters of the CPU). The program sees what was interrupted; nothing is recorded besides.

use super::load::{LoadError, Program};
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

/// A clock that strikes until it is dropped.
#[derive(Debug)]
pub struct Samples {
    _clock: OwnedFd,
}

/// The beginning of `perf_event_attr`; what follows in the kernel's is zero (`PERF_ATTR_SIZE_VER0`).
#[repr(C)]
#[derive(Default)]
struct Attributes {
    kind: u32,
    bytes: u32,
    event: u64,
    period: u64,
    sample_kind: u64,
    read_format: u64,
    flags: u64,
    wake_up: u32,
    breakpoint: u32,
    more: u64,
}

const KIND_SOFTWARE: u32 = 1;
const EVENT_CPU_CLOCK: u64 = 0;
const FLAG_CLOSE_ON_EXEC: libc::c_ulong = 8;
const SET_PROGRAM: libc::Ioctl = 0x4004_2408_u32 as libc::Ioctl;
const ENABLE: libc::Ioctl = 0x2400;
/// Bit 0: it does not run before the program is in place.
const DISABLED_AT_FIRST: u64 = 1;

impl Samples {
    /// Runs `program` on `cpu` every `period_ns`; none where that CPU is switched off.
    pub fn on_cpu(cpu: u32, period_ns: u64, program: &Program) -> Result<Option<Self>, LoadError> {
        match open(-1, cpu.cast_signed(), period_ns, program) {
            Ok(samples) => Ok(Some(samples)),
            Err(cause) if cause.raw_os_error() == Some(libc::ENODEV) => Ok(None),
            Err(cause) => Err(program.refused(cause)),
        }
    }

    /// Runs it whenever the calling thread has been on a CPU for another `period_ns`.
    pub fn on_this_thread(period_ns: u64, program: &Program) -> Result<Self, LoadError> {
        open(0, -1, period_ns, program).map_err(|cause| program.refused(cause))
    }
}

fn open(thread: i32, cpu: i32, period_ns: u64, program: &Program) -> io::Result<Samples> {
    let mut attributes = Attributes {
        kind: KIND_SOFTWARE,
        bytes: size_of::<Attributes>() as u32,
        event: EVENT_CPU_CLOCK,
        period: period_ns,
        flags: DISABLED_AT_FIRST,
        ..Attributes::default()
    };
    let (group, flags): (libc::c_int, _) = (-1, FLAG_CLOSE_ON_EXEC);
    // SAFETY: the attributes are live and as long as they say.
    let clock = unsafe { libc::syscall(libc::SYS_perf_event_open, &mut attributes, thread, cpu, group, flags) };
    if clock < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just made this descriptor for us.
    let clock = unsafe { OwnedFd::from_raw_fd(clock as i32) };
    // SAFETY: both are plain requests on descriptors that are open; neither takes a pointer.
    let is_running = unsafe {
        libc::ioctl(clock.as_raw_fd(), SET_PROGRAM, program.as_fd().as_raw_fd()) == 0
            && libc::ioctl(clock.as_raw_fd(), ENABLE, 0) == 0
    };
    if is_running { Ok(Samples { _clock: clock }) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_attributes_are_as_long_as_the_first_version() {
        assert_eq!(size_of::<Attributes>(), 64);
    }
}
