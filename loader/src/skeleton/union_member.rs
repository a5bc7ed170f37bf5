//! Members of unions, which share their bytes.

use crate::sys::Pod;

/// Reads the member of a union that begins at the offset `AT`. Does not compile if the member lies outside of
/// the union.
pub fn read_member<T: Pod, U: Pod, const AT: usize>(union: &U) -> T {
    const { assert!(AT <= size_of::<U>() && size_of::<T>() <= size_of::<U>().wrapping_sub(AT)) };
    let mut member = T::zeroed();
    let bytes = union.as_bytes().iter().skip(AT);
    member.as_bytes_mut().iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    member
}

/// Writes the member of a union that begins at the offset `AT`. The other bytes stay. Does not compile if the
/// member lies outside of the union.
pub fn write_member<T: Pod, U: Pod, const AT: usize>(union: &mut U, member: &T) {
    const { assert!(AT <= size_of::<U>() && size_of::<T>() <= size_of::<U>().wrapping_sub(AT)) };
    let bytes = union.as_bytes_mut().iter_mut().skip(AT);
    bytes.zip(member.as_bytes()).for_each(|(to, from)| *to = *from);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_that_is_written_is_read_and_other_bytes_stay() {
        let mut union = [0xffu8; 8];
        write_member::<u16, _, 4>(&mut union, &0x1234);
        assert_eq!(read_member::<u16, _, 4>(&union), 0x1234);
        assert_eq!(read_member::<u32, _, 0>(&union), u32::MAX);
        assert_eq!(read_member::<[u8; 2], _, 6>(&union), [0xff; 2]);
    }
}
