//! `mh sum` under the names of the tools before it: md5sum and its relatives, cksum, b2sum, b3sum, xxhsum, crc32. Their options become a
//! `SumRequest`; then everything goes through the same run. What differs on purpose is in docs/commands/sum.md.

mod b3sum;
mod coreutils;
mod options;
mod xxhsum;

use crate::lines::{LineForm, LineOrder};
use crate::request::{SumRequest, ToolVoice};
use crate::sum::{carry_out, without_options};
use digests::algorithm::{Algorithm, BLAKE2B_BYTES};
use mh_kit::context::Context;
use mh_kit::entry::OldNames;
use mh_kit::failure::{Failure, Outcome};
use mh_kit::report::print_as;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use terminal::Verbosity;

/// The old names, for the table of commands.
pub const OLD: OldNames = OldNames { names: NAMES, run };

const NAMES: &[&str] = &[
    "md5sum",
    "sha1sum",
    "sha224sum",
    "sha256sum",
    "sha384sum",
    "sha512sum",
    "b2sum",
    "cksum",
    "b3sum",
    "xxhsum",
    "crc32",
];

/// What a command line of an old tool comes to.
pub enum OldRequest {
    /// Files to be digested, or manifests to be checked.
    Run(Box<SumRequest>),
    /// Help, or a version.
    Text(String),
    /// It is refused with a text and an exit code.
    Refused(String, u8),
}

fn run(name: &'static str, words: Vec<OsString>) -> Result<Outcome, Failure> {
    let words: Vec<Vec<u8>> = words.into_iter().map(OsString::into_vec).collect();
    let asked = match name {
        "b3sum" => b3sum::asked(&words),
        "xxhsum" => xxhsum::asked(&words),
        "crc32" => crc32(words),
        _ => coreutils::asked(name, algorithm_of(name), &words),
    };
    match asked {
        OldRequest::Text(text) => print_as(name, &text).map(|()| Outcome::Done),
        OldRequest::Refused(text, code) => Err(Failure::InWordsOfOthers { text, code }),
        OldRequest::Run(request) => {
            let mut context = Context::new()?;
            name.clone_into(&mut context.program);
            let is_silent =
                request.judging.as_ref().is_some_and(|judging| judging.says == crate::request::Says::Nothing);
            let verbosity = if is_silent { Verbosity::Quiet } else { Verbosity::Normal };
            context.messages = context.terminals.messages(verbosity);
            carry_out(&context, *request)
        }
    }
}

fn algorithm_of(name: &str) -> Algorithm {
    match name {
        "md5sum" => Algorithm::Md5,
        "sha1sum" => Algorithm::Sha1,
        "sha224sum" => Algorithm::Sha224,
        "sha256sum" => Algorithm::Sha256,
        "sha384sum" => Algorithm::Sha384,
        "sha512sum" => Algorithm::Sha512,
        "b2sum" => Algorithm::Blake2b(BLAKE2B_BYTES),
        _ => Algorithm::Cksum,
    }
}

/// COMPAT: crc32 of Archive::Zip has no options, and reads nothing without a file.
fn crc32(words: Vec<Vec<u8>>) -> OldRequest {
    if words.is_empty() {
        return OldRequest::Text(String::new());
    }
    let request = without_options(ToolVoice::Crc32, Algorithm::Crc32);
    let form = LineForm { order: LineOrder::Tab, names_stdin: words.len() > 1, ..LineForm::GNU };
    OldRequest::Run(Box::new(SumRequest { files: words, form, ..request }))
}

/// `mh sum` as the version texts name it.
fn version(name: &str, of: &str) -> String {
    format!("{name} (manyhands) {}\nwith the options, output and exit codes of {of}\n", env!("CARGO_PKG_VERSION"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_its_algorithm() {
        assert_eq!(algorithm_of("sha384sum"), Algorithm::Sha384);
        for name in NAMES.iter().filter(|name| name.starts_with("sha")) {
            assert_eq!(algorithm_of(name).name() + "sum", **name);
        }
    }
}
