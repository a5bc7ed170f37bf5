//! `map lookup`: one element of a map.

use super::element::{ElementError, MapElements, unreadable_type};
use crate::{
    args::kernel_objects::MapLookupArgs,
    console::{Console, ExitStatus},
    kernel_objects::{btf_cache::BtfCache, kind::Kind, select::select},
    text::{line::Line, style},
    value_parser::key::parse_key,
};
use core_relo_loader::{object::MapType, sys};
use std::io;

pub(super) fn run(console: &mut Console<'_>, args: &MapLookupArgs) -> io::Result<()> {
    let (selector, key) = match args.selector_and_key() {
        Ok(parts) => parts,
        Err(bad) => return console.report_error(&bad),
    };
    let maps = match select(Kind::Map, &selector) {
        Ok(maps) => maps,
        Err(bad) => return console.report_error(&bad),
    };
    let is_only_map = maps.len() == 1;
    let mut btfs = BtfCache::default();
    for map in maps {
        let id = map.id;
        let fd = match map.open() {
            Ok(Some(fd)) => fd,
            Ok(None) => continue,
            Err(bad) => return console.report_error(&bad),
        };
        let elements = MapElements::new(&fd, &args.elements, &mut btfs).map_err(ElementError::Kernel);
        let looked_up = elements.and_then(|elements| {
            elements.note_unreadable_types(console)?;
            if !is_only_map {
                elements.title(console)?;
            }
            look_up(console, &elements, key)
        });
        if let Err(e) = looked_up {
            e.report(console, id)?;
        }
    }
    Ok(())
}

fn look_up(
    console: &mut Console<'_>,
    elements: &MapElements<'_>,
    words: &[String],
) -> Result<(), ElementError> {
    if let Some((reason, help)) = unreadable_type(elements.map_type()) {
        return Err(elements.bad_input(reason, help));
    }
    let ty = elements.key_type.as_ref().map(|ty| (&*ty.btf, ty.id));
    let key = parse_key(words, elements.shape.key_size(), ty).map_err(|what| {
        elements.bad_input(&format!("key: {what}"), "`core-relo map dump` prints its keys")
    })?;
    let mut value = vec![0; elements.shape.value_size()];
    match sys::map_lookup(elements.shape, &key, &mut value, 0) {
        Ok(()) => Ok(elements.write(&mut console.out, &key, Some(&value))?),
        Err(e) if e.name() == Some("ENOENT") => {
            elements.write(&mut console.out, &key, None)?;
            console.raise_exit(ExitStatus::Incompatible);
            let what = match (&*key, is_array(elements.map_type())) {
                ([], _) => "is empty".to_owned(),
                (key, true) => {
                    let last = elements.info.max_entries.saturating_sub(1);
                    format!("no element [{}], or it is empty: it has [0] to [{last}]", elements.key_text(key))
                }
                (key, false) => format!("no element [{}]", elements.key_text(key).trim_start()),
            };
            let line = Line::new().styled(style::ERROR, "core-relo");
            Ok(console.err.line(line.text(format_args!(": {}: {what}", elements.name())))?)
        }
        Err(e) => Err(elements.refusal(e)),
    }
}

/// Returns whether the keys of a map are indices.
fn is_array(map_type: Option<MapType>) -> bool {
    matches!(
        map_type,
        Some(MapType::Array | MapType::PercpuArray | MapType::ProgArray | MapType::ArrayOfMaps)
    )
}
