//! Lines about members beside other work: `-v` of archives that are made and extracted, and what `-d` finds. That nobody reads
//! them stops nothing; that they could not be written is told in the end.

use super::could_not;
use mh_kit::failure::Failure;
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

    fn on(stream: Box<dyn Write + Send>, name: &'static str) -> Self {
        Self { output: TextOutput::to(stream), stream: name, failed: None }
    }

    /// One more.
    pub fn line(&mut self, text: &str) {
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
