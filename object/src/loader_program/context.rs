//! The context of a loader program, in the layout of libbpf's `skel_internal.h`.
//!
//! | offset | field | direction |
//! |---|---|---|
//! | 0 | `sz`: bytes of the context | in |
//! | 4 | `flags`: bit 0 if `initial_value` is a kernel address | in |
//! | 8, 12, 16 | `log_level`, `log_size`, `log_buf` (8 bytes): the log of BTF and programs | in |
//! | 24 + 16 n | map n: descriptor, `max_entries` (0 for the planned number), `initial_value` (8 bytes, 0 for the planned value) | out, in, in |
//! | … + 4 n | program n: descriptor | out |
//!
//! A program that checks its data takes `max_entries` only of maps with an entry for each CPU, and no
//! `initial_value`: its signature covers all else.

/// The offset of `flags`.
pub(super) const FLAGS: i16 = 4;
/// The offset of `log_level`.
pub(super) const LOG_LEVEL: i16 = 8;
/// The offset of `log_size`.
pub(super) const LOG_SIZE: i16 = 12;
/// The offset of `log_buf`.
pub(super) const LOG_BUF: i16 = 16;

/// Bytes before the maps (`sizeof(struct bpf_loader_ctx)`).
const HEAD_BYTES: usize = 24;
/// Bytes of a map (`sizeof(struct bpf_map_desc)`).
const MAP_BYTES: usize = 16;
/// Bytes of a program (`sizeof(struct bpf_prog_desc)`).
const PROGRAM_BYTES: usize = 4;

/// Returns the size of the context in bytes. Returns `None` for a size beyond the address space.
pub fn context_bytes(maps: usize, programs: usize) -> Option<usize> {
    let (maps, programs) = (maps.checked_mul(MAP_BYTES)?, programs.checked_mul(PROGRAM_BYTES)?);
    HEAD_BYTES.checked_add(maps)?.checked_add(programs)
}

/// Returns the offset of a map's descriptor.
pub fn map_fd_offset(map: usize) -> Option<usize> {
    context_bytes(map, 0)
}

/// Returns the offset of a map's `max_entries`.
pub fn max_entries_offset(map: usize) -> Option<usize> {
    map_fd_offset(map)?.checked_add(4)
}

/// Returns the offset of a map's `initial_value`.
pub fn initial_value_offset(map: usize) -> Option<usize> {
    map_fd_offset(map)?.checked_add(8)
}

/// Returns the offset of a program's descriptor.
pub fn program_fd_offset(maps: usize, program: usize) -> Option<usize> {
    context_bytes(maps, program)
}
