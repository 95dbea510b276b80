//! `mh sysstat` as it is shipped: its figures beside the tools that people know, what it says of processes that came and went, hosts by ssh,
//! an agent and its viewer, hostile names, recordings that were cut.

use crate::place::{Place, Running, binary, wait_until};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use testkit::program::{Exit, ProgramOutcome, TestProgram, left_out};

fn sysstat(place: &Place, arguments: &[&str]) -> ProgramOutcome {
    let words = std::iter::once("sysstat").chain(arguments.iter().copied());
    program(place).run(words, b"").expect("the program starts")
}

/// With a home of its own.
fn program(place: &Place) -> TestProgram {
    TestProgram::at(binary())
        .with_variable("HOME", place.directory())
        .with_variable("XDG_STATE_HOME", place.path("state"))
}

fn json(place: &Place, arguments: &[&str]) -> serde_json::Value {
    let text = sysstat(place, &[&["--json"], arguments].concat()).stdout_of_success();
    let last = String::from_utf8(text).expect("text").lines().last().expect("a line").to_owned();
    serde_json::from_str(&last).expect("JSON")
}

fn number(value: &serde_json::Value, name: &str) -> f64 {
    value["values"][name].as_f64().unwrap_or_else(|| panic!("no {name}"))
}

#[test]
fn figures_agree_with_those_that_people_know() {
    let place = Place::new();
    let value = json(&place, &["0.2", "1"]);
    let meminfo = std::fs::read_to_string("/proc/meminfo").expect("Linux");
    let of = |key: &str| {
        let line = meminfo.lines().find(|line| line.starts_with(key)).expect("there");
        line.split_whitespace().nth(1).and_then(|kib| kib.parse::<f64>().ok()).expect("a number") * 1024.0
    };
    assert_eq!(number(&value, "memory.total"), of("MemTotal:"));
    // Other tests run: a tenth of all memory may come and go between two looks.
    assert!((number(&value, "memory.available") - of("MemAvailable:")).abs() < of("MemTotal:") / 10.0);
    let stat = std::fs::read_to_string("/proc/stat").expect("Linux");
    let switches = stat.lines().find_map(|line| line.strip_prefix("ctxt ")).and_then(|count| count.parse::<f64>().ok());
    assert!(number(&value, "cpu.switches") <= switches.expect("a number"));
    let cpus = stat.lines().filter(|line| line.starts_with("cpu") && !line.starts_with("cpu ")).count();
    assert_eq!(number(&value, "cpus.online"), cpus as f64);
    if let Some(df) = TestProgram::find("df") {
        let text =
            String::from_utf8(df.run(["--output=size", "-B1", "/"], b"").expect("it starts").stdout_of_success());
        let size = text.expect("text").lines().nth(1).and_then(|size| size.trim().parse::<f64>().ok()).expect("a size");
        let ours = value["values"]["fs.size"]["/"].as_f64();
        assert!(
            ours.is_none_or(|ours| ours == size),
            "asked in a thread of its own, and there later if not yet: {ours:?}"
        );
    }
}

#[test]
fn what_all_processes_used_adds_up_to_what_the_host_says() {
    let place = Place::new();
    let mut spinner = Command::new("sh");
    spinner.args(["-c", "while :; do :; done"]).stdin(Stdio::null());
    let spinner = Running { child: spinner.spawn().expect("it starts") };
    let value = json(&place, &["1", "1"]);
    let processes = value["processes"].as_array().expect("a list");
    let used = |process: &serde_json::Value| process["cores"].as_f64().unwrap_or(0.0);
    let spins = processes.iter().find(|process| process["pid"] == spinner.child.id()).expect("it lives");
    assert!(used(spins) > 0.02 && spins["error_cores"].as_f64().is_some_and(|error| error < 0.5), "{spins}");
    let sum: f64 = processes.iter().map(used).sum();
    let (total, unlisted) = (&value["rest"]["used_cores"], &value["rest"]["unlisted_cores"]);
    let (Some(total), Some(unlisted)) = (total.as_f64(), unlisted.as_f64()) else {
        return left_out("the host tells no total");
    };
    // Each process is read at its own moment, and shares are of its own time: a scan that others hold up is apart by that much.
    assert!((sum + unlisted - total).abs() < 0.01 + 0.1 * total, "{sum} and {unlisted} of {total}");
}

