//! Programs: loading, test runs, output streams.

use super::{
    ProgSignature,
    call::{
        Cmd, OBJ_NAME_LEN, address, address_mut, attr, call, call_done, call_fd, count, fd, object_name,
        opt_fd,
    },
    info::ProgramInfo,
};
use core::time::Duration;
use core_relo::{
    Endian,
    insn::{INSN_BYTES, Insn, LD_IMM64, opcode, pseudo},
};
use core_relo_object::Errno;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd, RawFd};

/// `BPF_PROG_TYPE_SYSCALL`
const SYSCALL: u32 = 31;

/// `BPF_F_TOKEN_FD` of `prog_flags`.
const TOKEN: u32 = 1 << 16;

attr! {
    struct LoadAttr {
        prog_type: u32, insn_cnt: u32, insns: u64, license: u64, log_level: u32, log_size: u32, log_buf: u64, kern_version: u32,
        prog_flags: u32, prog_name: [u8; OBJ_NAME_LEN], prog_ifindex: u32, expected_attach_type: u32, prog_btf_fd: u32,
        func_info_rec_size: u32, func_info: u64, func_info_cnt: u32, line_info_rec_size: u32, line_info: u64, line_info_cnt: u32,
        attach_btf_id: u32, attach_fd: u32, core_relo_cnt: u32, fd_array: u64, core_relos: u64, core_relo_rec_size: u32,
        log_true_size: u32, prog_token_fd: u32, fd_array_cnt: u32, signature: u64, signature_size: u32, keyring_id: i32,
    }
    struct TestAttr {
        prog_fd: u32, retval: u32, data_size_in: u32, data_size_out: u32, data_in: u64, data_out: u64, repeat: u32, duration: u32,
        ctx_size_in: u32, ctx_size_out: u32, ctx_in: u64, ctx_out: u64, flags: u32, cpu: u32, batch_size: u32, pad: u32,
    }
    struct BindAttr { prog_fd: u32, map_fd: u32, flags: u32, }
    struct AssocAttr { map_fd: u32, prog_fd: u32, flags: u32, }
    struct StatsAttr { kind: u32, }
    struct StreamAttr { buf: u64, buf_len: u32, stream_id: u32, prog_fd: u32, pad: u32, }
}

/// The properties of a new program (`BPF_PROG_LOAD`).
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::exhaustive_structs, reason = "filled by callers with `..Default::default()`")]
pub struct ProgLoad<'a> {
    /// The kernel's number of its type.
    pub prog_type: u32,
    /// Its name; cut to 15 bytes, empty for none.
    pub name: &'a [u8],
    /// Its instructions, in the machine's byte order.
    pub insns: &'a [u8],
    /// Its license.
    pub license: &'a [u8],
    /// The kernel's version, for kernels that compare it (before 5.0).
    pub kern_version: u32,
    /// `BPF_F_*` flags.
    pub prog_flags: u32,
    /// The network device it is for, 0 for none.
    pub ifindex: u32,
    /// The attach type for the verifier.
    pub expected_attach_type: u32,
    /// The BTF of the function and line records.
    pub btf: Option<BorrowedFd<'a>>,
    /// `struct bpf_func_info`, in the machine's byte order.
    pub func_info: &'a [u8],
    /// Bytes of one.
    pub func_info_rec_size: u32,
    /// `struct bpf_line_info`.
    pub line_info: &'a [u8],
    /// Bytes of one.
    pub line_info_rec_size: u32,
    /// The type id of the attach target, in the BTF of `attach_to`.
    pub attach_btf_id: u32,
    /// The target program, or the BTF of the target's module; `None` for the kernel's own types.
    pub attach_to: Option<BorrowedFd<'a>>,
    /// Descriptors that instructions refer to by index.
    pub fd_array: &'a [RawFd],
    /// Whether the program holds all maps and BTF of `fd_array` (Linux 6.14). Linux 7.3 demands that of
    /// signed programs.
    pub is_fd_array_bound: bool,
    /// The verbosity of the verifier's log: 0 for no log, 1, 2 for all steps; 4 adds statistics.
    pub log_level: u32,
    /// A BPF token.
    pub token: Option<BorrowedFd<'a>>,
    /// The signature of the instructions.
    pub signature: Option<ProgSignature<'a>>,
}

