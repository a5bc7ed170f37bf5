//! Calls with the context, or with something else in its place, that every kernel refuses.

use super::{
    extern_need::ExternNeed,
    global_functions::{GlobalFunctions, Parameter},
    need::{Need, NeedTable, helper_text},
    site::Site,
};
use crate::{
    kernel::{ContextArgument, PassedValue},
    reads::{ContextCallee, TracedArgument, kfunc_takes_context},
};
use core_relo::{Name, explain::text};
use core_relo_object::object::{ProgramType, SecDef};

/// Returns the calls that the kernel refuses because of an argument. `functions` are the program's global
/// functions, if its object has BTF.
pub(super) fn context_argument_sites(
    arguments: &[TracedArgument],
    def: Option<&SecDef>,
    functions: Option<&GlobalFunctions<'_>>,
    externs: &[ExternNeed],
    table: &mut NeedTable,
) -> Vec<Site> {
    // The first argument of an extension may be other memory.
    let Some(def) = def.filter(|def| def.program_type != ProgramType::Ext) else { return Vec::new() };
    let mut sites = Vec::new();
    for TracedArgument { insn, callee, value } in arguments {
        let is_context = matches!(value, PassedValue::Context);
        let found = match callee {
            ContextCallee::Helper(helper) => {
                (!is_context).then(|| ContextArgument::Expected(helper_text(*helper).into(), *value))
            }
            ContextCallee::Kfunc(called) if !is_context && is_network(def.program_type) => {
                context_kfunc(externs, called.0, table)
                    .map(|name| ContextArgument::Expected(name.into(), *value))
            }
            ContextCallee::Kfunc(_) => None,
            ContextCallee::Function { start, parameter } => functions.and_then(|functions| {
                match functions.parameter(*start, *parameter) {
                    // For values of maps, see the uses of maps.
                    Parameter::Context if !is_context && *value != PassedValue::MapValue => {
                        Some(ContextArgument::ExpectedByFunction(*value))
                    }
                    Parameter::Memory | Parameter::Dynptr if is_context && functions.has_context_type() => {
                        Some(ContextArgument::Unexpected)
                    }
                    _ => None,
                }
            }),
        };
        sites.extend(
            found.map(|argument| Site { insn: *insn, need: table.add(Need::ContextArgument(argument)) }),
        );
    }
    sites
}

/// Returns a kernel function that takes the context, as a noun phrase.
fn context_kfunc(externs: &[ExternNeed], index: usize, table: &NeedTable) -> Option<String> {
    match table.get(externs.get(index)?.id)? {
        Need::Kfunc(name) if kfunc_takes_context(name) => {
            Some(format!("kfunc {}", text(Name::new(name).shortened())))
        }
        _ => None,
    }
}

/// Returns whether the context of programs of a type is a packet for the kernel's functions.
const fn is_network(program_type: ProgramType) -> bool {
    matches!(program_type, ProgramType::SchedCls | ProgramType::SchedAct | ProgramType::Xdp)
}
