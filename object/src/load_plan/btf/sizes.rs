//! Repairs of variables, members, parameters and elements whose type has no size or a wrong alignment for the
//! kernel.
//!
//! clang writes `void` for types that BTF does not know, such as `_Complex double`. The kernel refuses a
//! FLOAT that is not aligned (`btf_float_check_member`). Both become arrays of bytes.

use super::{
    type_text::type_text,
    words::{HEADER_WORDS, param_word, secinfo, secinfo_word},
};
use crate::{
    internal::{InternalError, Invariant as _},
    load_plan::repair::{Repair, RepairKind, Repairs},
};
use core_relo::{
    StrOffset, TypeId,
    btf::{Editor, Kind},
};
use hashbrown::HashMap;

/// The longest chain of types that the kernel follows (kernel: `MAX_RESOLVE_DEPTH`).
const RESOLVE_DEPTH: usize = 32;
/// The size of a pointer in bytes, the largest alignment that the kernel demands of a FLOAT.
const POINTER_BYTES: u32 = 8;
/// The bits of a byte.
const BYTE: u32 = 8;
/// The word with the element's type of an ARRAY.
const ARRAY_ELEMENT: u32 = HEADER_WORDS;

/// The repair of types.
pub(super) struct SizeRepairer<'r> {
    repairs: &'r mut Repairs,
    /// An integer of one byte, added when the first repair needs it.
    byte: Option<TypeId>,
    /// The added arrays, by length.
    arrays: HashMap<u32, TypeId>,
    /// The sizes of variables in their sections, read when the first repair needs them.
    sizes: Option<HashMap<TypeId, u32>>,
}

impl<'r> SizeRepairer<'r> {
    pub(super) fn new(repairs: &'r mut Repairs) -> Self {
        Self { repairs, byte: None, arrays: HashMap::new(), sizes: None }
    }

    /// Repairs all types.
    pub(super) fn repair(mut self, edit: &mut Editor) -> Result<(), InternalError> {
        // The types that the loop appends need no repair.
        let end = edit.end_id();
        let mut id = TypeId(1);
        while id < end {
            match edit.kind(id).invariant("a type below the last id exists")? {
                Kind::Var => self.repair_variable(edit, id)?,
                Kind::Array => self.repair_array(edit, id)?,
                Kind::FuncProto => self.repair_params(edit, id)?,
                Kind::Struct | Kind::Union => self.repair_members(edit, id)?,
                _ => {}
            }
            id = id.next();
        }
        Ok(())
    }

    fn repair_variable(&mut self, edit: &mut Editor, id: TypeId) -> Result<(), InternalError> {
        let ty = edit.word(id, Editor::SIZE_OR_TYPE).map(TypeId).invariant("a VAR has a type")?;
        if !is_unsized(edit, ty) {
            return Ok(());
        }
        if self.sizes.is_none() {
            self.sizes = Some(variable_sizes(edit)?);
        }
        let size = self.sizes.as_ref().and_then(|sizes| sizes.get(&id)).copied().unwrap_or(1);
        self.add(edit, id, "its type has no size", &bytes_text(size));
        let array = self.bytes(edit, size);
        edit.set(id, Editor::SIZE_OR_TYPE, array.0);
        Ok(())
    }

    fn repair_array(&mut self, edit: &mut Editor, id: TypeId) -> Result<(), InternalError> {
        let element = edit.word(id, ARRAY_ELEMENT).map(TypeId).invariant("an ARRAY has elements")?;
        if is_unsized(edit, element) {
            self.add(edit, id, "the type of its elements has no size", "an array of bytes");
            let byte = self.byte(edit);
            edit.set(id, ARRAY_ELEMENT, byte.0);
        }
        Ok(())
    }

    fn repair_params(&mut self, edit: &mut Editor, id: TypeId) -> Result<(), InternalError> {
        let count = edit.vlen(id);
        for n in 0..count {
            let name_word = param_word(n)?;
            let word = name_word.checked_add(1).invariant("the words of a record fit 32 bits")?;
            let ty = edit.word(id, word).map(TypeId).invariant("a parameter has a type")?;
            let name = edit.word(id, name_word).invariant("a parameter has a name word")?;
            // The last parameter stands for `...`.
            let is_variadic = ty == TypeId::VOID && name == 0 && n.checked_add(1) == Some(count);
            if !is_variadic && is_unsized(edit, ty) {
                self.add(edit, id, "the type of a parameter has no size", "an integer of one byte");
                let byte = self.byte(edit);
                edit.set(id, word, byte.0);
            }
        }
        Ok(())
    }

