//! Everything that is no row: mariadb-dump writes it, into a file for each kind of object, in the order in which they are restored.

use super::catalogue::{MySqlCatalogue, MySqlTable, MySqlTableKind};
use super::{MySqlDumpRequest, MySqlSelection};
use crate::dump::DumpError;
use crate::dump::archive::read_some;
use crate::dump::course::DumpCourse;
use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use wire::OptionDialect;

/// mariadb-dump or mysqldump.
#[derive(Clone, Debug)]
pub struct MySqlDumpProgram {
    /// It.
    pub path: PathBuf,
    /// Whose it is.
    pub dialect: OptionDialect,
}

/// LIMIT: names in one command line, by number and bytes.
const NAMES_MAX: usize = 500;
const NAMES_BYTES_MAX: usize = 64 << 10;

/// Files with statements, in the order of a restore.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SchemaFiles {
    /// Before rows are loaded.
    pub before: Vec<String>,
    /// After that.
    pub after: Vec<String>,
}

/// What is written for every object alike.
const ALWAYS: [&str; 7] = [
    "--no-data",
    "--skip-add-drop-table",
    "--skip-lock-tables",
    "--skip-comments",
    "--no-tablespaces",
    "--default-character-set=utf8mb4",
    "--skip-dump-date",
];

/// MySQL's own program asks newer servers for what older ones do not have, and writes GTIDs that `mh.index` has.
const OF_MYSQL: [&str; 2] = ["--column-statistics=0", "--set-gtid-purged=OFF"];

/// Names the login file of MySQL's programs.
const LOGIN_FILE: &str = "MYSQL_TEST_LOGIN_FILE";

/// Runs programs that write a schema.
pub struct SchemaWriter<'a> {
    pub request: &'a MySqlDumpRequest,
    pub course: &'a DumpCourse,
    pub database: &'a str,
    pub directory: &'a Path,
    /// A file with the address and the password.
    pub options: &'a Path,
    /// What the programs wrote on standard error though they succeeded.
    pub warnings: String,
}

