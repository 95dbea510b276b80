//! What the server pays: CPU time, switches and memory of its whole process tree, by the account of the instruments. The generator is no part of it.

use observe::model::{Idlers, Interval};
use observe::process_tree::ProcessTree;
use observe::sample::HostSample;
use observe::sampler::{Depth, HostSampler, ProcessSelection, SampleContent, Sleepers, Texts};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs::read_to_string;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;

/// What a server used in an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ServerCost {
    /// The length of the interval.
    pub elapsed_ns: u64,
    /// CPU time in programs.
    pub user_ns: u64,
    /// CPU time in the kernel.
    pub system_ns: u64,
    /// Times that its threads gave up a CPU to wait, and that one was taken from them; of those that live at the end.
    pub switches: Option<u64>,
    /// Memory at the end of the interval: pages that processes share are counted once (PSS); where that may not be read, all together are none.
    pub memory_bytes: Option<u64>,
    /// Address space at the end of the interval, of all processes added up.
    pub virtual_bytes: Option<u64>,
    /// Processes at the end of the interval.
    pub processes: usize,
}

impl ServerCost {
    /// CPU time, user and system.
    pub fn cpu_ns(&self) -> u64 {
        self.user_ns + self.system_ns
    }
}

/// Measures one server on this host.
pub struct ServerMeter {
    sampler: HostSampler,
    content: SampleContent,
    tree: ProcessTree,
    earlier: HostSample,
    later: HostSample,
    interval: Interval,
    switches: Option<ThreadSwitches>,
}

/// Of each thread, since it began.
type ThreadSwitches = BTreeMap<u32, u64>;

impl ServerMeter {
    /// Of the server whose first process is `pid`.
    pub fn open(pid: u32) -> Result<Self, String> {
        let failed = |error: machine::HostError| format!("could not watch the server: {error}");
        let content = SampleContent {
            who: ProcessSelection::Everybody,
            texts: Texts::OfAll,
            depth: Depth::Processes,
            sleepers: Sleepers::Asked,
        };
        let mut sampler = HostSampler::open(&machine::Host::real()).map_err(failed)?;
        let mut earlier = HostSample::default();
        sampler.take(&content, None, &mut earlier).map_err(failed)?;
        let mut tree = ProcessTree::of(pid);
        tree.follow(&earlier);
        if tree.is_extinct() {
            return Err(format!("there is no process {pid}"));
        }
        let switches = switches(&tree);
        let (later, interval) = (HostSample::default(), Interval::new(Idlers::Counted));
        Ok(Self { sampler, content, tree, earlier, later, interval, switches })
    }

    /// The first process.
    pub fn pid(&self) -> u32 {
        self.tree.root
    }

    /// What was used since the look before.
    pub fn look(&mut self) -> Result<ServerCost, String> {
        let failed = |error: machine::HostError| format!("could not watch the server: {error}");
        self.sampler.take(&self.content, Some(&self.earlier), &mut self.later).map_err(failed)?;
        self.interval.update(&self.earlier, &self.later);
        let usage = self.tree.usage(&self.interval, &self.earlier, &self.later);
        self.tree.follow(&self.later);
        if self.tree.is_extinct() {
            return Err("could not watch the server: it has ended".to_owned());
        }
        std::mem::swap(&mut self.earlier, &mut self.later);
        let now = switches(&self.tree);
        let since = now.as_ref().zip(self.switches.as_ref()).map(|(now, before)| switches_since(now, before));
        self.switches = now;
        let system_ns = (usage.cpu.split.system_ns as u64).min(usage.cpu.total_ns);
        Ok(ServerCost {
            elapsed_ns: self.interval.elapsed_ns,
            user_ns: usage.cpu.total_ns.saturating_sub(system_ns),
            system_ns,
            switches: since,
            memory_bytes: sum(&self.tree, |pid| kib(&format!("/proc/{pid}/smaps_rollup"), "Pss:")),
            virtual_bytes: sum(&self.tree, |pid| kib(&format!("/proc/{pid}/status"), "VmSize:")),
            processes: self.tree.size(),
        })
    }
}

/// The sum over all processes; none if one may not be read.
fn sum(tree: &ProcessTree, of: impl Fn(u32) -> Option<u64>) -> Option<u64> {
    tree.members().try_fold(0_u64, |sum, pid| match of(pid) {
        Some(value) => Some(sum.saturating_add(value)),
        // Gone since it was listed.
        None if !Path::new(&format!("/proc/{pid}")).exists() => Some(sum),
        None => None,
    })
}

fn kib(file: &str, name: &str) -> Option<u64> {
    let text = read_to_string(file).ok()?;
    let value = text.lines().find_map(|line| line.strip_prefix(name))?;
    value.split_ascii_whitespace().next()?.parse::<u64>().ok().map(|kib| kib.saturating_mul(1024))
}

fn switches(tree: &ProcessTree) -> Option<ThreadSwitches> {
    tree.members().try_fold(ThreadSwitches::new(), |mut all, pid| {
        let Ok(threads) = std::fs::read_dir(format!("/proc/{pid}/task")) else {
            // Gone since it was listed, or not to be seen.
            return if Path::new(&format!("/proc/{pid}")).exists() { None } else { Some(all) };
        };
        all.extend(threads.filter_map(|thread| switches_of(&thread.ok()?.path())));
        Some(all)
    })
}

fn switches_of(thread: &Path) -> Option<(u32, u64)> {
    let number = thread.file_name()?.to_str()?.parse::<u32>().ok()?;
    let status = read_to_string(thread.join("status")).ok()?;
    let counts = status.lines().filter(|line| line.contains("voluntary_ctxt_switches:"));
    Some((number, counts.filter_map(|line| line.split_once(':')?.1.trim().parse::<u64>().ok()).sum()))
}

