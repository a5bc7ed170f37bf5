//! Maps: creation and elements.

use super::{
    call::{
        Cmd, OBJ_NAME_LEN, address, attr, call_done, call_fd, call_fd_with_log, count, fd, object_name,
        opt_fd,
    },
    info::MapInfo,
};
use crate::sys::memory::possible_cpus;
use core_relo_object::{Errno, map_flags, object::MapType};
use std::{
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::Path,
};

attr! {
    struct FreezeAttr { map_fd: u32, }
    struct CreateAttr {
        map_type: u32, key_size: u32, value_size: u32, max_entries: u32, map_flags: u32, inner_map_fd: u32, numa_node: u32,
        map_name: [u8; OBJ_NAME_LEN], map_ifindex: u32, btf_fd: u32, btf_key_type_id: u32, btf_value_type_id: u32,
        btf_vmlinux_value_type_id: u32, map_extra: u64, value_type_btf_obj_fd: u32, map_token_fd: u32,
        excl_prog_hash: u64, excl_prog_hash_size: u32, pad: u32,
    }
}

/// The properties of a new map (`BPF_MAP_CREATE`).
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::exhaustive_structs, reason = "filled by callers with `..Default::default()`")]
pub struct MapCreate<'a> {
    /// The kernel's number of its type.
    pub map_type: u32,
    /// Its name; cut to 15 bytes.
    pub name: &'a [u8],
    /// Bytes of a key.
    pub key_size: u32,
    /// Bytes of a value.
    pub value_size: u32,
    /// The maximum number of entries.
    pub max_entries: u32,
    /// `BPF_F_*` flags.
    pub map_flags: u32,
    /// A parameter that depends on the map type.
    pub map_extra: u64,
    /// The NUMA node, with `BPF_F_NUMA_NODE`.
    pub numa_node: u32,
    /// The network device it belongs to, 0 for none.
    pub ifindex: u32,
    /// For a map of maps, a map with the properties of its elements.
    pub inner: Option<BorrowedFd<'a>>,
    /// The BTF of `key_type` and `value_type`.
    pub btf: Option<BorrowedFd<'a>>,
    /// Type of a key.
    pub key_type: u32,
    /// Type of a value.
    pub value_type: u32,
    /// Type of a struct_ops map's value in the kernel's BTF.
    pub kernel_value_type: u32,
    /// The BTF of the module that defines `kernel_value_type`; `None` for the kernel itself.
    pub kernel_value_btf: Option<BorrowedFd<'a>>,
    /// A BPF token.
    pub token: Option<BorrowedFd<'a>>,
    /// The SHA-256 of the instructions of the only program that may use the map. Empty for all programs
    /// (kernels from 6.18).
    pub excl_prog_hash: &'a [u8],
}

/// Creates a map.
pub(crate) fn map_create(map: &MapCreate<'_>) -> Result<OwnedFd, Errno> {
    call_fd(Cmd::MapCreate, &mut create_attr(map)?)
}

/// Creates a map, and writes the kernel's reason of a refusal to `log`, up to a NUL (`BPF_COMMON_ATTRS`:
/// Linux 7.2 has it, 6.18 does not).
///
/// Older kernels return `EINVAL` and write nothing.
pub(crate) fn map_create_log(map: &MapCreate<'_>, log: &mut [u8]) -> Result<OwnedFd, Errno> {
    call_fd_with_log(Cmd::MapCreate, &mut create_attr(map)?, log)
}

fn create_attr(map: &MapCreate<'_>) -> Result<CreateAttr, Errno> {
    let mut flags = map.map_flags;
    if map.token.is_some() {
        flags |= map_flags::TOKEN_FD;
    }
    if map.kernel_value_btf.is_some() {
        flags |= map_flags::VTYPE_BTF_OBJ_FD;
    }
    Ok(CreateAttr {
        map_type: map.map_type,
        key_size: map.key_size,
        value_size: map.value_size,
        max_entries: map.max_entries,
        map_flags: flags,
        inner_map_fd: opt_fd(map.inner),
        numa_node: map.numa_node,
        map_name: object_name(map.name),
        map_ifindex: map.ifindex,
        btf_fd: opt_fd(map.btf),
        btf_key_type_id: map.key_type,
        btf_value_type_id: map.value_type,
        btf_vmlinux_value_type_id: map.kernel_value_type,
        map_extra: map.map_extra,
        value_type_btf_obj_fd: opt_fd(map.kernel_value_btf),
        map_token_fd: opt_fd(map.token),
        excl_prog_hash: address(map.excl_prog_hash),
        excl_prog_hash_size: count(map.excl_prog_hash)?,
        pad: 0,
    })
}

/// A map's descriptor with the sizes of its elements. The kernel accesses that many bytes of each key and
/// value.
///
/// The sizes come from the kernel, so that no element method lets the kernel access memory beyond a buffer.
/// The types in [`maps`](crate::maps) have typed keys and values instead.
#[derive(Clone, Copy, Debug)]
pub struct MapShape<'m> {
    pub(super) map: BorrowedFd<'m>,
    pub(super) map_type: u32,
    pub(super) key_size: usize,
    pub(super) value_size: usize,
    pub(super) cpu_value_size: usize,
}

impl<'m> MapShape<'m> {
    /// Reads the sizes from the kernel (`BPF_OBJ_GET_INFO_BY_FD`).
    pub fn query(map: &'m impl AsFd) -> Result<Self, Errno> {
        // Only one call: an implementation of `AsFd` may return another descriptor the next time.
        let map = map.as_fd();
        let info = MapInfo::query(&map)?;
        Self::from_sizes(map, info.map_type, info.key_size, info.value_size)
    }

