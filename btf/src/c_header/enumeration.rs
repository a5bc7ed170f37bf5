//! Definitions of enums.

use super::{names, printer::Printer};
use crate::view::{Enumerator, Type};
use alloc::string::String;
use core::fmt::{Result, Write as _};

impl<'b> Printer<'_, 'b, '_> {
    /// Writes a definition, without the semicolon. It is guarded where the language may have its names.
    pub(super) fn enumeration(&mut self, ty: Type<'b>, is_guarded: bool) -> Result {
        self.text.push_str("enum");
        let name = self.name(ty);
        if !name.is_empty() {
            write!(self.text, " {name}")?;
        }
        self.text.push_str(" {\n");
        for enumerator in ty.enumerators() {
            let name = match self.header.renamed.enumerators.get(&(ty.id(), enumerator.index)) {
                Some(name) => name.clone(),
                None => String::from_utf8_lossy(enumerator.name.as_bytes()).into_owned(),
            };
            let name = if is_guarded { &name } else { names::in_all_standards(&name) };
            let value = enumerator.c_value();
            write!(self.text, "\t{name} = ")?;
            match (enumerator.signed, i32::try_from(value.cast_signed())) {
                (true, Ok(value)) => write!(self.text, "{value}")?,
                (false, Ok(value)) if value >= 0 => write!(self.text, "{value}")?,
                (true, Err(_)) if value == i64::MIN.cast_unsigned() => {
                    write!(self.text, "{}LL - 1", i64::MIN.wrapping_add(1))?;
                }
                (true, Err(_)) => write!(self.text, "{}LL", value.cast_signed())?,
                (false, _) => {
                    let suffix = if u32::try_from(value).is_ok() { "U" } else { "ULL" };
                    write!(self.text, "{value}{suffix}")?;
                }
            }
            self.text.push_str(",\n");
        }
        if ty.vlen() == 0 {
            // C has no empty enums.
            writeln!(self.text, "\t___empty_enum_{},", ty.id())?;
        }
        self.text.push('}');
        self.text.push_str(mode(ty));
        self.text.push_str(&self.header.tags.comments(ty.id()));
        Ok(())
    }

    /// Returns whether an enum declares `false` and `true` as C23 does, and nothing else, so that C23 needs
    /// no declaration.
    pub(super) fn is_boolean_enum(&self, ty: Type<'_>) -> bool {
        let is_boolean = |e: Enumerator<'_>| {
            matches!((e.name.as_bytes(), e.c_value()), (b"false", 0) | (b"true", 1))
                && !self.header.renamed.enumerators.contains_key(&(ty.id(), e.index))
        };
        self.name(ty).is_empty() && ty.vlen() > 0 && ty.enumerators().all(is_boolean)
    }
}

/// Returns the attribute that gives an enum its size, unless the compiler chooses the size by itself.
fn mode(ty: Type<'_>) -> &'static str {
    // clang and GCC choose an `int` or an `unsigned int`, or 64 bits if a value does not fit.
    let (mut min, mut max) = (0i128, 0i128);
    for enumerator in ty.enumerators() {
        let value = if enumerator.signed {
            i128::from(enumerator.c_value().cast_signed())
        } else {
            i128::from(enumerator.c_value())
        };
        min = min.min(value);
        max = max.max(value);
    }
    let fits_int = min >= i128::from(i32::MIN) && max <= i128::from(i32::MAX);
    let fits_unsigned = min >= 0 && max <= i128::from(u32::MAX);
    let natural = if fits_int || fits_unsigned { 4 } else { 8 };
    match ty.size_or_type() {
        size if size == natural => "",
        1 => " __attribute__((mode(QI)))",
        2 => " __attribute__((mode(HI)))",
        4 => " __attribute__((mode(SI)))",
        8 => " __attribute__((mode(DI)))",
        _ => "",
    }
}
