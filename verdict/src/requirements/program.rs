//! The requirements of a program, with the instructions that have them.

use super::{
    attach::AttachNeed,
    attach_point::AttachPoint,
    broken_rules::broken_rule_sites,
    context::ContextKind,
    context_arguments::context_argument_sites,
    extern_need::ExternNeed,
    global_functions::{GlobalFunctions, Parameter},
    hook::Hook,
    instructions,
    license::{LicenseUse, is_gpl_compatible, is_gpl_helper},
    map_uses::map_use_sites,
    need::{Need, NeedId, NeedTable},
    object_parts::ObjectParts,
    site::Site,
    stack,
    used_map::UsedMap,
};
use crate::{
    SourceLine,
    kernel::{FieldFunction, InsnFeature, KernelName, SleepableCode, StructOpsName, kfunc_memory},
    linked_code::{function_addresses, usize_of},
    reads::{
        ContextAccess, FrameAccess, MapAccess, Read, Returns, Traced, TracedObject, VariableAccess, trace,
    },
    source_line::source_line,
};
use core_relo::{Name, btf::Btf, insn::Insn};
use core_relo_object::{
    ExternIndex, MapIndex, ProgramIndex,
    link::{ExternBinding, FunctionCopy, LinkError, LinkedProgram, RefTarget},
    load_plan::{AttachTarget, ProgramSettings},
    object::{Object, Program, ProgramType, SecDef},
};

/// The requirements of a program.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ProgramNeeds {
    /// The program's name.
    pub name: String,
    /// The program.
    pub index: ProgramIndex,
    /// The name of the section that the program is loaded for, if the settings of a load name another than
    /// the object.
    pub(crate) section: Option<Box<[u8]>>,
    /// The definition of the section's name. `None` if the name implies no program type.
    pub sec_def: Option<&'static SecDef>,
    /// Whether the default load of the object includes the program.
    pub autoload: bool,
    /// Whether the settings of a load bind the program to a device.
    pub(crate) is_device_bound: bool,
    /// The program type, attach type and target.
    pub attach: AttachNeed,
    /// The place that a loader attaches the program to after the load, if the section's name implies one.
    pub attach_point: Option<AttachPoint>,
    /// The requirement that attaches the program to this place, as far as a kernel can tell. The program
    /// loads without it.
    pub attaches_by: Option<NeedId>,
    /// The program with its subprograms, before relocation; or the reason why linking fails.
    pub code: Result<LinkedProgram, LinkError>,
    /// The requirements of instructions, in order.
    pub sites: Vec<Site>,
    /// The records that relocate the program: the instruction in the linked program, and the index of the
    /// record.
    pub records: Vec<(u32, usize)>,
    /// The declaration of the kernel that the context comes from.
    pub hook: Hook,
    /// The name of the declaration in a kernel, if the program is compared with it.
    pub(crate) declaration: Option<KernelName>,
    /// The structs of the map, if the program is compared with a member of struct_ops.
    pub(crate) struct_ops: Option<StructOpsName>,
    /// What the program reads of its context, and of fields.
    pub reads: Vec<Read>,
    /// The context, as far as the kernel decides on an access by its place.
    pub context: Option<ContextKind>,
    /// The accesses to the context without CO-RE, whose place not every kernel permits.
    pub context_accesses: Vec<ContextAccess>,
    /// The accesses to the context without CO-RE at offsets that the instructions alone do not tell. Every
    /// kernel refuses those at an offset that its verifier does not know.
    pub(crate) variable_accesses: Vec<VariableAccess>,
    /// The accesses to the program's stack at offsets that CO-RE sets.
    pub(crate) frame_accesses: Vec<FrameAccess>,
    /// What the program may return.
    pub returns: Returns,
}

/// The object of a program that is traced.
struct ProgramObject<'p, 'd, 't> {
    parts: ObjectParts<'p, 'd>,
    table: &'t NeedTable,
}

