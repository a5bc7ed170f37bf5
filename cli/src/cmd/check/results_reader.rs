//! The reader for a results file. It finds the incomplete results of an interrupted run at the end.
//!
//! Every line must have the form in which this program writes it. Only the last line may be incomplete. Other
//! files are refused.

use super::results_header::{LINE_BYTES, PreviousResults, ResultsHeader};
use crate::{console::ExitStatus, error::BadInput};
use core_relo_kernels::{KernelId, file};
use core_relo_report::json;
use serde::{Deserialize, Serialize, de::IgnoredAny};
use std::{
    borrow::Cow,
    ffi::{OsStr, OsString},
    fs::File,
    io::{self, BufRead, BufReader},
    path::Path,
};

/// The first bytes of every results file.
const FIRST_BYTES: &[u8] = br#"{"core_relo":""#;

/// The size of the read buffer in bytes.
const BUFFER_BYTES: usize = 1 << 16;

/// A reader of a results file, with the results that it has read.
pub(super) struct ResultsReader<'h> {
    header: &'h ResultsHeader,
    header_line: &'h [u8],
    results: PreviousResults,
    /// The last kernel, if lines for some objects are missing.
    kernel: Option<IncompleteKernel>,
    /// The archive of the last kernel.
    archive: Option<OsString>,
}

/// A kernel that has lines for some of the objects only.
struct IncompleteKernel {
    id: KernelId,
    name: String,
    lines: usize,
    /// The offset of its first line.
    offset: u64,
    /// The exit status for its lines. It is used only if lines for all objects follow.
    exit: ExitStatus,
}

/// The content of a results file.
#[derive(Debug)]
pub(super) struct ResultsContent {
    pub(super) results: PreviousResults,
    /// The offset of the end of the last complete kernel.
    pub(super) complete_bytes: u64,
    /// The number of bytes of the header that the file has.
    pub(super) header_bytes: usize,
    /// The archive of the last kernel, if members may be missing.
    pub(super) open_archive: Option<OsString>,
}

/// A line of results. The reader uses only some of the values, and checks that all keys exist.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "the keys must exist")]
struct ResultsLine<'l> {
    #[serde(borrow)]
    object: Option<Cow<'l, str>>,
    #[serde(borrow)]
    target: Cow<'l, str>,
    kept: u64,
    patched: u64,
    poisoned: u64,
    failed: u64,
    skipped: u64,
    verdict: Verdict,
    relocations: Vec<IgnoredAny>,
    error: Option<IgnoredAny>,
    #[serde(borrow)]
    target_id: Option<Cow<'l, str>>,
    programs: Vec<IgnoredAny>,
    allowed: Option<Allowed>,
    kernel_warnings: Vec<IgnoredAny>,
    warnings: Vec<IgnoredAny>,
    reasons: Vec<IgnoredAny>,
    adaptive: Option<IgnoredAny>,
    object_reality: Option<IgnoredAny>,
    loader: Option<IgnoredAny>,
    distribution: Option<IgnoredAny>,
    distribution_release: Option<IgnoredAny>,
    package_version: Option<IgnoredAny>,
    kernel: IgnoredAny,
    object_hash: Option<IgnoredAny>,
    format: u64,
    baseline: Option<Allowed>,
    later_count: u64,
}

/// The accepted part of a verdict, or that of the baseline.
#[derive(Deserialize)]
struct Allowed {
    /// The verdict that is left.
    verdict: Verdict,
}

/// The first keys of a line.
#[derive(Serialize)]
struct LineStart<'a> {
    object: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<&'a str>,
}

impl LineStart<'_> {
    /// Returns the bytes of the keys and values, without the closing brace, and `next_key` after them.
    fn to_bytes(&self, next_key: &[u8]) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        json::write(&mut bytes, self)?;
        bytes.pop_if(|last| *last == b'}').ok_or(io::ErrorKind::InvalidData)?;
        bytes.extend_from_slice(next_key);
        Ok(bytes)
    }
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Verdict {
    Loads,
    Unknown,
    NeedsInput,
    Refused,
    BadInput,
}

