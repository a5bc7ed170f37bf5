//! The tag `arg:ctx` on a subprogram's parameter, for kernels that do not know it: the parameter's type is made the one that
//! the verifier expects of a context (libbpf: `bpf_program_fixup_func_info`).

use crate::{arch, object::ProgramType as P};
use core_relo::{
    StrOffset, TypeId,
    btf::{Btf, Edit, Kind, Type},
};
use std::collections::HashMap;

const TAG: &[u8] = b"arg:ctx";
const GLOBAL: u32 = 1;

/// The name of the struct that programs of a type get as their context.
const fn context(program_type: P) -> Option<&'static [u8]> {
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

/// Tags by the function they are on.
pub(super) type Tags = HashMap<TypeId, Vec<TypeId>>;

/// The tags of a BTF, for [`fix`].
pub(super) fn tags(btf: &Btf<'_>) -> Tags {
    let mut found = Tags::new();
    for tag in btf.types().filter(|t| t.kind() == Kind::DeclTag && t.name().as_bytes() == TAG) {
        if let Some(on) = tag.target() {
            found.entry(on).or_default().push(tag.id());
        }
    }
    found
}

/// Points the records of a program's functions at copies whose tagged parameters have the context's type.
pub(super) fn fix(btf: &Btf<'_>, edit: &mut Edit, tags: &Tags, program_type: P, func_info: &mut [[u32; 2]]) {
    let Some(name) = context(program_type) else { return };
    let mut records = HashMap::new();
    for (at, [_, ty]) in func_info.iter().enumerate().filter(|(_, [_, ty])| tags.contains_key(&TypeId(*ty))) {
        records.entry(TypeId(*ty)).or_insert(at);
    }
    // In the order of the BTF, as libbpf does.
    let mut tags: Vec<_> = records.keys().filter_map(|function| tags.get(function)).flatten().collect();
    tags.sort_unstable();
    let mut fixing = Fixing { btf, edit, name, records, pointer: None, copies: HashMap::new() };
    for tag in tags.into_iter().filter_map(|id| btf.ty(*id)) {
        fixing.tag(tag, program_type, func_info);
    }
}

struct Fixing<'f, 'd> {
    btf: &'f Btf<'d>,
    edit: &'f mut Edit,
    name: &'static [u8],
    /// The first record of each tagged function.
    records: HashMap<TypeId, usize>,
    /// A pointer to the context's struct, once there is one.
    pointer: Option<TypeId>,
    /// Functions that were copied: the copy, and its prototype.
    copies: HashMap<TypeId, (TypeId, TypeId)>,
}

impl Fixing<'_, '_> {
    fn tag(&mut self, tag: Type<'_>, program_type: P, func_info: &mut [[u32; 2]]) {
        let function = tag.target().and_then(|id| self.btf.ty(id));
        let is_global = |t: &Type<'_>| t.kind() == Kind::Func && t.linkage() == Some(GLOBAL);
        let Some(function) = function.filter(is_global) else { return };
        let proto = function.target().and_then(|id| self.btf.ty(id)).filter(|t| t.kind() == Kind::FuncProto);
        let (Some(proto), Some(at)) = (proto, tag.component_index().and_then(|at| u32::try_from(at).ok()))
        else {
            return;
        };
        let Some(param) = proto.param(at) else { return };
        let record = self.records.get(&function.id()).and_then(|at| func_info.get_mut(*at));
        let Some(record) = record else { return };
        if !needs_fixing(self.btf, program_type, param.ty, self.name) {
            return;
        }
        let (copy, copied_proto) = self.copy(function, proto);
        let [_, ty] = record;
        *ty = copy.0;
        let pointer = self.pointer();
        let name = self.edit.string(TAG);
        self.edit.push(name, (Kind::DeclTag, 0, false), &[copy.0, at]);
        // A parameter's words: name, type.
        self.edit.set(copied_proto, at.saturating_mul(2).saturating_add(4), pointer.0);
    }

    /// A copy of a function and its prototype (libbpf: `clone_func_btf_info`).
    fn copy(&mut self, function: Type<'_>, proto: Type<'_>) -> (TypeId, TypeId) {
        if let Some(known) = self.copies.get(&function.id()) {
            return *known;
        }
        let mut words = vec![proto.size_or_type()];
        let own = (3u32..).take(usize::try_from(proto.vlen()).unwrap_or_default().saturating_mul(2));
        words.extend(own.filter_map(|n| self.edit.word(proto.id(), n)));
        let copied = self.edit.push(StrOffset(0), (Kind::FuncProto, proto.vlen(), false), &words);
        let copy = self.edit.push(function.name_offset(), (Kind::Func, GLOBAL, false), &[copied.0]);
        self.copies.insert(function.id(), (copy, copied));
        (copy, copied)
    }

    fn pointer(&mut self) -> TypeId {
        if let Some(known) = self.pointer {
            return known;
        }
        let name = self.edit.string(self.name);
        let structure = self.edit.push(name, (Kind::Struct, 0, false), &[0]);
        let pointer = self.edit.push(StrOffset(0), (Kind::Ptr, 0, false), &[structure.0]);
        *self.pointer.insert(pointer)
    }
}

/// libbpf: `need_func_arg_type_fixup`.
fn needs_fixing(btf: &Btf<'_>, program_type: P, id: TypeId, context: &[u8]) -> bool {
    let Ok(pointer) = btf.strip(id) else { return false };
    if pointer.kind() != Kind::Ptr {
        return false;
    }
    let to = pointer.target().unwrap_or_default();
    if matches!(program_type, P::Kprobe | P::PerfEvent) && is_user_regs(btf, to) {
        return false;
    }
    let Ok(to) = btf.strip(to) else { return false };
    let name = to.name();
    match (to.kind(), program_type) {
        (Kind::Void, _) => true,
        (Kind::Struct, _) if name.as_bytes() == context => false,
        (Kind::Struct, P::Kprobe) => name.as_bytes() == b"pt_regs",
        (Kind::Struct, P::PerfEvent) => name.as_bytes() == arch::USER_REGS,
        (Kind::Int, P::RawTracepoint | P::RawTracepointWritable) => to.size_or_type() == 8,
        _ => false,
    }
}

/// Whether the first typedef behind modifiers is `bpf_user_pt_regs_t`.
fn is_user_regs(btf: &Btf<'_>, mut id: TypeId) -> bool {
    for _ in 0..core_relo::limits::MODIFIER_HOPS {
        let Some(ty) = btf.ty(id) else { return false };
        match (ty.kind(), ty.target()) {
            (Kind::Typedef, _) => return ty.name().as_bytes() == b"bpf_user_pt_regs_t",
            (Kind::Const | Kind::Volatile | Kind::Restrict | Kind::TypeTag, Some(next)) => id = next,
            _ => return false,
        }
    }
    false
}
