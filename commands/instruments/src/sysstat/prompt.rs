//! A question on the last line that is answered by typing.

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromptKind {
    /// The next process with this in it.
    Find,
    /// Only processes with this in them.
    Only,
    /// Only this user's.
    User,
    /// A moment of the past.
    Time,
    /// A signal for the chosen process.
    Signal,
    /// A nice value for it.
    Nice,
}

/// A question, and what has been typed.
#[derive(Clone, Debug)]
pub struct Prompt {
    /// What is asked.
    pub kind: PromptKind,
    /// What has been typed.
    pub text: String,
}

/// LIMIT: letters of an answer.
const LETTERS_MAX: usize = 100;

impl Prompt {
    /// Nothing has been typed.
    pub fn new(kind: PromptKind) -> Self {
        Self { kind, text: if kind == PromptKind::Signal { "TERM".to_owned() } else { String::new() } }
    }

    /// Another letter; what would be written for the signal is typed over.
    pub fn put(&mut self, letter: char) {
        if self.kind == PromptKind::Signal && self.text == "TERM" {
            self.text.clear();
        }
        if !letter.is_control() && self.text.len() < LETTERS_MAX {
            self.text.push(letter);
        }
    }

    /// What stands before the answer.
    pub fn label(&self) -> &'static str {
        match self.kind {
            PromptKind::Find => "find: ",
            PromptKind::Only => "only processes with: ",
            PromptKind::User => "only of user (empty: all): ",
            PromptKind::Time => "go to (13:05, 13:05:30, -5m): ",
            PromptKind::Signal => "signal (name or number): ",
            PromptKind::Nice => "nice value (-20 to 19): ",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_signal_is_typed_over() {
        let mut prompt = Prompt::new(PromptKind::Signal);
        assert_eq!(prompt.text, "TERM");
        "9\u{1b}".chars().for_each(|letter| prompt.put(letter));
        assert_eq!(prompt.text, "9");
        (0..500).for_each(|_| prompt.put('x'));
        assert_eq!(prompt.text.len(), LETTERS_MAX);
    }
}
