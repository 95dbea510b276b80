//! Programs on their way into the kernel: loaded, judged by its verifier, attached to a place, detached when dropped.
//! Does not write programs; [`super::assemble`] does.

use super::assemble::Instruction;
use super::btf::{Btf, Kind};
use super::call::{self, Information, LinkCreate, ProgramLoad, ProgramRun, RawTracepointOpen};
use std::ffi::CStr;
use std::fmt;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// Where in the kernel a program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A tracepoint: R1 points to its arguments, eight bytes each, kernel objects typed.
    Tracepoint(&'static str),
    /// Whenever a CPU's clock strikes for [`super::Samples`]: R1 points to the registers at that moment.
    Clock,
    /// Once for each object that an iterator visits: R1 points to its context.
    Iterator(&'static str),
    /// Whenever [`Program::run`] says so.
    OnDemand,
}

impl Place {
    /// What the kernel wants to know of it: kinds of program and attachment, and the type that describes it.
    fn kinds(self, btf: &Btf) -> Option<(u32, u32, u32)> {
        let tracing = |attach_type, number: Option<u32>| Some((call::PROGRAM_TYPE_TRACING, attach_type, number?));
        match self {
            Self::Tracepoint(name) => {
                tracing(call::ATTACH_RAW_TRACEPOINT, btf.find(Kind::Typedef, &format!("btf_trace_{name}")))
            }
            Self::Iterator(name) => {
                tracing(call::ATTACH_ITERATOR, btf.find(Kind::Function, &format!("bpf_iter_{name}")))
            }
            Self::Clock => Some((call::PROGRAM_TYPE_CLOCK, 0, 0)),
            Self::OnDemand => Some((call::PROGRAM_TYPE_ON_DEMAND, 0, 0)),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tracepoint(name) => write!(formatter, "tracepoint {name}"),
            Self::Clock => formatter.write_str("clock"),
            Self::Iterator(name) => write!(formatter, "iterator {name}"),
            Self::OnDemand => formatter.write_str("call from outside"),
        }
    }
}

/// Why a program is not in the kernel.
#[derive(Debug)]
pub enum LoadError {
    /// This kernel has no such place.
    NoPlace(Place),
    /// It said no. With it, where the verifier spoke, its last words.
    Refused {
        /// Where the program was to run.
        place: Place,
        /// The error of the call.
        cause: io::Error,
        /// The end of the verifier's log; empty when it did not come to that.
        verifier: String,
    },
}

impl fmt::Display for LoadError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoPlace(place) => write!(formatter, "the kernel has no {place}"),
            Self::Refused { place, verifier, .. } if verifier.is_empty() => {
                write!(formatter, "the kernel refused a program at the {place}")
            }
            Self::Refused { place, verifier, .. } => {
                write!(formatter, "the kernel refused a program at the {place} ({verifier})")
            }
        }
    }
}

impl std::error::Error for LoadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::NoPlace(_) => None,
            Self::Refused { cause, .. } => Some(cause),
        }
    }
}

/// COMPAT: the kernel lets only programs under a GPL-compatible licence look into its objects, and knows licences by these
/// very words. Ours are under MIT, which is compatible, or Apache.
const LICENCE: &CStr = c"Dual MIT/GPL";

/// Room for the verifier's log when a program was refused. It keeps the end when there is too little.
const LOG_BYTES: usize = 1 << 20;
/// LIMIT: of the log, this much goes into a message: its last lines say what was wrong.
const LOG_TOLD_BYTES: usize = 400;

/// A program in the kernel that nothing calls yet. Gone when dropped, unless something is attached.
#[derive(Debug)]
pub struct Program {
    descriptor: OwnedFd,
    place: Place,
}

impl Program {
    /// Has the kernel check `code` and make machine code of it.
    pub fn load(place: Place, name: &str, code: &[Instruction], btf: &Btf) -> Result<Self, LoadError> {
        let (program_type, attach_type, attach_btf_id) = place.kinds(btf).ok_or(LoadError::NoPlace(place))?;
        let mut attributes = ProgramLoad {
            program_type,
            attach_type,
            attach_btf_id,
            flags: if place == Place::OnDemand { call::PROGRAM_FLAG_MAY_SLEEP } else { 0 },
            name: call::object_name(name),
            ..ProgramLoad::default()
        };
        load(&mut attributes, code)
            .map(|descriptor| Self { descriptor, place })
            .map_err(|(cause, verifier)| LoadError::Refused { place, cause, verifier })
    }

