//! From a job's own words to the words that are run: appended to the utility's, or put where placeholders stand.
//! What is put in is data and stays data: nothing here is ever read again by a shell, not even with `--shell`, where
//! values travel as the shell's positional parameters.

mod script;

use crate::fill::{ArgumentRoom, LONGEST_WORD_BYTES, Use, WORD_BYTES};
use crate::shell_words;
use script::Script;
use sys::spawn::{HoldsNul, Words};

/// How words become a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Template {
    words: Vec<Vec<Piece>>,
    has_placeholders: bool,
    repetition: Repetition,
    shell: Shell,
}

/// What becomes of a word with a place for all of a job's words amid other text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Repetition {
    /// All stand in that one word, with blanks between.
    #[default]
    Together,
    /// The word is there once for each, as GNU parallel's `-X` has it.
    Each,
}

/// Whether a shell runs the commands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shell {
    /// Programs are run directly.
    #[default]
    None,
    /// `sh -c` runs each.
    Sh,
}

/// Where a job stands, for `{#}` and `{%}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobPosition {
    /// Its number in the list, from 1.
    pub number: u64,
    /// The slot that it runs in, from 1.
    pub slot: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Literal(Vec<u8>),
    All(Form),
    Nth(usize, Form),
    /// Counted from the last, which is 1.
    NthFromEnd(usize, Form),
    Number,
    Slot,
}

/// Bytes of a script that name a value, `"${1234567}" `, and those around all that stand in one place.
const NAME_BYTES: usize = 14;
const QUOTES_BYTES: usize = 4;
/// LIMIT: digits of a job's number.
const NUMBER_BYTES: usize = 20;

impl Piece {
    /// Whether it stands for a job's words, or one of them.
    fn is_value(&self) -> bool {
        matches!(self, Self::All(_) | Self::Nth(..) | Self::NthFromEnd(..))
    }

    /// Bytes that it has whatever the words are, as many as there may be.
    fn literal_bytes(&self) -> usize {
        match self {
            Self::Literal(text) => text.len(),
            Self::Number | Self::Slot => NUMBER_BYTES + NAME_BYTES + WORD_BYTES,
            Self::All(_) | Self::Nth(..) | Self::NthFromEnd(..) => 0,
        }
    }
}

/// Which part of a value is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Whole,
    NoExtension,
    Base,
    Directory,
    BaseNoExtension,
}

const FORMS: &[(&str, Form)] = &[
    ("", Form::Whole),
    (".", Form::NoExtension),
    ("//", Form::Directory),
    ("/.", Form::BaseNoExtension),
    ("/", Form::Base),
];

/// LIMIT: letters of a class's name. It stands in each line of the journal.
const CLASS_LETTERS_MAX: usize = 120;

fn class_text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).chars().take(CLASS_LETTERS_MAX).collect()
}

const SHELL_PATH: &[u8] = b"/bin/sh";

impl Template {
    /// The utility and its arguments as they are: a job's words are appended.
    pub fn appending(utility: &[Vec<u8>], shell: Shell) -> Self {
        let words = utility.iter().map(|word| vec![Piece::Literal(word.clone())]).collect();
        Self { words, shell, ..Self::default() }
    }

    /// The utility and its arguments with placeholders; `whole` is what stands for all of a job's words, usually `{}`.
    pub fn with_placeholders(utility: &[Vec<u8>], whole: &[u8], shell: Shell) -> Self {
        let words: Vec<Vec<Piece>> = utility.iter().map(|word| pieces(word, whole)).collect();
        let has_placeholders = words.iter().flatten().any(|piece| !matches!(piece, Piece::Literal(_)));
        Self { words, has_placeholders, shell, ..Self::default() }
    }

    /// The same, with words that are repeated or not. In a shell's script there are no words yet that could be.
    #[must_use]
    pub fn repeating(self, repetition: Repetition) -> Self {
        Self { repetition, ..self }
    }

    /// One word that stays as it is where it has no placeholders: nothing is appended.
    pub fn constant_unless_filled(word: &[u8]) -> Self {
        Self { has_placeholders: true, ..Self::with_placeholders(&[word.to_vec()], b"{}", Shell::None) }
    }

