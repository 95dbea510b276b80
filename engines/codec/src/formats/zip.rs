//! ZIP archives of one deflated entry (PKWARE's APPNOTE.TXT 6.3), as pigz writes and reads them: a local header, the stream, its
//! CRC-32 and sizes behind it, and a directory of one line. An archiver's other kinds of entries are refused.

use crate::byte_buffer::ByteBuffer;
use crate::compressed_reader::CompressedReader;
use crate::error::{CodecError, UnitDefect};
use crate::format::{
    CutError, Cutter, DecodeLimits, Decoder, EncodeOptions, Encoder, Format, FormatFacts, NextUnit, SegmentFill,
    StreamDecoder, Tail,
};
use crate::formats::deflate_pieces::{self, DeflateReader, PieceEncoder, piece_and_note};
use crate::formats::gzip::Gzip;
use crate::formats::lzma::NoUnits;
use crate::origin::Origin;
use crate::running_check::{RunningCheck, TrailerClaim};
use crc_fast::{CrcAlgorithm, checksum, checksum_combine};
use crew::pipeline::CutTurn;
use sys::civil_time::local;

/// The format.
#[derive(Debug)]
pub struct Zip;

static FACTS: FormatFacts = FormatFacts {
    name: "zip",
    tool: "zip",
    suffixes: &[(".zip", "")],
    unit_name: "piece",
    levels: 0..=12,
    level_before_ultra: 9,
    default_level: 6,
    best_level: 9,
    check: "crc32",
};

const LOCAL_MAGIC: [u8; 4] = *b"PK\x03\x04";
const DIRECTORY_MAGIC: [u8; 4] = *b"PK\x01\x02";
const SIZES_MAGIC: [u8; 4] = *b"PK\x07\x08";
const END_MAGIC: [u8; 4] = *b"PK\x05\x06";
const END_MAGIC_64: [u8; 4] = *b"PK\x06\x06";
const LOCATOR_MAGIC_64: [u8; 4] = *b"PK\x06\x07";

/// A local header without name and extra fields.
const LOCAL_BYTES: usize = 30;

/// LIMIT: name and extra fields have 16 bits of length each.
const HEADER_BYTES_MAX: usize = LOCAL_BYTES + 2 * 0xffff;

/// CRC-32 and sizes stand behind the data.
const SIZES_FOLLOW: u16 = 8;
const ENCRYPTED: u16 = 1;
const DEFLATED: u16 = 8;

/// Readers need to know deflate; for sizes of 64 bits, those.
const VERSION: u16 = 20;
const VERSION_64: u16 = 45;
/// The extra field with the sizes of 64 bits.
const SIZES_64: u16 = 1;
/// Attributes are those of Unix.
const MADE_BY_UNIX: u16 = 3 << 8;

/// The name of data that have none.
const NAMELESS: &[u8] = b"-";

impl Format for Zip {
    fn facts(&self) -> &'static FormatFacts {
        &FACTS
    }

    fn recognises(&self, head: &[u8]) -> bool {
        head.starts_with(&LOCAL_MAGIC)
    }

    fn chunk_bytes(&self, _options: &EncodeOptions) -> usize {
        deflate_pieces::PIECE_BYTES
    }

    fn compressed_bound(&self, plain_bytes: usize) -> usize {
        deflate_pieces::compressed_bound(plain_bytes)
    }

    fn encoder_bytes(&self, options: &EncodeOptions) -> u64 {
        // As for gz, and a decoded piece.
        Gzip.encoder_bytes(options) + deflate_pieces::PIECE_BYTES as u64
    }

    fn decoder_bytes(&self, _unit_uncompressed_bytes: u64) -> u64 {
        0
    }

    fn encoder(&self, options: &EncodeOptions) -> Result<Box<dyn Encoder>, CodecError> {
        Ok(Box::new(PieceEncoder::new(options.level, crc32)))
    }

    fn note_bytes(&self) -> usize {
        deflate_pieces::NOTE_BYTES
    }

    fn head_of(&self, _options: &EncodeOptions, origin: Option<&Origin>) -> Vec<u8> {
        let name = origin.map(|origin| &origin.name[..]).filter(|name| !name.is_empty()).unwrap_or(NAMELESS);
        let name = &name[..name.len().min(usize::from(u16::MAX))];
        let mut header = LOCAL_MAGIC.to_vec();
        header.extend(common_fields(VERSION, dos_time(origin.map_or(0, |origin| origin.modified_seconds))));
        // CRC-32 and both sizes come later.
        header.extend([0; 12]);
        // Cut above.
        header.extend((name.len() as u16).to_le_bytes());
        header.extend([0; 2]);
        header.extend(name);
        header
    }

    fn tail(&self, _options: &EncodeOptions) -> Box<dyn Tail> {
        Box::new(ZipTail { head: Vec::new(), crc: 0, plain_bytes: 0, packed_bytes: 0 })
    }

    fn cutter(&self, _limits: &DecodeLimits) -> Box<dyn Cutter> {
        Box::new(EntryCutter { place: Place::Entry })
    }

    fn decoder(&self, _limits: &DecodeLimits) -> Box<dyn Decoder> {
        Box::new(NoUnits)
    }
}

