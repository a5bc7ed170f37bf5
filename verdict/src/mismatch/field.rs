//! Fields whose type differs in a way that CO-RE does not adjust.

use super::model::{Difference, MismatchKind};
use crate::requirements::{composite_name, pointee};
use core_relo::{
    Name, Plan, TypeId,
    btf::{Btf, Enumerator, IntInfo, Kind, Type},
    explain::declare,
    ext::RelocKind,
    plan::{Decision, PlannedReloc},
    spec::Accessor,
};

/// A field in one BTF.
struct Field<'b> {
    btf: &'b Btf<'b>,
    id: TypeId,
    /// The type without modifiers and typedefs.
    ty: Type<'b>,
    bytes: u32,
    name: Name<'b>,
}

impl<'b> Field<'b> {
    /// Returns the field in which an access with this last step ends. Returns `None` for a bitfield, and for
    /// a type without a size.
    fn new(btf: &'b Btf<'b>, last: Accessor) -> Option<Self> {
        let (id, bytes, name) = if last.named {
            let member = btf.ty(last.ty)?.member(last.index)?;
            let extent = btf.member_extent(&member).ok().filter(|extent| !extent.is_bitfield)?;
            (member.ty, u32::try_from(extent.bits / 8).ok()?, member.name)
        } else {
            (last.ty, btf.size_of(last.ty).ok()?.0, Name::new(b""))
        };
        Some(Self { btf, id, ty: btf.strip(id).ok()?, bytes, name })
    }

    fn text(&self) -> String {
        declare(self.btf, self.id, &self.name.shortened().to_string())
    }
}

/// Calls `compare` with the planned relocation, the object's field, and the kernel's field.
fn with_fields<T>(
    plan: &Plan<'_>,
    record: usize,
    compare: impl FnOnce(&PlannedReloc<'_>, &Field<'_>, &Field<'_>) -> T,
) -> Option<T> {
    let planned = plan.get(record)?;
    let is_resolved = matches!(planned.decision(), Ok(Decision::Keep { .. } | Decision::Patch { .. }));
    if !is_resolved || planned.record().relo.kind != RelocKind::FieldByteOffset {
        return None;
    }
    let local = Field::new(planned.btf(), *planned.local_spec()?.accessors.last()?)?;
    let (target_btf, last) = planned.target_step()?;
    let target = Field::new(&target_btf.btf, last)?;
    Some(compare(&planned, &local, &target))
}

/// Returns the access in C.
fn access(planned: &PlannedReloc<'_>) -> String {
    let spec = planned.local_spec();
    spec.map_or_else(String::new, |spec| core_relo::explain::text(spec.access_text(planned.btf())))
}

/// Returns the differences of a field that a program reads: with a probe read of `bytes`, or with a load,
/// whose width CO-RE adjusts.
pub(super) fn differences(plan: &Plan<'_>, record: usize, bytes: Option<u32>) -> Vec<Difference> {
    let found = with_fields(plan, record, |planned, local, target| {
        let difference = |kind, text| Difference { kind, text, local: local.text(), target: target.text() };
        let mut differences = Vec::new();
        if let Some(bytes) = bytes.filter(|bytes| *bytes == local.bytes && target.bytes != local.bytes) {
            let is_array = local.ty.kind() == Kind::Array && target.ty.kind() == Kind::Array;
            let kind = if is_array { MismatchKind::ArrayLength } else { MismatchKind::Width };
            let what = if is_array { "array" } else { "field" };
            let size = target.bytes;
            let access = access(planned);
            let text =
                format!("{access}: the {what} has {size} bytes in the kernel, the program reads {bytes}");
            differences.push(difference(kind, text));
        }
        let signs = [local, target].map(|field| field.ty.int().map(IntInfo::is_signed));
        if let [Some(local_sign), Some(target_sign)] = signs
            && local_sign != target_sign
            && (2..8).contains(&local.bytes)
            && bytes.is_none()
        {
            let word = |is_signed| if is_signed { "signed" } else { "unsigned" };
            let text = format!(
                "{}: the field is {} in the kernel, expected {}",
                access(planned),
                word(target_sign),
                word(local_sign)
            );
            differences.push(difference(MismatchKind::Signedness, text));
        }
        let names = [local, target].map(|field| pointee(field.btf, field.id).and_then(composite_name));
        if let [Some(local_name), Some(target_name)] = names
            && local_name != target_name
        {
            let (found, expected) = (Name::shortened(target_name), Name::shortened(local_name));
            let access = access(planned);
            let text = format!("{access}: the field points to {found} in the kernel, expected {expected}");
            differences.push(difference(MismatchKind::Pointee, text));
        }
        differences
    });
    found.unwrap_or_else(Vec::new)
}

/// Returns the difference if the constant that a program compares with a field is the value of an enumerator
/// with another value in the kernel.
pub(super) fn renumbered(plan: &Plan<'_>, record: usize, value: i32) -> Option<Difference> {
    with_fields(plan, record, |planned, local, target| {
        let [local_enum, target_enum] = [local.ty, target.ty];
        if !local_enum.kind().is_enum() || !target_enum.kind().is_enum() {
            return None;
        }
        let constant = i64::from(value);
        let has_value = |e: &Enumerator<'_>| e.c_value().cast_signed() == constant;
        let mut same_value = local_enum.enumerators().filter(has_value);
        let (enumerator, None) = (same_value.next()?, same_value.next()) else { return None };
        let in_kernel = target_enum.enumerators().find(|e| e.name == enumerator.name)?;
        if in_kernel.c_value() == enumerator.c_value() {
            return None;
        }
        let name = enumerator.name.shortened();
        let text = format!(
            "{}: {name} is {} in the kernel, the program compares with {value}",
            access(planned),
            in_kernel.c_value().cast_signed()
        );
        let shown = |ty: Type<'_>, e: Enumerator<'_>| {
            format!("enum {} {{ {name} = {} }}", ty.name().shortened(), e.c_value().cast_signed())
        };
        let (local, target) = (shown(local_enum, enumerator), shown(target_enum, in_kernel));
        Some(Difference { kind: MismatchKind::EnumValue, text, local, target })
    })?
}
