//! The kernel's types for a load: main BTF and modules, each read when it is first needed, shared by whoever holds them.

use super::{
    TargetError, kernel,
    module_types::{self, ModuleTypes},
};
use crate::sys::Errno;
use alloc::sync::{Arc, Weak};
use core::sync::atomic::{AtomicU32, Ordering};
use core_relo::{
    Name, Plan, Target,
    btf::{Btf, Kind, NameIndex, Sieve, Type},
};
use std::sync::{Mutex, OnceLock, PoisonError};

/// After so many searches of the kernel's types an index is made, which costs about as much as they did.
const SEARCHES: u32 = 8;

/// A kernel's types.
///
/// [`running`](Self::running) gives the same to all who ask while somebody holds it, so that several objects and programs
/// share one parsed BTF.
#[derive(Debug)]
pub struct KernelTypes {
    main: OnceLock<Result<Arc<Btf<'static>>, TargetError>>,
    types: Searched,
    functions: Searched,
    modules: OnceLock<Result<Vec<ModuleTypes>, Errno>>,
    live: bool,
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

impl KernelTypes {
    /// The running kernel's.
    pub fn running() -> Arc<Self> {
        static SHARED: Mutex<Weak<KernelTypes>> = Mutex::new(Weak::new());
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = shared.upgrade() {
            return known;
        }
        let new = Arc::new(Self::new(OnceLock::new(), OnceLock::new(), true));
        *shared = Arc::downgrade(&new);
        new
    }

    /// Those of a target that somebody else read: for plans without a kernel.
    pub fn given(
        main: Arc<Btf<'static>>,
        modules: impl IntoIterator<Item = (String, Arc<Btf<'static>>)>,
    ) -> Self {
        let modules = modules.into_iter().map(|(name, btf)| ModuleTypes::given(name, &main, btf)).collect();
        Self::new(OnceLock::from(Ok(main)), OnceLock::from(Ok(modules)), false)
    }

    /// None at all: a kernel without BTF.
    pub fn none() -> Self {
        let error = TargetError::NoKernelBtf { release: String::from("given") };
        Self::new(OnceLock::from(Err(error)), OnceLock::from(Ok(Vec::new())), false)
    }

    fn new(
        main: OnceLock<Result<Arc<Btf<'static>>, TargetError>>,
        modules: OnceLock<Result<Vec<ModuleTypes>, Errno>>,
        live: bool,
    ) -> Self {
        Self { main, types: Searched::default(), functions: Searched::default(), modules, live }
    }

    /// Whether these are the running kernel's.
    pub fn is_live(&self) -> bool {
        self.live
    }

    /// The kernel's own.
    pub fn main(&self) -> Result<&Arc<Btf<'static>>, TargetError> {
        let read = || {
            let file = kernel()?;
            file.parse(None).map(Arc::new)
        };
        self.main.get_or_init(read).as_ref().map_err(Clone::clone)
    }

    /// Its modules, in the order in which they were loaded (libbpf: `load_module_btfs`); their types are read when somebody looks
    /// for one.
    pub fn modules(&self) -> Result<&[ModuleTypes], Errno> {
        let read = || {
            let Ok(main) = self.main() else { return Ok(Vec::new()) };
            module_types::running(main)
        };
        self.modules.get_or_init(read).as_deref().map_err(|e| *e)
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
            Kind::Func => (&self.functions, NameIndex::of_functions),
            _ => (&self.types, NameIndex::of_types),
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
        if let Some(index) = self.types.index(main, NameIndex::of_types) {
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

    #[test]
    fn the_running_kernels_types_are_shared_while_they_are_held() {
        let first = KernelTypes::running();
        assert!(Arc::ptr_eq(&first, &KernelTypes::running()));
        let Ok(main) = first.main() else { return println!("SKIP: this kernel has no BTF") };
        assert!(Arc::ptr_eq(main, KernelTypes::running().main().unwrap()));
        let task = first.find(b"task_struct", Kind::Struct, false).unwrap();
        assert!(task.is_some_and(|t| t.module.is_none()));
        assert!(first.find(b"no_such_struct_anywhere", Kind::Struct, false).unwrap().is_none());
    }

    #[test]
    fn many_searches_make_an_index_which_finds_the_same() {
        let mut b = Builder::new(Endian::Little);
        let int = b.int("int", 4, Builder::SIGNED);
        b.structure("s", 4, &[("a", int, 0)]);
        let proto = b.func_proto(int, &[]);
        b.func("f", proto, 1);
        let types = KernelTypes::given(Arc::new(Btf::parse(b.finish()).unwrap()), []);
        let find = |name: &[u8], kind| types.find(name, kind, true).unwrap().map(|f| f.ty.id());
        for _ in 0..SEARCHES {
            assert!(types.types.index.get().is_none());
            assert_eq!((find(b"s", Kind::Struct), find(b"", Kind::Struct)), (Some(TypeId(2)), None));
            types.types.searches.fetch_sub(1, Ordering::Relaxed);
        }
        assert!(types.target(false).unwrap().main().index.is_some());
        assert!(types.functions.index.get().is_none(), "nobody has looked for a function");
        for _ in 0..=SEARCHES {
            assert_eq!((find(b"f", Kind::Func), find(b"s", Kind::Func)), (Some(TypeId(4)), None));
        }
        assert!(types.functions.index.get().is_some());
        assert_eq!((find(b"s", Kind::Struct), find(b"s", Kind::Union)), (Some(TypeId(2)), None));
    }
}