fn crc32(bytes: &[u8]) -> u32 {
    // A 32-bit checksum in a 64-bit return value.
    checksum(CrcAlgorithm::Crc32IsoHdlc, bytes) as u32
}

/// Version, flags, method and time: the same in both headers.
fn common_fields(version: u16, dos_time: u32) -> Vec<u8> {
    let mut fields: Vec<u8> = [version, SIZES_FOLLOW, DEFLATED].iter().flat_map(|field| field.to_le_bytes()).collect();
    fields.extend(dos_time.to_le_bytes());
    fields
}

/// Local time in steps of two seconds since 1980, day above time.
fn dos_time(seconds: u32) -> u32 {
    let Some(civil) = local(i64::from(seconds)).filter(|civil| (1980..2108).contains(&civil.year)) else {
        // The first of January 1980.
        return 1 << 21 | 1 << 16;
    };
    // From 0 to 127.
    let year = (civil.year - 1980) as u32;
    let [month, day] = [civil.month, civil.day].map(u32::from);
    let [hour, minute, second] = [civil.hour, civil.minute, civil.second.min(59)].map(u32::from);
    year << 25 | month << 21 | day << 16 | hour << 11 | minute << 5 | (second / 2)
}

struct ZipTail {
    head: Vec<u8>,
    crc: u64,
    plain_bytes: u64,
    packed_bytes: u64,
}

impl Tail for ZipTail {
    fn head(&mut self, head: &[u8]) {
        self.head = head.to_vec();
    }

    fn unit(&mut self, compressed: &[u8], plain_bytes: u64) {
        let (packed_bytes, crc) = piece_and_note(compressed);
        self.crc = checksum_combine(CrcAlgorithm::Crc32IsoHdlc, self.crc, u64::from(crc), plain_bytes);
        self.packed_bytes += packed_bytes;
        self.plain_bytes += plain_bytes;
    }

    fn finish(&mut self) -> Vec<u8> {
        let packed_bytes = self.packed_bytes + deflate_pieces::STREAM_END.len() as u64;
        let sizes = [packed_bytes, self.plain_bytes];
        let is_large = sizes.iter().any(|&size| size >= u64::from(u32::MAX));
        // A 32-bit value.
        let crc = (self.crc as u32).to_le_bytes();
        let narrow = |size: u64| u32::try_from(size).unwrap_or(u32::MAX).to_le_bytes();
        let mut tail = deflate_pieces::STREAM_END.to_vec();
        tail.extend([SIZES_MAGIC, crc].concat());
        for size in sizes {
            if is_large { tail.extend(size.to_le_bytes()) } else { tail.extend(narrow(size)) }
        }
        let directory_at = self.head.len() as u64 + self.packed_bytes + tail.len() as u64;
        let line = self.directory_line(crc, sizes, is_large);
        let line_bytes = line.len() as u64;
        tail.extend(line);
        if is_large {
            tail.extend(END_MAGIC_64);
            tail.extend(44_u64.to_le_bytes());
            tail.extend([MADE_BY_UNIX | VERSION_64, VERSION_64].iter().flat_map(|field| field.to_le_bytes()));
            tail.extend([0; 8]);
            tail.extend([1, 1, line_bytes, directory_at].iter().flat_map(|field| field.to_le_bytes()));
            tail.extend(LOCATOR_MAGIC_64);
            tail.extend([0; 4]);
            tail.extend((directory_at + line_bytes).to_le_bytes());
            tail.extend(1_u32.to_le_bytes());
        }
        tail.extend(END_MAGIC);
        tail.extend([0, 0, 1, 1].iter().flat_map(|field: &u16| field.to_le_bytes()));
        tail.extend([narrow(line_bytes), narrow(directory_at)].concat());
        tail.extend([0; 2]);
        tail
    }
}

