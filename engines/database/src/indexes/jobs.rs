//! Statements as jobs for lanes: an order in which none needs what a later one makes, and which may run at the same time.
//!
//! Phase 0 has all indexes, those of keys as well; a key's constraint comes when no other index of its table is being built. Then come
//! the other statements as they stand in the file: constraints that stand together form a phase, any other statement is one.

use super::facts::{IndexFacts, IndexedTable, WIDTH_UNKNOWN, mysql_name};
use super::key::KeyStatement;
use super::lexer::{ScriptDialect, SqlLexer, SqlTokenKind};
use super::reader::{StatementReader, plain_name};
use super::script::{ScriptStatement, beginning};
use super::statement::{IndexStatement, ScriptOrder, TableKey};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Something that a lane carries out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexJob {
    /// The line of its statement, from 1; 0 if it has none.
    pub line: u64,
    /// For people: `index a of public.t`.
    pub name: String,
    /// The tables that it locks.
    pub tables: Vec<String>,
    /// Whether other builds of these tables may run at the same time.
    pub sharing: TableSharing,
    /// It begins when all of smaller ones have ended.
    pub phase: u32,
    /// Settings of the session before it.
    pub settings: Arc<[String]>,
    /// The statement; none if what it makes is there already.
    pub sql: Option<String>,
    /// The statement that makes the index a key.
    pub attach: Option<String>,
    /// What it costs, in bytes that are read and sorted.
    pub bytes: u64,
    /// Whether workers of the server can take part.
    pub is_parallel: bool,
    /// What the server's word means that it is there already.
    pub present: Present,
    /// The statements that it consists of, each to be carried out by itself if the server refuses them together.
    pub apart: Vec<IndexJob>,
}

/// Who else may work on a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableSharing {
    /// Other builds.
    Builds,
    /// Nobody.
    Alone,
}

/// A key of MariaDB or MySQL, with its statement and its table as it is written there.
type KeyOfStatement<'a> = (&'a ScriptStatement, &'a str, &'a TableKey);

/// All that there is to do.
#[derive(Clone, Debug, Default)]
pub struct IndexWork {
    /// In the order of the file.
    pub jobs: Vec<IndexJob>,
    /// What is there already: names and lines.
    pub present: Vec<(u64, String)>,
}

impl IndexWork {
    /// Indexes that can be built at once.
    pub fn builds(&self) -> usize {
        self.jobs.iter().filter(|job| job.phase == 0).count()
    }
}

/// The fate of an index or a constraint whose name is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Present {
    /// The server refuses the statement.
    Refused,
    /// It is passed over.
    PassedOver,
}

/// Names that keys without one get from the server, for `IndexFacts::look_for_names`.
pub fn names_to_look_for(statements: &[ScriptStatement], facts: &IndexFacts) -> Vec<(String, String)> {
    let name = |statement: &ScriptStatement| {
        let ScriptOrder::Key(key) = &statement.order else { return None };
        let table = facts.table(statement, &key.table)?;
        Some((table.identity.clone(), default_name(key, table)?))
    };
    statements.iter().filter_map(name).collect()
}

/// Makes jobs.
pub fn jobs(statements: &[ScriptStatement], facts: &IndexFacts, dialect: ScriptDialect, present: Present) -> IndexWork {
    let mut maker = JobMaker { facts, present, work: IndexWork::default(), phase: 0, is_constraint: false };
    for statement in statements {
        match &statement.order {
            ScriptOrder::Index(index) if !index.is_concurrent => maker.index(statement, index),
            ScriptOrder::Key(key) => maker.key(statement, key),
            _ => {}
        }
    }
    if dialect == ScriptDialect::MySql {
        maker.keys_of_mysql(statements);
    }
    for statement in statements {
        match &statement.order {
            ScriptOrder::Constraint { name, columns, tables } => {
                let name = name.as_deref().map(plain_name);
                let name = name.or_else(|| maker.foreign_key_name(statement, columns.as_deref()?, tables.first()?));
                maker.constraint(statement, name.as_deref(), tables);
            }
            ScriptOrder::Key(key) if maker.index_name(statement, key).is_none() => {
                let name = key.name.as_deref().map(plain_name);
                maker.constraint(statement, name.as_deref(), std::slice::from_ref(&key.table));
            }
            ScriptOrder::Index(index) if index.is_concurrent => maker.concurrent(statement, index),
            ScriptOrder::Following => maker.following(statement),
            _ => {}
        }
    }
    maker.work
}

