//! The BTF of a kernel and of its modules, read on demand and shared between loads.

use super::{
    TargetError,
    module_btf::{FilteredBtf, ModuleBtf},
    source::{KernelModule, ReadKernelBtf},
};
use crate::errno::Errno;
use alloc::sync::Arc;
use core::sync::atomic::{AtomicU32, Ordering};
use core_relo::{
    Name, Plan, Target,
    btf::{Btf, Kind, ModuleFilter, NameIndex, Type},
};
use std::sync::{Mutex, OnceLock, PoisonError};

/// The number of linear searches after which an index is built. Building costs about as much as these
/// searches.
const SEARCHES_BEFORE_INDEX: u32 = 8;

/// The BTF of a kernel and of its modules, read on demand.
///
/// Values [of the same cache](Self::from_cache) share the BTF. Each value lists the modules again, since
/// modules are loaded and unloaded. A failed read is repeated at the next call.
#[derive(Debug)]
pub struct KernelBtf {
    cache: Arc<KernelBtfCache>,
    modules: OnceLock<Vec<Arc<ModuleBtf>>>,
    /// The error for a kernel without BTF.
    missing: OnceLock<TargetError>,
}

/// A cache of the BTF of a kernel and its modules, shared by several [`KernelBtf`].
#[derive(Debug, Default)]
pub struct KernelBtfCache {
    /// The reader of the running kernel's BTF; `None` if the caller parsed the BTF.
    source: Option<Arc<dyn ReadKernelBtf>>,
    vmlinux: OnceLock<Arc<Btf<'static>>>,
    /// Locked during a read, so that only one thread reads the BTF.
    reading: Mutex<()>,
    type_index: SearchIndex,
    function_index: SearchIndex,
    /// The modules of the last listing, with the BTF that was read.
    modules: Mutex<Vec<Arc<ModuleBtf>>>,
}

/// A name index that is built after a number of linear searches.
#[derive(Debug, Default)]
struct SearchIndex {
    searches: AtomicU32,
    index: OnceLock<Arc<NameIndex>>,
}

impl SearchIndex {
    /// Counts a search and returns the index for it; `None` while there were few searches.
    fn get_or_build(&self, vmlinux: &Btf<'_>, build: fn(&Btf<'_>) -> NameIndex) -> Option<&Arc<NameIndex>> {
        if let Some(index) = self.index.get() {
            return Some(index);
        }
        let is_worth_it = self.searches.fetch_add(1, Ordering::Relaxed) >= SEARCHES_BEFORE_INDEX
            && vmlinux.base().is_none();
        is_worth_it.then(|| self.index.get_or_init(|| Arc::new(build(vmlinux))))
    }
}

/// A type found in a kernel or one of its modules.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct KernelType<'k> {
    /// The type.
    pub ty: Type<'k>,
    /// The module that defines the type; `None` for the kernel itself.
    pub module: Option<&'k ModuleBtf>,
}

impl KernelBtfCache {
    /// Creates an empty cache that `source` fills.
    pub fn new(source: Arc<dyn ReadKernelBtf>) -> Self {
        Self { source: Some(source), ..Self::default() }
    }

    fn source(&self) -> Result<&dyn ReadKernelBtf, TargetError> {
        let missing = || TargetError::NoKernelBtf { release: String::from("given").into() };
        self.source.as_deref().ok_or_else(missing)
    }
}

impl KernelBtf {
    /// Returns the BTF of a cache, which is read on demand and shared with all values of that cache.
    pub fn from_cache(cache: Arc<KernelBtfCache>) -> Self {
        Self { cache, modules: OnceLock::new(), missing: OnceLock::new() }
    }

