//! `--checkpoint`: what is done at every so many records of the archive. COMPAT: GNU tar's actions, texts and variables.

mod text;

use super::member_lines::MemberLines;
use super::{TarArgs, totals, usage};
use mh_kit::context::Context;
use mh_kit::failure::{Failure, with_causes};
use std::fs::File;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::process::Command;
use std::time::{Duration, Instant};
use sys::signals::{SignalSet, as_at_start, number};

/// The work of an action.
enum Action {
    Dot,
    Bell,
    Echo(Option<Vec<u8>>),
    Terminal(Vec<u8>),
    Totals,
    Sleep(Duration),
    Run(std::ffi::OsString),
    Wait(SignalSet),
}

/// Whether the archive is written or read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckpointWay {
    Read,
    Written,
}

/// Checkpoints of a run.
pub struct Checkpoints {
    every: u64,
    actions: Vec<Action>,
    way: CheckpointWay,
    records: u64,
    began: Instant,
    /// Facts about the run, for programs that it runs.
    variables: [(&'static str, std::ffi::OsString); 5],
}

impl Checkpoints {
    /// None where no option asks for any. The signals that are waited for are held back from here on.
    pub fn new(args: &TarArgs, way: CheckpointWay) -> Result<Option<Self>, Failure> {
        let every = match args.telling.checkpoint.as_deref() {
            None if args.telling.checkpoint_action.is_empty() => return Ok(None),
            None => DEFAULT_EVERY,
            // COMPAT: a dot in front asks for dots.
            Some(text) => {
                let number = text.strip_prefix('.').unwrap_or(text).parse();
                number
                    .ok()
                    .filter(|&every| every > 0)
                    .ok_or_else(|| usage("--checkpoint value is not an integer".to_owned()))?
            }
        };
        let mut actions = Vec::new();
        if args.telling.checkpoint.as_deref().is_some_and(|text| text.starts_with('.')) {
            actions.push(Action::Dot);
        }
        for text in &args.telling.checkpoint_action {
            actions.push(action(text.as_bytes())?);
        }
        if actions.is_empty() {
            actions.push(Action::Echo(None));
        }
        let archive = args.archive().map_or("-".into(), |path| path.as_os_str().to_owned());
        let variables = [
            ("TAR_VERSION", env!("CARGO_PKG_VERSION").into()),
            ("TAR_ARCHIVE", archive),
            ("TAR_BLOCKING_FACTOR", "20".into()),
            ("TAR_SUBCOMMAND", args.operation.letter().into()),
            ("TAR_FORMAT", args.format_name().into()),
        ];
        Ok(Some(Self { every, actions, way, records: 0, began: Instant::now(), variables }))
    }

    /// So many bytes of the archive have been read or written.
    pub fn reach(&mut self, bytes: u64, context: &Context, lines: &mut MemberLines) {
        while (self.records + 1) * totals::RECORD_BYTES <= bytes {
            self.records += 1;
            if self.records.is_multiple_of(self.every) {
                lines.flush();
                self.actions.iter().for_each(|action| self.act(action, context, lines));
            }
        }
    }

    fn act(&self, action: &Action, context: &Context, lines: &mut MemberLines) {
        match action {
            Action::Dot => lines.part(b"."),
            Action::Bell => self.on_terminal(b"\x07"),
            Action::Echo(text) => {
                let text = text.as_deref().unwrap_or(match self.way {
                    CheckpointWay::Read => b"Read checkpoint %u",
                    CheckpointWay::Written => b"Write checkpoint %u",
                });
                context.messages.report(&format!("{}: {}", context.program, String::from_utf8_lossy(&self.text(text))));
            }
            Action::Terminal(text) => self.on_terminal(&self.text(text)),
            Action::Totals => {
                let what = if self.way == CheckpointWay::Read { "read" } else { "written" };
                context.messages.report(&totals::text(what, self.bytes(), self.began.elapsed()));
            }
            Action::Sleep(time) => std::thread::sleep(*time),
            Action::Run(command) => self.run(command, context),
            Action::Wait(signals) => {
                let _arrived = signals.wait();
            }
        }
    }

    fn bytes(&self) -> u64 {
        // COMPAT: the record at hand is not counted yet where archives are written.
        let whole = if self.way == CheckpointWay::Written { self.records - 1 } else { self.records };
        whole * totals::RECORD_BYTES
    }

    fn text(&self, form: &[u8]) -> Vec<u8> {
        let at = text::CheckpointMoment {
            number: self.records,
            is_written: self.way == CheckpointWay::Written,
            bytes: self.bytes(),
            elapsed: self.began.elapsed(),
        };
        text::of(form, &at)
    }

    fn on_terminal(&self, text: &[u8]) {
        // Without a terminal nobody is to be told.
        let _nobody_sees_it = File::options().write(true).open("/dev/tty").and_then(|mut tty| tty.write_all(text));
    }

    fn run(&self, command: &std::ffi::OsStr, context: &Context) {
        let mut shell = Command::new("/bin/sh");
        as_at_start(shell.arg("-c").arg(command));
        shell.envs(self.variables.iter().map(|(name, value)| (*name, value.as_os_str())));
        shell.env("TAR_CHECKPOINT", self.records.to_string());
        let told = match shell.status() {
            Ok(status) if status.success() => return,
            Ok(status) => format!("run {}: it ended with {status}", terminal::quote(command)),
            Err(error) => format!("run {}: {}", terminal::quote(command), with_causes(&error)),
        };
        context.messages.error(&context.program, &told, &[]);
    }
}

/// COMPAT: GNU tar's.
const DEFAULT_EVERY: u64 = 10;

fn action(text: &[u8]) -> Result<Action, Failure> {
    let equals = text.iter().position(|&byte| byte == b'=');
    let (name, value) = equals.map_or((text, None), |at| (&text[..at], Some(&text[at + 1..])));
    Ok(match (name, value) {
        (b"." | b"dot", None) => Action::Dot,
        (b"bell", None) => Action::Bell,
        (b"echo", value) => Action::Echo(value.map(<[u8]>::to_vec)),
        (b"ttyout", Some(text)) => Action::Terminal(text::unescaped(text)),
        (b"totals", None) => Action::Totals,
        (b"sleep", Some(text)) => {
            let seconds = std::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
            let seconds =
                seconds.ok_or_else(|| usage(format!("{}: not a valid timeout", String::from_utf8_lossy(text))))?;
            Action::Sleep(Duration::from_secs(seconds))
        }
        (b"exec", Some(command)) => Action::Run(std::ffi::OsStr::from_bytes(command).to_owned()),
        (b"wait", Some(name)) => Action::Wait(held(name)?),
        _ => return Err(usage(format!("{}: unknown checkpoint action", String::from_utf8_lossy(text)))),
    })
}

/// Holds back what checkpoints wait for. To be called before there is any other thread, which such a signal would end.
pub fn hold_signals(args: &TarArgs) -> Result<(), Failure> {
    let mut waits = args.telling.checkpoint_action.iter().filter_map(|action| action.as_bytes().strip_prefix(b"wait="));
    waits.try_for_each(|name| held(name).map(drop))
}

/// The signals that a run may wait for, or print totals at.
pub fn held(name: &[u8]) -> Result<SignalSet, Failure> {
    let name = name.strip_prefix(b"SIG").unwrap_or(name);
    let signals: &'static [i32] = match name {
        b"HUP" => &[number::SIGHUP],
        b"QUIT" => &[number::SIGQUIT],
        b"INT" => &[number::SIGINT],
        b"USR1" => &[number::SIGUSR1],
        b"USR2" => &[number::SIGUSR2],
        _ => return Err(usage(format!("unknown signal name: {}", String::from_utf8_lossy(name)))),
    };
    SignalSet::hold_back(signals).map_err(mh_kit::context::signal_failure)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_are_those_that_there_are() {
        for good in [".", "dot", "bell", "echo", "echo=a=b", "ttyout=x", "totals", "sleep=3", "exec=true"] {
            assert!(action(good.as_bytes()).is_ok(), "{good}");
        }
        for wrong in ["", "dots", "sleep", "sleep=x", "exec", "wait=USR3", "dot=3"] {
            assert!(action(wrong.as_bytes()).is_err(), "{wrong}");
        }
    }
}
