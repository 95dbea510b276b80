//! What the server may show of a host: its newest moment, made into a page when somebody asks, and the points of the charts. Whoever
//! samples puts it here and waits for nobody; memory is bounded whoever reads, and how fast.

use super::view::{POINT_COLUMNS, frame, point, short};
use crate::sysstat::export;
use crate::sysstat::open_metrics::{ExpositionFormat, exposition};
use crate::sysstat::session::{HostSession, ShownMoment};
use observe::host::recording::HostFacts;
use observe::source::accounts::Accounts;
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::sync::watch;

/// LIMIT: points that are kept: ten minutes of one a second.
const POINTS_MAX: usize = 600;

/// A host that is shown.
pub struct HostBoard {
    /// What its values do not tell.
    pub facts: HostFacts,
    accounts: Accounts,
    state: Mutex<BoardState>,
    /// The number of the newest moment; 0 before the first.
    number: watch::Sender<u64>,
}

#[derive(Default)]
struct BoardState {
    number: u64,
    shown: ShownMoment,
    filling: Vec<(String, f64)>,
    points: VecDeque<(u64, [f64; POINT_COLUMNS.len()])>,
    /// The page of a number, which all that watch have in common.
    page: Option<(u64, Arc<str>)>,
}

impl HostBoard {
    /// Of a host of which nothing has been seen.
    pub fn new(facts: HostFacts, accounts: Accounts) -> Self {
        Self { facts, accounts, state: Mutex::default(), number: watch::Sender::new(0) }
    }

    /// There is something new.
    pub fn publish(&self, session: &HostSession) {
        let shown = session.latest();
        let number = {
            let mut state = self.state.lock();
            state.number += 1;
            let number = state.number;
            // The first look has no rates to draw.
            if shown.earlier.is_some() {
                state.points.push_back((number, point(&shown.interval())));
            }
            if state.points.len() > POINTS_MAX {
                state.points.pop_front();
            }
            (state.shown, state.filling) = (shown, session.filling());
            number
        };
        self.number.send_replace(number);
    }

    /// Whoever watches is woken by what is new.
    pub fn watch(&self) -> watch::Receiver<u64> {
        self.number.subscribe()
    }

    /// The number of the newest moment and what a page needs that has seen those up to `seen`: all points since then, and the newest
    /// figures. Of a number that never was, an earlier run's, all.
    pub fn news(&self, seen: u64) -> (u64, String) {
        let (number, page) = self.page();
        let state = self.state.lock();
        let is_new = seen == 0 || seen > number;
        let points = state.points.iter().filter(|(at, _)| *at <= number && (is_new || *at > seen));
        let points: Vec<Value> = points
            .map(|(at, point)| {
                let time = json!((point[0] * 1000.0).round() / 1000.0);
                [json!(at), time].into_iter().chain(point[1..].iter().map(|value| short(*value))).collect()
            })
            .collect();
        let columns = ["n"].into_iter().chain(POINT_COLUMNS).collect::<Vec<_>>();
        let columns = if is_new { json!(columns) } else { Value::Null };
        (number, format!("{{\"n\":{number},\"columns\":{columns},\"points\":{},\"frame\":{page}}}", json!(points)))
    }

    /// Made once a moment, without the lock that the sampler needs.
    fn page(&self) -> (u64, Arc<str>) {
        let (number, shown, filling) = {
            let state = self.state.lock();
            if let Some((number, page)) = state.page.as_ref().filter(|(number, _)| *number == state.number) {
                return (*number, Arc::clone(page));
            }
            (state.number, state.shown.clone(), state.filling.clone())
        };
        let page: Arc<str> = frame(&shown.interval(), &self.accounts, &filling).to_string().into();
        self.state.lock().page = Some((number, Arc::clone(&page)));
        (number, page)
    }

    /// The newest moment as `mh sysstat --json` prints it.
    pub fn json(&self) -> String {
        let shown = self.state.lock().shown.clone();
        mh_kit::report::json_line(&export::json(&shown.interval(), &self.facts, &self.accounts))
    }

    /// The newest moment for Prometheus; none before the first.
    pub fn metrics(&self, format: ExpositionFormat) -> Option<String> {
        let shown = self.state.lock().shown.clone();
        (shown.later.at.monotonic_ns > 0).then(|| exposition(&shown, &self.facts, format))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use observe::host::snapshot::Snapshot;

    fn seen(board: &HostBoard, seen: u64) -> (u64, Vec<u64>, Value) {
        let (number, text) = board.news(seen);
        let news: Value = serde_json::from_str(&text).expect("JSON");
        let points =
            news["points"].as_array().expect("points").iter().map(|point| point[0].as_u64().expect("a number"));
        (number, points.collect(), news)
    }

    fn run(board: &HostBoard, session: &mut HostSession, seconds: std::ops::RangeInclusive<u64>) {
        for second in seconds {
            let mut snapshot = Snapshot::default();
            (snapshot.at.monotonic_ns, snapshot.at.wall_ns) = (second * 1_000_000_000, second * 1_000_000_000);
            session.push(snapshot);
            board.publish(session);
        }
    }

    #[test]
    fn a_page_that_missed_something_gets_all_of_it_and_the_newest() {
        let (board, mut session) =
            (HostBoard::new(HostFacts::default(), Accounts::default()), HostSession::remote(HostFacts::default()));
        assert_eq!(board.metrics(ExpositionFormat::OpenMetrics), None);
        assert_eq!(seen(&board, 0).0, 0);
        run(&board, &mut session, 1..=5);
        let (number, points, news) = seen(&board, 0);
        assert_eq!((number, points), (5, vec![2, 3, 4, 5]), "the first look has no rates");
        assert_eq!(news["columns"].as_array().map(Vec::len), news["points"][0].as_array().map(Vec::len));
        assert_eq!((seen(&board, 3).1, seen(&board, 5).1), (vec![4, 5], vec![]));
        assert_eq!(seen(&board, 99).1, [2, 3, 4, 5], "a number of an earlier run");
        assert_eq!(
            (&news["frame"]["time_ns"], seen(&board, 3).2["columns"].is_null()),
            (&json!(5_000_000_000_u64), true)
        );
        assert!(board.metrics(ExpositionFormat::OpenMetrics).is_some_and(|text| text.ends_with("# EOF\n")));
    }

    #[test]
    fn ten_minutes_are_kept_and_no_more() {
        let (board, mut session) =
            (HostBoard::new(HostFacts::default(), Accounts::default()), HostSession::remote(HostFacts::default()));
        run(&board, &mut session, 1..=700);
        let (_, points, _) = seen(&board, 0);
        assert_eq!((points.len(), points.first(), points.last()), (POINTS_MAX, Some(&101), Some(&700)));
        let watching = board.watch();
        run(&board, &mut session, 701..=702);
        assert!(watching.has_changed().is_ok_and(|changed| changed) && *watching.borrow() == 702);
    }
}
