//! The page of a sweep: the law that throughput follows, throughput and response times against connections or rate, and what a transaction cost.

use super::now;
use crate::load::plan::PreparedLoad;
use crate::load::shown;
use crate::load::sweep::{POINT_HEADS, conclusion, point_row, sentence};
use crate::page::HtmlPage;
use crate::plots::{Axis, Marks, Plot, Scale, Series, plot};
use ::load::sweep::{SweepAxis, SweepLaw, SweepPoint, SweepReport};

/// What the page has besides the report.
pub struct SweepPage<'a> {
    pub prepared: &'a PreparedLoad,
    pub report: &'a SweepReport,
    pub rounds: usize,
    /// The report as JSON.
    pub data: &'a str,
    /// Why it has not all runs, if it has not.
    pub ended_early: Option<String>,
}

impl SweepPage<'_> {
    /// The whole page.
    pub fn page(&self) -> HtmlPage {
        let (prepared, report) = (self.prepared, self.report);
        let title =
            format!("mh load: '{}' on {}, a sweep over {}", prepared.workload_name, prepared.name, self.axis_name());
        let mut page = HtmlPage::new(&title);
        self.conclude(&mut page);
        page.heading("The runs").table(&["", ""], &self.facts());
        page.heading("What was found");
        self.figure(
            &mut page,
            ("Throughput", "transactions a second", Scale::Linear),
            self.throughput(),
            throughput_caption(report),
        );
        let percentiles = vec![
            self.series("p50", |point| Some(point.p50_s? * 1e3)),
            self.series("p95", |point| Some(point.p95_s? * 1e3)),
            self.series("p99", |point| Some(point.p99_s? * 1e3)),
        ];
        let caption = "From when transactions were due until they were done; none where the generator was the limit.";
        self.figure(&mut page, ("Response time", "ms", Scale::Logarithmic), percentiles, caption);
        let cpu = vec![
            self.series("server", |point| Some(point.server_cpu_s? * 1e6)),
            self.series("generator", |point| Some(point.generator_cpu_s * 1e6)),
        ];
        self.figure(&mut page, ("CPU time", "us a transaction", Scale::Linear), cpu, "User and system time.");
        let switches = vec![self.series("server", |point| point.server_switches)];
        let caption = "Times that a thread gave up its CPU, or that one was taken from it.";
        self.figure(&mut page, ("Context switches", "a transaction", Scale::Linear), switches, caption);
        let heads: Vec<&str> = std::iter::once(self.axis_name()).chain(POINT_HEADS).collect();
        let rows: Vec<Vec<String>> = report.points.iter().map(|point| point_row(point).to_vec()).collect();
        page.table(&heads, &rows);
        page.data("The report as JSON", self.data.trim_end());
        page
    }

    fn axis_name(&self) -> &'static str {
        self.report.axis.name()
    }

    /// The law: first its sentence about the highest throughput, or that it does not describe what was measured.
    fn conclude(&self, page: &mut HtmlPage) {
        if let Some(ended) = &self.ended_early {
            page.verdict(ended);
        }
        let first = sentence(self.report);
        if let Some(first) = &first {
            page.verdict(first);
        }
        let text = conclusion(self.report, 1);
        for line in text.lines().filter(|line| !line.is_empty() && Some(*line) != first.as_deref()) {
            page.paragraph(line);
        }
    }

    fn facts(&self) -> Vec<Vec<String>> {
        let (plan, prepared) = (&self.prepared.plan, self.prepared);
        let fixed = match self.report.axis {
            SweepAxis::Connections => ("arrivals", shown::arrivals(plan)),
            SweepAxis::Rate => ("connections", plan.clients.to_string()),
        };
        let facts = [
            ("target", prepared.name.clone()),
            ("server's version", prepared.version.clone().unwrap_or_default()),
            ("workload", prepared.workload_name.clone()),
            fixed,
            ("measured for, each", terminal::duration(plan.duration)),
            ("after a warm-up of", if plan.warmup.is_zero() { String::new() } else { terminal::duration(plan.warmup) }),
            ("rounds", self.rounds.to_string()),
            ("seed of the first run", plan.seed.to_string()),
            ("ended", now()),
            ("mh", env!("CARGO_PKG_VERSION").to_owned()),
        ];
        let known = facts.into_iter().filter(|(_, value)| !value.is_empty());
        known.map(|(name, value)| vec![name.to_owned(), value]).collect()
    }

    /// One value a point; none is a gap.
    fn series(&self, name: &str, value: impl Fn(&SweepPoint) -> Option<f64>) -> Series {
        let point = |point: &SweepPoint| (point.value, value(point).unwrap_or(f64::NAN));
        Series { marks: Marks::Both, ..Series::line(name, self.report.points.iter().map(point).collect()) }
    }

    /// What was measured, where the generator was the limit, and what is to be compared with it.
    fn throughput(&self) -> Vec<Series> {
        let report = self.report;
        let of = |is_generator: bool| {
            move |point: &SweepPoint| (point.is_generator == is_generator).then_some(point.transactions_per_s.value)
        };
        let mut measured = self.series("measured", of(false));
        if report.points.iter().any(|point| point.runs > 1) {
            let bounds = |point: &SweepPoint| match point.is_generator {
                true => (f64::NAN, f64::NAN),
                false => (point.transactions_per_s.low, point.transactions_per_s.high),
            };
            measured.band = Some(report.points.iter().map(bounds).collect());
        }
        // The law is the line.
        let law = law_line(report);
        if law.is_some() {
            measured.marks = Marks::Dots;
        }
        let mut all: Vec<Series> = std::iter::once(measured).chain(law).collect();
        if report.points.iter().any(|point| point.is_generator) {
            all.push(Series { marks: Marks::Dots, ..self.series("the generator was the limit", of(true)) });
        }
        all
    }

    fn figure(
        &self,
        page: &mut HtmlPage,
        (title, unit, scale): (&str, &str, Scale),
        series: Vec<Series>,
        caption: &str,
    ) {
        let x = Axis { label: self.axis_name(), scale: x_scale(&self.report.points) };
        // Nothing to be drawn: a server elsewhere has no CPU time.
        if let Ok(svg) = plot(&Plot { title, x, y: Axis { label: unit, scale }, series }) {
            page.figure(&svg, caption);
        }
    }
}

