//! `mh.index` of an archive of MariaDB or MySQL, the names of its files, and the statement that loads one.

use super::catalogue::{MySqlColumn, MySqlColumnForm};
use super::fault::MySqlDumpFault;
use super::session::MySqlPosition;
use crate::dump::archive::INDEX;
use crate::dump::read_back::RowsFile;
use crate::dump::{ArchiveFrame, DumpError};
use crate::target::quoted;
use serde::{Deserialize, Serialize};
use std::path::Path;
use xxhash_rust::xxh3::xxh3_64;

/// What `mh.index` says of an archive, as JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MySqlArchive {
    /// Of this layout.
    pub version: u32,
    /// `mysql`: archives of PostgreSQL have no such word.
    pub kind: String,
    /// The server that was dumped.
    pub server: String,
    /// Its database.
    pub database: String,
    /// The database's default character set.
    pub character_set: String,
    /// And collation.
    pub collation: String,
    /// Whether all rows are of one moment.
    pub is_consistent: bool,
    /// That moment in the binary log.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub position: Option<MySqlPosition>,
    /// How rows are compressed, as `-Z` has it.
    pub compression: String,
    /// Files with statements to run before rows are loaded, and after.
    pub before: Vec<String>,
    /// In this order.
    pub after: Vec<String>,
    /// Tables with rows.
    pub tables: Vec<MySqlArchiveTable>,
}

/// The layout of `mh.index`.
pub const VERSION: u32 = 1;

/// In an index of MariaDB or MySQL.
pub const KIND: &str = "mysql";

/// A table of an archive.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MySqlArchiveTable {
    /// Its name.
    pub table: String,
    /// Whether a transaction covers what is written to it.
    pub is_transactional: bool,
    /// Its columns in the order of the files.
    pub columns: Vec<MySqlColumn>,
    /// Its rows.
    pub rows: u64,
    /// Bytes of rows, uncompressed.
    pub bytes: u64,
    /// Bytes of its files.
    pub stored: u64,
    /// The sum of the XXH3-128 of all rows, in hexadecimal: it does not depend on their order.
    pub digest: String,
    /// Its files.
    pub parts: Vec<MySqlArchivePart>,
}

/// A file with rows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MySqlArchivePart {
    /// Its name.
    pub file: String,
    /// Its rows.
    pub rows: u64,
    /// Uncompressed bytes.
    pub bytes: u64,
    /// Bytes in the file.
    pub stored: u64,
    /// Units of whole rows that can be decompressed by themselves.
    pub frames: Vec<ArchiveFrame>,
}

impl MySqlArchive {
    /// Reads the index of an archive.
    pub fn read(directory: &Path) -> Result<Self, DumpError> {
        let path = directory.join(INDEX);
        let bytes = std::fs::read(&path).map_err(DumpError::file("read", &path))?;
        let wrong = |what: String| MySqlDumpFault::Archive { file: path.display().to_string(), what };
        let archive: Self =
            serde_json::from_slice(&bytes).map_err(|error| wrong(format!("no index of MariaDB or MySQL: {error}")))?;
        if archive.kind != KIND || archive.version != VERSION {
            return Err(wrong(format!("layout {} of '{}' is not known here", archive.version, archive.kind)).into());
        }
        let outside = archive.files().find(|file| !is_plain(file)).map(str::to_owned);
        match outside {
            Some(file) => Err(wrong(format!("'{file}' is no name of a file in the archive")).into()),
            None => Ok(archive),
        }
    }

    /// Its files with rows.
    pub fn rows_files(&self) -> Vec<RowsFile<'_>> {
        let parts = self.tables.iter().flat_map(|table| &table.parts);
        parts.map(|part| RowsFile { name: &part.file, frames: &part.frames }).collect()
    }

    fn files(&self) -> impl Iterator<Item = &str> {
        let parts = self.tables.iter().flat_map(|table| table.parts.iter().map(|part| &part.file));
        self.before.iter().chain(&self.after).chain(parts).map(String::as_str)
    }
}

/// Whether a name leads to no other directory.
fn is_plain(file: &str) -> bool {
    !file.is_empty() && !file.contains(['/', '\0']) && file != "." && file != ".."
}

impl MySqlArchiveTable {
    /// The statement that loads a file of it; `file` is how the client names it, as a string in SQL.
    pub fn load_statement(&self, file: &str) -> String {
        let mut fields = Vec::with_capacity(self.columns.len().max(1));
        let mut set = Vec::new();
        let is_converted = self.columns.iter().any(|column| column.form != MySqlColumnForm::Text);
        for (number, column) in self.columns.iter().enumerate() {
            let name = quoted(&column.name, '`');
            let computed = match column.form {
                // COMPAT: MariaDB forgets NO_AUTO_VALUE_ON_ZERO for a column that is not among those that are set.
                MySqlColumnForm::Text if is_converted && column.counts => Some(format!("@c{number}")),
                MySqlColumnForm::Text => None,
                MySqlColumnForm::Hex => Some(format!("unhex(@c{number})")),
                MySqlColumnForm::Bits => Some(format!("cast(@c{number} as unsigned)")),
            };
            match computed {
                None => fields.push(name),
                Some(computed) => {
                    fields.push(format!("@c{number}"));
                    set.push(format!("{name} = {computed}"));
                }
            }
        }
        if fields.is_empty() {
            fields.push("@c".to_owned());
        }
        let set = if set.is_empty() { String::new() } else { format!(" set {}", set.join(", ")) };
        format!(
            "load data local infile {file} into table {} character set utf8mb4 fields terminated by '\\t' escaped by '\\\\' \
             lines terminated by '\\n' ({}){set}",
            quoted(&self.table, '`'),
            fields.join(",")
        )
    }
}

