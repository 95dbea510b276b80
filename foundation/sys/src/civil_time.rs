//! Moments as calendars and clocks on the wall show them, in this machine's time zone; and back.

/// A moment by calendar and clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CivilTime {
    /// Year.
    pub year: i64,
    /// 1 to 12.
    pub month: u8,
    /// 1 to 31.
    pub day: u8,
    /// 0 to 23.
    pub hour: u8,
    /// 0 to 59.
    pub minute: u8,
    /// 0 to 60.
    pub second: u8,
}

/// What the clock on the wall showed `seconds` after 1970 began in Greenwich. None where no calendar goes that far.
pub fn local(seconds: i64) -> Option<CivilTime> {
    // SAFETY: tm is plain numbers and a pointer, for which zeros are valid.
    let mut parts: libc::tm = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to values of ours that live through the call.
    let found = unsafe { libc::localtime_r(&raw const seconds, &raw mut parts) };
    (!found.is_null()).then(|| CivilTime {
        year: i64::from(parts.tm_year) + 1900,
        month: parts.tm_mon as u8 + 1,
        day: parts.tm_mday as u8,
        hour: parts.tm_hour as u8,
        minute: parts.tm_min as u8,
        second: parts.tm_sec as u8,
    })
}

/// Seconds since 1970 of what a clock on the wall showed.
pub fn seconds(civil: CivilTime) -> Option<i64> {
    // SAFETY: as in `local`.
    let mut parts: libc::tm = unsafe { std::mem::zeroed() };
    parts.tm_year = i32::try_from(civil.year - 1900).ok()?;
    parts.tm_mon = i32::from(civil.month) - 1;
    parts.tm_mday = i32::from(civil.day);
    parts.tm_hour = i32::from(civil.hour);
    parts.tm_min = i32::from(civil.minute);
    parts.tm_sec = i32::from(civil.second);
    parts.tm_isdst = -1;
    // SAFETY: the pointer is to a value of ours that lives through the call.
    let seconds = unsafe { libc::mktime(&raw mut parts) };
    // LIE: -1 is also the second before 1970.
    Some(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        for moment in [0, 1_000_000_000, 1_700_000_000, 4_000_000_000] {
            let civil = local(moment).expect("calendars go that far");
            assert_eq!(seconds(civil), Some(moment), "{civil:?}");
        }
        assert_eq!(local(i64::MAX), None);
    }
}
