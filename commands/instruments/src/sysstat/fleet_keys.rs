//! Keys of fleets: `mh sysstat key` on a viewer's and on a host's side, and `mh sysstat enroll`, which brings the public line to hosts by ssh and
//! takes back a ticket for each.

use super::hosts::{FleetPlaces, make_directory};
use ::fleet::HostName;
use ::fleet::keys::{FeedRole, FleetKeyFile, FleetPair, HostPublic, HostState, HostTicket, PublicLine};
use ::fleet::ssh::expand_hosts;
use clap::Args;
use mh_kit::context::Context;
use mh_kit::failure::{Failure, Outcome};
use mh_kit::instrument::failure;
use mh_kit::report::print_as;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Show, make, rotate or trust keys of a fleet
///
/// Without options: the fleet's public line if this user has its key, and this host's code and fleets. The key of a fleet is a pair: hosts get
/// the public line, which is no secret; who looks needs the private half.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Examples:\n  mh sysstat key --new site          a fleet with its key; prints the public line\n  \
    mh sysstat key --trust 'LINE'      on a host: let that fleet look at it\n  \
    mh sysstat key --rotate            a new pair, which hosts follow"
)]
pub struct KeyArgs {
    /// Make the key of a new fleet with this name
    #[arg(long, value_name = "NAME", conflicts_with_all = ["public", "rotate", "trust"])]
    new: Option<String>,

    /// Print the public line alone, which hosts are to trust
    #[arg(long)]
    public: bool,

    /// What the line allows: processes and command lines too, or figures of hosts alone
    #[arg(long, value_name = "ROLE", value_parser = ["full", "numbers"], default_value = "full")]
    role: String,

    /// Put a new pair in the old one's place; hosts follow when they are looked at next
    #[arg(long, conflicts_with = "public")]
    rotate: bool,

    /// How long hosts still take the old one
    #[arg(long, value_name = "TIME", default_value = "30d", value_parser = parse_grace)]
    grace: Duration,

    /// Let this fleet look at this host (may be given again)
    #[arg(long, value_name = "LINE")]
    trust: Vec<String>,

    /// Keep what a fleet has signed for this host
    #[arg(long, value_name = "TICKET", hide_short_help = true)]
    ticket: Vec<String>,

    /// Print this host's public key alone
    #[arg(long, hide_short_help = true)]
    host: bool,
}

/// Days, too, which other times do not need.
fn parse_grace(text: &str) -> Result<Duration, String> {
    match text.strip_suffix('d').map(str::parse::<u32>) {
        Some(Ok(days)) => Ok(Duration::from_secs(u64::from(days) * 86_400)),
        _ => terminal::parse_duration(text).map_err(|error| error.to_string()),
    }
}

/// Make hosts known to your fleet by ssh, each in one go
///
/// On each host `mh sysstat key --trust` gets the public line, and the host a ticket signed by the fleet's key: it is believed at once then. The
/// agent itself is started by `systemctl enable --now mh-sysstat`, or `mh sysstat -d`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:\n  mh sysstat enroll web[1-9] admin@db1   these hosts, by ssh")]
pub struct EnrollArgs {
    /// Hosts, as ssh knows them: web[1-3], user@host
    #[arg(required = true, value_name = "HOST")]
    hosts: Vec<String>,

    /// What the line allows there
    #[arg(long, value_name = "ROLE", value_parser = ["full", "numbers"], default_value = "full")]
    role: String,

    /// How mh is called on the hosts
    #[arg(long, value_name = "PROGRAM", default_value = "mh")]
    program: String,
}

/// The role of that name.
pub fn role(text: &str) -> FeedRole {
    if text == "full" { FeedRole::Full } else { FeedRole::Numbers }
}

fn now_s() -> u64 {
    ::fleet::wall_ms() / 1000
}

