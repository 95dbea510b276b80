//! The side that is looked at: answers queries of its fleets, and sends samples to viewers that gave it credit. Sends
//! nothing to anybody else, and nothing at all without a viewer. One loop without a thread: `wait` does what is due.
//! What a sample is, its source knows.

mod answers;
mod feeding;
mod options;
mod session;

pub use feeding::{SampleRequest, SampleSource};
pub use options::{AgentEvent, AgentOptions, DEFAULT_PORT};

use crate::keys::HostState;
use crate::network::{InterfaceWatch, Ready, SleepList};
use crate::query::{NonceTable, QueryCounts, TokenBucket};
use crate::session::SessionEnd;
use crate::{Error, wall_ms};
use answers::Answers;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, listen, socket_with, sockopt};
use session::AgentSession;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

/// LIMIT: viewers at a time, those that have not proven to be one included.
const SESSIONS_MAX: usize = 64;

/// LIMIT: handshakes a second that addresses may begin from which no viewer came yet: 0.5 ms each.
const UNKNOWN_PER_SECOND: u32 = 4;

/// LIMIT: those that other addresses may begin.
const KNOWN_PER_SECOND: u32 = 64;

/// Without a descriptor for it, a connection waits in the kernel, and would be reported again and again.
const ACCEPT_PAUSE: Duration = Duration::from_secs(1);

/// LIMIT: addresses from which viewers came.
const KNOWN_MAX: usize = 256;

/// LIMIT: first messages that are not answered again.
const MESSAGES_MAX: usize = 4096;

/// LIMIT: connections that are taken in one turn.
const ACCEPTED_MAX: usize = 16;

const BACKLOG: i32 = 128;

/// Rotations end after hours: their ends are looked for so often, and after each rotation.
const LINES_RENEWED: Duration = Duration::from_secs(60);

const QUERIES_V4: u64 = 0;
const QUERIES_V6: u64 = 1;
const CONNECTIONS: u64 = 2;
const INTERFACES: u64 = 3;
const SESSIONS: u64 = 16;

/// What an agent knows beyond one session.
#[derive(Debug)]
struct AgentCore {
    options: AgentOptions,
    port: u16,
    known: NonceTable<IpAddr>,
    messages: NonceTable<[u8; 32]>,
    unknown_rate: TokenBucket,
    known_rate: TokenBucket,
}

/// A running agent.
#[derive(Debug)]
pub struct Agent<S> {
    core: AgentCore,
    source: S,
    sleep: SleepList,
    listener: TcpListener,
    /// Nothing is accepted before.
    accepts_from: Option<Instant>,
    watch: InterfaceWatch,
    answers: Answers,
    sessions: BTreeMap<u64, AgentSession>,
    next_session: u64,
    scratch: Vec<u8>,
    events: Vec<AgentEvent>,
    in_force_until: Instant,
}

impl<S: SampleSource> Agent<S> {
    /// Listens. Nothing is sent before a viewer asks.
    pub fn start(options: AgentOptions, source: S) -> Result<Self, Error> {
        let now = Instant::now();
        let sleep = SleepList::new()?;
        let listener = open_listener(options.port)?;
        let failed = |cause: std::io::Error| Error::system("listen on port", options.port.to_string(), cause);
        let port = listener.local_addr().map_err(failed)?.port();
        let watch = InterfaceWatch::new()?;
        let answers = Answers::open(&options, port, now)?;
        answers.add_to(&sleep, QUERIES_V4, QUERIES_V6).map_err(|cause| failed(cause.into()))?;
        sleep.add(&listener, CONNECTIONS, false).map_err(|cause| failed(cause.into()))?;
        sleep.add(&watch, INTERFACES, false).map_err(|cause| failed(cause.into()))?;
        let core = AgentCore {
            options,
            port,
            known: NonceTable::new(KNOWN_MAX),
            messages: NonceTable::new(MESSAGES_MAX),
            unknown_rate: TokenBucket::new(UNKNOWN_PER_SECOND, now),
            known_rate: TokenBucket::new(KNOWN_PER_SECOND, now),
        };
        Ok(Self {
            core,
            source,
            sleep,
            listener,
            accepts_from: None,
            watch,
            answers,
            sessions: BTreeMap::new(),
            next_session: SESSIONS,
            scratch: vec![0; 64 << 10],
            events: Vec::new(),
            in_force_until: now,
        })
    }

