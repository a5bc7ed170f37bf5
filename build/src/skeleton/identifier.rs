//! Rust identifiers for the names of C.

use std::collections::HashMap;

/// Keywords of Rust that can be raw identifiers.
const KEYWORDS: &[&str] = &[
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "do", "dyn", "else",
    "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro",
    "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "static", "struct", "trait",
    "true", "try", "type", "typeof", "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
];

/// Keywords of Rust that cannot be raw identifiers.
const RESERVED: &[&str] = &["self", "Self", "super", "crate"];

/// Names that the skeleton's module uses itself.
const TAKEN_TYPES: &[&str] = &[
    "Arc",
    "Box",
    "Clone",
    "Copy",
    "Default",
    // Enums are tuple structs, whose names are also those of functions.
    "Err",
    "Globals",
    "Loader",
    "Maps",
    "None",
    "OBJECT",
    "Ok",
    "OpenGlobals",
    "OpenMaps",
    "OpenPrograms",
    "Option",
    "Programs",
    "Result",
    "Self",
    "Send",
    "Some",
    "String",
    "Sync",
    "Vec",
];

/// Crates that programs with a skeleton use, and that its module would hide.
const CRATES: &[&str] = &["alloc", "core", "core_relo_loader", "std"];

/// Returns the name of a skeleton's module.
pub(crate) fn module_name(name: &str) -> String {
    value_name(name.as_bytes())
}

/// Returns whether a module would hide a crate that every program with a skeleton can use.
pub(crate) fn is_crate(module: &str) -> bool {
    CRATES.contains(&module)
}

/// Returns a name as an identifier of a field, function or constant: `type` becomes `r#type`.
pub(super) fn value_name(name: &[u8]) -> String {
    let plain = sanitized(name);
    if KEYWORDS.contains(&&*plain) {
        format!("r#{plain}")
    } else if RESERVED.contains(&&*plain) {
        format!("{plain}_")
    } else {
        plain
    }
}

/// Returns a name as an identifier of a type: `flow_key` becomes `FlowKey`.
pub(super) fn type_name(name: &[u8]) -> String {
    let mut camel = String::new();
    for part in sanitized(name).split('_').filter(|part| !part.is_empty()) {
        let is_upper = part.len() > 1 && part.bytes().all(|b| !b.is_ascii_lowercase());
        // Two numbers that touch would read as one: `u8_16` is not `u816`.
        if camel.ends_with(|c: char| c.is_ascii_digit()) && part.starts_with(|c: char| c.is_ascii_digit()) {
            camel.push('_');
        }
        let mut chars = part.chars();
        camel.extend(chars.next().map(|c| c.to_ascii_uppercase()));
        let rest = chars.as_str();
        camel.push_str(&if is_upper { rest.to_ascii_lowercase() } else { rest.to_owned() });
    }
    match camel.chars().next() {
        None => "Type".into(),
        Some(first) if first.is_ascii_digit() => format!("Type{camel}"),
        Some(_) => camel,
    }
}

/// The longest identifier made of a name of C. Hostile BTF has names of any length.
const NAME_BYTES: usize = 128;

/// Returns a name with `_` for each character that no identifier has.
fn sanitized(name: &[u8]) -> String {
    let text = String::from_utf8_lossy(name.get(..NAME_BYTES).unwrap_or(name));
    let mut plain: String =
        text.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect();
    if plain.is_empty() || plain.starts_with(|c: char| c.is_ascii_digit()) {
        plain.insert(0, '_');
    }
    // One underscore is no identifier.
    if plain == "_" {
        plain.push('_');
    }
    plain
}

/// A set of identifiers of one scope. A name that is taken gets a number.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// The names, each with the number of the last name that was derived from it.
    taken: HashMap<String, u64>,
}

impl Names {
    /// Creates the set of a module's types.
    pub(super) fn of_types() -> Self {
        Self { taken: TAKEN_TYPES.iter().map(|name| ((*name).to_owned(), 1)).collect() }
    }

    /// Takes a name, or the name with the first free number from 2.
    pub(super) fn take(&mut self, name: String) -> String {
        let Some(last) = self.taken.get_mut(&name) else {
            self.taken.insert(name.clone(), 1);
            return name;
        };
        let base = name.strip_prefix("r#").unwrap_or(&name);
        let separator = if base.ends_with(|c: char| c.is_ascii_digit()) { "_" } else { "" };
        let mut number = *last;
        let numbered = loop {
            // There are fewer names than numbers.
            number = number.wrapping_add(1);
            let numbered = format!("{base}{separator}{number}");
            if !self.taken.contains_key(&numbered) {
                break numbered;
            }
        };
        self.taken.insert(name, number);
        self.taken.insert(numbered.clone(), 1);
        numbered
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c_names_become_rust_names() {
        let cases = [
            ("event", "Event", "event"),
            ("flow_key", "FlowKey", "flow_key"),
            ("type", "Type", "r#type"),
            ("self", "Self", "self_"),
            ("__u32_pair", "U32Pair", "__u32_pair"),
            ("TCP_STATE", "TcpState", "TCP_STATE"),
            ("camelCase", "CamelCase", "camelCase"),
            ("4th", "Type4th", "_4th"),
            ("u8_16", "U8_16", "u8_16"),
            ("a.llvm.1", "ALlvm1", "a_llvm_1"),
            ("größe", "GrE", "gr__e"),
            ("", "Type", "__"),
        ];
        for (name, as_type, as_value) in cases {
            assert_eq!(
                (&*type_name(name.as_bytes()), &*value_name(name.as_bytes())),
                (as_type, as_value),
                "{name}"
            );
        }
    }

    #[test]
    fn many_equal_names_take_time_in_proportion_to_their_number() {
        let mut names = Names::default();
        let last = (0..100_000).map(|_| names.take("same".into())).last();
        assert_eq!(last.as_deref(), Some("same100000"));
        assert_eq!(value_name("x".repeat(60_000).as_bytes()).len(), 128);
    }

    #[test]
    fn a_name_that_is_taken_gets_a_number() {
        let mut names = Names::of_types();
        let taken = ["Event", "Event", "Event", "V4", "V4", "Option", "Some", "r#type", "r#type"]
            .map(|n| names.take(n.into()));
        assert_eq!(taken, ["Event", "Event2", "Event3", "V4", "V4_2", "Option2", "Some2", "r#type", "type2"]);
    }
}
