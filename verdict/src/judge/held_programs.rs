//! Programs that program arrays hold, and that a load has beside the programs that use the arrays.

use super::{
    answers::KernelAnswers,
    map_owner::misfit_reason,
    model::Reason,
    reasons::{distinct, limit_reasons},
};
use crate::requirements::{ObjectNeeds, OwnedMap, ProgramNeeds};
use alloc::{collections::VecDeque, rc::Rc};
use core_relo_object::{MapIndex, ProgramIndex};
use hashbrown::{HashMap, HashSet};

/// The programs that arrays hold, directly or through the arrays of these programs.
pub(super) struct HeldPrograms<'n> {
    needs: &'n ObjectNeeds<'n, 'n>,
    /// The programs in each array, in the order of their keys.
    by_array: HashMap<MapIndex, Vec<ProgramIndex>>,
    /// The programs of each set of arrays that programs use.
    known: HashMap<Vec<MapIndex>, Rc<HeldSet>>,
}

/// The programs that a set of arrays holds.
#[derive(Default)]
struct HeldSet {
    programs: HashSet<ProgramIndex>,
    /// The reasons against the programs, each with the text of the program's own reason.
    reasons: Vec<(String, Reason)>,
}

impl<'n> HeldPrograms<'n> {
    pub(super) fn new(needs: &'n ObjectNeeds<'n, 'n>) -> Self {
        let mut by_array: HashMap<MapIndex, Vec<ProgramIndex>> = HashMap::new();
        for element in &needs.array_programs {
            by_array.entry(element.map_index).or_default().push(element.program);
        }
        Self { needs, by_array, known: HashMap::new() }
    }

    /// Returns whether no array holds a program.
    pub(super) fn is_empty(&self) -> bool {
        self.by_array.is_empty()
    }

    /// Returns the programs that a load has beside those that it selects.
    pub(super) fn beside(&self, is_selected: impl Fn(&ProgramNeeds) -> bool) -> HashSet<ProgramIndex> {
        if self.is_empty() {
            return HashSet::new();
        }
        let selected = self.needs.programs.iter().filter(|program| is_selected(program));
        let arrays = selected.flat_map(|program| self.arrays_of(program.index));
        self.reach(arrays.collect()).into_iter().map(|(program, _)| program).collect()
    }

    /// Returns the reasons against the programs that the arrays of a program hold, if the program is loaded
    /// by itself. `own` are the reasons of each program alone.
    pub(super) fn reasons_beside(
        &mut self,
        answers: &KernelAnswers<'_, '_>,
        program: &ProgramNeeds,
        own: &HashMap<ProgramIndex, Vec<Reason>>,
    ) -> Vec<Reason> {
        let arrays: Vec<_> = self.arrays_of(program.index).map(|map| map.index).collect();
        if arrays.is_empty() {
            return Vec::new();
        }
        let held = if let Some(held) = self.known.get(&arrays) {
            Rc::clone(held)
        } else {
            let held = Rc::new(self.collect(program.index, own));
            self.known.insert(arrays, Rc::clone(&held));
            held
        };
        let mine = own.get(&program.index).into_iter().flatten();
        let mine: HashSet<_> = mine.map(|reason| &*reason.text).collect();
        let others = held.reasons.iter().filter(|(text, _)| !mine.contains(&**text));
        let mut reasons: Vec<_> = others.map(|(_, reason)| reason.clone()).collect();
        for map in self.needs.owned_maps.maps_of(program.index) {
            // The first program of the map besides this one.
            let users = map.users.iter().chain(self.by_array.get(&map.index).into_iter().flatten());
            let mut users = users.filter(|user| held.programs.contains(*user) && **user != program.index);
            reasons.extend(
                users.next().and_then(|other| misfit_reason(self.needs, answers, map, program.index, *other)),
            );
        }
        reasons
    }

    /// Returns the arrays with programs that a program refers to.
    fn arrays_of(&self, program: ProgramIndex) -> impl Iterator<Item = &'n OwnedMap> {
        let is_created = |map: &&OwnedMap| self.by_array.contains_key(&map.index);
        self.needs.owned_maps.maps_of(program).filter(is_created)
    }

    fn collect(&self, program: ProgramIndex, own: &HashMap<ProgramIndex, Vec<Reason>>) -> HeldSet {
        let mut set = HeldSet::default();
        for (held, map) in self.reach(self.arrays_of(program).collect()) {
            set.programs.insert(held);
            let Some(program) = self.needs.program(held) else { continue };
            for reason in own.get(&held).into_iter().flatten() {
                let text = format!("program {}, which map {} holds: {}", program.name, map.name, reason.text);
                set.reasons.push((reason.text.clone(), Reason { text, ..reason.clone() }));
            }
        }
        // The same reason of several programs is one, that of the first program.
        let mut known = HashSet::new();
        set.reasons.retain(|(text, _)| known.insert(text.clone()));
        let mut limited = distinct(set.reasons.iter().map(|(_, reason)| reason.clone()).collect());
        limit_reasons(&mut limited, self.needs.programs.len());
        let texts: HashMap<_, _> = set.reasons.drain(..).map(|(text, reason)| (reason.text, text)).collect();
        set.reasons = limited
            .into_iter()
            .map(|reason| (texts.get(&reason.text).unwrap_or(&reason.text).clone(), reason))
            .collect();
        set
    }

    /// Returns the programs that arrays hold, directly or through further arrays, each with the first array
    /// that holds the program.
    fn reach(&self, arrays: Vec<&'n OwnedMap>) -> Vec<(ProgramIndex, &'n OwnedMap)> {
        let mut visited: HashSet<_> = arrays.iter().map(|map| map.index).collect();
        let (mut pending, mut programs) = (VecDeque::from(arrays), Vec::new());
        let mut known = HashSet::new();
        while let Some(map) = pending.pop_front() {
            for program in self.by_array.get(&map.index).into_iter().flatten() {
                if known.insert(*program) {
                    programs.push((*program, map));
                    pending.extend(self.arrays_of(*program).filter(|map| visited.insert(map.index)));
                }
            }
        }
        programs
    }
}
