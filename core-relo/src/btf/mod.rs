//! BTF: a table of offsets over bytes it borrows or shares.
//!
//! [`Btf::parse`] finds every record and checks every reference; nothing is copied and no type is allocated. [`Type`] is a `Copy` view whose accessors read the record where it lies. Ids and offsets are newtypes:
//! [`TypeId`] counts types (a split BTF's go on after its base's), [`StrOffset`] counts bytes of strings (likewise).
//!
//! The format: the kernel's `Documentation/bpf/btf.rst` and `include/uapi/linux/btf.h`.

mod amend;
mod build;
mod check;
mod dedup;
mod distill;
mod edit;
mod elements;
mod error;
mod geometry;
mod halves;
mod header;
mod heads;
mod import;
mod index;
mod kind;
mod pieces;
mod quick;
mod raw;
mod reference;
mod rewrite;
mod sieve;
mod sorted;
mod strings;
mod table;
#[cfg(test)]
mod tests;
mod ty;
mod value;
mod view;
mod visit;
mod walk;

pub use build::{Builder, BuiltMember};
pub use dedup::{DedupError, Deduped, dedup, dedup_into};
pub use edit::Edit;
pub use error::{BtfError, WalkError};
pub use geometry::Extent;
pub use import::{Import, ImportError};
pub use index::NameIndex;
pub use kind::Kind;
pub use raw::RawType;
pub use sieve::Sieve;
pub use ty::{Members, Params, SecInfos, Type, Variants};
pub use value::{EnumValue, Group, Place, Scalar, Value, ValueText, Visit};
pub use view::{ArrayInfo, IntInfo, Member, Param, SecInfo, Variant};

pub(crate) use header::{MAGIC, endian_of};
pub(crate) use strings::{Beginning, Strings};
pub(crate) use table::KindSet;

use crate::{
    data::Data,
    endian::Endian,
    ids::{ByteSize, StrOffset, TypeId, to_u32},
    limits,
    name::Name,
};
use alloc::sync::Arc;
use core::ops::ControlFlow;
use header::Header;
use sorted::{Order, Sorted};
use table::Table;

/// The types of a kernel, a module or a BPF object.
///
/// ```
/// use core_relo::{btf::{Btf, Builder, Kind}, Endian};
///
/// let mut b = Builder::new(Endian::Little);
/// let long = b.int("long", 8, Builder::SIGNED);
/// b.structure("pair", 16, &[("a", long, 0), ("b", long, 64)]);
/// let btf = Btf::parse(b.finish()).unwrap();
///
/// let pair = btf.find(b"pair", Kind::Struct).unwrap();
/// assert_eq!(pair.members().map(|m| m.name.to_string()).collect::<Vec<_>>(), ["a", "b"]);
/// assert_eq!(btf.size_of(pair.id()).unwrap().0, 16);
/// ```
#[derive(Clone, Debug)]
pub struct Btf<'d> {
    data: Data<'d>,
    header: Header,
    base: Option<Arc<Self>>,
    first_id: TypeId,
    string_start: u32,
    table: Table,
    pointer_size: Option<ByteSize>,
    /// That the own types are sorted by name, if somebody vouches for it.
    order: Option<Order>,
}

/// How a BTF is read. What the shorter ways do not take is read on the longer ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// [`Table::scan`] and [`check::references`].
    #[cfg(test)]
    Long,
    /// [`quick`].
    Quick,
    /// [`heads`], which leaves elements alone.
    Unvalidated,
}

impl<'d> Btf<'d> {
    /// Parses a BTF of its own: a kernel's, a BPF object's. Every name and type that is referred to is known to exist.
    pub fn parse(data: impl Into<Data<'d>>) -> Result<Self, BtfError> {
        Self::parse_on(data.into(), None)
    }

    /// Parses a split BTF (a module's), whose ids and strings go on where those of `base` end.
    pub fn parse_split(data: impl Into<Data<'d>>, base: Arc<Self>) -> Result<Self, BtfError> {
        Self::parse_on(data.into(), Some(base))
    }

