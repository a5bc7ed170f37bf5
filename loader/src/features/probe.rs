//! The probe of each feature that loads depend on: a request that uses the feature and leaves nothing behind
//! (libbpf: `features.c`).

use super::{
    answer::is_undecided,
    delegation::with_delegated_type,
    program::{ENOTSUPP, EXIT, RETURN_0, call, code, mov, retry},
    token::Token,
};
use crate::{
    kernel_version::running_version,
    sys::{
        self, BtfLoad, Errno, Keyring, LinkCreate, LinkExtra, LinkTarget, MapCreate, ProgLoad, ProgSignature,
        UprobeBinary,
    },
};
use core_relo::{
    Endian, TypeId,
    btf::{Builder, Kind},
    insn::{Insn, pseudo},
};
use core_relo_object::{
    map_flags,
    object::{AttachType, MapType, ProgramType},
};
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};

/// Returns whether a request succeeded. A lack of privileges or resources is an error, as it does not show
/// whether the kernel has the feature.
pub(super) fn supported<T>(result: Result<T, Errno>) -> Result<bool, Errno> {
    match result.map(drop) {
        Ok(()) => Ok(true),
        Err(errno) if is_undecided(errno) => Err(errno),
        Err(_) => Ok(false),
    }
}

/// The types of programs that load without a target. Any of them shows whether the verifier accepts
/// instructions. The first is the one that needs the fewest privileges.
const PLAIN: [ProgramType; 17] = [
    ProgramType::SocketFilter,
    ProgramType::Tracepoint,
    ProgramType::Kprobe,
    ProgramType::RawTracepoint,
    ProgramType::PerfEvent,
    ProgramType::SchedCls,
    ProgramType::Xdp,
    ProgramType::CgroupSkb,
    ProgramType::SchedAct,
    ProgramType::SockOps,
    ProgramType::SkSkb,
    ProgramType::SkMsg,
    ProgramType::LwtXmit,
    ProgramType::CgroupSock,
    ProgramType::CgroupSockAddr,
    ProgramType::SkLookup,
    ProgramType::Syscall,
];

/// The types of tracing programs that load without a target.
const TRACING: [ProgramType; 4] =
    [ProgramType::Tracepoint, ProgramType::Kprobe, ProgramType::PerfEvent, ProgramType::RawTracepoint];

/// The types of programs that a perf event runs.
const PERF_EVENT: [ProgramType; 3] = [ProgramType::Tracepoint, ProgramType::Kprobe, ProgramType::PerfEvent];

/// Checks that this process may load programs (libbpf: `bpf_object__probe_loading`).
///
/// A token may delegate only types that no probe loads. Then the load itself shows what the token permits.
pub(super) fn check_loading(token: Token<'_>) -> Result<(), Errno> {
    if token.is_some() {
        return Ok(());
    }
    let insns = code(&RETURN_0);
    load_program(ProgramType::SocketFilter, &insns, token)
        .or_else(|_| load_program(ProgramType::Tracepoint, &insns, token))
        .map(drop)
}

/// Loads a program of any type that the token delegates. The program returns 0 or 1, which every type
/// permits.
pub(super) fn load_plain(insns: &[u8], token: Token<'_>) -> Result<OwnedFd, Errno> {
    load_one_of(&PLAIN, insns, token)
}

fn load_one_of(types: &[ProgramType], insns: &[u8], token: Token<'_>) -> Result<OwnedFd, Errno> {
    with_delegated_type(types, token, &mut |program| {
        let load = ProgLoad { insns, license: b"GPL", token, ..program.prog_load() };
        retry(|| sys::prog_load(&load, &mut []))
    })
}

/// Loads a program of any type that the token delegates, with a log.
pub(super) fn load_plain_with_log(insns: &[u8], log: &mut [u8], token: Token<'_>) -> Result<OwnedFd, Errno> {
    with_delegated_type(&PLAIN, token, &mut |program| {
        let load = ProgLoad { insns, license: b"GPL", log_level: 1, token, ..program.prog_load() };
        retry(|| sys::prog_load(&load, log))
    })
}

/// Encodes `r1 = &value[offset]` for a map's value.
fn load_value_address(map: &OwnedFd, offset: i32) -> [Insn; 2] {
    let first = Insn { code: 0x18, dst: 1, src: pseudo::MAP_VALUE, off: 0, imm: map.as_raw_fd() };
    [first, Insn { imm: offset, ..Insn::default() }]
}

