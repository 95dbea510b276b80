//! What `mh sysstat` costs: its CPU time and memory with a screen drawn beside htop's, btop's, atop's and glances', a sample of very many
//! processes, the size of a recorded sample beside atop's and sar's, and a viewer of forty hosts.

use super::{Due, Line, finish};
use crate::BenchArguments;
use crate::pstime::load::ran_ns;
use crate::pstime::scan::Crowd;
use std::fs::read_to_string;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use xtask::workspace::{self, Packaged, release_binary};

const PACKAGES: &[Packaged] = &[
    ("htop", "htop"),
    ("btop", "btop"),
    ("atop", "atop"),
    ("glances", "glances"),
    ("sadc", "sysstat"),
    ("script", "bsdutils"),
];

/// Sleeping processes: with screens, and for the largest sample.
const PROCESSES: usize = 2_000;
const PROCESSES_MANY: usize = 10_000;
/// Before it is measured, and for how long it is.
const SETTLING: Duration = Duration::from_secs(6);
const MEASURED: Duration = Duration::from_secs(20);
/// What takes root's rights from a program.
const WITHOUT_RIGHTS: &str = "setpriv --reuid=65534 --clear-groups";
/// Hosts that a viewer looks at; each is this machine, by a stand-in for ssh.
const HOSTS: usize = 40;

/// A program on a terminal of its own; it ends with this value.
struct OnTerminal {
    script: Child,
    pid: u32,
}