/// Loads a program. The verifier writes to `log` if `log` is not empty and the log level is not 0.
///
/// `ENOSPC` means that `log` was too small, not that the program was refused.
pub(crate) fn prog_load(load: &ProgLoad<'_>, log: &mut [u8]) -> Result<OwnedFd, Errno> {
    let records = |bytes: &[u8], size: u32| match (count(bytes)?, size) {
        (0, 0) => Ok(0),
        (len, size) if len.is_multiple_of(size) => len.checked_div(size).ok_or(Errno(libc::EINVAL)),
        _ => Err(Errno(libc::EINVAL)),
    };
    if !load.insns.len().is_multiple_of(8) {
        return Err(Errno(libc::EINVAL));
    }
    if !load.fd_array.is_empty()
        && !indices(load.insns).all(|at| at.is_some_and(|at| at < load.fd_array.len()))
    {
        return Err(Errno(libc::EINVAL));
    }
    // The kernel takes a program without the address of a signature for an unsigned program.
    if load.signature.is_some_and(|signature| signature.pkcs7.is_empty()) {
        return Err(Errno(libc::EBADMSG));
    }
    let signature = load.signature.map_or(&[][..], |signature| signature.pkcs7);
    // The kernel reads the license up to a NUL.
    let mut license = load.license.to_vec();
    license.push(0);
    let mut attr = LoadAttr {
        prog_type: load.prog_type,
        insn_cnt: records(load.insns, 8)?,
        insns: address(load.insns),
        license: address(&license),
        log_level: if log.is_empty() { 0 } else { load.log_level },
        log_size: count(log)?,
        log_buf: address_mut(log),
        kern_version: load.kern_version,
        prog_flags: if load.token.is_some() { load.prog_flags | TOKEN } else { load.prog_flags },
        prog_name: object_name(load.name),
        prog_ifindex: load.ifindex,
        expected_attach_type: load.expected_attach_type,
        prog_btf_fd: opt_fd(load.btf),
        func_info_rec_size: load.func_info_rec_size,
        func_info: address(load.func_info),
        func_info_cnt: records(load.func_info, load.func_info_rec_size)?,
        line_info_rec_size: load.line_info_rec_size,
        line_info: address(load.line_info),
        line_info_cnt: records(load.line_info, load.line_info_rec_size)?,
        attach_btf_id: load.attach_btf_id,
        attach_fd: opt_fd(load.attach_to),
        fd_array: address(load.fd_array),
        fd_array_cnt: if load.is_fd_array_bound { count(load.fd_array)? } else { 0 },
        prog_token_fd: opt_fd(load.token),
        signature: address(signature),
        signature_size: count(signature)?,
        keyring_id: load.signature.map_or(0, |signature| signature.keyring.id()),
        ..LoadAttr::default()
    };
    call_fd(Cmd::ProgLoad, &mut attr)
}

/// Returns the indices in the array of descriptors that instructions refer to. The kernel does not know the
/// array's length. `None` stands for a negative index.
fn indices(insns: &[u8]) -> impl Iterator<Item = Option<usize>> {
    let place = |raw: [u8; INSN_BYTES]| {
        let insn = Insn::decode(Endian::native(), raw);
        match (insn.code, insn.src) {
            (LD_IMM64, pseudo::MAP_IDX | pseudo::MAP_IDX_VALUE) => Some(usize::try_from(insn.imm).ok()),
            // Index 0 stands for the kernel itself, so the kernel does not read the array.
            (opcode::CALL, pseudo::KFUNC_CALL) if insn.off != 0 => Some(usize::try_from(insn.off).ok()),
            _ => None,
        }
    };
    insns.chunks(INSN_BYTES).filter_map(move |raw| place(raw.try_into().ok()?))
}

/// Binds a map to a program, so that the map lives as long as the program (`BPF_PROG_BIND_MAP`).
pub(crate) fn prog_bind_map(prog: impl AsFd, map: impl AsFd) -> Result<(), Errno> {
    let attr = BindAttr { prog_fd: fd(prog.as_fd()), map_fd: fd(map.as_fd()), flags: 0 };
    call_done(Cmd::ProgBindMap, &mut { attr })
}

