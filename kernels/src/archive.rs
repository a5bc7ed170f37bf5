//! Tar archives of kernels, read member by member.

use crate::{
    compression::{budget::Budget, format::Compression, streams::Streams},
    error::{Defect, InputError},
    file::{self, InputFile},
    file_kind::{is_other_name, is_tar, max_bytes},
    limits::Limits,
    note::Note,
    tar_members::{self, TarMember, TarMemberKind, Uncompressed, VisitEnd, member_name},
};
use core_relo::Data;
use core_relo_loader::target;
use std::{
    ffi::OsStr,
    io::{self, Read},
    ops::ControlFlow,
    path::{Path, PathBuf},
};

/// A member that may be a kernel.
pub(crate) struct Member<'r> {
    /// The name for messages: `archive.tar.xz//member`.
    pub path: PathBuf,
    /// The index among all members, of any kind.
    pub index: u64,
    tar: TarMember<'r>,
    archive_budget: Budget,
}

impl Member<'_> {
    /// Reads the member. Returns its content and the budget for unpacking it.
    pub(crate) fn read(self, limits: Limits) -> Result<(Data<'static>, Budget), InputError> {
        let Self { path, tar, archive_budget, .. } = self;
        let unreadable = |e: &io::Error| file::unreadable(&path, e);
        let too_long = |limit| Err(file::too_long(&path, tar.len, limit));
        if tar.len > limits.bytes {
            return too_long(limits.bytes);
        }
        let budget = archive_budget.for_member(limits, tar.stored_bytes);
        tar.take_holes(&budget).map_err(|e| InputError::new(&path, e.into()))?;
        let mut head = Vec::new();
        tar.content.take(0x1000).read_to_end(&mut head).map_err(|e| unreadable(&e))?;
        let limit = max_bytes(&head, limits);
        if tar.len > limit {
            return too_long(limit);
        }
        // The header alone does not justify a large allocation.
        let expected = tar.len.min(16 << 20);
        let bytes = target::read_all(io::Cursor::new(head).chain(tar.content), expected, limit);
        // `content` ends at the length in the header.
        let Some(bytes) = bytes.map_err(|e| unreadable(&e))? else { return too_long(limit) };
        if u64::try_from(bytes.len()).ok() != Some(tar.len) {
            let defect = Defect::TruncatedMember { bytes: bytes.len(), expected: tar.len };
            return Err(InputError::new(&path, defect));
        }
        Ok((bytes, budget))
    }
}

/// Passes each member whose type and name are possible for a kernel to `visit`. Returns a note about skipped
/// links.
pub(crate) fn visit_members(
    path: &Path,
    limits: Limits,
    visit: &mut dyn FnMut(Member<'_>) -> ControlFlow<()>,
) -> Result<Option<Note>, InputError> {
    let input = InputFile::open(path, limits.bytes)?;
    if input.head.is_empty() {
        return Err(InputError::new(path, Defect::EmptyArchive));
    }
    let budget = Budget::for_archive(limits, input.stored_bytes);
    let stream: Box<dyn Read> = match Compression::detect(&input.head) {
        Some(format) => Box::new(Streams::concatenated(format, input.into_stream(), budget.clone())),
        None if is_tar(&input.head) => {
            Box::new(Uncompressed { stream: input.into_stream(), budget: budget.clone() })
        }
        None => return Err(InputError::new(path, Defect::NotAnArchive)),
    };
    let (mut link_count, mut module_count) = (0usize, 0usize);
    // The directory that may have the modules of the last kernel: `6.1.0` after `6.1.0.btf`.
    let mut module_dir = None;
    let end = tar_members::visit(path, stream, &budget, &mut |tar| {
        match tar.kind {
            TarMemberKind::Link => link_count += 1,
            TarMemberKind::Other => {}
            TarMemberKind::File
                if tar.path.parent().is_some_and(|dir| Some(dir) == module_dir.as_deref()) =>
            {
                module_count += 1;
            }
            TarMemberKind::File if is_other_name(&tar.path) => {}
            TarMemberKind::File => {
                let is_btf = tar.path.extension() == Some(OsStr::new("btf"));
                module_dir = is_btf.then(|| tar.path.with_extension(""));
                let (path, index) = (member_name(path, &tar.path), tar.index);
                return visit(Member { path, index, tar, archive_budget: budget.clone() });
            }
        }
        ControlFlow::Continue(())
    })?;
    let is_skipped = end != VisitEnd::Stopped && (link_count > 0 || module_count > 0);
    Ok(is_skipped.then(|| Note::Members { archive: path.to_path_buf(), link_count, module_count }))
}
