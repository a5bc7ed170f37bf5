//! Stand-ins for what core-relo does not have yet.
use core_relo::InsnIndex;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeSection<'o> {
    pub name: &'o [u8],
    pub code: &'o [u8],
    pub functions: Vec<Function<'o>>,
}
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Function<'o> {
    pub name: &'o [u8],
    pub start: InsnIndex,
    pub len: u32,
}
