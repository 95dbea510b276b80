//! `xz -l`: what .xz files hold, by their Indexes; with -v each stream and block, with -vv what block headers tell. Lines and
//! columns are those of xz, for people or for scripts.

use super::filters;
use super::words::{defect_words, ratio, size};
use crate::tamp::TampArgs;
use crate::tamp::old_names::{kernel_words, name_of};
use codec::error::UnitDefect;
use codec::filter_chain::{BranchKind, ChainFilter, FilterChain};
use codec::format::CutError;
use codec::formats::xz::survey::{XzBlockDetail, XzBlockSurvey, XzStreamSurvey, detail, streams};
use mh_kit::context::Context;
use mh_kit::failure::{Failure, Outcome};
use mh_kit::report::print;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs::File;
use std::path::Path;
use terminal::{Verbosity, printable};

/// Checks by their numbers.
const CHECKS: [&str; 16] = [
    "None",
    "CRC32",
    "Unknown-2",
    "Unknown-3",
    "CRC64",
    "Unknown-5",
    "Unknown-6",
    "Unknown-7",
    "Unknown-8",
    "Unknown-9",
    "SHA-256",
    "Unknown-11",
    "Unknown-12",
    "Unknown-13",
    "Unknown-14",
    "Unknown-15",
];

/// And their sizes.
const CHECK_BYTES: [usize; 16] = [0, 4, 4, 4, 8, 8, 8, 16, 16, 16, 32, 32, 32, 64, 64, 64];

/// Two stream headers.
const FILE_BYTES_MIN: u64 = 24;

/// The oldest releases of xz that read all files, blocks without data, ARM64 and RISC-V, as numbers.
const VERSIONS: [u32; 4] = [50_000_002, 50_000_022, 50_040_002, 50_060_002];

/// Figures of a file, or of all.
#[derive(Clone, Debug)]
struct Sums {
    streams: u64,
    blocks: u64,
    compressed: u64,
    uncompressed: u64,
    padding: u64,
    checks: BTreeSet<u8>,
    memory: u64,
    has_all_sizes: bool,
    version: u32,
}

impl Default for Sums {
    fn default() -> Self {
        Self {
            streams: 0,
            blocks: 0,
            compressed: 0,
            uncompressed: 0,
            padding: 0,
            checks: BTreeSet::new(),
            memory: 0,
            has_all_sizes: true,
            version: VERSIONS[0],
        }
    }
}

impl Sums {
    fn of(streams: &[XzStreamSurvey]) -> Self {
        let mut sums = Self::default();
        for stream in streams {
            sums.streams += 1;
            sums.blocks += stream.blocks.len() as u64;
            sums.compressed += stream.bytes + stream.padding_bytes;
            sums.uncompressed = sums.uncompressed.saturating_add(stream.uncompressed_bytes());
            sums.padding += stream.padding_bytes;
            sums.checks.insert(stream.check);
        }
        sums
    }

    fn note(&mut self, block: &XzBlockSurvey, detail: &XzBlockDetail) {
        self.memory = self.memory.max(detail.chain.decoder_bytes());
        self.has_all_sizes &= detail.has_sizes == (true, true);
        let has =
            |kind| detail.chain.filters().any(|filter| matches!(filter, ChainFilter::Branch(of, _) if of == kind));
        let version = match () {
            () if has(BranchKind::RiscV) => VERSIONS[3],
            () if has(BranchKind::Arm64) => VERSIONS[2],
            () if block.uncompressed_bytes == 0 => VERSIONS[1],
            () => VERSIONS[0],
        };
        self.version = self.version.max(version);
    }

    fn add(&mut self, other: &Self) {
        self.streams += other.streams;
        self.blocks += other.blocks;
        self.compressed += other.compressed;
        self.uncompressed = self.uncompressed.saturating_add(other.uncompressed);
        self.padding += other.padding;
        self.checks.extend(&other.checks);
        self.memory = self.memory.max(other.memory);
        self.has_all_sizes &= other.has_all_sizes;
        self.version = self.version.max(other.version);
    }

