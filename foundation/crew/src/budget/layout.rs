//! The table's layout, byte by byte, for this program and for foreign ones. All numbers are in the machine's own byte order;
//! every field is read and written with one atomic access of its own size. The rules of use: `foundation/crew/BUDGET.md`.
//! | byte | size | what |
//! |---|---|---|
//! | 0 | 8 | magic: the letters `mh-crew` and a line feed |
//! | 8 | 8 | version, 4. Any other: keep off |
//! | 64 | 4 | generation: a futex, counted up and woken when a run comes, leaves, or may have to decide anew: for those who watch |
//! | 128 | 32 | present: one bit a row that is in use |
//! | 160 | 32 | hungry: one bit a row that waits for a hand, or runs above capacity |
//! | 256 | 8 x 1024 | hands: one word a CPU, see [`HandWord`] |
//! | 8448 | 8 x 1280 | claims: one word a CPU, then one a row (for its `ABOVE`), see [`ClaimWord`] |
//! | 18688 | 512 x 256 | rows, see [`field`] |

/// Rows: runs at the same time. LIMIT: 256 runs of one user; more would be served as if alone. Each costs 512 bytes.
pub const ROWS: usize = 256;
/// CPUs that have a word. LIMIT: higher numbers are not used; each costs 8 bytes and a bit in every row.
pub const CPUS: usize = 1024;
/// CPU slots: where a hand can be. One a CPU, and behind them one a row, for a first hand that runs above capacity.
pub const CPU_SLOTS: usize = CPUS + ROWS;
/// Words of a CPU mask.
pub const MASK_WORDS: usize = CPUS / 64;
/// Words of the text that says what a run does: 224 bytes.
pub const WHAT_WORDS: usize = 28;
/// Words of a bitmap of rows.
pub const BITMAP_WORDS: usize = ROWS / 64;

/// What the first word says.
pub const MAGIC: u64 = u64::from_ne_bytes(*b"mh-crew\n");
/// The version that this code writes and reads.
pub const VERSION: u64 = 4;

/// Word of the version.
pub const VERSION_AT: usize = 1;
/// Word whose first half is the generation.
pub const GENERATION_AT: usize = 8;
/// First word of the bitmap of rows in use.
pub const PRESENT_AT: usize = 16;
/// First word of the bitmap of hungry rows.
pub const HUNGRY_AT: usize = 20;
/// First hand word.
pub const HANDS_AT: usize = 32;
/// First claim word.
pub const CLAIMS_AT: usize = HANDS_AT + CPUS;
/// First word of the first row.
pub const ROWS_AT: usize = CLAIMS_AT + CPU_SLOTS;
/// Words of a row.
pub const ROW_WORDS: usize = 64;
/// Words in use.
pub const WORDS: usize = ROWS_AT + ROWS * ROW_WORDS;
/// Length of the file: whole pages of 4 KiB.
pub const FILE_BYTES: u64 = (WORDS as u64 * 8).next_multiple_of(4096);

