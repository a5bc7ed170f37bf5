//! `map getnext`: the key after a key.

use super::element::{MapElements, unreadable_type};
use crate::{
    args::map_elements::MapGetnextArgs, console::Console, error::CommandResult, format::Format,
    kernel_objects::select::select_one, text::hex,
};
use core_relo::btf::Value;
use core_relo_loader::inventory::{BtfCache, ObjectKind};
use serde::Serialize;

/// The JSON line of a next key.
#[derive(Serialize)]
struct NextKey<'a> {
    map_id: u32,
    key_bytes: Option<String>,
    /// `null` after the last key.
    next_key: Option<Value<'a>>,
    next_key_bytes: Option<String>,
}

pub(super) fn run(console: &mut Console<'_>, args: &MapGetnextArgs) -> CommandResult {
    let (selector, words) = args.map.split()?;
    let (id, fd) = select_one(ObjectKind::Map, &selector)?;
    let elements = MapElements::new(id, &fd, &args.elements, &mut BtfCache::default())?;
    print_next(console, &elements, words, args.elements.format)
}

fn print_next(
    console: &mut Console<'_>,
    elements: &MapElements<'_>,
    words: &[String],
    format: Format,
) -> CommandResult {
    if let Some((reason, help)) = unreadable_type(elements.map_type()) {
        return Err(elements.bad_input(reason, help).into());
    }
    if elements.shape.key_size() == 0 {
        let help = "`core-relo map peek` shows its next element";
        return Err(elements.bad_input("has no keys", help).into());
    }
    let key = if words.is_empty() { None } else { Some(elements.parse_key(words)?) };
    let mut next = vec![0; elements.shape.key_size()];
    let found = elements.shape.next_key(key.as_deref(), &mut next).map_err(|e| elements.refusal(e))?;
    let next = found.then_some(next);
    match (format, &next) {
        (Format::Json, next) => {
            console.out.json(&NextKey {
                map_id: elements.info.id,
                key_bytes: key.as_deref().map(hex::digits),
                next_key: next.as_deref().and_then(|next| elements.typed_key(next)),
                next_key_bytes: next.as_deref().map(hex::digits),
            })?;
        }
        (Format::Text, Some(next)) => console.out.line(format_args!("[{}]", elements.key_text(next)))?,
        (Format::Text, None) => {}
    }
    match (next, key) {
        (Some(_), _) => Ok(()),
        (None, None) => Ok(elements.report_unmet(console, "is empty")?),
        (None, Some(key)) => {
            let what = format!("no key after [{}]", elements.key_text(&key).trim_start());
            Ok(elements.report_unmet(console, &what)?)
        }
    }
}
