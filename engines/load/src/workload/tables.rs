//! Tables of workloads: statements around their rows, and their rows by ranges. A row is the same however the table is divided, so that ranges can be
//! made at the same time.

use super::digits;
use crate::arrivals::RandomSource;
use crate::distribution::KeySource;
use std::fmt::Write;
use std::ops::Range;

/// A table that a workload needs.
#[derive(Clone, Debug)]
pub struct WorkloadTable {
    /// Its name.
    pub name: String,
    /// How many rows it begins with.
    pub rows: u64,
    /// Statements that make it.
    pub create: Vec<String>,
    /// Statements for when it has its rows: indexes, counters.
    pub finish: Vec<String>,
    pub(super) columns: &'static str,
    pub(super) content: TableContent,
}

/// What is in a table.
#[derive(Clone, Debug)]
pub(super) enum TableContent {
    /// sysbench's: keys from 1, everything else random.
    Oltp {
        seed: u64,
        keys: KeySource,
    },
    /// pgbench's.
    Branches,
    Tellers,
    Accounts,
    History,
}

/// How rows are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowForm {
    /// As values of one INSERT.
    Insert,
    /// As lines with tabs, which COPY and LOAD DATA read.
    Lines,
}

impl WorkloadTable {
    /// The statement that removes it.
    pub fn drop_statement(&self) -> String {
        format!("DROP TABLE IF EXISTS {}", self.name)
    }

    /// Names of the columns that rows have values for.
    pub fn columns(&self) -> &str {
        self.columns
    }

    /// Appends rows, counted from 0: a whole INSERT, or lines. Nothing for none.
    pub fn write_rows(&self, rows: Range<u64>, form: RowForm, text: &mut String) {
        let rows = rows.start..rows.end.min(self.rows);
        if rows.is_empty() {
            return;
        }
        if form == RowForm::Insert {
            let _always_written = write!(text, "INSERT INTO {} ({}) VALUES ", self.name, self.columns);
        }
        let first = rows.start;
        for row in rows {
            let mut writer = RowWriter { text, form, has_cell: false };
            writer.begin(row == first);
            self.write_cells(row, &mut writer);
            writer.end();
        }
    }

    fn write_cells(&self, row: u64, writer: &mut RowWriter<'_>) {
        match &self.content {
            TableContent::Oltp { seed, keys } => {
                // A source for each row, so that no row depends on the ones before it.
                let mut random = RandomSource::new(seed.wrapping_add(row.wrapping_mul(0x9e37_79b9_7f4a_7c15)), 0);
                writer.integer(row + 1);
                writer.integer(keys.draw(&mut random));
                writer.digits(digits::C_GROUPS, &mut random);
                writer.digits(digits::PAD_GROUPS, &mut random);
            }
            TableContent::Branches => {
                writer.integer(row + 1);
                writer.integer(0);
            }
            TableContent::Tellers => {
                writer.integer(row + 1);
                writer.integer(row / super::tpcb::TELLERS + 1);
                writer.integer(0);
            }
            TableContent::Accounts => {
                writer.integer(row + 1);
                writer.integer(row / super::tpcb::ACCOUNTS + 1);
                writer.integer(0);
                writer.empty_text();
            }
            TableContent::History => {}
        }
    }
}

struct RowWriter<'a> {
    text: &'a mut String,
    form: RowForm,
    has_cell: bool,
}

impl RowWriter<'_> {
    fn begin(&mut self, is_first: bool) {
        match self.form {
            RowForm::Insert => self.text.push_str(if is_first { "(" } else { ",(" }),
            RowForm::Lines => {}
        }
    }

    fn end(&mut self) {
        self.text.push(if self.form == RowForm::Insert { ')' } else { '\n' });
    }

    fn next_cell(&mut self) {
        if std::mem::replace(&mut self.has_cell, true) {
            self.text.push(if self.form == RowForm::Insert { ',' } else { '\t' });
        }
    }

    fn quote(&mut self) {
        if self.form == RowForm::Insert {
            self.text.push('\'');
        }
    }

    fn integer(&mut self, value: u64) {
        self.next_cell();
        let _always_written = write!(self.text, "{value}");
    }

    fn empty_text(&mut self) {
        self.next_cell();
        self.quote();
        self.quote();
    }

    /// Digits and dashes need no escape in any form.
    fn digits(&mut self, groups: usize, random: &mut RandomSource) {
        self.next_cell();
        self.quote();
        digits::write(groups, random, self.text);
        self.quote();
    }
}
