//! The server's side: both schedulers, and times from a script.

use super::FRAME;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Who serves a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EchoScheduler {
    /// A thread of its own, as PostgreSQL has a process and MariaDB by default a thread.
    ThreadEach,
    /// So many threads for all connections.
    Pool(NonZeroUsize),
}

/// What one request takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EchoStep {
    /// The thread sleeps: as a server that waits for a disk.
    pub wait: Duration,
    /// The thread computes.
    pub work: Duration,
}

/// What requests take, one after the other over all connections, and from the beginning again.
#[derive(Debug)]
pub struct Service {
    steps: Vec<EchoStep>,
    turn: AtomicU64,
}

impl Service {
    /// Requests take these times in turn; none take no time.
    pub fn new(steps: Vec<EchoStep>) -> Self {
        Self { steps, turn: AtomicU64::new(0) }
    }

    fn serve(&self) {
        if self.steps.is_empty() {
            return;
        }
        let turn = self.turn.fetch_add(1, Ordering::Relaxed) % self.steps.len() as u64;
        let step = self.steps[turn as usize];
        if !step.work.is_zero() {
            let began = Instant::now();
            while began.elapsed() < step.work {
                std::hint::spin_loop();
            }
        }
        if !step.wait.is_zero() {
            std::thread::sleep(step.wait);
        }
    }
}

/// A server that waits for connections.
#[derive(Debug)]
pub struct EchoServer {
    listener: TcpListener,
}

/// LIMIT: stacks of threads that read eight bytes.
const STACK_BYTES: usize = 64 << 10;

impl EchoServer {
    /// Listens at `address`; port 0 lets the kernel choose.
    pub fn listen(address: SocketAddr) -> io::Result<Self> {
        Ok(Self { listener: TcpListener::bind(address)? })
    }

    /// Where it listens.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until the process ends, or an error that is not one connection's.
    pub fn serve(&self, scheduler: EchoScheduler, service: Service) -> io::Result<()> {
        match scheduler {
            EchoScheduler::ThreadEach => self.serve_each(&Arc::new(service)),
            EchoScheduler::Pool(threads) => self.serve_pool(threads, service),
        }
    }

    fn serve_each(&self, service: &Arc<Service>) -> io::Result<()> {
        loop {
            let mut stream = self.accept()?;
            let service = Arc::clone(service);
            let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
            // A connection without a thread is closed: its client sees that.
            let _no_thread = thread.spawn(move || while answer(&mut stream, &service) {});
        }
    }

    fn serve_pool(&self, threads: NonZeroUsize, service: Service) -> io::Result<()> {
        let pool = Arc::new(Pool { epoll: epoll::create(CreateFlags::CLOEXEC)?, streams: Mutex::default(), service });
        for _thread in 0..threads.get() {
            let pool = Arc::clone(&pool);
            std::thread::Builder::new().stack_size(STACK_BYTES).spawn(move || while pool.serve_one().is_ok() {})?;
        }
        loop {
            pool.take(self.accept()?)?;
        }
    }

    fn accept(&self) -> io::Result<TcpStream> {
        loop {
            match self.listener.accept() {
                Ok((stream, _)) => {
                    // One that is gone already shows that when it is read.
                    let _gone = stream.set_nodelay(true);
                    return Ok(stream);
                }
                Err(error) if matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::ConnectionAborted) => {
                }
                // No descriptor is free: until one is.
                Err(error) if error.raw_os_error() == Some(rustix::io::Errno::MFILE.raw_os_error()) => {
                    std::thread::sleep(Duration::from_millis(10));
                }
                Err(error) => return Err(error),
            }
        }
    }
}

/// Threads that serve whichever connection has a request.
struct Pool {
    epoll: std::os::fd::OwnedFd,
    /// By descriptor. A connection that a thread serves is not armed, so that no other has it.
    streams: Mutex<Vec<Option<Arc<TcpStream>>>>,
    service: Service,
}

impl Pool {
    fn take(&self, stream: TcpStream) -> io::Result<()> {
        let number = descriptor_number(&stream);
        let stream = Arc::new(stream);
        {
            let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
            if streams.len() <= number {
                streams.resize_with(number + 1, || None);
            }
            streams[number] = Some(Arc::clone(&stream));
        }
        Ok(epoll::add(&self.epoll, &*stream, EventData::new_u64(number as u64), EventFlags::IN | EventFlags::ONESHOT)?)
    }

    fn serve_one(&self) -> io::Result<()> {
        let mut events = [epoll::Event { flags: EventFlags::empty(), data: EventData::new_u64(0) }];
        let found = match epoll::wait(&self.epoll, &mut events, None) {
            Ok(found) => found,
            Err(rustix::io::Errno::INTR) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        for event in &events[..found] {
            let number = event.data.u64() as usize;
            let stream = self.stream(number);
            let Some(stream) = stream else { continue };
            let goes_on = answer(&mut &*stream, &self.service);
            let armed = EventFlags::IN | EventFlags::ONESHOT;
            if !goes_on || epoll::modify(&self.epoll, &*stream, EventData::new_u64(number as u64), armed).is_err() {
                self.streams.lock().unwrap_or_else(PoisonError::into_inner)[number] = None;
            }
        }
        Ok(())
    }

    fn stream(&self, number: usize) -> Option<Arc<TcpStream>> {
        let streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        streams.get(number).and_then(Clone::clone)
    }
}

fn descriptor_number(stream: &TcpStream) -> usize {
    use std::os::fd::AsRawFd;
    usize::try_from(stream.as_raw_fd()).unwrap_or(0)
}

/// Answers one request; false when the connection is over.
fn answer(stream: &mut (impl Read + Write), service: &Service) -> bool {
    let mut frame = [0; FRAME];
    if stream.read_exact(&mut frame).is_err() {
        return false;
    }
    service.serve();
    stream.write_all(&frame).is_ok()
}
