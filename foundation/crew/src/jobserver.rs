//! The job slots that `make -j`, ninja and cargo give to the programs they run: a pipe with a byte for each slot that is free.
//! Reads what their variable says, takes part, and gives slots to children. Protocol: GNU make manual, "Job Slots"; what is not as written there, and what
//! each death costs: `foundation/crew/BUDGET.md`.

mod client;
mod pool;
mod server;

pub use client::Jobserver;
pub use pool::{CountedPool, Pool, flags};
pub use server::{SlotBooks, SlotServer};

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// Variables that hold the flags, in the order in which they are asked. COMPAT: cargo gives build scripts only the second.
pub const VARIABLES: [&str; 2] = ["MAKEFLAGS", "CARGO_MAKEFLAGS"];

/// Where the slots are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Auth {
    /// The two ends of a pipe that this process has inherited (make before 4.4, cargo).
    Descriptors {
        /// To take slots from.
        read: i32,
        /// To put them back.
        write: i32,
    },
    /// A named pipe (make from 4.4 on, ninja from 1.13 on).
    Fifo(PathBuf),
}

/// Why there are no slots to be had. Reads after "could not".
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JobserverFault {
    /// The recipe's line is not for the pool: make has closed the pipe before it, or said so.
    #[error("use make's job slots: it keeps them from this line; a + before the line, or $(MAKE) in it, hands them on")]
    KeptBack,
    /// The words cannot be read.
    #[error("use the job slots in '{text}': they are neither two descriptors nor fifo:PATH")]
    Unknown {
        /// What stands there.
        text: String,
    },
    /// What they lead to is something else.
    #[error("use the job slots in '{text}': {why}")]
    Unfit {
        /// What stands there.
        text: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A system call failed.
    #[error("open the job slots in '{text}'")]
    System {
        /// What stands there.
        text: String,
        /// What the kernel said.
        #[source]
        cause: io::Error,
    },
}

impl Auth {
    /// What `flags`, the value of MAKEFLAGS, say; none where they name no slots. The last word wins, as in make.
    pub fn from_flags(flags: &OsStr) -> Option<Result<Self, JobserverFault>> {
        let words = flags.as_bytes().split(|byte| byte.is_ascii_whitespace());
        // Behind a lone -- stand variables, whose values may be anything.
        let options = words.take_while(|word| *word != b"--");
        let auth = |word: &[u8]| {
            let value = word.strip_prefix(b"--jobserver-auth=").or_else(|| word.strip_prefix(b"--jobserver-fds="));
            value.map(<[u8]>::to_vec)
        };
        options.filter_map(auth).last().map(|value| Self::parse(&value))
    }

    fn parse(value: &[u8]) -> Result<Self, JobserverFault> {
        if let Some(path) = value.strip_prefix(b"fifo:") {
            return Ok(Self::Fifo(PathBuf::from(OsStr::from_bytes(path))));
        }
        let text = String::from_utf8_lossy(value).into_owned();
        let numbers = text.split_once(',').and_then(|(read, write)| Some((read.parse().ok()?, write.parse().ok()?)));
        match numbers {
            None => Err(JobserverFault::Unknown { text }),
            // COMPAT: make 4.4 writes -2,-2 for lines that get no slots.
            Some((read, write)) if read < 0 || write < 0 => Err(JobserverFault::KeptBack),
            Some((read, write)) => Ok(Self::Descriptors { read, write }),
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Descriptors { read, write } => format!("{read},{write}"),
            Self::Fifo(path) => format!("fifo:{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(flags: &str) -> Option<Result<Auth, JobserverFault>> {
        Auth::from_flags(OsStr::new(flags))
    }

    #[test]
    fn the_last_word_before_the_variables_wins() {
        let fds = |read, write| Auth::Descriptors { read, write };
        assert!(matches!(read(" -j3 --jobserver-auth=3,4"), Some(Ok(auth)) if auth == fds(3, 4)));
        assert!(matches!(read("w --jobserver-fds=5,6 -j"), Some(Ok(auth)) if auth == fds(5, 6)));
        let two = "--jobserver-auth=3,4 --jobserver-auth=fifo:/tmp/GMfifo7 -- A=--jobserver-auth=8,9";
        assert!(matches!(read(two), Some(Ok(Auth::Fifo(path))) if path == std::path::Path::new("/tmp/GMfifo7")));
        for none in ["", "-j3", "k -- X=--jobserver-auth=3,4", "--jobserver-authority=3,4"] {
            assert!(read(none).is_none(), "{none}");
        }
    }

    #[test]
    fn what_is_no_pipe_is_said() {
        assert!(matches!(read("--jobserver-auth=-2,-2"), Some(Err(JobserverFault::KeptBack))));
        for unknown in ["", "3", "3,x", "3,4,5", "99999999999,1", "sem:x"] {
            let flags = format!("--jobserver-auth={unknown}");
            assert!(matches!(read(&flags), Some(Err(JobserverFault::Unknown { .. }))), "{unknown}");
        }
    }
}
