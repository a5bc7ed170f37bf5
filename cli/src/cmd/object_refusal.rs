//! The report on an object that is not loaded, for commands that load one object.

use super::{load::report::print_refusal, object_change::pin_refusal};
use crate::{
    console::{Console, ExitStatus},
    error::BadInput,
    format::Format,
    json::load as json,
    text::{line::Line, style::ERROR},
};
use core_relo_loader::{attach::AttachError, load::LoadError};
use std::io;

/// The reason why an object of a command is not loaded or attached.
#[derive(Debug)]
pub(super) enum ObjectRefusal {
    BadInput(BadInput),
    Load(LoadError),
    Attach(AttachError),
}

impl From<BadInput> for ObjectRefusal {
    fn from(bad: BadInput) -> Self {
        Self::BadInput(bad)
    }
}

impl From<LoadError> for ObjectRefusal {
    fn from(e: LoadError) -> Self {
        Self::Load(e)
    }
}

impl From<AttachError> for ObjectRefusal {
    fn from(e: AttachError) -> Self {
        Self::Attach(e)
    }
}

impl ObjectRefusal {
    /// Prints the reason. The exit status is 1 if the kernel refused the object, and 2 for bad input.
    pub(super) fn report(self, console: &mut Console<'_>, file: &str) -> io::Result<()> {
        match self {
            Self::BadInput(bad) => console.report_error(&bad),
            Self::Load(e) => {
                console.raise_exit(ExitStatus::Incompatible);
                if console.format == Format::Json {
                    return console.out.json(&json::refused(file, None, &e, false, None));
                }
                let name = Line::new().styled(ERROR, "refused").text(format_args!("  {file}: "));
                print_refusal(&mut console.out, name, &e)
            }
            Self::Attach(AttachError::Pin { path, errno, .. }) => {
                console.report_error(&pin_refusal(&path, errno))
            }
            Self::Attach(e) => {
                console.raise_exit(ExitStatus::Incompatible);
                if console.format == Format::Json {
                    return console.out.json(&json::attach_failed(file, "attach", &e));
                }
                let line = Line::new().styled(ERROR, "refused");
                console.out.line(line.text(format_args!("  {file}: {e}")))
            }
        }
    }
}