    /// Whether the list alone says what is run.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Whether placeholders say where a job's words go.
    pub fn has_placeholders(&self) -> bool {
        self.has_placeholders
    }

    /// Whether the words depend on the slot that a job runs in.
    pub fn names_slot(&self) -> bool {
        self.words.iter().flatten().any(|piece| matches!(piece, Piece::Slot))
    }

    /// Whether a shell runs all jobs.
    pub fn is_for_shell(&self) -> bool {
        self.shell == Shell::Sh
    }

    /// What each of a job's words takes in the command, for jobs that are filled. LIMIT: a word that is meant by its number (`{1}`) counts as if
    /// every word stood in its place.
    pub(crate) fn use_of_words(&self) -> Use {
        let mut found = Use::default();
        if self.shell == Shell::Sh {
            [SHELL_PATH, b"-c", b"sh"].iter().for_each(|word| found.has(word.len()));
        }
        for pieces in &self.words {
            let literal_bytes = pieces.iter().map(Piece::literal_bytes).sum::<usize>();
            let values = pieces.iter().filter(|piece| piece.is_value()).count();
            found.copies += values;
            match (self.shell, values) {
                (Shell::Sh, _) => {
                    found.words += values;
                    found.script_bytes += values * NAME_BYTES;
                    found.has(literal_bytes + pieces.len() * QUOTES_BYTES);
                }
                (Shell::None, 0) => found.has(literal_bytes),
                (Shell::None, _) => {
                    found.words += 1;
                    found.repeated_bytes += literal_bytes;
                }
            }
        }
        if !self.has_placeholders {
            (found.copies, found.words) = (found.copies + 1, found.words + 1);
        }
        found
    }

    /// How many bytes a job's words may take, where the kernel allows so many for all that a command has.
    pub fn room(&self, allowed_bytes: usize) -> ArgumentRoom {
        if self.words.is_empty() && self.shell == Shell::Sh {
            // Lines that are scripts become one.
            return ArgumentRoom::of_words(allowed_bytes.min(LONGEST_WORD_BYTES - WORD_BYTES));
        }
        self.use_of_words().room(allowed_bytes)
    }

    /// A shell's command as GNU parallel would put it together, values quoted amid its text: to be written and compared, never to be run. What
    /// quotes of its own a script has around a value, GNU parallel does not see.
    pub(crate) fn text_for_shell(&self, own: &Words, place: JobPosition) -> Vec<u8> {
        if self.words.is_empty() {
            return own.iter().collect::<Vec<_>>().join(&b' ');
        }
        let all = |form| own.iter().map(|value| shell_words::as_gnu_parallel(part(value, form))).collect::<Vec<_>>();
        let mut text = Vec::new();
        for (index, pieces) in self.words.iter().enumerate() {
            if index > 0 {
                text.push(b' ');
            }
            for piece in pieces {
                let is_missing = |number: usize| number > own.len();
                match piece {
                    Piece::Literal(literal) => text.extend_from_slice(literal),
                    Piece::All(form) => text.extend(all(*form).join(&b' ')),
                    Piece::Nth(number, _) | Piece::NthFromEnd(number, _) if is_missing(*number) => {}
                    other => {
                        let value = fill(std::slice::from_ref(other), own, place, &[]);
                        text.extend(shell_words::as_gnu_parallel(&value));
                    }
                }
            }
        }
        if !self.has_placeholders {
            all(Form::Whole).iter().for_each(|value| text.extend([b" ", value.as_slice()].concat()));
        }
        text
    }

    /// What all jobs have in common: the utility and its arguments, placeholders as `{}`. None where each job names its own.
    pub fn class_name(&self) -> Option<String> {
        let word = |pieces: &Vec<Piece>| {
            let text = |piece: &Piece| match piece {
                Piece::Literal(bytes) => bytes.clone(),
                _ => b"{}".to_vec(),
            };
            pieces.iter().flat_map(text).collect::<Vec<u8>>()
        };
        (!self.words.is_empty()).then(|| class_text(&self.words.iter().map(word).collect::<Vec<_>>().join(&b' ')))
    }

