//! What came of the lines of a manifest: counts, and the words about them. Reads and digests nothing.

use super::Run;
use super::extra::Extra;
use crate::lines::JsonName;
use crate::request::{Judging, Says, ToolVoice};
use crate::words::{SumWords, quoted, shown};
use digests::algorithm::Algorithm;
use digests::manifest::{NameEscape, escaped_name};
use digests::value::DigestValue;
use digests::{DigestError, DigestItem};
use mh_kit::failure::with_causes;
use mh_kit::report::{counted, json_line};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::io;

/// LIMIT: reports that wait for the files of the lines before them; more come in front of these.
const WARNINGS_MAX: usize = 4096;

/// What came of the lines of one manifest.
#[derive(Default)]
pub struct ManifestJudged {
    entries: u64,
    misformatted: u64,
    /// Entries whose result has been reported.
    pub done: u64,
    /// Files as they should be.
    pub matched: u64,
    /// Files that are otherwise.
    pub mismatched: u64,
    /// Files that could not be read, those that are not there among them.
    pub unreadable: u64,
    /// Files that are not there.
    pub missing: u64,
    /// The same, where they are passed over.
    pub ignored: u64,
    /// Misformatted lines that are to be reported, each behind so many entries.
    warnings: VecDeque<(u64, u64)>,
    /// Why the manifest could not be read to its end.
    broken: Option<io::Error>,
    could_not_be_opened: bool,
    /// The first algorithm that was guessed.
    guessed: Option<Algorithm>,
}

/// What came of files that were checked elsewhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckCounts {
    pub done: u64,
    pub matched: u64,
    pub mismatched: u64,
    pub unreadable: u64,
    pub missing: u64,
    pub ignored: u64,
}

impl CheckCounts {
    /// Both together.
    pub fn and(self, other: Self) -> Self {
        Self {
            done: self.done + other.done,
            matched: self.matched + other.matched,
            mismatched: self.mismatched + other.mismatched,
            unreadable: self.unreadable + other.unreadable,
            missing: self.missing + other.missing,
            ignored: self.ignored + other.ignored,
        }
    }
}

/// What a file is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum FileFate {
    /// As it should be.
    Good,
    /// Not as it should be.
    Changed,
}

/// A file's result in JSON.
#[derive(Serialize)]
pub struct JsonJudged<'a> {
    #[serde(flatten)]
    name: JsonName,
    status: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    algorithm: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expected: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    found: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<String>,
}

impl<'a> JsonJudged<'a> {
    /// A file about which nothing else is known.
    pub fn new(name: &[u8], status: &'a str) -> Self {
        Self { name: JsonName::new(name), status, algorithm: None, expected: None, found: None, cause: None }
    }

    fn of(item: &DigestItem, status: &'a str) -> Self {
        let algorithm = item.algorithms.first().map(|algorithm| algorithm.name());
        let expected = item.expected.as_ref().map(DigestValue::hex);
        Self { algorithm, expected, ..Self::new(&item.name, status) }
    }
}

impl ManifestJudged {
    /// Of a manifest that could not be opened.
    pub fn unreadable() -> Self {
        Self { could_not_be_opened: true, ..Self::default() }
    }

    /// What came of the files.
    pub fn counts(&self) -> CheckCounts {
        let Self { done, matched, mismatched, unreadable, missing, ignored, .. } = *self;
        CheckCounts { done, matched, mismatched, unreadable, missing, ignored }
    }

    /// Adds what came of the files elsewhere. Whether they are those of the entries.
    pub fn add(&mut self, counts: CheckCounts) -> bool {
        let CheckCounts { done, matched, mismatched, unreadable, missing, ignored } = self.counts().and(counts);
        (self.done, self.matched, self.mismatched) = (done, matched, mismatched);
        (self.unreadable, self.missing, self.ignored) = (unreadable, missing, ignored);
        self.done == self.entries
    }

