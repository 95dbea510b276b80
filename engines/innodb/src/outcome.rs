//! What came of checking one file, as plain data.

use crate::census::PageCensus;
use crate::judge::{Mismatch, Reason};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io;

/// LIMIT: corrupt pages of a file that are listed. All of them are counted; each that is listed takes about a hundred bytes.
pub const LISTED_MAX: usize = 10_000;

/// Pages of a file by verdict. They add up to the file's pages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PageCounts {
    /// As the server wrote them.
    pub good: u64,
    /// Never written.
    pub zero: u64,
    /// Not in use, by their extent's descriptor: what is on them is of no account.
    pub free: u64,
    /// Copies in the doublewrite area: of pages of any tablespace, so nothing says what should be there.
    pub doublewrite: u64,
    /// Not checkable, by reason.
    pub not_checkable: BTreeMap<Reason, u64>,
    /// Not as the server wrote them.
    pub corrupt: u64,
    /// Not read, since the kernel could not.
    pub unreadable: u64,
}

impl PageCounts {
    /// Adds another part's.
    pub fn add(&mut self, other: &Self) {
        self.good += other.good;
        self.zero += other.zero;
        self.free += other.free;
        self.doublewrite += other.doublewrite;
        self.corrupt += other.corrupt;
        self.unreadable += other.unreadable;
        for (reason, pages) in &other.not_checkable {
            *self.not_checkable.entry(*reason).or_default() += pages;
        }
    }

    /// Pages that are not checkable, whatever the reason.
    pub fn not_checkable_pages(&self) -> u64 {
        self.not_checkable.values().sum()
    }

    /// All pages.
    pub fn pages(&self) -> u64 {
        let others = self.zero + self.free + self.doublewrite + self.corrupt + self.unreadable;
        self.good + others + self.not_checkable_pages()
    }
}

/// A corrupt page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CorruptPage {
    /// Its number in the tablespace.
    pub number: u32,
    /// Where it begins in the file.
    pub offset: u64,
    /// What its header calls it.
    pub type_name: &'static str,
    /// What is wrong.
    pub mismatches: Vec<Mismatch>,
}

/// A page that could not be read.
#[derive(Debug)]
pub struct UnreadablePage {
    /// Its number in the tablespace.
    pub number: u32,
    /// Where it begins in the file.
    pub offset: u64,
    /// The kernel's answer.
    pub cause: io::Error,
}

/// A defect of a file as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FileDefect {
    /// It ends within a page.
    CutOff {
        /// The page.
        page: u32,
        /// Bytes of it that are there.
        bytes: u64,
        /// Bytes of a page.
        page_bytes: u64,
    },
    /// It has fewer pages than its header says.
    PagesMissing {
        /// Pages that it has.
        found: u64,
        /// Pages that it should have.
        expected: u64,
    },
    /// Its first page is all zeros, and pages behind it are not. A server writes the header before any other page.
    NoHeader,
}

/// What came of a file.
#[derive(Debug)]
pub struct FileOutcome {
    /// Its space's id.
    pub space_id: u32,
    /// How its pages are laid out.
    pub format: &'static str,
    /// Bytes of a page in the file.
    pub page_bytes: u64,
    /// innodb_page_size.
    pub logical_bytes: u64,
    /// The number of its first page.
    pub first_page: u32,
    /// Whether layout and space id come from a sound header. Otherwise most pages agree on them.
    pub has_header: bool,
    /// The process that had it open for writing, if any.
    pub server: Option<u32>,
    /// Pages by verdict.
    pub counts: PageCounts,
    /// Corrupt pages in order, as many as are listed.
    pub corrupt: Vec<CorruptPage>,
    /// Pages that could not be read, as many as are listed.
    pub unreadable: Vec<UnreadablePage>,
    /// What is wrong with the file as a whole.
    pub defects: Vec<FileDefect>,
    /// Pages that did not pass at first and did when they were read again: a server was writing them.
    pub read_again: u64,
    /// What its pages are, if that was asked for.
    pub census: Option<PageCensus>,
}

impl FileOutcome {
    /// Whether something is not as the server wrote it.
    pub fn is_corrupt(&self) -> bool {
        self.counts.corrupt > 0 || !self.defects.is_empty()
    }
}