    /// The port of connections and queries.
    pub fn port(&self) -> u16 {
        self.core.port
    }

    /// What became of the queries so far.
    pub fn query_counts(&self) -> QueryCounts {
        self.answers.counts()
    }

    /// The source of samples.
    pub fn source(&mut self) -> &mut S {
        &mut self.source
    }

    /// Other fleets, tickets and rotations from now on: they were changed by another program. Sessions of fleets that
    /// are gone end.
    pub fn set_state(&mut self, state: HostState) {
        self.core.options.state = state;
        self.in_force_until = Instant::now();
    }

    /// When [`Self::wait`] has something to do by itself, if so.
    pub fn due(&self) -> Option<Instant> {
        let sessions = self.sessions.values().filter_map(AgentSession::due).min();
        [sessions, self.answers.due(), self.accepts_from].into_iter().flatten().min()
    }

    /// Does what is due, and sleeps for at most `limit` before if nothing is.
    pub fn wait(&mut self, limit: Duration) -> Result<Vec<AgentEvent>, Error> {
        let now = Instant::now();
        self.renew_lines(now);
        if self.accepts_from.take_if(|from| *from <= now).is_some() {
            let added = self.sleep.add(&self.listener, CONNECTIONS, false);
            added.map_err(|cause| Error::system("listen on port", self.core.port.to_string(), cause))?;
        }
        let limit = self.due().map_or(limit, |due| limit.min(due.saturating_duration_since(now)));
        for ready in self.sleep.sleep(limit)? {
            self.take(ready);
        }
        let now = Instant::now();
        self.answers.send_due(now);
        self.feed_due(now);
        Ok(std::mem::take(&mut self.events))
    }

    /// Lines go out of force with time, and sessions with them.
    fn renew_lines(&mut self, now: Instant) {
        if now >= self.in_force_until {
            self.in_force_until = now + LINES_RENEWED;
            let lines = self.core.options.state.lines_in_force(wall_ms() / 1000);
            self.answers.set_lines(&lines);
            let counts = |session: &AgentSession| {
                session.line().is_none_or(|line| lines.iter().any(|other| other.public == line.public))
            };
            let ended: Vec<u64> =
                self.sessions.iter().filter(|(_, session)| !counts(session)).map(|(token, _)| *token).collect();
            ended.into_iter().for_each(|token| self.end(token, &SessionEnd::Rotated));
        }
    }

    fn take(&mut self, ready: Ready) {
        let now = Instant::now();
        match ready.token {
            QUERIES_V4 | QUERIES_V6 => {
                let is_v6 = ready.token == QUERIES_V6;
                self.events.extend(self.answers.take_queries(is_v6, &self.core, now));
            }
            CONNECTIONS => self.accept(now),
            INTERFACES => {
                if self.watch.has_changed() {
                    self.answers.look_again();
                }
            }
            token => self.serve(token, ready, now),
        }
    }

