//! Functions, types, variables and symbols of the kernel and its modules.

use super::{
    answer::{Answer, Evidence, EvidenceSource},
    facts::KernelFacts,
    fixed_names::Func,
    inputs::{InputOrigins, ModuleCoverage, SymbolScope},
    kconfig::KconfigAnswer,
    kernel_name::KernelName,
    kernel_types::KernelTypes,
    kfunc_types::is_known_kfunc,
    query::{StructOpsName, SymbolName, TracepointName},
    symbol::{KernelSymbol, parse_symbol},
};
use core_relo::{
    Name, ShortName,
    btf::{Kind, Type},
};
use core_relo_object::load_plan::{SymbolAddress, SymbolAddressError, shows_no_address};

/// A function of `CONFIG_LIVEPATCH`.
const LIVEPATCH: Func = Func::klp_enable_patch;

/// Functions of kernels that load modules.
const LOADS_MODULES: [Func; 2] = [Func::find_module, Func::do_init_module];

/// Variables of every kernel with BPF and a network, for which objects declare externs without a type.
const EVERY_KERNEL: [&str; 8] = [
    "init_net",
    "init_task",
    "init_pid_ns",
    "init_user_ns",
    "jiffies",
    "bpf_map_fops",
    "bpf_prog_fops",
    "btf_fops",
];

impl<'k> KernelFacts<'k> {
    /// Answers whether the kernel or a module has a function, typedef, struct or variable, such as an attach
    /// target, `bpf_lsm_*`, `btf_trace_*` or `trace_event_raw_*`.
    ///
    /// With a `module`, only the module's declarations count; `vmlinux` is the kernel itself. A module that
    /// the target lacks is unknown. Without a `module`, a name that neither vmlinux nor the target's modules
    /// have is absent, unless other modules may be loaded: see [`ModuleCoverage`].
    pub fn declaration(&self, name: &KernelName, module: Option<&str>) -> Answer {
        let shown = name.shortened();
        let named = match name.id.kind {
            Kind::Struct => format!("struct {shown}"),
            Kind::Typedef => format!("typedef {shown}"),
            kind => format!("{kind} {shown}"),
        };
        match module {
            Some("vmlinux") if self.vmlinux.find(name).is_some() => return Answer::present_in_btf(named),
            Some("vmlinux") if self.describes_bpf_functions() => {
                return Answer::absent_from_btf(format!("no {named} in vmlinux"));
            }
            Some("vmlinux") => {}
            Some(module) => return self.answer_in_module(&named, name, module),
            None => {
                if let Some((types, _)) = self.find_name(name) {
                    let is_vmlinux = core::ptr::eq(types, &raw const self.vmlinux);
                    let of_module = || format!("{named} of module {}", shortened(types.name));
                    return Answer::present_in_btf(if is_vmlinux { named } else { of_module() });
                }
            }
        }
        if !self.describes_bpf_functions() {
            return Answer::Unknown(format!("the kernel's BTF is incomplete and has no {named}"));
        }
        let absence = format!("no {named} in vmlinux{}", self.searched_modules(name));
        // Only vmlinux has hooks of LSM.
        let is_hook = name.id.kind == Kind::Func && name.starts_with(b"bpf_lsm_");
        let may_have_others = self.inputs.modules == ModuleCoverage::Partial
            || self.target.unread_module_count() != 0
            || !self.target.excluded_modules_lack(name);
        if may_have_others && !is_hook && !matches!(self.module_btf(), Answer::Absent(_)) {
            return Answer::Unknown(format!(
                "{absence}, but another module may have it: give its BTF (--module)"
            ));
        }
        Answer::absent_from_btf(absence)
    }

    /// Answers whether the kernel has BTF of a module. A module that the target lacks is unknown.
    pub fn module(&self, module: &str) -> Answer {
        let is_excluded = self.target.excluded_modules().iter().any(|name| name == module);
        if is_excluded || self.modules().any(|types| types.name == module) {
            return Answer::present_in_btf(format!("module {}", shortened(module)));
        }
        self.missing_module(module)
    }

