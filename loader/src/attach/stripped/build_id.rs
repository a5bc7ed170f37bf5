//! The build id of a binary: the same bytes are in the binary and in its debug file.

use super::super::{binary::Binary, error::AttachError};
use crate::{limits::BUILD_ID_BYTES, target::find_build_id};
use core::fmt::{self, Display, Formatter, Write as _};
use std::path::PathBuf;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BuildId(Vec<u8>);

impl BuildId {
    /// Reads the build id of a binary. Returns `None` if the binary has none.
    pub(super) fn of(binary: &Binary) -> Result<Option<Self>, AttachError> {
        let Some(section) = binary.section(b".note.gnu.build-id")? else { return Ok(None) };
        let id = find_build_id(&section.data, binary.kind().endian);
        Ok(id.filter(|id| (2..=BUILD_ID_BYTES).contains(&id.len())).map(|id| Self(id.to_vec())))
    }

    /// Returns the path of the debug file below a directory of debug files: `.build-id/ab/cdef.debug`.
    pub(super) fn debug_path(&self) -> PathBuf {
        let mut path = String::from(".build-id/");
        for (nth, byte) in self.0.iter().enumerate() {
            let separator = if nth == 1 { "/" } else { "" };
            // Writing to a string does not fail.
            let _ok = write!(path, "{separator}{byte:02x}");
        }
        path.push_str(".debug");
        PathBuf::from(path)
    }
}

impl Display for BuildId {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
