//! A run's row: its own description, written by its owner and read by all runs.
//! Everything read is untrusted: clamped to what can be, never used as an index before it was compared with a bound.

use super::cpu_set::{Bits, CpuSet};
use super::entitlement::Quota;
use super::layout::{
    BITMAP_WORDS, CPUS, HUNGRY_AT, HandWord, MASK_WORDS, PRESENT_AT, ROWS, WHAT_WORDS, cpu_slot_above, field,
    hand_word, row_word,
};
use super::memory::Memory;
use super::{Priority, Weight};

/// Class, weight and state of a run in one word, so that others can change it in one step.
///
/// Bits 0 to 7 are the class (0 idle, 1 low, 2 normal, 3 high), bit 8 paused, bit 9 set aside, bit 10 job slots, bits 16 to 31 the weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Its class.
    pub class: Priority,
    /// Its share within the class.
    pub weight: Weight,
    /// Its user wants it to rest.
    pub is_paused: bool,
    /// Others found it stopped and took its hands. It clears this itself as soon as it runs again.
    pub is_set_aside: bool,
    /// The row's hands are job slots of a run, for programs inside its jobs: orders leave its class and weight.
    pub is_job_slots: bool,
}

const PAUSED: u64 = 1 << 8;
const SET_ASIDE: u64 = 1 << 9;
const JOB_SLOTS: u64 = 1 << 10;
const WEIGHT_SHIFT: u32 = 16;

impl Standing {
    /// As a word of the table.
    pub fn to_word(self) -> u64 {
        let flags = [(self.is_paused, PAUSED), (self.is_set_aside, SET_ASIDE), (self.is_job_slots, JOB_SLOTS)];
        let flags = flags.iter().filter(|(is_so, _)| *is_so).fold(0, |flags, (_, flag)| flags | flag);
        self.class as u64 | flags | u64::from(self.weight.get()) << WEIGHT_SHIFT
    }

    /// From a word of the table; a class that there is not is the nearest one that there is.
    pub fn from_word(word: u64) -> Self {
        let class = match word & 0xff {
            0 => Priority::Idle,
            1 => Priority::Low,
            2 => Priority::Normal,
            _ => Priority::High,
        };
        let weight = Weight::new((word >> WEIGHT_SHIFT & 0xffff) as u16);
        let is = |flag| word & flag != 0;
        Self { class, weight, is_paused: is(PAUSED), is_set_aside: is(SET_ASIDE), is_job_slots: is(JOB_SLOTS) }
    }

    /// Whether it takes part now.
    pub fn is_active(self) -> bool {
        !self.is_paused && !self.is_set_aside
    }
}

/// Which process a row belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowIdentity {
    /// Process id in its own pid namespace.
    pub process: u32,
    /// When it began, in clock ticks after boot.
    pub start_ticks: u64,
    /// The number of its pid namespace.
    pub namespace: u64,
}

/// What a run says about itself when it comes.
#[derive(Clone, Debug)]
pub struct RowEntry {
    /// Its process.
    pub identity: RowIdentity,
    /// Its class and weight.
    pub standing: Standing,
    /// Hands beyond which it would not get faster.
    pub useful_width: u32,
    /// CPUs it may use.
    pub cpus: CpuSet,
    /// The quota that bounds it.
    pub quota: Option<Quota>,
    /// What it is doing, for people; cut off at 224 bytes.
    pub what: String,
    /// When it comes, in milliseconds.
    pub now_ms: u64,
}

/// A row as somebody read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowSeen {
    /// Which row.
    pub row: usize,
    /// Its process.
    pub identity: RowIdentity,
    /// Its class, weight and state.
    pub standing: Standing,
    /// Hands beyond which it would not get faster; 1 to [`CPUS`].
    pub useful_width: u32,
    /// Hands it waits for; 0 to [`CPUS`].
    pub waiting: u32,
    /// Since when it waits, in milliseconds.
    pub hungry_since_ms: u64,
    /// Until when it may keep its slice.
    pub slice_until_ms: u64,
    /// Whether it runs a hand above capacity.
    pub is_above: bool,
    /// Hands that it has from elsewhere; 0 to [`CPUS`].
    pub external: u32,
    /// The quota that bounds it.
    pub quota: Option<Quota>,
    /// CPUs it may use.
    pub cpus: CpuSet,
    /// When it came, in milliseconds.
    pub joined_ms: u64,
    /// CPUs that it leaves to programs which take no part; 0 to [`CPUS`].
    pub left_out: u32,
}