impl OnTerminal {
    /// Starts `line`; the process that is measured is called `name`.
    fn start(line: &str, name: &str) -> Result<Self, String> {
        let shell = format!("stty rows 24 cols 80; exec {line}");
        let mut script = Command::new("script");
        script
            .args(["-qfec", &shell, "/dev/null"])
            .env("TERM", "xterm-256color")
            .stdin(Stdio::piped())
            .stdout(Stdio::null());
        let script = script.spawn().map_err(|error| format!("could not start script: {error}"))?;
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(10) {
            let found = below(script.id()).into_iter().find(|pid| name_of(*pid).is_some_and(|found| found == name));
            if let Some(pid) = found {
                return Ok(Self { script, pid });
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let mut script = script;
        let _it_may_have_ended = script.kill();
        let _reaped = script.wait();
        Err(format!("{name} did not start on a terminal"))
    }

    /// Percent of a core, and MB, once it has settled.
    fn cost(&self) -> Result<(f64, f64), String> {
        std::thread::sleep(SETTLING);
        let (before_ns, began) = (used_ns(self.pid)?, Instant::now());
        std::thread::sleep(MEASURED);
        let used_ns = used_ns(self.pid)?.saturating_sub(before_ns);
        Ok((100.0 * used_ns as f64 / began.elapsed().as_nanos() as f64, resident_mb(self.pid)?))
    }
}

impl Drop for OnTerminal {
    fn drop(&mut self) {
        let _it_may_have_ended = self.script.kill();
        let _reaped = self.script.wait();
    }
}

fn name_of(pid: u32) -> Option<String> {
    read_to_string(format!("/proc/{pid}/comm")).ok().map(|name| name.trim().to_owned())
}

/// All processes below one.
fn below(pid: u32) -> Vec<u32> {
    let children = read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    let children: Vec<u32> = children.split_whitespace().filter_map(|child| child.parse().ok()).collect();
    children.iter().copied().chain(children.iter().flat_map(|child| below(*child))).collect()
}

fn used_ns(pid: u32) -> Result<u64, String> {
    let failed = |error: std::io::Error| format!("could not measure process {pid}: {error}");
    let mut used_ns = 0;
    for thread in std::fs::read_dir(format!("/proc/{pid}/task")).map_err(failed)? {
        let text = read_to_string(thread.map_err(failed)?.path().join("schedstat")).map_err(failed)?;
        used_ns += ran_ns(&text).unwrap_or(0);
    }
    Ok(used_ns)
}

fn resident_mb(pid: u32) -> Result<f64, String> {
    let text =
        read_to_string(format!("/proc/{pid}/status")).map_err(|error| format!("could not measure {pid}: {error}"))?;
    let kib = text
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .and_then(|rest| rest.split_whitespace().next()?.parse::<f64>().ok());
    kib.map(|kib| kib * 1024.0 / 1e6).ok_or_else(|| format!("process {pid} has no memory"))
}

/// Runs the suite.
pub fn run(arguments: &BenchArguments) -> Result<(), String> {
    if arguments.list {
        println!("screen\nlarge sample\nrecording\nhosts");
        return Ok(());
    }
    let _named_below = workspace::install(PACKAGES);
    let program = arguments.program.clone().map_or_else(release_binary, Ok)?;
    if arguments.program.is_none() {
        workspace::run("cargo", &["build", "--quiet", "--release", "--package", "manyhands"])?;
    }
    let (mut lines, mut left_out) = (Vec::new(), Vec::new());
    let wants =
        |part: &str| arguments.only.is_empty() || arguments.only.iter().any(|only| part.contains(only.as_str()));
    if wants("screen") {
        screens(&program, &mut lines, &mut left_out)?;
    }
    if wants("large sample") {
        large_sample(&program, &mut lines)?;
    }
    if wants("recording") {
        recording(&program, &mut lines, &mut left_out)?;
    }
    if wants("hosts") {
        hosts(&program, &mut lines)?;
    }
    let how = "A look a second, on a terminal of 80 columns and 24 lines; CPU time over 20 s by the kernel's account, after 6 s that are not counted.";
    finish("sysstat", &arguments.command_line(), how, &lines, &left_out)
}

fn screens(program: &Path, lines: &mut Vec<Line>, left_out: &mut Vec<String>) -> Result<(), String> {
    let _crowd = Crowd::start(PROCESSES)?;
    let own = program.display();
    let mut rivals = Vec::new();
    for (name, line) in [("htop", "htop -d 10"), ("btop", "btop"), ("atop", "atop 1"), ("glances", "glances -t 1")] {
        if !workspace::has_program(name) {
            left_out.push(format!("{name}, which is not installed"));
            continue;
        }
        // It begins as the interpreter that runs it, and may go on under that name.
        match OnTerminal::start(line, name).and_then(|terminal| terminal.cost()) {
            Ok((percent, mb)) => rivals.push((name, percent, mb)),
            Err(reason) => left_out.push(format!("{name}: {reason}")),
        }
    }
    let best = rivals.iter().map(|(_, percent, _)| *percent).fold(f64::INFINITY, f64::min);
    let against = rivals
        .iter()
        .map(|(name, percent, mb)| format!("{name} {percent:.2} %; {mb:.1} MB"))
        .collect::<Vec<_>>()
        .join(" / ");
    for (rights, prefix) in [("no rights", format!("{WITHOUT_RIGHTS} ")), ("root", String::new())] {
        let (percent, mb) = OnTerminal::start(&format!("{prefix}{own} sysstat --alone"), "mh")?.cost()?;
        lines.push(Line {
            name: format!("screen, {PROCESSES} processes, {rights}"),
            ours: format!("{percent:.2} %"),
            against: against.clone(),
            due: Some(Due {
                words: "<= 0.5 % of a core, <= the best rival",
                is_met: percent <= 0.5 && percent <= best,
            }),
        });
        lines.push(Line {
            name: format!("its memory, {rights}"),
            ours: format!("{mb:.1} MB"),
            against: "12 MB".to_owned(),
            due: Some(Due { words: "<= 12 MB", is_met: mb <= 12.0 }),
        });
    }
    Ok(())
}

/// CPU time a sample: 20 looks, less what 1 took, so that starting does not count.
fn large_sample(program: &Path, lines: &mut Vec<Line>) -> Result<(), String> {
    let _crowd = Crowd::start(PROCESSES_MANY)?;
    let own = program.display();
    for (rights, prefix, most) in [("no rights", format!("{WITHOUT_RIGHTS} "), 30.0), ("root", String::new(), 8.0)] {
        let of = |looks: u32| cpu_ms(&format!("{prefix}{own} sysstat --csv 0.5 {looks}"));
        let each = (of(21)? - of(1)?) / 20.0;
        lines.push(Line {
            name: format!("a look at {PROCESSES_MANY} processes, {rights}"),
            ours: format!("{each:.1} ms"),
            against: format!("{most} ms"),
            due: Some(Due { words: if most > 10.0 { "<= 30 ms" } else { "<= 8 ms" }, is_met: each <= most }),
        });
    }
    Ok(())
}

fn cpu_ms(line: &str) -> Result<f64, String> {
    let output = Command::new("time").args(["-f", "%U %S", "sh", "-c", line]).stdout(Stdio::null()).output();
    let output = output.map_err(|error| format!("could not start time: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let seconds: Vec<f64> =
        said.lines().last().unwrap_or_default().split(' ').filter_map(|word| word.parse().ok()).collect();
    match seconds.as_slice() {
        [user, system] => Ok((user + system) * 1000.0),
        _ => Err(format!("could not measure {line}: {said}")),
    }
}

fn recording(program: &Path, lines: &mut Vec<Line>, left_out: &mut Vec<String>) -> Result<(), String> {
    let place = std::env::temp_dir().join(format!("mh-bench-sysstat-{}", std::process::id()));
    std::fs::create_dir_all(&place).map_err(|error| format!("could not make {}: {error}", place.display()))?;
    let sizes = |line: String, file: &str, samples: u64| -> Option<f64> {
        let ran = Command::new("sh").args(["-c", &line]).stdout(Stdio::null()).stderr(Stdio::null()).status().ok()?;
        let bytes = std::fs::metadata(place.join(file)).ok().filter(|_| ran.success())?.len();
        Some(bytes as f64 / samples as f64)
    };
    let shown = place.display();
    let ours = sizes(format!("{} sysstat --record {shown}/mh 1 120", program.display()), "mh", 121);
    let atop = sizes(format!("atop -w {shown}/atop 1 30"), "atop", 30);
    let sadc = sizes(format!("/usr/lib/sysstat/sadc -S XALL 1 30 {shown}/sar"), "sar", 30);
    let _removed = std::fs::remove_dir_all(&place);
    let ours = ours.ok_or("mh sysstat --record failed")?;
    let rivals = [("atop", atop), ("sadc", sadc)];
    left_out.extend(rivals.iter().filter(|(_, size)| size.is_none()).map(|(name, _)| format!("{name} did not record")));
    let against = rivals
        .iter()
        .filter_map(|(name, size)| Some(format!("{name} {:.0}", (*size)?)))
        .collect::<Vec<_>>()
        .join(" / ");
    lines.push(Line {
        name: "bytes of a recorded sample, 25 processes, two minutes".to_owned(),
        ours: format!("{ours:.0}"),
        against,
        due: Some(Due { words: "<= 500", is_met: ours <= 500.0 }),
    });
    Ok(())
}

fn hosts(program: &Path, lines: &mut Vec<Line>) -> Result<(), String> {
    use std::os::unix::fs::PermissionsExt;
    let place = std::env::temp_dir().join(format!("mh-bench-hosts-{}", std::process::id()));
    let failed = |error: std::io::Error| format!("could not make a stand-in for ssh: {error}");
    std::fs::create_dir_all(&place).map_err(failed)?;
    let script = "#!/bin/sh\nwhile [ \"${1#-}\" != \"$1\" ]; do case $1 in -o) shift 2;; --) shift; break;; *) shift;; esac; done\nshift\nexec sh -c \"$*\"\n";
    std::fs::write(place.join("ssh"), script).map_err(failed)?;
    std::fs::set_permissions(place.join("ssh"), PermissionsExt::from_mode(0o755)).map_err(failed)?;
    let own = program.display();
    let line = format!("env PATH={}:$PATH {own} sysstat --program {own} host[1-{HOSTS}]", place.display());
    let measured = OnTerminal::start(&line, "mh").and_then(|terminal| terminal.cost());
    let _removed = std::fs::remove_dir_all(&place);
    let (percent, mb) = measured?;
    lines.push(Line {
        name: format!("a viewer of {HOSTS} hosts over a stand-in for ssh, drawn"),
        ours: format!("{percent:.2} %; {mb:.1} MB"),
        against: "1 % of a core".to_owned(),
        due: Some(Due { words: "<= 1 %", is_met: percent <= 1.0 }),
    });
    Ok(())
}
