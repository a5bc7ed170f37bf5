//! [`ProgramRef`]: a loaded program, from which the attach methods start.

use super::{AttachError, UsdtManager};
use core::fmt::Debug;
use core_relo_object::object::{AttachType, ProgramType, SecDef};
use std::os::fd::{AsFd, BorrowedFd};

/// A loaded program with the properties that decide how it is attached.
///
/// [`Loaded::program_ref`](crate::load::Loaded::program_ref) and the programs of skeletons hand it out. For a
/// program that another process or another library loaded, see [`from_fd`](Self::from_fd).
///
/// Errors of its methods name the program, if it has a name ([`AttachError::Program`]).
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_structs, reason = "filled by callers")]
pub struct ProgramRef<'a> {
    /// The program's descriptor.
    pub fd: BorrowedFd<'a>,
    /// The program's name.
    pub name: &'a str,
    /// The section name, with or without a leading `?`.
    pub section: &'a str,
    /// The program type.
    pub program_type: ProgramType,
    /// The expected attach type that the program was loaded with. `None` takes the attach type of the section
    /// name.
    pub attach_type: Option<AttachType>,
    /// The owner of the state that the USDT programs of the object share. Only
    /// [`attach_usdt`](Self::attach_usdt) and sections such as `usdt/…` need it.
    pub usdt: Option<&'a dyn UsdtOwner>,
}

/// The owner of the state that the USDT programs of an object share.
pub trait UsdtOwner: Debug + Sync {
    /// Returns the state, or `None` if the object lacks the maps of libbpf's `usdt.bpf.h`.
    fn usdt(&self) -> Result<Option<&UsdtManager>, AttachError>;
}

impl UsdtOwner for UsdtManager {
    fn usdt(&self) -> Result<Option<&UsdtManager>, AttachError> {
        Ok(Some(self))
    }
}

impl<'a> ProgramRef<'a> {
    /// Refers to a program of which only the descriptor is known: without name, section, type and attach
    /// type.
    pub const fn from_fd(fd: BorrowedFd<'a>) -> Self {
        let program_type = ProgramType::Unspec;
        Self { fd, name: "", section: "", program_type, attach_type: None, usdt: None }
    }

    /// Sets the attach type, for programs that are attached with another one than that of the load.
    #[must_use]
    pub const fn with_attach_type(self, attach_type: AttachType) -> Self {
        Self { attach_type: Some(attach_type), ..self }
    }

    /// Leaves the name out of errors, for callers that name the program themselves.
    #[must_use]
    pub const fn unnamed(self) -> Self {
        Self { name: "", ..self }
    }

    /// Returns the definition of the section, if the program has the type of its section.
    pub(super) fn sec_def(&self) -> Option<&'static SecDef> {
        let section = self.section.strip_prefix('?').unwrap_or(self.section);
        SecDef::find(section.as_bytes()).filter(|def| def.program_type == self.program_type)
    }

    /// Returns the attach type. `expected` names the sections that have one, for the error of a program
    /// without.
    pub(super) fn expect_attach_type(&self, expected: &str) -> Result<AttachType, AttachError> {
        self.attach_type.or_else(|| self.sec_def()?.attach_type).ok_or_else(|| {
            let problem = format!("the program has no attach type, expected {expected}");
            self.named(AttachError::target(self.section, problem))
        })
    }

    /// Returns the state that the object's USDT programs share. `label` names the attachment, for the error
    /// of an object without.
    #[cfg(feature = "usdt")]
    pub(super) fn expect_usdt(
        &self,
        label: impl Into<core_relo::Text>,
    ) -> Result<&'a UsdtManager, AttachError> {
        let manager = self.usdt.map(UsdtOwner::usdt).transpose()?.flatten();
        manager.ok_or_else(|| {
            let problem = "the object lacks the maps of libbpf's usdt.bpf.h, __bpf_usdt_specs and __bpf_usdt_ip_to_spec_id";
            AttachError::target(label, problem)
        })
    }

    /// Adds the program's name and section to an error.
    pub(super) fn named(&self, cause: AttachError) -> AttachError {
        match cause {
            cause @ AttachError::NoAutoAttach { .. } => cause,
            cause if self.name.is_empty() => cause,
            cause => AttachError::Program {
                program: self.name.into(),
                section: self.section.into(),
                cause: Box::new(cause),
            },
        }
    }
}

impl AsFd for ProgramRef<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(feature = "usdt")]
    use crate::attach::UsdtOptions;
    use std::fs::File;

    #[test]
    fn errors_name_the_program_unless_its_user_does() {
        let file = File::open("/dev/null").unwrap();
        let program = ProgramRef { name: "look", section: "xdp", ..ProgramRef::from_fd(file.as_fd()) };
        let message = |program: ProgramRef<'_>| program.attach_netns("/dev/null").unwrap_err().to_string();
        let problem = "xdp: the program has no attach type, expected `sk_lookup` or `flow_dissector`";
        assert_eq!(message(program), format!("program `look`: {problem}"));
        assert_eq!(message(program.unnamed()), problem);
        #[cfg(feature = "usdt")]
        {
            let attached = program.attach_usdt("/bin/sh", "provider", "probe", &UsdtOptions::default());
            let error = attached.unwrap_err().to_string();
            assert!(error.contains("usdt//bin/sh:provider:probe: the object lacks the maps"), "{error}");
        }
    }

    #[test]
    fn a_section_counts_for_programs_of_its_type_only() {
        let file = File::open("/dev/null").unwrap();
        let program = ProgramRef {
            section: "?sk_lookup",
            program_type: ProgramType::SkLookup,
            ..ProgramRef::from_fd(file.as_fd())
        };
        assert_eq!(program.expect_attach_type("one"), Ok(AttachType::SkLookup));
        let other = ProgramRef { section: "raw_tp/sys_enter", program_type: ProgramType::Kprobe, ..program };
        assert!(other.expect_attach_type("one").is_err());
        assert!(matches!(other.attach(), Err(AttachError::NoAutoAttach { .. })));
    }
}
