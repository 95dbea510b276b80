//! A list of jobs, read as it comes: bytes go in, jobs and barriers come out, one at a time.
//! Holds no more than one piece of input and the job under way. Opens nothing and starts nothing.

use crate::columns::Columns;
use crate::fill::ArgumentRoom;
use crate::line::{Fed, LineFault, LineReader};
use crate::record::{self, RecordFault, Utility};
use crate::spec::Spec;
use std::fmt;

/// How lines are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// Words with quotes and redirections, as xjobs has them.
    Words {
        /// Lines that make one job (`-l`).
        lines_per_job: usize,
        /// Whether a line that begins with `{"` is a JSON record.
        records: JsonRecords,
    },
    /// Each line is one word as it is (`-1`, `-0`, and wherever placeholders are).
    Raw {
        /// What ends a word.
        terminator: u8,
        /// Words that make one job.
        words_per_job: usize,
        /// What divides a line into words, if anything does.
        columns: Option<Columns>,
        /// Room for words in one job, whichever is reached first.
        room: ArgumentRoom,
    },
}

/// Whether JSON lines are jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonRecords {
    /// They are.
    Read,
    /// They are words like others: under the old name.
    AreWords,
}

/// What stands in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListItem {
    /// A job.
    Job(Spec),
    /// All jobs before end before any behind begins.
    Barrier,
}

/// A line that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{place}")]
pub struct ListFault {
    /// Which one.
    pub place: ListPlace,
    /// What is wrong with it.
    #[source]
    pub cause: ListCause,
}

/// Where in a list, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListPlace {
    /// In a line.
    Line(u64),
    /// In a block of input.
    Block(u64),
}

impl fmt::Display for ListPlace {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(number) => write!(formatter, "line {number}"),
            Self::Block(number) => write!(formatter, "block {number}"),
        }
    }
}

/// LIMIT: a longer line is refused rather than held in memory. Smaller would refuse what GNU parallel takes: a line of 100 MB
/// of which `{.}` is short.
const LINE_BYTES_MAX: usize = 1 << 30;

/// What can be wrong with a line.
#[derive(Debug, thiserror::Error)]
pub enum ListCause {
    /// Its words.
    #[error(transparent)]
    Words(LineFault),
    /// It begins like a record, and is none.
    #[error(transparent)]
    Record(RecordFault),
    /// A backslash at its end, and no line behind: whoever sent it may have been killed.
    #[error("it goes on in a line that did not come")]
    GoesOn,
    /// Only redirections.
    #[error("there are redirections and nothing to run")]
    NothingToRun,
    /// It would have to be held in memory.
    #[error("it is longer than {} MiB", LINE_BYTES_MAX >> 20)]
    LineTooLong,
    /// So would this.
    #[error("a record is longer than {0} MiB")]
    RecordTooLong(usize),
}

/// What stood behind the last whole line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnfinishedLine {
    /// Nothing.
    None,
    /// A part of a line.
    Dropped,
}

/// Room for bytes of the list that is kept; what a longer line took is given back.
const BUFFER_KEPT: usize = 1 << 20;

/// Reads a list.
#[derive(Debug)]
pub struct ListReader {
    syntax: Syntax,
    utility: Utility,
    buffer: Vec<u8>,
    /// What is before has been used.
    begin: usize,
    /// Up to here there is no line end.
    searched: usize,
    is_ended: bool,
    line: u64,
    number: u64,
    under_way: LineReader,
    lines_joined: usize,
    /// Whether the last line belongs together with one that has not come.
    goes_on: bool,
    /// Whether the list's last line had no end.
    is_open: bool,
    /// Whether such a line counts.
    takes_open: bool,
    words_bytes: usize,
    barrier_is_due: bool,
    is_stopped: bool,
}

impl ListReader {
    /// A list from which nothing has been read.
    pub fn new(syntax: Syntax, utility: Utility) -> Self {
        Self {
            syntax,
            utility,
            buffer: Vec::new(),
            begin: 0,
            searched: 0,
            is_ended: false,
            line: 0,
            number: 0,
            under_way: LineReader::default(),
            lines_joined: 0,
            goes_on: false,
            is_open: false,
            takes_open: true,
            words_bytes: 0,
            barrier_is_due: false,
            is_stopped: false,
        }
    }

