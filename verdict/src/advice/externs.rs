//! Advice on kfuncs, kernel variables, kernel symbols and configuration values.

use super::{
    Advisor,
    c_line::{CLine, split_arguments},
    fix::{Fix, FixLanguage, FixPlace},
    line_guard::LineGuard,
};
use crate::{
    judge::Reason,
    kernel::{KfuncCall, depends_on_attach_type, kfunc_program_types, needs_device},
    requirements::{Need, NeedId, ProgramNeeds},
    source_line::SourceLine,
};
use core_relo::{
    Name, TypeId,
    btf::{Btf, Kind},
    explain::CType,
};
use core_relo_object::{
    ExternIndex,
    link::{ExternBinding, ExternEntry, RefTarget},
    load_plan::KfuncReplacement,
};

/// The program types that a fix names.
const NAMED_TYPES: usize = 6;

/// Returns the fixes of a missing extern.
pub(super) fn fixes(
    advisor: &mut Advisor<'_, '_>,
    program: &ProgramNeeds,
    need: NeedId,
    reason: &Reason,
) -> Vec<Fix> {
    let Some(index) = advisor.extern_index(need) else { return Vec::new() };
    let Some(entry) = advisor.needs.linker.externs().get(index) else { return Vec::new() };
    let (Some(btf), Ok(name)) = (advisor.needs.object.btf(), core::str::from_utf8(entry.name)) else {
        return Vec::new();
    };
    let is_weak = entry.is_weak;
    if let ExternBinding::Config(_) = entry.binding {
        let kconfig = advisor.answers.facts.unreadable_option(name).map(|_| {
            let text = "give the kernel's configuration; its lines count as those of the kernel";
            Fix::new(FixLanguage::Shell, FixPlace::Command, text, "--kconfig FILE".to_owned())
        });
        return match declaration(btf, entry, name) {
            Some(declaration) if !is_weak => {
                let text = format!(
                    "declare `{name}` weak; its value is 0 where the kernel has no such configuration value"
                );
                let weak = Fix { code: None, ..Fix::c(FixPlace::Extern, text, "") };
                kconfig.into_iter().chain([weak.with_declaration(declaration)]).collect()
            }
            // A value that does not fit its type is a reason of the object, with a fix of its own.
            _ => kconfig.into_iter().collect(),
        };
    }
    if let Some(Need::Symbol(symbol)) = advisor.answers.need(need)
        && advisor.answers.facts.ambiguous_symbol(symbol).is_some()
    {
        return vec![Fix::without_code(format!(
            "`__weak` does not help: no loader chooses among several symbols `{name}` by itself; core-relo takes the address that --ksym or \
             `Settings::ksyms` chooses. Or name another symbol, or let user space find the address and put it into a global variable"
        ))];
    }
    let is_function = matches!(entry.binding, ExternBinding::Function(_));
    let used_at = reason.source.clone().or_else(|| advisor.first_use(program, index));
    let declaration = declaration(btf, entry, name).filter(|_| !is_weak);
    let kernel: &Btf<'_> = &advisor.plan.target().vmlinux().btf;
    if let Some(fix) = implicit_argument_fix(btf, kernel, entry).or_else(|| forward_fix(btf, kernel, entry)) {
        return vec![fix];
    }
    let replacement = replacement_fix(btf, kernel, entry, used_at.as_ref());
    let other = replacement.or_else(|| prototype_fix(btf, kernel, entry));
    let guards = use_fixes(name, is_function, declaration.as_deref(), used_at.as_ref());
    other.into_iter().chain(guards).collect()
}

