//! One file of a tablespace, open to be read, with what is needed to judge its pages: layout, space id, where its pages begin, which are free and which
//! are copies in the doublewrite area. Takes no lock, and changes nothing.

use crate::datadir::is_temporary;
use crate::detect::{self, Detected, Head};
use crate::judge::{PageVerdict, SpaceFacts, judge};
use crate::layout::{PageFormat, PageLayout};
use crate::page::{
    DOUBLEWRITE_FROM_END, EXTENT_BITMAP, EXTENT_DESCRIPTORS, HEADER_PAGES, PAGE_BYTES_MAX, PAGE_BYTES_MIN, PageType,
    TRANSACTION_SYSTEM_PAGE, is_zero, u32_at,
};
use files::{Directory, Moment, Status, how};
use rustix::process::{Flock, FlockType, fcntl_getlk};
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use sys::at_offset::read_full_at;
use thiserror::Error;

/// Why a file is not checked at all. Texts read after `could not check 'x':`.
#[derive(Debug, Error)]
pub enum OpenError {
    /// It could not be opened or read.
    #[error("cannot read it")]
    Read(#[source] io::Error),
    /// It is a directory, a pipe or a device.
    #[error("it is not a regular file")]
    NotAFile,
    /// It has no byte.
    #[error("it is empty")]
    Empty,
    /// No page of it is one of InnoDB.
    #[error("not an InnoDB tablespace")]
    NotInnodb,
}

impl From<io::Error> for OpenError {
    fn from(error: io::Error) -> Self {
        Self::Read(error)
    }
}

/// An open file of a tablespace.
#[derive(Debug)]
pub struct Tablespace {
    file: File,
    path: PathBuf,
    facts: SpaceFacts,
    first_page: u32,
    bytes: u64,
    has_header: bool,
    is_blank: bool,
    /// Files of the same system tablespace that come before this one.
    before: Vec<Earlier>,
    /// First pages of the two extents of the doublewrite area.
    doublewrite: Option<[u32; 2]>,
}

#[derive(Debug)]
struct Earlier {
    file: File,
    first_page: u32,
    pages: u32,
}

/// The process with a write lock on a file.
fn holder(file: &File) -> Option<u32> {
    let held = fcntl_getlk(file, &Flock::from(FlockType::ReadLock)).ok()??;
    held.pid.and_then(|pid| u32::try_from(pid.as_raw_nonzero().get()).ok())
}

impl Tablespace {
    /// Opens a file and finds out what it is.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        let (file, bytes) = open_file(path)?;
        let read_at = |buffer: &mut [u8], offset: u64| read_full_at(&file, buffer, offset);
        let head = detect::head(&read_at);
        let likely = detect::header(&head.bytes);
        let is_sound = |facts: &SpaceFacts| {
            facts.layout.physical_bytes <= head.readable_bytes && detect::is_sound(&head.bytes, facts)
        };
        let sound = likely.filter(is_sound);
        let (detected, before) = match sound {
            Some(facts) => (Some(Detected { facts, first_page: 0, has_header: true }), Vec::new()),
            None => match earlier_files(path) {
                Some((detected, before)) => (Some(detected), before),
                None => (guess(&head, likely, bytes, &read_at)?, Vec::new()),
            },
        };
        let is_blank = detected.is_none();
        let Detected { facts, first_page, has_header } = detected.unwrap_or_else(|| blank(bytes));
        let path = path.to_owned();
        let mut opened = Self { file, path, facts, first_page, bytes, has_header, is_blank, before, doublewrite: None };
        if facts.space_id == 0 && !is_blank {
            opened.doublewrite = opened.find_doublewrite();
        }
        Ok(opened)
    }

