//! Forward declarations whose definition is in another unit of the shard.

use crate::{
    error::EncodeError,
    graph::{Record, Records, TypeRef},
    names::{NameId, Names},
};
use core_relo::{
    InternalError,
    btf::{Btf, Kind},
    internal::Invariant as _,
};
use hashbrown::HashMap;

/// The kind and name of a struct or union.
type Tag<'s> = (Kind, &'s [u8]);

/// The definitions of a struct or union in all shards and the base.
enum Definitions<'s> {
    /// None yet.
    None,
    /// All have the same size and the same members at the same places.
    Alike(Layout<'s>),
    /// Nobody can know which of them a forward declaration means.
    Different,
}

/// The size of a struct or union, and its members' names and places.
#[derive(PartialEq, Eq)]
struct Layout<'s> {
    /// The info word: the kind, the number of members and the flag.
    info: u32,
    size: u32,
    /// The name and the word with offset and width of each member.
    members: Vec<(&'s [u8], u32)>,
}

impl<'s> Definitions<'s> {
    fn add(&mut self, layout: Layout<'s>) {
        *self = match core::mem::replace(self, Self::Different) {
            Self::None => Self::Alike(layout),
            Self::Alike(known) if known == layout => Self::Alike(known),
            _ => Self::Different,
        };
    }
}

/// Lets types refer to the definition of a struct or union in their shard, instead of to a forward
/// declaration.
///
/// A unit has either the declaration or the definition of a type, but the units of a shard together may have
/// both. libbpf's deduplication compares graphs of units: graphs differ if one type of a graph corresponds to
/// two of the other. So all types that reach both would be written once per shard. Names with different
/// definitions keep their declarations.
pub(crate) fn resolve_forwards<'s>(
    shards: &mut [(&Names<'s>, &mut Records)],
    base: Option<&'s Btf<'_>>,
) -> Result<(), EncodeError> {
    let mut definitions: HashMap<Tag<'s>, Definitions<'s>> = HashMap::new();
    for (names, records) in &*shards {
        for record in records.iter() {
            let record = record?;
            if record.kind() == Kind::Fwd {
                definitions.entry(tag(names, record)?).or_insert(Definitions::None);
            }
        }
    }
    for ty in base.into_iter().flat_map(Btf::all_types).filter(|ty| ty.kind().is_composite()) {
        let Some(known) = definitions.get_mut(&(ty.kind(), ty.name().as_bytes())) else { continue };
        let flag = u32::from(ty.kflag());
        let place = |offset: u32, bits: u32| if ty.kflag() { (bits << 24) | offset } else { offset };
        known.add(Layout {
            info: (flag << 31) | (u32::from(ty.kind().raw()) << 24) | ty.vlen(),
            size: ty.size_or_type(),
            members: ty
                .members()
                .map(|member| (member.name.as_bytes(), place(member.bit_offset.0, member.bitfield_bits)))
                .collect(),
        });
    }
    for (names, records) in &*shards {
        for record in records.iter() {
            let record = record?;
            if record.is_named_composite()
                && let Some(known) = definitions.get_mut(&tag(names, record)?)
            {
                known.add(layout(names, record)?);
            }
        }
    }
    definitions.retain(|_, known| matches!(known, Definitions::Alike(_)));
    for (names, records) in shards {
        resolve_in_shard(names, records, &definitions)?;
    }
    Ok(())
}

fn resolve_in_shard<'s>(
    names: &Names<'s>,
    records: &mut Records,
    unambiguous: &HashMap<Tag<'s>, Definitions<'s>>,
) -> Result<(), EncodeError> {
    // `None` where the shard has several definitions: they refer to different types.
    let mut own: HashMap<Tag<'s>, Option<TypeRef>> = HashMap::new();
    for (reference, record) in (1..).zip(records.iter()) {
        let record = record?;
        if !record.is_named_composite() {
            continue;
        }
        let tag = tag(names, record)?;
        if unambiguous.contains_key(&tag) {
            own.entry(tag).and_modify(|known| *known = None).or_insert(Some(reference));
        }
    }
    let mut resolved: HashMap<TypeRef, TypeRef> = HashMap::new();
    for (reference, record) in (1..).zip(records.iter()) {
        let record = record?;
        if record.kind() == Kind::Fwd
            && let Some(definition) = own.get(&tag(names, record)?).copied().flatten()
        {
            resolved.insert(reference, definition);
        }
    }
    if resolved.is_empty() {
        return Ok(());
    }
    for index in 0..records.len() {
        for at in records.get(index)?.type_words() {
            if let Some(definition) = resolved.get(&records.get(index)?.word(at)?) {
                records.set(index, at, *definition)?;
            }
        }
    }
    Ok(())
}

/// Returns the kind and name of a struct, a union, or a forward declaration of one.
fn tag<'s>(names: &Names<'s>, record: Record<'_>) -> Result<Tag<'s>, InternalError> {
    Ok((record.tag_kind(), names.get(record.name)?))
}

fn layout<'s>(names: &Names<'s>, record: Record<'_>) -> Result<Layout<'s>, InternalError> {
    let members = record.words().get(3..).map(<[u32]>::as_chunks::<3>);
    let (members, _) = members.filter(|(_, rest)| rest.is_empty()).invariant("a member has three words")?;
    let members = members.iter().map(|[name, _, place]| Ok((names.get(NameId(*name))?, *place)));
    Ok(Layout {
        info: record.info,
        size: record.word(2)?,
        members: members.collect::<Result<_, InternalError>>()?,
    })
}
