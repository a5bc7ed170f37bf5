//! Programs of infrared receivers (lirc), which decode remote controls.

use super::{
    error::AttachError,
    link::Link,
    prog_attach::{ProgAttachment, ReplaceMethod},
    program_type::explain_einval,
    target::FileRef,
};
use core_relo_object::object::AttachType;
use std::os::fd::{AsFd as _, BorrowedFd};

/// Attaches a program to a receiver, `/dev/lirc…` by path or descriptor. The kernel has no links of this
/// kind: the program stays attached until it is detached.
pub(super) fn lirc<'d>(prog: BorrowedFd<'_>, device: impl Into<FileRef<'d>>) -> Result<Link, AttachError> {
    let device = device.into().open()?;
    let (attach_type, method) = (AttachType::LircMode2, ReplaceMethod::Unsupported);
    ProgAttachment::attach("a lirc device", prog, device.as_fd(), attach_type, 0, None, method)
        .map_err(|error| explain_einval(error, prog, attach_type))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attach::{QueryTarget, query, test_support::Counting};
    use core_relo_object::object::ProgramType;
    use core_relo_test_support::skip;
    use std::fs::File;

    #[test]
    fn a_receiver_runs_its_program_or_is_refused() {
        // Few kernels are built with decoders, and any program serves to test the refusal.
        let Some(other) = Counting::load(ProgramType::CgroupDevice, None, 1) else { return };
        let null = File::open("/dev/null").unwrap();
        let error = lirc(other.fd(), null.as_fd()).unwrap_err().to_string();
        assert!(error.starts_with("a lirc device: cannot attach: "), "{error}");
        let Ok(device) = File::open("/dev/lirc0") else { return skip!("no /dev/lirc0") };
        let Some(prog) = Counting::load(ProgramType::LircMode2, Some(AttachType::LircMode2), 0) else {
            return;
        };
        let link = lirc(prog.fd(), device.as_fd()).unwrap();
        let attached = || query(QueryTarget::Lirc(device.as_fd()), AttachType::LircMode2).unwrap().prog_ids;
        assert!(attached().contains(&prog.id()));
        link.detach().unwrap();
        assert!(!attached().contains(&prog.id()));
    }
}
