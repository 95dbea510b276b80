//! The tablespaces in a server's data directory, by the names that servers give them, in a stable order. Opens none of them.

use files::{Directory, FileType, Follow, how, list_buffer, list_some};
use std::ffi::{CStr, OsStr};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// What was found.
#[derive(Debug, Default)]
pub struct DataDirectory {
    /// Tablespaces, sorted by path; `ibdata2` before `ibdata10`.
    pub files: Vec<PathBuf>,
    /// Directories that could not be listed, and `.isl` files that could not be read.
    pub failed: Vec<(PathBuf, io::Error)>,
}

/// LIMIT: directories below the data directory. Servers have one level; a directory of backups may have another one or two.
const DEPTH_MAX: usize = 8;

/// LIMIT: an `.isl` file holds a path.
const LINK_BYTES_MAX: u64 = 4096;

/// Finds all tablespaces below `directory`.
pub fn find(directory: &Path) -> DataDirectory {
    let mut found = DataDirectory::default();
    descend(directory, 0, &mut found);
    found.files.sort_by_cached_key(|path| sort_key(path));
    found.files.dedup();
    found
}

fn descend(directory: &Path, depth: usize, found: &mut DataDirectory) {
    let mut below = Vec::new();
    let listed = list(directory, |name, file_type| {
        let path = directory.join(OsStr::from_bytes(name.to_bytes()));
        match file_type {
            FileType::Directory => below.push(path),
            _ if is_link_file(name.to_bytes()) => match linked(&path) {
                Ok(tablespace) => found.files.push(tablespace),
                Err(error) => found.failed.push((path, error)),
            },
            _ if is_tablespace(name.to_bytes()) => found.files.push(path),
            _ => {}
        }
    });
    if let Err(error) = listed {
        found.failed.push((directory.to_owned(), error));
    }
    if depth < DEPTH_MAX {
        below.iter().for_each(|directory| descend(directory, depth + 1, found));
    }
}

fn list(directory: &Path, mut each: impl FnMut(&CStr, FileType)) -> io::Result<()> {
    let open = Directory::here().open(directory.as_os_str().as_bytes(), how::through_links(how::DIRECTORY), 0)?;
    let (here, mut buffer) = (Directory::of(&open), list_buffer());
    let mut is_at_end = false;
    while !is_at_end {
        is_at_end = list_some(here, &mut buffer, |name, listed| {
            // A link to a directory is no database: servers have given that up. Links to files are followed.
            let look = || here.status(name, Follow::No).map_or(FileType::Other, |status| status.file_type());
            each(name, listed.unwrap_or_else(look));
        })?;
    }
    Ok(())
}

/// Whether a server gives this name to a tablespace.
fn is_tablespace(name: &[u8]) -> bool {
    let is_numbered = |stem: &[u8]| {
        name.strip_prefix(stem).is_some_and(|rest| !rest.is_empty() && rest.iter().all(u8::is_ascii_digit))
    };
    [b".ibd".as_slice(), b".ibt", b".ibu"].iter().any(|suffix| name.ends_with(suffix))
        || [b"ibdata".as_slice(), b"ibtmp", b"undo", b"undo_"].iter().any(|stem| is_numbered(stem))
}

/// Whether a server gives this name to a tablespace that it makes anew at each start. Its pages reach the file in any order, and many of them never do.
pub fn is_temporary(path: &Path) -> bool {
    let name = path.file_name().map(OsStr::as_bytes).unwrap_or_default();
    name.ends_with(b".ibt") || name.strip_prefix(b"ibtmp").is_some_and(|rest| rest.iter().all(u8::is_ascii_digit))
}

/// MariaDB: the path of a table that was created with DATA DIRECTORY.
fn is_link_file(name: &[u8]) -> bool {
    name.ends_with(b".isl")
}

fn linked(path: &Path) -> io::Result<PathBuf> {
    use std::io::Read;
    let file = Directory::here().open(path.as_os_str().as_bytes(), how::FILE, 0)?;
    let mut text = Vec::new();
    std::fs::File::from(file).take(LINK_BYTES_MAX).read_to_end(&mut text)?;
    Ok(PathBuf::from(OsStr::from_bytes(text.trim_ascii())))
}

/// The path, with the number at the end of its name as a number.
fn sort_key(path: &Path) -> (Vec<u8>, u64) {
    let bytes = path.as_os_str().as_bytes();
    let digits = bytes.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let (stem, number) = bytes.split_at(bytes.len() - digits);
    let number = std::str::from_utf8(number).ok().and_then(|digits| digits.parse().ok());
    (stem.to_owned(), number.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn tablespaces_are_found_by_name_and_nothing_else_is() {
        let place = tempfile::tempdir().expect("a directory");
        for path in [
            "ibdata10",
            "ibdata2",
            "ibdata1",
            "ibtmp1",
            "undo001",
            "undo_002",
            "ib_logfile0",
            "ib_buffer_pool",
            "aria_log.00000001",
            "shop/orders.ibd",
            "shop/orders.frm",
            "shop/db.opt",
            "mysql.ibd",
            "#innodb_temp/temp_1.ibt",
            "#ib_16384_0.dblwr",
            "shop/sub/part#P#p0.ibd",
            "undo",
            "undo_log",
            "my.cnf",
        ] {
            let path = place.path().join(path);
            fs::create_dir_all(path.parent().expect("a directory above")).expect("made");
            fs::write(path, "").expect("written");
        }
        fs::write(place.path().join("shop/far.isl"), "/elsewhere/shop/far.ibd\n").expect("written");
        let found = find(place.path());
        assert!(found.failed.is_empty());
        let shown = |path: &PathBuf| path.strip_prefix(place.path()).unwrap_or(path).display().to_string();
        let names: Vec<String> = found.files.iter().map(shown).collect();
        let expected = [
            "#innodb_temp/temp_1.ibt",
            "ibdata1",
            "ibdata2",
            "ibdata10",
            "ibtmp1",
            "mysql.ibd",
            "shop/orders.ibd",
            "shop/sub/part#P#p0.ibd",
            "undo001",
            "undo_002",
        ];
        let mut expected: Vec<String> = expected.iter().map(|name| (*name).to_owned()).collect();
        let at = names.iter().position(|name| name == "/elsewhere/shop/far.ibd").expect("the link is followed");
        expected.insert(at, "/elsewhere/shop/far.ibd".to_owned());
        assert_eq!(names, expected);
    }

    #[test]
    fn temporary_tablespaces_are_known_by_name() {
        let are_temporary = |names: &[&str]| names.iter().map(|name| is_temporary(Path::new(name))).collect::<Vec<_>>();
        assert_eq!(are_temporary(&["data/ibtmp1", "#innodb_temp/temp_1.ibt"]), [true, true]);
        assert_eq!(are_temporary(&["ibdata1", "shop/ibtmp1.ibd", "undo001", "ibtmp1.old", "/"]), [false; 5]);
    }

    #[test]
    fn a_directory_that_is_not_there_is_a_failure() {
        let found = find(Path::new("/nowhere/at/all"));
        assert_eq!((found.files.len(), found.failed.len()), (0, 1));
    }
}
