//! What each descriptor number of the process means to us: an array of words that is read without a lock.

use std::sync::atomic::{AtomicU32, Ordering};

/// LIMIT: descriptors with higher numbers are left alone. Each number costs four bytes, which are not touched until it is used.
pub const COUNT: i32 = 1 << 16;

/// What a number means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// Not looked at since it was opened.
    Unknown,
    /// Not looked at, and there are, or were, two of it: no file that it leads to is queued.
    Doubled,
    /// None of ours.
    Foreign,
    /// A pipe, a socket or the like: who is at its other end may be told by it that a file is ready.
    Talks,
    /// One that this library keeps for itself. The program does not know that it is there.
    Private,
    /// A file whose writes are queued.
    Queued(usize),
}

const UNKNOWN: u32 = 0;
const FOREIGN: u32 = 1;
const TALKS: u32 = 2;
const PRIVATE: u32 = 3;
const DOUBLED: u32 = 4;
const FIRST_QUEUED: u32 = 16;

static MEANINGS: [AtomicU32; COUNT as usize] = [const { AtomicU32::new(UNKNOWN) }; COUNT as usize];

/// What `number` means.
pub fn meaning(number: i32) -> Meaning {
    let word = usize::try_from(number).ok().and_then(|number| MEANINGS.get(number));
    // ORDER: acquire, so that who finds a file here finds it filled in; its own lock decides the rest.
    match word.map_or(FOREIGN, |word| word.load(Ordering::Acquire)) {
        UNKNOWN => Meaning::Unknown,
        DOUBLED => Meaning::Doubled,
        TALKS => Meaning::Talks,
        PRIVATE => Meaning::Private,
        queued @ FIRST_QUEUED.. => Meaning::Queued((queued - FIRST_QUEUED) as usize),
        _ => Meaning::Foreign,
    }
}

/// Sets what `number` means from now on. False where it is too high to be remembered.
pub fn set(number: i32, meaning: Meaning) -> bool {
    let Some(word) = usize::try_from(number).ok().and_then(|number| MEANINGS.get(number)) else { return false };
    let code = match meaning {
        Meaning::Unknown => UNKNOWN,
        Meaning::Foreign => FOREIGN,
        Meaning::Doubled => DOUBLED,
        Meaning::Talks => TALKS,
        Meaning::Private => PRIVATE,
        Meaning::Queued(index) => FIRST_QUEUED + u32::try_from(index).expect("files are few"),
    };
    // ORDER: release, see `meaning`.
    word.store(code, Ordering::Release);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meanings_are_kept_and_high_numbers_are_left_alone() {
        for meaning_of_it in
            [Meaning::Foreign, Meaning::Doubled, Meaning::Talks, Meaning::Private, Meaning::Queued(7), Meaning::Unknown]
        {
            assert!(set(60_000, meaning_of_it));
            assert_eq!(meaning(60_000), meaning_of_it);
        }
        assert_eq!(meaning(-1), Meaning::Foreign);
        assert_eq!(meaning(1 << 16), Meaning::Foreign);
        assert!(!set(1 << 16, Meaning::Private));
    }
}
