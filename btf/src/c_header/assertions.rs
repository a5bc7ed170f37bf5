//! The layout as assertions that a compiler checks.

use super::{composite::keyword, printer::Printer};
use crate::{format::Kind, view::Type};
use alloc::format;
use core::fmt::{Result, Write as _};

impl Printer<'_, '_, '_> {
    /// Writes an assertion for the size and alignment of each type, and for the offset of each member that is
    /// no bitfield.
    ///
    /// Pointers of BPF programs have eight bytes. Types of 32-bit kernels have their layout only where
    /// pointers have four.
    pub(super) fn write_assertions(&mut self) -> Result {
        let is_32_bit = self.is_32_bit();
        self.text.push('\n');
        if is_32_bit {
            self.text.push_str("#if __SIZEOF_POINTER__ == 4\n");
        }
        self.flush()?;
        self.text = core::mem::take(&mut self.assertions);
        if is_32_bit {
            self.text.push_str("#endif /* __SIZEOF_POINTER__ */\n");
        }
        self.flush()
    }

    /// Adds the assertions on a type that has just been defined.
    pub(super) fn assert_layout(&mut self, ty: Type<'_>) -> Result {
        let offsets = core::mem::take(&mut self.offsets);
        let name = self.name(ty);
        let (name, align) = match ty.kind() {
            Kind::Struct | Kind::Union => {
                let Some(layout) = self.header.graph.layouts.get(ty.id()) else { return Ok(()) };
                (format!("{} {name}", keyword(ty)), layout.align)
            }
            Kind::Enum | Kind::Enum64 if !name.is_empty() && matches!(ty.size_or_type(), 1 | 2 | 4 | 8) => {
                (format!("enum {name}"), u64::from(ty.size_or_type()))
            }
            _ => return Ok(()),
        };
        let (size, is_32_bit) = (ty.size_or_type(), self.is_32_bit());
        let out = &mut self.assertions;
        writeln!(out, "_Static_assert(sizeof({name}) == {size}, \"size of {name}\");")?;
        // The alignment of eight bytes is four or eight on 32-bit architectures.
        if !(is_32_bit && align == 8) {
            writeln!(out, "_Static_assert(_Alignof({name}) == {align}, \"alignment of {name}\");")?;
        }
        for (field, offset) in offsets {
            writeln!(
                out,
                "_Static_assert(__builtin_offsetof({name}, {field}) == {offset}, \"offset of {name}.{field}\");"
            )?;
        }
        Ok(())
    }

    fn is_32_bit(&self) -> bool {
        self.header.btf.pointer_size().0 < 8
    }
}
