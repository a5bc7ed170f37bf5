//! The names of declarations: valid in C, and unique in their name space.

use crate::{ids::TypeId, limits};
use alloc::{format, string::String, vec::Vec};
use hashbrown::{HashMap, HashSet};

/// Words that are no identifiers in C11, C23, GNU C or clang 14 to 22 for the BPF target, and macros of the
/// header itself.
const KEYWORDS: &[&str] = &[
    "_Accum",
    "_Alignas",
    "_Alignof",
    "_Atomic",
    "_BitInt",
    "_Bool",
    "_Complex",
    "_Countof",
    "_Decimal128",
    "_Decimal32",
    "_Decimal64",
    "_ExtInt",
    "_Float128",
    "_Float16",
    "_Float32",
    "_Float64",
    "_Fract",
    "_Generic",
    "_Imaginary",
    "_LP64",
    "_Nonnull",
    "_Noreturn",
    "_Null_unspecified",
    "_Nullable",
    "_Nullable_result",
    "_Pragma",
    "_Sat",
    "_Static_assert",
    "_Thread_local",
    "__CORE_RELO_HAS_BOOL",
    "__CORE_RELO_HAS_TRUE",
    "__CORE_RELO_PRESERVE_ACCESS_INDEX",
    "__GXX_ABI_VERSION",
    "__NSConstantString",
    "__OBJC_BOOL_IS_BOOL",
    "__PRAGMA_REDEFINE_EXTNAME",
    "__alignof",
    "__alignof__",
    "__arm_agnostic",
    "__arm_in",
    "__arm_inout",
    "__arm_locally_streaming",
    "__arm_new",
    "__arm_out",
    "__arm_preserves",
    "__arm_streaming",
    "__arm_streaming_compatible",
    "__asm",
    "__asm__",
    "__attribute",
    "__attribute__",
    "__auto_type",
    "__bf16",
    "__bpf__",
    "__bpf_fastcall",
    "__building_module",
    "__cdecl",
    "__complex",
    "__complex__",
    "__const",
    "__const__",
    "__core_relo_bool",
    "__core_relo_decl_tag",
    "__core_relo_false",
    "__core_relo_true",
    "__core_relo_type_tag",
    "__extension__",
    "__fastcall",
    "__float128",
    "__fp16",
    "__func__",
    "__funcref",
    "__ibm128",
    "__imag",
    "__imag__",
    "__inline",
    "__inline__",
    "__int128",
    "__int128_t",
    "__is_bitwise_cloneable",
    "__is_destructible",
    "__is_identifier",
    "__is_nothrow_destructible",
    "__is_target_arch",
    "__is_target_environment",
    "__is_target_os",
    "__is_target_variant_environment",
    "__is_target_variant_os",
    "__is_target_vendor",
    "__ksym",
    "__label__",
    "__llvm__",
    "__module_private__",
    "__nullptr",
    "__objc_no",
    "__objc_yes",
    "__pascal",
    "__private_extern__",
    "__ptrauth",
    "__real",
    "__real__",
    "__regcall",
    "__restrict",
    "__restrict__",
    "__signed",
    "__signed__",
    "__stdcall",
    "__thiscall",
    "__thread",
    "__typeof",
    "__typeof__",
    "__typeof_unqual",
    "__typeof_unqual__",
    "__uint128_t",
    "__vectorcall",
    "__volatile",
    "__volatile__",
    "__weak",
    "alignas",
    "alignof",
    "asm",
    "auto",
    "bool",
    "bool___core_relo",
    "break",
    "case",
    "char",
    "const",
    "constexpr",
    "continue",
    "default",
    "do",
    "double",
    "else",
    "enum",
    "extern",
    "false",
    "false___core_relo",
    "float",
    "for",
    "goto",
    "if",
    "inline",
    "int",
    "long",
    "nullptr",
    "register",
    "restrict",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "static_assert",
    "struct",
    "switch",
    "thread_local",
    "true",
    "true___core_relo",
    "typedef",
    "typeof",
    "typeof_unqual",
    "union",
    "unsigned",
    "void",
    "volatile",
    "while",
];

/// A word of C23, C++ and `<stdbool.h>` that is an identifier in C before C23, with the macros of the header
/// that stand for it.
struct BooleanWord {
    word: &'static str,
    /// The name of a member.
    member: &'static str,
    /// The name of a type or an enumerator: a flavour, which CO-RE takes for the word in all standards.
    flavour: &'static str,
}