/// Words of a row, counted from its first.
pub mod field {
    /// First half: the death word, a futex: thread id of the keeper, with the kernel's FUTEX_WAITERS and FUTEX_OWNER_DIED bits.
    /// Second half: the wake word, a futex, counted up and woken whenever this run may take who could not before.
    pub const DEATH_WORD: usize = 0;
    /// Process id; 0: the row is not in use. Written last.
    pub const PROCESS: usize = 1;
    /// When that process began, in clock ticks after boot.
    pub const START_TICKS: usize = 2;
    /// Inode number of its pid namespace.
    pub const NAMESPACE: usize = 3;
    /// Class, weight and state, see [`super::super::row::Standing`]. Others may change it by compare-and-swap.
    pub const STANDING: usize = 4;
    /// Hands beyond which it would not get faster.
    pub const USEFUL_WIDTH: usize = 5;
    /// Hands it waits for now.
    pub const WAITING: usize = 6;
    /// Since when it waits, in milliseconds of CLOCK_MONOTONIC.
    pub const HUNGRY_SINCE_MS: usize = 7;
    /// Until when it may keep the hand that it got by waiting long.
    pub const SLICE_UNTIL_MS: usize = 8;
    /// Its first hand where that runs above capacity: a word like those of the CPUs, free while there is none.
    pub const ABOVE: usize = 9;
    /// Inode number of the control group whose CPU quota bounds it.
    pub const QUOTA_GROUP: usize = 10;
    /// That quota in thousandths of a core; 0: none.
    pub const QUOTA_MILLICORES: usize = 11;
    /// When it came, in milliseconds of CLOCK_MONOTONIC.
    pub const JOINED_MS: usize = 12;
    /// Hands that it has from elsewhere, a `make` above it: shown, and counted nowhere.
    pub const EXTERNAL: usize = 13;
    /// CPUs of its mask that it leaves to programs which take no part; they are not in [`MASK`].
    pub const LEFT_OUT: usize = 14;
    /// Whether it has no yield points and wants to be woken when somebody becomes hungry: 0 or 1.
    pub const LISTENS: usize = 15;
    /// CPUs it may use, lowest first: 16 words.
    pub const MASK: usize = 16;
    /// What it has done so far, in units of [`PROGRESS_UNIT`].
    pub const PROGRESS_DONE: usize = 32;
    /// Of so many; 0: not known.
    pub const PROGRESS_TOTAL: usize = 33;
    /// How many a second over the last seconds, in thousandths.
    pub const PROGRESS_RATE: usize = 34;
    /// What is counted: 1 bytes, 2 entries, 3 jobs; 0: nothing is published.
    pub const PROGRESS_UNIT: usize = 35;
    /// What it is doing: UTF-8, ended by a zero byte if shorter than 224 bytes.
    pub const WHAT: usize = 36;
}

/// The word `field` of row `row`.
pub const fn row_word(row: usize, field: usize) -> usize {
    ROWS_AT + row * ROW_WORDS + field
}

/// The hand word of `cpu_slot`, which is below [`CPU_SLOTS`].
pub const fn hand_word(cpu_slot: usize) -> usize {
    if cpu_slot < CPUS { HANDS_AT + cpu_slot } else { row_word(cpu_slot - CPUS, field::ABOVE) }
}

/// The claim word of `cpu_slot`, which is below [`CPU_SLOTS`].
pub const fn claim_word(cpu_slot: usize) -> usize {
    CLAIMS_AT + cpu_slot
}

/// The CPU slot of `row`'s first hand above capacity.
pub const fn cpu_slot_above(row: usize) -> usize {
    CPUS + row
}

/// One hand: who owns this CPU slot's word, and how often it has changed hands.
///
/// Bits 48 to 63 are the owner's row + 1, or 0 when it is free; bits 0 to 47 count the takings. The count makes each taking
/// one of its kind: whoever compares and swaps a word that was read before changes that very taking or nothing. It comes round
/// after 2^48 takings: at one every 20 ns, 65 days of nothing else, between two looks at one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandWord(pub u64);

impl HandWord {
    const COUNT_BITS: u32 = 48;
    const COUNT: u64 = (1 << Self::COUNT_BITS) - 1;

    /// Whether nobody owns it.
    pub fn is_free(self) -> bool {
        self.0 >> Self::COUNT_BITS == 0
    }

    /// The owner's row; none when it is free or names a row that there is not, as only a forged word does.
    pub fn row(self) -> Option<usize> {
        let row = (self.0 >> Self::COUNT_BITS) as usize;
        row.checked_sub(1).filter(|row| *row < ROWS)
    }

    /// The word after `row` has taken it.
    pub fn taken_by(self, row: usize) -> Self {
        Self((row as u64 + 1) << Self::COUNT_BITS | (self.0.wrapping_add(1) & Self::COUNT))
    }

