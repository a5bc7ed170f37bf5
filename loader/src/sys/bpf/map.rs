//! Maps: creation and elements.

use super::{
    call::{
        Cmd, OBJ_NAME_LEN, address, address_mut, attr, call_done, call_fd, call_fd_with_log, count, fd,
        object_name, opt_fd,
    },
    info::map_info,
};
use crate::sys::memory::possible_cpus;
use core_relo_object::{Errno, object::MapType};
use std::{
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::Path,
};

/// `BPF_F_TOKEN_FD` of `map_flags`.
const TOKEN: u32 = 1 << 16;
/// `BPF_F_VTYPE_BTF_OBJ_FD` of `map_flags`.
const VALUE_TYPE_FD: u32 = 1 << 15;

attr! {
    struct CreateAttr {
        map_type: u32, key_size: u32, value_size: u32, max_entries: u32, map_flags: u32, inner_map_fd: u32, numa_node: u32,
        map_name: [u8; OBJ_NAME_LEN], map_ifindex: u32, btf_fd: u32, btf_key_type_id: u32, btf_value_type_id: u32,
        btf_vmlinux_value_type_id: u32, map_extra: u64, value_type_btf_obj_fd: u32, map_token_fd: u32,
        excl_prog_hash: u64, excl_prog_hash_size: u32, pad: u32,
    }
    struct ElemAttr { map_fd: u32, pad: u32, key: u64, value: u64, flags: u64, }
    struct BatchAttr {
        in_batch: u64, out_batch: u64, keys: u64, values: u64, count: u32, map_fd: u32, elem_flags: u64, flags: u64,
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
    /// The SHA-256 of the instructions of the only program that may use the map. Empty for all programs (kernels from 6.18).
    pub excl_prog_hash: &'a [u8],
}

/// Creates a map.
pub fn map_create(map: &MapCreate<'_>) -> Result<OwnedFd, Errno> {
    call_fd(Cmd::MapCreate, &mut create_attr(map)?)
}

/// Creates a map, and writes the kernel's reason of a refusal to `log`, up to a NUL (`BPF_COMMON_ATTRS`: Linux 7.2 has it, 6.18 does not).
///
/// Older kernels return `EINVAL` and write nothing.
pub fn map_create_log(map: &MapCreate<'_>, log: &mut [u8]) -> Result<OwnedFd, Errno> {
    call_fd_with_log(Cmd::MapCreate, &mut create_attr(map)?, log)
}

fn create_attr(map: &MapCreate<'_>) -> Result<CreateAttr, Errno> {
    let mut flags = map.map_flags;
    if map.token.is_some() {
        flags |= TOKEN;
    }
    if map.kernel_value_btf.is_some() {
        flags |= VALUE_TYPE_FD;
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

/// A map's descriptor with the sizes of its elements. The kernel accesses that many bytes of each key and value.
///
/// The sizes come from the kernel, so that no element function lets the kernel access memory beyond a buffer.
#[derive(Clone, Copy, Debug)]
pub struct MapShape<'m> {
    map: BorrowedFd<'m>,
    map_type: u32,
    key_size: usize,
    value_size: usize,
    cpu_value_size: usize,
}

impl<'m> MapShape<'m> {
    /// Reads the sizes from the kernel (`BPF_OBJ_GET_INFO_BY_FD`).
    pub fn query(map: &'m impl AsFd) -> Result<Self, Errno> {
        // Only one call: an implementation of `AsFd` may return another descriptor the next time.
        let map = map.as_fd();
        let info = map_info(&map)?;
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

    /// Bytes of a value in user space. The value of a per-CPU map has a part for each possible CPU, rounded up to 8 bytes.
    pub fn value_size(&self) -> usize {
        self.value_size
    }

    /// Bytes of the value of one CPU in a per-CPU map; of any other map, bytes of a value in the kernel.
    pub fn cpu_value_size(&self) -> usize {
        self.cpu_value_size
    }

    fn key(&self, key: &[u8]) -> Result<u64, Errno> {
        if key.len() == self.key_size { Ok(address(key)) } else { Err(Errno(libc::EINVAL)) }
    }

    fn value(&self, value: &[u8]) -> Result<u64, Errno> {
        if value.len() == self.value_size { Ok(address(value)) } else { Err(Errno(libc::EINVAL)) }
    }

    fn value_mut(&self, value: &mut [u8]) -> Result<u64, Errno> {
        if value.len() == self.value_size { Ok(address_mut(value)) } else { Err(Errno(libc::EINVAL)) }
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

    /// Returns the shape, which the element functions take.
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

const fn is_per_cpu(map_type: u32) -> bool {
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

/// Reads an element. Here and in the functions below, a key or value of another length than in [`MapShape`] is `EINVAL`.
pub fn map_lookup(map: MapShape<'_>, key: &[u8], value: &mut [u8], flags: u64) -> Result<(), Errno> {
    let attr =
        ElemAttr { map_fd: fd(map.map), key: map.key(key)?, value: map.value_mut(value)?, flags, pad: 0 };
    call_done(Cmd::MapLookup, &mut { attr })
}

/// Reads and removes an element.
pub fn map_lookup_and_delete(
    map: MapShape<'_>,
    key: &[u8],
    value: &mut [u8],
    flags: u64,
) -> Result<(), Errno> {
    let attr =
        ElemAttr { map_fd: fd(map.map), key: map.key(key)?, value: map.value_mut(value)?, flags, pad: 0 };
    call_done(Cmd::MapLookupAndDelete, &mut { attr })
}

/// Writes an element.
pub fn map_update(map: MapShape<'_>, key: &[u8], value: &[u8], flags: u64) -> Result<(), Errno> {
    let attr = ElemAttr { map_fd: fd(map.map), key: map.key(key)?, value: map.value(value)?, flags, pad: 0 };
    call_done(Cmd::MapUpdate, &mut { attr })
}

/// The CPUs whose value in a per-CPU map a call reads or writes: Linux 7.2 knows them, 6.18 does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the kernel has these two")]
pub enum Cpus {
    /// The CPU of this number (`BPF_F_CPU`).
    One(u32),
    /// All possible CPUs, which get the same value (`BPF_F_ALL_CPUS`).
    All,
}

impl Cpus {
    /// Returns the bits of the flags of an element.
    fn flags(self) -> u64 {
        match self {
            Self::One(cpu) => 8 | (u64::from(cpu) << 32),
            Self::All => 16,
        }
    }
}

/// Reads the value of one CPU in a per-CPU map. `value` has [`MapShape::cpu_value_size`] bytes.
pub fn map_lookup_cpu(map: MapShape<'_>, key: &[u8], cpu: u32, value: &mut [u8]) -> Result<(), Errno> {
    if value.len() != map.cpu_value_size || !is_per_cpu(map.map_type) {
        return Err(Errno(libc::EINVAL));
    }
    // A kernel that ignored the flag would write the values of all CPUs.
    let mut values = vec![0; map.value_size];
    map_lookup(map, key, &mut values, Cpus::One(cpu).flags())?;
    let (to, from) = (value.iter_mut(), values.iter());
    to.zip(from).for_each(|(to, from)| *to = *from);
    Ok(())
}

/// Writes the value of one CPU, or of all CPUs, in a per-CPU map. `value` has [`MapShape::cpu_value_size`] bytes.
///
/// Older kernels refuse the request with `EINVAL`.
pub fn map_update_cpus(
    map: MapShape<'_>,
    key: &[u8],
    value: &[u8],
    cpus: Cpus,
    flags: u64,
) -> Result<(), Errno> {
    if value.len() != map.cpu_value_size || !is_per_cpu(map.map_type) {
        return Err(Errno(libc::EINVAL));
    }
    // Older kernels read the values of all CPUs before they look at the flags.
    let mut values = value.to_vec();
    values.resize(map.value_size, 0);
    map_update(map, key, &values, flags | cpus.flags())
}

/// Removes an element.
pub fn map_delete(map: MapShape<'_>, key: &[u8]) -> Result<(), Errno> {
    let attr = ElemAttr { map_fd: fd(map.map), key: map.key(key)?, value: 0, flags: 0, pad: 0 };
    call_done(Cmd::MapDelete, &mut { attr })
}

/// Writes the key after `key`, or the first key, to `next`. Returns `false` at the end.
pub fn map_next_key(map: MapShape<'_>, key: Option<&[u8]>, next: &mut [u8]) -> Result<bool, Errno> {
    if next.len() != map.key_size {
        return Err(Errno(libc::EINVAL));
    }
    let key = key.map_or(Ok(0), |key| map.key(key))?;
    let attr = ElemAttr { map_fd: fd(map.map), key, value: address_mut(next), flags: 0, pad: 0 };
    match call_done(Cmd::MapNextKey, &mut { attr }) {
        Ok(()) => Ok(true),
        Err(Errno(libc::ENOENT)) => Ok(false),
        Err(e) => Err(e),
    }
}

/// Makes a map read-only for user space.
pub fn map_freeze(map: impl AsFd) -> Result<(), Errno> {
    call_done(Cmd::MapFreeze, &mut ElemAttr { map_fd: fd(map.as_fd()), ..ElemAttr::default() })
}

/// The result of reading a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Batch {
    /// The number of elements read.
    pub count: u32,
    /// Whether the batch is the last one.
    pub is_last: bool,
}

/// Reads (and with `delete` removes) as many elements as `keys` and `values` have room for.
///
/// The kernel writes its cursor to `to`, which is `from` for the next batch. `from` is `None` for the first batch.
pub fn map_lookup_batch(
    map: MapShape<'_>,
    from: Option<&[u8]>,
    to: &mut [u8],
    keys: &mut [u8],
    values: &mut [u8],
    delete: bool,
) -> Result<Batch, Errno> {
    // The cursor of a hash map has four bytes, whatever its keys.
    let cursor_bytes = map.key_size.max(4);
    if to.len() < cursor_bytes || from.is_some_and(|from| from.len() < cursor_bytes) {
        return Err(Errno(libc::EINVAL));
    }
    let mut attr = BatchAttr {
        in_batch: from.map_or(0, address),
        out_batch: address_mut(to),
        count: elements(map, keys, values)?,
        keys: address_mut(keys),
        values: address_mut(values),
        map_fd: fd(map.map),
        ..BatchAttr::default()
    };
    let room = attr.count;
    let cmd = if delete { Cmd::MapLookupAndDeleteBatch } else { Cmd::MapLookupBatch };
    match call_done(cmd, &mut attr) {
        Ok(()) => Ok(Batch { count: attr.count, is_last: false }),
        Err(Errno(libc::ENOENT)) => Ok(Batch { count: attr.count, is_last: true }),
        // A bucket was busy after other buckets were read (and removed), and those count. The kernel does not change `count` if it
        // refuses the whole call.
        Err(_busy) if attr.count != 0 && attr.count < room => Ok(Batch { count: attr.count, is_last: false }),
        Err(e) => Err(e),
    }
}

/// Returns the number of elements processed before an error. The kernel does not change the count if it refuses the whole batch.
const fn processed(given: u32, count: u32) -> u32 {
    if count == given { 0 } else { count }
}

/// Writes elements. Returns the number of elements written, with or without an error.
pub fn map_update_batch(
    map: MapShape<'_>,
    keys: &[u8],
    values: &[u8],
    flags: u64,
) -> Result<u32, (Errno, u32)> {
    let none = |e| (e, 0);
    let mut attr = BatchAttr {
        count: elements(map, keys, values).map_err(none)?,
        keys: address(keys),
        values: address(values),
        map_fd: fd(map.map),
        elem_flags: flags,
        ..BatchAttr::default()
    };
    let given = attr.count;
    match call_done(Cmd::MapUpdateBatch, &mut attr) {
        Ok(()) => Ok(attr.count),
        Err(e) => Err((e, processed(given, attr.count))),
    }
}

/// Removes elements. Returns the number of elements removed, with or without an error.
pub fn map_delete_batch(map: MapShape<'_>, keys: &[u8]) -> Result<u32, (Errno, u32)> {
    let none = |e| (e, 0);
    let invalid = none(Errno(libc::EINVAL));
    if !keys.len().is_multiple_of(map.key_size) {
        return Err(invalid);
    }
    let key_count = keys.len().checked_div(map.key_size).ok_or(invalid)?;
    let mut attr = BatchAttr {
        count: u32::try_from(key_count).map_err(|_many| none(Errno(libc::E2BIG)))?,
        keys: address(keys),
        map_fd: fd(map.map),
        ..BatchAttr::default()
    };
    let given = attr.count;
    match call_done(Cmd::MapDeleteBatch, &mut attr) {
        Ok(()) => Ok(attr.count),
        Err(e) => Err((e, processed(given, attr.count))),
    }
}

/// Returns the number of elements of which keys and values consist. Different numbers are `EINVAL`.
fn elements(map: MapShape<'_>, keys: &[u8], values: &[u8]) -> Result<u32, Errno> {
    let n = keys.len().checked_div(map.key_size).ok_or(Errno(libc::EINVAL))?;
    let fits = n.checked_mul(map.key_size) == Some(keys.len())
        && n.checked_mul(map.value_size) == Some(values.len());
    if fits { u32::try_from(n).map_err(|_many| Errno(libc::E2BIG)) } else { Err(Errno(libc::EINVAL)) }
}
