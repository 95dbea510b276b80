//! `--transform`: what is written of each name, by sed's expressions. COMPAT: GNU tar's flags and what may stand in a replacement. Parses and applies;
//! patterns become expressions of regex-lite (`pattern`), in which the first alternative that fits wins, and not the longest.

mod pattern;

use super::messages;
use archive::create::Renamed;
use mh_kit::failure::Failure;
use regex_lite::{Captures, Regex};

/// One `s/PATTERN/REPLACEMENT/FLAGS`.
pub struct TransformRule {
    pattern: Regex,
    replacement: Vec<Part>,
    /// The first match that is replaced, counted from one.
    first: usize,
    /// Those behind it, too.
    all: bool,
    applies_to: Targets,
}

/// A part of a replacement.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    /// What a group has matched; 0: the whole.
    Group(usize),
    Case(Case),
}

/// The case of the letters that follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Case {
    Upper,
    Lower,
    AsIs,
    NextUpper,
    NextLower,
}

/// Which names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Targets {
    members: bool,
    hard_links: bool,
    symbolic_links: bool,
}

impl Targets {
    const ALL: Self = Self { members: true, hard_links: true, symbolic_links: true };
    const NONE: Self = Self { members: false, hard_links: false, symbolic_links: false };

    /// Takes one of the letters that say it; false: it is another one.
    fn take(&mut self, flag: char) -> bool {
        match flag {
            'r' | 'R' => self.members = flag == 'r',
            'h' | 'H' => self.hard_links = flag == 'h',
            's' | 'S' => self.symbolic_links = flag == 's',
            _ => return false,
        }
        true
    }
}

/// The rules of all `--transform`, in their order.
pub fn rules(given: &[String]) -> Result<Vec<TransformRule>, Failure> {
    let mut rules = Vec::new();
    let mut usual = Targets::ALL;
    for text in given {
        let mut rest = text.as_str();
        while !rest.is_empty() {
            rest = one(rest, &mut usual, &mut rules).map_err(|wrong| {
                let wrong = wrong.sentence();
                messages::usage(&wrong, &format!("--transform '{text}': {wrong}"))
            })?;
        }
    }
    Ok(rules)
}

/// Why an expression is refused.
#[derive(Debug, PartialEq, Eq)]
enum Wrong {
    Form,
    Flag(char),
    Pattern(String),
    Group(usize),
}

impl Wrong {
    /// COMPAT: GNU tar's words.
    fn sentence(&self) -> String {
        match self {
            Self::Form => "Invalid transform expression".to_owned(),
            Self::Flag(flag) => format!("Unknown flag in transform expression: {flag}"),
            Self::Pattern(why) => format!("Invalid transform expression: {why}"),
            Self::Group(_) => "Invalid transform replacement: back reference out of range".to_owned(),
        }
    }
}

/// Reads one expression, or `flags=...`, off the front of `text`. What stands behind it.
fn one<'t>(text: &'t str, usual: &mut Targets, rules: &mut Vec<TransformRule>) -> Result<&'t str, Wrong> {
    if let Some(flags) = text.strip_prefix("flags=") {
        let (flags, rest) = flags.split_once(';').unwrap_or((flags, ""));
        *usual = Targets::NONE;
        return match flags.chars().find(|flag| !usual.take(*flag)) {
            Some(flag) => Err(Wrong::Flag(flag)),
            None => Ok(rest),
        };
    }
    let behind_s = text.strip_prefix('s').ok_or(Wrong::Form)?;
    let border = behind_s.chars().next().ok_or(Wrong::Form)?;
    let (pattern, rest) = up_to(border, &behind_s[border.len_utf8()..]).ok_or(Wrong::Form)?;
    let (replacement, rest) = up_to(border, rest).ok_or(Wrong::Form)?;
    let (flags, rest) = rest.split_once(';').unwrap_or((rest, ""));
    let (mut first, mut all, mut applies_to, mut how) = (0, false, *usual, pattern::PatternSyntax::default());
    for flag in flags.chars() {
        match flag {
            'g' => all = true,
            'i' => how.ignores_case = true,
            'x' => how.is_extended = true,
            '0'..='9' => first = first * 10 + (flag as usize - '0' as usize),
            flag if applies_to.take(flag) => {}
            flag => return Err(Wrong::Flag(flag)),
        }
    }
    let pattern = pattern::compile(pattern, how).map_err(Wrong::Pattern)?;
    let replacement = parts(replacement, border);
    let last_group = pattern.captures_len() - 1;
    if let Some(number) = replacement.iter().find_map(|part| match part {
        Part::Group(number) if *number > last_group => Some(*number),
        _ => None,
    }) {
        return Err(Wrong::Group(number));
    }
    rules.push(TransformRule { pattern, replacement, first: first.max(1), all, applies_to });
    Ok(rest)
}

