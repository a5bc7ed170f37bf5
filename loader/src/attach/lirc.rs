//! Remote controls: programs that decode what an infrared receiver sees.

use super::{
    AttachError, Link,
    by_program::{ByProgram, Replacing},
};
use crate::object::AttachType;
use std::os::fd::BorrowedFd;

/// Attaches to a receiver, a descriptor of `/dev/lirc…`. There are no links of this kind: it stays until it is detached.
pub fn lirc(prog: BorrowedFd<'_>, device: BorrowedFd<'_>) -> Result<Link, AttachError> {
    ByProgram::attach("a lirc device", prog, device, AttachType::LircMode2, 0, None, Replacing::Never)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        attach::{Target, query, testing::Counting},
        object::ProgramType,
    };
    use std::{fs::File, os::fd::AsFd as _};

    #[test]
    fn a_receiver_or_why_not() {
        // Any program does for the refusal: few kernels are built with decoders.
        let Some(other) = Counting::load(ProgramType::CgroupDevice, None, 1) else { return };
        let null = File::open("/dev/null").unwrap();
        let error = lirc(other.fd(), null.as_fd()).unwrap_err().to_string();
        assert!(error.starts_with("a lirc device: cannot attach: "), "{error}");
        let Ok(device) = File::open("/dev/lirc0") else { return println!("SKIP: no /dev/lirc0") };
        let Some(prog) = Counting::load(ProgramType::LircMode2, Some(AttachType::LircMode2), 0) else {
            return;
        };
        let link = lirc(prog.fd(), device.as_fd()).unwrap();
        let there = || query(Target::Lirc(device.as_fd()), AttachType::LircMode2).unwrap().prog_ids;
        assert!(there().contains(&prog.id()));
        link.detach().unwrap();
        assert!(!there().contains(&prog.id()));
    }
}
