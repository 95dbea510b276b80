//! Another program that packs what is archived: `-I`. Started before the first byte, waited for behind the last one.

use super::{TarArgs, could_not};
use mh_kit::failure::Failure;
use std::ffi::OsString;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::process::{Child, Command, ExitStatus, Stdio};
use sys::signals::as_at_start;

/// The program that packs, or unpacks, where we have no codec that does: by an option, or by the suffix for `-a`.
pub fn instead_of_codec(args: &TarArgs) -> Option<&'static str> {
    let packing = &args.packing;
    let is_written = args.operation.create;
    let by_option = [
        (packing.lzop, "lzop"),
        (packing.lzip && is_written, "lzip"),
        (packing.lzma && is_written, "lzma"),
        (packing.compress && is_written, "compress"),
    ];
    if let Some((_, program)) = by_option.into_iter().find(|(is_said, _)| *is_said) {
        return Some(program);
    }
    let name = args.archive().filter(|_| packing.auto_compress && is_written)?.to_string_lossy().into_owned();
    BY_SUFFIX.iter().find(|(suffix, _)| name.ends_with(suffix)).map(|(_, program)| *program)
}

/// COMPAT: suffixes by which GNU tar chooses programs.
const BY_SUFFIX: [(&str, &str); 7] = [
    (".Z", "compress"),
    (".taZ", "compress"),
    (".lz", "lzip"),
    (".lzma", "lzma"),
    (".tlz", "lzma"),
    (".lzo", "lzop"),
    (".tzo", "lzop"),
];

/// A program that runs.
pub struct Packer {
    program: String,
    child: Child,
    input: File,
}

/// What `-I` names, with `more` behind it. COMPAT: a shell reads it.
pub fn command(program: &str, more: &str) -> Result<Command, Failure> {
    if program.trim().is_empty() {
        return Err(super::usage("-I names no program".to_owned()));
    }
    let mut command = Command::new("/bin/sh");
    as_at_start(command.arg("-c").arg(format!("{program}{more}")));
    Ok(command)
}

/// Starts it, as messages name it.
pub fn start(program: &str, command: &mut Command) -> Result<Child, Failure> {
    let told = OsString::from(program);
    command.spawn().map_err(|error| could_not("start", &told, &error))
}

/// The failure of a run whose program ended so. COMPAT: GNU tar's words.
pub fn failed(message: String, status: &ExitStatus) -> Failure {
    let theirs = match status.code() {
        Some(code) => format!("Child returned status {code}\nError is not recoverable: exiting now"),
        None => format!("Child died with {status}\nError is not recoverable: exiting now"),
    };
    let ours = Failure::Environment { command: super::NAME, message };
    Failure::ByName { ours: Box::new(ours), theirs }
}

impl Packer {
    /// Starts `program`, whose output goes to `output`.
    pub fn start(program: &str, output: &File) -> Result<Self, Failure> {
        let output = output.try_clone().map_err(|error| could_not("start", program.as_ref(), &error))?;
        let mut child = start(program, command(program, "")?.stdin(Stdio::piped()).stdout(output))?;
        let input = File::from(OwnedFd::from(child.stdin.take().expect("it was piped")));
        Ok(Self { program: program.to_owned(), child, input })
    }

    /// Where plain bytes go.
    pub fn input(&self) -> &File {
        &self.input
    }

    /// All is written: waits until it is packed. `archive` as messages show it.
    pub fn finish(self, archive: &str) -> Result<(), Failure> {
        let Self { program, mut child, input } = self;
        drop(input);
        let status = child.wait().map_err(|error| could_not("wait for", program.as_ref(), &error))?;
        if status.success() {
            return Ok(());
        }
        let message = format!("create {archive}: {program} ended with {status}");
        Err(failed(message, &status))
    }

    /// Nothing more is to be packed.
    pub fn stop(mut self) {
        let _ended_already = self.child.kill();
        let _gone = self.child.wait();
    }
}