const BOOLEAN_WORDS: [BooleanWord; 3] = [
    BooleanWord { word: "bool", member: "__core_relo_bool", flavour: "bool___core_relo" },
    BooleanWord { word: "false", member: "__core_relo_false", flavour: "false___core_relo" },
    BooleanWord { word: "true", member: "__core_relo_true", flavour: "true___core_relo" },
];

/// Returns the boolean word that a name is.
fn boolean_word(name: &[u8]) -> Option<&'static BooleanWord> {
    BOOLEAN_WORDS.iter().find(|known| known.word.as_bytes() == name)
}

/// The beginnings of predefined macros and built-in functions of clang.
const RESERVED_PREFIXES: &[&[u8]] = &[
    b"__ATOMIC_",
    b"__BPF_FEATURE_",
    b"__FPCLASS_",
    b"__GCC_",
    b"__MEMORY_SCOPE_",
    b"__OPENCL_MEMORY_SCOPE_",
    b"__builtin_",
    b"__clang_",
    b"__has_",
];

/// The beginnings of built-in functions that no prototype can declare otherwise. Other declarations can have
/// such names.
const FUNCTION_PREFIXES: &[&[u8]] = &[
    b"__arithmetic_fence",
    b"__atomic_",
    b"__c11_atomic_",
    b"__hip_atomic_",
    b"__opencl_atomic_",
    b"__scoped_atomic_",
    b"__sync_",
];

/// Returns whether a function can be declared with a name.
pub(super) fn is_function(name: &[u8]) -> bool {
    is_identifier(name) && !FUNCTION_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// Returns whether a name is that of a predefined macro by its form, such as `__SIZEOF_INT__`. Each version
/// of clang has more of them.
fn is_predefined_macro(name: &[u8]) -> bool {
    let is_capital = |c: &u8| c.is_ascii_uppercase() || c.is_ascii_digit() || *c == b'_';
    name.len() > 4 && name.starts_with(b"__") && name.ends_with(b"__") && name.iter().all(is_capital)
}

/// Returns whether a name can be declared: an identifier that is no keyword, no built-in name and not
/// overlong.
pub(super) fn is_identifier(name: &[u8]) -> bool {
    let is_word = match name {
        [first, rest @ ..] => {
            (first.is_ascii_alphabetic() || *first == b'_')
                && rest.iter().all(|c| c.is_ascii_alphanumeric() || *c == b'_')
        }
        [] => false,
    };
    is_word
        && name.len() <= limits::NAME_BYTES
        && !RESERVED_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        && !is_predefined_macro(name)
        && KEYWORDS.binary_search_by(|word| word.as_bytes().cmp(name)).is_err()
}

/// Returns whether a name is an identifier in C before C23.
fn is_old_identifier(name: &[u8]) -> bool {
    is_identifier(name) || boolean_word(name).is_some()
}

/// Returns the name of a member as the header writes it: an identifier in all versions of C.
pub(super) fn member_in_all_standards(name: &str) -> &str {
    boolean_word(name.as_bytes()).map_or(name, |word| word.member)
}

/// Returns the name of a type or an enumerator as the header writes it: an identifier in all versions of C.
pub(super) fn in_all_standards(name: &str) -> &str {
    boolean_word(name.as_bytes()).map_or(name, |word| word.flavour)
}

/// Returns the beginning of a name, by which declarations are sorted.
pub(super) fn sort_key(name: &[u8]) -> &[u8] {
    name.get(..limits::NAME_BYTES).unwrap_or(name)
}

/// Returns an identifier that resembles a name.
pub(super) fn sanitized(name: &[u8]) -> String {
    let mut text = String::new();
    for c in sort_key(name) {
        let is_valid = c.is_ascii_alphanumeric() && !(text.is_empty() && c.is_ascii_digit());
        text.push(if is_valid { char::from(*c) } else { '_' });
    }
    text
}

/// Returns whether an identifier may be one that a [`NameSpace`] generates: a name with a number, or that of
/// a member without a name.
pub(super) fn is_generated_form(identifier: &[u8]) -> bool {
    identifier.starts_with(b"__core_relo_") || identifier.windows(3).any(|part| part == [b'_'; 3])
}

/// A name space of C: tags, ordinary identifiers, or the members of a composite.
#[derive(Debug, Default)]
pub(super) struct NameSpace<'b> {
    /// The names that are declared unchanged, with the next number for a second declaration.
    taken: HashMap<&'b [u8], u32>,
    generated: HashSet<String>,
}

