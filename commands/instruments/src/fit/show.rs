//! The answer for people, for programs and as comma-separated values. Pure.

use super::Answer;
use mh_kit::instrument::csv_field;
use mh_kit::instrument::look::TextLook;
use observe::fit::estimate::{BoundUnit, Dominates, FitBound, Range};
use observe::fit::{HostSurvey, Instance};
use observe::tier::Tier;
use std::fmt::Write;
use terminal::{Align, TextTable, Tint, bytes, integer};

/// LIMIT: a page of instances; `--csv` has all.
const ROWS_MAX: usize = 20;

/// Answer, assumption, limits, instances.
pub fn as_text(answer: &Answer, look: TextLook) -> String {
    let mut text = look.verdict(Tint::Bold, &(headline(answer) + "\n"));
    if let Some(add) = answer.add {
        let tint = if answer.fits(add) { Tint::Good } else { Tint::Bad };
        text.push_str(&look.verdict(tint, &decision(answer, add)));
    }
    text.push_str(&look.prose(&format!("assumes most of all: {}\n", assumption(answer.estimate.dominates))));
    text.push_str(&look.prose(&left_out(answer)));
    write!(text, "\n{}", look.table(bounds_table(&answer.estimate.bounds))).expect("writing to a string");
    write!(text, "\n{}", look.table(instances_table(answer))).expect("writing to a string");
    let hidden_rows = answer.survey.instances.len().saturating_sub(ROWS_MAX);
    if hidden_rows > 0 {
        writeln!(text, "  and {} more (--csv shows all)", integer(hidden_rows as u64)).expect("writing to a string");
    }
    text.push_str(&look.prose(&format!("{}\n", source(answer.survey))));
    text
}

fn headline(answer: &Answer) -> String {
    let each = answer.estimate.each_bytes;
    let (Some(fits), Some(bound)) = (answer.estimate.fits, answer.estimate.bounds.first()) else {
        return format!("no limit was found for {}", answer.what);
    };
    let (middle, range) = (integer(fits.middle as u64), between(fits));
    if bound.unit == BoundUnit::Percent {
        return format!("no more {}: the machine waits for memory already", answer.what);
    }
    let price = match bound.unit {
        BoundUnit::Bytes => format!("each takes {} of {}", bytes(each.middle as u64), bytes(bound.left as u64)),
        _ => format!("each takes {} of {}", quantity(bound.each, bound.unit), quantity(bound.left, bound.unit)),
    };
    let others = match answer.estimate.may_bind.as_slice() {
        [] => String::new(),
        others => format!("; {} may bind first", terminal::printable(&others.join(" or "))),
    };
    format!("{middle} more {} fit{range}: {} binds, {price}{others}", answer.what, terminal::printable(&bound.what))
}

fn between(fits: Range) -> String {
    if fits.low == fits.high {
        return String::new();
    }
    format!(" ({} to {})", integer(fits.low as u64), integer(fits.high as u64))
}

fn decision(answer: &Answer, add: u64) -> String {
    let certainly = answer.estimate.fits.is_none_or(|fits| fits.low >= add as f64);
    let possibly = answer.estimate.fits.is_none_or(|fits| fits.high >= add as f64);
    let verdict = match (answer.fits(add), certainly, possibly) {
        (true, true, _) => "fit",
        (true, false, _) => "fit, probably",
        (false, _, true) => "do not fit, probably",
        (false, _, false) => "do not fit",
    };
    let add_bytes = (answer.estimate.each_bytes.middle * add as f64) as u64;
    let huge = answer.estimate.bounds.iter().find(|bound| bound.unit == BoundUnit::HugeBytes);
    let huge = huge.map(|bound| format!(" and {} of huge pages", bytes((bound.each * add as f64) as u64)));
    let huge = huge.unwrap_or_default();
    format!("{} more {verdict}: they would take {} of memory{huge}\n", integer(add), bytes(add_bytes))
}

