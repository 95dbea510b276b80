//! Workloads that need no file: sysbench's mixes on its tables, pgbench's transactions on its, and the smallest statement there is. For each what it
//! does, the tables that it needs, and how ranges of their rows are made.

mod digits;
mod oltp;
mod oltp_player;
mod tables;
mod tpcb;
mod unique_keys;

pub use oltp::OltpOptions;
pub use tables::{RowForm, WorkloadTable};

use crate::distribution::{DistributionError, KeyDistribution};
use crate::player::{Repeated, Workload};
use crate::script::ScriptMix;
use crate::session::SqlDialect;
use std::num::NonZeroUsize;
use std::sync::Arc;

/// LIMIT: sysbench's tables, each of which has its statements.
const TABLES_MAX: u64 = 10_000;
/// LIMIT: rows of one of them: its keys are integers of 32 bits.
const ROWS_MAX: u64 = i32::MAX as u64;
/// LIMIT: pgbench's scale, at which its tellers' keys still are integers of 32 bits.
const SCALE_MAX: u64 = 20_000;

/// A workload by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuiltIn {
    /// sysbench's `oltp_point_select`.
    PointSelect,
    /// sysbench's `oltp_read_only`.
    ReadOnly,
    /// sysbench's `oltp_read_write`.
    ReadWrite,
    /// sysbench's `oltp_write_only`.
    WriteOnly,
    /// sysbench's `oltp_update_index`.
    UpdateIndex,
    /// sysbench's `oltp_update_non_index`.
    UpdateNonIndex,
    /// sysbench's `oltp_insert`.
    Insert,
    /// sysbench's `oltp_delete`.
    Delete,
    /// pgbench's own transaction, like TPC-B.
    Tpcb,
    /// pgbench's `-S`.
    TpcbSelect,
    /// pgbench's `-N`.
    TpcbSimple,
    /// A statement that does nothing.
    Yesmark,
}

/// What a workload is to be like.
#[derive(Clone, Debug)]
pub struct WorkloadOptions {
    /// How statements are written.
    pub dialect: SqlDialect,
    /// Whether they are prepared.
    pub is_prepared: bool,
    /// How many of sysbench's tables.
    pub tables: u64,
    /// Rows of each of them.
    pub rows: u64,
    /// How their keys are drawn.
    pub keys: KeyDistribution,
    /// What sysbench's transactions have.
    pub oltp: OltpOptions,
    /// pgbench's scale: 100,000 accounts each.
    pub scale: u64,
    /// What random rows are made from.
    pub seed: u64,
    /// How many of the statements that do nothing are sent before a reply is waited for.
    pub pipeline: NonZeroUsize,
}

impl WorkloadOptions {
    /// sysbench's and pgbench's defaults.
    pub fn new(dialect: SqlDialect) -> Self {
        Self {
            dialect,
            is_prepared: true,
            tables: 1,
            rows: 10_000,
            keys: KeyDistribution::Uniform,
            oltp: OltpOptions::default(),
            scale: 1,
            seed: 0,
            pipeline: NonZeroUsize::MIN,
        }
    }

    fn check(&self) -> Result<(), WorkloadError> {
        let within = |what, value: u64, most: u64| match value {
            0 => Err(WorkloadError::TooFew(what)),
            value if value > most => Err(WorkloadError::TooMany { what, value, most }),
            _ => Ok(()),
        };
        within("tables", self.tables, TABLES_MAX)?;
        within("rows of a table", self.rows, ROWS_MAX)?;
        within("scale", self.scale, SCALE_MAX)?;
        Ok(self.keys.check()?)
    }
}

/// A workload that cannot be.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum WorkloadError {
    /// None of what it needs.
    #[error("{0}: at least 1 is needed")]
    TooFew(&'static str),
    /// More than fit.
    #[error("{what}: {value} is above {most}")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many.
        value: u64,
        /// The most there can be.
        most: u64,
    },
    /// Keys cannot be drawn.
    #[error("keys: {0}")]
    Keys(#[from] DistributionError),
    /// Options leave no statement.
    #[error("the transaction has no statement")]
    Empty,
    /// The target takes no statements.
    #[error("an echo server takes no SQL")]
    NoSql,
}

