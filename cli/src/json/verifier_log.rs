//! The part of a verifier log that goes into JSON. A log may have megabytes, and each program has one.

use std::borrow::Cow;

/// The maximum number of lines of an excerpt.
const LINES: usize = 20;

/// The maximum length of each line, in bytes.
const LINE_BYTES: usize = 512;

/// The last lines of a verifier log, or the whole log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LogExcerpt<'l> {
    pub(crate) text: Cow<'l, str>,
    /// The number of lines in the whole log.
    pub(crate) line_count: usize,
}

impl<'l> LogExcerpt<'l> {
    /// Returns the whole log.
    pub(crate) fn whole(log: &'l str) -> Self {
        Self { text: log.into(), line_count: log.lines().count() }
    }

    /// Returns the last lines of a log. Long lines end with `…`.
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
        let part = LogExcerpt::last_lines(&log);
        assert_eq!((part.line_count, part.text.lines().count()), (1000, LINES));
        assert!(part.text.lines().all(|line| line.len() <= LINE_BYTES + '…'.len_utf8()));
        assert!(part.text.starts_with("980: é") && part.text.ends_with("é…\n"), "{}", part.text);
        assert_eq!(LogExcerpt::last_lines("a\nb"), LogExcerpt { text: "a\nb\n".into(), line_count: 2 });
        assert_eq!(LogExcerpt::whole(&log), LogExcerpt { text: log.as_str().into(), line_count: 1000 });
        assert_eq!(LogExcerpt::last_lines(""), LogExcerpt::whole(""));
    }
}