/// `mh sysstat key`.
pub fn key(command: &'static str, places: &FleetPlaces, args: &KeyArgs) -> Result<Outcome, Failure> {
    let failed = |error: ::fleet::Error| failure(command, &error);
    let refuse = |message: String| Failure::Environment { command, message };
    let file = FleetKeyFile::read(&places.key).map_err(failed)?;
    if let Some(name) = &args.new {
        if file.is_some() {
            return Err(refuse(format!("make a key: {} is there; --rotate replaces it", terminal::quote(&places.key))));
        }
        let name = HostName::exact(name)
            .ok_or_else(|| refuse("make a key: a name of letters, digits, - and . is needed".to_owned()))?;
        make_directory(command, places.key.parent())?;
        let file = FleetKeyFile::of(FleetPair::generate(name).map_err(failed)?);
        file.write(&places.key).map_err(failed)?;
        return printed(command, &format!("{}\n", file.current.public_line(role(&args.role))));
    }
    if args.public || args.rotate {
        let mut file =
            file.ok_or_else(|| refuse("find your fleet's key: mh sysstat key --new NAME makes one".to_owned()))?;
        if args.rotate {
            let name = HostName::new(file.current.public_line(FeedRole::Full).name.as_str().as_bytes());
            file.rotate(FleetPair::generate(name).map_err(failed)?, now_s(), args.grace.as_secs());
            file.write(&places.key).map_err(failed)?;
        }
        return printed(command, &format!("{}\n", file.current.public_line(role(&args.role))));
    }
    let is_asked_for_host = args.host || !args.trust.is_empty() || !args.ticket.is_empty();
    if !is_asked_for_host && !places.agent.exists() {
        let own = file
            .map(|file| format!("your fleet   {}\n", file.current.public_line(role(&args.role))))
            .unwrap_or_default();
        return printed(command, &format!("{own}this host    looked at by nobody: --trust LINE lets a fleet look\n"));
    }
    make_directory(command, places.agent.parent())?;
    let mut state = HostState::open(&places.agent).map_err(failed)?;
    for line in &args.trust {
        state.add_line(PublicLine::read(line).map_err(failed)?).map_err(failed)?;
    }
    for ticket in &args.ticket {
        state.add_ticket(HostTicket::read(ticket).map_err(failed)?).map_err(failed)?;
    }
    let public = state.pair.public();
    if args.host {
        return printed(command, &format!("{}\n", public.text()));
    }
    let mut text = String::new();
    if let Some(file) = &file {
        text.push_str(&format!("your fleet   {}\n", file.current.public_line(role(&args.role))));
    }
    text.push_str(&format!("this host    code {}\n", public.short_code()));
    let lines = state.lines_in_force(now_s());
    if lines.is_empty() {
        text.push_str("looked at by nobody: --trust LINE lets a fleet look\n");
    }
    lines.iter().for_each(|line| text.push_str(&format!("looked at by {line}\n")));
    printed(command, &text)
}

fn printed(command: &'static str, text: &str) -> Result<Outcome, Failure> {
    print_as(command, text).map(|()| Outcome::Done)
}

/// `mh sysstat enroll`.
pub fn enroll(
    command: &'static str,
    context: &Context,
    places: &FleetPlaces,
    args: &EnrollArgs,
) -> Result<Outcome, Failure> {
    let failed = |error: ::fleet::Error| failure(command, &error);
    let file = FleetKeyFile::read(&places.key).map_err(failed)?.ok_or_else(|| Failure::Environment {
        command,
        message: "find your fleet's key: mh sysstat key --new NAME makes one".to_owned(),
    })?;
    let hosts = expand_hosts(&args.hosts).map_err(failed)?;
    let mut outcome = Outcome::Done;
    for host in &hosts {
        match enroll_one(&file.current, host, args) {
            Ok(code) => print_as(command, &format!("{host}: knows your fleet; its code is {code}\n"))?,
            Err(reason) => {
                context.messages.error(command, &format!("enroll {}: {reason}", terminal::quote_text(host)), &[]);
                outcome = Outcome::Partial;
            }
        }
    }
    Ok(outcome)
}

fn enroll_one(fleet: &FleetPair, host: &str, args: &EnrollArgs) -> Result<String, String> {
    let public = over_ssh(host, &[&args.program, "sysstat", "key", "--host"])?;
    let public =
        HostPublic::of_text(public.trim()).ok_or("what it printed is no key: is mh there, in the same version?")?;
    let name = host.rsplit('@').next().unwrap_or(host);
    let ticket = HostTicket::sign(fleet, public, HostName::new(name.as_bytes()), now_s());
    let line = fleet.public_line(role(&args.role)).to_string();
    let (line, ticket) = (quoted(&line), quoted(&ticket.to_string()));
    over_ssh(host, &[&args.program, "sysstat", "key", "--trust", &line, "--ticket", &ticket])?;
    Ok(public.short_code())
}

/// A word for the host's shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

fn over_ssh(host: &str, words: &[&str]) -> Result<String, String> {
    let output = Command::new("ssh")
        .args(["-o", "BatchMode=yes", "-o", "ConnectTimeout=15", "-T", "--", host])
        .args(words)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("could not start ssh: {}", sys::error_text::message(&error)))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let last = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("ssh failed");
        return Err(terminal::printable(last).into_owned());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_for_a_shell_stay_one_word() {
        assert_eq!(quoted("a b'c"), "'a b'\\''c'");
        assert_eq!(
            (parse_grace("30d"), parse_grace("90")),
            (Ok(Duration::from_secs(2_592_000)), Ok(Duration::from_secs(90)))
        );
        assert!(parse_grace("x").is_err());
    }
}