impl SchemaWriter<'_> {
    /// Writes all that is selected.
    pub fn write(&mut self, catalogue: &MySqlCatalogue) -> Result<SchemaFiles, DumpError> {
        let selection = &self.request.selection;
        let mut files = SchemaFiles::default();
        if !selection.has_schema {
            return Ok(files);
        }
        let names = |is_kind: fn(&MySqlTable) -> bool| -> Vec<&str> {
            catalogue.tables.iter().filter(|table| is_kind(table)).map(|table| table.name.as_str()).collect()
        };
        let tables = names(|table| table.kind != MySqlTableKind::View);
        files.before.extend(self.file("schema.sql", &["--skip-triggers"], &tables)?);
        if selection.takes_routines() && catalogue.routines > 0 {
            // Without the name of a table the program asks about each.
            let one = tables.first().copied();
            files.after.extend(self.of_database("routines.sql", "--routines", one)?);
        }
        let views = names(|table| table.kind == MySqlTableKind::View);
        files.after.extend(self.file("views.sql", &["--skip-triggers"], &views)?);
        if selection.takes_triggers() {
            let with: HashSet<&str> = catalogue.triggered.iter().map(String::as_str).collect();
            let triggered: Vec<&str> = tables.iter().copied().filter(|table| with.contains(table)).collect();
            files.after.extend(self.file("triggers.sql", &["--no-create-info", "--triggers"], &triggered)?);
        }
        if selection.takes_events() && catalogue.events > 0 {
            let one = tables.first().copied();
            files.after.extend(self.of_database("events.sql", "--events", one)?);
        }
        Ok(files)
    }

    fn of_database(&mut self, name: &str, what: &str, table: Option<&str>) -> Result<Option<String>, DumpError> {
        let mut file = self.create(name)?;
        self.run(&mut file, &["--no-create-info", "--skip-triggers", what], table.as_slice())?;
        file.flush().map_err(DumpError::file("write", &self.directory.join(name)))?;
        Ok(Some(name.to_owned()))
    }

    /// A file about these; none if there are none.
    fn file(&mut self, name: &str, words: &[&str], objects: &[&str]) -> Result<Option<String>, DumpError> {
        if objects.is_empty() {
            return Ok(None);
        }
        let mut file = self.create(name)?;
        for some in batches(objects) {
            self.run(&mut file, words, some)?;
        }
        file.flush().map_err(DumpError::file("write", &self.directory.join(name)))?;
        Ok(Some(name.to_owned()))
    }

    fn create(&self, name: &str) -> Result<BufWriter<File>, DumpError> {
        let path = self.directory.join(name);
        File::create_new(&path).map(BufWriter::new).map_err(DumpError::file("create", &path))
    }

    fn run(&mut self, file: &mut BufWriter<File>, words: &[&str], objects: &[&str]) -> Result<(), DumpError> {
        let program = &self.request.program;
        let mut command = Command::new(&program.path);
        let mut defaults = std::ffi::OsString::from("--defaults-file=");
        defaults.push(self.options);
        command.arg(defaults).args(self.request.address.client_options()).args(ALWAYS).args(words);
        if program.dialect == OptionDialect::MySql {
            command.args(OF_MYSQL);
        }
        // COMPAT: MySQL's programs read the login file of the user, ~/.mylogin.cnf, after the file that they are given.
        command.env(LOGIN_FILE, self.options.with_extension("none"));
        command.arg("--").arg(self.database).args(objects);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(DumpError::file("run", &program.path))?;
        let (output, errors) = (child.stdout.take(), child.stderr.take());
        let mut filter = StatementFilter::new(self.request.selection.keeps_definers);
        let (written, said) = std::thread::scope(|scope| {
            let said = scope.spawn(|| errors.map(read_some).unwrap_or_default());
            let written = output.map_or(Ok(()), |output| self.copy(output, file, &mut filter));
            if written.is_err() || self.course.is_over() {
                let _ended_meanwhile = child.kill();
            }
            (written, said.join().expect("a reader does not panic"))
        });
        let status = child.wait().map_err(DumpError::file("wait for", &program.path))?;
        if self.course.is_over() {
            return Err(DumpError::Interrupted);
        }
        written.map_err(DumpError::file("write a schema in", self.directory))?;
        if !status.success() {
            let message = format!("failed ({status}): {}", said.trim_end());
            return Err(DumpError::Program { program: "mariadb-dump", message });
        }
        self.warnings += &said;
        Ok(())
    }

    fn copy(&self, from: impl io::Read, to: &mut impl Write, filter: &mut StatementFilter) -> io::Result<()> {
        let mut from = BufReader::new(from);
        let mut line = Vec::new();
        while !self.course.is_over() {
            line.clear();
            if from.read_until(b'\n', &mut line)? == 0 {
                return Ok(());
            }
            to.write_all(&filter.line(&line))?;
        }
        Ok(())
    }
}

/// As many names as a command line takes.
fn batches<'a, 'b>(mut names: &'a [&'b str]) -> Vec<&'a [&'b str]> {
    let mut batches = Vec::new();
    while !names.is_empty() {
        let mut bytes = 0;
        let fit = names.iter().take(NAMES_MAX).take_while(|name| {
            bytes += name.len() + 1;
            bytes <= NAMES_BYTES_MAX
        });
        let (batch, rest) = names.split_at(fit.count().max(1));
        batches.push(batch);
        names = rest;
    }
    batches
}

/// Changes lines that bind statements to the place that they come from.
struct StatementFilter {
    keeps_definers: bool,
    /// The line before was `DELIMITER ;;`, so that a definition begins here.
    begins: bool,
    is_first: bool,
}

impl StatementFilter {
    fn new(keeps_definers: bool) -> Self {
        Self { keeps_definers, begins: false, is_first: true }
    }

    fn line(&mut self, line: &[u8]) -> Vec<u8> {
        let is_first = std::mem::take(&mut self.is_first);
        // COMPAT: clients older than this comment take it for a command and fail.
        if is_first && (line.starts_with(b"/*M!999999\\-") || line.starts_with(b"/*!999999\\-")) {
            return Vec::new();
        }
        // It names the database of the source, and stands before definitions made under another collation.
        if let Some(rest) = line.strip_prefix(b"ALTER DATABASE `")
            && let Some(end) = rest.windows(2).position(|pair| pair == b"` ")
        {
            return [b"ALTER DATABASE ", &rest[end + 2..]].concat();
        }
        let begins = std::mem::replace(&mut self.begins, line.starts_with(b"DELIMITER ;;"));
        let is_definition = begins && line.starts_with(b"CREATE ");
        let has_definer = is_definition || line.starts_with(b"/*!50013 DEFINER=") || is_create_of_parts(line);
        if self.keeps_definers || !has_definer {
            return line.to_vec();
        }
        without_definer(line)
    }
}