/// The text in front of the next border that is not behind a backslash, and the text behind it.
fn up_to(border: char, text: &str) -> Option<(&str, &str)> {
    let mut is_escaped = false;
    let end = text.find(|letter| {
        let is_border = letter == border && !is_escaped;
        is_escaped = letter == '\\' && !is_escaped;
        is_border
    })?;
    Some((&text[..end], &text[end + border.len_utf8()..]))
}

/// Parts of a replacement.
fn parts(text: &str, border: char) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut plain = String::new();
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        let part = match letter {
            '&' => Part::Group(0),
            '\\' => match letters.next() {
                Some(digit @ '0'..='9') => Part::Group(digit as usize - '0' as usize),
                Some('U') => Part::Case(Case::Upper),
                Some('L') => Part::Case(Case::Lower),
                Some('E') => Part::Case(Case::AsIs),
                Some('u') => Part::Case(Case::NextUpper),
                Some('l') => Part::Case(Case::NextLower),
                next => {
                    match next {
                        Some('n') => plain.push('\n'),
                        Some('t') => plain.push('\t'),
                        Some('a') => plain.push('\x07'),
                        Some('f') => plain.push('\x0c'),
                        Some('r') => plain.push('\r'),
                        Some('v') => plain.push('\x0b'),
                        Some(next @ ('\\' | '&')) => plain.push(next),
                        Some(next) if next == border => plain.push(next),
                        // COMPAT: both stay.
                        other => plain.extend(['\\'].into_iter().chain(other)),
                    }
                    continue;
                }
            },
            letter => {
                plain.push(letter);
                continue;
            }
        };
        if !plain.is_empty() {
            parts.push(Part::Text(std::mem::take(&mut plain)));
        }
        parts.push(part);
    }
    if !plain.is_empty() {
        parts.push(Part::Text(plain));
    }
    parts
}

impl TransformRule {
    fn is_for(&self, what: Renamed) -> bool {
        match what {
            Renamed::Member => self.applies_to.members,
            Renamed::HardLink => self.applies_to.hard_links,
            Renamed::SymbolicLink => self.applies_to.symbolic_links,
        }
    }

    fn apply(&self, name: &[u8]) -> Vec<u8> {
        let name = letters_of(name);
        let (mut renamed, mut at) = (String::with_capacity(name.len()), 0);
        for (number, found) in self.pattern.captures_iter(&name).enumerate() {
            if number + 1 < self.first {
                continue;
            }
            let Some(whole) = found.get(0) else { continue };
            renamed.push_str(&name[at..whole.start()]);
            at = whole.end();
            self.replace(&found, &mut renamed);
            if !self.all {
                break;
            }
        }
        renamed.push_str(&name[at..]);
        bytes_of(&renamed)
    }

    fn replace(&self, found: &Captures<'_>, renamed: &mut String) {
        let (mut all, mut next) = (Case::AsIs, None);
        for part in &self.replacement {
            let text = match part {
                Part::Text(text) => text,
                Part::Group(number) => found.get(*number).map_or("", |group| group.as_str()),
                Part::Case(Case::NextUpper) => {
                    next = Some(Case::Upper);
                    continue;
                }
                Part::Case(Case::NextLower) => {
                    next = Some(Case::Lower);
                    continue;
                }
                Part::Case(case) => {
                    all = *case;
                    continue;
                }
            };
            for letter in text.chars() {
                match next.take().unwrap_or(all) {
                    Case::Upper => renamed.extend(letter.to_uppercase()),
                    Case::Lower => renamed.extend(letter.to_lowercase()),
                    _ => renamed.push(letter),
                }
            }
        }
    }
}

/// Bytes that are no text become letters for private use, from here on, while names are matched.
const STRAY: u32 = 0x10_FE00;

/// A name as letters, whatever bytes it has.
fn letters_of(name: &[u8]) -> String {
    name.utf8_chunks().fold(String::with_capacity(name.len()), |mut letters, chunk| {
        letters.push_str(chunk.valid());
        letters.extend(chunk.invalid().iter().filter_map(|byte| char::from_u32(STRAY + u32::from(*byte))));
        letters
    })
}

