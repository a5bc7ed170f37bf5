//! The types of a shard.

use super::{
    classes::{ClassId, Classes},
    unit_classes::{UnitClasses, index_of},
};
use crate::{
    error::{EncodeError, EntryProblem},
    graph::{RecordHead, Records, TypeRef, TypeWords},
    lower::Lowered,
};
use core_relo::btf::Kind;
use hashbrown::{HashMap, HashSet};

/// The types of a shard of units.
#[derive(Debug, Default)]
pub(crate) struct ShardTypes {
    classes: Classes,
    /// The record of each class; zero if there is none.
    class_records: Vec<TypeRef>,
    /// For each record, whether it is a forward declaration or leads to one before it leads to a struct or union.
    leads_to_forward: Vec<bool>,
    /// For each record, whether it is a struct or union that refers to forward declarations. Its class may refer to definitions in
    /// other units.
    is_unfinished: Vec<bool>,
    /// The class of the definition of each named struct and union, by the class of the name.
    definitions: HashMap<ClassId, ClassId>,
    /// The records of the shard.
    pub(crate) records: Records,
    /// The addresses of the VAR records, in their order.
    pub(crate) addresses: Vec<u64>,
}

impl ShardTypes {
    /// Adds the types of a unit that the shard does not have.
    pub(crate) fn add_unit(&mut self, unit: &Lowered) -> Result<(), EncodeError> {
        let classes = UnitClasses::compute(unit, &mut self.classes)?;
        self.class_records.resize(self.classes.len(), 0);
        let is_apart = self.find_types_apart(unit, &classes)?;
        // The ids of new records are known before their words, because types refer to later types.
        let mut shard_refs = Vec::with_capacity(classes.len());
        let mut new = Vec::new();
        let mut merged = Vec::new();
        let too_many = EncodeError::TooManyTypes;
        let mut next = u32::try_from(self.records.len()).ok().ok_or_else(|| too_many.clone())?;
        for (record, class) in classes.iter().enumerate() {
            let kind = RecordHead::new(unit.records.get(record)).kind;
            let is_variable = kind == Kind::Var;
            let slot = usize::try_from(class.0).ok().and_then(|class| self.class_records.get_mut(class));
            let slot = slot.filter(|_| !is_variable && is_apart.get(record) != Some(&true));
            if let Some(known) = slot.as_deref().filter(|known| **known != 0) {
                shard_refs.push(*known);
                if kind.is_composite() {
                    merged.push((record, *known));
                }
                continue;
            }
            next = next.checked_add(1).ok_or_else(|| too_many.clone())?;
            if let Some(slot) = slot {
                *slot = next;
            }
            shard_refs.push(next);
            new.push(record);
        }
        check_containment(unit, &new)?;
        for record in &new {
            let mut words = unit.records.get(*record).to_vec();
            for at in TypeWords::new(RecordHead::new(&words).kind, words.len()) {
                if let Some(word) = words.get_mut(at) {
                    *word = index_of(*word).and_then(|target| shard_refs.get(target)).copied().unwrap_or(0);
                }
            }
            self.records.add(words).ok_or_else(|| too_many.clone())?;
            let is_forward = RecordHead::new(unit.records.get(*record)).kind == Kind::Fwd;
            let class = classes.get(*record).copied().unwrap_or(ClassId::VOID);
            self.leads_to_forward.push(is_forward || self.classes.defined(class) != class);
        }
        for record in new {
            let added = shard_refs.get(record).copied().and_then(index_of);
            let is_unfinished = added.is_some_and(|index| self.refers_to_forward(index));
            self.is_unfinished.push(is_unfinished);
        }
        for (record, known) in merged {
            if let Some(known) = index_of(known).filter(|known| self.is_unfinished.get(*known) == Some(&true))
            {
                self.finish(unit, record, known, &shard_refs)?;
            }
        }
        self.addresses.extend_from_slice(&unit.addresses);
        Ok(())
    }

    /// Lets a struct or union refer to the definitions to which the same type of a unit refers, instead of to forward declarations.
    ///
    /// Another definition of the name may exist, so that nobody could find the right one later.
    fn finish(
        &mut self,
        unit: &Lowered,
        record: usize,
        known: usize,
        shard_refs: &[TypeRef],
    ) -> Result<(), EncodeError> {
        let words = unit.records.get(record);
        for at in TypeWords::new(RecordHead::new(words).kind, words.len()) {
            let own = words.get(at).copied().and_then(index_of).and_then(|target| shard_refs.get(target));
            let shards = self.records.get(known).get(at);
            if let (Some(own), Some(shards)) = (own.copied(), shards.copied())
                && self.is_forward(shards)
                && !self.is_forward(own)
            {
                let invariant = "structs of one class have the same number of members";
                self.records.set(known, at, own).ok_or(EncodeError::Internal { invariant })?;
            }
        }
        let is_unfinished = self.refers_to_forward(known);
        if let Some(slot) = self.is_unfinished.get_mut(known) {
            *slot = is_unfinished;
        }
        Ok(())
    }

