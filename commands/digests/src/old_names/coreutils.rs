//! md5sum, sha1sum to sha512sum, b2sum and cksum: the options, refusals and forms of coreutils 9.

use super::options::{Known, Word, flag, read, valued};
use super::{OldRequest, version};
use crate::lines::{LineForm, LineOrder};
use crate::request::{Judging, Says, SumRequest, ToolVoice};
use crate::sum::without_options;
use crate::words::shell_quoted;
use digests::algorithm::{Algorithm, BLAKE2B_BYTES};
use digests::manifest::{LineEnd, ManifestRules, NameEscape, Tags, Untagged};

/// The options of all of them; each tool has some (`is_known`).
const KNOWN: &[Known] = &[
    flag(b'b', "binary"),
    flag(b'c', "check"),
    flag(b' ', "ignore-missing"),
    flag(b' ', "quiet"),
    flag(b' ', "status"),
    flag(b' ', "strict"),
    flag(b' ', "tag"),
    flag(b't', "text"),
    flag(b'w', "warn"),
    flag(b'z', "zero"),
    flag(b' ', "help"),
    flag(b' ', "version"),
    valued(b'l', "length"),
    valued(b'a', "algorithm"),
    flag(b' ', "untagged"),
    flag(b' ', "debug"),
    // COMPAT: cksum knows these letters, and only hints at its help.
    flag(b'b', ""),
    flag(b't', ""),
];

/// What was typed.
#[derive(Default)]
struct Typed {
    files: Vec<Vec<u8>>,
    options: Vec<&'static str>,
    length: Option<Vec<u8>>,
    algorithm: Option<Algorithm>,
}

/// The types that cksum has, as it lists them.
const TYPES: &[(&str, Algorithm)] = &[
    ("bsd", Algorithm::BsdSum),
    ("sysv", Algorithm::SysvSum),
    ("crc", Algorithm::Cksum),
    ("md5", Algorithm::Md5),
    ("sha1", Algorithm::Sha1),
    ("sha224", Algorithm::Sha224),
    ("sha256", Algorithm::Sha256),
    ("sha384", Algorithm::Sha384),
    ("sha512", Algorithm::Sha512),
    ("blake2b", Algorithm::Blake2b(BLAKE2B_BYTES)),
    ("sm3", Algorithm::Sm3),
];

/// A command line, read.
pub fn asked(name: &'static str, algorithm: Algorithm, words: &[Vec<u8>]) -> OldRequest {
    let refused = |message: String| OldRequest::Refused(format!("{name}: {message}"), 1);
    let with_hint = |message: String| refused(format!("{message}\nTry '{name} --help' for more information."));
    let is_cksum = name == "cksum";
    let known: Vec<Known> = KNOWN.iter().filter(|option| is_known(name, option.long)).map(copied).collect();
    let read = match read(words, &known) {
        Ok(read) => read,
        Err(message) => return with_hint(message),
    };
    let mut typed = Typed::default();
    for word in read {
        match word {
            Word::File(file) => typed.files.push(file),
            Word::Option(at, value) => match known[at].long {
                "" => return OldRequest::Refused(format!("Try '{name} --help' for more information."), 1),
                "help" => return OldRequest::Text(help(name, is_cksum)),
                "version" => return OldRequest::Text(version(name, "coreutils 9.1")),
                "length" => typed.length = Some(value),
                "algorithm" => match type_of(&value) {
                    Ok(algorithm) => typed.algorithm = Some(algorithm),
                    Err(message) => return with_hint(message),
                },
                long => typed.options.push(long),
            },
        }
    }
    match typed.settled(is_cksum, algorithm) {
        Ok(algorithm) => match typed.wrong(is_cksum, algorithm) {
            Some(Wrong::WithHint(message)) => with_hint(message.to_owned()),
            Some(Wrong::Alone(message)) => refused(message.to_owned()),
            None => OldRequest::Run(Box::new(typed.request(is_cksum, algorithm))),
        },
        Err(message) => refused(message),
    }
}

fn copied(option: &Known) -> Known {
    Known { letter: option.letter, long: option.long, has_value: option.has_value }
}

