//! The table in an object's declaration tags, which the macros of `core_relo.h` write.

use super::{
    error::VariantError,
    kernel_value::KernelValue,
    part::{Part, PartKind},
    table::{Alternative, VariantGroup, VariantTable},
};
use alloc::collections::{BTreeMap, BTreeSet};
use core_relo::{
    TypeId,
    btf::{Btf, Kind, Type},
};
use core_relo_object::{object::Object, shown_name};

/// The start of the tags of this project.
const PREFIX: &str = "core_relo:";

/// The tags, for errors.
const TAGS: &str = "variant:GROUP:RANK, optional, loaded:NAME, offset_of:PATH, size_of:NAME, enum_value:NAME or has_field:PATH";

/// The programs of a group by rank.
type Ranks = BTreeMap<u32, Vec<String>>;

impl VariantTable {
    /// Reads the table in an object's declaration tags. The table is empty if the object has no such tags.
    pub fn from_object(object: &Object<'_>) -> Result<Self, VariantError> {
        let mut table = Self::new();
        let mut groups: BTreeMap<String, Ranks> = BTreeMap::new();
        let Some(btf) = object.btf() else { return Ok(table) };
        let maps = collect_map_variables(btf);
        let tags = btf.types().filter(|ty| ty.kind() == Kind::DeclTag && ty.component_index() == Some(-1));
        for tag in tags {
            let Some(entry) = tag.name().as_bytes().strip_prefix(PREFIX.as_bytes()) else { continue };
            let Some(target) = tag.target().and_then(|target| btf.ty(target)) else { continue };
            let tag = DeclarationTag { tag, target };
            let (Ok(entry), Ok(name)) =
                (core::str::from_utf8(entry), core::str::from_utf8(target.name().as_bytes()))
            else {
                return Err(tag.error("not UTF-8", "a name of C"));
            };
            match entry.split_once(':') {
                Some(("variant", group)) => {
                    let (group, rank) = tag.parse_variant(group)?;
                    groups.entry(group).or_default().entry(rank).or_default().push(name.to_owned());
                }
                None if entry == "optional" => {
                    let _is_new = table.add_optional(tag.optional_part(name, &maps));
                }
                Some(("loaded", part)) => {
                    tag.check_declaration(Kind::Var, "a variable")?;
                    table.add_indicator(name, Part::from(part))?;
                }
                Some((word, path)) => {
                    tag.check_declaration(Kind::Var, "a variable")?;
                    let value = kernel_value(word, path).ok_or_else(|| tag.error("unknown", TAGS))?;
                    table.add_constant(name, value)?;
                }
                None => return Err(tag.error("unknown", TAGS)),
            }
        }
        for (name, ranks) in groups {
            let alternatives = ranks.into_values().map(Alternative).collect();
            table.add_group(VariantGroup { name, alternatives })?;
        }
        Ok(table)
    }
}

/// Returns the value that a word and a path stand for.
pub(super) fn kernel_value(word: &str, path: &str) -> Option<KernelValue> {
    let path = path.to_owned();
    Some(match word {
        "offset_of" => KernelValue::OffsetOf(path),
        "size_of" => KernelValue::SizeOf(path),
        "enum_value" => KernelValue::EnumValue(path),
        "has_field" => KernelValue::HasField(path),
        _ => return None,
    })
}

/// Returns the variables that are maps: those of `.maps` and of the sections of struct_ops maps.
fn collect_map_variables(btf: &Btf<'_>) -> BTreeSet<TypeId> {
    let is_of_maps = |section: &Type<'_>| {
        let name = section.name().as_bytes();
        let name = name.strip_prefix(b"?").unwrap_or(name);
        name == b".maps" || name.starts_with(b".struct_ops")
    };
    let sections = btf.types().filter(|ty| ty.kind() == Kind::Datasec).filter(is_of_maps);
    sections.flat_map(Type::secinfos).map(|variable| variable.ty).collect()
}

/// A declaration tag and the function or variable that has it.
struct DeclarationTag<'b> {
    tag: Type<'b>,
    target: Type<'b>,
}

impl DeclarationTag<'_> {
    /// Parses `GROUP:RANK`.
    fn parse_variant(&self, group: &str) -> Result<(String, u32), VariantError> {
        self.check_declaration(Kind::Func, "a program")?;
        let (group, rank) = group.rsplit_once(':').unwrap_or((group, ""));
        match (group, rank.parse()) {
            ("", _) => Err(self.error("no group", "VARIANT(group, rank)")),
            (group, Ok(rank)) => Ok((group.to_owned(), rank)),
            (_, Err(_)) => {
                Err(self.error("the rank is no number", "0 to 4294967295, the best alternative first"))
            }
        }
    }

    /// Returns the part that the tag makes optional: the declaration that has the tag, whatever group has the
    /// same name. A variable outside of the sections of maps is a constant.
    fn optional_part(&self, name: &str, maps: &BTreeSet<TypeId>) -> Part {
        let kind = match self.target.kind() {
            Kind::Func => PartKind::Program,
            _ if maps.contains(&self.target.id()) => PartKind::Map,
            _ => PartKind::Constant,
        };
        Part { kind: Some(kind), name: name.to_owned() }
    }

    /// Checks that a declaration of this kind has the tag.
    fn check_declaration(&self, kind: Kind, expected: &'static str) -> Result<(), VariantError> {
        if self.target.kind() == kind {
            Ok(())
        } else {
            Err(self.error("on the wrong declaration", expected))
        }
    }

    fn error(&self, problem: &'static str, expected: &'static str) -> VariantError {
        let (tag, name) = (shown_name(self.tag.name().as_bytes()), shown_name(self.target.name().as_bytes()));
        VariantError::Tag { tag, name, problem, expected }
    }
}
