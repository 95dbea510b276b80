//! What is left out where: patterns that were given, and those in files that stand in the directories themselves. A directory has the scope of
//! the one above, unless such a file is in it.

use crate::pattern::{Manner, PatternGroups};
use files::{Directory, how};
use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;

/// A file of patterns that is looked for in each directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IgnoreFile {
    /// Its name.
    pub name: Vec<u8>,
    /// How its lines are read.
    pub syntax: IgnoreSyntax,
    /// Where its patterns count.
    pub reach: IgnoreReach,
}

/// How lines of such a file are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IgnoreSyntax {
    /// A pattern a line; those behind `#` are comments.
    Git,
    /// Patterns between blanks.
    Cvs,
    /// As git's, and `RE:` in front of a regular expression, which is not read.
    Bazaar,
    /// Regular expressions, which are not read, or patterns behind `syntax: glob` and `glob:`.
    Mercurial,
}

/// Where the patterns of such a file count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IgnoreReach {
    /// In its directory.
    Directory,
    /// And in all beneath.
    Beneath,
}

/// What is left out in a directory.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    excluded: Arc<PatternGroups>,
    local: Option<Arc<Local>>,
}

/// Of one directory, and of those above it.
#[derive(Debug)]
struct Local {
    lists: Vec<(PatternGroups, IgnoreReach)>,
    above: Option<Arc<Local>>,
}

/// LIMIT: bytes of a file of patterns.
const LIST_BYTES_MAX: u64 = 4 << 20;

impl Scope {
    /// Of what was named.
    pub fn new(excluded: Arc<PatternGroups>) -> Self {
        Self { excluded, local: None }
    }

    /// Whether a name is left out.
    pub fn leaves_out(&self, path: &[u8]) -> bool {
        if self.excluded.matches(path) {
            return true;
        }
        let (mut at, mut is_above) = (self.local.as_deref(), false);
        while let Some(local) = at {
            for (patterns, reach) in &local.lists {
                if !(is_above && *reach == IgnoreReach::Directory) && matches_any(patterns, path) {
                    return true;
                }
            }
            (at, is_above) = (local.above.as_deref(), true);
        }
        false
    }

    /// Of what is in `directory`.
    pub(super) fn inside(&self, directory: Directory<'_>, files: &[IgnoreFile]) -> io::Result<Self> {
        if files.is_empty() {
            return Ok(self.clone());
        }
        let mut lists = Vec::new();
        for IgnoreFile { name, syntax, reach } in files {
            let file = match directory.open(name, how::through_links(how::FILE), 0) {
                Ok(file) => File::from(file),
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            let mut bytes = Vec::new();
            file.take(LIST_BYTES_MAX).read_to_end(&mut bytes)?;
            let patterns = PatternGroups::new(&patterns_of(*syntax, &bytes));
            if !patterns.is_empty() {
                lists.push((patterns, *reach));
            }
        }
        // A level more, even if it is empty: what counts in the directory above alone does not count here.
        let is_new = !lists.is_empty() || self.local.is_some();
        let local = is_new.then(|| Arc::new(Local { lists, above: self.local.clone() }));
        Ok(Self { excluded: Arc::clone(&self.excluded), local })
    }
}

/// COMPAT: such a pattern is compared with the whole name, with that without `./`, and with its last part.
fn matches_any(patterns: &PatternGroups, path: &[u8]) -> bool {
    let mut relative = path;
    while let Some(rest) = relative.strip_prefix(b"./") {
        relative = rest;
    }
    let last = path.rsplit(|&byte| byte == b'/').next().unwrap_or(path);
    [path, relative, last].into_iter().any(|name| patterns.matches(name))
}

/// COMPAT: from the front, and of one directory; all beneath goes with what matches.
const MANNER: Manner =
    Manner { wildcards: true, anchored: true, match_slash: false, ignore_case: false, beneath: false };

fn patterns_of(syntax: IgnoreSyntax, bytes: &[u8]) -> Vec<(Vec<u8>, Manner)> {
    let mut is_glob = syntax != IgnoreSyntax::Mercurial;
    let mut patterns = Vec::new();
    for line in bytes.split(|&byte| byte == b'\n') {
        let line = line.trim_ascii_start();
        match (syntax, line) {
            (IgnoreSyntax::Cvs, line) => {
                let words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
                patterns.extend(words.map(|word| (word.to_vec(), MANNER)));
            }
            (_, b"" | [b'#', ..]) => {}
            (IgnoreSyntax::Git, [b'\\', rest @ ..]) if rest.starts_with(b"#") => patterns.push((rest.to_vec(), MANNER)),
            (IgnoreSyntax::Bazaar, [b'!', ..]) => {}
            (IgnoreSyntax::Bazaar, line) if line.starts_with(b"RE:") => {}
            (IgnoreSyntax::Mercurial, line) => {
                if let Some(word) = line.strip_prefix(b"syntax:") {
                    is_glob = word.trim_ascii() == b"glob";
                } else if let Some(pattern) = line.strip_prefix(b"glob:") {
                    patterns.push((pattern.to_vec(), MANNER));
                } else if is_glob && !line.starts_with(b"regexp:") {
                    patterns.push((line.to_vec(), MANNER));
                }
            }
            (_, line) => patterns.push((line.to_vec(), MANNER)),
        }
    }
    patterns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_the_program_has_them_whose_file_it_is() {
        let texts = |syntax, bytes: &str| {
            let found = patterns_of(syntax, bytes.as_bytes());
            found.into_iter().map(|(text, _)| String::from_utf8_lossy(&text).into_owned()).collect::<Vec<_>>()
        };
        assert_eq!(texts(IgnoreSyntax::Git, "# no\n\n  *.o\n\\#x\n"), ["*.o", "#x"]);
        assert_eq!(texts(IgnoreSyntax::Cvs, "a b\t*.c\n#x\n"), ["a", "b", "*.c", "#x"]);
        assert_eq!(texts(IgnoreSyntax::Bazaar, "*.o\n!x\nRE:y\n"), ["*.o"]);
        assert_eq!(texts(IgnoreSyntax::Mercurial, "x.*\nglob:*.o\nsyntax: glob\n*.c\nregexp:y\n"), ["*.o", "*.c"]);
    }
}
