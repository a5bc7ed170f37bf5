//! The kernel's types for a load: main BTF and modules, each read when it is first needed, shared by whoever holds them.

use super::{TargetError, module_types::ModuleTypes};
use crate::errno::Errno;
use alloc::sync::Arc;
use core::{
    fmt,
    sync::atomic::{AtomicU32, Ordering},
};
use core_relo::{
    Data, Name, Plan, Target,
    btf::{Btf, Kind, NameIndex, Sieve, Type},
};
use std::sync::{Mutex, OnceLock, PoisonError};

/// After so many searches of the kernel's types an index is made, which costs about as much as they did.
const SEARCHES: u32 = 8;

/// Reads the BTF of a running kernel and its modules.
pub trait ReadKernelBtf: fmt::Debug + Send + Sync {
    /// Reads and parses the kernel's own BTF.
    fn read_kernel(&self) -> Result<Btf<'static>, TargetError>;

    /// Lists the modules that have BTF, in the order in which they were loaded. Modules in `known` are returned as they are.
    fn list_modules(
        &self,
        main: &Arc<Btf<'static>>,
        known: &[Arc<ModuleTypes>],
    ) -> Result<Vec<Arc<ModuleTypes>>, Errno>;

    /// Reads the BTF of the module whose BTF has this id; none if the module was unloaded.
    fn read_module(&self, id: u32) -> Result<Option<Data<'static>>, Errno>;
}

/// The types of a kernel and its modules, each read when it is first needed.
///
/// Values made [from one cache](Self::from_cache) share the types that were read. Each lists the modules anew, since modules come
/// and go. A failure is not remembered.
#[derive(Debug)]
pub struct KernelTypes {
    own: Arc<TypesCache>,
    modules: OnceLock<Vec<Arc<ModuleTypes>>>,
    /// That there is no BTF at all.
    missing: OnceLock<TargetError>,
}

/// The types that were read of a kernel and its modules, shared by several [`KernelTypes`].
#[derive(Debug, Default)]
pub struct TypesCache {
    /// Reads the types of the running kernel; none if the types were given.
    source: Option<Arc<dyn ReadKernelBtf>>,
    main: OnceLock<Arc<Btf<'static>>>,
    /// Held while they are read, so that nobody else does at the same time.
    reading: Mutex<()>,
    types: Searched,
    functions: Searched,
    /// The modules there were when somebody last asked, with what was read of them.
    modules: Mutex<Vec<Arc<ModuleTypes>>>,
}

/// How often some of the kernel's own types were searched, and the index made of them when that was often.
#[derive(Debug, Default)]
struct Searched {
    searches: AtomicU32,
    index: OnceLock<Arc<NameIndex>>,
}

impl Searched {
    /// The index for the search that is about to be made; none while searches are few.
    fn index(&self, main: &Btf<'_>, make: fn(&Btf<'_>) -> NameIndex) -> Option<&Arc<NameIndex>> {
        if let Some(index) = self.index.get() {
            return Some(index);
        }
        let is_worth_it = self.searches.fetch_add(1, Ordering::Relaxed) >= SEARCHES && main.base().is_none();
        is_worth_it.then(|| self.index.get_or_init(|| Arc::new(make(main))))
    }
}

/// Something found in a kernel's types.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Found<'k> {
    /// It.
    pub ty: Type<'k>,
    /// The module it is in; none for the kernel itself.
    pub module: Option<&'k ModuleTypes>,
}

impl TypesCache {
    /// An empty cache of what `source` reads.
    pub fn new(source: Arc<dyn ReadKernelBtf>) -> Self {
        Self { source: Some(source), ..Self::default() }
    }

    fn source(&self) -> Result<&dyn ReadKernelBtf, TargetError> {
        let missing = || TargetError::NoKernelBtf { release: String::from("given").into() };
        self.source.as_deref().ok_or_else(missing)
    }
}

impl KernelTypes {
    /// Types that are read when they are needed, and shared with every other value of the same cache.
    pub fn from_cache(cache: Arc<TypesCache>) -> Self {
        Self { own: cache, modules: OnceLock::new(), missing: OnceLock::new() }
    }

    /// Types that are parsed already, for plans without a running kernel.
    ///
    /// If more than relocations is planned from the types, they have to be validated (by [`Btf::parse`], not
    /// [`Btf::parse_unvalidated`]).
    pub fn from_btf(
        main: Arc<Btf<'static>>,
        modules: impl IntoIterator<Item = (String, Arc<Btf<'static>>)>,
    ) -> Self {
        let modules =
            modules.into_iter().map(|(name, btf)| Arc::new(ModuleTypes::from_btf(name, &main, btf)));
        let modules = OnceLock::from(modules.collect::<Vec<_>>());
        let own = TypesCache { main: OnceLock::from(main), ..TypesCache::default() };
        Self { modules, ..Self::from_cache(Arc::new(own)) }
    }

    /// None at all: a kernel without BTF.
    pub fn none() -> Self {
        let missing = OnceLock::from(TargetError::NoKernelBtf { release: String::from("given").into() });
        Self { modules: OnceLock::from(Vec::new()), missing, ..Self::from_cache(Arc::default()) }
    }

    /// Whether these are the running kernel's.
    pub fn is_live(&self) -> bool {
        self.own.source.is_some()
    }

    /// The kernel's own.
    pub fn main(&self) -> Result<&Arc<Btf<'static>>, TargetError> {
        self.main_from(|| self.own.source()?.read_kernel())
    }

