//! The release that is packed: its version, commit and time.

use std::process::Command;

use crate::system::{Outcome, output, root, workspace_value};

/// The number of digits of a commit's hash, as in `cli/build.rs`.
const HASH_DIGITS: usize = 9;

/// A version at a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Release {
    pub version: String,
    /// The commit as `core-relo --version` prints it: `abc123def 2026-01-31`.
    pub commit: String,
    /// The time of all files, in seconds since 1970: `SOURCE_DATE_EPOCH`, or the commit's time.
    pub time: u64,
}

impl Release {
    /// Reads the release from the checkout. A checkout with changes gets the suffix `-dirty`. Sources without
    /// a history need the variables `CORE_RELO_COMMIT` and `SOURCE_DATE_EPOCH`.
    pub fn read() -> Outcome<Self> {
        let version = workspace_value("version")?;
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let commit = variable("CORE_RELO_COMMIT").or_else(commit);
        let commit = commit.ok_or("not a clone: set CORE_RELO_COMMIT to the commit's hash and date")?;
        let time = match variable("SOURCE_DATE_EPOCH") {
            Some(time) => time,
            None => git(&["log", "-1", "--format=%ct"]).ok_or("not a clone: set SOURCE_DATE_EPOCH")?,
        };
        let time = time.trim().parse().map_err(|error| format!("SOURCE_DATE_EPOCH: {time}: {error}"))?;
        Ok(Self { version, commit, time })
    }

    /// Returns the line that `core-relo --version` prints.
    pub fn version_line(&self) -> String {
        format!("core-relo {} ({})", self.version, self.commit)
    }

    /// Returns the time as `2026-01-31T12:00:00Z`.
    pub fn timestamp(&self) -> String {
        let Date { year, month, day, seconds } = Date::of(self.time);
        let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
        format!("{year:04}-{month:02}-{day:02}T{hours:02}:{minutes:02}:{:02}Z", seconds % 60)
    }
}

/// Returns the hash and the date of the checkout's commit.
fn commit() -> Option<String> {
    let line = git(&["log", "-1", "--format=%H %cd", "--date=format-local:%Y-%m-%d"])?;
    let (hash, date) = line.trim().split_once(' ')?;
    let changes = git(&["status", "--porcelain", "--untracked-files=no"])?;
    let suffix = if changes.is_empty() { "" } else { "-dirty" };
    Some(format!("{}{suffix} {date}", hash.get(..HASH_DIGITS)?))
}

fn git(words: &[&str]) -> Option<String> {
    output(Command::new("git").current_dir(root()).env("TZ", "UTC").args(words))
}

/// A date of the Gregorian calendar, and the time of the day.
#[derive(Debug, PartialEq, Eq)]
pub struct Date {
    pub year: u64,
    pub month: u64,
    pub day: u64,
    pub seconds: u64,
}

impl Date {
    /// Returns the date of a time in seconds since 1970.
    pub fn of(time: u64) -> Self {
        let mut days = time / 86_400;
        let mut year = 1970;
        while days >= year_days(year) {
            days -= year_days(year);
            year += 1;
        }
        let mut month = 1;
        while days >= month_days(year, month) {
            days -= month_days(year, month);
            month += 1;
        }
        Self { year, month, day: days + 1, seconds: time % 86_400 }
    }
}

fn is_leap_year(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn year_days(year: u64) -> u64 {
    if is_leap_year(year) { 366 } else { 365 }
}

fn month_days(year: u64, month: u64) -> u64 {
    match month {
        2 if is_leap_year(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_dates() {
        for (time, timestamp) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_709_251_199, "2024-02-29T23:59:59Z"),
            (1_795_919_130, "2026-11-29T02:25:30Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            let release = Release { version: String::new(), commit: String::new(), time };
            assert_eq!(release.timestamp(), timestamp);
        }
    }
}
