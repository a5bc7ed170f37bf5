//! The kinds of reasons, explained for people who do not know them.

use core_relo_verdict::judge::ReasonKind;

/// The explanation of a kind of reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rule {
    /// A few words.
    pub(super) title: &'static str,
    /// The meaning, and what to do.
    pub(super) help: &'static str,
}

/// Returns the explanation of a kind of reason.
pub(super) fn rule(kind: ReasonKind) -> Rule {
    let (title, help) = match kind {
        ReasonKind::Loader => (
            "Object that the loader does not open",
            "The rule is one of the loader, not of the kernel: other loaders accept the object. Change the object, or name your loader with \
             --loader.",
        ),
        ReasonKind::Architecture => (
            "Object for another architecture",
            "The object reads the registers of another architecture than the kernel's. Compile the object for the kernel's architecture.",
        ),
        ReasonKind::Relocation => (
            "CO-RE relocation that does not resolve",
            "The kernel has no matching type, field or enumerator, and the verifier reaches the instruction. Guard the access with \
             bpf_core_field_exists, bpf_core_type_exists or bpf_core_enum_value_exists, or add a flavour (`struct name___old`). \
             `core-relo explain` names the candidates and similar names.",
        ),
        ReasonKind::Helper => (
            "Missing helper",
            "The kernel does not have the helper, or not for this program type. Guard the call with \
             bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_name), and use an older helper otherwise.",
        ),
        ReasonKind::Kfunc => (
            "Missing kernel function",
            "The kernel does not export the kfunc to this program type. Declare the kfunc __weak and guard the call with \
             bpf_ksym_exists.",
        ),
        ReasonKind::Ksym => (
            "Missing kernel symbol",
            "The kernel does not have the symbol. Declare the symbol __weak and guard its use with bpf_ksym_exists.",
        ),
        ReasonKind::MapType => (
            "Missing map type",
            "The kernel does not have the map type. Disable the map with bpf_map__set_autocreate, or choose another type before the \
             load.",
        ),
        ReasonKind::MapSize => (
            "Map without a valid size",
            "User space must set an attribute of the map before the load, for example with bpf_map__set_max_entries, or the map type does \
             not accept the attribute.",
        ),
        ReasonKind::MapFlag => {
            ("Wrong map flag", "The map type demands or refuses a flag. Change map_flags in the definition.")
        }
        ReasonKind::ProgramType => (
            "Missing program type",
            "The kernel does not have the program type. Disable the program with bpf_program__set_autoload.",
        ),
        ReasonKind::AttachType => (
            "Missing attach type",
            "The kernel does not have the expected attach type. Disable the program with bpf_program__set_autoload.",
        ),
        ReasonKind::AttachTarget => (
            "Missing attach target",
            "The kernel does not have the function, hook or tracepoint that the program attaches to. Disable the program with \
             bpf_program__set_autoload, or set another target before the load.",
        ),
        ReasonKind::StructOps => (
            "Missing struct_ops type",
            "The kernel does not have the struct_ops type, or not all of its members. Members that are zero may be missing.",
        ),
        ReasonKind::Context => (
            "Access outside of the context",
            "The program accesses its context at a place that the kernel does not permit: an argument that the traced function does not \
             have, or bytes behind the end of the context. Read only what the kernel's declaration has.",
        ),
        ReasonKind::ReturnValue => (
            "Returned value",
            "The program returns a value that the kernel does not permit for its type. Check the value before the program returns it.",
        ),
        ReasonKind::Kconfig => (
            "Missing configuration value",
            "The kernel's configuration does not have the value of a __kconfig variable. Declare the variable __weak if zero is a \
             valid value.",
        ),
        ReasonKind::Instruction => (
            "Unsupported instruction",
            "Only newer kernels have the instruction. Compile for an older instruction set, for example with -mcpu=v2.",
        ),
        ReasonKind::Btf => (
            "BTF that the kernel refuses",
            "A map or program needs the object's BTF, and the kernel refuses it; or the kernel refuses the records of functions and lines \
             that a load sends with a program. `core-relo btf check` lists the violations of the kernel's rules.",
        ),
        ReasonKind::Object => (
            "Object that no kernel loads",
            "The object itself is the reason: its license, byte order, section names, or references between its parts.",
        ),
        ReasonKind::Budget => (
            "Analysis stopped",
            "The analysis stopped at its budget, so that the verdict is unknown. A load on the kernel gives the answer.",
        ),
        _ => ("Unmet requirement", "The kernel does not meet a requirement of the program."),
    };
    Rule { title, help }
}