    /// Takes the next bytes of the list.
    pub fn put(&mut self, bytes: &[u8]) {
        self.forget_used();
        self.buffer.extend_from_slice(bytes);
    }

    fn forget_used(&mut self) {
        self.buffer.drain(..self.begin);
        self.searched -= self.begin;
        self.begin = 0;
        self.buffer.shrink_to(BUFFER_KEPT);
    }

    /// There are no more bytes.
    pub fn end(&mut self) {
        self.is_ended = true;
    }

    /// There are no more bytes, and a last line without its end does not count: whoever sent it may have been killed.
    pub fn end_at_line(&mut self) -> UnfinishedLine {
        let terminator = self.terminator();
        let whole = self.buffer.iter().rposition(|&byte| byte == terminator).map_or(self.begin, |at| at + 1);
        let is_cut_off = whole.max(self.begin) < self.buffer.len();
        self.buffer.truncate(whole.max(self.begin));
        self.searched = self.searched.min(self.buffer.len());
        self.takes_open = false;
        self.end();
        if is_cut_off { UnfinishedLine::Dropped } else { UnfinishedLine::None }
    }

    /// Whether everything has been given out.
    pub fn is_exhausted(&self) -> bool {
        let is_between = self.lines_joined == 0 && !self.goes_on && !self.barrier_is_due;
        self.is_stopped || (self.is_ended && self.begin == self.buffer.len() && is_between)
    }

    /// The next job or barrier; none when more bytes are needed, or when there are no more.
    ///
    /// # Errors
    /// A line that cannot be read ends the list: what stands behind it may depend on it.
    pub fn next_item(&mut self) -> Result<Option<ListItem>, ListFault> {
        if self.is_stopped {
            return Ok(None);
        }
        let item = self.read_item().map_err(|cause| ListFault { place: ListPlace::Line(self.line), cause });
        self.is_stopped |= item.is_err();
        item
    }

    fn read_item(&mut self) -> Result<Option<ListItem>, ListCause> {
        if std::mem::take(&mut self.barrier_is_due) {
            return Ok(Some(ListItem::Barrier));
        }
        while let Some((from, to)) = self.next_line() {
            self.line += 1;
            let line = std::mem::take(&mut self.buffer);
            let read = match self.syntax.clone() {
                Syntax::Words { lines_per_job, records } => self.read_words(&line[from..to], lines_per_job, records),
                Syntax::Raw { words_per_job, columns, room, .. } => {
                    self.read_raw(&line[from..to], columns.as_ref(), words_per_job, room)
                }
            };
            self.buffer = line;
            if self.begin > BUFFER_KEPT {
                self.forget_used();
            }
            if let Some(item) = read? {
                return Ok(Some(item));
            }
        }
        if self.buffer.len() - self.begin > LINE_BYTES_MAX {
            self.line += 1;
            return Err(ListCause::LineTooLong);
        }
        if self.is_ended && self.begin == self.buffer.len() && (self.lines_joined > 0 || self.goes_on) {
            return self.finish_last();
        }
        Ok(None)
    }

    fn terminator(&self) -> u8 {
        match &self.syntax {
            Syntax::Words { .. } => b'\n',
            Syntax::Raw { terminator, .. } => *terminator,
        }
    }

    /// Where the next line is, without its end. The last one needs none.
    fn next_line(&mut self) -> Option<(usize, usize)> {
        let terminator = self.terminator();
        let begin = self.begin;
        let found = self.buffer[self.searched..].iter().position(|&byte| byte == terminator);
        match found {
            Some(offset) => {
                let end = self.searched + offset;
                (self.begin, self.searched) = (end + 1, end + 1);
                Some((begin, end))
            }
            None if self.is_ended && begin < self.buffer.len() => {
                (self.begin, self.searched) = (self.buffer.len(), self.buffer.len());
                self.is_open = true;
                Some((begin, self.buffer.len()))
            }
            None => {
                self.searched = self.buffer.len();
                None
            }
        }
    }

