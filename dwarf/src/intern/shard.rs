//! The types of a shard.

use super::{
    classes::{ClassId, Classes},
    unit_classes::{UnitClasses, index_of},
};
use crate::{
    error::{EncodeError, EntryProblem},
    graph::{Record, Records, TypeRef, TypeWords},
    lower::Lowered,
};
use core_relo::{InternalError, btf::Kind, internal::Invariant as _};
use hashbrown::{HashMap, HashSet};

const RECORD_IS_KNOWN: &str = "each record has been seen";

/// The reference to `void`.
const VOID: TypeRef = 0;

/// A struct or union of a unit that the shard has already.
struct Merged {
    /// The record of the unit.
    record: usize,
    /// The record of the shard.
    known: usize,
}

/// The types of a shard of units.
#[derive(Debug, Default)]
pub(crate) struct ShardTypes {
    classes: Classes,
    /// The record of each class; zero if there is none.
    class_records: Vec<TypeRef>,
    /// For each record, whether it is a forward declaration or leads to one before it leads to a struct or
    /// union.
    leads_to_forward: Vec<bool>,
    /// For each record, whether it is a struct or union that refers to forward declarations. Its class may
    /// refer to definitions in other units.
    is_unfinished: Vec<bool>,
    /// The class of the definition of each named struct, union and enumeration, by the class of the name.
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
        let mut next = u32::try_from(self.records.len()).ok().ok_or(EncodeError::TooManyTypes)?;
        for (record, class) in classes.iter().enumerate() {
            let kind = unit.records.get(record)?.kind();
            let is_shared = kind != Kind::Var && !*is_apart.get(record).invariant(RECORD_IS_KNOWN)?;
            let slot = self.class_records.get_mut(class.index()?).invariant("each class has a slot")?;
            if let Some(known) = index_of(*slot)?.filter(|_| is_shared) {
                shard_refs.push(*slot);
                if kind.is_composite() {
                    merged.push(Merged { record, known });
                }
                continue;
            }
            next = next.checked_add(1).ok_or(EncodeError::TooManyTypes)?;
            if is_shared {
                *slot = next;
            }
            shard_refs.push(next);
            new.push(record);
        }
        check_containment(unit, &new)?;
        let first_new = self.records.len();
        let mut words = Vec::new();
        for index in new {
            let record = unit.records.get(index)?;
            record.copy_with_targets(&mut words, |target| shard_ref(target, &shard_refs))?;
            self.records.add(words.iter().copied()).ok_or(EncodeError::TooManyTypes)?;
            let class = *classes.get(index).invariant(RECORD_IS_KNOWN)?;
            self.leads_to_forward.push(record.is_declaration() || self.classes.defined(class)? != class);
        }
        for added in first_new..self.records.len() {
            self.is_unfinished.push(self.refers_to_forward(self.records.get(added)?)?);
        }
        for merged in merged {
            if *self.is_unfinished.get(merged.known).invariant(RECORD_IS_KNOWN)? {
                self.finish(unit, merged, &shard_refs)?;
            }
        }
        self.addresses.extend_from_slice(&unit.addresses);
        Ok(())
    }

    /// Lets a struct or union refer to the definitions to which the same type of a unit refers, instead of to
    /// forward declarations.
    ///
    /// Another definition of the name may exist, so that nobody could find the right one later.
    fn finish(
        &mut self,
        unit: &Lowered,
        Merged { record, known }: Merged,
        shard_refs: &[TypeRef],
    ) -> Result<(), InternalError> {
        let record = unit.records.get(record)?;
        for at in record.type_words() {
            let own = shard_ref(record.word(at)?, shard_refs)?;
            // Structs of one class have the same number of members.
            if self.is_forward(self.records.get(known)?.word(at)?)? && own != VOID && !self.is_forward(own)? {
                self.records.set(known, at, own)?;
            }
        }
        let is_unfinished = self.refers_to_forward(self.records.get(known)?)?;
        *self.is_unfinished.get_mut(known).invariant(RECORD_IS_KNOWN)? = is_unfinished;
        Ok(())
    }

    /// Returns whether a record is a struct or union that refers to forward declarations.
    fn refers_to_forward(&self, record: Record<'_>) -> Result<bool, InternalError> {
        if !record.kind().is_composite() {
            return Ok(false);
        }
        for target in record.targets() {
            if self.is_forward(target?)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn is_forward(&self, target: TypeRef) -> Result<bool, InternalError> {
        let Some(index) = index_of(target)? else { return Ok(false) };
        self.leads_to_forward.get(index).copied().invariant(RECORD_IS_KNOWN)
    }

    /// Returns the number of records and classes, which is a measure of the memory.
    pub(crate) fn stored(&self) -> Result<u64, InternalError> {
        let counts = [self.records.len(), self.classes.len()];
        counts
            .into_iter()
            .map(u64::try_from)
            .sum::<Result<_, _>>()
            .invariant("an amount of memory fits 64 bits")
    }

    /// Returns, for each record, whether it reaches a struct, union or enumeration whose definition differs
    /// from the shard's.
    ///
    /// The other definitions become the shard's.
    fn find_types_apart(&mut self, unit: &Lowered, classes: &[ClassId]) -> Result<Vec<bool>, EncodeError> {
        let mut own: HashMap<ClassId, (usize, ClassId)> = HashMap::new();
        let mut apart = Vec::new();
        for (record, class) in classes.iter().enumerate() {
            let head = unit.records.get(record)?;
            if !head.is_named_definition() {
                continue;
            }
            let name = self.classes.intern_name(head.tag_kind(), head.name, false)?;
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
        let is_apart = reaching(unit, apart)?;
        for (name, (record, class)) in own {
            if !*is_apart.get(record).invariant(RECORD_IS_KNOWN)? {
                self.definitions.insert(name, class);
            }
        }
        Ok(is_apart)
    }
}

/// Returns, for each record, whether it reaches one of the given records.
fn reaching(unit: &Lowered, mut pending: Vec<usize>) -> Result<Vec<bool>, InternalError> {
    let mut reached = vec![false; unit.records.len()];
    if pending.is_empty() {
        return Ok(reached);
    }
    // The records that refer to a record: a list in one vector, with the start of each.
    let mut users: Vec<Vec<usize>> = vec![Vec::new(); unit.records.len()];
    for (user, record) in unit.records.iter().enumerate() {
        for target in record?.targets() {
            if let Some(target) = index_of(target?)? {
                users.get_mut(target).invariant(RECORD_IS_KNOWN)?.push(user);
            }
        }
    }
    while let Some(record) = pending.pop() {
        let reached = reached.get_mut(record).invariant(RECORD_IS_KNOWN)?;
        if !core::mem::replace(reached, true) {
            pending.extend(users.get(record).invariant(RECORD_IS_KNOWN)?);
        }
    }
    Ok(reached)
}

/// Returns the shard's reference for that of a unit.
fn shard_ref(target: TypeRef, shard_refs: &[TypeRef]) -> Result<TypeRef, InternalError> {
    match index_of(target)? {
        Some(index) => shard_refs.get(index).copied().invariant(RECORD_IS_KNOWN),
        None => Ok(VOID),
    }
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
            let view = unit.records.get(record)?;
            let is_index_type = view.kind() == Kind::Array && at == 4;
            if let Some(target) = index_of(view.word(at)?)?.filter(|_| !is_index_type) {
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
    let view = unit.records.get(record)?;
    let kind = view.kind();
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
    pending.push((record, view.type_words()));
    Ok(())
}
