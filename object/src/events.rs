//! The types of the records of ring buffers and perf event arrays. The macros `EVENT_TYPE` and `EVENT_KIND` of `core_relo.h` declare
//! them.

use crate::limits;
use alloc::collections::BTreeMap;
use core_relo::{
    TypeId,
    btf::{Btf, Kind, Member, Type},
};

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
    #![allow(clippy::unwrap_used, clippy::arithmetic_side_effects, reason = "tests fail by panicking")]

    use super::*;
    use alloc::{vec, vec::Vec};
    use core_relo::{Endian, btf::Builder};

    /// Returns the number of events of an object with one declaration: a map's name, and members that the macros do not write.
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

    #[test]
    fn declarations_are_small() {
        assert_eq!(count("rb", 0), 1);
        assert_eq!(count(&"n".repeat(limits::EVENT_NAME_BYTES), 0), 1);
        assert_eq!(count(&"n".repeat(limits::EVENT_NAME_BYTES + 1), 0), 0);
        assert_eq!(count("rb", limits::EVENT_MEMBERS - 2), 1);
        assert_eq!(count("rb", limits::EVENT_MEMBERS - 1), 0);
    }
}