#[test]
fn names_of_processes_are_harmless_in_every_form() {
    let place = Place::new();
    let script = place.path("=cmd\u{202e}\u{1b}[2J\n,\"<b>");
    std::fs::write(&script, "#!/bin/sh\nwhile :; do :; done\n").expect("written");
    std::fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).expect("allowed");
    let mut hostile = Command::new(&script);
    hostile.stdin(Stdio::null());
    let _hostile = Running { child: hostile.spawn().expect("it starts") };
    for arguments in [&["--once", "0.3"][..], &["--plain", "0.3", "1"], &["--csv", "0.3", "1"], &["--json", "0.3", "1"]]
    {
        let text = String::from_utf8(sysstat(&place, arguments).stdout_of_success()).expect("text");
        assert!(
            !text.contains(['\u{1b}', '\u{202e}']) || arguments[0] == "--json" && !text.contains('\u{1b}'),
            "{arguments:?}"
        );
    }
    let text = String::from_utf8(sysstat(&place, &["--once", "0.3"]).stdout_of_success()).expect("text");
    assert!(text.contains("=cmd") && text.contains("\\x1b[2J\\n"), "{text}");
}

#[test]
fn a_recording_outlives_a_kill_and_is_gone_on_with() {
    let place = Place::new();
    let mut recorder = Command::new(binary());
    recorder.args(["sysstat", "--record", "r", "0.05"]).current_dir(place.directory()).env("HOME", place.directory());
    let mut recorder = Running { child: recorder.stdin(Stdio::null()).spawn().expect("it starts") };
    let size = || std::fs::metadata(place.path("r")).map_or(0, |file| file.len());
    wait_until("something is written", || {
        size() > 20_000 || size() > 0 && sysstat(&place, &["--replay", &path(&place), "--csv"]).stdout.len() > 2_000
    });
    recorder.child.kill().expect("it lives");
    recorder.child.wait().expect("it ends");
    let file = std::fs::OpenOptions::new().write(true).open(place.path("r")).expect("there");
    file.set_len(size() - 1).expect("cut");
    let lines = |text: Vec<u8>| text.iter().filter(|byte| **byte == b'\n').count();
    let before = lines(sysstat(&place, &["--replay", &path(&place), "--csv"]).stdout_of_success());
    assert!(before > 2);
    sysstat(&place, &["--record", &path(&place), "0.05", "4"]).stdout_of_success();
    let outcome = sysstat(&place, &["--replay", &path(&place), "--csv"]);
    assert!(String::from_utf8_lossy(&outcome.stderr).contains("bytes are damaged and were skipped"));
    assert!(lines(outcome.stdout_of_success()) >= before + 4);
}

#[test]
fn a_full_disk_is_reported_once_and_leaves_a_gap_that_replay_shows() {
    let unshare = TestProgram::find("unshare");
    let Some(unshare) = unshare.filter(|_| rustix::process::geteuid().is_root()) else {
        return left_out("only root mounts a small disk");
    };
    let place = Place::new();
    // Once the disk is full and that was reported, there is room again; what was reported says when.
    let script = "cd \"$2\" && mkdir disk && mount -t tmpfs -o size=64k none disk || exit 77\n\
        dd if=/dev/zero of=disk/ballast bs=1k count=40 2>/dev/null\n\
        env --default-signal=INT \"$1\" sysstat --record disk/r 0.05 2>log & recorder=$!\n\
        until grep -q 'could not write' log; do sleep 0.1; done\n\
        sleep 0.3; rm disk/ballast\n\
        until grep -q 'recording goes on; ' log; do sleep 0.1; done\n\
        sleep 0.3; kill -INT $recorder; wait $recorder; echo $?\n\
        grep -c 'could not write' log; grep -c 'could not record everything' log\n\
        \"$1\" sysstat --replay disk/r --plain 2>warnings | grep -c '^-- .* missing before'; cat warnings";
    let own = binary().to_string_lossy().into_owned();
    let directory = place.directory().to_string_lossy().into_owned();
    let words = ["--mount", "env", &format!("HOME={directory}"), "sh", "-c", script, "sh", &own, &directory];
    let outcome = unshare.run(words, b"").expect("it starts");
    if outcome.exit == Exit::Code(77) {
        return left_out("nothing can be mounted");
    }
    let text = String::from_utf8_lossy(&outcome.stdout).into_owned();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[..4], ["1", "1", "1", "1"], "{text}");
    assert!(lines.len() == 5 && lines[4].contains("missing: they could not be written"), "{text}");
}