/// Triggers and events: `/*!50003 CREATE*/ /*!50017 DEFINER=...*/ ...`.
fn is_create_of_parts(line: &[u8]) -> bool {
    line.starts_with(b"/*!50003 CREATE*/ /*!50017 DEFINER=") || line.starts_with(b"/*!50106 CREATE*/ /*!50117 DEFINER=")
}

/// Cuts the first ``DEFINER=`user`@`host` `` out.
fn without_definer(line: &[u8]) -> Vec<u8> {
    const WORD: &[u8] = b"DEFINER=";
    let Some(at) = line.windows(WORD.len()).position(|window| window == WORD) else { return line.to_vec() };
    let rest = &line[at + WORD.len()..];
    let mut end = quoted_end(rest);
    if rest.get(end) == Some(&b'@') {
        end += 1 + quoted_end(&rest[end + 1..]);
    }
    let rest = rest[end..].strip_prefix(b" ").unwrap_or(&rest[end..]);
    [&line[..at], rest].concat()
}

/// The end of a name in backticks, which stand doubled in it.
fn quoted_end(text: &[u8]) -> usize {
    let mut at = 1;
    if text.first() != Some(&b'`') {
        return 0;
    }
    while let Some(length) = memchr::memchr(b'`', text.get(at..).unwrap_or_default()) {
        at += length + 1;
        if text.get(at) != Some(&b'`') {
            return at;
        }
        at += 1;
    }
    text.len()
}

impl MySqlSelection {
    /// Triggers of the tables.
    pub fn takes_triggers(&self) -> bool {
        self.has_schema && self.has_triggers
    }

    /// Procedures, functions and packages; they go with no table.
    pub fn takes_routines(&self) -> bool {
        self.has_schema && self.has_routines && self.tables.is_empty()
    }

    /// Events, as well.
    pub fn takes_events(&self) -> bool {
        self.has_schema && self.has_events && self.tables.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filtered(text: &str, keeps_definers: bool) -> String {
        let mut filter = StatementFilter::new(keeps_definers);
        let lines = text.split_inclusive('\n').flat_map(|line| filter.line(line.as_bytes()));
        String::from_utf8(lines.collect()).expect("it was text")
    }

    #[test]
    fn what_binds_to_the_source_is_cut_out() {
        let text = "/*M!999999\\- enable the sandbox mode */ \nALTER DATABASE `a b` CHARACTER SET latin1 COLLATE x ;\nDELIMITER ;;\n\
            CREATE DEFINER=`it``s`@`%` PROCEDURE `p`()\nselect 'CREATE DEFINER=`root`@`x` '\n;;\n\
            /*!50003 CREATE*/ /*!50017 DEFINER=`root`@`localhost`*/ /*!50003 trigger t\n/*!50013 DEFINER=`r`@`h` SQL SECURITY DEFINER */\n";
        let cut = "ALTER DATABASE CHARACTER SET latin1 COLLATE x ;\nDELIMITER ;;\n\
            CREATE PROCEDURE `p`()\nselect 'CREATE DEFINER=`root`@`x` '\n;;\n\
            /*!50003 CREATE*/ /*!50017 */ /*!50003 trigger t\n/*!50013 SQL SECURITY DEFINER */\n";
        assert_eq!(filtered(text, false), cut);
        assert!(filtered(text, true).contains("CREATE DEFINER=`it``s`@`%` PROCEDURE"));
    }

    #[test]
    fn names_go_into_command_lines_that_are_not_too_long() {
        let long = "x".repeat(30_000);
        let names = ["a", &long, &long, &long, "b"];
        let sizes: Vec<usize> = batches(&names).iter().map(|batch| batch.len()).collect();
        assert_eq!(sizes, [3, 2]);
        assert_eq!(batches(&["t"; 1200]).len(), 3);
    }
}
