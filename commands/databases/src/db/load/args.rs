//! The command line of `mh db load`, with the words of COPY, and what they say about the rows.

use crate::db::connect::ConnectArgs;
use clap::{Args, ValueEnum};
use database::inputs::LoadInput;
use database::load::HeaderUse;
use database::rows::{CsvFormat, RowFormat, TextFormat};
use mh_kit::shared_args::{ReportFormat, StandingArgs, parse_hands, parse_size};
use std::path::{Path, PathBuf};

/// Examples in the help.
pub const EXAMPLES: &str = "Examples:\n  mh db load -d postgres:///shop orders orders.csv --header     all rows or none\n  \
    mh db load -d sqlite:shop.db orders orders.tsv.zst            no server is needed\n  \
    zcat *.csv.gz | mh db load -d mysql://me@db/shop orders - --csv\n  \
    mh db load -d shop --pg orders big.csv --header --reject bad.csv\n  \
    mh db load -d shop --pg orders big.csv --header --explain     what would be done, and why\n\n\
    Exit codes: 0 all rows are in, 1 rows are missing, 2 wrong command line, no connection, no right, 130 interrupted";

/// Load CSV or tab-separated files into a table over many connections
///
/// Rows are written as PostgreSQL's COPY has them, for every database. Files are divided at row ends, whatever stands in quotes; compressed ones are
/// recognised by content. PostgreSQL and SQLite get all rows or none; of MariaDB and MySQL, and with --reject or --resume, each part is kept by itself.
#[derive(Args, Debug)]
pub struct DbLoadArgs {
    /// The table, as SQL has its name, and the files; - is standard input. The table may come last
    #[arg(value_names = ["TABLE", "FILE"], required = true, num_args = 2..)]
    words: Vec<PathBuf>,

    /// Columns that values are for, in their order (default: those of the table)
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    columns: Vec<String>,

    /// Empty the table first; with one connection in the same transaction
    #[arg(long)]
    pub truncate: bool,

    /// Load in the order of the file, over one connection
    #[arg(long)]
    pub ordered: bool,

    /// Refused rows.
    #[command(flatten)]
    pub rejects: RejectArgs,

    /// Note in the table mh_load_TABLE what is done, and pass over what an interrupted run has noted
    #[arg(long)]
    pub resume: bool,

    /// Load over at most N connections (default, and 0: a connection for each core)
    #[arg(short = 'j', long = "jobs", visible_alias = "connections", alias = "threads", value_name = "N", value_parser = parse_hands)]
    pub connections: Option<usize>,

    /// Among the other runs.
    #[command(flatten)]
    pub standing: StandingArgs,

    /// Hold at most SIZE of rows in memory, unless one row is longer (64M)
    #[arg(long, value_name = "SIZE", value_parser = parse_size, hide_short_help = true)]
    pub memory: Option<u64>,

    /// Print the plan with its reasons and do nothing
    #[arg(long)]
    pub explain: bool,

    /// After the run, print what bound it: server, client or disk
    #[arg(long, value_name = "FORMAT", num_args = 0..=1, require_equals = true, default_missing_value = "text")]
    pub report: Option<ReportFormat>,

    /// Print errors only
    #[arg(short = 'q', long)]
    pub quiet: bool,

    /// Which database.
    #[command(flatten)]
    pub connect: ConnectArgs,

    /// How rows are written.
    #[command(flatten)]
    pub rows: RowArgs,
}

/// Refused rows.
#[derive(Args, Debug)]
pub struct RejectArgs {
    /// Write refused rows to FILE as they are, and their places and causes to FILE.log; load the others
    #[arg(long = "reject", value_name = "FILE")]
    pub file: Option<PathBuf>,

    /// End the load when more rows are refused
    #[arg(long = "reject-limit", value_name = "N", default_value_t = 1000, requires = "file")]
    pub limit: u64,
}

/// How rows are written.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Rows")]
pub struct RowArgs {
    /// Rows are CSV (default: by the file's name)
    #[arg(long, conflicts_with = "text")]
    pub csv: bool,

    /// Rows are COPY's text format: tabs between values, \N for NULL
    #[arg(long, visible_alias = "tsv")]
    pub text: bool,

    /// The first row of each file is no data; match: it must name the columns; names: it says which columns
    #[arg(long, value_enum, value_name = "HOW", num_args = 0..=1, require_equals = true, default_missing_value = "check")]
    pub header: Option<HeaderArg>,

    /// Between values: one byte, or \t (default: comma, of text a tab)
    #[arg(long, value_name = "C", value_parser = parse_byte)]
    pub delimiter: Option<u8>,

