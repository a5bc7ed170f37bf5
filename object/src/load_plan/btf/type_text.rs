//! Types in messages.

use crate::elf::text;
use core_relo::{
    StrOffset, TypeId,
    btf::{Editor, Kind},
};

/// Returns a type for a message: ``BTF type [7] STRUCT `name` ``.
pub(super) fn type_text(edit: &Editor, id: TypeId) -> String {
    let kind = edit.kind(id).map_or("type", Kind::name);
    let name = edit.word(id, Editor::NAME).map_or(&b""[..], |name| edit.name(StrOffset(name)));
    match name {
        [] => format!("BTF type [{id}] {kind}"),
        name => format!("BTF type [{id}] {kind} `{}`", text(name)),
    }
}
