//! Creating the maps of a plan (libbpf: `bpf_object__create_maps`).

use super::{
    Loading,
    error::{LoadError, LoadHint},
    kernel::Kernel,
    loaded::{LoadedMap, PinState},
};
use crate::{
    attach::Hint,
    load_plan::{MapPlan, MapRole, SlotPlan},
    object::MapType,
    sys::{Errno, MapCreate, Pod as _},
};
use core_relo::TypeId;
use std::{
    os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd},
    path::Path,
};

/// `BPF_F_RDONLY_PROG`, which the kernel adds to device maps by itself.
const READ_ONLY_PROG: u32 = 1 << 7;

impl<K: Kernel> Loading<'_, K> {
    /// Opens the map that is pinned already, else takes over the caller's map, else creates a map, fills and freezes it.
    ///
    /// A map that is created is pinned at the end of the load ([`Loaded::pin_maps`](super::Loaded::pin_maps)).
    pub(super) fn map(&mut self, map: &MapPlan) -> Result<(), LoadError> {
        let mut made = LoadedMap::new(map.clone());
        if map.autocreate {
            let pinned = map.pin.as_ref().map(|path| self.pinned(map, path)).transpose()?.flatten();
            made.fd = Some(if let Some(fd) = pinned {
                (made.is_reused, made.pin_state) = (true, PinState::Found);
                fd
            } else if let Some(reuse) = &map.reuse {
                made.is_reused = true;
                self.taken_over(reuse.as_fd(), &mut made.plan)?
            } else {
                self.create(map, &mut made)?
            });
        }
        self.loaded.maps.push(made);
        Ok(())
    }

    /// Another descriptor of a caller's map, which is described as it is (libbpf: `bpf_map__reuse_fd`).
    fn taken_over(&self, theirs: BorrowedFd<'_>, plan: &mut MapPlan) -> Result<OwnedFd, LoadError> {
        let failed = |plan: &MapPlan, errno| self.map_error(plan, "taking it over", errno);
        let fd = self.kernel.duplicate(theirs).map_err(|e| failed(plan, e))?;
        let info = self.kernel.map_info(fd.as_fd()).map_err(|e| failed(plan, e))?;
        (plan.map_type, plan.key_size, plan.value_size) = (info.map_type, info.key_size, info.value_size);
        (plan.max_entries, plan.map_flags, plan.map_extra) =
            (info.max_entries, info.map_flags, info.map_extra);
        Ok(fd)
    }

    fn create(&mut self, map: &MapPlan, made: &mut LoadedMap) -> Result<OwnedFd, LoadError> {
        let inner = match (&map.inner_fd, &map.inner) {
            (Some(given), _) => Some(
                self.kernel.duplicate(given.as_fd()).map_err(|e| self.map_error(map, "its inner map", e))?,
            ),
            (None, Some(inner)) => {
                let created = self.request(inner, None);
                Some(created.map_err(|e| self.map_error(inner, "creating it", e))?)
            }
            (None, None) => None,
        };
        let fd = self.request(map, inner.as_ref()).map_err(|e| self.map_error(map, "creating it", e))?;
        self.fill(map, fd.as_fd(), made)?;
        Ok(fd)
    }

    /// The request, without types if the kernel does not like them.
    fn request(&self, map: &MapPlan, inner: Option<&OwnedFd>) -> Result<OwnedFd, Errno> {
        let has_types = map.key_type != TypeId::VOID || map.value_type != TypeId::VOID;
        let module = map.kernel_value_module.and_then(|m| self.loaded.modules.get(m.0));
        let mut create = MapCreate {
            map_type: map.map_type,
            name: &map.kernel_name,
            key_size: map.key_size,
            value_size: map.value_size,
            max_entries: map.max_entries,
            map_flags: map.map_flags,
            map_extra: map.map_extra,
            numa_node: map.numa_node,
            ifindex: map.ifindex,
            inner: inner.map(|fd| fd.as_fd()),
            btf: self.loaded.btf().filter(|_| map.uses_btf),
            key_type: if self.loaded.btf.is_some() { map.key_type.0 } else { 0 },
            value_type: if self.loaded.btf.is_some() { map.value_type.0 } else { 0 },
            kernel_value_type: map.kernel_value_type.0,
            kernel_value_btf: module.map(|m| m.as_fd()),
            token: self.loaded.token(),
            ..MapCreate::default()
        };
        match self.kernel.map_create(&create) {
            Err(errno) if has_types && self.loaded.btf.is_some() => {
                log::info!("map {}: {errno}; again, without types", map.name);
                (create.btf, create.key_type, create.value_type) = (None, 0, 0);
                self.kernel.map_create(&create)
            }
            other => other,
        }
    }

    fn fill(&self, map: &MapPlan, fd: BorrowedFd<'_>, made: &mut LoadedMap) -> Result<(), LoadError> {
        let failed = |errno| self.map_error(map, "filling it", errno);
        match (map.role, map.known_type()) {
            (role, _) if role.is_data() && map.data.is_empty() => {}
            (role, _) if role.is_data() => {
                self.kernel.map_update(fd, 0u32.as_bytes(), &map.data).map_err(failed)?;
            }
            (MapRole::JumpTable, _) => {
                for (key, value) in (0u32..).zip(map.data.chunks_exact(16)) {
                    self.kernel.map_update(fd, key.as_bytes(), value).map_err(failed)?;
                }
            }
            (_, Some(MapType::Arena)) => {
                let offset = usize::try_from(map.data_offset).unwrap_or(usize::MAX);
                let mapped = self.kernel.map_arena(fd, offset, &map.data);
                made.arena = mapped.map_err(|e| self.map_error(map, "mapping it into memory", e))?;
            }
            _ => {}
        }
        if map.role.is_frozen() {
            self.kernel.map_freeze(fd).map_err(|e| self.map_error(map, "freezing it", e))?;
        }
        Ok(())
    }

    /// Maps that stand in maps from the start, once all are there; libbpf fills a map as it makes it, so that the maps in it
    /// have to be defined before it.
    pub(super) fn maps_in_maps(&self) -> Result<(), LoadError> {
        for map in self.loaded.maps.iter().filter(|m| !m.is_reused) {
            let Some(fd) = map.fd() else { continue };
            let fail = |(key, errno)| self.map_error(&map.plan, &format!("putting a map at {key}"), errno);
            let mut elements = Vec::new();
            for (key, slot) in &map.plan.slots {
                let SlotPlan::Map(of) = slot else { continue };
                let planned = self.loaded.maps.get(of.0);
                let inner = planned.and_then(LoadedMap::fd).ok_or_else(|| {
                    let inner = planned.map_or("?", LoadedMap::name);
                    let what = format!("putting map `{inner}` at {key}, which was not created");
                    self.map_error(&map.plan, &what, Errno(libc::ENOENT))
                })?;
                elements.push((*key, inner.as_raw_fd().cast_unsigned()));
            }
            if !elements.is_empty() {
                self.kernel.map_fill(fd, &elements).map_err(fail)?;
            }
        }
        Ok(())
    }

    /// What is pinned at a path, or will be by another map of this load, if it is what the plan wants (libbpf: `map_is_reuse_compat`).
    fn pinned(&self, map: &MapPlan, path: &Path) -> Result<Option<OwnedFd>, LoadError> {
        let own = self.loaded.maps.iter().find(|own| own.plan.pin.as_deref() == Some(path));
        let found = match own.and_then(LoadedMap::fd) {
            Some(fd) => self.kernel.duplicate(fd),
            None => self.kernel.open_pin(path),
        };
        let fd = match found {
            Ok(fd) => fd,
            Err(Errno(libc::ENOENT)) => return Ok(None),
            Err(errno) => return Err(self.pin_error(map, path, errno)),
        };
        let mut info = match self.kernel.map_info(fd.as_fd()) {
            Ok(info) => info,
            Err(errno @ Errno(libc::EINVAL)) => {
                let hint =
                    "what is pinned there is no map: remove the pin, or give the map another name or pin";
                let (object, map) = (self.loaded.name.as_str().into(), map.name.as_str().into());
                return Err(LoadError::Pin {
                    object,
                    map,
                    path: path.into(),
                    errno,
                    hint: LoadHint(hint.into()),
                });
            }
            Err(errno) => return Err(self.pin_error(map, path, errno)),
        };
        if matches!(map.known_type(), Some(MapType::Devmap | MapType::DevmapHash)) {
            info.map_flags &= !READ_ONLY_PROG;
        }
        let differ = [
            ("type", map.map_type.into(), info.map_type.into()),
            ("key size", map.key_size.into(), info.key_size.into()),
            ("value size", map.value_size.into(), info.value_size.into()),
            ("max_entries", map.max_entries.into(), info.max_entries.into()),
            ("flags", map.map_flags.into(), info.map_flags.into()),
            ("map_extra", map.map_extra, info.map_extra),
        ];
        match differ.into_iter().find(|(_, expected, found): &(_, u64, u64)| expected != found) {
            None => Ok(Some(fd)),
            Some((field, expected, found)) => Err(LoadError::PinnedOther {
                object: self.loaded.name.clone().into(),
                map: map.name.clone().into(),
                path: path.to_path_buf(),
                field,
                expected,
                found,
            }),
        }
    }

    #[cold]
    fn map_error(&self, map: &MapPlan, action: &str, errno: Errno) -> LoadError {
        LoadError::Kernel {
            object: self.loaded.name.clone().into(),
            what: format!("map `{}`: {action}", map.name).into(),
            errno,
            hint: hint(map, errno),
        }
    }

    #[cold]
    fn pin_error(&self, map: &MapPlan, path: &Path, errno: Errno) -> LoadError {
        LoadError::pin(&self.loaded.name, &map.name, path, errno)
    }
}

