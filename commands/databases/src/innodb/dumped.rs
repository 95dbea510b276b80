//! `--dump`: one page of one file, field by field and byte by byte.

use super::shown::mismatch_text;
use super::{InnodbArgs, NAME};
use innodb::dump::{PageDump, PageField, dump};
use innodb::judge::PageVerdict;
use mh_kit::context::Context;
use mh_kit::failure::{Failure, Outcome, with_causes};
use mh_kit::report::{json_line, print_as};
use serde::Serialize;
use std::fmt::Write as _;
use terminal::{Align, TextTable, integer, quote};

/// Bytes on a line.
const LINE_BYTES: usize = 16;

/// Shows page `number` of the one file.
pub fn show(context: &Context, args: &InnodbArgs, number: u32) -> Result<Outcome, Failure> {
    let [path] = args.files.as_slice() else {
        let message = "--dump takes one FILE".to_owned();
        return Err(Failure::Usage { command: NAME, message });
    };
    let page = match dump(path, number) {
        Ok(Some(page)) => page,
        Ok(None) => {
            let message = format!("dump page {} of {}: it has no such page", integer(u64::from(number)), quote(path));
            context.messages.error(NAME, &message, &[]);
            return Ok(Outcome::Code(2));
        }
        Err(error) => {
            context.messages.error(NAME, &format!("dump {}: {}", quote(path), with_causes(&error)), &[]);
            return Ok(Outcome::Code(2));
        }
    };
    print_as(NAME, &if args.json { json(&page) } else { text(&page) })?;
    let is_corrupt = matches!(page.verdict, PageVerdict::Corrupt(_)) && !page.is_free && !page.is_doublewrite;
    Ok(if is_corrupt { Outcome::Code(1) } else { Outcome::Done })
}

fn verdict_text(page: &PageDump) -> String {
    let verdict = match &page.verdict {
        PageVerdict::Good => "good".to_owned(),
        PageVerdict::Zero => "all zeros: never written".to_owned(),
        PageVerdict::NotCheckable(reason) => format!("not checkable: {}", reason.text()),
        PageVerdict::Corrupt(mismatches) => mismatches.iter().map(mismatch_text).collect::<Vec<_>>().join("; "),
    };
    match (page.is_free, page.is_doublewrite) {
        (_, true) => format!("a copy in the doublewrite area ({verdict})"),
        (true, _) => format!("free, not in use ({verdict})"),
        _ => verdict,
    }
}

fn text(page: &PageDump) -> String {
    let (number, offset) = (integer(u64::from(page.number)), integer(page.offset));
    let mut text = format!("page {number} at byte {offset}: {}\n", verdict_text(page));
    let mut table = TextTable::new(&[Align::Right, Align::Left, Align::Left]).indented(2);
    for PageField { at, name, value } in &page.fields {
        table.row([at.to_string().as_str(), name, value]);
    }
    text.push_str(&table.to_string());
    let mut before: Option<&[u8]> = None;
    let lines = page.bytes.chunks(LINE_BYTES).enumerate();
    let mut is_left_out = false;
    for (line, bytes) in lines {
        // As hexdump(1): lines that repeat the one before are a star.
        if before == Some(bytes) {
            if !is_left_out {
                text.push_str("*\n");
            }
            is_left_out = true;
            continue;
        }
        (before, is_left_out) = (Some(bytes), false);
        hex_line(&mut text, line * LINE_BYTES, bytes);
    }
    writeln!(text, "{:08x}", page.bytes.len()).expect("writing to a string");
    text
}

fn hex_line(text: &mut String, at: usize, bytes: &[u8]) {
    let hex: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let shown = |byte: &u8| if byte.is_ascii_graphic() || *byte == b' ' { char::from(*byte) } else { '.' };
    let letters: String = bytes.iter().map(shown).collect();
    writeln!(text, "{at:08x}  {:<47}  |{letters}|", hex.join(" ")).expect("writing to a string");
}

fn json(page: &PageDump) -> String {
    #[derive(Serialize)]
    struct Json<'a> {
        page: u32,
        offset: u64,
        verdict: String,
        is_free: bool,
        is_doublewrite: bool,
        fields: &'a [PageField],
        bytes: String,
    }
    let bytes = page.bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("writing to a string");
        text
    });
    json_line(&Json {
        page: page.number,
        offset: page.offset,
        verdict: verdict_text(page),
        is_free: page.is_free,
        is_doublewrite: page.is_doublewrite,
        fields: &page.fields,
        bytes,
    })
}
