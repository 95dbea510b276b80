//! This host's snapshots to somebody else: envelopes on standard output, which a viewer elsewhere reads over ssh.

use super::keep::PROCESSES;
use super::local::LocalHost;
use mh_kit::failure::Failure;
use observe::host::recording::SnapshotWriter;
use std::io::{self, ErrorKind, Write};

/// Sends until nobody reads any more, or somebody interrupts.
pub fn send(command: &'static str, mut host: LocalHost) -> Result<(), Failure> {
    let failed = |error: io::Error| match error.kind() {
        // The viewer has gone, as it may.
        ErrorKind::BrokenPipe => Ok(()),
        _ => Err(Failure::Environment {
            command,
            message: format!("send samples: {}", sys::error_text::message(&error)),
        }),
    };
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let sink = io::stdout();
    let mut writer = match SnapshotWriter::begin(sink, &host.facts(), u64::try_from(now.as_nanos()).unwrap_or(u64::MAX))
    {
        Ok(writer) => writer,
        Err(error) => return failed(error),
    };
    loop {
        let (snapshot, is_last) = host.next()?;
        if let Err(error) = writer.write(snapshot, PROCESSES).and_then(|()| io::stdout().flush()) {
            return failed(error);
        }
        if is_last {
            return Ok(());
        }
    }
}
