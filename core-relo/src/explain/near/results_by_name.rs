//! The results of searches, by missing name.

use crate::{Name, resolve::OutOfSteps};
use alloc::vec::Vec;
use hashbrown::HashMap;

/// For each missing name of a plan, the results of one pass over the target.
#[derive(Debug)]
pub(super) struct ResultsByName<'b, R>(HashMap<Name<'b>, Vec<R>>);

impl<R> Default for ResultsByName<'_, R> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<'b, R> ResultsByName<'b, R> {
    /// Returns the results for a name, from an earlier pass or from `search`.
    ///
    /// `search` adds results to the names in its map: `name` and the `other_names`. The results of a search
    /// that runs out of steps are incomplete, and are not stored.
    pub(super) fn get_or_search<I: Iterator<Item = Name<'b>>>(
        &mut self,
        name: Name<'b>,
        other_names: impl FnOnce() -> I,
        search: impl FnOnce(&mut HashMap<Name<'b>, Vec<R>>) -> Result<(), OutOfSteps>,
    ) -> Result<&[R], OutOfSteps> {
        if !self.0.contains_key(&name) {
            let mut found = other_names().chain([name]).map(|name| (name, Vec::new())).collect();
            search(&mut found)?;
            self.0 = found;
        }
        Ok(self.0.entry(name).or_default())
    }
}