    fn main_from(
        &self,
        read: impl FnOnce() -> Result<Btf<'static>, TargetError>,
    ) -> Result<&Arc<Btf<'static>>, TargetError> {
        if let Some(known) = self.own.main.get() {
            return Ok(known);
        }
        if let Some(missing) = self.missing.get() {
            return Err(missing.clone());
        }
        let _alone = self.own.reading.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = self.own.main.get() {
            return Ok(known);
        }
        match read() {
            Ok(main) => Ok(self.own.main.get_or_init(|| Arc::new(main))),
            // The next object looks again; this one would, at each type.
            Err(error @ TargetError::NoKernelBtf { .. }) => Err(self.missing.get_or_init(|| error).clone()),
            Err(error) => Err(error),
        }
    }

    /// Its modules, in the order in which they were loaded (libbpf: `load_module_btfs`); their types are read when somebody looks
    /// for one.
    pub fn modules(&self) -> Result<&[Arc<ModuleTypes>], Errno> {
        self.modules_from(|main, known| match &self.own.source {
            Some(source) => source.list_modules(main, known),
            None => Ok(Vec::new()),
        })
    }

    fn modules_from(
        &self,
        list: impl FnOnce(&Arc<Btf<'static>>, &[Arc<ModuleTypes>]) -> Result<Vec<Arc<ModuleTypes>>, Errno>,
    ) -> Result<&[Arc<ModuleTypes>], Errno> {
        if let Some(known) = self.modules.get() {
            return Ok(known);
        }
        let Ok(main) = self.main() else { return Ok(&[]) };
        let mut shared = self.own.modules.lock().unwrap_or_else(PoisonError::into_inner);
        *shared = list(main, &shared)?;
        Ok(self.modules.get_or_init(|| shared.clone()))
    }

    /// The first type of this name and kind, the kernel's first, then in its modules.
    pub fn find(&self, name: &[u8], kind: Kind, in_modules: bool) -> Result<Option<Found<'_>>, TypesError> {
        if let Some(ty) = self.find_main(name, kind)? {
            return Ok(Some(Found { ty, module: None }));
        }
        if !in_modules {
            return Ok(None);
        }
        Ok(self.find_in_modules(name, kind, None)?)
    }

    /// The first type of this name and kind in the modules, or in one of them.
    pub(crate) fn find_in_modules(
        &self,
        name: &[u8],
        kind: Kind,
        only: Option<&str>,
    ) -> Result<Option<Found<'_>>, Errno> {
        let modules = self.modules()?;
        let (Some(_), Ok(main)) = (modules.first(), self.main()) else { return Ok(None) };
        let mut sieve = Sieve::new(main, [Name::new(name)]);
        for module in modules.iter().filter(|m| only.is_none_or(|only| only == m.name)) {
            if let Some(ty) = module.btf_for(&mut sieve)?.and_then(|btf| btf.find_own(name, kind)) {
                return Ok(Some(Found { ty, module: Some(module) }));
            }
        }
        Ok(None)
    }

    /// The first of the kernel's own types of this name and kind.
    pub fn find_main(&self, name: &[u8], kind: Kind) -> Result<Option<Type<'_>>, TargetError> {
        let main = self.main()?;
        let (searched, make): (_, fn(&Btf<'_>) -> NameIndex) = match kind {
            Kind::Func => (&self.own.functions, NameIndex::of_functions),
            _ => (&self.own.types, NameIndex::of_types),
        };
        Ok(match searched.index(main, make) {
            Some(index) => index.find(main, name, kind),
            None => main.find(name, kind),
        })
    }

    /// For CO-RE: the kernel alone, or with its modules.
    pub fn target(&self, with_modules: bool) -> Result<Target<'static>, TypesError> {
        let main = self.main()?;
        let mut target = Target::new("vmlinux", Arc::clone(main));
        if let Some(index) = self.own.types.index(main, NameIndex::of_types) {
            target = target.with_index(Arc::clone(index));
        }
        if !with_modules {
            return Ok(target);
        }
        let mut modules = Vec::new();
        for module in self.modules()? {
            modules.extend(module.btf()?.map(|btf| (module.name.clone(), Arc::clone(btf))));
        }
        Ok(target.with_modules(modules))
    }

    /// For the CO-RE relocations of an object that was planned on the kernel alone: with those modules that may have what it lacks.
    pub fn target_for(&self, plan: &Plan<'_>) -> Result<Target<'static>, TypesError> {
        let (mut modules, mut passed_over) = (Vec::new(), 0usize);
        let mut sieve = Sieve::new(self.main()?, plan.wanted_of_modules());
        for module in self.modules()? {
            match module.btf_for(&mut sieve)? {
                Some(btf) => modules.push((module.name.clone(), Arc::clone(btf))),
                None => passed_over = passed_over.saturating_add(1),
            }
        }
        Ok(self.target(false)?.with_modules(modules).with_modules_passed_over(passed_over))
    }
}

