//! b3sum: its options and forms. Keyed hashing, key derivation and other lengths than 32 bytes are not there.

use super::options::{Known, Word, flag, read, valued};
use super::{OldRequest, version};
use crate::lines::{LineForm, LineOrder};
use crate::request::{Judging, Says, SumRequest, ToolVoice};
use crate::sum::without_options;
use digests::algorithm::Algorithm;
use digests::manifest::{LineEnd, ManifestRules, NameEscape, Tags, Untagged};

const KNOWN: &[Known] = &[
    flag(b'c', "check"),
    flag(b'h', "help"),
    flag(b'V', "version"),
    flag(b' ', "no-mmap"),
    flag(b' ', "no-names"),
    flag(b' ', "quiet"),
    flag(b' ', "raw"),
    flag(b' ', "tag"),
    flag(b' ', "keyed"),
    valued(b' ', "derive-key"),
    valued(b'l', "length"),
    valued(b' ', "num-threads"),
];

const HELP: &str = "Usage: b3sum [OPTIONS] [FILE]...\n\nPrint or check BLAKE3 sums, on all cores. With no FILE, or when FILE is -, read standard input.\n\n  \
-c, --check            read BLAKE3 sums from the FILEs and check them\n      --no-names         leave out file names\n      \
--raw              write the bytes of one value\n      --tag              write BSD-style lines\n      \
--quiet            with --check: do not print OK for each file\n      --num-threads <N>  use at most N cores\n      \
--no-mmap          has no effect: files are never mapped\n  -h, --help\n  -V, --version\n";

/// A command line, read.
pub fn asked(words: &[Vec<u8>]) -> OldRequest {
    let refused =
        |message: &str, code| OldRequest::Refused(format!("error: {message}\n\nFor more information try --help"), code);
    let read = match read(words, KNOWN) {
        Ok(read) => read,
        Err(message) => return refused(&message, 1),
    };
    let request = without_options(ToolVoice::B3sum, Algorithm::Blake3);
    let mut request = SumRequest { form: LineForm { escapes: NameEscape::NewLines, ..LineForm::GNU }, ..request };
    let (mut checks, mut says) = (false, Says::All);
    for word in read {
        let (at, value) = match word {
            Word::File(file) => {
                request.files.push(file);
                continue;
            }
            Word::Option(at, value) => (at, value),
        };
        match KNOWN[at].long {
            "help" => return OldRequest::Text(HELP.to_owned()),
            "version" => return OldRequest::Text(version("b3sum", "b3sum")),
            "check" => checks = true,
            "quiet" => says = Says::Failures,
            "no-names" => request.form.order = LineOrder::ValueAlone,
            "raw" => request.form.order = LineOrder::Raw,
            "tag" => request.form.order = LineOrder::Tagged,
            "num-threads" => match std::str::from_utf8(&value).ok().and_then(|number| number.parse().ok()) {
                Some(threads) => request.shared.hands = Some(threads),
                None => return refused("Invalid value for '--num-threads <NUM>': invalid digit found in string", 1),
            },
            "length" if value == b"32" => {}
            "no-mmap" => {}
            other => return refused(&format!("--{other} is not supported by this b3sum"), 1),
        }
    }
    if says == Says::Failures && !checks {
        return refused("The following required arguments were not provided:\n    --check", 1);
    }
    if request.form.order == LineOrder::Raw && request.files.len() > 1 {
        return OldRequest::Refused("Error: Only one filename can be provided when using --raw".to_owned(), 1);
    }
    request.judging = checks.then(|| judging(says));
    OldRequest::Run(Box::new(request))
}

fn judging(says: Says) -> Judging {
    Judging {
        rules: ManifestRules {
            algorithm: Some(Algorithm::Blake3),
            tags: Tags::Own,
            untagged: Untagged::OfAlgorithm,
            escapes: NameEscape::NewLines,
        },
        line_end: LineEnd::NewLine,
        says,
        // COMPAT: any line that is none makes b3sum fail, and is reported.
        is_strict: true,
        warns: true,
        ignores_missing: false,
        exact: None,
    }
}
