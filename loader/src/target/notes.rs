//! ELF notes.

use core_relo::Endian;

/// The type of the note of a build id (`NT_GNU_BUILD_ID`).
const GNU_BUILD_ID: u32 = 3;

/// Returns the bytes of the build id in ELF notes. Returns `None` without a build id, and if the notes before
/// it are damaged.
pub(crate) fn find_build_id(notes: &[u8], endian: Endian) -> Option<&[u8]> {
    let mut rest = notes;
    while !rest.is_empty() {
        let word = |at: usize| usize::try_from(endian.u32(rest, at)?).ok();
        let (name_len, desc_len, kind) = (word(0)?, word(4)?, endian.u32(rest, 8)?);
        let name = rest.get(12..)?.get(..name_len)?;
        let desc_start = 12usize.checked_add(name_len.checked_next_multiple_of(4)?)?;
        let desc_end = desc_start.checked_add(desc_len)?;
        let desc = rest.get(desc_start..desc_end)?;
        if kind == GNU_BUILD_ID && name == b"GNU\0" {
            return Some(desc);
        }
        // The last note may end without padding.
        rest = rest.get(desc_end.checked_next_multiple_of(4)?..)?;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_build_id_may_follow_other_notes() {
        for endian in [Endian::Little, Endian::Big] {
            let word = |n: u32| endian.u32_bytes(n);
            let id = [&word(4)[..], &word(3), &word(3), b"GNU\0", b"\xab\x01\x02\0"].concat();
            let other = [&word(4)[..], &word(4), &word(1), b"XYZ\0", b"abcd"].concat();
            let same_type = [&word(4)[..], &word(2), &word(3), b"XYZ\0", b"ab\0\0"].concat();
            let all = [&*other, &same_type, &id, &other].concat();
            assert_eq!(find_build_id(&all, endian), Some(&b"\xab\x01\x02"[..]));
            assert_eq!(find_build_id(&other, endian), None);
            for len in 0..id.len() - 1 {
                assert_eq!(find_build_id(&id[..len], endian), None, "{len}");
            }
            let huge = [&word(u32::MAX)[..], &word(u32::MAX), &word(3), b"GNU\0"].concat();
            assert_eq!(find_build_id(&huge, endian), None);
        }
    }
}
