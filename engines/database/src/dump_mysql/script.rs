//! `restore.sh`: restores the archive with a shell, the client mariadb or mysql, and a decompressor.

use super::index::{MySqlArchive, MySqlArchiveTable};
use crate::dump::DumpCodec;
use crate::target::quoted;

/// Its name in an archive.
pub const RESTORE_SCRIPT: &str = "restore.sh";

const HEAD: &str = r#"#!/bin/sh
# Restores this archive into an empty database, one file after the other.
#   ./restore.sh DATABASE [OPTION OF THE CLIENT]...     such as --host=db --user=me
# A password comes from ~/.my.cnf, or is asked for with -p.
# Needs mariadb or mysql, and the decompressor. The server must allow local_infile.
set -eu
test $# -ge 1 || { sed -n '2,5s/^# *//p' "$0" >&2; exit 2; }
cd "$(dirname "$0")"
database=$1
shift
client=$(command -v mariadb || command -v mysql) || { echo 'restore.sh: mariadb is not installed' >&2; exit 2; }
sandbox=
if "$client" --help --verbose 2>/dev/null | grep -q -- '^ *--sandbox'; then sandbox=--sandbox; fi
session="set names utf8mb4, time_zone = '+00:00', sql_mode = 'NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES', unique_checks = 0, foreign_key_checks = 0"

ask() { "$client" "$@" --default-character-set=utf8mb4 --database="$database"; }
run() { file=$1; shift; ask "$@" $sandbox < "./$file"; }
load() { file=$1 sql=$2; shift 2; unpack "./$file" | ask "$@" --local-infile=1 --show-warnings --execute="$session; $sql"; }
count() {
    table=$1 expected=$2
    shift 2
    found=$(ask "$@" --batch --skip-column-names --execute="select count(*) from $table" < /dev/null)
    test "$found" = "$expected" || { echo "restore.sh: $table has $found rows, not $expected" >&2; exit 1; }
}

"#;

/// The script's text.
pub fn restore_script(archive: &MySqlArchive, codec: &DumpCodec) -> String {
    let mut text = HEAD.to_owned();
    text += &format!("unpack() {{ {} \"$1\"; }}\n\n", decompressor(codec));
    for file in &archive.before {
        text += &format!("run {file} \"$@\"\n");
    }
    for table in &archive.tables {
        text += &loads(table);
    }
    for file in &archive.after {
        text += &format!("run {file} \"$@\"\n");
    }
    text += &format!(
        "echo \"restore.sh: {} tables with {} rows\" >&2\n",
        archive.tables.len(),
        archive.tables.iter().map(|table| table.rows).sum::<u64>()
    );
    text
}

fn decompressor(codec: &DumpCodec) -> String {
    match codec.format {
        None => "cat".to_owned(),
        Some(format) => format!("{} -dc", format.facts().tool),
    }
}

fn loads(table: &MySqlArchiveTable) -> String {
    let mut text = String::new();
    if !table.parts.is_empty() {
        text += &format!("into={}\n", word(&table.load_statement("'/dev/stdin'")));
    }
    for part in &table.parts {
        text += &format!("load {} \"$into\" \"$@\"\n", word(&part.file));
    }
    text + &format!("count {} {} \"$@\"\n", word(&quoted(&table.table, '`')), table.rows)
}

/// A word of a shell.
fn word(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::super::index::MySqlArchivePart;
    use super::*;

    #[test]
    fn a_script_has_each_file_in_its_place() {
        let part = MySqlArchivePart { file: "d.it%27s.00000.tsv.zst".to_owned(), ..MySqlArchivePart::default() };
        let table =
            MySqlArchiveTable { table: "it's".to_owned(), rows: 3, parts: vec![part], ..MySqlArchiveTable::default() };
        let archive = MySqlArchive {
            before: vec!["schema.sql".to_owned()],
            after: vec!["views.sql".to_owned()],
            tables: vec![table],
            ..MySqlArchive::default()
        };
        let script = restore_script(&archive, &DumpCodec::parse("zstd:1").expect("it is known"));
        let end = script.split("unpack() { zstd -dc \"$1\"; }\n").nth(1).expect("it decompresses");
        let lines: Vec<&str> = end.lines().filter(|line| !line.is_empty()).collect();
        assert_eq!((lines[0], lines[4]), ("run schema.sql \"$@\"", "run views.sql \"$@\""));
        assert!(
            lines[1].starts_with("into='load data local infile '\\''/dev/stdin'\\'' into table `it'\\''s` "),
            "{}",
            lines[1]
        );
        assert_eq!(lines[2], "load 'd.it%27s.00000.tsv.zst' \"$into\" \"$@\"");
        assert_eq!(lines[3], "count '`it'\\''s`' 3 \"$@\"");
    }
}
