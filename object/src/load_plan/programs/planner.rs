//! Plans the programs of a load.

use super::{
    attach_target,
    info::repair_info,
    plan::{AttachPlan, ProgramPlan},
    refs::RefResolver,
};
use crate::{
    elf::{key, text},
    features::Feature,
    index::{ModuleIndex, ProgramIndex},
    internal::Invariant as _,
    limits,
    link::{FunctionCopy, LinkedProgram, ProgramLinker, SentTypes},
    load_plan::{
        btf::{ContextTags, collect_tags, fix_func_info, name_rules},
        checks::OTHER_TYPE,
        error::LoadPlanError,
        externs::{Modules, ResolvedExtern},
        late_binding::LateReloc,
        maps::MapPlan,
        prog_flags,
        relocate::LateRelocs,
        repair::Repairs,
        settings::{ProgramSettings, Settings},
        struct_ops::StructOpsTables,
        target_kernel::TargetKernel,
    },
    object::{AttachType, Object, Program, ProgramType, SecDef, find_foreign_section},
};
use core_relo::{
    Endian,
    btf::Editor,
    insn::{Helper, Insn},
};

/// The planner of an object's programs.
pub(in crate::load_plan) struct ProgramPlanner<'p, 'o, 'd> {
    object: &'o Object<'d>,
    linker: &'p ProgramLinker<'o, 'd>,
    settings: &'p Settings,
    kernel: &'p TargetKernel,
    struct_ops: &'p StructOpsTables,
    refs: RefResolver<'p, 'o, 'd>,
    /// The tags `arg:ctx` in the object's BTF.
    context_tags: ContextTags,
    /// The records that are left out because the kernel would refuse them.
    pub(in crate::load_plan) repairs: Repairs,
}

impl<'p, 'o, 'd> ProgramPlanner<'p, 'o, 'd> {
    pub(in crate::load_plan) fn new(
        object: &'o Object<'d>,
        linker: &'p ProgramLinker<'o, 'd>,
        settings: &'p Settings,
        kernel: &'p TargetKernel,
        externs: &'p [ResolvedExtern],
        struct_ops: &'p StructOpsTables,
    ) -> Self {
        let refs = RefResolver::new(object, linker, externs);
        let context_tags = object.btf().map_or_else(ContextTags::new, collect_tags);
        let repairs = Repairs::default();
        Self { object, linker, settings, kernel, struct_ops, refs, context_tags, repairs }
    }

    /// Returns the modules whose kfuncs the programs call, see
    /// [`LoadPlan::fd_array`](crate::load_plan::LoadPlan::fd_array).
    pub(in crate::load_plan) fn into_fd_array(self) -> Vec<ModuleIndex> {
        self.refs.into_fd_array()
    }

    /// Plans the programs to load. `loaded` is, for each function of the object, whether the function is
    /// loaded as a program. `code` is the bytes of each code section after CO-RE relocation. The programs'
    /// jump tables are appended to `maps`.
    pub(in crate::load_plan) fn plan_programs(
        &mut self,
        loaded: &[bool],
        code: &[Vec<u8>],
        late_relocs: &LateRelocs,
        maps: &mut Vec<MapPlan>,
        modules: &mut Modules,
        edit: &mut Option<Editor>,
    ) -> Result<Vec<ProgramPlan>, LoadPlanError> {
        let (mut plans, mut record_count) = (Vec::new(), 0);
        for (function, is_loaded) in ProgramIndex::enumerate(loaded) {
            if !is_loaded {
                continue;
            }
            let mut plan = self.plan_program(function, code, maps, modules, edit)?;
            plan.late_relocs = program_relocs(late_relocs, &plan.functions)?;
            // Each program has its own copy of a shared subprogram, so the sum has no relation to the
            // object's size.
            record_count = add_records(record_count, &plan)
                .filter(|count| *count <= limits::OBJECT_INSNS)
                .ok_or(LoadPlanError::TooLong { limit: limits::OBJECT_INSNS })?;
            plans.push(plan);
        }
        Ok(plans)
    }

