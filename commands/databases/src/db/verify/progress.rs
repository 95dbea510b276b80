//! The line of progress of a comparison.

use crate::db::progress_line::{RowsLine, RowsLook};
use database::dump::DumpProgress;
use mh_kit::context::Context;
use mh_kit::report::counted;
use terminal::Progress;

/// Starts drawing, if standard error is a terminal.
pub fn start(context: &Context, now: impl Fn() -> DumpProgress + Send + 'static) -> Progress {
    let mut line = RowsLine::new("verify");
    Progress::start_lines(&context.messages, move |elapsed| vec![line.next(elapsed, look(&now()))])
}

fn look(now: &DumpProgress) -> RowsLook {
    let tables = format!("{} of {}", terminal::integer(now.tables_done), counted(now.tables, "table"));
    RowsLook {
        bytes: now.bytes,
        rows: now.rows,
        stored_done: now.stored_done,
        stored: now.stored,
        rest: vec![tables, counted(now.at_work, "connection")],
    }
}
