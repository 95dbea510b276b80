//! sysbench's OLTP mixes: the statements of a transaction in the order of its scripts, and its table. How a client plays them:
//! `oltp_player.rs`.

use super::oltp_player::OltpPlayer;
use super::tables::{TableContent, WorkloadTable};
use super::unique_keys::UniqueKeys;
use super::{BuiltIn, WorkloadError, WorkloadOptions};
use crate::distribution::KeySource;
use crate::player::{TransactionPlayer, Workload};
use crate::session::SqlDialect;
use std::sync::Arc;

/// What a transaction has, in sysbench's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OltpOptions {
    /// Rows that are read by their key (`--point-selects`).
    pub point_selects: u32,
    /// Ranges (`--simple-ranges`).
    pub simple_ranges: u32,
    /// Sums over ranges (`--sum-ranges`).
    pub sum_ranges: u32,
    /// Sorted ranges (`--order-ranges`).
    pub order_ranges: u32,
    /// Sorted ranges without duplicates (`--distinct-ranges`).
    pub distinct_ranges: u32,
    /// Updates of the indexed column (`--index-updates`).
    pub index_updates: u32,
    /// Updates of another column (`--non-index-updates`).
    pub non_index_updates: u32,
    /// Rows that are deleted and inserted again (`--delete-inserts`).
    pub delete_inserts: u32,
    /// Keys of a range (`--range-size`).
    pub range_size: u32,
    /// Whether there are ranges at all (`--range-selects`).
    pub has_ranges: bool,
    /// Whether each statement is its own transaction (`--skip-trx`).
    pub skips_transactions: bool,
    /// Whether tables have an index on k (`--create-secondary`).
    pub has_secondary_index: bool,
    /// Whether the server gives keys to new rows (`--auto-inc`).
    pub has_auto_increment: bool,
    /// The engine of MySQL's tables (`--mysql-storage-engine`).
    pub storage_engine: String,
}

impl Default for OltpOptions {
    fn default() -> Self {
        Self {
            point_selects: 10,
            simple_ranges: 1,
            sum_ranges: 1,
            order_ranges: 1,
            distinct_ranges: 1,
            index_updates: 1,
            non_index_updates: 1,
            delete_inserts: 1,
            range_size: 100,
            has_ranges: true,
            skips_transactions: false,
            has_secondary_index: true,
            has_auto_increment: true,
            storage_engine: "innodb".to_owned(),
        }
    }
}

/// What a stage of a transaction does, so many times on one table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StageKind {
    Begin,
    PointSelect,
    Range,
    IndexUpdate,
    NonIndexUpdate,
    Delete,
    DeleteInsert,
    Insert,
    /// With a key of ours.
    InsertWithKey,
    Commit,
}

/// A stage of a transaction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stage {
    pub kind: StageKind,
    pub times: u32,
    /// Its statement among the transaction's; a second one follows for what deletes and inserts.
    pub statement: usize,
}

/// A statement of the transaction, for each table.
#[derive(Clone, Debug)]
pub(super) struct OltpStatement {
    /// As it is shown.
    shown: String,
    /// Its text by table, with placeholders; a single one if no table is in it.
    pub texts: Vec<String>,
    /// How many parameters it has.
    pub parameters: usize,
    /// The number of the first of its prepared texts, if it is prepared.
    pub prepared: Option<usize>,
}

/// A mix, as all its clients share it.
#[derive(Debug)]
pub(super) struct OltpPlan {
    name: &'static str,
    pub stages: Vec<Stage>,
    pub statements: Vec<OltpStatement>,
    pub keys: KeySource,
    /// Keys of new rows, where the server gives none.
    pub new_keys: UniqueKeys,
    pub tables: u64,
    pub range_size: u32,
}

/// A mix as a workload.
#[derive(Clone, Debug)]
pub(super) struct OltpWorkload {
    plan: Arc<OltpPlan>,
}

