//! Limits for the size of reports, and of patterns.

/// The maximum length of a pattern for names, in bytes.
pub(super) const MAX_PATTERN_BYTES: usize = 512;

/// The longest text from input in a report, in characters. A longer text ends with `…`.
pub(super) const MAX_TEXT_CHARS: usize = 1_000;

/// The longest end of a verifier log in a report, in characters.
pub(super) const MAX_LOG_CHARS: usize = 8_000;

/// The longest text from input in a comment, in characters.
pub(super) const MAX_COMMENT_TEXT_CHARS: usize = 200;

/// The largest comment, in bytes. GitHub refuses comments of more than 65,536 characters.
pub(super) const MAX_COMMENT_BYTES: usize = 60_000;

/// The largest number of bytes of a comment that its table takes. The details take the rest.
pub(super) const MAX_TABLE_BYTES: usize = 30_000;

/// The longest list of problems in the first sentence of a comment, in bytes. A longer list is left to the
/// table.
pub(super) const MAX_HEADLINE_BYTES: usize = 2_000;

/// The largest number of reasons of one object in a comment.
pub(super) const MAX_COMMENT_FINDINGS: usize = 10;

/// The largest number of pairs of object and kernel in a report of stored results, of which not all need to
/// have a result: 10,000 kernels and 1,600 objects. A table has a cell for each pair.
pub(super) const MAX_STORED_CELLS: usize = 1 << 24;

/// The largest number of reasons of one object in a page.
pub(super) const MAX_PAGE_FINDINGS: usize = 500;

/// The largest number of programs that one reason names.
pub(super) const MAX_NAMED_PROGRAMS: usize = 50;

/// The largest number of different evidence texts of one reason.
pub(super) const MAX_EVIDENCE: usize = 8;

/// The largest number of kernels that a summary names, instead of counting them.
pub(super) const MAX_NAMED_KERNELS: usize = 3;

/// The largest number of kernels that a message names.
pub(super) const MAX_LISTED_KERNELS: usize = 20;

/// The largest number of version ranges in a summary. Verdicts that change more often are counted.
pub(super) const MAX_VERSION_RANGES: usize = 4;

/// The largest number of characters of a label at the head of a column.
pub(super) const MAX_LABEL_CHARS: usize = 16;

/// The characters of a label that is cut in the middle: at its start, and at its end.
pub(super) const LABEL_START_CHARS: usize = 5;
pub(super) const LABEL_END_CHARS: usize = 10;