    /// Returns whether a record is a struct or union that refers to forward declarations.
    fn refers_to_forward(&self, record: usize) -> bool {
        let words = self.records.get(record);
        let kind = RecordHead::new(words).kind;
        let mut targets = TypeWords::new(kind, words.len()).filter_map(|at| words.get(at).copied());
        kind.is_composite() && targets.any(|target| self.is_forward(target))
    }

    fn is_forward(&self, target: TypeRef) -> bool {
        index_of(target).and_then(|index| self.leads_to_forward.get(index)) == Some(&true)
    }

    /// Returns the number of records and classes, which is a measure of the memory.
    pub(crate) fn stored(&self) -> usize {
        self.records.len().saturating_add(self.classes.len())
    }

    /// Returns, for each record, whether it reaches a struct or union whose definition differs from the shard's.
    ///
    /// The other definitions become the shard's.
    fn find_types_apart(&mut self, unit: &Lowered, classes: &[ClassId]) -> Result<Vec<bool>, EncodeError> {
        let mut own: HashMap<ClassId, (usize, ClassId)> = HashMap::new();
        let mut apart = Vec::new();
        for (record, class) in classes.iter().enumerate() {
            let head = RecordHead::new(unit.records.get(record));
            if !head.is_named_composite() {
                continue;
            }
            let name =
                self.classes.intern_name(head.kind, head.name, false).ok_or(EncodeError::TooManyTypes)?;
            let known = self.definitions.get(&name).or_else(|| own.get(&name).map(|(_, class)| class));
            match known {
                Some(known) if known == class => {}
                Some(_) => apart.push(record),
                None => {
                    own.insert(name, (record, *class));
                }
            }
        }
        self.class_records.resize(self.classes.len(), 0);
        let is_apart = if apart.is_empty() { Vec::new() } else { reaching(unit, apart) };
        let of_shard = own.into_iter().filter(|(_, (record, _))| is_apart.get(*record) != Some(&true));
        self.definitions.extend(of_shard.map(|(name, (_, class))| (name, class)));
        Ok(is_apart)
    }
}

/// Returns, for each record, whether it reaches one of the given records.
fn reaching(unit: &Lowered, mut pending: Vec<usize>) -> Vec<bool> {
    // The records that refer to a record: a list in one vector, with the start of each.
    let mut users: Vec<Vec<u32>> = vec![Vec::new(); unit.records.len()];
    for (user, words) in (0u32..).zip(unit.records.iter()) {
        for at in TypeWords::new(RecordHead::new(words).kind, words.len()) {
            let target = words.get(at).copied().and_then(index_of);
            if let Some(users) = target.and_then(|target| users.get_mut(target)) {
                users.push(user);
            }
        }
    }
    let mut reached = vec![false; unit.records.len()];
    while let Some(record) = pending.pop() {
        match reached.get_mut(record) {
            Some(reached) if !*reached => *reached = true,
            _ => continue,
        }
        let users = users.get(record).map(Vec::as_slice).unwrap_or_default();
        pending.extend(users.iter().filter_map(|user| usize::try_from(*user).ok()));
    }
    reached
}

/// Returns an error if a struct or union among these records contains itself.
fn check_containment(unit: &Lowered, records: &[usize]) -> Result<(), EncodeError> {
    let mut finished = HashSet::new();
    let mut open = HashSet::new();
    let mut pending: Vec<(usize, TypeWords)> = Vec::new();
    for start in records {
        begin(unit, *start, &finished, &mut open, &mut pending)?;
        while let Some((record, words)) = pending.last_mut() {
            let record = *record;
            let Some(at) = words.next() else {
                pending.pop();
                open.remove(&record);
                finished.insert(record);
                continue;
            };
            let kind = RecordHead::new(unit.records.get(record)).kind;
            let is_index_type = kind == Kind::Array && at == 4;
            let target = unit.records.get(record).get(at).copied().and_then(index_of);
            if let Some(target) = target.filter(|_| !is_index_type) {
                begin(unit, target, &finished, &mut open, &mut pending)?;
            }
        }
    }
    Ok(())
}

/// Starts to follow what a record contains, unless that is known.
fn begin(
    unit: &Lowered,
    record: usize,
    finished: &HashSet<usize>,
    open: &mut HashSet<usize>,
    pending: &mut Vec<(usize, TypeWords)>,
) -> Result<(), EncodeError> {
    let words = unit.records.get(record);
    let kind = RecordHead::new(words).kind;
    let contains = kind.is_composite()
        || matches!(
            kind,
            Kind::Array | Kind::Typedef | Kind::Const | Kind::Volatile | Kind::Restrict | Kind::TypeTag
        );
    if !contains || finished.contains(&record) {
        return Ok(());
    }
    if !open.insert(record) {
        return Err(unit.error(record, EntryProblem::ContainsItself));
    }
    pending.push((record, TypeWords::new(kind, words.len())));
    Ok(())
}
