//! Dates in indexes and answers of servers: `Thu, 03 Dec 2026 21:03:35 UTC` (RFC 9110, 5.6.7).

use std::time::{Duration, SystemTime};

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Parses a date such as `Thu, 03 Dec 2026 21:03:35 UTC`.
pub(super) fn parse_date(text: &str) -> Option<SystemTime> {
    let mut words = text.split_whitespace().skip(1);
    let day: u64 = words.next()?.parse().ok().filter(|day| (1..=31).contains(day))?;
    let month = words.next()?;
    let month = MONTHS.iter().zip(1u64..).find_map(|(name, number)| (*name == month).then_some(number))?;
    let year: u64 = words.next()?.parse().ok().filter(|year| (1970..=9999).contains(year))?;
    let mut clock = words.next()?.split(':').map(|part| part.parse::<u64>().ok().filter(|part| *part < 61));
    let (hour, minute, second) = (clock.next()??, clock.next()??, clock.next()??);
    if !matches!(words.next()?, "UTC" | "GMT" | "+0000") {
        return None;
    }
    let seconds = days_since_1970(year, month, day)?
        .checked_mul(86_400)?
        .checked_add(hour.checked_mul(3600)?)?
        .checked_add(minute.checked_mul(60)?)?
        .checked_add(second)?;
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
}

/// Returns the days from 1970-01-01 to a date of the Gregorian calendar.
fn days_since_1970(year: u64, month: u64, day: u64) -> Option<u64> {
    // The year begins in March, so that the leap day is its last day.
    let (year, month) =
        if month > 2 { (year, month.checked_sub(3)?) } else { (year.checked_sub(1)?, month.checked_add(9)?) };
    let leap_days =
        year.checked_div(4)?.checked_sub(year.checked_div(100)?)?.checked_add(year.checked_div(400)?)?;
    let days_before_month = month.checked_mul(153)?.checked_add(2)?.checked_div(5)?;
    let days = year.checked_mul(365)?.checked_add(leap_days)?.checked_add(days_before_month)?;
    // 719,469 days from 0000-03-01 to 1970-01-01, counted with the day of the month.
    days.checked_add(day)?.checked_sub(719_469)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        let seconds =
            |text| Some(parse_date(text)?.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs());
        assert_eq!(seconds("Thu, 01 Jan 1970 00:00:00 UTC"), Some(0));
        assert_eq!(seconds("Thu, 29 Feb 2024 12:00:01 UTC"), Some(1_709_208_001));
        assert_eq!(seconds("Fri, 01 Mar 2024 00:00:00 GMT"), Some(1_709_251_200));
        assert_eq!(seconds("Sat, 11 Jul 2026 10:16:37 CEST"), None);
        assert_eq!(seconds("tomorrow"), None);
    }
}
