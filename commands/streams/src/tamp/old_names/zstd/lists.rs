//! `zstd -l` and `zstd -lv`, in zstd's columns and with its words about files that are none of its own.
//! Headers alone are read, as zstd does it: a size that none states stays blank.

use super::super::Wish;
use super::messages::{fixed, short};
use super::{say, shown_name};
use codec::formats::zstd::survey::{ZstdFlaw, ZstdSurvey, survey};
use mh_kit::context::Context;
use mh_kit::failure::{Failure, Outcome, with_causes};
use mh_kit::report::print;
use std::fs::File;
use std::path::Path;
use terminal::Verbosity;

const NO_STDIN: &str = "zstd: --list does not support reading from standard input ";

/// Lists all files that were named.
pub(super) fn list(wish: &mut Wish, context: &mut Context) -> Result<Outcome, Failure> {
    let files = std::mem::take(&mut wish.args.files);
    if files.iter().any(|file| file == Path::new("-")) {
        say(wish, Verbosity::Quiet, NO_STDIN);
        return Ok(Outcome::Code(1));
    }
    if files.is_empty() {
        if !context.terminals.stdin {
            say(wish, Verbosity::Quiet, NO_STDIN);
        }
        say(wish, Verbosity::Quiet, "No files given ");
        return Ok(Outcome::Code(1));
    }
    let at_length = wish.args.verbose > 0;
    if !at_length {
        print(HEADING)?;
    }
    let (mut found, mut code) = (Vec::new(), 0);
    for file in &files {
        let name = shown_name(file);
        let (text, listed) = look(wish, file, &name, at_length);
        code |= u8::from(listed.is_none_or(|survey| survey.flaw.is_some()));
        found.extend(listed);
        print(&text)?;
    }
    if files.len() > 1 && !at_length {
        print(&sum_of(&found))?;
    }
    Ok(Outcome::Code(code))
}

const HEADING: &str = "Frames  Skips  Compressed  Uncompressed  Ratio  Check  Filename\n";

/// The lines of one file, and its share of the sum.
fn look(wish: &mut Wish, file: &Path, name: &str, at_length: bool) -> (String, Option<ZstdSurvey>) {
    let blank = if at_length { "\n" } else { "" };
    let is_file = std::fs::metadata(file).is_ok_and(|metadata| metadata.is_file());
    if !is_file {
        say(wish, Verbosity::Quiet, &format!("Error : {name} is not a file "));
        return (blank.to_owned(), None);
    }
    let found = match File::open(file).and_then(|file| survey(&file)) {
        Ok(found) => found,
        Err(error) => {
            say(wish, Verbosity::Quiet, &format!("zstd: {name}: {} ", with_causes(&error)));
            return (blank.to_owned(), None);
        }
    };
    let none_of_ours = format!("File \"{name}\" not compressed by zstd \n{blank}");
    let words = match found.flaw {
        None => "",
        Some(ZstdFlaw::NotZstd) => return (none_of_ours, None),
        Some(ZstdFlaw::IncompleteFrame) => {
            say(wish, Verbosity::Quiet, "Error: reached end of file with incomplete frame ");
            return (none_of_ours, None);
        }
        Some(ZstdFlaw::BeyondTheEnd { end }) => {
            let bytes = found.compressed_bytes;
            let beyond = format!("Error: seeked to position {end}, which is beyond file size of {bytes}\n ");
            say(wish, Verbosity::Quiet, &beyond);
            return (format!("File \"{name}\" is truncated \n{blank}"), None);
        }
        Some(ZstdFlaw::Header) => "Error: could not decode frame header ",
        Some(ZstdFlaw::BlockHeader) => "Error while reading block header ",
        Some(ZstdFlaw::BlockType) => "Error: unsupported block type ",
        Some(ZstdFlaw::Checksum) => "Error: could not read checksum ",
    };
    if found.has_several_dictionaries {
        let words = "WARNING: File contains multiple frames with different dictionary IDs. Showing dictID 0 instead";
        say(wish, Verbosity::Quiet, words);
    }
    if !words.is_empty() {
        say(wish, Verbosity::Quiet, &format!("{words}\nError while parsing \"{name}\" "));
    }
    let text = if at_length { paragraph(name, &found) } else { line(&found, check_of(&found), name) };
    (text, Some(found))
}

fn check_of(survey: &ZstdSurvey) -> &'static str {
    if survey.checksum.is_some() { "XXH64" } else { "None" }
}

fn ratio_of(survey: &ZstdSurvey) -> f64 {
    if survey.compressed_bytes == 0 { 0.0 } else { survey.content_bytes as f64 / survey.compressed_bytes as f64 }
}

fn line(survey: &ZstdSurvey, check: &str, name: &str) -> String {
    let (frames, skipped) = (survey.skipped + survey.frames, survey.skipped);
    let compressed = fixed(survey.compressed_bytes, 6);
    let content = match survey.is_size_missing {
        true => " ".repeat(19),
        false => format!("{}  {:5.3}", fixed(survey.content_bytes, 8), ratio_of(survey)),
    };
    format!("{frames:>6}  {skipped:>5}  {compressed}  {content}  {check:>5}  {name}\n")
}

fn sum_of(found: &[ZstdSurvey]) -> String {
    let mut sum = ZstdSurvey::default();
    for one in found {
        sum.frames += one.frames;
        sum.skipped += one.skipped;
        sum.compressed_bytes += one.compressed_bytes;
        sum.content_bytes = sum.content_bytes.saturating_add(one.content_bytes);
        sum.is_size_missing |= one.is_size_missing;
    }
    let all_are_checked = found.iter().all(|one| one.checksum.is_some());
    let check = if all_are_checked { "XXH64" } else { "" };
    let dashes = "----------------------------------------------------------------- \n";
    format!("{dashes}{}", line(&sum, check, &format!("{} files", found.len())))
}

fn paragraph(name: &str, survey: &ZstdSurvey) -> String {
    let size = |bytes: u64| format!("{} ({bytes} B)", short(bytes));
    let mut text = format!("{name} \n# Zstandard Frames: {}\n", survey.frames);
    if survey.skipped > 0 {
        text.push_str(&format!("# Skippable Frames: {}\n", survey.skipped));
    }
    let (window, compressed) = (size(survey.window_bytes), size(survey.compressed_bytes));
    text.push_str(&format!("DictID: {}\nWindow Size: {window}\nCompressed Size: {compressed}\n", survey.dictionary));
    if !survey.is_size_missing {
        let content = size(survey.content_bytes);
        text.push_str(&format!("Decompressed Size: {content}\nRatio: {:.4}\n", ratio_of(survey)));
    }
    let check = match survey.checksum {
        Some(stored) if survey.frames == 1 => format!("XXH64 {:08x}", u32::from_le_bytes(stored)),
        _ => check_of(survey).to_owned(),
    };
    text.push_str(&format!("Check: {check}\n\n"));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_that_is_not_stated_is_blank() {
        let known = ZstdSurvey { frames: 1, compressed_bytes: 16, content_bytes: 3, ..ZstdSurvey::default() };
        let shown = "     1      0      16   B         3   B  0.188   None  y.zst\n";
        assert_eq!(line(&known, check_of(&known), "y.zst"), shown);
        let unknown = ZstdSurvey { is_size_missing: true, ..known };
        let shown = "     1      0      16   B                       XXH64  y.zst\n";
        assert_eq!(line(&unknown, "XXH64", "y.zst"), shown);
    }
}