    /// Answers whether the kernel finds the address of a variable among its symbols (kernel:
    /// `check_pseudo_btf_id`). A variable that BTF lacks has no address to look up. Without symbols and
    /// configuration, the kernel counts as one that lists its variables.
    pub fn variable_address(&self, name: &SymbolName) -> Answer {
        let Answer::Present(in_btf) = self.declaration(&name.variable, None) else {
            let text = format!("no variable {}", name.variable.shortened());
            return Answer::present_in_btf(text);
        };
        if self.inputs.kallsyms.as_deref().is_some_and(|text| !text.is_empty()) {
            return match self.symbol(name) {
                Answer::Unknown(_) => Answer::Present(in_btf),
                known => known,
            };
        }
        match self.configured("CONFIG_KALLSYMS_ALL") {
            KconfigAnswer::NotSet(evidence) => Answer::Absent(evidence),
            _ => Answer::Present(in_btf),
        }
    }

    /// Answers whether the kernel or a module registers a struct for struct_ops maps, such as
    /// `tcp_congestion_ops`.
    pub fn struct_ops(&self, name: &StructOpsName) -> Answer {
        self.declaration(&name.value, None)
    }

    /// Returns the structs of a struct_ops map: that of its value, such as
    /// `bpf_struct_ops_tcp_congestion_ops`, and that of the programs, `tcp_congestion_ops`, if the same BTF
    /// or vmlinux has it.
    pub(crate) fn struct_ops_structs(&self, name: &StructOpsName) -> Option<(Type<'k>, Option<Type<'k>>)> {
        let (types, value) = self.find_name(&name.value)?;
        Some((value, self.vmlinux.find(&name.programs).or_else(|| types.find(&name.programs))))
    }

    /// Answers whether the kernel or a module has a kfunc.
    ///
    /// If the kernel's BTF tags kfuncs (6.10 and pahole 1.26), a function without the tag is none. Otherwise
    /// a function is the kfunc if the name is that of a known kfunc. A kfunc may still be closed to a program
    /// type.
    pub fn kfunc(&self, name: &KernelName) -> Answer {
        let Some((types, function)) = self.find_name(name) else { return self.declaration(name, None) };
        let shown = name.shortened();
        if types.kfuncs().binary_search(&function.id()).is_ok() {
            return tagged_kfunc(Name::new(name));
        }
        if types.kfuncs().is_empty() && self.vmlinux.kfuncs().is_empty() {
            if is_known_kfunc(name) {
                return Answer::present_in_btf(format!("FUNC {shown}"));
            }
            return Answer::Unknown(format!(
                "the kernel's BTF does not tell whether FUNC {shown} is a kfunc"
            ));
        }
        Answer::absent_from_btf(format!("FUNC {shown} is no kfunc: it has no tag bpf_kfunc"))
    }

    /// Returns the kfuncs of the kernel and of the target's modules, sorted by name, with the answers of
    /// [`kfunc`](Self::kfunc).
    ///
    /// A kernel whose BTF does not tag kfuncs has those of the query that are known from other kernels:
    /// [`known_kfuncs`](super::known_kfuncs).
    pub fn kfuncs(&self) -> Vec<(String, Answer)> {
        let all = core::iter::once(&self.vmlinux).chain(self.modules());
        let tagged = all.flat_map(|types| types.kfuncs().iter().filter_map(|id| types.btf.ty(*id)));
        let mut kfuncs: Vec<_> =
            tagged.map(|function| (function.name().to_string(), tagged_kfunc(function.name()))).collect();
        if kfuncs.is_empty() {
            let functions = self.vmlinux.query.names().filter(|(id, _)| id.kind == Kind::Func);
            let known = functions.filter(|(_, name)| is_known_kfunc(name));
            let known = known.map(|(id, name)| KernelName { name: name.into(), id });
            let answers = known.map(|name| (Name::new(&name).to_string(), self.kfunc(&name)));
            kfuncs = answers.filter(|(_, answer)| answer.is_present()).collect();
        }
        kfuncs.sort_by(|(a, _), (b, _)| a.cmp(b));
        kfuncs.dedup_by(|(a, _), (b, _)| a == b);
        kfuncs
    }

