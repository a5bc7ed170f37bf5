//! Classes: types that are equal as far as named structs and unions.

use crate::{
    graph::{TypeWords, kind_of},
    names::NameId,
};
use core::hash::BuildHasher as _;
use core_relo::btf::Kind;
use hashbrown::{DefaultHashBuilder, HashTable};

/// A class of types.
///
/// The key of a class is the record of a type, with classes instead of types. A named struct or union to which the record refers is
/// the class of its name, whatever its definition. So no key depends on a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ClassId(pub(super) u32);

impl ClassId {
    pub(super) const VOID: Self = Self(0);

    fn index(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
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
    table: HashTable<u32>,
    hasher: DefaultHashBuilder,
    /// For each class, the class of the same type in which forward declarations are definitions.
    defined: Vec<ClassId>,
    unique_count: u32,
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

    /// Returns the class of a key, or `None` if there are too many classes for 32 bits.
    pub(super) fn intern(&mut self, key: &[u32]) -> Option<ClassId> {
        let hash = self.hasher.hash_one(key);
        let (words, ends) = (&self.words, &self.ends);
        if let Some(class) = self.table.find(hash, |class| key_of(words, ends, *class) == key) {
            return Some(ClassId(*class));
        }
        let class = ClassId(u32::try_from(self.ends.len()).ok()?);
        self.words.extend_from_slice(key);
        self.ends.push(u32::try_from(self.words.len()).ok()?);
        let (words, ends, hasher) = (&self.words, &self.ends, &self.hasher);
        self.table.insert_unique(hash, class.0, |class| hasher.hash_one(key_of(words, ends, *class)));
        self.defined.push(class);
        let defined = self.intern_defined(key)?;
        if let (Some(defined), Some(slot)) = (defined, self.defined.get_mut(class.index())) {
            *slot = defined;
        }
        Some(class)
    }

    /// Returns the class of the name of a struct or union.
    pub(super) fn intern_name(&mut self, kind: Kind, name: NameId, is_forward: bool) -> Option<ClassId> {
        let marker = if is_forward { FORWARD } else { NAMED };
        self.intern(&[name.0, marker, u32::from(kind.raw())])
    }

    /// Returns a class of its own.
    pub(super) fn add_unique(&mut self) -> Option<ClassId> {
        self.unique_count = self.unique_count.checked_add(1)?;
        self.intern(&[self.unique_count, UNIQUE])
    }

    /// Returns the class of the same type in which forward declarations are definitions.
    pub(super) fn defined(&self, class: ClassId) -> ClassId {
        self.defined.get(class.index()).copied().unwrap_or(class)
    }

    /// Returns the class of a key with definitions for forward declarations; `Some(None)` if the key has no forward declarations.
    #[expect(clippy::option_option, reason = "no forward declaration, or too many classes")]
    fn intern_defined(&mut self, key: &[u32]) -> Option<Option<ClassId>> {
        let info = key.get(1).copied().unwrap_or_default();
        let mut defined = key.to_vec();
        if info == FORWARD {
            if let Some(marker) = defined.get_mut(1) {
                *marker = NAMED;
            }
        } else if info & (NAMED | UNIQUE) == 0 {
            for at in TypeWords::new(kind_of(info), key.len()) {
                if let Some(word) = defined.get_mut(at) {
                    *word = self.defined(ClassId(*word)).0;
                }
            }
        }
        // The second key has no forward declarations, so that this ends.
        if defined == key { Some(None) } else { self.intern(&defined).map(Some) }
    }
}

/// Returns the key of a class.
fn key_of<'k>(words: &'k [u32], ends: &[u32], class: u32) -> &'k [u32] {
    let range = || {
        let class = usize::try_from(class).ok()?;
        let start = usize::try_from(*ends.get(class.checked_sub(1)?)?).ok()?;
        words.get(start..usize::try_from(*ends.get(class)?).ok()?)
    };
    range().unwrap_or_default()
}
