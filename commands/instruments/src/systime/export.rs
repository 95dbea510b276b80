//! The result for programs: JSON and comma-separated values, in nanoseconds and counts, with names besides numbers.

use super::show::{Shown, who};
use super::source::Made;
use mh_kit::instrument::csv_field;
use observe::calls::names::{call_name, error_name};
use observe::calls::sampled::uncertain_ns;
use observe::calls::snapshot::{CallTimes, OwnerTimes, duration_end_ns};
use serde_json::{Value, json};

/// One object on one line.
pub fn json(shown: &Shown) -> String {
    let snapshot = &shown.snapshot;
    let value = json!({
        "elapsed_ns": snapshot.elapsed_ns,
        "tier": shown.made.tier(),
        "made": shown.made,
        "samples": snapshot.samples,
        "bystander_calls": snapshot.bystander_calls,
        "lost": snapshot.lost,
        "owners": snapshot.owners.iter().map(|one| owner(one, &shown.made)).collect::<Vec<_>>(),
    });
    format!("{value}\n")
}

fn owner(owner: &OwnerTimes, made: &Made) -> Value {
    json!({
        "who": owner.who,
        "threads": owner.threads,
        "threads_living": owner.threads_living,
        "life_ns": owner.life_ns,
        "in_calls_ns": owner.in_calls_ns(),
        "between_on_cpu_ns": owner.between_on_cpu_ns(),
        "between_waiting_ns": knows_waiting(made).then_some(owner.between_waiting_ns),
        "running_ns": owner.running_ns(),
        "measuring_ns": owner.measuring_ns,
        "cut_ns": owner.cut_ns,
        "samples": owner.samples,
        "calls": owner.calls.iter().map(|one| call(one, owner, made)).collect::<Vec<_>>(),
    })
}

fn call(call: &CallTimes, owner: &OwnerTimes, made: &Made) -> Value {
    let errors: Vec<Value> =
        call.errors.iter().map(|(number, count)| json!({ "error": error_name(*number), "count": count })).collect();
    let kinds = call.durations.len();
    let durations: Vec<Value> = call
        .durations
        .iter()
        .enumerate()
        .filter(|(_, count)| **count > 0)
        .map(|(kind, count)| json!({ "below_ns": (kind + 1 < kinds).then(|| duration_end_ns(kind)), "count": count }))
        .collect();
    json!({
        "call": call_name(call.number),
        "number": call.number,
        "calls": is_counted(made).then_some(call.ended),
        "under_way": call.under_way,
        "under_way_ns": call.under_way_ns,
        "total_ns": call.total_ns,
        "waiting_ns": knows_waiting(made).then_some(call.waiting_ns),
        "plus_minus_ns": plus_minus_ns(call, owner, made),
        "samples": is_sampled(made).then_some(call.samples),
        "waits": counts_waits(made).then_some(call.waits),
        "errors": errors,
        "durations": durations,
        "slowest": call.slowest,
    })
}

/// Whether every call was met; where only some are, how many there were is not known.
fn is_counted(made: &Made) -> bool {
    matches!(made, Made::Exact(_) | Made::Traced { .. })
}

/// Whether waiting is told from work.
fn knows_waiting(made: &Made) -> bool {
    !matches!(made, Made::Traced { .. })
}

/// Whether threads were met now and then.
fn is_sampled(made: &Made) -> bool {
    matches!(made, Made::Sampled(_) | Made::Outside { .. })
}

/// Whether each time a thread left its CPU was counted.
fn counts_waits(made: &Made) -> bool {
    matches!(made, Made::Sampled(_))
}

/// Half the interval that the time lies in, where it is an estimate.
fn plus_minus_ns(call: &CallTimes, owner: &OwnerTimes, made: &Made) -> Option<u64> {
    matches!(made, Made::Sampled(_)).then(|| uncertain_ns(owner, call.samples))
}

