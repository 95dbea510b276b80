//! Checking manifests: each line's file is digested and compared. Reports in the words of the name that was typed; `judged` counts.

mod extra;
mod judged;

use crate::hands::{DigestHands, RunWidth, room};
use crate::print::what;
use crate::report::{DigestReport, report};
use crate::request::{Judging, SumRequest, ToolVoice};
use crate::words::{SumWords, quoted, shell_quoted, shown};
use digests::manifest::{ManifestEntry, ManifestLine, ManifestLines, ManifestRead, ManifestReader};
use digests::{DigestItem, DigestTally, Digested, Digesting, digest_all};
use extra::NamesSeen;
pub use judged::CheckCounts;
use judged::{CheckTotals, ManifestJudged};
use mh_kit::context::Context;
use mh_kit::failure::{Failure, Outcome, with_causes};
use mh_kit::report::counted;
use parking_lot::Mutex;
use std::fs::File;
use std::io::Read;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use terminal::Progress;

/// Checks all manifests; whether everything is as it should be.
pub fn check(context: &Context, request: &SumRequest, judging: &Judging, width: &RunWidth) -> Result<Outcome, Failure> {
    check_by(context, request, judging, width, None)
}

/// What has checked the files of a manifest, by its place: prints their lines and returns what came of them.
pub type CheckedElsewhere<'a> = dyn Fn(usize) -> Result<CheckCounts, Failure> + 'a;

/// Concludes a check whose files have been checked elsewhere.
pub fn conclude_elsewhere(
    context: &Context,
    request: &SumRequest,
    judging: &Judging,
    elsewhere: &CheckedElsewhere<'_>,
) -> Result<Outcome, Failure> {
    let width = crate::hands::width(context, request, None);
    check_by(context, request, judging, &width, Some(elsewhere))
}

/// Checks entries that were read before. Their lines are printed, and nothing is concluded.
pub fn check_entries(
    context: &Context,
    request: &mut SumRequest,
    judging: &Judging,
    entries: Vec<ManifestEntry>,
) -> Result<(Outcome, CheckCounts), Failure> {
    request.shared.settle(&context.settings.crew);
    let (request, width) = (&*request, crate::hands::width(context, request, None));
    let words = SumWords::new(context, request);
    let hands = DigestHands::new(context, request, &width, what(request));
    let (tally, ahead) = (Arc::new(DigestTally::default()), Ahead::default());
    let run =
        Run { request, judging, words: &words, width: &width, hands: &hands, tally: &tally, ahead: &ahead, seen: None };
    let judged = Mutex::new(ManifestJudged::default());
    let mut entries = entries.into_iter();
    let mut next = || entries.next().map(|entry| run.item(entry));
    let mut sink = |item: &DigestItem, result: Result<Digested, digests::DigestError>| {
        run.judge(&mut judged.lock(), "the manifest", item, result);
    };
    let how = Digesting { width: width.workers, room: room(request, width.workers), tally: &tally };
    digest_all(&how, &mut next, &mut sink, hands.lease.as_ref());
    words.finish()?;
    let counts = judged.into_inner().counts();
    let is_good = counts.mismatched + counts.unreadable == 0;
    Ok((if is_good { Outcome::Done } else { Outcome::Partial }, counts))
}

fn check_by(
    context: &Context,
    request: &SumRequest,
    judging: &Judging,
    width: &RunWidth,
    elsewhere: Option<&CheckedElsewhere<'_>>,
) -> Result<Outcome, Failure> {
    let words = SumWords::new(context, request);
    let hands = DigestHands::new(context, request, width, what(request));
    let tally = Arc::new(DigestTally::default());
    let ahead = Arc::new(Ahead::of(request));
    let progress = progress(context, judging, &tally, &ahead);
    let mut run =
        Run { request, judging, words: &words, width, hands: &hands, tally: &tally, ahead: &ahead, seen: None };
    run.seen = judging.exact.as_ref().map(|_| Mutex::new(NamesSeen::default()));
    let (mut totals, mut measures) = (CheckTotals::default(), None);
    for (place, manifest) in request.files.iter().enumerate() {
        let (judged, measured) = match elsewhere {
            None => run.manifest(manifest),
            Some(elsewhere) => (run.manifest_elsewhere(manifest, || elsewhere(place))?, None),
        };
        totals.add(&judged, judging);
        measures = measured.or(measures);
    }
    if let (Some(seen), Some(directory)) = (&run.seen, &judging.exact) {
        totals.add_extra(seen.lock().report_extra(&words, request, judging, directory));
    }
    drop(progress);
    if request.voice == ToolVoice::Own && judging.says > crate::request::Says::Nothing {
        totals.conclude(&words);
    }
    if let Some(measures) = measures {
        let finished = DigestReport {
            verb: "verified",
            files: totals.files,
            failed: totals.failed(),
            measures,
            width,
            hands_from: hands.from(),
        };
        report(context, request, &finished);
    }
    words.finish()?;
    Ok(if totals.is_good { Outcome::Done } else { Outcome::Partial })
}

