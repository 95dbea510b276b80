//! A list that many programs write at once: each connects to a Unix socket, sends lines and receives their results.
//! A sender has a reader of its own, so lines never mix; a line that was cut off is no job. Only root and the user who runs the
//! server may send. Protocol and ends: `README.md` beside this crate's manifest, under "A server".

use crate::list::{JsonRecords, ListItem, ListReader, Syntax, UnfinishedLine};
use crate::record::Utility;
use crate::source::JobFeed;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use std::collections::HashMap;
use std::fs::Permissions;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// LIMIT: senders at once; others wait in the kernel's queue. What each has sent and not yet made a job of is bounded by a line.
const SENDERS_MAX: usize = 256;

/// When a server ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServeUntil {
    /// When a sender asks for it, or a signal comes.
    Told,
    /// Then too, and when after its first job it has nothing to do and nobody is connected.
    Idle,
}

/// What a sender may begin with: a line `#mh` and words, which for a list would be a comment.
pub mod greeting {
    /// How it begins.
    pub const PREFIX: &str = "#mh ";
    /// The sender is told when its jobs have ended.
    pub const WAIT: &str = "wait";
    /// The server takes no more jobs and ends with those it has.
    pub const FINISH: &str = "finish";
    /// The sender's lines are JSON records, however the server reads others.
    pub const RECORDS: &str = "records";
    /// LIMIT: what is longer is no greeting.
    pub(super) const BYTES_MAX: usize = 64;
}

/// A socket, and those who are connected.
#[derive(Debug)]
pub struct SocketServer {
    socket: Socket,
    epoll: OwnedFd,
    /// Whether epoll tells when somebody connects; not while there are too many or no descriptors.
    is_listening: bool,
    senders: Vec<Option<Sender>>,
    /// Who is asked next: each sender in turn.
    turn: usize,
    syntax: Syntax,
    utility: Utility,
    until: ServeUntil,
    number: u64,
    /// Whose jobs have not ended.
    sender_of: HashMap<u64, usize>,
    is_finishing: bool,
}

/// The name that others find it by.
#[derive(Debug)]
struct Socket {
    listener: UnixListener,
    path: PathBuf,
    /// Device and inode: what is there later may be another server's.
    identity: (u64, u64),
}

#[derive(Debug)]
struct Sender {
    stream: UnixStream,
    list: ListReader,
    utility: Utility,
    /// What came before the first line was whole; none afterwards.
    beginning: Option<Vec<u8>>,
    is_waiting: bool,
    is_read: bool,
    has_been_told: bool,
    taken: u64,
    ended: u64,
    failed: u64,
}

/// Token of the listener; those of senders are their places.
const LISTENER: u64 = u64::MAX;

impl SocketServer {
    /// Makes the socket at `path`, for this user alone. A socket that nobody listens on is replaced.
    ///
    /// # Errors
    /// When another server listens there, something else is there, or the kernel refuses.
    pub fn bind(path: &Path, syntax: Syntax, utility: Utility, until: ServeUntil) -> io::Result<Self> {
        let socket = Socket::bind(path)?;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let mut server = Self {
            socket,
            epoll,
            is_listening: false,
            senders: Vec::new(),
            turn: 0,
            syntax,
            utility,
            until,
            number: 0,
            sender_of: HashMap::new(),
            is_finishing: false,
        };
        server.listen();
        Ok(server)
    }
}

impl JobFeed for SocketServer {
    /// Becomes readable when somebody connects or sends.
    fn descriptor(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }

    /// Takes in what has come, without waiting.
    fn read_once(&mut self, scratch: &mut [u8]) -> io::Result<()> {
        let mut events = Vec::with_capacity(64);
        let now = rustix::time::Timespec { tv_sec: 0, tv_nsec: 0 };
        match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), Some(&now)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        for event in &events {
            match event.data.u64() {
                LISTENER => self.accept(),
                place => self.read_sender(place as usize, scratch),
            }
        }
        Ok(())
    }

    /// The next job or barrier of any sender.
    fn next_item(&mut self) -> Option<ListItem> {
        for step in 0..self.senders.len() {
            let place = (self.turn + step) % self.senders.len();
            let Some(sender) = &mut self.senders[place] else { continue };
            match sender.list.next_item() {
                Ok(Some(item)) => {
                    self.turn = place + 1;
                    return Some(self.numbered(item, place));
                }
                Ok(None) => self.consider_farewell(place),
                Err(fault) => {
                    self.dismiss(place, &format!("{}; nothing behind it was read", with_causes(&fault)));
                }
            }
        }
        if self.until == ServeUntil::Idle && self.number > 0 && !self.is_finishing && self.is_idle() {
            self.finish();
        }
        None
    }

    /// Whether no more jobs come.
    fn is_exhausted(&self) -> bool {
        self.is_finishing && self.senders.iter().flatten().all(|sender| sender.is_read)
    }

    /// A job of somebody's has come to its end.
    fn job_ended(&mut self, number: u64, is_success: bool) {
        let Some(place) = self.sender_of.remove(&number) else { return };
        if let Some(Some(sender)) = self.senders.get_mut(place) {
            sender.ended += 1;
            sender.failed += u64::from(!is_success);
            self.consider_farewell(place);
        }
        self.listen();
    }
}