/// Associates a program with a struct_ops map for the program's kfuncs (`BPF_PROG_ASSOC_STRUCT_OPS`, kernels
/// from 7.0; libbpf: `bpf_program__assoc_struct_ops`). The programs of the map itself are always associated
/// with it.
pub(crate) fn prog_assoc_struct_ops(prog: impl AsFd, map: impl AsFd) -> Result<(), Errno> {
    let (prog, map) = (prog.as_fd(), map.as_fd());
    call_done(Cmd::ProgAssocStructOps, &mut AssocAttr { map_fd: fd(map), prog_fd: fd(prog), flags: 0 })
}

/// A test run of a program (`BPF_PROG_TEST_RUN`).
#[derive(Debug, Default)]
#[expect(clippy::exhaustive_structs, reason = "filled by callers with `..Default::default()`")]
pub struct TestRun<'a> {
    /// The packet, or other input data of the program type.
    pub data_in: &'a [u8],
    /// Room for the data after the run.
    pub data_out: &'a mut [u8],
    /// The context.
    pub ctx_in: &'a [u8],
    /// Room for the context after the run. Syscall programs change the context in place, and it is copied
    /// here as far as it fits.
    pub ctx_out: &'a mut [u8],
    /// The number of runs; 0 means 1. Not all program types support it.
    pub repeat: u32,
    /// `BPF_F_TEST_*` flags.
    pub flags: u32,
    /// The CPU, with `BPF_F_TEST_RUN_ON_CPU`.
    pub cpu: u32,
    /// The number of packets in a batch, with `BPF_F_TEST_XDP_LIVE_FRAMES`.
    pub batch_size: u32,
}

/// The result of a test run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TestRunResult {
    /// The program's return value.
    pub retval: u32,
    /// The mean duration of a run.
    pub duration: Duration,
    /// Bytes of data after the run; with `truncated`, more than there was room for.
    pub data_len: u32,
    /// Bytes of context after the run.
    pub ctx_len: u32,
    /// Whether `data_out` was too small for the data.
    pub truncated: bool,
}

/// Runs a program.
pub fn test_run(prog: impl AsFd, run: &mut TestRun<'_>) -> Result<TestRunResult, Errno> {
    let prog = prog.as_fd();
    // For some program types, the kernel writes the context back to its buffer.
    let mut context = run.ctx_in.to_vec();
    let in_place = !run.ctx_out.is_empty() && ProgramInfo::query(&prog)?.prog_type == SYSCALL;
    let ctx_out: &mut [u8] = if in_place { &mut [] } else { run.ctx_out };
    let mut attr = TestAttr {
        prog_fd: fd(prog),
        data_size_in: count(run.data_in)?,
        data_size_out: count(run.data_out)?,
        data_in: address(run.data_in),
        data_out: address_mut(run.data_out),
        repeat: run.repeat,
        ctx_size_in: count(&context)?,
        ctx_size_out: count(ctx_out)?,
        ctx_in: address_mut(&mut context),
        ctx_out: address_mut(ctx_out),
        flags: run.flags,
        cpu: run.cpu,
        batch_size: run.batch_size,
        ..TestAttr::default()
    };
    let truncated = match call_done(Cmd::ProgTestRun, &mut attr) {
        Ok(()) => false,
        Err(Errno(libc::ENOSPC)) if !run.data_out.is_empty() => true,
        Err(e) => return Err(e),
    };
    if in_place {
        run.ctx_out.iter_mut().zip(&context).for_each(|(to, from)| *to = *from);
        attr.ctx_size_out = attr.ctx_size_in;
    }
    Ok(TestRunResult {
        retval: attr.retval,
        duration: Duration::from_nanos(attr.duration.into()),
        data_len: attr.data_size_out,
        ctx_len: attr.ctx_size_out,
        truncated,
    })
}

/// Turns on the statistics of program runs: `run_cnt` and `run_time_ns` of
/// [`ProgramInfo`](super::ProgramInfo) (`BPF_ENABLE_STATS`, kernels from 5.8). They are off again when all
/// descriptors are closed, unless the sysctl `kernel.bpf_stats_enabled` is 1.
pub fn enable_run_statistics() -> Result<OwnedFd, Errno> {
    /// `BPF_STATS_RUN_TIME`.
    const RUN_TIME: u32 = 0;
    call_fd(Cmd::EnableStats, &mut StatsAttr { kind: RUN_TIME })
}

