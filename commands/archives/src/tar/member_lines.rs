//! Lines about members beside other work: `-v` of archives that are made and extracted, and what `-d` finds. That nobody reads
//! them stops nothing; that they could not be written is told in the end.

use super::{TarArgs, could_not};
use mh_kit::failure::Failure;
use std::fs::File;
use std::io::{self, Write};
use terminal::{StandardStream, TextOutput};

/// Lines, and why not all of them are where they should be.
pub struct MemberLines {
    output: TextOutput<Box<dyn Write + Send>>,
    stream: &'static str,
    failed: Option<io::Error>,
}

impl MemberLines {
    /// On standard output.
    pub fn on_stdout() -> Self {
        Self::on(Box::new(StandardStream::Output), "standard output")
    }

    /// On standard error: an archive has standard output for itself.
    pub fn on_stderr() -> Self {
        Self::on(Box::new(io::stderr()), "standard error")
    }

    /// Nowhere.
    #[cfg(test)]
    pub fn nowhere() -> Self {
        Self::on(Box::new(io::sink()), "nowhere")
    }

    fn on(stream: Box<dyn Write + Send>, name: &'static str) -> Self {
        Self { output: TextOutput::to(stream), stream: name, failed: None }
    }

    /// In the file that an option names, or where `otherwise` says.
    pub fn of(args: &TarArgs, otherwise: fn() -> Self) -> Result<Self, Failure> {
        let Some(path) = &args.telling.index_file else { return Ok(otherwise()) };
        let file = File::create(path).map_err(|error| could_not("create", path.as_os_str(), &error))?;
        Ok(Self::on(Box::new(file), "the index file"))
    }

    /// A part of a line, which goes out at once.
    pub fn part(&mut self, bytes: &[u8]) {
        self.flush();
        if self.failed.is_none() {
            self.failed = self.output.put(bytes).and_then(|_| self.output.flush()).err();
        }
    }

    /// One more.
    pub fn line(&mut self, text: impl AsRef<[u8]>) {
        if self.failed.is_none() {
            self.failed = self.output.line(text).err();
        }
    }

    /// What is held back goes out: before anything is told of the end.
    pub fn flush(&mut self) {
        if self.failed.is_none() {
            self.failed = self.output.flush().err();
        }
    }

    /// Whether all of them went out, as far as somebody read them.
    pub fn finish(mut self) -> Result<(), Failure> {
        self.flush();
        match self.failed {
            Some(error) => Err(could_not("write to", self.stream.as_ref(), &error)),
            None => Ok(()),
        }
    }
}
