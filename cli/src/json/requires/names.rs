//! The names in requirements.

use core_relo::{Name, explain};
use core_relo_verdict::requirements::Need;

/// Returns the name in a requirement.
pub(super) fn need_name(need: &Need) -> String {
    let name = |bytes: &[u8]| explain::text(Name::new(bytes).shortened());
    match need {
        Need::Helper { helper, .. } => match helper.name() {
            Some(name) => format!("bpf_{name}"),
            None => format!("unknown({})", helper.0),
        },
        Need::Kfunc(bytes)
        | Need::KfuncCall { name: bytes, .. }
        | Need::Symbol(bytes)
        | Need::Variable(bytes)
        | Need::StructOps(bytes) => name(bytes),
        Need::Kconfig(option) => name(option.as_bytes()),
        _ => need.text(),
    }
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