impl BuiltIn {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::PointSelect,
        Self::ReadOnly,
        Self::ReadWrite,
        Self::WriteOnly,
        Self::UpdateIndex,
        Self::UpdateNonIndex,
        Self::Insert,
        Self::Delete,
        Self::Tpcb,
        Self::TpcbSelect,
        Self::TpcbSimple,
        Self::Yesmark,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::PointSelect => "point-select",
            Self::ReadOnly => "read-only",
            Self::ReadWrite => "read-write",
            Self::WriteOnly => "write-only",
            Self::UpdateIndex => "update-index",
            Self::UpdateNonIndex => "update-non-index",
            Self::Insert => "insert",
            Self::Delete => "delete",
            Self::Tpcb => "tpcb",
            Self::TpcbSelect => "tpcb-select",
            Self::TpcbSimple => "tpcb-simple",
            Self::Yesmark => "yesmark",
        }
    }

    /// The workload of a name: ours, sysbench's (`oltp_read_write`) or pgbench's (`tpcb-like`, `simple-update`, `select-only`).
    pub fn parse(name: &str) -> Option<Self> {
        let ours = match name {
            "tpcb-like" => "tpcb",
            "simple-update" => "tpcb-simple",
            "select-only" => "tpcb-select",
            other => other.strip_prefix("oltp_").unwrap_or(other),
        };
        let ours = ours.replace('_', "-");
        Self::ALL.into_iter().find(|workload| workload.name() == ours)
    }

    /// What it does, in a line.
    pub fn summary(self) -> &'static str {
        match self {
            Self::PointSelect => "one row by its primary key (sysbench's oltp_point_select)",
            Self::ReadOnly => "10 rows by key and 4 ranges in a transaction (oltp_read_only)",
            Self::ReadWrite => "read-only and write-only in one transaction (oltp_read_write)",
            Self::WriteOnly => "2 updates, a delete and an insert in a transaction (oltp_write_only)",
            Self::UpdateIndex => "an update of an indexed column (oltp_update_index)",
            Self::UpdateNonIndex => "an update of a column without an index (oltp_update_non_index)",
            Self::Insert => "a new row (oltp_insert)",
            Self::Delete => "a delete by key (oltp_delete)",
            Self::Tpcb => "3 updates, a select and an insert in a transaction (pgbench's own)",
            Self::TpcbSelect => "one account by its key (pgbench -S)",
            Self::TpcbSimple => "an update, a select and an insert in a transaction (pgbench -N)",
            Self::Yesmark => "a statement that does nothing: DO 0 or SELECT 1",
        }
    }

    /// What clients play.
    pub fn workload(self, options: &WorkloadOptions) -> Result<Arc<dyn Workload>, WorkloadError> {
        options.check()?;
        if options.dialect == SqlDialect::Echo {
            return Err(WorkloadError::NoSql);
        }
        Ok(match self {
            Self::Yesmark => {
                let text = if options.dialect == SqlDialect::MySql { "DO 0" } else { "SELECT 1" };
                let (name, text) = (text.to_owned(), text.to_owned());
                Arc::new(Repeated { name, text, is_prepared: options.is_prepared, pipeline: options.pipeline })
            }
            Self::Tpcb | Self::TpcbSelect | Self::TpcbSimple => {
                let mix = ScriptMix::new(vec![(tpcb::script(self, options), 1)]);
                Arc::new(mix.expect("a script of weight 1 can be chosen"))
            }
            _ => Arc::new(oltp::OltpWorkload::new(self, options)?),
        })
    }

    /// The tables that it needs, in the order in which they are made.
    pub fn tables(self, options: &WorkloadOptions) -> Result<Vec<WorkloadTable>, WorkloadError> {
        options.check()?;
        match self {
            Self::Yesmark => Ok(Vec::new()),
            Self::Tpcb | Self::TpcbSelect | Self::TpcbSimple => Ok(tpcb::tables(options)),
            _ => (1..=options.tables).map(|number| oltp::table(self, number, options)).collect(),
        }
    }
}

#[cfg(test)]
mod tests;