    fn check_names(&self, between: &str) -> String {
        let names: Vec<&str> = self.checks.iter().map(|&check| CHECKS[usize::from(check & 0xf)]).collect();
        if names.is_empty() { CHECKS[0].to_owned() } else { names.join(between) }
    }

    fn ratio(&self) -> String {
        ratio(self.compressed, self.uncompressed)
    }
}

/// The detail that is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Depth {
    Files,
    Blocks,
    Headers,
}

/// Text is printed in parts of so many bytes: that of many blocks is not held.
const PRINTED_BYTES: usize = 64 << 10;

/// The text that is not printed yet, and what was listed so far.
struct Listing {
    text: String,
    /// Whether there was any text.
    is_begun: bool,
    /// The first failure of printing: no more is printed behind it.
    failure: Option<Failure>,
    depth: Depth,
    is_for_scripts: bool,
    files: u64,
    totals: Sums,
}

/// Lists all files.
pub fn list(context: &Context, args: &TampArgs) -> Result<Outcome, Failure> {
    let depth = match args.verbose {
        0 => Depth::Files,
        1 => Depth::Blocks,
        _ => Depth::Headers,
    };
    let is_for_scripts = args.xz.is_for_scripts;
    let mut listing = Listing {
        text: String::new(),
        is_begun: false,
        failure: None,
        depth,
        is_for_scripts,
        files: 0,
        totals: Sums::default(),
    };
    let count = args.files.len();
    for (at, path) in args.files.iter().enumerate() {
        if listing.failure.is_some() {
            break;
        }
        let place = if args.xz.has_list_of_files { format!("{}", at + 1) } else { format!("{}/{count}", at + 1) };
        listing.name(path, &place);
        let outcome = look(path).and_then(|(file, streams)| {
            listing.file(path, &file, &streams).map_err(|error| Unlisted::wrong(words(&error)))
        });
        if let Err(Unlisted { text, code }) = outcome {
            args.manners.codes.note(code);
            let at = if code == 1 { Verbosity::Quiet } else { Verbosity::Normal };
            let subject = if path.as_os_str() == "-" { String::new() } else { format!("{}: ", name_of(path)) };
            context.messages.in_words_of_others(at, &format!("{}: {subject}{text}", args.manners.name));
        }
    }
    listing.end();
    listing.print();
    listing.failure.map_or(Ok(()), Err)?;
    Ok(Outcome::Code(args.manners.codes.worst()))
}

/// The reason that a file is not listed, and its exit code.
struct Unlisted {
    text: String,
    code: u8,
}

impl Unlisted {
    fn wrong(text: impl Into<String>) -> Self {
        Self { text: text.into(), code: 1 }
    }
}

/// A file and its streams.
fn look(path: &Path) -> Result<(File, Vec<XzStreamSurvey>), Unlisted> {
    if path.as_os_str() == "-" {
        return Err(Unlisted::wrong("--list does not support reading from standard input"));
    }
    let unread = |error: std::io::Error| Unlisted::wrong(kernel_words(&error));
    let metadata = std::fs::metadata(path).map_err(unread)?;
    if metadata.is_dir() {
        return Err(Unlisted { text: "Is a directory, skipping".to_owned(), code: 2 });
    }
    if !metadata.is_file() {
        return Err(Unlisted { text: "Not a regular file, skipping".to_owned(), code: 2 });
    }
    let file = File::open(path).map_err(unread)?;
    match metadata.len() {
        0 => Err(Unlisted::wrong("File is empty")),
        bytes if bytes < FILE_BYTES_MIN => Err(Unlisted::wrong("Too small to be a valid .xz file")),
        _ => match streams(&file) {
            Ok(streams) => Ok((file, streams)),
            Err(error) => Err(Unlisted::wrong(words(&error))),
        },
    }
}