impl Verdict {
    /// Returns the exit status. With `--strict`, an unknown verdict counts as a refusal.
    const fn exit_status(self, is_strict: bool) -> ExitStatus {
        match self {
            Self::Loads => ExitStatus::Success,
            Self::NeedsInput | Self::Refused => ExitStatus::Incompatible,
            Self::Unknown if is_strict => ExitStatus::Incompatible,
            Self::Unknown | Self::BadInput => ExitStatus::Error,
        }
    }
}

/// The error in a line.
#[derive(Debug, thiserror::Error)]
pub(super) enum LineError {
    #[error("not a line of `check --resume`")]
    Foreign,
    #[error("is longer than {LINE_BYTES} bytes")]
    TooLong,
    #[error("{0}")]
    Different(String),
    #[error("kernel {0}: the results of some objects are missing")]
    MissingResults(String),
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
}

impl<'h> ResultsReader<'h> {
    pub(super) fn new(header: &'h ResultsHeader, header_line: &'h [u8]) -> Self {
        Self { header, header_line, results: PreviousResults::default(), kernel: None, archive: None }
    }

    /// Reads the whole file.
    pub(super) fn read(mut self, path: &Path, file: &File) -> Result<ResultsContent, BadInput> {
        let mut reader = BufReader::with_capacity(BUFFER_BYTES, file);
        let (mut offset, mut line) = (0u64, Vec::new());
        let mut header_bytes = 0;
        for number in 1u64.. {
            let is_first = number == 1;
            let end = next_line(&mut reader, &mut line).and_then(|end| {
                match end {
                    LineEnd::LineFeed => self.add_line(offset, is_first, &line)?,
                    LineEnd::EndOfFile => self.check_line_start(is_first, &line)?,
                }
                Ok(end)
            });
            let end = end.map_err(|e| match e {
                LineError::Io(e) => file::unreadable(path, &e).into(),
                e => BadInput::for_path(path, format_args!("line {number}: {e}"))
                    .help("give --resume another file"),
            })?;
            if is_first {
                header_bytes = line.len();
            }
            if is_first || end == LineEnd::LineFeed {
                // An incomplete header stays. `ResultsFile::open` appends the rest.
                offset += line.len() as u64;
            }
            if end == LineEnd::EndOfFile {
                break;
            }
        }
        let complete_bytes = self.kernel.map_or(offset, |kernel| kernel.offset);
        let open_archive = self.archive;
        Ok(ResultsContent { results: self.results, complete_bytes, header_bytes, open_archive })
    }

    /// Adds a complete line.
    fn add_line(&mut self, offset: u64, is_first: bool, text: &[u8]) -> Result<(), LineError> {
        if text == self.header_line {
            // The lines of another run follow. The last archive of the previous run may be incomplete.
            self.archive = None;
            return self.kernel.take().map_or(Ok(()), |kernel| Err(LineError::MissingResults(kernel.name)));
        }
        if let Some(difference) = self.header.difference(text) {
            return Err(LineError::Different(difference));
        }
        let line: ResultsLine<'_> = serde_json::from_slice(text).map_err(|_| LineError::Foreign)?;
        let id = KernelId::from_keys(&line.target, line.target_id.as_deref());
        let id = id.map_err(|_| LineError::Foreign)?;
        if let Some(kernel) = self.kernel.take_if(|kernel| kernel.id != id || line.object.is_none()) {
            return Err(LineError::MissingResults(kernel.name));
        }
        if is_first || !text.starts_with(&self.line_start(text)?) {
            return Err(LineError::Foreign);
        }
        let first = (0, offset, ExitStatus::default());
        let (previous_lines, offset, exit) =
            self.kernel.take().map_or(first, |k| (k.lines, k.offset, k.exit));
        // The verdict that the baseline leaves is also that without the accepted reasons.
        let left = line.baseline.filter(|_| line.error.is_none()).or(line.allowed);
        let verdict = left.map_or(line.verdict, |left| left.verdict);
        let (lines, exit) = (previous_lines + 1, exit.max(verdict.exit_status(self.header.is_strict())));
        if line.object.is_some() && lines < self.header.objects().len() {
            self.kernel = Some(IncompleteKernel { id, name: line.target.into_owned(), lines, offset, exit });
        } else {
            self.results.exit = self.results.exit.max(exit);
            self.complete_kernel(id);
        }
        Ok(())
    }