    /// An entry was read.
    pub fn entry(&mut self, guessed: Option<Algorithm>, voice: ToolVoice) {
        self.entries += 1;
        if voice == ToolVoice::Own {
            self.guessed = self.guessed.or(guessed);
        }
    }

    /// A line that is none was read.
    pub fn misformatted(&mut self) {
        self.misformatted += 1;
    }

    /// A line that is none was read, and is reported behind the files of the lines before it: at once, where all of them are done.
    pub fn misformatted_and_told(&mut self, line: u64, words: &SumWords, manifest: &str, voice: ToolVoice) {
        self.misformatted();
        self.warnings.push_back((self.entries, line));
        if self.done == self.entries || self.warnings.len() >= WARNINGS_MAX {
            self.warn_rest(words, manifest, voice);
        }
    }

    /// The manifest could not be read to its end.
    pub fn manifest_broke(&mut self, error: io::Error) {
        self.broken = Some(error);
    }

    /// Reports lines in front of the entry whose result comes next.
    pub fn warn_before(&mut self, words: &SumWords, manifest: &str, voice: ToolVoice) {
        while let Some((_, line)) = self.warnings.front().copied().filter(|(entries, _)| *entries <= self.done) {
            self.warnings.pop_front();
            warn(words, manifest, voice, line);
        }
    }

    /// Reports the rest of them.
    pub fn warn_rest(&mut self, words: &SumWords, manifest: &str, voice: ToolVoice) {
        self.warnings.drain(..).for_each(|(_, line)| warn(words, manifest, voice, line));
    }

    /// A file that could be read.
    pub(super) fn say(&self, run: &Run<'_>, item: &DigestItem, fate: FileFate, found: Option<&DigestValue>) {
        let least = if fate == FileFate::Good { Says::All } else { Says::Failures };
        if run.judging.says < least {
            return;
        }
        if run.request.is_json {
            let status = if fate == FileFate::Good { "ok" } else { "changed" };
            let judged = JsonJudged { found: found.map(DigestValue::hex), ..JsonJudged::of(item, status) };
            return run.words.put(json_line(&judged).as_bytes());
        }
        line(run, item, if fate == FileFate::Good { "OK" } else { "FAILED" });
    }

    /// A file that could not be read.
    pub(super) fn say_unreadable(&self, run: &Run<'_>, manifest: &str, item: &DigestItem, error: &DigestError) {
        let says = run.judging.says;
        if run.request.is_json && says == Says::Nothing {
            return;
        }
        if run.request.is_json {
            let status = if error.is_missing() { "missing" } else { "unreadable" };
            let cause = Some(with_causes(&error.cause()));
            run.words.put(json_line(&JsonJudged { cause, ..JsonJudged::of(item, status) }).as_bytes());
            return;
        }
        match run.request.voice {
            ToolVoice::B3sum => line(run, item, &format!("FAILED ({})", error.cause())),
            ToolVoice::Xxhsum if says > Says::Nothing => {
                let cause = with_causes(&error.cause());
                let name = shown(&item.name);
                let text = format!("{manifest}:{}: Could not open or read '{name}': {cause}.\n", self.done);
                run.words.put(text.as_bytes());
            }
            ToolVoice::Xxhsum => {}
            _ => {
                run.words.unreadable(&item.name, error);
                if says > Says::Nothing {
                    line(run, item, "FAILED open or read");
                }
            }
        }
    }

    /// Counts at the end of a manifest.
    pub fn conclude(&self, words: &SumWords, judging: &Judging, voice: ToolVoice, manifest: &str) {
        if let Some(error) = &self.broken {
            match voice {
                ToolVoice::Own => words.error(&format!("read the manifest {manifest}: {}", with_causes(error))),
                _ => return words.say(&format!("{manifest}: read error")),
            }
        }
        match voice {
            ToolVoice::Own => self.conclude_as_ourselves(words, judging, manifest),
            ToolVoice::Xxhsum => self.conclude_as_xxhsum(words, judging, manifest),
            ToolVoice::B3sum => {
                if self.mismatched + self.unreadable > 0 {
                    words.say(&format!("WARNING: {}", checksums(self.mismatched + self.unreadable)));
                }
            }
            _ => self.conclude_as_coreutils(words, judging, manifest),
        }
    }

