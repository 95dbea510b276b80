//! `mh sysstat pair`: a host becomes known to a fleet by a code that one person reads to another, where there is no ssh.

use super::fleet_keys::role;
use super::hosts::{FleetPlaces, make_directory};
use super::local::standing_facts;
use ::fleet::HostName;
use ::fleet::keys::{FleetKeyFile, HostPublic, HostState};
use ::fleet::pairing::{PAIRING_PORT, PairingCode, PairingEnd, PairingOffer, join};
use ::fleet::viewer::KnownHosts;
use clap::Args;
use mh_kit::failure::{Failure, Outcome};
use mh_kit::instrument::failure;
use mh_kit::report::print_as;
use std::io::{BufRead, IsTerminal, Read};
use std::net::{SocketAddr, ToSocketAddrs};
use std::time::Duration;

/// Make one host known to your fleet by a code, where there is no ssh
///
/// Without VIEWER, by who has the fleet's key: shows a code and waits for the host. With VIEWER, at the host: asks for the code, and lets that
/// fleet look at this host. A code is good for one try: after a wrong one both sides say so, nothing is enrolled, and the next needs a new code.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Examples:\n  mh sysstat pair                    where you look from: shows a code, 7-guitar-orbit\n  \
    mh sysstat pair 10.0.0.5           at the host: asks for the code"
)]
pub struct PairArgs {
    /// At the host: where the viewer waits, HOST or HOST:PORT; the code is read from standard input
    #[arg(value_name = "VIEWER")]
    viewer: Option<String>,

    /// What the viewer asks for, or the host allows: processes and command lines too, or figures of the host alone; the less of both counts, and a line
    /// that is there is not made to allow more
    #[arg(long, value_name = "ROLE", value_parser = ["full", "numbers"], default_value = "full")]
    role: String,

    /// How long the code is good
    #[arg(long, value_name = "TIME", default_value = "2m", value_parser = parse_within, conflicts_with = "viewer")]
    within: Duration,

    /// The port at which the viewer waits [default: 7765]
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
}

/// LIMIT: a code is short, so that it must not be good for long.
const WITHIN_MOST: Duration = Duration::from_secs(600);
/// LIMIT: bytes of a typed line.
const LINE_MAX: u64 = 256;

fn parse_within(text: &str) -> Result<Duration, String> {
    let within = terminal::parse_duration(text).map_err(|error| error.to_string())?;
    if within.is_zero() || within > WITHIN_MOST { Err("from 1ms to 10m".to_owned()) } else { Ok(within) }
}

/// `mh sysstat pair`.
pub fn pair(command: &'static str, places: &FleetPlaces, args: &PairArgs) -> Result<Outcome, Failure> {
    match &args.viewer {
        Some(viewer) => join_fleet(command, places, viewer, args),
        None => offer(command, places, args),
    }
}

/// The viewer's side.
fn offer(command: &'static str, places: &FleetPlaces, args: &PairArgs) -> Result<Outcome, Failure> {
    let failed = |error: ::fleet::Error| failure(command, &error);
    let refuse = |message: &str| Failure::Environment { command, message: message.to_owned() };
    let file = FleetKeyFile::read(&places.key).map_err(failed)?;
    let file = file.ok_or_else(|| refuse("find your fleet's key: mh sysstat key --new NAME makes one"))?;
    let code = PairingCode::generate().map_err(failed)?;
    let offer = PairingOffer::open(args.port.unwrap_or(PAIRING_PORT), code.clone()).map_err(failed)?;
    let own = terminal::printable(&standing_facts().name).into_owned();
    let port = if offer.port() == PAIRING_PORT { String::new() } else { format!(":{}", offer.port()) };
    let seconds = args.within.as_secs();
    let good = if seconds >= 1 { format!("{} s", seconds) } else { format!("{} ms", args.within.as_millis()) };
    print_as(
        command,
        &format!(
            "code {code}, good for one try within {good}\nat the host: mh sysstat pair {own}{port}   which asks for the code\n"
        ),
    )?;
    let line = file.current.public_line(role(&args.role));
    make_directory(command, places.known.parent())?;
    let mut known = KnownHosts::open(&places.known).map_err(failed)?;
    let taken = |name: &HostName, key: &HostPublic| known.has_another_key(name, key);
    let end = offer.wait(&file.current, &line, args.within, ::fleet::wall_ms() / 1000, &taken).map_err(failed)?;
    match end {
        PairingEnd::Paired { name, host } => {
            known.put(&name, host, None);
            known.keep().map_err(failed)?;
            print_as(command, &format!("{name}: knows your fleet; its code is {}\n", host.short_code()))?;
            Ok(Outcome::Done)
        }
        PairingEnd::Unsure { name, host } => Err(refuse(&format!(
            "hear from {name} that it kept your fleet's line: it was gone, or somebody stands between; where it kept the line, its code is {}. Pair again",
            host.short_code()
        ))),
        PairingEnd::OtherKey { name, host } => Err(refuse(&format!(
            "pair with {name}: another host has this name here, or its key was replaced (its code is {} now); it was sent nothing, and this code is used up. \
             Where it is the same host, take its line out of {} and pair again",
            host.short_code(),
            terminal::quote(&places.known)
        ))),
        PairingEnd::Wrong { peer } => Err(refuse(&format!(
            "pair with {peer}: its code was another one, or somebody stands between; nothing was enrolled, and this code is used up"
        ))),
        PairingEnd::Expired => Err(refuse("pair with a host: none came in time, and the code has expired")),
    }
}

