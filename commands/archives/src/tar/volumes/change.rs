//! From one volume to the next: the names that were given, a program, or a person who is asked. COMPAT: GNU tar's questions, answers and variables.

use super::super::{TarArgs, could_not, usage};
use mh_kit::failure::Failure;
use std::ffi::OsString;
use std::io::{self, BufRead, Read, Write};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use sys::signals::as_at_start;

/// The volumes of an archive.
pub struct VolumeChange {
    names: Vec<PathBuf>,
    at: usize,
    /// Where names are from, whatever `-C` leads to.
    here: PathBuf,
    /// The number of the volume at hand.
    pub number: u64,
    script: Option<OsString>,
    number_file: Option<PathBuf>,
    /// Facts for a script.
    variables: [(&'static str, OsString); 4],
}

impl VolumeChange {
    pub fn new(args: &TarArgs) -> Result<Self, Failure> {
        let names = args.file.clone();
        if names.first().is_none_or(|name| name.as_os_str() == "-") {
            return Err(usage("volumes need names: -f".to_owned()));
        }
        let number_file = args.volumes.volno_file.clone();
        let number = match &number_file {
            Some(path) => match std::fs::read_to_string(path) {
                Ok(text) => text.trim().parse().map_err(|error| could_not("use", path.as_os_str(), &error))?,
                Err(error) if error.kind() == io::ErrorKind::NotFound => 1,
                Err(error) => return Err(could_not("read", path.as_os_str(), &error)),
            },
            None => 1,
        };
        let variables = [
            ("TAR_VERSION", env!("CARGO_PKG_VERSION").into()),
            ("TAR_BLOCKING_FACTOR", "20".into()),
            ("TAR_SUBCOMMAND", args.operation.letter().into()),
            ("TAR_FORMAT", args.format_name().into()),
        ];
        let script = args.volumes.info_script.clone();
        let here = std::env::current_dir().map_err(|error| could_not("open", ".".as_ref(), &error))?;
        Ok(Self { names, at: 0, here, number, script, number_file, variables })
    }

    /// The name of the volume at hand.
    pub fn name(&self) -> &PathBuf {
        &self.names[self.at]
    }

    /// Where it is.
    pub fn path(&self) -> PathBuf {
        self.here.join(self.name())
    }

    /// Goes to the next volume.
    pub fn advance(&mut self) -> io::Result<()> {
        self.number += 1;
        if let Some(path) = &self.number_file {
            std::fs::write(self.here.join(path), format!("{}\n", self.number))?;
        }
        self.at = (self.at + 1) % self.names.len();
        if let Some(script) = self.script.clone() {
            return self.run(&script);
        }
        // Each name that was given is used once unasked.
        if self.at == 0 { self.ask() } else { Ok(()) }
    }

    fn ask(&mut self) -> io::Result<()> {
        let mut answers = io::stdin().lock();
        loop {
            let name = self.names[self.at].display();
            let mut output = io::stderr();
            write!(output, "\u{7}Prepare volume #{} for '{name}' and hit return: ", self.number)?;
            output.flush()?;
            let mut line = Vec::new();
            if answers.read_until(b'\n', &mut line)? == 0 {
                return Err(io::Error::other("the next volume was asked for, and there was no answer"));
            }
            let line = line.trim_ascii();
            match line.first() {
                None | Some(b'y' | b'Y') => return Ok(()),
                Some(b'q') => return Err(io::Error::other("no new volume: given up")),
                Some(b'n') => {
                    let name = line[1..].trim_ascii();
                    if !name.is_empty() {
                        self.names[self.at] = PathBuf::from(OsString::from_vec(name.to_vec()));
                        return Ok(());
                    }
                }
                _ => writeln!(output, " n name  use another name\n q       give up\n y, or return  go on")?,
            }
        }
    }

    /// Runs the script, which may write another name to a descriptor whose number it gets.
    fn run(&mut self, script: &OsString) -> io::Result<()> {
        let (mut reader, writer) = io::pipe()?;
        let mut shell = Command::new("/bin/sh");
        // Its input is free for that: a shell can give it another number.
        as_at_start(
            shell.arg("-c").arg("exec 3>&0 0</dev/null; TAR_FD=3; export TAR_FD; eval \"$1\"").arg("sh").arg(script),
        );
        shell.envs(self.variables.iter().map(|(name, value)| (*name, value.as_os_str())));
        shell.env("TAR_ARCHIVE", self.name()).env("TAR_VOLUME", self.number.to_string()).stdin(Stdio::from(writer));
        let mut child = shell.spawn()?;
        // The writer's own copy goes with it.
        drop(shell);
        let mut name = Vec::new();
        reader.read_to_end(&mut name)?;
        let status = child.wait()?;
        if !status.success() {
            return Err(io::Error::other(format!("{}: it ended with {status}", terminal::quote(script))));
        }
        let name = name.trim_ascii_end();
        if !name.is_empty() {
            self.names[self.at] = PathBuf::from(OsString::from_vec(name.to_vec()));
        }
        Ok(())
    }
}
