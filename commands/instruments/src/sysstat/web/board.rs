//! What the server may show of a host: its newest moment, made into a page when somebody asks, and the points of the charts. Whoever
//! samples puts it here and waits for nobody; memory is bounded whoever reads, and how fast.

use super::events::NewsSource;
use super::view::{POINT_COLUMNS, frame, point, short};
use crate::sysstat::bands::figures;
use crate::sysstat::export;
use crate::sysstat::open_metrics::{ExpositionFormat, exposition};
use crate::sysstat::screen::SharedHost;
use crate::sysstat::session::{HostSession, ShownMoment};
use crate::sysstat::usual::Usual;
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
    known: Mutex<Arc<BoardFacts>>,
    state: Mutex<BoardState>,
    /// What its last minutes were like: noted each five seconds, read when a page is made.
    usual: Mutex<Arc<Usual>>,
    /// The number of the newest moment; 0 before the first.
    number: watch::Sender<u64>,
}

/// What its values do not tell. Of a host of the fleet it comes with its first sample.
pub struct BoardFacts {
    /// Its name, kernel, and so on.
    pub facts: HostFacts,
    accounts: Accounts,
}

#[derive(Default)]
struct BoardState {
    number: u64,
    /// How a host of the fleet stands; nothing if all is well, or of this host.
    standing: Value,
    shown: ShownMoment,
    filling: Vec<(String, f64)>,
    points: VecDeque<(u64, [f64; POINT_COLUMNS.len()])>,
    /// The page of a number, which all that watch have in common.
    page: Option<(u64, Arc<str>)>,
}

impl HostBoard {
    /// Of a host of which nothing has been seen.
    pub fn new(facts: HostFacts, accounts: Accounts) -> Self {
        let known = Mutex::new(Arc::new(BoardFacts { facts, accounts }));
        Self { known, state: Mutex::default(), usual: Mutex::default(), number: watch::Sender::new(0) }
    }

    /// Of a host of the fleet, with its newest moment alone.
    pub fn of_now(host: &SharedHost) -> Self {
        let session = host.session.lock();
        let board = Self::new(session.facts.clone(), session.accounts.clone());
        board.publish(&session);
        board
    }

    /// Of a host of the fleet, with the points of its past as far as that is kept, and the place of the moment that comes next. The host is
    /// held for one moment at a time.
    pub fn with_past(host: &SharedHost) -> (Self, usize) {
        let (board, places) = {
            let session = host.session.lock();
            (Self::new(session.facts.clone(), session.accounts.clone()), session.places())
        };
        let mut next = places.end.saturating_sub(POINTS_MAX + 1);
        loop {
            let mut session = host.session.lock();
            match board.follow(&mut session, next) {
                Some(after) => next = after,
                // A host without a sample has a page, too.
                None if places.end == 0 && next == 0 => {
                    board.publish(&session);
                    break;
                }
                None => break,
            }
        }
        (board, next)
    }

    /// Takes the moment at a place, or the first behind it that is still kept. Returns the place of the next one; none if it has all, so that
    /// whoever goes on from place to place misses none and takes none twice, whatever comes meanwhile.
    pub fn follow(&self, session: &mut HostSession, place: usize) -> Option<usize> {
        let places = session.places();
        let place = place.max(places.start);
        if place >= places.end {
            return None;
        }
        if place + 1 == places.end {
            self.publish(session);
        } else if let Some(moment) = session.at(place) {
            self.note(&moment);
            self.state.lock().add(&moment);
        }
        Some(place + 1)
    }

    /// What its values do not tell.
    pub fn known(&self) -> Arc<BoardFacts> {
        Arc::clone(&self.known.lock())
    }

    /// A host of the fleet stands like this.
    pub fn stand(&self, standing: Value) {
        let number = {
            let mut state = self.state.lock();
            if state.standing == standing {
                return;
            }
            state.standing = standing;
            state.number += 1;
            state.number
        };
        self.number.send_replace(number);
    }

    /// There is something new.
    pub fn publish(&self, session: &HostSession) {
        {
            let mut known = self.known.lock();
            if known.facts != session.facts {
                *known = Arc::new(BoardFacts { facts: session.facts.clone(), accounts: session.accounts.clone() });
            }
        }
        let shown = session.latest();
        self.note(&shown);
        let number = {
            let mut state = self.state.lock();
            state.add(&shown);
            (state.shown, state.filling) = (shown, session.filling());
            state.number
        };
        self.number.send_replace(number);
    }

    fn note(&self, moment: &ShownMoment) {
        let (mut usual, boot_ns) = (self.usual.lock(), moment.later.at.boot_ns);
        if moment.earlier.is_some() && usual.is_due(boot_ns) {
            // A copy is made only if a page is being made of it just now.
            Arc::make_mut(&mut usual).note(boot_ns, figures::all(&moment.interval()));
        }
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
        let (points, standing) = (json!(points), &state.standing);
        let host = self.about();
        let news = format!(
            "{{\"n\":{number},\"columns\":{columns},\"points\":{points},\"host\":{host},\"standing\":{standing},\"frame\":{page}}}"
        );
        (number, news)
    }