/// Fills row `row`, which the caller has locked and cleared, and makes it seen.
pub fn write<M: Memory + ?Sized>(memory: &M, row: usize, entry: &RowEntry) {
    let put = |field, value| memory.store(row_word(row, field), value);
    put(field::START_TICKS, entry.identity.start_ticks);
    put(field::NAMESPACE, entry.identity.namespace);
    put(field::STANDING, entry.standing.to_word());
    put(field::USEFUL_WIDTH, u64::from(entry.useful_width));
    put(field::QUOTA_GROUP, entry.quota.map_or(0, |quota| quota.group));
    put(field::QUOTA_MILLICORES, entry.quota.map_or(0, |quota| quota.millicores));
    put(field::JOINED_MS, entry.now_ms);
    write_mask(memory, row, &entry.cpus);
    let mut bytes = [0; WHAT_WORDS * 8];
    let length = entry.what.len().min(bytes.len());
    bytes[..length].copy_from_slice(&entry.what.as_bytes()[..length]);
    for (index, word) in bytes.as_chunks().0.iter().enumerate() {
        put(field::WHAT + index, u64::from_ne_bytes(*word));
    }
    put(field::PROCESS, u64::from(entry.identity.process));
    mark_present(memory, row);
}

/// Says which CPUs `row` may use from now on.
pub fn write_mask<M: Memory + ?Sized>(memory: &M, row: usize, cpus: &CpuSet) {
    for (index, word) in cpus.words().iter().enumerate() {
        memory.store(row_word(row, field::MASK + index), *word);
    }
}

/// Takes row `row` out of sight and empties what others act upon. The caller has it locked.
pub fn clear<M: Memory + ?Sized>(memory: &M, row: usize) {
    unmark_present(memory, row);
    unmark_hungry(memory, row);
    for field in [
        field::PROCESS,
        field::STANDING,
        field::WAITING,
        field::HUNGRY_SINCE_MS,
        field::SLICE_UNTIL_MS,
        field::EXTERNAL,
        field::LISTENS,
        field::LEFT_OUT,
        field::PROGRESS_UNIT,
    ] {
        memory.store(row_word(row, field), 0);
    }
    // Not 0: the count of takings goes on, so that each is one of its kind.
    let above = hand_word(cpu_slot_above(row));
    memory.store(above, HandWord(memory.load(above)).freed().0);
}

/// Reads row `row`; none when it is not in use.
pub fn read<M: Memory + ?Sized>(memory: &M, row: usize) -> Option<RowSeen> {
    let get = |field| memory.load(row_word(row, field));
    let process = u32::try_from(get(field::PROCESS)).ok().filter(|process| *process != 0)?;
    let identity = RowIdentity { process, start_ticks: get(field::START_TICKS), namespace: get(field::NAMESPACE) };
    let millicores = get(field::QUOTA_MILLICORES);
    let quota = (millicores != 0).then(|| Quota { group: get(field::QUOTA_GROUP), millicores });
    let mask: [u64; MASK_WORDS] = std::array::from_fn(|index| get(field::MASK + index));
    Some(RowSeen {
        row,
        identity,
        standing: Standing::from_word(get(field::STANDING)),
        // LIMIT: nobody can use more hands than there are words.
        useful_width: get(field::USEFUL_WIDTH).clamp(1, CPUS as u64) as u32,
        waiting: get(field::WAITING).min(CPUS as u64) as u32,
        hungry_since_ms: get(field::HUNGRY_SINCE_MS),
        slice_until_ms: get(field::SLICE_UNTIL_MS),
        is_above: HandWord(get(field::ABOVE)).row() == Some(row),
        external: get(field::EXTERNAL).min(CPUS as u64) as u32,
        quota,
        cpus: CpuSet::from_words(mask),
        joined_ms: get(field::JOINED_MS),
        left_out: get(field::LEFT_OUT).min(CPUS as u64) as u32,
    })
}

/// What row `row` says it is doing: bytes that are no UTF-8 are replaced, control characters too (they could move a
/// terminal's cursor).
pub fn read_what<M: Memory + ?Sized>(memory: &M, row: usize) -> String {
    let words = (0..WHAT_WORDS).map(|index| memory.load(row_word(row, field::WHAT + index)));
    let bytes: Vec<u8> = words.flat_map(u64::to_ne_bytes).take_while(|byte| *byte != 0).collect();
    let text = String::from_utf8_lossy(&bytes);
    text.chars().map(|letter| if letter.is_control() { '\u{fffd}' } else { letter }).collect()
}

/// Changes row `row`'s standing as `change` says, whoever else changes it at the same time; none of it when the row is empty.
pub fn change_standing<M: Memory + ?Sized>(memory: &M, row: usize, change: impl Fn(Standing) -> Standing) {
    let word = row_word(row, field::STANDING);
    // LIMIT: a word that changes this often under our eyes is being forged; giving up harms nobody else.
    for _ in 0..1000 {
        let old = memory.load(word);
        let new = change(Standing::from_word(old)).to_word();
        if old == new || memory.exchange(word, old, new) {
            return;
        }
    }
}

/// The standing of row `row`.
pub fn standing<M: Memory + ?Sized>(memory: &M, row: usize) -> Standing {
    Standing::from_word(memory.load(row_word(row, field::STANDING)))
}

/// Rows that are in use.
pub fn present<M: Memory + ?Sized>(memory: &M) -> impl Iterator<Item = usize> {
    bitmap(memory, PRESENT_AT)
}