impl TracedObject for ProgramObject<'_, '_, '_> {
    fn kconfig_map(&self) -> Option<MapIndex> {
        self.parts.linker.kconfig_map()
    }

    fn kconfig_bytes(&self, index: ExternIndex) -> Option<u32> {
        match self.parts.linker.externs().get(index.0)?.binding {
            ExternBinding::Config(slot) => Some(slot.size),
            _ => None,
        }
    }

    fn is_global(&self, code: &LinkedProgram, copy: FunctionCopy) -> bool {
        self.parts.linker.is_global(code, copy)
    }

    fn field_kfunc(&self, index: ExternIndex) -> Option<FieldFunction> {
        match self.table.get(self.parts.externs.get(index.0)?.id)? {
            Need::Kfunc(name) => FieldFunction::of_kfunc(name),
            _ => None,
        }
    }

    fn kfunc_memory(&self, index: ExternIndex) -> &'static [u8] {
        match self.parts.externs.get(index.0).and_then(|needed| self.table.get(needed.id)) {
            Some(Need::Kfunc(name)) => kfunc_memory(name),
            _ => &[],
        }
    }
}

impl ProgramNeeds {
    /// Collects the requirements of a program. `records` are the instructions of all CO-RE records: the
    /// function, and the instruction in the section.
    pub(super) fn collect(
        parts: ObjectParts<'_, '_>,
        index: ProgramIndex,
        program: &Program<'_>,
        records: &[(ProgramIndex, u32, usize)],
        table: &mut NeedTable,
    ) -> Self {
        let object = parts.linker.object();
        let code = parts.linker.link(parts.sections, index);
        let has_gpl_license = is_gpl_compatible(parts.license);
        let hook = Hook::new(object, program);
        let attach_point = attach_point(program, &hook);
        let sec_def = program.sec_def();
        let mut needs = Self {
            section: None,
            is_device_bound: false,
            sec_def,
            name: core_relo::explain::text(Name::new(program.name()).shortened()),
            index,
            autoload: program.autoload(),
            attach: AttachNeed::new(program, has_gpl_license, None, table),
            code,
            sites: Vec::new(),
            records: Vec::new(),
            attaches_by: attaches_by(attach_point.as_ref(), table),
            attach_point,
            hook,
            declaration: None,
            struct_ops: None,
            reads: Vec::new(),
            context: sec_def.and_then(ContextKind::new),
            context_accesses: Vec::new(),
            variable_accesses: Vec::new(),
            frame_accesses: Vec::new(),
            returns: Returns::Unknown,
        };
        if let Ok(code) = &needs.code {
            needs.records = place_records(object, code, records);
            needs.collect_uses(parts, table);
            needs.compare_hook(table);
        }
        needs
    }

    /// Traces what the program reads and returns, its uses of maps, and the accesses to its context that not
    /// every kernel permits.
    fn trace(&mut self, parts: ObjectParts<'_, '_>, table: &mut NeedTable) {
        let Ok(code) = &self.code else { return };
        let Traced {
            reads,
            mut map_uses,
            mut context_accesses,
            mut variable_accesses,
            frame_accesses,
            arguments,
            returns,
        } = trace(code, &self.records, &ProgramObject { parts, table });
        self.frame_accesses = frame_accesses;
        let (context, def) = (self.context, self.sec_def);
        context_accesses
            .retain(|access| def.is_some_and(|def| ContextKind::may_refuse(context, def, *access)));
        // The first argument of an extension may be other memory.
        let may_vary = |def: &SecDef| matches!(def.program_type, ProgramType::Syscall | ProgramType::Ext);
        if def.is_none_or(may_vary) {
            variable_accesses.clear();
        }
        self.variable_accesses = variable_accesses;
        let mut functions = None;
        map_uses.retain_mut(|map_use| match map_use.access {
            MapAccess::Pass { function, parameter } => {
                let is_restricted = parts.maps.get(map_use.map.0).is_some_and(UsedMap::restricts_access);
                let Some(btf) = parts.linker.object().btf() else { return false };
                let functions =
                    functions.get_or_insert_with(|| GlobalFunctions::new(code, btf, parts.tags, def));
                match functions.parameter(function, parameter) {
                    Parameter::Memory => is_restricted,
                    Parameter::Context => {
                        map_use.access = MapAccess::PassAsContext;
                        true
                    }
                    Parameter::Dynptr | Parameter::Other => false,
                }
            }
            _ => true,
        });
        if !arguments.is_empty() {
            let btf = parts.linker.object().btf();
            let functions = btf
                .map(|btf| functions.get_or_insert_with(|| GlobalFunctions::new(code, btf, parts.tags, def)));
            let functions = functions.as_deref();
            self.sites.extend(context_argument_sites(&arguments, def, functions, parts.externs, table));
        }
        self.sites.extend(map_use_sites(code, self.sec_def, parts.maps, &map_uses, table));
        self.sites.sort_by_key(|site| site.insn);
        (self.reads, self.context_accesses, self.returns) = (reads, context_accesses, returns);
    }