    /// Parses a BTF of its own or, with a `base`, a split one, and leaves for later what only its elements refer to. It takes little
    /// more than half as long as [`parse`](Self::parse): for the BTF of a kernel, of which an object wants a few types.
    ///
    /// Records are known to lie within, and their own names and types to exist. Members, parameters, enumerators, variables, elements
    /// of arrays and what kind of type a FUNC refers to are not looked at. What relocations read of them is validated then, and is an
    /// error of theirs ([`WalkError::NoType`], [`WalkError::NoName`]). For others who read them, a name that does not exist is
    /// empty, and a type that does not exist is none if it is looked up in the BTF that holds the reference ([`Type::btf`]).
    pub fn parse_unvalidated(data: impl Into<Data<'d>>, base: Option<Arc<Self>>) -> Result<Self, BtfError> {
        Self::parse_by(data.into(), base, Way::Unvalidated)
    }

    /// Parses a split BTF that was made upon `distilled`, the few base types it needs (`.BTF.base`), and relocates it onto
    /// the real `base` (libbpf: `btf__relocate`).
    ///
    /// The result refers to `base` alone: ids and strings are rewritten in a copy.
    pub fn relocate_split(
        data: impl Into<Data<'d>>,
        distilled: impl Into<Data<'d>>,
        base: Arc<Self>,
    ) -> Result<Self, BtfError> {
        let distilled = Arc::new(Self::parse(distilled)?);
        let split = Self::parse_split(data, Arc::clone(&distilled))?;
        distill::relocate(&split, &distilled, base)
    }

    fn parse_on(data: Data<'d>, base: Option<Arc<Self>>) -> Result<Self, BtfError> {
        Self::parse_by(data, base, Way::Quick)
    }

    fn parse_by(data: Data<'d>, base: Option<Arc<Self>>, way: Way) -> Result<Self, BtfError> {
        let header = Header::parse(&data)?;
        let (first_id, string_start) = match &base {
            None => (TypeId(1), 0),
            Some(base) => {
                if base.endian() != header.endian {
                    return Err(BtfError::BaseEndian);
                }
                if base.levels() >= limits::SPLIT_LEVELS {
                    return Err(BtfError::TooManyBases { limit: limits::SPLIT_LEVELS });
                }
                (base.end_id(), base.string_end())
            }
        };
        let string_end = string_start.checked_add(header.string_len()).ok_or(BtfError::TooManyTypes)?;
        strings::check(data.get(header.strings.clone()).unwrap_or_default(), base.is_some())?;
        let usual = match way {
            #[cfg(test)]
            Way::Long => None,
            Way::Quick | Way::Unvalidated => {
                quick::read(&data, &header, base.as_deref(), first_id, string_end, way)
            }
        };
        let is_checked = usual.is_some();
        let table = match usual {
            Some(table) => table,
            None => Table::scan(&data, &header, first_id)?,
        };
        let mut btf =
            Self { data, header, base, first_id, string_start, table, pointer_size: None, order: None };
        if !is_checked {
            check::references(&btf)?;
        }
        btf.pointer_size = walk::pointer_size(&btf);
        Ok(btf)
    }

    /// The data's byte order.
    pub fn endian(&self) -> Endian {
        self.header.endian
    }

    /// The size of a pointer: that of the first `long`, as libbpf's `determine_ptr_size` finds it, or as
    /// [set](Self::set_pointer_size); 8 where neither is known.
    ///
    /// The host's pointer size, which libbpf falls back on, plays no part.
    pub fn pointer_size(&self) -> ByteSize {
        self.pointer_size.unwrap_or(ByteSize(8))
    }

    /// Whether the BTF itself, or a caller, said how large pointers are.
    pub fn pointer_size_is_known(&self) -> bool {
        self.pointer_size.is_some()
    }

    /// Overrides the pointer size: a minimised BTF without `long`, an ELF file whose class tells.
    pub fn set_pointer_size(&mut self, size: ByteSize) {
        self.pointer_size = Some(size);
    }

