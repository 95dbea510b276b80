//! A comparison as one page: each figure of each load as intervals, one arm below the other; memory over time; the tables of the report.

use super::findings::{BakeoffFindings, LoadFindings, MeasureFindings, MeasureUnit};
use super::journal::StartRecord;
use super::shown;
use crate::page::HtmlPage;
use crate::plots::{Axis, IntervalRow, Marks, Plot, Scale, Series, intervals, plot};
use std::collections::BTreeMap;

/// The page's text.
pub fn page(findings: &BakeoffFindings, records: &[StartRecord]) -> Result<HtmlPage, String> {
    let mut page = HtmlPage::new(&findings.title);
    page.paragraph(&shown::head(findings));
    page.paragraph(
        "Arms were measured in turns, forward and backward. A dot is the median of all starts of an arm, the line its 95 % interval. Where the interval of a difference \
         holds 0, nothing is claimed.",
    );
    for (index, load) in findings.loads.iter().enumerate() {
        if !load.name.is_empty() {
            page.heading(&load.name);
        }
        for measure in &load.measures {
            page.figure(&picture(measure)?, &caption(findings, measure));
        }
        if let Some(svg) = memory_over_time(findings, records, index)? {
            page.figure(&svg, "Resident memory, with pages that processes share counted once; the median of all starts of an arm at each second.");
        }
        table(&mut page, findings, load);
        load.notes.iter().for_each(|note| {
            page.paragraph(note);
        });
    }
    Ok(page)
}

fn picture(measure: &MeasureFindings) -> Result<String, String> {
    let (scale, unit) = scale(measure);
    let row = |arm: &super::findings::ArmFindings| {
        let bounds = arm.median?;
        Some(IntervalRow {
            name: arm.name.clone(),
            low: bounds.low * scale,
            value: bounds.value * scale,
            high: bounds.high * scale,
        })
    };
    let rows: Vec<IntervalRow> = measure.arms.iter().filter_map(row).collect();
    intervals(measure.measure.title, unit, &rows, None)
}

/// By what values are multiplied for a picture, and what they are then.
fn scale(measure: &MeasureFindings) -> (f64, &'static str) {
    let most = measure.arms.iter().filter_map(|arm| arm.median).map(|bounds| bounds.high).fold(0.0, f64::max);
    match measure.measure.unit {
        MeasureUnit::PerSecond => (1.0, "a second"),
        MeasureUnit::Count => (1.0, ""),
        MeasureUnit::Seconds if most < 1e-3 => (1e6, "us"),
        MeasureUnit::Seconds if most < 1.0 => (1e3, "ms"),
        MeasureUnit::Seconds => (1.0, "s"),
        MeasureUnit::Bytes => (1e-6, "MB"),
    }
}

fn caption(findings: &BakeoffFindings, measure: &MeasureFindings) -> String {
    let of_arm = |arm: &super::findings::ArmFindings| {
        let beside = arm.beside?;
        let word = shown::word(measure.measure.is_more_better, &beside);
        let percent = shown::in_percent(&beside).unwrap_or_else(|| shown::difference(measure.measure.unit, &beside));
        Some(format!("{}: {percent}, {word}", arm.name))
    };
    let all: Vec<String> = measure.arms.iter().filter_map(of_arm).collect();
    format!("Beside {}: {}.", findings.baseline, all.join("; "))
}

fn memory_over_time(
    findings: &BakeoffFindings,
    records: &[StartRecord],
    load: usize,
) -> Result<Option<String>, String> {
    let series: Vec<Series> =
        findings.arms.iter().enumerate().filter_map(|(arm, name)| memory_of(records, arm, load, name)).collect();
    if series.is_empty() {
        return Ok(None);
    }
    plot(&Plot {
        title: "server's memory over time",
        x: Axis { label: "s since the load began", scale: Scale::Linear },
        y: Axis { label: "MB", scale: Scale::Linear },
        series,
    })
    .map(Some)
}

fn memory_of(records: &[StartRecord], arm: usize, load: usize, name: &str) -> Option<Series> {
    let mut by_second = BTreeMap::<i64, Vec<f64>>::new();
    for record in records.iter().filter(|record| record.arm == arm) {
        for point in record.loads.get(load).map_or(&[][..], |load| &load.memory) {
            if let Some(bytes) = point.resident_bytes {
                by_second.entry(point.at_s.round() as i64).or_default().push(bytes as f64 / 1e6);
            }
        }
    }
    let points: Vec<(f64, f64)> = by_second
        .iter()
        .filter_map(|(second, values)| Some((*second as f64, ::load::statistics::median(values)?)))
        .collect();
    (!points.is_empty()).then(|| Series { name: name.to_owned(), points, band: None, marks: Marks::Both })
}

fn table(page: &mut HtmlPage, findings: &BakeoffFindings, load: &LoadFindings) {
    let beside = format!("beside {}", findings.baseline);
    let mut rows = Vec::new();
    for measure in &load.measures {
        for arm in &measure.arms {
            let mut row = vec![measure.measure.title.to_owned()];
            row.extend(shown::row(measure, arm));
            rows.push(row);
        }
    }
    page.table(&["figure", "arm", "median", "95 % interval", &beside, ""], &rows);
}
