//! Which hardware the kernel takes its time from (Documentation/timers/timekeeping.rst).

use crate::host::{Host, HostError};
use std::path::Path;

/// Where the time comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClockSource {
    /// The one in use; none where the kernel does not tell.
    pub current: Option<String>,
    /// All that it could use, best first.
    pub available: Vec<String>,
}

/// Reads the kernel's first clock source.
pub fn clock_source(host: &Host) -> Result<ClockSource, HostError> {
    let directory = Path::new("/sys/devices/system/clocksource/clocksource0");
    let current = host.read_if_there(&directory.join("current_clocksource"))?.filter(|name| !name.is_empty());
    let available = host.read_if_there(&directory.join("available_clocksource"))?.unwrap_or_default();
    Ok(ClockSource { current, available: available.split_whitespace().map(str::to_owned).collect() })
}

/// Whether the CPUs' time stamp counters keep their pace and never stop (`constant_tsc` and `nonstop_tsc` in `/proc/cpuinfo`); none if the
/// machine does not report it. On ARM the architecture promises it.
pub fn counter_is_steady(host: &Host) -> Option<bool> {
    if cfg!(target_arch = "aarch64") {
        return Some(true);
    }
    let text = host.read_if_there(Path::new("/proc/cpuinfo")).ok().flatten()?;
    let flags = text.lines().find_map(|line| line.strip_prefix("flags"))?;
    let has = |flag| flags.split_whitespace().any(|word| word == flag);
    Some(has("constant_tsc") && has("nonstop_tsc"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_host::FakeHost;

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn a_counter_is_steady_if_it_keeps_its_pace_and_never_stops() {
        let steady = |text: &str| {
            let fake = FakeHost::new();
            fake.file("/proc/cpuinfo", text);
            counter_is_steady(&fake.host())
        };
        assert_eq!(steady("processor\t: 0\nflags\t\t: fpu constant_tsc nonstop_tsc_s3 nonstop_tsc\n"), Some(true));
        assert_eq!(steady("flags\t\t: fpu tsc constant_tsc nonstop_tsc_s3\n"), Some(false));
        assert_eq!(steady("processor\t: 0\n"), None);
        assert_eq!(counter_is_steady(&FakeHost::new().host()), None);
    }

    #[test]
    fn names_are_read_and_may_be_missing() {
        let fake = FakeHost::new();
        assert_eq!(clock_source(&fake.host()).expect("absence is fine"), ClockSource::default());
        fake.file("/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n");
        fake.file("/sys/devices/system/clocksource/clocksource0/available_clocksource", "tsc hpet acpi_pm \n");
        let found = clock_source(&fake.host()).expect("readable");
        assert_eq!(found.current.as_deref(), Some("tsc"));
        assert_eq!(found.available, ["tsc", "hpet", "acpi_pm"]);
    }
}