    /// Around values of CSV (default: ")
    #[arg(long, value_name = "C", value_parser = parse_byte, conflicts_with = "text")]
    pub quote: Option<u8>,

    /// Before a quote within quotes (default: the quote)
    #[arg(long, value_name = "C", value_parser = parse_byte, conflicts_with = "text")]
    pub escape: Option<u8>,

    /// What stands for NULL without quotes (default: nothing, of text \N)
    #[arg(long, value_name = "STRING")]
    pub null: Option<String>,

    /// Encoding of the files, as the server calls it (default: UTF-8)
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub encoding: Option<String>,
}

/// What the first row is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum HeaderArg {
    /// Pass over it, unless it has the columns in another order
    Check,
    /// Pass over it
    Skip,
    /// It must name the columns in their order
    Match,
    /// It says which columns values are for
    Names,
}

impl HeaderArg {
    /// The same for the engine.
    pub fn header_use(self) -> HeaderUse {
        match self {
            Self::Check => HeaderUse::Checked,
            Self::Skip => HeaderUse::Skipped,
            Self::Match => HeaderUse::Matched,
            Self::Names => HeaderUse::Names,
        }
    }
}

fn parse_byte(text: &str) -> Result<u8, String> {
    let text = if text == "\\t" { "\t" } else { text };
    match text.as_bytes() {
        [byte] if !matches!(byte, b'\n' | b'\r' | b'\\' | 0) || *byte == b'\\' => Ok(*byte),
        _ => Err("one byte is needed, which is no line end".to_owned()),
    }
}

/// Table and files, as they were typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadWords {
    /// The table.
    pub table: String,
    /// The files.
    pub inputs: Vec<LoadInput>,
}

impl DbLoadArgs {
    /// Which word is the table: the first, unless that is a file and the last is none.
    pub fn words(&self) -> Result<LoadWords, String> {
        divide_words(&self.words, |path| path.as_os_str() == "-" || path.exists())
    }

    /// The columns that were typed.
    pub fn columns(&self) -> Option<Vec<String>> {
        (!self.columns.is_empty()).then(|| self.columns.clone())
    }
}

fn divide_words(words: &[PathBuf], is_file: impl Fn(&Path) -> bool) -> Result<LoadWords, String> {
    let (first, rest) = words.split_first().ok_or("a table and a file are needed")?;
    let (last, before) = words.split_last().ok_or("a table and a file are needed")?;
    let is_last = is_file(first) && !is_file(last);
    let (table, files) = if is_last { (last, before) } else { (first, rest) };
    let table = table.to_str().ok_or("the table's name is no UTF-8")?;
    let input = |path: &PathBuf| match path.as_os_str() == "-" {
        true => LoadInput::Stdin,
        false => LoadInput::Path(path.clone()),
    };
    let inputs: Vec<LoadInput> = files.iter().map(input).collect();
    if inputs.iter().filter(|input| **input == LoadInput::Stdin).count() > 1 {
        return Err("standard input can be read once".to_owned());
    }
    Ok(LoadWords { table: table.to_owned(), inputs })
}

/// LIMIT: encodings in which a byte of a character may be a backslash; iconv makes UTF-8 of them.
const BACKSLASH_IN_CHARACTERS: &[&str] = &["sjis", "shift_jis_2004", "big5", "gbk", "gb18030", "uhc", "johab", "cp932"];

impl RowArgs {
    /// How rows are written.
    pub fn format(&self, inputs: &[LoadInput]) -> Result<RowFormat, String> {
        let is_csv = self.is_csv(inputs)?;
        let encoding = self.encoding.as_deref().unwrap_or_default().to_lowercase();
        if BACKSLASH_IN_CHARACTERS.contains(&encoding.as_str()) {
            return Err(format!(
                "--encoding {encoding}: a byte of its characters may be a backslash; iconv makes UTF-8 of it"
            ));
        }
        let format = match is_csv {
            true => RowFormat::Csv(self.csv_format()),
            false => RowFormat::Text(self.text_format()),
        };
        check(&format)?;
        Ok(format)
    }

    fn csv_format(&self) -> CsvFormat {
        let quote = self.quote.unwrap_or(b'"');
        CsvFormat {
            delimiter: self.delimiter.unwrap_or(b','),
            quote,
            escape: self.escape.unwrap_or(quote),
            null: self.null.clone().unwrap_or_default().into_bytes(),
        }
    }

    fn text_format(&self) -> TextFormat {
        let usual = TextFormat::default();
        TextFormat {
            delimiter: self.delimiter.unwrap_or(usual.delimiter),
            null: self.null.clone().map_or(usual.null, String::into_bytes),
        }
    }

