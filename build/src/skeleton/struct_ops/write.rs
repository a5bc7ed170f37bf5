//! The text of the struct_ops maps before the load.

use super::{Function, Table, Tables};
use crate::skeleton::code::Code;

/// Writes the tables before the load, and the enum of their programs.
pub(in crate::skeleton) fn write(code: &mut Code, tables: &Tables) {
    let name = tables.struct_name();
    code.line("");
    code.line("/// The tables of the struct_ops maps, before the load.");
    code.line("#[derive(Clone, Debug)]");
    code.block(format!("pub struct {name} {{"), "}", |code| {
        for Table { field, c_type, struct_name, .. } in tables.iter() {
            code.doc(format!("`struct {c_type}`"));
            code.line(format!("pub {field}: {struct_name},"));
        }
    });
    code.line("");
    code.block(format!("impl {name} {{"), "}", |code| {
        write_new(code, |code| {
            for Table { field, struct_name, .. } in tables.iter() {
                code.line(format!("{field}: {struct_name}::new(loader)?,"));
            }
        });
        write_apply(code, |code| {
            for Table { field, .. } in tables.iter() {
                code.line(format!("self.{field}.apply(loader)?;"));
            }
        });
    });
    tables.iter().for_each(|table| write_table(code, table, tables));
    write_programs(code, tables);
}

/// Writes the struct of a table. It dereferences to the values of the members that are no pointers.
fn write_table(code: &mut Code, table: &Table, tables: &Tables) {
    let Table { name, path, struct_name, values, values_type, functions, c_type, .. } = table;
    let program_enum = &tables.program_enum;
    code.line("");
    code.doc(format!(
        "The struct_ops map `{name}` before the load: the programs of its members. It dereferences to the other members of `struct {c_type}`."
    ));
    code.line("#[derive(Clone, Debug)]");
    code.block(format!("pub struct {struct_name} {{"), "}", |code| {
        code.line(format!("{values}: skeleton::InitialValue<{values_type}>,"));
        for Function { field, .. } in functions {
            code.line(format!("pub {field}: Option<{program_enum}>,"));
        }
    });
    code.line("");
    code.block(format!("impl {struct_name} {{"), "}", |code| {
        write_new(code, |code| {
            code.line(format!("{values}: skeleton::InitialValue::new(loader, {path})?,"));
            for function in functions {
                code.line(format!("{}: {},", function.field, tables.initial(function)));
            }
        });
        write_apply(code, |code| {
            code.line(format!("self.{values}.apply(loader)?;"));
            for function in functions {
                let Function { field, member, .. } = function;
                // An unchanged member leaves the choice to the settings of the map, and to the variants of
                // the object.
                code.block(format!("if self.{field} != {} {{", tables.initial(function)), "}", |code| {
                    let program = format!("self.{field}.map(|program| program.name().to_owned())");
                    let programs = format!("loader.map_mut({name:?}).programs");
                    code.line(format!("{programs}.insert({member:?}.to_owned(), {program});"));
                });
            }
        });
    });
    code.line("");
    code.block(format!("impl ::core::ops::Deref for {struct_name} {{"), "}", |code| {
        code.line(format!("type Target = {values_type};"));
        code.line("");
        code.block("fn deref(&self) -> &Self::Target {", "}", |code| code.line(format!("&self.{values}")));
    });
    code.line("");
    code.block(format!("impl ::core::ops::DerefMut for {struct_name} {{"), "}", |code| {
        code.block("fn deref_mut(&mut self) -> &mut Self::Target {", "}", |code| {
            code.line(format!("&mut self.{values}"));
        });
    });
}

/// Writes the enum of the programs that tables can contain.
fn write_programs(code: &mut Code, tables: &Tables) {
    let Tables { program_enum, variants, .. } = tables;
    code.line("");
    code.line("/// A program in a section `struct_ops`, for the members of tables.");
    code.line("#[derive(Clone, Copy, Debug, PartialEq, Eq)]");
    code.block(format!("pub enum {program_enum} {{"), "}", |code| {
        for variant in variants.values() {
            code.line(format!("{variant},"));
        }
    });
    code.line("");
    code.block(format!("impl {program_enum} {{"), "}", |code| {
        code.line("/// Returns the program's name.");
        code.block("pub fn name(self) -> &'static str {", "}", |code| {
            code.block("match self {", "}", |code| {
                for (name, variant) in variants {
                    code.line(format!("Self::{variant} => {name:?},"));
                }
            });
        });
    });
}

/// Writes a function that creates the struct from a loader. `fields` writes the fields.
fn write_new(code: &mut Code, fields: impl FnOnce(&mut Code)) {
    let open = "fn new(loader: &Loader<'static, 'static>) -> Result<Self, skeleton::SkeletonError> {";
    code.block(open, "}", |code| code.block("Ok(Self {", "})", fields));
    code.line("");
}

/// Writes a method that gives the struct to a loader. `body` writes the statements.
fn write_apply(code: &mut Code, body: impl FnOnce(&mut Code)) {
    let open =
        "fn apply(&self, loader: &mut Loader<'static, 'static>) -> Result<(), skeleton::SkeletonError> {";
    code.block(open, "}", |code| {
        body(code);
        code.line("Ok(())");
    });
}

impl Tables {
    /// Returns the name of the struct with all tables.
    pub(in crate::skeleton) fn struct_name(&self) -> &str {
        &self.struct_name
    }

    /// Returns the program that a member has in the object, as an expression.
    fn initial(&self, function: &Function) -> String {
        let variant = function.program.as_ref().and_then(|program| self.variants.get(program));
        variant.map_or("None".to_owned(), |variant| format!("Some({}::{variant})", self.program_enum))
    }
}
