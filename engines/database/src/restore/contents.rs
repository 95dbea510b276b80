//! An archive's contents as pg_restore tells them: which entries are selected and in which order, the SQL of some. toc.dat is never read here.

use super::RestoreError;
use memchr::memmem;
use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// pg_dump's three sections, in the order of a restore.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Section {
    /// Schemas, tables, functions.
    PreData,
    /// Rows, large objects, positions of sequences.
    Data,
    /// Indexes, constraints, triggers.
    PostData,
}

/// What a restore does with an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A table, partitioned or not.
    Table,
    /// Its rows.
    TableData,
    /// An index, of a constraint or not.
    Index,
    /// A large object, without its contents.
    LargeObject,
    /// Anything else: pg_restore's affair.
    Other,
}

/// An entry of the table of contents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchiveEntry {
    /// Its number in the archive.
    pub id: u64,
    /// Its kind.
    pub kind: EntryKind,
    /// When it is restored.
    pub section: Section,
    /// What pg_restore lists behind the numbers: kind, schema, name, owner.
    pub title: String,
    /// Entries that it needs.
    pub depends: Vec<u64>,
}

/// What an archive has, as far as it is selected.
#[derive(Clone, Debug, Default)]
pub struct ArchiveContents {
    /// In the archive's order.
    pub entries: Vec<ArchiveEntry>,
    /// The dumped database's name.
    pub database: Option<String>,
    /// The dumped server's version.
    pub server_version: Option<String>,
}

/// SQL of entries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArchiveScript {
    /// What comes before the first entry: settings of the session, and with `--clean` what is dropped.
    pub prelude: Vec<u8>,
    /// By the entry's number.
    pub of_entry: HashMap<u64, EntrySql>,
}

/// SQL of an entry, in the archive's encoding.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EntrySql {
    /// The statement that sets the tablespace for what is made; empty: as it is.
    pub tablespace: Vec<u8>,
    /// The entry's statements.
    pub statements: Vec<u8>,
}

/// pg_restore and what it reads.
pub struct ArchiveReader<'a> {
    /// The directory with pg_restore.
    pub programs: &'a Path,
    /// The archive.
    pub archive: &'a Path,
    /// A private directory.
    pub scratch: &'a Path,
    /// Sections that are restored; none: all.
    pub sections: &'a [Section],
}

const SECTIONS: [(Section, &str); 3] =
    [(Section::PreData, "pre-data"), (Section::Data, "data"), (Section::PostData, "post-data")];

impl Section {
    /// By pg_dump's name.
    pub fn by_name(name: &str) -> Option<Self> {
        SECTIONS.into_iter().find(|(_, its)| *its == name).map(|(section, _)| section)
    }
}

impl ArchiveContents {
    /// From pg_restore's verbose list of everything, and its lists of what is selected of each section.
    pub fn read(all: &str, lists: &[(Section, String)]) -> Self {
        let depends = dependencies(all);
        let of_list = |(section, list): &(Section, String)| {
            let entries = list.lines().filter_map(|line| entry(line, *section, &depends));
            entries.collect::<Vec<_>>()
        };
        Self {
            entries: lists.iter().flat_map(of_list).collect(),
            database: header_value(all, "dbname"),
            server_version: header_value(all, "Dumped from database version"),
        }
    }
}

