//! Manifests: lines of names and values as md5sum, cksum, b3sum, xxhsum and BSD's tools write them. Opens no file that a line names.
//!
//! COMPAT: what GNU's digest.c (coreutils 9) takes for a line, with its order of questions; lines that it refuses are refused under its names.

mod escape;
mod lines;

pub use escape::{NameEscape, escaped_name, tagged_line, unescaped_name};
pub use lines::{LineEnd, ManifestLine, ManifestLines};

use crate::algorithm::Algorithm;
use crate::value::DigestValue;

/// A file and the value that it should have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestEntry {
    /// Its name, without escapes.
    pub name: Vec<u8>,
    /// How the value is computed.
    pub algorithm: Algorithm,
    /// The value.
    pub value: DigestValue,
    /// Whether the algorithm was guessed by the number of digits.
    pub is_guessed: bool,
}

/// What a line is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ManifestRead {
    /// A comment, or nothing.
    Nothing,
    /// A file.
    Entry(ManifestEntry),
    /// Neither.
    Misformatted,
}

/// What lines mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ManifestRules {
    /// The algorithm of lines without a tag; none: the number of digits decides.
    pub algorithm: Option<Algorithm>,
    /// Lines with a tag.
    pub tags: Tags,
    /// Lines without one.
    pub untagged: Untagged,
    /// Whether names have escapes. Lines that end with a zero byte have none.
    pub escapes: NameEscape,
}

/// Which tags there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tags {
    /// All.
    All,
    /// Those of coreutils' cksum.
    Coreutils,
    /// That of the rules' algorithm.
    Own,
    /// None.
    None,
}

/// Which lines without a tag there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Untagged {
    /// A value of the algorithm's length; BLAKE2b of any.
    OfAlgorithm,
    /// Any length that some algorithm has.
    ByLength,
    /// Those of xxhsum: 8, 16 and 32 digits.
    OfXxhsum,
    /// None.
    Refused,
}

/// Reads lines one after the other: the first line without a tag decides whether names begin behind one blank or two.
#[derive(Clone, Debug)]
pub struct ManifestReader {
    rules: ManifestRules,
    /// The algorithms that lines may have; none: all that the rules allow.
    only: Vec<Algorithm>,
    /// Whether lines are `VALUE NAME` with one blank; not known before the first one.
    is_reversed: Option<bool>,
}

impl ManifestReader {
    /// For a new manifest.
    pub fn new(rules: ManifestRules) -> Self {
        Self { rules, only: Vec::new(), is_reversed: None }
    }

    /// Lines of other algorithms are none, whether they have a tag or not; of none given, all are.
    pub fn only(self, algorithms: &[Algorithm]) -> Self {
        Self { only: algorithms.to_vec(), ..self }
    }

    /// Lines turned out to end so: names in lines that end with a zero byte have no escapes, and a carriage return belongs to the name.
    pub fn lines_end_with(&mut self, end: LineEnd) {
        if end == LineEnd::Zero {
            self.rules.escapes = NameEscape::None;
        }
    }

    /// What one line is, without what ends it.
    pub fn read(&mut self, line: &[u8]) -> ManifestRead {
        if line.first() == Some(&b'#') {
            return ManifestRead::Nothing;
        }
        let line = if self.rules.escapes == NameEscape::None { line } else { line.strip_suffix(b"\r").unwrap_or(line) };
        if line.is_empty() {
            return ManifestRead::Nothing;
        }
        self.entry(line).map_or(ManifestRead::Misformatted, ManifestRead::Entry)
    }

    fn entry(&mut self, line: &[u8]) -> Option<ManifestEntry> {
        let line = line.trim_ascii_start();
        let (line, escapes) = match line.strip_prefix(b"\\") {
            Some(rest) if self.rules.escapes != NameEscape::None => (rest, self.rules.escapes),
            _ => (line, NameEscape::None),
        };
        if let Some(tagged) = self.tagged(line, escapes) {
            return tagged;
        }
        if let Some(algorithm @ (Algorithm::Cksum | Algorithm::BsdSum | Algorithm::SysvSum)) = self.rules.algorithm {
            return of_numbers(line, algorithm);
        }
        let digits = line.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        let (digits, rest) = line.split_at(digits);
        let (algorithm, is_guessed) = self.untagged(digits.len())?;
        let value = DigestValue::of_digits(digits)?;
        let (blank, rest) = rest.split_first()?;
        if !is_blank(*blank) || rest.is_empty() {
            return None;
        }
        let name = self.behind_the_blank(rest)?;
        let name = unescaped_name(name, escapes)?;
        Some(ManifestEntry { name, algorithm, value, is_guessed })
    }

