//! What a file is: its tablespace's header if that is whole, otherwise what most of a few of its pages agree on. Decides from bytes that it is given
//! a way to read; opens nothing.

use crate::judge::{PageVerdict, Reason, SpaceFacts, judge};
use crate::layout::PageLayout;
use crate::page::{
    CHECKSUM, COMPRESSED_MARK, DATA, HEADER_FLAGS, HEADER_SPACE_ID, PAGE_BYTES_MAX, PAGE_NUMBER, PageType, SPACE_ID,
    TYPE, is_zero, u16_at, u32_at,
};
use std::collections::BTreeMap;
use std::io;

/// What a file was found to be.
#[derive(Clone, Copy, Debug)]
pub struct Detected {
    /// Its layout and its space's id.
    pub facts: SpaceFacts,
    /// The number of its first page: not 0 in later files of a system tablespace.
    pub first_page: u32,
    /// Whether its first page is a header that can be believed.
    pub has_header: bool,
}

/// Reads into a buffer from an offset until the buffer is full or the file ends.
pub type ReadAt<'a> = &'a dyn Fn(&mut [u8], u64) -> io::Result<usize>;

/// The header in the first page, if it looks like one. It may be damaged all the same.
pub fn header(head: &[u8]) -> Option<SpaceFacts> {
    let space_id = u32_at(head, SPACE_ID);
    let is_first = u32_at(head, PAGE_NUMBER) == 0 && u32_at(head, HEADER_SPACE_ID) == space_id;
    let layout =
        PageLayout::of_flags(u32_at(head, HEADER_FLAGS)).filter(|layout| layout.physical_bytes <= head.len())?;
    (is_first && PageType::of(head) == PageType::SPACE_HEADER).then_some(SpaceFacts { layout, space_id })
}

/// Whether the first page is a header that can be believed.
pub fn is_sound(head: &[u8], facts: &SpaceFacts) -> bool {
    let page = &head[..facts.layout.physical_bytes];
    matches!(judge(page, 0, facts), PageVerdict::Good | PageVerdict::NotCheckable(Reason::NoChecksum))
}

/// LIMIT: pages looked at with each layout: the first ones, and as many over the rest of the file. So much only where a header is damaged.
const SAMPLE_PAGES: u64 = 8;

/// What most pages of a sample agree on; none if no page of it is one by any layout. `begin` is where the first byte that is not 0 may be.
pub fn by_sample(
    likely: Option<SpaceFacts>,
    file_bytes: u64,
    begin: u64,
    read_at: ReadAt<'_>,
) -> io::Result<Option<Detected>> {
    let mut best: Option<(u64, Detected)> = None;
    // The first page is never encrypted; if it is damaged, its space id rarely is.
    let mut head = [0; DATA];
    let filled = read_at(&mut head, 0)?;
    let of_first_page = u32_at(&head[..filled], SPACE_ID);
    for layout in likely.iter().map(|facts| facts.layout).chain(PageLayout::all()) {
        let votes = votes(layout, file_bytes, begin, read_at)?;
        let most = votes.into_iter().max_by_key(|(_, vote)| vote.weight);
        if let Some((first_page, vote)) = most
            && vote.weight > best.as_ref().map_or(LEAST_WEIGHT, |(weight, _)| *weight)
        {
            let space_id = vote.space_id.or(likely.map(|facts| facts.space_id)).unwrap_or(of_first_page);
            let facts = SpaceFacts { layout, space_id };
            best = Some((vote.weight, Detected { facts, first_page, has_header: false }));
        }
    }
    Ok(best.map(|(_, detected)| detected))
}

/// A checksum that agrees is worth more than any number of pages that only look right.
const GOOD_WEIGHS: u64 = 1000;

/// LIMIT: of pages that only look right one proves nothing; two must have numbers that fit to each other.
const LEAST_WEIGHT: u64 = 1;

#[derive(Default)]
struct Vote {
    weight: u64,
    space_id: Option<u32>,
}

/// Pages of the sample by the number of the file's first page that follows from each.
fn votes(layout: PageLayout, file_bytes: u64, begin: u64, read_at: ReadAt<'_>) -> io::Result<BTreeMap<u32, Vote>> {
    let page_bytes = layout.physical_bytes as u64;
    let (pages, first) = (file_bytes / page_bytes, begin / page_bytes);
    let step = ((pages.saturating_sub(first)) / SAMPLE_PAGES).max(1);
    let spread = (1..SAMPLE_PAGES).map(|part| first + part * step);
    let mut page = vec![0; PAGE_BYTES_MAX];
    let mut votes: BTreeMap<u32, Vote> = BTreeMap::new();
    for index in (first..first + SAMPLE_PAGES).chain(spread).filter(|index| *index < pages) {
        let page = &mut page[..layout.physical_bytes];
        if read_at(page, index * page_bytes)? < page.len() || is_zero(page) {
            continue;
        }
        let number = u32_at(page, PAGE_NUMBER);
        let facts = SpaceFacts { layout, space_id: u32_at(page, SPACE_ID) };
        let weight = match judge(page, number, &facts) {
            PageVerdict::Good => GOOD_WEIGHS,
            PageVerdict::NotCheckable(_) => 1,
            PageVerdict::Zero | PageVerdict::Corrupt(_) => 0,
        };
        if weight > 0 {
            let vote = votes.entry(number.wrapping_sub(index as u32)).or_default();
            vote.weight += weight;
            // Of a page that full_crc32 compressed or encrypted these bytes are content.
            let is_plain = u16_at(page, TYPE) & COMPRESSED_MARK == 0 && u32_at(page, CHECKSUM) == 0;
            if layout.format != crate::layout::PageFormat::FullCrc32 || is_plain {
                vote.space_id = vote.space_id.or(Some(facts.space_id));
            }
        }
    }
    Ok(votes)
}