impl SocketServer {
    fn numbered(&mut self, item: ListItem, place: usize) -> ListItem {
        let ListItem::Job(mut spec) = item else { return item };
        self.number += 1;
        spec.number = self.number;
        self.sender_of.insert(self.number, place);
        if let Some(sender) = &mut self.senders[place] {
            sender.taken += 1;
        }
        ListItem::Job(spec)
    }

    fn is_idle(&self) -> bool {
        self.sender_of.is_empty() && self.senders.iter().all(Option::is_none)
    }

    /// Takes the name away, then takes in who had connected by then: nobody is lost in between.
    fn finish(&mut self) {
        self.is_finishing = true;
        self.socket.remove_name();
        self.accept();
        self.stop_listening();
    }

    fn listen(&mut self) {
        if !self.is_listening && !self.is_finishing {
            let data = EventData::new_u64(LISTENER);
            self.is_listening = epoll::add(&self.epoll, &self.socket.listener, data, EventFlags::IN).is_ok();
        }
    }

    fn stop_listening(&mut self) {
        if std::mem::take(&mut self.is_listening) {
            let _it_was_watched = epoll::delete(&self.epoll, &self.socket.listener);
        }
    }

    fn accept(&mut self) {
        while self.senders.iter().flatten().count() < SENDERS_MAX {
            match self.socket.listener.accept() {
                Ok((stream, _)) => self.welcome(stream),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                // No descriptors: tried again when a job has ended or a sender is gone.
                Err(_) => break,
            }
        }
        self.stop_listening();
    }

    /// An external program, and one who cannot be watched, sees the end of the connection.
    fn welcome(&mut self, stream: UnixStream) {
        let own = rustix::process::geteuid();
        let is_allowed =
            rustix::net::sockopt::socket_peercred(&stream).is_ok_and(|peer| peer.uid == own || peer.uid.is_root());
        if !is_allowed || stream.set_nonblocking(true).is_err() {
            return;
        }
        let place = self.senders.iter().position(Option::is_none).unwrap_or(self.senders.len());
        if epoll::add(&self.epoll, &stream, EventData::new_u64(place as u64), EventFlags::IN).is_err() {
            return;
        }
        let sender = Sender {
            stream,
            list: ListReader::new(self.syntax.clone(), self.utility),
            utility: self.utility,
            beginning: Some(Vec::new()),
            is_waiting: false,
            is_read: false,
            has_been_told: false,
            taken: 0,
            ended: 0,
            failed: 0,
        };
        if place == self.senders.len() {
            self.senders.push(Some(sender));
        } else {
            self.senders[place] = Some(sender);
        }
    }

    fn read_sender(&mut self, place: usize, scratch: &mut [u8]) {
        let Some(Some(sender)) = self.senders.get_mut(place) else { return };
        match sender.stream.read(scratch) {
            Ok(0) => {
                let _it_was_watched = epoll::delete(&self.epoll, &sender.stream);
                if sender.end() == UnfinishedLine::Dropped {
                    sender.tell(&serde_json::json!({ "error": "the last line has no end; it is no job" }));
                }
            }
            Ok(count) => {
                if sender.take(&scratch[..count]) == Wish::Finish {
                    self.finish();
                }
            }
            Err(error) if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock) => {}
            // It was killed, or does not read what it is told.
            Err(_) => self.let_go(place),
        }
    }

    /// Tells a sender how many jobs were taken when it has sent all, and lets it go when it has heard all it wants.
    fn consider_farewell(&mut self, place: usize) {
        let Some(sender) = &mut self.senders[place] else { return };
        if !sender.is_read || !sender.list.is_exhausted() {
            return;
        }
        if !std::mem::replace(&mut sender.has_been_told, true) {
            sender.tell(&serde_json::json!({ "taken": sender.taken }));
        }
        if !sender.is_waiting {
            return self.let_go(place);
        }
        if sender.ended == sender.taken {
            sender.tell(&serde_json::json!({ "ended": sender.ended, "failed": sender.failed }));
            self.let_go(place);
        }
    }

    fn dismiss(&mut self, place: usize, error: &str) {
        if let Some(sender) = &mut self.senders[place] {
            sender.tell(&serde_json::json!({ "error": error, "taken": sender.taken }));
        }
        self.let_go(place);
    }

    fn let_go(&mut self, place: usize) {
        // Its jobs stay; nobody is told about them. The place is free for another, who is not told either.
        self.senders[place] = None;
        self.sender_of.values_mut().filter(|owner| **owner == place).for_each(|owner| *owner = NOBODY);
        self.listen();
    }
}

