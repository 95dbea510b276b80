//! What a comparison says to people.

use super::findings::{ArmFindings, BakeoffFindings, BesideBaseline, MeasureFindings, MeasureUnit, ReportedInterval};
use ::load::bakeoff::comparison::SAMPLES_MIN;
use std::fmt::Write;
use terminal::{Align, TextTable};

/// The whole report; `is_long` has every figure.
pub fn report(findings: &BakeoffFindings, is_long: bool) -> String {
    let mut text = format!("{}: {}\n", findings.title, head(findings));
    let mut is_shortened = false;
    for load in &findings.loads {
        let _written = writeln!(text, "\n{}", if load.name.is_empty() { "each run" } else { &load.name });
        let beside = format!("beside {}", findings.baseline);
        let mut table =
            TextTable::new(&[Align::Left, Align::Right, Align::Right, Align::Right, Align::Left]).indented(2);
        table.row(["", "median", "95 % interval", &beside, ""]);
        for measure in load.measures.iter().filter(|measure| is_long || measure.measure.is_first) {
            table.row([measure.measure.title]);
            measure.arms.iter().for_each(|arm| table.row(indented(row(measure, arm))));
        }
        is_shortened |= !is_long && load.measures.iter().any(|measure| !measure.measure.is_first);
        text.push_str(&table.to_string());
        load.notes.iter().for_each(|note| {
            let _written = writeln!(text, "  {note}");
        });
    }
    if is_shortened {
        text.push_str("\n--all shows every figure\n");
    }
    text
}

/// How much was measured, and why no more.
pub fn head(findings: &BakeoffFindings) -> String {
    let spent = terminal::duration_coarse(std::time::Duration::try_from_secs_f64(findings.spent_s).unwrap_or_default());
    let is_of_commands = findings.loads.iter().all(|load| load.name.is_empty());
    let starts = mh_kit::report::counted(findings.starts as u64, if is_of_commands { "run" } else { "start" });
    format!("{starts} in turns, {spent}; {}", findings.ended)
}

fn indented(mut row: [String; 5]) -> [String; 5] {
    row[0].insert_str(0, "  ");
    row
}

/// An arm: its name, median, interval, what it is beside the baseline, and what that says.
pub fn row(measure: &MeasureFindings, arm: &ArmFindings) -> [String; 5] {
    let unit = measure.measure.unit;
    let (median, bounds) = match arm.median {
        Some(ReportedInterval { value, .. }) if arm.values.len() < SAMPLES_MIN => (unit.text(value), "-".to_owned()),
        Some(ReportedInterval { value, low, high }) => {
            (unit.text(value), format!("{} to {}", unit.text(low), unit.text(high)))
        }
        None => ("-".to_owned(), "-".to_owned()),
    };
    let beside =
        arm.beside.map_or_else(String::new, |beside| in_percent(&beside).unwrap_or_else(|| difference(unit, &beside)));
    let word = arm.beside.map_or("", |beside| word(measure.measure.is_more_better, &beside));
    [arm.name.clone(), median, bounds, beside, word.to_owned()]
}

/// As in `+3.9 % (+2.8 to +5.1)`; a multiple where it is twice or more.
pub fn in_percent(beside: &BesideBaseline) -> Option<String> {
    let ratio = beside.ratio?;
    if beside.finding == "too few" {
        return Some(format!("{:+.1} %", (ratio.value - 1.0) * 100.0));
    }
    if ratio.value >= 2.0 {
        return Some(format!("{:.2} x ({:.2} to {:.2})", ratio.value, ratio.low, ratio.high));
    }
    let percent = |ratio: f64| (ratio - 1.0) * 100.0;
    Some(format!("{:+.1} % ({:+.1} to {:+.1})", percent(ratio.value), percent(ratio.low), percent(ratio.high)))
}

/// Where a value is 0, there is no percentage.
pub fn difference(unit: MeasureUnit, beside: &BesideBaseline) -> String {
    let signed = |value: f64| format!("{}{}", if value < 0.0 { "-" } else { "+" }, unit.text(value.abs()));
    let ReportedInterval { value, low, high } = beside.difference;
    format!("{} ({} to {})", signed(value), signed(low), signed(high))
}

/// What the interval says, in a word.
pub fn word(is_more_better: Option<bool>, beside: &BesideBaseline) -> &'static str {
    match (beside.finding, is_more_better) {
        ("more", Some(true)) | ("less", Some(false)) => "better",
        ("more", Some(false)) | ("less", Some(true)) => "worse",
        ("too few", _) => "too few to tell",
        (finding, _) => finding,
    }
}
