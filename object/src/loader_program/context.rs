//! The context of a loader program, in the layout of libbpf's `skel_internal.h`.
//!
//! | offset | field | direction |
//! |---|---|---|
//! | 0 | `sz`: bytes of the context | in |
//! | 4 | `flags`: bit 0 if the pointers are kernel addresses | in |
//! | 8, 12, 16 | `log_level`, `log_size`, `log_buf` (8 bytes): the log of BTF and programs | in |
//! | 24 + 16 n | map n: descriptor, `max_entries` (0 for the planned number), `initial_value` (8 bytes, 0 for the planned value) | out, in, in |
//! | … + 4 n | program n: descriptor | out |

/// Bytes before the maps (`sizeof(struct bpf_loader_ctx)`).
const HEAD_BYTES: usize = 24;
/// Bytes of a map (`sizeof(struct bpf_map_desc)`).
const MAP_BYTES: usize = 16;
/// Bytes of a program (`sizeof(struct bpf_prog_desc)`).
const PROGRAM_BYTES: usize = 4;

/// Returns the size of the context in bytes. Returns `None` for a size beyond the address space.
pub(super) fn context_bytes(maps: usize, programs: usize) -> Option<usize> {
    let (maps, programs) = (maps.checked_mul(MAP_BYTES)?, programs.checked_mul(PROGRAM_BYTES)?);
    HEAD_BYTES.checked_add(maps)?.checked_add(programs)
}
