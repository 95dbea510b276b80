//! A bridge in a namespace of its own and eight hosts on it. All of them are gone when it is dropped.

use crate::stage::{CountingSource, fleet};
use fleet::agent::{Agent, AgentOptions, DEFAULT_PORT};
use fleet::answer::open_answer;
use fleet::query::{PACKET_BYTES, QueryCounts, make_query};
use rustix::net::netdevice::name_to_index;
use rustix::net::sockopt;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::AsFd;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const HOSTS: std::ops::RangeInclusive<usize> = 1..=8;

const GROUP: (&str, u16) = ("239.255.77.77", DEFAULT_PORT);

/// What hosts have addresses of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Families {
    Both,
    Ipv4,
    Ipv6,
}

/// The network.
pub struct TestNetwork {
    prefix: String,
    stop: Arc<AtomicBool>,
    agents: BTreeMap<usize, JoinHandle<QueryCounts>>,
}

impl TestNetwork {
    /// None, with a note, if this process may not make namespaces.
    pub fn make(name: &str, families: Families) -> Option<Self> {
        let network = Self {
            prefix: format!("mhf{}{name}", std::process::id()),
            stop: Arc::new(AtomicBool::new(false)),
            agents: BTreeMap::new(),
        };
        let mut script = format!("netns add {}\n", network.switch());
        HOSTS.for_each(|host| script.push_str(&format!("netns add {}\n", network.host(host))));
        if !run_ip(&script) {
            testkit::program::left_out("network namespaces cannot be made here");
            return None;
        }
        HOSTS.for_each(|host| network.on_host(host, || choose_families(families)));
        network.connect(families);
        Some(network)
    }

    fn connect(&self, families: Families) {
        let switch = self.switch();
        let mut script = format!("-n {switch} link add br0 type bridge\n-n {switch} link set br0 up\n");
        for host in HOSTS {
            let name = self.host(host);
            script.push_str(&format!("-n {switch} link add p{host} type veth peer name eth0 netns {name}\n"));
            script.push_str(&format!("-n {switch} link set p{host} master br0 up\n-n {name} link set lo up\n"));
            if families != Families::Ipv6 {
                script.push_str(&format!("-n {name} address add 10.9.9.{host}/24 dev eth0\n"));
            }
            script.push_str(&format!("-n {name} link set eth0 up\n"));
        }
        script.lines().for_each(|line| self.ip(line));
    }

    pub fn switch(&self) -> String {
        format!("{}s", self.prefix)
    }

    pub fn host(&self, host: usize) -> String {
        format!("{}h{host}", self.prefix)
    }

    /// Runs ip(8) with these words.
    pub fn ip(&self, words: &str) {
        let status = Command::new("ip").args(words.split(' ')).status().expect("it was found before");
        assert!(status.success(), "ip {words}");
    }

    /// Runs something in a host's namespace.
    pub fn on_host<T: Send>(&self, host: usize, act: impl FnOnce() -> T + Send) -> T {
        let name = self.host(host);
        std::thread::scope(|scope| {
            let inside = scope.spawn(move || {
                enter(&name);
                act()
            });
            inside.join().expect("no panic in a host")
        })
    }

    /// Starts an agent that runs until the network is dropped, or [`Self::stop_agents`].
    pub fn start_agent(&mut self, host: usize, options: AgentOptions) {
        let (name, stop) = (self.host(host), Arc::clone(&self.stop));
        let (started, is_started) = std::sync::mpsc::sync_channel(1);
        let thread = std::thread::spawn(move || {
            enter(&name);
            let mut agent = Agent::start(options, CountingSource::default()).expect("it listens");
            started.send(()).expect("it is waited for");
            while !stop.load(Ordering::Relaxed) {
                agent.wait(Duration::from_millis(20)).expect("it runs");
            }
            agent.query_counts()
        });
        is_started.recv().expect("the agent has started");
        self.agents.insert(host, thread);
    }

    /// What became of queries, by host.
    pub fn stop_agents(&mut self) -> BTreeMap<usize, QueryCounts> {
        self.stop.store(true, Ordering::Relaxed);
        let agents = std::mem::take(&mut self.agents);
        agents.into_iter().map(|(host, thread)| (host, thread.join().expect("no panic in an agent"))).collect()
    }

    /// UDP and TCP packets that have left a host; not what the kernel sends to join groups and to find neighbours.
    pub fn packets_sent(&self, host: usize) -> u64 {
        self.on_host(host, || {
            let four = std::fs::read_to_string("/proc/thread-self/net/snmp").expect("procfs");
            let six = std::fs::read_to_string("/proc/thread-self/net/snmp6").unwrap_or_default();
            counter(&four, "Udp:", "OutDatagrams") + counter(&four, "Tcp:", "OutSegs") + counter_of_six(&six)
        })
    }