/// LIMIT: less of the price than this is not worth a line: a page or two of shared memory has everybody.
const LEFT_OUT_SHARE: f64 = 0.05;

/// Memory that the answer does not count, though the next may need as much.
fn left_out(answer: &Answer) -> String {
    let (each, left_out) = (answer.estimate.each_bytes.middle, answer.estimate.left_out_bytes);
    if left_out as f64 <= each * LEFT_OUT_SHARE {
        return String::new();
    }
    let with = bytes((each as u64).saturating_add(left_out));
    let left_out = bytes(left_out);
    format!(
        "left out: {left_out} of shared memory that the middle one has alone; if each of the next makes its own, it takes {with}\n"
    )
}

fn assumption(dominates: Dominates) -> String {
    match dominates {
        Dominates::Few { instances: 1 } => {
            "that the next is like the only one there is; half and double are guesses".to_owned()
        }
        Dominates::Few { instances } => format!("that the next are like the {instances} there are"),
        Dominates::Spread { share: 0.0 } => "that the next are like these, which are all alike".to_owned(),
        Dominates::Spread { share } => {
            let share = terminal::percentage_whole(share);
            format!("that the next are like the middle one; half of them may be {share} off it")
        }
        Dominates::Undetailed { share } => format!(
            "that nothing is shared beyond what was seen: pages of {} of the processes were not looked at",
            terminal::percentage_whole(share)
        ),
        Dominates::Growing { bytes_per_second } => {
            let rate = terminal::rate(bytes_per_second);
            format!("that they stop growing; the middle one grew by {rate} while it was watched")
        }
        Dominates::AsBusy => "that the next are as busy as these were while they were watched".to_owned(),
    }
}

fn bounds_table(bounds: &[FitBound]) -> TextTable {
    let mut table = TextTable::new(&[Align::Left, Align::Right, Align::Right, Align::Right]).indented(2);
    table.row(["LIMIT", "LEFT", "EACH", "FITS"]);
    for bound in bounds {
        let fits = match (bound.fits, bound.unit) {
            (Some(fits), _) => integer(fits),
            (None, BoundUnit::Percent) => "yes".to_owned(),
            (None, _) => "any".to_owned(),
        };
        let each = if bound.each > 0.0 { quantity(bound.each, bound.unit) } else { "-".to_owned() };
        table.row([bound.what.clone(), quantity(bound.left, bound.unit), each, fits]);
    }
    table
}

fn quantity(value: f64, unit: BoundUnit) -> String {
    match unit {
        BoundUnit::Bytes | BoundUnit::HugeBytes => bytes(value.max(0.0) as u64),
        BoundUnit::Cores => format!("{value:.3} cores"),
        BoundUnit::Percent => format!("{value:.1} %"),
        BoundUnit::Pieces if value.fract() == 0.0 => integer(value as u64),
        BoundUnit::Pieces => format!("{value:.1}"),
    }
}

fn instances_table(answer: &Answer) -> TextTable {
    let has_huge = answer.survey.instances.iter().any(|instance| instance.cost.huge_bytes > 0);
    let mut headings = vec!["NAME", "PROCS", "HEAP", "STACK", "SWAP", "TABLES", "KERNEL", "EACH", "PS RSS", "CORES"];
    if has_huge {
        headings.push("HUGE");
    }
    let mut aligns = vec![Align::Right; headings.len()];
    aligns[0] = Align::Left;
    // The sum is what counts; its smaller parts give way on a narrow terminal.
    let mut table = TextTable::new(&aligns).indented(2).dropping(&[3, 4, 5, 6, 8]);
    table.row(headings);
    let each = answer.estimate.each;
    for instance in answer.survey.instances.iter().take(ROWS_MAX) {
        let mut row = cells(instance).to_vec();
        if has_huge {
            row.push(bytes(instance.cost.huge_bytes));
        }
        table.row(row);
    }
    if answer.survey.instances.len() > 1 {
        let parts = [each.heap_bytes, each.stack_bytes, each.swap_bytes, each.tables_bytes, each.kernel_bytes];
        let mut row = vec!["(the middle one)".to_owned(), String::new()];
        row.extend(parts.map(bytes));
        row.push(bytes(each.total_bytes()));
        table.row(row);
    }
    table
}