    /// The word after its owner has given it back, or lost it.
    pub fn freed(self) -> Self {
        Self(self.0 & Self::COUNT)
    }
}

/// Who uses a hand that another run, a runner of jobs, holds for them. The hand's word stays the runner's.
///
/// Bits 48 to 63 are the claimer's row + 1, or 0 when nobody claims it; bits 24 to 47 count the claims of this CPU slot; bits 0 to
/// 23 are the last ones of the hand word's count: a claim is one of that taking and of no later one. The count of claims makes
/// each one of its kind. LIMIT: it comes round after 2^24 claims, each of which is a program's start, between two looks at one
/// word: hours. A claim that outlives its taking by exactly 2^24 takings keeps others from claiming that one; no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClaimWord(pub u64);

impl ClaimWord {
    const COUNT_BITS: u32 = 24;
    const COUNT: u64 = (1 << Self::COUNT_BITS) - 1;

    /// Whether somebody claims the hand that was taken as `taking`.
    pub fn is_of(self, taking: HandWord) -> bool {
        self.0 >> HandWord::COUNT_BITS != 0 && (self.0 ^ taking.0) & Self::COUNT == 0
    }

    /// The claimer's row; none when there is none, or it names a row that there is not.
    pub fn row(self) -> Option<usize> {
        HandWord(self.0).row()
    }

    /// The word after `row` has claimed the hand that was taken as `taking`.
    pub fn claimed_by(self, row: usize, taking: HandWord) -> Self {
        let claims = (self.0 >> Self::COUNT_BITS).wrapping_add(1) & Self::COUNT;
        Self((row as u64 + 1) << HandWord::COUNT_BITS | claims << Self::COUNT_BITS | taking.0 & Self::COUNT)
    }

    /// The word after its claimer has given it up.
    pub fn freed(self) -> Self {
        Self(self.0 & HandWord::COUNT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documented_bytes_are_the_used_ones() {
        assert_eq!((GENERATION_AT * 8, PRESENT_AT * 8, HUNGRY_AT * 8, HANDS_AT * 8), (64, 128, 160, 256));
        assert_eq!((CLAIMS_AT * 8, ROWS_AT * 8, ROW_WORDS * 8), (8448, 18_688, 512));
        assert_eq!((hand_word(CPUS + 3), claim_word(CPUS + 3)), (row_word(3, field::ABOVE), CLAIMS_AT + CPUS + 3));
        assert_eq!(FILE_BYTES, 151_552);
        const { assert!(field::WHAT + WHAT_WORDS <= ROW_WORDS && field::MASK + MASK_WORDS <= field::WHAT) };
    }

    #[test]
    fn every_taking_is_one_of_its_kind() {
        let free = HandWord(0);
        let first = free.taken_by(0);
        let second = first.freed().taken_by(0);
        assert!(free.is_free() && first.freed().is_free() && first != second);
        assert_eq!((first.row(), second.row(), free.row()), (Some(0), Some(0), None));
        assert_eq!(HandWord(u64::MAX).row(), None, "no such row");
        let last = HandWord(HandWord::COUNT).taken_by(ROWS - 1);
        assert_eq!((last.row(), last.freed()), (Some(ROWS - 1), HandWord(0)), "the count comes round");
    }

    #[test]
    fn a_claim_is_of_one_taking_and_one_of_its_kind() {
        let taking = HandWord(41).taken_by(3);
        let first = ClaimWord(0).claimed_by(7, taking);
        let second = first.freed().claimed_by(7, taking);
        assert!(first.is_of(taking) && first != second && !first.is_of(taking.freed().taken_by(3)));
        assert_eq!((first.row(), first.freed().row(), ClaimWord(u64::MAX).row()), (Some(7), None, None));
        assert!(!first.freed().is_of(taking), "given up");
        let last = ClaimWord((1 << 48) - 1).claimed_by(ROWS - 1, taking);
        assert_eq!(last.0 >> 24 & 0xff_ffff, 0, "the count comes round");
    }
}
