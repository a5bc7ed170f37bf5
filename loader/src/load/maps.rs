//! Creating the maps of a plan (libbpf: `bpf_object__create_maps`).

use super::{
    error::{LoadError, LoadHint},
    kernel::Kernel,
    loaded::{LoadedMap, PinState},
    loading::Loading,
    verifier::{ENOTSUPP, cut},
};
use crate::{
    hint::Hint,
    kernel_handle::descriptor,
    memory_limit::memory_shortage,
    memory_nodes,
    sys::{Errno, MapCreate, Pod as _},
    token_scope::TokenRequest,
};
use core_relo::TypeId;
use core_relo_object::{
    load_plan::{MapPlan, MapRole, SlotPlan},
    map_flags::{RDONLY_PROG, flag_names},
    map_limits::{ExceededLimit, MapLimit},
    object::MapType,
};
use std::{
    os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd},
    path::Path,
};

/// The number of characters of the kernel's reason in a message.
const SHOWN_CHARS: usize = 1000;

impl<K: Kernel> Loading<'_, K> {
    /// Opens the pinned map. Without a pin, reuses the caller's map, or creates, fills and freezes a new map.
    ///
    /// The last step of the load pins a new map ([`Loaded::pin_maps`](super::Loaded::pin_maps)).
    pub(super) fn load_map(&mut self, map: &MapPlan) -> Result<(), LoadError> {
        let mut loaded = LoadedMap::new(map.clone());
        if map.autocreate() {
            let pinned = map.pin().map(|path| self.open_pin(map, path)).transpose()?.flatten();
            loaded.fd = Some(if let Some(fd) = pinned {
                (loaded.is_reused, loaded.pin_state) = (true, PinState::Existing);
                fd
            } else if let Some(reuse) = map.reuse() {
                loaded.is_reused = true;
                self.reuse_map(reuse, &mut loaded.plan)?
            } else {
                self.create_map(map, &mut loaded)?
            });
        }
        self.loaded.maps.push(loaded);
        Ok(())
    }

    fn create_map(&mut self, map: &MapPlan, loaded: &mut LoadedMap) -> Result<OwnedFd, LoadError> {
        let inner = match (map.callers_inner(), map.inner()) {
            (Some(callers_map), _) => {
                let duplicate = descriptor(callers_map).and_then(|fd| self.kernel.duplicate(fd));
                Some(duplicate.map_err(|e| self.map_error(map, "duplicating the caller's inner map", e))?)
            }
            (None, Some(inner)) => Some(self.request_map(inner, None)?),
            (None, None) => None,
        };
        let fd = self.request_map(map, inner.as_ref())?;
        self.fill_map(map, fd.as_fd(), loaded)?;
        Ok(fd)
    }

    /// Requests a map from the kernel. If the kernel refuses the map with its BTF types, requests the map
    /// without types.
    fn request_map(&self, map: &MapPlan, inner: Option<&OwnedFd>) -> Result<OwnedFd, LoadError> {
        let has_types = map.key_type() != TypeId::VOID || map.value_type() != TypeId::VOID;
        let module = map.kernel_value_module().map(|index| self.module(index)).transpose()?;
        let mut create = MapCreate {
            map_type: map.map_type(),
            name: map.kernel_name(),
            key_size: map.key_size(),
            value_size: map.value_size(),
            max_entries: map.max_entries(),
            map_flags: map.map_flags(),
            map_extra: map.map_extra(),
            numa_node: map.numa_node(),
            ifindex: map.ifindex(),
            inner: inner.map(|fd| fd.as_fd()),
            btf: self.loaded.btf().filter(|_| map.uses_btf()),
            key_type: if self.loaded.btf.is_some() { map.key_type().0 } else { 0 },
            value_type: if self.loaded.btf.is_some() { map.value_type().0 } else { 0 },
            kernel_value_type: map.kernel_value_type().0,
            kernel_value_btf: module,
            token: self.loaded.token(),
            excl_prog_hash: map.exclusive_hash().map_or(&[], |hash| hash),
        };
        let created = match self.kernel.map_create(&create) {
            Err(errno) if has_types && self.loaded.btf.is_some() => {
                log::info!("map {}: {errno}; trying again without types", map.name());
                (create.btf, create.key_type, create.value_type) = (None, 0, 0);
                self.kernel.map_create(&create)
            }
            other => other,
        };
        created.map_err(|errno| match self.token_refusal(TokenRequest::Map(map.map_type()), errno) {
            Some(reason) => self.map_error_with_hint(map, "creating it", errno, LoadHint(reason)),
            None => match self.kernel.map_refusal(&create) {
                Some(reason) => self.refused_map_error(map, errno, &reason),
                None => self.map_error(map, "creating it", errno),
            },
        })
    }

    /// Writes the initial value of a created map and freezes constants.
    fn fill_map(&self, map: &MapPlan, fd: BorrowedFd<'_>, loaded: &mut LoadedMap) -> Result<(), LoadError> {
        let failed = |errno| self.map_error(map, "filling it", errno);
        match (map.role(), map.known_type()) {
            (role, _) if role.is_data() && map.data().is_empty() => {}
            (role, _) if role.is_data() => {
                self.kernel.map_update(fd, 0u32.as_bytes(), map.data()).map_err(failed)?;
            }
            (MapRole::JumpTable, _) => {
                for (key, value) in (0u32..).zip(map.data().chunks_exact(16)) {
                    self.kernel.map_update(fd, key.as_bytes(), value).map_err(failed)?;
                }
            }
            (_, Some(MapType::Arena)) => {
                let failed = |errno| self.map_error(map, "mapping it into memory", errno);
                let offset =
                    usize::try_from(map.data_offset()).map_err(|_large| failed(Errno(libc::E2BIG)))?;
                loaded.arena = self.kernel.map_arena(fd, offset, map.data()).map_err(failed)?;
            }
            _ => {}
        }
        if map.role().is_frozen() {
            self.kernel.map_freeze(fd).map_err(|e| self.map_error(map, "freezing it", e))?;
        }
        Ok(())
    }

    /// Writes the elements of maps of maps, after all maps are created.
    ///
    /// libbpf fills each map on creation. There, a map of maps must be defined after the maps that are its
    /// elements.
    pub(super) fn fill_maps_of_maps(&self) -> Result<(), LoadError> {
        for map in self.loaded.maps.iter().filter(|m| !m.is_reused) {
            let Some(fd) = map.fd() else { continue };
            let fail = |(key, errno)| self.map_error(&map.plan, &format!("putting a map at {key}"), errno);
            let mut elements = Vec::new();
            for (key, slot) in map.plan.slots() {
                let SlotPlan::Map(index) = slot else { continue };
                let inner = self.loaded.maps.get(index.0);
                let inner = inner.ok_or_else(|| {
                    self.broken_invariant("each element of a map of maps is the index of a planned map")
                })?;
                let inner = inner.fd().ok_or_else(|| {
                    let action = format!("putting map `{}` at {key}, which was not created", inner.name());
                    self.map_error(&map.plan, &action, Errno(libc::ENOENT))
                })?;
                elements.push((*key, inner.as_raw_fd().cast_unsigned()));
            }
            if !elements.is_empty() {
                self.kernel.map_fill(fd, &elements).map_err(fail)?;
            }
        }
        Ok(())
    }

    /// Opens the map that is pinned at a path. Returns `None` if the path is free.
    ///
    /// If an earlier map of this load has the same path, returns that map. The map must fit the plan (libbpf:
    /// `map_is_reuse_compat`).
    fn open_pin(&self, map: &MapPlan, path: &Path) -> Result<Option<OwnedFd>, LoadError> {
        let own = self.loaded.maps.iter().find(|own| own.plan.pin() == Some(path));
        let opened = match own.and_then(LoadedMap::fd) {
            Some(fd) => self.kernel.duplicate(fd),
            None => self.kernel.open_pin(path),
        };
        let fd = match opened {
            Ok(fd) => fd,
            Err(Errno(libc::ENOENT)) => return Ok(None),
            Err(errno) => return Err(self.pin_error(map, path, errno)),
        };
        let mut info = match self.kernel.map_info(fd.as_fd()) {
            Ok(info) => info,
            Err(errno @ Errno(libc::EINVAL)) => {
                let hint = "the pin is no map: remove the pin, or give the map another name or pin";
                return Err(LoadError::Pin {
                    object: self.loaded.name.as_str().into(),
                    map: map.name().into(),
                    path: path.into(),
                    errno,
                    hint: LoadHint(hint.into()),
                });
            }
            Err(errno) => return Err(self.pin_error(map, path, errno)),
        };
        if matches!(map.known_type(), Some(MapType::Devmap | MapType::DevmapHash)) {
            // The kernel adds this flag to device maps.
            info.map_flags &= !RDONLY_PROG;
        }
        let fields = [
            ("type", map.map_type().into(), info.map_type.into()),
            ("key size", map.key_size().into(), info.key_size.into()),
            ("value size", map.value_size().into(), info.value_size.into()),
            ("max_entries", map.max_entries().into(), info.max_entries.into()),
            ("flags", map.map_flags().into(), info.map_flags.into()),
            ("map_extra", map.map_extra(), info.map_extra),
        ];
        match fields.into_iter().find(|(_, expected, found): &(_, u64, u64)| expected != found) {
            None => Ok(Some(fd)),
            Some((field, expected, found)) => Err(LoadError::PinMismatch {
                object: self.loaded.name.clone().into(),
                map: map.name().into(),
                path: path.to_path_buf(),
                field,
                expected,
                found,
            }),
        }
    }

    #[cold]
    pub(super) fn map_error(&self, map: &MapPlan, action: &str, errno: Errno) -> LoadError {
        self.map_error_with_hint(map, action, errno, self.hint(map, errno))
    }

    #[cold]
    fn map_error_with_hint(&self, map: &MapPlan, action: &str, errno: Errno, hint: LoadHint) -> LoadError {
        let request = format!("map `{}`: {action}", map.name());
        LoadError::Kernel {
            object: self.loaded.name.clone().into(),
            request: request.into(),
            map: Some(map.name().into()),
            errno,
            hint,
        }
    }

    /// Creates the error of a map for whose refusal the kernel gives a reason.
    #[cold]
    fn refused_map_error(&self, map: &MapPlan, errno: Errno, reason: &str) -> LoadError {
        let reason = reason.lines().map(|line| line.trim_end_matches('.')).collect::<Vec<_>>().join("; ");
        let LoadHint(guess) = self.hint(map, errno);
        let separator = if guess.is_empty() { "" } else { "; " };
        let hint = format!("the kernel's reason: {}{separator}{guess}", cut(&reason, SHOWN_CHARS));
        self.map_error_with_hint(map, "creating it", errno, LoadHint(hint))
    }

    /// Returns the likely reason for the kernel's refusal of a map.
    #[cold]
    fn hint(&self, map: &MapPlan, errno: Errno) -> LoadHint {
        let known = map.known_type().filter(|_| errno.0 == libc::EINVAL);
        let has_type = known.and_then(|map_type| self.kernel.has_map_type(map_type));
        match has_type {
            // The refusal of the BTF is added to the error, and may be the cause unless the map breaks a rule
            // of every kernel.
            Some(true) | None
                if self.loaded.btf_refusal.is_some()
                    && map.broken_rule().is_none()
                    && exceeded_limit(map, errno).is_none() =>
            {
                LoadHint::default()
            }
            _ => hint(map, errno, has_type),
        }
    }

    #[cold]
    fn pin_error(&self, map: &MapPlan, path: &Path, errno: Errno) -> LoadError {
        LoadError::pin(&self.loaded.name, map.name(), path, errno)
    }
}

