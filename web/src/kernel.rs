//! Kernels whose files the page has loaded.

use crate::{
    message::{KernelFacts, Part, parse_pack, split_parts},
    request_error::RequestError,
};
use core_relo::{
    Data, Name, Target,
    btf::{Btf, BtfError, ModuleFilter},
};
use core_relo_verdict::{
    fleet::JudgedKernel,
    kernel::{
        InputOrigins, KernelFacts as FoundFacts, KernelInputs, KernelVersion, SymbolScope, WantedFacts,
    },
};
use std::{cell::Cell, sync::Arc};

/// The name of the kernel's own BTF in lists of candidates.
const MAIN_BTF: &str = "vmlinux";

/// A kernel whose files the page has loaded.
#[derive(Clone, Debug)]
pub(crate) struct PageKernel {
    pub(crate) name: String,
    pub(crate) architecture: Option<String>,
    /// The version in labels.
    pub(crate) label_version: Option<KernelVersion>,
    target: Target<'static>,
    inputs: KernelInputs,
    warnings: Vec<String>,
    modules: PageModules,
}

/// The modules of a kernel.
#[derive(Clone, Debug)]
enum PageModules {
    None,
    /// The page can load them. The cell tells whether an object needs them.
    NotLoaded(Cell<bool>),
    Loaded(Arc<[LoadedModule]>),
}

/// The BTF of a module, which has not been parsed.
#[derive(Clone, Debug)]
struct LoadedModule {
    name: String,
    btf: Data<'static>,
}

impl PageKernel {
    /// Parses the parts of a kernel.
    pub(crate) fn new(
        facts: KernelFacts,
        sizes: &[(Part, usize)],
        payload: &[u8],
    ) -> Result<Self, RequestError> {
        let parts = split_parts(payload, sizes.iter().map(|(_, size)| *size))?;
        let find = |kind: Part| {
            let mut found = sizes.iter().zip(&parts).filter(|((part, _), _)| *part == kind);
            found.next().map(|(_, bytes)| *bytes)
        };
        let name = facts.name;
        let bad_fact = |what: String| RequestError::Fact { name: (&*name).into(), what: what.into() };
        let btf = find(Part::Btf).ok_or_else(|| bad_fact("no BTF".to_owned()))?;
        let btf = Btf::parse(btf.to_vec()).map_err(|cause| bad_btf(&name, cause))?;
        let text = |kind: Part| -> Option<Arc<str>> {
            find(kind).map(|bytes| String::from_utf8_lossy(bytes).into())
        };
        let version = facts.version.map(|version| version.parse::<KernelVersion>());
        let inputs = KernelInputs {
            version: version.transpose().map_err(|error| bad_fact(error.to_string()))?,
            kconfig: text(Part::Kconfig),
            kallsyms: text(Part::Symbols),
            symbol_scope: SymbolScope::Linked,
            origins: InputOrigins {
                version: facts.version_origin.map(Arc::from),
                kconfig: facts.kconfig_origin.map(Arc::from),
                kallsyms: facts.symbols_origin.map(Arc::from),
            },
            ..KernelInputs::default()
        };
        let modules = match facts.has_modules {
            true => PageModules::NotLoaded(Cell::new(false)),
            false => PageModules::None,
        };
        let label_version = facts.label_version.and_then(|version| version.parse().ok());
        let (architecture, warnings) = (facts.architecture, facts.warnings);
        let btf = Arc::new(btf);
        let mut given = Vec::new();
        for (entry, module) in find(Part::GivenModules).map(parse_pack).transpose()?.into_iter().flatten() {
            let module = Btf::parse_split(module.to_vec(), Arc::clone(&btf));
            let module = module.map_err(|cause| bad_btf(&entry.name, cause))?;
            given.push((entry.name, Arc::new(module)));
        }
        let target = Target::new(MAIN_BTF, btf).with_modules(given);
        Ok(Self { name, architecture, label_version, target, inputs, warnings, modules })
    }

    /// Adds the modules in a pack, which are parsed when an object needs them.
    pub(crate) fn add_modules(&mut self, pack: &[u8]) -> Result<(), RequestError> {
        let modules = parse_pack(pack)?.into_iter();
        let modules =
            modules.map(|(entry, btf)| LoadedModule { name: entry.name, btf: Data::from(btf.to_vec()) });
        self.modules = PageModules::Loaded(modules.collect());
        Ok(())
    }

    /// Returns whether the last verdict needs modules that have not been loaded.
    pub(crate) fn takes_modules_request(&self) -> bool {
        match &self.modules {
            PageModules::NotLoaded(is_needed) => is_needed.take(),
            _ => false,
        }
    }

    /// Returns the kernel with those of its modules that may have types of these names, as the command does.
    fn with_modules_named<'n>(
        &self,
        modules: &[LoadedModule],
        names: impl Iterator<Item = Name<'n>>,
    ) -> Option<Self> {
        let base = Arc::clone(&self.target.vmlinux().btf);
        let mut filter = ModuleFilter::new(&base, names);
        let (mut needed, mut excluded, mut unread_count) = (Vec::new(), Vec::new(), 0usize);
        let mut warnings = self.warnings.clone();
        for module in modules {
            if !filter.may_contain(&module.btf) {
                excluded.push(module.name.clone());
                continue;
            }
            match Btf::parse_split(module.btf.clone(), Arc::clone(&base)) {
                Ok(btf) => needed.push((module.name.clone(), Arc::new(btf))),
                Err(error) => {
                    unread_count = unread_count.checked_add(1)?;
                    warnings.push(format!("the module {} is left out: {error}", module.name));
                }
            }
        }
        if needed.is_empty() && excluded.is_empty() && unread_count == 0 {
            return None;
        }
        let target = self.target.clone().with_modules(needed);
        let target = target.with_excluded_modules(excluded, &filter).with_unread_modules(unread_count);
        Some(Self { target, warnings, modules: PageModules::None, ..self.clone() })
    }
}

fn bad_btf(name: &str, cause: BtfError) -> RequestError {
    RequestError::Btf { name: name.into(), cause }
}

impl JudgedKernel for PageKernel {
    fn target(&self) -> &Target<'static> {
        &self.target
    }

    fn inputs(&self, _given: &KernelInputs, _wanted: WantedFacts) -> KernelInputs {
        self.inputs.clone()
    }

    fn can_add_modules(&self) -> bool {
        !matches!(self.modules, PageModules::None)
    }

    fn with_modules_for(&self, names: &mut dyn Iterator<Item = Name<'_>>) -> Option<Self> {
        match &self.modules {
            PageModules::None => None,
            PageModules::NotLoaded(is_needed) => {
                is_needed.set(true);
                None
            }
            PageModules::Loaded(modules) => self.with_modules_named(modules, names),
        }
    }

    fn warnings(&self, _given: &KernelInputs, _facts: &FoundFacts<'_>) -> Vec<String> {
        self.warnings.clone()
    }
}