    /// Repairs the members of a struct or union.
    fn repair_members(&mut self, edit: &mut Editor, id: TypeId) -> Result<(), InternalError> {
        let is_union = edit.kind(id) == Some(Kind::Union);
        for n in 0..edit.vlen(id) {
            let word = secinfo_word(n, 1)?;
            let ty = edit.word(id, word).map(TypeId).invariant("a member has a type")?;
            let Some(offset) = member_offset(edit, id, n)? else { continue };
            let (problem, bits) = match resolve(edit, ty) {
                Resolved::Unsized => {
                    let end = member_end(edit, id, n, is_union)?;
                    ("has a type without a size", end.and_then(|end| end.checked_sub(offset)))
                }
                Resolved::Float { bytes } if is_misaligned(offset, bytes) => {
                    ("is a floating-point number that is not aligned", bytes.checked_mul(BYTE))
                }
                _ => continue,
            };
            let Some(bytes) = bits.filter(|_| offset.is_multiple_of(BYTE)).map(|bits| bits / BYTE) else {
                continue;
            };
            self.add(
                edit,
                id,
                &format!("member {} {problem}", member_text(edit, id, n)?),
                &bytes_text(bytes),
            );
            let array = self.bytes(edit, bytes);
            edit.set(id, word, array.0);
        }
        Ok(())
    }

    /// Returns an array of bytes.
    fn bytes(&mut self, edit: &mut Editor, len: u32) -> TypeId {
        let byte = self.byte(edit);
        let new = || edit.push(StrOffset(0), Kind::Array, 0, &[0, byte.0, byte.0, len]);
        *self.arrays.entry(len).or_insert_with(new)
    }

    /// Returns an integer of one byte.
    fn byte(&mut self, edit: &mut Editor) -> TypeId {
        *self.byte.get_or_insert_with(|| {
            let name = edit.string(b"unsigned char");
            edit.push(name, Kind::Int, 0, &[1, BYTE])
        })
    }

    fn add(&mut self, edit: &Editor, id: TypeId, problem: &str, replacement: &str) {
        self.repairs.add(|| Repair {
            kind: RepairKind::BtfType,
            place: type_text(edit, id).into(),
            problem: problem.into(),
            replacement: replacement.into(),
        });
    }
}

fn bytes_text(len: u32) -> String {
    format!("an array of {len} bytes")
}

/// Returns the name of a member for a message, or its number.
fn member_text(edit: &Editor, id: TypeId, n: u32) -> Result<String, InternalError> {
    let name = edit.word(id, secinfo_word(n, 0)?).invariant("a member has a name word")?;
    Ok(match edit.name(StrOffset(name)) {
        [] => format!("{n}"),
        name => format!("`{}`", crate::elf::text(name)),
    })
}

/// Returns the offset of a member in bits. Returns `None` for a bitfield.
fn member_offset(edit: &Editor, id: TypeId, n: u32) -> Result<Option<u32>, InternalError> {
    let offset = edit.word(id, secinfo_word(n, 2)?).invariant("a member has an offset")?;
    Ok(match (edit.kflag(id), offset >> 24) {
        (false, _) | (true, 0) => Some(offset),
        _ => None,
    })
}

/// Returns the sizes that the DATASECs give to variables.
fn variable_sizes(edit: &Editor) -> Result<HashMap<TypeId, u32>, InternalError> {
    let mut sizes = HashMap::new();
    let mut id = TypeId(1);
    while id < edit.end_id() {
        if edit.kind(id) == Some(Kind::Datasec) {
            for n in 0..edit.vlen(id) {
                let [ty, _, size] = secinfo(edit, id, n)?;
                sizes.insert(TypeId(ty), size);
            }
        }
        id = id.next();
    }
    Ok(sizes)
}

/// Returns the end of the space that a member of unknown size may take, in bits.
fn member_end(edit: &Editor, id: TypeId, n: u32, is_union: bool) -> Result<Option<u32>, InternalError> {
    if let (Some(next), false) = (n.checked_add(1).filter(|next| *next < edit.vlen(id)), is_union) {
        return member_offset(edit, id, next);
    }
    let size = edit.word(id, Editor::SIZE_OR_TYPE).invariant("a struct has a size")?;
    Ok(size.checked_mul(BYTE))
}

/// A type without its modifiers and typedefs.
enum Resolved {
    /// It has no size: `void`, a declaration or a function.
    Unsized,
    Float {
        bytes: u32,
    },
    /// Another type, or a chain that is too long.
    Other,
}

fn resolve(edit: &Editor, mut id: TypeId) -> Resolved {
    for _ in 0..RESOLVE_DEPTH {
        if id == TypeId::VOID {
            return Resolved::Unsized;
        }
        let (Some(kind), Some(third)) = (edit.kind(id), edit.word(id, Editor::SIZE_OR_TYPE)) else {
            return Resolved::Other;
        };
        match kind {
            Kind::Typedef | Kind::Const | Kind::Volatile | Kind::Restrict | Kind::TypeTag => {
                id = TypeId(third);
            }
            Kind::Fwd | Kind::Func | Kind::FuncProto => return Resolved::Unsized,
            Kind::Float => return Resolved::Float { bytes: third },
            _ => return Resolved::Other,
        }
    }
    Resolved::Other
}

fn is_unsized(edit: &Editor, id: TypeId) -> bool {
    matches!(resolve(edit, id), Resolved::Unsized)
}

/// Returns whether the kernel refuses a FLOAT at an offset in bits.
fn is_misaligned(offset: u32, bytes: u32) -> bool {
    let align = bytes.min(POINTER_BYTES).checked_mul(BYTE);
    align.is_some_and(|bits| bits > 0 && !offset.is_multiple_of(bits))
}