fn path(place: &Place) -> String {
    place.path("r").to_string_lossy().into_owned()
}

#[test]
fn hosts_by_ssh_are_rows_and_who_is_not_reached_says_why() {
    let place = Place::new();
    put_ssh(&place);
    let own = binary().to_string_lossy().into_owned();
    let words = ["sysstat", "--once", "--program", &own, "0.2", "web[1-2]", "gone"];
    let search = search(&place).trim_start_matches("PATH=").to_owned();
    let outcome = program(&place).with_variable("PATH", search).run(words, b"").expect("the program starts");
    assert_eq!(outcome.exit, Exit::Code(1), "one was not reached");
    let text = String::from_utf8(outcome.stdout).expect("text");
    assert!(text.starts_with("3 hosts  ") && text.contains("1 not reached"), "{text}");
    assert!(text.contains("gone             not reached   ssh: no route to host gone\n"), "{text}");
    assert_eq!(text.lines().filter(|line| line.starts_with("web")).count(), 2, "{text}");
}

#[test]
fn an_agent_shows_its_host_to_its_fleet_alone() {
    let unshare = TestProgram::find("unshare");
    let Some(unshare) = unshare.filter(|_| rustix::process::geteuid().is_root()) else {
        return left_out("only root makes a network namespace");
    };
    let place = Place::new();
    put_ssh(&place);
    // All in a network namespace of its own, where no other fleet is; a viewer's query comes back to its own host.
    let script = "ip link set lo up && ip link add d0 type veth peer name d1 && ip addr add 10.9.9.1/24 dev d0 && ip link set d1 up && ip link set d0 up || exit 77\n\
        \"$1\" sysstat key --new site > line && \"$1\" sysstat key --trust \"$(cat line)\" >/dev/null || exit 1\n\
        \"$1\" sysstat -d 2>agent.log & agent=$!\n\
        until \"$1\" sysstat --fleet --once 0.2 | grep 'new key.*your fleet has not signed'; do sleep 0.2; done\n\
        kill $agent; wait $agent\n\
        \"$1\" sysstat enroll this-host\n\
        \"$1\" sysstat -d 2>>agent.log & agent=$!\n\
        until \"$1\" sysstat --fleet --once 0.2 > seen && grep '1 host .* ok\\|1 host .* 0 ok  1 [A-Z]' seen >/dev/null && grep this-host seen; do sleep 0.2; done\n\
        mv .config/manyhands/fleet.key mine; \"$1\" sysstat key --new other >/dev/null\n\
        timeout 9 \"$1\" sysstat --fleet --once 0.2 | head -n 1\n\
        kill $agent; wait $agent";
    let own = binary().to_string_lossy().into_owned();
    let home = place.directory().to_string_lossy().into_owned();
    let variables = [
        format!("HOME={home}"),
        format!("XDG_STATE_HOME={home}/state"),
        format!("STATE_DIRECTORY={home}/agent"),
        search(&place),
    ];
    let script = format!("cd \"$2\" && {script}");
    let words: Vec<&str> = ["--net", "env"]
        .into_iter()
        .chain(variables.iter().map(String::as_str))
        .chain(["sh", "-c", &script, "sh", &own, &home])
        .collect();
    let outcome = unshare.run(words, b"").expect("it starts");
    if outcome.exit == Exit::Code(77) {
        return left_out("no network device can be made");
    }
    let text = String::from_utf8_lossy(&outcome.stdout).into_owned();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines.len() == 4 && lines[0].contains("n accepts if mh sysstat key shows the same there"), "{text}");
    assert!(lines[1].starts_with("this-host: knows your fleet; its code is "), "{text}");
    assert!(lines[2].starts_with("this-host ") && lines[2].contains('.'), "figures: {text}");
    assert_eq!(lines[3], "1 host  0 ok  1 not reached", "another key sees nobody, and remembers who was there");
    let key = std::fs::metadata(place.path("mine")).expect("there");
    assert_eq!(key.permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_colleague_who_looks_at_his_host_is_seen_by_his_fleet_unless_he_does_not_want_it() {
    let tools = ["unshare", "script"].map(TestProgram::find);
    let [Some(unshare), Some(_)] = tools else { return left_out("no unshare or no script") };
    if !rustix::process::geteuid().is_root() {
        return left_out("only root makes a network namespace");
    }
    let place = Place::new();
    put_ssh(&place);
    // The colleague's home has the public line; the viewer's has the key. `script` gives the colleague a terminal.
    let script = "ip link set lo up && ip link add d0 type veth peer name d1 && ip addr add 10.9.9.1/24 dev d0 && ip link set d1 up && ip link set d0 up || exit 77\n\
        \"$1\" sysstat key --new site > line && \"$1\" sysstat key --trust \"$(cat line)\" >/dev/null || exit 1\n\
        \"$1\" sysstat enroll this-host >/dev/null || exit 1\n\
        screen() { sleep 99 | HOME=$2/colleague script -qfc \"$1 sysstat --alone $3\" shown >/dev/null & }\n\
        mkdir colleague; screen \"$1\" \"$2\" --no-answer; until grep -q 'free for use' shown; do sleep 0.2; done\n\
        timeout 9 \"$1\" sysstat --fleet --once 0.2 | head -n 1; kill $!; rm shown\n\
        screen \"$1\" \"$2\"; until grep -q 'answers viewers of site' shown; do sleep 0.2; done\n\
        until timeout 9 \"$1\" sysstat --fleet --once 0.2 > seen; do sleep 0.2; done; grep -c '^this-host .*[0-9]' seen; kill $!";
    let own = binary().to_string_lossy().into_owned();
    let home = place.directory().to_string_lossy().into_owned();
    let variables = [
        format!("HOME={home}"),
        format!("XDG_STATE_HOME={home}/state"),
        format!("STATE_DIRECTORY={home}/agent"),
        "TERM=xterm".to_owned(),
        search(&place),
    ];
    let script = format!("cd \"$2\" && {script}");
    let words: Vec<&str> = ["--net", "--pid", "--fork", "--kill-child", "env"]
        .into_iter()
        .chain(variables.iter().map(String::as_str))
        .chain(["sh", "-c", &script, "sh", &own, &home])
        .collect();
    let outcome = unshare.run(words, b"").expect("it starts");
    if outcome.exit == Exit::Code(77) {
        return left_out("no network device can be made");
    }
    let text = String::from_utf8_lossy(&outcome.stdout).into_owned();
    assert_eq!(
        text.lines().collect::<Vec<_>>(),
        ["0 hosts  0 ok", "1"],
        "{}",
        String::from_utf8_lossy(&outcome.stderr)
    );
}

/// Pairs by the code that the viewer prints, changed by `change`; what both sides print and how they end.
fn pair(place: &Place, change: impl Fn(&str) -> String) -> [(Option<i32>, String); 2] {
    let home = |who: &str| {
        let mut command = Command::new(binary());
        let home = place.path(who);
        command.env("HOME", &home).env("STATE_DIRECTORY", home.join("agent")).env("MH_CONFIG", "");
        command
            .env_remove("XDG_STATE_HOME")
            .env_remove("XDG_CONFIG_HOME")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command.arg("sysstat");
        command
    };
    let mut viewer = home("viewer");
    let viewer = viewer.args(["pair", "--port", "0"]).stdin(Stdio::null()).spawn();
    let mut viewer = Running { child: viewer.expect("the program starts") };
    let mut printed = BufReader::new(viewer.child.stdout.take().expect("a pipe"));
    let mut line = || {
        let mut line = String::new();
        printed.read_line(&mut line).expect("text");
        line
    };
    let code = line().strip_prefix("code ").and_then(|rest| rest.split(',').next()).expect("a code").to_owned();
    let port = line().split_whitespace().find_map(|word| word.rsplit_once(':')?.1.parse::<u16>().ok()).expect("a port");
    let mut host = home("host");
    let host = host.args(["pair", &format!("127.0.0.1:{port}")]).stdin(Stdio::piped()).spawn();
    let mut host = Running { child: host.expect("the program starts") };
    host.child.stdin.take().expect("a pipe").write_all(change(&code).as_bytes()).expect("written");
    let all = |running: &mut Running, mut printed: String| {
        let status = running.child.wait().expect("it ends");
        let errors = running.child.stderr.take().expect("a pipe");
        let pipes = running.child.stdout.take().map(|pipe| Box::new(pipe) as Box<dyn Read>);
        for mut pipe in pipes.into_iter().chain([Box::new(errors) as Box<dyn Read>]) {
            pipe.read_to_string(&mut printed).expect("text");
        }
        (status.code(), printed)
    };
    let of_host = all(&mut host, String::new());
    [all(&mut viewer, line()), of_host]
}

#[test]
fn two_people_pair_a_host_by_a_code_and_a_wrong_one_enrolls_nothing() {
    let place = Place::new();
    let viewer = program(&place).with_variable("HOME", place.path("viewer").to_string_lossy().into_owned());
    let viewer = viewer.with_variable("XDG_CONFIG_HOME", "");
    viewer.run(["sysstat", "key", "--new", "site"], b"").expect("the program starts").stdout_of_success();
    let wrong = |code: &str| {
        let number: u32 = code[..1].parse().expect("a digit");
        format!("{}{}\n", number % 9 + 1, &code[1..])
    };
    let [(viewer_code, viewer), (host_code, host)] = pair(&place, wrong);
    assert_eq!((viewer_code, host_code), (Some(1), Some(1)), "{viewer}{host}");
    assert!(viewer.starts_with("mh sysstat: could not pair with 127.0.0.1: its code was another one"), "{viewer}");
    assert!(host.contains("could not pair with '127.0.0.1:") && host.contains("nothing was kept"), "{host}");
    assert!(!place.has("viewer/.local/state/manyhands/known-hosts") && !place.has("host/agent/fleets"));

    let [(viewer_code, viewer), (host_code, host)] = pair(&place, |code| format!("{}\n", code.to_uppercase()));
    assert_eq!((viewer_code, host_code), (Some(0), Some(0)), "{viewer}{host}");
    let code = viewer.trim_end().rsplit_once("knows your fleet; its code is ").expect("the code").1;
    assert!(host.starts_with("looked at by mhfleet1 ") && host.contains(&format!("code {code}: ")), "{host}");
    for kept in ["viewer/.local/state/manyhands/known-hosts", "host/agent/fleets", "host/agent/tickets"] {
        let lines = std::fs::read_to_string(place.path(kept)).expect("kept");
        assert_eq!(lines.lines().count(), 1, "{kept}: {lines}");
    }
    let mut expired = Command::new(binary());
    expired.args(["sysstat", "pair", "--port=0", "--within=1ms"]).env("HOME", place.path("viewer"));
    let expired = expired.env_remove("XDG_CONFIG_HOME").output().expect("the program starts");
    assert!(
        String::from_utf8_lossy(&expired.stderr).contains("the code has expired") && expired.status.code() == Some(1)
    );
}

/// In ssh's place: drops options, refuses one host, runs the command here.
pub fn put_ssh(place: &Place) {
    let script = "#!/bin/sh\nwhile [ \"${1#-}\" != \"$1\" ]; do case $1 in -o) shift 2;; --) shift; break;; *) shift;; esac; done\n\
                  host=$1; shift\n[ \"$host\" = gone ] && { echo \"ssh: no route to host ${GONE:-gone}\" >&2; exit 255; }\nPATH=$PATH:${0%/*} exec sh -c \"$*\"\n";
    std::fs::write(place.path("ssh"), script).expect("written");
    std::fs::set_permissions(place.path("ssh"), PermissionsExt::from_mode(0o755)).expect("allowed");
    std::os::unix::fs::symlink(binary(), place.path("mh")).expect("linked");
}

/// With that before the others, as a variable.
pub fn search(place: &Place) -> String {
    format!("PATH={}:{}", place.directory().display(), std::env::var("PATH").unwrap_or_default())
}
