//! The values of an access in the object's BTF and in the target's BTF.

use super::error::{BrokenInvariant, RelocationValueError};
use crate::{
    ByteSize, Endian, TypeId,
    btf::{Btf, IntInfo, Kind, Member, Type, WalkError},
    ext::RelocKind,
    spec::{Accessor, Spec},
};

/// The local value, the target value, and the conditions for patching (libbpf: `struct bpf_core_relo_res`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Resolution {
    /// The value that the compiler wrote into the instruction.
    pub(crate) local: u64,
    /// The value in the target. If `None`, the instruction is poisoned.
    pub(crate) target: Option<u64>,
    /// Whether the instruction must contain the local value.
    pub(crate) validate: bool,
    pub(crate) widths: AccessWidths,
}

/// The widths, in bytes, of the memory that a load or store accesses.
///
/// A width is 0 where it does not restrict the instruction, as for a bitfield.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AccessWidths {
    pub(crate) local: u32,
    pub(crate) target: u32,
    /// Whether the instruction's width may be changed from the local width to the target width.
    pub(crate) are_adjustable: bool,
}

/// The value of an access in one BTF.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AccessValue {
    value: u64,
    /// The accessed memory, if its width restricts the instruction.
    memory: Option<AccessedMemory>,
    validate: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct AccessedMemory {
    bytes: u32,
    content: MemoryContent,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MemoryContent {
    Pointer,
    /// An integer that a load zero-extends.
    Unsigned,
    Other,
}

impl AccessWidths {
    /// The widths of an access that restricts no instruction.
    pub(crate) const UNRESTRICTED: Self = Self { local: 0, target: 0, are_adjustable: true };

    /// Returns the widths of an access. They are adjustable between two pointers, and between two integers
    /// that loads zero-extend (libbpf: `bpf_core_calc_relo`).
    fn new(local: AccessValue, target: AccessValue) -> Self {
        let content = |value: AccessValue| value.memory.map(|memory| memory.content);
        let both_are = |wanted| content(local) == Some(wanted) && content(target) == Some(wanted);
        Self {
            local: local.width(),
            target: target.width(),
            are_adjustable: local.width() == target.width()
                || both_are(MemoryContent::Pointer)
                || both_are(MemoryContent::Unsigned),
        }
    }
}

impl Resolution {
    /// Combines the local value with the value of a matching candidate.
    pub(crate) fn with_match(local: AccessValue, target: AccessValue) -> Self {
        Self {
            local: local.value,
            target: Some(target.value),
            validate: local.validate,
            widths: AccessWidths::new(local, target),
        }
    }

    /// Returns the result if no candidate matches: 0 for relocations of types and of existence, otherwise
    /// poison.
    pub(crate) fn without_match(kind: RelocKind, local: AccessValue) -> Self {
        let is_zero = kind.is_type() || matches!(kind, RelocKind::FieldExists | RelocKind::EnumvalExists);
        Self {
            local: local.value,
            target: is_zero.then_some(0),
            validate: local.validate,
            widths: AccessWidths::UNRESTRICTED,
        }
    }

    /// Returns the result of TYPE_ID_LOCAL, which needs no target.
    pub(crate) fn local_type_id(id: TypeId) -> Self {
        let id = u64::from(id.0);
        Self { local: id, target: Some(id), validate: false, widths: AccessWidths::UNRESTRICTED }
    }
}

impl AccessValue {
    /// Returns a value that does not restrict the width of an instruction.
    fn unrestricted(value: impl Into<u64>) -> Self {
        Self { value: value.into(), memory: None, validate: true }
    }

    /// Returns the number that the instruction must contain.
    pub(crate) fn value(self) -> u64 {
        self.value
    }

    /// Returns the width of the accessed memory in bytes, 0 if it does not restrict the instruction.
    pub(crate) fn width(self) -> u32 {
        self.memory.map_or(0, |memory| memory.bytes)
    }
}

/// Computes the value of an access in one BTF (libbpf: `bpf_core_calc_relo`, its first part).
pub(crate) fn access_value(
    endian: Endian,
    btf: &Btf<'_>,
    spec: &Spec,
) -> Result<AccessValue, RelocationValueError> {
    match spec.kind {
        // A static linker may have changed the type id, so that the instruction may contain an old id.
        RelocKind::TypeIdLocal | RelocKind::TypeIdTarget => {
            Ok(AccessValue { validate: false, ..AccessValue::unrestricted(spec.root.0) })
        }
        RelocKind::TypeExists
        | RelocKind::TypeMatches
        | RelocKind::FieldExists
        | RelocKind::EnumvalExists => Ok(AccessValue::unrestricted(1u64)),
        RelocKind::TypeSize => Ok(AccessValue::unrestricted(btf.size_of(spec.root)?.0)),
        RelocKind::EnumvalValue => Ok(AccessValue::unrestricted(enumerator_value(btf, spec)?)),
        _ => field_value(endian, btf, spec),
    }
}

/// Returns an enumerator's value. The value of an ENUM is sign-extended even if the enum is unsigned, as in
/// libbpf (`bpf_core_calc_enumval_relo`). See
/// [`Options::zero_extend_unsigned_enums`](crate::plan::Options::zero_extend_unsigned_enums).
fn enumerator_value(btf: &Btf<'_>, spec: &Spec) -> Result<u64, BrokenInvariant> {
    let accessor = spec.accessors.first().ok_or(BrokenInvariant::NoAccessors)?;
    let enumerator = btf.ty(accessor.ty).and_then(|ty| ty.enumerator(accessor.index));
    Ok(enumerator.ok_or(BrokenInvariant::Accessor)?.value)
}

/// Computes the value of an access to a field (libbpf: `bpf_core_calc_field_relo`).
fn field_value(endian: Endian, btf: &Btf<'_>, spec: &Spec) -> Result<AccessValue, RelocationValueError> {
    let last = spec.accessors.last().ok_or(BrokenInvariant::NoAccessors)?;
    if !last.named {
        return element_value(btf, spec, last);
    }
    let composite = btf.ty(last.ty).ok_or(BrokenInvariant::Accessor)?;
    let member = composite.member(last.index).ok_or(BrokenInvariant::Accessor)?;
    let declared = composite.btf().strip(member.ty)?;
    let is_bitfield = member.bitfield_bits > 0;
    let extent = if is_bitfield {
        FieldExtent::of_bitfield(spec, &member, declared)?
    } else {
        let bytes = btf.size_of(declared.id())?.0;
        FieldExtent { byte_offset: spec.bit_offset.0 / 8, bytes, bits: bytes.wrapping_mul(8) }
    };
    let mut memory = None;
    let value = match spec.kind {
        RelocKind::FieldByteOffset => {
            if !is_bitfield {
                memory = Some(AccessedMemory::new(element_size(btf, declared.id())?, declared));
            }
            u64::from(extent.byte_offset)
        }
        RelocKind::FieldByteSize => u64::from(extent.bytes),
        RelocKind::FieldSigned => u64::from(is_signed(declared)),
        RelocKind::FieldLshiftU64 => u64::from(extent.left_shift(endian, spec.bit_offset.0)),
        _ => u64::from(64u32.wrapping_sub(extent.bits)),
    };
    // A compiler may load a bitfield with another width. Only the sign and the right shift are the same for
    // all loads.
    let validate = !is_bitfield || matches!(spec.kind, RelocKind::FieldSigned | RelocKind::FieldRshiftU64);
    Ok(AccessValue { value, memory, validate })
}

/// Computes the value of an access to an array element, or to the root type itself.
fn element_value(btf: &Btf<'_>, spec: &Spec, last: &Accessor) -> Result<AccessValue, RelocationValueError> {
    match spec.kind {
        RelocKind::FieldByteOffset => {
            let ty = btf.ty(last.ty).ok_or(WalkError::NoType(last.ty))?;
            let memory = Some(AccessedMemory::new(element_size(btf, last.ty)?, ty));
            Ok(AccessValue { memory, ..AccessValue::unrestricted(spec.bit_offset.0 / 8) })
        }
        RelocKind::FieldByteSize => Ok(AccessValue::unrestricted(btf.size_of(last.ty)?.0)),
        kind => Err(RelocationValueError::ArrayElement(kind)),
    }
}

/// Returns the number of bytes that a load of a field reads. For an array, it is the size of the innermost
/// element.
fn element_size(btf: &Btf<'_>, ty: TypeId) -> Result<ByteSize, WalkError> {
    btf.size_of(btf.innermost_element(ty)?.id())
}

fn is_signed(ty: Type<'_>) -> bool {
    match ty.int() {
        Some(int) => int.is_signed(),
        None => ty.kind().is_enum() && ty.kflag(),
    }
}

/// The bytes that a load covers, and the bits of the field. All arithmetic wraps at 32 bits, as in libbpf.
struct FieldExtent {
    byte_offset: u32,
    bytes: u32,
    bits: u32,
}

impl FieldExtent {
    /// Returns the smallest aligned load that contains the bitfield and is at least as wide as its declared
    /// type.
    fn of_bitfield(
        spec: &Spec,
        member: &Member<'_>,
        declared: Type<'_>,
    ) -> Result<Self, RelocationValueError> {
        let (offset, bits) = (spec.bit_offset.0, member.bitfield_bits);
        let no_size = RelocationValueError::BitfieldType { ty: declared.id(), kind: declared.kind() };
        let mut bytes = declared.size().ok_or(no_size)?.0;
        loop {
            let unit = (offset / 8).checked_div(bytes).ok_or(no_size)?;
            let byte_offset = unit.wrapping_mul(bytes);
            let end = offset.wrapping_add(bits).wrapping_sub(byte_offset.wrapping_mul(8));
            if end <= bytes.wrapping_mul(8) {
                return Ok(Self { byte_offset, bytes, bits });
            }
            if bytes >= 8 {
                return Err(RelocationValueError::WideBitfield { bit_offset: spec.bit_offset, bits });
            }
            bytes = bytes.wrapping_mul(2);
        }
    }

    /// Returns the left shift of FIELD_LSHIFT_U64, by the object's byte order. libbpf uses the byte order of
    /// the host.
    fn left_shift(&self, endian: Endian, bit_offset: u32) -> u32 {
        let within = bit_offset.wrapping_sub(self.byte_offset.wrapping_mul(8));
        match endian {
            Endian::Little => 64u32.wrapping_sub(within.wrapping_add(self.bits)),
            Endian::Big => 8u32.wrapping_sub(self.bytes).wrapping_mul(8).wrapping_add(within),
        }
    }
}

impl AccessedMemory {
    /// Returns the memory of a type. An integer counts as signed only if its encoding is exactly SIGNED, as
    /// in libbpf. A `char` with the encodings SIGNED and CHAR counts as unsigned.
    fn new(size: ByteSize, ty: Type<'_>) -> Self {
        let content = match ty.int() {
            Some(int) if int.encoding != IntInfo::SIGNED => MemoryContent::Unsigned,
            _ if ty.kind() == Kind::Ptr => MemoryContent::Pointer,
            _ => MemoryContent::Other,
        };
        Self { bytes: size.0, content }
    }
}