    fn conclude_as_ourselves(&self, words: &SumWords, judging: &Judging, manifest: &str) {
        if self.entries == 0 && self.broken.is_none() {
            words.error(&format!("check the manifest {manifest}: no line of it is a checksum line"));
        } else if self.misformatted > 0 {
            let verb = if self.misformatted == 1 { "is" } else { "are" };
            words.warn(&format!("{} of {manifest} {verb} misformatted", counted(self.misformatted, "line")));
        }
        if judging.says == Says::Nothing {
            return;
        }
        if self.entries > 0 && judging.ignores_missing && self.matched == 0 {
            words.say(&format!("{manifest}: no file was verified"));
        }
        // One value that agrees shows that the guess was right.
        let guessed = self.guessed.filter(|_| self.mismatched > 0 && self.matched == 0);
        if let Some((usual, others)) = guessed.and_then(|guessed| Algorithm::of_digits(guessed.bytes() * 2)) {
            let others: Vec<String> = others.iter().map(|other| other.name()).collect();
            words.warn(&format!(
                "values of {} digits in {manifest} were taken for {}; -a decides otherwise ({})",
                usual.bytes() * 2,
                usual.name(),
                others.join(", ")
            ));
        }
    }

    /// COMPAT: the words of GNU's digest.c.
    fn conclude_as_coreutils(&self, words: &SumWords, judging: &Judging, manifest: &str) {
        if self.entries == 0 {
            return words.say(&format!("{manifest}: no properly formatted checksum lines found"));
        }
        if judging.says == Says::Nothing {
            return;
        }
        if self.misformatted > 0 {
            words.say(&format!("WARNING: {} improperly formatted", are(self.misformatted, "line")));
        }
        if self.unreadable > 0 {
            words.say(&format!("WARNING: {} could not be read", plain_count(self.unreadable, "listed file")));
        }
        if self.mismatched > 0 {
            words.say(&format!("WARNING: {}", checksums(self.mismatched)));
        }
        if judging.ignores_missing && self.matched == 0 {
            words.say(&format!("{manifest}: no file was verified"));
        }
    }

    /// COMPAT: xxhsum's words, on standard output.
    fn conclude_as_xxhsum(&self, words: &SumWords, judging: &Judging, manifest: &str) {
        if self.entries == 0 {
            return words.say_plainly(&format!("{manifest}: no properly formatted xxHash checksum lines found"));
        }
        if judging.says == Says::Nothing {
            return;
        }
        let lines = [
            (self.misformatted, format!("{} improperly formatted\n", are(self.misformatted, "line"))),
            (self.unreadable, format!("{} could not be read\n", plain_count(self.unreadable, "listed file"))),
            (self.mismatched, format!("{}\n", checksums(self.mismatched))),
        ];
        lines.iter().filter(|(count, _)| *count > 0).for_each(|(_, line)| words.put(line.as_bytes()));
    }

    /// Whether this manifest's check has gone well.
    fn is_good(&self, judging: &Judging) -> bool {
        let is_whole = !self.could_not_be_opened && self.broken.is_none() && self.entries > 0;
        let any_good = self.matched > 0 || !judging.ignores_missing;
        let is_strict = judging.is_strict && self.misformatted > 0;
        is_whole && any_good && !is_strict && self.mismatched + self.unreadable == 0
    }
}

/// `NAME: WORD`.
fn line(run: &Run<'_>, item: &DigestItem, word: &str) {
    let escapes = match run.request.voice {
        ToolVoice::Xxhsum | ToolVoice::Crc32 => NameEscape::None,
        ToolVoice::B3sum => NameEscape::NewLines,
        ToolVoice::Own | ToolVoice::Coreutils => escapes_of_status(&item.name),
    };
    run.words.put(&status_line(&item.name, escapes, word));
}