    /// Plans a program. The program's jump tables are appended to `maps`.
    fn plan_program(
        &mut self,
        function: ProgramIndex,
        code: &[Vec<u8>],
        maps: &mut Vec<MapPlan>,
        modules: &mut Modules,
        edit: &mut Option<Editor>,
    ) -> Result<ProgramPlan, LoadPlanError> {
        let program = self.object.programs().get(function.0);
        let program = program.invariant("a selected program is one of the object's")?;
        let name = key(program.name());
        let default_settings = ProgramSettings::default();
        let settings = self.settings.programs.get(&name).unwrap_or(&default_settings);
        // The program is loaded as if it were in the section of the settings.
        let program = &program.in_section(settings.section_of(program));
        let ty = self.resolve_type(program, function, settings)?;
        let attach = self.find_attach_target(program, function, settings, &ty, modules)?;
        // A declaration tag names the exception callback of a program.
        let mut linked = if self.kernel.features.has(Feature::BtfDeclTag) {
            self.linker.link(code, function)?
        } else {
            self.linker.link_without_callback(code, function)?
        };
        let fixups = self.refs.resolve(function, &mut linked, maps)?;
        self.replace_probe_read_helpers(&mut linked.insns);
        self.repair_info(program.name(), &mut linked, edit.as_ref());
        if let (Some(btf), Some(edit), false) =
            (self.object.btf(), edit.as_mut(), self.kernel.features.has(Feature::ArgCtxTag))
        {
            let func_info = &mut linked.func_info;
            fix_func_info(btf, edit, &self.context_tags, ty.program_type, func_info)?;
        }
        let has_func_info = self.kernel.features.has(Feature::BtfFunc);
        let has_names = self.kernel.features.has(Feature::Names);
        Ok(ProgramPlan {
            function,
            name,
            kernel_name: if has_names { program.name().to_vec() } else { Vec::new() },
            section: key(program.section_name()),
            sec_def: ty.sec_def,
            program_type: ty.program_type,
            attach_type: ty.attach_type_number,
            flags: ty.flags | settings.flags,
            ifindex: settings.ifindex,
            insns: linked.insns.iter().flat_map(|i| i.encode(Endian::native())).collect(),
            fixups,
            func_info: if has_func_info { encode_records(&linked.func_info) } else { Vec::new() },
            line_info: if has_func_info { encode_records(&linked.line_info) } else { Vec::new() },
            attach,
            autoattach: settings.autoattach != Some(false),
            log_level: settings.log_level.unwrap_or(self.settings.log_level),
            functions: linked.functions,
            symbol_refs: self.refs.take_symbol_refs(),
            late_relocs: Vec::new(),
        })
    }

    /// Repairs the records of a program that is loaded with BTF.
    fn repair_info(&mut self, program: &[u8], linked: &mut LinkedProgram, edit: Option<&Editor>) {
        let features = &self.kernel.features;
        if let (Some(btf), Some(edit)) = (self.object.btf(), edit)
            && features.has(Feature::Btf)
            && features.has(Feature::BtfFunc)
        {
            let types = SentTypes { btf, string_bytes: edit.string_bytes() };
            repair_info(program, linked, types, &name_rules(self.kernel), &mut self.repairs);
        }
    }

    /// Returns the type, the attach type and the flags of a program (libbpf: `bpf_object_init_progs`,
    /// `libbpf_prepare_prog_load`).
    fn resolve_type(
        &self,
        program: &Program<'_>,
        function: ProgramIndex,
        settings: &ProgramSettings,
    ) -> Result<ResolvedType, LoadPlanError> {
        let fail = |what: String| LoadPlanError::Program { program: text(program.name()), what: what.into() };
        // A section's definition is only valid for its own program type (libbpf: `bpf_program__set_type`).
        let is_valid = |d: &&SecDef| settings.program_type.is_none_or(|ty| ty == d.program_type);
        let sec_def = program.sec_def().filter(is_valid);
        let program_type = settings.program_type.or(sec_def.map(|d| d.program_type)).ok_or_else(|| {
            let section = text(program.section);
            let name = text(program.name());
            fail(match find_foreign_section(program.section_name()) {
                Some(foreign) => format!(
                    "section `{section}` has no known program type: set the type before loading (`--program-type {name}={word}`, the meaning to \
                     {loaders}), or name the section SEC(\"{word}\")",
                    word = foreign.section,
                    loaders = foreign.loaders
                ),
                None => format!(
                    "section `{section}` has no known program type: set the type before loading (`--program-type {name}=TYPE`), or name the \
                     section SEC(\"kprobe/…\"), SEC(\"xdp\") or the like"
                ),
            })
        })?;
        let mut attach_type = settings.attach_type.or(sec_def.and_then(|d| d.attach_type));
        let mut flags = 0;
        if let Some(sec_def) = sec_def {
            let is_optional = sec_def.flags.attach_type_is_optional();
            if is_optional && !self.kernel.features.has(Feature::ExpectedAttachType) {
                attach_type = None;
            }
            if sec_def.flags.is_sleepable() {
                flags |= prog_flags::SLEEPABLE;
            }
            if sec_def.flags.has_xdp_frags() && program_type == ProgramType::Xdp {
                flags |= prog_flags::XDP_HAS_FRAGS;
            }
            if sec_def.flags.is_usdt() && self.kernel.features.has(Feature::UprobeMulti) {
                attach_type = Some(AttachType::TraceUprobeMulti);
            }
        }
        let slot = self.struct_ops.slots.get(&function);
        if program_type == ProgramType::StructOps && slot.is_none() {
            return Err(fail("no struct_ops map that is created refers to it".into()));
        }
        if program_type != ProgramType::StructOps && slot.is_some() {
            return Err(fail(OTHER_TYPE.into()));
        }
        let attach_type_number = match slot {
            Some(slot) => slot.member,
            None => attach_type.map_or(0, AttachType::number),
        };
        Ok(ResolvedType { sec_def, program_type, attach_type, attach_type_number, flags })
    }