/// An output stream of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "there are two")]
pub enum StreamId {
    /// The output of the program (`BPF_STREAM_STDOUT`).
    Stdout,
    /// The kernel's reports of the program's faults (`BPF_STREAM_STDERR`).
    Stderr,
}

/// Reads from a stream of a program (kernels from 6.17). Returns 0 at the end of the output.
pub fn read_stream(prog: impl AsFd, stream: StreamId, into: &mut [u8]) -> Result<usize, Errno> {
    let mut attr = StreamAttr {
        buf_len: count(into)?,
        buf: address_mut(into),
        stream_id: if stream == StreamId::Stdout { 1 } else { 2 },
        prog_fd: prog.as_fd().as_raw_fd().cast_unsigned(),
        pad: 0,
    };
    let n = call(Cmd::ProgStreamRead, &mut attr)?;
    usize::try_from(n).map_err(|_negative| Errno(libc::EIO))
}

#[cfg(test)]
mod tests {
    use super::*;
    use core_relo_test_support::skip;

    fn code(insns: &[Insn]) -> Vec<u8> {
        insns.iter().flat_map(|i| i.encode(Endian::native())).collect()
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no bpf(2)")]
    fn an_instruction_beyond_the_array_of_descriptors_is_refused_before_the_kernel_reads_there() {
        let of = |code, src, off, imm| Insn { code, dst: 1, src, off, imm };
        let all = code(&[
            of(LD_IMM64, 5, 0, 2),
            Insn::default(),
            of(LD_IMM64, 6, 0, -1),
            Insn::default(),
            of(LD_IMM64, 1, 0, 99),
            Insn::default(),
            of(0x85, 2, 3, 77),
            of(0x85, 2, 0, 77),
            of(0x85, 2, -1, 77),
            of(0x85, 0, 9, 77),
        ]);
        assert_eq!(indices(&all).collect::<Vec<_>>(), [Some(2), None, Some(3), None]);

        let Some(map) = crate::live_test_support::map(core_relo_object::object::MapType::Array, 4, 4, 1)
        else {
            return;
        };
        let load = |place| {
            let insns = code(&[
                of(LD_IMM64, 5, 0, place),
                Insn::default(),
                Insn { code: 0xb7, ..Insn::default() },
                Insn { code: 0x95, ..Insn::default() },
            ]);
            let fd_array = &[map.as_fd().as_raw_fd()];
            prog_load(
                &ProgLoad { prog_type: 1, insns: &insns, license: b"GPL", fd_array, ..Default::default() },
                &mut [],
            )
        };
        assert_eq!(load(1).unwrap_err(), Errno(libc::EINVAL));
        match load(0) {
            Ok(_program) => {}
            Err(e) => skip!("{e}"),
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no bpf(2)")]
    fn an_exclusive_map_is_for_the_one_program() {
        let create = |excl_prog_hash| crate::sys::MapCreate {
            map_type: 2,
            key_size: 4,
            value_size: 4,
            max_entries: 1,
            excl_prog_hash,
            ..Default::default()
        };
        match crate::sys::map_create(&create(&[1; 32])) {
            Err(e @ Errno(libc::E2BIG | libc::EPERM | libc::EINVAL)) => skip!("{e}"),
            map => {
                let map = map.unwrap();
                let insns = code(&[
                    Insn { code: LD_IMM64, dst: 1, src: 1, off: 0, imm: map.as_raw_fd() },
                    Insn::default(),
                    Insn { code: 0xb7, ..Insn::default() },
                    Insn { code: 0x95, ..Insn::default() },
                ]);
                let load = ProgLoad { prog_type: 1, insns: &insns, license: b"GPL", ..Default::default() };
                assert_eq!(prog_load(&load, &mut []).unwrap_err(), Errno(libc::EACCES));
                assert!(crate::sys::map_create(&create(&[1; 31])).is_err());
            }
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no bpf(2)")]
    fn what_is_no_struct_ops_map_is_not_associated() {
        let Some(map) = crate::live_test_support::map(core_relo_object::object::MapType::Array, 4, 4, 1)
        else {
            return;
        };
        // Older kernels do not know the command, newer ones look at the map.
        assert_eq!(prog_assoc_struct_ops(&map, &map), Err(Errno(libc::EINVAL)));
    }
}
