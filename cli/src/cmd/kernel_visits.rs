//! The kernels of a selection, one after the other, for commands that print results as they come.

use crate::{console::Console, error::CommandResult, input::input_error::note_text};
use core_relo_kernels::{InputError, KernelSelection, KernelSource, OpenedKernel};
use std::{io, ops::ControlFlow};

/// Prints the notes of a selection, and reports the sources that cannot be read.
pub(super) fn report_selection(console: &mut Console<'_>, selection: &KernelSelection) -> io::Result<()> {
    selection.notes.iter().try_for_each(|note| console.note(&note_text(note)))?;
    selection.errors.iter().try_for_each(|error| console.report_error(&error.into()))
}

/// A function that receives each kernel of a selection.
type KernelVisitor<'v> =
    dyn FnMut(&mut Console<'_>, &KernelSource, Result<OpenedKernel<'_>, InputError>) -> CommandResult + 'v;

/// Passes each kernel of a selection to `visit`, and reports the bad input that `visit` returns.
pub(super) fn visit_kernels(
    console: &mut Console<'_>,
    selection: &KernelSelection,
    visit: &mut KernelVisitor<'_>,
) -> io::Result<()> {
    for source in &selection.sources {
        let mut visited = Ok(());
        let note = selection.visit_images(source, &|_| true, &mut |_, image| {
            visited = visit(console, source, image).or_else(|error| console.report(error));
            if visited.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        visited?;
        note.iter().try_for_each(|note| console.note(&note_text(note)))?;
    }
    Ok(())
}
