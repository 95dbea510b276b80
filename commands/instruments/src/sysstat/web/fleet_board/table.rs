//! The table for one reader: which hosts, in which order, and what of it has changed since the last time. Bounded however many hosts there are:
//! the first rows are sent, and the others are counted.

use super::rows::{alike_row, class, columns, host_row};
use crate::sysstat::fleet::FleetRow;
use crate::sysstat::fleet::columns::COUNT;
use crate::sysstat::fleet::fold::{FleetScreenRow, fold};
use crate::sysstat::fleet::rows::{headline, order, order_by_column};
use ::fleet::viewer::HostId;
use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::sync::Arc;

/// LIMIT: rows that are sent.
pub const ROWS_MAX: usize = 300;
/// LIMIT: letters of a filter; names of hosts are shorter.
const FILTER_MAX: usize = 64;

/// All hosts at one moment, with what readers have in common.
#[derive(Default)]
pub struct FleetTable {
    hosts: Vec<(HostId, FleetRow)>,
    /// Rows that some reader needed.
    made: Mutex<HashMap<HostId, Arc<Value>>>,
}

impl FleetTable {
    /// Of these hosts, the first that appeared first.
    pub fn new(hosts: Vec<(HostId, FleetRow)>) -> Self {
        Self { hosts, made: Mutex::default() }
    }

    /// All hosts.
    pub fn hosts(&self) -> &[(HostId, FleetRow)] {
        &self.hosts
    }

    /// One of them.
    pub fn host(&self, id: HostId) -> Option<&FleetRow> {
        let at = self.hosts.binary_search_by_key(&id, |(id, _)| *id).ok()?;
        Some(&self.hosts[at].1)
    }

    /// The row of a host, made once however many read it.
    fn row(&self, host: &(HostId, FleetRow)) -> Arc<Value> {
        if let Some(made) = self.made.lock().get(&host.0) {
            return Arc::clone(made);
        }
        let made = Arc::new(host_row(host));
        self.made.lock().insert(host.0, Arc::clone(&made));
        made
    }
}

/// What a reader wants to see.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FleetTableView {
    /// Only hosts with this text in their names.
    only: String,
    /// A row each, also for hosts that are alike.
    has_row_each: bool,
    /// The column by which hosts are ordered, and whether it falls; the worst first without.
    column: Option<(usize, bool)>,
}

impl FleetTableView {
    /// Of a URL's query: `only=TEXT&each=1&column=NUMBER&rises=1`. What is not understood counts as not given.
    pub fn of_query(query: &str) -> Self {
        let value = |name: &str| {
            let of =
                |pair: &str| pair.split_once('=').filter(|(given, _)| *given == name).map(|(_, value)| decoded(value));
            query.split('&').find_map(of)
        };
        let column = value("column").and_then(|number| number.parse().ok()).filter(|at| *at < COUNT);
        let falls = value("rises").is_none();
        Self {
            only: value("only").unwrap_or_default().chars().take(FILTER_MAX).collect(),
            has_row_each: value("each").is_some(),
            column: column.map(|at| (at, falls)),
        }
    }

    /// The hosts in order, and their rows.
    fn rows(&self, table: &FleetTable) -> (Vec<(HostId, FleetRow)>, Vec<FleetScreenRow>) {
        let mut hosts = table.hosts.clone();
        hosts.retain(|(_, row)| row.name.contains(&self.only));
        order(&mut hosts);
        if let Some((at, falls)) = self.column {
            order_by_column(&mut hosts, at, falls);
        }
        // Hosts that are alike in most have no place in the order of one figure.
        let rows = if self.has_row_each || self.column.is_some() {
            (0..hosts.len()).map(FleetScreenRow::Host).collect()
        } else {
            fold(&hosts, |_| false)
        };
        (hosts, rows)
    }
}

/// A part of a URL, of which what is no UTF-8 is replaced.
fn decoded(text: &str) -> String {
    let digit = |byte: &u8| char::from(*byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let digits = behind.first().and_then(digit).zip(behind.get(1).and_then(digit)).filter(|_| *first == b'%');
        bytes.push(digits.map_or(*first, |(high, low)| high << 4 | low));
        rest = if digits.is_some() { &behind[2..] } else { behind };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// What a reader has: no more than the rows that it sees.
#[derive(Default)]
pub struct SentTable {
    rows: HashMap<String, Arc<Value>>,
    /// The order of rows, the first line, and what stands beside them.
    rest: HashMap<&'static str, Value>,
    has_any: bool,
}

impl SentTable {
    /// How many rows it has.
    #[cfg(test)]
    pub fn count(&self) -> usize {
        self.rows.len()
    }

    /// What has changed: rows, and whatever else is different from what was sent; none if nothing has.
    pub fn news(&mut self, table: &FleetTable, view: &FleetTableView) -> Option<Value> {
        let (hosts, rows) = view.rows(table);
        let mut news = Map::new();
        if !self.has_any {
            news.insert("columns".to_owned(), columns());
            self.has_any = true;
        }
        let (mut sent, mut keys, mut changed) = (HashMap::new(), Vec::new(), Vec::new());
        for (number, row) in rows.iter().take(ROWS_MAX).enumerate() {
            let made = match row {
                FleetScreenRow::Host(at) => table.row(&hosts[*at]),
                FleetScreenRow::Alike(all) => Arc::new(alike_row(number, all, &hosts)),
            };
            let key = made[0].to_string();
            keys.push(made[0].clone());
            if self.rows.get(&key) != Some(&made) {
                changed.push((*made).clone());
            }
            sent.insert(key, made);
        }
        self.rows = sent;
        if !changed.is_empty() {
            news.insert("rows".to_owned(), json!(changed));
        }
        let pieces = headline(&hosts);
        let pieces: Value = pieces.pieces().map(|(text, tint)| json!([text.trim(), class(tint)])).collect();
        let left = rows.len().saturating_sub(ROWS_MAX);
        for (name, value) in [("order", json!(keys)), ("head", pieces), ("left", json!(left))] {
            if self.rest.get(name) != Some(&value) {
                self.rest.insert(name, value.clone());
                news.insert(name.to_owned(), value);
            }
        }
        (!news.is_empty()).then_some(Value::Object(news))
    }
}