    /// What a job has in common with others that name the same program; of a shell's script that is its first word.
    pub fn class_name_of(&self, own: &Words, is_for_shell: bool) -> String {
        let first = own.get(0).unwrap_or_default();
        match is_for_shell || self.shell == Shell::Sh {
            true => class_text(
                &[b"sh ", first.split(u8::is_ascii_whitespace).find(|word| !word.is_empty()).unwrap_or_default()]
                    .concat(),
            ),
            false => class_text(first),
        }
    }

    /// The words to run. `own` are the job's; a job that brings a shell line has it as its only word.
    pub fn compose(&self, own: &Words, place: JobPosition, is_for_shell: bool) -> Result<Words, HoldsNul> {
        if is_for_shell || self.shell == Shell::Sh {
            return self.compose_for_shell(own, place);
        }
        let mut words = Words::default();
        for pieces in &self.words {
            if let [Piece::All(form)] = pieces.as_slice() {
                for value in own.iter() {
                    words.push(part(value, *form))?;
                }
            } else if self.repetition == Repetition::Each && pieces.iter().any(|piece| matches!(piece, Piece::All(_))) {
                for value in own.iter() {
                    words.push(&fill(pieces, own, place, &[value]))?;
                }
            } else {
                words.push(&fill(pieces, own, place, &own.iter().collect::<Vec<_>>()))?;
            }
        }
        if !self.has_placeholders {
            words.extend(own);
        }
        Ok(words)
    }

    /// `sh -c SCRIPT sh VALUE...`: the script names its values, and holds none.
    fn compose_for_shell(&self, own: &Words, place: JobPosition) -> Result<Words, HoldsNul> {
        let mut words = Words::default();
        words.push(SHELL_PATH)?;
        words.push(b"-c")?;
        if self.words.is_empty() {
            words.push(&own.iter().collect::<Vec<_>>().join(&b' '))?;
            return Ok(words);
        }
        let mut script = Script::default();
        for (index, pieces) in self.words.iter().enumerate() {
            if index > 0 {
                script.push(b" ");
            }
            for piece in pieces {
                match piece {
                    Piece::Literal(text) => script.push(text),
                    Piece::All(form) => script.name_values(own.iter().map(|value| part(value, *form).to_vec())),
                    other => script.name_values([fill(std::slice::from_ref(other), own, place, &[])]),
                }
            }
        }
        let (mut script, mut values) = script.finish();
        if !self.has_placeholders {
            script.extend_from_slice(b" \"$@\"");
            values.extend(own.iter().map(<[u8]>::to_vec));
        }
        words.push(&script)?;
        words.push(b"sh")?;
        values.iter().try_for_each(|value| words.push(value))?;
        Ok(words)
    }
}

/// One word, its placeholders filled: those for all words with `all`.
fn fill(pieces: &[Piece], own: &Words, place: JobPosition, all: &[&[u8]]) -> Vec<u8> {
    let mut word = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Literal(text) => word.extend_from_slice(text),
            Piece::All(form) => {
                let values: Vec<&[u8]> = all.iter().map(|value| part(value, *form)).collect();
                word.extend_from_slice(&values.join(&b' '));
            }
            Piece::Nth(number, form) => {
                word.extend_from_slice(own.get(number - 1).map_or(&b""[..], |value| part(value, *form)));
            }
            Piece::NthFromEnd(number, form) => {
                let index = own.len().checked_sub(*number);
                let value = index.and_then(|index| own.get(index));
                word.extend_from_slice(value.map_or(&b""[..], |value| part(value, *form)));
            }
            Piece::Number => word.extend_from_slice(place.number.to_string().as_bytes()),
            Piece::Slot => word.extend_from_slice(place.slot.to_string().as_bytes()),
        }
    }
    word
}

/// COMPAT: as GNU parallel defines them: an extension is what follows the last dot of the last name, also where it stands first;
/// a name that ends with a slash has an empty last name, and its directory is the one around it.
fn part(value: &[u8], form: Form) -> &[u8] {
    let name_at = value.iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
    let dot = value[name_at..].iter().rposition(|&byte| byte == b'.');
    let end = dot.map_or(value.len(), |dot| name_at + dot);
    match form {
        Form::Whole => value,
        Form::NoExtension => &value[..end],
        Form::Base => &value[name_at..],
        Form::BaseNoExtension => &value[name_at..end],
        Form::Directory => directory(value),
    }
}