impl<'b> NameSpace<'b> {
    /// Declares a name. Returns the identifier to use instead if the name is no identifier before C23 or is
    /// taken. The header writes names [in all standards](in_all_standards).
    pub(super) fn claim(&mut self, name: &'b [u8]) -> Option<String> {
        let is_valid = is_old_identifier(name);
        if is_valid && !self.taken.contains_key(name) && !self.is_generated(name) {
            self.taken.insert(name, 2);
            return None;
        }
        let base = sanitized(name);
        let mut number = self.taken.get(name).copied().unwrap_or(2);
        if !is_valid && is_identifier(base.as_bytes()) && self.is_free(&base) {
            self.generated.insert(base.clone());
            return Some(base);
        }
        let unique = loop {
            let candidate = format!("{base}___{number}");
            number = number.wrapping_add(1);
            if self.is_free(&candidate) {
                break candidate;
            }
        };
        self.taken.insert(name, number);
        self.generated.insert(unique.clone());
        Some(unique)
    }

    /// Declares an identifier for a member that the BTF does not name: the base, with a number from the
    /// second time on.
    pub(super) fn claim_filler(&mut self, base: &'static str) -> String {
        match self.claim(base.as_bytes()) {
            Some(numbered) => numbered,
            None => String::from(base),
        }
    }

    /// Declares an identifier that is not in the BTF.
    pub(super) fn claim_generated(&mut self, base: &str) -> String {
        let mut name = String::from(base);
        let mut number = 2u32;
        while !self.is_free(&name) {
            name = format!("{base}___{number}");
            number = number.wrapping_add(1);
        }
        self.generated.insert(name.clone());
        name
    }

    /// Returns whether the name is declared.
    pub(super) fn contains(&self, name: &[u8]) -> bool {
        self.taken.contains_key(name) || self.is_generated(name)
    }

    fn is_generated(&self, name: &[u8]) -> bool {
        !self.generated.is_empty()
            && core::str::from_utf8(name).is_ok_and(|name| self.generated.contains(name))
    }

    fn is_free(&self, name: &str) -> bool {
        !self.contains(name.as_bytes())
    }
}

/// The identifiers of types and enumerators that differ from their names in the BTF.
#[derive(Debug, Default)]
pub(super) struct Renamed {
    pub(super) types: HashMap<TypeId, String>,
    pub(super) enumerators: HashMap<(TypeId, u32), String>,
    /// The identifier and the name of each type whose name is no identifier.
    pub(super) listed: Vec<(String, TypeId)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_are_sorted() {
        assert!(KEYWORDS.is_sorted());
        assert!(!is_identifier(b"while") && !is_identifier(b"2a") && !is_identifier(b"__builtin_va_list"));
        for word in
            ["__SIZEOF_INT__", "__has_include", "__thread", "typeof_unqual", "__clang_major__", "__weak"]
        {
            assert!(!is_identifier(word.as_bytes()), "{word}");
        }
        // Enumerators of the kernel.
        assert!(
            is_identifier(b"__BPF_FUNC_MAX_ID")
                && is_identifier(b"__LOCAL_DISTANCE")
                && is_old_identifier(b"bool")
                && !is_identifier(b"bool")
        );
        assert!(is_identifier(b"_a2") && !is_identifier(b"") && !is_identifier(&[b'a'; 513]));
    }

    #[test]
    fn names_are_unique() {
        let mut names = NameSpace::default();
        assert_eq!(names.claim(b"a"), None);
        assert_eq!(names.claim(b"a___2"), None);
        assert_eq!(names.claim(b"a").as_deref(), Some("a___3"));
        assert_eq!(names.claim(b"a").as_deref(), Some("a___4"));
        assert_eq!(names.claim(b"core::Option<u8>").as_deref(), Some("core__Option_u8_"));
        assert_eq!(names.claim(b"core::Option{u8}").as_deref(), Some("core__Option_u8____2"));
        assert_eq!(names.claim(b"int").as_deref(), Some("int___2"));
    }
}
