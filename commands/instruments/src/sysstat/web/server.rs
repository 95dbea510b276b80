//! Listens and answers, on one thread beside the sampler. Bounds: 64 connections, 8 KiB of a request's head within ten seconds, no byte
//! ahead of a slow reader but what fits the connection's buffer; who does not move for a minute is cut off.

use super::events::Activity;
use super::routes::{Site, answer};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::net::TcpListener;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, watch};

/// LIMIT: connections of a listener; a browser has up to six.
const CONNECTIONS_MAX: usize = 64;
/// LIMIT: lines of a head.
const HEADERS_MAX: usize = 64;
/// LIMIT: bytes of a head, and of an answer that wait for a slow reader.
const BUFFER_BYTES: usize = 8 << 10;
/// LIMIT: how long a head may take.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// LIMIT: how long nothing may move. Events beat four times as often.
const IDLE_TIME: Duration = Duration::from_secs(60);
/// How long it waits when descriptors have run out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

/// What who is one too many gets.
const FULL: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nRetry-After: 5\r\nConnection: close\r\n\r\n";

/// The thread; ends when this goes.
pub struct ServerThread {
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl ServerThread {
    /// Serves each site at its listener.
    pub fn start(sites: Vec<(TcpListener, Site)>) -> std::io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
        let (stop, stopped) = watch::channel(false);
        for (listener, site) in sites {
            listener.set_nonblocking(true)?;
            let _entered = runtime.enter();
            let listener = tokio::net::TcpListener::from_std(listener)?;
            runtime.spawn(listen(listener, Arc::new(site)));
        }
        let serve = move || runtime.block_on(until_stopped(stopped));
        let thread = std::thread::Builder::new().name("web".to_owned()).spawn(serve)?;
        Ok(Self { stop, thread: Some(thread) })
    }
}

impl Drop for ServerThread {
    fn drop(&mut self) {
        self.stop.send_replace(true);
        let _a_panic_has_been_told = self.thread.take().map(JoinHandle::join);
    }
}

async fn until_stopped(mut stopped: watch::Receiver<bool>) {
    let _stopped_or_gone = stopped.wait_for(|stopped| *stopped).await;
}

async fn listen(listener: tokio::net::TcpListener, site: Arc<Site>) {
    let room = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let Ok(place) = Arc::clone(&room).try_acquire_owned() else {
            let _it_is_cut_off_anyway = stream.try_write(FULL);
            continue;
        };
        let site = Arc::clone(&site);
        tokio::spawn(async move {
            serve(stream, site).await;
            drop(place);
        });
    }
}

async fn serve(stream: TcpStream, site: Arc<Site>) {
    let activity = Activity::new();
    let of_requests = Arc::clone(&activity);
    let service = service_fn(move |request| {
        let (site, activity) = (Arc::clone(&site), Arc::clone(&of_requests));
        async move { Ok::<_, Infallible>(answer(&site, &activity, request).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .max_headers(HEADERS_MAX)
        .max_buf_size(BUFFER_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    tokio::select! {
        _whatever_a_client_does_wrong = connection => {}
        () = until_idle(&activity) => {}
    }
}

async fn until_idle(activity: &Activity) {
    loop {
        match IDLE_TIME.checked_sub(activity.idle()).filter(|left| !left.is_zero()) {
            Some(left) => tokio::time::sleep(left).await,
            None => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::access::Secrets;
    use super::super::address::OwnNames;
    use super::*;
    use std::io::{Read, Write};
    use std::net::SocketAddr;

    fn server() -> (ServerThread, SocketAddr) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("bound");
        let site = Site {
            names: OwnNames::new("web7", "127.0.0.1"),
            secrets: Some(Secrets::new(address.port()).expect("random bytes")),
            hosts: Vec::new(),
            fleet: None,
        };
        (ServerThread::start(vec![(listener, site)]).expect("a thread"), address)
    }

    fn ask(address: SocketAddr, request: &[u8]) -> String {
        let mut stream = std::net::TcpStream::connect(address).expect("it listens");
        // Cut off in the middle of a head that is too long.
        let _may_be_cut_off = stream.write_all(request);
        let mut answer = Vec::new();
        let _may_be_reset = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    #[test]
    fn requests_are_answered_and_nonsense_is_refused() {
        let (server, address) = server();
        let page = ask(address, b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        assert!(page.starts_with("HTTP/1.1 200 OK\r\n") && page.ends_with("</html>\n"), "{page}");
        let nameless = ask(address, b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n");
        assert!(nameless.starts_with("HTTP/1.1 421 "), "{nameless}");
        assert!(ask(address, b"\0\xff nonsense\r\n\r\n").starts_with("HTTP/1.1 400 "));
        let long = format!("GET / HTTP/1.1\r\nHost: localhost\r\nX: {}", "x".repeat(4 * BUFFER_BYTES));
        assert!(!ask(address, long.as_bytes()).starts_with("HTTP/1.1 200"));
        let many = format!("GET / HTTP/1.1\r\nHost: localhost\r\n{}\r\n", "X: y\r\n".repeat(2 * HEADERS_MAX));
        assert!(ask(address, many.as_bytes()).starts_with("HTTP/1.1 431 "));
        drop(server);
        assert!(std::net::TcpStream::connect(address).is_err(), "it listens no more");
    }

    #[test]
    fn one_too_many_is_turned_away_and_the_others_are_served() {
        let (_server, address) = server();
        let head = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
        let mut held: Vec<_> =
            (0..CONNECTIONS_MAX).map(|_| std::net::TcpStream::connect(address).expect("it listens")).collect();
        // Accepted one after the other: the last that is answered has all before it accepted.
        let last = held.last_mut().expect("one");
        last.write_all(head).expect("there");
        let mut begin = [0_u8; 15];
        last.read_exact(&mut begin).expect("an answer");
        assert_eq!(&begin, b"HTTP/1.1 200 OK");
        assert!(ask(address, b"").starts_with("HTTP/1.1 503 "));
        held.truncate(CONNECTIONS_MAX / 2);
        let served = |_| {
            ask(address, b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").starts_with("HTTP/1.1 200")
        };
        // That they have gone is noticed when the thread next looks.
        assert!((0..1000).any(served));
    }
}