/// As dirname(1).
fn directory(value: &[u8]) -> &[u8] {
    let without_slashes = |path: &'_ [u8]| path.iter().rposition(|&byte| byte != b'/').map_or(0, |last| last + 1);
    let own = &value[..without_slashes(value)];
    match own.iter().rposition(|&byte| byte == b'/') {
        None if own.is_empty() && !value.is_empty() => b"/",
        None => b".",
        Some(slash) => match without_slashes(&own[..slash]) {
            0 => b"/",
            end => &own[..end],
        },
    }
}

/// Divides a word at its placeholders.
fn pieces(word: &[u8], whole: &[u8]) -> Vec<Piece> {
    let (mut pieces, mut literal, mut at) = (Vec::new(), Vec::new(), 0);
    while at < word.len() {
        match placeholder(&word[at..], whole) {
            Some((piece, length)) => {
                if !literal.is_empty() {
                    pieces.push(Piece::Literal(std::mem::take(&mut literal)));
                }
                pieces.push(piece);
                at += length;
            }
            None => {
                literal.push(word[at]);
                at += 1;
            }
        }
    }
    if !literal.is_empty() || pieces.is_empty() {
        pieces.push(Piece::Literal(literal));
    }
    pieces
}

fn placeholder(text: &[u8], whole: &[u8]) -> Option<(Piece, usize)> {
    if text.starts_with(whole) {
        return Some((Piece::All(Form::Whole), whole.len()));
    }
    if text.first() != Some(&b'{') {
        return None;
    }
    // LIMIT: the longest is a number with a form; what is longer is the user's own text.
    let close = text.iter().take(12).position(|&byte| byte == b'}')?;
    let inner = std::str::from_utf8(&text[1..close]).ok()?;
    if let Some(from_end) = inner.strip_prefix('-') {
        let digits = from_end.len() - from_end.trim_start_matches(|letter: char| letter.is_ascii_digit()).len();
        let (number, ending) = from_end.split_at(digits);
        let form = FORMS.iter().find(|(text, _)| *text == ending)?.1;
        let number = number.parse().ok().filter(|number| *number > 0)?;
        return Some((Piece::NthFromEnd(number, form), close + 1));
    }
    let digits = inner.len() - inner.trim_start_matches(|letter: char| letter.is_ascii_digit()).len();
    let (number, ending) = inner.split_at(digits);
    let form = FORMS.iter().find(|(text, _)| *text == ending).map(|(_, form)| *form);
    let piece = match (inner, number.parse::<usize>().ok(), form) {
        ("#", ..) => Piece::Number,
        ("%", ..) => Piece::Slot,
        (_, Some(number), Some(form)) if number > 0 => Piece::Nth(number, form),
        (_, None, Some(form)) if digits == 0 && (form != Form::Whole || whole == b"{}") => Piece::All(form),
        _ => return None,
    };
    Some((piece, close + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_is_what_jobs_have_in_common() {
        let words = |list: &[&str]| list.iter().map(|word| word.as_bytes().to_vec()).collect::<Vec<_>>();
        let mut own = Words::default();
        own.push(b" ls -l /x").expect("no NUL");
        let with = Template::with_placeholders(&words(&["lame", "{}", "{.}.mp3"]), b"{}", Shell::None);
        assert_eq!(with.class_name().as_deref(), Some("lame {} {}.mp3"));
        assert_eq!(Template::appending(&words(&["gzip", "-9"]), Shell::None).class_name().as_deref(), Some("gzip -9"));
        let none = Template::appending(&[], Shell::None);
        assert_eq!((none.class_name(), none.class_name_of(&own, true)), (None, "sh ls".to_owned()));
        assert_eq!(none.class_name_of(&Words::default(), false), "");
    }

    fn words(list: &[&str]) -> Words {
        let mut words = Words::default();
        list.iter().try_for_each(|word| words.push(word.as_bytes())).expect("no NUL");
        words
    }

    fn composed(utility: &[&str], own: &[&str], shell: Shell) -> Vec<String> {
        let utility: Vec<Vec<u8>> = utility.iter().map(|word| word.as_bytes().to_vec()).collect();
        let template = Template::with_placeholders(&utility, b"{}", shell);
        let place = JobPosition { number: 12, slot: 3 };
        let words = template.compose(&words(own), place, false).expect("no NUL");
        words.iter().map(|word| String::from_utf8_lossy(word).into_owned()).collect()
    }

    #[test]
    fn placeholders_are_gnu_parallels() {
        let at = |utility: &[&str], own: &[&str]| composed(utility, own, Shell::None);
        assert_eq!(at(&["a", "b"], &["c", "d"]), ["a", "b", "c", "d"]);
        assert_eq!(at(&["a", "{}", "-"], &["c d", "e"]), ["a", "c d", "e", "-"]);
        assert_eq!(at(&["x{}y"], &["c", "e"]), ["xc ey"]);
        let words_of = |list: &[&str]| list.iter().map(|word| word.as_bytes().to_vec()).collect::<Vec<_>>();
        let each = Template::with_placeholders(&words_of(&["a", "x{}={.}{1}", "{}"]), b"{}", Shell::None);
        let composed =
            each.repeating(Repetition::Each).compose(&words(&["c.d", "e"]), JobPosition { number: 1, slot: 1 }, false);
        let composed = composed.expect("no NUL");
        assert_eq!(composed.iter().collect::<Vec<_>>(), [&b"a"[..], b"xc.d=cc.d", b"xe=ec.d", b"c.d", b"e"]);
        assert_eq!(at(&["{2}-{1}", "{3}"], &["c", "e"]), ["e-c", ""]);
        assert_eq!(at(&["{-1}", "{-2.}", "{-3}", "{-0}", "{-}"], &["c.d", "e"]), ["e", "c", "", "{-0}", "{-}"]);
        assert_eq!(at(&["{.}", "{/}", "{//}", "{/.}"], &["d/a.b.wav"]), ["d/a.b", "a.b.wav", "d", "a.b"]);
        assert_eq!(at(&["{1.}", "{1//}", "{//}"], &["/a"]), ["/a", "/", "/"]);
        assert_eq!(at(&["{//}", "{.}"], &["d/.profile"]), ["d", "d/"]);
        assert_eq!(at(&["{/}", "{//}"], &["a//b/"]), ["", "a"]);
        assert_eq!(at(&["{#}:{%}", "{}"], &["a"]), ["12:3", "a"]);
        assert_eq!(at(&["{x}", "{", "}", "{0}", "{}"], &["a"]), ["{x}", "{", "}", "{0}", "a"]);
    }

    #[test]
    fn a_shells_command_is_written_as_gnu_parallel_writes_it() {
        let text = |utility: &[&str], own: &[&str]| {
            let utility: Vec<Vec<u8>> = utility.iter().map(|word| word.as_bytes().to_vec()).collect();
            let template = Template::with_placeholders(&utility, b"{}", Shell::Sh);
            let text = template.text_for_shell(&words(own), JobPosition { number: 12, slot: 3 });
            String::from_utf8(text).expect("text")
        };
        assert_eq!(text(&["echo {} > {.}.o"], &["it's"]), "echo 'it'\"'\"'s' > 'it'\"'\"'s'.o");
        assert_eq!(text(&["echo", "{}", "\"{}\""], &["a b", ""]), "echo 'a b' '' \"'a b' ''\"");
        assert_eq!(text(&["echo  x", "y"], &["a'", "'", "%"]), "echo  x y 'a'\"'\" \"'\" '%'");
        assert_eq!(text(&["echo {2} x{2}y {1}{#}"], &["a"]), "echo  xy a12");
        assert_eq!(text(&[], &["  echo \"a  b\" | wc"]), "  echo \"a  b\" | wc");
    }

    #[test]
    fn a_shell_gets_values_as_parameters() {
        let hostile = "a'; rm -rf \"$HOME\" `x`";
        assert_eq!(
            composed(&["gzip -c {} > {.}.gz"], &[hostile], Shell::Sh),
            ["/bin/sh", "-c", "gzip -c \"${1}\" > \"${2}\".gz", "sh", hostile, hostile]
        );
        assert_eq!(composed(&["echo"], &["a b"], Shell::Sh), ["/bin/sh", "-c", "echo \"$@\"", "sh", "a b"]);
        assert_eq!(composed(&[], &["echo a | wc"], Shell::Sh), ["/bin/sh", "-c", "echo a | wc"]);
    }
}