    fn read_words(&mut self, line: &[u8], per_job: usize, records: JsonRecords) -> Result<Option<ListItem>, ListCause> {
        if records == JsonRecords::Read && self.under_way.is_empty() && begins_a_record(line) {
            self.goes_on = false;
            let mut spec = record::parse(line, self.utility).map_err(ListCause::Record)?;
            self.number += 1;
            spec.number = self.number;
            return Ok(Some(ListItem::Job(spec)));
        }
        let fed = self.under_way.feed(line).map_err(ListCause::Words)?;
        self.goes_on = fed == Fed::GoesOn || (self.goes_on && fed == Fed::Comment);
        // Of a comment it is the comment that has no end, not the line before it.
        self.is_open &= fed != Fed::Comment;
        match fed {
            Fed::Comment | Fed::GoesOn => Ok(None),
            Fed::Barrier => {
                let job = self.finish_job()?;
                self.barrier_is_due = job.is_some();
                Ok(job.or(Some(ListItem::Barrier)))
            }
            Fed::Complete => {
                self.lines_joined += 1;
                if self.lines_joined >= per_job { self.finish_job() } else { Ok(None) }
            }
        }
    }

    fn read_raw(
        &mut self,
        line: &[u8],
        columns: Option<&Columns>,
        words_per_job: usize,
        room: ArgumentRoom,
    ) -> Result<Option<ListItem>, ListCause> {
        if line.is_empty() && self.utility == Utility::InTheList {
            return Ok(None);
        }
        let bytes = match columns {
            Some(columns) if room.bytes > 0 => columns.divide(line).into_iter().map(|word| room.taken_by(word)).sum(),
            _ => room.taken_by(line),
        };
        let overflows = self.lines_joined > 0 && room.is_exceeded_by(self.words_bytes + bytes);
        let full = if overflows { self.finish_job()? } else { None };
        match columns {
            Some(columns) => columns.divide(line).into_iter().try_for_each(|word| self.under_way.take_raw(word)),
            None => self.under_way.take_raw(line),
        }
        .map_err(ListCause::Words)?;
        self.lines_joined += 1;
        self.words_bytes += bytes;
        match full {
            Some(item) => Ok(Some(item)),
            None if self.lines_joined >= words_per_job => self.finish_job(),
            None => Ok(None),
        }
    }

    /// The job that the list ends in the middle of: what there is of it.
    fn finish_last(&mut self) -> Result<Option<ListItem>, ListCause> {
        if self.goes_on && !self.takes_open {
            return Err(ListCause::GoesOn);
        }
        if std::mem::take(&mut self.goes_on) && self.is_open {
            // COMPAT: a backslash that no line end follows is a word.
            self.under_way.take_last_backslash().map_err(ListCause::Words)?;
        }
        self.finish_job()
    }

    fn finish_job(&mut self) -> Result<Option<ListItem>, ListCause> {
        self.under_way.end().map_err(ListCause::Words)?;
        self.lines_joined = 0;
        self.words_bytes = 0;
        let (words, more) = self.under_way.take();
        let redirects =
            more.as_ref().is_some_and(|more| more.stdin.is_some() || more.stdout.is_some() || more.stderr.is_some());
        if words.is_empty() && !(redirects && self.utility == Utility::Given) {
            return if redirects { Err(ListCause::NothingToRun) } else { Ok(None) };
        }
        self.number += 1;
        Ok(Some(ListItem::Job(Spec { number: self.number, words, more })))
    }
}

/// `{"`, with blanks before and between them or not. No program is called `{`.
fn begins_a_record(line: &[u8]) -> bool {
    line.trim_ascii_start().strip_prefix(b"{").is_some_and(|rest| rest.trim_ascii_start().starts_with(b"\""))
}

/// Jobs made from the values on the command line (`:::`): all combinations, or side by side (`:::+`, `--link`).
#[derive(Debug)]
pub struct Combinations {
    /// Groups of sources; those within a group go side by side.
    groups: Vec<Group>,
    /// Combinations that have been taken.
    taken: u64,
    jobs: u64,
    bundle: Bundle,
    /// What divides a value into words, if anything does.
    columns: Option<Columns>,
}