/// The bytes of such letters.
fn bytes_of(letters: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(letters.len());
    for letter in letters.chars() {
        match u32::from(letter).checked_sub(STRAY).and_then(|stray| u8::try_from(stray).ok()) {
            Some(byte) => bytes.push(byte),
            None => bytes.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    bytes
}

/// A name after all rules that are for it, which do not see the slash behind a directory's. What would be left without a name keeps its own.
pub fn renamed_by(rules: &[TransformRule], name: &[u8], what: Renamed) -> Vec<u8> {
    let rules = rules.iter().filter(|rule| rule.is_for(what));
    let plain = name.strip_suffix(b"/").filter(|plain| !plain.is_empty()).unwrap_or(name);
    let mut renamed = rules.fold(plain.to_vec(), |name, rule| rule.apply(&name));
    if renamed.is_empty() {
        return name.to_vec();
    }
    renamed.extend_from_slice(&name[plain.len()..]);
    renamed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(text: &str) -> Option<Wrong> {
        one(text, &mut Targets::ALL.clone(), &mut Vec::new()).err()
    }

    fn renamed(text: &str, name: &[u8]) -> Vec<u8> {
        let rules = rules(&[text.to_owned()]).unwrap_or_else(|_| panic!("{text} is refused"));
        renamed_by(&rules, name, Renamed::Member)
    }

    #[test]
    fn names_are_rewritten_as_gnu_tar_does() {
        // Compared with GNU tar's result for each.
        for (rule, name, expected) in [
            ("s/^old/new/", "old/old", "new/old"),
            ("s,a,b,g", "banana", "bbnbnb"),
            ("s/a/b/", "banana", "bbnana"),
            ("s/$/.bak/", "x", "x.bak"),
            ("s|^|top/|", "x", "top/x"),
            ("s/\\.c$/.o/", "a.c", "a.o"),
            ("s/c++/cpp/", "c++", "cpp"),
            ("s/(a)?|{/x/", "(a)?|{", "x"),
            ("s/x\\$y/z/", "x$y", "z"),
            ("s/x\\$/z/", "x$y", "zy"),
            ("s/x\\\\$/z/", "x\\", "z"),
            ("s/x$y/z/", "x$y", "z"),
            ("s/x^y/z/", "x^y", "z"),
            ("s/^^x/z/", "^x", "z"),
            ("s/a\\/b/z/", "a/b", "z"),
            ("s,a/b,c\\,d,", "a/b", "c,d"),
            ("s/a/b\\\\c\\&/", "a", "b\\c&"),
            ("s/.*\\///", "d/e/f", "f"),
            ("s/\\(d\\)\\/\\(.*\\)/\\2_\\1/", "d/aab", "aab_d"),
            ("s/x/Q/2g", "d/xyxx", "d/xyQQ"),
            ("s/x/Q/2", "d/xyxx", "d/xyQx"),
            ("s/a/&&/g", "banana", "baanaanaa"),
            ("s/D/q/i", "d/d", "q/d"),
            ("s/(x|y)+/<\\0>/x", "d/xyx", "d/<xyx>"),
            ("s/x/\\U&b\\Ec/", "d/xyx", "d/XBcyx"),
            ("s/.*/\\u&/", "abc", "Abc"),
            ("s/a\\{2\\}/M/", "d/aab", "d/Mb"),
            ("s/[]x]/b/", "d/xyx", "d/byx"),
            ("s/a/\\q/", "a", "\\q"),
            ("s/d/D/;s/D/E/", "d", "E"),
            ("s/./x/", "", ""),
        ] {
            let found = renamed(rule, name.as_bytes());
            assert_eq!(String::from_utf8_lossy(&found), expected, "{rule}");
        }
        assert_eq!(renamed("s/a./x/", b"a\xff\xc3b"), b"x\xc3b", "bytes that are no text");
        assert_eq!(renamed("s/a/x/", b"dir/a/"), b"dir/x/");
    }

    #[test]
    fn flags_say_which_names_are_meant() {
        let for_all = |text: &str| {
            let rules = rules(&[text.to_owned()]).unwrap_or_else(|_| panic!("{text} is refused"));
            [Renamed::Member, Renamed::HardLink, Renamed::SymbolicLink].map(|what| rules[0].is_for(what))
        };
        assert_eq!(for_all("s/a/b/"), [true, true, true]);
        assert_eq!(for_all("s/a/b/gS"), [true, true, false]);
        assert_eq!(for_all("s/a/b/RHSs"), [false, false, true]);
        assert_eq!(for_all("flags=r;s/a/b/"), [true, false, false]);
        assert_eq!(for_all("flags=rs;s/a/b/h"), [true, true, true]);
    }

    #[test]
    fn what_is_no_expression_is_refused() {
        assert_eq!(wrong("y/a/b/"), Some(Wrong::Form));
        assert_eq!(wrong("s/a/b"), Some(Wrong::Form));
        assert_eq!(wrong("s/a/b/q"), Some(Wrong::Flag('q')));
        assert_eq!(wrong("flags=q"), Some(Wrong::Flag('q')));
        assert_eq!(wrong("s/a/\\1/"), Some(Wrong::Group(1)));
        let refused = Wrong::Pattern("back references (\\1) are not supported in patterns".to_owned());
        assert_eq!((wrong("s/\\(a\\)\\1/b/"), wrong("s/(a)\\1/b/x")), (Some(refused), wrong("s/\\(a\\)\\1/b/")));
        for text in ["s/[/b/", "s/\\(a/b/", "s/(a/b/x"] {
            assert!(matches!(wrong(text), Some(Wrong::Pattern(_))), "{text}");
        }
    }
}
