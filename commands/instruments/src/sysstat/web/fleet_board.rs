//! What the server may show of many hosts: their rows as the terminal's screen has them, and a board for each host that somebody has
//! opened. Whoever brings samples puts the rows here once a pace; each reader gets what has changed for it.

mod rows;
mod table;

use super::board::HostBoard;
use super::events::NewsSource;
use crate::sysstat::fleet::rows::{RowState, explanation_with, state_text};
use crate::sysstat::fleet::{FleetRow, SharedFleet};
use ::fleet::viewer::HostId;
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};
use table::{FleetTable, SentTable};
use terminal::printable;
use tokio::sync::watch;

pub use table::FleetTableView;

/// In a browser nobody is asked: a click must not make a host trusted.
const ACCEPTING: &str = "accept it on a terminal (mh sysstat, n) if mh sysstat key shows the same there";

/// Hosts that are shown.
pub struct FleetBoard {
    state: Mutex<FleetState>,
    number: watch::Sender<u64>,
    pace: Duration,
}

#[derive(Default)]
struct FleetState {
    published: Option<Instant>,
    table: Arc<FleetTable>,
    /// Hosts that somebody watches.
    opened: HashMap<HostId, OpenedHost>,
}

struct OpenedHost {
    board: Weak<HostBoard>,
    /// The place of the moment that the board gets next.
    next: usize,
}

impl FleetBoard {
    /// Nobody is known yet; rows are made once a `pace`.
    pub fn new(pace: Duration) -> Self {
        Self { state: Mutex::default(), number: watch::Sender::new(0), pace }
    }

    /// Takes what is new: of hosts that are watched always, of all of them once a pace.
    pub fn publish(&self, shared: &SharedFleet, now: Instant) {
        let mut state = self.state.lock();
        let is_due = state.published.is_none_or(|at| now.saturating_duration_since(at) >= self.pace);
        if is_due {
            state.published = Some(now);
            state.table = Arc::new(FleetTable::new(shared.rows()));
        }
        let table = Arc::clone(&state.table);
        state.opened.retain(|id, opened| opened.publish(table.host(*id)));
        drop(state);
        if is_due {
            self.number.send_modify(|number| *number += 1);
        }
    }

    /// The board of a host, for as long as somebody has it; none of a host that there is not.
    pub fn open(&self, id: HostId) -> Option<Arc<HostBoard>> {
        let row = match self.find(id)? {
            Found::Opened(board) => return Some(board),
            Found::Row(row) => row,
        };
        // Its past takes a while: whoever brings samples need not wait for it.
        let past = HostBoard::with_past(&row.host);
        Some(self.keep(id, &row, past))
    }

    /// The board of a host with its newest figures alone: its past is read for those who watch it.
    pub fn look(&self, id: HostId) -> Option<Arc<HostBoard>> {
        Some(match self.find(id)? {
            Found::Opened(board) => board,
            Found::Row(row) => Arc::new(HostBoard::of_now(&row.host)),
        })
    }

    fn find(&self, id: HostId) -> Option<Found> {
        let state = self.state.lock();
        if let Some(board) = state.opened.get(&id).and_then(|opened| opened.board.upgrade()) {
            return Some(Found::Opened(board));
        }
        state.table.host(id).map(|row| Found::Row(Box::new(row.clone())))
    }

    /// Publishes on a board from now on, beginning with the place behind its past: what came meanwhile is there.
    fn keep(&self, id: HostId, row: &FleetRow, (board, next): (HostBoard, usize)) -> Arc<HostBoard> {
        board.stand(standing(row));
        let board = Arc::new(board);
        self.state.lock().opened.insert(id, OpenedHost { board: Arc::downgrade(&board), next });
        board
    }

    /// Whether a board of a host was made for one who watches it.
    #[cfg(test)]
    pub fn is_open(&self, id: HostId) -> bool {
        self.state.lock().opened.contains_key(&id)
    }

    /// All hosts, for programs.
    pub fn list(&self) -> Value {
        let table = Arc::clone(&self.state.lock().table);
        let one = |(id, row): &(HostId, FleetRow)| json!({"id": id.0, "name": printable(&row.name), "state": state_text(row).0, "text": explained(row)});
        table.hosts().iter().map(one).collect()
    }
}

/// What there is of a host.
enum Found {
    /// A board that somebody has.
    Opened(Arc<HostBoard>),
    Row(Box<FleetRow>),
}

impl OpenedHost {
    /// What is new of it; false if nobody watches any more.
    fn publish(&mut self, row: Option<&FleetRow>) -> bool {
        let Some(board) = self.board.upgrade() else { return false };
        let Some(row) = row else {
            board.stand(json!(["gone", "bad", "it is no host of this viewer any more"]));
            return true;
        };
        let mut session = row.host.session.lock();
        while let Some(next) = board.follow(&mut session, self.next) {
            self.next = next;
        }
        drop(session);
        board.stand(standing(row));
        true
    }
}

/// How a host stands, if its figures may be old.
fn standing(row: &FleetRow) -> Value {
    match row.state {
        RowState::Up { .. } => Value::Null,
        _ => {
            let (word, tint) = state_text(row);
            json!([word, rows::class(Some(tint)), explained(row)])
        }
    }
}

/// What is wrong with a host, harmless and bounded.
fn explained(row: &FleetRow) -> String {
    // LIMIT: letters; a verdict has a sentence.
    const LETTERS_MAX: usize = 240;
    printable(&explanation_with(row, ACCEPTING)).chars().take(LETTERS_MAX).collect()
}

/// News of the table for one reader.
pub struct FleetNews {
    board: Arc<FleetBoard>,
    view: FleetTableView,
    sent: SentTable,
}

impl FleetNews {
    /// For a reader that has seen nothing.
    pub fn new(board: Arc<FleetBoard>, view: FleetTableView) -> Self {
        Self { board, view, sent: SentTable::default() }
    }
}

impl NewsSource for FleetNews {
    fn watch(&self) -> watch::Receiver<u64> {
        self.board.number.subscribe()
    }

    fn news(&mut self) -> Option<(u64, String)> {
        let number = *self.board.number.borrow();
        let table = Arc::clone(&self.board.state.lock().table);
        let news = self.sent.news(&table, &self.view)?;
        Some((number, news.to_string()))
    }
}

#[cfg(test)]
mod tests;