/// Returns the limit of some kernels and machines that explains why this one refuses a map.
fn exceeded_limit(map: &MapPlan, errno: Errno) -> Option<ExceededLimit> {
    map.exceeded_limits().into_iter().find(|exceeded| {
        exceeded.errno() == errno
            && match exceeded.limit {
                MapLimit::MemoryNode { node } => {
                    memory_nodes::online().is_some_and(|nodes| !nodes.contains(node))
                }
                _ => true,
            }
    })
}

/// Returns the text about a limit, with the nodes of this machine if the limit is that of memory nodes.
fn limit_hint(exceeded: ExceededLimit) -> LoadHint {
    let text = format!("a limit of this kernel or machine: {exceeded}");
    match (exceeded.limit, memory_nodes::online()) {
        (MapLimit::MemoryNode { .. }, Some(nodes)) => LoadHint(format!("{text}: {nodes}")),
        _ => LoadHint(text),
    }
}

/// Returns the likely reason for the kernel's refusal of a map. `has_type` is whether the kernel has the
/// map's type, if that is known.
fn hint(map: &MapPlan, errno: Errno, has_type: Option<bool>) -> LoadHint {
    use MapType as M;
    let known = map.known_type();
    let is_keyless =
        matches!(known, Some(M::Ringbuf | M::UserRingbuf | M::Queue | M::Stack | M::BloomFilter | M::Arena));
    // The kernel requires a max_entries of 0 for these types.
    let is_unbounded =
        matches!(known, Some(M::SkStorage | M::InodeStorage | M::TaskStorage | M::CgrpStorage));
    let is_valueless = matches!(known, Some(M::Ringbuf | M::UserRingbuf | M::Arena));
    if let (libc::EINVAL | libc::E2BIG | ENOTSUPP, Some(error)) = (errno.0, map.broken_rule()) {
        return LoadHint(format!("every kernel refuses the map: {error}"));
    }
    if let Some(exceeded) = exceeded_limit(map, errno).filter(|_| has_type != Some(false)) {
        return limit_hint(exceeded);
    }
    if errno.0 == libc::EINVAL
        && has_type != Some(false)
        && let Some(error) = map.unknown_flag()
    {
        return LoadHint(format!("{error}, probably this one, too"));
    }
    let text = match errno.0 {
        libc::EINVAL
            if matches!(known, Some(M::ArrayOfMaps | M::HashOfMaps))
                && map.inner().is_none()
                && map.callers_inner().is_none() =>
        {
            "the map has no definition of its inner maps: `values`, --inner-map, or a map of the caller"
                .into()
        }
        libc::EINVAL if known.is_none() => format!("unknown map type {}", map.map_type()),
        libc::EINVAL if map.max_entries() == 0 && !is_unbounded => {
            "the map definition has no max_entries".into()
        }
        libc::EINVAL if map.key_size() == 0 && !is_keyless => "the map definition has no key".into(),
        libc::EINVAL if map.value_size() == 0 && !is_valueless => {
            "the map definition has no value, or a value of size 0".into()
        }
        libc::EINVAL => {
            let name = known.map_or("?", M::name);
            let names: Vec<_> = flag_names(map.map_flags()).collect();
            let names = if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) };
            let flags = format!("{:#x}{names}", map.map_flags());
            match has_type {
                Some(false) => format!("this kernel does not know maps of type {name}"),
                Some(true) => format!(
                    "this kernel knows maps of type {name}, but not with key size {}, value size {}, {} entries and flags {flags}",
                    map.key_size(),
                    map.value_size(),
                    map.max_entries(),
                ),
                None => format!(
                    "this kernel probably does not know maps of type {name}, or not with these sizes or flags {flags}"
                ),
            }
        }
        libc::E2BIG => "the kernel does not allow keys or values of this size, or this many entries".into(),
        libc::EPERM => format!(
            "{}; on kernels before 5.11 the limit on locked memory may be too low (`ulimit -l unlimited`)",
            Hint::for_errno(errno).0
        ),
        libc::ENOMEM => memory_shortage(),
        _ => Hint::for_errno(errno).0.to_owned(),
    };
    LoadHint(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use core_relo_object::load_plan::MapAttributes;

    #[test]
    fn a_refused_map_gets_a_hint_for_its_type() {
        let refused = |map_type: MapType, sizes: [u32; 3], errno| {
            let [key_size, value_size, max_entries] = sizes;
            let mut map = MapPlan::default();
            let map_type = map_type.number();
            let attributes =
                MapAttributes { map_type, key_size, value_size, max_entries, ..MapAttributes::default() };
            map.set_attributes(attributes);
            hint(&map, Errno(errno), Some(true)).0
        };
        let text = |map_type, key_size, value_size, max_entries| {
            refused(map_type, [key_size, value_size, max_entries], libc::EINVAL)
        };
        assert!(text(MapType::Hash, 4, 4, 0).contains("max_entries"));
        assert!(text(MapType::Hash, 0, 4, 1).contains("no key"));
        assert!(text(MapType::Queue, 0, 0, 1).contains("no value"));
        // Storages have no max_entries, so an old kernel refuses their type.
        assert!(text(MapType::TaskStorage, 4, 4, 0).contains("BPF_MAP_TYPE_TASK_STORAGE"));
        assert!(
            text(MapType::Ringbuf, 0, 0, 4096)
                .contains("this kernel knows maps of type BPF_MAP_TYPE_RINGBUF, but not with")
        );
        assert_eq!(
            text(MapType::StackTrace, 4, 1024, 100),
            "a limit of this kernel or machine: value_size does not fit BPF_MAP_TYPE_STACK_TRACE: 1024, expected 8 bytes \
             for each of at most kernel.perf_event_max_stack frames"
        );
        // A long key has another error, so that something else is invalid.
        assert!(text(MapType::Hash, 600, 4, 1).contains("but not with key size 600"));
        assert_eq!(
            refused(MapType::Hash, [600, 4, 1], libc::E2BIG),
            "a limit of this kernel or machine: key_size does not fit BPF_MAP_TYPE_HASH: 600, expected at most 512"
        );
        assert!(text(MapType::Cpumap, 4, 4, 100_000).contains("100000 entries"));
        assert_eq!(
            text(MapType::ArrayOfMaps, 4, 4, 1),
            "the map has no definition of its inner maps: `values`, --inner-map, or a map of the caller"
        );
        let rule = "every kernel refuses the map: key_size does not fit BPF_MAP_TYPE_ARRAY: 8, expected 4";
        assert_eq!(text(MapType::Array, 8, 4, 1), rule);
        for (map_flags, expected) in [
            (1 << 25, "flag 1 << 25, which no known kernel has, probably this one, too"),
            (1 << 7, "4 entries and flags 0x80 (BPF_F_RDONLY_PROG)"),
        ] {
            let mut map = MapPlan::default();
            let sizes =
                MapAttributes { key_size: 4, value_size: 4, max_entries: 4, ..MapAttributes::default() };
            map.set_attributes(MapAttributes { map_type: MapType::Array.number(), map_flags, ..sizes });
            let text = hint(&map, Errno(libc::EINVAL), Some(true)).0;
            assert!(text.ends_with(expected), "{text}");
        }
        // The kernel has this error for LRU hashes only.
        let mut lru = MapPlan::default();
        lru.set_attributes(MapAttributes {
            map_type: MapType::LruHash.number(),
            key_size: 4,
            value_size: 4,
            max_entries: 1,
            map_flags: 1,
            ..MapAttributes::default()
        });
        assert_eq!(
            hint(&lru, Errno(ENOTSUPP), Some(true)).0,
            "every kernel refuses the map: flag BPF_F_NO_PREALLOC, which BPF_MAP_TYPE_LRU_HASH does not accept"
        );
    }
}
