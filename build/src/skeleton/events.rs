//! The event types of ring buffers and perf event arrays: from the options, and from the declarations of
//! `core_relo.h`.

use super::{code::Code, error::SkeletonError, identifier, options::Options, types::Types};
use alloc::collections::BTreeMap;
use core_relo::{
    TypeId,
    btf::{Btf, Kind, Type},
};
use core_relo_object::events::{DeclaredEvent, KindField, declared_events, kind_fields};

/// The declared events of the maps, by map name.
#[derive(Debug)]
pub(super) struct Events(BTreeMap<Vec<u8>, Vec<DeclaredEvent>>);

/// The Rust type of a map's events, and the enum to write if there are several types.
pub(super) struct EventType {
    pub(super) text: String,
    enumeration: Option<EventEnum>,
}

struct EventEnum {
    name: String,
    map: String,
    variants: Vec<Variant>,
}

/// A variant: its type, whose name the variant has, and the number in the type that tells the kind.
struct Variant {
    ty: String,
    offset: usize,
    /// The Rust type of the number.
    number: String,
    /// The numbers of the variant.
    values: Vec<u32>,
}

impl Events {
    pub(super) fn collect(btf: &Btf<'_>, options: &Options) -> Result<Self, SkeletonError> {
        let mut events = Self(declared_events(btf));
        for (map, name) in &options.events {
            let ty = find_type(btf, name)
                .ok_or_else(|| SkeletonError::NoSuchType { name: name.as_str().into() })?;
            events.0.insert(map.clone().into_bytes(), vec![DeclaredEvent::of_type(ty)]);
        }
        Ok(events)
    }

    /// Returns an error if events are declared for a map that is not in `maps`.
    pub(super) fn check_maps(&self, maps: &[&[u8]]) -> Result<(), SkeletonError> {
        match self.0.keys().find(|map| !maps.contains(&map.as_slice())) {
            Some(map) => {
                Err(SkeletonError::NoSuchMap { name: String::from_utf8_lossy(map).into_owned().into() })
            }
            None => Ok(()),
        }
    }

    /// Returns the type of a map's events. Without a declaration, events are bytes.
    pub(super) fn of_map(&self, map: &[u8], types: &mut Types<'_>) -> Result<EventType, SkeletonError> {
        let plain = |text: String| EventType { text, enumeration: None };
        match self.0.get(map).map(Vec::as_slice) {
            None | Some([]) => Ok(plain("Vec<u8>".into())),
            Some([DeclaredEvent { ty, kind: None, .. }]) => Ok(plain(types.of(*ty, map)?.text)),
            Some(several) => {
                let fields = kind_fields(types.btf(), several).map_err(|e| error(map, e.to_string()))?;
                let mut variants: Vec<Variant> = Vec::new();
                for (declared, field) in several.iter().zip(fields) {
                    let ty = types.of(declared.ty, map)?.text;
                    add_variant(&mut variants, variant(map, ty, field)?, map)?;
                }
                let map = String::from_utf8_lossy(map).into_owned();
                let name = types.take_name(identifier::type_name(format!("{map}_event").as_bytes()));
                Ok(EventType { text: name.clone(), enumeration: Some(EventEnum { name, map, variants }) })
            }
        }
    }
}

/// Adds a variant. A type that is declared for several kinds is one variant.
fn add_variant(variants: &mut Vec<Variant>, new: Variant, map: &[u8]) -> Result<(), SkeletonError> {
    match variants.iter_mut().find(|known| known.ty == new.ty) {
        None => variants.push(new),
        Some(known) if (known.offset, &known.number) == (new.offset, &new.number) => {
            known.values.extend(new.values);
        }
        Some(_) => return Err(error(map, format!("two members tell the kind of `{}`", new.ty))),
    }
    Ok(())
}

fn error(map: &[u8], problem: String) -> SkeletonError {
    let map = String::from_utf8_lossy(map).into_owned().into();
    SkeletonError::EventKind { map, problem: problem.into() }
}

fn variant(map: &[u8], ty: String, field: Option<KindField>) -> Result<Variant, SkeletonError> {
    let no_kind = || error(map, format!("`{ty}` has no kind"));
    let KindField { offset, size, value } = field.ok_or_else(no_kind)?;
    let number = match size {
        1 => "u8",
        2 => "u16",
        4 => "u32",
        _ => "u64",
    };
    Ok(Variant { ty, offset, number: number.to_owned(), values: vec![value] })
}

/// Finds a struct or union by its name, with or without the keyword, or by the name of a typedef.
pub(crate) fn find_type(btf: &Btf<'_>, name: &str) -> Option<TypeId> {
    let (keyword, name) =
        name.split_once(' ').map_or((None, name), |(keyword, name)| (Some(keyword), name.trim()));
    let fits = |ty: &Type<'_>| {
        let is_kind = match keyword {
            Some("struct") => ty.kind() == Kind::Struct,
            Some("union") => ty.kind() == Kind::Union,
            Some("enum") => ty.kind().is_enum(),
            Some(_) => false,
            None => ty.kind().is_composite() || ty.kind().is_enum() || ty.kind() == Kind::Typedef,
        };
        is_kind && ty.name().as_bytes() == name.as_bytes()
    };
    btf.types().find(fits).map(Type::id)
}

/// Writes the enum of a map with several types of events.
pub(super) fn write(code: &mut Code, event: &EventType) {
    let Some(EventEnum { name, map, variants }) = &event.enumeration else { return };
    code.line("");
    code.doc(format!("An event of the map `{map}`."));
    code.line("#[derive(Clone, Copy, Debug)]");
    code.block(format!("pub enum {name} {{"), "}", |code| {
        for variant in variants {
            code.line(format!("{0}({0}),", variant.ty));
        }
    });
    code.line("");
    code.block(format!("impl skeleton::Event for {name} {{"), "}", |code| {
        code.block("fn decode(record: &[u8]) -> Option<Self> {", "}", |code| {
            for Variant { ty, offset, number, values } in variants {
                let values: Vec<_> = values.iter().map(u32::to_string).collect();
                let is_kind = format!(
                    "matches!(record.get({offset}..).and_then(<{number} as ::core_relo_loader::Pod>::from_bytes), Some({}))",
                    values.join(" | ")
                );
                code.block(format!("if {is_kind} {{"), "}", |code| {
                    code.line(format!(
                        "return <{ty} as ::core_relo_loader::Pod>::from_bytes(record).map(Self::{ty});"
                    ));
                });
            }
            code.line("None");
        });
    });
}
