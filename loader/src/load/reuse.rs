//! Reusing maps of the caller instead of creating new ones.

use super::{error::LoadError, kernel::Kernel, loading::Loading};
use crate::{hint::Hint, kernel_handle::descriptor, sys::MapInfo};
use core_relo_object::{
    load_plan::{KernelHandle, LoadPlan, MapAttributes, MapPlan, MapRole},
    object::MapType,
};
use std::os::fd::{AsFd as _, OwnedFd};

impl<K: Kernel> Loading<'_, K> {
    /// Duplicates the descriptor of a caller's map and copies the map's properties to the plan (libbpf:
    /// `bpf_map__reuse_fd`).
    ///
    /// Unlike libbpf, this refuses a map that cannot stand for the object's, because the verifier's message
    /// names neither map.
    pub(super) fn reuse_map(
        &self,
        callers_map: &KernelHandle,
        plan: &mut MapPlan,
    ) -> Result<OwnedFd, LoadError> {
        let failed = |plan: &MapPlan, errno| self.map_error(plan, "reusing the caller's map", errno);
        let fd =
            descriptor(callers_map).and_then(|fd| self.kernel.duplicate(fd)).map_err(|e| failed(plan, e))?;
        let info = self.kernel.map_info(fd.as_fd()).map_err(|e| failed(plan, e))?;
        check_type(&self.loaded.name, plan, &info)?;
        plan.set_attributes(MapAttributes {
            map_type: info.map_type,
            key_size: info.key_size,
            value_size: info.value_size,
            max_entries: info.max_entries,
            map_flags: info.map_flags,
            map_extra: info.map_extra,
        });
        Ok(fd)
    }
}

/// Checks that the maps that a plan reuses can stand for the object's maps, as a load does before it uses
/// them.
pub fn check_reused_maps(plan: &LoadPlan, kernel: &impl Kernel) -> Result<(), LoadError> {
    plan.maps().iter().try_for_each(|map| {
        let Some(reused) = map.reuse() else { return Ok(()) };
        let info =
            descriptor(reused).and_then(|fd| kernel.map_info(fd)).map_err(|errno| LoadError::Kernel {
                object: plan.name().into(),
                request: format!("map `{}`: reading the caller's map", map.name()).into(),
                map: Some(map.name().into()),
                errno,
                hint: Hint::for_errno(errno).into(),
            })?;
        check_type(plan.name(), map, &info)
    })
}

fn check_type(object: &str, map: &MapPlan, info: &MapInfo) -> Result<(), LoadError> {
    if can_stand_for(map, info.map_type) {
        return Ok(());
    }
    Err(LoadError::ReusedMap {
        object: object.into(),
        map: map.name().into(),
        reused: describe(info).into(),
        expected: type_name(map.map_type()).into(),
    })
}

/// Describes a map of the kernel: `` `hits` (id 7) is a BPF_MAP_TYPE_HASH with keys of 4 and values of 8
/// bytes``.
fn describe(info: &MapInfo) -> String {
    let name = info.name();
    let name = if name.is_empty() { String::new() } else { format!("`{name}` ") };
    let MapInfo { id, key_size, value_size, .. } = info;
    let kind = type_name(info.map_type);
    format!("{name}(id {id}) is a {kind} with keys of {key_size} and values of {value_size} bytes")
}

/// Returns the kernel's name of a map type.
fn type_name(number: u32) -> String {
    MapType::from_number(number).map_or_else(|| format!("map of type {number}"), |known| known.to_string())
}

/// Returns whether programs may be able to use a map of a type in place of the object's map. Sizes may
/// differ, as the verifier knows them.
fn can_stand_for(map: &MapPlan, found: u32) -> bool {
    let (Some(needed), Some(found)) = (map.known_type(), MapType::from_number(found)) else {
        // Nothing is known about the types of newer kernels.
        return true;
    };
    // Programs address the variables of a data map directly.
    let is_data = map.role().is_data() || map.role() == MapRole::JumpTable;
    needed == found || (!is_data && family(needed).is_some_and(|needed| family(found) == Some(needed)))
}

/// Map types that the same helpers accept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    /// Lookup, update and delete by key.
    Elements,
    /// Lookup of an inner map.
    MapOfMaps,
    /// `bpf_redirect_map`.
    Redirect,
    /// Helpers for maps of sockets.
    Sockets,
    /// Push, pop and peek.
    Queue,
    /// `bpf_get_local_storage`.
    CgroupStorage,
}

/// Returns the family of a map type. Returns `None` for types with helpers of their own.
const fn family(map_type: MapType) -> Option<Family> {
    use MapType as M;
    Some(match map_type {
        M::Hash
        | M::Array
        | M::PercpuHash
        | M::PercpuArray
        | M::LruHash
        | M::LruPercpuHash
        | M::LpmTrie
        | M::Rhash => Family::Elements,
        M::ArrayOfMaps | M::HashOfMaps => Family::MapOfMaps,
        M::Devmap | M::DevmapHash | M::Cpumap | M::Xskmap => Family::Redirect,
        M::Sockmap | M::Sockhash | M::ReuseportSockarray => Family::Sockets,
        M::Queue | M::Stack | M::BloomFilter => Family::Queue,
        M::CgroupStorage | M::PercpuCgroupStorage => Family::CgroupStorage,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Loader, object::Object};
    use core_relo_object::helper_maps::share_helper;
    use core_relo_object::test_support::{TestObject, kernel, returns};

    #[test]
    fn types_with_the_same_helpers_are_a_family() {
        use MapType as M;
        let same = |a, b| family(a).is_some() && family(a) == family(b);
        for (a, b) in [(M::Hash, M::LruHash), (M::Array, M::PercpuArray), (M::Queue, M::Stack)] {
            assert!(same(a, b), "{a} {b}");
        }
        for (a, b) in [
            (M::Hash, M::Ringbuf),
            (M::Ringbuf, M::UserRingbuf),
            (M::Hash, M::Queue),
            (M::ProgArray, M::Array),
        ] {
            assert!(!same(a, b), "{a} {b}");
        }
    }

    #[test]
    fn a_helper_takes_all_maps_of_a_family() {
        for (one, other) in
            MapType::ALL.iter().flat_map(|one| MapType::ALL.iter().map(move |other| (*one, *other)))
        {
            if family(one).is_some() && family(one) == family(other) {
                assert!(share_helper(one, other), "{one} {other}");
            }
        }
    }

    #[test]
    fn data_maps_need_their_own_type_and_unknown_types_are_accepted() {
        let mut m = TestObject::new();
        m.map("hits", &[("type", 1), ("max_entries", 8), ("key_size", 4), ("value_size", 8)], None);
        m.bss(".bss", 8);
        m.program("main", "tc", &returns(0));
        let bytes = m.bytes();
        let object = Object::parse(&bytes).unwrap();
        let plan = Loader::for_kernel(&object, kernel(|_| {})).plan().unwrap();
        let accepts = |name: &str, found: u32| {
            let map = plan.maps().iter().find(|map| map.name() == name).unwrap();
            can_stand_for(map, found)
        };
        let [hash, array, lru, percpu] =
            [MapType::Hash, MapType::Array, MapType::LruHash, MapType::PercpuArray].map(MapType::number);
        assert!(accepts("hits", hash) && accepts("hits", lru) && accepts("hits", array));
        assert!(!accepts("hits", MapType::Ringbuf.number()));
        assert!(accepts(".bss", array) && !accepts(".bss", percpu) && !accepts(".bss", hash));
        assert!(accepts("hits", 1000) && accepts(".bss", 1000));
    }
}
