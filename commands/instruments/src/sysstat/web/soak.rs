//! Both pages for the day on a made-up clock: readers that read each second, rarely, or never.

use super::board::{HostBoard, HostNews};
use super::events::NewsSource;
use super::fleet_board::{FleetBoard, FleetNews, FleetTableView};
use crate::sysstat::fleet::SharedFleet;
use crate::sysstat::screen::SharedHost;
use ::fleet::viewer::HostId;
use observe::host::recording::HostFacts;
use observe::source::accounts::Accounts;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// A reader and between how many seconds it reads; none if never.
struct Reader {
    source: Box<dyn NewsSource>,
    every_s: Option<u64>,
    _watch: watch::Receiver<u64>,
}

impl Reader {
    fn new(source: impl NewsSource + 'static, every_s: Option<u64>) -> Self {
        let watch = source.watch();
        Self { source: Box::new(source), every_s, _watch: watch }
    }
}

/// LIMIT: bytes of a reader's news after five minutes: 300 points, and a page.
const NEWS_MAX: usize = 256 << 10;

/// The pages and their readers.
pub struct Pages {
    host: Arc<HostBoard>,
    fleet: Arc<FleetBoard>,
    readers: Vec<Reader>,
    /// The reader of one host of the fleet.
    opened: Option<Reader>,
}

impl Pages {
    /// With nobody on them yet but their readers.
    pub fn new(pace: Duration) -> Self {
        let host = Arc::new(HostBoard::new(HostFacts::default(), Accounts::default()));
        let fleet = Arc::new(FleetBoard::new(pace));
        let mut readers = Vec::new();
        for every_s in [Some(1), Some(300), None] {
            readers.push(Reader::new(HostNews::new(Arc::clone(&host), 0), every_s));
            let view = FleetTableView::of_query("each=1");
            readers.push(Reader::new(FleetNews::new(Arc::clone(&fleet), view), every_s));
        }
        Self { host, fleet, readers, opened: None }
    }

    /// Somebody opens a host in place of the last.
    pub fn open(&mut self, id: HostId) {
        let board = self.fleet.open(id).expect("there");
        self.opened = Some(Reader::new(HostNews::new(board, 0), Some(10)));
    }

    /// A second.
    pub fn pass(&mut self, second: u64, local: &SharedHost, fleet: &SharedFleet, now: Instant) {
        self.host.publish(&local.session.lock());
        self.fleet.publish(fleet, now);
        for reader in self.readers.iter_mut().chain(&mut self.opened) {
            if reader.every_s.is_some_and(|every| second.is_multiple_of(every)) {
                let bytes = reader.source.news().map_or(0, |(_, news)| news.len());
                assert!(bytes < NEWS_MAX, "{bytes} bytes of news after {second} s");
            }
        }
    }
}
