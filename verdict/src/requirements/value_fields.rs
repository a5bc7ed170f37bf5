//! The fields of map values that the kernel manages, in the types of the values.

use crate::{
    kernel::{FieldForm, SpecialField},
    limits,
};
use core_relo::{
    BitOffset, ByteSize, TypeId,
    btf::{Btf, Kind, Type},
};
use hashbrown::HashSet;

/// The special fields that kernels may find in the values of a map.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PossibleFields {
    /// The fields that all kernels with the field may find.
    any: Vec<SpecialField>,
    /// The fields that only some kernels find, with their forms.
    formed: Vec<FormedField>,
}

/// A special field in a form that only some kernels find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FormedField {
    field: SpecialField,
    form: FieldForm,
}

impl PossibleFields {
    /// Returns the fields in values of a type: in the struct, and in the structs and arrays in it. Kernels do
    /// not look into unions, nor at members with a qualifier or a typedef. No kernel accepts several locks or
    /// timers in an array.
    pub(super) fn of_value(btf: &Btf<'_>, value: Type<'_>) -> Self {
        if value.kind() != Kind::Struct {
            return Self::default();
        }
        Self::of_members(btf, value.members().map(|member| member.ty))
    }

    /// Returns the fields in the variables of a DATASEC, which the kernel searches as the members of a
    /// struct.
    pub(super) fn of_datasec(btf: &Btf<'_>, datasec: Type<'_>) -> Self {
        let target = |var| btf.ty(var).and_then(Type::target);
        let targets: Option<Vec<_>> = datasec.secinfos().map(|info| target(info.ty)).collect();
        targets.map_or_else(Self::all, |targets| Self::of_members(btf, targets))
    }

    fn of_members(btf: &Btf<'_>, members: impl IntoIterator<Item = TypeId>) -> Self {
        let mut found = Self::default();
        let mut seen = HashSet::new();
        let mut visits = 0..limits::VALUE_MEMBERS;
        let place = MemberPlace { is_nested: false, is_repeated: false };
        let mut pending: Vec<_> = members.into_iter().map(|member| (member, place)).collect();
        while let Some((member, outer)) = pending.pop() {
            let (Ok(element), Some(_)) = (Element::new(btf, member), visits.next()) else {
                return Self::all();
            };
            let place = MemberPlace {
                is_nested: outer.is_nested || element.is_array,
                is_repeated: outer.is_repeated || element.is_repeated,
            };
            found.add_member(btf, element.ty, place);
            if element.ty.kind() == Kind::Struct && seen.insert((element.ty.id(), place.is_repeated)) {
                let place = MemberPlace { is_nested: true, ..place };
                pending.extend(element.ty.members().map(|member| (member.ty, place)));
            }
        }
        found
    }

    /// Returns all fields, for types that cannot be followed.
    fn all() -> Self {
        Self { any: SpecialField::ALL.to_vec(), formed: Vec::new() }
    }

    /// Adds the field for which some kernel takes a member.
    fn add_member(&mut self, btf: &Btf<'_>, ty: Type<'_>, place: MemberPlace) {
        if ty.kind() != Kind::Struct {
            let tag = pointer_tag(btf, ty);
            return match (tag, place.is_nested) {
                (PointerTag::Unknown, _) => self.add(SpecialField::KernelPointer, None),
                (PointerTag::Kptr, false) => self.add(SpecialField::KernelPointer, Some(FieldForm::KptrTag)),
                (PointerTag::KptrRef, false) => {
                    self.add(SpecialField::KernelPointer, Some(FieldForm::KptrRefTag));
                }
                (PointerTag::Kptr, true) => self.add(SpecialField::KernelPointer, Some(FieldForm::Nested)),
                // No kernel with the tag kptr_ref looks into structs.
                (PointerTag::None, _) | (PointerTag::KptrRef, true) => {}
            };
        }
        let mut fields = SpecialField::ALL.into_iter().filter(|field| *field != SpecialField::KernelPointer);
        let field = fields.find(|field| ty.name().as_bytes() == field.name().as_bytes());
        if let Some(field) = field.filter(|field| !(place.is_repeated && field.is_single())) {
            self.add(field, place.is_nested.then_some(FieldForm::Nested));
        }
    }

    fn add(&mut self, field: SpecialField, form: Option<FieldForm>) {
        match form {
            None if !self.any.contains(&field) => self.any.push(field),
            Some(form) if !self.formed.contains(&FormedField { field, form }) => {
                self.formed.push(FormedField { field, form });
            }
            _ => {}
        }
    }

    /// Returns the form of a field that only some kernels find. Returns `None` if values have the field in
    /// several forms, or do not have it.
    pub(super) fn form(&self, field: SpecialField) -> Option<FieldForm> {
        let mut forms = self.formed.iter().filter(|formed| formed.field == field);
        let first = forms.next().filter(|_| !self.any.contains(&field))?;
        forms.next().is_none().then_some(first.form)
    }

    /// Returns whether no kernel finds a field.
    pub(super) fn is_empty(&self) -> bool {
        self.any.is_empty() && self.formed.is_empty()
    }

    /// Returns whether some kernel finds a field.
    pub(super) fn contains(&self, field: SpecialField) -> bool {
        self.any.contains(&field) || self.formed.iter().any(|formed| formed.field == field)
    }
}