    /// Sets the type and the attach target that a load sets in place of the section's.
    pub(super) fn set_type(
        &mut self,
        parts: ObjectParts<'_, '_>,
        program: &Program<'_>,
        settings: &ProgramSettings,
        table: &mut NeedTable,
    ) {
        let (object, has_gpl_license) = (parts.linker.object(), is_gpl_compatible(parts.license));
        let section = settings.section_with_type(program);
        let is_changed = *section != *program.section;
        let program = &program.in_section(&section);
        let target = settings.attach_to.as_ref();
        self.sec_def = program.sec_def();
        self.attach = AttachNeed::new(program, has_gpl_license, target, table);
        self.hook = match target {
            None => Hook::new(object, program),
            Some(AttachTarget::Kernel(name)) => Hook::with_target(object, program, Some(name)),
            // The context of a program on another program is not compared.
            Some(_) => Hook::with_target(object, program, None),
        };
        if is_changed {
            self.section = Some((*section).into());
            self.attach_point = attach_point(program, &self.hook);
            self.attaches_by = attaches_by(self.attach_point.as_ref(), table);
            self.context = self.sec_def.and_then(ContextKind::new);
            self.collect_uses(parts, table);
        }
        self.compare_hook(table);
    }

    /// Collects the requirements of the instructions: what they need, rules that they break, and their uses
    /// of maps and of the context.
    pub(super) fn collect_uses(&mut self, parts: ObjectParts<'_, '_>, table: &mut NeedTable) {
        self.collect_sites(parts, table);
        self.add_broken_rules(parts, table);
        self.trace(parts, table);
    }

    /// Sets the member of a struct_ops map that the program is loaded for, which its section does not tell.
    pub(super) fn set_struct_ops_member(&mut self, table_name: &str, member: &str, table: &mut NeedTable) {
        self.hook = Hook::StructOpsMember { table: table_name.to_owned(), member: member.to_owned() };
        self.compare_hook(table);
    }

    /// Forgets the member of a struct_ops map that the program is loaded for.
    pub(super) fn forget_struct_ops_member(&mut self) {
        if let Hook::StructOpsMember { .. } = self.hook {
            (self.hook, self.declaration, self.struct_ops) = (Hook::None, None, None);
        }
    }

    /// Returns the name of the section that the program is loaded for. `object` is that of the program.
    pub fn section<'s>(&'s self, object: &Object<'s>) -> &'s [u8] {
        let own = || object.programs().get(self.index.0).map_or(&[][..], |program| program.section);
        self.section.as_deref().unwrap_or_else(own)
    }

    /// Collects the requirements of the instructions, as far as they depend on the type of the program.
    fn collect_sites(&mut self, parts: ObjectParts<'_, '_>, table: &mut NeedTable) {
        let Ok(code) = &self.code else { return };
        self.sites = collect_sites(code, self.sec_def, parts.externs, table);
        if !is_gpl_compatible(parts.license) {
            add_license_sites(&mut self.sites, self.sec_def, table);
        }
    }

    /// Adds the rules for instructions and global functions that the program breaks to the requirements.
    /// [`trace`](Self::trace) sorts them.
    fn add_broken_rules(&mut self, parts: ObjectParts<'_, '_>, table: &mut NeedTable) {
        let Ok(code) = &self.code else { return };
        self.sites.extend(broken_rule_sites(code, &self.records, self.sec_def, table));
        self.sites.extend(GlobalFunctions::broken_rule_sites(parts, code, self.sec_def, table));
    }

    /// Adds the declaration that the context comes from to those that are compared.
    fn compare_hook(&mut self, table: &mut NeedTable) {
        self.struct_ops = match &self.hook {
            // The members of programs that share a map are compared, whatever the programs read.
            Hook::StructOpsMember { table: name, .. } => {
                Some(table.names.compared_struct_ops(name.as_bytes()))
            }
            _ => None,
        };
        // The results of LSM hooks are compared with what programs return.
        let is_compared =
            matches!(self.hook, Hook::Function { .. } | Hook::StructOpsMember { .. }) || self.compares_hook();
        let declaration = self.hook.kernel_type().filter(|_| is_compared);
        self.declaration = declaration.map(|(name, kind)| table.names.compared(name.as_bytes(), kind));
    }

