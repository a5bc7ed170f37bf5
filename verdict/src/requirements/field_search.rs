//! The special fields of a value, or of a data section: where they are, and which of them kernels find.

use super::value_fields::{Element, Part, is_aligned, is_field_struct, mentions_field, own_field};
use crate::{
    kernel::{FieldForm, SpecialField, ValueField},
    limits,
};
use core_relo::{
    BitOffset, ByteSize,
    btf::{Btf, Kind, Type},
};
use core_relo_object::object::MapType;

/// A place where a kernel may find a special field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FieldPart {
    field: SpecialField,
    /// Whether the field is in a struct or an array within the value. Kernels look there from 6.11 on.
    is_nested: bool,
    /// Whether the field is in an array of several elements.
    is_repeated: bool,
    /// Whether the kernel finds the field at the offset.
    is_aligned: bool,
}

/// The special fields of a value, or of a data section.
#[derive(Debug, Default)]
pub(super) struct FieldParts {
    found: Vec<FieldPart>,
    /// Whether a kernel may look for fields at other parts: kptrs, nodes, unions, typedefs and more.
    has_others: bool,
}

impl FieldParts {
    /// Searches the parts of a value, or the variables of a data section.
    pub(super) fn of_parts<'b>(btf: &'b Btf<'b>, parts: impl IntoIterator<Item = Part<'b>>) -> Self {
        let mut search = Search { btf, parts: Self::default(), members: 0..limits::VALUE_MEMBERS };
        for part in parts {
            if is_plain(part.ty) || (own_field(part.ty).is_none() && !mentions_field(btf, part.ty)) {
                continue;
            }
            search.add_part(part);
        }
        search.parts
    }

    /// Searches the members of a value. Kernels search structs alone.
    pub(super) fn of_value<'b>(btf: &'b Btf<'b>, value: Type<'b>) -> Self {
        if value.kind() != Kind::Struct {
            return Self::default();
        }
        let part = |ty| btf.ty(ty);
        let members = value.members();
        let parts: Vec<_> = members
            .map(|member| Some(Part { ty: part(member.ty)?, offset: member.bit_offset, bytes: None }))
            .collect();
        let has_others = parts.iter().any(Option::is_none);
        let found = Self::of_parts(btf, parts.into_iter().flatten());
        Self { has_others: found.has_others || has_others, ..found }
    }

    /// Searches the variables of a DATASEC.
    pub(super) fn of_datasec<'b>(btf: &'b Btf<'b>, datasec: Type<'b>) -> Self {
        let mut has_others = false;
        let parts = datasec.secinfos().filter_map(|info| {
            let ty = btf.ty(info.ty).and_then(|var| btf.ty(var.target()?));
            let offset = info.offset.checked_mul(8).map(BitOffset);
            has_others |= ty.is_none() || offset.is_none();
            Some(Part { ty: ty?, offset: offset?, bytes: Some(ByteSize(info.size)) })
        });
        let found = Self::of_parts(btf, parts);
        Self { has_others: found.has_others || has_others, ..found }
    }

    /// Returns whether the value has members, or the section variables, of one kind that a kernel which knows
    /// it finds only once.
    pub(super) fn repeats_single(&self) -> bool {
        SpecialField::ALL.into_iter().any(|field| field.is_single() && self.own(field).count() > 1)
    }

    /// Returns the fields that the value has once, and kptrs. A kernel that refuses a part of the value finds
    /// no field in it from 6.2 on, and creates the map all the same (kernel: `btf_parse_fields`). A kernel
    /// that does not accept a field in maps of the type, `map_type`, creates the map without types.
    pub(super) fn fields(&self, map_type: Option<MapType>) -> Vec<ValueField> {
        let single = |field: SpecialField| {
            if field == SpecialField::KernelPointer {
                return self.own(field).chain(self.of_kind(field)).next();
            }
            let part = match (self.own(field).next(), self.own(field).nth(1)) {
                (Some(part), None) => part,
                (None, _) => self.of_kind(field).next().filter(|_| self.of_kind(field).nth(1).is_none())?,
                _ => return None,
            };
            (part.is_aligned && !part.is_repeated).then_some(part)
        };
        let parts: Vec<_> = SpecialField::ALL.into_iter().filter_map(single).collect();
        let fits = |part: &&FieldPart| {
            part.field.is_single() && map_type.is_none_or(|map_type| part.field.fits(map_type))
        };
        // Kernels with both kinds of locks accept one of them in a value.
        let locks = [SpecialField::SpinLock, SpecialField::ResilientSpinLock];
        let has_both_locks = locks.into_iter().all(|lock| self.of_kind(lock).next().is_some());
        let is_found =
            !self.has_others && !has_both_locks && parts.len() == self.found.len() && parts.iter().all(fits);
        parts
            .into_iter()
            .map(|FieldPart { field, is_nested, .. }| ValueField {
                field: *field,
                is_nested: *is_nested,
                is_found,
            })
            .collect()
    }

    /// Returns the forms of other fields beside one of which kernels that know it find no field in the values
    /// of maps of a type.
    pub(super) fn refused(&self, map_type: MapType) -> Vec<FieldForm> {
        let refused = |other: SpecialField| {
            let form =
                |is_repeated, is_nested| Some(FieldForm::BesideRefused { other, is_repeated, is_nested });
            let is_refused = |part: &FieldPart| part.is_aligned && other.never_fits(map_type);
            if self.own(other).count() > 1 {
                return form(true, false);
            }
            if self.own(other).any(is_refused) {
                return form(false, false);
            }
            if self.of_kind(other).any(|part| part.is_repeated && part.is_aligned) {
                return form(true, true);
            }
            self.of_kind(other).any(is_refused).then(|| form(false, true)).flatten()
        };
        SpecialField::ALL.into_iter().filter(|field| field.is_single()).filter_map(refused).collect()
    }

    /// Returns the members of the value itself that are fields of a kind.
    fn own(&self, field: SpecialField) -> impl Iterator<Item = &FieldPart> {
        self.of_kind(field).filter(|part| !part.is_nested)
    }

    fn of_kind(&self, field: SpecialField) -> impl Iterator<Item = &FieldPart> {
        self.found.iter().filter(move |part| part.field == field)
    }
}

