//! The programs that program arrays hold initially, which a load needs for the tail calls of its programs.

use super::{ProgramLinker, RefTarget};
use crate::{
    index::{MapIndex, ProgramIndex},
    internal::InternalError,
};
use std::collections::HashMap;

/// The programs that each program array holds initially.
pub type HeldPrograms = HashMap<MapIndex, Vec<ProgramIndex>>;

impl ProgramLinker<'_, '_> {
    /// Adds to the programs of a load those that its program arrays hold: the arrays that a program of the
    /// load refers to. `loaded` is, for each function, whether the load has the function as a program.
    /// Returns the added programs.
    ///
    /// A program that is too long to be linked adds only some of its arrays. [`link`](Self::link) refuses the
    /// program.
    pub fn add_held_programs(
        &self,
        loaded: &mut [bool],
        mut held: HeldPrograms,
    ) -> Result<Vec<ProgramIndex>, InternalError> {
        let mut added = Vec::new();
        if held.is_empty() {
            return Ok(added);
        }
        let mut reached = vec![false; loaded.len()];
        let programs = ProgramIndex::enumerate(&*loaded).filter(|(_, is_loaded)| **is_loaded);
        let mut pending: Vec<_> = programs.map(|(program, _)| program).collect();
        while !pending.is_empty() {
            pending.retain(|program| {
                let is_reached = reached.get_mut(program.0);
                is_reached.is_some_and(|is_reached| !core::mem::replace(is_reached, true))
            });
            let mut functions = pending.clone();
            self.visit_callees(core::mem::take(&mut pending), &mut reached, &mut |callee| {
                functions.push(callee);
                Ok(())
            })?;
            for function in functions {
                for target in self.references(function)? {
                    let RefTarget::Map(map) = target else { continue };
                    for program in held.remove(&map).into_iter().flatten() {
                        let is_loaded = loaded.get_mut(program.0);
                        if is_loaded.is_some_and(|is_loaded| !core::mem::replace(is_loaded, true)) {
                            added.push(program);
                            pending.push(program);
                        }
                    }
                }
            }
        }
        Ok(added)
    }
}