    /// Answers whether the kernel or a module has a symbol, as externs without a type need it.
    ///
    /// A function or a variable in BTF is evidence for the symbol. A missing one is no evidence against it.
    pub fn symbol(&self, name: &SymbolName) -> Answer {
        let shown = name.function.shortened();
        let Some(text) = self.inputs.kallsyms.as_deref().filter(|text| !text.is_empty()) else {
            let mut declarations = [&name.function, &name.variable].into_iter();
            let in_btf = declarations.find(|declaration| self.find_name(declaration).is_some());
            let in_btf = in_btf.map(|found| format!("{} {shown}", found.id.kind));
            return match in_btf.or_else(|| self.lists_variable(name)) {
                Some(text) => Answer::present_in_btf(text),
                None => Answer::Unknown("give the kernel's symbols (--kallsyms)".into()),
            };
        };
        let found = self.find_symbol(text, name);
        let origin = self.inputs.origins.kallsyms.as_ref();
        let evidence = |text| Evidence {
            source: EvidenceSource::Kallsyms,
            text: InputOrigins::evidence_text(origin, text),
        };
        let Some(symbol) = found else { return Answer::Absent(evidence(format!("no symbol {shown}"))) };
        let text = match symbol.module {
            None => format!("symbol {shown}"),
            Some(module) => format!("symbol {shown} of module {}", shortened(module)),
        };
        match self.inputs.symbol_scope {
            SymbolScope::Linked if !symbol.is_function => self.linked_variable(&text, evidence(text.clone())),
            _ => Answer::Present(evidence(text)),
        }
    }

    /// Returns whether nothing tells how many symbols have this name: BTF lists a name once, and many symbols
    /// may have it.
    pub(crate) fn may_be_ambiguous(&self, name: &SymbolName) -> bool {
        let has_symbols = self.inputs.kallsyms.as_deref().is_some_and(|text| !text.is_empty());
        !has_symbols && self.lists_variable(name).is_none()
    }

    /// Returns whether the kernel hides the addresses of its symbols (`kernel.kptr_restrict`): all are 0.
    pub(crate) fn hides_addresses(&self) -> bool {
        let Some(text) = self.inputs.kallsyms.as_deref().filter(|text| !text.is_empty()) else {
            return false;
        };
        let is_hidden = |line: &str| shows_no_address(line.as_bytes());
        // A symbol table of an image hides none.
        let is_running = self.inputs.symbol_scope != SymbolScope::Linked;
        *self.hides_addresses.get_or_init(|| is_running && text.lines().all(is_hidden))
    }

    /// Returns the addresses of two symbols of this name, if several have it.
    pub(crate) fn ambiguous_symbol(&self, name: &SymbolName) -> Option<[&'k str; 2]> {
        let text = self.inputs.kallsyms.as_deref().filter(|text| !text.is_empty())?;
        let symbol = self.find_symbol(text, name)?;
        Some([symbol.address, symbol.other_address?])
    }

    /// Returns the address that a caller chooses for a kernel symbol. Returns `None` if the kernel's symbols
    /// are not known.
    pub(crate) fn chosen_symbol(
        &self,
        name: &[u8],
        chosen: &SymbolAddress,
    ) -> Option<Result<u64, SymbolAddressError>> {
        let text = self.inputs.kallsyms.as_deref().filter(|text| !text.is_empty())?;
        let addresses_of = |name: &[u8]| {
            let symbols = text.lines().filter_map(parse_symbol);
            let symbols = symbols.filter(|(symbol, _)| symbol.as_bytes() == name);
            let mut addresses: Vec<_> =
                symbols.filter_map(|(_, symbol)| u64::from_str_radix(symbol.address, 16).ok()).collect();
            addresses.sort_unstable();
            addresses.dedup();
            addresses
        };
        Some(chosen.resolve(name, addresses_of))
    }

    /// Answers whether the kernel or a module has a tracepoint for programs that are attached after the load,
    /// by its typedef `btf_trace_*`.
    ///
    /// The attachment itself needs no types. So types without any tracepoint, and modules without types,
    /// leave the question open.
    pub fn tracepoint(&self, name: &TracepointName) -> Answer {
        let answer = self.declaration(&name.typedef, None);
        let Answer::Absent(Evidence { text, .. }) = &answer else { return answer };
        if !self.declaration(&name.every_kernels, None).is_present() {
            return Answer::Unknown("the kernel's types list no tracepoints".into());
        }
        if !self.module_btf().is_present() && self.find_any(&LOADS_MODULES).is_some() {
            return Answer::Unknown(format!("{text}, but a module may have it, and modules have no BTF"));
        }
        answer
    }

