//! The global variables of a skeleton.

use super::{
    code::Code,
    identifier::{self, Names},
    internal_name::is_internal_variable,
    types::Types,
};
use core_relo_object::{
    globals::{Global, GlobalKind},
    load_plan::InitialValues,
    object::Object,
};
use std::collections::HashMap;

/// A variable of a skeleton.
pub(super) struct GlobalField {
    field: String,
    /// The section and the name, as a Rust literal.
    path: String,
    section: String,
    ty: String,
    kind: GlobalKind,
}

impl GlobalField {
    /// Returns whether the variable has an initial value, which kconfig values have not.
    fn is_initial(&self) -> bool {
        self.kind != GlobalKind::Config
    }
}

/// Collects the variables of an object.
pub(super) fn collect(object: &Object<'_>, types: &mut Types<'_>) -> Vec<GlobalField> {
    let values = InitialValues::new(object);
    let mut uses: HashMap<(&str, &str), u32> = HashMap::new();
    for global in values.globals() {
        let count = uses.entry((&global.section, &global.name)).or_default();
        *count = count.wrapping_add(1);
    }
    let mut names = Names::default();
    let is_wanted = |global: &&Global| {
        // Two static variables of one name in one section cannot be told apart.
        let is_unique = uses.get(&(&*global.section, &*global.name)) == Some(&1);
        is_unique && global.kind != GlobalKind::StructOps && !is_internal_variable(&global.name)
    };
    let fields = values.globals().iter().filter(is_wanted).map(|global| {
        let name = global.name.as_bytes();
        let ty = match global.ty {
            Some(ty) => types.of_size(ty, global.size, name).text,
            None => format!("[u8; {}]", global.size),
        };
        GlobalField {
            field: names.take(identifier::value_name(name)),
            path: format!("{:?}", format!("{}/{}", global.section, global.name)),
            section: global.section.to_string(),
            ty,
            kind: global.kind,
        }
    });
    fields.collect()
}

/// Writes the structs of the variables, before and after the load.
pub(super) fn write(code: &mut Code, fields: &[GlobalField]) {
    let initial = || fields.iter().filter(|field| field.is_initial());
    code.line("");
    code.line("/// The initial values of the variables, before the load.");
    code.line("#[derive(Clone, Debug)]");
    code.block("pub struct OpenGlobals {", "}", |code| {
        for field in initial() {
            code.doc(format!("In `{}`.", field.section));
            code.line(format!("pub {}: skeleton::InitialValue<{}>,", field.field, field.ty));
        }
    });
    code.line("");
    code.block("impl OpenGlobals {", "}", |code| {
        let open = "fn new(loader: &Loader<'static, 'static>) -> Result<Self, skeleton::SkeletonError> {";
        code.block(open, "}", |code| {
            code.block("Ok(Self {", "})", |code| {
                for GlobalField { field, path, .. } in initial() {
                    code.line(format!("{field}: skeleton::InitialValue::new(loader, {path})?,"));
                }
            });
        });
        code.line("");
        let open =
            "fn apply(&self, loader: &mut Loader<'static, 'static>) -> Result<(), skeleton::SkeletonError> {";
        code.block(open, "}", |code| {
            for GlobalField { field, .. } in initial() {
                code.line(format!("self.{field}.apply(loader)?;"));
            }
            code.line("Ok(())");
        });
    });
    code.line("");
    code.line("/// The variables of the loaded object.");
    code.line("#[derive(Clone, Debug)]");
    code.block("pub struct Globals {", "}", |code| {
        for field in fields {
            code.doc(format!("In `{}`.", field.section));
            code.line(format!("pub {}: skeleton::{}<{}>,", field.field, handle(field.kind), field.ty));
        }
    });
    code.line("");
    code.block("impl Globals {", "}", |code| {
        code.block("fn new(loaded: &Arc<load::Loaded>) -> Self {", "}", |code| {
            code.block("Self {", "}", |code| {
                for GlobalField { field, path, kind, .. } in fields {
                    code.line(format!("{field}: skeleton::{}::new(loaded, {path}),", handle(*kind)));
                }
            });
        });
    });
}

/// Returns the loader's type of a variable after the load.
fn handle(kind: GlobalKind) -> &'static str {
    match kind {
        GlobalKind::Constant | GlobalKind::Config => "Constant",
        _ => "Variable",
    }
}
