//! The declaration of the kernel that the context of a program comes from.

use core_relo::{
    Name, TypeId,
    btf::{Btf, Kind, Type},
};
use core_relo_object::object::{AttachType, Object, Program, ProgramType, SecDef};

/// The declaration of the kernel that the context of a program comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Hook {
    /// None that a comparison knows.
    None,
    /// A function whose arguments are the words of the context: fentry, fexit, fmod_ret, fsession, LSM,
    /// iterators.
    Function {
        /// The name in the kernel's BTF.
        name: String,
        /// Whether the result follows the arguments.
        has_result: bool,
    },
    /// A tracepoint whose arguments are the words of the context: `tp_btf`, `raw_tp`. The name begins with
    /// `btf_trace_`.
    Tracepoint(String),
    /// A member of a struct_ops struct, whose arguments are the words of the context.
    StructOpsMember {
        /// The name of the struct in the kernel's BTF.
        table: String,
        /// The name of the member.
        member: String,
    },
    /// A function whose arguments are in the registers of the context: kprobe.
    Registers(String),
    /// A struct `trace_event_raw_*`, which the context is.
    Event(String),
}

impl Hook {
    /// Returns the hook of a program, from the name of its section.
    pub(super) fn new(object: &Object<'_>, program: &Program<'_>) -> Self {
        let target = SecDef::target(program.section_name());
        Self::with_target(object, program, target.and_then(|target| core::str::from_utf8(target).ok()))
    }

    /// Returns the hook of a program that is loaded for a target.
    pub(super) fn with_target(object: &Object<'_>, program: &Program<'_>, target: Option<&str>) -> Self {
        let (Some(def), Some(target)) = (program.sec_def(), target) else { return Self::None };
        let name = target.split_once(':').map_or(target, |(_, name)| name);
        let function = |has_result| Self::Function { name: name.to_owned(), has_result };
        match (def.program_type, def.attach_type) {
            (ProgramType::Tracing, Some(AttachType::TraceFentry)) => function(false),
            (
                ProgramType::Tracing,
                Some(AttachType::TraceFexit | AttachType::TraceFsession | AttachType::ModifyReturn),
            ) => function(true),
            (ProgramType::Tracing, Some(AttachType::TraceIter)) => {
                Self::Function { name: format!("bpf_iter_{name}"), has_result: false }
            }
            (ProgramType::Tracing, Some(AttachType::TraceRawTp)) | (ProgramType::RawTracepoint, _) => {
                Self::Tracepoint(format!("btf_trace_{name}"))
            }
            (ProgramType::Lsm, Some(AttachType::LsmMac | AttachType::LsmCgroup)) => {
                Self::Function { name: format!("bpf_lsm_{name}"), has_result: true }
            }
            // A probe inside of a function has other values in the registers.
            (ProgramType::Kprobe, None) if def.name == "kprobe" && !name.contains('+') => {
                Self::Registers(name.to_owned())
            }
            (ProgramType::Tracepoint, _) => Self::event(object, program, target),
            _ => Self::None,
        }
    }

    /// Returns the struct of a trace event: the one that the program declares, or that of the event's own
    /// class.
    fn event(object: &Object<'_>, program: &Program<'_>, target: &str) -> Self {
        let declared = object.btf().and_then(|btf| context_struct(btf, program.name()));
        let declared = declared.map(|ty| ty.name().essential());
        let declared = declared.filter(|name| name.as_bytes().starts_with(b"trace_event_raw_"));
        let declared = declared.and_then(|name| core::str::from_utf8(name.as_bytes()).ok());
        let event = target.rsplit('/').next().unwrap_or(target);
        Self::Event(declared.map_or_else(|| format!("trace_event_raw_{event}"), str::to_owned))
    }

    /// Returns the name and the kind of the declaration in the kernel's BTF.
    pub fn kernel_type(&self) -> Option<(&str, Kind)> {
        match self {
            Self::None => None,
            Self::Function { name, .. } | Self::Registers(name) => Some((name, Kind::Func)),
            Self::Tracepoint(name) => Some((name, Kind::Typedef)),
            Self::Event(name) | Self::StructOpsMember { table: name, .. } => Some((name, Kind::Struct)),
        }
    }
}

/// Returns the struct that the first parameter of a function points to.
pub(crate) fn context_struct<'b>(btf: &'b Btf<'b>, function: &[u8]) -> Option<Type<'b>> {
    let proto = btf.ty(btf.find(function, Kind::Func)?.target()?)?;
    pointee(btf, proto.params().next()?.ty).filter(|ty| ty.kind() == Kind::Struct)
}

/// Returns the type that a pointer points to, without modifiers and typedefs. Returns `None` if the type is
/// no pointer.
pub(crate) fn pointee<'b>(btf: &'b Btf<'_>, id: TypeId) -> Option<Type<'b>> {
    let pointer = btf.strip(id).ok().filter(|ty| ty.kind() == Kind::Ptr)?;
    btf.strip(pointer.target()?).ok()
}

/// Returns the name of a struct or union without its flavour.
pub(crate) fn composite_name(ty: Type<'_>) -> Option<Name<'_>> {
    let name = Some(ty.name().essential()).filter(|name| !name.is_empty());
    name.filter(|_| ty.kind().is_composite() || ty.kind() == Kind::Fwd)
}