/// Returns whether some kernel may look at a type, or at a part of it, for a field: structs of the fields'
/// names, and pointers with tags.
pub(super) fn mentions_field(btf: &Btf<'_>, ty: Type<'_>) -> bool {
    let mut seen = HashSet::new();
    let mut members = 0..limits::VALUE_MEMBERS;
    let mut pending = vec![ty.id()];
    while let Some(id) = pending.pop() {
        let (Ok(Element { ty, .. }), Some(_)) = (Element::new(btf, id), members.next()) else { return true };
        if !seen.insert(ty.id()) {
            continue;
        }
        match ty.kind() {
            Kind::Struct if is_field_struct(ty) => return true,
            Kind::Struct | Kind::Union => pending.extend(ty.members().map(|member| member.ty)),
            Kind::Ptr => {
                let target = ty.target().and_then(|target| btf.ty(target));
                if target.is_some_and(|target| target.kind() == Kind::TypeTag) {
                    return true;
                }
            }
            kind if kind.is_modifier_or_typedef() => pending.extend(ty.target()),
            _ => {}
        }
    }
    false
}

/// A member of a struct, or a variable of a data section.
#[derive(Clone, Copy)]
pub(super) struct Part<'b> {
    pub(super) ty: Type<'b>,
    pub(super) offset: BitOffset,
    /// The size of a variable in its section.
    pub(super) bytes: Option<ByteSize>,
}

/// Returns the special field that a type is the struct of.
pub(super) fn own_field(ty: Type<'_>) -> Option<SpecialField> {
    SpecialField::ALL.into_iter().find(|field| {
        ty.kind() == Kind::Struct
            && ty.name().as_bytes() == field.name().as_bytes()
            && ty.size() == Some(ByteSize(field.bytes()))
    })
}

/// Returns whether the kernel finds a special field at an offset. It skips fields that are not aligned.
pub(super) const fn is_aligned(offset: BitOffset, field: SpecialField) -> bool {
    offset.0.is_multiple_of(if field.bytes() < 8 { 32 } else { 64 })
}

/// Returns whether a struct has the name of one that the kernel manages.
pub(super) fn is_field_struct(ty: Type<'_>) -> bool {
    FIELD_STRUCTS.contains(&ty.name().as_bytes())
}

/// The names of the structs that the kernel manages.
const FIELD_STRUCTS: [&[u8]; 10] = [
    b"bpf_spin_lock",
    b"bpf_res_spin_lock",
    b"bpf_timer",
    b"bpf_wq",
    b"bpf_task_work",
    b"bpf_list_head",
    b"bpf_list_node",
    b"bpf_rb_root",
    b"bpf_rb_node",
    b"bpf_refcount",
];

/// The place of a member in the values of a map.
#[derive(Clone, Copy)]
struct MemberPlace {
    /// Whether the member is an array, or in another struct.
    is_nested: bool,
    /// Whether values have the member several times, as elements of an array have.
    is_repeated: bool,
}

/// A type, or the elements of an array in all its dimensions.
pub(super) struct Element<'b> {
    pub(super) ty: Type<'b>,
    pub(super) is_array: bool,
    /// Whether the array has another number of elements than one.
    pub(super) is_repeated: bool,
    /// Whether the array has no elements.
    pub(super) is_empty: bool,
}

impl<'b> Element<'b> {
    /// Fails for a type that is missing or in itself.
    pub(super) fn new(btf: &'b Btf<'b>, ty: TypeId) -> Result<Self, NoType> {
        let ty = btf.ty(ty).ok_or(NoType)?;
        let mut element = Self { ty, is_array: false, is_repeated: false, is_empty: false };
        for _ in 0..limits::NESTED_STRUCTS {
            let Some(array) = element.ty.array() else { return Ok(element) };
            element.ty = btf.ty(array.element).ok_or(NoType)?;
            element.is_array = true;
            element.is_repeated |= array.nelems != 1;
            element.is_empty |= array.nelems == 0;
        }
        Err(NoType)
    }
}

/// A type that cannot be followed.
pub(super) struct NoType;

/// The tag of a pointer, as far as helpers accept it for the address of a kernel object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PointerTag {
    /// No pointer, or one without such a tag.
    None,
    /// `kptr`, or `percpu_kptr`, which is newer.
    Kptr,
    /// `kptr_ref`.
    KptrRef,
    /// A type that cannot be followed.
    Unknown,
}

/// Returns the tag of a pointer. Kernels differ about the order of tags and qualifiers.
fn pointer_tag(btf: &Btf<'_>, ty: Type<'_>) -> PointerTag {
    let Ok(pointer) = btf.strip(ty.id()) else { return PointerTag::Unknown };
    let mut target = pointer.target().filter(|_| pointer.kind() == Kind::Ptr);
    for _ in 0..limits::NESTED_STRUCTS {
        match target.and_then(|id| btf.ty(id)) {
            Some(ty) if ty.kind() == Kind::TypeTag => match ty.name().as_bytes() {
                b"kptr" | b"percpu_kptr" => return PointerTag::Kptr,
                b"kptr_ref" => return PointerTag::KptrRef,
                _ => target = ty.target(),
            },
            Some(ty) if ty.kind().is_modifier_or_typedef() => target = ty.target(),
            _ => return PointerTag::None,
        }
    }
    PointerTag::Unknown
}
