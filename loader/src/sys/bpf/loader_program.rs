//! Loader programs: the hash of their data, their run, and the descriptors that they hand back.

use super::call::{Cmd, address_mut, attr, call_done, count, fd};
use core_relo::Endian;
use core_relo_object::Errno;
use std::{
    collections::HashMap,
    os::fd::{AsFd, FromRawFd as _, OwnedFd, RawFd},
};

attr! {
    struct InfoAttr { bpf_fd: u32, info_len: u32, info: u64, }
    /// `struct bpf_map_info`, of which only the hash counts.
    struct MapHashInfo { words: [u64; 11], hash: u64, hash_size: u32, pad: u32, }
    struct RunAttr {
        prog_fd: u32, retval: u32, data_size_in: u32, data_size_out: u32, data_in: u64, data_out: u64, repeat: u32, duration: u32,
        ctx_size_in: u32, ctx_size_out: u32, ctx_in: u64, ctx_out: u64, flags: u32, cpu: u32, batch_size: u32, pad: u32,
    }
}

/// Lets the kernel compute the SHA-256 of a frozen map's value (kernels from 6.18). The kernel keeps the hash for programs that read it.
pub fn map_hash(map: impl AsFd) -> Result<[u8; 32], Errno> {
    let mut hash = [0; 32];
    let mut info =
        MapHashInfo { hash: address_mut(&mut hash), hash_size: count(&hash)?, ..Default::default() };
    let size = u32::try_from(size_of::<MapHashInfo>()).map_err(|_large| Errno(libc::E2BIG))?;
    let info_address = address_mut(core::slice::from_mut(&mut info));
    call_done(Cmd::ObjInfo, &mut InfoAttr { bpf_fd: fd(map.as_fd()), info_len: size, info: info_address })?;
    Ok(hash)
}

/// Runs a loader program with its context, in which the program finds a log level and the log. Returns the program's result.
///
/// The program writes descriptors to the context, which [`NewDescriptors`] takes.
pub fn run_loader_program(
    program: impl AsFd,
    context: &mut [u8],
    log_level: u32,
    log: &mut [u8],
) -> Result<i32, Errno> {
    let log_size = count(log)?;
    let mut head = Vec::new();
    let endian = Endian::native();
    endian.put_u32(&mut head, count(context)?);
    endian.put_u32(&mut head, 0);
    endian.put_u32(&mut head, if log.is_empty() { 0 } else { log_level });
    endian.put_u32(&mut head, log_size);
    endian.put_u64(&mut head, address_mut(log));
    context.get_mut(..head.len()).ok_or(Errno(libc::EINVAL))?.copy_from_slice(&head);
    let mut attr = RunAttr {
        prog_fd: fd(program.as_fd()),
        ctx_size_in: count(context)?,
        ctx_in: address_mut(context),
        ..RunAttr::default()
    };
    call_done(Cmd::ProgTestRun, &mut attr)?;
    Ok(attr.retval.cast_signed())
}

/// The descriptors that were open before a loader program ran, to tell new descriptors from those of other owners.
#[derive(Debug)]
pub struct NewDescriptors {
    /// The maps and programs behind the descriptors that have other owners.
    owned: HashMap<RawFd, BpfIdentity>,
    /// Descriptors that keep the numbers of the standard streams in use.
    _standard: Vec<std::fs::File>,
}

impl NewDescriptors {
    /// Notes the descriptors that are open. No new descriptor gets the number of a standard stream that the process has closed.
    pub fn watch() -> Result<Self, Errno> {
        use std::os::fd::AsRawFd as _;
        let errno = |e: std::io::Error| Errno::from_io_error(&e);
        let mut standard = Vec::new();
        loop {
            let file = std::fs::File::open("/dev/null").map_err(errno)?;
            if file.as_raw_fd() > libc::STDERR_FILENO {
                break;
            }
            standard.push(file);
        }
        let mut owned = HashMap::new();
        for entry in std::fs::read_dir("/proc/self/fd").map_err(errno)? {
            let name = entry.map_err(errno)?.file_name();
            let number = name.to_str().and_then(|name| name.parse().ok());
            owned.extend(number.and_then(|number| Some((number, BpfIdentity::read(number)?))));
        }
        Ok(Self { owned, _standard: standard })
    }

    /// Takes a descriptor that a loader program has created. Fails with `EBADF` for a number that has no map or program behind it, that had
    /// the same one before, or that was taken already.
    pub fn take(&mut self, number: u32) -> Result<OwnedFd, Errno> {
        let number = RawFd::try_from(number).map_err(|_large| Errno(libc::EBADF))?;
        let identity = BpfIdentity::read(number).filter(|_| number > libc::STDERR_FILENO);
        let identity = identity.ok_or(Errno(libc::EBADF))?;
        if self.owned.get(&number) == Some(&identity) {
            return Err(Errno(libc::EBADF));
        }
        self.owned.insert(number, identity);
        // SAFETY: a map or program is behind the descriptor that was not behind this number before the program ran, and that was not taken
        // before. The program, which the caller trusts, has created it and knows no other owner.
        Ok(unsafe { OwnedFd::from_raw_fd(number) })
    }
}

/// The id of the map or program behind a descriptor, as the kernel prints it. Another thread may close a descriptor while a loader program
/// runs, so that a new one gets its number.
#[derive(Clone, Debug, PartialEq, Eq)]
struct BpfIdentity(String);

impl BpfIdentity {
    /// Returns `None` for a descriptor that is closed or of another kind.
    fn read(number: RawFd) -> Option<Self> {
        let info = std::fs::read_to_string(format!("/proc/self/fdinfo/{number}")).ok()?;
        let is_id = |line: &&str| line.starts_with("map_id:") || line.starts_with("prog_id:");
        info.lines().find(is_id).map(|line| Self(line.to_owned()))
    }
}
