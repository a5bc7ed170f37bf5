//! Maps: creation and elements.

use super::{
    Cmd, OBJ_NAME_LEN, address, address_mut, attr, call_done, call_fd, count, fd, object_name, opt_fd,
};
use crate::{
    object::MapType,
    sys::{Errno, memory::possible_cpus},
};
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

/// What a new map is to be (`BPF_MAP_CREATE`).
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
    /// How many entries it may have.
    pub max_entries: u32,
    /// `BPF_F_*` flags.
    pub map_flags: u32,
    /// What else its type takes.
    pub map_extra: u64,
    /// The memory node, if `map_flags` asks for one.
    pub numa_node: u32,
    /// The network device it belongs to, 0 for none.
    pub ifindex: u32,
    /// For a map of maps: a map like those it will hold.
    pub inner: Option<BorrowedFd<'a>>,
    /// The BTF that the type ids are of.
    pub btf: Option<BorrowedFd<'a>>,
    /// Type of a key.
    pub key_type: u32,
    /// Type of a value.
    pub value_type: u32,
    /// Type of a struct_ops map's value in the kernel's BTF.
    pub kernel_value_type: u32,
    /// The module's BTF that `kernel_value_type` is of, if it is a module's.
    pub kernel_value_btf: Option<BorrowedFd<'a>>,
    /// A BPF token.
    pub token: Option<BorrowedFd<'a>>,
    /// The SHA-256 of the instructions of the only program that may use it; empty: any may (kernels from 6.18).
    pub excl_prog_hash: &'a [u8],
}

/// Makes a map.
pub fn map_create(map: &MapCreate<'_>) -> Result<OwnedFd, Errno> {
    let mut flags = map.map_flags;
    if map.token.is_some() {
        flags |= TOKEN;
    }
    if map.kernel_value_btf.is_some() {
        flags |= VALUE_TYPE_FD;
    }
    call_fd(
        Cmd::MapCreate,
        &mut CreateAttr {
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
        },
    )
}

/// A map's descriptor with the sizes of its elements, which the kernel reads and writes unasked.
///
/// The sizes come from the kernel, so that no element function can reach past a buffer.
#[derive(Clone, Copy, Debug)]
pub struct MapShape<'m> {
    map: BorrowedFd<'m>,
    map_type: u32,
    key_size: usize,
    value_size: usize,
}

impl<'m> MapShape<'m> {
    /// Asks the kernel (`BPF_OBJ_GET_INFO_BY_FD`).
    pub fn of(map: &'m impl AsFd) -> Result<Self, Errno> {
        // Once: who implements the trait may answer with another descriptor the next time.
        let map = map.as_fd();
        let info = super::map_info(&map)?;
        Self::from_sizes(map, info.map_type, info.key_size, info.value_size)
    }

