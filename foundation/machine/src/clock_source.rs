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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_host::FakeHost;

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
