//! Probes of map types: the smallest map of each type is created and closed (libbpf:
//! `libbpf_probe_bpf_map_type`).

use super::{
    answer::{BTF_LOAD, INNER_MAP_CREATE, MAP_CREATE, ProbeResult, Probed, answer, undecided},
    program::{ENOTSUPP, prepare},
    token::Token,
};
use crate::sys::{self, BtfLoad, Errno, MapCreate};
use core_relo::{
    Endian, TypeId,
    btf::{Builder, BuiltMember, Kind},
};
use core_relo_object::{
    map_flags::{MMAPABLE, NO_PREALLOC},
    object::MapType,
};
use std::os::fd::{AsFd as _, OwnedFd};

/// Bytes of `struct bpf_cgroup_storage_key`, with padding.
const CGROUP_STORAGE_KEY: u32 = 16;

/// Bytes of `struct bpf_insn_array_value`.
const INSN_ARRAY_VALUE: u32 = 16;

/// The type of inner maps that a probe of maps of maps tries first.
pub(super) const FIRST_INNER_TYPE: MapType = MapType::Hash;

/// Probes whether the kernel has a map type.
pub(super) fn probe_type(map_type: MapType, token: Token<'_>) -> ProbeResult {
    prepare();
    let (mut btf, mut inner) = (None, None);
    let mut map = MapCreate {
        map_type: map_type.number(),
        key_size: 4,
        value_size: 4,
        max_entries: 1,
        token,
        ..MapCreate::default()
    };
    match map_type {
        MapType::Unspec => return Ok(Probed::no("it is no map type")),
        MapType::StackTrace => map.value_size = 8,
        MapType::LpmTrie => (map.key_size, map.value_size, map.map_flags) = (8, 8, NO_PREALLOC),
        MapType::CgroupStorage | MapType::PercpuCgroupStorage => {
            (map.key_size, map.value_size, map.max_entries) = (CGROUP_STORAGE_KEY, 8, 0);
        }
        MapType::Queue | MapType::Stack | MapType::BloomFilter => map.key_size = 0,
        MapType::SkStorage | MapType::InodeStorage | MapType::TaskStorage | MapType::CgrpStorage => {
            (map.value_size, map.max_entries, map.map_flags) = (8, 0, NO_PREALLOC);
            btf = Some(load_storage_btf(token).map_err(|errno| undecided(BTF_LOAD, errno))?);
        }
        MapType::Ringbuf | MapType::UserRingbuf => {
            (map.key_size, map.value_size, map.max_entries) = (0, 0, sys::page_bytes());
        }
        MapType::Arena => (map.key_size, map.value_size, map.map_flags) = (0, 0, MMAPABLE),
        MapType::InsnArray => map.value_size = INSN_ARRAY_VALUE,
        MapType::Rhash => map.map_flags = NO_PREALLOC,
        MapType::ArrayOfMaps | MapType::HashOfMaps => {
            let hash = MapCreate { map_type: FIRST_INNER_TYPE.number(), ..map };
            let array = MapCreate { map_type: MapType::Array.number(), ..map };
            // A token may delegate one of the two.
            let created =
                sys::map_create(&hash).or_else(|errno| sys::map_create(&array).map_err(|_second| errno));
            inner = Some(created.map_err(|errno| undecided(INNER_MAP_CREATE, errno))?);
        }
        // A kernel with the type looks up the struct of a type id that is none.
        MapType::StructOps => map.kernel_value_type = 1,
        _ => {}
    }
    map.inner = inner.as_ref().map(OwnedFd::as_fd);
    if let Some((fd, key_type, value_type)) = &btf {
        (map.btf, map.key_type, map.value_type) = (Some(fd.as_fd()), key_type.0, value_type.0);
    }
    match sys::map_create(&map) {
        Err(Errno(ENOTSUPP)) if map_type == MapType::StructOps => {
            Ok(Probed::yes("BPF_MAP_CREATE: ENOTSUPP, for a type that is no struct of operations"))
        }
        result => answer(MAP_CREATE, result),
    }
}

/// Loads the BTF that maps of local storage need: an `int` as key, and a struct as value.
fn load_storage_btf(token: Token<'_>) -> Result<(OwnedFd, TypeId, TypeId), Errno> {
    let mut b = Builder::new(Endian::native());
    let int = b.int("int", 4, Builder::SIGNED);
    let field = |name, bit_offset| BuiltMember { name, ty: int, bit_offset, bitfield_bits: 0 };
    let value = b.composite(Kind::Struct, "val", 8, &[field("a", 0), field("b", 32)]);
    let btf = sys::btf_load(&BtfLoad { btf: &b.finish(), token }, &mut [])?;
    Ok((btf, int, value))
}

/// Probes whether maps of a type accept a value of 8 bytes, in which programs of an attach type are referred
/// to: `struct bpf_devmap_val`, `struct bpf_cpumap_val`.
pub(super) fn probe_map_of_programs(map_type: MapType, token: Token<'_>) -> ProbeResult {
    prepare();
    answer(
        MAP_CREATE,
        sys::map_create(&MapCreate {
            map_type: map_type.number(),
            key_size: 4,
            value_size: 8,
            max_entries: 1,
            token,
            ..MapCreate::default()
        }),
    )
}