fn load_program(program_type: ProgramType, insns: &[u8], token: Token<'_>) -> Result<OwnedFd, Errno> {
    let prog_type = program_type.number();
    let load = ProgLoad { prog_type, insns, license: b"GPL", token, ..ProgLoad::default() };
    retry(|| sys::prog_load(&load, &mut []))
}

fn create_array(value_size: u32, map_flags: u32, name: &[u8], token: Token<'_>) -> Result<OwnedFd, Errno> {
    let map_type = MapType::Array.number();
    sys::map_create(&MapCreate {
        map_type,
        name,
        key_size: 4,
        value_size,
        max_entries: 1,
        map_flags,
        token,
        ..MapCreate::default()
    })
}

fn load_btf(build: impl FnOnce(&mut Builder), token: Token<'_>) -> Result<OwnedFd, Errno> {
    let mut b = Builder::new(Endian::native());
    build(&mut b);
    sys::btf_load(&BtfLoad { btf: &b.finish(), token }, &mut [])
}

pub(super) fn names(token: Token<'_>) -> Result<bool, Errno> {
    let insns = code(&RETURN_0);
    supported(with_delegated_type(&PLAIN, token, &mut |program| {
        let load = ProgLoad {
            name: b"core_relo_name",
            insns: &insns,
            license: b"GPL",
            token,
            ..program.prog_load()
        };
        retry(|| sys::prog_load(&load, &mut []))
    }))
}

pub(super) fn global_data(token: Token<'_>) -> Result<bool, Errno> {
    let map = create_array(32, 0, b"", token)?;
    let store = Insn { code: 0x7a, dst: 1, src: 0, off: 0, imm: 42 };
    let [first, second] = load_value_address(&map, 16);
    supported(load_plain(&code(&[first, second, store, mov(0, 0), EXIT]), token))
}

pub(super) fn btf(token: Token<'_>) -> Result<bool, Errno> {
    let int = |b: &mut Builder| {
        b.int("int", 4, Builder::SIGNED);
    };
    supported(load_btf(int, token))
}

fn function(linkage: u8, token: Token<'_>) -> Result<bool, Errno> {
    let build = |b: &mut Builder| {
        let int = b.int("int", 4, Builder::SIGNED);
        let proto = b.func_proto(TypeId::VOID, &[("a", int)]);
        b.func("x", proto, linkage);
    };
    supported(load_btf(build, token))
}

pub(super) fn btf_func(token: Token<'_>) -> Result<bool, Errno> {
    function(0, token)
}

pub(super) fn btf_global_func(token: Token<'_>) -> Result<bool, Errno> {
    function(1, token)
}

fn datasec(name: &str, token: Token<'_>) -> Result<bool, Errno> {
    let build = |b: &mut Builder| {
        let int = b.int("int", 4, Builder::SIGNED);
        let var = b.var("x", int, 0);
        b.datasec(name, 4, &[(var, 0, 4)]);
    };
    supported(load_btf(build, token))
}

pub(super) fn btf_datasec(token: Token<'_>) -> Result<bool, Errno> {
    datasec(".data", token)
}

pub(super) fn btf_qmark_datasec(token: Token<'_>) -> Result<bool, Errno> {
    datasec("?.data", token)
}

pub(super) fn array_mmap(token: Token<'_>) -> Result<bool, Errno> {
    supported(create_array(4, map_flags::MMAPABLE, b"", token))
}

pub(super) fn expected_attach_type(token: Token<'_>) -> Result<bool, Errno> {
    let insns = code(&RETURN_0);
    let load = ProgLoad {
        prog_type: ProgramType::CgroupSock.number(),
        expected_attach_type: AttachType::CgroupInetSockCreate.number(),
        insns: &insns,
        license: b"GPL",
        token,
        ..ProgLoad::default()
    };
    supported(retry(|| sys::prog_load(&load, &mut [])))
}

/// `bpf_probe_read_user` came with `bpf_probe_read_kernel`, and lockdown does not close it.
pub(super) fn probe_read_kernel(token: Token<'_>) -> Result<bool, Errno> {
    const PROBE_READ_USER: i32 = 112;
    let stack = Insn { code: 0xbf, dst: 1, src: 10, off: 0, imm: 0 };
    let down = Insn { code: 0x07, dst: 1, src: 0, off: 0, imm: -8 };
    let insns = code(&[stack, down, mov(2, 8), mov(3, 0), call(PROBE_READ_USER), EXIT]);
    supported(load_one_of(&TRACING, &insns, token))
}