/// How many combinations, or lines, make a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bundle {
    /// At most so many.
    pub count: usize,
    /// Room for their words.
    pub room: ArgumentRoom,
}

#[derive(Debug)]
struct Group {
    pairing: Pairing,
    sources: Vec<Vec<Vec<u8>>>,
}

impl Group {
    fn rows(&self) -> usize {
        let lengths = self.sources.iter().map(Vec::len);
        let rows = if self.pairing == Pairing::Linked { lengths.max() } else { lengths.min() };
        rows.unwrap_or(0)
    }
}

impl Combinations {
    /// Of sources, each with how it goes with the one before.
    pub fn new(sources: Vec<(Pairing, Vec<Vec<u8>>)>, bundle: Bundle) -> Self {
        let mut groups: Vec<Group> = Vec::new();
        for (pairing, values) in sources {
            match groups.last_mut().filter(|_| pairing != Pairing::Each) {
                Some(group) => {
                    group.pairing = pairing;
                    group.sources.push(values);
                }
                None => groups.push(Group { pairing: Pairing::Each, sources: vec![values] }),
            }
        }
        Self { groups, taken: 0, jobs: 0, bundle, columns: None }
    }

    /// The same, with values that `columns` divides into words.
    #[must_use]
    pub fn divided_at(self, columns: Option<Columns>) -> Self {
        Self { columns, ..self }
    }

    /// How many jobs there are; not known where their bytes decide.
    pub fn total(&self) -> Option<u64> {
        (self.bundle.room.bytes == 0).then(|| self.combinations().div_ceil(self.bundle.count as u64))
    }

    fn combinations(&self) -> u64 {
        if self.groups.is_empty() {
            return 0;
        }
        // LIMIT: of more than can be counted the first ones are made.
        self.groups.iter().fold(1, |product: u64, group| product.saturating_mul(group.rows() as u64))
    }

    /// The next job; the last source changes fastest.
    pub fn next_item(&mut self) -> Option<ListItem> {
        let (mut words, mut count, mut bytes, all) = (sys::spawn::Words::default(), 0, 0, self.combinations());
        while self.taken < all && count < self.bundle.count {
            let values = self.values(self.taken).into_iter().flat_map(|value| match &self.columns {
                None => vec![value],
                Some(columns) => columns.divide(value),
            });
            let values: Vec<&[u8]> = values.collect();
            bytes += values.iter().map(|value| self.bundle.room.taken_by(value)).sum::<usize>();
            if count > 0 && self.bundle.room.is_exceeded_by(bytes) {
                break;
            }
            for value in values {
                // Words of the command line have no NUL, and files with one are refused.
                let _never_refused = words.push(value);
            }
            (self.taken, count) = (self.taken + 1, count + 1);
        }
        if count == 0 {
            return None;
        }
        self.jobs += 1;
        Some(ListItem::Job(Spec { number: self.jobs, words, more: None }))
    }

    fn values<'a>(&'a self, combination: u64) -> Vec<&'a [u8]> {
        let (mut rest, mut rows) = (combination, Vec::new());
        for group in self.groups.iter().rev() {
            let count = group.rows() as u64;
            rows.push((rest % count) as usize);
            rest /= count;
        }
        let mut values = Vec::new();
        for (group, row) in self.groups.iter().zip(rows.into_iter().rev()) {
            let value =
                |source: &'a Vec<Vec<u8>>| source.get(row % source.len().max(1)).map_or(&b""[..], Vec::as_slice);
            values.extend(group.sources.iter().map(value));
        }
        values
    }
}

