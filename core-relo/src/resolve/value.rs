//! The number an access comes to, on either side.

use super::ValueError;
use crate::{
    btf::{Btf, IntInfo, Kind, Member, Type, WalkError},
    endian::Endian,
    ext::RelocKind,
    ids::{ByteSize, TypeId},
    spec::{Accessor, Spec},
};

/// Both values, and what patching must heed (libbpf: `struct bpf_core_relo_res`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Resolution {
    /// What the compiler put into the instruction.
    pub(crate) local: u64,
    /// What the target asks for; `None` asks for poison.
    pub(crate) target: Option<u64>,
    /// Whether the instruction must hold the local value.
    pub(crate) validate: bool,
    /// The widths of the memory accessed.
    pub(crate) memory: Memory,
}

/// Where no memory is accessed, no width stands in the way.
pub(crate) const NO_MEMORY: Memory = Memory { local: 0, target: 0, adjustable: true };

/// Widths, in bytes, of the memory a load or store accesses; 0 where an access's width says nothing (a bitfield).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Memory {
    pub(crate) local: u32,
    pub(crate) target: u32,
    /// Whether an instruction may be changed from the one width to the other.
    pub(crate) adjustable: bool,
}

/// One side's answer, which needs its BTF no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    value: u64,
    /// The memory that is accessed, if its width says anything.
    memory: Option<Accessed>,
    validate: bool,
}

/// What is accessed, and its width in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Accessed {
    bytes: u32,
    what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Pointer,
    /// An integer that loads zero-extend.
    Unsigned,
    Other,
}

/// What both answers come to, given a match.
pub(crate) fn resolve(local: Answer, target: Answer) -> Resolution {
    Resolution {
        local: local.value,
        target: Some(target.value),
        validate: local.validate,
        memory: memory(local.memory, target.memory),
    }
}

/// What the local answer comes to where nothing matches: 0 for what asks about existence or about a type, else poison.
pub(crate) fn resolve_without_target(kind: RelocKind, local: Answer) -> Resolution {
    let zero = kind.is_type() || matches!(kind, RelocKind::FieldExists | RelocKind::EnumvalExists);
    Resolution { local: local.value, target: zero.then_some(0), validate: local.validate, memory: NO_MEMORY }
}

/// One side's answer (libbpf: `bpf_core_calc_relo`, its first part).
pub(crate) fn answer(endian: Endian, btf: &Btf<'_>, spec: &Spec) -> Result<Answer, ValueError> {
    let sure = |value| Ok(Answer { value, memory: None, validate: true });
    // A type's id may have changed when objects were linked, so the instruction's is not checked.
    let id = || Ok(Answer { value: u64::from(spec.root.0), memory: None, validate: false });
    match spec.kind {
        RelocKind::TypeIdLocal | RelocKind::TypeIdTarget => id(),
        RelocKind::TypeExists
        | RelocKind::TypeMatches
        | RelocKind::FieldExists
        | RelocKind::EnumvalExists => sure(1),
        RelocKind::TypeSize => sure(u64::from(btf.size_of(spec.root)?.0)),
        RelocKind::EnumvalValue => sure(enumerator(btf, spec)),
        _ => field(endian, btf, spec),
    }
}

/// An ENUM's value is sign-extended whatever its sign, as libbpf reads it (`bpf_core_calc_enumval_relo`): see
/// [`Options::zero_extend_unsigned_enums`](crate::plan::Options::zero_extend_unsigned_enums).
fn enumerator(btf: &Btf<'_>, spec: &Spec) -> u64 {
    let step = spec.accessors.first();
    step.and_then(|step| btf.ty(step.ty)?.enumerator(step.index)).map_or(0, |v| v.value)
}

/// libbpf: `bpf_core_calc_field_relo`.
fn field(endian: Endian, btf: &Btf<'_>, spec: &Spec) -> Result<Answer, ValueError> {
    let no_type = ValueError::Walk(WalkError::NoType(spec.root));
    let last = spec.accessors.last().ok_or(no_type)?;
    if !last.named {
        return element(btf, spec, last);
    }
    let composite = btf.ty(last.ty).ok_or(no_type)?;
    let member = composite.member(last.index).ok_or(no_type)?;
    let declared = composite.btf().strip(member.ty)?;
    let extent = if member.bitfield_bits > 0 {
        Extent::of_bitfield(spec, &member, declared)?
    } else {
        let bytes = btf.size_of(declared.id())?.0;
        Extent { byte_offset: spec.bit_offset.0 / 8, bytes, bits: bytes.wrapping_mul(8) }
    };
    let bitfield = member.bitfield_bits > 0;
    // The compiler may load a bitfield otherwise than we would: only sign and width are beyond doubt.
    let validate = !bitfield || matches!(spec.kind, RelocKind::FieldSigned | RelocKind::FieldRshiftU64);
    let mut memory = None;
    let value = match spec.kind {
        RelocKind::FieldByteOffset => {
            if !bitfield {
                memory = Some(Accessed::of(element_size(btf, declared.id())?, declared));
            }
            u64::from(extent.byte_offset)
        }
        RelocKind::FieldByteSize => u64::from(extent.bytes),
        RelocKind::FieldSigned => u64::from(is_signed(declared)),
        RelocKind::FieldLshiftU64 => u64::from(extent.left_shift(endian, spec.bit_offset.0)),
        _ => u64::from(64u32.wrapping_sub(extent.bits)),
    };
    Ok(Answer { value, memory, validate })
}