/// Whether any row waits for a hand or runs above capacity. This is what the quick path asks.
pub fn is_anybody_hungry<M: Memory + ?Sized>(memory: &M) -> bool {
    (0..BITMAP_WORDS).any(|index| memory.load(HUNGRY_AT + index) != 0)
}

/// Rows that have somebody to wake: they wait, run above capacity, or listen.
pub fn hungry_or_listening<M: Memory + ?Sized>(memory: &M) -> impl Iterator<Item = usize> {
    present(memory).filter(move |&row| is_hungry(memory, row) || memory.load(row_word(row, field::LISTENS)) != 0)
}

/// Whether `row` waits for a hand or runs above capacity.
pub fn is_hungry<M: Memory + ?Sized>(memory: &M, row: usize) -> bool {
    memory.load(HUNGRY_AT + row / 64) >> (row % 64) & 1 != 0
}

/// Says that `row` waits for a hand or runs above capacity.
pub fn mark_hungry<M: Memory + ?Sized>(memory: &M, row: usize) {
    memory.set_bits(HUNGRY_AT + row / 64, 1 << (row % 64));
}

/// Says that it no longer does.
pub fn unmark_hungry<M: Memory + ?Sized>(memory: &M, row: usize) {
    memory.clear_bits(HUNGRY_AT + row / 64, 1 << (row % 64));
}

fn mark_present<M: Memory + ?Sized>(memory: &M, row: usize) {
    memory.set_bits(PRESENT_AT + row / 64, 1 << (row % 64));
}

fn unmark_present<M: Memory + ?Sized>(memory: &M, row: usize) {
    memory.clear_bits(PRESENT_AT + row / 64, 1 << (row % 64));
}

fn bitmap<M: Memory + ?Sized>(memory: &M, at: usize) -> impl Iterator<Item = usize> {
    let words: [u64; BITMAP_WORDS] = std::array::from_fn(|index| memory.load(at + index));
    let rows = words.into_iter().enumerate().flat_map(|(index, word)| Bits(word).map(move |bit| index * 64 + bit));
    rows.take(ROWS)
}

#[cfg(test)]
mod tests {
    use super::super::layout::WORDS;
    use super::*;
    use std::sync::atomic::AtomicU64;

    fn memory() -> Vec<AtomicU64> {
        (0..WORDS).map(|_| AtomicU64::new(0)).collect()
    }

    fn entry() -> RowEntry {
        RowEntry {
            identity: RowIdentity { process: 17, start_ticks: 4, namespace: 5 },
            standing: Standing {
                class: Priority::High,
                weight: Weight::new(7),
                is_paused: false,
                is_set_aside: false,
                is_job_slots: false,
            },
            useful_width: 3,
            cpus: CpuSet::of([0, 900]),
            quota: Some(Quota { group: 8, millicores: 1500 }),
            what: "tamp \u{1b}[2J é".to_owned(),
            now_ms: 99,
        }
    }

    #[test]
    fn what_is_written_is_read_and_what_is_cleared_is_gone() {
        let memory = &memory()[..];
        write(memory, 255, &entry());
        let seen = read(memory, 255).expect("in use");
        let RowEntry { identity, standing, useful_width, cpus, quota, .. } = entry();
        assert_eq!((seen.identity, seen.standing, seen.useful_width), (identity, standing, useful_width));
        assert_eq!((seen.cpus, seen.quota, seen.joined_ms), (cpus, quota, 99));
        assert_eq!(read_what(memory, 255), "tamp \u{fffd}[2J é");
        assert_eq!(present(memory).collect::<Vec<_>>(), [255]);
        clear(memory, 255);
        assert_eq!((read(memory, 255), present(memory).count()), (None, 0));
    }

    #[test]
    fn a_row_of_ones_is_clamped() {
        let memory = &memory()[..];
        for word in memory {
            word.store(u64::MAX, std::sync::atomic::Ordering::SeqCst);
        }
        assert_eq!(read(memory, 3), None, "no process has such a number");
        memory.store(row_word(3, field::PROCESS), 1);
        let seen = read(memory, 3).expect("in use");
        assert_eq!((seen.useful_width, seen.waiting, seen.standing.class), (1024, 1024, Priority::High));
        assert_eq!(present(memory).count(), ROWS);
        assert_eq!(read_what(memory, 3).chars().count(), 224);
    }

    #[test]
    fn standing_survives_its_word() {
        for class in [Priority::Idle, Priority::Low, Priority::Normal, Priority::High] {
            for flags in 0..8 {
                let [is_paused, is_set_aside, is_job_slots] = [1, 2, 4].map(|flag| flags & flag != 0);
                let standing = Standing { class, weight: Weight::new(10_000), is_paused, is_set_aside, is_job_slots };
                assert_eq!(Standing::from_word(standing.to_word()), standing);
            }
        }
        assert_eq!(Standing::from_word(0).weight.get(), 1);
    }
}
