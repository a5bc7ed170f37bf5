//! The errors of requests.

use core_relo::btf::BtfError;
use core_relo_object::object::ObjectError;
use core_relo_verdict::fleet::FleetError;
use serde::Serialize;
use thiserror::Error;

/// An error of a request.
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RequestError {
    /// The message is no request.
    #[error("message: {0}")]
    Message(Box<str>),
    /// A message has another number of bytes than its parts.
    #[error("message: {found} bytes behind the request, expected {expected}")]
    Parts {
        /// The number of bytes.
        found: usize,
        /// The sum of the parts.
        expected: usize,
    },
    /// The file is empty.
    #[error("is empty")]
    EmptyObject,
    /// The file is too large.
    #[error("has {found} bytes, expected at most {max}")]
    LargeObject {
        /// The number of bytes.
        found: usize,
        /// The limit.
        max: usize,
    },
    /// The file is no object that can be judged.
    #[error(transparent)]
    Object(#[from] ObjectError),
    /// No object has this number.
    #[error("no object {0}")]
    UnknownObject(usize),
    /// No kernel is open.
    #[error("no kernel is open")]
    NoKernel,
    /// The BTF of a kernel or a module is damaged.
    #[error("BTF of {name}: {cause}")]
    Btf {
        /// The name of the kernel or module.
        name: Box<str>,
        /// The defect.
        cause: BtfError,
    },
    /// A fact about a kernel is damaged.
    #[error("{name}: {what}")]
    Fact {
        /// The name of the kernel.
        name: Box<str>,
        /// The defect.
        what: Box<str>,
    },
    /// The object cannot be judged on the kernel.
    #[error(transparent)]
    Fleet(#[from] FleetError),
    /// The report cannot be written.
    #[error("report: {0}")]
    Report(Box<str>),
}

core_relo::debug_as_message!(RequestError);

const EXPECTED: &str = "expected a BPF object, as `clang --target=bpf -g -O2 -c` writes it";

impl RequestError {
    /// Returns what the user can do.
    pub fn help(&self) -> Option<&'static str> {
        match self {
            Self::EmptyObject => Some(EXPECTED),
            Self::Object(error) => error.help(),
            _ => None,
        }
    }
}

/// The JSON of an error.
#[derive(Serialize)]
pub(crate) struct ErrorJson {
    message: String,
    help: Option<&'static str>,
}

impl From<&RequestError> for ErrorJson {
    fn from(error: &RequestError) -> Self {
        Self { message: error.to_string(), help: error.help() }
    }
}