impl ArchiveReader<'_> {
    /// Lists what pg_restore's options select.
    pub fn contents(&self, selection: &[OsString]) -> Result<ArchiveContents, RestoreError> {
        let all = self.list(&[OsString::from("--list"), "--verbose".into()])?;
        let is_wanted = |section: &Section| self.sections.is_empty() || self.sections.contains(section);
        let mut lists = Vec::new();
        for (section, name) in SECTIONS.into_iter().filter(|(section, _)| is_wanted(section)) {
            let mut options = vec![OsString::from("--list"), format!("--section={name}").into()];
            options.extend(selection.iter().cloned());
            lists.push((section, self.list(&options)?));
        }
        Ok(ArchiveContents::read(&all, &lists))
    }

    fn list(&self, options: &[OsString]) -> Result<String, RestoreError> {
        let output = self.output(options, self.archive)?;
        Ok(String::from_utf8_lossy(&output).into_owned())
    }

    /// SQL of entries, without the rows of tables. `options` are pg_restore's for how it is written.
    pub fn script(&self, entries: &[&ArchiveEntry], options: &[OsString]) -> Result<ArchiveScript, RestoreError> {
        let skeleton = self.skeleton(entries)?;
        let list = self.list_file("script", entries)?;
        let mut all = vec![OsString::from("--verbose"), "--file=-".into(), "--use-list".into(), list.into()];
        all.extend(options.iter().cloned());
        let output = self.output(&all, &skeleton)?;
        Ok(ArchiveScript::split(&output, entries.iter().map(|entry| entry.id).collect()))
    }

    /// A file with a list of entries, as `pg_restore --use-list` takes it.
    pub fn list_file(&self, name: &str, entries: &[&ArchiveEntry]) -> Result<PathBuf, RestoreError> {
        let path = self.scratch.join(format!("{name}.list"));
        let text: String = entries.iter().map(|entry| format!("{}; 0 0\n", entry.id)).collect();
        std::fs::write(&path, text).map_err(RestoreError::file("write", &path))?;
        Ok(path)
    }

    /// The archive without rows: pg_restore then writes the statements that rows go with, and no rows.
    fn skeleton(&self, entries: &[&ArchiveEntry]) -> Result<PathBuf, RestoreError> {
        let skeleton = self.scratch.join("skeleton");
        std::fs::create_dir_all(&skeleton).map_err(RestoreError::file("make directory", &skeleton))?;
        let contents = self.archive.join("toc.dat");
        std::fs::copy(&contents, skeleton.join("toc.dat")).map_err(RestoreError::file("copy", &contents))?;
        for entry in entries.iter().filter(|entry| entry.kind == EntryKind::TableData) {
            let path = skeleton.join(format!("{}.dat", entry.id));
            std::fs::write(&path, b"").map_err(RestoreError::file("write", &path))?;
        }
        Ok(skeleton)
    }

    fn output(&self, options: &[OsString], archive: &Path) -> Result<Vec<u8>, RestoreError> {
        let program = self.programs.join("pg_restore");
        let mut command = Command::new(&program);
        command.env("LC_ALL", "C").args(options).arg(archive).stdin(Stdio::null());
        let output = command.output().map_err(RestoreError::file("run", &program))?;
        if output.status.success() {
            return Ok(output.stdout);
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let error = said.lines().find_map(|line| line.strip_prefix("pg_restore: error: ")).unwrap_or(said.trim_end());
        Err(RestoreError::Program { program: "pg_restore", message: format!("failed ({}): {error}", output.status) })
    }
}

impl ArchiveScript {
    /// Divides what `pg_restore --verbose --file=-` has written, where the marks of these entries are.
    pub fn split(text: &[u8], mut awaited: HashSet<u64>) -> Self {
        let mut script = Self::default();
        let mut current = None;
        let mut tablespace = Vec::new();
        let text = without_end(text);
        for line in text.split_inclusive(|&byte| byte == b'\n') {
            // A mark may also stand within a text: each counts once.
            if let Some(id) = mark(line).filter(|id| awaited.remove(id)) {
                // A line of two dashes stands before it.
                let before = current.and_then(|before| script.of_entry.get_mut(&before)).map(|sql| &mut sql.statements);
                let before = before.unwrap_or(&mut script.prelude);
                if before.ends_with(b"--\n") {
                    before.truncate(before.len() - 3);
                }
                current = Some(id);
                script.of_entry.entry(id).or_default().tablespace.clone_from(&tablespace);
                continue;
            }
            if line.starts_with(b"SET default_tablespace = ") {
                tablespace = line.to_vec();
                continue;
            }
            let section = match current {
                Some(id) => &mut script.of_entry.entry(id).or_default().statements,
                None => &mut script.prelude,
            };
            let has_begun = !section.trim_ascii().is_empty();
            // Notes, and commands to psql.
            let is_no_sql = line.starts_with(b"--") && !has_begun || line.starts_with(b"\\") && current.is_none();
            if !is_no_sql {
                section.extend_from_slice(line);
            }
        }
        script
    }
}

/// `3426; 0 16393 TABLE DATA public events owner`.
fn entry(line: &str, section: Section, depends: &HashMap<u64, Vec<u64>>) -> Option<ArchiveEntry> {
    let (id, rest) = line.split_once("; ")?;
    let id = id.parse().ok()?;
    let mut words = rest.splitn(3, ' ');
    let (class, _number, title) = (words.next()?, words.next()?, words.next()?);
    let kind = match class {
        "0" if section == Section::Data && title.starts_with("TABLE DATA ") => EntryKind::TableData,
        "1259" if title.starts_with("TABLE ") => EntryKind::Table,
        "1259" if title.starts_with("INDEX ") => EntryKind::Index,
        "2606" if title.starts_with("CONSTRAINT ") => EntryKind::Index,
        "2613" => EntryKind::LargeObject,
        _ => EntryKind::Other,
    };
    let depends = depends.get(&id).cloned().unwrap_or_default();
    Some(ArchiveEntry { id, kind, section, title: title.to_owned(), depends })
}

/// Entries that others need: a verbose list has the line `;<tab>depends on: 215 216` behind them.
fn dependencies(list: &str) -> HashMap<u64, Vec<u64>> {
    let mut depends = HashMap::new();
    let mut last = None;
    for line in list.lines() {
        if let Some(numbers) = line.strip_prefix(";\tdepends on:") {
            let numbers = numbers.split_whitespace().filter_map(|number| number.parse().ok()).collect();
            last.map(|id| depends.insert(id, numbers));
        } else {
            last = line.split_once("; ").and_then(|(id, _)| id.parse::<u64>().ok());
        }
    }
    depends
}

