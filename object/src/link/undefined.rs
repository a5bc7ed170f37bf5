//! Undefined symbols that are no externs of the kernel, with the places that use them.

use core_relo::Text;

/// An undefined symbol that is no extern of the kernel: the object's BTF describes it neither in `.ksyms` nor
/// in `.kconfig`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Undefined {
    /// The name.
    pub name: Text,
    /// The first instructions that refer to the symbol.
    pub uses: Vec<UndefinedUse>,
}

/// An instruction that refers to an undefined symbol.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UndefinedUse {
    /// The function.
    pub function: Text,
    /// The source file; empty without line records.
    pub file: Text,
    /// The line, from 1; 0 without line records.
    pub line: u32,
    /// The column, from 1; 0 if unknown.
    pub column: u32,
    /// The text of the line; empty without line records.
    pub text: Text,
}

impl Undefined {
    /// Returns what to do about the symbol.
    pub fn remedy(&self) -> String {
        match &*self.name {
            name @ ("memcpy" | "memmove" | "memset" | "memcmp" | "bcmp") => {
                let builtin = name.replace("bcmp", "memcmp");
                format!(
                    "the compiler calls {name}() if it cannot write out the loop: call __builtin_{builtin}() with a small constant size, \
                     or define the function in the object"
                )
            }
            name => {
                let header = if name.starts_with("bpf_") {
                    "if it is a helper, include <bpf/bpf_helpers.h>; if it is a kfunc, declare it with __ksym; if neither, "
                } else {
                    ""
                };
                format!(
                    "{header}include the header that defines it, or link the object that does with `core-relo gen object`"
                )
            }
        }
    }
}

impl core::fmt::Display for Undefined {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "`{}`", self.name)?;
        for (n, UndefinedUse { function, file, line, .. }) in self.uses.iter().enumerate() {
            let separator = if n == 0 { " used in" } else { "," };
            write!(f, "{separator} `{function}`")?;
            if *line > 0 {
                write!(f, " at {file}:{line}")?;
            }
        }
        Ok(())
    }
}