    fn accept(&mut self, now: Instant) {
        for _ in 0..ACCEPTED_MAX {
            let (stream, peer) = match self.listener.accept() {
                Ok(accepted) => accepted,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                // The peer has gone again.
                Err(error) if error.kind() == ErrorKind::ConnectionAborted => continue,
                Err(_) => {
                    self.sleep.remove(&self.listener);
                    self.accepts_from = Some(now + ACCEPT_PAUSE);
                    return;
                }
            };
            let is_known = self.core.known.has(&peer.ip().to_canonical());
            let has_room = self.sessions.len() < SESSIONS_MAX && self.answers.may_connect(&peer);
            let rate = if is_known { &mut self.core.known_rate } else { &mut self.core.unknown_rate };
            let may_try = has_room && rate.take(now);
            let Some(session) = may_try.then(|| AgentSession::accepted(stream, peer, now)).and_then(Result::ok) else {
                continue;
            };
            if self.sleep.add(&session, self.next_session, false).is_ok() {
                self.sessions.insert(self.next_session, session);
                self.next_session += 1;
            }
        }
    }

    fn serve(&mut self, token: u64, ready: Ready, now: Instant) {
        let Some(session) = self.sessions.get_mut(&token) else { return };
        let was_open = session.line().is_some();
        let served = session.serve(ready, &mut self.core, &mut self.scratch, now);
        if let Some(line) = session.line().filter(|_| !was_open) {
            let (peer, fleet, role) = (session.peer, line.name.clone(), line.role);
            self.events.push(AgentEvent::Opened { session: token, peer, fleet, role });
        }
        match served {
            Ok(false) => {}
            Ok(true) => {
                self.in_force_until = now;
                self.events.push(AgentEvent::Rotated { session: token });
            }
            Err(end) => return self.end(token, &end),
        }
        self.watch_writes(token);
    }

    fn feed_due(&mut self, now: Instant) {
        let mut ended = Vec::new();
        for (token, session) in &mut self.sessions {
            if session.due().is_some_and(|due| due <= now)
                && let Err(end) = session.feed(*token, &mut self.source, now)
            {
                ended.push((*token, end));
            }
        }
        for (token, end) in &ended {
            self.end(*token, end);
        }
        let sending: Vec<u64> =
            self.sessions.iter().filter(|(_, session)| session.wants_writes()).map(|(token, _)| *token).collect();
        sending.into_iter().for_each(|token| self.watch_writes(token));
    }

    fn watch_writes(&mut self, token: u64) {
        let Some(session) = self.sessions.get_mut(&token) else { return };
        let wants = session.wants_writes();
        if session.watches_writes != wants {
            session.watches_writes = wants;
            self.sleep.set_writable(session, token, wants);
        }
    }

    /// Drops the socket, which takes it out of the epoll.
    fn end(&mut self, token: u64, end: &SessionEnd) {
        let Some(session) = self.sessions.remove(&token) else { return };
        if session.line().is_some() {
            self.source.ended(token);
            self.events.push(AgentEvent::Closed { session: token, peer: session.peer, reason: end.to_string() });
        }
    }
}

impl<S> AsFd for Agent<S> {
    /// Readable when [`Agent::wait`] has something to do; what is due by time is in [`Agent::due`].
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.sleep.as_fd()
    }
}

/// One socket for both families; IPv4 alone if the kernel has no IPv6.
fn open_listener(port: u16) -> Result<TcpListener, Error> {
    let both = listener_on(AddressFamily::INET6, SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), port));
    let listener = match both {
        Err(rustix::io::Errno::AFNOSUPPORT | rustix::io::Errno::ADDRNOTAVAIL) => {
            listener_on(AddressFamily::INET, SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), port))
        }
        both => both,
    };
    listener.map_err(|cause| Error::system("listen on port", port.to_string(), cause))
}

fn listener_on(family: AddressFamily, address: SocketAddr) -> Result<TcpListener, rustix::io::Errno> {
    let socket = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK, None)?;
    // An agent that starts again does not wait for the connections of the one before.
    sockopt::set_socket_reuseaddr(&socket, true)?;
    if family == AddressFamily::INET6 {
        sockopt::set_ipv6_v6only(&socket, false)?;
    }
    bind(&socket, &address)?;
    listen(&socket, BACKLOG)?;
    Ok(TcpListener::from(socket))
}
