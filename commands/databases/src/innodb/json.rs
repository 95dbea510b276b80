//! `--json`: one object a file, in the order of the files, and one for all of them. Numbers without separators; checksums as people write them.

use super::shown::{PageTotals, number_text};
use innodb::census::PageCensus;
use innodb::judge::{Field, Mismatch};
use innodb::outcome::{CorruptPage, FileDefect, FileOutcome, PageCounts};
use mh_kit::report::json_line;
use serde::Serialize;
use std::path::Path;

#[derive(Serialize)]
struct File<'a> {
    file: String,
    space_id: u32,
    format: &'static str,
    page_bytes: u64,
    first_page: u32,
    has_header: bool,
    server_pid: Option<u32>,
    pages: u64,
    #[serde(flatten)]
    counts: &'a PageCounts,
    read_again: u64,
    defects: &'a [FileDefect],
    corrupt_pages: Vec<Page>,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<&'a PageCensus>,
}

#[derive(Serialize)]
struct Page {
    page: u32,
    offset: u64,
    #[serde(rename = "type")]
    type_name: &'static str,
    mismatches: Vec<Numbers>,
}

/// Checksums are text: a pattern of bits, in the form in which messages have it.
#[derive(Serialize)]
#[serde(untagged)]
enum Numbers {
    Decimal { field: Field, expected: u32, found: u32 },
    Bits { field: Field, expected: String, found: String },
}

impl From<&Mismatch> for Numbers {
    fn from(mismatch: &Mismatch) -> Self {
        let Mismatch { field, expected, found } = *mismatch;
        if field.is_decimal() {
            return Self::Decimal { field, expected, found };
        }
        Self::Bits { field, expected: number_text(field, expected), found: number_text(field, found) }
    }
}

/// What came of a file.
pub fn file(path: &Path, outcome: &FileOutcome) -> String {
    let page = |page: &CorruptPage| Page {
        page: page.number,
        offset: page.offset,
        type_name: page.type_name,
        mismatches: page.mismatches.iter().map(Numbers::from).collect(),
    };
    json_line(&File {
        file: path.to_string_lossy().into_owned(),
        space_id: outcome.space_id,
        format: outcome.format,
        page_bytes: outcome.page_bytes,
        first_page: outcome.first_page,
        has_header: outcome.has_header,
        server_pid: outcome.server,
        pages: outcome.counts.pages(),
        counts: &outcome.counts,
        read_again: outcome.read_again,
        defects: &outcome.defects,
        corrupt_pages: outcome.corrupt.iter().map(page).collect(),
        summary: outcome.census.as_ref(),
    })
}

/// What came of all of them.
pub fn totals(totals: &PageTotals) -> String {
    #[derive(Serialize)]
    struct All<'a> {
        total: &'a PageTotals,
    }
    json_line(&All { total: totals })
}