    /// What a page says of the host itself.
    fn about(&self) -> Value {
        let known = self.known();
        json!({"name": terminal::printable(&known.facts.name), "kernel": terminal::printable(&known.facts.kernel)})
    }

    /// Made once a moment.
    fn page(&self) -> (u64, Arc<str>) {
        self.page_by(|shown, filling, usual| {
            let known = self.known();
            frame(&shown.interval(), (&known.facts, &known.accounts), filling, usual).to_string().into()
        })
    }

    /// Made by `make` if there is none of this moment, without a lock that the sampler needs.
    fn page_by(&self, make: impl FnOnce(&ShownMoment, &[(String, f64)], &Usual) -> Arc<str>) -> (u64, Arc<str>) {
        let (number, shown, filling) = {
            let state = self.state.lock();
            if let Some((number, page)) = state.page.as_ref().filter(|(number, _)| *number == state.number) {
                return (*number, Arc::clone(page));
            }
            (state.number, state.shown.clone(), state.filling.clone())
        };
        let usual = Arc::clone(&self.usual.lock());
        let page = make(&shown, &filling, &usual);
        self.state.lock().page = Some((number, Arc::clone(&page)));
        (number, page)
    }

    /// The newest moment as `mh sysstat --json` prints it.
    pub fn json(&self) -> String {
        let shown = self.state.lock().shown.clone();
        let known = self.known();
        mh_kit::report::json_line(&export::json(&shown.interval(), &known.facts, &known.accounts))
    }

    /// The newest moment for Prometheus; none before the first.
    pub fn metrics(&self, format: ExpositionFormat) -> Option<String> {
        let shown = self.state.lock().shown.clone();
        (shown.later.at.monotonic_ns > 0).then(|| exposition(&shown, &self.known().facts, format))
    }
}

impl BoardState {
    /// A moment more.
    fn add(&mut self, moment: &ShownMoment) {
        self.number += 1;
        // The first look has no rates to draw.
        if moment.earlier.is_some() {
            self.points.push_back((self.number, point(&moment.interval())));
        }
        if self.points.len() > POINTS_MAX {
            self.points.pop_front();
        }
    }
}

/// News of a host for one reader.
pub struct HostNews {
    board: Arc<HostBoard>,
    /// The number that the reader has seen.
    seen: u64,
}

impl HostNews {
    /// For a reader that has seen the moments up to `seen`.
    pub fn new(board: Arc<HostBoard>, seen: u64) -> Self {
        Self { board, seen }
    }
}

impl NewsSource for HostNews {
    fn watch(&self) -> watch::Receiver<u64> {
        self.board.watch()
    }

    fn news(&mut self) -> Option<(u64, String)> {
        let (number, news) = self.board.news(self.seen);
        self.seen = number;
        Some((number, news))
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
    fn whoever_samples_waits_for_no_page() {
        let (board, mut session) =
            (HostBoard::new(HostFacts::default(), Accounts::default()), HostSession::remote(HostFacts::default()));
        run(&board, &mut session, 1..=5);
        let made = board.page_by(|shown, _, _| {
            assert!(
                board.usual.try_lock().is_some()
                    && board.state.try_lock().is_some()
                    && board.known.try_lock().is_some()
            );
            run(&board, &mut session, 6..=15);
            shown.later.at.wall_ns.to_string().into()
        });
        assert_eq!((made.0, &*made.1), (5, "5000000000"), "the page of the moment that was asked for");
        assert_eq!(seen(&board, 0).0, 15);
    }

    #[test]
    fn no_moment_is_missed_or_comes_twice_whatever_comes_meanwhile() {
        let board = HostBoard::new(HostFacts::default(), Accounts::default());
        let mut session = HostSession::remote(HostFacts::default());
        let look = |session: &mut HostSession, second: u64| {
            let mut snapshot = Snapshot::default();
            (snapshot.at.monotonic_ns, snapshot.at.wall_ns) = (second * 1_000_000_000, second * 1_000_000_000);
            session.push(snapshot);
        };
        let mut next = 0;
        // So many come before each step of the reader.
        for (second, come) in [(1, 4), (5, 0), (5, 1), (6, 2), (8, 0), (8, 1)] {
            (second..second + come).for_each(|second| look(&mut session, second));
            next = board.follow(&mut session, next).expect("there is more");
        }
        while let Some(after) = board.follow(&mut session, next) {
            next = after;
        }
        let times: Vec<f64> = seen(&board, 0).2["points"].as_array().expect("points").iter().map(time).collect();
        assert_eq!((next, times), (8, vec![2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]), "the first look has no rates");
        look(&mut session, 9);
        assert_eq!((board.follow(&mut session, next), board.follow(&mut session, 9)), (Some(9), None));
    }

    fn time(point: &Value) -> f64 {
        point[1].as_f64().expect("a time")
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
