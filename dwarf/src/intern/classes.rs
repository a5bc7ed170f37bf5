//! Classes: types that are equal as far as named structs, unions and enumerations.

use crate::{
    error::EncodeError,
    graph::{kind_of, type_words},
    names::NameId,
};
use core::hash::BuildHasher as _;
use core_relo::{InternalError, btf::Kind, internal::Invariant as _};
use hashbrown::{DefaultHashBuilder, HashTable};

/// A class of types.
///
/// The key of a class is the record of a type, with classes instead of types. A named struct, union or
/// enumeration to which the record refers is the class of its name, whatever its definition. So no key
/// depends on a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ClassId(pub(super) u32);

impl ClassId {
    pub(super) const VOID: Self = Self(0);

    pub(super) fn index(self) -> Result<usize, InternalError> {
        usize::try_from(self.0).invariant("32 bits fit an index")
    }
}

/// The info words of keys that are no records. No record has these bits.
const NAMED: u32 = 1 << 29;
const FORWARD: u32 = NAMED | 1;
const UNIQUE: u32 = 1 << 30;

/// The classes of a shard.
#[derive(Debug)]
pub(super) struct Classes {
    words: Vec<u32>,
    /// The end of each key in `words`.
    ends: Vec<u32>,
    table: HashTable<HashedClass>,
    hasher: DefaultHashBuilder,
    /// For each class, the class of the same type in which forward declarations are definitions.
    defined: Vec<ClassId>,
    unique_count: u32,
}

/// A class with the hash of its key.
#[derive(Clone, Copy, Debug)]
struct HashedClass {
    hash: u64,
    class: ClassId,
}

impl Default for Classes {
    fn default() -> Self {
        Self {
            words: Vec::new(),
            ends: Vec::from([0]),
            table: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
            defined: Vec::from([ClassId::VOID]),
            unique_count: 0,
        }
    }
}

impl Classes {
    /// Returns the number of classes.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns the class of a key.
    pub(super) fn intern(&mut self, key: &[u32]) -> Result<ClassId, EncodeError> {
        let hash = self.hasher.hash_one(key);
        let (words, ends) = (&self.words, &self.ends);
        let is_equal = |known: &HashedClass| {
            known.hash == hash && key_of(words, ends, known.class).is_some_and(|known| known == key)
        };
        if let Some(known) = self.table.find(hash, is_equal) {
            return Ok(known.class);
        }
        let class = ClassId(u32::try_from(self.ends.len()).ok().ok_or(EncodeError::TooManyTypes)?);
        self.words.extend_from_slice(key);
        self.ends.push(u32::try_from(self.words.len()).ok().ok_or(EncodeError::TooManyTypes)?);
        self.table.insert_unique(hash, HashedClass { hash, class }, |known| known.hash);
        self.defined.push(class);
        if let Some(defined) = self.intern_defined(key)? {
            *self.defined.get_mut(class.index()?).invariant(IN_TABLE)? = defined;
        }
        Ok(class)
    }

    /// Returns the class of the name of a struct, union or enumeration.
    pub(super) fn intern_name(
        &mut self,
        kind: Kind,
        name: NameId,
        is_forward: bool,
    ) -> Result<ClassId, EncodeError> {
        let marker = if is_forward { FORWARD } else { NAMED };
        self.intern(&[name.0, marker, u32::from(kind.raw())])
    }

    /// Returns a class of its own.
    pub(super) fn add_unique(&mut self) -> Result<ClassId, EncodeError> {
        self.unique_count = self.unique_count.checked_add(1).ok_or(EncodeError::TooManyTypes)?;
        self.intern(&[self.unique_count, UNIQUE])
    }

    /// Returns the class of the same type in which forward declarations are definitions.
    pub(super) fn defined(&self, class: ClassId) -> Result<ClassId, InternalError> {
        self.defined.get(class.index()?).copied().invariant(IN_TABLE)
    }

    /// Returns the class of a key with definitions for forward declarations; `None` if the key has no forward
    /// declarations.
    fn intern_defined(&mut self, key: &[u32]) -> Result<Option<ClassId>, EncodeError> {
        let mut defined = key.to_vec();
        let info = defined.get_mut(1).invariant("a key has an info word")?;
        if *info == FORWARD {
            *info = NAMED;
        } else if *info & (NAMED | UNIQUE) == 0 {
            for at in type_words(kind_of(*info), key.len()) {
                let word = defined.get_mut(at).invariant("a key has the words of its kind")?;
                *word = self.defined(ClassId(*word))?.0;
            }
        }
        // The second key has no forward declarations, so that this ends.
        if defined == key { Ok(None) } else { self.intern(&defined).map(Some) }
    }
}

const IN_TABLE: &str = "every class is in the table of definitions";

/// Returns the key of a class.
fn key_of<'k>(words: &'k [u32], ends: &[u32], class: ClassId) -> Option<&'k [u32]> {
    let class = usize::try_from(class.0).ok()?;
    let start = usize::try_from(*ends.get(class.checked_sub(1)?)?).ok()?;
    words.get(start..usize::try_from(*ends.get(class)?).ok()?)
}