    /// 20,000 forged queries to the group, of somebody without the public line.
    pub fn flood_from(&self, host: usize) -> JoinHandle<()> {
        let name = self.host(host);
        std::thread::spawn(move || {
            enter(&name);
            let socket = to_group();
            let mut packet = make_query(&fleet(1), &[9; 16], fleet::wall_ms());
            for number in 0..20_000_u32 {
                packet[20..24].copy_from_slice(&number.to_le_bytes());
                // A full queue drops some.
                let _is_one_of_many = socket.send_to(&packet, GROUP);
            }
        })
    }

    /// Sends one query so often, and one of an hour ago; counts the answers.
    pub fn replay_from(&self, host: usize, times: usize, old_times: usize) -> usize {
        self.on_host(host, || {
            let socket = to_group();
            let (now_ms, hour_ms) = (fleet::wall_ms(), 3_600_000);
            let packet = make_query(&fleet(1), &[9; 16], now_ms);
            let old = make_query(&fleet(1), &[8; 16], now_ms - hour_ms);
            for (packet, times) in [(packet, times), (old, old_times)] {
                for _ in 0..times {
                    socket.send_to(&packet, GROUP).expect("sent");
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
            count_answers(&socket)
        })
    }

    /// Asks one host by unicast from an address; counts the answers.
    pub fn ask_host_from(&self, host: usize, from: &str, to: &str) -> usize {
        self.on_host(host, || {
            let socket = UdpSocket::bind((from, 0)).expect("an address of this host");
            let packet = make_query(&fleet(1), &[from.len() as u8; 16], fleet::wall_ms());
            socket.send_to(&packet, (to, DEFAULT_PORT)).expect("sent");
            count_answers(&socket)
        })
    }
}

impl Drop for TestNetwork {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let names = HOSTS.map(|host| self.host(host)).chain([self.switch()]);
        for name in names {
            let _was_not_made = Command::new("ip").args(["netns", "del", &name]).stderr(Stdio::null()).status();
        }
    }
}

fn run_ip(script: &str) -> bool {
    let child = Command::new("ip").args(["-batch", "-"]).stdin(Stdio::piped()).stderr(Stdio::null()).spawn();
    let Ok(mut child) = child else { return false };
    let fed = child.stdin.take().is_some_and(|mut stdin| stdin.write_all(script.as_bytes()).is_ok());
    child.wait().is_ok_and(|status| status.success()) && fed
}

/// Moves this thread alone.
fn enter(name: &str) {
    let file = File::open(format!("/run/netns/{name}")).expect("the namespace is there");
    move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network)).expect("root may");
}

/// Addresses count at once: nobody else has them.
fn choose_families(families: Families) {
    let disable = if families == Families::Ipv4 { "1" } else { "0" };
    for conf in ["all", "default"] {
        for (name, value) in [("disable_ipv6", disable), ("accept_dad", "0")] {
            let _kernel_without_ipv6 = std::fs::write(format!("/proc/sys/net/ipv6/conf/{conf}/{name}"), value);
        }
    }
}

fn to_group() -> UdpSocket {
    let socket = UdpSocket::bind(("0.0.0.0", 0)).expect("a port");
    let any = Ipv4Addr::UNSPECIFIED;
    let index = name_to_index(&socket, "eth0").expect("the interface is there");
    sockopt::set_ip_multicast_if_with_ifindex(&socket, &any, &any, index).expect("it has multicast");
    socket
}

/// Answers take up to 200 ms.
fn count_answers(socket: &UdpSocket) -> usize {
    socket.set_read_timeout(Some(Duration::from_millis(100))).expect("possible");
    let (mut answers, end) = (0, Instant::now() + Duration::from_secs(2));
    while Instant::now() < end {
        let mut packet = [0; 2 * PACKET_BYTES];
        if let Ok((bytes, _)) = socket.recv_from(&mut packet) {
            assert!(bytes <= PACKET_BYTES && open_answer(&packet[..bytes], &fleet(1)).is_some());
            answers += 1;
        }
    }
    answers
}

/// A column of the second line with that head.
fn counter(text: &str, head: &str, name: &str) -> u64 {
    let mut lines = text.lines().filter(|line| line.starts_with(head)).map(str::split_ascii_whitespace);
    let (Some(mut names), Some(mut values)) = (lines.next(), lines.next()) else { return 0 };
    let at = names.position(|column| column == name).expect("every kernel has it");
    values.nth(at).and_then(|value| value.parse().ok()).expect("a number")
}

fn counter_of_six(text: &str) -> u64 {
    let value = text.lines().find_map(|line| line.strip_prefix("Udp6OutDatagrams"));
    value.map_or(0, |value| value.trim().parse().expect("a number"))
}
