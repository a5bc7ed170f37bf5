//! The declaration tag `arg:ctx` of a subprogram's parameter, for kernels that do not know the tag.
//!
//! The parameter gets the type that the verifier expects of the program's context (libbpf:
//! `bpf_program_fixup_func_info`).

use super::words::{HEADER_WORDS, param_word};
use crate::{
    arch,
    internal::{InternalError, Invariant as _},
    object::ProgramType as P,
};
use core_relo::{
    StrOffset, TypeId,
    btf::{Btf, Editor, Kind, Type},
};
use hashbrown::HashMap;

const TAG: &[u8] = b"arg:ctx";
/// `BTF_FUNC_GLOBAL`.
const GLOBAL: u32 = 1;

/// Returns the name of the struct that is the context of a program type. `None` if none is.
pub const fn context_struct_name(program_type: P) -> Option<&'static [u8]> {
    Some(match program_type {
        P::CgroupDevice => b"bpf_cgroup_dev_ctx",
        P::CgroupSock => b"bpf_sock",
        P::CgroupSockAddr => b"bpf_sock_addr",
        P::CgroupSockopt => b"bpf_sockopt",
        P::CgroupSysctl => b"bpf_sysctl",
        P::Kprobe => b"bpf_user_pt_regs_t",
        P::Netfilter => b"bpf_nf_ctx",
        P::PerfEvent => b"bpf_perf_event_data",
        P::RawTracepoint | P::RawTracepointWritable => b"bpf_raw_tracepoint_args",
        P::SkLookup => b"bpf_sk_lookup",
        P::SkMsg => b"sk_msg_md",
        P::SkReuseport => b"sk_reuseport_md",
        P::SockOps => b"bpf_sock_ops",
        P::Xdp => b"xdp_md",
        P::CgroupSkb
        | P::FlowDissector
        | P::LwtIn
        | P::LwtOut
        | P::LwtSeg6local
        | P::LwtXmit
        | P::SchedAct
        | P::SchedCls
        | P::SkSkb
        | P::SocketFilter => b"__sk_buff",
        _ => return None,
    })
}

/// `arg:ctx` tags, by the function of the tagged parameter.
pub(in crate::load_plan) type ContextTags = HashMap<TypeId, Vec<TypeId>>;

/// Collects the `arg:ctx` tags of a BTF.
pub(in crate::load_plan) fn collect_tags(btf: &Btf<'_>) -> ContextTags {
    let mut tags = ContextTags::new();
    for tag in btf.types().filter(|t| t.kind() == Kind::DeclTag && t.name().as_bytes() == TAG) {
        if let Some(function) = tag.target() {
            tags.entry(function).or_default().push(tag.id());
        }
    }
    tags
}

/// Copies the functions with tagged parameters, and points the program's `func_info` to the copies. In a
/// copy, a tagged parameter is a pointer to the context struct.
pub(in crate::load_plan) fn fix_func_info(
    btf: &Btf<'_>,
    edit: &mut Editor,
    tags: &ContextTags,
    program_type: P,
    func_info: &mut [[u32; 2]],
) -> Result<(), InternalError> {
    let Some(context) = context_struct_name(program_type) else { return Ok(()) };
    let mut records = HashMap::new();
    for (n, [_, ty]) in func_info.iter().enumerate().filter(|(_, [_, ty])| tags.contains_key(&TypeId(*ty))) {
        records.entry(TypeId(*ty)).or_insert(n);
    }
    // libbpf handles the tags in the order of the BTF.
    let mut tags: Vec<_> = records.keys().filter_map(|function| tags.get(function)).flatten().collect();
    tags.sort();
    let mut fixer = FuncInfoFixer { btf, edit, context, records, pointer: None, copies: HashMap::new() };
    for tag in tags.into_iter().filter_map(|id| btf.ty(*id)) {
        fixer.fix_parameter(tag, program_type, func_info)?;
    }
    Ok(())
}

/// The state of fixing the `func_info` of one program.
struct FuncInfoFixer<'f, 'd> {
    btf: &'f Btf<'d>,
    edit: &'f mut Editor,
    /// The name of the context struct.
    context: &'static [u8],
    /// The index of the first `func_info` record of each tagged function.
    records: HashMap<TypeId, usize>,
    /// A pointer to the context struct, added when the first parameter needs it.
    pointer: Option<TypeId>,
    /// The copy of each copied function, and the copy's prototype.
    copies: HashMap<TypeId, (TypeId, TypeId)>,
}

