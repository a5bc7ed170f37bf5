//! The plan of a program: instructions, type, attach target, and the instructions that need a descriptor.

use crate::{
    index::{MapIndex, ModuleIndex, ProgramIndex},
    link::FunctionCopy,
    load_plan::{
        kernel_handle::KernelHandle,
        late_binding::{KernelSymbol, LateReloc, SymbolRef},
    },
    object::{AttachType, ProgramType, SecDef},
};
use core_relo::TypeId;

/// The plan of a program.
#[derive(Clone, Debug)]
pub struct ProgramPlan {
    pub(super) function: ProgramIndex,
    pub(super) name: String,
    pub(in crate::load_plan) kernel_name: Vec<u8>,
    pub(super) section: String,
    pub(super) sec_def: Option<&'static SecDef>,
    pub(super) program_type: ProgramType,
    pub(crate) attach_type: u32,
    pub(super) flags: u32,
    pub(super) ifindex: u32,
    pub(super) insns: Vec<u8>,
    pub(super) fixups: Vec<Fixup>,
    pub(super) func_info: Vec<u8>,
    pub(super) line_info: Vec<u8>,
    pub(super) attach: AttachPlan,
    pub(crate) autoattach: bool,
    pub(super) log_level: u32,
    pub(super) functions: Vec<FunctionCopy>,
    pub(super) symbol_refs: Vec<SymbolRef>,
    pub(super) late_relocs: Vec<LateReloc>,
}

impl ProgramPlan {
    /// Creates the plan of a program that is loaded.
    #[cfg(feature = "loader-program")]
    pub(crate) fn for_loaded_program(
        function: ProgramIndex,
        name: &str,
        section: &str,
        program_type: ProgramType,
    ) -> Self {
        let sec_def = SecDef::find(section.as_bytes());
        Self {
            function,
            name: name.to_owned(),
            kernel_name: name.as_bytes().to_vec(),
            section: section.to_owned(),
            sec_def: sec_def.filter(|def| def.program_type == program_type),
            program_type,
            attach_type: 0,
            flags: 0,
            ifindex: 0,
            insns: Vec::new(),
            fixups: Vec::new(),
            func_info: Vec::new(),
            line_info: Vec::new(),
            attach: AttachPlan::default(),
            autoattach: false,
            log_level: 0,
            functions: Vec::new(),
            symbol_refs: Vec::new(),
            late_relocs: Vec::new(),
        }
    }

    /// Leaves the program out of automatic attachment.
    pub(in crate::load_plan) const fn unattach(&mut self) {
        self.autoattach = false;
    }

    /// Returns the program's function in the object.
    pub const fn function(&self) -> ProgramIndex {
        self.function
    }

    /// Returns the name of the program.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the name in the kernel, which keeps the first 15 bytes.
    pub fn kernel_name(&self) -> &[u8] {
        &self.kernel_name
    }

    /// Returns the name of the program's section, without `?`.
    pub fn section(&self) -> &str {
        &self.section
    }

