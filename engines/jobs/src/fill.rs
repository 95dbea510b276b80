//! How many words fill one job (`-X`): what the kernel counts of a command's words and variables (execve(2)), and what it allows.
//! Pure but for [`allowed_bytes`]; reads no list.

use rustix::process::{Resource, getrlimit};
use sys::spawn::Words;

/// Bytes that a word takes besides its own: the NUL behind it, and the pointer to it.
pub(crate) const WORD_BYTES: usize = 9;
/// LIMIT: bytes of one word, with its NUL (`MAX_ARG_STRLEN`).
pub(crate) const LONGEST_WORD_BYTES: usize = 128 << 10;
/// LIMIT: kept free for what is added to a job: its variables, the path of its program, an interpreter and its argument. POSIX wants 2048.
const SPARE_BYTES: usize = 8 << 10;

/// How many bytes a job's words may take, and how many each of them takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArgumentRoom {
    /// All of them; 0: any number.
    pub bytes: usize,
    /// How often a word stands in the command.
    pub copies: usize,
    /// What it takes besides its bytes.
    pub bytes_per_word: usize,
}

impl ArgumentRoom {
    /// For words that are appended once.
    pub fn of_words(bytes: usize) -> Self {
        Self { bytes, copies: 1, bytes_per_word: WORD_BYTES }
    }

    /// Bytes that a word takes.
    pub fn taken_by(&self, word: &[u8]) -> usize {
        word.len().saturating_mul(self.copies).saturating_add(self.bytes_per_word)
    }

    /// Whether a job with so many bytes is too large.
    pub fn is_exceeded_by(&self, bytes: usize) -> bool {
        self.bytes > 0 && bytes > self.bytes
    }
}

/// What a template makes of each word, and of none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Use {
    /// Bytes of the command without any words.
    pub fixed_bytes: usize,
    /// How often a word stands in it.
    pub copies: usize,
    /// How many words of the command it is a part of.
    pub words: usize,
    /// Text that is repeated with it.
    pub repeated_bytes: usize,
    /// Bytes of a shell's script that name it.
    pub script_bytes: usize,
}

impl Use {
    /// A word of the command that is there once.
    pub fn has(&mut self, bytes: usize) {
        self.fixed_bytes += bytes + WORD_BYTES;
    }

    /// What is left of `allowed_bytes` for words.
    pub fn room(&self, allowed_bytes: usize) -> ArgumentRoom {
        let bytes = allowed_bytes.saturating_sub(self.fixed_bytes).max(1);
        let in_words = self.words * WORD_BYTES + self.repeated_bytes + self.script_bytes;
        // The script is one word, however short the values are: they take as if so many filled the room as it can name.
        let script_room = LONGEST_WORD_BYTES.saturating_sub(self.fixed_bytes).max(1);
        let named = script_room.checked_div(self.script_bytes);
        let bytes_per_word = named.map_or(in_words, |named| in_words.max(bytes / named.max(1)));
        ArgumentRoom { bytes, copies: self.copies, bytes_per_word }
    }
}

/// Bytes that the kernel lets a command's words and variables take, less those of `variables`.
pub fn allowed_bytes(variables: &Words) -> usize {
    allowed_of(getrlimit(Resource::Stack).current).saturating_sub(SPARE_BYTES + taken_by(variables))
}

fn taken_by(variables: &Words) -> usize {
    variables.iter().map(|variable| variable.len() + WORD_BYTES).sum()
}

/// COMPAT: `bprm_stack_limits` of Linux: a quarter of the stack, at least 128 KiB and at most 6 MiB.
fn allowed_of(stack_bytes: Option<u64>) -> usize {
    let quarter = stack_bytes.unwrap_or(u64::MAX) / 4;
    quarter.clamp(128 << 10, 6 << 20) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::{JobPosition, Repetition, Shell, Template};

    #[test]
    fn the_kernel_allows_a_quarter_of_the_stack_within_bounds() {
        let allowed = [Some(256 << 10), Some(1 << 20), Some(8 << 20), Some(1 << 30), None].map(allowed_of);
        assert_eq!(allowed, [128 << 10, 256 << 10, 2 << 20, 6 << 20, 6 << 20]);
    }

    /// What a command takes that is filled as far as its room goes, and its longest word.
    fn filled(template: &Template, word: &[u8], allowed: usize) -> (usize, usize) {
        let room = template.use_of_words().room(allowed);
        let (mut words, mut bytes) = (Words::default(), 0);
        while !room.is_exceeded_by(bytes + room.taken_by(word)) {
            bytes += room.taken_by(word);
            words.push(word).expect("no NUL");
        }
        let command = template.compose(&words, JobPosition { number: 1, slot: 1 }, false).expect("no NUL");
        (taken_by(&command), command.iter().map(<[u8]>::len).max().unwrap_or(0))
    }

    #[test]
    fn whatever_a_template_repeats_fits_and_fills() {
        let utility = |text: &str| text.split(' ').map(|word| word.as_bytes().to_vec()).collect::<Vec<_>>();
        for shell in [Shell::None, Shell::Sh] {
            for text in
                ["echo", "echo {}", "echo x{}y", "cp -t dir {} {/} a{.}b{//}c", "echo {#} {} {%} end", "echo '{}'"]
            {
                let template = Template::with_placeholders(&utility(text), b"{}", shell).repeating(Repetition::Each);
                for (word, allowed) in [(&b"1234"[..], 120_000), (b"1", 2 << 20), (&[b'w'; 3000], 2 << 20)] {
                    let (taken, longest) = filled(&template, word, allowed);
                    assert!(taken <= allowed && longest < LONGEST_WORD_BYTES, "{shell:?} {text}: {taken}, {longest}");
                    let is_script_full = shell == Shell::Sh && longest > LONGEST_WORD_BYTES / 3;
                    assert!(is_script_full || taken > allowed / 3, "{shell:?} {text}: {taken} of {allowed}");
                }
            }
        }
        let template = Template::appending(&utility("echo"), Shell::None);
        let (taken, _) = filled(&template, b"123456", 1 << 20);
        assert!(taken > (1 << 20) - 32, "{taken}");
    }
}
