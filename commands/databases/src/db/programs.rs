//! pg_dump and pg_restore: which of those on this host, and what they read.

use database::dump::{DumpCodec, major};
use mh_kit::context::variable;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Where distributions put the programs of each major version.
const VERSIONED: [(&str, &str); 2] = [("/usr/lib/postgresql", ""), ("/usr", "pgsql-")];

/// The first pg_restore that reads zstd and lz4.
const READS_ZSTD_SINCE: u32 = 16;

/// PostgreSQL's programs in a directory.
#[derive(Clone, Debug)]
pub struct ClientPrograms {
    /// It.
    pub directory: PathBuf,
    /// `15.18`.
    pub version: String,
    /// `15`.
    pub major: u32,
}

/// Finds the newest that dump a server of this version. The error is a sentence with a hint.
pub fn find(server_major: u32) -> Result<ClientPrograms, String> {
    let is_good = |programs: &ClientPrograms| programs.major >= server_major;
    let by_version = newest(VERSIONED.iter().flat_map(|(parent, prefix)| versioned(Path::new(parent), prefix)));
    if let Some(good) = by_version.clone().filter(is_good) {
        return Ok(good);
    }
    let path = variable("PATH").unwrap_or_default();
    let in_path = std::env::split_paths(&path).find_map(|directory| look(&directory));
    if let Some(good) = in_path.clone().filter(is_good) {
        return Ok(good);
    }
    let package = format!("the package is postgresql-client-{server_major} or newer");
    Err(match by_version.or(in_path) {
        None => format!("pg_dump and pg_restore are not installed; {package}"),
        Some(old) => format!(
            "pg_dump {} in '{}' is older than the server's {server_major}; {package}",
            old.version,
            old.directory.display()
        ),
    })
}

/// All that there are, in the order in which a restore into a server of this version tries them: its own version, newer ones, older ones. An archive may
/// be too new for the first; statements of a newer one may be unknown to the server.
pub fn for_restore(server_major: u32) -> Vec<ClientPrograms> {
    let by_version = VERSIONED.iter().flat_map(|(parent, prefix)| versioned(Path::new(parent), prefix));
    let path = variable("PATH").unwrap_or_default();
    let mut found: Vec<ClientPrograms> =
        by_version.chain(std::env::split_paths(&path)).filter_map(|directory| look(&directory)).collect();
    found.sort_by_key(|programs| (programs.major < server_major, programs.major.abs_diff(server_major)));
    found
}

fn versioned(parent: &Path, prefix: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(parent).into_iter().flatten().flatten();
    let is_version = |name: &str| name.strip_prefix(prefix).is_some_and(|rest| rest.parse::<f32>().is_ok());
    entries
        .filter(|entry| entry.file_name().to_str().is_some_and(is_version))
        .map(|entry| entry.path().join("bin"))
        .collect()
}

fn newest(directories: impl Iterator<Item = PathBuf>) -> Option<ClientPrograms> {
    directories.filter_map(|directory| look(&directory)).max_by_key(|programs| programs.major)
}

/// The programs in a directory, if both are there and say their version.
fn look(directory: &Path) -> Option<ClientPrograms> {
    if !directory.join("pg_dump").is_file() || !directory.join("pg_restore").is_file() {
        return None;
    }
    let output = Command::new(directory.join("pg_restore")).arg("--version").stdin(Stdio::null()).output().ok()?;
    let version = version_in(&String::from_utf8_lossy(&output.stdout))?;
    Some(ClientPrograms { directory: directory.to_owned(), major: major(&version)?, version })
}

/// `pg_restore (PostgreSQL) 15.18 (Debian ...)`.
fn version_in(line: &str) -> Option<String> {
    let (_, rest) = line.split_once("(PostgreSQL) ")?;
    rest.split_whitespace().next().map(str::to_owned)
}

impl ClientPrograms {
    /// Whether they were built with a compression: pg_dump judges that before it makes its directory, which cannot be made here.
    fn are_built_with(&self, name: &str) -> bool {
        const CANNOT_BE_MADE: &str = "/dev/null/none";
        let mut command = Command::new(self.directory.join("pg_dump"));
        command.args(["--format=directory", "--no-password", "--file", CANNOT_BE_MADE]);
        command.arg(format!("--compress={name}")).env("LC_ALL", "C").stdin(Stdio::null());
        command.output().is_ok_and(|output| String::from_utf8_lossy(&output.stderr).contains(CANNOT_BE_MADE))
    }

    /// Why they do not read a compression, if so.
    pub fn why_unreadable(&self, codec: &DumpCodec) -> Option<String> {
        let name = codec.name();
        let name = name.split(':').next().filter(|name| matches!(*name, "zstd" | "lz4"))?;
        if self.major < READS_ZSTD_SINCE {
            return Some(format!("pg_restore {} does not read {name}: {READS_ZSTD_SINCE} and newer do", self.version));
        }
        (!self.are_built_with(name)).then(|| format!("pg_restore {} is built without {name}", self.version))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_what_programs_print() {
        assert_eq!(version_in("pg_restore (PostgreSQL) 15.18 (Debian 15.18-0)\n").as_deref(), Some("15.18"));
        assert_eq!(version_in("pg_dump: error"), None);
    }

    #[test]
    fn old_programs_read_gzip_only() {
        let programs = ClientPrograms { directory: PathBuf::from("/nothing"), version: "15.1".to_owned(), major: 15 };
        let why = |text| programs.why_unreadable(&DumpCodec::parse(text).expect("a compression"));
        assert_eq!(why("zstd:1").as_deref(), Some("pg_restore 15.1 does not read zstd: 16 and newer do"));
        assert_eq!((why("gzip:9"), why("none")), (None, None));
        let newer = ClientPrograms { major: 17, ..programs.clone() };
        let text = newer.why_unreadable(&DumpCodec::parse("lz4").expect("a compression"));
        assert!(text.is_some_and(|text| text.contains("built without lz4")), "it cannot even be run");
    }
}