struct JobMaker<'a> {
    facts: &'a IndexFacts,
    present: Present,
    work: IndexWork,
    phase: u32,
    /// Whether the phase is one of constraints.
    is_constraint: bool,
}

impl JobMaker<'_> {
    fn identity(&self, statement: &ScriptStatement, name: &str) -> String {
        self.facts.table(statement, name).map_or_else(|| name.to_owned(), |table| table.identity.clone())
    }

    fn job(&self, statement: &ScriptStatement, name: String, tables: &[String], sharing: TableSharing) -> IndexJob {
        let mut tables: Vec<String> = tables.iter().map(|table| self.identity(statement, table)).collect();
        tables.sort();
        tables.dedup();
        IndexJob {
            line: statement.line,
            name,
            tables,
            sharing,
            phase: self.phase,
            settings: Arc::clone(&statement.settings),
            sql: Some(statement.text.clone()),
            attach: None,
            bytes: 0,
            is_parallel: false,
            present: Present::Refused,
            apart: Vec::new(),
        }
    }

    /// Whether an index or constraint of this name is passed over.
    fn passes_over(&self, statement: &ScriptStatement, table: &str, name: &str) -> bool {
        let is_there =
            |table: &IndexedTable| table.indexes.get(name) == Some(&true) || table.constraints.contains(name);
        self.present == Present::PassedOver && self.facts.table(statement, table).is_some_and(is_there)
    }

    fn index(&mut self, statement: &ScriptStatement, index: &IndexStatement) {
        let given = index.name.as_deref();
        let name = format!("index {} of {}", given.unwrap_or("without a name"), index.table);
        if given.is_some_and(|given| self.passes_over(statement, &index.table, &plain_name(given))) {
            return self.work.present.push((statement.line, name));
        }
        let mut job = self.job(statement, name, std::slice::from_ref(&index.table), TableSharing::Builds);
        let table = self.facts.table(statement, &index.table);
        let is_of_rows = !statement.text.to_ascii_lowercase().contains(" on only ")
            || !table.is_some_and(|table| table.is_partitioned);
        job.bytes = table.filter(|_| is_of_rows).map_or(0, |table| cost(table, &index.keys, &index.method));
        job.is_parallel = matches!(index.method.as_str(), "btree" | "brin" | "gin");
        self.work.jobs.push(job);
    }

    /// The name of the index that a key is made of; none: the key is made as it is written.
    fn index_name(&self, statement: &ScriptStatement, key: &KeyStatement) -> Option<String> {
        let table = self.facts.table(statement, &key.table).filter(|table| !table.is_partitioned)?;
        if let Some(name) = &key.name {
            return Some(name.clone());
        }
        let is_there = |name: &String| self.present == Present::PassedOver && table.indexes.contains_key(name);
        let name = default_name(key, table).filter(|name| is_there(name) || !self.facts.is_taken(table, name))?;
        Some(format!("\"{}\"", name.replace('"', "\"\"")))
    }

    fn key(&mut self, statement: &ScriptStatement, key: &KeyStatement) {
        let Some(index) = self.index_name(statement, key) else { return };
        let plain = plain_name(&index);
        let name = format!("{} {index} of {}", if key.is_primary { "primary key" } else { "unique key" }, key.table);
        let table = self.facts.table(statement, &key.table);
        let is_passed_over = self.present == Present::PassedOver;
        if is_passed_over && table.is_some_and(|table| table.constraints.contains(&plain)) {
            return self.work.present.push((statement.line, name));
        }
        let has_index = is_passed_over && table.is_some_and(|table| table.indexes.get(&plain) == Some(&true));
        let job = self.job(statement, name, std::slice::from_ref(&key.table), TableSharing::Builds);
        self.work.jobs.push(IndexJob {
            sql: (!has_index).then(|| key.build(&index)),
            attach: Some(key.attach(&index)),
            bytes: table.filter(|_| !has_index).map_or(0, |table| cost(table, &key.columns, "btree")),
            is_parallel: true,
            ..job
        });
    }

    /// One ALTER for all keys of a table: it reads the table once. If the server refuses it, each statement comes by itself.
    fn keys_of_mysql(&mut self, statements: &[ScriptStatement]) {
        let mut by_table: BTreeMap<String, Vec<KeyOfStatement<'_>>> = BTreeMap::new();
        for statement in statements {
            let ScriptOrder::TableKeys { table, clauses } = &statement.order else { continue };
            for key in clauses {
                if self.passes_over(statement, table, &mysql_name(&key.name)) {
                    self.work.present.push((statement.line, format!("key {} of {table}", key.name)));
                } else {
                    by_table.entry(self.identity(statement, table)).or_default().push((statement, table, key));
                }
            }
        }
        for keys in by_table.into_values() {
            let (special, usual): (Vec<_>, Vec<_>) = keys.into_iter().partition(|(.., key)| key.is_special);
            let together = Some(usual).filter(|usual| !usual.is_empty());
            for keys in together.into_iter().chain(special.into_iter().map(|key| vec![key])) {
                let is_of_one = |one: &KeyOfStatement<'_>, other: &KeyOfStatement<'_>| std::ptr::eq(one.0, other.0);
                let mut apart: Vec<IndexJob> =
                    keys.chunk_by(is_of_one).filter_map(|keys| self.alter_of_mysql(keys)).collect();
                if apart.len() == 1 {
                    apart.clear();
                }
                let job = self.alter_of_mysql(&keys);
                self.work.jobs.extend(job.map(|job| IndexJob { apart, ..job }));
            }
        }
    }

    fn alter_of_mysql(&self, keys: &[KeyOfStatement<'_>]) -> Option<IndexJob> {
        let (statement, table, _) = keys.first()?;
        let clauses: Vec<&str> = keys.iter().map(|(.., key)| key.clause.as_str()).collect();
        let names: Vec<&str> = keys.iter().map(|(.., key)| key.name.as_str()).collect();
        let kind = if names.len() == 1 { "key" } else { "keys" };
        let name = format!("{kind} {} of {table}", names.join(", "));
        let job = self.job(statement, name, &[(*table).to_owned()], TableSharing::Alone);
        let bytes = self.facts.table(statement, table).map_or(0, |facts| facts.bytes * keys.len() as u64);
        let sql = Some(format!("ALTER TABLE {table} {}", clauses.join(", ")));
        Some(IndexJob { sql, bytes, ..job })
    }

    /// COMPAT: the name that PostgreSQL gives a foreign key without one.
    fn foreign_key_name(&self, statement: &ScriptStatement, columns: &str, table: &str) -> Option<String> {
        let columns = column_names(columns).collect::<Option<Vec<_>>>()?.join("_");
        let name = format!("{}_{columns}_fkey", self.facts.table(statement, table)?.name);
        (name.len() <= NAME_BYTES).then_some(name)
    }

    fn constraint(&mut self, statement: &ScriptStatement, name: Option<&str>, tables: &[String]) {
        let table = tables.first().map(String::as_str).unwrap_or_default();
        if name.is_some_and(|name| self.passes_over(statement, table, name)) {
            return self.work.present.push((statement.line, beginning(&statement.text)));
        }
        if !self.is_constraint {
            self.phase += 1;
        }
        self.is_constraint = true;
        let job = self.job(statement, beginning(&statement.text), tables, TableSharing::Alone);
        self.work.jobs.push(job);
    }

    fn concurrent(&mut self, statement: &ScriptStatement, index: &IndexStatement) {
        let given = index.name.as_deref();
        let name = format!("index {} of {}", given.unwrap_or("without a name"), index.table);
        if given.is_some_and(|given| self.passes_over(statement, &index.table, &plain_name(given))) {
            return self.work.present.push((statement.line, name));
        }
        self.next_phase();
        let mut job = self.job(statement, name, std::slice::from_ref(&index.table), TableSharing::Alone);
        job.bytes =
            self.facts.table(statement, &index.table).map_or(0, |table| cost(table, &index.keys, &index.method));
        job.is_parallel = true;
        self.work.jobs.push(job);
    }

    fn following(&mut self, statement: &ScriptStatement) {
        self.next_phase();
        let job = self.job(statement, beginning(&statement.text), &[], TableSharing::Alone);
        self.work.jobs.push(IndexJob { present: self.present, ..job });
    }

    fn next_phase(&mut self) {
        self.phase += 1;
        self.is_constraint = false;
    }
}

