//! A throw-away Slurm: munged, slurmctld and a slurmd for each virtual node, in a directory in memory, on free loopback ports; killed
//! with all jobs and removed when dropped. The nodes share this machine's CPUs, so that nothing here shows a speed-up by nodes.
//! Each node's jobs have an `MH_CREW_DIR` of their own, since real nodes share no table of cores; the node's name is in
//! `SLURMD_NODENAME`.

mod node_processes;

use crate::mariadb_server::find;
use crate::postgres_server::in_memory_directory;
use crate::tree::TempDir;
use node_processes::NodeProcesses;
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::OsString;
use std::fmt::Write;
use std::fs::{self, File, Permissions};
use std::io::Read;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long all nodes may take until they are idle: a busy machine included.
const START_LIMIT: Duration = Duration::from_secs(120);

/// How often that is asked.
const LOOK: Duration = Duration::from_millis(50);

/// What it consists of.
#[derive(Clone, Debug)]
pub struct SlurmOptions {
    /// Virtual nodes: `n1`, `n2` ...
    pub nodes: u32,
    /// CPUs of each, whatever the machine has.
    pub cpus: u32,
    /// More lines of slurm.conf, such as `MaxArraySize=5`; each replaces the line with the same key.
    pub settings: Vec<String>,
    /// A directory in place of which the daemon and the jobs of a node see an empty one. Only root may ask for that.
    pub hidden: Option<(u32, PathBuf)>,
}

impl Default for SlurmOptions {
    fn default() -> Self {
        Self { nodes: 2, cpus: 1, settings: Vec::new(), hidden: None }
    }
}

/// A Slurm that runs. Its one partition is `p`.
#[derive(Debug)]
pub struct Slurm {
    place: TempDir,
    options: SlurmOptions,
    munged: Option<Child>,
    controller: Option<Child>,
    /// Those of `n1`, `n2` ...; none where a node has been killed.
    nodes: Vec<Option<Child>>,
}

impl Slurm {
    /// Starts it and waits until all nodes are idle. An error says what is missing.
    pub fn start(options: &SlurmOptions) -> Result<Self, String> {
        for program in ["munged", "slurmctld", "slurmd", "sbatch"] {
            find(program).ok_or_else(|| format!("Slurm is not installed: there is no {program}"))?;
        }
        let place = in_memory_directory()?;
        write_files(place.path(), options).map_err(|error| format!("no directory for Slurm: {error}"))?;
        let nodes = (0..options.nodes).map(|_| None).collect();
        let mut slurm = Self { place, options: options.clone(), munged: None, controller: None, nodes };
        slurm.munged =
            Some(slurm.munged_command()?.spawn().map_err(|error| format!("munged does not start: {error}"))?);
        let socket = slurm.directory().join("munge/socket");
        slurm.wait("munged", || socket.exists())?;
        slurm.start_controller_process()?;
        for node in 1..=options.nodes {
            slurm.start_node_process(node)?;
        }
        slurm.wait("slurmctld with its nodes", || slurm.idle_nodes() == options.nodes)?;
        Ok(slurm)
    }

    /// The directory of its files, which all nodes see.
    pub fn directory(&self) -> &Path {
        self.place.path()
    }

    /// What its clients need in their environment.
    pub fn environment(&self) -> Vec<(OsString, OsString)> {
        vec![("SLURM_CONF".into(), self.configuration().into())]
    }

    /// A client, such as sbatch, with its environment and without input.
    pub fn command(&self, client: &str) -> Command {
        let mut command = Command::new(client);
        command.envs(self.environment()).stdin(Stdio::null());
        command
    }

