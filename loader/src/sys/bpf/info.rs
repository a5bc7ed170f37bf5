//! What the kernel says of a program, map, BTF or link (`BPF_OBJ_GET_INFO_BY_FD`).

use super::{Cmd, OBJ_NAME_LEN, address_mut, attr, call_done, count, fd, kind::Kind};
use crate::sys::Errno;
use core_relo::Endian;
use std::os::fd::{AsFd, BorrowedFd};

attr! {
    struct InfoAttr { bpf_fd: u32, info_len: u32, info: u64, }
}

/// A struct that the kernel fills.
macro_rules! info {
    ($($(#[$doc:meta])* pub struct $name:ident { $($(#[$field_doc:meta])* $vis:vis $field:ident: $ty:ty,)* })*) => {$(
        $(#[$doc])*
        #[repr(C, align(8))]
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct $name { $($(#[$field_doc])* $vis $field: $ty,)* }

        // SAFETY: integers only, and the assertion below: the size is that of the fields, so there is no padding.
        unsafe impl super::Attr for $name {}

        const _: () = assert!(size_of::<$name>() == 0 $(+ size_of::<$ty>())*);
    )*};
}

info! {
    /// A program (`struct bpf_prog_info`). Addresses and the counts of what they point to are the kernel's business.
    pub struct ProgInfo {
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
        /// When it was loaded, in nanoseconds since boot.
        pub load_time: u64,
        /// The user who loaded it.
        pub created_by_uid: u32,
        /// How many maps it uses.
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
        /// Subprograms, as the machine sees them.
        pub nr_jited_ksyms: u32,
        /// Their lengths' number.
        pub nr_jited_func_lens: u32,
        jited_ksyms: u64,
        jited_func_lens: u64,
        /// The id of its BTF, 0 for none.
        pub btf_id: u32,
        func_info_rec_size: u32,
        func_info: u64,
        /// Records of functions.
        pub nr_func_info: u32,
        /// Records of source lines.
        pub nr_line_info: u32,
        line_info: u64,
        jited_line_info: u64,
        /// Records of machine code's lines.
        pub nr_jited_line_info: u32,
        line_info_rec_size: u32,
        jited_line_info_rec_size: u32,
        nr_prog_tags: u32,
        prog_tags: u64,
        /// Nanoseconds it ran, if statistics are on.
        pub run_time_ns: u64,
        /// How often it ran, if statistics are on.
        pub run_cnt: u64,
        /// How often it was skipped since it was running already.
        pub recursion_misses: u64,
        /// Instructions the verifier looked at.
        pub verified_insns: u32,
        /// The BTF that holds what it is attached to.
        pub attach_btf_obj_id: u32,
        /// What it is attached to, in there.
        pub attach_btf_id: u32,
        pad: u32,
    }
    /// A map (`struct bpf_map_info`).
    pub struct MapInfo {
        /// The kernel's number of its type.
        pub map_type: u32,
        /// Its id.
        pub id: u32,
        /// Bytes of a key.
        pub key_size: u32,
        /// Bytes of a value; of a per-CPU map that of one CPU.
        pub value_size: u32,
        /// How many entries it may have.
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
        /// Type of a key in there.
        pub btf_key_type_id: u32,
        /// Type of a value in there.
        pub btf_value_type_id: u32,
        /// The id of the kernel's BTF that a struct_ops map's value is of.
        pub btf_vmlinux_id: u32,
        /// What else its type takes.
        pub map_extra: u64,
    }
    /// A BTF (`struct bpf_btf_info`).
    pub struct BtfInfo {
        btf: u64,
        /// Its size in bytes.
        pub btf_size: u32,
        /// Its id.
        pub id: u32,
        name: u64,
        /// Bytes of its name.
        pub name_len: u32,
        /// Whether it is the kernel's or a module's own: not 0.
        pub kernel_btf: u32,
    }
    /// A link (`struct bpf_link_info`).
    pub struct LinkInfo {
        /// The kernel's number of its type.
        pub link_type: u32,
        /// Its id.
        pub id: u32,
        /// The id of its program; 0 of a struct_ops link.
        pub prog_id: u32,
        pad: u32,
        /// What else there is, by type (the union in the kernel's struct), as words of four bytes.
        pub detail: [u32; 14],
    }
}

impl ProgInfo {
    /// Whether its license is compatible with the GPL.
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

fn name_of(raw: &[u8]) -> String {
    String::from_utf8_lossy(raw.split(|b| *b == 0).next().unwrap_or_default()).into_owned()
}

fn get<I: super::Attr>(of: BorrowedFd<'_>, info: &mut I) -> Result<(), Errno> {
    let len = u32::try_from(size_of::<I>()).unwrap_or_default();
    let at = address_mut(core::slice::from_mut(info));
    call_done(Cmd::ObjInfo, &mut InfoAttr { bpf_fd: fd(of), info_len: len, info: at })
}

/// The same of something that is one of these.
fn get_of<I: super::Attr>(kind: Kind, of: BorrowedFd<'_>) -> Result<I, Errno> {
    kind.check(of)?;
    let mut info = I::default();
    get(of, &mut info)?;
    Ok(info)
}

/// What the kernel says of a program; `EINVAL` of what is none, in these functions as in all below.
pub fn prog_info(prog: &impl AsFd) -> Result<ProgInfo, Errno> {
    get_of(Kind::Program, prog.as_fd())
}

/// What the kernel says of a map.
pub fn map_info(map: &impl AsFd) -> Result<MapInfo, Errno> {
    get_of(Kind::Map, map.as_fd())
}

/// What the kernel says of a link. The name of a tracepoint or iterator is asked for by [`link_target_name`].
pub fn link_info(link: &impl AsFd) -> Result<LinkInfo, Errno> {
    get_of(Kind::Link, link.as_fd())
}

/// The name of what a link is attached to: the raw tracepoint, the iterator's target, the function, tracepoint or binary of a
/// perf event, the binary of uprobe.multi; empty of other links.
pub fn link_target_name(link: &impl AsFd) -> Result<String, Errno> {
    // By type: the words at which the name's address and the room for it lie.
    let link = link.as_fd();
    let (address, room) = match link_info(&link)?.link_type {
        1 | 4 => (0, 2), // raw tracepoint, iterator
        7 => (2, 4),     // perf event, of whatever kind
        12 => (0, 8),    // uprobe.multi
        _ => return Ok(String::new()),
    };
    let mut name = vec![0u8; 4096];
    let mut info = LinkInfo::default();
    let at = address_mut(&mut name);
    let (low, high) = (low32(at), low32(at >> 32));
    let order = if Endian::native() == Endian::Little { [low, high] } else { [high, low] };
    for (to, from) in info.detail.iter_mut().skip(address).zip(order) {
        *to = from;
    }
    for to in info.detail.iter_mut().skip(room).take(1) {
        *to = count(&name)?;
    }
    get(link, &mut info)?;
    Ok(name_of(&name))
}

fn low32(v: u64) -> u32 {
    u32::try_from(v & 0xffff_ffff).unwrap_or_default()
}

/// What the kernel says of a BTF.
pub fn btf_info(btf: &impl AsFd) -> Result<BtfInfo, Errno> {
    get_of(Kind::Btf, btf.as_fd())
}

/// A BTF's name: `vmlinux`, a module's, or none.
pub fn btf_name(btf: &impl AsFd) -> Result<String, Errno> {
    let mut name = vec![0u8; 64];
    let room = u32::try_from(name.len()).unwrap_or_default();
    let mut info = BtfInfo { name: address_mut(&mut name), name_len: room, ..BtfInfo::default() };
    let btf = btf.as_fd();
    Kind::Btf.check(btf)?;
    get(btf, &mut info)?;
    Ok(name_of(&name))
}

/// The bytes of a BTF; a module's is split from the kernel's.
pub fn btf_bytes(btf: &impl AsFd) -> Result<Vec<u8>, Errno> {
    let btf = btf.as_fd();
    let size = btf_info(&btf)?.btf_size;
    let mut bytes = vec![0u8; usize::try_from(size).map_err(|_big| Errno(libc::E2BIG))?];
    let mut info = BtfInfo { btf: address_mut(&mut bytes), btf_size: size, ..BtfInfo::default() };
    get(btf, &mut info)?;
    Ok(bytes)
}

/// The ids of the maps a program uses.
pub fn prog_map_ids(prog: &impl AsFd) -> Result<Vec<u32>, Errno> {
    let prog = prog.as_fd();
    let n = prog_info(&prog)?.nr_map_ids;
    let mut ids = vec![0u32; usize::try_from(n).unwrap_or_default()];
    let mut info = ProgInfo { nr_map_ids: n, map_ids: address_mut(&mut ids), ..ProgInfo::default() };
    get(prog, &mut info)?;
    Ok(ids)
}

/// A program's instructions after the verifier's rewriting, in the machine's byte order. Empty without the right to see them.
pub fn prog_translated(prog: &impl AsFd) -> Result<Vec<u8>, Errno> {
    let prog = prog.as_fd();
    let len = prog_info(&prog)?.xlated_prog_len;
    let mut insns = vec![0u8; usize::try_from(len).unwrap_or_default()];
    let mut info =
        ProgInfo { xlated_prog_len: len, xlated_prog_insns: address_mut(&mut insns), ..ProgInfo::default() };
    get(prog, &mut info)?;
    if info.xlated_prog_insns == 0 {
        insns.clear();
    }
    Ok(insns)
}

/// Functions and source lines of a translated program, as records of the kernel's (`bpf_func_info`, `bpf_line_info`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProgLines {
    /// `(instruction, FUNC's type id)`.
    pub functions: Vec<[u32; 2]>,
    /// `(instruction, file, text, line << 10 | column)`; names are offsets in the program's BTF.
    pub lines: Vec<[u32; 4]>,
}

/// Where a program's functions and source lines begin.
pub fn prog_lines(prog: &impl AsFd) -> Result<ProgLines, Errno> {
    let prog = prog.as_fd();
    let first = prog_info(&prog)?;
    let room = |n: u32| usize::try_from(n).unwrap_or_default();
    let mut functions = vec![[0u32; 2]; room(first.nr_func_info)];
    let mut lines = vec![[0u32; 4]; room(first.nr_line_info)];
    let mut info = ProgInfo {
        nr_func_info: first.nr_func_info,
        func_info_rec_size: 8,
        func_info: address_mut(&mut functions),
        nr_line_info: first.nr_line_info,
        line_info_rec_size: 16,
        line_info: address_mut(&mut lines),
        ..ProgInfo::default()
    };
    get(prog, &mut info)?;
    Ok(ProgLines { functions, lines })
}
