//! Names of hosts and of fleets, as anybody may send them. What a terminal, a table or a file could take for something
//! else is not in them.

use std::fmt;

/// LIMIT: what a label of DNS may have.
const BYTES_MAX: usize = 63;

/// A name of 1 to 63 letters, digits, `.`, `_`, `-` and `@`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostName(Box<str>);

impl HostName {
    /// Makes a name of any bytes: those that a name has not become `_`, and those that are too many are left out.
    pub fn new(bytes: &[u8]) -> Self {
        let name: String =
            bytes.iter().take(BYTES_MAX).map(|&byte| if is_plain(byte) { char::from(byte) } else { '_' }).collect();
        Self(if name.is_empty() { "_".into() } else { name.into() })
    }

    /// A name that needs no change; none otherwise.
    pub fn exact(text: &str) -> Option<Self> {
        let is_exact = (1..=BYTES_MAX).contains(&text.len()) && text.bytes().all(is_plain);
        is_exact.then(|| Self(text.into()))
    }

    /// The letters.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"._-@".contains(&byte)
}

impl fmt::Display for HostName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_names_become_plain() {
        assert_eq!(HostName::new(b"web7.example.org").as_str(), "web7.example.org");
        assert_eq!(HostName::new(b"\x1b[2Jweb\r\n\xe2\x80\xae").as_str(), "__2Jweb_____");
        assert_eq!(HostName::new(b"").as_str(), "_");
        assert_eq!(HostName::new(&[b'a'; 999]).as_str().len(), 63);
        assert_eq!((HostName::exact("web 7"), HostName::exact("")), (None, None));
    }
}
