//! `--digest`: digests of each lane's uncompressed data, from the pass that compresses or decompresses them. Reads nothing.

use super::plan::Job;
use super::{TampArgs, names};
use ::digests::algorithm::Algorithm;
use ::digests::manifest::tagged_line;
use ::digests::{StreamHash, stream_hash};
use codec::lane::{Lane, LaneInput, LaneOutput};
use mh_kit::context::Context;
use mh_kit::failure::Failure;
use mh_kit::report::print_bytes;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The digests of all lanes of a run.
pub struct PassedDigests<'a> {
    algorithms: &'a [Algorithm],
    lanes: Mutex<BTreeMap<usize, PassedLane>>,
}

/// Those of one lane.
enum PassedLane {
    UnderWay(Vec<Box<dyn StreamHash>>),
    /// Its data came out whole: values, which take less memory than what computes them.
    Whole(Vec<String>),
}

impl<'a> PassedDigests<'a> {
    /// For these algorithms; none: nothing is computed.
    pub fn new(algorithms: &'a [Algorithm]) -> Option<Self> {
        (!algorithms.is_empty()).then(|| Self { algorithms, lanes: Mutex::default() })
    }

    /// The next bytes of a lane. Lanes hash side by side: the lock is held while a lane is looked up alone.
    pub fn pass(&self, lane: usize, bytes: &[u8]) {
        let mut hashes = self.under_way(lane);
        hashes.iter_mut().for_each(|hash| hash.update(bytes));
        self.lanes.lock().insert(lane, PassedLane::UnderWay(hashes));
    }

    fn under_way(&self, lane: usize) -> Vec<Box<dyn StreamHash>> {
        match self.lanes.lock().remove(&lane) {
            Some(PassedLane::UnderWay(hashes)) => hashes,
            _ => self.algorithms.iter().map(|algorithm| stream_hash(*algorithm)).collect(),
        }
    }

    /// A lane has ended well.
    pub fn is_whole(&self, lane: usize) {
        let values = self.under_way(lane).into_iter().map(|hash| hash.finish().hex()).collect();
        self.lanes.lock().insert(lane, PassedLane::Whole(values));
    }

    /// Prints those of whole lanes, in their order: where the data go to standard output, on standard error.
    pub fn print(self, context: &Context, args: &TampArgs, job: &Job) -> Result<(), Failure> {
        let mut lines = Vec::new();
        for (number, passed) in self.lanes.into_inner() {
            let PassedLane::Whole(values) = passed else { continue };
            let name = name(&job.lanes[number], args, job.direction.is_compression());
            for (algorithm, value) in self.algorithms.iter().zip(values) {
                lines.extend(tagged_line(&name, *algorithm, &value));
                lines.push(b'\n');
            }
        }
        match job.one_output && !job.is_test {
            true => {
                context.messages.report(&String::from_utf8_lossy(&lines));
                Ok(())
            }
            false => print_bytes(&lines),
        }
    }
}

/// The name of the uncompressed data: that of the file which decompression writes, or would write.
fn name(lane: &Lane, args: &TampArgs, is_compression: bool) -> Vec<u8> {
    let bytes = |path: &Path| path.as_os_str().as_bytes().to_vec();
    match (&lane.input, &lane.output) {
        (_, LaneOutput::Path { path, .. }) if !is_compression => bytes(path),
        (LaneInput::Path(path), _) if is_compression => bytes(path),
        (LaneInput::Path(path), _) => {
            let uncompressed = names::uncompressed(path, args.suffix.as_deref(), &args.manners);
            uncompressed.map_or_else(|_unknown_suffix| bytes(path), |name| bytes(&name))
        }
        _ => b"-".to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_algorithms_nothing_is_computed() {
        assert!(PassedDigests::new(&[]).is_none());
    }
}
