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
    (!found.is_null()).then(|| civil(&parts))
}

fn civil(parts: &libc::tm) -> CivilTime {
    CivilTime {
        year: i64::from(parts.tm_year) + 1900,
        month: parts.tm_mon as u8 + 1,
        day: parts.tm_mday as u8,
        hour: parts.tm_hour as u8,
        minute: parts.tm_min as u8,
        second: parts.tm_sec as u8,
    }
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

/// The same of a clock in Greenwich. Days by the rule of the calendar, counted from a March so that the leap day is the last of a year.
pub fn seconds_in_greenwich(civil: CivilTime) -> i64 {
    let year = civil.year - i64::from(civil.month <= 2);
    let month_from_march = (i64::from(civil.month) + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + i64::from(civil.day) - 1;
    // 719,468 days from the first of March of the year 0 to 1970.
    let days = 365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + day_of_year - 719_468;
    ((days * 24 + i64::from(civil.hour)) * 60 + i64::from(civil.minute)) * 60 + i64::from(civil.second)
}

/// What a clock in Greenwich showed `seconds` after 1970 began. None where no calendar goes that far.
pub fn in_greenwich(seconds: i64) -> Option<CivilTime> {
    // SAFETY: as in `local`.
    let mut parts: libc::tm = unsafe { std::mem::zeroed() };
    // SAFETY: as in `local`.
    let found = unsafe { libc::gmtime_r(&raw const seconds, &raw mut parts) };
    (!found.is_null()).then(|| civil(&parts))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn greenwich_there_and_back() {
        for moment in [-86_401, -1, 0, 951_782_399, 951_868_800, 1_709_164_800, 4_107_542_399, -62_135_596_800] {
            let civil = in_greenwich(moment).expect("calendars go that far");
            assert_eq!(seconds_in_greenwich(civil), moment, "{civil:?}");
        }
    }

    #[test]
    fn there_and_back() {
        for moment in [0, 1_000_000_000, 1_700_000_000, 4_000_000_000] {
            let civil = local(moment).expect("calendars go that far");
            assert_eq!(seconds(civil), Some(moment), "{civil:?}");
        }
        assert_eq!(local(i64::MAX), None);
    }
}
