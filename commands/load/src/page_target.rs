//! The file of a page: whether it can be written is known before a run, and it has its name only when it is whole.

use crate::page::HtmlPage;
use files::staged_file::{Readers, Replace, StagedFile, Unfinished};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use sys::error_text::message;

/// Where a page is to go.
#[derive(Debug)]
pub struct PageTarget {
    /// As it was asked for.
    shown: PathBuf,
    kind: FileKind,
}

#[derive(Debug, PartialEq, Eq)]
enum FileKind {
    /// A file of this name behind all links, or nothing yet.
    Replaced(PathBuf),
    /// A pipe or a device, which must not be replaced.
    WrittenTo,
}

impl PageTarget {
    /// Finds out whether a page can be written there, as far as that can be known, and changes nothing. An error begins with `write`.
    pub fn check(path: &Path) -> Result<Self, String> {
        let refused = |error: &io::Error| format!("write {}: {}", terminal::quote(path), message(error));
        let kind = match std::fs::metadata(path) {
            Ok(there) if there.is_dir() => return Err(refused(&io::Error::from(io::ErrorKind::IsADirectory))),
            Ok(there) if !there.is_file() => FileKind::WrittenTo,
            Ok(_) => FileKind::Replaced(path.canonicalize().map_err(|error| refused(&error))?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => FileKind::Replaced(path.to_owned()),
            Err(error) => return Err(refused(&error)),
        };
        if let FileKind::Replaced(target) = &kind {
            // Vanishes at once.
            StagedFile::create(target, Readers::AsOfAnyFile, &Unfinished::default())
                .map_err(|error| refused(&error))?;
        }
        Ok(Self { shown: path.to_owned(), kind })
    }

    /// Writes the page. An error begins with `write`.
    pub fn write(&self, page: &HtmlPage) -> Result<(), String> {
        let html = page.to_html();
        let written = match &self.kind {
            FileKind::Replaced(target) => replace(target, html.as_bytes()),
            FileKind::WrittenTo => std::fs::write(&self.shown, html),
        };
        written.map_err(|error| format!("write {}: {}", terminal::quote(&self.shown), message(&error)))
    }
}

fn replace(target: &Path, bytes: &[u8]) -> io::Result<()> {
    let staged = StagedFile::create(target, Readers::AsOfAnyFile, &Unfinished::default())?;
    let mut file = staged.file();
    file.write_all(bytes)?;
    // A full disk may show itself only here.
    file.sync_all()?;
    staged.commit(Replace::Yes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_replaces_a_file_also_through_a_link_and_leaves_nothing_beside_it() {
        let place = tempfile::tempdir().expect("a directory");
        let (file, link) = (place.path().join("page.html"), place.path().join("link"));
        std::fs::write(&file, "old").expect("it can be written");
        std::os::unix::fs::symlink(&file, &link).expect("a link");
        let checked = PageTarget::check(&link).expect("it can be written");
        assert_eq!(std::fs::read(&file).expect("it is there"), b"old");
        checked.write(&HtmlPage::new("new")).expect("it can be written");
        assert!(std::fs::read_to_string(&file).expect("it is there").contains("<h1>new</h1>"));
        assert!(std::fs::symlink_metadata(&link).expect("it is there").is_symlink());
        assert_eq!(std::fs::read_dir(place.path()).expect("a directory").count(), 2);
    }

    #[test]
    fn what_cannot_be_written_is_refused_and_a_device_stays_one() {
        let place = tempfile::tempdir().expect("a directory");
        let directory = PageTarget::check(place.path()).expect_err("a directory");
        assert!(directory.starts_with("write '") && directory.ends_with("': is a directory"), "{directory}");
        assert!(PageTarget::check(&place.path().join("none/page.html")).is_err());
        let device = PageTarget::check(Path::new("/dev/null")).expect("it can be written");
        assert_eq!(device.kind, FileKind::WrittenTo);
        device.write(&HtmlPage::new("a run")).expect("it takes everything");
        let full = PageTarget::check(Path::new("/dev/full")).expect("only writing shows it");
        assert!(full.write(&HtmlPage::new("a run")).is_err());
    }
}