/// `;     dbname: shop`.
fn header_value(list: &str, name: &str) -> Option<String> {
    let lines = list.lines().take_while(|line| line.starts_with(';'));
    let mut values =
        lines.filter_map(|line| line.trim_start_matches([';', ' ']).strip_prefix(name)?.strip_prefix(": "));
    values.next().map(str::to_owned)
}

/// A script without the notes that stand behind its last entry.
fn without_end(text: &[u8]) -> &[u8] {
    let text = match memmem::rfind(text, b"\n--\n-- PostgreSQL database dump complete\n") {
        Some(end) => &text[..end + 1],
        None => text,
    };
    match memmem::rfind(text, b"\n-- Completed on ") {
        Some(end) if memmem::find(&text[end..], b"-- TOC entry ").is_none() => &text[..end + 1],
        _ => text,
    }
}

/// `-- TOC entry 3426 (class 0 OID 16393)`.
fn mark(line: &[u8]) -> Option<u64> {
    let rest = line.strip_prefix(b"-- TOC entry ")?;
    let end = rest.iter().position(|byte| !byte.is_ascii_digit())?;
    rest[end..].starts_with(b" (class ").then_some(())?;
    str::from_utf8(&rest[..end]).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_told_apart_whatever_their_names() {
        let depends = HashMap::from([(3426, vec![217])]);
        let read = |line, section| entry(line, section, &depends).map(|entry| (entry.id, entry.kind));
        let data = read("3426; 0 16393 TABLE DATA public events owner", Section::Data);
        assert_eq!(data, Some((3426, EntryKind::TableData)));
        assert_eq!(read("217; 1259 16393 TABLE public events owner", Section::PreData), Some((217, EntryKind::Table)));
        let in_schema_data = read("218; 1259 16393 TABLE DATA table owner", Section::PreData);
        assert_eq!(in_schema_data, Some((218, EntryKind::Table)));
        let index = |line| read(line, Section::PostData).expect("an entry").1;
        assert_eq!(index("3259; 1259 16407 INDEX public events_who_idx postgres"), EntryKind::Index);
        assert_eq!(index("3270; 0 0 INDEX ATTACH public parts_1_pkey postgres"), EntryKind::Other);
        assert_eq!(index("3258; 2606 16401 CONSTRAINT public events events_pkey postgres"), EntryKind::Index);
        assert_eq!(index("3275; 2606 16402 FK CONSTRAINT public events e_fkey postgres"), EntryKind::Other);
        assert_eq!(read("3438; 0 0 BLOBS - BLOBS ", Section::Data), Some((3438, EntryKind::Other)));
        let object = read("3437; 2613 16488 BLOB - 16488 postgres", Section::PreData);
        assert_eq!(object, Some((3437, EntryKind::LargeObject)));
        for other in ["", "; Archive created", ";\tdepends on: 1", "x; 1 2 TABLE a b", "1; 2"] {
            assert_eq!(read(other, Section::Data), None, "{other}");
        }
    }

    #[test]
    fn a_script_is_divided_at_the_marks_of_its_entries() {
        let text = b"--\n-- PostgreSQL database dump\n--\n\n\\restrict x\n\nSET a = 1;\n\n--\n-- TOC entry 7 (class 2606 OID 1)\n\
            -- Dependencies: 3\n-- Name: x\n--\n\nCREATE INDEX x ON t (('\n-- TOC entry 9 (class 1 OID 2)\n-- y'));\n\n\n\
            SET default_tablespace = z;\n\n--\n-- TOC entry 8 (class 0 OID 0)\n-- Name: y\n--\n\nCOPY t FROM stdin;\n\
            -- Completed on 2026\n\n--\n-- PostgreSQL database dump complete\n--\n\n\\unrestrict x\n";
        let script = ArchiveScript::split(text, HashSet::from([7, 8]));
        let of = |id| String::from_utf8_lossy(&script.of_entry[&id].statements).trim().to_owned();
        assert_eq!(String::from_utf8_lossy(&script.prelude).trim(), "SET a = 1;");
        assert!(of(7).contains("CREATE INDEX x ON t (('\n-- TOC entry 9 (class 1 OID 2)\n-- y'));"), "{}", of(7));
        assert_eq!((script.of_entry[&7].tablespace.as_slice(), of(8).as_str()), (b"".as_slice(), "COPY t FROM stdin;"));
        assert_eq!(script.of_entry[&8].tablespace, b"SET default_tablespace = z;\n");
    }

    #[test]
    fn lists_tell_dependencies_and_the_source() {
        let list = ";\n; Archive created at x\n;     dbname: a b\n;     Dumped from database version: 15.1\n;\n\
            218; 1259 16408 TABLE s t o\n;\tdepends on: 6 7\n227; 1259 1 SEQUENCE s c o\n";
        assert_eq!(dependencies(list), HashMap::from([(218, vec![6, 7])]));
        assert_eq!(header_value(list, "dbname").as_deref(), Some("a b"));
        assert_eq!(header_value(list, "Format"), None);
    }
}
