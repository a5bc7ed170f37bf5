//! The kernel's types of struct_ops maps: the struct of programs, and the map value that contains the struct.

use crate::{
    elf::text,
    index::ModuleIndex,
    load_plan::{error::LoadPlanError, externs::Modules, target_kernel::TargetKernel},
    target::KernelType,
};
use alloc::rc::Rc;
use core_relo::{
    Name,
    btf::{Btf, Kind, Member, Type},
};
use hashbrown::HashMap;

/// The kernel's types of a struct_ops map.
pub(super) struct KernelStruct<'h> {
    /// The struct of the map's value, `struct bpf_struct_ops_NAME`.
    pub(super) value: Type<'h>,
    /// The member of `value` that is the struct of programs.
    pub(super) data: Member<'h>,
    /// The struct of programs, `struct NAME`.
    pub(super) inner: Type<'h>,
    /// The first member of each name in `inner`.
    pub(super) members: HashMap<&'h [u8], Member<'h>>,
}

impl<'h> KernelStruct<'h> {
    /// Returns the types of maps whose value is `value`. Returns `None` if `value` has no member `inner`.
    pub(super) fn new(value: Type<'h>, inner: Type<'h>) -> Option<Self> {
        let data = value.members().find(|m| m.ty == inner.id())?;
        let mut members = HashMap::new();
        for member in inner.members() {
            members.entry(member.name.as_bytes()).or_insert(member);
        }
        Some(Self { value, data, inner, members })
    }

    /// Returns the BTF of the structs.
    pub(super) fn btf(&self) -> &'h Btf<'h> {
        self.value.btf()
    }
}

/// The kernel's structs of a map, and the module whose BTF has them: `None` for the kernel itself.
type FoundStruct<'h> = (Rc<KernelStruct<'h>>, Option<ModuleIndex>);

/// A cache of the kernel's structs by essential name, since many tables can have the same struct.
pub(super) struct KernelStructs<'h, 'l> {
    kernel: &'h TargetKernel,
    known: HashMap<&'l [u8], FoundStruct<'h>>,
}

impl<'h, 'l> KernelStructs<'h, 'l> {
    pub(super) fn new(kernel: &'h TargetKernel) -> Self {
        Self { kernel, known: HashMap::new() }
    }

    /// Finds the kernel's struct for a table (libbpf: `find_struct_ops_kern_types`).
    pub(super) fn find(
        &mut self,
        table: &[u8],
        name: Name<'l>,
        modules: &mut Modules,
    ) -> Result<FoundStruct<'h>, LoadPlanError> {
        if let Some(known) = self.known.get(name.as_bytes()) {
            return Ok(known.clone());
        }
        let no_types = |cause| LoadPlanError::types_of_map(table, "the struct_ops map", cause);
        let missing = || {
            let what = format!(
                "this kernel has no struct_ops `{name}`: no struct bpf_struct_ops_{name} in the BTF of the kernel or a module"
            );
            LoadPlanError::Map { map: text(table), what: what.into() }
        };
        let wrapper = [b"bpf_struct_ops_".as_slice(), name.as_bytes()].concat();
        let value = self.kernel.find_type(&wrapper, Kind::Struct).map_err(no_types)?;
        let KernelType { ty: value, module, .. } = value.ok_or_else(missing)?;
        // A lookup in a module's split BTF also finds the kernel's types.
        let inner = match module {
            None => {
                let inner = self.kernel.btf.find_in_vmlinux(name.as_bytes(), Kind::Struct);
                inner.map_err(|cause| no_types(cause.into()))?
            }
            Some(_) => value.btf().find(name.as_bytes(), Kind::Struct),
        };
        let inner = inner.ok_or_else(missing)?;
        let kernel = Rc::new(KernelStruct::new(value, inner).ok_or_else(missing)?);
        let module = module.map(|m| modules.index_of(&m.name, m.id));
        self.known.insert(name.as_bytes(), (Rc::clone(&kernel), module));
        Ok((kernel, module))
    }
}