/// How far the manifests have been read, which is ahead of the checks by a window at most.
#[derive(Default)]
struct Ahead {
    entries: AtomicU64,
    bytes: AtomicU64,
    /// Bytes of all manifests, where they are files.
    of_bytes: Option<u64>,
}

impl Ahead {
    fn of(request: &SumRequest) -> Self {
        use std::os::unix::ffi::OsStrExt;
        let size = |name: &Vec<u8>| {
            let metadata = std::fs::metadata(Path::new(std::ffi::OsStr::from_bytes(name))).ok()?;
            metadata.is_file().then_some(metadata.len())
        };
        Self { of_bytes: request.files.iter().map(size).sum(), ..Self::default() }
    }

    /// The share of the entries that `done` is: how many there are is guessed from those read so far.
    fn share(&self, done: u64) -> Option<f64> {
        let (entries, bytes) = (self.entries.load(Ordering::Relaxed), self.bytes.load(Ordering::Relaxed));
        let all = entries as f64 * self.of_bytes? as f64 / bytes.max(1) as f64;
        (entries > 0).then(|| (done as f64 / all.max(1.0)).min(1.0))
    }
}

fn progress(context: &Context, judging: &Judging, tally: &Arc<DigestTally>, ahead: &Arc<Ahead>) -> Option<Progress> {
    if judging.says == crate::request::Says::Nothing {
        return None;
    }
    let (tally, ahead) = (Arc::clone(tally), Arc::clone(ahead));
    Some(Progress::start_lines(&context.messages, move |elapsed| {
        let (files, bytes) = (tally.files(), tally.bytes());
        let share =
            ahead.share(files).map_or(String::new(), |share| format!("{}  ", terminal::percentage_whole(share)));
        let rate = terminal::rate(bytes as f64 / elapsed.as_secs_f64().max(1e-3));
        vec![format!("verified {share}{}  {}  {rate}", counted(files, "file"), terminal::bytes(bytes))]
    }))
}

/// What the check of each manifest needs.
struct Run<'a> {
    request: &'a SumRequest,
    judging: &'a Judging,
    words: &'a SumWords,
    width: &'a RunWidth,
    hands: &'a DigestHands,
    tally: &'a Arc<DigestTally>,
    ahead: &'a Ahead,
    /// Names of all lines, where files that none names are reported.
    seen: Option<Mutex<NamesSeen>>,
}

/// A manifest as messages name it, open.
struct OpenManifest {
    shown: String,
    is_stdin: bool,
    lines: ManifestLines<Box<dyn Read + Send>>,
    /// Bytes of lines that progress knows of.
    counted_bytes: u64,
}

impl OpenManifest {
    /// What the next line is; none at the end.
    fn read(&mut self, reader: &mut ManifestReader) -> std::io::Result<Option<ManifestRead>> {
        reader.lines_end_with(self.lines.end()?);
        Ok(self.lines.read()?.map(|line| match line {
            ManifestLine::Whole(line) => reader.read(line),
            ManifestLine::TooLong => ManifestRead::Misformatted,
        }))
    }
}

