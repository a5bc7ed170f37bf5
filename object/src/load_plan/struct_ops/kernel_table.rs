//! Converts the struct_ops tables of an object to the layout of the kernel's structs.

use super::{
    kernel_structs::KernelStruct,
    local_table::StructOpsTable,
    member::{byte_offset, is_function_pointer},
};
use crate::{
    elf::text,
    index::{ModuleIndex, ProgramIndex},
    internal::Invariant as _,
    limits,
    load_plan::{error::LoadPlanError, program_slot::ProgramSlot},
};
use core_relo::{
    ByteSize, TypeId,
    btf::{Btf, Kind, Member, Type},
};
use hashbrown::HashMap;

/// The size of a pointer in the kernel's struct, in bytes.
const POINTER_BYTES: usize = 8;

/// A table in the kernel's layout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::load_plan) struct KernelTable {
    /// The kernel's type of the map's value.
    pub(in crate::load_plan) value_type: TypeId,
    /// The size of `value_type` in bytes.
    pub(in crate::load_plan) value_size: u32,
    /// The module whose BTF has `value_type`. `None` for the kernel itself.
    pub(in crate::load_plan) module: Option<ModuleIndex>,
    /// The map's value without the descriptors of the programs.
    pub(in crate::load_plan) value: Vec<u8>,
    /// The programs in the value.
    pub(in crate::load_plan) programs: Vec<ProgramSlot>,
}

/// The member that a struct_ops program is loaded for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::load_plan) struct MemberSlot {
    /// The kernel's struct of the member.
    pub(in crate::load_plan) ty: TypeId,
    /// The index of the member in the struct.
    pub(in crate::load_plan) member: u32,
    /// The module whose BTF has the struct. `None` for the kernel itself.
    pub(in crate::load_plan) module: Option<ModuleIndex>,
}

/// Compares the struct_ops tables of an object with the structs of a kernel, and converts them to the
/// kernel's layout.
#[derive(Debug)]
pub struct StructOpsMatcher {
    /// The member of each program in the tables so far.
    slots: HashMap<ProgramIndex, MemberSlot>,
    /// The remaining limit on the bytes of all map values together.
    bytes_left: u64,
}

impl Default for StructOpsMatcher {
    fn default() -> Self {
        Self { slots: HashMap::new(), bytes_left: limits::DATA_BYTES }
    }
}

impl StructOpsMatcher {
    /// Checks that a kernel accepts a table, whose map has values of type `value`: a struct
    /// `bpf_struct_ops_NAME` of the kernel or a module. `programs` is the struct `NAME`, of vmlinux or else
    /// of the BTF of `value`. `btf` is the object's. All calls must have the same object and kernel.
    ///
    /// # Errors
    ///
    /// `value` has no member `programs`; a member that is not 0 is missing in the kernel's struct, or has
    /// another kind or size; or the types are invalid (libbpf: `bpf_map__init_kern_struct_ops`).
    pub fn check(
        &mut self,
        btf: &Btf<'_>,
        table: &StructOpsTable<'_>,
        value: Type<'_>,
        programs: Option<Type<'_>>,
    ) -> Result<(), LoadPlanError> {
        let fail = |what: &str| LoadPlanError::Map { map: text(table.name), what: what.into() };
        let kernel = programs.and_then(|programs| KernelStruct::new(value, programs));
        let kernel = kernel.ok_or_else(|| fail("the type of its value has no member of the map's type"))?;
        self.match_table(btf, table, &kernel, None).map(drop)
    }

    /// Returns the member of each program in the tables.
    pub(super) fn into_slots(self) -> HashMap<ProgramIndex, MemberSlot> {
        self.slots
    }

    /// Converts a table to the layout of the kernel's struct.
    pub(super) fn match_table(
        &mut self,
        btf: &Btf<'_>,
        local: &StructOpsTable<'_>,
        kernel: &KernelStruct<'_>,
        module: Option<ModuleIndex>,
    ) -> Result<KernelTable, LoadPlanError> {
        let fail = |what: String| LoadPlanError::Map { map: text(local.name), what: what.into() };
        let ty = btf.ty(local.table.ty).ok_or_else(|| fail("its type does not exist".into()))?;
        let mut table = KernelTable {
            value_type: kernel.value.id(),
            value_size: kernel.value.size_or_type(),
            module,
            value: self.zeroed_value(local.name, kernel)?,
            programs: Vec::new(),
        };
        let data_offset = byte_offset(&kernel.data);
        for member in ty.members() {
            let pair = MemberPair { btf, kernel, member, map: local.name };
            let program = local.programs.get(&member.index).copied();
            match pair.locate(&local.data, program.is_some())? {
                // The member is zero, and the kernel does not have it.
                None => {}
                Some(LocatedMember { offset, target, size }) if pair.is_pointer()? => {
                    let Some(program) = program else {
                        let bytes = range(&local.data, offset, size);
                        let bytes = bytes.invariant("a member lies within its table")?;
                        if bytes.iter().any(|b| *b != 0) {
                            return Err(pair.fail("it is a pointer other than 0 without a program"));
                        }
                        continue;
                    };
                    pair.check_function_pointer(&target)?;
                    let slot = MemberSlot { ty: kernel.inner.id(), member: target.index, module };
                    if *self.slots.entry(program).or_insert(slot) != slot {
                        return Err(pair.fail("its program is also in another table, for another member"));
                    }
                    let target_offset = data_offset.checked_add(byte_offset(&target));
                    let is_in_value = |offset: &usize| range(&table.value, *offset, POINTER_BYTES).is_some();
                    let target_offset = target_offset.filter(is_in_value);
                    let target_offset = target_offset
                        .ok_or_else(|| pair.fail("the kernel's member lies past the end of the struct"))?;
                    table.programs.push(ProgramSlot::new(target_offset, program));
                }
                Some(LocatedMember { offset, target, size }) => {
                    let start = data_offset.checked_add(byte_offset(&target));
                    let end = start.and_then(|start| start.checked_add(size));
                    let target_bytes =
                        start.zip(end).and_then(|(start, end)| table.value.get_mut(start..end));
                    match (target_bytes, range(&local.data, offset, size)) {
                        (Some(target_bytes), Some(bytes)) => target_bytes.copy_from_slice(bytes),
                        _ => return Err(pair.fail("it extends past the end of the struct")),
                    }
                }
            }
        }
        Ok(table)
    }

