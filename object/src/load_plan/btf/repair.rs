//! Repairs a BTF that the kernel would refuse as a whole because of one type (kernel: `btf_check_all_metas`,
//! `btf_check_all_types`).
//!
//! Ids stay the same. libbpf sends the BTF as it is, and continues without BTF if the kernel refuses it.

use super::{
    names::Renamer,
    sizes::SizeRepairer,
    type_text::type_text,
    words::{HEADER_WORDS, param_word, secinfo_word},
};
use crate::{
    elf::text,
    internal::{InternalError, Invariant as _},
    load_plan::repair::{Repair, RepairKind, Repairs},
};
use core_relo::{
    StrOffset, Text, TypeId,
    btf::{Editor, KernelBtfRules, Kind, NameUse},
};
use hashbrown::HashMap;

/// Declaration tags in which the kernel finds names of types, members or functions.
const TAGS_WITH_NAMES: [&[u8]; 2] = [b"contains:", b"exception_callback:"];

/// Repairs the types that the kernel would refuse.
pub(in crate::load_plan) fn repair(
    edit: &mut Editor,
    rules: KernelBtfRules,
    repairs: &mut Repairs,
) -> Result<(), InternalError> {
    // The size of a member reaches to the next member by offset.
    sort_members(edit, repairs)?;
    SizeRepairer::new(repairs).repair(edit)?;
    let mut repairer = NameRepairer { renamer: Renamer::new(rules), repairs };
    let functions = function_protos(edit)?;
    // The loop appends no types.
    let end = edit.end_id();
    let mut id = TypeId(1);
    while id < end {
        repairer.repair_type(edit, id, functions.get(&id).copied())?;
        id = id.next();
    }
    repairer.repair_tags(edit)
}

/// Returns the first function of each prototype. The parameters of functions need names.
fn function_protos(edit: &Editor) -> Result<HashMap<TypeId, TypeId>, InternalError> {
    let mut protos = HashMap::new();
    let mut id = TypeId(1);
    while id < edit.end_id() {
        if edit.kind(id) == Some(Kind::Func) {
            let proto = edit.word(id, Editor::SIZE_OR_TYPE);
            protos.entry(TypeId(proto.invariant("a FUNC refers to a type")?)).or_insert(id);
        }
        id = id.next();
    }
    Ok(protos)
}

/// An element that needs a name.
struct Unnamed {
    /// The type that a message names.
    owner: TypeId,
    problem: Text,
    /// The new name.
    new: String,
}

impl Unnamed {
    fn new(owner: TypeId, problem: impl Into<Text>, new: String) -> Self {
        Self { owner, problem: problem.into(), new }
    }
}

/// The repair of names.
struct NameRepairer<'r> {
    renamer: Renamer,
    repairs: &'r mut Repairs,
}