    /// Finds the attach target of a program, if the program needs a target.
    fn find_attach_target(
        &self,
        program: &Program<'_>,
        function: ProgramIndex,
        settings: &ProgramSettings,
        ty: &ResolvedType,
        modules: &mut Modules,
    ) -> Result<AttachPlan, LoadPlanError> {
        if let Some(slot) = self.struct_ops.slots.get(&function) {
            return Ok(AttachPlan::kernel_type(slot.ty, slot.module));
        }
        let (name, target) = (program.name(), SecDef::target(program.section_name()));
        let setting = settings.attach_to.as_ref();
        if ty.attach_type.is_some_and(AttachType::traces_many_functions) {
            return attach_target::find_module(name, target, setting, self.kernel, modules);
        }
        let needs_target = ty.sec_def.is_some_and(|d| d.flags.needs_attach_btf());
        if !needs_target && setting.is_none() {
            return Ok(AttachPlan::default());
        }
        let types = (ty.program_type, ty.attach_type);
        attach_target::find(name, types, target, setting, self.kernel, modules)
    }

    /// Replaces calls of `bpf_probe_read_{kernel,user}{,_str}` by `bpf_probe_read{,_str}` for kernels that
    /// lack these helpers (libbpf: `bpf_object__sanitize_prog`).
    fn replace_probe_read_helpers(&self, insns: &mut [Insn]) {
        let older = |insn: &Insn| {
            let is_call = insn.is_helper_call() && insn.dst == 0;
            match Helper::of_call(insn.imm) {
                Helper::PROBE_READ_USER | Helper::PROBE_READ_KERNEL if is_call => Some(Helper::PROBE_READ),
                Helper::PROBE_READ_USER_STR | Helper::PROBE_READ_KERNEL_STR if is_call => {
                    Some(Helper::PROBE_READ_STR)
                }
                _ => None,
            }
        };
        if !insns.iter().any(|insn| older(insn).is_some())
            || self.kernel.features.has(Feature::ProbeReadKernel)
        {
            return;
        }
        for insn in insns {
            if let Some(helper) = older(insn) {
                insn.imm = helper.0.cast_signed();
            }
        }
    }
}

/// The type of a program, from its section name and its settings.
struct ResolvedType {
    sec_def: Option<&'static SecDef>,
    program_type: ProgramType,
    attach_type: Option<AttachType>,
    /// See [`ProgramPlan::attach_type`].
    attach_type_number: u32,
    /// The `BPF_F_*` flags of the section name.
    flags: u32,
}

/// Returns the relocations of a program: those of its functions, at their places in the program.
fn program_relocs(
    late_relocs: &LateRelocs,
    functions: &[FunctionCopy],
) -> Result<Vec<LateReloc>, LoadPlanError> {
    let mut relocs = Vec::new();
    for copy in functions {
        for reloc in late_relocs.get(&copy.function).map_or(&[][..], Vec::as_slice) {
            let insn = copy.start.checked_add(reloc.insn);
            let insn = insn.invariant("a program has at most a million instructions")?;
            relocs.push(LateReloc { insn, ..*reloc });
        }
    }
    Ok(relocs)
}

/// Adds the number of a program's instructions and of other records to a count. Returns `None` for a sum that
/// is too large.
fn add_records(count: usize, program: &ProgramPlan) -> Option<usize> {
    let counts = [
        program.insns().len() / 8,
        program.func_info().len() / 8,
        program.line_info().len() / 16,
        program.fixups().len(),
        program.functions().len(),
        program.late_relocs().len(),
    ];
    counts.into_iter().try_fold(count, usize::checked_add)
}

/// Encodes records of words in the machine's byte order.
fn encode_records<const N: usize>(records: &[[u32; N]]) -> Vec<u8> {
    let mut out = Vec::new();
    for word in records.iter().flatten() {
        Endian::native().put_u32(&mut out, *word);
    }
    out
}