fn cells(instance: &Instance) -> [String; 10] {
    let cost = instance.cost;
    let name = match instance.pid {
        Some(pid) => format!("{pid} {}", instance.name),
        None => instance.name.clone(),
    };
    [
        name,
        integer(instance.processes),
        bytes(cost.heap_bytes),
        bytes(cost.stack_bytes),
        bytes(cost.swap_bytes),
        bytes(cost.tables_bytes),
        bytes(cost.kernel_bytes),
        bytes(cost.total_bytes()),
        bytes(instance.resident_bytes),
        format!("{:.3}", instance.cores),
    ]
}

/// Where the numbers come from, and what is missing.
fn source(survey: &HostSurvey) -> String {
    let seconds = survey.watched_ns as f64 / 1e9;
    let share = if survey.watched_ns == 0 { 0.0 } else { survey.detail_cpu_ns as f64 / survey.watched_ns as f64 };
    let mut text = format!(
        "pages of {} of {} processes were looked at, in {seconds:.1} s, for {:.2} % of a CPU",
        integer(survey.read_in_detail),
        integer(survey.processes),
        share * 100.0
    );
    if survey.vanished > 0 {
        text.push_str(&format!("; {} ended meanwhile", integer(survey.vanished)));
    }
    if survey.hidden_threads > 0 {
        let hidden = integer(survey.hidden_threads);
        text.push_str(&format!("; {hidden} threads of this machine cannot be seen from here"));
    }
    text.push_str(&format!(" (tier: {})", Tier::NoRights));
    text
}

/// One object.
pub fn as_json(answer: &Answer) -> String {
    let mut survey = answer.survey.clone();
    for instance in &mut survey.instances {
        instance.name = terminal::printable(&instance.name).into_owned();
    }
    let fits = answer.add.map(|add| answer.fits(add));
    let object = serde_json::json!({
        "what": answer.what,
        "tier": Tier::NoRights,
        "estimate": answer.estimate,
        "added_fit": fits,
        "survey": survey,
    });
    object.to_string() + "\n"
}

