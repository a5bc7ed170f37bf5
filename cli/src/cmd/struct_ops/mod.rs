//! `struct_ops`: the structs of the kernel that programs implement.

mod facts;
mod programs;
mod register;

use crate::{
    args::{
        kernel_services::{StructOpsCommand, StructOpsDumpArgs},
        object_selector::ObjectSelector,
    },
    cmd::{map::short_text, rows::Rows},
    console::Console,
    error::{BadInput, CommandResult},
    format::Format,
    kernel_objects::{
        error::{object_name, unreadable},
        select::{Selector, select_or_all},
        text,
    },
    text::{
        hex,
        printer::LINE_BYTES,
        table::{left_cell, right_cell},
    },
};
use core_relo::btf::Value;
use core_relo_loader::inventory::{self, BtfCache, KernelObject, ObjectKind, ObjectSelection, ProgramNames};
use facts::{FactsContext, StructOpsFacts, StructOpsMap, kernel_struct_name};
use programs::{StructOpsProgram, programs};
use serde::Serialize;

const COLUMNS: &[&str] = &["ID", "NAME", "IMPLEMENTS", "STATE", "LINKS", "HELD BY"];

/// The selection of struct_ops maps, which `struct_ops list` lists.
struct StructOpsSelector<'a>(&'a ObjectSelector);

impl Selector for StructOpsSelector<'_> {
    fn selection(&self) -> Option<ObjectSelection> {
        self.0.selection()
    }

    fn command(&self, _kind: ObjectKind) -> &'static str {
        "struct_ops"
    }
}

/// The JSON line of `struct_ops dump`.
#[derive(Serialize)]
struct StructOpsValue<'a> {
    id: u32,
    name: String,
    kernel_struct_ops: Option<String>,
    value: Option<Value<'a>>,
    programs: Vec<StructOpsProgram>,
    value_bytes: String,
}

pub(crate) fn run(console: &mut Console<'_>, command: &StructOpsCommand) -> CommandResult {
    match command {
        StructOpsCommand::List(args) => list(console, args.format),
        StructOpsCommand::Show(args) => show(console, &args.selector, args.format),
        StructOpsCommand::Dump(args) => dump(console, args),
        StructOpsCommand::Register(args) => register::register(console, args),
        StructOpsCommand::Unregister(args) => register::unregister(console, args),
    }
}

fn list(console: &mut Console<'_>, format: Format) -> CommandResult {
    let facts = all_facts(inventory::list(ObjectKind::Map)?)?;
    let cells = |facts: &StructOpsFacts| {
        vec![
            right_cell(facts.id),
            left_cell(&facts.name),
            left_cell(facts.kernel_struct_ops.as_deref().unwrap_or("?")),
            left_cell(facts.state.as_deref().unwrap_or("?")),
            left_cell(text::ids_cell(&facts.link_ids)),
            left_cell(text::holders_cell(&facts.pids, &facts.pinned)),
        ]
    };
    let rows = Rows { columns: COLUMNS, rows: &facts, placeholder: "there are no struct_ops maps" };
    Ok(rows.write(console, format, cells)?)
}

/// Returns the facts of the struct_ops maps among maps.
fn all_facts(maps: Vec<KernelObject>) -> Result<Vec<StructOpsFacts>, BadInput> {
    let mut context = FactsContext::read()?;
    let mut found = Vec::new();
    for map in maps {
        if let Some(Ok(map)) = StructOpsMap::open(map)? {
            found.push(map.facts(&mut context)?);
        }
    }
    Ok(found)
}

/// Returns the selected maps, or all struct_ops maps. A selected map of another type is an error, unless a
/// map of the same name is a struct_ops map.
fn select_maps(selector: &ObjectSelector) -> Result<Vec<StructOpsMap>, BadInput> {
    let selector = &StructOpsSelector(selector);
    let (mut found, mut other) = (Vec::new(), None);
    for map in select_or_all(ObjectKind::Map, selector)? {
        match StructOpsMap::open(map)? {
            Some(Ok(map)) => found.push(map),
            Some(Err(bad)) => other = Some(bad),
            None => {}
        }
    }
    match (found.is_empty() && selector.selection().is_some(), other) {
        (true, Some(bad)) => Err(bad),
        (true, None) => Err(BadInput::new("map", "was removed before it could be read")),
        (false, _) => Ok(found),
    }
}

fn show(console: &mut Console<'_>, selector: &ObjectSelector, format: Format) -> CommandResult {
    let maps = select_maps(selector)?;
    let mut context = FactsContext::read()?;
    let facts = maps.iter().map(|map| map.facts(&mut context)).collect::<Result<Vec<_>, _>>()?;
    for facts in &facts {
        if format == Format::Json {
            console.out.json(facts)?;
            continue;
        }
        text::title(&mut console.out, facts.id, "struct_ops", &facts.name)?;
        text::optional_field(&mut console.out, "of", facts.kernel_struct_ops.as_ref())?;
        text::optional_field(&mut console.out, "state", facts.state.as_ref())?;
        if !facts.link_ids.is_empty() {
            text::field(&mut console.out, "links", text::ids_cell(&facts.link_ids))?;
        }
        text::holders(&mut console.out, &facts.pids, &facts.pinned)?;
    }
    Ok(())
}

fn dump(console: &mut Console<'_>, args: &StructOpsDumpArgs) -> CommandResult {
    let maps = select_maps(&args.selector)?;
    let (mut btfs, mut names) = (BtfCache::default(), ProgramNames::default());
    for map in &maps {
        let id = map.info.id;
        let value = match map.value() {
            Ok(value) => value,
            Err(e) => {
                console.report_error(&unreadable(ObjectKind::Map, id, "its value", e))?;
                continue;
            }
        };
        let ty = map.value_type(&mut btfs);
        let kernel_struct = ty.as_ref().and_then(kernel_struct_name);
        let programs = ty.as_ref().map_or_else(Vec::new, |ty| programs(ty, &value, &mut names));
        let ty = ty.filter(|_| !args.elements.hex);
        if args.elements.format == Format::Json {
            console.out.json(&StructOpsValue {
                id,
                name: map.info.name(),
                kernel_struct_ops: kernel_struct,
                value: ty.as_ref().map(|ty| ty.value(&value)),
                programs,
                value_bytes: hex::digits(&value),
            })?;
            continue;
        }
        text::title(
            &mut console.out,
            id,
            kernel_struct.as_deref().unwrap_or("struct_ops"),
            &map.info.name(),
        )?;
        let text = match &ty {
            Some(ty) => short_text(&ty.value(&value).text().types(args.elements.types), LINE_BYTES),
            None => hex::lines(&value),
        };
        console.out.formatted_lines(text.trim_start_matches('\n'))?;
        for StructOpsProgram { member, id, name } in programs {
            let program = object_name(ObjectKind::Program, id, name.as_deref().unwrap_or("gone"));
            console.out.line(format_args!(".{member}: {program}"))?;
        }
    }
    Ok(())
}
