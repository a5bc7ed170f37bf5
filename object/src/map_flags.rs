//! Flags of maps (`map_flags` of `BPF_MAP_CREATE`), by their names in `linux/bpf.h` without `BPF_F_`.

/// `BPF_F_NO_PREALLOC`: the elements are allocated when they are created.
pub const NO_PREALLOC: u32 = 1 << 0;
/// `BPF_F_NO_COMMON_LRU`: each CPU has its own list of the least recently used elements.
pub const NO_COMMON_LRU: u32 = 1 << 1;
/// `BPF_F_NUMA_NODE`: the memory of the map is that of the node `numa_node`.
pub const NUMA_NODE: u32 = 1 << 2;
/// `BPF_F_RDONLY`: user space only reads the map through this descriptor.
pub const RDONLY: u32 = 1 << 3;
/// `BPF_F_WRONLY`: user space only writes the map through this descriptor.
pub const WRONLY: u32 = 1 << 4;
/// `BPF_F_STACK_BUILD_ID`: stack traces have build ids and offsets.
pub const STACK_BUILD_ID: u32 = 1 << 5;
/// `BPF_F_ZERO_SEED`: the seed of the hash is zero.
pub const ZERO_SEED: u32 = 1 << 6;
/// `BPF_F_RDONLY_PROG`: programs only read the map.
pub const RDONLY_PROG: u32 = 1 << 7;
/// `BPF_F_WRONLY_PROG`: programs only write the map.
pub const WRONLY_PROG: u32 = 1 << 8;
/// `BPF_F_CLONE`: the storage is copied to sockets that are cloned from a listener.
pub const CLONE: u32 = 1 << 9;
/// `BPF_F_MMAPABLE`: user space may map the map into memory.
pub const MMAPABLE: u32 = 1 << 10;
/// `BPF_F_PRESERVE_ELEMS`: the elements stay when the descriptor that set them is closed.
pub const PRESERVE_ELEMS: u32 = 1 << 11;
/// `BPF_F_INNER_MAP`: an inner map may have another number of entries.
pub const INNER_MAP: u32 = 1 << 12;
/// `BPF_F_LINK`: a struct_ops map is attached by a link.
pub const LINK: u32 = 1 << 13;
/// `BPF_F_PATH_FD`: `path_fd` is a descriptor.
pub const PATH_FD: u32 = 1 << 14;
/// `BPF_F_VTYPE_BTF_OBJ_FD`: `value_type_btf_obj_fd` is a descriptor of the BTF with the type of the value.
pub const VTYPE_BTF_OBJ_FD: u32 = 1 << 15;
/// `BPF_F_TOKEN_FD`: the kernel checks the token, and ignores the flag afterwards.
pub const TOKEN_FD: u32 = 1 << 16;
/// `BPF_F_SEGV_ON_FAULT`: an access of user space to a page that does not exist is a SIGSEGV.
pub const SEGV_ON_FAULT: u32 = 1 << 17;
/// `BPF_F_NO_USER_CONV`: an arena's addresses are not converted to those of user space.
pub const NO_USER_CONV: u32 = 1 << 18;
/// `BPF_F_RB_OVERWRITE`: a ring buffer overwrites the oldest records (6.19).
pub const RB_OVERWRITE: u32 = 1 << 19;

/// The names of the flags, by bit. All kernels since 5.10 know the first 13.
pub(crate) const NAMES: [&str; 20] = [
    "BPF_F_NO_PREALLOC",
    "BPF_F_NO_COMMON_LRU",
    "BPF_F_NUMA_NODE",
    "BPF_F_RDONLY",
    "BPF_F_WRONLY",
    "BPF_F_STACK_BUILD_ID",
    "BPF_F_ZERO_SEED",
    "BPF_F_RDONLY_PROG",
    "BPF_F_WRONLY_PROG",
    "BPF_F_CLONE",
    "BPF_F_MMAPABLE",
    "BPF_F_PRESERVE_ELEMS",
    "BPF_F_INNER_MAP",
    "BPF_F_LINK",
    "BPF_F_PATH_FD",
    "BPF_F_VTYPE_BTF_OBJ_FD",
    "BPF_F_TOKEN_FD",
    "BPF_F_SEGV_ON_FAULT",
    "BPF_F_NO_USER_CONV",
    "BPF_F_RB_OVERWRITE",
];

/// Returns the names of the flags in `map_flags` that some kernel knows.
pub fn flag_names(map_flags: u32) -> impl Iterator<Item = &'static str> {
    (0..).zip(NAMES).filter(move |(bit, _)| map_flags.wrapping_shr(*bit) & 1 != 0).map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_have_the_names_of_their_bits() {
        assert_eq!(
            flag_names(NO_PREALLOC | NUMA_NODE).collect::<Vec<_>>(),
            ["BPF_F_NO_PREALLOC", "BPF_F_NUMA_NODE"]
        );
        assert_eq!(flag_names(RB_OVERWRITE | 1 << 31).collect::<Vec<_>>(), ["BPF_F_RB_OVERWRITE"]);
        assert_eq!(flag_names(RDONLY_PROG).collect::<Vec<_>>(), ["BPF_F_RDONLY_PROG"]);
    }
}
