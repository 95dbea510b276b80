//! What a file is: its tablespace's header if that is whole, otherwise what most of a few of its pages agree on. Decides from bytes that it is given
//! a way to read; opens nothing.

use crate::judge::{PageVerdict, Reason, SpaceFacts, judge};
use crate::layout::PageLayout;
use crate::page::{
    CHECKSUM, COMPRESSED_MARK, DATA, HEADER_FLAGS, HEADER_SPACE_ID, PAGE_BYTES_MAX, PAGE_BYTES_MIN, PAGE_NUMBER,
    PageType, SPACE_ID, TYPE, is_zero, u16_at, u32_at,
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

/// The beginning of a file, as far as it can be read.
pub struct Head {
    /// Its bytes; what could not be read is 0.
    pub bytes: Vec<u8>,
    /// Where the first part begins that could not be read.
    pub readable_bytes: usize,
}

/// Reads the beginning of a file: in one go, or part by part if the kernel cannot read all of it.
pub fn head(read_at: ReadAt<'_>) -> Head {
    let mut bytes = vec![0; PAGE_BYTES_MAX];
    if let Ok(filled) = read_at(&mut bytes, 0) {
        bytes.truncate(filled);
        return Head { readable_bytes: filled, bytes };
    }
    let (mut filled, mut readable_bytes) = (0, PAGE_BYTES_MAX);
    for (index, part) in bytes.chunks_mut(PAGE_BYTES_MIN).enumerate() {
        let begin = index * PAGE_BYTES_MIN;
        match read_at(part, begin as u64) {
            Ok(count) if count < part.len() => {
                filled = begin + count;
                break;
            }
            Ok(_) => {}
            Err(_it_is_not_sound) => {
                part.fill(0);
                readable_bytes = readable_bytes.min(begin);
            }
        }
        filled = begin + PAGE_BYTES_MIN;
    }
    bytes.truncate(filled);
    Head { bytes, readable_bytes }
}

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

/// What most pages of a sample agree on; none if no page of it is one by any layout. Pages that cannot be read are left out of the sample; an error means
/// that there were some and the others say nothing. `begin` is where the first byte that is not 0 may be.
pub fn by_sample(
    likely: Option<SpaceFacts>,
    file_bytes: u64,
    begin: u64,
    read_at: ReadAt<'_>,
) -> io::Result<Option<Detected>> {
    let mut best: Option<(u64, Detected)> = None;
    // The first page is never encrypted; if it is damaged, its space id rarely is.
    let mut head = [0; DATA];
    // Without it the id is what the others say.
    let filled = read_at(&mut head, 0).unwrap_or(0);
    let of_first_page = u32_at(&head[..filled], SPACE_ID);
    let mut unreadable = None;
    for layout in likely.iter().map(|facts| facts.layout).chain(PageLayout::all()) {
        let votes = votes(layout, file_bytes, begin, read_at, &mut unreadable);
        let most = votes.into_iter().max_by_key(|(_, vote)| vote.weight);
        if let Some((first_page, vote)) = most
            && vote.weight > best.as_ref().map_or(LEAST_WEIGHT, |(weight, _)| *weight)
        {
            let space_id = vote.space_id.or(likely.map(|facts| facts.space_id)).unwrap_or(of_first_page);
            let facts = SpaceFacts { layout, space_id };
            best = Some((vote.weight, Detected { facts, first_page, has_header: false }));
        }
    }
    match (best, unreadable) {
        (None, Some(error)) => Err(error),
        (best, _) => Ok(best.map(|(_, detected)| detected)),
    }
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
fn votes(
    layout: PageLayout,
    file_bytes: u64,
    begin: u64,
    read_at: ReadAt<'_>,
    unreadable: &mut Option<io::Error>,
) -> BTreeMap<u32, Vote> {
    let page_bytes = layout.physical_bytes as u64;
    let (pages, first) = (file_bytes / page_bytes, begin / page_bytes);
    let step = ((pages.saturating_sub(first)) / SAMPLE_PAGES).max(1);
    let spread = (1..SAMPLE_PAGES).map(|part| first + part * step);
    let mut page = vec![0; PAGE_BYTES_MAX];
    let mut votes: BTreeMap<u32, Vote> = BTreeMap::new();
    for index in (first..first + SAMPLE_PAGES).chain(spread).filter(|index| *index < pages) {
        let page = &mut page[..layout.physical_bytes];
        match read_at(page, index * page_bytes) {
            Ok(filled) if filled == page.len() && !is_zero(page) => {}
            Ok(_) => continue,
            Err(error) => {
                *unreadable = Some(error);
                continue;
            }
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
    votes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::PageFormat;
    use crate::test_pages as made;
    use std::ops::Range;

    const BYTES: usize = 4096;

    /// Reads `file` as a disk does that has lost these bytes.
    fn failing(file: &[u8], lost: Range<usize>) -> impl Fn(&mut [u8], u64) -> io::Result<usize> {
        move |buffer, offset| {
            let begin = (offset as usize).min(file.len());
            let end = (begin + buffer.len()).min(file.len());
            if begin < lost.end && lost.start < end {
                return Err(io::Error::from_raw_os_error(5));
            }
            buffer[..end - begin].copy_from_slice(&file[begin..end]);
            Ok(end - begin)
        }
    }

    fn file() -> Vec<u8> {
        (0..64).flat_map(|number| made::full_crc32(number, BYTES)).collect()
    }

    #[test]
    fn the_beginning_is_read_as_far_as_it_can_be() {
        let file = file();
        let whole = head(&failing(&file, 0..0));
        assert_eq!((whole.bytes.as_slice(), whole.readable_bytes), (&file[..PAGE_BYTES_MAX], PAGE_BYTES_MAX));
        let part = head(&failing(&file, 5000..6000));
        assert_eq!((part.bytes.len(), part.readable_bytes), (PAGE_BYTES_MAX, 4096));
        assert_eq!(part.bytes[..4096], file[..4096]);
        assert!(is_zero(&part.bytes[4096..6144]) && part.bytes[6144..] == file[6144..PAGE_BYTES_MAX]);
        let short = head(&failing(&file[..5500], 0..100));
        assert_eq!((short.bytes.len(), short.readable_bytes), (5500, 0));
    }

    #[test]
    fn pages_that_cannot_be_read_are_left_out_of_the_sample() {
        let file = file();
        let found = |lost| by_sample(None, file.len() as u64, 0, &failing(&file, lost));
        for lost in [0..1, 0..5 * BYTES, 3 * BYTES..4 * BYTES] {
            let detected = found(lost.clone()).expect("others can be read").expect("it is a tablespace");
            assert_eq!((detected.facts.layout.format, detected.facts.space_id), (PageFormat::FullCrc32, 7), "{lost:?}");
            assert_eq!((detected.first_page, detected.has_header), (0, false));
        }
        assert_eq!(found(0..file.len()).expect_err("nothing can be read").raw_os_error(), Some(5));
    }
}
