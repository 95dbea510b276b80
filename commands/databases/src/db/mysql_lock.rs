//! `--lock`: how all connections to a MariaDB or MySQL come to see one moment, as it is typed and as a plan explains it.

use clap::ValueEnum;
use database::dump_mysql::{DumpLock, DumpLockKind};
use mh_kit::report::counted;

/// As it is typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LockArg {
    /// BACKUP STAGE if the server has it, else FLUSH TABLES WITH READ LOCK
    Auto,
    /// FLUSH TABLES WITH READ LOCK
    Flush,
    /// None: one connection sees one moment, several do not
    None,
}

impl LockArg {
    /// The lock that is meant.
    pub fn meant(asked: Option<Self>) -> DumpLock {
        match asked {
            None | Some(Self::Auto) => DumpLock::Auto,
            Some(Self::Flush) => DumpLock::Flush,
            Some(Self::None) => DumpLock::None,
        }
    }
}

/// Who waits for a lock, and how long; `locked` are tables without transactions, with their bytes.
pub fn reason(lock: DumpLockKind, locked: (u64, u64), connections: usize) -> String {
    let blocked = match lock {
        DumpLockKind::BackupStage => "commits and DDL wait",
        DumpLockKind::Flush => "writes and DDL wait",
        DumpLockKind::Nothing if connections == 1 => return "one connection sees one moment".to_owned(),
        DumpLockKind::Nothing => return "each connection sees a moment of its own".to_owned(),
    };
    match locked {
        (0, _) => format!("{blocked} while all connections begin their snapshots and touch each table"),
        (count, bytes) => format!(
            "{blocked} until {} without transactions ({}) are read",
            counted(count, "table"),
            terminal::bytes(bytes)
        ),
    }
}

/// What is not of one moment.
pub fn warnings(lock: DumpLockKind, locked: (u64, u64), connections: usize) -> Vec<String> {
    let mut warnings = Vec::new();
    if lock == DumpLockKind::Nothing && connections > 1 {
        warnings.push("without a lock, the connections see different moments: rows may not agree (-j1)".to_owned());
    }
    if lock == DumpLockKind::Nothing && locked.0 > 0 {
        let tables = counted(locked.0, "table");
        warnings.push(format!("{tables} without transactions may change while they are read"));
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_says_who_waits() {
        assert_eq!(reason(DumpLockKind::Nothing, (0, 0), 1), "one connection sees one moment");
        assert!(reason(DumpLockKind::Flush, (0, 0), 1).starts_with("writes and DDL wait while"));
        assert!(
            reason(DumpLockKind::BackupStage, (2, 5), 4)
                .ends_with("until 2 tables without transactions (5 B) are read")
        );
        assert!(warnings(DumpLockKind::BackupStage, (1, 5), 4).is_empty());
        assert_eq!(warnings(DumpLockKind::Nothing, (1, 5), 4).len(), 2);
    }
}
