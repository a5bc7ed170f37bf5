//! Parsing: bytes to a [`Btf`] whose records lie within the data and refer to names and types that exist.

mod btf;
mod error;
mod fast_path;
mod header;
mod kind_set;
mod pointer_size;
mod scan;
mod strings;
mod table;
mod validate;

pub use btf::Btf;
pub(crate) use btf::NameOrder;
pub use error::BtfError;
pub(crate) use header::{HEADER_LEN, HEADER_LEN_WITH_LAYOUT, Header};
pub use header::{MAGIC, endian_of};
pub(crate) use kind_set::KindSet;
pub(crate) use strings::{NamePrefix, Strings, starts_with_string};

use crate::{data::Data, ids::TypeId, limits};
use alloc::sync::Arc;
pub(crate) use validate::Validation;

impl<'d> Btf<'d> {
    /// Parses a BTF without a base: that of a kernel or of a BPF object. Validates every reference to a name
    /// or a type.
    pub fn parse(data: impl Into<Data<'d>>) -> Result<Self, BtfError> {
        Self::parse_with(data.into(), None, Validation::All)
    }

    /// Parses a split BTF, such as a module's. Its ids and string offsets continue where those of `base` end.
    pub fn parse_split(data: impl Into<Data<'d>>, base: Arc<Self>) -> Result<Self, BtfError> {
        Self::parse_with(data.into(), Some(base), Validation::All)
    }

    /// Parses a BTF, split if there is a `base`, and leaves the elements of records unvalidated.
    ///
    /// This takes little more than half the time of [`parse`](Self::parse). It suits the BTF of a kernel, of
    /// which an object needs a few types.
    ///
    /// Every record lies within the data, and its own name and type exist. Members, parameters, enumerators,
    /// variables, elements of arrays and the kind of the type of a FUNC are not validated. A relocation
    /// validates the elements that it reads, and reports [`WalkError::NoType`](crate::WalkError::NoType) or
    /// [`WalkError::NoName`](crate::WalkError::NoName). For other readers a missing name is empty, and
    /// [`Btf::ty`] returns `None` for a missing type.
    pub fn parse_unvalidated(data: impl Into<Data<'d>>, base: Option<Arc<Self>>) -> Result<Self, BtfError> {
        Self::parse_with(data.into(), base, Validation::CommonWords)
    }

    pub(crate) fn parse_with(
        data: Data<'d>,
        base: Option<Arc<Self>>,
        validation: Validation,
    ) -> Result<Self, BtfError> {
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
        strings::check_section(header.strings_of(&data), base.is_some())?;
        let bounds = fast_path::Bounds { first_id, string_end, base: base.as_deref() };
        let accepted = match validation {
            #[cfg(test)]
            Validation::AllWithoutFastPath => None,
            _ => fast_path::find_records(header.types_of(&data), header.endian, bounds, validation)?,
        };
        let mut btf = if let Some(table) = accepted {
            Self::from_parts(data, header, base, table)?
        } else {
            let table = scan::find_records(&data, &header, first_id)?;
            let btf = Self::from_parts(data, header, base, table)?;
            validate::check_references(&btf)?;
            btf
        };
        btf.pointer_size = pointer_size::find(&btf);
        Ok(btf)
    }
}
