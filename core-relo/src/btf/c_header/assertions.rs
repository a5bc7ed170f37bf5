//! The layout as assertions that a compiler checks.

use super::{
    declaration::{Printer, keyword},
    names::is_identifier,
};
use crate::btf::{format::Kind, view::Type};
use alloc::{format, string::String};
use core::fmt::{Result, Write as _};

impl Printer<'_, '_, '_> {
    /// Writes an assertion for the size and alignment of each type, and for the offset of each member that is no bitfield.
    ///
    /// Pointers of BPF programs have eight bytes. Types of 32-bit kernels have their layout only where pointers have four.
    pub(super) fn assertions(&mut self) -> Result {
        let is_32_bit = self.header.btf.pointer_size().0 < 8;
        self.text.push('\n');
        if is_32_bit {
            self.text.push_str("#if __SIZEOF_POINTER__ == 4\n");
        }
        self.all_assertions(is_32_bit)?;
        if is_32_bit {
            self.text.push_str("#endif /* __SIZEOF_POINTER__ */\n");
        }
        self.flush()
    }

    fn all_assertions(&mut self, is_32_bit: bool) -> Result {
        let header = self.header;
        for ty in header.enums.iter().chain(&header.graph.order).filter_map(|id| header.btf.ty(*id)) {
            let name = self.name(ty);
            let (name, align) = match ty.kind() {
                Kind::Struct | Kind::Union => {
                    let Some(layout) = header.graph.layouts.get(ty.id()) else { continue };
                    (format!("{} {name}", keyword(ty)), layout.align)
                }
                Kind::Enum | Kind::Enum64
                    if !name.is_empty() && matches!(ty.size_or_type(), 1 | 2 | 4 | 8) =>
                {
                    (format!("enum {name}"), u64::from(ty.size_or_type()))
                }
                _ => continue,
            };
            let size = ty.size_or_type();
            writeln!(self.text, "_Static_assert(sizeof({name}) == {size}, \"size of {name}\");")?;
            // The alignment of eight bytes is four or eight on 32-bit architectures.
            if !(is_32_bit && align == 8) {
                writeln!(self.text, "_Static_assert(_Alignof({name}) == {align}, \"alignment of {name}\");")?;
            }
            if header.graph.layouts.get(ty.id()).is_some_and(|layout| layout.error.is_none()) {
                self.offsets(ty, &name)?;
            }
            self.flush()?;
        }
        Ok(())
    }

    fn offsets(&mut self, ty: Type<'_>, name: &str) -> Result {
        let mut names = super::names::NameSpace::default();
        for member in ty.members() {
            let bytes = member.name.as_bytes();
            let Ok(place) = self.header.graph.layouts.place(ty.btf(), &member) else { continue };
            if bytes.is_empty()
                || names.claim(bytes).is_some()
                || !is_identifier(bytes)
                || place.bitfield.is_some()
            {
                continue;
            }
            let field = String::from_utf8_lossy(bytes);
            let offset = place.start.wrapping_div(8);
            writeln!(
                self.text,
                "_Static_assert(__builtin_offsetof({name}, {field}) == {offset}, \"offset of {name}.{field}\");"
            )?;
        }
        Ok(())
    }
}