    /// Returns whether the program has reads or accesses that the declaration of the hook decides on.
    pub(crate) fn compares_hook(&self) -> bool {
        !self.reads.is_empty() || !self.context_accesses.is_empty()
    }

    /// Returns the source line of an instruction in the linked program. `btf` is the object's BTF.
    pub fn source_line(&self, btf: &Btf<'_>, insn: u32) -> Option<SourceLine> {
        source_line(btf, self.code.as_ref().ok()?, insn)
    }

    /// Returns the bytes of stack that the deepest chain of calls takes, or `None` if linking fails. The
    /// kernel allows 512.
    pub fn stack_bytes(&self) -> Option<u32> {
        self.code.as_ref().ok().map(stack::stack_bytes)
    }

    /// Returns the instructions of sets that every kernel with BTF knows, such as 32-bit arithmetic. `sites`
    /// has the others.
    pub fn old_instructions(&self) -> impl Iterator<Item = (u32, InsnFeature)> {
        self.code.iter().flat_map(|code| {
            let is_extern = |at: u32| {
                let position = code.refs.binary_search_by_key(&at, |(insn, _)| *insn).ok();
                let reference = position.and_then(|position| code.refs.get(position));
                matches!(reference, Some((_, RefTarget::Extern(_))))
            };
            let decoded = instructions::decoded(&code.insns).filter(move |(at, _)| !is_extern(*at));
            decoded.filter_map(|(at, insn)| Some((at, instructions::old_feature(insn)?)))
        })
    }

    /// Returns whether the program, or a function of it, does tail calls. A program that is not linked may do
    /// some.
    pub(crate) fn has_tail_calls(&self) -> bool {
        self.code.as_ref().map_or(true, |code| {
            instructions::decoded(&code.insns).any(|(_, insn)| instructions::is_tail_call(insn))
        })
    }

    /// Returns the number of functions in the linked program whose address an instruction loads.
    pub fn callback_count(&self) -> usize {
        let Ok(code) = &self.code else { return 0 };
        let mut starts: Vec<_> = function_addresses(code).map(|(_, start)| start).collect();
        starts.sort_unstable();
        starts.dedup();
        starts.len()
    }
}

/// Returns the place that a loader attaches a program to after the load, if its section's name implies one.
fn attach_point(program: &Program<'_>, hook: &Hook) -> Option<AttachPoint> {
    AttachPoint::new(core::str::from_utf8(program.section_name()).ok()?, hook)
}

/// Returns the requirement that attaches a program to its place.
fn attaches_by(point: Option<&AttachPoint>, table: &mut NeedTable) -> Option<NeedId> {
    let need = point?.need(&mut table.names);
    table.add_optional(need)
}

/// Returns the requirements of a program's instructions.
fn collect_sites(
    code: &LinkedProgram,
    def: Option<&SecDef>,
    externs: &[ExternNeed],
    table: &mut NeedTable,
) -> Vec<Site> {
    let mut sites = Vec::new();
    let sleepable = sleepable_code(code, def, externs, table);
    for (insn, decoded) in instructions::decoded(&code.insns) {
        let needs = instructions::needs_of(decoded, def, sleepable);
        let is_beside_functions = code.functions.len() > 1 && instructions::is_tail_call(decoded);
        let tail_call = is_beside_functions.then_some(Need::Instruction(InsnFeature::TailCallWithFunctions));
        let needs = needs.into_iter().flatten().chain(tail_call);
        sites.extend(needs.map(|need| Site { insn, need: table.add(need) }));
    }
    for (insn, target) in &code.refs {
        let is_call = code.insns.get(usize_of(*insn)).is_some_and(|insn| !Insn::is_ld_imm64(*insn));
        let needs = needs_of_reference(*target, is_call, def, externs, table);
        sites.extend(needs.into_iter().flatten().map(|need| Site { insn: *insn, need }));
    }
    sites.sort_by_key(|site| site.insn);
    sites
}

