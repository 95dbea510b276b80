//! `my.cnf`: options of MySQL's clients by groups, with `!include` and `!includedir`. The last value of an option counts.
//! COMPAT: the rules of MySQL and MariaDB; options of other programs, which share these files, are passed over.

use super::{AddressError, AddressSettings, setting_files};
use std::path::{Path, PathBuf};

/// Groups that a client of either server reads.
const GROUPS: &[&str] = &["client", "client-server", "client-mariadb", "mysql", "mariadb-client"];

/// LIMIT: files that include each other.
const DEPTH_MAX: u32 = 10;

/// LIMIT: files of one reading, however they include each other.
const FILES_MAX: u32 = 1000;

/// Options as they were found, by names with hyphens.
#[derive(Debug, Default)]
pub(super) struct OptionFiles {
    pub options: AddressSettings,
    pub notes: Vec<String>,
    files: u32,
}

impl OptionFiles {
    /// Reads these files, later ones over earlier ones. One that is not there, or may not be read, is passed over.
    pub fn read(paths: &[PathBuf]) -> Result<Self, AddressError> {
        let mut found = Self::default();
        for path in paths {
            found.read_one(path, 0)?;
        }
        Ok(found)
    }

    fn read_one(&mut self, path: &Path, depth: u32) -> Result<(), AddressError> {
        self.files += 1;
        if depth > DEPTH_MAX || self.files > FILES_MAX {
            return Err(AddressError::Syntax(format!("'{}': too many files include each other", path.display())));
        }
        let file = match setting_files::read(path) {
            Ok(Some(file)) => file,
            Ok(None) => return Ok(()),
            Err(error) => {
                self.notes.push(format!("option file '{}' is passed over: {error}", path.display()));
                return Ok(());
            }
        };
        if file.mode & 0o002 != 0 {
            self.notes.push(format!("option file '{}' is passed over: everybody may write it", path.display()));
            return Ok(());
        }
        let mut is_ours = false;
        for line in file.text.lines().map(str::trim) {
            match line.chars().next() {
                None | Some('#' | ';') => {}
                Some('!') => self.include(&line[1..], depth)?,
                Some('[') => {
                    let group = line[1..].split(']').next().unwrap_or_default().trim();
                    is_ours = GROUPS.contains(&group);
                }
                Some(_) if is_ours => self.put(line),
                Some(_) => {}
            }
        }
        Ok(())
    }

    fn include(&mut self, directive: &str, depth: u32) -> Result<(), AddressError> {
        let Some((word, path)) = directive.split_once(char::is_whitespace) else { return Ok(()) };
        let path = Path::new(path.trim());
        match word {
            "include" => self.read_one(path, depth + 1),
            "includedir" => {
                let entries = std::fs::read_dir(path).into_iter().flatten().filter_map(Result::ok);
                let is_option_file = |path: &PathBuf| path.extension().is_some_and(|suffix| suffix == "cnf");
                let mut files: Vec<PathBuf> =
                    entries.map(|entry| entry.path()).filter(is_option_file).take(FILES_MAX as usize + 1).collect();
                files.sort();
                files.iter().try_for_each(|file| self.read_one(file, depth + 1))
            }
            _ => Ok(()),
        }
    }

    fn put(&mut self, line: &str) {
        let (name, value) = line.split_once('=').unwrap_or((without_comment(line), ""));
        let name = name.trim().to_ascii_lowercase().replace('_', "-");
        let name = name.strip_prefix("loose-").unwrap_or(&name);
        let (name, value) = match name.strip_prefix("skip-").or_else(|| name.strip_prefix("disable-")) {
            Some(switched_off) => (switched_off, "0".to_owned()),
            // A switch that stands alone is on; a password that does is asked for.
            None if value.is_empty() && name.starts_with("ssl") => (name, "1".to_owned()),
            None => (name, value_of(value.trim())),
        };
        self.options.insert(name.to_owned(), value);
    }
}

/// A value may be in quotes, and has escapes; an unquoted one ends at a comment.
fn value_of(text: &str) -> String {
    let quote = text.chars().next().filter(|first| matches!(first, '\'' | '"'));
    let quoted = quote.and_then(|quote| text[1..].rsplit_once(quote)).map(|(value, _)| value);
    let text = quoted.unwrap_or_else(|| without_comment(text));
    let mut value = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            value.push(letter);
            continue;
        }
        match letters.next() {
            Some('b') => value.push('\u{8}'),
            Some('t') => value.push('\t'),
            Some('n') => value.push('\n'),
            Some('r') => value.push('\r'),
            Some('s') => value.push(' '),
            Some(escaped @ ('\\' | '\'' | '"')) => value.push(escaped),
            Some(other) => value.extend(['\\', other]),
            None => value.push('\\'),
        }
    }
    value
}

fn without_comment(text: &str) -> &str {
    text.split('#').next().unwrap_or_default().trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;
    use testkit::tree::TempTree;

    fn shown(found: &OptionFiles) -> Vec<String> {
        found.options.iter().map(|(name, value)| format!("{name}={value}")).collect()
    }

    #[test]
    fn groups_of_clients_are_read_in_order() {
        let tree = TempTree::new();
        let main = format!(
            "[mysqld]\nuser = mysql\n[client]\nuser = u # comment\npassword=\"a#b\\\"\\s'\"\n!include {0}/more\n[mysql]\n!includedir {0}/parts\nport=3\n",
            tree.path().display()
        );
        tree.file("main.cnf", main)
            .file("more", "[client]\nhost=more\nloose_ssl_ca=/ca\nskip-ssl\n")
            .directory("parts");
        tree.file("parts/b.cnf", "[client]\nport=2\nsocket='/x y'\n")
            .file("parts/a.cnf", "[client]\nport=1\nsocket=/a\n");
        tree.file("parts/c.txt", "[client]\nport=9\n");
        let found =
            OptionFiles::read(&[tree.path().join("main.cnf"), tree.path().join("none")]).expect("they can be read");
        assert_eq!(
            shown(&found),
            ["host=more", "password=a#b\" '", "port=3", "socket=/x y", "ssl=0", "ssl-ca=/ca", "user=u"]
        );
    }

    #[test]
    fn files_that_include_themselves_end() {
        let tree = TempTree::new();
        tree.file("a", format!("!include {}/a\n", tree.path().display()));
        let error = OptionFiles::read(&[tree.path().join("a")]).expect_err("a circle").to_string();
        assert!(error.ends_with("too many files include each other"), "{error}");
        let parts = tree.path().join("parts");
        tree.directory("parts");
        for name in 0..6 {
            tree.file(format!("parts/{name}.cnf"), format!("!includedir {}\n", parts.display()));
        }
        assert!(OptionFiles::read(&[parts.join("0.cnf")]).is_err(), "not every way through them is gone");
    }

    #[test]
    fn a_file_that_everybody_may_write_is_passed_over() {
        let tree = TempTree::new();
        tree.file("a", "[client]\nuser=x\n").mode("a", 0o666);
        let found = OptionFiles::read(&[tree.path().join("a")]).expect("it is passed over");
        assert!(found.options.is_empty() && found.notes[0].ends_with("everybody may write it"));
    }
}