    /// Records that all lines of a kernel have been read.
    fn complete_kernel(&mut self, id: KernelId) {
        if let Some(last) = self.archive.take()
            && id.archive() != Some(last.as_os_str())
            && id != KernelId::File(last.clone())
        {
            self.results.archives.insert(last);
        }
        self.archive = id.archive().map(OsStr::to_owned);
        *self.results.kernels.entry(id).or_default() += 1;
    }

    /// Returns the bytes with which the next line must begin. The line is that of the next object. In place
    /// of the first object, a kernel that cannot be read has a line without an object.
    fn line_start(&self, text: &[u8]) -> io::Result<Vec<u8>> {
        const BAD_KERNEL: &[u8] = br#"{"object":null,"target":""#;
        let mut objects = self.header.objects();
        if let Some(kernel) = &self.kernel {
            let object = objects.nth(kernel.lines).ok_or(io::ErrorKind::InvalidData)?;
            return LineStart { object, target: Some(&kernel.name) }.to_bytes(br#","kept":"#);
        }
        let len = text.len().min(BAD_KERNEL.len());
        let is_bad_kernel = text.get(..len) == BAD_KERNEL.get(..len);
        match objects.next().filter(|_| !is_bad_kernel) {
            Some(object) => LineStart { object, target: None }.to_bytes(br#","target":""#),
            None => Ok(BAD_KERNEL.to_vec()),
        }
    }

    /// Returns an error unless the text is the start of a valid next line.
    fn check_line_start(&self, is_first: bool, text: &[u8]) -> Result<(), LineError> {
        if self.is_line_start(is_first, text)? { Ok(()) } else { Err(LineError::Foreign) }
    }

    /// Returns whether the text is the start of a valid next line.
    fn is_line_start(&self, is_first: bool, text: &[u8]) -> io::Result<bool> {
        let may_be_header = self.kernel.is_none() && self.header_line.starts_with(text);
        if is_first {
            // Any JSON file may begin with the first few bytes of the header.
            let has_first_bytes = text.is_empty() || text.starts_with(FIRST_BYTES);
            return Ok(may_be_header && has_first_bytes);
        }
        if may_be_header {
            return Ok(true);
        }
        let start = self.line_start(text)?;
        if text.len() <= start.len() {
            return Ok(start.starts_with(text));
        }
        let is_line =
            || serde_json::from_slice::<ResultsLine<'_>>(text).map_or_else(|e| e.is_eof(), |_| true);
        Ok(text.starts_with(&start) && is_line())
    }
}

/// The end of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineEnd {
    LineFeed,
    /// The line may be incomplete.
    EndOfFile,
}

/// Reads the next line into `line`, with the line feed.
///
/// The lines of this program have no control characters. Other lines are refused before they are read to
/// their end.
pub(super) fn next_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> Result<LineEnd, LineError> {
    line.clear();
    loop {
        let buffer = match reader.fill_buf() {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            buffer => buffer?,
        };
        if buffer.is_empty() {
            return Ok(LineEnd::EndOfFile);
        }
        let control = buffer.iter().enumerate().find(|(_, byte)| **byte < b' ').map(|(at, byte)| (at, *byte));
        let used = control.map_or(buffer.len(), |(at, _)| at + 1);
        line.extend(buffer.iter().take(used));
        reader.consume(used);
        match control {
            Some((_, b'\n')) => return Ok(LineEnd::LineFeed),
            Some(_) => return Err(LineError::Foreign),
            None if line.first() != Some(&b'{') => return Err(LineError::Foreign),
            None if line.len() > LINE_BYTES => return Err(LineError::TooLong),
            None => {}
        }
    }
}