/// Returns the parts of a program that may sleep. Some kfuncs take callbacks that may.
fn sleepable_code(
    code: &LinkedProgram,
    def: Option<&SecDef>,
    externs: &[ExternNeed],
    table: &NeedTable,
) -> SleepableCode {
    const KFUNCS: [&[u8]; 2] = [b"bpf_wq_set_callback", b"bpf_task_work_schedule"];
    if def.is_some_and(|def| def.flags.is_sleepable()) {
        return SleepableCode::All;
    }
    let takes_callback = |target: &RefTarget| {
        let RefTarget::Extern(ExternIndex(index)) = target else { return false };
        match externs.get(*index).and_then(|needed| table.get(needed.id)) {
            Some(Need::Kfunc(name)) => KFUNCS.iter().any(|kfunc| name.starts_with(kfunc)),
            _ => false,
        }
    };
    let has_callbacks = code.refs.iter().any(|(_, target)| takes_callback(target));
    if has_callbacks { SleepableCode::Callbacks } else { SleepableCode::None }
}

/// Adds the requirements of an object without a GPL-compatible license to those of the instructions.
fn add_license_sites(sites: &mut Vec<Site>, def: Option<&SecDef>, table: &mut NeedTable) {
    let program_type = def.map(|def| def.program_type);
    let mut added = Vec::new();
    for site in sites.iter() {
        let license_use = match table.get(site.need) {
            Some(Need::Helper { helper, .. }) if is_gpl_helper(*helper, program_type) => {
                LicenseUse::Helper(*helper)
            }
            Some(Need::KfuncCall { name, .. }) => LicenseUse::Kfunc(name.clone()),
            _ => continue,
        };
        added.push(Site { need: table.add(Need::License(license_use)), ..*site });
    }
    sites.append(&mut added);
    sites.sort_by_key(|site| site.insn);
}

/// Returns the requirements of an instruction with a reference.
fn needs_of_reference(
    target: RefTarget,
    is_call: bool,
    def: Option<&SecDef>,
    externs: &[ExternNeed],
    table: &mut NeedTable,
) -> [Option<NeedId>; 2] {
    let instruction = |feature| Some(Need::Instruction(feature));
    let needs = match target {
        RefTarget::Data { .. } => [instruction(InsnFeature::MapValueAddress), None],
        RefTarget::Extern(ExternIndex(index)) => {
            let Some(needed) = externs.get(index) else { return [None; 2] };
            match (table.get(needed.id), is_call) {
                (Some(Need::Kconfig(_)), false) => [instruction(InsnFeature::MapValueAddress), None],
                // The address of a missing weak extern is 0, which is no error. A call of the extern is one.
                (Some(Need::Variable(name)), false) => {
                    let feature = instruction(InsnFeature::KernelVariableAddress);
                    let name = name.clone();
                    [
                        feature.filter(|_| !needed.is_weak),
                        Some(Need::VariableAddress(table.names.symbol(&name))),
                    ]
                }
                (Some(Need::Kfunc(name)), true) => {
                    let program_type = def.map(|def| def.program_type);
                    let attach_type = def.and_then(|def| def.attach_type);
                    let call = Need::KfuncCall { name: name.clone(), program_type, attach_type };
                    [Some(call), instruction(InsnFeature::KfuncCall)]
                }
                // libbpf writes 0 for the address of a missing kfunc.
                (Some(Need::Kfunc(_)), false) => [instruction(InsnFeature::KernelFunctionAddress), None],
                (_, true) => {
                    return [Some(needed.id), table.add_optional(instruction(InsnFeature::KfuncCall))];
                }
                (_, false) => [None, None],
            }
        }
        _ => [None, None],
    };
    needs.map(|need| table.add_optional(need))
}

/// Returns the instructions in the linked program of the CO-RE records. `records` is sorted by function.
fn place_records(
    object: &Object<'_>,
    code: &LinkedProgram,
    records: &[(ProgramIndex, u32, usize)],
) -> Vec<(u32, usize)> {
    let mut placed = Vec::new();
    for copy in &code.functions {
        let first = records.partition_point(|(function, _, _)| *function < copy.function);
        let own = records.iter().skip(first).take_while(|(function, _, _)| *function == copy.function);
        let Some(start) = object.programs().get(copy.function.0).map(Program::start) else { continue };
        placed.extend(own.filter_map(|(_, insn, record)| {
            Some((copy.start.checked_add(insn.checked_sub(start.0)?)?, *record))
        }));
    }
    placed.sort_unstable();
    placed
}