impl OltpWorkload {
    pub fn new(workload: BuiltIn, options: &WorkloadOptions) -> Result<Self, WorkloadError> {
        let mut plan = OltpPlan {
            name: workload.name(),
            stages: Vec::new(),
            statements: Vec::new(),
            keys: options.keys.over(options.rows)?,
            new_keys: UniqueKeys::new(options.seed),
            tables: options.tables,
            range_size: options.oltp.range_size.max(1),
        };
        let mut builder = PlanBuilder { plan: &mut plan, options, numbers: 0 };
        builder.build(workload);
        if plan.stages.iter().all(|stage| matches!(stage.kind, StageKind::Begin | StageKind::Commit)) {
            return Err(WorkloadError::Empty);
        }
        Ok(Self { plan: Arc::new(plan) })
    }
}

impl Workload for OltpWorkload {
    fn player(&self, _client: usize) -> Box<dyn TransactionPlayer> {
        Box::new(OltpPlayer::new(Arc::clone(&self.plan)))
    }

    fn scripts(&self) -> Vec<(String, Vec<String>)> {
        let shown = self.plan.statements.iter().map(|statement| statement.shown.clone()).collect();
        vec![(self.plan.name.to_owned(), shown)]
    }
}

struct PlanBuilder<'a> {
    plan: &'a mut OltpPlan,
    options: &'a WorkloadOptions,
    /// Prepared texts so far.
    numbers: usize,
}

impl PlanBuilder<'_> {
    fn build(&mut self, workload: BuiltIn) {
        let oltp = &self.options.oltp;
        let in_transaction = matches!(workload, BuiltIn::ReadOnly | BuiltIn::ReadWrite | BuiltIn::WriteOnly);
        let has_transaction = in_transaction && !oltp.skips_transactions;
        if has_transaction {
            // In SQLite a lock that is taken at the first update cannot be had by two who have read before.
            let is_early = self.options.dialect == SqlDialect::Sqlite && workload != BuiltIn::ReadOnly;
            self.stage(StageKind::Begin, 1, &[if is_early { "BEGIN IMMEDIATE" } else { "BEGIN" }]);
        }
        match workload {
            BuiltIn::PointSelect => self.point_selects(1),
            BuiltIn::ReadOnly => self.reads(),
            BuiltIn::ReadWrite => {
                self.reads();
                self.writes();
            }
            BuiltIn::WriteOnly => self.writes(),
            BuiltIn::UpdateIndex => self.index_updates(),
            BuiltIn::UpdateNonIndex => self.non_index_updates(),
            BuiltIn::Delete => self.stage(StageKind::Delete, 1, &["DELETE FROM sbtest# WHERE id=?"]),
            _ if !oltp.has_auto_increment => {
                self.stage(StageKind::InsertWithKey, 1, &["INSERT INTO sbtest# (id, k, c, pad) VALUES (?, ?, ?, ?)"]);
            }
            // The server gives the key: a key of ours could meet one that is there.
            _ => self.stage(StageKind::Insert, 1, &["INSERT INTO sbtest# (k, c, pad) VALUES (?, ?, ?)"]),
        }
        if has_transaction {
            self.stage(StageKind::Commit, 1, &["COMMIT"]);
        }
    }

    fn point_selects(&mut self, times: u32) {
        self.stage(StageKind::PointSelect, times, &["SELECT c FROM sbtest# WHERE id=?"]);
    }

    fn reads(&mut self) {
        let oltp = &self.options.oltp;
        self.point_selects(oltp.point_selects);
        if !oltp.has_ranges {
            return;
        }
        let range = |what: &str, behind: &str| format!("SELECT {what} FROM sbtest# WHERE id BETWEEN ? AND ?{behind}");
        self.stage(StageKind::Range, oltp.simple_ranges, &[&range("c", "")]);
        self.stage(StageKind::Range, oltp.sum_ranges, &[&range("SUM(k)", "")]);
        self.stage(StageKind::Range, oltp.order_ranges, &[&range("c", " ORDER BY c")]);
        self.stage(StageKind::Range, oltp.distinct_ranges, &[&range("DISTINCT c", " ORDER BY c")]);
    }

    fn index_updates(&mut self) {
        let times = self.options.oltp.index_updates;
        self.stage(StageKind::IndexUpdate, times, &["UPDATE sbtest# SET k=k+1 WHERE id=?"]);
    }

    fn non_index_updates(&mut self) {
        let times = self.options.oltp.non_index_updates;
        self.stage(StageKind::NonIndexUpdate, times, &["UPDATE sbtest# SET c=? WHERE id=?"]);
    }

    fn writes(&mut self) {
        self.index_updates();
        self.non_index_updates();
        let pair = ["DELETE FROM sbtest# WHERE id=?", "INSERT INTO sbtest# (id, k, c, pad) VALUES (?, ?, ?, ?)"];
        self.stage(StageKind::DeleteInsert, self.options.oltp.delete_inserts, &pair);
    }

    /// Adds a stage with its statements; `#` stands for a table's number.
    fn stage(&mut self, kind: StageKind, times: u32, texts: &[&str]) {
        if times == 0 {
            return;
        }
        self.plan.stages.push(Stage { kind, times, statement: self.plan.statements.len() });
        for text in texts {
            let has_table = text.contains('#');
            let tables = if has_table { self.options.tables } else { 1 };
            let of_table = |table: u64| placed(&text.replace('#', &table.to_string()), self.options.dialect);
            // MySQL cannot prepare BEGIN, and gains nothing by preparing COMMIT.
            let is_prepared = self.options.is_prepared && (has_table || self.options.dialect != SqlDialect::MySql);
            self.plan.statements.push(OltpStatement {
                shown: text.replace('#', "N"),
                texts: (1..=tables).map(of_table).collect(),
                parameters: text.matches('?').count(),
                prepared: is_prepared.then_some(self.numbers),
            });
            self.numbers += tables as usize;
        }
    }
}

