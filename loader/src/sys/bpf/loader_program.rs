//! Loader programs: the hash of their data, their run, and the descriptors that they create.

use super::call::{Cmd, address_mut, attr, call_done, count, fd};
use crate::sys::isolation::{IsolationError, call_isolated};
use core_relo::Endian;
use core_relo_object::Errno;
use std::os::fd::{AsFd, OwnedFd};

attr! {
    struct InfoAttr { bpf_fd: u32, info_len: u32, info: u64, }
    /// `struct bpf_map_info`, of which only the hash counts.
    struct MapHashInfo { words: [u64; 11], hash: u64, hash_size: u32, pad: u32, }
    struct RunAttr {
        prog_fd: u32, retval: u32, data_size_in: u32, data_size_out: u32, data_in: u64, data_out: u64, repeat: u32, duration: u32,
        ctx_size_in: u32, ctx_size_out: u32, ctx_in: u64, ctx_out: u64, flags: u32, cpu: u32, batch_size: u32, pad: u32,
    }
}

/// Lets the kernel compute the SHA-256 of a frozen map's value (kernels from 6.18). The kernel keeps the hash
/// for programs that read it.
pub(crate) fn map_hash(map: impl AsFd) -> Result<[u8; 32], Errno> {
    let mut hash = [0; 32];
    let mut info =
        MapHashInfo { hash: address_mut(&mut hash), hash_size: count(&hash)?, ..Default::default() };
    let size = u32::try_from(size_of::<MapHashInfo>()).map_err(|_large| Errno(libc::E2BIG))?;
    let info_address = address_mut(core::slice::from_mut(&mut info));
    call_done(Cmd::ObjInfo, &mut InfoAttr { bpf_fd: fd(map.as_fd()), info_len: size, info: info_address })?;
    Ok(hash)
}

/// A run of a loader program.
#[derive(Debug)]
pub(crate) struct LoaderProgramRun {
    /// The program's result: 0, or a negative error number.
    pub result: i32,
    /// The descriptors that the program created; none if it failed. They can be of any kind.
    pub descriptors: Vec<OwnedFd>,
}

/// Runs a loader program with its context, in which the program finds a log level and the log.
///
/// The program writes descriptors to the context, at the given offsets. It runs in a thread whose descriptors
/// are not those of this process, because a program can close and replace every descriptor of the thread that
/// runs it.
pub(crate) fn run_loader_program(
    program: impl AsFd,
    context: &mut [u8],
    fd_offsets: &[usize],
    log_level: u32,
    log: &mut [u8],
) -> Result<LoaderProgramRun, IsolationError> {
    let program = program.as_fd();
    let call = || {
        write_head(context, log_level, log)?;
        let mut attr = RunAttr {
            prog_fd: fd(program),
            ctx_size_in: count(context)?,
            ctx_in: address_mut(context),
            ..RunAttr::default()
        };
        call_done(Cmd::ProgTestRun, &mut attr)?;
        let result = attr.retval.cast_signed();
        let number = |offset: &usize| Endian::native().u32(context, *offset).map(u32::cast_signed);
        let numbers = fd_offsets.iter().filter(|_| result >= 0);
        let numbers = numbers.map(|offset| number(offset).ok_or(Errno(libc::EINVAL)));
        Ok((result, numbers.collect::<Result<_, _>>()?))
    };
    let (result, descriptors) = call_isolated(program, call)?;
    Ok(LoaderProgramRun { result, descriptors })
}

/// Writes the size of the context and the place of the log to the context.
fn write_head(context: &mut [u8], log_level: u32, log: &mut [u8]) -> Result<(), Errno> {
    let log_size = count(log)?;
    let mut head = Vec::new();
    let endian = Endian::native();
    endian.put_u32(&mut head, count(context)?);
    endian.put_u32(&mut head, 0);
    endian.put_u32(&mut head, if log.is_empty() { 0 } else { log_level });
    endian.put_u32(&mut head, log_size);
    endian.put_u64(&mut head, address_mut(log));
    context.get_mut(..head.len()).ok_or(Errno(libc::EINVAL))?.copy_from_slice(&head);
    Ok(())
}
