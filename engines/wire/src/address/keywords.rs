//! libpq's keywords: `host=db dbname='my base' password=it\'s`, into settings by their names.

use super::{AddressError, AddressSettings};
use std::iter::Peekable;
use std::str::Chars;

/// Reads a connection string of keywords.
pub(super) fn parse(text: &str) -> Result<AddressSettings, AddressError> {
    let mut settings = AddressSettings::new();
    let mut letters = text.chars().peekable();
    loop {
        skip_blanks(&mut letters);
        if letters.peek().is_none() {
            return Ok(settings);
        }
        let mut name = String::new();
        while let Some(letter) = letters.next_if(|letter| *letter != '=' && !letter.is_ascii_whitespace()) {
            name.push(letter);
        }
        skip_blanks(&mut letters);
        if letters.next() != Some('=') {
            return Err(AddressError::Syntax(format!("the keyword '{name}' is followed by '=' and a value")));
        }
        skip_blanks(&mut letters);
        let value = value(&mut letters, &name)?;
        settings.insert(name, value);
    }
}

fn skip_blanks(letters: &mut Peekable<Chars>) {
    while letters.next_if(char::is_ascii_whitespace).is_some() {}
}

/// A value in single quotes, or up to a blank; a backslash takes the next letter as it is.
fn value(letters: &mut Peekable<Chars>, name: &str) -> Result<String, AddressError> {
    let is_quoted = letters.next_if_eq(&'\'').is_some();
    let mut value = String::new();
    loop {
        match letters.next() {
            Some('\'') if is_quoted => return Ok(value),
            Some('\\') => value.extend(letters.next()),
            Some(letter) if !is_quoted && letter.is_ascii_whitespace() => return Ok(value),
            Some(letter) => value.push(letter),
            None if is_quoted => {
                return Err(AddressError::Syntax(format!("the value of '{name}' has no closing quote")));
            }
            None => return Ok(value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        match parse(text) {
            Ok(settings) => settings.iter().map(|(name, value)| format!("{name}=[{value}] ")).collect(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn values_may_be_quoted() {
        assert_eq!(shown("host=a  dbname = 'b c' "), "dbname=[b c] host=[a] ");
        assert_eq!(shown(r"password=it\'s\\"), r"password=[it's\] ");
        assert_eq!(shown(r"password='a\'b=c' user=''"), "password=[a'b=c] user=[] ");
    }

    #[test]
    fn mistakes_are_named() {
        assert_eq!(shown("host a=b"), "the keyword 'host' is followed by '=' and a value");
        assert_eq!(shown("host='a"), "the value of 'host' has no closing quote");
    }
}