impl ZipTail {
    /// The directory's line, with the local header's fields.
    fn directory_line(&self, crc: [u8; 4], sizes: [u64; 2], is_large: bool) -> Vec<u8> {
        let version = if is_large { VERSION_64 } else { VERSION };
        let dos_time = self.head.get(10..14).and_then(<[u8]>::first_chunk).map_or(0, |time| u32::from_le_bytes(*time));
        let name = self.head.get(LOCAL_BYTES..).unwrap_or_default();
        let mut extra = Vec::new();
        if is_large {
            extra.extend([SIZES_64, 16].iter().flat_map(|field| field.to_le_bytes()));
            extra.extend(sizes[1].to_le_bytes());
            extra.extend(sizes[0].to_le_bytes());
        }
        let mut line = DIRECTORY_MAGIC.to_vec();
        line.extend((MADE_BY_UNIX | version).to_le_bytes());
        line.extend(common_fields(version, dos_time));
        line.extend(crc);
        let narrow = |size: u64| if is_large { u32::MAX } else { u32::try_from(size).unwrap_or(u32::MAX) };
        line.extend(sizes.iter().flat_map(|&size| narrow(size).to_le_bytes()));
        // Both are short: the name was cut, and the extra field has 20 bytes.
        line.extend((name.len() as u16).to_le_bytes());
        line.extend((extra.len() as u16).to_le_bytes());
        // Comment, disk, kind of content; a regular file that all may read; where the header is.
        line.extend([0; 6]);
        line.extend((0o100_644_u32 << 16).to_le_bytes());
        line.extend([0; 4]);
        line.extend(name);
        line.extend(extra);
        line
    }
}

/// Finds the first entry, and steps over the directory.
struct EntryCutter {
    place: Place,
}

/// The next expected record.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Entry,
    Directory,
    /// The directory's end is behind us.
    Behind,
}

/// Bytes of a directory read at a time.
const STEP_BYTES: usize = 64 << 10;

/// A directory's line without name, extra fields and comment.
const LINE_BYTES: usize = 46;

/// LIMIT: name, extra fields and comment of a line have 16 bits of length each.
const RECORD_BYTES_MAX: usize = LINE_BYTES + 3 * 0xffff;

/// The length of the directory's record that `ahead` begins with; none if it begins with anything else.
fn directory_record_bytes(ahead: &[u8]) -> Option<usize> {
    // A record that breaks off lasts to the end.
    let half = |at: usize| {
        ahead.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |half| usize::from(u16::from_le_bytes(*half)))
    };
    match *ahead.first_chunk()? {
        DIRECTORY_MAGIC => Some(LINE_BYTES + half(28) + half(30) + half(32)),
        END_MAGIC => Some(22 + half(20)),
        END_MAGIC_64 => {
            let rest = ahead.get(4..).and_then(<[u8]>::first_chunk).map_or(0, |rest| u64::from_le_bytes(*rest));
            usize::try_from(rest).ok().map(|rest| rest.saturating_add(12)).filter(|&bytes| bytes <= RECORD_BYTES_MAX)
        }
        LOCATOR_MAGIC_64 => Some(20),
        _ => None,
    }
}