impl FuncInfoFixer<'_, '_> {
    /// Changes the type of the parameter that a tag belongs to, in a copy of the function.
    fn fix_parameter(
        &mut self,
        tag: Type<'_>,
        program_type: P,
        func_info: &mut [[u32; 2]],
    ) -> Result<(), InternalError> {
        let function = tag.target().and_then(|id| self.btf.ty(id));
        let is_global = |t: &Type<'_>| t.kind() == Kind::Func && t.linkage() == Some(GLOBAL);
        let Some(function) = function.filter(is_global) else { return Ok(()) };
        let proto = function.target().and_then(|id| self.btf.ty(id)).filter(|t| t.kind() == Kind::FuncProto);
        let index = tag.component_index().and_then(|index| u32::try_from(index).ok());
        let (Some(proto), Some(index)) = (proto, index) else { return Ok(()) };
        let Some(param) = proto.param(index) else { return Ok(()) };
        let record = self.records.get(&function.id()).and_then(|n| func_info.get_mut(*n));
        let Some(record) = record else { return Ok(()) };
        if !needs_fixing(self.btf, program_type, param.ty, self.context)? {
            return Ok(());
        }
        let (function_copy, proto_copy) = self.copy_function(function, proto)?;
        let [_, ty] = record;
        *ty = function_copy.0;
        let pointer = self.context_pointer();
        let name = self.edit.string(TAG);
        self.edit.push(name, Kind::DeclTag, 0, &[function_copy.0, index]);
        let name_word = param_word(index)?;
        let type_word = name_word.checked_add(1).invariant("the words of a record fit 32 bits")?;
        self.edit.set(proto_copy, type_word, pointer.0);
        Ok(())
    }

    /// Copies a function and its prototype (libbpf: `clone_func_btf_info`).
    fn copy_function(
        &mut self,
        function: Type<'_>,
        proto: Type<'_>,
    ) -> Result<(TypeId, TypeId), InternalError> {
        if let Some(known) = self.copies.get(&function.id()) {
            return Ok(*known);
        }
        let mut words = vec![proto.size_or_type()];
        for word in HEADER_WORDS..param_word(proto.vlen())? {
            let word = self.edit.word(proto.id(), word);
            words.push(word.invariant("a FUNC_PROTO has two words for each parameter")?);
        }
        let proto_copy = self.edit.push(StrOffset(0), Kind::FuncProto, proto.vlen(), &words);
        let copy = self.edit.push(function.name_offset(), Kind::Func, GLOBAL, &[proto_copy.0]);
        self.copies.insert(function.id(), (copy, proto_copy));
        Ok((copy, proto_copy))
    }

    /// Returns a pointer to the context struct. Adds the pointer and a declaration of the struct on the first
    /// call.
    fn context_pointer(&mut self) -> TypeId {
        if let Some(known) = self.pointer {
            return known;
        }
        let name = self.edit.string(self.context);
        let structure = self.edit.push(name, Kind::Struct, 0, &[0]);
        let pointer = self.edit.push(StrOffset(0), Kind::Ptr, 0, &[structure.0]);
        *self.pointer.insert(pointer)
    }
}

/// Returns whether a parameter of this type needs another type (libbpf: `need_func_arg_type_fixup`).
fn needs_fixing(
    btf: &Btf<'_>,
    program_type: P,
    parameter: TypeId,
    context: &[u8],
) -> Result<bool, InternalError> {
    let Some(pointer) = btf.strip(parameter).ok().filter(|t| t.kind() == Kind::Ptr) else {
        return Ok(false);
    };
    let target = pointer.target().invariant("a PTR has a target")?;
    if matches!(program_type, P::Kprobe | P::PerfEvent) && is_user_regs(btf, target) {
        return Ok(false);
    }
    let Ok(target) = btf.strip(target) else { return Ok(false) };
    let name = target.name();
    Ok(match (target.kind(), program_type) {
        (Kind::Void, _) => true,
        (Kind::Struct, _) if name.as_bytes() == context => false,
        (Kind::Struct, P::Kprobe) => name.as_bytes() == b"pt_regs",
        (Kind::Struct, P::PerfEvent) => name.as_bytes() == arch::USER_REGS,
        (Kind::Int, P::RawTracepoint | P::RawTracepointWritable) => target.size_or_type() == 8,
        _ => false,
    })
}

/// Returns whether the type is the typedef `bpf_user_pt_regs_t`, with any modifiers before it.
fn is_user_regs(btf: &Btf<'_>, mut id: TypeId) -> bool {
    for _ in 0..core_relo::btf::limits::MODIFIER_HOPS {
        let Some(ty) = btf.ty(id) else { return false };
        match (ty.kind(), ty.target()) {
            (Kind::Typedef, _) => return ty.name().as_bytes() == b"bpf_user_pt_regs_t",
            (Kind::Const | Kind::Volatile | Kind::Restrict | Kind::TypeTag, Some(next)) => id = next,
            _ => return false,
        }
    }
    false
}
