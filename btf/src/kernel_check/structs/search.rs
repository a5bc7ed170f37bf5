//! The fields of a struct that the kernel manages (kernel: `btf_find_struct_field`, `btf_find_kptr`,
//! `btf_find_graph_root`).

use super::super::{
    managed::{ManagedError, ManagedFeatures, ManagedField},
    records::{Record, Records},
};
use crate::{
    format::Kind,
    ids::{TypeId, to_usize},
    limits,
};
use alloc::vec::Vec;
use hashbrown::HashMap;

/// The fields of a struct that the kernel manages (`BTF_FIELDS_MAX`).
const FIELDS: usize = 11;
/// The bytes of a pointer.
const POINTER_BYTES: u32 = 8;
/// The bytes of the longest name of a struct that is a field: `bpf_res_spin_lock`.
pub(super) const LONGEST_NAME: usize = 17;
/// The bytes of the longest tag whose names the kernel accepts, with some to spare.
const LONGEST_TAG: usize = 2048;

/// A field that the kernel manages.
#[derive(Clone, Copy)]
pub(super) struct Field<'d> {
    pub(super) kind: ManagedField,
    /// The offset in bytes.
    pub(super) offset: u32,
    /// The structs that a root owns.
    pub(super) owned: Option<Owned<'d>>,
}

/// The structs that a root owns, by its tag.
#[derive(Clone, Copy)]
pub(super) struct Owned<'d> {
    pub(super) ty: TypeId,
    /// The name of the member that is the node.
    node: &'d [u8],
}

/// The result of searching a struct.
struct Found<'d> {
    /// The level of nesting of the struct.
    level: usize,
    /// The levels of structs in the struct.
    height: usize,
    /// The types of which there is one field.
    seen: Vec<ManagedField>,
    fields: Vec<Field<'d>>,
}

/// The result of searching a nested struct.
enum Nested<'d> {
    Found {
        height: usize,
        fields: Vec<Field<'d>>,
    },
    Refused(ManagedError),
    /// The structs in it are nested too deep, if it is at this level.
    TooDeep {
        level: usize,
    },
}

/// A member that is searched.
#[derive(Clone, Copy)]
struct Site<'d> {
    owner: TypeId,
    index: u32,
    /// The type of the member.
    id: TypeId,
    ty: Record<'d>,
    /// The offset in bytes.
    offset: u32,
}

/// A member that the kernel refuses. `None` for the struct as a whole.
#[derive(Clone, Copy)]
pub(super) struct FieldError {
    pub(super) member: Option<u32>,
    pub(super) error: ManagedError,
}

/// The search for fields. Each struct is searched once.
pub(super) struct Search<'s, 'd> {
    records: &'s Records<'d>,
    features: &'s ManagedFeatures,
    /// The first struct of each name.
    structs: HashMap<&'d [u8], TypeId>,
    /// The values of the tags `contains:`, by type and component.
    contains: HashMap<(TypeId, u32), Vec<&'d [u8]>>,
    /// The members by name of the structs that roots own: type, and offset in bits. Of members with the same
    /// name, the first.
    members: HashMap<TypeId, HashMap<&'d [u8], (TypeId, u32)>>,
    /// The results of nested structs.
    nested: HashMap<TypeId, Nested<'d>>,
}

impl<'s, 'd> Search<'s, 'd> {
    pub(super) fn new(records: &'s Records<'d>, features: &'s ManagedFeatures) -> Self {
        let mut search = Self {
            records,
            features,
            structs: HashMap::new(),
            contains: HashMap::new(),
            members: HashMap::new(),
            nested: HashMap::new(),
        };
        for id in records.ids() {
            let Some(record) = records.get(id) else { continue };
            let Some(name) = records.short_string(record.name_offset, LONGEST_TAG) else { continue };
            match record.kind() {
                Kind::Struct => {
                    search.structs.entry(name).or_insert(id);
                }
                Kind::DeclTag => {
                    if let Some(value) = name.strip_prefix(b"contains:") {
                        let component = (TypeId(record.third), record.linkage_or_component());
                        search.contains.entry(component).or_default().push(value);
                    }
                }
                _ => {}
            }
        }
        search
    }

    /// Returns the types whose members make the kernel check a struct: the first struct of each name, and
    /// kptrs.
    pub(super) fn sought_types(&self) -> Vec<TypeId> {
        let is_sought =
            |name: &[u8]| ManagedField::from_name(name, self.features).is_some_and(ManagedField::is_sought);
        let structs = self.structs.iter().filter(|(name, _)| is_sought(name)).map(|(_, id)| *id);
        let mut types: Vec<_> = structs.collect();
        if self.features.kptrs {
            let is_kptr =
                |id: &TypeId| self.records.get(*id).is_some_and(|ty| matches!(self.kptr(ty), Ok(Some(_))));
            types.extend(self.records.ids().filter(is_kptr));
        }
        types
    }

    /// Returns whether a struct has at most one lock of a kind, and one reference count.
    pub(super) fn has_unique_fields(&self) -> bool {
        self.features.unique_fields
    }

