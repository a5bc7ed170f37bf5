//! The build id of a binary: the same bytes are in the binary and in its debug file.

use super::super::{binary::Binary, error::AttachError};
use crate::limits::BUILD_ID_BYTES;
use core::fmt::Write as _;
use std::path::PathBuf;

/// The type of the note (`NT_GNU_BUILD_ID`).
const NT_GNU_BUILD_ID: u32 = 3;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BuildId(Vec<u8>);

impl BuildId {
    /// Reads the build id of a binary. Returns `None` if the binary has none.
    pub(super) fn of(binary: &Binary) -> Result<Option<Self>, AttachError> {
        let Some(section) = binary.section(b".note.gnu.build-id")? else { return Ok(None) };
        let (data, endian) = (section.data.as_slice(), binary.kind().endian);
        let field = |at| endian.u32(data, at);
        let (Some(4), Some(len), Some(NT_GNU_BUILD_ID)) = (field(0), field(4), field(8)) else {
            return Ok(None);
        };
        let len = usize::try_from(len).ok().filter(|len| (2..=BUILD_ID_BYTES).contains(len));
        let bytes = data.get(12..).and_then(|rest| rest.strip_prefix(b"GNU\0"));
        Ok(len.zip(bytes).and_then(|(len, bytes)| bytes.get(..len)).map(|id| Self(id.to_vec())))
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