/// How a source goes with the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairing {
    /// `:::`: each of its values with each combination before.
    Each,
    /// `:::+`: its first value with the first before, its second with the second; what the longer has more is left out.
    SideBySide,
    /// `--link`: the same, but the shorter begins again.
    Linked,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PLAIN: Syntax = Syntax::Words { lines_per_job: 1, records: JsonRecords::Read };

    fn raw(terminator: u8) -> Syntax {
        Syntax::Raw { terminator, words_per_job: 1, columns: None, room: ArgumentRoom::default() }
    }

    fn items(syntax: Syntax, utility: Utility, pieces: &[&[u8]]) -> Result<Vec<String>, String> {
        let mut reader = ListReader::new(syntax, utility);
        let mut found = Vec::new();
        let mut drain = |reader: &mut ListReader| -> Result<(), String> {
            while let Some(item) = reader.next_item().map_err(|fault| format!("{fault}: {}", fault.cause))? {
                found.push(match item {
                    ListItem::Barrier => "%%".to_owned(),
                    ListItem::Job(spec) => {
                        let words: Vec<_> = spec.words.iter().map(|word| String::from_utf8_lossy(word)).collect();
                        format!("{}:{}", spec.number, words.join("|"))
                    }
                });
            }
            Ok(())
        };
        for piece in pieces {
            reader.put(piece);
            drain(&mut reader)?;
        }
        reader.end();
        drain(&mut reader)?;
        assert!(reader.is_exhausted());
        Ok(found)
    }

    /// As Debian's xjobs has it: what there is of the last job is run, and a backslash without a line end behind it is a word.
    #[test]
    fn a_list_that_ends_in_a_continuation_loses_no_job() {
        let of = |list: &[u8]| items(PLAIN, Utility::InTheList, &[list]);
        for (list, expected) in [
            (&b"a\nb \\\n"[..], &["1:a", "2:b"][..]),
            (b"a\nb \\", &["1:a", "2:b|\\"]),
            (b"a\nb \\\n#c\n", &["1:a", "2:b"]),
            (b"a\nb \\\n#c", &["1:a", "2:b"]),
            (b"a\nb \\\n\n", &["1:a", "2:b"]),
            (b"a\n\\\n", &["1:a"]),
            (b"a\n\\", &["1:a", "2:\\"]),
        ] {
            assert_eq!(of(list).expect("good"), expected, "{:?}", String::from_utf8_lossy(list));
        }
        let fault = |list: &[u8]| of(list).expect_err("something is missing");
        assert!(fault(b"a\n\"b \\\n").ends_with("has no end"), "{}", fault(b"a\n\"b \\\n"));
        assert!(fault(b"a\nb > \\\n").ends_with("a file name is needed behind >"));

        let mut sent = ListReader::new(PLAIN, Utility::InTheList);
        sent.put(b"a\nb \\\n");
        assert_eq!(sent.end_at_line(), UnfinishedLine::None);
        assert!(matches!(sent.next_item(), Ok(Some(ListItem::Job(_)))));
        assert!(matches!(sent.next_item(), Err(ListFault { cause: ListCause::GoesOn, .. })));
        assert!(sent.is_exhausted());
    }

    #[test]
    fn lines_become_jobs_however_they_arrive() {
        let list = b"a b\n#c\n\n%%\nd \\\ne\n \t{ \"argv\":[\"f g\"]}\nh";
        let expected = ["1:a|b", "%%", "2:d|e", "3:f g", "4:h"];
        assert_eq!(items(PLAIN, Utility::InTheList, &[list]).expect("good"), expected);
        let bytes: Vec<&[u8]> = list.chunks(1).collect();
        assert_eq!(items(PLAIN, Utility::InTheList, &bytes).expect("good"), expected);
    }

    #[test]
    fn several_lines_make_a_job() {
        let two = Syntax::Words { lines_per_job: 2, records: JsonRecords::Read };
        let joined = |text: &[u8]| items(two.clone(), Utility::Given, &[text]).expect("good");
        assert_eq!(joined(b"a\nb\nc\n"), ["1:a|b", "2:c"]);
        assert_eq!(joined(b"a\n# x\nd\ne\n"), ["1:a|d", "2:e"]);
        assert_eq!(joined(b"a\n\nb\n"), ["1:a", "2:b"]);
        assert_eq!(joined(b"a\n%%\nb\nc\n"), ["1:a", "%%", "2:b|c"]);
    }

    #[test]
    fn raw_words_are_taken_as_they_are() {
        let plain = items(raw(b'\n'), Utility::Given, &[b"a b\n\"c\\\n#d\n%%\n e"]).expect("good");
        assert_eq!(plain, ["1:a b", "2:\"c\\", "3:#d", "4:%%", "5: e"]);
        assert_eq!(items(raw(0), Utility::Given, &[b"a\nb\0\0c"]).expect("good"), ["1:a\nb", "2:", "3:c"]);
        let columns = Syntax::Raw {
            terminator: b'\n',
            words_per_job: 1,
            columns: Some(Columns::parse(", ").expect("a text")),
            room: ArgumentRoom::default(),
        };
        assert_eq!(items(columns, Utility::Given, &[b"a, b,c, \n"]).expect("good"), ["1:a|b,c|"]);
        let fitting = Syntax::Raw {
            terminator: b'\n',
            words_per_job: usize::MAX,
            columns: None,
            room: ArgumentRoom::of_words(30),
        };
        assert_eq!(items(fitting, Utility::Given, &[b"a\nb\nc\nd\n"]).expect("good"), ["1:a|b|c", "2:d"]);
    }

    #[test]
    fn faults_name_the_line_and_end_the_list() {
        let fault = |text: &[u8]| items(PLAIN, Utility::InTheList, &[text]).expect_err("a fault");
        assert_eq!(fault(b"a\n\nb \"c\n"), "line 3: column 3: the quotation that begins here has no end");
        assert_eq!(fault(b"> o\n"), "line 1: there are redirections and nothing to run");
        assert!(fault(b"{\"argv\":}\n").starts_with("line 1: this is no job record"));
        let mut reader = ListReader::new(PLAIN, Utility::InTheList);
        reader.put(b"\"\nb\n");
        reader.end();
        assert!(reader.next_item().is_err());
        assert_eq!(reader.next_item().expect("no second fault"), None);
    }

    #[test]
    fn values_combine() {
        let value = |list: &[&str]| list.iter().map(|word| word.as_bytes().to_vec()).collect::<Vec<_>>();
        let bundled = |sources, count, bytes| {
            let mut combinations = Combinations::new(sources, Bundle { count, room: ArgumentRoom::of_words(bytes) });
            let (mut found, total) = (Vec::new(), combinations.total());
            while let Some(ListItem::Job(spec)) = combinations.next_item() {
                found.push(spec.words.iter().map(String::from_utf8_lossy).collect::<Vec<_>>().join(""));
            }
            assert!(total.is_none_or(|total| total == found.len() as u64));
            found
        };
        let all = |sources| bundled(sources, 1, 0);
        let each = vec![(Pairing::Each, value(&["a", "b"])), (Pairing::Each, value(&["1", "2"]))];
        assert_eq!(all(each.clone()), ["a1", "a2", "b1", "b2"]);
        assert_eq!(bundled(each.clone(), 3, 0), ["a1a2b1", "b2"]);
        assert_eq!(bundled(each, usize::MAX, 45), ["a1a2", "b1b2"], "two words of one byte take 20");
        let beside = |pairing| vec![(Pairing::Each, value(&["a", "b", "c"])), (pairing, value(&["1", "2"]))];
        assert_eq!(all(beside(Pairing::Linked)), ["a1", "b2", "c1"]);
        assert_eq!(all(beside(Pairing::SideBySide)), ["a1", "b2"]);
        assert_eq!(all(vec![(Pairing::Each, value(&["a"])), (Pairing::Each, Vec::new())]), [""; 0]);
    }

    proptest! {
        #[test]
        fn cutting_the_input_anywhere_changes_nothing(text in "[ab\\\\\"' \n#%>]{0,40}", at in 0_usize..40) {
            let at = at.min(text.len());
            let whole = items(PLAIN, Utility::Given, &[text.as_bytes()]);
            let cut = items(PLAIN, Utility::Given, &[&text.as_bytes()[..at], &text.as_bytes()[at..]]);
            prop_assert_eq!(whole, cut);
        }
    }
}
