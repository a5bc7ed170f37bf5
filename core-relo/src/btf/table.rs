//! One pass over the type section: where each record lies, and that it lies within.

use super::{BtfError, Kind, header::Header, kind::Info};
use crate::ids::{TypeId, to_u32, to_usize};
use alloc::vec::Vec;

/// Offsets, in bytes into the whole data, of the records; the first is that of the BTF's first own type.
pub(crate) fn scan(data: &[u8], header: &Header, first_id: TypeId) -> Result<Vec<u32>, BtfError> {
    let types = data.get(header.types.clone()).unwrap_or_default();
    let section_len = to_u32(types.len());
    let section_start = to_u32(header.types.start);
    let mut offsets = Vec::new();
    let mut at = 0u32;
    let mut id = first_id;
    while at < section_len {
        let bounds = |kind, vlen| BtfError::TypeBounds { id, kind, vlen, offset: at, section_len };
        let info_at = to_usize(at).saturating_add(4);
        let info = header.endian.u32(types, info_at).map(Info).ok_or(bounds(Kind::Void, 0))?;
        let kind = info.kind();
        let shape = match kind.record_shape() {
            Some(shape) => shape,
            None => header.layout_of(data, kind.raw()).ok_or(BtfError::UnknownKind {
                id,
                kind: kind.raw(),
                offset: at,
            })?,
        };
        let end = u64::from(at).saturating_add(shape.record_len(info.vlen()));
        let end = u32::try_from(end).ok().filter(|end| *end <= section_len);
        let end = end.ok_or(bounds(kind, info.vlen()))?;
        offsets.push(section_start.saturating_add(at));
        at = end;
        id = TypeId(id.0.checked_add(1).ok_or(BtfError::TooManyTypes)?);
    }
    Ok(offsets)
}
