//! Patterns of names as GNU tar has them: `*`, `?`, `[...]`, at the front or behind any slash, over slashes or not, for everything
//! beneath what they match or for that alone.

mod groups;
mod set_of_many;

pub use groups::PatternGroups;
pub use set_of_many::PatternSet;

/// How a text is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Manner {
    /// Whether `*` and the like mean something.
    pub wildcards: bool,
    /// Whether it must match from the front; else from behind any slash.
    pub anchored: bool,
    /// Whether `*` and `?` go over slashes.
    pub match_slash: bool,
    /// Whether case counts.
    pub ignore_case: bool,
    /// Whether what lies beneath is meant, too.
    pub beneath: bool,
}

impl Manner {
    /// Of names that are given to extract, list or delete.
    pub const MEMBERS: Self =
        Self { wildcards: false, anchored: true, match_slash: true, ignore_case: false, beneath: true };
    /// Of what is excluded.
    pub const EXCLUDED: Self =
        Self { wildcards: true, anchored: false, match_slash: true, ignore_case: false, beneath: true };

    /// Whether each text is a name from the front: what it means is known without looking at others.
    pub fn are_names(self) -> bool {
        !self.wildcards && self.anchored && !self.ignore_case
    }
}

/// A pattern.
#[derive(Clone, Debug)]
pub struct Pattern {
    text: Vec<u8>,
    manner: Manner,
}

impl Pattern {
    /// Of a text; slashes at its end say nothing.
    pub fn new(text: &[u8], manner: Manner) -> Self {
        Self { text: trimmed(text).to_vec(), manner }
    }

    /// As it was given.
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// Whether it means `name`, or something above it with what is beneath.
    pub fn matches(&self, name: &[u8]) -> bool {
        let end = name.iter().rposition(|&byte| byte != b'/').map_or(0, |last| last + 1);
        let name = &name[..end];
        if self.manner.are_names() {
            let rest = name.strip_prefix(self.text.as_slice());
            return rest.is_some_and(|rest| rest.is_empty() || rest[0] == b'/' && self.manner.beneath);
        }
        let slashes = || name.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
        let starts = std::iter::once(0).chain(slashes().map(|at| at + 1).filter(|_| !self.manner.anchored));
        starts.into_iter().any(|start| {
            let ends = slashes().filter(|&end| end > start && self.manner.beneath).chain(std::iter::once(end));
            ends.into_iter().any(|end| self.matches_whole(&name[start..end]))
        })
    }

    fn matches_whole(&self, name: &[u8]) -> bool {
        if !self.manner.wildcards {
            return same(name, &self.text, self.manner.ignore_case);
        }
        glob(&self.text, name, self.manner)
    }
}

/// A text without the slashes at its end, of which a text of slashes alone keeps one.
pub fn trimmed(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|&byte| byte != b'/').map_or(text.len().min(1), |last| last + 1);
    &text[..end]
}

fn same(one: &[u8], other: &[u8], ignore_case: bool) -> bool {
    if ignore_case { one.eq_ignore_ascii_case(other) } else { one == other }
}

/// Whether a pattern matches a whole name. Goes back to the last `*` only, so that its time is at most their product.
fn glob(pattern: &[u8], name: &[u8], manner: Manner) -> bool {
    let (mut at_pattern, mut at_name) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while at_name < name.len() || at_pattern < pattern.len() {
        let step = match pattern.get(at_pattern) {
            Some(b'*') => {
                star = Some((at_pattern + 1, at_name));
                at_pattern += 1;
                continue;
            }
            Some(_) if at_name < name.len() => one_letter(&pattern[at_pattern..], name[at_name], manner),
            _ => None,
        };
        if let Some(taken) = step {
            at_pattern += taken;
            at_name += 1;
            continue;
        }
        // The last star takes one letter more.
        match star {
            Some((behind, from)) if from < name.len() && (manner.match_slash || name[from] != b'/') => {
                star = Some((behind, from + 1));
                (at_pattern, at_name) = (behind, from + 1);
            }
            _ => return false,
        }
    }
    true
}

/// How many bytes of the pattern match one letter; none where it does not.
fn one_letter(pattern: &[u8], letter: u8, manner: Manner) -> Option<usize> {
    let is_same = |one: u8, other: u8| same(&[one], &[other], manner.ignore_case);
    match pattern {
        [b'?', ..] => (manner.match_slash || letter != b'/').then_some(1),
        [b'\\', escaped, ..] => is_same(*escaped, letter).then_some(2),
        [b'[', rest @ ..] => match set(rest, letter, manner.ignore_case) {
            Some((true, taken)) => (manner.match_slash || letter != b'/').then_some(taken + 1),
            Some((false, _)) => None,
            // Not closed: a bracket.
            None => is_same(b'[', letter).then_some(1),
        },
        [other, ..] => is_same(*other, letter).then_some(1),
        [] => None,
    }
}

/// A set behind its bracket: whether the letter is in it, and how long it is. None where it is not closed.
fn set(rest: &[u8], letter: u8, ignore_case: bool) -> Option<(bool, usize)> {
    let as_it_is = letter;
    let letter = if ignore_case { letter.to_ascii_lowercase() } else { letter };
    let fold = |byte: u8| if ignore_case { byte.to_ascii_lowercase() } else { byte };
    let is_negated = matches!(rest.first(), Some(b'!' | b'^'));
    let mut at = usize::from(is_negated);
    let first = at;
    let mut is_in = false;
    loop {
        match rest.get(at)? {
            b']' if at > first => return Some((is_in != is_negated, at + 1)),
            b'\\' if rest.get(at + 1).is_some() => {
                is_in |= fold(rest[at + 1]) == letter;
                at += 2;
            }
            b'[' if let Some((class, taken)) = class(&rest[at..]) => {
                // COMPAT: where case does not count, classes of cases are what they are all the same.
                is_in |= class.contains(as_it_is);
                at += taken;
            }
            &low if rest.get(at + 1) == Some(&b'-') && rest.get(at + 2).is_some_and(|&high| high != b']') => {
                is_in |= (fold(low)..=fold(rest[at + 2])).contains(&letter);
                at += 3;
            }
            &byte => {
                is_in |= fold(byte) == letter;
                at += 1;
            }
        }
    }
}

