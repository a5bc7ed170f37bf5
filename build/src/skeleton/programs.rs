//! The programs of a skeleton.

use super::{
    code::Code,
    identifier::{self, Names},
};
use core_relo_adaptive::variants::ObjectVariants;
use core_relo_object::object::{Object, Program, SectionTarget};

/// A program of a skeleton.
pub(super) struct ProgramField {
    field: String,
    /// The program's name in the object, as a Rust literal.
    name: String,
    section: String,
    /// The program's type.
    ty: String,
    is_optional: bool,
}

/// Collects the programs of an object. Those of its variants may be left out of a load.
pub(super) fn collect(object: &Object<'_>, variants: Option<&ObjectVariants>) -> Vec<ProgramField> {
    let mut names = Names::default();
    let programs = object.programs().iter().filter(|program| !program.is_subprogram);
    let fields = programs.filter_map(|program| {
        // The loader finds programs by name. Names that are not UTF-8 cannot be asked for.
        let name = core::str::from_utf8(program.name()).ok()?;
        let target = if has_target(program) { "InSection" } else { "NoTarget" };
        Some(ProgramField {
            field: names.take(identifier::value_name(program.name())),
            name: format!("{name:?}"),
            section: String::from_utf8_lossy(program.section).into_owned(),
            ty: format!("skeleton::Program<skeleton::{target}>"),
            is_optional: !program.autoload() || variants.is_some_and(|variants| variants.may_leave_out(name)),
        })
    });
    fields.collect()
}

/// Writes the structs of the programs, before and after the load.
pub(super) fn write(code: &mut Code, fields: &[ProgramField]) {
    code.line("");
    code.line("/// The settings of the programs, before the load.");
    code.line("#[derive(Clone, Debug, Default)]");
    code.block("pub struct OpenPrograms {", "}", |code| {
        for field in fields {
            code.doc(format!("`SEC(\"{}\")`", field.section));
            code.line(format!("pub {}: load_plan::ProgramSettings,", field.field));
        }
    });
    code.line("");
    code.block("impl OpenPrograms {", "}", |code| {
        code.block("fn apply(&self, settings: &mut load_plan::Settings) {", "}", |code| {
            for ProgramField { field, name, .. } in fields {
                code.line(format!("settings.program_mut({name}).override_with(&self.{field});"));
            }
        });
    });
    code.line("");
    code.line("/// The loaded programs.");
    code.line("#[derive(Clone, Debug)]");
    code.block("pub struct Programs {", "}", |code| {
        for field in fields {
            let optional = if field.is_optional { ", `None` if it was not selected" } else { "" };
            code.doc(format!("`SEC(\"{}\")`{optional}", field.section));
            let ty = &field.ty;
            let ty = if field.is_optional { format!("Option<{ty}>") } else { ty.clone() };
            code.line(format!("pub {}: {ty},", field.field));
        }
    });
    code.line("");
    code.block("impl Programs {", "}", |code| {
        code.block("fn new(loaded: &Arc<load::Loaded>) -> Self {", "}", |code| {
            code.block("Self {", "}", |code| {
                for ProgramField { field, name, is_optional, .. } in fields {
                    let new = if *is_optional { "optional" } else { "new" };
                    code.line(format!("{field}: skeleton::Program::{new}(loaded, {name}),"));
                }
            });
        });
    });
}

/// Returns whether the section of a program names its target.
fn has_target(program: &Program<'_>) -> bool {
    let section = core::str::from_utf8(program.section_name()).ok();
    let target = section.and_then(|section| SectionTarget::parse(section).ok()).flatten();
    target.is_some_and(|target| target != SectionTarget::Nothing)
}
