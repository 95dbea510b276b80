//! Which hosts are looked at, and how: those that are named by ssh, those that carry the fleet's public line by their agents.

use super::fleet::{self, SharedFleet, as_text};
use super::line::TintedLine;
use super::web::WebServer;
use ::fleet::keys::{FeedRole, FleetKeyFile};
use ::fleet::ssh::{SshOptions, expand_hosts, read_hosts_file};
use ::fleet::viewer::{KnownHosts, Viewer, ViewerOptions};
use mh_kit::context::{Context, own_directories, variable};
use mh_kit::failure::{Failure, Outcome};
use mh_kit::instrument::failure;
use mh_kit::instrument::look::TextLook;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use terminal::full_screen::Bell;

/// Where keys are.
pub struct FleetPlaces {
    /// The fleet's pair: who may look.
    pub key: PathBuf,
    /// Hosts that were accepted by hand.
    pub known: PathBuf,
    /// This host's own pair, and whose lines it carries.
    pub agent: PathBuf,
}

impl FleetPlaces {
    /// Of this user; the agent's of the host for root.
    pub fn find() -> Option<Self> {
        let own = own_directories()?;
        let is_root = rustix::process::geteuid().is_root();
        // systemd.exec(5): a service's own directory.
        let of_service = variable("STATE_DIRECTORY").filter(|directory| !directory.is_empty()).map(PathBuf::from);
        let of_host = || if is_root { PathBuf::from("/var/lib/manyhands") } else { own.state.join("agent") };
        let agent = of_service.unwrap_or_else(of_host);
        Some(Self { key: own.config.join("fleet.key"), known: own.state.join("known-hosts"), agent })
    }
}

/// What is asked for on the command line.
#[derive(Clone, Debug, Default)]
pub struct WantedHosts {
    /// Names and patterns, for ssh.
    pub words: Vec<String>,
    /// Files with more of them.
    pub files: Vec<PathBuf>,
    /// The agents' port.
    pub port: u16,
    /// Interfaces whose networks are asked; all if there is none.
    pub interfaces: Vec<String>,
    /// What runs on the hosts.
    pub program: String,
}

/// Opens a viewer of all of them.
pub fn viewer(
    command: &'static str,
    wanted: &WantedHosts,
    places: Option<&FleetPlaces>,
    interval: Duration,
) -> Result<Viewer, Failure> {
    let mut hosts = expand_hosts(&wanted.words).map_err(|error| failure(command, &error))?;
    for file in &wanted.files {
        hosts.extend(read_hosts_file(file).map_err(|error| failure(command, &error))?);
    }
    let is_by_ssh = !hosts.is_empty();
    let keys = places.filter(|_| !is_by_ssh).map(|places| FleetKeyFile::read(&places.key));
    let keys = keys.transpose().map_err(|error| failure(command, &error))?.flatten();
    let known = match places.filter(|_| keys.is_some()) {
        Some(places) => {
            make_directory(command, places.known.parent())?;
            KnownHosts::open(&places.known).map_err(|error| failure(command, &error))?
        }
        None => KnownHosts::default(),
    };
    let seconds = format!("{}ms", interval.as_millis());
    let options = ViewerOptions {
        multicast: keys.is_some(),
        keys,
        known,
        port: wanted.port,
        interfaces: wanted.interfaces.clone(),
        addresses: Vec::new(),
        ssh_hosts: hosts,
        ssh: SshOptions::usual([wanted.program.as_str(), "sysstat", "--feed", &seconds]),
        interval,
        role: FeedRole::Full,
    };
    Viewer::open(options).map_err(|error| failure(command, &error))
}

/// Makes a directory that only its owner may look into.
pub fn make_directory(command: &'static str, directory: Option<&Path>) -> Result<(), Failure> {
    use std::os::unix::fs::DirBuilderExt;
    let Some(directory) = directory else { return Ok(()) };
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory);
    made.map_err(|error| Failure::Environment {
        command,
        message: format!("create {}: {}", terminal::quote(directory), sys::error_text::message(&error)),
    })
}

/// How long the hosts of a fleet are waited for: they answer the third query at the latest.
const FOUND_WITHIN: Duration = Duration::from_secs(2);
/// How long hosts have to answer before a text is printed that lacks some.
const ANSWER_WITHIN: Duration = Duration::from_secs(20);

/// Serves all hosts to browsers until somebody interrupts.
pub fn serve(viewer: &mut Viewer, interval: Duration, web: &WebServer) -> Result<(), Failure> {
    let shared = SharedFleet::new(interval, Bell::silent());
    fleet::bring(super::NAME, viewer, &shared, |shared| {
        web.publish_fleet(shared);
        false
    })
}

/// Prints all hosts, `count` times.
pub fn print(
    context: &Context,
    viewer: &mut Viewer,
    (interval, count): (Duration, u64),
    is_fleet: bool,
    look: TextLook,
    web: Option<&WebServer>,
) -> Result<Outcome, Failure> {
    let command = super::NAME;
    let shared = SharedFleet::new(interval, Bell::silent());
    let began = Instant::now();
    // Hosts of a fleet answer one after the other: the first is not all of them.
    let wait_least = if is_fleet { FOUND_WITHIN } else { Duration::ZERO };
    let mut next = None::<Instant>;
    let mut printed = 0;
    let mut failed = None;
    fleet::bring(command, viewer, &shared, |shared| {
        web.into_iter().for_each(|web| web.publish_fleet(shared));
        let rows = shared.rows();
        let all_are_known = (is_fleet || !rows.is_empty()) && rows.iter().all(|(_, row)| row.is_settled());
        let is_time = match next {
            Some(next) => Instant::now() >= next,
            None => (all_are_known && began.elapsed() >= wait_least) || began.elapsed() >= ANSWER_WITHIN,
        };
        if is_time {
            let text: String = as_text(rows).iter().map(|line: &TintedLine| line.text(look.colour)).collect();
            failed = mh_kit::report::print_as(command, &text).err();
            (next, printed) = (Some(Instant::now() + interval), printed + 1);
        }
        failed.is_some() || (count > 0 && printed >= count)
    })?;
    failed.map_or(Ok(()), Err)?;
    let rows = shared.rows();
    if rows.is_empty() {
        let hints = ["hosts answer that trust your fleet's line and run mh sysstat -d: see mh sysstat key".to_owned()];
        context.messages.warning(command, "no host has answered", &hints);
    }
    let are_all_up = !rows.is_empty() && rows.iter().all(|(_, row)| row.is_up());
    Ok(if are_all_up { Outcome::Done } else { Outcome::Partial })
}
