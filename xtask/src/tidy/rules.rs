//! Rules for the Rust files of the product: what a file may use, and how errors print.

use super::sources::{Crate, Module, is_for_tests};
use std::collections::BTreeSet;

/// The crates without files, processes and system calls.
const PURE: [&str; 5] = ["btf", "core-relo", "object", "verdict", "web"];

/// The crates without the standard library.
const NO_STD: [&str; 2] = ["btf", "core-relo"];

/// Checks each module of a crate.
pub(super) fn check(krate: &Crate<'_, '_>, problems: &mut Vec<String>) {
    for module in krate.product() {
        check_lines(krate.dir, module, problems);
        check_unsafe(module, problems);
        // The command's errors are its texts.
        if krate.dir != "cli" {
            check_error_debug(module, problems);
        }
    }
}

/// Checks that the code uses only what its crate may use, and that byte order, flavours, limits and unsafe
/// code have their places.
fn check_lines(dir: &str, module: &Module<'_, '_>, problems: &mut Vec<String>) {
    let path = module.source.file.path.to_string_lossy();
    let name = module.source.file.path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    for (number, line) in module.source.code() {
        let mut report = |what: &str| problems.push(format!("{path}:{number}: {what}"));
        // `build` and `vm` ask for the byte order of a machine, and generate code that does.
        if line.contains("target_endian") && name != "endian.rs" && dir != "build" && dir != "vm" {
            report("depends on the host's byte order, expected the byte order of the data");
        }
        // `____NAME` is the inner function of `BPF_PROG`.
        let flavours = line.replace("____", "");
        if (flavours.contains("\"___") || flavours.contains("___\"")) && name != "name.rs" {
            report("the flavour suffix `___` outside name.rs");
        }
        if line.contains("const MAX_") && name != "limits.rs" && name != "args.rs" {
            report("a limit outside limits.rs");
        }
        if NO_STD.contains(&dir) && ["std::", "libc::", "object::"].iter().any(|krate| uses(line, krate)) {
            report(&format!("{dir} may use core and alloc, but not std, libc or object"));
        }
        if PURE.contains(&dir)
            && ["std::fs", "std::env", "std::process", "std::net", "std::os", "std::thread", "libc::"]
                .iter()
                .chain(&["fs::", "env::", "os::", "process::", "File::"])
                .any(|part| uses(line, part))
        {
            report(&format!("{dir} may not use files, processes, threads, the environment or the system"));
        }
    }
}

/// The files that may have unsafe code: the system calls, and the names of a module's functions.
const UNSAFE: [&str; 2] = ["loader/src/sys", "web/src/exports.rs"];

/// Checks that only the system calls are unsafe.
fn check_unsafe(module: &Module<'_, '_>, problems: &mut Vec<String>) {
    let path = &module.source.file.path;
    if UNSAFE.iter().any(|place| path.starts_with(place)) {
        return;
    }
    for number in module.source.lines_with_word("unsafe") {
        problems.push(format!("{}:{number}: unsafe outside {}", path.display(), UNSAFE.join(" and ")));
    }
}

/// Checks that the `Debug` of public errors is not derived: `unwrap` and
/// `fn main() -> Result<(), Box<dyn Error>>` print it.
fn check_error_debug(module: &Module<'_, '_>, problems: &mut Vec<String>) {
    for (number, name) in errors_with_derived_debug(&module.source.tree.items) {
        problems.push(format!(
            "{}:{number}: `{name}` derives Debug, expected `debug_as_message!({name})`",
            module.source.file.path.display()
        ));
    }
}

/// Returns the public types that derive `Debug` and are errors, with the line of their definition.
fn errors_with_derived_debug(items: &[syn::Item]) -> Vec<(usize, String)> {
    let implemented = items.iter().filter_map(|item| match item {
        syn::Item::Impl(item) if last_name(&item.trait_.as_ref()?.0).as_deref() == Some("Error") => {
            match &*item.self_ty {
                syn::Type::Path(ty) => last_name(&ty.path),
                _ => None,
            }
        }
        _ => None,
    });
    let implemented = implemented.collect::<BTreeSet<_>>();
    let mut found = Vec::new();
    for item in items {
        if let syn::Item::Mod(module) = item
            && let Some((_, inner)) = module.content.as_ref().filter(|_| !is_for_tests(&module.attrs))
        {
            found.extend(errors_with_derived_debug(inner));
        }
        let (attrs, visibility, name) = match item {
            syn::Item::Enum(item) => (&item.attrs, &item.vis, &item.ident),
            syn::Item::Struct(item) => (&item.attrs, &item.vis, &item.ident),
            _ => continue,
        };
        let derived = derived_traits(attrs);
        let is_error = derived.contains("Error") || implemented.contains(&name.to_string());
        if matches!(visibility, syn::Visibility::Public(_)) && derived.contains("Debug") && is_error {
            found.push((name.span().start().line, name.to_string()));
        }
    }
    found
}

/// Returns the last names of the traits that attributes derive.
fn derived_traits(attrs: &[syn::Attribute]) -> BTreeSet<String> {
    let mut derived = BTreeSet::new();
    for attr in attrs.iter().filter(|attr| attr.path().is_ident("derive")) {
        let parse = syn::punctuated::Punctuated::<syn::Path, syn::Token![,]>::parse_terminated;
        derived.extend(attr.parse_args_with(parse).into_iter().flatten().filter_map(|path| last_name(&path)));
    }
    derived
}

fn last_name(path: &syn::Path) -> Option<String> {
    path.segments.last().map(|segment| segment.ident.to_string())
}

/// Returns whether a line uses `krate` (with its `::`) and not a longer name or path that ends with it.
fn uses(line: &str, krate: &str) -> bool {
    line.match_indices(krate).any(|(at, _)| {
        let before = line.get(..at).and_then(|text| text.chars().next_back());
        !before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_print_messages() {
        let derived = |text: &str| {
            let tree = syn::parse_file(text).unwrap();
            errors_with_derived_debug(&tree.items).into_iter().map(|(_, name)| name).collect::<Vec<_>>()
        };
        assert_eq!(derived("#[derive(Debug, Error)]\n#[error(\"x\")]\npub struct E(u8);\n"), ["E"]);
        assert_eq!(derived("#[derive(\n    Debug,\n    thiserror::Error,\n)]\npub enum E<T> {}\n"), ["E"]);
        assert_eq!(derived("#[derive(Debug)]\npub enum E {}\nimpl core::error::Error for E {}\n"), ["E"]);
        let inner = "#[derive(Debug, Error)]\npub enum E {}\n";
        assert_eq!(derived(&format!("mod m {{ mod n {{ {inner} }} }}")), ["E"]);
        assert!(derived(&format!("#[cfg(test)]\nmod tests {{ {inner} }}")).is_empty());
        assert!(derived("#[derive(Clone, Error)]\npub enum E {\n}\ndebug_as_message!(E);\n").is_empty());
        assert!(derived("#[derive(Debug, Error)]\npub(crate) enum E {\n}\n").is_empty());
        assert!(derived("#[derive(Debug)]\npub struct S {\n}\n").is_empty());
        assert!(derived("#[derive(Error)]\nenum E {\n}\n#[derive(Debug)]\npub struct S;\n").is_empty());
    }

    #[test]
    fn crates_are_distinguished_from_modules() {
        assert!(uses("use std::fs;", "std::"));
        assert!(!uses("use crate::object::Object;", "object::"));
        assert!(!uses("let x = my_object::y;", "object::"));
    }
}