    /// Answers whether the kernel or a module has a function to which a kprobe can be attached.
    ///
    /// Symbols of the linked kernel alone do not show what modules have. Some kernels that are compiled by
    /// Clang with LTO list functions with a suffix that kprobes leave out (kernel: `cleanup_symbol_name`).
    pub fn probed_function(&self, name: &SymbolName) -> Answer {
        let answer = self.symbol(name);
        let Answer::Absent(Evidence { text, .. }) = &answer else { return answer };
        if self.inputs.symbol_scope == SymbolScope::Linked {
            return Answer::Unknown(format!("{text} in the kernel itself, but a module may have it"));
        }
        let with_suffix = format!(" {}.llvm.", Name::new(name.as_bytes()));
        if self.inputs.kallsyms.as_deref().is_some_and(|symbols| symbols.contains(&with_suffix)) {
            return Answer::Unknown(format!("{text}, but one with the suffix .llvm"));
        }
        answer
    }

    /// Answers whether `/proc/kallsyms` shows a variable of the linked kernel.
    fn linked_variable(&self, text: &str, symbol: Evidence) -> Answer {
        if self.find_any(&[LIVEPATCH]).is_some() {
            return Answer::Present(symbol);
        }
        match self.configured("CONFIG_KALLSYMS_ALL") {
            KconfigAnswer::Value(..) => Answer::Present(symbol),
            KconfigAnswer::NotSet(evidence) => Answer::Absent(Evidence {
                text: format!("{}; {text} is a variable, which /proc/kallsyms does not show", evidence.text),
                ..evidence
            }),
            KconfigAnswer::Unknown(question) => Answer::Unknown(format!(
                "{text} is a variable, which /proc/kallsyms shows only with CONFIG_KALLSYMS_ALL: {question}"
            )),
        }
    }

    /// Returns the evidence that `/proc/kallsyms` lists a variable which every kernel has. `CONFIG_LIVEPATCH`
    /// selects `CONFIG_KALLSYMS_ALL`, without which the file has functions only.
    fn lists_variable(&self, name: &SymbolName) -> Option<String> {
        let variable = EVERY_KERNEL.iter().find(|variable| variable.as_bytes() == name.as_bytes())?;
        let function = self.find_any(&[LIVEPATCH])?;
        Some(format!(
            "every kernel has the variable {variable}, and FUNC {function} implies CONFIG_KALLSYMS_ALL"
        ))
    }

    /// Returns whether the kernel was searched for a name. A table of requirements may get more names later,
    /// and another query has other names at the same places.
    pub(crate) fn has_searched(&self, name: &KernelName) -> bool {
        self.vmlinux.query.types.position(name, name.id.kind) == Some(name.id.position)
    }