/// COMPAT: coreutils escapes a name in a status line only if it would make two lines of it.
fn escapes_of_status(name: &[u8]) -> NameEscape {
    if name.contains(&b'\n') { NameEscape::Lines } else { NameEscape::None }
}

fn status_line(name: &[u8], escapes: NameEscape, word: &str) -> Vec<u8> {
    let (name, is_escaped) = escaped_name(name, escapes);
    let begin: &[u8] = if is_escaped { b"\\" } else { b"" };
    [begin, &name, b": ", word.as_bytes(), b"\n"].concat()
}

fn warn(words: &SumWords, manifest: &str, voice: ToolVoice, line: u64) {
    match voice {
        ToolVoice::Own => words.warn(&format!("line {} of {manifest} is no checksum line", terminal::integer(line))),
        ToolVoice::Xxhsum => {
            words.say_plainly(&format!("{manifest}:{line}: Error: Improperly formatted checksum line."))
        }
        ToolVoice::B3sum => words.say("Short line"),
        ToolVoice::Coreutils | ToolVoice::Crc32 => words.say(&words.misformatted_line(manifest, line)),
    }
}

/// `1 line is`, `2 lines are`.
fn are(count: u64, noun: &str) -> String {
    format!("{} {}", plain_count(count, noun), if count == 1 { "is" } else { "are" })
}

/// Without separators, as the old tools count.
fn plain_count(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

fn checksums(count: u64) -> String {
    format!("{} did NOT match", plain_count(count, "computed checksum"))
}

/// What came of all manifests.
pub struct CheckTotals {
    /// Files whose lines were checked.
    pub files: u64,
    mismatched: u64,
    missing: u64,
    unreadable: u64,
    /// Files that no line names.
    extra: u64,
    /// Whether everything is as it should be.
    pub is_good: bool,
}

impl Default for CheckTotals {
    fn default() -> Self {
        Self { files: 0, mismatched: 0, missing: 0, unreadable: 0, extra: 0, is_good: true }
    }
}

impl CheckTotals {
    /// Adds a manifest.
    pub fn add(&mut self, judged: &ManifestJudged, judging: &Judging) {
        self.files += judged.done;
        self.mismatched += judged.mismatched;
        self.missing += judged.missing;
        self.unreadable += judged.unreadable - judged.missing;
        self.is_good &= judged.is_good(judging);
    }

    /// Adds what no line names. A directory that could not be listed has been reported; its contents are unknown.
    pub fn add_extra(&mut self, extra: Extra) {
        self.extra += extra.files;
        self.is_good &= extra.files + extra.unlisted == 0;
    }

    /// Files that are not as they should be.
    pub fn failed(&self) -> u64 {
        self.mismatched + self.missing + self.unreadable
    }

    /// The last line, where something is wrong.
    pub fn conclude(&self, words: &SumWords) {
        if self.failed() + self.extra == 0 {
            return;
        }
        let parts = [
            (self.mismatched, "changed"),
            (self.missing, "missing"),
            (self.unreadable, "unreadable"),
            (self.extra, "extra"),
        ];
        let parts = parts.iter().filter(|(count, _)| *count > 0);
        let parts: Vec<String> = parts.map(|(count, word)| format!("{} {word}", terminal::integer(*count))).collect();
        words.say(&format!("of {} listed: {}", counted(self.files, "file"), parts.join(", ")));
    }
}

/// A name that no line has.
pub fn say_extra(words: &SumWords, is_json: bool, name: &[u8]) {
    if is_json {
        return words.put(json_line(&JsonJudged::new(name, "extra")).as_bytes());
    }
    words.put(&status_line(name, escapes_of_status(name), "EXTRA"));
}

/// A directory that could not be listed.
pub fn say_unlisted(words: &SumWords, name: &[u8], error: &io::Error) {
    words.error(&format!("list the directory {}: {}", quoted(name), with_causes(error)));
}