/// A thread that began meanwhile counts whole; one whose number was given to another one, as well.
fn switches_since(now: &ThreadSwitches, before: &ThreadSwitches) -> u64 {
    let since = |(thread, count): (&u32, &u64)| match before.get(thread) {
        Some(before) if before <= count => count - before,
        _ => *count,
    };
    now.iter().map(since).sum()
}

/// The process on this host that a connection leads to, the one nearest to the root of their tree; none if it is none of this host's, or may not be seen.
pub fn server_behind(connection: BorrowedFd<'_>) -> Option<u32> {
    let own = connection.try_clone_to_owned().ok()?;
    let stream = TcpStream::from(own);
    if let Ok(address) = stream.peer_addr() {
        // An address of this host, by which it reaches itself.
        return if stream.local_addr().ok()?.ip() == address.ip() { listener(address) } else { None };
    }
    let address = UnixStream::from(OwnedFd::from(stream)).peer_addr().ok()?;
    let path = address.as_pathname()?.to_str()?;
    let text = read_to_string("/proc/net/unix").ok()?;
    // Num RefCount Protocol Flags Type St Inode Path; 00010000 is a socket that listens (include/uapi/linux/net.h).
    let line = text.lines().find(|line| {
        let mut fields = line.split_ascii_whitespace();
        fields.nth(3) == Some("00010000") && fields.nth(3) == Some(path)
    })?;
    holder(&format!("socket:[{}]", line.split_ascii_whitespace().nth(6)?))
}

/// The process on this host that listens at `address`, the one nearest to the root of their tree; none if it is none of this host's, or may not be seen.
pub fn listener(address: SocketAddr) -> Option<u32> {
    let table = if address.is_ipv4() { "/proc/net/tcp" } else { "/proc/net/tcp6" };
    let text = read_to_string(table).ok()?;
    let inode = text.lines().skip(1).find_map(|line| listening_inode(line, address.port()))?;
    holder(&format!("socket:[{inode}]"))
}

/// The inode in a line of `/proc/net/tcp`, if it listens at `port` (proc(5): state 0A).
fn listening_inode(line: &str, port: u16) -> Option<u64> {
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let (_, local_port) = fields.get(1)?.rsplit_once(':')?;
    let is_it = u16::from_str_radix(local_port, 16) == Ok(port) && *fields.get(3)? == "0A";
    if is_it { fields.get(9)?.parse().ok() } else { None }
}

/// The lowest number among the processes that hold a socket: a server's first process has it before its children.
fn holder(link: &str) -> Option<u32> {
    let numbers =
        std::fs::read_dir("/proc").ok()?.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    numbers
        .filter(|pid| {
            let Ok(descriptors) = std::fs::read_dir(format!("/proc/{pid}/fd")) else { return false };
            let is_it =
                |entry: std::fs::DirEntry| std::fs::read_link(entry.path()).is_ok_and(|to| to.as_os_str() == link);
            descriptors.filter_map(Result::ok).any(is_it)
        })
        .min()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::os::fd::AsFd;

    #[test]
    fn who_listens_here_is_found() {
        let socket = TcpListener::bind("127.0.0.1:0").expect("a port");
        assert_eq!(listener(socket.local_addr().expect("it has one")), Some(std::process::id()));
    }

    #[test]
    fn who_is_behind_a_connection_is_found_by_its_path_as_by_its_port() {
        let place = tempfile::tempdir().expect("a directory");
        let socket = std::os::unix::net::UnixListener::bind(place.path().join("s")).expect("a socket");
        let near = UnixStream::connect(place.path().join("s")).expect("it listens");
        assert_eq!(server_behind(near.as_fd()), Some(std::process::id()));
        drop(socket);
        let socket = TcpListener::bind("127.0.0.1:0").expect("a port");
        let near = TcpStream::connect(socket.local_addr().expect("it has one")).expect("it listens");
        assert_eq!(server_behind(near.as_fd()), Some(std::process::id()));
    }

    #[test]
    fn a_line_of_another_state_or_port_is_not_it() {
        let line = "  0: 0100007F:1538 00000000:0000 0A 00000000:00000000 00:00000000 00000000  999 0 4242 1 0";
        assert_eq!(listening_inode(line, 5432), Some(4242));
        assert_eq!(listening_inode(line, 5433), None);
        assert_eq!(listening_inode(&line.replace(" 0A ", " 01 "), 5432), None);
        assert_eq!(listening_inode("sl local_address", 1), None);
    }

    #[test]
    fn threads_that_ended_take_no_switches_of_others_away() {
        let before = ThreadSwitches::from([(1, 10), (2, 500), (3, 70)]);
        let now = ThreadSwitches::from([(1, 15), (3, 4), (4, 9)]);
        assert_eq!(switches_since(&now, &before), 5 + 4 + 9, "2 has ended, 3 is another one, 4 is new");
    }

    #[test]
    fn work_of_a_child_is_the_servers() {
        let mut meter = ServerMeter::open(std::process::id()).expect("it is there");
        let mut child = std::process::Command::new("sh");
        child.args(["-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"]);
        let before = std::time::Instant::now();
        assert!(child.status().expect("it runs").success());
        let took_ns = before.elapsed().as_nanos() as u64;
        let cost = meter.look().expect("it is there");
        assert!(cost.cpu_ns() > 0 && cost.cpu_ns() < 100 * took_ns, "{cost:?}");
        assert!(cost.memory_bytes.is_none_or(|bytes| bytes > 100_000), "{cost:?}");
        assert!(cost.processes >= 1);
    }
}