    /// Returns the definition that the section name matches. Returns `None` for an unknown section name, and
    /// if the settings have another program type.
    pub const fn sec_def(&self) -> Option<&'static SecDef> {
        self.sec_def
    }

    /// Returns the program type.
    pub const fn program_type(&self) -> ProgramType {
        self.program_type
    }

    /// Returns the kernel's number of the expected attach type. For a struct_ops program this is the index of
    /// the member.
    pub const fn attach_type(&self) -> u32 {
        self.attach_type
    }

    /// Returns the attach type that the program is loaded with or that its section names.
    pub fn expected_attach_type(&self) -> Option<AttachType> {
        // 0 is no attach type, and also the number of an attach type.
        match self.attach_type {
            0 => self.sec_def.and_then(|def| def.attach_type),
            number => AttachType::from_number(number),
        }
    }

    /// Returns the `BPF_F_*` flags.
    pub const fn flags(&self) -> u32 {
        self.flags
    }

    /// Returns the network device that the program is offloaded or bound to, 0 for none.
    pub const fn ifindex(&self) -> u32 {
        self.ifindex
    }

    /// Returns the instructions, in the machine's byte order. The fields that [`fixups`](Self::fixups) fills
    /// are 0.
    pub fn insns(&self) -> &[u8] {
        &self.insns
    }

    /// Returns the instructions that need a descriptor.
    pub fn fixups(&self) -> &[Fixup] {
        &self.fixups
    }

    /// Returns the records of `struct bpf_func_info`.
    pub fn func_info(&self) -> &[u8] {
        &self.func_info
    }

    /// Returns the records of `struct bpf_line_info`.
    pub fn line_info(&self) -> &[u8] {
        &self.line_info
    }

    /// Returns the attach target.
    pub const fn attach(&self) -> &AttachPlan {
        &self.attach
    }

    /// Returns whether attaching all programs also attaches this program.
    pub const fn autoattach(&self) -> bool {
        self.autoattach
    }

    /// Returns the verifier's log level.
    pub const fn log_level(&self) -> u32 {
        self.log_level
    }

    /// Returns the instructions that refer to kernel symbols, which the kernel finds when a loader program is
    /// executed.
    pub fn symbol_refs(&self) -> &[SymbolRef] {
        &self.symbol_refs
    }

    /// Returns the CO-RE relocations that the kernel performs when a loader program is executed.
    pub fn late_relocs(&self) -> &[LateReloc] {
        &self.late_relocs
    }

    /// Returns the functions that the instructions are from, in order. The first function is the program
    /// itself.
    pub fn functions(&self) -> &[FunctionCopy] {
        &self.functions
    }

    /// Returns the subprograms that the instructions are from, in order.
    pub fn subprograms(&self) -> &[FunctionCopy] {
        self.functions.split_first().map_or(&[], |(_program, subprograms)| subprograms)
    }
}

/// An instruction into which the loader writes a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fixup {
    insn: u32,
    target: FixupTarget,
}

impl Fixup {
    pub(super) const fn new(insn: u32, target: FixupTarget) -> Self {
        Self { insn, target }
    }

    /// Returns the index of the instruction in the program.
    pub const fn insn(self) -> u32 {
        self.insn
    }

    /// Returns the object that the descriptor refers to.
    pub const fn target(self) -> FixupTarget {
        self.target
    }
}

/// The object that the descriptor in an instruction refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the loader acts on each")]
pub enum FixupTarget {
    /// A map of the plan. The descriptor is in the first half of a 64-bit load.
    Map(MapIndex),
    /// A module's BTF. The descriptor is in the second half of a 64-bit load.
    Module(ModuleIndex),
}

/// The attach target of a program, for the verifier.
#[derive(Clone, Debug, Default)]
pub struct AttachPlan {
    type_id: Option<TypeId>,
    module: Option<ModuleIndex>,
    program: Option<KernelHandle>,
    symbol: Option<KernelSymbol>,
}

impl AttachPlan {
    /// Creates the plan for a type of the kernel or of a module.
    pub(super) const fn kernel_type(type_id: TypeId, module: Option<ModuleIndex>) -> Self {
        Self { type_id: Some(type_id), module, program: None, symbol: None }
    }

    /// Creates the plan for functions of a module, which the kernel takes when the program is attached.
    pub(super) const fn functions_of(module: ModuleIndex) -> Self {
        Self { type_id: None, module: Some(module), program: None, symbol: None }
    }

    /// Creates the plan for a function of another program.
    pub(super) const fn program_function(function: TypeId, program: KernelHandle) -> Self {
        Self { type_id: Some(function), module: None, program: Some(program), symbol: None }
    }

    /// Creates the plan for a target that the kernel finds by name.
    pub(super) const fn symbol(symbol: KernelSymbol) -> Self {
        Self { type_id: None, module: None, program: None, symbol: Some(symbol) }
    }

    /// Returns the function, typedef or struct. Returns `None` if the program needs no target, and for a
    /// program that traces many functions by one link.
    pub const fn type_id(&self) -> Option<TypeId> {
        self.type_id
    }

    /// Returns the module whose BTF has the type or the functions. Returns `None` for the kernel itself.
    pub const fn module(&self) -> Option<ModuleIndex> {
        self.module
    }

    /// Returns the target that the kernel finds by name when a loader program is executed.
    pub const fn late_target(&self) -> Option<&KernelSymbol> {
        self.symbol.as_ref()
    }

    /// Returns the program whose BTF has the type. Returns `None` if the target is not a program.
    pub const fn program(&self) -> Option<&KernelHandle> {
        self.program.as_ref()
    }
}
