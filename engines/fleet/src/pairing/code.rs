//! The code that one person reads to another: `7-guitar-orbit`. About 19 bits, of which somebody who guesses may try one.

use super::words::WORDS;
use crate::Error;
use crate::keys::random;
use std::fmt;

/// A code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PairingCode(String);

/// LIMIT: letters of a code that is typed.
const TYPED_MAX: usize = 64;

impl PairingCode {
    /// A new one by chance.
    pub fn generate() -> Result<Self, Error> {
        loop {
            let [number, one, other] = random("make a code")?;
            // 252 is the largest multiple of 9: each number is as likely as the others.
            if number < 252 {
                let (one, other) = (WORDS[usize::from(one)], WORDS[usize::from(other)]);
                return Ok(Self(format!("{}-{one}-{other}", 1 + number % 9)));
            }
        }
    }

    /// As a person types it: letters of either size, blanks in place of the strokes. None if it can be no code, which is worth a second
    /// try before it is used.
    pub fn of_text(text: &str) -> Option<Self> {
        if text.len() > TYPED_MAX {
            return None;
        }
        let text = text.to_ascii_lowercase();
        let mut words = text.split(|letter: char| letter == '-' || letter.is_ascii_whitespace());
        let mut next = || words.find(|word| !word.is_empty());
        let (number, one, other) = (next()?, next()?, next()?);
        let is_number = matches!(number.as_bytes(), [b'1'..=b'9']);
        let are_words = [one, other].iter().all(|word| WORDS.binary_search(word).is_ok());
        (is_number && are_words && next().is_none()).then(|| Self(format!("{number}-{one}-{other}")))
    }

    pub(super) fn bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl fmt::Display for PairingCode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_read_as_people_type_it() {
        let code = PairingCode::generate().expect("random bytes");
        assert_eq!(PairingCode::of_text(&code.to_string()), Some(code.clone()));
        assert_eq!(
            PairingCode::of_text(&format!(" {}\n", code.to_string().to_uppercase().replace('-', " "))),
            Some(code)
        );
        for bad in ["", "7", "0-guitar-orbit", "7-guitar-orbitt", "7-guitar", "77-guitar-orbit", "7-guitar-orbit-orbit"]
        {
            assert_eq!(PairingCode::of_text(bad), None, "{bad}");
        }
        assert_eq!(PairingCode::of_text(&" ".repeat(99)), None);
    }

    #[test]
    fn codes_differ() {
        let codes: std::collections::HashSet<String> =
            (0..64).map(|_| PairingCode::generate().expect("random bytes").to_string()).collect();
        assert!(codes.len() > 60, "{codes:?}");
    }
}
