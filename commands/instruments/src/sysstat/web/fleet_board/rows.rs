//! Rows of the table as plain data. Words, figures and limits are those of the terminal's rows. Pure.

use super::explained;
use crate::sysstat::fleet::FleetRow;
use crate::sysstat::fleet::columns::{COLUMNS, COUNT, columns_for};
use crate::sysstat::fleet::fold::{alike_text, members};
use crate::sysstat::fleet::rows::{has_figures, state_text};
use ::fleet::viewer::HostId;
use serde_json::{Value, json};
use terminal::{Tint, printable};

/// LIMIT: names of hosts that are alike; the others are counted.
const NAMES_MAX: usize = 12;
/// The width of a screen that has the most important columns only.
const NARROW: usize = 80;

/// What the page calls a tint.
pub fn class(tint: Option<Tint>) -> &'static str {
    match tint {
        Some(Tint::Good) => "good",
        Some(Tint::Warning) => "warn",
        Some(Tint::Bad) => "bad",
        Some(Tint::Unusual) => "unusual",
        Some(Tint::Dim) => "dim",
        Some(Tint::Bold) | None => "",
    }
}

/// The columns of figures: heading, name, and whether a narrow page has it.
pub fn columns() -> Value {
    let few = columns_for(NARROW);
    (0..COUNT).map(|at| json!([COLUMNS[at].heading, COLUMNS[at].name, few.contains(&at)])).collect()
}

/// `[key, name, state, class, text, [figure or [figure, class]...]]` of a host.
pub fn host_row((id, row): &(HostId, FleetRow)) -> Value {
    let (state, tint) = state_text(row);
    let figures: Vec<Value> =
        if has_figures(row) { (0..COUNT).map(|at| figure(row, at)).collect() } else { Vec::new() };
    json!([id.0, printable(&row.name), state, class(Some(tint)), explained(row), figures])
}

/// A figure that stands out by its limit, else by how far it is from what is usual.
fn figure(row: &FleetRow, at: usize) -> Value {
    let figures = &row.judged.figures;
    let text = figures.text(at);
    match (figures.deviations[at], figures.limit(at)) {
        (None, None) => json!(text),
        (None, limit) => json!([text, class(limit)]),
        (Some(deviation), limit) => {
            json!([format!("{}{text}", deviation.mark()), class(limit.or(Some(Tint::Unusual)))])
        }
    }
}

/// The same of hosts that are alike. The key is text, so that it is no host's.
pub fn alike_row(number: usize, all: &[usize], hosts: &[(HostId, FleetRow)]) -> Value {
    let members = members(all, hosts);
    let figures: Vec<String> = (0..COUNT).map(|at| alike_text(&members, at)).collect();
    let mut names: Vec<&str> = members.iter().map(|row| row.name.as_str()).collect();
    // In the order of use they would change places all the time.
    names.sort_unstable();
    let more = names.len().saturating_sub(NAMES_MAX);
    names.truncate(NAMES_MAX);
    let more = if more > 0 { format!(" +{more}") } else { String::new() };
    let text = format!("{}{more}", printable(&names.join(" ")));
    json!([format!("alike{number}"), format!("{} hosts alike", all.len()), "ok", "good", text, figures])
}
