//! mariadb-dump and mysqldump: which of them on this host.

use database::dump_mysql::MySqlDumpProgram;
use mh_kit::context::variable;
use std::path::Path;
use std::process::{Command, Stdio};
use wire::OptionDialect;

/// A program that was found.
#[derive(Clone, Debug)]
pub struct FoundProgram {
    /// As the engine runs it.
    pub program: MySqlDumpProgram,
    /// `10.11.19`.
    pub version: String,
}

/// Finds the server's own, or else the other's. The error is a sentence with a hint.
pub fn find(is_mariadb: bool) -> Result<FoundProgram, String> {
    let names = if is_mariadb { ["mariadb-dump", "mysqldump"] } else { ["mysqldump", "mariadb-dump"] };
    let path = variable("PATH").unwrap_or_default();
    let in_path = |name: &str| std::env::split_paths(&path).find_map(|directory| look(&directory.join(name)));
    names.into_iter().find_map(in_path).ok_or_else(|| {
        let package = if is_mariadb { "mariadb-client" } else { "mysql-client" };
        format!("{} is not installed; the package is {package}", names[0])
    })
}

/// A program that says its version.
fn look(path: &Path) -> Option<FoundProgram> {
    if !path.is_file() {
        return None;
    }
    let output = Command::new(path).arg("--version").stdin(Stdio::null()).output().ok()?;
    let line = String::from_utf8_lossy(&output.stdout).into_owned();
    let dialect = if line.contains("MariaDB") { OptionDialect::MariaDb } else { OptionDialect::MySql };
    Some(FoundProgram { program: MySqlDumpProgram { path: path.to_owned(), dialect }, version: version_in(&line)? })
}

/// `mariadb-dump  Ver 10.19 Distrib 10.11.19-MariaDB, for ...`, `mysqldump  Ver 8.0.36 for Linux`,
/// `mariadb-dump from 11.4.2-MariaDB, client 10.19 for ...`.
fn version_in(line: &str) -> Option<String> {
    let rest = ["Distrib ", " from ", "Ver "].into_iter().find_map(|word| Some(line.split_once(word)?.1))?;
    let end = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(rest.len());
    Some(rest[..end].to_owned()).filter(|version| !version.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_those_of_the_distribution() {
        for (line, version) in [
            ("mariadb-dump  Ver 10.19 Distrib 10.11.19-MariaDB, for debian-linux-gnu (x86_64)", "10.11.19"),
            ("mysqldump  Ver 8.0.36 for Linux on x86_64 (MySQL Community Server - GPL)", "8.0.36"),
            ("mariadb-dump from 11.4.2-MariaDB, client 10.19 for debian-linux-gnu (x86_64)", "11.4.2"),
        ] {
            assert_eq!(version_in(line).as_deref(), Some(version));
        }
        assert_eq!(version_in("something"), None);
    }
}