    /// What a client prints on standard output.
    ///
    /// # Panics
    /// When it does not start or ends badly.
    pub fn output(&self, client: &str, arguments: &[&str]) -> String {
        let output = self.command(client).args(arguments).output().expect("Slurm's clients are there");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{client} {arguments:?}: {said}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// The slurmd of a node that has not been killed, counted from 1.
    pub fn node_pid(&self, node: u32) -> Option<u32> {
        self.nodes[index(node)].as_ref().map(Child::id)
    }

    /// The directory that jobs of a node have in `MH_CREW_DIR`.
    pub fn crew_directory(&self, node: u32) -> PathBuf {
        self.directory().join("crew").join(name(node))
    }

    /// Kills a node as a loss of power does: slurmd, the supervisors of its jobs, and the jobs.
    ///
    /// # Panics
    /// When its processes cannot be killed.
    pub fn kill_node(&mut self, node: u32) {
        if let Some(slurmd) = self.nodes[index(node)].take() {
            kill(slurmd);
        }
        self.processes_of(node).kill_all();
    }

    /// Starts the slurmd of a node that was killed. Slurm still believes its jobs to run, unless it had taken the node for dead
    /// (SlurmdTimeout): it knows by the time when a machine started that jobs have gone, and this machine did not start anew.
    pub fn start_node(&mut self, node: u32) -> Result<(), String> {
        self.start_node_process(node)
    }

    /// Stops slurmctld so that it keeps its state. Clients then get no answer; jobs that run go on.
    ///
    /// # Panics
    /// When it does not run.
    pub fn stop_controller(&mut self) {
        let mut controller = self.controller.take().expect("the controller runs");
        signal(&controller, Signal::TERM);
        controller.wait().expect("it is our child");
    }

    /// Starts a slurmctld that was stopped, with the jobs that it had.
    pub fn start_controller(&mut self) -> Result<(), String> {
        self.start_controller_process()?;
        self.wait("slurmctld", || self.can_be_asked())
    }

    /// Suspends slurmctld: clients reach it and wait for an answer in vain.
    ///
    /// # Panics
    /// When it does not run.
    pub fn suspend_controller(&self) {
        signal(self.controller.as_ref().expect("the controller runs"), Signal::STOP);
    }

    /// Lets a suspended slurmctld go on.
    ///
    /// # Panics
    /// When it does not run.
    pub fn resume_controller(&self) {
        signal(self.controller.as_ref().expect("the controller runs"), Signal::CONT);
    }

    fn configuration(&self) -> PathBuf {
        self.directory().join("slurm.conf")
    }

    fn can_be_asked(&self) -> bool {
        self.command("sinfo").args(["-h", "-o", "%D"]).output().is_ok_and(|output| output.status.success())
    }

    fn idle_nodes(&self) -> u32 {
        let asked = self.command("sinfo").args(["-h", "-N", "-o", "%T"]).output();
        let idle = asked.map_or(0, |output| {
            String::from_utf8_lossy(&output.stdout).lines().filter(|state| *state == "idle").count()
        });
        u32::try_from(idle).unwrap_or(0)
    }

    fn wait(&self, whom: &str, is_ready: impl Fn() -> bool) -> Result<(), String> {
        let begin = Instant::now();
        while !is_ready() {
            if begin.elapsed() > START_LIMIT {
                return Err(format!("{whom} does not start: {}", self.logs()));
            }
            std::thread::sleep(LOOK);
        }
        Ok(())
    }

    /// The ends of all logs, for a message.
    fn logs(&self) -> String {
        let mut text = String::new();
        for entry in fs::read_dir(self.directory().join("log")).into_iter().flatten().flatten() {
            let log = fs::read(entry.path()).unwrap_or_default();
            let end = String::from_utf8_lossy(&log[log.len().saturating_sub(2000)..]).into_owned();
            write!(text, "\n{}:\n{end}", entry.path().display()).expect("a string takes every write");
        }
        text
    }

    fn munged_command(&self) -> Result<Command, String> {
        let path = |name: &str| self.directory().join(name).display().to_string();
        let mut command = self.daemon("munged", "munged-output")?;
        command.args(["--foreground", "--force", "--num-threads=2"]).args([
            format!("--key-file={}", path("munge/key")),
            format!("--socket={}", path("munge/socket")),
            format!("--pid-file={}", path("munge/pid")),
            format!("--log-file={}", path("log/munged")),
            format!("--seed-file={}", path("munge/seed")),
        ]);
        Ok(command)
    }

    fn start_controller_process(&mut self) -> Result<(), String> {
        let mut command = self.daemon("slurmctld", "slurmctld-output")?;
        let spawned = command.arg("-D").arg("-f").arg(self.configuration()).spawn();
        self.controller = Some(spawned.map_err(|error| format!("slurmctld does not start: {error}"))?);
        Ok(())
    }

    fn start_node_process(&mut self, node: u32) -> Result<(), String> {
        let log = format!("{}-output", name(node));
        let slurmd = find("slurmd").ok_or("slurmd is not installed")?;
        let mut command = match &self.options.hidden {
            Some((hiding, directory)) if *hiding == node => {
                let mut command = self.daemon("unshare", &log)?;
                let script = r#"mount -t tmpfs none "$1" && shift && exec "$@""#;
                command.args(["--mount", "sh", "-c", script, "sh"]).arg(directory).arg(slurmd);
                command
            }
            _ => self.daemon("slurmd", &log)?,
        };
        command.args(["-D", "-N", &name(node), "-f"]).arg(self.configuration());
        // By this directory the supervisors of jobs are known as this node's: they keep it.
        command.current_dir(self.spool_of(node));
        let spawned = command.spawn().map_err(|error| format!("slurmd does not start: {error}"))?;
        self.nodes[index(node)] = Some(spawned);
        Ok(())
    }

    /// A daemon that stays our child, in a process group of its own: the terminal's signals are not meant for it.
    fn daemon(&self, program: &str, log: &str) -> Result<Command, String> {
        let path = find(program).ok_or_else(|| format!("{program} is not installed"))?;
        let log = File::create(self.directory().join("log").join(log)).map_err(|error| format!("no log: {error}"))?;
        let mut command = Command::new(path);
        command.process_group(0).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        Ok(command)
    }

    fn spool_of(&self, node: u32) -> PathBuf {
        self.directory().join("spool").join(name(node))
    }

    fn processes_of(&self, node: u32) -> NodeProcesses {
        NodeProcesses::new(self.spool_of(node), &self.configuration(), &name(node))
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        for node in 1..=self.options.nodes {
            self.kill_node(node);
        }
        for daemon in [self.controller.take(), self.munged.take()].into_iter().flatten() {
            kill(daemon);
        }
    }
}

fn name(node: u32) -> String {
    format!("n{node}")
}

fn index(node: u32) -> usize {
    usize::try_from(node).ok().and_then(|node| node.checked_sub(1)).expect("nodes are counted from 1")
}

/// At once: all that it has written is thrown away.
fn kill(mut daemon: Child) {
    let _gone_anyway = daemon.kill();
    let _gone_anyway = daemon.wait();
}

fn signal(daemon: &Child, signal: Signal) {
    kill_process(Pid::from_child(daemon), signal).expect("it is not waited for yet");
}

/// Directories, munge's key, the script that gives tasks their environment, and slurm.conf.
fn write_files(place: &Path, options: &SlurmOptions) -> std::io::Result<()> {
    let set_mode = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode));
    for directory in ["state", "log", "munge", "crew", "spool"] {
        fs::create_dir(place.join(directory))?;
    }
    for node in 1..=options.nodes {
        fs::create_dir(place.join("spool").join(name(node)))?;
        fs::create_dir(place.join("crew").join(name(node)))?;
        set_mode(&place.join("crew").join(name(node)), 0o700)?;
    }
    set_mode(&place.join("munge"), 0o700)?;
    let key = place.join("munge/key");
    let mut secret = [0; 1024];
    File::open("/dev/urandom")?.read_exact(&mut secret)?;
    fs::write(&key, secret)?;
    set_mode(&key, 0o400)?;
    let prolog = place.join("task-prolog");
    let crew = place.join("crew");
    fs::write(&prolog, format!("#!/bin/sh\necho \"export MH_CREW_DIR={}/$SLURMD_NODENAME\"\n", crew.display()))?;
    set_mode(&prolog, 0o755)?;
    fs::write(place.join("slurm.conf"), configuration(place, options)?)
}