/// Returns the advice for a kfunc whose declaration has the kernel's text, but names a struct that the object
/// only declares. libbpf takes a forward declaration for another type than the struct.
fn forward_fix(btf: &Btf<'_>, kernel: &Btf<'_>, entry: &ExternEntry<'_>) -> Option<Fix> {
    let ExternBinding::Function(proto) = entry.binding else { return None };
    let name = Name::new(entry.name).essential();
    kernel.find(name.as_bytes(), Kind::Func)?;
    let proto = btf.ty(proto)?;
    let pointees = proto.params().into_iter().map(|parameter| parameter.ty).chain(proto.target());
    let mut types = pointees.filter_map(|ty| btf.strip(btf.strip(ty).ok()?.target()?).ok());
    let forward = types.find(|ty| ty.kind() == Kind::Fwd)?;
    let (name, ty) = (name.shortened(), CType::new(btf, forward.id()));
    Some(Fix::without_code(format!(
        "the object only declares `{ty}`, which libbpf takes for another type than the kernel's: include vmlinux.h, or define `{ty}` with \
         any member before the declaration of {name}"
    )))
}

/// Returns the fix that declares a kfunc as the kernel has it, if the kernel has the function with another
/// prototype. A guard alone skips the call on such kernels.
fn prototype_fix(btf: &Btf<'_>, kernel: &Btf<'_>, entry: &ExternEntry<'_>) -> Option<Fix> {
    let ExternBinding::Function(_) = entry.binding else { return None };
    let own = core::str::from_utf8(entry.name).ok()?;
    let name = core::str::from_utf8(Name::new(entry.name).essential().as_bytes()).ok()?;
    let proto = kernel.ty(kernel.find(name.as_bytes(), Kind::Func)?.target()?)?.id();
    let other = format!("{name}___other");
    let declared = format!("extern {} __ksym __weak;", function_declarator(kernel, proto, &other)?);
    if own == other || declaration(btf, entry, &other)? == declared {
        return None;
    }
    let own_declaration = declaration(btf, entry, own)?;
    let text = format!(
        "declare `{name}` as this kernel has it, too, and call `{other}` with its arguments where this condition holds, and `{own}` elsewhere"
    );
    let fix = Fix::c(FixPlace::Condition, text, format!("bpf_ksym_exists({other})"));
    Some(fix.with_declaration(format!("{declared}\n{own_declaration}")))
}

/// Returns the advice for a function whose BTF in the kernel has an argument that the verifier passes,
/// although programs declare the function without it. Linux since 7.0 removes such arguments from its BTF;
/// with an older pahole, its build does not.
fn implicit_argument_fix(btf: &Btf<'_>, kernel: &Btf<'_>, entry: &ExternEntry<'_>) -> Option<Fix> {
    let ExternBinding::Function(declared) = entry.binding else { return None };
    let name = Name::new(entry.name).essential();
    let function = kernel.find(name.as_bytes(), Kind::Func)?;
    let parameters = kernel.ty(function.target()?)?.params();
    let is_added = btf.ty(declared)?.params().len().checked_add(1)? == parameters.len();
    let last = parameters.last().filter(|_| is_added)?;
    let pointee = kernel.strip(kernel.strip(last.ty).ok()?.target()?).ok()?;
    let (name, argument) = (name.shortened(), last.name.shortened());
    (pointee.name().as_bytes() == b"bpf_prog_aux").then(|| {
        Fix::without_code(format!(
            "the declaration is that of the kernel's source, and the kernel's BTF is wrong: it shows the implicit argument `{argument}`, \
             which the verifier passes. The kernel was built with a pahole before 1.31, which does not remove such arguments: build \
             it with a newer one. A weak declaration would only skip the call of {name} on this kernel"
        ))
    })
}

