//! Reads a file of results and tells what is in it, and what an interrupted run left at its end.
//!
//! A line counts only as this program writes it. The last one may break off at any byte; any other bytes are somebody else's,
//! and the file is refused.

use super::resume::{Header, LINE_BYTES, SoFar};
use crate::{
    app::Exit,
    error::BadInput,
    input::{file, kernel_id::KernelId},
    json::Json,
    json_check,
};
use serde::{Deserialize, de::IgnoredAny};
use std::{
    borrow::Cow,
    ffi::{OsStr, OsString},
    fs::File,
    io::{self, BufRead, BufReader},
    path::Path,
};

/// The first bytes of a file of results, by which an incomplete one is recognised.
const FIRST_BYTES: &[u8] = br#"{"core_relo":""#;

/// Bytes that are read at once.
const PIECE: usize = 1 << 16;

/// A file of results being read.
pub(super) struct Reading<'h> {
    header: &'h Header,
    header_line: &'h [u8],
    so_far: SoFar,
    /// The kernel whose lines are incomplete.
    kernel: Option<Incomplete>,
    /// The archive of the last kernel.
    archive: Option<OsString>,
}

/// A kernel with lines for some of the objects.
struct Incomplete {
    id: KernelId,
    name: String,
    lines: usize,
    /// Where its first line begins.
    begin: u64,
    /// How bad its results are so far. They count once they are complete: else they are cut off.
    exit: Exit,
}

/// What a file of results has.
#[derive(Debug)]
pub(super) struct Read {
    pub(super) so_far: SoFar,
    /// Bytes up to the end of the last kernel that is complete.
    pub(super) whole: u64,
    /// Bytes of the header that are there.
    pub(super) header_bytes: usize,
    /// The archive of the last kernel, more members of which may be missing.
    pub(super) open_archive: Option<OsString>,
}

/// A line of results.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line<'l> {
    #[serde(borrow)]
    object: Option<Cow<'l, str>>,
    #[serde(borrow)]
    target: Cow<'l, str>,
    #[serde(rename = "kept")]
    _kept: u64,
    #[serde(rename = "patched")]
    _patched: u64,
    #[serde(rename = "poisoned")]
    _poisoned: u64,
    #[serde(rename = "failed")]
    _failed: u64,
    #[serde(rename = "skipped")]
    _skipped: u64,
    verdict: Verdict,
    #[serde(rename = "relocations")]
    _relocations: Vec<IgnoredAny>,
    #[serde(rename = "error")]
    _error: Option<IgnoredAny>,
    #[serde(borrow)]
    target_id: Option<Cow<'l, str>>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Verdict {
    Ok,
    Poisoned,
    Failed,
    BadInput,
}

impl From<Verdict> for Exit {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Ok => Self::Resolved,
            Verdict::Poisoned | Verdict::Failed => Self::Unresolved,
            Verdict::BadInput => Self::Unknown,
        }
    }
}

/// What is wrong with a line.
#[derive(Debug, thiserror::Error)]
enum LineError {
    #[error("is none that `check --resume` wrote")]
    Foreign,
    #[error("is longer than {LINE_BYTES} bytes")]
    TooLong,
    #[error("{0}")]
    Different(String),
    #[error("the results of {0} break off")]
    BreaksOff(String),
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
}

impl<'h> Reading<'h> {
    pub(super) fn new(header: &'h Header, header_line: &'h [u8]) -> Self {
        Self { header, header_line, so_far: SoFar::default(), kernel: None, archive: None }
    }

    /// Reads the whole file.
    pub(super) fn all(mut self, path: &Path, file: &File) -> Result<Read, BadInput> {
        let mut reader = BufReader::with_capacity(PIECE, file);
        let (mut at, mut line) = (0u64, Vec::new());
        let mut header_bytes = 0;
        for number in 1u64.. {
            let is_first = number == 1;
            let result = match next_line(&mut reader, &mut line) {
                Ok(true) => self.line(at, is_first, &line).map(|()| true),
                Ok(false) => match self.may_break_off(is_first, &line) {
                    Ok(true) => Ok(false),
                    Ok(false) => Err(LineError::Foreign),
                    Err(e) => Err(e.into()),
                },
                Err(e) => Err(e),
            };
            let is_whole = result.map_err(|e| match e {
                LineError::Io(e) => file::unreadable(path, &e),
                e => {
                    BadInput::at(path, format_args!("line {number}: {e}")).help("give --resume another file")
                }
            })?;
            if is_first {
                header_bytes = line.len();
            }
            if is_first || is_whole {
                // What is there of the header stays: the rest is added.
                at += line.len() as u64;
            }
            if !is_whole {
                break;
            }
        }
        let whole = self.kernel.map_or(at, |kernel| kernel.begin);
        Ok(Read { so_far: self.so_far, whole, header_bytes, open_archive: self.archive })
    }