impl Cutter for EntryCutter {
    fn next(&mut self, input: &mut CompressedReader) -> Result<NextUnit, CutError> {
        let (head, _) = input.ahead(LOCAL_BYTES, STEP_BYTES)?;
        if head.is_empty() {
            return Ok(NextUnit::End);
        }
        if self.place != Place::Entry {
            return self.behind_the_entry(input);
        }
        self.place = Place::Directory;
        let mut header = LocalHeader::parse(head)?;
        if header.plain_bytes == u32::MAX {
            let (head, _) = input.ahead(header.bytes, STEP_BYTES)?;
            header.plain_bytes = wide_plain_bytes(&head[..head.len().min(header.bytes)]).unwrap_or(u32::MAX);
        }
        Ok(NextUnit::Stream(Box::new(EntryStream {
            header,
            header_read: false,
            deflated: DeflateReader::new(),
            plain_bytes: 0,
        })))
    }
}

impl EntryCutter {
    /// One record of the directory. Before its end, anything else belongs to further entries.
    fn behind_the_entry(&mut self, input: &mut CompressedReader) -> Result<NextUnit, CutError> {
        let (head, _) = input.ahead(LINE_BYTES, STEP_BYTES)?;
        let Some(bytes) = directory_record_bytes(head) else {
            let is_entry = self.place == Place::Directory || head.starts_with(&LOCAL_MAGIC);
            return Err(if is_entry { CutError::FurtherEntries } else { CutError::Garbage });
        };
        if head.starts_with(&END_MAGIC) {
            self.place = Place::Behind;
        }
        // COMPAT: a directory that breaks off does not matter to the entry.
        let (ahead, _) = input.ahead(bytes, STEP_BYTES)?;
        Ok(NextUnit::Padding { bytes: ahead.len().min(bytes) as u64 })
    }
}

/// The facts of a local header.
#[derive(Clone, Copy)]
struct LocalHeader {
    bytes: usize,
    sizes_follow: bool,
    crc: u32,
    plain_bytes: u32,
}

impl LocalHeader {
    fn parse(head: &[u8]) -> Result<Self, UnitDefect> {
        let head: &[u8; LOCAL_BYTES] = head.first_chunk().ok_or(UnitDefect::Truncated)?;
        let half = |at: usize| u16::from_le_bytes([head[at], head[at + 1]]);
        let word = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        if !head.starts_with(&LOCAL_MAGIC) {
            return Err(UnitDefect::Header("it does not begin as a zip entry does"));
        }
        if half(6) & ENCRYPTED != 0 {
            return Err(UnitDefect::Header("its entry is encrypted"));
        }
        if half(8) != DEFLATED {
            return Err(UnitDefect::Header("its entry is not deflated"));
        }
        let bytes = LOCAL_BYTES + usize::from(half(26)) + usize::from(half(28));
        Ok(Self { bytes, sizes_follow: half(6) & SIZES_FOLLOW != 0, crc: word(14), plain_bytes: word(22) })
    }
}

/// The low half of the uncompressed size in a header's extra field for 64 bits, if it has one.
fn wide_plain_bytes(header: &[u8]) -> Option<u32> {
    let name_bytes = usize::from(u16::from_le_bytes(*header.get(26..)?.first_chunk()?));
    let mut fields = header.get(LOCAL_BYTES + name_bytes..)?;
    while let Some((&[a, b, c, d], rest)) = fields.split_first_chunk() {
        let (field, behind) = rest.split_at_checked(usize::from(u16::from_le_bytes([c, d])))?;
        if u16::from_le_bytes([a, b]) == SIZES_64 {
            return field.first_chunk().map(|low| u32::from_le_bytes(*low));
        }
        fields = behind;
    }
    None
}

/// The entry's data, with what is behind them.
struct EntryStream {
    header: LocalHeader,
    header_read: bool,
    deflated: DeflateReader,
    plain_bytes: u64,
}

impl EntryStream {
    /// Claims about the data. Sizes behind them have 32 or 64 bits: the true one, at the place for 64, shows which. (In its
    /// place stands the next record's magic number if they have 32.)
    fn claim(&self, input: &mut CompressedReader) -> Result<TrailerClaim, CutError> {
        // 32 bits of it are compared.
        let mut claim = (self.header.crc, self.header.plain_bytes);
        if self.header.sizes_follow {
            let (ahead, _) = input.ahead(24, 24)?;
            let magic = if ahead.starts_with(&SIZES_MAGIC) { 4 } else { 0 };
            let word =
                |at: usize| ahead.get(magic + at..).and_then(<[u8]>::first_chunk).map(|word| u32::from_le_bytes(*word));
            let (crc, narrow) = word(0).zip(word(8)).ok_or(UnitDefect::Truncated)?;
            let wide = word(12).zip(word(16)).map(|(low, high)| u64::from(high) << 32 | u64::from(low));
            let is_wide = wide == Some(self.plain_bytes);
            input.consume(magic + if is_wide { 20 } else { 12 });
            // Its low half.
            claim = (crc, if is_wide { self.plain_bytes as u32 } else { narrow });
        }
        Ok(TrailerClaim::Crc32 { stored: claim.0, length_modulo: claim.1 })
    }
}