/// What a map that is refused probably lacks.
fn hint(map: &MapPlan, errno: Errno) -> LoadHint {
    use MapType as M;
    let known = map.known_type();
    let keyless =
        matches!(known, Some(M::Ringbuf | M::UserRingbuf | M::Queue | M::Stack | M::BloomFilter | M::Arena));
    // Of those the kernel wants none.
    let is_unbounded =
        matches!(known, Some(M::SkStorage | M::InodeStorage | M::TaskStorage | M::CgrpStorage));
    let valueless = matches!(known, Some(M::Ringbuf | M::UserRingbuf | M::Arena));
    let text = match errno.0 {
        libc::EINVAL if known.is_none() => format!("{} is no map type that this loader knows", map.map_type),
        libc::EINVAL if map.max_entries == 0 && !is_unbounded => "its definition says no max_entries".into(),
        libc::EINVAL if map.key_size == 0 && !keyless => "its definition says no key".into(),
        libc::EINVAL if map.value_size == 0 && !valueless => {
            "its definition says no value, or one of size 0".into()
        }
        libc::EINVAL => format!(
            "this kernel probably does not know maps of type {}, or not with these sizes or flags {:#x}",
            known.map_or("?", M::name),
            map.map_flags
        ),
        libc::E2BIG => "its keys or values are larger, or its entries more, than the kernel takes".into(),
        libc::EPERM => format!(
            "{}; on kernels before 5.11 the limit on locked memory may be too low (`ulimit -l unlimited`)",
            Hint::for_errno(errno).0
        ),
        libc::ENOMEM => {
            "the kernel has too little memory for it, or this cgroup or RLIMIT_MEMLOCK does not allow more"
                .into()
        }
        _ => Hint::for_errno(errno).0.to_owned(),
    };
    LoadHint(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_refused_map_lacks() {
        let said = |map_type: MapType, key_size, value_size, max_entries| {
            let mut map = MapPlan::default();
            map.map_type = map_type.number();
            (map.key_size, map.value_size, map.max_entries) = (key_size, value_size, max_entries);
            hint(&map, Errno(libc::EINVAL)).0
        };
        assert!(said(MapType::Hash, 4, 4, 0).contains("max_entries"));
        assert!(said(MapType::Hash, 0, 4, 1).contains("no key"));
        assert!(said(MapType::Queue, 0, 0, 1).contains("no value"));
        // Storages have no max_entries: it is the type that an old kernel does not know.
        assert!(said(MapType::TaskStorage, 4, 4, 0).contains("BPF_MAP_TYPE_TASK_STORAGE"));
        assert!(said(MapType::Ringbuf, 0, 0, 4096).contains("BPF_MAP_TYPE_RINGBUF"));
    }
}
