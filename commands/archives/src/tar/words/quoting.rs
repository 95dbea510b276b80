//! How names are shown: GNU tar's quoting styles. Pure: bytes in, bytes out.

use super::super::args::TellingArgs;
use std::borrow::Cow;
use std::os::unix::ffi::OsStrExt;

/// How names are shown.
#[derive(Clone, Debug, Default)]
pub struct Quoting {
    style: Style,
    more: Vec<u8>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Style {
    #[default]
    Escape,
    Literal,
    Shell {
        always: bool,
    },
    C {
        always: bool,
    },
    /// In quotes as UTF-8 has them.
    Locale,
}

impl Quoting {
    pub fn new(args: &TellingArgs) -> Self {
        let style = match args.quoting_style.as_deref() {
            Some("literal") => Style::Literal,
            Some("shell") => Style::Shell { always: false },
            Some("shell-always") => Style::Shell { always: true },
            Some("c") => Style::C { always: true },
            Some("c-maybe") => Style::C { always: false },
            Some("locale" | "clocale") => Style::Locale,
            _ => Style::Escape,
        };
        let all = |texts: &[std::ffi::OsString]| -> Vec<u8> {
            texts.iter().flat_map(|text| text.as_bytes().to_vec()).collect()
        };
        // COMPAT: what is quoted in any case stays so.
        let never = all(&args.no_quote_chars);
        let more = all(&args.quote_chars).into_iter().filter(|byte| !never.contains(byte)).collect();
        Self { style, more }
    }

    /// Whether names without anything to escape are shown as they are.
    pub fn is_plain(&self) -> bool {
        self.style == Style::Escape && self.more.is_empty()
    }

    /// A name as it is shown.
    pub fn shown<'n>(&self, name: &'n [u8]) -> Cow<'n, [u8]> {
        if self.is_plain() {
            return match super::escaped(name) {
                Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
                Cow::Owned(text) => Cow::Owned(text.into_bytes()),
            };
        }
        match self.style {
            Style::Literal => name.into(),
            Style::Escape => self.escaped(name, None).into(),
            Style::Shell { always } => shell(name, always),
            Style::C { always } => {
                let inner = self.escaped(name, Some(b'"'));
                // COMPAT: a backslash alone is not enough for quotes.
                let backslashes = name.iter().filter(|&&byte| byte == b'\\').count();
                let is_plain = !always && inner.len() == name.len() + backslashes;
                if is_plain { name.into() } else { [b"\"", inner.as_slice(), b"\""].concat().into() }
            }
            Style::Locale => ["‘".as_bytes(), &self.escaped(name, None), "’".as_bytes()].concat().into(),
        }
    }

    /// A name in a question. COMPAT: in the quotes of the locale, whatever style lists have.
    pub fn asked(name: &[u8], has_utf8: bool) -> Vec<u8> {
        let quoting = Self::default();
        match has_utf8 {
            true => ["‘".as_bytes(), &quoting.escaped(name, None), "’".as_bytes()].concat(),
            false => [b"'", quoting.escaped(name, Some(b'\'')).as_slice(), b"'"].concat(),
        }
    }

    /// A name with escapes; `quote` is escaped, too.
    fn escaped(&self, name: &[u8], quote: Option<u8>) -> Vec<u8> {
        let mut text = Vec::with_capacity(name.len() + 8);
        for part in name.utf8_chunks() {
            for letter in part.valid().chars() {
                let mut bytes = [0; 4];
                let bytes = letter.encode_utf8(&mut bytes).as_bytes();
                match bytes {
                    [byte] => self.byte(*byte, quote, &mut text),
                    _ if letter.is_control() => bytes.iter().for_each(|byte| octal(*byte, &mut text)),
                    _ => text.extend_from_slice(bytes),
                }
            }
            part.invalid().iter().for_each(|byte| octal(*byte, &mut text));
        }
        text
    }

    fn byte(&self, byte: u8, quote: Option<u8>, text: &mut Vec<u8>) {
        if self.more.contains(&byte) || quote == Some(byte) {
            text.extend([b'\\', byte]);
            return;
        }
        let letter = match byte {
            b'\\' => Some(b'\\'),
            b'\n' => Some(b'n'),
            b'\t' => Some(b't'),
            b'\r' => Some(b'r'),
            0x07 => Some(b'a'),
            0x08 => Some(b'b'),
            0x0b => Some(b'v'),
            0x0c => Some(b'f'),
            _ if byte.is_ascii_control() => return octal(byte, text),
            _ => None,
        };
        match letter {
            Some(letter) => text.extend([b'\\', letter]),
            None => text.push(byte),
        }
    }
}

fn octal(byte: u8, text: &mut Vec<u8>) {
    text.extend_from_slice(format!("\\{byte:03o}").as_bytes());
}

/// COMPAT: in quotes where a shell would take it for more than a word; a quote in it stands outside of them, or in double quotes with letters that
/// mean nothing there.
fn shell(name: &[u8], always: bool) -> Cow<'_, [u8]> {
    let is_special = |(at, byte): (usize, &u8)| match byte {
        b'#' | b'~' => at == 0,
        b'{' | b'}' => name.len() == 1,
        b' ' | b'\t' | b'\n' | b'\r' | 0x07 | 0x08 | 0x0b | 0x0c => true,
        byte => b"!\"$&'()*;<=>?[\\^`|".contains(byte),
    };
    if !always && !name.is_empty() && !name.iter().enumerate().any(is_special) {
        return name.into();
    }
    let has_meaning = |byte: &u8| byte.is_ascii_control() || b"!\"#$&()*;<=>?[\\^`{|}~".contains(byte);
    if name.contains(&b'\'') && !name.iter().any(has_meaning) {
        return [b"\"", name, b"\""].concat().into();
    }
    let mut text = vec![b'\''];
    for &byte in name {
        match byte {
            b'\'' => text.extend_from_slice(b"'\\''"),
            byte => text.push(byte),
        }
    }
    text.push(b'\'');
    text.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_style_shows_names_in_its_way() {
        let shown = |style, name: &str| {
            let quoting = Quoting { style, ..Quoting::default() };
            String::from_utf8_lossy(&quoting.shown(name.as_bytes())).into_owned()
        };
        let (shell, always) = (Style::Shell { always: false }, Style::Shell { always: true });
        assert_eq!(
            (shown(Style::Literal, "a\tb"), shown(Style::Escape, "a\tb\\")),
            ("a\tb".into(), "a\\tb\\\\".into())
        );
        assert_eq!(
            (shown(shell, "a"), shown(shell, "a b"), shown(always, "a")),
            ("a".into(), "'a b'".into(), "'a'".into())
        );
        assert_eq!((shown(shell, "it's"), shown(shell, "it's$")), ("\"it's\"".into(), "'it'\\''s$'".into()));
        assert_eq!(
            (shown(Style::C { always: true }, "a\"b"), shown(Style::C { always: false }, "a")),
            ("\"a\\\"b\"".into(), "a".into())
        );
        assert_eq!(shown(Style::C { always: false }, "a\\b"), "a\\b");
        assert_eq!(shown(Style::Locale, "a'b"), "‘a'b’");
        assert_eq!(Quoting::asked(b"it's\n", false), *b"'it\\'s\\n'");
        assert_eq!(Quoting::asked(b"it's", true), "‘it's’".as_bytes());
        let chosen = Quoting { more: b"x".to_vec(), ..Quoting::default() };
        assert_eq!(*chosen.shown(b"x\ty\n"), *b"\\x\\ty\\n");
    }
}
