//! The types of the records of ring buffers and perf event arrays. The macros `EVENT_TYPE` and `EVENT_KIND`
//! of `core_relo.h` declare them.

use crate::limits;
use alloc::{collections::BTreeMap, string::String, vec::Vec};
use core_relo::{
    Text, TypeId,
    btf::{Btf, Kind, Member, Type, WalkError},
};
use thiserror::Error;

/// The section of the declarations.
const SECTION: &[u8] = b".core_relo.events";

/// An event type of a map.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeclaredEvent {
    /// The type of the records.
    pub ty: TypeId,
    /// The member that tells records of this type from those of the map's other types (`EVENT_KIND`).
    pub kind: Option<EventKind>,
}

/// The member of an event type that contains the kind of event, and its value in records of this type.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "the two parameters of EVENT_KIND")]
pub struct EventKind {
    /// The name of the member.
    pub member: Vec<u8>,
    /// The value.
    pub value: u32,
}

/// The bytes of a record that contain its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(clippy::exhaustive_structs, reason = "the place of a number, and the number")]
pub struct KindField {
    /// The offset of the number in bytes.
    pub offset: usize,
    /// The size of the number in bytes: 1, 2, 4 or 8.
    pub size: usize,
    /// The number in records of this kind.
    pub value: u32,
}

