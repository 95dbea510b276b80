//! What the server says of builds that run: stages, shares of them, and what its processes wait for. Asks on a connection of its own.

use super::lanes::{BuildStage, IndexLanes};
use crate::dump::text_of;
use crate::load::{WaitTally, postgres_wait};
use std::time::Duration;
use wire::{Connection, Protocol};

/// How often it is asked.
const EVERY: Duration = Duration::from_millis(500);

impl IndexLanes {
    /// Looks until `waits`, which waits so long, returns true; what processes were seen at. A server that does not answer is asked no more.
    pub fn watch(&self, mut connection: Connection, mut waits: impl FnMut(Duration) -> bool) -> WaitTally {
        let mut tally = WaitTally::default();
        while !waits(EVERY) {
            let pids = self.pids();
            if pids.is_empty() {
                continue;
            }
            let list: Vec<String> = pids.iter().map(u32::to_string).collect();
            let list = list.join(", ");
            let looked = match connection.protocol() == Protocol::Postgres {
                true => self.look_at_postgres(&mut connection, &list, &mut tally),
                false => self.look_at_mysql(&mut connection, &list),
            };
            if looked.is_none() {
                break;
            }
        }
        tally
    }

    fn look_at_postgres(&self, connection: &mut Connection, pids: &str, tally: &mut WaitTally) -> Option<()> {
        let sql = format!(
            "select pid, phase, blocks_done, blocks_total, tuples_done, tuples_total \
             from pg_catalog.pg_stat_progress_create_index where pid in ({pids})"
        );
        let rows = connection.query(&sql).ok()?;
        for row in 0..rows.len() {
            let number = |column| text_of(&rows, row, column).and_then(|text| text.parse::<f64>().ok()).unwrap_or(0.0);
            let name = text_of(&rows, row, 1).unwrap_or_default();
            let share = postgres_share(&name, number(2) / number(3).max(1.0), number(4) / number(5).max(1.0));
            let name = name.strip_prefix("building index: ").unwrap_or(&name).to_owned();
            self.stage(text_of(&rows, row, 0)?.parse().ok()?, BuildStage { name, share });
        }
        // A leader that waits for its workers is seen at IPC.
        let sql = format!(
            "select wait_event_type, wait_event from pg_catalog.pg_stat_activity \
             where (pid in ({pids}) or leader_pid in ({pids})) and state = 'active' \
             and wait_event_type is distinct from 'IPC'"
        );
        let rows = connection.query(&sql).ok()?;
        for row in 0..rows.len() {
            let text = |column| text_of(&rows, row, column).unwrap_or_default();
            *tally.seen.entry(postgres_wait(&text(0), &text(1))).or_default() += 1;
        }
        Some(())
    }

    fn look_at_mysql(&self, connection: &mut Connection, ids: &str) -> Option<()> {
        // COMPAT: MySQL has no such columns.
        let sql = format!(
            "select id, stage, max_stage, progress, state from information_schema.processlist where id in ({ids})"
        );
        let rows = connection.query(&sql).ok()?;
        for row in 0..rows.len() {
            let number = |column| text_of(&rows, row, column).and_then(|text| text.parse::<f64>().ok()).unwrap_or(0.0);
            let share = ((number(1) - 1.0).max(0.0) + number(3) / 100.0) / number(2).max(1.0);
            let name = text_of(&rows, row, 4).unwrap_or_default();
            self.stage(text_of(&rows, row, 0)?.parse().ok()?, BuildStage { name, share: share.clamp(0.0, 1.0) });
        }
        Some(())
    }
}

/// Where a build is, if reading the table is half of it, sorting a fifth and writing the rest.
fn postgres_share(phase: &str, of_blocks: f64, of_tuples: f64) -> f64 {
    const READ: f64 = 0.5;
    const SORTED: f64 = 0.7;
    let share = if phase.contains("scanning table") {
        READ * of_blocks
    } else if phase.contains("sorting") {
        READ
    } else if phase.contains("loading tuples") {
        SORTED + (1.0 - SORTED) * of_tuples
    } else if phase.starts_with("building index") {
        of_blocks
    } else if phase.starts_with("index validation") || phase.starts_with("waiting") {
        1.0
    } else {
        0.0
    };
    share.clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_go_up_from_stage_to_stage() {
        let stages = [
            ("initializing", 0.0, 0.0),
            ("building index: scanning table", 0.5, 0.0),
            ("building index: sorting live tuples", 1.0, 0.0),
            ("building index: loading tuples in tree", 0.0, 0.1),
            ("building index: loading tuples in tree", 0.0, 1.0),
        ];
        let shares = stages.map(|(phase, blocks, tuples)| postgres_share(phase, blocks, tuples));
        assert!(shares.windows(2).all(|pair| pair[0] < pair[1]), "{shares:?}");
        assert!((shares[4] - 1.0).abs() < 1e-9);
    }
}