    fn from_sizes(map: BorrowedFd<'m>, map_type: u32, key_size: u32, value_size: u32) -> Result<Self, Errno> {
        let too_big = |_| Errno(libc::E2BIG);
        let each = usize::try_from(value_size).map_err(too_big)?;
        let value_size = if is_per_cpu(map_type) {
            let cpus = possible_cpus().map_err(|e| Errno::from_io_error(&e))?;
            let cpus = usize::try_from(cpus).map_err(too_big)?;
            let stride = each.checked_next_multiple_of(8).ok_or(Errno(libc::E2BIG))?;
            stride.checked_mul(cpus).ok_or(Errno(libc::E2BIG))?
        } else if holds_descriptors(map_type) {
            4
        } else {
            each
        };
        let key_size = usize::try_from(key_size).map_err(too_big)?;
        Ok(Self { map, map_type, key_size, value_size, cpu_value_size: each })
    }

    /// The map.
    pub fn fd(&self) -> BorrowedFd<'m> {
        self.map
    }

    /// The kernel's number of its type.
    pub fn map_type(&self) -> u32 {
        self.map_type
    }

    /// Bytes of a key.
    pub fn key_size(&self) -> usize {
        self.key_size
    }

    /// Bytes of a value in user space. The value of a per-CPU map has a part for each possible CPU, rounded
    /// up to 8 bytes.
    pub fn value_size(&self) -> usize {
        self.value_size
    }

    /// Whether a value has a part for each possible CPU.
    pub fn is_per_cpu(&self) -> bool {
        is_per_cpu(self.map_type)
    }

    /// The parts of a value of a per-CPU map, in the order of the [possible
    /// CPUs](crate::maps::possible_cpu_numbers).
    pub fn cpu_values<'v>(&self, value: &'v [u8]) -> impl Iterator<Item = &'v [u8]> + use<'v> {
        let len = self.cpu_value_size;
        value.chunks(len.next_multiple_of(8).max(8)).filter_map(move |part| part.get(..len))
    }

    /// Bytes of the value of one CPU in a per-CPU map; of any other map, bytes of a value in the kernel.
    pub fn cpu_value_size(&self) -> usize {
        self.cpu_value_size
    }
}

/// An owned descriptor of a map, with the sizes of its elements.
#[derive(Debug)]
pub struct MapFd {
    fd: OwnedFd,
    map_type: u32,
    key_size: usize,
    value_size: usize,
    cpu_value_size: usize,
    /// The map's name in its object, if that is known. The kernel has only the first 15 bytes.
    name: Option<Box<str>>,
}

impl MapFd {
    /// Reads the sizes from the kernel.
    pub fn new(fd: OwnedFd) -> Result<Self, Errno> {
        let MapShape { map_type, key_size, value_size, cpu_value_size, .. } = MapShape::query(&fd)?;
        Ok(Self { fd, map_type, key_size, value_size, cpu_value_size, name: None })
    }

    /// Creates a map.
    pub fn create(map: &MapCreate<'_>) -> Result<Self, Errno> {
        Self::new(map_create(map)?)
    }

    /// Makes the map read-only for user space.
    pub fn freeze(&self) -> Result<(), Errno> {
        map_freeze(self)
    }

    /// Opens a map that is pinned in a bpffs.
    pub fn open_pinned(path: impl AsRef<Path>) -> Result<Self, Errno> {
        Self::new(super::obj_get(path.as_ref(), 0)?)
    }

    /// Gives the map the name that errors call it by, instead of the kernel's.
    #[must_use]
    pub(crate) fn with_name(self, name: &str) -> Self {
        Self { name: Some(name.into()), ..self }
    }

    /// Returns the map's name in its object, if that is known.
    pub(crate) fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Returns the shape, which reads and writes elements by the bytes of their keys.
    pub fn shape(&self) -> MapShape<'_> {
        MapShape {
            map: self.fd.as_fd(),
            map_type: self.map_type,
            key_size: self.key_size,
            value_size: self.value_size,
            cpu_value_size: self.cpu_value_size,
        }
    }

    /// Duplicates the descriptor.
    pub fn try_clone(&self) -> Result<Self, Errno> {
        let fd = self.fd.try_clone().map_err(|e| Errno::from_io_error(&e))?;
        let &Self { map_type, key_size, value_size, cpu_value_size, .. } = self;
        Ok(Self { fd, map_type, key_size, value_size, cpu_value_size, name: self.name.clone() })
    }
}

impl AsFd for MapFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

pub(super) const fn is_per_cpu(map_type: u32) -> bool {
    matches!(
        MapType::from_number(map_type),
        Some(
            MapType::PercpuHash
                | MapType::PercpuArray
                | MapType::LruPercpuHash
                | MapType::PercpuCgroupStorage
        )
    )
}

/// Returns whether values are descriptors in user space, of four bytes whatever the map's value size.
const fn holds_descriptors(map_type: u32) -> bool {
    matches!(
        MapType::from_number(map_type),
        Some(
            MapType::ArrayOfMaps
                | MapType::HashOfMaps
                | MapType::ProgArray
                | MapType::PerfEventArray
                | MapType::CgroupArray
        )
    )
}

/// Makes a map read-only for user space.
pub(crate) fn map_freeze(map: impl AsFd) -> Result<(), Errno> {
    call_done(Cmd::MapFreeze, &mut FreezeAttr { map_fd: fd(map.as_fd()) })
}
