//! The programs that program arrays hold.

use core_relo_object::{MapIndex, ProgramIndex};

/// A program in a program array. A load of a program that uses the array loads the program, too.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ArrayProgram {
    /// The program array's name.
    pub map: String,
    /// The program array.
    pub map_index: MapIndex,
    /// The program.
    pub program: ProgramIndex,
}