fn words(error: &CutError) -> String {
    match error {
        CutError::Read(error) => kernel_words(error),
        CutError::Garbage | CutError::FurtherEntries => "File format not recognized".to_owned(),
        // A list ends inside nothing.
        CutError::Defect(UnitDefect::Truncated) => "Compressed data is corrupt".to_owned(),
        CutError::Defect(defect) => defect_words(defect).to_owned(),
    }
}

impl Listing {
    /// Adds a line.
    fn line(&mut self, line: &str) {
        self.is_begun = true;
        if self.failure.is_some() {
            return;
        }
        self.text.push_str(line);
        self.text.push('\n');
        if self.text.len() >= PRINTED_BYTES {
            self.print();
        }
    }

    fn print(&mut self) {
        if self.failure.is_none() {
            self.failure = print(&self.text).err();
        }
        self.text.clear();
    }

    fn name(&mut self, path: &Path, place: &str) {
        let is_stdin = path.as_os_str() == "-";
        if self.is_for_scripts || self.depth == Depth::Files || is_stdin && place == "1/1" {
            return;
        }
        let name = if is_stdin { "(stdin)".to_owned() } else { name_of(path) };
        let gap = if self.is_begun { "\n" } else { "" };
        self.line(&format!("{gap}{name} ({place})"));
    }

    fn file(&mut self, path: &Path, file: &File, streams: &[XzStreamSurvey]) -> Result<(), CutError> {
        let mut sums = Sums::of(streams);
        match (self.is_for_scripts, self.depth) {
            (true, _) => self.for_scripts(path, file, streams, &mut sums)?,
            (false, Depth::Files) => {
                if self.files == 0 {
                    self.line("Strms  Blocks   Compressed Uncompressed  Ratio  Check   Filename");
                }
                self.row(&sums, &printable(&path.to_string_lossy()));
            }
            (false, _) => {
                self.summary(&sums);
                self.streams(streams);
                self.blocks(file, streams, &mut sums)?;
                self.headers(&sums);
            }
        }
        self.files += 1;
        self.totals.add(&sums);
        Ok(())
    }

    fn row(&mut self, sums: &Sums, name: &str) {
        let [compressed, uncompressed] = [sums.compressed, sums.uncompressed].map(size);
        let (ratio, checks) = (sums.ratio(), sums.check_names(","));
        let (streams, blocks) = (sums.streams, sums.blocks);
        let line =
            format!("{streams:>5} {blocks:>7}  {compressed:>11}  {uncompressed:>11}  {ratio:>5}  {checks:<7} {name}");
        self.line(&line);
    }

    fn field(&mut self, name: &str, value: &str) {
        self.line(&format!("  {name:<18} {value}"));
    }

    fn summary(&mut self, sums: &Sums) {
        let sized = |bytes| if bytes < 10_000 { size(bytes) } else { format!("{} ({bytes} B)", size(bytes)) };
        self.field("Streams:", &sums.streams.to_string());
        self.field("Blocks:", &sums.blocks.to_string());
        self.field("Compressed size:", &sized(sums.compressed));
        self.field("Uncompressed size:", &sized(sums.uncompressed));
        self.field("Ratio:", &sums.ratio());
        self.field("Check:", &sums.check_names(", "));
        self.field("Stream Padding:", &sized(sums.padding));
    }

    fn streams(&mut self, streams: &[XzStreamSurvey]) {
        self.line("  Streams:");
        let columns = ["Stream", "Blocks", "CompOffset", "UncompOffset", "CompSize", "UncompSize"];
        self.line(&format!("{}  Ratio  {:<10} {:>7}", numbered(columns.map(str::to_owned)), "Check", "Padding"));
        let mut before = 0_u64;
        for (at, stream) in streams.iter().enumerate() {
            let uncompressed = stream.uncompressed_bytes();
            let figures =
                [at as u64 + 1, stream.blocks.len() as u64, stream.offset, before, stream.bytes, uncompressed];
            let ratio = ratio(stream.bytes, uncompressed);
            let (check, padding) = (check_name(stream), stream.padding_bytes);
            self.line(&format!(
                "{}  {ratio:>5}  {check:<10} {padding:>7}",
                numbered(figures.map(|figure| figure.to_string()))
            ));
            before = before.saturating_add(uncompressed);
        }
    }

