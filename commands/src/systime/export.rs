//! The result for programs: JSON and comma-separated values, in nanoseconds and counts, with names besides numbers.

use super::show::{Shown, who};
use super::source::Made;
use crate::instruments::csv_field;
use observe::calls::names::{call_name, error_name};
use observe::calls::sampled::uncertain_ns;
use observe::calls::snapshot::{CallTimes, OwnerTimes, duration_end_ns};
use serde_json::{Value, json};

/// One object on one line.
pub fn json(shown: &Shown) -> String {
    let snapshot = &shown.snapshot;
    let value = json!({
        "elapsed_ns": snapshot.elapsed_ns,
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
        "between_waiting_ns": owner.between_waiting_ns,
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
    let durations: Vec<Value> = call
        .durations
        .iter()
        .enumerate()
        .filter(|(_, count)| **count > 0)
        .map(|(kind, count)| json!({ "below_ns": duration_end_ns(kind), "count": count }))
        .collect();
    json!({
        "call": call_name(call.number),
        "number": call.number,
        "calls": is_counted(made).then_some(call.ended),
        "under_way": call.under_way,
        "under_way_ns": call.under_way_ns,
        "total_ns": call.total_ns,
        "waiting_ns": call.waiting_ns,
        "plus_minus_ns": plus_minus_ns(call, owner, made),
        "samples": call.samples,
        "waits": call.waits,
        "errors": errors,
        "durations": durations,
        "slowest": call.slowest,
    })
}

/// Whether every call was met; where only some are, how many there were is not known.
fn is_counted(made: &Made) -> bool {
    matches!(made, Made::Exact(_) | Made::Traced { .. })
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
        String::from("who,call,total_ns,waiting_ns,calls,under_way,errors,max_ns,samples,waits,plus_minus_ns\n");
    let is_counted = is_counted(&shown.made);
    for owner in &shown.snapshot.owners {
        let whose = csv_field(&who(&owner.who));
        for call in &owner.calls {
            let max_ns = call.slowest.as_ref().map_or(0, |slowest| slowest.duration_ns);
            text.push_str(&format!(
                "{whose},{},{},{},{},{},{},{max_ns},{},{},{}\n",
                csv_field(&call_name(call.number)),
                call.total_ns,
                call.waiting_ns,
                cell(is_counted.then_some(call.ended)),
                call.under_way,
                cell(is_counted.then(|| call.error_count())),
                call.samples,
                call.waits,
                cell(plus_minus_ns(call, owner, &shown.made)),
            ));
        }
        let between = owner.between_on_cpu_ns() + owner.between_waiting_ns;
        text.push_str(&format!("{whose},(between calls),{between},{},,,,,,,\n", owner.between_waiting_ns));
        if owner.measuring_ns > 0 {
            text.push_str(&format!("{whose},(measuring),{},0,,,,,,,\n", owner.measuring_ns));
        }
        if owner.cut_ns > 0 {
            text.push_str(&format!("{whose},(cut short),{},{},,,,,,,\n", owner.cut_ns, owner.cut_waiting_ns));
        }
    }
    text
}
