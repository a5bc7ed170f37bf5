//! The position of the compressed kernel in a boot image.

use crate::{compression::format::Compression, limits::MAX_BANNER_BYTES};
use core_relo::Endian;
use std::ops::Range;

/// Returns the range of the compressed kernel in an x86 bzImage (`Documentation/arch/x86/boot.rst`) or an EFI
/// zboot image (`drivers/firmware/efi/libstub/zboot-header.S`), from the header. The range may end beyond the
/// image.
pub(crate) fn payload(image: &[u8]) -> Option<Range<usize>> {
    bz_image_payload(image).or_else(|| zboot_payload(image))
}

fn bz_image_payload(image: &[u8]) -> Option<Range<usize>> {
    if image.get(0x202..0x206)? != b"HdrS" || u16_at(image, 0x206)? < 0x208 {
        return None;
    }
    // For old boot loaders, 0 means 4.
    let setup_sectors = match *image.get(0x1f1)? {
        0 => 4,
        n => u32::from(n),
    };
    let start = (setup_sectors + 1) * 512;
    range(start.checked_add(u32_at(image, 0x248)?)?, u32_at(image, 0x24c)?)
}

/// Returns the text of the version in the header of an x86 bzImage, with its NUL:
/// `6.1.0-50-amd64 (…) #1 SMP …`.
pub(crate) fn kernel_version(image: &[u8]) -> Option<&[u8]> {
    if image.get(0x202..0x206)? != b"HdrS" {
        return None;
    }
    // The offset is relative to the second sector. 0 means that there is no text.
    let offset = usize::from(u16_at(image, 0x20e)?);
    let text = image.get(offset.checked_add(0x200).filter(|_| offset != 0)?..)?;
    let end = text.iter().take(MAX_BANNER_BYTES).position(|byte| *byte == 0)?;
    text.get(..=end)
}

fn zboot_payload(image: &[u8]) -> Option<Range<usize>> {
    if !image.starts_with(b"MZ") || image.get(4..8)? != b"zimg" {
        return None;
    }
    range(u32_at(image, 8)?, u32_at(image, 12)?)
}

/// Returns the bytes from each magic number of a stream to the end of the image.
pub(crate) fn find_streams(image: &[u8]) -> impl Iterator<Item = (Compression, &[u8])> {
    let is_first_byte = first_bytes();
    let starts = image.iter().enumerate();
    let starts = starts.filter(move |(_, byte)| is_first_byte.get(usize::from(**byte)) == Some(&true));
    starts.filter_map(move |(start, _)| {
        let rest = image.get(start..)?;
        Compression::searchable().find(|(_, magic)| rest.starts_with(magic)).map(|(format, _)| (format, rest))
    })
}

/// Returns which bytes are the first of a magic number. The table makes the search of hundreds of megabytes
/// fast.
fn first_bytes() -> [bool; 256] {
    let mut is_first_byte = [false; 256];
    for (_, magic) in Compression::searchable() {
        let flag = magic.first().and_then(|byte| is_first_byte.get_mut(usize::from(*byte)));
        flag.into_iter().for_each(|flag| *flag = true);
    }
    is_first_byte
}

fn range(start: u32, len: u32) -> Option<Range<usize>> {
    let start = usize::try_from(start).ok()?;
    Some(start..start.checked_add(usize::try_from(len).ok()?)?)
}

fn u16_at(bytes: &[u8], offset: usize) -> Option<u16> {
    Endian::Little.u16(bytes, offset)
}

fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    Endian::Little.u32(bytes, offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_have_the_position_of_the_kernel() {
        let mut image = vec![0; 0x800];
        image[0x1f1] = 1;
        image[0x202..0x206].copy_from_slice(b"HdrS");
        image[0x206..0x208].copy_from_slice(&0x20fu16.to_le_bytes());
        image[0x248..0x24c].copy_from_slice(&8u32.to_le_bytes());
        image[0x24c..0x250].copy_from_slice(&6u32.to_le_bytes());
        image[0x408..0x40e].copy_from_slice(b"kernel");
        assert_eq!(payload(&image).and_then(|range| image.get(range)), Some(&b"kernel"[..]));
        image[0x24c..0x250].copy_from_slice(&u32::MAX.to_le_bytes());
        assert_eq!(payload(&image), Some(0x408..0x1_0000_0407));
        assert_eq!(payload(&image[..0x240]), None);
    }

    #[test]
    fn headers_have_the_version() {
        let mut image = vec![0; 0x400];
        image[0x202..0x206].copy_from_slice(b"HdrS");
        assert_eq!(kernel_version(&image), None);
        image[0x20e..0x210].copy_from_slice(&0x100u16.to_le_bytes());
        image[0x300..0x306].copy_from_slice(b"6.1.0 ");
        assert_eq!(kernel_version(&image), Some(&b"6.1.0 \0"[..]));
        image[0x20e..0x210].copy_from_slice(&u16::MAX.to_le_bytes());
        assert_eq!(kernel_version(&image), None);
    }

    #[test]
    fn streams_are_found_anywhere() {
        let image = b"boot\x1f\x8b\x08gzip\xfd7zXZ\0\x04BZh9";
        let found: Vec<_> =
            find_streams(image).map(|(format, rest)| (format, image.len() - rest.len())).collect();
        assert_eq!(found, [(Compression::Gzip, 4), (Compression::Xz, 11)]);
    }
}
