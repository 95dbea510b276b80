//! What is wrong with a host, in words: what, who, for how long, and what would help. Pure; judged by `observe::host::verdict`.

use super::line::{TintedLine, age, percent, whole_percent};
use observe::host::interval::HostInterval;
use observe::host::verdict::{HostTrouble, HostVerdict, verdicts};
use terminal::Tint;

/// The word that a verdict begins with, and fleets show alone.
pub fn word(trouble: HostTrouble) -> &'static str {
    match trouble {
        HostTrouble::OutOfMemory => "OOM KILL",
        HostTrouble::SilentFileSystem => "FS SILENT",
        HostTrouble::FullFileSystem => "FS FULL",
        HostTrouble::ShortOfMemory => "MEMORY",
        HostTrouble::Throttled => "THROTTLED",
        HostTrouble::Starved => "STARVED",
        HostTrouble::Stolen => "STOLEN",
        HostTrouble::Ceiling => "CEILING",
        HostTrouble::Disk => "DISK",
        HostTrouble::IoBound => "IO-BOUND",
        HostTrouble::Listen => "REFUSING",
        HostTrouble::Network => "NETWORK",
    }
}

/// How a verdict stands out.
pub fn tint(trouble: HostTrouble) -> Tint {
    match trouble {
        HostTrouble::Ceiling | HostTrouble::IoBound | HostTrouble::Disk | HostTrouble::Network => Tint::Warning,
        _ => Tint::Bad,
    }
}

/// What and who: `postgres/7706: one thread on 98 % of a core for 41 s`.
pub fn sentence(verdict: &HostVerdict<'_>) -> String {
    let measure = verdict.measure;
    let whole = whole_percent(measure);
    let place = verdict.place;
    let who = verdict.thread.map(|thread| match thread.thread == thread.process {
        true => format!("{}/{}", thread.process, thread.pid),
        false => format!("{}/{} ({})", thread.process, thread.pid, thread.thread),
    });
    let (who, since) = (who.unwrap_or_default(), verdict.seconds.map(age).unwrap_or_default());
    let times = |what: &str| format!("{measure:.0} {what}{}", if measure == 1.0 { "" } else { "s" });
    match verdict.trouble {
        HostTrouble::OutOfMemory => {
            let whom = if place.is_empty() { String::new() } else { format!(": {place}") };
            format!("the kernel ended {} for want of memory{whom}", times("process").replace("processs", "processes"))
        }
        HostTrouble::SilentFileSystem => format!("{place} does not answer"),
        HostTrouble::FullFileSystem => format!("{place} is {whole} % full"),
        HostTrouble::ShortOfMemory => format!("{} % of memory can still be had", percent(measure)),
        HostTrouble::Throttled if verdict.thread.is_none() => {
            let group = observe::source::control_group::unit(place);
            format!("{group}: its CPU quota was used up in {whole} % of its periods")
        }
        HostTrouble::Starved if verdict.thread.is_none() => {
            format!("all CPUs are busy, and some thread waited for one {whole} % of the time")
        }
        HostTrouble::Throttled => format!("{who}: waited {whole} % for its group's quota, for {since}"),
        HostTrouble::Starved => format!("{who}: could run and waited {whole} % for a CPU, for {since}"),
        HostTrouble::Stolen => format!("{who}: the hypervisor took {whole} % of its CPU, for {since}"),
        HostTrouble::Ceiling => format!("{who}: one thread on {whole} % of a core for {since}"),
        HostTrouble::Disk => format!("{place} is {whole} % busy, and programs wait for it"),
        HostTrouble::IoBound => format!("{who}: waited {whole} % for a disk, for {since}"),
        HostTrouble::Listen => format!("{} refused: a listener's queue was full", times("connection")),
        HostTrouble::Network if place.is_empty() => format!("{} % of TCP segments were sent again", percent(measure)),
        HostTrouble::Network => format!("{place} loses packets or is full ({whole} % of its speed)"),
    }
}