    fn from_sizes(map: BorrowedFd<'m>, map_type: u32, key_size: u32, value_size: u32) -> Result<Self, Errno> {
        let too_big = |_| Errno(libc::E2BIG);
        let each = usize::try_from(value_size).map_err(too_big)?;
        let value_size = if is_per_cpu(map_type) {
            let cpus = possible_cpus().map_err(|e| Errno::from_io_error(&e))?;
            let cpus = usize::try_from(cpus).map_err(too_big)?;
            each.next_multiple_of(8).checked_mul(cpus).ok_or(Errno(libc::E2BIG))?
        } else if is_of_descriptors(map_type) {
            4
        } else {
            each
        };
        Ok(Self { map, map_type, key_size: usize::try_from(key_size).map_err(too_big)?, value_size })
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

    /// Bytes of a value as user space sees it: of a per-CPU map that of all possible CPUs, each rounded up to 8.
    pub fn value_size(&self) -> usize {
        self.value_size
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

/// A map that belongs to its holder, with the sizes of its elements.
#[derive(Debug)]
pub struct MapFd {
    fd: OwnedFd,
    map_type: u32,
    key_size: usize,
    value_size: usize,
    /// The map's name in its object, if that is known. The kernel has only the first 15 bytes.
    name: Option<Box<str>>,
}

impl MapFd {
    /// Asks the kernel for the sizes.
    pub fn new(fd: OwnedFd) -> Result<Self, Errno> {
        let MapShape { map_type, key_size, value_size, .. } = MapShape::of(&fd)?;
        Ok(Self { fd, map_type, key_size, value_size, name: None })
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

    /// For the element functions.
    pub fn shape(&self) -> MapShape<'_> {
        MapShape {
            map: self.fd.as_fd(),
            map_type: self.map_type,
            key_size: self.key_size,
            value_size: self.value_size,
        }
    }

    /// Another descriptor of the same map.
    pub fn try_clone(&self) -> Result<Self, Errno> {
        let fd = self.fd.try_clone().map_err(|e| Errno::from_io_error(&e))?;
        let &Self { map_type, key_size, value_size, .. } = self;
        Ok(Self { fd, map_type, key_size, value_size, name: self.name.clone() })
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

/// Maps whose elements the kernel takes and gives as four bytes, whatever their values are.
const fn is_of_descriptors(map_type: u32) -> bool {
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

/// Reads an element. `value` has the length of [`MapShape::value_size`]; so in all element functions, else `EINVAL`.
pub fn map_lookup(map: MapShape<'_>, key: &[u8], value: &mut [u8], flags: u64) -> Result<(), Errno> {
    let attr =
        ElemAttr { map_fd: fd(map.map), key: map.key(key)?, value: map.value_mut(value)?, flags, pad: 0 };
    call_done(Cmd::MapLookup, &mut { attr })
}

/// Reads an element and removes it.
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

/// Removes an element.
pub fn map_delete(map: MapShape<'_>, key: &[u8]) -> Result<(), Errno> {
    let attr = ElemAttr { map_fd: fd(map.map), key: map.key(key)?, value: 0, flags: 0, pad: 0 };
    call_done(Cmd::MapDelete, &mut { attr })
}

/// The key after `key`, or the first one; whether there is one.
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

/// Keeps user space from writing the map from now on.
pub fn map_freeze(map: impl AsFd) -> Result<(), Errno> {
    call_done(Cmd::MapFreeze, &mut ElemAttr { map_fd: fd(map.as_fd()), ..ElemAttr::default() })
}

/// What a batch of elements came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Batch {
    /// Elements read, written or removed.
    pub count: u32,
    /// Whether the map's end was reached.
    pub is_last: bool,
}

/// Reads (and with `delete` removes) as many elements as `keys` and `values` have room for. `from` and `to` are the kernel's
/// mark of where it stands: `from` is none for the first batch, then what the last one wrote to `to`.
pub fn map_lookup_batch(
    map: MapShape<'_>,
    from: Option<&[u8]>,
    to: &mut [u8],
    keys: &mut [u8],
    values: &mut [u8],
    delete: bool,
) -> Result<Batch, Errno> {
    // A hash map's mark is four bytes, whatever its keys.
    let mark = map.key_size.max(4);
    if to.len() < mark || from.is_some_and(|from| from.len() < mark) {
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
        // A bucket was busy after others had been read (and removed): those count. The kernel leaves `count` alone where it
        // refuses the call as a whole.
        Err(_busy) if attr.count != 0 && attr.count < room => Ok(Batch { count: attr.count, is_last: false }),
        Err(e) => Err(e),
    }
}

/// How many elements were done before an error: a kernel that refuses a batch as a whole leaves the number as it was given.
const fn done_of(given: u32, count: u32) -> u32 {
    if count == given { 0 } else { count }
}

/// Writes elements; as many were written as the result says, all if it is no error.
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
        Err(e) => Err((e, done_of(given, attr.count))),
    }
}

/// Removes elements; as many were removed as the result says.
pub fn map_delete_batch(map: MapShape<'_>, keys: &[u8]) -> Result<u32, (Errno, u32)> {
    let none = |e| (e, 0);
    let size = map.key_size;
    if size == 0 || !keys.len().is_multiple_of(size) {
        return Err(none(Errno(libc::EINVAL)));
    }
    let mut attr = BatchAttr {
        count: count(keys).map_err(none)?.checked_div(u32::try_from(size).unwrap_or(1)).unwrap_or_default(),
        keys: address(keys),
        map_fd: fd(map.map),
        ..BatchAttr::default()
    };
    let given = attr.count;
    match call_done(Cmd::MapDeleteBatch, &mut attr) {
        Ok(()) => Ok(attr.count),
        Err(e) => Err((e, done_of(given, attr.count))),
    }
}

/// How many elements keys and values hold, if they hold equally many.
fn elements(map: MapShape<'_>, keys: &[u8], values: &[u8]) -> Result<u32, Errno> {
    let n = keys.len().checked_div(map.key_size).ok_or(Errno(libc::EINVAL))?;
    let fits = n.checked_mul(map.key_size) == Some(keys.len())
        && n.checked_mul(map.value_size) == Some(values.len());
    if fits { u32::try_from(n).map_err(|_many| Errno(libc::E2BIG)) } else { Err(Errno(libc::EINVAL)) }
}
