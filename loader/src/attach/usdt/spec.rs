//! The encoding of a probe for the BPF program: `struct __bpf_usdt_spec` of libbpf's `usdt.bpf.h`.

use super::args::{Arg, ArgLocation, MAX_ARGS};
use core_relo::Endian;

/// The layout of an argument in the program's `usdt.bpf.h`. The size of the map's values distinguishes the
/// layouts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// 16 bytes (up to libbpf 1.6).
    Plain,
    /// 24 bytes, with an index register (from libbpf 1.7).
    ///
    /// The header intends to keep the older layout, but compilers do not pack its bit fields of different
    /// types.
    Indexed,
}

impl Layout {
    pub(super) const fn of_value_size(size: usize) -> Option<Self> {
        match size {
            208 => Some(Self::Plain),
            304 => Some(Self::Indexed),
            _ => None,
        }
    }

    const fn arg_bytes(self) -> usize {
        match self {
            Self::Plain => 16,
            Self::Indexed => 24,
        }
    }
}

/// Encodes a map value. If the layout has no index register, an argument that needs one is not readable.
/// Returns `None` for more arguments or larger ones than a layout has.
pub(super) fn encode(layout: Layout, endian: Endian, args: &[Arg], cookie: u64) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    for arg in args.iter().take(MAX_ARGS) {
        let is_readable = layout == Layout::Indexed || !arg.has_index();
        put_arg(&mut out, layout, endian, if is_readable { arg } else { &Arg::UNREADABLE })?;
    }
    out.resize(layout.arg_bytes().checked_mul(MAX_ARGS)?, 0);
    endian.put_u64(&mut out, cookie);
    endian.put_u16(&mut out, u16::try_from(args.len()).ok()?);
    out.resize(out.len().next_multiple_of(8), 0);
    Some(out)
}

/// A kind of argument that no `usdt.bpf.h` knows.
const UNKNOWN_KIND: u8 = 0xff;

fn put_arg(out: &mut Vec<u8>, layout: Layout, endian: Endian, arg: &Arg) -> Option<()> {
    // The value or offset, the kind (`enum __bpf_usdt_arg_type`), and the register.
    let (value, kind, register) = match arg.location {
        ArgLocation::Const(value) => (value, 0u8, 0),
        ArgLocation::Register(register) => (0, 1, register),
        ArgLocation::Memory { register, offset } => (offset, 2, register),
        ArgLocation::Indexed { register, offset, .. } => (offset, 3, register),
        // No header knows this kind: programs that read the argument get `-EINVAL`.
        ArgLocation::Unreadable => (0, UNKNOWN_KIND, 0),
    };
    // The index register with its shift.
    let index = match arg.location {
        ArgLocation::Indexed { index, shift, .. } => Some((index & 0xfff, u16::from(shift))),
        ArgLocation::Const(_)
        | ArgLocation::Register(_)
        | ArgLocation::Memory { .. }
        | ArgLocation::Unreadable => None,
    };
    endian.put_u64(out, value.cast_unsigned());
    match (layout, index) {
        (Layout::Plain, Some(_)) => return None,
        (Layout::Plain, None) => endian.put_u32(out, kind.into()),
        (Layout::Indexed, index) => {
            // Without an index, the kind says that both are unused.
            let (index, shift) = index.unwrap_or((0, 0));
            // Bit fields start at the low bit on little-endian machines, at the high bit on big-endian ones.
            match endian {
                Endian::Little => {
                    out.extend([kind, 0]);
                    endian.put_u16(out, index | (shift << 12));
                    out.extend([0, 0]);
                }
                Endian::Big => {
                    out.extend([0, 0]);
                    endian.put_u16(out, (index << 4) | shift);
                    out.extend([kind, 0]);
                }
            }
        }
    }
    endian.put_u16(out, register);
    let unused_bits = 64u8.checked_sub(arg.bytes.checked_mul(8)?)?;
    out.extend([u8::from(arg.is_signed), unused_bits]);
    out.resize(out.len().next_multiple_of(8), 0);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIGNED: Arg =
        Arg { location: ArgLocation::Memory { register: 0x98, offset: -16 }, is_signed: true, bytes: 4 };
    const INDEXED: ArgLocation =
        ArgLocation::Indexed { register: 0x7788, index: 0x123, shift: 3, offset: 0x1122 };

    #[test]
    fn encoded_sizes_match_the_headers() {
        for (layout, size) in [(Layout::Plain, 208), (Layout::Indexed, 304)] {
            assert_eq!(Layout::of_value_size(size), Some(layout));
            let bytes = encode(layout, Endian::Little, &[SIGNED; 12], 7).unwrap();
            assert_eq!(bytes.len(), size);
            assert_eq!(Endian::Little.u64(&bytes, size - 16), Some(7));
            assert_eq!(Endian::Little.u16(&bytes, size - 8), Some(12));
        }
        assert_eq!(Layout::of_value_size(200), None);
    }

    #[test]
    fn arguments_before_libbpf_1_7() {
        let bytes = encode(Layout::Plain, Endian::Little, &[SIGNED], 0).unwrap();
        assert_eq!(bytes[..16], [0xf0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0x98, 0, 1, 32]);
        let bytes = encode(Layout::Plain, Endian::Big, &[SIGNED], 0).unwrap();
        assert_eq!(bytes[..16], [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xf0, 0, 0, 0, 2, 0, 0x98, 1, 32]);
        let indexed = [Arg { location: INDEXED, ..SIGNED }];
        let unreadable = encode(Layout::Plain, Endian::Little, &[Arg::UNREADABLE], 0);
        assert_eq!(encode(Layout::Plain, Endian::Little, &indexed, 0), unreadable);
    }

    /// `bpf_usdt_arg` returns `-EINVAL` for a kind of argument that it does not know.
    #[test]
    fn unreadable_arguments_have_a_kind_that_no_header_knows() {
        let bytes = encode(Layout::Plain, Endian::Little, &[Arg::UNREADABLE], 0).unwrap();
        assert_eq!(bytes[..16], [0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0, 0, 0, 0, 0, 0, 0]);
        let bytes = encode(Layout::Indexed, Endian::Little, &[Arg::UNREADABLE, SIGNED], 0).unwrap();
        assert_eq!((bytes[8], bytes[32]), (0xff, 2));
        assert_eq!(Endian::Little.u16(&bytes, 304 - 8), Some(2));
    }

    /// The expected bytes are those of clang's layouts for bpfel and bpfeb.
    #[test]
    fn arguments_since_libbpf_1_7() {
        let arg = Arg { location: INDEXED, is_signed: true, bytes: 1 };
        let bytes = encode(Layout::Indexed, Endian::Little, &[arg], 0).unwrap();
        assert_eq!(bytes[..18], [0x22, 0x11, 0, 0, 0, 0, 0, 0, 3, 0, 0x23, 0x31, 0, 0, 0x88, 0x77, 1, 56]);
        let bytes = encode(Layout::Indexed, Endian::Big, &[arg], 0).unwrap();
        assert_eq!(bytes[..18], [0, 0, 0, 0, 0, 0, 0x11, 0x22, 0, 0, 0x12, 0x33, 3, 0, 0x77, 0x88, 1, 56]);
    }
}