    /// Returns a kernel of parsed BTF, for plans without a running kernel.
    ///
    /// The BTF must be validated (by [`Btf::parse`], not [`Btf::parse_unvalidated`]), unless only relocations
    /// are planned.
    pub fn from_btf(
        vmlinux: Arc<Btf<'static>>,
        modules: impl IntoIterator<Item = (String, Arc<Btf<'static>>)>,
    ) -> Self {
        let modules =
            modules.into_iter().map(|(name, btf)| Arc::new(ModuleBtf::from_btf(name, &vmlinux, btf)));
        let modules = OnceLock::from(modules.collect::<Vec<_>>());
        let own = KernelBtfCache { vmlinux: OnceLock::from(vmlinux), ..KernelBtfCache::default() };
        Self { modules, ..Self::from_cache(Arc::new(own)) }
    }

    /// Returns the BTF of a kernel that has none. Every lookup is an error.
    pub fn none() -> Self {
        let missing = OnceLock::from(TargetError::NoKernelBtf { release: String::from("given").into() });
        Self { modules: OnceLock::from(Vec::new()), missing, ..Self::from_cache(Arc::default()) }
    }

    /// Returns whether this is the BTF of the running kernel.
    pub fn is_live(&self) -> bool {
        self.cache.source.is_some()
    }

    /// Returns the BTF of vmlinux, the kernel's own BTF.
    pub fn vmlinux(&self) -> Result<&Arc<Btf<'static>>, TargetError> {
        self.vmlinux_from(|| self.cache.source()?.read_kernel())
    }

    fn vmlinux_from(
        &self,
        read: impl FnOnce() -> Result<Btf<'static>, TargetError>,
    ) -> Result<&Arc<Btf<'static>>, TargetError> {
        if let Some(cached) = self.cache.vmlinux.get() {
            return Ok(cached);
        }
        if let Some(missing) = self.missing.get() {
            return Err(missing.clone());
        }
        let _reading = self.cache.reading.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(cached) = self.cache.vmlinux.get() {
            return Ok(cached);
        }
        match read() {
            Ok(vmlinux) => Ok(self.cache.vmlinux.get_or_init(|| Arc::new(vmlinux))),
            // Remembered for this value only: otherwise each type lookup would search for BTF again.
            Err(error @ TargetError::NoKernelBtf { .. }) => Err(self.missing.get_or_init(|| error).clone()),
            Err(error) => Err(error),
        }
    }

    /// Returns the modules in the order in which they were loaded (libbpf: `load_module_btfs`). Each module
    /// reads its BTF on demand.
    pub fn modules(&self) -> Result<&[Arc<ModuleBtf>], Errno> {
        self.modules_from(|vmlinux, known| match &self.cache.source {
            Some(source) => list_modules(source, vmlinux, known),
            None => Ok(Vec::new()),
        })
    }

    fn modules_from(
        &self,
        list: impl FnOnce(&Arc<Btf<'static>>, &[Arc<ModuleBtf>]) -> Result<Vec<Arc<ModuleBtf>>, Errno>,
    ) -> Result<&[Arc<ModuleBtf>], Errno> {
        if let Some(cached) = self.modules.get() {
            return Ok(cached);
        }
        let Ok(vmlinux) = self.vmlinux() else { return Ok(&[]) };
        let mut shared = self.cache.modules.lock().unwrap_or_else(PoisonError::into_inner);
        *shared = list(vmlinux, &shared)?;
        Ok(self.modules.get_or_init(|| shared.clone()))
    }

    /// Finds the first type with a name and kind, in the kernel first and then in its modules.
    pub fn find(&self, name: &[u8], kind: Kind) -> Result<Option<KernelType<'_>>, KernelBtfError> {
        match self.find_in_vmlinux(name, kind)? {
            Some(ty) => Ok(Some(KernelType { ty, module: None })),
            None => Ok(self.find_in_modules(name, kind, None)?),
        }
    }

    /// Finds the first type with a name and kind in the modules, or in the module `only`.
    pub fn find_in_modules(
        &self,
        name: &[u8],
        kind: Kind,
        only: Option<&str>,
    ) -> Result<Option<KernelType<'_>>, Errno> {
        let modules = self.modules()?;
        let (Some(_), Ok(vmlinux)) = (modules.first(), self.vmlinux()) else { return Ok(None) };
        let mut module_filter = ModuleFilter::new(vmlinux, [Name::new(name)]);
        for module in modules.iter().filter(|m| only.is_none_or(|only| only == m.name)) {
            if let FilteredBtf::Accepted(btf) = module.filtered_btf(&mut module_filter)?
                && let Some(ty) = btf.find_own(name, kind)
            {
                return Ok(Some(KernelType { ty, module: Some(module) }));
            }
        }
        Ok(None)
    }

    /// Finds the first type with a name and kind in the BTF of vmlinux.
    pub fn find_in_vmlinux(&self, name: &[u8], kind: Kind) -> Result<Option<Type<'_>>, TargetError> {
        let vmlinux = self.vmlinux()?;
        let (index, build): (_, fn(&Btf<'_>) -> NameIndex) = match kind {
            Kind::Func => (&self.cache.function_index, NameIndex::of_functions),
            _ => (&self.cache.type_index, NameIndex::of_types),
        };
        Ok(match index.get_or_build(vmlinux, build) {
            Some(index) => index.find(vmlinux, name, kind),
            None => vmlinux.find(name, kind),
        })
    }

    /// Returns the target of CO-RE relocations: the kernel without its modules.
    pub fn target(&self) -> Result<Target<'static>, KernelBtfError> {
        let vmlinux = self.vmlinux()?;
        let mut target = Target::new("vmlinux", Arc::clone(vmlinux));
        if let Some(index) = self.cache.type_index.get_or_build(vmlinux, NameIndex::of_types) {
            target = target.with_index(Arc::clone(index));
        }
        Ok(target)
    }

    /// Returns the target of an object that was planned on the kernel alone, with the modules that may define
    /// its missing types.
    pub fn target_for(&self, plan: &Plan<'_>) -> Result<Target<'static>, KernelBtfError> {
        self.target_with_names(plan.names_for_modules())
    }

    /// Returns the kernel as a target, with the modules that may have types or functions of these names.
    #[expect(clippy::arithmetic_side_effects, reason = "counts the entries of a slice")]
    pub fn target_with_names<'n>(
        &self,
        names: impl IntoIterator<Item = Name<'n>>,
    ) -> Result<Target<'static>, KernelBtfError> {
        let (mut modules, mut excluded, mut unread_count) = (Vec::new(), Vec::new(), 0usize);
        let mut module_filter = ModuleFilter::new(self.vmlinux()?, names);
        for module in self.modules()? {
            match module.filtered_btf(&mut module_filter)? {
                FilteredBtf::Accepted(btf) => modules.push((module.name.clone(), Arc::clone(btf))),
                FilteredBtf::Excluded => excluded.push(module.name.clone()),
                FilteredBtf::Unread => unread_count += 1,
            }
        }
        let target = self.target()?.with_modules(modules);
        Ok(target.with_excluded_modules(excluded, &module_filter).with_unread_modules(unread_count))
    }
}