impl StreamDecoder for EntryStream {
    fn running_check(&self) -> RunningCheck {
        RunningCheck::Crc32
    }

    fn fill(
        &mut self,
        input: &mut CompressedReader,
        uncompressed: &mut ByteBuffer,
        segment_bytes: usize,
        turn: &mut CutTurn<'_>,
    ) -> Result<SegmentFill, CutError> {
        if !self.header_read {
            let bytes = self.header.bytes.min(HEADER_BYTES_MAX) as u64;
            if input.skip(bytes)? < bytes {
                return Err(UnitDefect::Truncated.into());
            }
            self.header_read = true;
        }
        let has_ended = self.deflated.fill(input, uncompressed, segment_bytes, turn)?;
        self.plain_bytes += uncompressed.len() as u64;
        Ok(if has_ended { SegmentFill::Last(Some(self.claim(input)?)) } else { SegmentFill::More })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::UnitLayout;
    use crew::pipeline::Pause;

    /// An archive of `plain`, in chunks.
    fn archive(plain: &[u8], origin: Option<&Origin>) -> Vec<u8> {
        let options = EncodeOptions::new(6, UnitLayout::ParallelUnits);
        let (mut encoder, mut tail, mut piece) =
            (Zip.encoder(&options).expect("memory"), Zip.tail(&options), ByteBuffer::default());
        let mut file = Zip.head_of(&options, origin);
        tail.head(&file);
        for part in plain.chunks(70_001) {
            encoder.encode(part, &mut piece, &mut Pause::never()).expect("encode");
            tail.unit(piece.content(), part.len() as u64);
            file.extend_from_slice(&piece.content()[..piece.len() - Zip.note_bytes()]);
        }
        file.extend(tail.finish());
        file
    }

    #[test]
    fn the_directory_is_where_its_end_says() {
        let plain = testkit::data::mixed(200_000, 3);
        let told = Origin { name: b"a name".to_vec(), modified_seconds: 1_234_567_890 };
        let file = archive(&plain, Some(&told));
        let (_, end) = file.split_at(file.len() - 22);
        assert!(end.starts_with(&END_MAGIC));
        let word = |bytes: &[u8], at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four")) as usize;
        let (line_bytes, line_at) = (word(end, 12), word(end, 16));
        assert_eq!(line_at + line_bytes + 22, file.len());
        let line = &file[line_at..];
        assert!(line.starts_with(&DIRECTORY_MAGIC) && line[46..].starts_with(b"a name"));
        assert_eq!((word(line, 16), word(line, 24)), (crc32(&plain) as usize, plain.len()));
        let sizes = &file[LOCAL_BYTES + 6 + word(line, 20)..];
        assert!(sizes.starts_with(&SIZES_MAGIC) && sizes[4..16] == line[16..28]);
    }

    /// An archiver's entry of `plain` with its sizes before the data, in 64 bits, behind another extra field.
    fn wide_entry(plain: &[u8], told_bytes: u64) -> Vec<u8> {
        let options = EncodeOptions::new(6, UnitLayout::ParallelUnits);
        let (mut encoder, mut piece) = (Zip.encoder(&options).expect("memory"), ByteBuffer::default());
        encoder.encode(plain, &mut piece, &mut Pause::never()).expect("encode");
        let mut deflated = piece.content()[..piece.len() - Zip.note_bytes()].to_vec();
        deflated.extend(deflate_pieces::STREAM_END);
        let mut extra = [*b"UT", [1, 0]].concat();
        extra.push(0);
        extra.extend([SIZES_64, 16].iter().flat_map(|field| field.to_le_bytes()));
        extra.extend([told_bytes, deflated.len() as u64].iter().flat_map(|size| size.to_le_bytes()));
        let mut file = LOCAL_MAGIC.to_vec();
        file.extend([VERSION_64, 0, DEFLATED, 0, 0].iter().flat_map(|field| field.to_le_bytes()));
        file.extend([crc32(plain), u32::MAX, u32::MAX].iter().flat_map(|field| field.to_le_bytes()));
        file.extend([1, extra.len() as u16].iter().flat_map(|field| field.to_le_bytes()));
        file.push(b'x');
        [file, extra, deflated].concat()
    }

    /// The claims in the trailer of the first entry, and the bytes behind it.
    fn first_entry(file: Vec<u8>) -> (TrailerClaim, Result<NextUnit, CutError>) {
        let limits = DecodeLimits {
            unit_uncompressed_bytes: 1 << 20,
            unit_held_bytes: 1 << 20,
            window_bytes: 1 << 20,
            dictionary: None,
            prefix: None,
            stream_bytes: u64::MAX,
            ahead_bytes: 0,
            streams_lone_unit: false,
        };
        let mut reader = CompressedReader::memory(file);
        let mut cutter = Zip.cutter(&limits);
        let Ok(NextUnit::Stream(mut entry)) = cutter.next(&mut reader) else { panic!("an entry") };
        let mut plain = ByteBuffer::default();
        let claim = loop {
            plain.clear();
            let filled = entry.fill(&mut reader, &mut plain, 1 << 20, &mut CutTurn::with_a_hand()).expect("sound");
            if let SegmentFill::Last(claim) = filled {
                break claim.expect("a claim");
            }
        };
        loop {
            match cutter.next(&mut reader) {
                Ok(NextUnit::Padding { bytes }) => assert_eq!(reader.skip(bytes).expect("memory"), bytes),
                other => return (claim, other),
            }
        }
    }

    fn length(claim: &TrailerClaim) -> u32 {
        let TrailerClaim::Crc32 { length_modulo, .. } = claim else { panic!("a CRC-32") };
        *length_modulo
    }

    #[test]
    fn sizes_of_64_bits_before_the_data_are_found() {
        let plain = testkit::data::text(5_000, 1);
        for (told, expected) in [(5_000, 5_000), (7 << 32 | 5_000, 5_000), (4_999, 4_999)] {
            let (claim, behind) = first_entry(wide_entry(&plain, told));
            assert_eq!(length(&claim), expected);
            assert!(matches!(behind, Ok(NextUnit::End)));
        }
    }

    #[test]
    fn entries_behind_the_first_are_seen_and_a_directory_is_not_one() {
        let (one, empty) = (archive(b"content", None), archive(b"", None));
        let ends = |file: &[u8]| first_entry(file.to_vec()).1;
        assert!(matches!(ends(&one), Ok(NextUnit::End)));
        assert!(matches!(ends(&one[..one.len() - 30]), Ok(NextUnit::End)), "half a directory");
        assert!(matches!(ends(&[&one[..], b"junk"].concat()), Err(CutError::Garbage)));
        assert!(matches!(ends(&[&one[..], &one].concat()), Err(CutError::FurtherEntries)));
        let directory = one.windows(4).position(|magic| magic == DIRECTORY_MAGIC).expect("a directory");
        assert!(matches!(ends(&[&one[..directory], &one].concat()), Err(CutError::FurtherEntries)));
        assert!(matches!(ends(&[&one[..directory], b"????", &one].concat()), Err(CutError::FurtherEntries)));
        // Sizes of 64 bits behind an empty entry: a zero is a zero at either place.
        let sizes = empty.windows(4).position(|magic| magic == SIZES_MAGIC).expect("sizes");
        let wide = [&empty[..sizes + 12], &[0; 12], &empty[sizes + 16..]].concat();
        for empty in [empty, wide] {
            let (claim, behind) = first_entry(empty);
            assert_eq!(length(&claim), 0);
            assert!(matches!(behind, Ok(NextUnit::End)));
        }
    }

    #[test]
    fn days_have_their_places() {
        assert_eq!(dos_time(0), 0x0021_0000);
        assert_eq!(dos_time(1_234_567_890) >> 25, 2009 - 1980);
    }
}