pub(super) fn prog_bind_map(token: Token<'_>) -> Result<bool, Errno> {
    let map = create_array(32, 0, b"", token)?;
    let prog = load_plain(&code(&RETURN_0), token)?;
    supported(sys::prog_bind_map(&prog, &map))
}

/// Kernels with BTF of modules report the name of a BTF object.
pub(super) fn module_btf(token: Token<'_>) -> Result<bool, Errno> {
    let int = |b: &mut Builder| {
        b.int("int", 4, Builder::SIGNED);
    };
    match load_btf(int, token) {
        Ok(btf) => supported(sys::btf_name(&btf).map_err(Errno::from)),
        refused => supported(refused),
    }
}

pub(super) fn btf_float(token: Token<'_>) -> Result<bool, Errno> {
    let float = |b: &mut Builder| {
        b.float("float", 4);
    };
    supported(load_btf(float, token))
}

pub(super) fn perf_link(token: Token<'_>) -> Result<bool, Errno> {
    let prog = load_one_of(&PERF_EVENT, &code(&RETURN_0), token)?;
    Ok(sys::has_link_type(prog.as_fd(), AttachType::PerfEvent.number()))
}

pub(super) fn btf_decl_tag(token: Token<'_>) -> Result<bool, Errno> {
    let build = |b: &mut Builder| {
        let int = b.int("int", 4, Builder::SIGNED);
        let var = b.var("tag", int, 0);
        b.decl_tag("tag", var, -1);
    };
    supported(load_btf(build, token))
}

pub(super) fn btf_type_tag(token: Token<'_>) -> Result<bool, Errno> {
    let build = |b: &mut Builder| {
        let int = b.int("int", 4, Builder::SIGNED);
        let tag = b.type_tag("tag", int);
        b.pointer(tag);
    };
    supported(load_btf(build, token))
}

/// Probes for `bpf_ktime_get_coarse_ns`, which 5.11 added together with the accounting (libbpf:
/// `probe_memcg_account`).
pub(super) fn memcg_accounting(token: Token<'_>) -> Result<bool, Errno> {
    const KTIME_GET_COARSE_NS: i32 = 160;
    match supported(load_plain(&code(&[call(KTIME_GET_COARSE_NS), mov(0, 0), EXIT]), token)) {
        // EPERM may mean that the limit on locked memory is reached, so the version decides. A distribution's
        // kernel before 5.11 with the accounting counts as a kernel without.
        Err(Errno(libc::EPERM)) => Ok(running_version() >= 0x0005_0b00),
        result => result,
    }
}

pub(super) fn cookie(token: Token<'_>) -> Result<bool, Errno> {
    const GET_ATTACH_COOKIE: i32 = 174;
    supported(load_one_of(&PERF_EVENT, &code(&[call(GET_ATTACH_COOKIE), EXIT]), token))
}

pub(super) fn btf_enum64(token: Token<'_>) -> Result<bool, Errno> {
    let build = |b: &mut Builder| {
        b.composite(Kind::Enum64, "enum64", 8, &[]);
    };
    supported(load_btf(build, token))
}

pub(super) fn syscall_wrapper(_token: Token<'_>) -> Result<bool, Errno> {
    crate::attach::kprobe::has_syscall_wrappers()
}

pub(super) fn uprobe_multi(token: Token<'_>) -> Result<bool, Errno> {
    let insns = code(&RETURN_0);
    let multi = AttachType::TraceUprobeMulti.number();
    let load = ProgLoad {
        prog_type: ProgramType::Kprobe.number(),
        expected_attach_type: multi,
        insns: &insns,
        license: b"GPL",
        token,
        ..ProgLoad::default()
    };
    let prog = match retry(|| sys::prog_load(&load, &mut [])) {
        Ok(prog) => prog,
        refused => return supported(refused),
    };
    let link = |pid| {
        let extra = LinkExtra::UprobeMulti {
            binary: UprobeBinary::Path(c"/"),
            offsets: &[0],
            ref_ctr_offsets: &[],
            cookies: &[],
            flags: 0,
            pid,
        };
        let create =
            LinkCreate { prog: prog.as_fd(), target: LinkTarget::None, attach_type: multi, flags: 0, extra };
        sys::link_create(&create).map(drop)
    };
    // `/` is no binary. Kernels that filter by process correctly look up the process first.
    Ok(link(0) == Err(Errno(libc::EBADF)) && link(u32::MAX) == Err(Errno(libc::EINVAL)))
}

