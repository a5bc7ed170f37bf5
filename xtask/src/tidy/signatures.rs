//! Rules for the signatures of public functions: a call must show what its arguments mean.

use super::sources::{Crate, is_for_tests};
use std::path::Path;

/// Files whose functions no other program calls, with the reason.
const EXCEPTIONS: [(&str, &str); 2] = [
    ("cli/src/fuzzing.rs", "the entries of fuzz targets, which have no other callers"),
    ("object/src/test_support.rs", "objects for tests, which call each function beside its definition"),
];

/// Checks the public functions of a crate.
pub(super) fn check(krate: &Crate<'_, '_>, problems: &mut Vec<String>) {
    let is_exception = |path: &Path| EXCEPTIONS.iter().any(|(file, _reason)| path == Path::new(file));
    for module in krate.product().filter(|module| !is_exception(&module.source.file.path)) {
        for (line, problem) in unclear_signatures(&module.source.tree.items) {
            problems.push(format!("{}:{line}: {problem}", module.source.file.path.display()));
        }
    }
}

/// Returns the public functions whose arguments have no meaning in a call, with their lines.
fn unclear_signatures(items: &[syn::Item]) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for item in items {
        match item {
            syn::Item::Fn(function) if is_public(&function.vis) => found.extend(unclear(&function.sig)),
            syn::Item::Impl(item) if item.trait_.is_none() && !is_for_tests(&item.attrs) => {
                for item in &item.items {
                    if let syn::ImplItem::Fn(function) = item
                        && is_public(&function.vis)
                    {
                        found.extend(unclear(&function.sig));
                    }
                }
            }
            syn::Item::Trait(item) if is_public(&item.vis) => {
                for item in &item.items {
                    if let syn::TraitItem::Fn(function) = item {
                        found.extend(unclear(&function.sig));
                    }
                }
            }
            syn::Item::Mod(module) if !is_for_tests(&module.attrs) => {
                found.extend(module.content.iter().flat_map(|(_, inner)| unclear_signatures(inner)));
            }
            _ => {}
        }
    }
    found
}

/// Returns the problem of a signature: a `bool` among several arguments, or a tuple.
fn unclear(signature: &syn::Signature) -> Option<(usize, String)> {
    let types = signature.inputs.iter().filter_map(|input| match input {
        syn::FnArg::Typed(argument) => Some(&*argument.ty),
        syn::FnArg::Receiver(_) => None,
    });
    let types = types.collect::<Vec<_>>();
    let what = if types.len() > 1 && types.iter().any(|ty| is_bool(ty)) {
        "has a `bool` among several arguments, expected an enum, a struct or two functions"
    } else if types.iter().any(|ty| is_tuple(ty)) {
        "has a tuple as argument, expected a struct or several arguments"
    } else {
        return None;
    };
    Some((signature.ident.span().start().line, format!("`{}` {what}", signature.ident)))
}

fn is_public(visibility: &syn::Visibility) -> bool {
    matches!(visibility, syn::Visibility::Public(_))
}

fn is_bool(ty: &syn::Type) -> bool {
    matches!(ty, syn::Type::Path(ty) if ty.path.is_ident("bool"))
}

fn is_tuple(ty: &syn::Type) -> bool {
    match ty {
        syn::Type::Reference(ty) => is_tuple(&ty.elem),
        syn::Type::Tuple(ty) => ty.elems.len() > 1,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        let found = unclear_signatures(&syn::parse_file(text).unwrap().items);
        found
            .into_iter()
            .map(|(line, problem)| format!("{line} {}", problem.split('`').nth(1).unwrap()))
            .collect()
    }

    #[test]
    fn booleans_among_arguments_and_tuples_are_found() {
        assert_eq!(names("pub fn f(name: &str, is_new: bool) {}\n"), ["1 f"]);
        assert_eq!(names("impl S {\n    pub const fn g<T>(&self, t: T, b: bool) {}\n}\n"), ["2 g"]);
        assert_eq!(
            names("mod m {\n    pub fn h((a, b): (u8, u8)) {}\n    pub fn i(p: &(u8, u8)) {}\n}\n"),
            ["2 h", "3 i"]
        );
        assert_eq!(names("pub trait T { fn k(&self, a: u8, b: bool); }\n"), ["1 k"]);
    }

    #[test]
    fn setters_private_functions_implementations_and_tests_are_not() {
        assert!(names("impl S { pub fn set(&mut self, is_new: bool) {} }\n").is_empty());
        assert!(names("fn f(a: u8, b: bool) {}\npub(crate) fn g(a: (u8, u8)) {}\n").is_empty());
        assert!(names("impl T for S { fn k(&self, a: u8, b: bool) {} }\n").is_empty());
        assert!(names("#[cfg(test)]\nmod tests { pub fn f(a: u8, b: bool) {} }\n").is_empty());
        assert!(names("pub fn f(a: impl Fn(u8, bool), items: &[(u8, bool)]) {}\n").is_empty());
    }
}