    /// Returns a map value of zeros. Counts its size towards the limit on all values.
    fn zeroed_value(&mut self, table: &[u8], kernel: &KernelStruct<'_>) -> Result<Vec<u8>, LoadPlanError> {
        let size = kernel.value.size_or_type();
        let left = self.bytes_left.checked_sub(size.into());
        self.bytes_left = left.ok_or_else(|| LoadPlanError::Map {
            map: text(table),
            what: format!(
                "the kernel's struct is too large: {size} bytes, expected at most {} in all struct_ops maps together",
                limits::DATA_BYTES
            )
            .into(),
        })?;
        Ok(vec![0; ByteSize(size).index()])
    }
}

/// Returns the `size` bytes at an offset.
fn range(bytes: &[u8], start: usize, size: usize) -> Option<&[u8]> {
    bytes.get(start..start.checked_add(size)?)
}

/// A member of the object's struct that has a counterpart in the kernel's struct.
struct LocatedMember<'m> {
    /// The offset in the object's struct, in bytes.
    offset: usize,
    /// The kernel's member of the same name.
    target: Member<'m>,
    /// The size in bytes.
    size: usize,
}

/// A member of the object's struct, and the kernel's struct in which the member is looked up.
struct MemberPair<'m> {
    /// The object's BTF.
    btf: &'m Btf<'m>,
    kernel: &'m KernelStruct<'m>,
    member: Member<'m>,
    /// The name of the struct_ops map.
    map: &'m [u8],
}

impl<'m> MemberPair<'m> {
    /// Creates the error for this member.
    #[cold]
    fn fail(&self, what: impl core::fmt::Display) -> LoadPlanError {
        LoadPlanError::Map {
            map: text(self.map),
            what: format!("member `{}`: {what}", self.member.name).into(),
        }
    }

    /// Finds the kernel's member of the same name. Returns `None` for a member that is zero and that the
    /// kernel does not have.
    fn locate(&self, data: &[u8], has_program: bool) -> Result<Option<LocatedMember<'m>>, LoadPlanError> {
        let size = self.btf.size_of(self.member.ty).map_err(|e| self.fail(e))?.index();
        let offset = byte_offset(&self.member);
        let bytes = range(data, offset, size);
        let bytes = bytes.ok_or_else(|| self.fail("it extends past the end of the struct"))?;
        let Some(target) = self.kernel.members.get(self.member.name.as_bytes()).copied() else {
            if has_program || bytes.iter().any(|b| *b != 0) {
                return Err(LoadPlanError::MissingStructOpsMember {
                    map: text(self.map),
                    member: text(self.member.name.as_bytes()),
                    kernel_struct: text(self.kernel.inner.name().as_bytes()),
                });
            }
            return Ok(None);
        };
        if self.member.bitfield_bits != 0 || target.bitfield_bits != 0 {
            return Err(self.fail("bitfields are not supported"));
        }
        let local_type = self.btf.strip(self.member.ty).map_err(|e| self.fail(e))?;
        let target_type = self.kernel.btf().strip(target.ty).map_err(|e| self.fail(e))?;
        if local_type.kind() != target_type.kind() {
            return Err(self.fail(format_args!(
                "wrong kind: {}, expected {} as in the kernel",
                local_type.kind(),
                target_type.kind()
            )));
        }
        if local_type.kind() != Kind::Ptr {
            let expected = self.kernel.btf().size_of(target.ty).map_err(|e| self.fail(e))?;
            if expected.index() != size {
                return Err(
                    self.fail(format_args!("wrong size: {size} bytes, expected {expected} as in the kernel"))
                );
            }
        }
        Ok(Some(LocatedMember { offset, target, size }))
    }

    /// Returns whether the object's member is a pointer.
    fn is_pointer(&self) -> Result<bool, LoadPlanError> {
        Ok(self.btf.strip(self.member.ty).map_err(|e| self.fail(e))?.kind() == Kind::Ptr)
    }

    /// Checks that the kernel's member is a function pointer.
    fn check_function_pointer(&self, target: &Member<'_>) -> Result<(), LoadPlanError> {
        if is_function_pointer(self.kernel.btf(), target.ty) {
            Ok(())
        } else {
            Err(self.fail("the kernel's member is not a function pointer"))
        }
    }
}
