//! The tags of the parameters of functions.

use core::cell::OnceCell;
use core_relo::{
    TypeId,
    btf::{Btf, Kind},
};
use hashbrown::HashMap;

/// The tag of a pointer that is never null, to memory as without a tag.
const NON_NULL: &[u8] = b"arg:nonnull";
/// The tag of a pointer to the context.
const CONTEXT: &[u8] = b"arg:ctx";

/// The tags of parameters in an object's BTF, by the function and the index of the parameter.
#[derive(Debug, Default)]
pub(super) struct ParameterTags(OnceCell<HashMap<(TypeId, u32), TagKind>>);

/// What a tag makes of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TagKind {
    Context,
    Other,
}

impl ParameterTags {
    pub(super) fn get(&self, btf: &Btf<'_>, function: TypeId, parameter: u32) -> Option<TagKind> {
        let tags = self.0.get_or_init(|| {
            let tags = btf.types().filter(|ty| ty.kind() == Kind::DeclTag);
            let tags = tags.filter_map(|tag| {
                let kind = match tag.name().as_bytes() {
                    NON_NULL => return None,
                    CONTEXT => TagKind::Context,
                    name if name.starts_with(b"arg:") => TagKind::Other,
                    _ => return None,
                };
                Some(((tag.target()?, u32::try_from(tag.component_index()?).ok()?), kind))
            });
            tags.collect()
        });
        tags.get(&(function, parameter)).copied()
    }
}
