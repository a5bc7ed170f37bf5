//! Elements of maps, by the bytes of their keys and values.

use super::{
    call::{Cmd, address, address_mut, attr, call_done, fd},
    map::{MapShape, is_per_cpu},
};
use core_relo_object::Errno;

attr! {
    struct ElemAttr { map_fd: u32, pad: u32, key: u64, value: u64, flags: u64, }
    struct BatchAttr {
        in_batch: u64, out_batch: u64, keys: u64, values: u64, count: u32, map_fd: u32, elem_flags: u64, flags: u64,
    }
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

/// The result of reading a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Batch {
    /// The number of elements read.
    pub(crate) count: u32,
    /// Whether the batch is the last one.
    pub(crate) is_last: bool,
}

impl MapShape<'_> {
    /// Reads an element. Here and in the methods below, a key or value of another length is `EINVAL`.
    pub fn lookup(self, key: &[u8], value: &mut [u8], flags: u64) -> Result<(), Errno> {
        let attr = ElemAttr {
            map_fd: fd(self.map),
            key: self.key(key)?,
            value: self.value_mut(value)?,
            flags,
            pad: 0,
        };
        call_done(Cmd::MapLookup, &mut { attr })
    }

    /// Reads and removes an element.
    pub fn lookup_and_delete(self, key: &[u8], value: &mut [u8], flags: u64) -> Result<(), Errno> {
        let attr = ElemAttr {
            map_fd: fd(self.map),
            key: self.key(key)?,
            value: self.value_mut(value)?,
            flags,
            pad: 0,
        };
        call_done(Cmd::MapLookupAndDelete, &mut { attr })
    }

    /// Writes an element.
    pub fn update(self, key: &[u8], value: &[u8], flags: u64) -> Result<(), Errno> {
        let attr =
            ElemAttr { map_fd: fd(self.map), key: self.key(key)?, value: self.value(value)?, flags, pad: 0 };
        call_done(Cmd::MapUpdate, &mut { attr })
    }

    /// Reads the value of one CPU in a per-CPU map. `value` has [`MapShape::cpu_value_size`] bytes.
    pub fn lookup_cpu(self, key: &[u8], cpu: u32, value: &mut [u8]) -> Result<(), Errno> {
        if value.len() != self.cpu_value_size || !is_per_cpu(self.map_type) {
            return Err(Errno(libc::EINVAL));
        }
        // A kernel that ignored the flag would write the values of all CPUs.
        let mut values = vec![0; self.value_size];
        self.lookup(key, &mut values, Cpus::One(cpu).flags())?;
        let (to, from) = (value.iter_mut(), values.iter());
        to.zip(from).for_each(|(to, from)| *to = *from);
        Ok(())
    }

    /// Writes the value of one CPU, or of all CPUs, in a per-CPU map. `value` has
    /// [`MapShape::cpu_value_size`] bytes.
    ///
    /// Older kernels refuse the request with `EINVAL`.
    pub fn update_cpus(self, key: &[u8], value: &[u8], cpus: Cpus, flags: u64) -> Result<(), Errno> {
        if value.len() != self.cpu_value_size || !is_per_cpu(self.map_type) {
            return Err(Errno(libc::EINVAL));
        }
        // Older kernels read the values of all CPUs before they look at the flags.
        let mut values = value.to_vec();
        values.resize(self.value_size, 0);
        self.update(key, &values, flags | cpus.flags())
    }

    /// Removes an element.
    pub fn delete(self, key: &[u8]) -> Result<(), Errno> {
        let attr = ElemAttr { map_fd: fd(self.map), key: self.key(key)?, value: 0, flags: 0, pad: 0 };
        call_done(Cmd::MapDelete, &mut { attr })
    }

    /// Writes the key after `key`, or the first key, to `next`. Returns `false` at the end.
    pub fn next_key(self, key: Option<&[u8]>, next: &mut [u8]) -> Result<bool, Errno> {
        if next.len() != self.key_size {
            return Err(Errno(libc::EINVAL));
        }
        let key = key.map_or(Ok(0), |key| self.key(key))?;
        let attr = ElemAttr { map_fd: fd(self.map), key, value: address_mut(next), flags: 0, pad: 0 };
        match call_done(Cmd::MapNextKey, &mut { attr }) {
            Ok(()) => Ok(true),
            Err(Errno(libc::ENOENT)) => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// Reads (and with `delete` removes) as many elements as `keys` and `values` have room for.
    ///
    /// The kernel writes its cursor to `to`, which is `from` for the next batch. `from` is `None` for the
    /// first batch.
    pub(crate) fn lookup_batch(
        self,
        from: Option<&[u8]>,
        to: &mut [u8],
        keys: &mut [u8],
        values: &mut [u8],
        delete: bool,
    ) -> Result<Batch, Errno> {
        // The cursor of a hash map has four bytes, whatever its keys.
        let cursor_bytes = self.key_size.max(4);
        if to.len() < cursor_bytes || from.is_some_and(|from| from.len() < cursor_bytes) {
            return Err(Errno(libc::EINVAL));
        }
        let mut attr = BatchAttr {
            in_batch: from.map_or(0, address),
            out_batch: address_mut(to),
            count: self.element_count(keys, values)?,
            keys: address_mut(keys),
            values: address_mut(values),
            map_fd: fd(self.map),
            ..BatchAttr::default()
        };
        let room = attr.count;
        let cmd = if delete { Cmd::MapLookupAndDeleteBatch } else { Cmd::MapLookupBatch };
        match call_done(cmd, &mut attr) {
            Ok(()) => Ok(Batch { count: attr.count, is_last: false }),
            Err(Errno(libc::ENOENT)) => Ok(Batch { count: attr.count, is_last: true }),
            // A bucket was busy after other buckets were read (and removed), and those count. The kernel does
            // not change `count` if it refuses the whole call.
            Err(_busy) if attr.count != 0 && attr.count < room => {
                Ok(Batch { count: attr.count, is_last: false })
            }
            Err(e) => Err(e),
        }
    }

    /// Writes elements. Returns the number of elements written, with or without an error.
    pub(crate) fn update_batch(self, keys: &[u8], values: &[u8], flags: u64) -> Result<u32, (Errno, u32)> {
        let none = |e| (e, 0);
        let mut attr = BatchAttr {
            count: self.element_count(keys, values).map_err(none)?,
            keys: address(keys),
            values: address(values),
            map_fd: fd(self.map),
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
    pub(crate) fn delete_batch(self, keys: &[u8]) -> Result<u32, (Errno, u32)> {
        let none = |e| (e, 0);
        let invalid = none(Errno(libc::EINVAL));
        if !keys.len().is_multiple_of(self.key_size) {
            return Err(invalid);
        }
        let key_count = keys.len().checked_div(self.key_size).ok_or(invalid)?;
        let mut attr = BatchAttr {
            count: u32::try_from(key_count).map_err(|_many| none(Errno(libc::E2BIG)))?,
            keys: address(keys),
            map_fd: fd(self.map),
            ..BatchAttr::default()
        };
        let given = attr.count;
        match call_done(Cmd::MapDeleteBatch, &mut attr) {
            Ok(()) => Ok(attr.count),
            Err(e) => Err((e, processed(given, attr.count))),
        }
    }

    /// Returns the number of elements of which keys and values consist. Different numbers are `EINVAL`.
    fn element_count(self, keys: &[u8], values: &[u8]) -> Result<u32, Errno> {
        let n = keys.len().checked_div(self.key_size).ok_or(Errno(libc::EINVAL))?;
        let fits = n.checked_mul(self.key_size) == Some(keys.len())
            && n.checked_mul(self.value_size) == Some(values.len());
        if fits { u32::try_from(n).map_err(|_many| Errno(libc::E2BIG)) } else { Err(Errno(libc::EINVAL)) }
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

/// Returns the number of elements processed before an error. The kernel does not change the count if it
/// refuses the whole batch.
const fn processed(given: u32, count: u32) -> u32 {
    if count == given { 0 } else { count }
}
