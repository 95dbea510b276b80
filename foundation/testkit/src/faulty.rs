//! Readers and writers that misbehave as files and pipes are allowed to: short transfers, interruptions, errors at a
//! chosen byte, stalls. What they do depends on the number of calls and bytes alone, so that a failure repeats.

use rustix::io::Errno;
use std::io::{self, Read, Write};
use std::time::Duration;

/// What goes wrong, and when. The default is nothing.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    short_bytes: Vec<usize>,
    interrupt_every_calls: Option<u64>,
    error: Option<(u64, Errno)>,
    stall: Option<(u64, Duration)>,
}

impl Faults {
    /// Nothing.
    pub fn none() -> Self {
        Self::default()
    }

    /// Transfers at most these many bytes a call, one after the other, then from the start again. None may be 0.
    #[must_use]
    pub fn short(mut self, schedule_bytes: &[usize]) -> Self {
        assert!(schedule_bytes.iter().all(|bytes| *bytes > 0), "a transfer of 0 bytes means the end");
        self.short_bytes = schedule_bytes.to_vec();
        self
    }

    /// Makes every such call fail with EINTR, having done nothing. Must be at least 2, or nothing would ever be done.
    #[must_use]
    pub fn interrupted_every(mut self, calls: u64) -> Self {
        assert!(calls >= 2, "somebody who retries has to get through");
        self.interrupt_every_calls = Some(calls);
        self
    }

    /// Fails with EIO, for good, once `at_byte` bytes have passed.
    #[must_use]
    pub fn input_output_error(mut self, at_byte: u64) -> Self {
        self.error = Some((at_byte, Errno::IO));
        self
    }

    /// Fails with ENOSPC, for good, once `at_byte` bytes have passed.
    #[must_use]
    pub fn no_space(mut self, at_byte: u64) -> Self {
        self.error = Some((at_byte, Errno::NOSPC));
        self
    }

    /// Sleeps once before going past `at_byte`.
    #[must_use]
    pub fn stalled(mut self, at_byte: u64, pause: Duration) -> Self {
        self.stall = Some((at_byte, pause));
        self
    }
}

/// Faults on their way through calls and bytes.
#[derive(Debug)]
struct Course {
    faults: Faults,
    calls: u64,
    transfers: usize,
    passed_bytes: u64,
}

impl Course {
    fn new(faults: Faults) -> Self {
        Self { faults, calls: 0, transfers: 0, passed_bytes: 0 }
    }

    /// How many of `wanted_bytes` this call may transfer, or how it fails.
    fn allowance(&mut self, wanted_bytes: usize) -> io::Result<usize> {
        self.calls += 1;
        if self.faults.interrupt_every_calls.is_some_and(|every| self.calls.is_multiple_of(every)) {
            return Err(Errno::INTR.into());
        }
        self.faults.stall.take_if(|(at_byte, _)| *at_byte <= self.passed_bytes).inspect(|(_, pause)| {
            std::thread::sleep(*pause);
        });
        let mut allowed = wanted_bytes;
        if !self.faults.short_bytes.is_empty() {
            allowed = allowed.min(self.faults.short_bytes[self.transfers % self.faults.short_bytes.len()]);
        }
        if let Some((at_byte, _)) = self.faults.stall {
            allowed = allowed.min(bytes_until(at_byte, self.passed_bytes));
        }
        if let Some((at_byte, errno)) = self.faults.error {
            allowed = allowed.min(bytes_until(at_byte, self.passed_bytes));
            if allowed == 0 && wanted_bytes > 0 {
                return Err(errno.into());
            }
        }
        Ok(allowed)
    }

    fn pass(&mut self, bytes: usize) -> usize {
        self.transfers += 1;
        self.passed_bytes += bytes as u64;
        bytes
    }
}

fn bytes_until(at_byte: u64, passed_bytes: u64) -> usize {
    usize::try_from(at_byte.saturating_sub(passed_bytes)).unwrap_or(usize::MAX)
}

/// A reader with faults.
#[derive(Debug)]
pub struct FaultyReader<Source> {
    source: Source,
    course: Course,
}

impl<Source: Read> FaultyReader<Source> {
    /// Reads from `source`, with `faults`.
    pub fn new(source: Source, faults: Faults) -> Self {
        Self { source, course: Course::new(faults) }
    }
}

impl<Source: Read> Read for FaultyReader<Source> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let allowed = self.course.allowance(buffer.len())?;
        let read = self.source.read(&mut buffer[..allowed])?;
        Ok(self.course.pass(read))
    }
}

/// A writer with faults.
#[derive(Debug)]
pub struct FaultyWriter<Sink> {
    sink: Sink,
    course: Course,
}

impl<Sink: Write> FaultyWriter<Sink> {
    /// Writes to `sink`, with `faults`.
    pub fn new(sink: Sink, faults: Faults) -> Self {
        Self { sink, course: Course::new(faults) }
    }

    /// What was written to, with all that got through.
    pub fn into_inner(self) -> Sink {
        self.sink
    }
}

impl<Sink: Write> Write for FaultyWriter<Sink> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let allowed = self.course.allowance(bytes.len())?;
        let written = self.sink.write(&bytes[..allowed])?;
        Ok(self.course.pass(written))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sink.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn transfers_follow_the_schedule() {
        let mut reader = FaultyReader::new(&[7_u8; 100][..], Faults::none().short(&[1, 3]));
        let mut buffer = [0; 10];
        let lengths: Vec<usize> = (0..4).map(|_| reader.read(&mut buffer).expect("no fault")).collect();
        assert_eq!(lengths, [1, 3, 1, 3]);
    }

    #[test]
    fn interruptions_lose_nothing() {
        let faults = Faults::none().short(&[2]).interrupted_every(2);
        let mut reader = FaultyReader::new(&b"abcdef"[..], faults);
        let mut buffer = [0; 10];
        assert_eq!(reader.read(&mut buffer).expect("the first call"), 2);
        assert_eq!(reader.read(&mut buffer).expect_err("the second").kind(), io::ErrorKind::Interrupted);
        let mut rest = Vec::new();
        reader.read_to_end(&mut rest).expect("read_to_end retries");
        assert_eq!(rest, b"cdef");
    }

    #[test]
    fn an_error_comes_at_its_byte_and_stays() {
        let mut reader = FaultyReader::new(&[7_u8; 100][..], Faults::none().input_output_error(10));
        let mut read = Vec::new();
        let error = reader.read_to_end(&mut read).expect_err("EIO");
        assert_eq!((read.len(), error.raw_os_error()), (10, Some(Errno::IO.raw_os_error())));
        assert!(reader.read(&mut [0; 1]).is_err());
    }

    #[test]
    fn a_full_disk_takes_exactly_what_fits() {
        let mut writer = FaultyWriter::new(Vec::new(), Faults::none().no_space(5));
        let error = writer.write_all(b"too much").expect_err("ENOSPC");
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert_eq!(writer.into_inner(), b"too m");
    }

    #[test]
    fn a_stall_comes_once_at_its_byte() {
        let pause = Duration::from_millis(30);
        let mut reader = FaultyReader::new(&[7_u8; 8][..], Faults::none().stalled(4, pause));
        let mut buffer = [0; 8];
        assert_eq!(reader.read(&mut buffer).expect("up to the stall"), 4);
        let started = Instant::now();
        assert_eq!(reader.read(&mut buffer).expect("after it"), 4);
        assert!(started.elapsed() >= pause);
    }
}