    /// Returns the size of a field in bytes.
    pub(super) fn bytes(&self, kind: ManagedField) -> u32 {
        kind.bytes(self.features)
    }

    /// Returns the fields of a struct, in the order of its members.
    pub(super) fn fields(&mut self, owner: TypeId, record: Record<'d>) -> Result<Vec<Field<'d>>, FieldError> {
        self.search_struct(owner, record, 0).map(|found| found.fields)
    }

    /// Searches a struct at a level of nesting (kernel: `btf_find_struct_field`).
    fn search_struct(
        &mut self,
        owner: TypeId,
        record: Record<'d>,
        level: usize,
    ) -> Result<Found<'d>, FieldError> {
        let mut found = Found { level, height: 0, seen: Vec::new(), fields: Vec::new() };
        for (index, member) in record.members(0) {
            let fail = |error| FieldError { member: Some(index), error };
            let bits = member.bit_offset(record.info.kflag());
            let Some(ty) = self.records.get(member.ty) else { continue };
            if !bits.is_multiple_of(8) && (self.features.nested_fields || self.kind_by_name(ty).is_some()) {
                return Err(fail(ManagedError::Bits { bits }));
            }
            let site = Site { owner, index, id: member.ty, ty, offset: bits / 8 };
            self.search_member(site, &mut found).map_err(fail)?;
            if found.fields.len() > FIELDS {
                return Err(fail(ManagedError::TooMany { limit: FIELDS }));
            }
        }
        Ok(found)
    }

    /// Searches a member (kernel: `btf_find_field_one`).
    fn search_member(&mut self, site: Site<'d>, found: &mut Found<'d>) -> Result<(), ManagedError> {
        let Site { owner, index, mut id, mut ty, offset } = site;
        let mut count = 1u32;
        for _ in 0..limits::KERNEL_RESOLVE_DEPTH {
            if !self.features.nested_fields || ty.kind() != Kind::Array {
                break;
            }
            let array = ty.array();
            count = count.wrapping_mul(array.nelems);
            let Some(element) = self.records.get(array.element) else { return Ok(()) };
            (ty, id) = (element, array.element);
        }
        if count == 0 {
            return Ok(());
        }
        let Some(kind) = self.kind_by_name(ty) else {
            if ty.kind() == Kind::Struct {
                let is_searched = self.features.nested_fields;
                let site = Site { id, ty, ..site };
                return if is_searched { self.search_nested(site, count, found) } else { Ok(()) };
            }
            if self.features.kptrs && offset.is_multiple_of(8) {
                let fields = self.kptr(ty)?.map(|kind| Field { kind, offset, owned: None });
                found.fields.extend(repeat(fields.into_iter().collect(), count, POINTER_BYTES)?);
            }
            return Ok(());
        };
        if kind.is_single() {
            if found.seen.contains(&kind) {
                return Err(ManagedError::Second(kind));
            }
            found.seen.push(kind);
        }
        let bytes = kind.bytes(self.features);
        if offset.is_multiple_of(kind.align()) && ty.kind() == Kind::Struct && ty.third == bytes {
            let owned = kind.node().map(|_| self.owned(owner, index)).transpose()?;
            found.fields.extend(repeat([Field { kind, offset, owned }].into(), count, bytes)?);
        }
        Ok(())
    }

    /// Searches a nested struct, or an array of structs (kernel: `btf_find_nested_struct`).
    fn search_nested(
        &mut self,
        Site { id, ty, offset, .. }: Site<'d>,
        count: u32,
        found: &mut Found<'d>,
    ) -> Result<(), ManagedError> {
        let too_deep = ManagedError::TooDeep { limit: limits::KERNEL_RESOLVE_DEPTH };
        let level = found.level.checked_add(1).filter(|level| *level < limits::KERNEL_RESOLVE_DEPTH);
        let level = level.ok_or(too_deep)?;
        let is_known = match self.nested.get(&id) {
            Some(Nested::Found { .. } | Nested::Refused(_)) => true,
            Some(Nested::TooDeep { level: tried }) => level >= *tried,
            None => false,
        };
        if !is_known {
            let nested = match self.search_struct(id, ty, level) {
                Ok(Found { height, fields, .. }) => Nested::Found { height, fields },
                Err(FieldError { error: ManagedError::TooDeep { .. }, .. }) => Nested::TooDeep { level },
                Err(FieldError { error, .. }) => Nested::Refused(error),
            };
            self.nested.insert(id, nested);
        }
        let (height, fields) = match self.nested.get(&id) {
            Some(Nested::Found { height, fields }) => (*height, fields),
            Some(Nested::Refused(error)) => return Err(*error),
            Some(Nested::TooDeep { .. }) | None => return Err(too_deep),
        };
        let lowest = level.checked_add(height).filter(|lowest| *lowest < limits::KERNEL_RESOLVE_DEPTH);
        let lowest = lowest.ok_or(too_deep)?;
        found.height = found.height.max(lowest.abs_diff(found.level));
        let moved = |field: &Field<'d>| Field { offset: field.offset.wrapping_add(offset), ..*field };
        found.fields.extend(repeat(fields.iter().map(moved).collect(), count, ty.third)?);
        Ok(())
    }

