//! The info word of a record: kind, number of elements, flag.

use super::kind::Kind;
use crate::endian::Endian;

/// The `info` word, a record's second: `vlen` in 24 bits, `kind` in 7, `kflag` in the last.
///
/// Older BTF used 16 and 5 bits and left the remaining bits zero, so that this layout reads older BTF as
/// well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Info(pub(crate) u32);

impl Info {
    pub(crate) fn new(kind: Kind, vlen: u32, kflag: bool) -> Self {
        Self((u32::from(kflag) << 31) | (u32::from(kind.raw() & 0x7f) << 24) | (vlen & 0x00ff_ffff))
    }

    pub(crate) const fn vlen(self) -> u32 {
        self.0 & 0x00ff_ffff
    }

    #[inline]
    pub(crate) const fn kind(self) -> Kind {
        Kind::from_raw(self.kind_raw())
    }

    #[inline]
    pub(crate) const fn kind_raw(self) -> u8 {
        self.high_byte() & 0x7f
    }

    /// Returns the highest byte: the kind, with the kflag as its highest bit.
    #[inline]
    pub(crate) const fn high_byte(self) -> u8 {
        let [_, _, _, byte] = Endian::Little.u32_bytes(self.0);
        byte
    }

    pub(crate) const fn kflag(self) -> bool {
        self.0 >> 31 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_agree_for_every_kind() {
        for raw in 0..=127u8 {
            let kind = Kind::from_raw(raw);
            assert_eq!(kind.raw(), raw);
            assert_eq!(matches!(kind, Kind::Unknown(_)), raw > 19);
            assert_eq!(Info::new(kind, 0x0012_3456, true).kind(), kind);
        }
        assert_eq!(Kind::Enum64.name(), "ENUM64");
        assert_eq!(Kind::from_raw(13), Kind::FuncProto);
    }

    #[test]
    fn the_info_word_holds_24_bits_of_elements() {
        let info = Info::new(Kind::Struct, 0x00ff_ffff, true);
        assert_eq!((info.vlen(), info.kind(), info.kflag()), (0x00ff_ffff, Kind::Struct, true));
    }
}