/// LIMIT: the server cuts longer names, by a rule of its own.
const NAME_BYTES: usize = 63;

/// COMPAT: the name that PostgreSQL gives a key without one.
fn default_name(key: &KeyStatement, table: &IndexedTable) -> Option<String> {
    if key.name.is_some() || key.include.is_some() {
        return None;
    }
    let name = match key.is_primary {
        true => format!("{}_pkey", table.name),
        false => format!("{}_{}_key", table.name, column_names(&key.columns).collect::<Option<Vec<_>>>()?.join("_")),
    };
    (name.len() <= NAME_BYTES).then_some(name)
}

/// Names of the columns in a list with parentheses; none for what is no column.
fn column_names(list: &str) -> impl Iterator<Item = Option<String>> {
    let inner = list.get(1..list.len().saturating_sub(1)).unwrap_or_default();
    let mut lexer = SqlLexer::new(inner, ScriptDialect::Postgres);
    let tokens: Vec<_> = std::iter::from_fn(|| lexer.next().ok().flatten()).collect();
    let parts = StatementReader::new(inner, &tokens).parts();
    let names: Vec<_> = parts
        .into_iter()
        .map(|mut part| {
            let name = part.name()?;
            let is_function = part.clone().parenthesised().is_some();
            let is_name = tokens.iter().any(|token| {
                &inner[token.begin..token.end] == name
                    && matches!(token.kind, SqlTokenKind::Word | SqlTokenKind::Quoted)
            });
            (is_name && !is_function).then(|| plain_name(name))
        })
        .collect();
    names.into_iter()
}