    fn blocks(&mut self, file: &File, streams: &[XzStreamSurvey], sums: &mut Sums) -> Result<(), CutError> {
        if sums.blocks == 0 {
            return Ok(());
        }
        let is_deep = self.depth == Depth::Headers;
        self.line("  Blocks:");
        let columns = ["Stream", "Block", "CompOffset", "UncompOffset", "TotalSize", "UncompSize"];
        let mut head = format!("{}  Ratio  Check", numbered(columns.map(str::to_owned)));
        let check_width =
            streams.iter().map(|stream| 2 * CHECK_BYTES[usize::from(stream.check & 0xf)]).max().unwrap_or(0).max(8);
        if is_deep {
            let _never_fails = write!(
                head,
                "      {:<check_width$}  {:>6}  {:<5} {:>15} {:>11}  Filters",
                "CheckVal", "Header", "Flags", "CompSize", "MemUsage"
            );
        }
        self.line(&head);
        let mut before = 0_u64;
        for (of, stream) in streams.iter().enumerate() {
            for (at, block) in stream.blocks.iter().enumerate() {
                let detail = if is_deep { Some(detail(file, stream.check, block)?) } else { None };
                let uncompressed = block.uncompressed_bytes;
                let figures = [of as u64 + 1, at as u64 + 1, block.offset, before, block.bytes, uncompressed];
                let figures = numbered(figures.map(|figure| figure.to_string()));
                let (ratio, check) = (ratio(block.bytes, uncompressed), check_name(stream));
                let mut line = format!("{figures}  {ratio:>5}  {check}");
                if let Some(detail) = &detail {
                    sums.note(block, detail);
                    let (stored, flags) = (check_value(detail), flags(detail));
                    let memory = detail.chain.decoder_bytes().div_ceil(1 << 20);
                    line = format!(
                        "{figures}  {ratio:>5}  {check:<10} {stored:<check_width$}  {:>6}  {flags:<5} {:>15} {memory:>7} MiB  {}",
                        detail.header_bytes,
                        detail.compressed_bytes,
                        shown(&detail.chain)
                    );
                }
                self.line(&line);
                before = before.saturating_add(uncompressed);
            }
        }
        Ok(())
    }

    fn headers(&mut self, sums: &Sums) {
        if self.depth < Depth::Headers {
            return;
        }
        self.field("Memory needed:", &format!("{} MiB", sums.memory.div_ceil(1 << 20)));
        self.field("Sizes in headers:", if sums.has_all_sizes { "Yes" } else { "No" });
        let version = sums.version;
        let (major, minor, patch) = (version / 10_000_000, version / 10_000 % 1000, version / 10 % 1000);
        self.line(&format!("  Minimum XZ Utils version: {major}.{minor}.{patch}"));
    }