/// Values that are doubled lie evenly by their logarithms.
fn x_scale(points: &[SweepPoint]) -> Scale {
    match points {
        [first, .., last] if last.value > 8.0 * first.value => Scale::Logarithmic,
        _ => Scale::Linear,
    }
}

fn throughput_caption(report: &SweepReport) -> &'static str {
    match (&report.law, report.axis) {
        (Some(SweepLaw::Scalability(_)), _) => {
            "Dots are medians; the line is the Universal Scalability Law that fits them best."
        }
        (Some(SweepLaw::Knee(_)), _) => {
            "Dots are medians; the line is what users add, until all share the most there is."
        }
        (_, SweepAxis::Rate) => "What was done of what was asked for.",
        (_, SweepAxis::Connections) => "Medians of all rounds.",
    }
}

/// LIMIT: places at which a law is drawn.
const LAW_STEPS: u32 = 100;

/// The law between the least and the most that was measured, or the rate that was asked for.
fn law_line(report: &SweepReport) -> Option<Series> {
    let (first, last) = (report.points.first()?.value, report.points.last()?.value);
    let (name, throughput): (&str, Box<dyn Fn(f64) -> f64>) = match (&report.law, report.axis) {
        (Some(SweepLaw::Scalability(fit)), _) => {
            ("Universal Scalability Law", Box::new(|load| fit.parameters.throughput(load)))
        }
        (Some(SweepLaw::Knee(fit)), _) => ("knee", Box::new(|load| (fit.slope.value * load).min(fit.plateau.value))),
        (_, SweepAxis::Rate) => ("asked for", Box::new(|rate| rate)),
        (_, SweepAxis::Connections) => return None,
    };
    let ratio = last / first;
    let at = |step: u32| {
        let share = f64::from(step) / f64::from(LAW_STEPS);
        match x_scale(&report.points) {
            Scale::Logarithmic => first * libm::pow(ratio, share),
            Scale::Linear | Scale::Percentile => first + (last - first) * share,
        }
    };
    let line = Series::line(name, (0..=LAW_STEPS).map(at).map(|load| (load, throughput(load))).collect());
    Some(line).filter(|_| ratio > 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::load::sweep::SweepRun;

    fn run(value: f64, transactions_per_s: f64) -> SweepRun {
        SweepRun {
            value,
            round: 1,
            transactions_per_s,
            p50_s: None,
            p95_s: None,
            p99_s: None,
            server_cpu_s: None,
            server_switches: None,
            generator_cpu_s: 1e-5,
            failed: 0,
            is_generator: false,
        }
    }

    #[test]
    fn the_line_of_the_law_goes_through_what_it_was_fitted_to() {
        let law = |load: f64| 1000.0 * load / (1.0 + 0.03 * (load - 1.0) + 0.0005 * load * (load - 1.0));
        let runs: Vec<SweepRun> = (0..9).map(|power| 2_f64.powi(power)).map(|load| run(load, law(load))).collect();
        let line = law_line(&SweepReport::new(SweepAxis::Connections, true, 0.0, &runs)).expect("there is a law");
        assert_eq!((line.name.as_str(), line.points.len()), ("Universal Scalability Law", 101));
        for (load, throughput) in &line.points {
            assert!((throughput / law(*load) - 1.0).abs() < 0.01, "{load}: {throughput}");
        }
        assert!((line.points[100].0 - 256.0).abs() < 1e-9);
    }

    #[test]
    fn a_sweep_over_rates_is_compared_with_what_was_asked_for() {
        let report = SweepReport::new(SweepAxis::Rate, false, 0.0, &[run(100.0, 100.0), run(300.0, 240.0)]);
        let line = law_line(&report).expect("a line");
        assert!(line.name == "asked for" && line.points.iter().all(|(rate, asked)| rate == asked));
        assert!(law_line(&SweepReport::new(SweepAxis::Connections, true, 0.0, &[run(1.0, 10.0)])).is_none());
    }
}