    /// Returns the first type of a name: vmlinux first, then the given modules.
    pub(crate) fn find_type(&self, name: &KernelName) -> Option<Type<'k>> {
        self.find_name(name).map(|(_, ty)| ty)
    }

    /// Returns the first type of a name that libbpf finds for an attach target, in a module if the target
    /// names one (libbpf: `find_kernel_btf_id`).
    pub(crate) fn find_type_in(&self, name: &KernelName, module: Option<&str>) -> Option<Type<'k>> {
        match module {
            None => self.find_type(name),
            Some("vmlinux") => self.vmlinux.find(name),
            Some(module) => {
                self.modules().filter(|types| types.name == module).find_map(|types| types.find(name))
            }
        }
    }

    /// Returns the first VAR or FUNC of a name, and the name of the kernel or module that has it.
    pub(crate) fn extern_type(&self, name: &KernelName) -> Option<(&'k str, Type<'k>)> {
        self.find_name(name).map(|(types, ty)| (types.name, ty))
    }

    /// Returns the first type of a name: vmlinux first, then the modules.
    fn find_name(&self, name: &KernelName) -> Option<(&KernelTypes<'k>, Type<'k>)> {
        let mut all = core::iter::once(&self.vmlinux).chain(self.modules());
        all.find_map(|types| Some((types, types.find(name)?)))
    }

    /// Returns the names of the modules that have types or functions which objects need and vmlinux lacks.
    pub fn needed_modules(&self) -> Vec<&'k str> {
        let needed = self.vmlinux.query.needed_names().map(|(id, _name)| id);
        let missing: Vec<_> = needed.filter(|id| self.vmlinux.find(*id).is_none()).collect();
        let has_one = |module: &&KernelTypes<'k>| missing.iter().any(|id| module.find(*id).is_some());
        self.modules().filter(has_one).map(|module| module.name).collect()
    }

    /// Returns the given modules. Their types are searched once.
    fn modules(&self) -> impl Iterator<Item = &KernelTypes<'k>> {
        // An iterator that ends in vmlinux does not search the modules.
        core::iter::once_with(|| {
            let new = || {
                let modules = self.target.modules().iter();
                modules.map(|module| KernelTypes::new(module, self.vmlinux.query)).collect()
            };
            self.modules.get_or_init(new)
        })
        .flatten()
    }

    /// Returns the modules that were searched for a name, for evidence.
    fn searched_modules(&self, name: &KernelName) -> String {
        let excluded = self.target.excluded_modules().iter();
        let excluded = excluded.filter(|_| self.target.excluded_modules_lack(name));
        let searched: Vec<_> =
            self.target.modules().iter().map(|module| &module.name).chain(excluded).collect();
        match *searched {
            [] => String::new(),
            [module] => format!(" and module {}", shortened(module)),
            _ => format!(" and {} modules", searched.len()),
        }
    }

    /// Answers whether a module has a declaration, `named` in evidence.
    fn answer_in_module(&self, named: &str, name: &KernelName, module: &str) -> Answer {
        let text = format!("{named} of module {}", shortened(module));
        let mut given = self.modules().filter(|types| types.name == module);
        if let Some(types) = given.next() {
            return match types.find(name) {
                Some(_) => Answer::present_in_btf(text),
                None => Answer::absent_from_btf(format!("no {text}")),
            };
        }
        let is_excluded = self.target.excluded_modules().iter().any(|excluded| excluded == module);
        if is_excluded && self.target.excluded_modules_lack(name) {
            return Answer::absent_from_btf(format!("no {text}"));
        }
        self.missing_module(module)
    }

    /// Answers for a module that the target lacks.
    fn missing_module(&self, module: &str) -> Answer {
        let shown = shortened(module);
        match self.module_btf() {
            Answer::Absent(evidence) => {
                let text = format!("the kernel has no BTF of module {shown}: {}", evidence.text);
                Answer::Absent(Evidence { text, ..evidence })
            }
            _ => Answer::Unknown(format!("give the BTF of module {shown} (--module)")),
        }
    }

    /// Returns a symbol of the query among the symbols of the kernel, `text`.
    fn find_symbol(&self, text: &'k str, name: &SymbolName) -> Option<KernelSymbol<'k>> {
        self.kallsyms.get_or_init(|| self.index_symbols(text)).get(name.position).copied().flatten()
    }

    /// Returns the symbols of the query that the kernel has, by position.
    fn index_symbols(&self, text: &'k str) -> Vec<Option<KernelSymbol<'k>>> {
        let mut index = vec![None::<KernelSymbol<'k>>; self.vmlinux.query.symbols.len()];
        for (name, symbol) in text.lines().filter_map(parse_symbol) {
            let position = self.vmlinux.query.symbols.get(name.as_bytes());
            let Some(known) = position.and_then(|position| index.get_mut(*position)) else { continue };
            let known = known.get_or_insert(symbol);
            if known.address != symbol.address {
                known.other_address = known.other_address.or(Some(symbol.address));
            }
        }
        index
    }
}

/// Returns the answer for a function with the tag of kfuncs.
fn tagged_kfunc(name: Name<'_>) -> Answer {
    Answer::present_in_btf(format!("FUNC {} has the tag bpf_kfunc", name.shortened()))
}

/// Returns the name of a module for a message.
fn shortened(module: &str) -> ShortName<'_> {
    Name::new(module.as_bytes()).shortened()
}
