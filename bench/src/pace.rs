//! A producer and a consumer of a steady rate, for benches of pipes: `cargo xtask produce`, `cargo xtask consume`.
//! The rate is kept over time: who was held up catches up.

use clap::Args;
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Whose bytes, and how fast.
#[derive(Args)]
pub struct PaceArguments {
    /// The file to produce
    #[arg(long)]
    file: Option<PathBuf>,
    /// Bytes a second
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    rate: u64,
}

const STEP_BYTES: usize = 64 << 10;

/// Writes the file to standard output.
pub fn produce(arguments: &PaceArguments) -> Result<(), String> {
    let path = arguments.file.as_ref().ok_or("produce needs --file")?;
    let mut file = File::open(path).map_err(|error| format!("could not open {}: {error}", path.display()))?;
    pass_on(&mut file, &mut std::io::stdout().lock(), arguments.rate)
}

/// Reads standard input and passes it on to standard output.
pub fn consume(arguments: &PaceArguments) -> Result<(), String> {
    pass_on(&mut std::io::stdin().lock(), &mut std::io::stdout().lock(), arguments.rate)
}

fn pass_on(from: &mut impl Read, to: &mut impl Write, rate: u64) -> Result<(), String> {
    let (begin, mut passed) = (Instant::now(), 0_u64);
    let mut buffer = vec![0; STEP_BYTES];
    loop {
        let count = from.read(&mut buffer).map_err(|error| format!("could not read: {error}"))?;
        if count == 0 {
            return to.flush().map_err(|error| format!("could not write: {error}"));
        }
        match to.write_all(&buffer[..count]) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => return Ok(()),
            other => other.map_err(|error| format!("could not write: {error}"))?,
        }
        passed += count as u64;
        let due = Duration::from_secs_f64(passed as f64 / rate as f64);
        if let Some(early) = due.checked_sub(begin.elapsed()) {
            std::thread::sleep(early);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_pass_unchanged_and_not_too_fast() {
        let bytes: Vec<u8> = (0..=255).cycle().take(200_000).collect();
        let (mut passed, begin) = (Vec::new(), Instant::now());
        pass_on(&mut bytes.as_slice(), &mut passed, 4_000_000).expect("memory can be written");
        assert!(passed == bytes);
        assert!(begin.elapsed() >= Duration::from_millis(50), "200,000 bytes at 4 MB/s");
    }

    #[test]
    fn a_reader_that_has_gone_is_no_error() {
        struct Gone;
        impl Write for Gone {
            fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
                Err(ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }
        assert_eq!(pass_on(&mut [1_u8].as_slice(), &mut Gone, 1), Ok(()));
    }
}
