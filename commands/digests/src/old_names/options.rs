//! Command lines as getopt_long of the GNU C library reads them: short options together, long ones cut short, options behind files. Knows no tool.

/// An option.
pub struct Known {
    /// Its letter; a blank where it has none.
    pub letter: u8,
    /// Its long name; empty where it has none.
    pub long: &'static str,
    /// Whether it has a value.
    pub has_value: bool,
}

/// An option without a value.
pub const fn flag(letter: u8, long: &'static str) -> Known {
    Known { letter, long, has_value: false }
}

/// An option with a value.
pub const fn valued(letter: u8, long: &'static str) -> Known {
    Known { letter, long, has_value: true }
}

/// What stands in a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Word {
    /// An option, by its place in the table.
    Option(usize, Vec<u8>),
    /// A file.
    File(Vec<u8>),
}

/// Reads all words. The error is what getopt says, without the program's name.
pub fn read(words: &[Vec<u8>], known: &[Known]) -> Result<Vec<Word>, String> {
    let (mut read, mut words) = (Vec::new(), words.iter());
    while let Some(word) = words.next() {
        match word.as_slice() {
            b"--" => {
                read.extend(words.map(|file| Word::File(file.clone())));
                break;
            }
            [b'-', b'-', long @ ..] => read.push(long_option(long, &mut words, known)?),
            [b'-', letters @ ..] if !letters.is_empty() => short_options(letters, &mut words, known, &mut read)?,
            _ => read.push(Word::File(word.clone())),
        }
    }
    Ok(read)
}

fn long_option<'a>(
    word: &[u8],
    words: &mut impl Iterator<Item = &'a Vec<u8>>,
    known: &[Known],
) -> Result<Word, String> {
    let equals = word.iter().position(|byte| *byte == b'=');
    let name = &word[..equals.unwrap_or(word.len())];
    let shown = String::from_utf8_lossy(name);
    let at = find(name, known).map_err(|others| match others.as_slice() {
        [] => format!("unrecognized option '--{}'", String::from_utf8_lossy(word)),
        others => {
            let others: String = others.iter().map(|other| format!(" '--{other}'")).collect();
            format!("option '--{}' is ambiguous; possibilities:{others}", String::from_utf8_lossy(word))
        }
    })?;
    let long = known[at].long;
    match (known[at].has_value, equals) {
        (false, Some(_)) => Err(format!("option '--{long}' doesn't allow an argument")),
        (true, Some(equals)) => Ok(Word::Option(at, word[equals + 1..].to_vec())),
        (false, None) => Ok(Word::Option(at, Vec::new())),
        (true, None) => match words.next() {
            Some(value) => Ok(Word::Option(at, value.clone())),
            None => Err(format!("option '--{}' requires an argument", if long.is_empty() { &shown } else { long })),
        },
    }
}

/// The option that begins so, if there is one; else all that do.
fn find(name: &[u8], known: &[Known]) -> Result<usize, Vec<&'static str>> {
    if let Some(at) = known.iter().position(|option| !option.long.is_empty() && option.long.as_bytes() == name) {
        return Ok(at);
    }
    let begun: Vec<usize> = (0..known.len())
        .filter(|at| !known[*at].long.is_empty() && known[*at].long.as_bytes().starts_with(name))
        .collect();
    match begun.as_slice() {
        [one] => Ok(*one),
        many => Err(many.iter().map(|at| known[*at].long).collect()),
    }
}

fn short_options<'a>(
    letters: &[u8],
    words: &mut impl Iterator<Item = &'a Vec<u8>>,
    known: &[Known],
    read: &mut Vec<Word>,
) -> Result<(), String> {
    for (place, letter) in letters.iter().enumerate() {
        let shown = char::from(*letter);
        let at = known.iter().position(|option| option.letter == *letter && *letter != b' ');
        let at = at.ok_or_else(|| format!("invalid option -- '{shown}'"))?;
        if !known[at].has_value {
            read.push(Word::Option(at, Vec::new()));
            continue;
        }
        let rest = &letters[place + 1..];
        let value = if rest.is_empty() { words.next().cloned() } else { Some(rest.to_vec()) };
        read.push(Word::Option(at, value.ok_or_else(|| format!("option requires an argument -- '{shown}'"))?));
        break;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: &[Known] = &[flag(b'c', "check"), valued(b'l', "length"), flag(b' ', "status"), flag(b' ', "strict")];

    fn read_words(words: &[&str]) -> Result<Vec<Word>, String> {
        let words: Vec<Vec<u8>> = words.iter().map(|word| word.as_bytes().to_vec()).collect();
        read(&words, KNOWN)
    }

    #[test]
    fn words_are_read_as_getopt_reads_them() {
        let option = |at, value: &str| Word::Option(at, value.as_bytes().to_vec());
        let file = |name: &str| Word::File(name.as_bytes().to_vec());
        assert_eq!(read_words(&["a", "-cl8", "-"]), Ok(vec![file("a"), option(0, ""), option(1, "8"), file("-")]));
        assert_eq!(
            read_words(&["--len", "8", "--le=9", "--ch"]),
            Ok(vec![option(1, "8"), option(1, "9"), option(0, "")])
        );
        assert_eq!(read_words(&["--", "-c"]), Ok(vec![file("-c")]));
        for (words, said) in [
            (&["--foo=1"][..], "unrecognized option '--foo=1'"),
            (&["--st"], "option '--st' is ambiguous; possibilities: '--status' '--strict'"),
            (&["--check=1"], "option '--check' doesn't allow an argument"),
            (&["--length"], "option '--length' requires an argument"),
            (&["-cx"], "invalid option -- 'x'"),
            (&["-l"], "option requires an argument -- 'l'"),
        ] {
            assert_eq!(read_words(words), Err(said.to_owned()));
        }
    }
}