    /// Where it runs.
    pub fn place(&self) -> Place {
        self.place
    }

    /// The error of a call about it.
    pub(super) fn refused(&self, cause: io::Error) -> LoadError {
        LoadError::Refused { place: self.place, cause, verifier: String::new() }
    }

    /// Has it called from now on, until the result is dropped. One at the clock is not attached so, but by [`super::Samples`].
    pub fn attach(&self) -> Result<Attached, LoadError> {
        let program = self.descriptor.as_raw_fd() as u32;
        let opened = match self.place {
            Place::Iterator(_) => {
                let mut attributes =
                    LinkCreate { program, attach_type: call::ATTACH_ITERATOR, ..LinkCreate::default() };
                // SAFETY: the structure holds no pointer, and the command makes a descriptor.
                unsafe { call::perform_open(call::LINK_CREATE, &mut attributes) }
            }
            _ => {
                let mut attributes = RawTracepointOpen { program, ..RawTracepointOpen::default() };
                // SAFETY: the name is null, as a program that knows its place requires; the command makes a descriptor.
                unsafe { call::perform_open(call::RAW_TRACEPOINT_OPEN, &mut attributes) }
            }
        };
        opened.map(|link| Attached { link }).map_err(|cause| LoadError::Refused {
            place: self.place,
            cause,
            verifier: String::new(),
        })
    }

    /// Runs it once, here and now, and waits for its end; for one that is called on demand.
    pub fn run(&self) -> io::Result<()> {
        let mut attributes = ProgramRun { program: self.descriptor.as_raw_fd() as u32, ..ProgramRun::default() };
        // SAFETY: the structure holds no pointer that is not null.
        unsafe { call::perform(call::PROGRAM_RUN, &mut attributes) }.map(drop)
    }

    /// How often it was not run because it was running on that CPU already: each is an event that was missed.
    pub fn missed(&self) -> io::Result<u64> {
        /// Words of `bpf_prog_info` up to and with `recursion_misses`, which is the 27th.
        const WORDS: usize = 28;
        const MISSES_AT: usize = 26;
        let mut information = [0_u64; WORDS];
        let mut attributes = Information {
            object: self.descriptor.as_raw_fd() as u32,
            bytes: size_of_val(&information) as u32,
            information: information.as_mut_ptr() as u64,
        };
        // SAFETY: the pointer is to `information`, which is live and as long as said.
        unsafe { call::perform(call::INFORMATION, &mut attributes) }?;
        Ok(information[MISSES_AT])
    }
}

/// Without a log first: writing one makes the verifier several times slower.
fn load(attributes: &mut ProgramLoad, code: &[Instruction]) -> Result<OwnedFd, (io::Error, String)> {
    attributes.instruction_count = code.len() as u32;
    attributes.instructions = code.as_ptr() as u64;
    attributes.licence = LICENCE.as_ptr() as u64;
    // SAFETY: instructions and licence are live for the call and as long as said.
    let refusal = match unsafe { call::perform_open(call::PROGRAM_LOAD, attributes) } {
        Ok(descriptor) => return Ok(descriptor),
        Err(cause) => cause,
    };
    let mut log = vec![0_u8; LOG_BYTES];
    attributes.log_level = 1;
    attributes.log_bytes = LOG_BYTES as u32;
    attributes.log = log.as_mut_ptr() as u64;
    // SAFETY: as above, and the log is live and as long as said.
    match unsafe { call::perform_open(call::PROGRAM_LOAD, attributes) } {
        Ok(descriptor) => Ok(descriptor),
        Err(_the_first_refusal_is_told) => Err((refusal, end_of_log(&log))),
    }
}

fn end_of_log(log: &[u8]) -> String {
    let text = CStr::from_bytes_until_nul(log).map(CStr::to_string_lossy).unwrap_or_default();
    let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty() && !line.starts_with("processed ")).collect();
    let mut told = String::new();
    for line in lines.iter().rev().take_while(|line| !line.starts_with("verification time")) {
        if told.len() + line.len() > LOG_TOLD_BYTES {
            break;
        }
        told = if told.is_empty() { (*line).to_owned() } else { format!("{line}; {told}") };
    }
    told
}