fn is_known(name: &str, long: &str) -> bool {
    match long {
        "binary" | "text" => name != "cksum",
        "" => name == "cksum",
        "length" => name == "cksum" || name == "b2sum",
        "algorithm" | "untagged" | "debug" => name == "cksum",
        _ => true,
    }
}

fn type_of(word: &[u8]) -> Result<Algorithm, String> {
    let found = TYPES.iter().find(|(name, _)| name.as_bytes() == word);
    found.map(|(_, algorithm)| *algorithm).ok_or_else(|| {
        let types: String = TYPES.iter().map(|(name, _)| format!("\n  - '{name}'")).collect();
        format!("invalid argument {} for '--algorithm'\nValid arguments are:{types}", crate::words::quoted(word))
    })
}

/// Why a command line is refused.
enum Wrong {
    WithHint(&'static str),
    Alone(&'static str),
}

impl Typed {
    fn has(&self, option: &str) -> bool {
        self.options.contains(&option)
    }

    /// The algorithm, with the length that was typed.
    fn settled(&self, is_cksum: bool, usual: Algorithm) -> Result<Algorithm, String> {
        let algorithm = self.algorithm.unwrap_or(usual);
        let Some(length) = &self.length else { return Ok(algorithm) };
        let invalid = |why: &str| {
            Err(format!(
                "invalid length: {}\n{}: {why}",
                crate::words::quoted(length),
                if is_cksum { "cksum" } else { "b2sum" }
            ))
        };
        let bits = std::str::from_utf8(length).ok().and_then(|bits| bits.parse::<u64>().ok());
        match (algorithm, bits) {
            (_, None) => Err(format!("invalid length: {}", crate::words::quoted(length))),
            (Algorithm::Blake2b(_), Some(bits)) if !bits.is_multiple_of(8) => invalid("length is not a multiple of 8"),
            (Algorithm::Blake2b(_), Some(bits)) if bits > 512 => {
                invalid("maximum digest length for 'BLAKE2b' is 512 bits")
            }
            (Algorithm::Blake2b(_), Some(0)) | (_, Some(0)) => Ok(algorithm),
            (Algorithm::Blake2b(_), Some(bits)) => Ok(Algorithm::Blake2b((bits / 8) as u8)),
            _ => Err("--length is only supported with --algorithm=blake2b".to_owned()),
        }
    }

    /// COMPAT: the questions of digest.c, in its order.
    fn wrong(&self, is_cksum: bool, algorithm: Algorithm) -> Option<Wrong> {
        let checks = self.has("check");
        let is_old = matches!(algorithm, Algorithm::Cksum | Algorithm::BsdSum | Algorithm::SysvSum);
        let mode = self.options.iter().rev().find(|option| matches!(**option, "text" | "binary")).copied();
        if is_cksum && checks && self.algorithm.is_some() && is_old {
            return Some(Wrong::Alone("--check is not supported with --algorithm={bsd,sysv,crc}"));
        }
        // COMPAT: --tag sets binary mode where it stands.
        let last = self.options.iter().rev().find(|option| matches!(**option, "text" | "binary" | "tag"));
        let is_tag_of_text = self.has("tag") && last == Some(&"text");
        let alone = |option: &str, text: &'static str| (self.has(option) && !checks).then_some(Wrong::WithHint(text));
        None.or_else(|| (!is_cksum && is_tag_of_text).then_some(Wrong::WithHint("--tag does not support --text mode")))
            .or_else(|| {
                (self.has("zero") && checks)
                    .then_some(Wrong::WithHint("the --zero option is not supported when verifying checksums"))
            })
            .or_else(|| {
                (!is_cksum && self.has("tag") && checks)
                    .then_some(Wrong::WithHint("the --tag option is meaningless when verifying checksums"))
            })
            .or_else(|| {
                (mode.is_some() && checks).then_some(Wrong::WithHint(
                    "the --binary and --text options are meaningless when verifying checksums",
                ))
            })
            .or_else(|| {
                alone("ignore-missing", "the --ignore-missing option is meaningful only when verifying checksums")
            })
            .or_else(|| alone("status", "the --status option is meaningful only when verifying checksums"))
            .or_else(|| alone("warn", "the --warn option is meaningful only when verifying checksums"))
            .or_else(|| alone("quiet", "the --quiet option is meaningful only when verifying checksums"))
            .or_else(|| alone("strict", "the --strict option is meaningful only when verifying checksums"))
    }

    fn request(self, is_cksum: bool, algorithm: Algorithm) -> SumRequest {
        let is_old = matches!(algorithm, Algorithm::Cksum | Algorithm::BsdSum | Algorithm::SysvSum);
        let is_tagged = (self.has("tag") || is_cksum && !self.has("untagged")) && !is_old;
        let is_binary =
            self.options.iter().rev().find(|option| matches!(**option, "text" | "binary")) == Some(&"binary");
        let form = LineForm {
            order: if is_tagged { LineOrder::Tagged } else { LineOrder::ValueFirst },
            mark: if is_binary { b'*' } else { b' ' },
            names_stdin: !(is_old && self.files.is_empty()),
            ..LineForm::GNU
        };
        let judging = self.has("check").then(|| self.judging(is_cksum, algorithm));
        let is_open = is_cksum && self.algorithm.is_none() && judging.is_some();
        let form = if self.has("zero") { form.ended_by_zero() } else { form };
        let request = without_options(ToolVoice::Coreutils, algorithm);
        let algorithms = if is_open { [].into() } else { request.algorithms };
        SumRequest { files: self.files, form, judging, algorithms, ..request }
    }

    fn judging(&self, is_cksum: bool, algorithm: Algorithm) -> Judging {
        let is_open = is_cksum && self.algorithm.is_none();
        // COMPAT: the last of --status, --quiet and --warn counts.
        let says = self.options.iter().rev().find_map(|option| match *option {
            "status" => Some(Says::Nothing),
            "quiet" => Some(Says::Failures),
            "warn" => Some(Says::All),
            _ => None,
        });
        Judging {
            rules: ManifestRules {
                algorithm: (!is_open).then_some(algorithm),
                tags: if is_open { Tags::Coreutils } else { Tags::Own },
                untagged: if is_open { Untagged::Refused } else { Untagged::OfAlgorithm },
                escapes: NameEscape::Lines,
            },
            line_end: LineEnd::NewLine,
            says: says.unwrap_or(Says::All),
            is_strict: self.has("strict"),
            warns: self.options.iter().rev().find(|option| matches!(**option, "status" | "quiet" | "warn"))
                == Some(&"warn"),
            ignores_missing: self.has("ignore-missing"),
            exact: None,
        }
    }
}

fn help(name: &str, is_cksum: bool) -> String {
    let own = if is_cksum {
        "  -a, --algorithm=TYPE  the digest: bsd, sysv, crc, md5, sha1, sha224, sha256,\n                          sha384, sha512, blake2b, sm3\n  \
         -l, --length=BITS     digest length of blake2b in bits, a multiple of 8\n      \
         --untagged        write the value before the name, without the type\n"
    } else {
        "  -b, --binary          mark names with an asterisk\n  -t, --text            mark names with a blank (default)\n"
    };
    let length = if name == "b2sum" { "  -l, --length=BITS     digest length in bits, a multiple of 8\n" } else { "" };
    let shown = shell_quoted(name.as_bytes());
    format!(
        "Usage: {shown} [OPTION]... [FILE]...\nPrint or check checksums, on all cores.\n\nWith no FILE, or when FILE is -, read standard input.\n\
         {own}{length}  -c, --check           read checksums from the FILEs and check them\n      --tag             create a BSD-style checksum\n  \
         -z, --zero            end each output line with NUL, and do not escape names\n      \
         --ignore-missing  with -c: do not fail for missing files\n      \
         --quiet           with -c: do not print OK for each file\n      --status          with -c: print nothing\n      \
         --strict          with -c: exit non-zero for improperly formatted lines\n  \
         -w, --warn            with -c: warn about improperly formatted lines\n      --help\n      --version\n"
    )
}
