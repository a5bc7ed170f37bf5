//! Properties of programs, maps, BTF objects and links (`BPF_OBJ_GET_INFO_BY_FD`).

use super::{
    call::{Attr, Cmd, OBJ_NAME_LEN, address_mut, attr, call_done, count, fd},
    info_error::{InfoError, ObjectFacts},
    kind::ObjectKind,
};
use crate::convert::before_nul;
use core_relo::Endian;
use core_relo_object::Errno;
use std::os::fd::{AsFd, BorrowedFd};

attr! {
    struct InfoAttr { bpf_fd: u32, info_len: u32, info: u64, }
}

/// Declares structs that the kernel fills.
macro_rules! info {
    ($($(#[$doc:meta])* pub struct $name:ident { $($(#[$field_doc:meta])* $vis:vis $field:ident: $ty:ty,)* })*) => {$(
        $(#[$doc])*
        #[repr(C, align(8))]
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct $name { $($(#[$field_doc])* $vis $field: $ty,)* }

        // SAFETY: the fields are integers, and the assertion below compares the sizes, so there is no
        // padding.
        unsafe impl Attr for $name {}

        const _: () = assert!(size_of::<$name>() == 0 $(+ size_of::<$ty>())*);
    )*};
}

info! {
    /// The properties of a program (`struct bpf_prog_info`).
    pub struct ProgramInfo {
        /// The kernel's number of its type.
        pub prog_type: u32,
        /// Its id.
        pub id: u32,
        /// A hash of its instructions.
        pub tag: [u8; 8],
        /// Bytes of machine code.
        pub jited_prog_len: u32,
        /// Bytes of instructions after the verifier's rewriting.
        pub xlated_prog_len: u32,
        jited_prog_insns: u64,
        xlated_prog_insns: u64,
        /// The time of the load, in nanoseconds since boot.
        pub load_time: u64,
        /// The user who loaded the program.
        pub created_by_uid: u32,
        /// The number of maps that the program uses.
        pub nr_map_ids: u32,
        map_ids: u64,
        name: [u8; OBJ_NAME_LEN],
        /// The network device it is for, 0 for none.
        pub ifindex: u32,
        gpl_compatible: u32,
        /// The device of the network namespace of `ifindex`.
        pub netns_dev: u64,
        /// Its inode.
        pub netns_ino: u64,
        /// The number of symbols of compiled subprograms.
        pub nr_jited_ksyms: u32,
        /// The number of lengths of compiled subprograms.
        pub nr_jited_func_lens: u32,
        jited_ksyms: u64,
        jited_func_lens: u64,
        /// The id of its BTF, 0 for none.
        pub btf_id: u32,
        func_info_rec_size: u32,
        func_info: u64,
        /// The number of function records.
        pub nr_func_info: u32,
        /// The number of source line records.
        pub nr_line_info: u32,
        line_info: u64,
        jited_line_info: u64,
        /// The number of source line records of the machine code.
        pub nr_jited_line_info: u32,
        line_info_rec_size: u32,
        jited_line_info_rec_size: u32,
        nr_prog_tags: u32,
        prog_tags: u64,
        /// The total run time in nanoseconds, if statistics are on.
        pub run_time_ns: u64,
        /// The number of runs, if statistics are on.
        pub run_cnt: u64,
        /// The number of runs skipped because the program was running already.
        pub recursion_misses: u64,
        /// The number of instructions that the verifier processed.
        pub verified_insns: u32,
        /// The id of the BTF object with the attach target.
        pub attach_btf_obj_id: u32,
        /// The type id of the attach target in that BTF.
        pub attach_btf_id: u32,
        pad: u32,
    }
    /// The properties of a map (`struct bpf_map_info`).
    pub struct MapInfo {
        /// The kernel's number of its type.
        pub map_type: u32,
        /// Its id.
        pub id: u32,
        /// Bytes of a key.
        pub key_size: u32,
        /// Bytes of a value; for a per-CPU map, of the value of one CPU.
        pub value_size: u32,
        /// The maximum number of entries.
        pub max_entries: u32,
        /// `BPF_F_*` flags.
        pub map_flags: u32,
        name: [u8; OBJ_NAME_LEN],
        /// The network device it belongs to, 0 for none.
        pub ifindex: u32,
        /// Type of a struct_ops map's value in the kernel's BTF.
        pub btf_vmlinux_value_type_id: u32,
        /// The device of the network namespace of `ifindex`.
        pub netns_dev: u64,
        /// Its inode.
        pub netns_ino: u64,
        /// The id of its BTF, 0 for none.
        pub btf_id: u32,
        /// The type id of a key in that BTF.
        pub btf_key_type_id: u32,
        /// The type id of a value in that BTF.
        pub btf_value_type_id: u32,
        /// The id of the kernel's BTF with the type of a struct_ops map's value.
        pub btf_vmlinux_id: u32,
        /// A parameter that depends on the map type.
        pub map_extra: u64,
    }
    /// The properties of a BTF object (`struct bpf_btf_info`).
    pub struct BtfInfo {
        btf: u64,
        /// Its size in bytes.
        pub btf_size: u32,
        /// Its id.
        pub id: u32,
        name: u64,
        /// Bytes of its name.
        pub name_len: u32,
        /// 1 for the BTF of the kernel or a module, else 0.
        pub kernel_btf: u32,
    }
    /// The properties of a link (`struct bpf_link_info`).
    pub struct LinkInfo {
        /// The kernel's number of its type.
        pub link_type: u32,
        /// Its id.
        pub id: u32,
        /// The id of its program; 0 of a struct_ops link.
        pub prog_id: u32,
        pad: u32,
        /// The fields that depend on the link type (the union in the kernel's struct), as words of four
        /// bytes.
        pub detail: [u32; 14],
    }
}

impl ProgramInfo {
    /// Returns whether the program's license is compatible with the GPL.
    pub const fn is_gpl_compatible(&self) -> bool {
        // C counts bit fields from the low end, or from the high one of big-endian machines.
        match Endian::native() {
            Endian::Little => self.gpl_compatible & 1 != 0,
            Endian::Big => self.gpl_compatible >> 31 != 0,
        }
    }

    /// Its name; the kernel keeps 15 bytes.
    pub fn name(&self) -> String {
        name_of(&self.name)
    }
}

impl MapInfo {
    /// Its name; the kernel keeps 15 bytes.
    pub fn name(&self) -> String {
        name_of(&self.name)
    }
}

/// Decodes a name that ends at the first NUL.
fn name_of(raw: &[u8]) -> String {
    String::from_utf8_lossy(before_nul(raw)).into_owned()
}

/// Fills `info`, whose fields may contain addresses of further buffers.
fn fill_info<I: Attr>(object: BorrowedFd<'_>, info: &mut I) -> Result<(), Errno> {
    let len = u32::try_from(size_of::<I>()).map_err(|_large| Errno(libc::E2BIG))?;
    let at = address_mut(core::slice::from_mut(info));
    call_done(Cmd::ObjInfo, &mut InfoAttr { bpf_fd: fd(object), info_len: len, info: at })
}

/// Returns the properties of an object that must be of a kind.
fn get_info<I: Attr>(kind: ObjectKind, object: BorrowedFd<'_>) -> Result<I, InfoError> {
    kind.check(object)?;
    let mut info = I::default();
    fill_info(object, &mut info)
        .map_err(|errno| InfoError::kernel(kind, ObjectFacts::Properties, object, errno))?;
    Ok(info)
}

impl ProgramInfo {
    /// Returns the properties of a program.
    pub fn query(prog: &impl AsFd) -> Result<Self, InfoError> {
        get_info(ObjectKind::Program, prog.as_fd())
    }
}

impl MapInfo {
    /// Returns the properties of a map.
    pub fn query(map: &impl AsFd) -> Result<Self, InfoError> {
        get_info(ObjectKind::Map, map.as_fd())
    }
}

impl LinkInfo {
    /// Returns the properties of a link. [`link_target_name`] returns the name of a tracepoint or iterator.
    pub fn query(link: &impl AsFd) -> Result<Self, InfoError> {
        get_info(ObjectKind::Link, link.as_fd())
    }
}

impl ObjectKind {
    /// Returns the id of an open object.
    pub fn id(self, object: &impl AsFd) -> Result<u32, InfoError> {
        match self {
            Self::Program => ProgramInfo::query(object).map(|info| info.id),
            Self::Map => MapInfo::query(object).map(|info| info.id),
            Self::Link => LinkInfo::query(object).map(|info| info.id),
            Self::Btf => BtfInfo::query(object).map(|info| info.id),
        }
    }
}

/// Returns the name of a link's attach target: the raw tracepoint, the iterator's target, the function,
/// tracepoint or binary of a perf event, the binary of uprobe.multi. Other links have no name.
pub fn link_target_name(link: &impl AsFd) -> Result<String, InfoError> {
    // The indices of the words with the name's address and the size of the buffer, by link type.
    let link = link.as_fd();
    let (address, room) = match LinkInfo::query(&link)?.link_type {
        1 | 4 => (0, 2), // raw tracepoint, iterator
        7 => (2, 4),     // perf event, of whatever kind
        12 => (0, 8),    // uprobe.multi
        _ => return Ok(String::new()),
    };
    let failed = |errno| InfoError::kernel(ObjectKind::Link, ObjectFacts::Target, link, errno);
    let mut name = vec![0u8; 4096];
    let mut info = LinkInfo::default();
    let at = address_mut(&mut name);
    let (low, high) = (low32(at).map_err(failed)?, low32(at >> 32).map_err(failed)?);
    let order = if Endian::native() == Endian::Little { [low, high] } else { [high, low] };
    for (to, from) in info.detail.iter_mut().skip(address).zip(order) {
        *to = from;
    }
    for to in info.detail.iter_mut().skip(room).take(1) {
        *to = count(&name).map_err(failed)?;
    }
    fill_info(link, &mut info).map_err(failed)?;
    Ok(name_of(&name))
}

fn low32(v: u64) -> Result<u32, Errno> {
    u32::try_from(v & 0xffff_ffff).map_err(|_large| Errno(libc::EOVERFLOW))
}

impl BtfInfo {
    /// Returns the properties of a BTF object.
    pub fn query(btf: &impl AsFd) -> Result<Self, InfoError> {
        get_info(ObjectKind::Btf, btf.as_fd())
    }
}

/// Returns the name of a BTF object: `vmlinux`, a module's name, or an empty name.
pub fn btf_name(btf: &impl AsFd) -> Result<String, InfoError> {
    let btf = btf.as_fd();
    ObjectKind::Btf.check(btf)?;
    let failed = |errno| InfoError::kernel(ObjectKind::Btf, ObjectFacts::Name, btf, errno);
    let mut name = vec![0u8; 64];
    let room = count(&name).map_err(failed)?;
    let mut info = BtfInfo { name: address_mut(&mut name), name_len: room, ..BtfInfo::default() };
    fill_info(btf, &mut info).map_err(failed)?;
    Ok(name_of(&name))
}

/// Returns the bytes of a BTF object. The BTF of a module is split from the kernel's.
pub fn btf_bytes(btf: &impl AsFd) -> Result<Vec<u8>, InfoError> {
    let btf = btf.as_fd();
    let failed = |errno| InfoError::kernel(ObjectKind::Btf, ObjectFacts::Types, btf, errno);
    let size = BtfInfo::query(&btf)?.btf_size;
    let mut bytes = vec![0u8; length(size).map_err(failed)?];
    let mut info = BtfInfo { btf: address_mut(&mut bytes), btf_size: size, ..BtfInfo::default() };
    fill_info(btf, &mut info).map_err(failed)?;
    Ok(bytes)
}

/// Returns the ids of the maps that a program uses.
pub fn program_map_ids(prog: &impl AsFd) -> Result<Vec<u32>, InfoError> {
    let prog = prog.as_fd();
    let failed = |errno| InfoError::kernel(ObjectKind::Program, ObjectFacts::Maps, prog, errno);
    let map_count = ProgramInfo::query(&prog)?.nr_map_ids;
    let mut ids = vec![0u32; length(map_count).map_err(failed)?];
    let mut info =
        ProgramInfo { nr_map_ids: map_count, map_ids: address_mut(&mut ids), ..ProgramInfo::default() };
    fill_info(prog, &mut info).map_err(failed)?;
    Ok(ids)
}

/// Returns a program's instructions after the verifier's rewriting, in the machine's byte order. The result
/// is empty if the process lacks the privilege to read them.
pub fn translated_code(prog: &impl AsFd) -> Result<Vec<u8>, InfoError> {
    let prog = prog.as_fd();
    let failed = |errno| InfoError::kernel(ObjectKind::Program, ObjectFacts::Instructions, prog, errno);
    let len = ProgramInfo::query(&prog)?.xlated_prog_len;
    let mut insns = vec![0u8; length(len).map_err(failed)?];
    let mut info = ProgramInfo {
        xlated_prog_len: len,
        xlated_prog_insns: address_mut(&mut insns),
        ..ProgramInfo::default()
    };
    fill_info(prog, &mut info).map_err(failed)?;
    if info.xlated_prog_insns == 0 {
        insns.clear();
    }
    Ok(insns)
}

/// The function and source line records of a translated program (`struct bpf_func_info`,
/// `struct bpf_line_info`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProgramLines {
    /// `(instruction, FUNC's type id)`.
    pub functions: Vec<[u32; 2]>,
    /// `(instruction, file, text, line << 10 | column)`; names are offsets in the program's BTF.
    pub lines: Vec<[u32; 4]>,
}

fn length(count: u32) -> Result<usize, Errno> {
    usize::try_from(count).map_err(|_large| Errno(libc::E2BIG))
}

impl ProgramLines {
    /// Returns the function and source line records of a program.
    pub fn query(prog: &impl AsFd) -> Result<Self, InfoError> {
        let prog = prog.as_fd();
        let first = ProgramInfo::query(&prog)?;
        let failed = |errno| InfoError::kernel(ObjectKind::Program, ObjectFacts::SourceLines, prog, errno);
        let mut functions = vec![[0u32; 2]; length(first.nr_func_info).map_err(failed)?];
        let mut lines = vec![[0u32; 4]; length(first.nr_line_info).map_err(failed)?];
        let mut info = ProgramInfo {
            nr_func_info: first.nr_func_info,
            func_info_rec_size: 8,
            func_info: address_mut(&mut functions),
            nr_line_info: first.nr_line_info,
            line_info_rec_size: 16,
            line_info: address_mut(&mut lines),
            ..ProgramInfo::default()
        };
        fill_info(prog, &mut info).map_err(failed)?;
        Ok(Self { functions, lines })
    }
}

/// The machine code that the JIT compiler made of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MachineCode {
    /// The code of all functions, one after the other; empty if the kernel hides it.
    pub code: Vec<u8>,
    /// The length of each function's code in bytes.
    pub function_lens: Vec<u32>,
    /// The address of each function; 0 if the kernel hides it.
    pub function_addresses: Vec<u64>,
    /// The address of the code of each source line record, in the order of [`ProgramLines::lines`]; empty if
    /// the kernel hides them.
    pub line_addresses: Vec<u64>,
}

impl MachineCode {
    /// Returns the machine code of a program. Addresses and code are hidden from a process that may not see
    /// the kernel's addresses (`kernel.kptr_restrict`).
    pub fn query(prog: &impl AsFd) -> Result<Self, InfoError> {
        let prog = prog.as_fd();
        let first = ProgramInfo::query(&prog)?;
        let failed = |errno| InfoError::kernel(ObjectKind::Program, ObjectFacts::MachineCode, prog, errno);
        let mut code = vec![0u8; length(first.jited_prog_len).map_err(failed)?];
        let mut function_lens = vec![0u32; length(first.nr_jited_func_lens).map_err(failed)?];
        let mut function_addresses = vec![0u64; length(first.nr_jited_ksyms).map_err(failed)?];
        let mut line_addresses = vec![0u64; length(first.nr_jited_line_info).map_err(failed)?];
        let mut info = ProgramInfo {
            jited_prog_len: first.jited_prog_len,
            jited_prog_insns: address_mut(&mut code),
            nr_jited_func_lens: first.nr_jited_func_lens,
            jited_func_lens: address_mut(&mut function_lens),
            nr_jited_ksyms: first.nr_jited_ksyms,
            jited_ksyms: address_mut(&mut function_addresses),
            nr_jited_line_info: first.nr_jited_line_info,
            jited_line_info_rec_size: 8,
            jited_line_info: address_mut(&mut line_addresses),
            ..ProgramInfo::default()
        };
        fill_info(prog, &mut info).map_err(failed)?;
        // The kernel clears the address of a buffer that it does not fill.
        if info.jited_prog_insns == 0 {
            code.clear();
        }
        if info.jited_func_lens == 0 {
            function_lens.clear();
        }
        if info.jited_ksyms == 0 {
            function_addresses.clear();
        }
        if info.jited_line_info == 0 {
            line_addresses.clear();
        }
        Ok(Self { code, function_lens, function_addresses, line_addresses })
    }
}