impl AsFd for Program {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// A program that is being called. Detached when dropped.
#[derive(Debug)]
pub struct Attached {
    link: OwnedFd,
}

impl AsFd for Attached {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.link.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::super::assemble::{Arithmetic, Assembler, Condition, Helper, Operand, Register, Width};
    use super::super::memory::KernelWords;
    use super::super::probe;
    use super::*;
    use std::sync::atomic::Ordering;

    /// Counts in `counter` the calls of one thread.
    fn counting(thread: u32, counter: &KernelWords) -> Vec<Instruction> {
        let mut program = Assembler::new();
        let end = program.label();
        program.call(Helper::CurrentPidTgid);
        program.compute(Arithmetic::And, Register::R0, Operand::Is(i32::MAX));
        program.jump_if(Register::R0, Condition::NotEqual, Operand::Is(thread.cast_signed()), end);
        program.address(Register::R1, counter.descriptor(), 8);
        program.set(Register::R2, 1);
        program.add_shared(Register::R1, 0, Register::R2);
        program.bind(end);
        program.set(Register::R0, 0);
        program.exit();
        program.finish().expect("bound")
    }

    #[test]
    fn a_program_of_ours_counts_in_the_kernel_and_stops_when_dropped() {
        // Without rights there is nothing to test here; why not is what `probe` tests.
        let Ok(btf) = probe::kernel_types() else { return };
        let counter = KernelWords::new("mh_test", 2).expect("memory");
        let thread = rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs();
        let program = Program::load(Place::Tracepoint("sys_enter"), "mh_test", &counting(thread, &counter), &btf);
        let program = program.expect("loaded");
        let seen = || counter.words()[1].load(Ordering::Relaxed);
        let calls = || (0..1000).for_each(|_| assert!(rustix::process::getppid().is_some()));
        assert_eq!(seen(), 0);
        let attached = program.attach().expect("attached");
        calls();
        assert!((1000..1100).contains(&seen()), "{}", seen());
        drop(attached);
        let after = seen();
        calls();
        assert!(seen() < after + 100, "{after} then {}", seen());
        assert_eq!(program.missed().expect("information"), 0);
    }

    #[test]
    fn a_program_on_demand_runs_when_it_is_told_and_may_call_the_kernels_functions() {
        let Ok(btf) = probe::kernel_types() else { return };
        let function = |name| btf.find(Kind::Function, name);
        let (Some(lock), Some(unlock)) = (function("bpf_rcu_read_lock"), function("bpf_rcu_read_unlock")) else {
            return;
        };
        let counter = KernelWords::new("mh_test", 1).expect("memory");
        let mut program = Assembler::new();
        program.call_kernel(lock);
        program.call_kernel(unlock);
        program.address(Register::R1, counter.descriptor(), 0);
        program.set(Register::R2, 1);
        program.add_shared(Register::R1, 0, Register::R2);
        program.set(Register::R0, 0);
        program.exit();
        let code = program.finish().expect("no jump");
        let program = Program::load(Place::OnDemand, "mh_test", &code, &btf).expect("loaded");
        (0..3).for_each(|_| program.run().expect("run"));
        assert_eq!(counter.words()[0].load(Ordering::Relaxed), 3);
    }

    #[test]
    fn a_refused_program_says_what_the_verifier_said() {
        let Ok(btf) = probe::kernel_types() else { return };
        let mut program = Assembler::new();
        program.load(Width::Double, Register::R0, Register::R5, 0);
        program.exit();
        let code = program.finish().expect("no jump");
        let refusal = Program::load(Place::Tracepoint("sys_enter"), "mh_bad", &code, &btf).expect_err("unset register");
        assert!(refusal.to_string().contains("R5 !read_ok"), "{refusal}");
        let nowhere = Program::load(Place::Tracepoint("no_such_place"), "mh_bad", &code, &btf).expect_err("no place");
        assert!(matches!(nowhere, LoadError::NoPlace(_)));
    }
}