/// The reason why the records of a map's event types cannot be told apart.
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EventKindError {
    /// The map has several types, one of them without a kind.
    #[error("it has several types: declare each with EVENT_KIND")]
    NoKind,
    /// The member that contains the kind does not exist.
    #[error("`{ty}` has no member `{member}`")]
    NoMember {
        /// The name of the event type.
        ty: Text,
        /// The name of the member.
        member: Text,
    },
    /// The member that contains the kind is no number.
    #[error("the member `{member}` of `{ty}` is no integer or enum")]
    NoNumber {
        /// The name of the event type.
        ty: Text,
        /// The name of the member.
        member: Text,
    },
    /// The value is larger than the member that contains the kind.
    #[error("{value} does not fit the member `{member}` of `{ty}`")]
    TooLarge {
        /// The name of the event type.
        ty: Text,
        /// The name of the member.
        member: Text,
        /// The value.
        value: u32,
    },
    /// Two types have the same value in the same place, so that no record would be of the second type.
    #[error("`{first}` and `{second}` have the same kind {value}")]
    SameKind {
        /// The name of the first type.
        first: Text,
        /// The name of the second type.
        second: Text,
        /// The value.
        value: u32,
    },
    /// A reference between types cannot be followed.
    #[error(transparent)]
    Walk(#[from] WalkError),
}

core_relo::debug_as_message!(EventKindError);

impl DeclaredEvent {
    /// Creates an event of a map whose records all have this type.
    pub fn of_type(ty: TypeId) -> Self {
        Self { ty, kind: None }
    }
}

/// Returns the declared events of each map, by map name, in the order of the declarations.
pub fn declared_events(btf: &Btf<'_>) -> BTreeMap<Vec<u8>, Vec<DeclaredEvent>> {
    let mut events: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for section in btf.types().filter(|t| t.kind() == Kind::Datasec && t.name().as_bytes() == SECTION) {
        for info in section.secinfos() {
            // A variable that the macros do not declare belongs to somebody else.
            let declared = btf.ty(info.ty).and_then(Type::target).and_then(|ty| declared(btf, ty));
            if let Some((map, declared)) = declared {
                events.entry(map).or_default().push(declared);
            }
        }
    }
    events
}

/// Returns, for each event of a map, the bytes of its records that contain the kind. The only event of a map
/// may have no kind.
pub fn kind_fields(
    btf: &Btf<'_>,
    events: &[DeclaredEvent],
) -> Result<Vec<Option<KindField>>, EventKindError> {
    let mut types: BTreeMap<KindField, Type<'_>> = BTreeMap::new();
    let mut fields = Vec::with_capacity(events.len());
    for DeclaredEvent { ty, kind } in events {
        let Some(kind) = kind else {
            if events.len() > 1 {
                return Err(EventKindError::NoKind);
            }
            fields.push(None);
            continue;
        };
        let record = btf.strip(*ty)?;
        let field = kind_field(btf, record, kind)?;
        let first = *types.entry(field).or_insert(record);
        if first.id() != record.id() {
            let (first, second) = (text(first.name().as_bytes()), text(record.name().as_bytes()));
            return Err(EventKindError::SameKind { first, second, value: field.value });
        }
        fields.push(Some(field));
    }
    Ok(fields)
}

/// Finds the member of an event type that contains the kind.
fn kind_field(btf: &Btf<'_>, record: Type<'_>, kind: &EventKind) -> Result<KindField, EventKindError> {
    let (ty, member, value) = (text(record.name().as_bytes()), text(&kind.member), kind.value);
    let Some(found) = record.members().find(|m| m.name.as_bytes() == kind.member.as_slice()) else {
        return Err(EventKindError::NoMember { ty, member });
    };
    let is_number = matches!(btf.strip(found.ty)?.kind(), Kind::Int | Kind::Enum | Kind::Enum64);
    let extent = btf.member_extent(&found)?;
    let (size, max) = match extent.bits {
        8 => (1, u8::MAX.into()),
        16 => (2, u16::MAX.into()),
        32 => (4, u32::MAX),
        64 => (8, u32::MAX),
        _ => return Err(EventKindError::NoNumber { ty, member }),
    };
    if !is_number || extent.is_bitfield || !extent.bit_offset.0.is_multiple_of(8) {
        return Err(EventKindError::NoNumber { ty, member });
    }
    if value > max {
        return Err(EventKindError::TooLarge { ty, member, value });
    }
    let offset = usize::try_from(extent.bit_offset.0 / 8);
    let offset = offset.map_err(|_too_far| EventKindError::NoNumber { ty, member })?;
    Ok(KindField { offset, size, value })
}

fn text(name: &[u8]) -> Text {
    String::from_utf8_lossy(name).into_owned().into()
}

/// Reads a declaration: the map's name and the event.
fn declared(btf: &Btf<'_>, ty: TypeId) -> Option<(Vec<u8>, DeclaredEvent)> {
    let declaration = btf.strip(ty).ok().filter(|ty| ty.members().len() <= limits::EVENT_MEMBERS)?;
    let member = |name: &str| declaration.members().find(|m| m.name.as_bytes() == name.as_bytes());
    let pointee = |member: Member<'_>| btf.strip(btf.strip(member.ty).ok()?.target()?).ok();
    // The name of the only member of a struct.
    let name = |member: Member<'_>| {
        let name = pointee(member)?.members().next()?.name.as_bytes();
        (name.len() <= limits::EVENT_NAME_BYTES).then(|| name.to_vec())
    };
    let ty = btf.strip(member("event")?.ty).ok()?.array()?.element;
    let map = name(member("map")?)?;
    let kind = match (member("kind"), member("value")) {
        (None, None) => None,
        (Some(kind), Some(value)) => {
            Some(EventKind { member: name(kind)?, value: pointee(value)?.array()?.nelems })
        }
        _ => return None,
    };
    Some((map, DeclaredEvent { ty, kind }))
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        clippy::unwrap_in_result,
        clippy::arithmetic_side_effects,
        reason = "tests fail by panicking"
    )]

    use super::*;
    use alloc::{string::ToString as _, vec};
    use core_relo::{Endian, btf::Builder};

    /// Returns the number of events of an object with one declaration: a map's name, and members that the
    /// macros do not write.
    fn count(map: &str, further_members: usize) -> usize {
        let mut b = Builder::new(Endian::Little);
        let int = b.int("int", 4, Builder::SIGNED);
        let events = b.array(int, int, 0);
        let character = b.pointer(int);
        let name = b.structure("", 8, &[(map, character, 0)]);
        let pointer = b.pointer(name);
        let further = vec![("x", int, 0); further_members];
        let members: Vec<_> =
            [("event", events, 0), ("map", pointer, 0)].into_iter().chain(further).collect();
        let declaration = b.structure("", 8, &members);
        let variable = b.var("core_relo_event_0", declaration, 0);
        b.datasec(".core_relo.events", 8, &[(variable, 0, 8)]);
        let btf = Btf::parse(b.finish()).unwrap();
        declared_events(&btf).values().map(Vec::len).sum()
    }

    /// Returns the result for types with a kind in a member of type `int`, and the ids of the types.
    fn fields_of(events: &[(usize, &str, u32)]) -> Result<Vec<Option<KindField>>, EventKindError> {
        let mut b = Builder::new(Endian::Little);
        let int = b.int("int", 4, Builder::SIGNED);
        let byte = b.int("char", 1, 0);
        let pointer = b.pointer(int);
        let bytes = b.array(byte, int, 4);
        let members = [("kind", int, 0), ("byte", byte, 32), ("pointer", pointer, 64), ("bytes", bytes, 128)];
        let types = ["a", "b"].map(|name| b.structure(name, 24, &members));
        let btf = Btf::parse(b.finish()).unwrap();
        let event = |(ty, member, value): &(usize, &str, u32)| DeclaredEvent {
            ty: types[*ty],
            kind: (!member.is_empty())
                .then(|| EventKind { member: member.as_bytes().to_vec(), value: *value }),
        };
        kind_fields(&btf, &events.iter().map(event).collect::<Vec<_>>())
    }

    #[test]
    fn kinds_tell_the_records_of_a_map_apart() {
        let kind = |value| Some(KindField { offset: 0, size: 4, value });
        assert_eq!(fields_of(&[(0, "", 0)]), Ok(vec![None]));
        assert_eq!(fields_of(&[(0, "kind", 1), (1, "kind", 2)]), Ok(vec![kind(1), kind(2)]));
        assert_eq!(fields_of(&[(0, "kind", 1), (0, "kind", 1)]), Ok(vec![kind(1), kind(1)]));
        let byte = Some(KindField { offset: 4, size: 1, value: 1 });
        assert_eq!(fields_of(&[(0, "kind", 1), (1, "byte", 1)]), Ok(vec![kind(1), byte]));
        let errors = [
            (&[(0, "kind", 7), (1, "kind", 7)][..], "`a` and `b` have the same kind 7"),
            (&[(0, "kind", 7), (1, "", 0)], "it has several types: declare each with EVENT_KIND"),
            (&[(0, "none", 7)], "`a` has no member `none`"),
            (&[(0, "byte", 256)], "256 does not fit the member `byte` of `a`"),
            (&[(0, "pointer", 1)], "the member `pointer` of `a` is no integer or enum"),
            (&[(0, "bytes", 1)], "the member `bytes` of `a` is no integer or enum"),
        ];
        for (events, expected) in errors {
            assert_eq!(fields_of(events).unwrap_err().to_string(), expected);
        }
    }

    #[test]
    fn declarations_are_small() {
        assert_eq!(count("rb", 0), 1);
        assert_eq!(count(&"n".repeat(limits::EVENT_NAME_BYTES), 0), 1);
        assert_eq!(count(&"n".repeat(limits::EVENT_NAME_BYTES + 1), 0), 0);
        assert_eq!(count("rb", limits::EVENT_MEMBERS - 2), 1);
        assert_eq!(count("rb", limits::EVENT_MEMBERS - 1), 0);
    }
}
