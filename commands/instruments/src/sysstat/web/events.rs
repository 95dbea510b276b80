//! The body of an answer: bytes, or news without end, of a host or of all. News are made when the connection has room for them, so a slow reader
//! gets fewer and newer ones; nothing waits in a queue.

use hyper::body::{Body, Bytes, Frame, SizeHint};
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// A reader that sees nothing for so long takes the connection for dead, and so do proxies.
const BEAT: Duration = Duration::from_secs(15);

/// When a connection last moved.
pub struct Activity {
    began: Instant,
    last_ms: AtomicU64,
}

impl Activity {
    /// Of a connection that begins now.
    pub fn new() -> Arc<Self> {
        Arc::new(Self { began: Instant::now(), last_ms: AtomicU64::new(0) })
    }

    /// It moves.
    pub fn note(&self) {
        // ORDER: Relaxed: a number that means nothing but itself.
        self.last_ms.store(u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// How long it has not moved.
    pub fn idle(&self) -> Duration {
        // ORDER: Relaxed: as above.
        self.began.elapsed().saturating_sub(Duration::from_millis(self.last_ms.load(Ordering::Relaxed)))
    }
}

/// The body of an answer.
pub enum AnswerBody {
    /// Bytes; none once they are sent.
    Whole(Option<Bytes>),
    /// News without end.
    Events(Box<EventStream>),
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.get_mut() {
            Self::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Events(events) => events.poll(context).map(|news| news.map(|news| Ok(Frame::data(news)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64)),
            Self::Events(_) => SizeHint::default(),
        }
    }
}

type Watch = watch::Receiver<u64>;
/// Whether there is news; none where a beat has passed without.
type Waiting = Pin<Box<dyn Future<Output = (Watch, Option<bool>)> + Send>>;

/// News for one reader, and which of them it has.
pub trait NewsSource: Send {
    /// Wakes who waits for news.
    fn watch(&self) -> watch::Receiver<u64>;

    /// What is new since the last call, with its number; none if nothing is.
    fn news(&mut self) -> Option<(u64, String)>;
}

/// News without end.
pub struct EventStream {
    source: Box<dyn NewsSource>,
    waiting: Waiting,
    activity: Arc<Activity>,
    /// When a beat is due: so long after the last bytes, whatever has happened without any.
    beat: tokio::time::Instant,
}

impl EventStream {
    /// For one reader.
    pub fn new(source: Box<dyn NewsSource>, activity: Arc<Activity>) -> Self {
        let mut watch = source.watch();
        // What there is already is news, too.
        watch.mark_changed();
        let beat = tokio::time::Instant::now() + BEAT;
        Self { source, waiting: wait(watch, beat), activity, beat }
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        loop {
            let (mut watch, has_news) = ready!(self.waiting.as_mut().poll(context));
            let number = *watch.borrow_and_update();
            let bytes = match has_news {
                Some(true) if number == 0 => None,
                Some(true) => self.event(),
                Some(false) => return Poll::Ready(None),
                None => Some(Bytes::from_static(b":\n\n")),
            };
            if bytes.is_some() {
                self.activity.note();
                self.beat = tokio::time::Instant::now() + BEAT;
            }
            self.waiting = wait(watch, self.beat);
            if bytes.is_some() {
                return Poll::Ready(bytes);
            }
        }
    }

    fn event(&mut self) -> Option<Bytes> {
        let (number, news) = self.source.news()?;
        Some(Bytes::from(format!("retry: 2000\nid: {number}\ndata: {news}\n\n")))
    }
}

fn wait(mut watch: Watch, beat: tokio::time::Instant) -> Waiting {
    Box::pin(async move {
        let changed = tokio::time::timeout_at(beat, watch.changed()).await;
        let has_news = changed.ok().map(|changed| changed.is_ok());
        (watch, has_news)
    })
}
