//! What was measured, for people: the answer, a row for each number of threads, and where it gets slower. Pure.

use super::BenchPlan;
use crate::mappings::{HUGE_BYTES, page_label};
use memory::measure::{MeasuredCosts, MeasuredThreads, median_ns};
use mh_kit::instrument::look::TextLook;
use mh_kit::report::counted;
use terminal::{Align, TextTable, Tint};

/// The whole text.
pub fn as_text(look: TextLook, plan: &BenchPlan, measured: &MeasuredCosts, kernel: &str) -> String {
    let mut text = look.verdict(Tint::Bold, &format!("{}\n", verdict(measured)));
    text.push_str(&look.prose(&format!("{}\n", surroundings(plan, measured, kernel))));
    text.push('\n');
    text.push_str(&look.table(table(measured, plan.cpus)));
    text.push('\n');
    text.push_str(&look.prose(&format!("{}\n", knee_sentence(measured))));
    text
}

/// Milliseconds for 10^9 bytes.
fn ms_a_gb(figures: &[u64], bytes: u64) -> Option<f64> {
    Some(median_ns(figures)? as f64 / 1e6 / (bytes as f64 / 1e9))
}

/// `create 312 -> 160 ms/GB, destroy 49.7 -> 31.9 ms/GB (1 -> 2 threads)`.
fn verdict(measured: &MeasuredCosts) -> String {
    let (Some(first), Some(last)) = (measured.rows.first(), measured.rows.last()) else { return String::new() };
    let part = |name: &str, figures: fn(&MeasuredThreads) -> &[u64]| {
        let of = |row| ms_a_gb(figures(row), measured.bytes).map(three_digits);
        match (of(first), of(last)) {
            (Some(one), Some(_)) if first.threads == last.threads => Some(format!("{name} {one} ms/GB")),
            (Some(one), Some(all)) => Some(format!("{name} {one} -> {all} ms/GB")),
            _ => None,
        }
    };
    let parts = [
        part("create", |row| &row.create_ns),
        part("create and lock", |row| &row.create_locked_ns),
        part("destroy", |row| &row.destroy_ns),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let threads = match (first.threads, last.threads) {
        (one, all) if one == all => counted(one as u64, "thread"),
        (one, all) => format!("{one} -> {all} threads"),
    };
    format!("{} ({threads})", parts.join(", "))
}

/// `anonymous memory, 4.29 GB (the usual size) in pages of 4 KiB, all resident; Linux 6.18`.
fn surroundings(plan: &BenchPlan, measured: &MeasuredCosts, kernel: &str) -> String {
    let facts = &measured.facts;
    let pages = match (facts.page_bytes, facts.huge_bytes) {
        (0, _) => String::new(),
        (small, 0) => format!(" in pages of {}", page_label(small)),
        (_, huge) if huge >= facts.resident_bytes => format!(" in pages of {}", page_label(HUGE_BYTES)),
        (small, huge) => {
            let share = terminal::percentage_whole(huge as f64 / facts.resident_bytes as f64);
            format!(" in pages of {}, {share} of it in huge ones", page_label(small))
        }
    };
    let nodes: Vec<String> = facts.nodes.keys().map(u32::to_string).collect();
    let nodes = if nodes.len() > 1 { format!(", on nodes {}", nodes.join(", ")) } else { String::new() };
    let size = terminal::bytes(measured.bytes);
    format!(
        "{}, {size} ({}){pages}, each range counted resident page by page{nodes}; {kernel}",
        plan.what, plan.why_bytes
    )
}

fn table(measured: &MeasuredCosts, cpus: usize) -> TextTable {
    let has_lock = measured.rows.iter().any(|row| !row.create_locked_ns.is_empty());
    let columns = if has_lock { 6 } else { 5 };
    let mut aligns = vec![Align::Right; columns];
    aligns.push(Align::Left);
    let mut table = TextTable::new(&aligns);
    let mut titles = vec!["THREADS", "CREATE ms/GB", "DESTROY ms/GB", "CREATE GB/s", "DESTROY GB/s", ""];
    if has_lock {
        titles.insert(2, "AND LOCK ms/GB");
    }
    table.row(titles);
    for row in &measured.rows {
        table.row(cells(row, measured.bytes, has_lock).into_iter().chain([why_fewer(row, cpus)]));
    }
    table
}

fn cells(row: &MeasuredThreads, bytes: u64, has_lock: bool) -> Vec<String> {
    let cost = |figures: &[u64]| ms_a_gb(figures, bytes).map_or_else(|| "-".to_owned(), three_digits);
    let rate = |figures: &[u64]| ms_a_gb(figures, bytes).map_or_else(|| "-".to_owned(), |ms| three_digits(1000.0 / ms));
    let mut cells = vec![
        row.threads.to_string(),
        cost(&row.create_ns),
        cost(&row.destroy_ns),
        rate(&row.create_ns),
        rate(&row.destroy_ns),
    ];
    if has_lock {
        cells.insert(2, cost(&row.create_locked_ns));
    }
    cells
}

/// Why fewer threads worked at once than were asked for; empty if all did.
fn why_fewer(row: &MeasuredThreads, cpus: usize) -> String {
    let worked = row.threads_worked;
    if worked >= row.threads {
        return String::new();
    }
    let why = match row.chunks {
        1 => "the range is one chunk".to_owned(),
        chunks if chunks < row.threads && worked >= chunks => format!("the range has {chunks} chunks"),
        _ if row.is_short_of_hands && worked < row.threads.min(cpus) => "other runs have cores".to_owned(),
        _ if worked >= cpus => format!("this machine has {}", counted(cpus as u64, "CPU")),
        _ => "the others found nothing left".to_owned(),
    };
    format!("only {worked} at once: {why}")
}

/// Where more threads are no longer faster.
fn knee_sentence(measured: &MeasuredCosts) -> String {
    let knee = counted(measured.knee_threads as u64, "thread");
    let (Some(last), Some(best)) =
        (measured.rows.last(), measured.rows.iter().find(|row| row.threads == measured.knee_threads))
    else {
        return String::new();
    };
    if last.threads == measured.knee_threads {
        return format!("fastest with {knee}, the most that were measured");
    }
    let time = |row: &MeasuredThreads| median_ns(&row.create_ns).unwrap_or(0) as f64;
    let factor = time(last) / time(best).max(1.0);
    let more = match factor {
        // As the engine sees it: nearer than that is as fast.
        _ if factor < 1.03 => format!("{} are as fast", last.threads),
        _ => format!("{} take {factor:.2} times as long", last.threads),
    };
    format!("fastest with {knee}: {more}")
}

/// `1.23`, `12.3`, `123`, `1234`.
fn three_digits(value: f64) -> String {
    match value {
        _ if value < 9.995 => format!("{value:.2}"),
        _ if value < 99.95 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use memory::measure::{MeasuredKind, RangeFacts};

    fn row(threads: usize, create_ms: u64, locked_ms: Option<u64>, destroy_ms: u64) -> MeasuredThreads {
        let ns = |ms: u64| ms * 1_000_000;
        MeasuredThreads {
            threads,
            threads_worked: threads,
            is_short_of_hands: false,
            chunks: 128,
            create_ns: vec![ns(create_ms); 3],
            create_locked_ns: locked_ms.map(ns).into_iter().collect(),
            destroy_ns: vec![ns(destroy_ms); 3],
        }
    }

    fn measured(rows: Vec<MeasuredThreads>, knee_threads: usize) -> MeasuredCosts {
        let facts = RangeFacts { resident_bytes: 2_000_000_000, page_bytes: 4096, ..RangeFacts::default() };
        MeasuredCosts { bytes: 2_000_000_000, rows, facts, knee_threads }
    }

    fn shown(measured: &MeasuredCosts) -> String {
        let plan = BenchPlan {
            kind: MeasuredKind::Anonymous,
            what: "anonymous memory".to_owned(),
            bytes: measured.bytes,
            why_bytes: "--size",
            threads_max: 4,
            cpus: 4,
        };
        as_text(TextLook::PLAIN, &plan, measured, "Linux 6.18")
    }

    #[test]
    fn costs_are_for_a_gigabyte_and_the_first_line_has_them() {
        let text = shown(&measured(vec![row(1, 600, Some(700), 100), row(4, 160, Some(200), 50)], 4));
        let expected = "create 300 -> 80.0 ms/GB, create and lock 350 -> 100 ms/GB, destroy 50.0 -> 25.0 ms/GB (1 -> 4 threads)\n\
            anonymous memory, 2 GB (--size) in pages of 4 KiB, each range counted resident page by page; Linux 6.18\n\n\
            THREADS  CREATE ms/GB  AND LOCK ms/GB  DESTROY ms/GB  CREATE GB/s  DESTROY GB/s\n      \
            1           300             350           50.0         3.33          20.0\n      \
            4          80.0             100           25.0         12.5          40.0\n\n\
            fastest with 4 threads, the most that were measured\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn a_row_says_why_fewer_threads_worked() {
        let of = |threads_worked, chunks, is_short_of_hands| {
            why_fewer(&MeasuredThreads { threads_worked, chunks, is_short_of_hands, ..row(8, 1, None, 1) }, 4)
        };
        assert_eq!(of(8, 128, true), "");
        assert_eq!(of(1, 1, false), "only 1 at once: the range is one chunk");
        assert_eq!(of(3, 3, false), "only 3 at once: the range has 3 chunks");
        assert_eq!(of(2, 128, true), "only 2 at once: other runs have cores");
        assert_eq!(of(4, 128, true), "only 4 at once: this machine has 4 CPUs");
        assert_eq!(of(2, 128, false), "only 2 at once: the others found nothing left");
    }

    #[test]
    fn huge_pages_are_named_by_their_share() {
        let with_huge = |huge_bytes| {
            let mut measured = measured(vec![row(1, 300, None, 100)], 1);
            measured.facts.huge_bytes = huge_bytes;
            shown(&measured)
        };
        assert!(with_huge(2_000_000_000).contains(" in pages of 2 MiB, each"));
        assert!(with_huge(500_000_000).contains(" in pages of 4 KiB, 25 % of it in huge ones, each"));
    }

    #[test]
    fn where_it_gets_slower_is_told() {
        let slower = shown(&measured(vec![row(1, 600, None, 100), row(2, 300, None, 60), row(4, 360, None, 60)], 2));
        assert!(slower.ends_with("fastest with 2 threads: 4 take 1.20 times as long\n"), "{slower}");
        let same = shown(&measured(vec![row(1, 300, None, 100), row(2, 301, None, 60)], 1));
        assert!(same.ends_with("fastest with 1 thread: 2 are as fast\n"), "{same}");
        assert!(!same.contains("LOCK"), "{same}");
    }

    #[test]
    fn cores_that_others_had_are_named() {
        let mut held = row(4, 300, None, 60);
        (held.threads_worked, held.is_short_of_hands) = (3, true);
        let text = shown(&measured(vec![row(1, 600, None, 100), held], 4));
        assert!(text.contains("only 3 at once: other runs have cores\n"), "{text}");
    }
}
