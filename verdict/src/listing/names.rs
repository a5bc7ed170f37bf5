//! The names in requirements.

use crate::requirements::Need;
use core_relo::{Name, explain};

/// Returns the name in a requirement.
pub(super) fn need_name(need: &Need) -> String {
    let name = |bytes: &[u8]| explain::text(Name::new(bytes).shortened());
    match need {
        Need::Helper { helper, .. } => match helper.name() {
            Some(name) => format!("bpf_{name}"),
            None => format!("unknown({})", helper.0),
        },
        Need::Kfunc(declaration)
        | Need::KfuncCall { name: declaration, .. }
        | Need::Variable(declaration) => name(declaration),
        Need::Symbol(symbol) => name(symbol.as_bytes()),
        Need::StructOps(structs) => name(structs.as_bytes()),
        Need::Kconfig(option) => name(option.as_bytes()),
        _ => need.text(),
    }
}

/// Returns a name from the object as text that is safe to print.
pub(super) fn escaped(name: &[u8]) -> String {
    Name::new(name).to_string()
}

/// Returns the word for the kind of an extern.
pub(super) const fn extern_kind(need: &Need) -> &'static str {
    match need {
        Need::Kfunc(_) => "kfunc",
        Need::Variable(_) => "variable",
        Need::Kconfig(_) => "kconfig",
        _ => "symbol",
    }
}
