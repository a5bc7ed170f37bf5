//! The linker's interface: objects in, one object out.

use super::{error::StaticLinkError, input::Input, output_object::OutputObject};

/// A linker of objects: [`add`](Self::add) each object, then [`finish`](Self::finish).
///
/// As on a linker's command line, the order counts: the first of several weak definitions takes precedence.
#[derive(Debug, Default)]
pub struct Linker<'d> {
    /// The linked object; `None` before the first input, which sets the byte order.
    output: Option<OutputObject<'d>>,
}

impl<'d> Linker<'d> {
    /// Creates a linker without inputs.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an object, which errors call `name` (libbpf: `bpf_linker__add_buf`).
    ///
    /// Returns errors of the object, and conflicts with the objects before it.
    pub fn add(self, name: &str, bytes: &'d [u8]) -> Result<Self, StaticLinkError> {
        let input = Input::parse(name, bytes)?;
        let mut output = match self.output {
            Some(output) => output,
            None => OutputObject::new(input.endian)?,
        };
        output.add(input, bytes.len())?;
        Ok(Self { output: Some(output) })
    }

    /// Returns the linked object (libbpf: `bpf_linker__finalize`). Externs without a definition stay externs.
    pub fn finish(self) -> Result<Vec<u8>, StaticLinkError> {
        self.output.ok_or(StaticLinkError::NoObjects)?.finish()
    }
}
