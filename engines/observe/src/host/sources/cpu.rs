//! `/proc/stat`, `/proc/loadavg`, `/proc/uptime` (proc(5)).
//! LIE: guest time is in user time already; idle and iowait may run backwards; a tick blames whoever it meets.

use crate::host::fields::*;
use crate::host::values::{InstanceNames, Values, WHOLE};
use crate::sampler::FILE_TICK_NS;
use crate::source::words::{lines, number, number_of, words};

/// Columns of a CPU's line.
const COLUMNS: usize = 10;

/// `/proc/stat`.
pub fn stat(text: &[u8], names: &mut InstanceNames, values: &mut Values) {
    let mut online = 0;
    for line in lines(text) {
        let Some(rest) = line.strip_prefix(b"cpu") else { break };
        let (cpu, columns) = rest.split_at(rest.iter().position(|&byte| byte == b' ').unwrap_or(rest.len()));
        let mut times = [0_u64; COLUMNS];
        for (time, column) in times.iter_mut().zip(words(columns)) {
            *time = number(column).unwrap_or(0).saturating_mul(FILE_TICK_NS);
        }
        if cpu.is_empty() {
            whole(times, values);
        } else if let Some(name) = std::str::from_utf8(cpu).ok().filter(|_| number(cpu).is_some()) {
            online += 1;
            each(name, times, names, values);
        }
    }
    values.push(CPUS_ONLINE, WHOLE, online);
    for (key, field) in [
        (&b"ctxt "[..], SWITCHES),
        (b"processes ", FORKS),
        (b"intr ", INTERRUPTS),
        (b"procs_running ", RUNNABLE),
        (b"procs_blocked ", BLOCKED),
    ] {
        number_of(text, key).into_iter().for_each(|value| values.push(field, WHOLE, value));
    }
}

fn whole(times: [u64; COLUMNS], values: &mut Values) {
    let [user, nice, system, idle, iowait, irq, softirq, steal, guest, guest_nice] = times;
    let all = [
        (CPU_USER, user.saturating_sub(guest)),
        (CPU_NICE, nice.saturating_sub(guest_nice)),
        (CPU_SYSTEM, system),
        (CPU_IDLE, idle),
        (CPU_IOWAIT, iowait),
        (CPU_IRQ, irq),
        (CPU_SOFTIRQ, softirq),
        (CPU_STEAL, steal),
        (CPU_GUEST, guest.saturating_add(guest_nice)),
    ];
    all.into_iter().for_each(|(field, time)| values.push(field, WHOLE, time));
}

fn each(name: &str, times: [u64; COLUMNS], names: &mut InstanceNames, values: &mut Values) {
    let Some(cpu) = names.number(&format!("cpu{name}")) else { return };
    let [user, nice, system, idle, iowait, irq, softirq, steal, ..] = times;
    let all = [
        (EACH_USER, user.saturating_add(nice)),
        (EACH_SYSTEM, system),
        (EACH_IRQ, irq.saturating_add(softirq)),
        (EACH_STEAL, steal),
        (EACH_IOWAIT, iowait),
        (EACH_IDLE, idle),
    ];
    all.into_iter().for_each(|(field, time)| values.push(field, cpu, time));
}

/// `/proc/loadavg`: `0.51 0.77 0.93 2/345 6789`.
pub fn load(text: &[u8], values: &mut Values) {
    let mut columns = words(text);
    for field in [LOAD_1, LOAD_5, LOAD_15] {
        columns.next().and_then(hundredths).into_iter().for_each(|value| values.push(field, WHOLE, value));
    }
    let threads = columns.next().and_then(|word| number(word.split(|&byte| byte == b'/').nth(1)?));
    threads.into_iter().for_each(|value| values.push(THREADS, WHOLE, value));
}

/// `/proc/uptime`: seconds with two digits.
pub fn uptime(text: &[u8], values: &mut Values) {
    let time = words(text).next().and_then(hundredths);
    time.into_iter().for_each(|time| values.push(UPTIME, WHOLE, time.saturating_mul(10_000_000)));
}

/// `1.05` as 105.
fn hundredths(word: &[u8]) -> Option<u64> {
    let point = word.iter().position(|&byte| byte == b'.')?;
    let (whole, digits) = (number(&word[..point])?, &word[point + 1..]);
    let digits = digits.get(..2).filter(|_| digits.len() == 2)?;
    whole.checked_mul(100)?.checked_add(number(digits)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guests_are_counted_once_and_offline_cpus_leave_gaps() {
        let text = b"cpu  100 20 30 400 50 6 7 8 10 2\ncpu0 100 20 30 400 50 6 7 8 10 2\ncpu3 0 0 0 9 0 0 0 0 0 0\nintr 77 1 2\n\
            ctxt 5\nbtime 1\nprocesses 6\nprocs_running 3\nprocs_blocked 1\n";
        let (mut names, mut values) = (InstanceNames::default(), Values::default());
        stat(text, &mut names, &mut values);
        values.sort();
        let ticks = |field| values.get(field).map(|time| time / FILE_TICK_NS);
        assert_eq!([CPU_USER, CPU_NICE, CPU_GUEST, CPU_IDLE].map(ticks), [Some(90), Some(18), Some(12), Some(400)]);
        assert_eq!([CPUS_ONLINE, INTERRUPTS, FORKS, RUNNABLE].map(|field| values.get(field)), [2, 77, 6, 3].map(Some));
        let idle: Vec<&str> = values.each(EACH_IDLE).map(|(cpu, _)| names.name(cpu)).collect();
        assert_eq!(idle, ["cpu0", "cpu3"]);
    }

    #[test]
    fn load_and_uptime_have_two_digits() {
        let mut values = Values::default();
        load(b"0.51 10.07 0.93 2/345 6789\n", &mut values);
        uptime(b"12345.67 99.00\n", &mut values);
        values.sort();
        let found = [LOAD_1, LOAD_5, THREADS, UPTIME].map(|field| values.get(field));
        assert_eq!(found, [Some(51), Some(1007), Some(345), Some(12_345_670_000_000)]);
        for bad in [&b"x"[..], b"1", b"1.2", b"-1.00", b"1.000", b"18446744073709551615.00"] {
            assert_eq!(hundredths(bad), None);
        }
    }
}
