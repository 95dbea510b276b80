//! GNU's words for what happens to a copy. For `mh cp` and `mh mv`.

use super::digests::PassingDigests;
use crate::trees::{Words, cause, shown};
use ::digests::algorithm::Algorithm;
use std::io;
use transfer::copy::{Complaint, FileWatch, Listener, MakeWhat, What};
use transfer::finding::Finding;

/// Tells.
pub struct Told<'a> {
    /// With this voice.
    pub words: &'a Words,
    /// Whether nothing is done (`--dry-run`): then it says what would be.
    pub pretends: bool,
    /// What is computed of the bytes that pass (`--digest`).
    pub digests: &'a [Algorithm],
}

impl Listener for Told<'_> {
    fn agrees(&self, target: &[u8]) -> bool {
        self.words.asks(&format!("overwrite {}", shown(target)))
    }

    fn copied(&self, source: &[u8], target: &[u8], backup: Option<&[u8]>, way: Option<&str>) {
        let backup = backup.map(|path| format!(" (backup: {})", shown(path))).unwrap_or_default();
        let way = way.map(|way| format!(" ({way})")).unwrap_or_default();
        let would = if self.pretends { "would copy " } else { "" };
        self.words.shows(&format!("{would}{} -> {}{backup}{way}", shown(source), shown(target)));
    }

    fn watches(&self) -> bool {
        !self.digests.is_empty()
    }

    fn watch(&self) -> Option<Box<dyn FileWatch + '_>> {
        PassingDigests::new(self.digests, self.words).map(|digests| Box::new(digests) as Box<dyn FileWatch>)
    }

    fn removed(&self, target: &[u8]) {
        let done = if self.pretends { "would remove" } else { "removed" };
        self.words.shows(&format!("{done} {}", shown(target)));
    }

    fn complain(&self, findings: Vec<Finding<Complaint>>) {
        findings.iter().for_each(|finding| self.words.say(&text(finding)));
    }
}

/// COMPAT: the sentences of GNU cp 9.1.
fn text(finding: &Finding<Complaint>) -> String {
    let source = shown(&finding.path);
    match &finding.complaint {
        Complaint::Stat(error) => format!("cannot stat {source}: {}", cause(error)),
        Complaint::StatTarget(target, error) => format!("cannot stat {}: {}", shown(target), cause(error)),
        Complaint::Open(error) => format!("cannot open {source} for reading: {}", cause(error)),
        Complaint::List(error) => format!("cannot access {source}: {}", cause(error)),
        Complaint::Read(error) => format!("error reading {source}: {}", cause(error)),
        Complaint::Write(target, error) => format!("error writing {}: {}", shown(target), cause(error)),
        Complaint::Make(what, target, error) => {
            format!("cannot create {} {}: {}", made_name(*what), shown(target), cause(error))
        }
        Complaint::Link(target, other, error) => {
            format!("cannot create hard link {} to {}: {}", shown(target), shown(other), cause(error))
        }
        Complaint::PointTo(target, error) => {
            format!("cannot create symbolic link {} to {source}: {}", shown(target), cause(error))
        }
        Complaint::Share(target, error) => {
            format!("failed to clone {} from {source}: {}", shown(target), cause(error))
        }
        Complaint::Remove(target, error) => format!("cannot remove {}: {}", shown(target), cause(error)),
        Complaint::BackUp(target, error) => format!("cannot backup {}: {}", shown(target), cause(error)),
        Complaint::BackupIsSource(target) => {
            format!("backing up {} might destroy source;  {source} not copied", shown(target))
        }
        Complaint::Keep(what, target, error) => not_kept(*what, &source, target, error),
        Complaint::IsDirectory => format!("-r not specified; omitting directory {source}"),
        Complaint::DirectoryOverOther(target) => {
            format!("cannot overwrite non-directory {} with directory {source}", shown(target))
        }
        Complaint::OtherOverDirectory(target) => {
            format!("cannot overwrite directory {} with non-directory", shown(target))
        }
        Complaint::SameFile(target) => format!("{source} and {} are the same file", shown(target)),
        Complaint::IntoItself(target) => {
            format!("cannot copy a directory, {source}, into itself, {}", shown(target))
        }
        Complaint::Dangling(target) => format!("not writing through dangling symlink {}", shown(target)),
        Complaint::Cycle => format!("cannot copy cyclic symbolic link {source}"),
        Complaint::RelativeLink(target) => {
            format!("{}: can make relative symbolic links only in current directory", String::from_utf8_lossy(target))
        }
        Complaint::Differs(target) => format!("{} is not what was read from {source}", shown(target)),
        Complaint::Verify(target, error) => format!("cannot read {} back: {}", shown(target), cause(error)),
    }
}

fn made_name(what: MakeWhat) -> &'static str {
    match what {
        MakeWhat::File => "regular file",
        MakeWhat::Directory => "directory",
        MakeWhat::Link => "symbolic link",
        MakeWhat::Fifo => "fifo",
        MakeWhat::Special => "special file",
    }
}

/// What could not be kept, with the path that it is told of.
pub fn not_kept(what: What, source: &str, target: &[u8], error: &io::Error) -> String {
    let (failed, path) = match what {
        What::Owner => ("failed to preserve ownership for", shown(target)),
        What::Mode => ("preserving permissions for", shown(target)),
        What::Times => ("preserving times for", shown(target)),
        What::Attributes => ("setting attributes for", shown(target)),
        What::Listing => ("listing attributes of", source.to_owned()),
    };
    format!("{failed} {path}: {}", cause(error))
}