/// Returns the fix that calls the kernel's function of another name, if the kernel has one that does the job
/// of a missing kfunc.
fn replacement_fix(
    btf: &Btf<'_>,
    kernel: &Btf<'_>,
    entry: &ExternEntry<'_>,
    used_at: Option<&SourceLine>,
) -> Option<Fix> {
    let ExternBinding::Function(proto) = entry.binding else { return None };
    let flavour = core::str::from_utf8(entry.name).ok()?;
    let name = core::str::from_utf8(Name::new(entry.name).essential().as_bytes()).ok()?;
    let replacement = KfuncReplacement::find(kernel, name, btf.ty(proto)?)?;
    let other = replacement.name.as_str();
    let text = replacement.to_string();
    let proto = kernel.ty(replacement.type_id)?.target()?;
    let declarator = function_declarator(kernel, proto, other);
    let mut declarations: Vec<_> =
        declarator.map(|declarator| format!("extern {declarator} __ksym __weak;")).into_iter().collect();
    if !entry.is_weak {
        declarations.extend(declaration(btf, entry, flavour));
    }
    let called = used_at.and_then(|source| {
        let line = CLine::new(&source.text)?;
        let call = line.find_call(flavour)?;
        let original = line.get(&call.range)?;
        let mut arguments = split_arguments(call.arguments);
        if arguments.len() != replacement.declared_parameters {
            return None;
        }
        arguments.resize(replacement.parameters.len(), "0");
        let other_call = format!("{other}({})", arguments.join(", "));
        line.replace(&call.range, &format!("(bpf_ksym_exists({other}) ? {other_call} : {original})"))
    });
    let fix = match called {
        Some(code) => Fix::c(FixPlace::Line, text, code).with_source(used_at),
        None => Fix::c(FixPlace::Condition, text, format!("bpf_ksym_exists({other})")),
    };
    Some(if declarations.is_empty() { fix } else { fix.with_declaration(declarations.join("\n")) })
}

/// Returns the fixes for the call of a kfunc that the kernel lacks, or does not let the program call.
pub(super) fn kfunc_fixes(
    advisor: &Advisor<'_, '_>,
    program: &ProgramNeeds,
    reason: &Reason,
    call: KfuncCall<'_>,
) -> Vec<Fix> {
    let facts = &advisor.answers.facts;
    if !call.exists.is_present() {
        return call_fixes(advisor, program, reason);
    }
    // The kernel resolves the extern, so that a guard is true.
    if !facts.kfunc_in_jit(call.name, call.exists.clone()).is_present() {
        return vec![Fix::without_code(
            "the kernel has the kfunc, but cannot compile calls of it, so bpf_ksym_exists() does not help: leave out the program",
        )];
    }
    if needs_device(call.name) {
        return vec![Fix::without_code(
            "the kernel has the kfunc, so that bpf_ksym_exists() is true and does not help: bind the program to its device before the load, by \
             bpf_program__set_ifindex() and bpf_program__set_flags() with BPF_F_XDP_DEV_BOUND_ONLY, or leave out the program",
        )];
    }
    let by_attach_type = call.program_type.is_some_and(|ty| depends_on_attach_type(ty, call.name));
    let who = if by_attach_type { "attach type" } else { "type" };
    let mut types = kfunc_program_types(call.name);
    types.retain(|program_type| Some(*program_type) != call.program_type);
    let other = match (&types[..], by_attach_type) {
        (_, true) => "a program of an attach type that may".to_owned(),
        ([], false) => "a kind of program that may, such as struct_ops".to_owned(),
        (types, false) => {
            let names: Vec<_> =
                types.iter().take(NAMED_TYPES).map(|program_type| program_type.name()).collect();
            format!("a program of a type that may ({})", names.join(", "))
        }
    };
    let text = format!(
        "the kernel has the kfunc, but not for programs of this {who}, so bpf_ksym_exists() is true and does not help: move the call to {other}, \
         or leave out the program"
    );
    vec![Fix::without_code(text).with_source(reason.source.as_ref())]
}

/// Returns the fixes for calls of kernel functions on a kernel without such calls.
pub(super) fn call_fixes(advisor: &Advisor<'_, '_>, program: &ProgramNeeds, reason: &Reason) -> Vec<Fix> {
    let code = program.code.as_ref().ok();
    let called = code.zip(reason.insn).and_then(|(code, insn)| {
        let at = code.refs.binary_search_by_key(&insn, |(at, _)| *at).ok()?;
        let (_, RefTarget::Extern(ExternIndex(index))) = code.refs.get(at)? else { return None };
        let entry = advisor.needs.linker.externs().get(*index)?;
        matches!(entry.binding, ExternBinding::Function(_)).then_some(entry)
    });
    let (Some(entry), Some(btf)) = (called, advisor.needs.object.btf()) else { return Vec::new() };
    let Ok(name) = core::str::from_utf8(entry.name) else { return Vec::new() };
    let declaration = declaration(btf, entry, name).filter(|_| !entry.is_weak);
    use_fixes(name, true, declaration.as_deref(), reason.source.as_ref())
}