pub(super) fn arg_ctx_tag(token: Token<'_>) -> Result<bool, Errno> {
    const GET_FUNC_IP: i32 = 173;
    const GLOBAL: u8 = 1;
    let mut ids = (TypeId::VOID, TypeId::VOID);
    let build = |b: &mut Builder| {
        let int = b.int("a", 4, Builder::SIGNED);
        let pointer = b.pointer(TypeId::VOID);
        let proto = b.func_proto(int, &[("a", pointer)]);
        ids.0 = b.func("a", proto, GLOBAL);
        let proto = b.func_proto(int, &[("b", pointer)]);
        ids.1 = b.func("b", proto, GLOBAL);
        b.decl_tag("arg:ctx", ids.1, 0);
    };
    let btf = match load_btf(build, token) {
        Ok(btf) => btf,
        refused => return supported(refused),
    };
    let call_next = Insn { code: 0x85, dst: 0, src: 1, off: 0, imm: 1 };
    let insns = code(&[call_next, EXIT, call(GET_FUNC_IP), EXIT]);
    let mut func_info = Vec::new();
    for word in [0, ids.0.0, 2, ids.1.0] {
        Endian::native().put_u32(&mut func_info, word);
    }
    let load = ProgLoad {
        prog_type: ProgramType::Kprobe.number(),
        insns: &insns,
        license: b"GPL",
        btf: Some(btf.as_fd()),
        func_info: &func_info,
        func_info_rec_size: 8,
        token,
        ..ProgLoad::default()
    };
    supported(retry(|| sys::prog_load(&load, &mut [])))
}

pub(super) fn full_range_offset(token: Token<'_>) -> Result<bool, Errno> {
    let map = create_array(1, 0, b"", token)?;
    let [first, second] = load_value_address(&map, 1 << 30);
    let insns = code(&[first, second, EXIT]);
    let mut log = vec![0; 1024];
    let Err(errno) = load_plain_with_log(&insns, &mut log, token) else { return Err(Errno(libc::EINVAL)) };
    accepts_offset(&String::from_utf8_lossy(&log)).ok_or(errno)
}

/// Returns whether the verifier accepted the offset and refused the address behind it. Other messages do not
/// answer the question.
fn accepts_offset(log: &str) -> Option<bool> {
    if log.contains("direct value offset of") {
        Some(false)
    } else if log.contains("invalid access to map value pointer") {
        Some(true)
    } else {
        None
    }
}

/// Creates a struct_ops map for a type that is no struct of operations. A kernel with links looks up the
/// type.
pub(super) fn struct_ops_link(_token: Token<'_>) -> Result<bool, Errno> {
    let map = MapCreate {
        map_type: MapType::StructOps.number(),
        key_size: 4,
        value_size: 4,
        max_entries: 1,
        map_flags: map_flags::LINK,
        kernel_value_type: 1,
        ..MapCreate::default()
    };
    match sys::map_create(&map) {
        Err(Errno(ENOTSUPP)) => Ok(true),
        result => supported(result),
    }
}

/// Loads a program whose signature is no PKCS#7 message. A kernel that verifies signatures refuses the
/// signature.
pub(super) fn prog_signature(token: Token<'_>) -> Result<bool, Errno> {
    match load_unsigned(Keyring::Builtin, token) {
        Err(Errno(libc::E2BIG | libc::EINVAL | libc::EOPNOTSUPP)) | Ok(_) => Ok(false),
        Err(errno) if is_undecided(errno) => Err(errno),
        Err(_) => Ok(true),
    }
}

/// Loads a program with a signature that fits no program.
pub(crate) fn load_unsigned(keyring: Keyring, token: Token<'_>) -> Result<OwnedFd, Errno> {
    /// An empty sequence of DER.
    const EMPTY_SEQUENCE: [u8; 2] = [0x30, 0];
    let insns = code(&RETURN_0);
    with_delegated_type(&PLAIN, token, &mut |program| {
        let load = ProgLoad {
            insns: &insns,
            license: b"GPL",
            token,
            signature: Some(ProgSignature { pkcs7: &EMPTY_SEQUENCE, keyring }),
            ..program.prog_load()
        };
        retry(|| sys::prog_load(&load, &mut []))
    })
}

pub(super) fn token(_token: Token<'_>) -> Result<bool, Errno> {
    sys::has_token_create()
}