/// What would help.
pub fn advice(trouble: HostTrouble) -> &'static str {
    match trouble {
        HostTrouble::OutOfMemory => "less in memory at once, or more of it; dmesg tells whom the kernel ended, and why",
        HostTrouble::SilentFileSystem => "see whether its server is there; what touches it hangs",
        HostTrouble::FullFileSystem => "free some: inodes count as bytes do (df -i)",
        HostTrouble::ShortOfMemory => "fewer or smaller programs; mh fit says how many more fit",
        HostTrouble::Throttled => "a larger CPU quota for the group, or fewer threads in it",
        HostTrouble::Starved => "fewer runnable threads than CPUs, or more CPUs",
        HostTrouble::Stolen => "another host, or a guest with CPUs of its own",
        HostTrouble::Ceiling => "a faster core, or work for more threads: more CPUs would not help",
        HostTrouble::Disk => "fewer or larger requests, or a faster disk",
        HostTrouble::IoBound => "a faster disk, more cache, or more requests at once",
        HostTrouble::Listen => "a longer backlog (net.core.somaxconn), or a program that accepts faster",
        HostTrouble::Network => "see cables, duplex, drops of rings (ethtool -S) and the other end",
    }
}

/// The first line of a host, and how many verdicts there are besides.
pub fn headline(interval: &HostInterval<'_>) -> TintedLine {
    let found = verdicts(interval);
    let Some(first) = found.first() else {
        if interval.earlier.is_none() {
            return TintedLine::tinted("the first figures come after one interval", Tint::Dim);
        }
        return TintedLine::tinted("ok", Tint::Good).and("  nothing is held back");
    };
    let more = if found.len() > 1 { format!("   {} more: v", found.len() - 1) } else { String::new() };
    TintedLine::tinted(word(first.trouble), tint(first.trouble)).and(format!("  {}{more}", sentence(first)))
}

/// All verdicts, two lines each: what, and what would help.
pub fn all(interval: &HostInterval<'_>) -> Vec<TintedLine> {
    let found = verdicts(interval);
    if found.is_empty() {
        // In two lines: a narrow screen shows all of it.
        let (worse, others) = HostTrouble::ALL.split_at(HostTrouble::ALL.len() / 2);
        let words = |troubles: &[HostTrouble]| troubles.iter().copied().map(word).collect::<Vec<_>>().join(", ");
        let looked_for = [format!("    looked for: {},", words(worse)), format!("    {}", words(others))];
        let looked_for = looked_for.map(|text| TintedLine::tinted(text, Tint::Dim));
        return std::iter::once(headline(interval)).chain(looked_for).collect();
    }
    let both = |verdict: &HostVerdict<'_>| {
        let what =
            TintedLine::tinted(word(verdict.trouble), tint(verdict.trouble)).and(format!("  {}", sentence(verdict)));
        [what, TintedLine::tinted(format!("          what helps: {}", advice(verdict.trouble)), Tint::Dim)]
    };
    found.iter().flat_map(both).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use observe::ceiling::Limit;
    use observe::host::snapshot::{Snapshot, ThreadFinding};
    use terminal::Colour;

    fn finding(limit: Limit, thread: &str) -> ThreadFinding {
        ThreadFinding {
            limit,
            pid: 7706,
            tid: 7706,
            process: "postgres".into(),
            thread: thread.into(),
            share: 9_800,
            since_boot_ns: 0,
            group: String::new(),
        }
    }

    #[test]
    fn a_manager_understands_the_first_line() {
        let mut snapshot = Snapshot {
            findings: vec![finding(Limit::Ceiling, "postgres"), finding(Limit::IoBound, "wal")],
            ..Snapshot::default()
        };
        snapshot.at.boot_ns = 41_000_000_000;
        let interval = HostInterval::new(None, &snapshot);
        let line = headline(&interval).text(Colour::Off);
        assert_eq!(line, "CEILING  postgres/7706: one thread on 98 % of a core for 41s   1 more: v\n");
        let text: String = all(&interval).iter().map(|line| line.text(Colour::Off)).collect();
        assert!(text.contains(
            "IO-BOUND  postgres/7706 (wal): waited 98 % for a disk, for 41s\n          what helps: a faster disk"
        ));
    }

    #[test]
    fn counts_have_their_plural() {
        let verdict = |measure| HostVerdict {
            trouble: HostTrouble::OutOfMemory,
            thread: None,
            place: "",
            measure,
            seconds: None,
        };
        assert_eq!(sentence(&verdict(1.0)), "the kernel ended 1 process for want of memory");
        assert_eq!(sentence(&verdict(2.0)), "the kernel ended 2 processes for want of memory");
        let named = HostVerdict { place: "mysqld/7141", ..verdict(1.0) };
        assert_eq!(sentence(&named), "the kernel ended 1 process for want of memory: mysqld/7141");
    }
}
