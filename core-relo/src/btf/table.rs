//! One pass over the type section: where each record lies, and that it lies within.

use super::{BtfError, Kind, header::Header, kind::Info};
use crate::{
    endian::Endian,
    ids::{TypeId, to_u32, to_usize},
};
use alloc::vec::Vec;

/// Offsets, in bytes into the whole data, of the records; the first is that of the BTF's first own type.
pub(crate) fn scan(data: &[u8], header: &Header, first_id: TypeId) -> Result<Vec<u32>, BtfError> {
    // Two functions, so that the byte order is decided outside of the loop.
    match header.endian {
        Endian::Little => scan_in::<false>(data, header, first_id),
        Endian::Big => scan_in::<true>(data, header, first_id),
    }
}

fn scan_in<const BIG: bool>(data: &[u8], header: &Header, first_id: TypeId) -> Result<Vec<u32>, BtfError> {
    let endian = if BIG { Endian::Big } else { Endian::Little };
    let types = data.get(header.types.clone()).unwrap_or_default();
    let section_len = to_u32(types.len());
    let section_start = to_u32(header.types.start);
    let mut offsets = Vec::new();
    let mut rest = types;
    let mut id = first_id;
    while !rest.is_empty() {
        let at = section_len.saturating_sub(to_u32(rest.len()));
        let bounds = |kind, vlen| BtfError::TypeBounds { id, kind, vlen, offset: at, section_len };
        let info = endian.u32(rest, 4).map(Info).ok_or(bounds(Kind::Void, 0))?;
        let kind = info.kind();
        let shape = match kind.record_shape() {
            Some(shape) => shape,
            None => header.layout_of(data, kind.raw()).ok_or(BtfError::UnknownKind {
                id,
                kind: kind.raw(),
                offset: at,
            })?,
        };
        let len = to_usize(shape.record_len(info.vlen()));
        rest = rest.get(len..).ok_or(bounds(kind, info.vlen()))?;
        offsets.push(section_start.saturating_add(at));
        id = TypeId(id.0.checked_add(1).ok_or(BtfError::TooManyTypes)?);
    }
    Ok(offsets)
}