/// A text with its placeholders as the server has them.
fn placed(text: &str, dialect: SqlDialect) -> String {
    if dialect != SqlDialect::Postgres {
        return text.to_owned();
    }
    let mut pieces = text.split('?');
    let mut placed = pieces.next().unwrap_or("").to_owned();
    for (index, piece) in pieces.enumerate() {
        placed.push_str(&format!("${}{piece}", index + 1));
    }
    placed
}

/// sysbench's table with this number.
pub(super) fn table(workload: BuiltIn, number: u64, options: &WorkloadOptions) -> Result<WorkloadTable, WorkloadError> {
    let name = format!("sbtest{number}");
    let oltp = &options.oltp;
    let id = match options.dialect {
        _ if !oltp.has_auto_increment => "INTEGER NOT NULL",
        SqlDialect::Postgres => "SERIAL",
        SqlDialect::MySql => "INTEGER NOT NULL AUTO_INCREMENT",
        SqlDialect::Sqlite | SqlDialect::Echo => "INTEGER NOT NULL",
    };
    let engine = match options.dialect {
        SqlDialect::MySql => format!(" /*! ENGINE = {} */", oltp.storage_engine),
        SqlDialect::Postgres | SqlDialect::Sqlite | SqlDialect::Echo => String::new(),
    };
    let create = format!(
        "CREATE TABLE {name} (id {id}, k INTEGER DEFAULT '0' NOT NULL, c CHAR(120) DEFAULT '' NOT NULL, \
         pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id)){engine}"
    );
    let index = oltp.has_secondary_index.then(|| format!("CREATE INDEX k_{number} ON {name} (k)"));
    let mut finish: Vec<String> = index.into_iter().collect();
    if options.dialect == SqlDialect::Postgres && oltp.has_auto_increment {
        // Rows come with their keys, which the counter of later ones does not notice.
        finish.push(format!("SELECT setval('{name}_id_seq', {})", options.rows));
    }
    let seed = options.seed.wrapping_add(number.wrapping_mul(0xd1b5_4a32_d192_ed03));
    let content = TableContent::Oltp { seed, keys: options.keys.over(options.rows)? };
    // COMPAT: keys of ours could meet those of rows that are there, so sysbench begins with none.
    let rows = if workload == BuiltIn::Insert && !oltp.has_auto_increment { 0 } else { options.rows };
    Ok(WorkloadTable { name, rows, create: vec![create], finish, columns: "id, k, c, pad", content })
}