/// slurm.conf: every wait as short as it can be, no plugin that needs anything of the machine.
fn configuration(place: &Path, options: &SlurmOptions) -> std::io::Result<String> {
    let place = place.display();
    let host = rustix::system::uname();
    let host = host.nodename().to_string_lossy().split('.').next().unwrap_or("localhost").to_owned();
    let user = rustix::process::geteuid().as_raw();
    let ports = free_ports(options.nodes + 1)?;
    let (controller, nodes) = ports.split_first().expect("at least one was asked for");
    let nodes: Vec<String> = nodes.iter().map(u16::to_string).collect();
    let (nodes, count, cpus) = (nodes.join(","), options.nodes, options.cpus);
    let text = format!(
        "\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
AuthType=auth/munge
AuthInfo=socket={place}/munge/socket
CredType=cred/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
TaskProlog={place}/task-prolog
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,bf_interval=1,sched_min_interval=0,batch_sched_delay=0
SlurmUser={user}
SlurmdUser={user}
StateSaveLocation={place}/state
SlurmdSpoolDir={place}/spool/%n
SlurmctldPidFile={place}/slurmctld.pid
SlurmdPidFile={place}/slurmd-%n.pid
SlurmctldLogFile={place}/log/slurmctld
SlurmdLogFile={place}/log/%n
SlurmctldTimeout=30
SlurmdTimeout=30
MinJobAge=60
KillWait=5
ReturnToService=2
SlurmdParameters=config_overrides
MaxArraySize=10001
MaxJobCount=20000
NodeName=n[1-{count}] NodeHostname={host} NodeAddr=127.0.0.1 Port=[{nodes}] CPUs={cpus} Boards=1 SocketsPerBoard=1 \
         CoresPerSocket={cpus} ThreadsPerCore=1 RealMemory=1000 State=UNKNOWN
PartitionName=p Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"
    );
    Ok(with_settings(&text, &options.settings))
}

/// Each setting in place of the line with its key, else at the end.
fn with_settings(text: &str, settings: &[String]) -> String {
    let key = |line: &str| line.split('=').next().unwrap_or(line).to_owned();
    let replaced: Vec<String> = settings.iter().map(|setting| key(setting)).collect();
    let kept = text.lines().filter(|line| !replaced.contains(&key(line)));
    let lines: Vec<&str> = kept.chain(settings.iter().map(String::as_str)).collect();
    lines.join("\n") + "\n"
}

/// Ports that nobody has at this moment, each another one.
fn free_ports(count: u32) -> std::io::Result<Vec<u16>> {
    let listeners: Vec<TcpListener> =
        (0..count).map(|_| TcpListener::bind(("127.0.0.1", 0))).collect::<std::io::Result<_>>()?;
    listeners.iter().map(|listener| listener.local_addr().map(|address| address.port())).collect()
}

#[cfg(test)]
mod tests;