/// A search for fields, through structs and arrays.
struct Search<'b> {
    btf: &'b Btf<'b>,
    parts: FieldParts,
    /// The members that the search may still visit.
    members: core::ops::Range<usize>,
}

/// A part of a value, and where it is.
struct PlacedPart<'b> {
    part: Part<'b>,
    is_nested: bool,
    is_repeated: bool,
}

impl<'b> Search<'b> {
    fn add_part(&mut self, part: Part<'b>) {
        let mut pending = vec![PlacedPart { part, is_nested: false, is_repeated: false }];
        while let Some(placed) = pending.pop() {
            let (Ok(element), Some(_)) = (Element::new(self.btf, placed.part.ty.id()), self.members.next())
            else {
                self.parts.has_others = true;
                return;
            };
            self.add_element(&placed, &element, &mut pending);
        }
    }

    fn add_element(
        &mut self,
        placed: &PlacedPart<'b>,
        element: &Element<'b>,
        pending: &mut Vec<PlacedPart<'b>>,
    ) {
        let PlacedPart { part: Part { offset, bytes, .. }, .. } = placed;
        let is_nested = placed.is_nested || element.is_array;
        let is_repeated = placed.is_repeated || element.is_repeated;
        let ty = element.ty;
        if element.is_empty {
            self.parts.has_others |= mentions_field(self.btf, ty);
            return;
        }
        // The kernel skips variables of another size than their types.
        let has_size = bytes.is_none() || element.is_array || *bytes == ty.size();
        if let Some(field) = own_field(ty).filter(|_| has_size) {
            let is_aligned = is_aligned(*offset, field);
            self.parts.found.push(FieldPart { field, is_nested, is_repeated, is_aligned });
            return;
        }
        if ty.kind() != Kind::Struct || !has_size || is_field_struct(ty) {
            if is_kptr(self.btf, ty) {
                let field = SpecialField::KernelPointer;
                self.parts.found.push(FieldPart { field, is_nested, is_repeated, is_aligned: true });
            }
            self.parts.has_others |= mentions_field(self.btf, ty);
            return;
        }
        // The alignment counts from the start of the struct, wherever that is (kernel:
        // `btf_find_nested_struct`).
        for member in ty.members() {
            let Some(ty) = self.btf.ty(member.ty) else {
                self.parts.has_others = true;
                continue;
            };
            let part = Part { ty, offset: member.bit_offset, bytes: None };
            pending.push(PlacedPart { part, is_nested: true, is_repeated });
        }
    }
}

/// Returns whether a type is a pointer whose first tag is `kptr`.
fn is_kptr(btf: &Btf<'_>, ty: Type<'_>) -> bool {
    let tag = ty.target().filter(|_| ty.kind() == Kind::Ptr).and_then(|tag| btf.ty(tag));
    let name = SpecialField::KernelPointer.name().as_bytes();
    tag.is_some_and(|tag| tag.kind() == Kind::TypeTag && tag.name().as_bytes() == name)
}

/// Returns whether no kernel looks for fields at a type.
fn is_plain(ty: Type<'_>) -> bool {
    matches!(ty.kind(), Kind::Int | Kind::Enum | Kind::Enum64 | Kind::Float)
}
