//! Advice: for each reason of a verdict, changes of the program or of its loader that change the verdict.
//!
//! | file | advice on |
//! |---|---|
//! | `relocation` | missing types, members and enumerators |
//! | `helper` | missing helpers; a table of older helpers that do the job |
//! | `externs` | kfuncs, kernel variables, configuration values |
//! | `program` | program types, attach types, attach targets |
//! | `maps` | map types and sizes |
//! | `instruction` | instructions of newer kernels |
//! | `evidence` | unknown verdicts: the options that give the missing evidence |
//!
//! `fixes` chooses the file for a reason. `c_line` rewrites a source line, `line_guard` guards elements in
//! it, and `same_line` adds the guards of the line's other elements. `own_memory` tells accesses to the
//! program's own memory from those to the kernel's. The advice has code only if the code compiles and changes
//! the verdict.

mod advisor;
mod c_line;
mod evidence;
mod externs;
mod fix;
mod fixes;
mod helper;
mod instruction;
mod line_guard;
mod maps;
mod own_memory;
mod program;
mod relocation;
mod same_line;

pub use advisor::Advisor;
pub use fix::{Fix, FixLanguage, FixPlace};
