//! An index of the variables of an object by name, so that setting many variables takes time in proportion to
//! their number.

use super::{Global, GlobalError, path::ambiguous};
use alloc::sync::Arc;
use core::cmp::Ordering;
use hashbrown::HashMap;

/// The variables of an object with an index of their names.
#[derive(Clone, Debug)]
pub(crate) struct GlobalIndex {
    globals: Vec<Global>,
    /// The positions in `globals`, sorted by name and section. Variables of the same name and section keep
    /// their order.
    by_name: Vec<usize>,
    /// The offset of the last variable in each section.
    last_offsets: HashMap<Arc<str>, usize>,
}

impl GlobalIndex {
    pub(crate) fn new(globals: Vec<Global>) -> Self {
        let mut by_name: Vec<usize> = (0..globals.len()).collect();
        by_name.sort_by_key(|position| globals.get(*position).map(|g| (&*g.name, &*g.section)));
        let mut last_offsets = HashMap::new();
        for global in &globals {
            let last = last_offsets.entry(Arc::clone(&global.section)).or_insert(global.offset);
            *last = global.offset.max(*last);
        }
        Self { globals, by_name, last_offsets }
    }

    pub(crate) fn globals(&self) -> &[Global] {
        &self.globals
    }

    /// Returns the offset of the last variable in a section.
    pub(crate) fn last_offset(&self, section: &str) -> Option<usize> {
        self.last_offsets.get(section).copied()
    }

    /// Finds a variable by name or by `section/name`. Several variables of the name are an error.
    pub(crate) fn find_whole(&self, name: &str) -> Result<Option<&Global>, GlobalError> {
        let named = self.range(|global| (*global.name).cmp(name));
        let in_section = match name.split_once('/') {
            Some((section, name)) => {
                self.range(|global| (&*global.name, &*global.section).cmp(&(name, section)))
            }
            None => &[],
        };
        let mut positions = [named, in_section].into_iter().flatten().copied();
        match (positions.next(), positions.next()) {
            (Some(position), None) => Ok(self.globals.get(position)),
            (Some(_), Some(_)) => {
                let mut positions = [named, in_section].concat();
                positions.sort_unstable();
                let mut globals = positions.iter().filter_map(|position| self.globals.get(*position));
                match (globals.next(), globals.next()) {
                    (Some(first), Some(second)) => Err(ambiguous(name, first, second)),
                    (first, _) => Ok(first),
                }
            }
            (None, _) => Ok(None),
        }
    }

    /// Returns the positions of the variables that `compare` orders as equal.
    #[expect(
        clippy::disallowed_methods,
        reason = "what is less is less or equal, so `start` is not after `end`"
    )]
    fn range(&self, compare: impl Fn(&Global) -> Ordering) -> &[usize] {
        let is = |position: &usize, wanted: fn(Ordering) -> bool| {
            self.globals.get(*position).is_some_and(|global| wanted(compare(global)))
        };
        let start = self.by_name.partition_point(|position| is(position, Ordering::is_lt));
        let end = self.by_name.partition_point(|position| is(position, Ordering::is_le));
        self.by_name.get(start..end).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::globals::{GlobalKind, find_global, path::find_path};

    #[test]
    fn the_index_and_a_linear_search_find_the_same_variables() {
        let global = |(offset, (section, name)): (usize, (&str, &str))| Global {
            name: name.into(),
            section: section.into(),
            map: section.into(),
            kind: GlobalKind::Variable,
            offset,
            size: 4,
            ty: None,
            value_offset: offset,
            declared_size: 4,
        };
        let sections = [".data", ".bss", ".data.x", "a", ""];
        let names = ["n", "m", ".data/n", "a/b", "b", "n.x", "", "/", "twice", "twice"];
        let all = sections.iter().flat_map(|section| names.map(|name| (*section, name)));
        let all: Vec<_> = all.enumerate().map(global).collect();
        let queries = names.iter().chain(&["x", "n.y", "b[1]", "x.y.z"]).flat_map(|name| {
            sections.iter().map(move |section| format!("{section}/{name}")).chain([(*name).to_owned()])
        });
        let queries: Vec<_> = queries.collect();
        for step in 1..=all.len() {
            let some: Vec<_> = all.iter().step_by(step).cloned().collect();
            let index = GlobalIndex::new(some.clone());
            for query in &queries {
                let found = find_path(&some, None, query, |name| Ok(index.find_whole(name)?.cloned()));
                assert_eq!(found, find_global(&some, None, query), "{query}");
            }
        }
    }
}