    /// What its pages are judged by.
    pub fn facts(&self) -> &SpaceFacts {
        &self.facts
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whole pages in the file.
    pub fn pages(&self) -> u32 {
        // LIMIT: page numbers have 32 bits. What would be beyond them is no page.
        u32::try_from(self.bytes / self.page_bytes()).unwrap_or(u32::MAX - self.first_page)
    }

    /// Bytes behind the last whole page.
    pub fn rest_bytes(&self) -> u64 {
        self.bytes % self.page_bytes()
    }

    /// The number of the first page in the file.
    pub fn first_page(&self) -> u32 {
        self.first_page
    }

    /// Whether layout and space id come from a sound header.
    pub fn has_header(&self) -> bool {
        self.has_header || !self.before.is_empty()
    }

    /// Whether the file had only zeros when it was opened: a server has made it, and written nothing of it so far. Then its layout is not known.
    pub fn is_blank(&self) -> bool {
        self.is_blank
    }

    /// Bytes of a page in the file.
    pub fn page_bytes(&self) -> u64 {
        self.facts.layout.physical_bytes as u64
    }

    /// Where a page of this file begins.
    pub fn offset_of(&self, number: u32) -> u64 {
        u64::from(number.wrapping_sub(self.first_page)) * self.page_bytes()
    }

    /// Reads pages that lie one behind the other, as far as the file goes.
    pub fn read(&self, number: u32, buffer: &mut [u8]) -> io::Result<usize> {
        read_full_at(&self.file, buffer, self.offset_of(number))
    }

    /// Bytes in the file now.
    pub fn bytes_now(&self) -> io::Result<u64> {
        Ok(Status::of(&self.file)?.bytes())
    }

    /// When it was last written to, as its status says.
    pub fn changed_at(&self) -> io::Result<Moment> {
        Ok(Status::of(&self.file)?.changed_at())
    }

    /// The process that holds the server's lock on the file, if any. Asking takes no lock.
    pub fn server(&self) -> Option<u32> {
        holder(&self.file)
    }

    /// Whether a server runs on the data directory that the file lies in: it locks the system tablespace and few other files.
    pub fn has_server_nearby(&self) -> bool {
        let directory = self.path.parent().unwrap_or(Path::new(""));
        let is_locked = |name: &str| File::open(directory.join(name)).is_ok_and(|file| holder(&file).is_some());
        self.server().is_some() || ["ibdata1", "../ibdata1"].into_iter().any(is_locked)
    }

    /// Whether a page is a copy in the doublewrite area: of a page of any tablespace.
    pub fn is_doublewrite(&self, number: u32) -> bool {
        let extent = number - number % self.facts.layout.extent_pages();
        self.doublewrite.is_some_and(|[one, two]| extent != 0 && (extent == one || extent == two))
    }

    /// Pages that the header says the tablespace has, if this file is all of it.
    pub fn announced_pages(&self) -> io::Result<Option<u64>> {
        if !self.has_header || followed(&self.path) {
            return Ok(None);
        }
        let mut page = vec![0; self.facts.layout.physical_bytes];
        let filled = self.read(0, &mut page)?;
        let is_header = filled == page.len() && judge(&page, 0, &self.facts) == PageVerdict::Good;
        Ok(is_header.then(|| u64::from(u32_at(&page, HEADER_PAGES))))
    }

    /// Whether the place of the header is all zeros although other pages were written.
    pub fn lacks_header(&self) -> io::Result<bool> {
        if self.is_blank || self.first_page != 0 || is_temporary(&self.path) {
            return Ok(false);
        }
        let mut page = vec![0; self.facts.layout.physical_bytes];
        let filled = self.read(0, &mut page)?;
        Ok(filled == page.len() && is_zero(&page))
    }

    /// Which pages are free, of those that the page with descriptors in front of `number` describes; none if that is not there or not sound.
    pub fn free_map(&self, number: u32) -> io::Result<Option<Vec<u8>>> {
        let at = number - number % self.facts.layout.described_pages();
        let Some(page) = self.any_page(at)? else { return Ok(None) };
        let has_descriptors = [PageType::SPACE_HEADER, PageType::EXTENT_DESCRIPTORS].contains(&PageType::of(&page));
        let is_sound = has_descriptors && judge(&page, at, &self.facts) == PageVerdict::Good;
        Ok(is_sound.then_some(page))
    }

    /// Whether a page is free by the page with its descriptor.
    pub fn is_free(&self, map: &[u8], number: u32) -> bool {
        let layout = &self.facts.layout;
        let extent = number % layout.described_pages() / layout.extent_pages();
        let bit = number % layout.extent_pages() * 2;
        let descriptor = EXTENT_DESCRIPTORS + extent as usize * layout.descriptor_bytes();
        let byte = map.get(descriptor + EXTENT_BITMAP + bit as usize / 8);
        byte.is_some_and(|byte| byte >> (bit % 8) & 1 == 1)
    }

    /// A page of this file or of one before it.
    fn any_page(&self, number: u32) -> io::Result<Option<Vec<u8>>> {
        let mut page = vec![0; self.facts.layout.physical_bytes];
        let own = (number >= self.first_page).then_some((&self.file, self.first_page));
        let holds = |earlier: &&Earlier| (earlier.first_page..earlier.first_page + earlier.pages).contains(&number);
        let earlier = || self.before.iter().find(holds).map(|earlier| (&earlier.file, earlier.first_page));
        let Some((file, first)) = own.or_else(earlier) else { return Ok(None) };
        let filled = read_full_at(file, &mut page, u64::from(number - first) * self.page_bytes())?;
        Ok((filled == page.len()).then_some(page))
    }

    /// Where the system tablespace has its doublewrite area. Without a sound page that says so it is where a server puts it first.
    fn find_doublewrite(&self) -> Option<[u32; 2]> {
        const MAGIC: u32 = 536_853_855;
        let extent = self.facts.layout.extent_pages();
        let page = match self.any_page(TRANSACTION_SYSTEM_PAGE) {
            Ok(page) => page?,
            Err(_it_is_counted_as_unreadable) => return Some([extent, 2 * extent]),
        };
        let is_sound = matches!(
            judge(&page, TRANSACTION_SYSTEM_PAGE, &self.facts),
            PageVerdict::Good | PageVerdict::NotCheckable(_)
        );
        // Behind the header of a segment, which is 10 bytes long.
        let area = page.len() - DOUBLEWRITE_FROM_END + 10;
        if is_sound && PageType::of(&page) == PageType::TRANSACTION_SYSTEM {
            let blocks = [u32_at(&page, area + 4), u32_at(&page, area + 8)];
            return (u32_at(&page, area) == MAGIC).then_some(blocks);
        }
        Some([extent, 2 * extent])
    }
}

fn open_file(path: &Path) -> Result<(File, u64), OpenError> {
    let flags = how::through_links(how::FILE);
    let file = File::from(Directory::here().open(path.as_os_str().as_bytes(), flags, 0)?);
    let status = Status::of(&file)?;
    match status.bytes() {
        _ if !status.is_regular() => Err(OpenError::NotAFile),
        0 => Err(OpenError::Empty),
        bytes => Ok((file, bytes)),
    }
}

/// What a file of zeros is taken to be: pages of a size that goes into it.
fn blank(bytes: u64) -> Detected {
    let page_bytes = [16384, 4096, 1024].into_iter().find(|page_bytes| bytes.is_multiple_of(*page_bytes));
    let layout = PageLayout::plain(PageFormat::FullCrc32, page_bytes.unwrap_or(1024) as usize);
    Detected { facts: SpaceFacts { layout, space_id: 0 }, first_page: 0, has_header: false }
}

/// A file whose header is not there or not sound; none if it has only zeros.
fn guess(
    head: &Head,
    likely: Option<SpaceFacts>,
    bytes: u64,
    read_at: detect::ReadAt<'_>,
) -> Result<Option<Detected>, OpenError> {
    if bytes < PAGE_BYTES_MIN as u64 {
        return Err(OpenError::NotInnodb);
    }
    let is_blank = head.readable_bytes >= head.bytes.len() && is_zero(&head.bytes);
    let begin = if is_blank { first_not_zero(bytes, read_at) } else { Some(0) };
    let Some(begin) = begin else { return Ok(None) };
    let found = match detect::by_sample(likely, bytes, begin, read_at) {
        Err(_the_header_says_something) if likely.is_some() => None,
        found => found?,
    };
    let header = likely.map(|facts| Detected { facts, first_page: 0, has_header: false });
    found.or(header).map(Some).ok_or(OpenError::NotInnodb)
}

/// Where the first part of a file is that is not all zeros, as far as that can be read; none if all are.
fn first_not_zero(bytes: u64, read_at: detect::ReadAt<'_>) -> Option<u64> {
    let mut part = vec![0; PAGE_BYTES_MAX];
    let mut offset = 0;
    while offset < bytes {
        match read_at(&mut part, offset) {
            Ok(0) => break,
            Ok(filled) if is_zero(&part[..filled]) => offset += filled as u64,
            Ok(_) | Err(_) => return Some(offset),
        }
    }
    None
}

/// `ibdata2` is `ibdata` and 2.
fn numbered(path: &Path) -> Option<(PathBuf, u32)> {
    let name = path.file_name()?.to_str()?;
    let stem = name.trim_end_matches(|letter: char| letter.is_ascii_digit());
    let number = name[stem.len()..].parse().ok()?;
    (!stem.is_empty()).then(|| (path.with_file_name(stem), number))
}

fn sibling(stem: &Path, number: u32) -> PathBuf {
    let mut name = stem.as_os_str().to_owned();
    name.push(number.to_string());
    PathBuf::from(name)
}

/// Whether another file of the same system tablespace follows.
fn followed(path: &Path) -> bool {
    numbered(path).is_some_and(|(stem, number)| sibling(&stem, number.wrapping_add(1)).exists())
}

/// LIMIT: files of a system tablespace that are opened beside the one that is checked.
const EARLIER_FILES_MAX: u32 = 64;

/// The files that come before a later one of a system tablespace: `ibdata1` before `ibdata2`. They have the header.
fn earlier_files(path: &Path) -> Option<(Detected, Vec<Earlier>)> {
    let (stem, number) = numbered(path).filter(|(_, number)| (2..=EARLIER_FILES_MAX).contains(number))?;
    let mut first = Tablespace::open(&sibling(&stem, 1)).ok()?;
    if !first.has_header || first.facts.space_id != 0 {
        return None;
    }
    let (facts, page_bytes) = (first.facts, first.page_bytes());
    first.before.clear();
    let mut first_page = first.pages();
    let mut before = vec![Earlier { pages: first_page, file: first.file, first_page: 0 }];
    for earlier in 2..number {
        let (file, bytes) = open_file(&sibling(&stem, earlier)).ok()?;
        let pages = u32::try_from(bytes / page_bytes).ok()?;
        before.push(Earlier { file, first_page, pages });
        first_page = first_page.checked_add(pages)?;
    }
    Some((Detected { facts, first_page, has_header: false }, before))
}