/// An access that ends in an array's element, or in the root itself.
fn element(btf: &Btf<'_>, spec: &Spec, last: &Accessor) -> Result<Answer, ValueError> {
    match spec.kind {
        RelocKind::FieldByteOffset => {
            let ty = btf.ty(last.ty).ok_or(WalkError::NoType(last.ty))?;
            let memory = Some(Accessed::of(element_size(btf, last.ty)?, ty));
            Ok(Answer { value: u64::from(spec.bit_offset.0 / 8), memory, validate: true })
        }
        RelocKind::FieldByteSize => {
            Ok(Answer { value: u64::from(btf.size_of(last.ty)?.0), memory: None, validate: true })
        }
        kind => Err(ValueError::ArrayElement(kind)),
    }
}

/// What a load of a field reads: of an array, its innermost element.
fn element_size(btf: &Btf<'_>, ty: TypeId) -> Result<ByteSize, WalkError> {
    btf.size_of(btf.innermost_element(ty)?.id())
}

fn is_signed(ty: Type<'_>) -> bool {
    match ty.int() {
        Some(int) => int.is_signed(),
        None => ty.kind().is_enum() && ty.kflag(),
    }
}

/// The bytes a load covers, and the bits of the field. All arithmetic wraps at 32 bits, as in libbpf.
struct Extent {
    byte_offset: u32,
    bytes: u32,
    bits: u32,
}

impl Extent {
    /// The smallest aligned load, at least as wide as the declared type, that holds the bitfield.
    fn of_bitfield(spec: &Spec, member: &Member<'_>, declared: Type<'_>) -> Result<Self, ValueError> {
        let (at, bits) = (spec.bit_offset.0, member.bitfield_bits);
        let no_size = ValueError::BitfieldType { ty: declared.id(), kind: declared.kind() };
        let mut bytes = declared.size().map_or(0, |size| size.0);
        loop {
            let unit = (at / 8).checked_div(bytes).ok_or(no_size)?;
            let byte_offset = unit.wrapping_mul(bytes);
            let end = at.wrapping_add(bits).wrapping_sub(byte_offset.wrapping_mul(8));
            if end <= bytes.wrapping_mul(8) {
                return Ok(Self { byte_offset, bytes, bits });
            }
            if bytes >= 8 {
                return Err(ValueError::WideBitfield { bit_offset: spec.bit_offset, bits });
            }
            bytes = bytes.wrapping_mul(2);
        }
    }

    /// By the object's byte order; libbpf takes that of the machine it was built for.
    fn left_shift(&self, endian: Endian, bit_offset: u32) -> u32 {
        let within = bit_offset.wrapping_sub(self.byte_offset.wrapping_mul(8));
        match endian {
            Endian::Little => 64u32.wrapping_sub(within.wrapping_add(self.bits)),
            Endian::Big => 8u32.wrapping_sub(self.bytes).wrapping_mul(8).wrapping_add(within),
        }
    }
}

impl Accessed {
    /// An encoding is signed here only if it is SIGNED and nothing else: a signed `char` passes for unsigned, as in libbpf.
    fn of(size: ByteSize, ty: Type<'_>) -> Self {
        let what = match ty.int() {
            Some(int) if int.encoding != IntInfo::SIGNED => What::Unsigned,
            _ if ty.kind() == Kind::Ptr => What::Pointer,
            _ => What::Other,
        };
        Self { bytes: size.0, what }
    }
}

/// Widths may be changed between pointers, and between integers that zero-extend (libbpf: `bpf_core_calc_relo`).
fn memory(local: Option<Accessed>, target: Option<Accessed>) -> Memory {
    let bytes = |side: Option<Accessed>| side.map_or(0, |side| side.bytes);
    let both = |what| [local, target].iter().all(|side| side.is_some_and(|side| side.what == what));
    let (of_local, of_target) = (bytes(local), bytes(target));
    let adjustable = of_local == of_target || both(What::Pointer) || both(What::Unsigned);
    Memory { local: of_local, target: of_target, adjustable }
}