/// The host's side.
fn join_fleet(command: &'static str, places: &FleetPlaces, viewer: &str, args: &PairArgs) -> Result<Outcome, Failure> {
    let failed = |error: ::fleet::Error| failure(command, &error);
    let place = ViewerPlace::parse(viewer, args.port).map_err(|message| Failure::Usage { command, message })?;
    let addresses = place.addresses().map_err(|error| Failure::Environment {
        command,
        message: format!("find {}: {}", terminal::quote_text(viewer), sys::error_text::message(&error)),
    })?;
    let code = typed_code(command)?;
    make_directory(command, places.agent.parent())?;
    let mut state = HostState::open(&places.agent).map_err(failed)?;
    let name = HostName::new(standing_facts().name.as_bytes());
    let line = join(&addresses, viewer, &code, &name, &mut state, role(&args.role)).map_err(failed)?;
    let code = state.pair.public().short_code();
    let text = format!(
        "looked at by {line}\nthis host    code {code}: the viewer shows the same\nan agent that runs already reads the line when it is started anew\n"
    );
    print_as(command, &text).map(|()| Outcome::Done)
}

/// Where a viewer waits.
#[derive(Debug, PartialEq, Eq)]
struct ViewerPlace<'a> {
    host: &'a str,
    port: u16,
}

impl<'a> ViewerPlace<'a> {
    /// `HOST`, `HOST:PORT`, or an address of IPv6 with or without brackets; `--port` may not say otherwise.
    fn parse(viewer: &'a str, option: Option<u16>) -> Result<Self, String> {
        let bare = |host: &'a str| host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
        let is_address = bare(viewer).parse::<std::net::IpAddr>().is_ok();
        let divided = viewer.rsplit_once(':').filter(|_| !is_address);
        let typed = divided.and_then(|(host, port)| Some((host, port.parse::<u16>().ok()?)));
        match (typed, option) {
            (Some((_, port)), Some(option)) if port != option => {
                let viewer = terminal::quote_text(viewer);
                Err(format!("--port {option} contradicts the port in {viewer}; give one of them"))
            }
            (Some((host, port)), _) => Ok(Self { host: bare(host), port }),
            (None, option) => Ok(Self { host: bare(viewer), port: option.unwrap_or(PAIRING_PORT) }),
        }
    }

    fn addresses(&self) -> std::io::Result<Vec<SocketAddr>> {
        Ok((self.host, self.port).to_socket_addrs()?.collect())
    }
}

/// The code as typed. It is no argument: everybody on a host sees those.
fn typed_code(command: &'static str) -> Result<PairingCode, Failure> {
    let input = std::io::stdin();
    if input.is_terminal() {
        print_as(command, "code: ")?;
    }
    let mut line = String::new();
    let read = input.lock().take(LINE_MAX).read_line(&mut line);
    let refuse = |message: String| Failure::Environment { command, message };
    read.map_err(|error| refuse(format!("read the code: {}", sys::error_text::message(&error))))?;
    let message = "read the code: a number and two words are needed, such as 7-guitar-orbit".to_owned();
    PairingCode::of_text(&line).ok_or_else(|| refuse(message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_viewer_is_an_address_with_or_without_a_port() {
        let of = |text| {
            let place = ViewerPlace::parse(text, None).expect("no contradiction");
            place.addresses().map(|all| all[0].to_string()).ok()
        };
        assert_eq!(of("127.0.0.1"), Some("127.0.0.1:7765".to_owned()));
        assert_eq!(of("127.0.0.1:9"), Some("127.0.0.1:9".to_owned()));
        assert_eq!((of("::1"), of("[::1]:9")), (Some("[::1]:7765".to_owned()), Some("[::1]:9".to_owned())));
        assert_eq!(of("[::1]"), of("::1"));
    }

    #[test]
    fn a_port_that_is_given_twice_may_not_differ() {
        let port = |viewer, option| ViewerPlace::parse(viewer, option).map(|place| place.port);
        assert_eq!(
            (port("web7", Some(10)), port("web7:10", Some(10)), port("::1", Some(10))),
            (Ok(10), Ok(10), Ok(10))
        );
        for viewer in ["web7:9", "[::1]:9", "127.0.0.1:9"] {
            let refused = port(viewer, Some(10)).expect_err("a contradiction");
            assert!(refused.starts_with("--port 10 contradicts the port in") && refused.contains(viewer), "{refused}");
        }
    }

    #[test]
    fn a_code_is_not_good_for_long() {
        assert_eq!(parse_within("2m"), Ok(Duration::from_secs(120)));
        assert!(parse_within("0").is_err() && parse_within("11m").is_err() && parse_within("x").is_err());
    }
}
