//! `--digest`: digests of each lane's uncompressed data, from the pass that compresses or decompresses them. Reads nothing.

use super::plan::Job;
use ::digests::algorithm::Algorithm;
use ::digests::manifest::{NameEscape, escaped_name};
use ::digests::{StreamHash, stream_hash};
use codec::lane::{Lane, LaneInput, LaneOutput};
use mh_kit::context::Context;
use mh_kit::failure::Failure;
use mh_kit::report::print;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;

/// The digests of all lanes of a run.
pub struct PassedDigests<'a> {
    algorithms: &'a [Algorithm],
    lanes: Mutex<BTreeMap<usize, PassedLane>>,
}

/// Those of one lane, and whether its data came out whole.
struct PassedLane {
    hashes: Vec<Box<dyn StreamHash>>,
    is_whole: bool,
}

impl<'a> PassedDigests<'a> {
    /// For these algorithms; none: nothing is computed.
    pub fn new(algorithms: &'a [Algorithm]) -> Option<Self> {
        (!algorithms.is_empty()).then(|| Self { algorithms, lanes: Mutex::default() })
    }

    /// The next bytes of a lane. Lanes hash side by side: the lock is held while a lane is looked up alone.
    pub fn pass(&self, lane: usize, bytes: &[u8]) {
        let known = self.lanes.lock().remove(&lane);
        let begun = || PassedLane {
            hashes: self.algorithms.iter().map(|algorithm| stream_hash(*algorithm)).collect(),
            is_whole: false,
        };
        let mut passed = known.unwrap_or_else(begun);
        passed.hashes.iter_mut().for_each(|hash| hash.update(bytes));
        self.lanes.lock().insert(lane, passed);
    }

    /// A lane has ended well.
    pub fn is_whole(&self, lane: usize) {
        self.pass(lane, b"");
        self.lanes.lock().entry(lane).and_modify(|passed| passed.is_whole = true);
    }

    /// Prints those of whole lanes, in their order: where the data go to standard output, on standard error.
    pub fn print(self, context: &Context, job: &Job) -> Result<(), Failure> {
        let whole = self.lanes.into_inner().into_iter().filter(|(_, passed)| passed.is_whole);
        let mut text = String::new();
        for (number, passed) in whole {
            let name = name(&job.lanes[number], job.direction.is_compression());
            for (algorithm, hash) in self.algorithms.iter().zip(passed.hashes) {
                text.push_str(&line(&name, *algorithm, &hash.finish().hex()));
            }
        }
        match job.one_output && !job.is_test {
            true => {
                context.messages.report(&text);
                Ok(())
            }
            false => print(&text),
        }
    }
}

/// The name of the uncompressed data.
fn name(lane: &Lane, is_compression: bool) -> Vec<u8> {
    match (&lane.input, &lane.output) {
        (_, LaneOutput::Path { path, .. }) if !is_compression => path.as_os_str().as_bytes().to_vec(),
        (LaneInput::Path(path), _) => path.as_os_str().as_bytes().to_vec(),
        _ => b"-".to_vec(),
    }
}

/// As `mh sum --tag` writes it.
fn line(name: &[u8], algorithm: Algorithm, value: &str) -> String {
    let (name, is_escaped) = escaped_name(name, NameEscape::Lines);
    let begin = if is_escaped { "\\" } else { "" };
    format!("{begin}{} ({}) = {value}\n", algorithm.tag(), String::from_utf8_lossy(&name))
}

/// Reads an algorithm as typed.
pub fn parse(name: &str) -> Result<Algorithm, String> {
    Algorithm::named(name).ok_or_else(|| {
        let names: Vec<String> = Algorithm::all().map(|algorithm| algorithm.name()).collect();
        format!("there are {}", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_those_of_sum() {
        assert_eq!(line(b"a\nb", Algorithm::Crc32, "00"), "\\CRC32 (a\\nb) = 00\n");
        assert_eq!(parse("sha3"), Ok(Algorithm::Sha3_256));
        assert!(parse("sha").is_err());
        assert!(PassedDigests::new(&[]).is_none());
    }
}
