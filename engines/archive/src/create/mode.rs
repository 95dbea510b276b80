//! New modes for members, as `chmod` takes them: octal digits, or changes to what files have. Pure: text and modes in, modes out.

use crate::member::Kind;

/// A rule for modes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModeRule {
    /// All are this. COMPAT: up to four digits leave the set-id bits that directories have.
    Digits(u32, DirectoryBits),
    /// Changes, one after the other.
    Changes(Vec<Change>),
}

/// What becomes of a directory's set-id bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirectoryBits {
    /// They stay.
    Kept,
    /// They are what the digits say.
    Given,
}

/// One change: `go-w`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Bits that it may touch.
    reach: u32,
    /// Bits that `=` clears: without a class those that the umask holds back, too.
    cleared: u32,
    sign: Sign,
    bits: u32,
    /// `X`: execution for directories, and for files that somebody may execute.
    executable_where_it_is: bool,
    /// `g=u`: the bits of these, by the mask of their class; 0 where none are meant.
    copied: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    Add,
    Remove,
    Set,
}

const EXECUTE: u32 = 0o111;
const STICKY: u32 = 0o1000;
const SET_ID: u32 = 0o6000;

impl ModeRule {
    /// Reads a rule. Where it does not say whose bits are meant, those of all are that `umask` allows. None: it is no rule.
    pub fn parse(text: &str, umask: u32) -> Option<Self> {
        if text.starts_with(|letter: char| letter.is_ascii_digit()) {
            let bits = if text.len() > 4 { DirectoryBits::Given } else { DirectoryBits::Kept };
            let mode = u32::from_str_radix(text, 8).ok().filter(|mode| *mode <= 0o7777);
            return mode.map(|mode| Self::Digits(mode, bits));
        }
        let mut changes = Vec::new();
        for clause in text.split(',') {
            changes_of(clause, umask, &mut changes)?;
        }
        Some(Self::Changes(changes))
    }

    /// What becomes of a mode.
    pub fn apply(&self, mode: u32, kind: Kind) -> u32 {
        let is_directory = kind == Kind::Directory;
        let changes = match self {
            Self::Digits(digits, DirectoryBits::Kept) if is_directory => return *digits | mode & SET_ID,
            Self::Digits(digits, _) => return *digits,
            Self::Changes(changes) => changes,
        };
        changes.iter().fold(mode, |mode, change| {
            let executable = change.executable_where_it_is && (is_directory || mode & EXECUTE != 0);
            let copied = [0o444, 0o222, EXECUTE].into_iter().filter(|bits| mode & change.copied & bits != 0);
            let bits = change.bits | if executable { EXECUTE } else { 0 } | copied.fold(0, |all, bits| all | bits);
            let bits = bits & change.reach;
            match change.sign {
                Sign::Add => mode | bits,
                Sign::Remove => mode & !bits,
                // COMPAT: what is set for a directory leaves its set-id bits.
                Sign::Set => mode & !(change.cleared & if is_directory { !SET_ID } else { !0 }) | bits,
            }
        })
    }
}

/// `u=rwx+s`: whose, then one or more changes.
fn changes_of(clause: &str, umask: u32, changes: &mut Vec<Change>) -> Option<()> {
    let signs = ['+', '-', '='];
    let first = clause.find(signs)?;
    let mut reach = 0;
    for letter in clause[..first].chars() {
        reach |= match letter {
            'u' => 0o4700,
            'g' => 0o2070,
            'o' => 0o1007,
            'a' => 0o7777,
            _ => return None,
        };
    }
    let (reach, cleared) = if first == 0 { (0o7777 & !umask, 0o7777) } else { (reach, reach) };
    let mut rest = &clause[first..];
    while let Some(sign) = rest.chars().next() {
        let sign = match sign {
            '+' => Sign::Add,
            '-' => Sign::Remove,
            _ => Sign::Set,
        };
        let end = rest[1..].find(signs).map_or(rest.len(), |at| at + 1);
        let (mut bits, mut executable_where_it_is) = (0, false);
        // One class stands alone.
        let copied = match &rest[1..end] {
            "u" => 0o700,
            "g" => 0o070,
            "o" => 0o007,
            _ => 0,
        };
        for letter in rest[1..end].chars().filter(|_| copied == 0) {
            match letter {
                'r' => bits |= 0o444,
                'w' => bits |= 0o222,
                'x' => bits |= EXECUTE,
                's' => bits |= 0o6000,
                't' => bits |= STICKY,
                'X' => executable_where_it_is = true,
                _ => return None,
            }
        }
        changes.push(Change { reach, cleared, sign, bits, executable_where_it_is, copied });
        rest = &rest[end..];
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_become_what_chmod_would_make_of_them() {
        let (file, directory) = (Kind::Regular, Kind::Directory);
        for (rule, mode, kind, expected) in [
            ("640", 0o755, file, 0o640),
            ("640", 0o2755, file, 0o640),
            ("0750", 0o2775, directory, 0o2750),
            ("4750", 0o2775, directory, 0o6750),
            ("00750", 0o2775, directory, 0o750),
            ("go-rwx", 0o755, directory, 0o700),
            ("u+w,go=rX", 0o457, file, 0o655),
            ("u+w,go=rX", 0o400, file, 0o644),
            ("a+rX", 0o600, directory, 0o755),
            ("a+rX", 0o600, file, 0o644),
            ("+x", 0o600, file, 0o711),
            ("+w", 0o444, file, 0o644),
            ("u=rwx+s", 0o600, file, 0o4700),
            ("g-s", 0o2755, file, 0o755),
            ("=", 0o755, file, 0),
            ("=r", 0o666, file, 0o444),
            ("=w", 0o666, file, 0o200),
            ("+t", 0o755, directory, 0o1755),
            ("u=rw", 0o4755, directory, 0o4655),
            ("u=rw", 0o1755, directory, 0o1655),
            ("o+t", 0o644, file, 0o1644),
            ("u+t", 0o644, file, 0o644),
            ("g=u", 0o751, directory, 0o771),
            ("u=g", 0o751, file, 0o551),
            ("g-o", 0o751, file, 0o741),
            ("g=o+x", 0o754, file, 0o754),
            ("=u", 0o751, file, 0o755),
            ("o+g", 0o4750, file, 0o4755),
        ] {
            let found = ModeRule::parse(rule, 0o022).expect("a rule").apply(mode, kind);
            assert_eq!(format!("{found:o}"), format!("{expected:o}"), "{rule} on {mode:o}");
        }
        for text in ["", "8", "17777", "u", "z+x", "u+q", "u+r,", "go-rwx,x", "o=ug", "g=uw", "u=rwg"] {
            assert_eq!(ModeRule::parse(text, 0o022), None, "{text}");
        }
    }
}
