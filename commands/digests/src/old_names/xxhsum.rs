//! xxhsum 0.8: its options and forms. It has no benchmark (-b).

use super::{OldRequest, version};
use crate::lines::{LineForm, LineOrder};
use crate::request::{Judging, Says, SumRequest, ToolVoice};
use crate::sum::without_options;
use digests::algorithm::Algorithm;
use digests::manifest::{LineEnd, ManifestRules, NameEscape, Tags, Untagged};

const USAGE: &str = "Print or verify checksums using fast non-cryptographic algorithm xxHash \n\nUsage: xxhsum [options] [files] \n\n\
When no filename provided or when '-' is provided, uses stdin as input. \nOptions: \n  \
-H#         algorithm selection: 0,1,2,3 or 32,64,128 (default: 1) \n  \
-c, --check read xxHash checksum from [files] and check them \n  -h, --help  display a long help page about advanced options \n";

const MORE: &str = "Advanced :\n  -V, --version        Display version information \n      --tag            Produce BSD-style checksum lines \n      \
--little-endian  Checksum values use little endian convention (default: big endian) \n\n\
The following four options are useful only when verifying checksums (-c): \n  -q, --quiet          Don't print OK for each successfully verified file \n      \
--status         Don't output anything, status code shows success \n      --strict         Exit non-zero for improperly formatted checksum lines \n      \
--warn           Warn about improperly formatted checksum lines \n";

/// A command line, read. COMPAT: letters stand together, a long option is never cut short, and digits belong to -H.
pub fn asked(words: &[Vec<u8>]) -> OldRequest {
    let wrong = || OldRequest::Refused(format!("Wrong parameters\n\n{}{USAGE}", version("xxhsum", "xxhsum 0.8")), 1);
    let request = without_options(ToolVoice::Xxhsum, Algorithm::Xxh64);
    let mut request = SumRequest { form: LineForm { escapes: NameEscape::None, ..LineForm::GNU }, ..request };
    let (mut checks, mut says, mut is_strict, mut warns, mut only_files) = (false, Says::All, false, false, false);
    for word in words {
        match word.as_slice() {
            _ if only_files => request.files.push(word.clone()),
            b"--" => only_files = true,
            b"--check" => checks = true,
            b"--quiet" => says = says.min(Says::Failures),
            b"--status" => says = Says::Nothing,
            b"--strict" => is_strict = true,
            b"--warn" => warns = true,
            b"--tag" => request.form.order = LineOrder::Tagged,
            b"--little-endian" => request.form.is_little_endian = true,
            b"--help" => return OldRequest::Text(format!("{}{USAGE}{MORE}", version("xxhsum", "xxhsum 0.8"))),
            b"--version" => return OldRequest::Text(version("xxhsum", "xxhsum 0.8")),
            [b'-', b'-', ..] => return wrong(),
            [b'-', letters @ ..] if !letters.is_empty() => {
                let mut rest = letters;
                while let Some((letter, behind)) = rest.split_first() {
                    rest = behind;
                    match letter {
                        b'V' => return OldRequest::Text(version("xxhsum", "xxhsum 0.8")),
                        b'h' => return OldRequest::Text(format!("{}{USAGE}{MORE}", version("xxhsum", "xxhsum 0.8"))),
                        b'c' => checks = true,
                        b'q' => says = says.min(Says::Failures),
                        b'H' => {
                            let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
                            match algorithm_of(&rest[..digits]) {
                                Some(algorithm) => request.algorithms = [algorithm].into(),
                                None => return wrong(),
                            }
                            rest = &rest[digits..];
                        }
                        _ => return wrong(),
                    }
                }
            }
            _ => request.files.push(word.clone()),
        }
    }
    // COMPAT: a value of XXH3 looks like one of XXH64, so its lines have a tag.
    if request.algorithms.first() == Some(&Algorithm::Xxh3) {
        request.form.order = LineOrder::Tagged;
    }
    request.judging = checks.then(|| judging(says, is_strict, warns));
    OldRequest::Run(Box::new(request))
}

fn algorithm_of(digits: &[u8]) -> Option<Algorithm> {
    match digits {
        b"0" | b"32" => Some(Algorithm::Xxh32),
        b"1" | b"64" => Some(Algorithm::Xxh64),
        b"2" | b"128" => Some(Algorithm::Xxh128),
        b"3" => Some(Algorithm::Xxh3),
        _ => None,
    }
}

fn judging(says: Says, is_strict: bool, warns: bool) -> Judging {
    Judging {
        rules: ManifestRules {
            algorithm: None,
            tags: Tags::All,
            untagged: Untagged::OfXxhsum,
            escapes: NameEscape::None,
        },
        line_end: LineEnd::NewLine,
        says,
        is_strict,
        warns,
        ignores_missing: false,
        exact: None,
    }
}