/// Nothing where it is not known.
fn cell(value: Option<u64>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

/// A heading, then a line for each owner and call, and some for each owner's time between calls.
pub fn csv(shown: &Shown) -> String {
    let mut text =
        String::from("who,call,total_ns,waiting_ns,calls,under_way,errors,max_ns,samples,waits,plus_minus_ns,tier\n");
    let (is_counted, tier) = (is_counted(&shown.made), shown.made.tier());
    for owner in &shown.snapshot.owners {
        let whose = csv_field(&who(&owner.who));
        for call in &owner.calls {
            let max_ns = call.slowest.as_ref().map_or(0, |slowest| slowest.duration_ns);
            text.push_str(&format!(
                "{whose},{},{},{},{},{},{},{max_ns},{},{},{},{tier}\n",
                csv_field(&call_name(call.number)),
                call.total_ns,
                cell(knows_waiting(&shown.made).then_some(call.waiting_ns)),
                cell(is_counted.then_some(call.ended)),
                call.under_way,
                cell(is_counted.then(|| call.error_count())),
                cell(is_sampled(&shown.made).then_some(call.samples)),
                cell(counts_waits(&shown.made).then_some(call.waits)),
                cell(plus_minus_ns(call, owner, &shown.made)),
            ));
        }
        let between = owner.between_on_cpu_ns() + owner.between_waiting_ns;
        let waiting = |waiting_ns| cell(knows_waiting(&shown.made).then_some(waiting_ns));
        text.push_str(&format!(
            "{whose},(between calls),{between},{},,,,,,,,{tier}\n",
            waiting(owner.between_waiting_ns)
        ));
        if owner.measuring_ns > 0 {
            text.push_str(&format!("{whose},(measuring),{},0,,,,,,,,{tier}\n", owner.measuring_ns));
        }
        if owner.cut_ns > 0 {
            text.push_str(&format!(
                "{whose},(cut short),{},{},,,,,,,,{tier}\n",
                owner.cut_ns,
                waiting(owner.cut_waiting_ns)
            ));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::plan::Subject;
    use super::*;
    use observe::calls::measure::MeasuringCost;
    use observe::calls::snapshot::{CallSnapshot, TimeOwner};

    #[test]
    fn what_a_way_of_measuring_does_not_know_is_empty_and_not_zero() {
        let mut owner = OwnerTimes { life_ns: 100, samples: 7, ..OwnerTimes::new(TimeOwner::All) };
        let known = owner.call(3);
        (known.ended, known.total_ns, known.waiting_ns, known.samples, known.waits) = (2, 50, 20, 4, 5);
        let snapshot = CallSnapshot { owners: vec![owner], ..CallSnapshot::default() };
        let cost =
            MeasuringCost { call_ns: 1.0, measured_ns: 1.0, bystander_ns: 1.0, correction_ns: 0, sample_ns: 1.0 };
        let shown = |made| Shown {
            subject: Subject::All,
            is_of_some_calls: false,
            is_by_owner: false,
            snapshot: snapshot.clone(),
            made,
        };
        for (made, row) in [
            (Made::Exact(cost), "all,close,50,20,2,0,0,0,,,,BPF\n"),
            (Made::Traced { call_cost_ns: 1 }, "all,close,50,,2,0,0,0,,,,no rights\n"),
            (Made::Outside { own_cpu_ns: 0, unreadable: 0 }, "all,close,50,20,,0,,0,4,,,no rights\n"),
        ] {
            let (text, json) = (csv(&shown(made)), json(&shown(made)));
            assert!(text.contains(row), "{row}{text}");
            assert!(json.contains("\"waits\":null") && json.contains("\"tier\":"), "{json}");
            let columns = |line: &str| line.split(',').count();
            assert!(text.lines().all(|line| columns(line) == 12), "{text}");
        }
        let sampled = shown(Made::Sampled(cost));
        assert!(csv(&sampled).contains("all,close,50,20,,0,,0,4,5,") && json(&sampled).contains("\"waits\":5"));
    }
}