    /// COMPAT: `VALUE NAME` of BSD's `md5 -r` and `VALUE  NAME`, `VALUE *NAME` are not mixed: else a blank could move between name and line.
    fn behind_the_blank<'a>(&mut self, rest: &'a [u8]) -> Option<&'a [u8]> {
        let has_mark = rest.len() > 1 && matches!(rest[0], b' ' | b'*');
        match (has_mark, self.is_reversed) {
            (false, Some(false)) => None,
            (false, _) => {
                self.is_reversed = Some(true);
                Some(rest)
            }
            (true, Some(true)) => Some(rest),
            (true, _) => {
                self.is_reversed = Some(false);
                Some(&rest[1..])
            }
        }
    }

    /// `TAG (NAME) = VALUE`. None of a line that has no tag; a line with a tag that is otherwise wrong is no entry.
    fn tagged(&self, line: &[u8], escapes: NameEscape) -> Option<Option<ManifestEntry>> {
        let end = line.iter().position(|byte| is_blank(*byte) || *byte == b'(')?;
        let tag = std::str::from_utf8(&line[..end]).ok()?;
        let (algorithm, is_little) = self.algorithm_of(tag)?;
        let rest = line[end..].strip_prefix(b" ").unwrap_or(&line[end..]);
        Some(rest.strip_prefix(b"(").and_then(|rest| tagged_entry(rest, algorithm, is_little, escapes)))
    }

    /// What a tag means, and whether its value has its lowest byte first.
    fn algorithm_of(&self, tag: &str) -> Option<(Algorithm, bool)> {
        let (plain, is_little) = match tag.strip_suffix("_LE") {
            Some(plain) if plain.starts_with("XXH") => (plain, true),
            _ => (tag, false),
        };
        let found = Algorithm::tagged(plain)?;
        let is_same =
            |own: Algorithm| own == found || matches!((own, found), (Algorithm::Blake2b(_), Algorithm::Blake2b(_)));
        let is_allowed = match self.rules.tags {
            Tags::All => true,
            Tags::Coreutils => is_of_coreutils(found) && found.tag() == plain,
            Tags::Own => self.rules.algorithm.is_none_or(is_same) && found.tag() == plain,
            Tags::None => false,
        };
        let is_wanted = self.only.is_empty() || self.only.iter().any(|own| is_same(*own));
        (is_allowed && is_wanted).then_some((found, is_little))
    }

    /// The algorithm of a value with so many digits, and whether it is a guess.
    fn untagged(&self, digits: usize) -> Option<(Algorithm, bool)> {
        let fits = |algorithm: &Algorithm| algorithm.bytes() * 2 == digits;
        match (self.rules.untagged, self.rules.algorithm) {
            (Untagged::Refused, _) => None,
            (_, Some(Algorithm::Blake2b(_))) => {
                let is_length = digits > 0 && digits.is_multiple_of(2) && digits <= 128;
                is_length.then_some((Algorithm::Blake2b((digits / 2) as u8), false))
            }
            (_, Some(algorithm)) => Some((algorithm, false)).filter(|(algorithm, _)| fits(algorithm)),
            (Untagged::OfXxhsum, None) => {
                let known = [Algorithm::Xxh32, Algorithm::Xxh64, Algorithm::Xxh128];
                known.into_iter().find(fits).map(|algorithm| (algorithm, false))
            }
            (_, None) if !self.only.is_empty() => {
                self.only.iter().find(|algorithm| fits(algorithm)).map(|algorithm| (*algorithm, false))
            }
            (_, None) => Algorithm::of_digits(digits).map(|(usual, others)| (usual, !others.is_empty())),
        }
    }
}

fn is_of_coreutils(algorithm: Algorithm) -> bool {
    use Algorithm::{Blake2b, Md5, Sha1, Sha224, Sha256, Sha384, Sha512, Sm3};
    matches!(algorithm, Md5 | Sha1 | Sha224 | Sha256 | Sha384 | Sha512 | Sm3 | Blake2b(_))
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// What stands behind `TAG (`.
fn tagged_entry(rest: &[u8], algorithm: Algorithm, is_little: bool, escapes: NameEscape) -> Option<ManifestEntry> {
    let end = rest.iter().rposition(|byte| *byte == b')')?;
    let digits = rest[end + 1..].trim_ascii_start().strip_prefix(b"=")?.trim_ascii_start();
    let mut value = DigestValue::of_digits(digits).filter(|value| value.bytes().len() == algorithm.bytes())?;
    if is_little {
        value = DigestValue::new(&value.bytes().iter().rev().copied().collect::<Vec<u8>>());
    }
    let name = unescaped_name(&rest[..end], escapes)?;
    Some(ManifestEntry { name, algorithm, value, is_guessed: false })
}

/// `NUMBER LENGTH NAME` of cksum and of the two sums; BSD's pads the length with blanks.
fn of_numbers(line: &[u8], algorithm: Algorithm) -> Option<ManifestEntry> {
    let (number, rest) = number(line)?;
    let rest = if algorithm == Algorithm::BsdSum { rest.trim_ascii_start() } else { rest };
    let (_its_part_of_the_value, name) = self::number(rest)?;
    let value = match algorithm {
        Algorithm::Cksum => DigestValue::new(&u32::try_from(number).ok()?.to_be_bytes()),
        _ => DigestValue::new(&u16::try_from(number).ok()?.to_be_bytes()),
    };
    let name = unescaped_name(Some(name).filter(|name| !name.is_empty())?, NameEscape::None)?;
    Some(ManifestEntry { name, algorithm, value, is_guessed: false })
}

/// A number in front of a blank, and what is behind that.
fn number(line: &[u8]) -> Option<(u64, &[u8])> {
    let end = line.iter().position(|byte| *byte == b' ')?;
    let number = std::str::from_utf8(&line[..end]).ok()?.parse().ok()?;
    Some((number, &line[end + 1..]))
}

#[cfg(test)]
mod tests;