/// LIMIT: bytes of a name within a file name, which has 255 of them.
const NAME_BYTES_MAX: usize = 110;

/// The name of a file with rows, without the suffix of its compression.
pub fn file_name(database: &str, table: &str, number: u64) -> String {
    format!("{}.{}.{number:05}.tsv", escaped(database), escaped(table))
}

/// Letters, digits, `_` and `-` as they are, other bytes as `%2E`. A name that is too long ends with its hash.
fn escaped(name: &str) -> String {
    let mut escaped = String::new();
    for letter in name.chars() {
        if letter.is_alphanumeric() || letter == '_' || letter == '-' {
            escaped.push(letter);
        } else {
            letter.to_string().bytes().for_each(|byte| escaped.push_str(&format!("%{byte:02X}")));
        }
    }
    if escaped.len() <= NAME_BYTES_MAX {
        return escaped;
    }
    let hash = format!("~{:016x}", xxh3_64(name.as_bytes()));
    let room = NAME_BYTES_MAX - hash.len();
    let end = (0..=room).rev().find(|end| escaped.is_char_boundary(*end)).unwrap_or(0);
    escaped.truncate(end);
    escaped + &hash
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_are_plain_and_apart() {
        assert_eq!(file_name("shop", "orders", 7), "shop.orders.00007.tsv");
        assert_eq!(file_name("a.b", "checksum../%$ x'", 0), "a%2Eb.checksum%2E%2E%2F%25%24%20x%27.00000.tsv");
        assert_eq!(file_name("-d", "größe", 123_456), "-d.größe.123456.tsv");
        let [one, other] =
            ["a", "b"].map(|last| file_name(&"ÿ.".repeat(32), &format!("{}{last}", "漢.".repeat(31)), 99_999));
        assert!(one != other && one.len() < 250, "{one}");
    }

    #[test]
    fn an_index_that_leads_out_of_its_archive_is_refused() {
        let place = tempfile::tempdir().expect("a directory");
        let read = |archive: &MySqlArchive| {
            std::fs::write(place.path().join(INDEX), serde_json::to_vec(archive).expect("JSON")).expect("ours");
            MySqlArchive::read(place.path()).map_err(|error| error.to_string())
        };
        let good = MySqlArchive { version: VERSION, kind: KIND.to_owned(), ..MySqlArchive::default() };
        assert_eq!(read(&good).as_ref(), Ok(&good));
        let outside = MySqlArchive { after: vec!["../secret".to_owned()], ..good.clone() };
        assert!(read(&outside).is_err_and(|error| error.ends_with("'../secret' is no name of a file in the archive")));
        let newer = MySqlArchive { version: VERSION + 1, ..good };
        assert!(read(&newer).is_err_and(|error| error.contains("is not known here")));
        std::fs::write(place.path().join(INDEX), b"{\"version\":1,\"tables\":[]}").expect("ours");
        let of_postgres = MySqlArchive::read(place.path()).expect_err("it is of PostgreSQL").to_string();
        assert!(of_postgres.contains("no index of MariaDB or MySQL"), "{of_postgres}");
    }

    #[test]
    fn a_load_has_its_columns_and_decodes_them() {
        let column = |name: &str, form| MySqlColumn { name: name.to_owned(), form, ..MySqlColumn::default() };
        let columns = vec![
            column("id", MySqlColumnForm::Text),
            column("b`", MySqlColumnForm::Hex),
            column("c", MySqlColumnForm::Bits),
        ];
        let table = MySqlArchiveTable { table: "t".to_owned(), columns, ..MySqlArchiveTable::default() };
        let statement = table.load_statement("'x'");
        assert!(
            statement.starts_with("load data local infile 'x' into table `t` character set utf8mb4 "),
            "{statement}"
        );
        let end = "(`id`,@c1,@c2) set `b``` = unhex(@c1), `c` = cast(@c2 as unsigned)";
        assert!(statement.ends_with(end), "{statement}");
        let mut counted = table.clone();
        counted.columns[0].counts = true;
        let end = "(@c0,@c1,@c2) set `id` = @c0, `b``` = unhex(@c1), `c` = cast(@c2 as unsigned)";
        assert!(counted.load_statement("'x'").ends_with(end), "{}", counted.load_statement("'x'"));
        counted.columns.truncate(1);
        assert!(counted.load_statement("'x'").ends_with("'\\n' (`id`)"), "it is not converted");
        let nothing = MySqlArchiveTable::default().load_statement("'x'");
        assert!(nothing.ends_with("lines terminated by '\\n' (@c)"), "{nothing}");
    }
}