fn use_fixes(
    name: &str,
    is_function: bool,
    declaration: Option<&str>,
    used_at: Option<&SourceLine>,
) -> Vec<Fix> {
    let condition = condition(name, is_function);
    let with_declaration =
        |fix: Fix| Fix { declaration: declaration.map(str::to_owned), ..fix }.with_source(used_at);
    let line = used_at.and_then(|source| CLine::new(&source.text));
    let weak = if declaration.is_some() { format!("declare `{name}` weak, and ") } else { String::new() };
    let text = |guard: &str| format!("{weak}{guard}");
    let fix = match line.and_then(|line| guard(line, name, is_function)) {
        Some(LineGuard { code, skips_statement: true }) => {
            let text = text(&format!("guard the statement, so that kernels without `{name}` skip it"));
            Fix::c(FixPlace::Line, text, code)
        }
        Some(LineGuard { code, .. }) => {
            let text = text(&format!("guard the call; its result is 0 where the kernel lacks `{name}`"));
            Fix::c(FixPlace::Line, text, code)
        }
        None => Fix::c(FixPlace::Condition, text("put each use into an `if` with this condition"), condition),
    };
    vec![with_declaration(fix)]
}

/// Returns the condition that the kernel has an extern.
pub(super) fn condition(name: &str, is_function: bool) -> String {
    if is_function { format!("bpf_ksym_exists({name})") } else { format!("bpf_ksym_exists(&{name})") }
}

/// Guards the use of an extern in a line.
pub(super) fn guard(line: CLine<'_>, name: &str, is_function: bool) -> Option<LineGuard> {
    let condition = condition(name, is_function);
    if is_function {
        return LineGuard::call(line, name, &condition);
    }
    let statement = line.as_statement().filter(|_| !line.has_guard(&condition))?;
    Some(LineGuard::statement(&condition, statement, None))
}

/// Returns the weak declaration of an extern. Returns `None` for a type that has no name in C.
pub(super) fn declaration(btf: &Btf<'_>, entry: &ExternEntry<'_>, name: &str) -> Option<String> {
    let section = if matches!(entry.binding, ExternBinding::Config(_)) { "__kconfig" } else { "__ksym" };
    let ty = btf.ty(entry.btf_id)?;
    let target = ty.target()?;
    let declarator = match ty.kind() {
        Kind::Func => function_declarator(btf, target, name)?,
        _ => match btf.ty(target)?.array() {
            Some(array) => format!("{}[{}]", declarator(btf, array.element, name)?, array.nelems),
            None => declarator(btf, target, name)?,
        },
    };
    Some(format!("extern {declarator} {section} __weak;"))
}

fn declarator(btf: &Btf<'_>, ty: TypeId, name: &str) -> Option<String> {
    // A variable without a type (`extern const void NAME`) is `void` in BTF.
    let ty = CType::new(btf, ty).to_string();
    let space = if ty.ends_with('*') { "" } else { " " };
    is_plain(&ty).then(|| format!("{ty}{space}{name}"))
}

fn function_declarator(btf: &Btf<'_>, proto: TypeId, name: &str) -> Option<String> {
    let proto = btf.ty(proto).filter(|ty| ty.kind() == Kind::FuncProto)?;
    let mut parameters = Vec::new();
    for parameter in proto.params() {
        let ty = CType::new(btf, parameter.ty).to_string();
        match parameter.ty {
            TypeId(0) => parameters.push("...".to_owned()),
            _ if is_plain(&ty) => parameters.push(ty),
            _ => return None,
        }
    }
    let parameters = if parameters.is_empty() { "void".to_owned() } else { parameters.join(", ") };
    Some(format!("{}({parameters})", declarator(btf, proto.target()?, name)?))
}

/// Returns whether a type's text is C as it stands.
fn is_plain(ty: &str) -> bool {
    !ty.contains(['(', '[', '{', '…', '.'])
}