/// A class inside a set, as POSIX has them. LIMIT: letters beyond ASCII are in none.
enum Class<'a> {
    /// `[:digit:]`
    Named(&'a [u8]),
    /// `[.-.]`, `[=a=]`: a letter that could mean something, and one with its like, which is itself here.
    Letter(u8),
}

impl Class<'_> {
    fn contains(&self, letter: u8) -> bool {
        match self {
            Self::Letter(only) => letter == *only,
            Self::Named(b"alpha") => letter.is_ascii_alphabetic(),
            Self::Named(b"digit") => letter.is_ascii_digit(),
            Self::Named(b"alnum") => letter.is_ascii_alphanumeric(),
            Self::Named(b"upper") => letter.is_ascii_uppercase(),
            Self::Named(b"lower") => letter.is_ascii_lowercase(),
            Self::Named(b"space") => letter.is_ascii_whitespace() || letter == 0x0b,
            Self::Named(b"blank") => matches!(letter, b' ' | b'\t'),
            Self::Named(b"punct") => letter.is_ascii_punctuation(),
            Self::Named(b"print") => matches!(letter, b' '..=b'~'),
            Self::Named(b"graph") => letter.is_ascii_graphic(),
            Self::Named(b"cntrl") => letter.is_ascii_control(),
            Self::Named(b"xdigit") => letter.is_ascii_hexdigit(),
            // COMPAT: nothing is in a class that there is not.
            Self::Named(_) => false,
        }
    }
}

/// The class at the front of a text that begins with a bracket, and its length; none where the bracket is one among others.
fn class(text: &[u8]) -> Option<(Class<'_>, usize)> {
    let sign = *text.get(1).filter(|sign| matches!(sign, b':' | b'.' | b'='))?;
    let bytes = text.get(2..)?.windows(2).position(|two| two == [sign, b']'])?;
    let name = &text[2..2 + bytes];
    let class = match (sign, name) {
        (b':', name) => Class::Named(name),
        (_, [only]) => Class::Letter(*only),
        _ => return None,
    };
    Some((class, bytes + 4))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn excluded(pattern: &str, name: &str) -> bool {
        Pattern::new(pattern.as_bytes(), Manner::EXCLUDED).matches(name.as_bytes())
    }

    #[test]
    fn excluded_names_match_behind_any_slash_and_all_beneath() {
        for (pattern, name, expected) in [
            ("*.o", "a/b.o", true),
            ("*.o", "a/b.c", false),
            ("b", "a/b/c", true),
            ("a/b", "x/a/b", true),
            ("a/b", "a/bc", false),
            ("*", "a", true),
            ("a*c", "a/b/c", true),
            ("[a-c]?", "b1", true),
            ("[!a-c]?", "b1", false),
            ("[]x]", "]", true),
            ("[", "[", true),
            ("f[[:digit:]]", "f7", true),
            ("f[[:digit:]]", "f:", false),
            ("f[![:digit:]]", "f7", false),
            ("f[^[:digit:][:space:]x-z]", "fw", true),
            ("f[^[:digit:][:space:]x-z]", "fy", false),
            ("f[[:upper:]a]", "fa", true),
            ("f[[:nonsense:]]", "f:", false),
            ("f[[:digit]", "f:", true),
            ("f[[:digit:]", "f7", false),
            ("f[[.-.]]", "f-", true),
            ("f[[=a=]]", "fa", true),
            ("\\*", "*", true),
            ("\\*", "x", false),
            ("dir/", "dir/file", true),
            ("*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false),
        ] {
            assert_eq!(excluded(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn members_are_meant_by_their_names_and_with_all_beneath() {
        let member =
            |pattern: &str, name: &str| Pattern::new(pattern.as_bytes(), Manner::MEMBERS).matches(name.as_bytes());
        assert!(member("a/b", "a/b") && member("a/b/", "a/b/") && member("a", "a/b/c"));
        assert!(!member("a*", "ab") && !member("b", "a/b") && !member("a", "ab"));
        for manner in [Manner::MEMBERS, Manner::EXCLUDED].map(|manner| Manner { beneath: false, ..manner }) {
            let alone = |name: &[u8]| Pattern::new(b"a/b/", manner).matches(name);
            assert!(alone(b"a/b") && alone(b"a/b/") && !alone(b"a/b/c"));
        }
    }

    #[test]
    fn stars_stop_at_slashes_where_they_are_told_to() {
        let manner = Manner { match_slash: false, anchored: true, ..Manner::EXCLUDED };
        let pattern = |text: &str| Pattern::new(text.as_bytes(), manner);
        assert!(pattern("a/*.c").matches(b"a/x.c"));
        assert!(!pattern("*.c").matches(b"a/x.c") && !pattern("a[!b]x").matches(b"a/x"));
        assert!(Pattern::new(b"A*", Manner { ignore_case: true, ..Manner::EXCLUDED }).matches(b"abc"));
    }
}
