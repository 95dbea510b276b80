//! `.pgpass`: lines of `host:port:database:user:password`, of which the first that fits counts. `*` fits everything.
//! COMPAT: libpq's rules, its refusal of files that others may read included.

use super::setting_files;
use std::path::Path;

/// Who wants a password.
pub(super) struct PasswordFor<'a> {
    pub host: &'a str,
    pub port: u16,
    pub database: &'a str,
    pub user: &'a str,
}

/// The password for it; a file that is not obeyed is noted.
pub(super) fn password(path: &Path, wanted: &PasswordFor, notes: &mut Vec<String>) -> Option<String> {
    let file = match setting_files::read(path) {
        Ok(file) => file?,
        Err(error) => {
            notes.push(format!("password file '{}' is passed over: {error}", path.display()));
            return None;
        }
    };
    if file.mode & 0o077 != 0 {
        let cause = "others may read it; its mode should be 0600 or less";
        notes.push(format!("password file '{}' is passed over: {cause}", path.display()));
        return None;
    }
    file.text.lines().filter(|line| !line.starts_with('#')).find_map(|line| fitting(line, wanted))
}

fn fitting(line: &str, wanted: &PasswordFor) -> Option<String> {
    let mut rest = line;
    let port = wanted.port.to_string();
    for value in [wanted.host, &port, wanted.database, wanted.user] {
        let (field, is_escaped, after) = field(rest)?;
        if field != value && (field != "*" || is_escaped) {
            return None;
        }
        rest = after?;
    }
    let (password, ..) = field(rest)?;
    Some(password)
}

/// A field, whether a backslash was in it, and what comes behind its colon.
fn field(text: &str) -> Option<(String, bool, Option<&str>)> {
    let mut value = String::new();
    let mut is_escaped = false;
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            ':' => return Some((value, is_escaped, Some(&text[at + 1..]))),
            '\\' => {
                is_escaped = true;
                value.push(letters.next().map_or('\\', |(_, escaped)| escaped));
            }
            _ => value.push(letter),
        }
    }
    Some((value, is_escaped, None))
}

#[cfg(test)]
mod tests {
    use super::*;

    const WANTED: PasswordFor<'static> = PasswordFor { host: "h", port: 5432, database: "d", user: "u" };

    #[test]
    fn fields_are_compared_unescaped() {
        let password = |line: &str| fitting(line, &WANTED);
        assert_eq!(password("h:5432:d:u:p").as_deref(), Some("p"));
        assert_eq!(password("*:*:*:u:a b").as_deref(), Some("a b"));
        assert_eq!(password(r"h:5432:\d:u:a\:b\\c").as_deref(), Some(r"a:b\c"));
        assert_eq!(password("h:5432:d:u:p:behind").as_deref(), Some("p"));
        assert_eq!(password(r"\*:*:*:*:p"), None, "a star by its name");
        for line in ["h:5433:d:u:p", "x:5432:d:u:p", "h:5432:d:u", "h", "", "#h:5432:d:u:p"] {
            assert_eq!(password(line), None, "{line}");
        }
    }

    #[test]
    fn the_first_line_that_fits_counts_in_a_file_of_ones_own() {
        let tree = testkit::tree::TempTree::new();
        tree.file("pass", "# all\nh:1:*:*:other\n*:*:*:u:first\n*:*:*:*:second\n");
        let path = tree.path().join("pass");
        let mut notes = Vec::new();
        tree.mode("pass", 0o640);
        assert_eq!(password(&path, &WANTED, &mut notes), None);
        assert!(notes[0].ends_with("others may read it; its mode should be 0600 or less"), "{notes:?}");
        tree.mode("pass", 0o600);
        assert_eq!(password(&path, &WANTED, &mut notes).as_deref(), Some("first"));
        assert_eq!(password(&tree.path().join("none"), &WANTED, &mut notes), None);
        assert_eq!(notes.len(), 1);
    }
}
