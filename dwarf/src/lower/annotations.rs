//! Type tags and declaration tags.

use super::{Lowering, entry_error, references::tagged_entry};
use crate::{
    decode::{DeclTagValue, Entry, Shape},
    error::{EncodeError, EntryProblem},
    graph::{TypeRef, info},
    names::NameId,
};
use core_relo::{InternalError, btf::Kind, internal::Invariant as _};

impl Lowering<'_> {
    /// Adds a pointer, and the type tags that clang writes for its target.
    ///
    /// The first tag in the source is the next to the target.
    pub(super) fn pointer(&mut self, entry: &Entry, tags: &[NameId]) -> Result<(), EntryProblem> {
        let mut target = self.target(entry)?;
        if tags.is_empty() {
            self.add(entry, [0, info(Kind::Ptr, 0, false), target])?;
            return Ok(());
        }
        let own = self.next_ref()?;
        let count = u32::try_from(tags.len()).ok().ok_or(EntryProblem::Annotations)?;
        let last = own.checked_add(count).ok_or(EntryProblem::Annotations)?;
        self.add(entry, [0, info(Kind::Ptr, 0, false), last])?;
        for tag in tags {
            target = self.add(entry, [tag.0, info(Kind::TypeTag, 0, false), target])?;
        }
        Ok(())
    }

    /// Adds the type tags that GCC writes for an entry. The entry's record comes before them.
    pub(super) fn type_tags(&mut self, index: usize, entry: &Entry) -> Result<(), EntryProblem> {
        if entry.annotation.is_none() {
            return Ok(());
        }
        let mut target = self.references.own(index)?;
        let chain = self.references.annotations(entry.annotation)?;
        // The annotations are in reverse order of the source.
        for annotation in chain.into_iter().rev() {
            if let Shape::Annotation { is_type_tag: true, value } = annotation.shape {
                target = self.add(entry, [value.0, info(Kind::TypeTag, 0, false), target])?;
            }
        }
        Ok(())
    }

    /// Adds the declaration tags of all entries.
    pub(super) fn decl_tags(&mut self) -> Result<(), EncodeError> {
        let entries = self.entries;
        for (index, entry) in entries.list.iter().enumerate() {
            if entry.annotation.is_some() && !matches!(entry.shape, Shape::Annotation { .. }) {
                self.decl_tag_chain(index, entry, -1, DeclTagValue::Annotation(entry.place), entry)
                    .map_err(|problem| entry_error(entry, problem))?;
            }
        }
        for tag in &entries.decl_tags {
            let index = tagged_entry(tag);
            let entry = entries.list.get(index).invariant("a declaration tag belongs to an entry")?;
            self.decl_tag_chain(index, entry, tag.component, tag.value, entry)
                .map_err(|problem| entry_error(entry, problem))?;
        }
        Ok(())
    }

    /// Adds the declaration tags of a chain of annotations, or one tag.
    fn decl_tag_chain(
        &mut self,
        index: usize,
        entry: &Entry,
        component: i32,
        value: DeclTagValue,
        place: &Entry,
    ) -> Result<(), EntryProblem> {
        if !self.may_have_decl_tags(index, entry, component) {
            return Ok(());
        }
        let target = self.references.own(index)?;
        let mut names = Vec::new();
        match value {
            DeclTagValue::Name(name) => names.push(name),
            DeclTagValue::Annotation(first) => {
                let first = if first == entry.place { entry.annotation } else { Some(first) };
                for annotation in self.references.annotations(first)?.into_iter().rev() {
                    if let Shape::Annotation { is_type_tag: false, value } = annotation.shape {
                        names.push(value);
                    }
                }
            }
        }
        for name in names {
            self.add(place, [name.0, info(Kind::DeclTag, 0, false), target, component.cast_unsigned()])?;
        }
        Ok(())
    }

    /// Returns whether BTF allows declaration tags on an entry.
    fn may_have_decl_tags(&self, index: usize, entry: &Entry, component: i32) -> bool {
        match &entry.shape {
            Shape::Composite { is_declaration, .. } => !is_declaration,
            Shape::Function { .. } => self.references.is_function_encoded(index),
            Shape::Typedef | Shape::Variable { .. } => component < 0,
            _ => false,
        }
    }

    /// Returns the reference of the record that is added next.
    fn next_ref(&self) -> Result<TypeRef, InternalError> {
        let last = u32::try_from(self.out.records.len()).ok();
        last.and_then(|last| last.checked_add(1)).invariant("the records of a unit are limited")
    }
}