impl NameRepairer<'_> {
    /// Repairs the names of a type and of its elements. `function` is that of a prototype, if it has one.
    fn repair_type(
        &mut self,
        edit: &mut Editor,
        id: TypeId,
        function: Option<TypeId>,
    ) -> Result<(), InternalError> {
        let kind = edit.kind(id).invariant("a type below the last id exists")?;
        match kind {
            Kind::Ptr | Kind::Array | Kind::Const | Kind::Volatile | Kind::Restrict | Kind::FuncProto => {
                self.remove_name(edit, id)?;
            }
            Kind::Datasec => self.repair_word(edit, (id, Editor::NAME), NameUse::Section)?,
            // The kernel accepts any name of a number, and any tag.
            Kind::Int | Kind::Float | Kind::TypeTag | Kind::DeclTag => {}
            _ => self.repair_word(edit, (id, Editor::NAME), NameUse::Identifier)?,
        }
        if matches!(kind, Kind::Typedef | Kind::Fwd | Kind::Func | Kind::Var) {
            self.add_name(edit, (id, Editor::NAME), || {
                Unnamed::new(id, "has no name", format!("unnamed_{id}"))
            })?;
        }
        let words = match kind {
            Kind::Struct | Kind::Union | Kind::Enum64 => 3,
            Kind::Enum | Kind::FuncProto => 2,
            _ => return Ok(()),
        };
        for n in 0..edit.vlen(id) {
            let word = if words == 3 { secinfo_word(n, 0)? } else { param_word(n)? };
            self.repair_word(edit, (id, word), NameUse::Identifier)?;
            match kind {
                Kind::Enum | Kind::Enum64 => {
                    self.add_name(edit, (id, word), || {
                        Unnamed::new(id, format!("enumerator {n} has no name"), format!("unnamed_{id}_{n}"))
                    })?;
                }
                Kind::FuncProto => {
                    let Some(function) = function else { continue };
                    let ty = word.checked_add(1).and_then(|word| edit.word(id, word));
                    // The last parameter stands for `...` if it has no type.
                    if ty.invariant("a parameter has a type")? != TypeId::VOID.0 {
                        let number = n.checked_add(1).invariant("a record has fewer than 2^24 parameters")?;
                        self.add_name(edit, (id, word), || {
                            let problem = format!("parameter {number} has no name");
                            Unnamed::new(function, problem, format!("arg{number}"))
                        })?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Replaces the name in a word of a record, if the kernel would refuse the name.
    fn repair_word(
        &mut self,
        edit: &mut Editor,
        (id, word): (TypeId, u32),
        name_use: NameUse,
    ) -> Result<(), InternalError> {
        let old = StrOffset(edit.word(id, word).invariant("a named element has a word for its name")?);
        if old != StrOffset(0) && edit.name(old).is_empty() && name_use == NameUse::Identifier {
            self.unname(edit, id, word);
            return Ok(());
        }
        let Some(renamed) = self.renamer.rename(edit, old, name_use)? else { return Ok(()) };
        if renamed.is_first {
            self.repairs.add(|| {
                let problem = match word {
                    Editor::NAME => renamed.problem.to_string(),
                    _ => format!("element `{}` {}", text(edit.name(old)), renamed.problem),
                };
                Repair {
                    kind: RepairKind::BtfName,
                    place: type_text(edit, id).into(),
                    problem: problem.into(),
                    replacement: format!("`{}`", text(edit.name(renamed.new))).into(),
                }
            });
        }
        edit.set(id, word, renamed.new.0);
        Ok(())
    }

    /// Gives an element without a name the string offset of such elements: 0. The kernel refuses other
    /// offsets of empty strings.
    fn unname(&mut self, edit: &mut Editor, id: TypeId, word: u32) {
        self.repairs.add(|| Repair {
            kind: RepairKind::BtfName,
            place: type_text(edit, id).into(),
            problem: "has an empty name at another string offset than 0".into(),
            replacement: "no name".into(),
        });
        edit.set(id, word, 0);
    }

    /// Names an element that needs a name and has none.
    fn add_name(
        &mut self,
        edit: &mut Editor,
        (id, word): (TypeId, u32),
        describe: impl FnOnce() -> Unnamed,
    ) -> Result<(), InternalError> {
        let name = edit.word(id, word).invariant("a named element has a word for its name")?;
        if !edit.name(StrOffset(name)).is_empty() {
            return Ok(());
        }
        let Unnamed { owner, problem, new } = describe();
        let offset = edit.string(new.as_bytes());
        self.repairs.add(|| Repair {
            kind: RepairKind::BtfName,
            place: type_text(edit, owner).into(),
            problem,
            replacement: format!("`{new}`").into(),
        });
        edit.set(id, word, offset.0);
        Ok(())
    }

    /// Removes the name of a type that must not have one.
    fn remove_name(&mut self, edit: &mut Editor, id: TypeId) -> Result<(), InternalError> {
        if edit.word(id, Editor::NAME).invariant("a type has a word for its name")? == 0 {
            return Ok(());
        }
        self.repairs.add(|| Repair {
            kind: RepairKind::BtfName,
            place: type_text(edit, id).into(),
            problem: "has a name, expected none".into(),
            replacement: "a type without a name".into(),
        });
        edit.set(id, Editor::NAME, 0);
        Ok(())
    }

    /// Repairs names in declaration tags, which the kernel compares with the names of types, members and
    /// functions.
    fn repair_tags(&mut self, edit: &mut Editor) -> Result<(), InternalError> {
        let mut id = TypeId(1);
        while id < edit.end_id() {
            if edit.kind(id) == Some(Kind::DeclTag) {
                self.repair_tag(edit, id)?;
            }
            id = id.next();
        }
        Ok(())
    }

    fn repair_tag(&mut self, edit: &mut Editor, id: TypeId) -> Result<(), InternalError> {
        let tag = edit.word(id, Editor::NAME).invariant("a tag has a word for its text")?;
        let tag = edit.name(StrOffset(tag));
        let split = TAGS_WITH_NAMES.iter().find_map(|prefix| Some((*prefix, tag.strip_prefix(*prefix)?)));
        let Some((prefix, names)) = split else { return Ok(()) };
        // The last colon precedes the name of a member: a type may be named `list::Node`.
        let names: Vec<Vec<u8>> = match names.iter().rposition(|byte| *byte == b':') {
            Some(colon) if prefix == b"contains:" => {
                let (ty, member) = names.split_at(colon);
                vec![ty.to_vec(), member.strip_prefix(b":").unwrap_or(member).to_vec()]
            }
            _ => vec![names.to_vec()],
        };
        let (mut new, mut is_changed) = (prefix.to_vec(), false);
        for (n, name) in names.iter().enumerate() {
            if n > 0 {
                new.push(b':');
            }
            let known = self.renamer.replacement(name);
            is_changed |= known.is_some();
            match known {
                Some(known) => new.extend_from_slice(edit.name(known)),
                None => new.extend_from_slice(name),
            }
        }
        if is_changed {
            let new = edit.string(&new);
            edit.set(id, Editor::NAME, new.0);
        }
        Ok(())
    }
}

/// Sorts the members of structs by offset, as the kernel requires. The members of Rust's structs are in the
/// order of the source.
fn sort_members(edit: &mut Editor, repairs: &mut Repairs) -> Result<(), InternalError> {
    /// The bits of a member's offset in a struct with bitfields.
    const OFFSET: u32 = 0xff_ffff;
    let mut new_indices = HashMap::new();
    let mut id = TypeId(1);
    while id < edit.end_id() {
        if edit.kind(id) == Some(Kind::Struct) {
            let mask = if edit.kflag(id) { OFFSET } else { u32::MAX };
            let mut members = Vec::new();
            for n in 0..edit.vlen(id) {
                let first = secinfo_word(n, 0)?;
                let word = |n| edit.word(id, n).invariant("a member has three words");
                let [name, ty, offset] = [first, first.wrapping_add(1), first.wrapping_add(2)].map(word);
                members.push((n, [name?, ty?, offset?]));
            }
            if !members.is_sorted_by_key(|(_, [_, _, offset])| offset & mask) {
                members.sort_by_key(|(n, [_, _, offset])| (offset & mask, *n));
                repairs.add(|| Repair {
                    kind: RepairKind::BtfOrder,
                    place: type_text(edit, id).into(),
                    problem: "its members are not in the order of their offsets".into(),
                    replacement: "sorted members".into(),
                });
                let mut indices = HashMap::new();
                for (new, (old, words)) in (0u32..).zip(&members) {
                    indices.insert(*old, new);
                    for (word, value) in (secinfo_word(new, 0)?..).zip(words) {
                        edit.set(id, word, *value);
                    }
                }
                new_indices.insert(id, indices);
            }
        }
        id = id.next();
    }
    if new_indices.is_empty() { Ok(()) } else { move_tags(edit, &new_indices) }
}

/// Moves the tags of members to the new indices of the members.
fn move_tags(
    edit: &mut Editor,
    new_indices: &HashMap<TypeId, HashMap<u32, u32>>,
) -> Result<(), InternalError> {
    let mut id = TypeId(1);
    while id < edit.end_id() {
        if edit.kind(id) == Some(Kind::DeclTag) {
            let target = edit.word(id, Editor::SIZE_OR_TYPE).map(TypeId);
            let indices = new_indices.get(&target.invariant("a tag refers to a type")?);
            // The index of a tag of the struct itself is -1.
            let index = edit.word(id, HEADER_WORDS).invariant("a tag has an index")?;
            if let Some(new) = indices.and_then(|indices| indices.get(&index)) {
                edit.set(id, HEADER_WORDS, *new);
            }
        }
        id = id.next();
    }
    Ok(())
}
