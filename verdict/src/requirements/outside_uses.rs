//! The uses of data sections beyond the sizes that the settings of a load give them.

use super::used_map::UsedMap;
use crate::{kernel::MapUse, linked_code::usize_of};
use core_relo::insn::Class;
use core_relo_object::link::{LinkedProgram, RefTarget};

/// Returns the uses of data sections beyond the sizes that the settings of a load give them: addresses, and
/// accesses by the next instruction.
pub(super) fn outside_uses<'m>(code: &LinkedProgram, maps: &'m [UsedMap]) -> Vec<(u32, &'m UsedMap, MapUse)> {
    let find = |(at, target): &(u32, RefTarget)| {
        let RefTarget::Data { map, offset } = target else { return None };
        let map = maps.get(map.0)?;
        let value_bytes = map.data_bytes?;
        let load = code.insns.get(usize_of(*at)).filter(|load| load.is_ld_imm64())?;
        let offset = offset.checked_add_signed(load.imm.into())?;
        if offset >= u64::from(value_bytes) {
            return Some((*at, map, MapUse::OutsideAddress { offset, value_bytes }));
        }
        let next = code.insns.get(usize_of(at.checked_add(2)?))?;
        let address = match next.class() {
            Class::Ldx => next.src,
            Class::St | Class::Stx => next.dst,
            _ => return None,
        };
        let end = offset.checked_add_signed(next.off.into())?.checked_add(next.access_bytes().into())?;
        let is_outside = address == load.dst && end > u64::from(value_bytes);
        is_outside.then_some((*at, map, MapUse::OutsideAccess { end, value_bytes }))
    };
    code.refs.iter().filter_map(find).collect()
}