    /// Takes in a whole line.
    fn line(&mut self, at: u64, is_first: bool, text: &[u8]) -> Result<(), LineError> {
        if text == self.header_line {
            // Another run begins here: it is not known whether the archive before was read to its end.
            self.archive = None;
            return self.kernel.take().map_or(Ok(()), |kernel| Err(LineError::BreaksOff(kernel.name)));
        }
        if let Some(difference) = self.header.difference(text) {
            return Err(LineError::Different(difference));
        }
        let line: Line<'_> = serde_json::from_slice(text).map_err(|_| LineError::Foreign)?;
        let id = KernelId::from_keys(&line.target, line.target_id.as_deref());
        let id = id.map_err(|_| LineError::Foreign)?;
        if let Some(kernel) = self.kernel.take_if(|kernel| kernel.id != id || line.object.is_none()) {
            return Err(LineError::BreaksOff(kernel.name));
        }
        if is_first || !text.starts_with(self.begin(text)?.as_bytes()) {
            return Err(LineError::Foreign);
        }
        let first = (0, at, Exit::default());
        let (begun, begin, exit) = self.kernel.take().map_or(first, |k| (k.lines, k.begin, k.exit));
        let (lines, exit) = (begun.saturating_add(1), exit.max(line.verdict.into()));
        if line.object.is_some() && lines < self.header.objects().len() {
            self.kernel = Some(Incomplete { id, name: line.target.into_owned(), lines, begin, exit });
        } else {
            self.so_far.exit = self.so_far.exit.max(exit);
            self.finish(id);
        }
        Ok(())
    }

    /// Takes in that all lines of a kernel are there.
    fn finish(&mut self, id: KernelId) {
        if let Some(before) = self.archive.take()
            && id.archive() != Some(before.as_os_str())
            && id != KernelId::File(before.clone())
        {
            self.so_far.archives.insert(before);
        }
        self.archive = id.archive().map(OsStr::to_owned);
        let times = self.so_far.done.entry(id).or_default();
        *times = times.saturating_add(1);
    }

    /// Returns how a line begins that comes next: it is of the next object, or if it is a kernel's first, of no object.
    fn begin(&self, text: &[u8]) -> io::Result<Json> {
        const BAD_KERNEL: &str = r#"{"object":null,"target":""#;
        let mut objects = self.header.objects();
        if let Some(kernel) = &self.kernel {
            let object = objects.nth(kernel.lines).ok_or(io::ErrorKind::InvalidData)?;
            let mut begin = json_check::begin(object)?;
            begin.push_value(&*kernel.name)?;
            begin.push_syntax(r#","kept":"#);
            return Ok(begin);
        }
        let len = text.len().min(BAD_KERNEL.len());
        let object = objects.next().filter(|_| text.get(..len) != BAD_KERNEL.as_bytes().get(..len));
        let mut begin = object.map_or_else(|| Ok(Json::default()), json_check::begin)?;
        begin.push_syntax(if object.is_some() { "\"" } else { BAD_KERNEL });
        Ok(begin)
    }

    /// Returns whether the text is the beginning of a line that this program writes here.
    fn may_break_off(&self, is_first: bool, text: &[u8]) -> io::Result<bool> {
        let may_be_header = self.kernel.is_none() && self.header_line.starts_with(text);
        if is_first {
            // Shorter beginnings may be those of any other file of JSON.
            let is_ours = text.is_empty() || text.starts_with(FIRST_BYTES);
            return Ok(may_be_header && is_ours);
        }
        if may_be_header {
            return Ok(true);
        }
        let begin = self.begin(text)?;
        let begin = begin.as_bytes();
        if text.len() <= begin.len() {
            return Ok(begin.starts_with(text));
        }
        let is_line = || serde_json::from_slice::<Line<'_>>(text).map_or_else(|e| e.is_eof(), |_| true);
        Ok(text.starts_with(begin) && is_line())
    }
}

/// Reads the next line into `line`, with its end. Returns `false` if the file ends before the line does.
///
/// A line of this program is JSON without control characters: others are refused before they are read to their end.
fn next_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> Result<bool, LineError> {
    line.clear();
    loop {
        let piece = match reader.fill_buf() {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            piece => piece?,
        };
        if piece.is_empty() {
            return Ok(false);
        }
        let end = piece.iter().position(|byte| *byte < b' ');
        let is_end = end.and_then(|end| piece.get(end)) == Some(&b'\n');
        let part = piece.get(..end.map_or(piece.len(), |end| end.saturating_add(1))).unwrap_or_default();
        line.extend_from_slice(part);
        let used = part.len();
        reader.consume(used);
        match (end, is_end) {
            (Some(_), true) => return Ok(true),
            (Some(_), false) => return Err(LineError::Foreign),
            (None, _) if line.first() != Some(&b'{') => return Err(LineError::Foreign),
            (None, _) if line.len() > LINE_BYTES => return Err(LineError::TooLong),
            (None, _) => {}
        }
    }
}
