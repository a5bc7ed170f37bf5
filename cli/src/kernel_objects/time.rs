//! Times that the kernel counts from the boot.

use std::{
    fs,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// Converts nanoseconds since the boot to seconds since 1970.
pub(crate) fn unix_seconds(nanoseconds_since_boot: u64) -> Option<u64> {
    let uptime: f64 = fs::read_to_string("/proc/uptime").ok()?.split(' ').next()?.parse().ok()?;
    let since_boot = Duration::from_nanos(nanoseconds_since_boot);
    // An event of this moment may be later than the uptime, which is rounded.
    let age = Duration::try_from_secs_f64(uptime).ok()?.saturating_sub(since_boot);
    Some(SystemTime::now().checked_sub(age)?.duration_since(UNIX_EPOCH).ok()?.as_secs())
}

/// Formats seconds since 1970 as `2026-02-03 04:05:06 UTC`.
pub(crate) fn format_date(seconds: u64) -> String {
    let (mut days, rest) = (seconds / 86_400, seconds % 86_400);
    let mut year = 1970;
    let is_leap =
        |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    // The loop ends at the year 9999, whatever the kernel reports.
    while year < 9999 && days >= 365 + u64::from(is_leap(year)) {
        days -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let february = 28 + u64::from(is_leap(year));
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year}-{month:02}-{:02} {hour:02}:{minute:02}:{second:02} UTC", days + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        assert_eq!(format_date(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(format_date(951_782_400), "2000-02-29 00:00:00 UTC");
        assert_eq!(format_date(951_868_799), "2000-02-29 23:59:59 UTC");
        assert_eq!(format_date(1_798_761_599), "2026-12-31 23:59:59 UTC");
        assert_eq!(format_date(4_107_542_400), "2100-03-01 00:00:00 UTC");
        assert!(format_date(u64::MAX).starts_with("9999-"));
    }
}