    /// Returns the type of fields that a type has by its name.
    fn kind_by_name(&self, ty: Record<'d>) -> Option<ManagedField> {
        ManagedField::from_name(self.records.short_string(ty.name_offset, LONGEST_NAME)?, self.features)
    }

    /// Returns [`ManagedField::Kptr`] if a type is a pointer that the kernel manages.
    fn kptr(&self, ty: Record<'d>) -> Result<Option<ManagedField>, ManagedError> {
        let target = |record: Record<'d>| self.records.get(TypeId(record.third));
        let is_tag = |record: &Record<'d>| record.kind() == Kind::TypeTag;
        let tag = Some(ty).filter(|ty| ty.kind() == Kind::Ptr).and_then(target);
        let Some(tag) = tag.filter(|tag| is_tag(tag) && !tag.info.kflag()) else { return Ok(None) };
        if target(tag).is_some_and(|next| is_tag(&next)) {
            return Err(ManagedError::PointerTag);
        }
        match self.records.short_string(tag.name_offset, LONGEST_NAME) {
            Some(b"kptr_untrusted" | b"kptr" | b"percpu_kptr") => {}
            Some(b"uptr") if self.features.uptrs => return Ok(None),
            _ if self.features.other_pointer_tags => return Ok(None),
            _ => return Err(ManagedError::PointerTag),
        }
        let mut pointee = target(tag);
        for _ in 0..limits::KERNEL_RESOLVE_DEPTH {
            match pointee {
                Some(record) if record.kind().is_modifier_or_typedef() => pointee = target(record),
                _ => break,
            }
        }
        let is_struct = pointee.is_some_and(|record| record.kind() == Kind::Struct);
        if is_struct { Ok(Some(ManagedField::Kptr)) } else { Err(ManagedError::PointerTarget) }
    }

    /// Returns the structs that the tag of a root names.
    fn owned(&self, owner: TypeId, index: u32) -> Result<Owned<'d>, ManagedError> {
        let tags = self.contains.get(&(owner, index)).map_or(&[][..], Vec::as_slice);
        let [tag] = tags else { return Err(ManagedError::Contains { found: tags.len() }) };
        let colon = tag.iter().position(|byte| *byte == b':').ok_or(ManagedError::ContainsName)?;
        let (name, node) = tag.split_at(colon);
        let node = node.strip_prefix(b":").filter(|node| !node.is_empty());
        let owned = self.structs.get(name).zip(node).map(|(ty, node)| Owned { ty: *ty, node });
        owned.ok_or(ManagedError::ContainsName)
    }

    /// Checks that the tag of a root names a node (kernel: `btf_parse_graph_root`).
    pub(super) fn check_node(&mut self, root: Field<'d>) -> Result<(), ManagedError> {
        let (Some(node), Some(owned)) = (root.kind.node(), root.owned) else { return Ok(()) };
        let record = self.records.get(owned.ty).ok_or(ManagedError::ContainsName)?;
        let Self { records, members, .. } = self;
        let members = members.entry(owned.ty).or_insert_with(|| {
            let mut members = HashMap::new();
            for (_, member) in record.members(0) {
                if let Some(name) = records.short_string(member.name, LONGEST_TAG) {
                    members.entry(name).or_insert((member.ty, member.bit_offset(record.info.kflag())));
                }
            }
            members
        });
        let (ty, bits) = *members.get(owned.node).ok_or(ManagedError::ContainsName)?;
        let ty = self.records.get(ty).filter(|ty| ty.kind() == Kind::Struct);
        let is_node = ty.is_some_and(|ty| self.kind_by_name(ty) == Some(node));
        let is_aligned = bits.is_multiple_of(8) && (bits / 8).is_multiple_of(node.align());
        if is_node && is_aligned { Ok(()) } else { Err(ManagedError::ContainsNode(node)) }
    }
}

/// Returns the fields of an array of `count` elements (kernel: `btf_repeat_fields`).
fn repeat(fields: Vec<Field<'_>>, count: u32, element_bytes: u32) -> Result<Vec<Field<'_>>, ManagedError> {
    if count == 1 || fields.is_empty() {
        return Ok(fields);
    }
    if let Some(field) = fields.iter().find(|field| !field.kind.is_repeatable()) {
        return Err(ManagedError::Repeated(field.kind));
    }
    if fields.len().checked_mul(to_usize(count)).is_none_or(|all| all > FIELDS) {
        return Err(ManagedError::TooMany { limit: FIELDS });
    }
    let moved = |n: u32| {
        let by = element_bytes.wrapping_mul(n);
        fields.iter().map(move |field| Field { offset: field.offset.wrapping_add(by), ..*field })
    };
    Ok((0..count).flat_map(moved).collect())
}
