//! `-l` of gzip and pigz, in their own layouts, which scripts cut into fields.

use super::gzip::uncompressed_name;
use crate::tamp::list::Row;
use std::time::{SystemTime, UNIX_EPOCH};
use sys::civil_time::CivilTime;
use terminal::printable;

/// Header and trailer of a member without a name; gzip and pigz leave them out of the ratio.
const FRAMING_BYTES: u64 = 18;

/// One layout of a list: how its heading, a row and the line of sums look.
struct Layout {
    heading: &'static str,
    row: fn(&Row) -> String,
    totals: Option<fn(u64, u64, u64) -> String>,
}

fn laid_out(layout: &Layout, rows: &[Row], asked: usize, is_quiet: bool) -> String {
    let mut text = String::new();
    if !is_quiet && !rows.is_empty() {
        text.push_str(layout.heading);
    }
    rows.iter().for_each(|row| text.push_str(&(layout.row)(row)));
    let compressed = rows.iter().map(|row| row.packed_bytes).sum();
    let uncompressed = rows.iter().filter_map(|row| row.plain_bytes).sum();
    if let (Some(totals), Some(last), true) = (layout.totals, rows.last(), asked > 1 && !is_quiet)
        && compressed > 0
        && uncompressed > 0
    {
        text.push_str(&totals(compressed, uncompressed, framing_bytes(last)));
    }
    text
}

const GZIP: Layout = Layout {
    heading: "         compressed        uncompressed  ratio uncompressed_name\n",
    row: |row| gzip_row("", row),
    totals: Some(|compressed, uncompressed, framing| gzip_totals("", compressed, uncompressed, framing)),
};

const GZIP_AT_LENGTH: Layout = Layout {
    heading: "method  crc     date  time           compressed        uncompressed  ratio uncompressed_name\n",
    row: |row| {
        let method = match row.format {
            "Z" => "compr",
            "z" => "pack ",
            _ => "defla",
        };
        // COMPAT: gzip has a long of ones where there is no CRC.
        let check = row.file.crc32.filter(|_| is_gz(row)).map_or("f".repeat(16), |crc| format!("{crc:08x}"));
        gzip_row(&format!("{method} {check} {} ", row.file.modified_seconds.map_or(String::new(), date)), row)
    },
    totals: Some(|compressed, uncompressed, framing| gzip_totals(&" ".repeat(28), compressed, uncompressed, framing)),
};

const PIGZ: Layout =
    Layout { heading: "compressed   original reduced  name\n", row: |row| pigz_row("", row), totals: None };

const PIGZ_AT_LENGTH: Layout = Layout {
    heading: "method    check    timestamp    compressed   original reduced  name\n",
    row: |row| {
        let method = match row.format {
            "Z" => "lzw",
            "zlib" => "zlib 8",
            "zip" => "zip  8",
            _ => "gzip 8",
        };
        let crc = row.file.crc32.filter(|_| matches!(row.format, "gz" | "zip"));
        let check = crc.map_or("-".repeat(8), |crc| format!("{crc:08x}"));
        let told = row.file.origin.as_ref().map(|origin| i64::from(origin.modified_seconds));
        let time = told.filter(|&seconds| seconds != 0).map_or("------ -----".to_owned(), date_or_year);
        pigz_row(&format!("{method:<6}  {check}  {time}  "), row)
    },
    totals: None,
};

/// `gzip -l`.
pub(super) fn gzip(rows: &[Row], asked: usize) -> String {
    laid_out(&GZIP, rows, asked, false)
}

/// `gzip -lq`.
pub(super) fn gzip_quiet(rows: &[Row], asked: usize) -> String {
    laid_out(&GZIP, rows, asked, true)
}

/// `gzip -lv`.
pub(super) fn gzip_at_length(rows: &[Row], asked: usize) -> String {
    laid_out(&GZIP_AT_LENGTH, rows, asked, false)
}

/// `pigz -l`.
pub(super) fn pigz(rows: &[Row], asked: usize) -> String {
    laid_out(&PIGZ, rows, asked, false)
}

