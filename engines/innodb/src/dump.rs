//! One page, field by field and byte by byte, for people who look into a damaged file.

use crate::judge::{PageVerdict, judge};
use crate::layout::PageFormat;
use crate::page::{
    CHECKSUM, COMPRESSED_MARK, FLUSH_LSN, INDEX_HEAP_RECORDS, INDEX_ID, INDEX_LEVEL, INDEX_RECORDS, LSN, NEXT,
    PAGE_NUMBER, PREVIOUS, PageType, SPACE_ID, TRAILER_BYTES, u16_at, u32_at, u64_at,
};
use crate::tablespace::{OpenError, Tablespace};
use serde::Serialize;
use std::path::Path;

/// A page as it is in the file.
#[derive(Debug)]
pub struct PageDump {
    /// Its number.
    pub number: u32,
    /// Where it begins in the file.
    pub offset: u64,
    /// What it is, or why that cannot be said.
    pub verdict: PageVerdict,
    /// Whether its extent's descriptor says that it is not in use.
    pub is_free: bool,
    /// Whether it lies in the doublewrite area.
    pub is_doublewrite: bool,
    /// Its fields, in the order of the page.
    pub fields: Vec<PageField>,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// A field of a page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PageField {
    /// Where it begins.
    pub at: usize,
    /// What it is.
    pub name: &'static str,
    /// What it says.
    pub value: String,
}

/// Reads a page of a file; none if the file does not reach it.
pub fn dump(path: &Path, number: u32) -> Result<Option<PageDump>, OpenError> {
    let space = Tablespace::open(path)?;
    let index = number.wrapping_sub(space.first_page());
    let mut bytes = vec![0; space.facts().layout.physical_bytes];
    if index >= space.pages() || space.read(number, &mut bytes)? < bytes.len() {
        return Ok(None);
    }
    let map = space.free_map(number).unwrap_or_default();
    Ok(Some(PageDump {
        number,
        offset: space.offset_of(number),
        verdict: judge(&bytes, number, space.facts()),
        is_free: map.is_some_and(|map| space.is_free(&map, number)),
        is_doublewrite: space.is_doublewrite(number),
        fields: fields(&bytes, space.facts().layout.format),
        bytes,
    }))
}

fn fields(page: &[u8], format: PageFormat) -> Vec<PageField> {
    let field = |at, name, value| PageField { at, name, value };
    let (hex, page_type) = (|at| format!("{:08x}", u32_at(page, at)), PageType::of(page));
    let neighbour = |at| match u32_at(page, at) {
        u32::MAX => "none".to_owned(),
        number => number.to_string(),
    };
    let is_full = format == PageFormat::FullCrc32;
    let first = if is_full {
        field(CHECKSUM, "key version", u32_at(page, CHECKSUM).to_string())
    } else {
        field(CHECKSUM, "checksum", hex(CHECKSUM))
    };
    let mut fields = vec![
        first,
        field(PAGE_NUMBER, "page number", u32_at(page, PAGE_NUMBER).to_string()),
        field(PREVIOUS, "previous page", neighbour(PREVIOUS)),
        field(NEXT, "next page", neighbour(NEXT)),
        field(LSN, "log sequence number", u64_at(page, LSN).to_string()),
        field(crate::page::TYPE, "page type", format!("{} ({})", page_type.0, page_type.name())),
    ];
    if !is_full {
        fields.push(field(FLUSH_LSN, "key version", u32_at(page, FLUSH_LSN).to_string()));
        fields.push(field(FLUSH_LSN + 4, "checksum when encrypted", hex(FLUSH_LSN + 4)));
    }
    fields.push(field(SPACE_ID, "space id", u32_at(page, SPACE_ID).to_string()));
    if page_type == PageType::INDEX {
        let heap = u16_at(page, INDEX_HEAP_RECORDS);
        let row_format = if heap & 0x8000 == 0 { "REDUNDANT" } else { "COMPACT or later" };
        fields.push(field(INDEX_HEAP_RECORDS, "row format", row_format.to_owned()));
        fields.push(field(INDEX_RECORDS, "records", u16_at(page, INDEX_RECORDS).to_string()));
        fields.push(field(INDEX_LEVEL, "level", u16_at(page, INDEX_LEVEL).to_string()));
        fields.push(field(INDEX_ID, "index id", u64_at(page, INDEX_ID).to_string()));
    }
    let end = page.len() - TRAILER_BYTES;
    match format {
        PageFormat::Compressed => {}
        PageFormat::Crc32 => {
            fields.push(field(end, "checksum at the end", hex(end)));
            fields.push(field(end + 4, "log sequence number, low half", u32_at(page, end + 4).to_string()));
        }
        PageFormat::FullCrc32 => {
            // LIMIT: what a damaged page claims may be no length at all.
            let claimed = usize::from(page_type.0 & !COMPRESSED_MARK) << 8;
            let is_compressed = page_type.0 & COMPRESSED_MARK != 0 && (1..page.len()).contains(&claimed);
            let length = if is_compressed { claimed } else { page.len() };
            if !is_compressed {
                fields.push(field(end, "log sequence number, low half", u32_at(page, end).to_string()));
            }
            fields.push(field(length - 4, "checksum", hex(length - 4)));
        }
    }
    fields
}
