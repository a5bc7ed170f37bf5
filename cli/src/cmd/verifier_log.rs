//! The part of a verifier log that JSON has: a log may have megabytes, and there is one for each program.

use std::borrow::Cow;

/// How many of a log's last lines are given.
const LINES: usize = 20;

/// Bytes of each of them.
const LINE_BYTES: usize = 512;

/// The last lines of a verifier log, or all of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LogPart<'l> {
    pub(crate) text: Cow<'l, str>,
    /// How many lines the log has.
    pub(crate) line_count: usize,
}

impl<'l> LogPart<'l> {
    /// All of a log.
    pub(crate) fn whole(log: &'l str) -> Self {
        Self { text: log.into(), line_count: log.lines().count() }
    }

    /// The last lines of a log, long ones cut off with `…`.
    pub(crate) fn last_lines(log: &'l str) -> Self {
        let line_count = log.lines().count();
        let lines = log.lines().skip(line_count.saturating_sub(LINES));
        let text = lines.flat_map(|line| {
            let beyond = line.char_indices().find(|(at, c)| at + c.len_utf8() > LINE_BYTES);
            beyond.and_then(|(at, _)| line.get(..at)).map_or([line, "\n"], |head| [head, "…\n"])
        });
        Self { text: text.collect::<String>().into(), line_count }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_lines_are_few_and_short() {
        let log: String = (0..1000).map(|n| format!("{n}: {}\n", "é".repeat(n))).collect();
        let part = LogPart::last_lines(&log);
        assert_eq!((part.line_count, part.text.lines().count()), (1000, LINES));
        assert!(part.text.lines().all(|line| line.len() <= LINE_BYTES + '…'.len_utf8()));
        assert!(part.text.starts_with("980: é") && part.text.ends_with("é…\n"), "{}", part.text);
        assert_eq!(LogPart::last_lines("a\nb"), LogPart { text: "a\nb\n".into(), line_count: 2 });
        assert_eq!(LogPart::whole(&log), LogPart { text: log.as_str().into(), line_count: 1000 });
        assert_eq!(LogPart::last_lines(""), LogPart::whole(""));
    }
}