/// `pigz -lv`.
pub(super) fn pigz_at_length(rows: &[Row], asked: usize) -> String {
    laid_out(&PIGZ_AT_LENGTH, rows, asked, false)
}

fn gzip_row(before: &str, row: &Row) -> String {
    let (compressed, uncompressed) = (row.packed_bytes, row.plain_bytes.unwrap_or(0));
    let name = if row.name == "-" { "stdout".to_owned() } else { uncompressed_name(&row.name) };
    let saved = saved(compressed, uncompressed, framing_bytes(row));
    format!("{before}{compressed:>19} {uncompressed:>19} {saved} {name}\n")
}

fn gzip_totals(before: &str, compressed: u64, uncompressed: u64, framing: u64) -> String {
    let saved = saved(compressed, uncompressed, framing);
    format!("{before}{compressed:>19} {uncompressed:>19} {saved} (totals)\n")
}

fn pigz_row(before: &str, row: &Row) -> String {
    let (compressed, uncompressed) = (row.packed_bytes, row.plain_bytes.unwrap_or(0));
    // COMPAT: the name that the file tells goes before its own.
    let told =
        row.file.origin.as_ref().map(|origin| String::from_utf8_lossy(&origin.name)).filter(|name| !name.is_empty());
    let name = match told {
        Some(name) => printable(&name).into_owned(),
        None if row.name == "-" => "<stdin>".to_owned(),
        None => {
            let of_pigz = [".zz", ".zip"].iter().find_map(|ending| row.name.strip_suffix(ending));
            of_pigz.map_or_else(|| uncompressed_name(&row.name), |name| printable(name).into_owned())
        }
    };
    // COMPAT: header and trailer are not counted.
    let compressed = compressed.saturating_sub(framing_bytes(row));
    let saved = saved(compressed, uncompressed, 0);
    format!("{before}{compressed:>10} {uncompressed:>10}  {saved}  {name}\n")
}

fn is_gz(row: &Row) -> bool {
    row.format == "gz"
}

/// Bytes of a compressed file that the ratio leaves out, since they are no data.
fn framing_bytes(row: &Row) -> u64 {
    let name = row.file.origin.as_ref().map(|origin| origin.name.len() as u64).filter(|&bytes| bytes > 0);
    if is_gz(row) { FRAMING_BYTES + name.map_or(0, |bytes| bytes + 1) } else { 0 }
}

/// The share saved.
pub(super) fn saved(compressed: u64, uncompressed: u64, framing_bytes: u64) -> String {
    let data = compressed.saturating_sub(framing_bytes);
    let share = if uncompressed == 0 { 0.0 } else { 1.0 - data as f64 / uncompressed as f64 };
    format!("{:5.1}%", 100.0 * share)
}

/// The same of what was worked on just now.
pub(super) fn saved_by_gz(compressed: u64, uncompressed: u64) -> String {
    saved(compressed, uncompressed, FRAMING_BYTES)
}

/// Month and day, in English, with what `behind` says of the time in local time.
fn dated(seconds: i64, behind: impl Fn(&CivilTime) -> String) -> String {
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let Some(local) = sys::civil_time::local(seconds) else { return " ".repeat(12) };
    let month = MONTHS[usize::from(local.month).saturating_sub(1) % 12];
    format!("{month} {:>2} {}", local.day, behind(&local))
}

fn hour_and_minute(local: &CivilTime) -> String {
    format!("{:02}:{:02}", local.hour, local.minute)
}

fn date(seconds: i64) -> String {
    dated(seconds, hour_and_minute)
}

/// The year instead of the hour, where it is another than this one.
fn date_or_year(seconds: i64) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let this_year = i64::try_from(now).ok().and_then(sys::civil_time::local).map(|now| now.year);
    let is_of_this_year = |local: &CivilTime| Some(local.year) == this_year;
    dated(seconds, |local| if is_of_this_year(local) { hour_and_minute(local) } else { format!("{:>5}", local.year) })
}
