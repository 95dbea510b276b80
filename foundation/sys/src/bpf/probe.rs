//! Whether this process may put programs into the kernel, and why not. Asks by looking, then by doing: an empty program at
//! a tracepoint, loaded and never attached, is the only certain answer.

use super::assemble::{Assembler, Register};
use super::btf::{Btf, BtfError};
use super::load::{LoadError, Place, Program};
use std::fmt;
use std::io;
use std::path::Path;

/// Where the kernel describes its own types.
pub const KERNEL_TYPES: &str = "/sys/kernel/btf/vmlinux";

/// Why not.
#[derive(Debug)]
pub enum Obstacle {
    /// The kernel was built without BPF, or a sandbox hides the call.
    NoSystemCall,
    /// The kernel does not describe its own types, or not so that we understand.
    NoTypes(BtfError),
    /// The rights are missing: `CAP_BPF` and `CAP_PERFMON`, or `CAP_SYS_ADMIN`, in the first user namespace.
    NoRights {
        /// The capabilities that this process lacks; none when it has both and was refused all the same (lockdown, a
        /// security module, a user namespace).
        lacking: Vec<&'static str>,
        /// The refusal.
        cause: io::Error,
    },
    /// Something else is wrong with the program or the place.
    Other(LoadError),
}

impl fmt::Display for Obstacle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSystemCall => formatter.write_str("this kernel has no bpf(2), or a sandbox hides it"),
            Self::NoTypes(_) => write!(formatter, "the kernel's own types could not be read from {KERNEL_TYPES}"),
            Self::NoRights { lacking, .. } if lacking.is_empty() => formatter.write_str(
                "the kernel refused in spite of the capabilities: lockdown, a security module or a user namespace",
            ),
            Self::NoRights { lacking, .. } => {
                write!(formatter, "this process lacks {} (root has it)", lacking.join(" and "))
            }
            Self::Other(_) => formatter.write_str("the kernel did not take an empty program"),
        }
    }
}

impl std::error::Error for Obstacle {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::NoSystemCall => None,
            Self::NoTypes(cause) => Some(cause),
            Self::NoRights { cause, .. } => Some(cause),
            Self::Other(cause) => Some(cause),
        }
    }
}

/// The kernel's types, when programs can be loaded with them.
pub fn kernel_types() -> Result<Btf, Obstacle> {
    let btf = Btf::read(Path::new(KERNEL_TYPES)).map_err(Obstacle::NoTypes)?;
    let mut program = Assembler::new();
    program.set(Register::R0, 0);
    program.exit();
    let code = program.finish().expect("no jump in it");
    match Program::load(Place::Tracepoint("sys_enter"), "mh_probe", &code, &btf) {
        Ok(_gone_at_once) => Ok(btf),
        Err(LoadError::Refused { cause, .. }) if cause.raw_os_error() == Some(libc::ENOSYS) => {
            Err(Obstacle::NoSystemCall)
        }
        Err(LoadError::Refused { cause, .. })
            if matches!(cause.raw_os_error(), Some(libc::EPERM) | Some(libc::EACCES)) =>
        {
            Err(Obstacle::NoRights { lacking: lacking(), cause })
        }
        Err(error) => Err(Obstacle::Other(error)),
    }
}

const CAPABILITIES: [(&str, u32); 2] = [("CAP_PERFMON", 38), ("CAP_BPF", 39)];
const SYSTEM_ADMINISTRATION: u32 = 21;

/// The needed capabilities that are not in effect.
fn lacking() -> Vec<&'static str> {
    let Some(effective) = effective_capabilities() else { return Vec::new() };
    let has = |number: u32| effective >> number & 1 == 1;
    if has(SYSTEM_ADMINISTRATION) {
        return Vec::new();
    }
    CAPABILITIES.iter().filter(|(_, number)| !has(*number)).map(|(name, _)| *name).collect()
}

fn effective_capabilities() -> Option<u64> {
    #[repr(C)]
    struct Header {
        version: u32,
        pid: i32,
    }
    /// `_LINUX_CAPABILITY_VERSION_3`: two triples of 32 bits.
    const VERSION: u32 = 0x2008_0522;
    let mut header = Header { version: VERSION, pid: 0 };
    let mut data = [[0_u32; 3]; 2];
    // SAFETY: both pointers are to live memory of the length that this version stands for.
    let status = unsafe { libc::syscall(libc::SYS_capget, &mut header, data.as_mut_ptr()) };
    (status == 0).then(|| u64::from(data[1][0]) << 32 | u64::from(data[0][0]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_obstacle_names_what_is_lacking() {
        let cause = || io::Error::from_raw_os_error(libc::EPERM);
        let one = Obstacle::NoRights { lacking: vec!["CAP_BPF"], cause: cause() };
        assert_eq!(one.to_string(), "this process lacks CAP_BPF (root has it)");
        let none = Obstacle::NoRights { lacking: Vec::new(), cause: cause() };
        assert!(none.to_string().contains("lockdown"));
    }

    #[test]
    fn the_probe_answers_one_way_or_the_other() {
        match kernel_types() {
            Ok(btf) => assert!(btf.find(super::super::btf::Kind::Structure, "task_struct").is_some()),
            Err(obstacle) => assert!(!obstacle.to_string().is_empty()),
        }
    }
}