/// The place of senders that are gone.
const NOBODY: usize = usize::MAX;

/// What a sender asks for besides jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wish {
    None,
    Finish,
}

impl Sender {
    /// Takes what has come. The first line may say what the sender wants; nothing is read as a job before it is whole.
    fn take(&mut self, bytes: &[u8]) -> Wish {
        let Some(beginning) = &mut self.beginning else {
            self.list.put(bytes);
            return Wish::None;
        };
        beginning.extend_from_slice(bytes);
        let line_end = beginning.iter().position(|&byte| byte == b'\n');
        let prefix = greeting::PREFIX.as_bytes();
        let may_be_greeting = prefix.starts_with(beginning) || beginning.starts_with(prefix);
        if line_end.is_none() && may_be_greeting && beginning.len() < greeting::BYTES_MAX {
            return Wish::None;
        }
        let greeting = line_end.and_then(|end| beginning[..end].strip_prefix(prefix)).map(<[u8]>::to_vec);
        let begin = greeting.as_ref().map_or(0, |words| prefix.len() + words.len() + 1);
        let words = greeting.unwrap_or_default();
        let says = |wanted: &str| words.split(|&byte| byte == b' ').any(|word| word == wanted.as_bytes());
        if says(greeting::RECORDS) {
            let syntax = Syntax::Words { lines_per_job: 1, records: JsonRecords::Read };
            self.list = ListReader::new(syntax, self.utility);
        }
        self.is_waiting = says(greeting::WAIT);
        self.list.put(&beginning[begin..]);
        self.beginning = None;
        if says(greeting::FINISH) { Wish::Finish } else { Wish::None }
    }

    fn end(&mut self) -> UnfinishedLine {
        if let Some(beginning) = self.beginning.take() {
            self.list.put(&beginning);
        }
        self.is_read = true;
        self.list.end_at_line()
    }

    /// A few short lines a connection always fit into the socket; who closed it does not want them.
    fn tell(&mut self, words: &serde_json::Value) {
        let _unheard = self.stream.write_all(format!("{words}\n").as_bytes());
    }
}

impl Socket {
    /// Makes the socket under another name and renames it, so that it is whole when it can be seen.
    fn bind(path: &Path) -> io::Result<Self> {
        let directory = path.parent().filter(|directory| !directory.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let name = path.file_name().ok_or(ErrorKind::InvalidInput)?;
        // Two servers that begin at once would each find the other's socket without a listener.
        let lock = rustix::fs::open(directory, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        flock(&lock, FlockOperation::LockExclusive)?;
        refuse_what_is_used(path)?;
        let new = directory.join(format!(".{}.{}", name.to_string_lossy(), std::process::id()));
        let _of_a_dead_process = std::fs::remove_file(&new);
        let listener = UnixListener::bind(&new)?;
        let identity = name_it(&listener, &new, path).inspect_err(|_| drop(std::fs::remove_file(&new)))?;
        Ok(Self { listener, path: path.to_path_buf(), identity })
    }

    fn remove_name(&self) {
        let is_own = std::fs::symlink_metadata(&self.path).is_ok_and(|file| (file.dev(), file.ino()) == self.identity);
        if is_own {
            let _gone_already = std::fs::remove_file(&self.path);
        }
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        self.remove_name();
    }
}

/// Gives a socket its mode and then its name; its identity.
fn name_it(listener: &UnixListener, new: &Path, path: &Path) -> io::Result<(u64, u64)> {
    std::fs::set_permissions(new, Permissions::from_mode(0o600))?;
    listener.set_nonblocking(true)?;
    let file = std::fs::symlink_metadata(new)?;
    std::fs::rename(new, path)?;
    Ok((file.dev(), file.ino()))
}

/// A fault with its causes in one line.
fn with_causes(fault: &dyn std::error::Error) -> String {
    let mut words = fault.to_string();
    let mut cause = fault.source();
    while let Some(error) = cause {
        words = format!("{words}: {error}");
        cause = error.source();
    }
    words
}

fn refuse_what_is_used(path: &Path) -> io::Result<()> {
    match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
        Ok(file) if !file.file_type().is_socket() => {
            return Err(io::Error::new(ErrorKind::AlreadyExists, "something that is no socket is there"));
        }
        Ok(_) => {}
    }
    match UnixStream::connect(path) {
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => Ok(()),
        Err(error) => Err(error),
        Ok(_) => Err(io::Error::new(ErrorKind::AddrInUse, "a server listens there already")),
    }
}
