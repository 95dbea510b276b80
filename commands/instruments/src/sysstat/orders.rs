//! Orders to a process: a signal, another nice value. The process is the one that was chosen, never a later one of the same number.

use observe::host::snapshot::ProcessId;
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, getpriority_process, pidfd_open, pidfd_send_signal, setpriority_process,
};

/// What is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WantedOrder {
    /// A signal, by number.
    Signal(i32),
    /// A nice value.
    Nice(i32),
    /// So much nicer.
    NiceBy(i32),
}

/// An order that waits for its yes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessOrderToGive {
    process: ProcessId,
    name: String,
    wanted: WantedOrder,
}

/// Signals by the names that people type; others by number.
const SIGNALS: [(&str, i32); 11] = [
    ("HUP", 1),
    ("INT", 2),
    ("QUIT", 3),
    ("ABRT", 6),
    ("KILL", 9),
    ("USR1", 10),
    ("USR2", 12),
    ("TERM", 15),
    ("CONT", 18),
    ("STOP", 19),
    ("TSTP", 20),
];

/// The number of a signal: `TERM`, `sigkill`, `9`.
pub fn parse_signal(text: &str) -> Option<i32> {
    let upper = text.trim().to_uppercase();
    let bare = upper.strip_prefix("SIG").unwrap_or(&upper);
    let named = SIGNALS.iter().find(|(name, _)| *name == bare).map(|(_, number)| *number);
    named.or_else(|| bare.parse().ok().filter(|number| (1..=64).contains(number)))
}

impl ProcessOrderToGive {
    /// To the process of that name.
    pub fn new(process: ProcessId, name: &str, wanted: WantedOrder) -> Self {
        Self { process, name: terminal::printable(name).into_owned(), wanted }
    }

    /// What is asked before it is given.
    pub fn question(&self) -> String {
        let (pid, name) = (self.process.pid, &self.name);
        match self.wanted {
            WantedOrder::Signal(signal) => format!("send {} to {pid} ({name})? y/n", signal_name(signal)),
            WantedOrder::Nice(nice) => format!("set {pid} ({name}) to nice {nice}? y/n"),
            WantedOrder::NiceBy(by) => {
                format!("make {pid} ({name}) {} by {}? y/n", if by > 0 { "nicer" } else { "less nice" }, by.abs())
            }
        }
    }

    /// Gives it; says what came of it.
    pub fn give(&self) -> String {
        match self.try_to_give() {
            Ok(done) => done,
            Err(reason) => format!("{} ({}): {reason}", self.process.pid, self.name),
        }
    }

    fn try_to_give(&self) -> Result<String, String> {
        let ended = || "it has ended".to_owned();
        let pid = Pid::from_raw(self.process.pid.cast_signed()).ok_or_else(ended)?;
        let in_words =
            |error: Errno| if error == Errno::SRCH { ended() } else { sys::error_text::message(&error.into()) };
        // From here on the number is that process's: compared after it is held.
        let held = pidfd_open(pid, PidfdFlags::empty()).map_err(in_words)?;
        let facts = machine::process_facts(&machine::Host::real(), self.process.pid).ok().flatten();
        if facts.is_none_or(|facts| facts.start_ticks != self.process.start_ticks) {
            return Err(ended());
        }
        let nice = |nice: i32| {
            setpriority_process(Some(pid), nice.clamp(-20, 19)).map_err(in_words)?;
            Ok(format!("{} ({}) has nice {}", self.process.pid, self.name, nice.clamp(-20, 19)))
        };
        match self.wanted {
            WantedOrder::Signal(number) => {
                let signal = Signal::from_named_raw(number).ok_or_else(|| "only named signals are sent".to_owned())?;
                pidfd_send_signal(&held, signal).map_err(in_words)?;
                Ok(format!("{} was sent to {} ({})", signal_name(number), self.process.pid, self.name))
            }
            WantedOrder::Nice(value) => nice(value),
            WantedOrder::NiceBy(by) => nice(getpriority_process(Some(pid)).map_err(in_words)?.saturating_add(by)),
        }
    }
}

fn signal_name(number: i32) -> String {
    let named = SIGNALS.iter().find(|(_, known)| *known == number);
    named.map_or_else(|| format!("signal {number}"), |(name, _)| format!("SIG{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn signals_are_named_as_people_type_them() {
        for (text, number) in
            [("TERM", Some(15)), ("sigkill", Some(9)), (" 10 ", Some(10)), ("65", None), ("0", None), ("x", None)]
        {
            assert_eq!(parse_signal(text), number, "{text}");
        }
    }

    #[test]
    fn an_order_reaches_the_process_that_was_meant_and_no_other() {
        let mut child = Command::new("sleep").arg("600").spawn().expect("it starts");
        let facts = machine::process_facts(&machine::Host::real(), child.id()).expect("readable").expect("it lives");
        let process = ProcessId { pid: child.id(), start_ticks: facts.start_ticks };
        let other = ProcessId { start_ticks: facts.start_ticks + 1, ..process };
        let give = |process, wanted| ProcessOrderToGive::new(process, "sleep", wanted).give();
        assert!(give(other, WantedOrder::Signal(15)).ends_with("it has ended"));
        let own = getpriority_process(None).expect("readable");
        let nicer = (own + 3).min(19);
        assert_eq!(give(process, WantedOrder::NiceBy(3)), format!("{} (sleep) has nice {nicer}", child.id()));
        assert!(give(process, WantedOrder::Signal(15)).starts_with("SIGTERM was sent"));
        assert!(!child.wait().expect("it ends").success());
        assert!(give(process, WantedOrder::Signal(15)).ends_with("it has ended"));
    }
}