    /// Looks whether the own types seem to be sorted by name, and if so, has names looked for by bisection from now on; whether
    /// they seem to be.
    ///
    /// Only for BTF whose maker sorted either all of it or nothing: the running kernel's and its modules', as the kernel shows them.
    /// A few hundred names are compared, not all. In a file a single changed letter, which nobody compared, would lead a search
    /// astray, and it would not find what libbpf finds: there a [`NameIndex`] compares all names, where that pays.
    pub fn trust_order(&mut self) -> bool {
        self.order = Order::sampled(self);
        self.order.is_some()
    }

    /// The BTF this one is split from.
    pub fn base(&self) -> Option<&Arc<Self>> {
        self.base.as_ref()
    }

    /// The id of the first own type: 1, or where the base ends.
    pub fn first_id(&self) -> TypeId {
        self.first_id
    }

    /// One past the last id; the number of types, `void` and the base's included.
    pub fn end_id(&self) -> TypeId {
        TypeId(self.first_id.0.saturating_add(to_u32(self.table.len())))
    }

    /// The type of this id, the base's included; id 0 is `void`.
    pub fn ty(&self, id: TypeId) -> Option<Type<'_>> {
        if id == TypeId::VOID {
            return Some(Type::void(self));
        }
        match id.0.checked_sub(self.first_id.0) {
            None => self.base.as_ref()?.ty(id),
            Some(own) => Type::at(self, id, self.table.offset(TypeId(own).index(), self.header.types.end)?),
        }
    }

    /// The string at an offset, the base's included.
    pub fn name(&self, at: StrOffset) -> Option<Name<'_>> {
        self.strings().name(at)
    }

    /// The own types in order of id, neither `void` nor the base's.
    pub fn types(&self) -> impl Iterator<Item = Type<'_>> {
        let types = self.data.get(..self.header.types.end).unwrap_or_default();
        let at = move |(at, id)| Type::of(self, self.header.endian, TypeId(id), types.get(at..)?);
        self.offsets().zip(self.first_id.0..).filter_map(at)
    }

    /// The first type of this name and kind, the base's first.
    pub fn find(&self, name: &[u8], kind: Kind) -> Option<Type<'_>> {
        let in_base = self.base.as_ref().and_then(|base| base.find(name, kind));
        in_base.or_else(|| self.find_own(name, kind))
    }

    /// The first own type of this name and kind, the base left out (libbpf: `btf__find_by_name_kind_own`).
    pub fn find_own(&self, name: &[u8], kind: Kind) -> Option<Type<'_>> {
        if name.contains(&0) {
            return None;
        }
        if let Some(order) = self.order.filter(|_| !name.is_empty()) {
            return Sorted::new(self, order).find(name, kind);
        }
        let strings = self.strings();
        let begin = Beginning::of_name(name, 0);
        self.visit(&KindSet::new([kind]), |ty| {
            let at = ty.name_offset();
            let may_be = strings.beginning(at).is_none_or(|other| other == begin);
            if may_be && strings.is(at, name) { ControlFlow::Break(ty) } else { ControlFlow::Continue(()) }
        })
    }

    /// The strings, for who reads many: the data is asked for once.
    pub(crate) fn strings(&self) -> Strings<'_> {
        Strings {
            own: self.data.get(self.header.strings.clone()).unwrap_or_default(),
            start: self.string_start,
            base: self.base.as_deref(),
        }
    }

    /// The bytes this was parsed from.
    pub fn as_bytes(&self) -> &[u8] {
        &self.data
    }

    /// The offsets of the own types' records into the whole data, in order of id.
    fn offsets(&self) -> impl Iterator<Item = usize> {
        self.table.offsets(self.header.types.end)
    }

    /// One past the last string offset, the base's strings included.
    pub(crate) fn string_end(&self) -> u32 {
        self.string_start.saturating_add(self.header.string_len())
    }

    fn levels(&self) -> u32 {
        self.base.as_ref().map_or(1, |base| base.levels().saturating_add(1))
    }
}