/// Lists the modules. Modules in `known` keep the BTF that was read.
fn list_modules(
    source: &Arc<dyn ReadKernelBtf>,
    vmlinux: &Arc<Btf<'static>>,
    known: &[Arc<ModuleBtf>],
) -> Result<Vec<Arc<ModuleBtf>>, Errno> {
    let known_name = |id: u32| known.iter().find(|module| module.id == id).map(|module| module.name.clone());
    let modules = source.list_modules(&known_name)?;
    let types = |KernelModule { name, id }| match known.iter().find(|module| module.id == id) {
        Some(module) => Arc::clone(module),
        None => Arc::new(ModuleBtf::new(name, id, vmlinux, Arc::clone(source))),
    };
    Ok(modules.into_iter().map(types).collect())
}

/// An error in reading the BTF of a kernel or of its modules.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KernelBtfError {
    /// The kernel's own BTF is missing or damaged.
    #[error(transparent)]
    Vmlinux(#[from] TargetError),
    /// The modules' BTF cannot be read.
    #[error("cannot read the BTF of the kernel's modules: {0}")]
    Modules(#[from] Errno),
}

core_relo::debug_as_message!(KernelBtfError);

impl KernelBtfError {
    /// Returns whether the kernel has no BTF at all. Other errors are failed reads and damaged BTF.
    pub const fn is_absence(&self) -> bool {
        matches!(self, Self::Vmlinux(TargetError::NoKernelBtf { .. }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core_relo::{Endian, TypeId, btf::Builder};

    fn sample_btf() -> Btf<'static> {
        let mut b = Builder::new(Endian::native());
        b.int("int", 4, Builder::SIGNED);
        Btf::parse(b.finish()).unwrap()
    }

    #[test]
    fn failed_reads_are_repeated() {
        let types = KernelBtf::from_cache(Arc::default());
        let kind = std::io::ErrorKind::Other;
        let failed = TargetError::Io { path: "/x".into(), kind, errno: Some(24) };
        assert_eq!(types.vmlinux_from(|| Err(failed.clone())).unwrap_err(), failed);
        assert!(types.vmlinux_from(|| Ok(sample_btf())).is_ok());
        let failed = Errno(24);
        assert_eq!(types.modules_from(|_, _| Err(failed)).unwrap_err(), failed);
        assert!(types.modules_from(|_, _| Ok(Vec::new())).unwrap().is_empty());

        let missing = || Err(TargetError::NoKernelBtf { release: "x".into() });
        let without = KernelBtf::from_cache(Arc::default());
        assert!(without.vmlinux_from(missing).is_err() && without.vmlinux_from(|| Ok(sample_btf())).is_err());
        let other = KernelBtf::from_cache(Arc::clone(&without.cache));
        assert!(
            other.vmlinux_from(|| Ok(sample_btf())).is_ok(),
            "missing BTF is remembered for one value only"
        );
    }

    #[test]
    fn modules_are_listed_again_and_keep_their_btf() {
        let own = Arc::new(KernelBtfCache {
            vmlinux: OnceLock::from(Arc::new(sample_btf())),
            ..KernelBtfCache::default()
        });
        let module = |vmlinux: &_, name: &str| {
            Arc::new(ModuleBtf::from_btf(name.to_owned(), vmlinux, Arc::new(sample_btf())))
        };
        let before = KernelBtf::from_cache(Arc::clone(&own));
        let old = before.modules_from(|vmlinux, _| Ok(vec![module(vmlinux, "a")])).unwrap();
        let after = KernelBtf::from_cache(own);
        let new = after.modules_from(|vmlinux, known| {
            assert!(Arc::ptr_eq(&known[0], &old[0]));
            Ok([known, &[module(vmlinux, "b")]].concat())
        });
        let names = |modules: &[Arc<ModuleBtf>]| modules.iter().map(|m| m.name.clone()).collect::<Vec<_>>();
        assert_eq!(
            (names(new.unwrap()), names(before.modules().unwrap())),
            (vec!["a".into(), "b".into()], vec!["a".to_owned()])
        );
        assert!(after.find(b"int", Kind::Int).unwrap().is_some());
    }

    #[test]
    fn many_searches_build_an_index_with_the_same_results() {
        let mut b = Builder::new(Endian::Little);
        let int = b.int("int", 4, Builder::SIGNED);
        b.structure("s", 4, &[("a", int, 0)]);
        let proto = b.func_proto(int, &[]);
        b.func("f", proto, 1);
        let types = KernelBtf::from_btf(Arc::new(Btf::parse(b.finish()).unwrap()), []);
        let find = |name: &[u8], kind| types.find(name, kind).unwrap().map(|f| f.ty.id());
        for _ in 0..SEARCHES_BEFORE_INDEX {
            assert!(types.cache.type_index.index.get().is_none());
            assert_eq!((find(b"s", Kind::Struct), find(b"", Kind::Struct)), (Some(TypeId(2)), None));
            types.cache.type_index.searches.fetch_sub(1, Ordering::Relaxed);
        }
        assert!(types.target().unwrap().vmlinux().index.is_some());
        assert!(types.cache.function_index.index.get().is_none(), "no function was searched");
        for _ in 0..=SEARCHES_BEFORE_INDEX {
            assert_eq!((find(b"f", Kind::Func), find(b"s", Kind::Func)), (Some(TypeId(4)), None));
        }
        assert!(types.cache.function_index.index.get().is_some());
        assert_eq!((find(b"s", Kind::Struct), find(b"s", Kind::Union)), (Some(TypeId(2)), None));
    }
}
