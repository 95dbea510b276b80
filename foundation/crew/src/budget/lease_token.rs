//! The hands that a runner holds for a job, as text for the job's environment: in which table, which CPU slots, which takings.
//! What is read here may be forged: it is bounded, and worth what the table says about it.

use super::Priority;
use super::hands::{self, Taken};
use super::layout::{CPU_SLOTS, ClaimWord, HandWord};
use super::row;
use super::table::{CrewDirectory, FileNumber, MemoryTable};
use std::fmt;
use std::str::FromStr;

/// What the variable is called.
pub const VARIABLE: &str = "MH_LEASE";

/// LIMIT: hands that a lease token names; one each for every CPU slot. What names more is no lease token.
const HANDS_MAX: usize = CPU_SLOTS;

/// Hands of a runner that are meant for one of its children.
///
/// As text: `DEVICE:INODE` of the table's file, then a word for each hand: `CPU_SLOT:WORD`, or `CPU_SLOT:WORD:CLAIM` where whoever hands it
/// on had it from a runner itself. All numbers are hexadecimal. `CPU_SLOT` and `WORD` are those of the table (`layout`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseToken {
    pub(super) table: FileNumber,
    pub(super) hands: Vec<PassedHand>,
}

/// One hand in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PassedHand {
    /// As the runner took it.
    pub(super) taken: Taken,
    /// The claim of whoever hands it on, if it is not the runner's own.
    pub(super) lent: Option<ClaimWord>,
}

/// A text is no lease token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("read it as a table and its hands")]
pub struct NoLeaseToken;

impl LeaseToken {
    /// The class of the runner whose hands these are; none where they are nobody's any more.
    pub fn class_of_runner(&self, directory: &CrewDirectory) -> Option<Priority> {
        let table = MemoryTable::open_existing(directory).ok()?.filter(|table| table.number() == self.table)?;
        let taken = self.hands.first()?.taken;
        let row = taken.word.row().filter(|_| hands::is_held(table.words(), taken))?;
        Some(row::standing(table.words(), row).class)
    }
}

impl fmt::Display for LeaseToken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:x}:{:x}", self.table.device, self.table.inode)?;
        for passed in &self.hands {
            write!(formatter, " {:x}:{:x}", passed.taken.cpu_slot, passed.taken.word.0)?;
            if let Some(claim) = passed.lent {
                write!(formatter, ":{:x}", claim.0)?;
            }
        }
        Ok(())
    }
}

impl FromStr for LeaseToken {
    type Err = NoLeaseToken;

    fn from_str(text: &str) -> Result<Self, NoLeaseToken> {
        let number = |text: &str| u64::from_str_radix(text, 16).ok().ok_or(NoLeaseToken);
        let mut words = text.split(' ');
        let (device, inode) = words.next().and_then(|word| word.split_once(':')).ok_or(NoLeaseToken)?;
        let table = FileNumber { device: number(device)?, inode: number(inode)? };
        let passed = |word: &str| {
            let parts: Vec<u64> = word.splitn(4, ':').map(number).collect::<Result<_, _>>()?;
            let (cpu_slot, word, claim) = match parts[..] {
                [cpu_slot, word] => (cpu_slot, HandWord(word), None),
                [cpu_slot, word, claim] => (cpu_slot, HandWord(word), Some(ClaimWord(claim))),
                _ => return Err(NoLeaseToken),
            };
            let cpu_slot =
                usize::try_from(cpu_slot).ok().filter(|cpu_slot| *cpu_slot < CPU_SLOTS).ok_or(NoLeaseToken)?;
            let is_somebodys = word.row().is_some();
            is_somebodys.then_some(PassedHand { taken: Taken { cpu_slot, word }, lent: claim }).ok_or(NoLeaseToken)
        };
        let hands: Vec<PassedHand> = words.take(HANDS_MAX + 1).map(passed).collect::<Result<_, _>>()?;
        if hands.is_empty() || hands.len() > HANDS_MAX { Err(NoLeaseToken) } else { Ok(Self { table, hands }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_survives_its_text() {
        let word = HandWord(8).taken_by(2);
        let (own, lent) = (Taken { cpu_slot: 0, word }, Some(ClaimWord(0).claimed_by(5, word)));
        let hands = vec![
            PassedHand { taken: own, lent: None },
            PassedHand { taken: Taken { cpu_slot: CPU_SLOTS - 1, word }, lent },
        ];
        let lease_token = LeaseToken { table: FileNumber { device: 26, inode: u64::MAX }, hands };
        assert_eq!(lease_token.to_string(), "1a:ffffffffffffffff 0:3000000000009 4ff:3000000000009:6000001000009");
        assert_eq!(lease_token.to_string().parse(), Ok(lease_token));
    }

    #[test]
    fn what_cannot_be_one_is_none() {
        let too_many = "1:2".to_owned() + &" 0:1000000000001".repeat(CPU_SLOTS + 1);
        let free = "1:2 0:7";
        for text in
            ["", " ", "1", "1:2", "1:2 ", "1:2 0", "x:2 0:1", "1:2 500:1000000000001", free, "1:2 0:1:2:3", &too_many]
        {
            assert_eq!(text.parse::<LeaseToken>(), Err(NoLeaseToken), "{text}");
        }
    }
}