impl Run<'_> {
    /// Checks one manifest.
    fn manifest(&self, name: &[u8]) -> (ManifestJudged, Option<crew::measures::Measures>) {
        let Some(mut manifest) = self.open(name) else { return (ManifestJudged::unreadable(), None) };
        let judged = Mutex::new(ManifestJudged::default());
        let mut reader = ManifestReader::new(self.judging.rules);
        if self.request.voice == ToolVoice::Own {
            reader = reader.only(&self.request.algorithms);
        }
        let shown_name = manifest.shown.clone();
        let mut next = || self.next(&mut manifest, &mut reader, &judged);
        let mut sink = |item: &DigestItem, result: Result<Digested, digests::DigestError>| {
            let mut judged = judged.lock();
            judged.warn_before(self.words, &shown_name, self.request.voice);
            self.judge(&mut judged, &shown_name, item, result);
        };
        let how =
            Digesting { width: self.width.workers, room: room(self.request, self.width.workers), tally: self.tally };
        let measures = digest_all(&how, &mut next, &mut sink, self.hands.lease.as_ref());
        let mut judged = judged.into_inner();
        judged.warn_rest(self.words, &shown_name, self.request.voice);
        judged.conclude(self.words, self.judging, self.request.voice, &shown_name);
        (judged, Some(measures))
    }

    /// Reads one manifest whose files have been checked elsewhere.
    fn manifest_elsewhere(
        &self,
        name: &[u8],
        elsewhere: impl FnOnce() -> Result<CheckCounts, Failure>,
    ) -> Result<ManifestJudged, Failure> {
        let Some(mut manifest) = self.open(name) else { return Ok(ManifestJudged::unreadable()) };
        let judged = Mutex::new(ManifestJudged::default());
        let mut reader = ManifestReader::new(self.judging.rules).only(&self.request.algorithms);
        while self.next(&mut manifest, &mut reader, &judged).is_some() {}
        let mut judged = judged.into_inner();
        if !judged.add(elsewhere()?) {
            let message = format!("check {} to its end: it has changed since it was divided", manifest.shown);
            return Err(Failure::Environment { command: crate::words::NAME, message });
        }
        judged.conclude(self.words, self.judging, self.request.voice, &manifest.shown);
        Ok(judged)
    }

    /// The file of a line.
    fn item(&self, entry: ManifestEntry) -> DigestItem {
        DigestItem {
            algorithms: Arc::new([entry.algorithm]),
            expected: Some(entry.value),
            ..self.request.item(entry.name)
        }
    }

    fn open(&self, name: &[u8]) -> Option<OpenManifest> {
        use std::os::unix::ffi::OsStrExt;
        let is_stdin = name == b"-";
        let opened = if is_stdin {
            std::io::stdin().as_fd().try_clone_to_owned().map(File::from)
        } else {
            File::open(Path::new(std::ffi::OsStr::from_bytes(name)))
        };
        let quoted_name = |name: &[u8]| match self.request.voice {
            ToolVoice::Own => quoted(name),
            ToolVoice::Coreutils => shell_quoted(name),
            _ => shown(name),
        };
        let shown = if is_stdin { quoted_name(b"standard input") } else { quoted_name(name) };
        match opened {
            Ok(file) => {
                if let Some(seen) = &self.seen {
                    seen.lock().is_no_extra(&file);
                }
                let lines = ManifestLines::new(Box::new(file) as Box<dyn Read + Send>, self.judging.line_end);
                Some(OpenManifest { shown, is_stdin, lines, counted_bytes: 0 })
            }
            Err(error) => {
                let cause = with_causes(&error);
                match self.request.voice {
                    ToolVoice::Own => self.words.error(&format!("open the manifest {shown}: {cause}")),
                    ToolVoice::Xxhsum => self.words.say_plainly(&format!("Error: Could not open '{shown}': {cause}")),
                    ToolVoice::B3sum => self.words.say(&error.to_string()),
                    _ => self.words.say(&format!("{shown}: {cause}")),
                }
                None
            }
        }
    }

    /// The next line's file.
    fn next(
        &self,
        manifest: &mut OpenManifest,
        reader: &mut ManifestReader,
        judged: &Mutex<ManifestJudged>,
    ) -> Option<DigestItem> {
        loop {
            let read = match manifest.read(reader) {
                Ok(read) => read?,
                Err(error) => {
                    judged.lock().manifest_broke(error);
                    return None;
                }
            };
            match read {
                ManifestRead::Nothing => {}
                // COMPAT: standard input cannot be both.
                ManifestRead::Entry(entry) if !(manifest.is_stdin && entry.name == b"-") => {
                    self.ahead.entries.fetch_add(1, Ordering::Relaxed);
                    self.ahead.bytes.fetch_add(manifest.lines.bytes() - manifest.counted_bytes, Ordering::Relaxed);
                    manifest.counted_bytes = manifest.lines.bytes();
                    let guessed = entry.is_guessed.then_some(entry.algorithm);
                    let item = self.item(entry);
                    self.seen.iter().for_each(|seen| seen.lock().add(&item.name));
                    judged.lock().entry(guessed, self.request.voice);
                    return Some(item);
                }
                _ if self.judging.warns => {
                    let line = manifest.lines.number();
                    judged.lock().misformatted_and_told(line, self.words, &manifest.shown, self.request.voice);
                }
                _ => judged.lock().misformatted(),
            }
        }
    }

    fn judge(
        &self,
        judged: &mut ManifestJudged,
        manifest: &str,
        item: &DigestItem,
        result: Result<Digested, digests::DigestError>,
    ) {
        judged.done += 1;
        match result {
            Ok(digested) if digested.values.first() == item.expected.as_ref() => {
                judged.matched += 1;
                judged.say(self, item, judged::FileFate::Good, None);
            }
            Ok(digested) => {
                judged.mismatched += 1;
                judged.say(self, item, judged::FileFate::Changed, digested.values.first());
            }
            Err(error) if error.is_missing() && self.judging.ignores_missing => judged.ignored += 1,
            Err(error) => {
                judged.unreadable += 1;
                judged.missing += u64::from(error.is_missing());
                judged.say_unreadable(self, manifest, item, &error);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_guesses_how_many_lines_there_are() {
        let ahead = Ahead { of_bytes: Some(1000), ..Ahead::default() };
        assert_eq!(ahead.share(0), None, "nothing is known yet");
        ahead.entries.store(10, Ordering::Relaxed);
        ahead.bytes.store(500, Ordering::Relaxed);
        assert_eq!((ahead.share(5), ahead.share(20), ahead.share(30)), (Some(0.25), Some(1.0), Some(1.0)));
        assert_eq!(Ahead::default().share(3), None, "a pipe does not tell its length");
    }
}