    fn is_csv(&self, inputs: &[LoadInput]) -> Result<bool, String> {
        if self.csv || self.text {
            return Ok(self.csv);
        }
        let kinds: Vec<Option<bool>> = inputs.iter().map(by_name).collect();
        match kinds.first().copied().flatten() {
            Some(first) if kinds.iter().all(|kind| *kind == Some(first)) => Ok(first),
            _ if self.quote.is_some() || self.escape.is_some() => Ok(true),
            _ => Err("the names do not say how rows are written: --csv or --text".to_owned()),
        }
    }
}

/// Whether a name is that of a CSV file; none if it says nothing. Suffixes of compression are passed over.
fn by_name(input: &LoadInput) -> Option<bool> {
    let LoadInput::Path(path) = input else { return None };
    let name = path.file_name()?.to_str()?.to_lowercase();
    name.rsplit('.').take(2).find_map(|suffix| match suffix {
        "csv" => Some(true),
        "tsv" | "tab" => Some(false),
        _ => None,
    })
}

/// COMPAT: what COPY refuses, so that every database refuses the same.
fn check(format: &RowFormat) -> Result<(), String> {
    let delimiter = format.delimiter();
    if format.null().iter().any(|byte| matches!(byte, b'\n' | b'\r') || *byte == delimiter) {
        return Err("--null cannot have a delimiter or a line end in it".to_owned());
    }
    match format {
        RowFormat::Csv(csv) if csv.delimiter == csv.quote => {
            Err("--delimiter and --quote must be different".to_owned())
        }
        RowFormat::Csv(csv) if csv.null.contains(&csv.quote) => Err("--null cannot have a quote in it".to_owned()),
        RowFormat::Text(text) if b"\\.abcdefghijklmnopqrstuvwxyz0123456789".contains(&text.delimiter) => {
            Err("--delimiter of text cannot be a backslash, a point, a small letter or a digit".to_owned())
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn divided(words: &[&str], files: &[&str]) -> Result<(String, usize), String> {
        let words: Vec<PathBuf> = words.iter().map(PathBuf::from).collect();
        let divided = divide_words(&words, |path| files.iter().any(|file| path == Path::new(file)))?;
        Ok((divided.table, divided.inputs.len()))
    }

    #[test]
    fn the_table_may_come_first_or_last() {
        assert_eq!(divided(&["t", "a.csv", "b.csv"], &["a.csv", "b.csv"]), Ok(("t".to_owned(), 2)));
        assert_eq!(divided(&["a.csv", "t"], &["a.csv"]), Ok(("t".to_owned(), 1)));
        assert_eq!(divided(&["t", "missing.csv"], &[]), Ok(("t".to_owned(), 1)));
        assert_eq!(divided(&["t", "t.csv"], &["t", "t.csv"]), Ok(("t".to_owned(), 1)), "a file named as the table");
        assert!(divided(&["t", "-", "-"], &[]).is_err());
    }

    fn format(args: &RowArgs, name: &str) -> Result<RowFormat, String> {
        args.format(&[LoadInput::Path(PathBuf::from(name))])
    }

    #[test]
    fn names_say_how_rows_are_written() {
        let args = RowArgs::default();
        assert_eq!(format(&args, "a.CSV.gz"), Ok(RowFormat::Csv(CsvFormat::default())));
        assert_eq!(format(&args, "a.tsv"), Ok(RowFormat::Text(TextFormat::default())));
        assert!(format(&args, "a.dat").is_err_and(|error| error.contains("--csv or --text")));
        let csv = RowArgs { csv: true, delimiter: parse_byte("\\t").ok(), ..args };
        assert_eq!(format(&csv, "a.tsv"), Ok(RowFormat::Csv(CsvFormat { delimiter: b'\t', ..CsvFormat::default() })));
    }

    #[test]
    fn what_copy_refuses_is_refused() {
        let csv = RowArgs { csv: true, ..RowArgs::default() };
        let wrong = [
            RowArgs { delimiter: Some(b'"'), ..csv.clone() },
            RowArgs { null: Some("a,b".to_owned()), ..csv.clone() },
            RowArgs { null: Some("\"".to_owned()), ..csv.clone() },
            RowArgs { encoding: Some("SJIS".to_owned()), ..csv },
            RowArgs { text: true, delimiter: Some(b'x'), ..RowArgs::default() },
        ];
        assert!(wrong.iter().all(|args| format(args, "a").is_err()));
        assert!(parse_byte("ab").is_err() && parse_byte("\n").is_err() && parse_byte("\u{e4}").is_err());
    }
}
