//! The functions whose relocations belong to a load of one program.

use crate::{
    index::{MapIndex, ProgramIndex},
    internal::InternalError,
    link::{HeldPrograms, ProgramLinker, RefTarget},
};
use hashbrown::{HashMap, HashSet, hash_map::Entry};

/// A search for the functions of loads that have a single program. Each function is read once for all loads.
pub(super) struct LoadFunctions<'l, 'o, 'd> {
    linker: &'l ProgramLinker<'o, 'd>,
    held: &'l HeldPrograms,
    /// Whether functions outside of `.text` may be called. All others are subprograms, which belong to every
    /// load.
    may_call_programs: bool,
    /// The functions to which a function leads: its callees, and the programs in the program arrays to which
    /// it refers.
    links: HashMap<ProgramIndex, Vec<ProgramIndex>>,
    steps: LoadSteps,
}

/// The steps that are left for all loads: functions, links and records.
struct LoadSteps(usize);

impl LoadSteps {
    /// Takes steps. Returns whether enough were left; otherwise none is left.
    fn take(&mut self, count: usize) -> bool {
        let left = self.0.checked_sub(count);
        self.0 = left.unwrap_or(0);
        left.is_some()
    }
}

impl<'l, 'o, 'd> LoadFunctions<'l, 'o, 'd> {
    /// `held` are the programs that program arrays hold, `steps` the limit for all loads.
    pub(super) fn new(linker: &'l ProgramLinker<'o, 'd>, held: &'l HeldPrograms, steps: usize) -> Self {
        let may_call_programs = linker.may_call_programs();
        Self { linker, held, may_call_programs, links: HashMap::new(), steps: LoadSteps(steps) }
    }

    /// Returns the functions of a load of one program: the program, the functions that it calls, and the
    /// programs in its program arrays with their functions. Returns `None` if the steps are used up.
    pub(super) fn find(&mut self, program: ProgramIndex) -> Result<Option<Vec<ProgramIndex>>, InternalError> {
        let (mut found, mut pending, mut reached) =
            (Vec::new(), vec![program], HashSet::<_>::from([program]));
        while let Some(function) = pending.pop() {
            found.push(function);
            if !self.steps.take(1) {
                return Ok(None);
            }
            if self.held.is_empty() && !self.may_call_programs {
                continue;
            }
            let links = match self.links.entry(function) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(place) => place.insert(read_links(self.linker, self.held, function)?),
            };
            if !self.steps.take(links.len()) {
                return Ok(None);
            }
            pending.extend(links.iter().copied().filter(|linked| reached.insert(*linked)));
        }
        Ok(Some(found))
    }

    /// Takes steps for the records of a load. Returns whether enough were left.
    pub(super) fn take_steps(&mut self, count: usize) -> bool {
        self.steps.take(count)
    }
}

fn read_links(
    linker: &ProgramLinker<'_, '_>,
    held: &HeldPrograms,
    function: ProgramIndex,
) -> Result<Vec<ProgramIndex>, InternalError> {
    let mut links: HashSet<_> = linker.callees(function)?.collect();
    if !held.is_empty() {
        let map = |target| match target {
            RefTarget::Map(map) => Some(map),
            _ => None,
        };
        let maps: HashSet<MapIndex> = linker.references(function)?.filter_map(map).collect();
        links.extend(maps.iter().filter_map(|map| held.get(map)).flatten());
    }
    let mut links: Vec<_> = links.into_iter().collect();
    links.sort_unstable();
    Ok(links)
}
