//! Printing values: of files, of trees, of standard input. Reports what could not be read and goes on.

use crate::hands::{DigestHands, RunWidth, room};
use crate::lines::JsonDigests;
use crate::report::{DigestReport, report};
use crate::request::{SumRequest, ToolVoice};
use crate::words::{SumWords, quoted};
use digests::walk::{FileWalk, Walked};
use digests::{DigestItem, DigestTally, Digested, Digesting, digest_all};
use files::{Directory, FileType, Follow, Identity, Status};
use mh_kit::context::Context;
use mh_kit::failure::{Failure, Outcome, with_causes};
use mh_kit::report::{counted, json_line};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use terminal::{Progress, ProgressSample};

/// Prints the values of all files; whether all of them could be read.
pub fn print(
    context: &Context,
    request: &SumRequest,
    width: &RunWidth,
    total_bytes: Option<u64>,
) -> Result<Outcome, Failure> {
    let words = SumWords::new(context, request);
    let hands = DigestHands::new(context, request, width, what(request));
    let tally = Arc::new(DigestTally::default());
    let mut names = NameSource::new(request);
    let mut failed = 0_u64;
    let progress = progress(context, &tally, total_bytes);
    let unlisted = AtomicU64::new(0);
    let mut next = || names.next(&words, &unlisted).map(|name| request.item(name));
    let mut sink = |item: &DigestItem, result: Result<Digested, digests::DigestError>| match result {
        Ok(digested) => show(&words, request, item, &digested),
        Err(error) => {
            failed += 1;
            words.unreadable(&item.name, &error);
        }
    };
    let how = Digesting { width: width.workers, room: room(request, width.workers), tally: &tally };
    let measures = digest_all(&how, &mut next, &mut sink, hands.lease.as_ref());
    drop(progress);
    if names.others > 0 {
        words.warn(&format!("left out {} without contents: links, FIFOs, devices", counted(names.others, "entry")));
    }
    let unlisted = unlisted.into_inner();
    let finished =
        DigestReport { verb: "digested", files: tally.files(), failed, measures, width, hands_from: hands.from() };
    report(context, request, &finished);
    words.finish()?;
    Ok(outcome(request, failed + unlisted))
}

/// COMPAT: crc32 ends well whatever it could not read.
fn outcome(request: &SumRequest, failed: u64) -> Outcome {
    match request.voice {
        ToolVoice::Crc32 => Outcome::Done,
        _ if failed == 0 => Outcome::Done,
        _ => Outcome::Partial,
    }
}

/// The name of the run in the list of runs.
pub fn what(request: &SumRequest) -> String {
    let names: Vec<String> = request.algorithms.iter().map(|algorithm| algorithm.name()).collect();
    let of = match request.files.as_slice() {
        [one] => String::from_utf8_lossy(one).into_owned(),
        many => counted(many.len() as u64, "argument"),
    };
    let how = if request.judging.is_some() { "-c".to_owned() } else { names.join(",") };
    format!("sum {how} {of}")
}

fn show(words: &SumWords, request: &SumRequest, item: &DigestItem, digested: &Digested) {
    let Digested { values, bytes } = digested;
    if request.is_json {
        return words.put(json_line(&JsonDigests::new(&item.name, *bytes, &item.algorithms, values)).as_bytes());
    }
    let name: &[u8] = match (request.voice, item.source) {
        // COMPAT: so xxhsum calls it.
        (ToolVoice::Xxhsum, digests::DigestSource::Stdin) => b"stdin",
        _ => &item.name,
    };
    for (algorithm, value) in item.algorithms.iter().zip(values) {
        words.put(&request.form.line(name, *algorithm, value, *bytes));
    }
}

/// Shown where nothing else goes to the terminal.
fn progress(context: &Context, tally: &Arc<DigestTally>, total_bytes: Option<u64>) -> Option<Progress> {
    if context.terminals.stdout {
        return None;
    }
    let tally = Arc::clone(tally);
    Some(Progress::start(&context.messages, move || ProgressSample {
        label: counted(tally.files(), "file"),
        done_bytes: tally.bytes(),
        total_bytes,
        hands: Some(tally.hands()),
        ..ProgressSample::default()
    }))
}

/// The names of all files, those below directories where that is asked for.
pub struct NameSource<'a> {
    typed: std::slice::Iter<'a, Vec<u8>>,
    is_recursive: bool,
    left_out: Option<Identity>,
    walk: Option<FileWalk>,
    /// Entries without contents.
    pub others: u64,
    /// The file that lines are written to, if they go to one: its value would be that of a half-written file.
    output: Option<Identity>,
}

impl<'a> NameSource<'a> {
    /// Of a request.
    pub fn new(request: &'a SumRequest) -> Self {
        let output = Status::of(std::io::stdout()).ok().filter(|status| status.file_type() == FileType::Regular);
        let output = output.map(|status| status.identity());
        Self {
            typed: request.files.iter(),
            is_recursive: request.is_recursive,
            left_out: request.left_out,
            walk: None,
            others: 0,
            output,
        }
    }

    fn is_output(&self, path: &[u8]) -> bool {
        let found = self.output.and_then(|_| Directory::here().status(path, Follow::No).ok());
        found.is_some_and(|status| Some(status.identity()) == self.output)
    }

    /// The next one. Directories that cannot be listed are reported and counted.
    pub fn next(&mut self, words: &SumWords, unlisted: &AtomicU64) -> Option<Vec<u8>> {
        loop {
            match self.walk.as_mut().and_then(Iterator::next) {
                Some(Walked::File(path)) if self.is_output(&path) => {
                    words.warn(&format!("left out {}: it is the output", quoted(&path)));
                }
                Some(Walked::File(path)) => return Some(path),
                Some(Walked::Other(_)) => self.others += 1,
                Some(Walked::Failed(path, error)) => {
                    unlisted.fetch_add(1, Ordering::Relaxed);
                    words.error(&format!("list the directory {}: {}", quoted(&path), with_causes(&error)));
                }
                None => {
                    let typed = self.typed.next()?;
                    if !self.is_recursive || typed == b"-" {
                        return Some(typed.clone());
                    }
                    self.walk = Some(FileWalk::new(typed).leaving_out(self.left_out));
                }
            }
        }
    }
}