/// What a comparison of text costs, measured in those of integers.
const TEXT: u64 = 3;

/// Bytes of an index entry besides its key.
const ENTRY_BYTES: u64 = 16;

/// Bytes of a row besides its values.
const ROW_BYTES: u64 = 28;

/// Bytes that a build reads, and those that it sorts.
fn cost(table: &IndexedTable, keys: &str, method: &str) -> u64 {
    let row = ROW_BYTES + table.columns.values().map(|width| width.bytes).sum::<u64>();
    let rows = table.rows.filter(|rows| *rows > 0).unwrap_or(table.bytes / row);
    let width = |name: Option<String>| match name.and_then(|name| table.columns.get(&name)) {
        Some(column) => column.bytes * if column.is_text { TEXT } else { 1 },
        None => WIDTH_UNKNOWN * TEXT,
    };
    let key: u64 = column_names(keys).map(width).sum();
    let times = if matches!(method, "gin" | "gist" | "spgist") { 4 } else { 1 };
    let sorted = if method == "brin" { 0 } else { rows * (ENTRY_BYTES + key) };
    table.bytes + sorted * times
}

#[cfg(test)]
mod tests {
    use super::super::facts::ColumnWidth;
    use super::super::script::parse;
    use super::*;

    fn facts(tables: &[(&str, u64)]) -> IndexFacts {
        IndexFacts::of_tables(tables.iter().map(|(name, bytes)| {
            let columns = [("id", 8, false), ("note", 40, true)]
                .map(|(name, bytes, is_text)| (name.to_owned(), ColumnWidth { bytes, is_text }));
            let table = IndexedTable {
                identity: format!("#{name}"),
                name: (*name).to_owned(),
                bytes: *bytes,
                columns: columns.into_iter().collect(),
                is_partitioned: *name == "p",
                indexes: [("t_pkey".to_owned(), true), ("broken".to_owned(), false)].into(),
                constraints: ["done".to_owned(), "t_id_fkey".to_owned()].into(),
                ..IndexedTable::default()
            };
            ((*name).to_owned(), table)
        }))
    }