/// One instance a line.
pub fn as_csv(answer: &Answer) -> String {
    let mut text = "name,pid,processes,threads,heap_bytes,stack_bytes,swap_bytes,tables_bytes,kernel_bytes,each_bytes,\
                    resident_bytes,cores,descriptors,tier,huge_bytes,own_shared_bytes\n"
        .to_owned();
    for instance in &answer.survey.instances {
        let cost = instance.cost;
        let or_nothing = |number: Option<u64>| number.map_or(String::new(), |number| number.to_string());
        writeln!(
            text,
            "{},{},{},{},{},{},{},{},{},{},{},{:.6},{},{},{},{}",
            csv_field(&instance.name),
            or_nothing(instance.pid.map(u64::from)),
            instance.processes,
            instance.threads,
            cost.heap_bytes,
            cost.stack_bytes,
            cost.swap_bytes,
            cost.tables_bytes,
            cost.kernel_bytes,
            cost.total_bytes(),
            instance.resident_bytes,
            instance.cores,
            or_nothing(instance.descriptors),
            Tier::NoRights,
            cost.huge_bytes,
            instance.own_shared_bytes
        )
        .expect("writing to a string");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use observe::fit::estimate::{Suppose, estimate};
    use observe::fit::{HostRoom, MemoryCost};

    fn survey(names: &[&str]) -> HostSurvey {
        let cost = MemoryCost { heap_bytes: 900, stack_bytes: 100, ..MemoryCost::default() };
        let one =
            |name: &&str| Instance { name: (*name).to_owned(), processes: 1, threads: 1, cost, ..Instance::default() };
        let room = HostRoom { memory_total_bytes: 100_000, memory_available_bytes: 50_000, ..HostRoom::default() };
        let instances: Vec<Instance> = names.iter().map(one).collect();
        let processes = instances.len() as u64;
        HostSurvey { instances, room, processes, watched_ns: 2_000_000_000, ..HostSurvey::default() }
    }

    fn answered(names: &[&str], add: Option<u64>, show: fn(&Answer) -> String) -> String {
        answer_of(&survey(names), add, show)
    }

    fn answer_of(survey: &HostSurvey, add: Option<u64>, show: fn(&Answer) -> String) -> String {
        let estimate = estimate(survey, Suppose::default()).expect("instances");
        show(&Answer { what: "users".to_owned(), survey, estimate: &estimate, add })
    }

    fn as_text(answer: &Answer) -> String {
        super::as_text(answer, TextLook::PLAIN)
    }

    #[test]
    fn huge_pages_have_a_column_and_shared_memory_of_its_own_is_said_to_be_left_out() {
        let mut seen = survey(&["ann", "bob", "eve"]);
        let plain = answer_of(&seen, Some(1), as_text);
        assert!(!plain.contains("HUGE") && !plain.contains("huge") && !plain.contains("left out"), "{plain}");
        seen.room.huge_bytes = Some(8000);
        for instance in &mut seen.instances {
            (instance.cost.huge_bytes, instance.own_shared_bytes) = (4000, 3000);
        }
        let text = answer_of(&seen, Some(3), as_text);
        assert!(
            text.starts_with("2 more users fit: the pool of huge pages binds, each takes 4 kB of 8 kB\n"),
            "{text}"
        );
        assert!(text.contains("3 more do not fit: they would take 3 kB of memory and 12 kB of huge pages\n"), "{text}");
        let left_out = "left out: 3 kB of shared memory that the middle one has alone; if each of the next makes its own, it takes 4 kB\n";
        assert!(text.contains(left_out), "{text}");
        assert!(text.contains("CORES  HUGE\n") && text.contains("4 kB\n"), "{text}");
        assert!(
            answer_of(&seen, None, as_csv).lines().nth(1).is_some_and(|line| line.ends_with(",no rights,4000,3000"))
        );
    }

    #[test]
    fn the_first_line_is_the_answer() {
        let text = answered(&["ann", "bob", "eve"], None, as_text);
        assert!(text.starts_with("45 more users fit: memory binds, each takes 1 kB of 45 kB\n"), "{text}");
        assert!(text.contains("pages of 0 of 3 processes"), "{text}");
    }

    #[test]
    fn more_are_judged_with_their_doubt() {
        assert!(answered(&["ann", "bob", "eve"], Some(4), as_text).contains("\n4 more fit: they would take 4 kB"));
        assert!(answered(&["ann", "bob", "eve"], Some(46), as_text).contains("\n46 more do not fit:"));
        assert!(answered(&["ann"], Some(40), as_text).contains("\n40 more fit, probably"));
        assert!(answered(&["ann"], Some(60), as_text).contains("\n60 more do not fit, probably"));
    }

    #[test]
    fn hostile_names_stay_one_escaped_field() {
        let hostile = "a,\"b\"\n\u{1b}[2J";
        let csv = answered(&[hostile], None, as_csv);
        assert_eq!(csv.lines().count(), 2, "{csv}");
        assert!(csv.contains("\"a,\"\"b\"\"\\n\\x1b[2J\","), "{csv}");
        for show in [as_text, as_json, as_csv] {
            assert!(!answered(&[hostile], None, show).contains('\u{1b}'));
        }
        let many: Vec<String> = (0..30).map(|number| format!("user{number}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert!(answered(&many, None, as_text).contains("and 10 more"));
    }
}
