//! The screen's numbers beside those of vmstat, mpstat, iostat, free, sar and ss: a host's files at two moments ten seconds apart, recorded
//! while programs ran, wrote to a disk and sent to each other. What the tools would print was computed by hand, by the formulas of their manuals.

use super::*;
use machine::Host;
use observe::host::sampler::SnapshotSampler;
use observe::host::snapshot::Snapshot;
use observe::sample::HostSample;
use std::path::Path;
use terminal::Colour;

/// The host of the moment `number`, at `second`.
pub fn recorded(number: u8, second: u64) -> Snapshot {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("src/sysstat/bands/recorded/{number}"));
    let mut sampler = SnapshotSampler::open(&Host::rooted_at(root)).expect("/proc is there");
    let now = second * 1_000_000_000;
    sampler.take(&HostSample { at_ns: now, since_boot_ns: now, wall_ns: now, ..HostSample::default() }, None)
}

fn text(lines: &[TintedLine]) -> String {
    lines.iter().map(|line| line.text(Colour::Off)).collect()
}

/// Two numbers that differ by no more than half of the last digit that a tool prints, and half of the screen's.
fn agree(screen: &str, tool: f64, rounding: f64) {
    let number: f64 = screen.trim_end_matches(['%', 'G', 'M', 'k', 's', '/', 'm']).parse().expect("a number");
    assert!((number - tool).abs() <= rounding, "the screen says {screen}, the tool {tool}");
}

/// The word behind `name` on the screen.
fn behind<'a>(shown: &'a str, name: &str) -> &'a str {
    let words: Vec<&str> = shown.split_whitespace().collect();
    let at = words.iter().position(|word| *word == name).unwrap_or_else(|| panic!("no {name}: {shown}"));
    words[at + 1]
}

#[test]
fn cpus_agree_with_vmstat_and_mpstat() {
    let (earlier, later) = (recorded(1, 1), recorded(2, 11));
    let shown = text(&cpu(&HostInterval::new(Some(&earlier), &later), None, 200));
    // Ticks of /proc/stat: user +1517, nice +0, system +404, idle +0, iowait +0, irq +0, softirq +64, steal +16: 2001 in all.
    // mpstat: %usr 75.81, %sys 20.19, %irq 0.00 and %soft 3.20, %steal 0.80, %idle 0.00.
    for (name, tool) in [("usr", 75.81), ("sys", 20.19), ("irq", 0.00 + 3.20), ("st", 0.80)] {
        agree(behind(&shown, name), tool, 0.055);
    }
    // vmstat: us 76 (user and nice), sy 23 (system and interrupts), id 0, wa 0, st 1; r 8; cs (149920659 - 149860782) / 10 s.
    agree(behind(&shown, "usr"), 76.0, 0.55);
    let system: f64 = ["sys", "irq"].iter().map(|name| behind(&shown, name).parse::<f64>().expect("a number")).sum();
    assert!((system - 23.0).abs() <= 0.6, "{shown}");
    agree(behind(&shown, "cpu"), 100.0 - 0.0 - 0.80, 0.055);
    agree(behind(&shown, "runq"), 8.0, 0.0);
    agree(behind(&shown, "ctx"), 5987.7, 0.5);
    // mpstat -P ALL: CPU 0 user 820, system 178, steal 2 of 1000; CPU 1 user 698, system 225, softirq 64, steal 14 of 1001.
    agree(behind(&shown, "cpu0"), 99.80, 0.505);
    agree(behind(&shown, "cpu1"), 98.60, 0.505);
    assert!(shown.contains("load 3.02 2.28 1.69  forks 78/s"), "uptime, and (5805583 - 5804799) / 10 s: {shown}");
    // The growth of total in /proc/pressure/cpu, 9,684,309 us of 10 s.
    agree(behind(&shown, "psi"), 96.84, 0.055);
}

#[test]
fn memory_agrees_with_free_and_vmstat() {
    let (earlier, later) = (recorded(1, 1), recorded(2, 11));
    let shown = text(&memory(&HostInterval::new(Some(&earlier), &later), None));
    // free: total 24684096, used 1585424 (total - available), available 23098672 KiB.
    let (used, total) = behind(&shown, "mem").split_once('/').expect("of all");
    agree(used, 1_585_424.0 / 1_048_576.0, 0.051);
    agree(total, 24_684_096.0 / 1_048_576.0, 0.051);
    agree(behind(&shown, "use"), 23_098_672.0 / 1_048_576.0, 0.051);
    // sar -B: fault/s (1531561010 - 1531308154) / 10, majflt/s 20 / 10.
    agree(behind(&shown, "faults"), 25_285.6 / 1000.0, 0.51);
    agree(behind(&shown, "major"), 2.0, 0.0);
    assert!(shown.contains("swap none"), "{shown}");
}

#[test]
fn disks_agree_with_iostat() {
    let (earlier, later) = (recorded(1, 1), recorded(2, 11));
    let shown = text(&disks(&HostInterval::new(Some(&earlier), &later), None, 9));
    let row = shown.lines().find(|line| line.starts_with(" vda")).expect("listed");
    let words: Vec<&str> = row.split_whitespace().collect();
    let [_, util, reads, writes, read, written, awaited, queue] = words[..] else { panic!("{row}") };
    // iostat -x: %util 3712 ms of 10 s; r/s 98 / 10; w/s 23064 / 10.
    agree(util, 37.12, 0.505);
    agree(reads, 9.80, 0.505);
    agree(writes, 2306.40, 0.505);
    // Its rkB/s and wkB/s are of 1024 bytes: 3608 and 3094392 sectors of 512 bytes in 10 s.
    agree(read, 180.40 * 1024.0 / 1e6, 0.051);
    agree(written, 154_719.60 * 1024.0 / 1e6, 0.051);
    // await, before it was split into r_await and w_await: (488 + 3749) ms for 98 + 23064 requests. aqu-sz: 4962 ms of 10 s.
    agree(awaited, 0.18, 0.055);
    agree(queue, 0.50, 0.055);
}

#[test]
fn the_network_agrees_with_sar_and_ss() {
    let (earlier, later) = (recorded(1, 1), recorded(2, 11));
    let shown = text(&network(&HostInterval::new(Some(&earlier), &later), None, 9));
    // sar -n DEV: lo rxkB/s 1808.18 of 1024 bytes, (544827155 - 526311371) / 10 s, and as many sent; eth0 nothing.
    let row = shown.lines().find(|line| line.starts_with(" lo")).expect("listed");
    let words: Vec<&str> = row.split_whitespace().collect();
    agree(words[1], 1808.18 * 1024.0 * 8.0 / 1e6, 0.055);
    agree(words[2], 1808.18 * 1024.0 * 8.0 / 1e6, 0.055);
    // ss -s: estab 2. nstat: TcpRetransSegs 0 of 1842 TcpOutSegs.
    assert!(shown.ends_with(" tcp 2 retrans 0.0% 1 idle\n"), "{shown}");
    assert_eq!((later.values.get(TCP_ESTABLISHED), later.values.get(TCP_TIME_WAIT)), (Some(2), Some(0)));
}