/// Why the kernel's types cannot be looked at.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TypesError {
    /// The kernel's own are missing or damaged.
    #[error(transparent)]
    Main(#[from] TargetError),
    /// The modules' cannot be had.
    #[error("cannot read the BTF of the kernel's modules: {0}")]
    Modules(#[from] Errno),
}

#[cfg(test)]
mod tests {
    use super::*;
    use core_relo::{Endian, TypeId, btf::Builder};

    fn some() -> Btf<'static> {
        let mut b = Builder::new(Endian::native());
        b.int("int", 4, Builder::SIGNED);
        Btf::parse(b.finish()).unwrap()
    }

    #[test]
    fn what_could_not_be_read_once_is_read_again() {
        let types = KernelTypes::from_cache(Arc::default());
        let kind = std::io::ErrorKind::Other;
        let full = TargetError::Io { path: "/x".into(), kind, errno: Some(24) };
        assert_eq!(types.main_from(|| Err(full.clone())).unwrap_err(), full);
        assert!(types.main_from(|| Ok(some())).is_ok());
        let full = Errno(24);
        assert_eq!(types.modules_from(|_, _| Err(full)).unwrap_err(), full);
        assert!(types.modules_from(|_, _| Ok(Vec::new())).unwrap().is_empty());

        let missing = || Err(TargetError::NoKernelBtf { release: "x".into() });
        let without = KernelTypes::from_cache(Arc::default());
        assert!(without.main_from(missing).is_err() && without.main_from(|| Ok(some())).is_err());
        let other = KernelTypes::from_cache(Arc::clone(&without.own));
        assert!(other.main_from(|| Ok(some())).is_ok(), "that there is none is remembered for one object");
    }

    #[test]
    fn which_modules_there_are_is_asked_anew_and_what_was_read_of_them_is_kept() {
        let own = Arc::new(TypesCache { main: OnceLock::from(Arc::new(some())), ..TypesCache::default() });
        let module =
            |main: &_, name: &str| Arc::new(ModuleTypes::from_btf(name.to_owned(), main, Arc::new(some())));
        let before = KernelTypes::from_cache(Arc::clone(&own));
        let old = before.modules_from(|main, _| Ok(vec![module(main, "a")])).unwrap();
        let after = KernelTypes::from_cache(own);
        let new = after.modules_from(|main, known| {
            assert!(Arc::ptr_eq(&known[0], &old[0]));
            Ok([known, &[module(main, "b")]].concat())
        });
        let names = |of: &[Arc<ModuleTypes>]| of.iter().map(|m| m.name.clone()).collect::<Vec<_>>();
        assert_eq!(
            (names(new.unwrap()), names(before.modules().unwrap())),
            (vec!["a".into(), "b".into()], vec!["a".to_owned()])
        );
        assert!(after.find(b"int", Kind::Int, true).unwrap().is_some());
    }

    #[test]
    fn many_searches_make_an_index_which_finds_the_same() {
        let mut b = Builder::new(Endian::Little);
        let int = b.int("int", 4, Builder::SIGNED);
        b.structure("s", 4, &[("a", int, 0)]);
        let proto = b.func_proto(int, &[]);
        b.func("f", proto, 1);
        let types = KernelTypes::from_btf(Arc::new(Btf::parse(b.finish()).unwrap()), []);
        let find = |name: &[u8], kind| types.find(name, kind, true).unwrap().map(|f| f.ty.id());
        for _ in 0..SEARCHES {
            assert!(types.own.types.index.get().is_none());
            assert_eq!((find(b"s", Kind::Struct), find(b"", Kind::Struct)), (Some(TypeId(2)), None));
            types.own.types.searches.fetch_sub(1, Ordering::Relaxed);
        }
        assert!(types.target(false).unwrap().main().index.is_some());
        assert!(types.own.functions.index.get().is_none(), "nobody has looked for a function");
        for _ in 0..=SEARCHES {
            assert_eq!((find(b"f", Kind::Func), find(b"s", Kind::Func)), (Some(TypeId(4)), None));
        }
        assert!(types.own.functions.index.get().is_some());
        assert_eq!((find(b"s", Kind::Struct), find(b"s", Kind::Union)), (Some(TypeId(2)), None));
    }
}
