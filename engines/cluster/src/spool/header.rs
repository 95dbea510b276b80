//! The header of a spool: what every worker and whoever attaches needs to know about the run.

use super::{HEADER, HEADER_BYTES_MAX, SpoolFault, failed, read_at_most};
use crate::text::ByteText;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// The number of this format.
pub(super) const FORMAT: u32 = 1;

/// LIMIT: 30 years.
const SECONDS_MAX: f64 = 1e9;

/// What is the same for all of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SpoolHeader {
    /// The number of the format.
    pub format: u32,
    /// What this run is known by.
    pub id: String,
    /// The machine that submitted it.
    pub host: String,
    /// When, in seconds since 1970 by its clock.
    pub submitted: f64,
    /// Where jobs run that name no directory.
    pub directory: ByteText,
    /// The options and the utility, as for one machine.
    pub argv: Vec<ByteText>,
    /// The submitter's variables: `NAME=value`.
    pub environment: Vec<ByteText>,
    /// Of the list and the options: equal for equal runs.
    pub digest: String,
    /// Jobs.
    pub jobs: u64,
    /// Chunks.
    pub chunks: u32,
    /// Where each generation ends: chunks of one wait for all of the one before.
    pub generations: Vec<u32>,
    /// Jobs that wait for jobs of an earlier generation, by their numbers.
    #[serde(default)]
    pub needs: BTreeMap<u64, Vec<JobNeed>>,
    /// What bounds workers.
    pub limits: SpoolLimits,
}

/// A job of an earlier generation that must have succeeded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobNeed {
    /// What `after` calls it.
    pub name: String,
    /// Its number.
    pub job: u64,
    /// Its chunk.
    pub chunk: u32,
}

/// What bounds workers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SpoolLimits {
    /// Workers by which chunks are dealt out first; others may join.
    pub workers: u32,
    /// Cores for each, where that was said.
    pub cores: Option<u32>,
    /// Seconds that a worker may run.
    pub time_s: Option<f64>,
    /// Seconds without a sign of life after which a worker counts as dead.
    pub lease_s: f64,
}

/// Puts the header into its place, synced. Returns whether it was the first.
pub(super) fn put(root: &Path, header: &SpoolHeader) -> Result<bool, SpoolFault> {
    let (new, path) = (root.join(format!("{HEADER}-{}", header.id)), root.join(HEADER));
    let bytes = serde_json::to_vec_pretty(header).expect("memory takes it, and every key is text");
    let file = File::options().write(true).create_new(true).mode(0o600).open(&new);
    let written = file.and_then(|mut file| file.write_all(&bytes).and_then(|()| file.sync_all()));
    written.map_err(failed("write", &new))?;
    let linked = crate::link::link_or_create(&new, &path);
    let _a_copy = std::fs::remove_file(&new);
    linked.map_err(failed("make", &path))
}

/// Jobs run with the words and variables of a spool, so it must be the user's own, and nobody else's to change.
fn check_owner(root: &Path) -> Result<(), SpoolFault> {
    const OTHERS_WRITE: u32 = 0o022;
    for path in [root.to_owned(), root.join(HEADER)] {
        let Ok(status) = std::fs::symlink_metadata(&path) else { continue };
        let is_own = status.uid() == rustix::process::geteuid().as_raw() && status.mode() & OTHERS_WRITE == 0;
        if !is_own || status.is_symlink() {
            return Err(SpoolFault::Foreign(path));
        }
    }
    Ok(())
}

pub(super) fn read(root: &Path) -> Result<SpoolHeader, SpoolFault> {
    let path = root.join(HEADER);
    check_owner(root)?;
    let bytes = match read_at_most(&path, HEADER_BYTES_MAX) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Err(SpoolFault::NoSpool(root.to_owned())),
        Err(error) => return Err(failed("read", &path)(error)),
    };
    let damaged = |why: String| SpoolFault::Damaged { path: path.clone(), why };
    #[derive(Deserialize)]
    struct AnyFormat {
        format: u32,
    }
    let any: AnyFormat = serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
    if any.format != FORMAT {
        return Err(SpoolFault::Format { path, found: any.format });
    }
    let header: SpoolHeader = serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
    let ends = &header.generations;
    let is_whole = ends.is_sorted() && ends.last().copied().unwrap_or(0) == header.chunks;
    let is_named = !header.id.is_empty() && header.id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    let is_time = |seconds: f64| (0.001..=SECONDS_MAX).contains(&seconds);
    let is_limited =
        header.limits.workers > 0 && is_time(header.limits.lease_s) && header.limits.time_s.is_none_or(is_time);
    if !(is_whole && is_named && is_limited) {
        return Err(damaged("its numbers do not go together".to_owned()));
    }
    Ok(header)
}

impl SpoolHeader {
    /// The number of this format.
    pub const FORMAT: u32 = FORMAT;

    #[cfg(test)]
    pub(crate) fn for_tests(generations: &[u32], workers: u32) -> Self {
        Self {
            format: FORMAT,
            id: "r1".to_owned(),
            host: "here".to_owned(),
            submitted: 0.0,
            directory: ByteText(b"/".to_vec()),
            argv: Vec::new(),
            environment: Vec::new(),
            digest: "d".to_owned(),
            jobs: 0,
            chunks: 0,
            generations: generations.to_vec(),
            needs: BTreeMap::new(),
            limits: SpoolLimits { workers, cores: None, time_s: None, lease_s: 60.0 },
        }
    }
}