    fn made(text: &str, present: Present) -> IndexWork {
        let statements = parse(text, ScriptDialect::Postgres).expect("statements");
        jobs(&statements, &facts(&[("t", 1 << 20), ("u", 1 << 10), ("p", 0)]), ScriptDialect::Postgres, present)
    }

    #[test]
    fn indexes_come_first_and_the_others_in_their_order() {
        let text = "create index a on t (id); alter table u add foreign key (id) references t (id); alter table t add check (id > 0);
            alter table t add primary key (id); comment on index a is 'x'; create index b on t (note);
            alter table p add primary key (id)";
        let work = made(text, Present::Refused);
        let found: Vec<_> = work.jobs.iter().map(|job| (job.phase, job.name.as_str(), job.sharing)).collect();
        let expected = [
            (0, "index a of t", TableSharing::Builds),
            (0, "primary key \"t_pkey\" of t", TableSharing::Builds),
            (0, "index b of t", TableSharing::Builds),
            (1, "alter table u add foreign key (id) refer...", TableSharing::Alone),
            (1, "alter table t add check (id > 0)", TableSharing::Alone),
            (2, "comment on index a is 'x'", TableSharing::Alone),
            (3, "alter table p add primary key (id)", TableSharing::Alone),
        ];
        assert_eq!(found, expected);
        assert_eq!(work.jobs[3].tables, ["#t", "#u"]);
        assert_eq!(work.jobs[1].sql.as_deref(), Some("CREATE UNIQUE INDEX \"t_pkey\" ON t (id)"));
        assert!(work.jobs[2].bytes > work.jobs[0].bytes, "text takes longer");
    }

    #[test]
    fn what_is_there_is_passed_over_if_that_is_wanted() {
        let text =
            "alter table t add constraint done unique (id); alter table t add constraint t_pkey primary key (id);
            create index broken on t (id); create index t_pkey on u (note); alter table t add foreign key (id) references u (id)";
        let work = made(text, Present::PassedOver);
        let present: Vec<_> = work.present.iter().map(|(line, name)| (*line, name.as_str())).collect();
        let foreign = "alter table t add foreign key (id) refer...";
        assert_eq!(present, [(1, "unique key done of t"), (2, "index t_pkey of u"), (2, foreign)]);
        let names: Vec<_> = work.jobs.iter().map(|job| (job.name.as_str(), job.sql.is_some())).collect();
        assert_eq!(names, [("primary key t_pkey of t", false), ("index broken of t", true)]);
        assert_eq!(made(text, Present::Refused).jobs.len(), 5);
    }

    #[test]
    fn keys_of_a_table_of_mysql_are_one_statement() {
        let text = "create index a on t (id);\nalter table t add unique key b (note), add primary key (id);\ncreate fulltext index f on t (note);
            alter table u add foreign key (id) references t (id)";
        let statements = parse(text, ScriptDialect::MySql).expect("statements");
        let work = jobs(&statements, &facts(&[("t", 10)]), ScriptDialect::MySql, Present::Refused);
        let found: Vec<_> = work.jobs.iter().map(|job| (job.phase, job.sql.as_deref().unwrap_or_default())).collect();
        let expected = [
            (0, "ALTER TABLE t ADD INDEX a (id), add unique key b (note), add primary key (id)"),
            (0, "ALTER TABLE t ADD fulltext INDEX f (note)"),
            (1, "alter table u add foreign key (id) references t (id)"),
        ];
        assert_eq!(found, expected);
        assert_eq!((work.jobs[0].name.as_str(), work.jobs[0].bytes), ("keys a, b, PRIMARY of t", 30));
        let apart: Vec<_> = work.jobs[0].apart.iter().map(|job| (job.line, job.name.as_str())).collect();
        assert_eq!(apart, [(1, "key a of t"), (2, "keys b, PRIMARY of t")]);
        assert!(work.jobs[1..].iter().all(|job| job.apart.is_empty()));
    }

    #[test]
    fn columns_are_told_from_expressions() {
        let names: Vec<_> = column_names("(a, \"B c\" DESC, lower(d), (e + 1))").collect();
        assert_eq!(names, [Some("a".to_owned()), Some("B c".to_owned()), None, None]);
    }
}
