//! The index of an archive: a line of tab-separated values for each kernel.

use super::{
    error::ArchiveError,
    identity::{KernelIdentity, OsRelease},
};
use core::str;
use hashbrown::HashSet;

/// The name of the index, the first member of an archive.
pub const INDEX_NAME: &str = "index.tsv";

/// The first line of an index: the columns.
const COLUMNS: [&str; 9] = [
    "file",
    "content",
    "release",
    "architecture",
    "distribution",
    "distribution_version",
    "build_id",
    "version",
    "modules",
];

/// A kernel in an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ArchiveEntry {
    /// The name of the kernel's BTF.
    pub file: String,
    /// The name of the member with the bytes. Kernels with equal BTF, also of their modules, share the
    /// members.
    pub content: String,
    /// The kernel.
    pub kernel: KernelIdentity,
    /// The names of the modules whose BTF the archive has.
    pub modules: Vec<String>,
}

impl ArchiveEntry {
    /// Creates an entry of a kernel whose BTF is in the member `content`.
    pub fn new(kernel: KernelIdentity, content: impl Into<String>) -> Self {
        Self { file: kernel.file_name(), content: content.into(), kernel, modules: Vec::new() }
    }

    /// Returns the entry with the names of its modules.
    #[must_use]
    pub fn with_modules(self, modules: impl IntoIterator<Item = String>) -> Self {
        Self { modules: modules.into_iter().collect(), ..self }
    }

    /// Returns the name of the member with the BTF of a module: `RELEASE/MODULE.btf` beside `RELEASE.btf`.
    pub fn module_member(&self, module: &str) -> String {
        module_file(&self.content, module)
    }

    fn values(&self) -> [String; COLUMNS.len()] {
        let Self { file, content, kernel, modules } = self;
        let KernelIdentity { release, version, architecture, distribution, build_id } = kernel;
        let OsRelease { id, version: distribution_version } = distribution;
        let modules = modules.join(" ");
        [file, content, release, architecture, id, distribution_version, build_id, version, &modules]
            .map(|value| value.replace(char::is_control, " "))
    }
}

/// Returns the name of the BTF of a module: `RELEASE/MODULE.btf` for a kernel `RELEASE.btf`.
pub fn module_file(kernel: &str, module: &str) -> String {
    format!("{}/{module}.btf", kernel.strip_suffix(".btf").unwrap_or(kernel))
}

/// Returns whether an archive can have a module of this name: letters, digits, `_` and `-`.
pub fn is_module_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

/// Returns the text of an index. Tabs and control characters in values become spaces.
pub fn index_text(entries: &[ArchiveEntry]) -> String {
    let mut text = COLUMNS.join("\t");
    text.push('\n');
    for entry in entries {
        text.push_str(&entry.values().join("\t"));
        text.push('\n');
    }
    text
}

/// Parses an index. Further columns, which a later version may add, are ignored.
pub(super) fn parse_index(bytes: &[u8]) -> Result<Vec<ArchiveEntry>, ArchiveError> {
    let error = |line, problem| ArchiveError::Index { line, problem };
    let text = str::from_utf8(bytes).map_err(|_not_utf8| error(1, "not UTF-8"))?;
    let mut lines = text.lines();
    let head = lines.next().ok_or_else(|| error(1, "no line with the columns"))?;
    let mut columns = head.split('\t');
    if !COLUMNS.iter().all(|column| columns.next() == Some(*column)) {
        return Err(error(1, "unknown columns"));
    }
    let (mut entries, mut files) = (Vec::new(), HashSet::new());
    for (line, text) in (2..).zip(lines) {
        if text.contains(|c: char| c.is_control() && c != '\t') {
            return Err(error(line, "a control character"));
        }
        let mut values = text.split('\t');
        let mut next = || values.next().map(str::to_owned).ok_or_else(|| error(line, "too few columns"));
        let (file, content) = (next()?, next()?);
        let (release, architecture) = (next()?, next()?);
        let distribution = OsRelease { id: next()?, version: next()? };
        let (build_id, version) = (next()?, next()?);
        let modules: Vec<_> = next()?.split_terminator(' ').map(str::to_owned).collect();
        if !modules.iter().all(|module| is_module_name(module)) {
            return Err(error(line, "a module whose name is not letters, digits, `_` and `-`"));
        }
        if modules.iter().collect::<HashSet<_>>().len() < modules.len() {
            return Err(error(line, "two modules of one name"));
        }
        if !files.insert(file.clone()) {
            return Err(error(line, "the file has a line already"));
        }
        let kernel = KernelIdentity { release, version, architecture, distribution, build_id };
        entries.push(ArchiveEntry { file, content, kernel, modules });
    }
    Ok(entries)
}
