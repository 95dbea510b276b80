//! What a command line asks for, whichever name it was typed under. Decided by `sum` and `old_names`, carried out by `print` and `check`.

use crate::lines::LineForm;
use digests::algorithm::Algorithm;
use digests::manifest::{LineEnd, ManifestRules};
use digests::{DigestItem, DigestSource};
use files::Identity;
use mh_kit::shared_args::SharedArgs;
use std::sync::Arc;

/// A command line, read: by our own name or an old one.
pub struct SumRequest {
    /// In whose words it is answered.
    pub voice: ToolVoice,
    /// What is computed. Empty: what each line of a manifest says.
    pub algorithms: Arc<[Algorithm]>,
    /// Names as typed; manifests, where they are checked.
    pub files: Vec<Vec<u8>>,
    /// How lines are written.
    pub form: LineForm,
    /// How manifests are checked; none where values are printed.
    pub judging: Option<Judging>,
    /// Whether directories are descended into.
    pub is_recursive: bool,
    /// A directory that belongs to nobody's tree.
    pub left_out: Option<Identity>,
    /// Whether the answer is JSON.
    pub is_json: bool,
    /// Hands, priority, memory, plan and report.
    pub shared: SharedArgs,
}

/// In whose words a run speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolVoice {
    /// Its own.
    Own,
    /// Those of md5sum, sha256sum, cksum and the like.
    Coreutils,
    /// Those of b3sum.
    B3sum,
    /// Those of xxhsum.
    Xxhsum,
    /// Those of crc32.
    Crc32,
}

/// How manifests are checked.
#[derive(Clone, Debug)]
pub struct Judging {
    /// What lines mean.
    pub rules: ManifestRules,
    /// What ends them.
    pub line_end: LineEnd,
    /// How much is printed.
    pub says: Says,
    /// Whether a line that is none makes the check fail.
    pub is_strict: bool,
    /// Whether such lines are reported one by one.
    pub warns: bool,
    /// Whether files that are not there are passed over.
    pub ignores_missing: bool,
    /// Whether files that no line names are reported, and below which directory; an empty one: the directory that all names have in common.
    pub exact: Option<Vec<u8>>,
}

/// How much is printed about files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Says {
    /// Nothing: the exit code says it.
    Nothing,
    /// Those that failed.
    Failures,
    /// All.
    All,
}

impl SumRequest {
    /// An item of the run. COMPAT: `-` is standard input, but for crc32.
    pub fn item(&self, name: Vec<u8>) -> DigestItem {
        let is_stdin = name == b"-" && self.voice != ToolVoice::Crc32;
        let source = if is_stdin { DigestSource::Stdin } else { DigestSource::Path };
        DigestItem { name, source, algorithms: Arc::clone(&self.algorithms), expected: None }
    }
}
