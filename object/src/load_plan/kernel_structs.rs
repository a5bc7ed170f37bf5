//! The kernel's side of struct_ops maps: structs of programs, and the maps' values they are in.

use super::{LoadPlanError, host::Host, ksyms::Modules};
use crate::{
    elf::text, features::Feature, index::ModuleIndex, internal::Invariant as _, limits, target::FoundType,
};
use alloc::rc::Rc;
use core_relo::{
    Name,
    btf::{Btf, Kind, Member, Type},
};
use std::collections::HashMap;

/// A struct of programs as the kernel has it.
pub(super) struct KernelStruct<'h> {
    /// The struct of the map's value, and the member of it that is the struct of programs.
    pub(super) value: Type<'h>,
    pub(super) data: Member<'h>,
    /// The struct of programs.
    pub(super) inner: Type<'h>,
    /// The first member of each name.
    pub(super) members: HashMap<&'h [u8], Member<'h>>,
    pub(super) module: Option<ModuleIndex>,
}

impl<'h> KernelStruct<'h> {
    /// The BTF that the structs are in.
    pub(super) fn btf(&self) -> &'h Btf<'h> {
        self.value.btf()
    }
}

/// The kernel's structs of programs by essential name: many tables may be of one struct.
pub(super) struct KernelStructs<'h, 'l> {
    host: &'h Host,
    known: HashMap<&'l [u8], Rc<KernelStruct<'h>>>,
    /// Bytes that further tables may have in the kernel.
    bytes_left: u64,
}

impl<'h, 'l> KernelStructs<'h, 'l> {
    pub(super) fn new(host: &'h Host) -> Self {
        Self { host, known: HashMap::new(), bytes_left: limits::DATA_BYTES }
    }

    /// Finds the kernel's struct for a table (libbpf: `find_struct_ops_kern_types`).
    pub(super) fn find(
        &mut self,
        table: &[u8],
        name: Name<'l>,
        modules: &mut Modules,
    ) -> Result<Rc<KernelStruct<'h>>, LoadPlanError> {
        if let Some(known) = self.known.get(name.as_bytes()) {
            return Ok(Rc::clone(known));
        }
        let types = |cause| LoadPlanError::Types { what: "its struct_ops maps", cause };
        let in_modules = self.host.features.has(Feature::ModuleBtf);
        let lacking = || {
            LoadPlanError::Map {
            map: text(table),
            what: format!(
                "this kernel has no struct_ops `{name}` (no struct bpf_struct_ops_{name} in its BTF or a module's)"
            )
            .into(),
        }
        };
        let wrapper = [b"bpf_struct_ops_".as_slice(), name.as_bytes()].concat();
        let found = self.host.types.find(&wrapper, Kind::Struct, in_modules).map_err(types)?;
        let FoundType { ty: value, module, .. } = found.ok_or_else(lacking)?;
        // A module's BTF has the kernel's types, too.
        let inner = match module {
            None => {
                let found = self.host.types.find_main(name.as_bytes(), Kind::Struct);
                found.map_err(|cause| types(cause.into()))?
            }
            Some(_) => value.btf().find(name.as_bytes(), Kind::Struct),
        };
        let inner = inner.ok_or_else(lacking)?;
        let data = value.members().find(|m| m.ty == inner.id()).ok_or_else(lacking)?;
        let mut members = HashMap::new();
        for member in inner.members() {
            members.entry(member.name.as_bytes()).or_insert(member);
        }
        let module = module.map(|m| modules.index_of(&m.name, m.id));
        let found = Rc::new(KernelStruct { value, data, inner, members, module });
        self.known.insert(name.as_bytes(), Rc::clone(&found));
        Ok(found)
    }

    /// The bytes of a map's value, all 0.
    pub(super) fn value(&mut self, table: &[u8], of: &KernelStruct<'_>) -> Result<Vec<u8>, LoadPlanError> {
        let size = of.value.size_or_type();
        let left = self.bytes_left.checked_sub(size.into());
        self.bytes_left = left.ok_or_else(|| LoadPlanError::Map {
            map: text(table),
            what: format!(
                "the kernel's struct has {size} bytes: all struct_ops maps together may have {}",
                limits::DATA_BYTES
            )
            .into(),
        })?;
        Ok(vec![0; usize::try_from(size).invariant("hosts have addresses of at least 32 bits")?])
    }
}