    fn for_scripts(
        &mut self,
        path: &Path,
        file: &File,
        streams: &[XzStreamSurvey],
        sums: &mut Sums,
    ) -> Result<(), CutError> {
        self.line(&format!("name\t{}", name_of(path)));
        self.line(&format!("file\t{}", fields(sums)));
        if self.depth == Depth::Files {
            return Ok(());
        }
        let mut before = 0_u64;
        for (at, stream) in streams.iter().enumerate() {
            let XzStreamSurvey { offset, bytes, padding_bytes, blocks, .. } = stream;
            let (uncompressed, check) = (stream.uncompressed_bytes(), check_name(stream));
            let (number, blocks, ratio) = (at + 1, blocks.len(), ratio(*bytes, uncompressed));
            self.line(&format!(
                "stream\t{number}\t{blocks}\t{offset}\t{before}\t{bytes}\t{uncompressed}\t{ratio}\t{check}\t{padding_bytes}"
            ));
            before = before.saturating_add(uncompressed);
        }
        let (mut number, mut before) = (0, 0_u64);
        for (of, stream) in streams.iter().enumerate() {
            for (at, block) in stream.blocks.iter().enumerate() {
                number += 1;
                let XzBlockSurvey { offset, bytes, uncompressed_bytes, .. } = block;
                let (of, at, ratio, check) = (of + 1, at + 1, ratio(*bytes, *uncompressed_bytes), check_name(stream));
                let mut line = format!(
                    "block\t{of}\t{at}\t{number}\t{offset}\t{before}\t{bytes}\t{uncompressed_bytes}\t{ratio}\t{check}"
                );
                if self.depth == Depth::Headers {
                    let detail = detail(file, stream.check, block)?;
                    sums.note(block, &detail);
                    let XzBlockDetail { header_bytes, compressed_bytes, chain, .. } = &detail;
                    let (stored, flags, memory) = (check_value(&detail), flags(&detail), chain.decoder_bytes());
                    let _never_fails = write!(
                        line,
                        "\t{stored}\t{header_bytes}\t{flags}\t{compressed_bytes}\t{memory}\t{}",
                        shown(chain)
                    );
                }
                self.line(&line);
                before = before.saturating_add(*uncompressed_bytes);
            }
        }
        if self.depth == Depth::Headers {
            self.line(&format!("summary\t{}", last_fields(sums)));
        }
        Ok(())
    }

    /// The totals: always for scripts, else of several files.
    fn end(&mut self) {
        let totals = self.totals.clone();
        if self.is_for_scripts {
            let mut line = format!("totals\t{}\t{}", fields(&totals), self.files);
            if self.depth == Depth::Headers {
                line.push_str(&format!("\t{}", last_fields(&totals)));
            }
            self.line(&line);
        } else if self.files > 1 && self.depth == Depth::Files {
            self.line(&"-".repeat(79));
            self.row(&totals, &format!("{} files", self.files));
        } else if self.files > 1 {
            self.line("\nTotals:");
            self.field("Number of files:", &self.files.to_string());
            self.summary(&totals);
            self.headers(&totals);
        }
    }
}

/// Columns of numbers, with their heads: the first of six letters, the second of nine.
fn numbered([first, second, others @ ..]: [String; 6]) -> String {
    let mut line = format!("    {first:>6} {second:>9}");
    for other in others {
        let _never_fails = write!(line, " {other:>15}");
    }
    line
}

/// The fields of a file, or of all, for scripts.
fn fields(sums: &Sums) -> String {
    let Sums { streams, blocks, compressed, uncompressed, padding, .. } = sums;
    let (ratio, checks) = (sums.ratio(), sums.check_names(","));
    format!("{streams}\t{blocks}\t{compressed}\t{uncompressed}\t{ratio}\t{checks}\t{padding}")
}

fn last_fields(sums: &Sums) -> String {
    let sizes = if sums.has_all_sizes { "yes" } else { "no" };
    format!("{}\t{sizes}\t{}", sums.memory, sums.version)
}

fn check_name(stream: &XzStreamSurvey) -> &'static str {
    CHECKS[usize::from(stream.check & 0xf)]
}

/// CRCs are numbers, stored with their least byte first.
fn check_value(detail: &XzBlockDetail) -> String {
    let is_number = matches!(detail.check.len(), 4 | 8);
    let mut bytes = detail.check.clone();
    if is_number {
        bytes.reverse();
    }
    let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    if text.is_empty() { "---".to_owned() } else { text }
}

fn flags(detail: &XzBlockDetail) -> String {
    let (compressed, uncompressed) = detail.has_sizes;
    format!("{}{}", if compressed { 'c' } else { '-' }, if uncompressed { 'u' } else { '-' })
}

fn shown(chain: &FilterChain) -> String {
    filters::shown(chain, false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_nothing_have_no_check_and_no_ratio() {
        assert_eq!(fields(&Sums::default()), "0\t0\t0\t0\t---\tNone\t0");
        assert_eq!(last_fields(&Sums::default()), "0\tyes\t50000002");
    }
}
