//! Tests of BTF extraction.

use super::*;
use crate::test_support::{elf_file, sample_types};
use core_relo::{ByteSize, Endian, btf::Builder};
use object::{Architecture, Endianness, SectionKind};

#[test]
fn btf_is_extracted_from_raw_files_and_elf_of_any_class_and_order() {
    let raw = sample_types(Endian::Little);
    let found = extract(&raw).unwrap();
    assert_eq!((found.btf, found.base, found.format), (&raw[..], None, FileFormat::Raw));
    assert_eq!(found.format.pointer_size(), None);
    for (arch, order, size) in [
        (Architecture::X86_64, Endianness::Little, 8),
        (Architecture::Arm, Endianness::Little, 4),
        (Architecture::S390x, Endianness::Big, 8),
        (Architecture::Mips, Endianness::Big, 4),
    ] {
        let file = elf_file(
            arch,
            order,
            &[(".BTF", SectionKind::Other, &raw), (".BTF.base", SectionKind::Other, b"b")],
        );
        let found = extract(&file).unwrap();
        assert_eq!((found.btf, found.base), (&raw[..], Some(&b"b"[..])));
        assert_eq!(found.format.pointer_size(), Some(ByteSize(size)));
    }
}

#[test]
fn bytes_without_btf_are_errors() {
    let with_sections = |sections: &[(&str, SectionKind, &[u8])]| {
        elf_file(Architecture::X86_64, Endianness::Little, sections)
    };
    assert_eq!(extract(b""), Err(ExtractError::NeitherBtfNorElf));
    assert_eq!(extract(b"\x7fELF"), Err(ExtractError::Elf(ElfError::Header { len: 4 })));
    assert_eq!(extract(&with_sections(&[])), Err(ExtractError::NoBtf));
    let empty = with_sections(&[(".BTF", SectionKind::Other, b"")]);
    assert_eq!(extract(&empty), Err(ExtractError::Section { section: ".BTF", what: "is empty" }));
    let twice = with_sections(&[(".BTF", SectionKind::Other, b"a"), (".BTF", SectionKind::Other, b"b")]);
    assert_eq!(
        extract(&twice),
        Err(ExtractError::Section { section: ".BTF", what: "exists more than once" })
    );
}

#[test]
fn the_largest_btf_of_an_image_is_found_in_either_order() {
    for endian in [Endian::Little, Endian::Big] {
        let (large, mut small) = (sample_types(endian), Builder::new(endian));
        small.int("int", 4, 0);
        let small = small.finish();
        let mut image = b"MZ\x9f\xeb\x01\0\x18\0\0\0".to_vec();
        image.extend_from_slice(&small);
        image.extend_from_slice(&[0x9f; 33]);
        image.extend_from_slice(&large);
        image.extend_from_slice(&small);
        image.extend_from_slice(b"\x9f\xeb");
        assert_eq!(find_btf_in_image(&image), Some(&large[..]));
        // With damaged types in the larger BTF, the smaller one is found.
        let at = image.windows(large.len()).position(|w| w == large).unwrap();
        image[at + 24..at + 40].fill(0xff);
        assert_eq!(find_btf_in_image(&image), Some(&small[..]));
    }
    assert_eq!(find_btf_in_image(b""), None);
    assert_eq!(find_btf_in_image(&[0xeb, 0x9f].repeat(1000)), None);
    assert_eq!(find_btf_in_image(&Builder::new(Endian::Little).finish()), None, "a kernel's BTF has types");
}

#[test]
#[cfg_attr(miri, ignore = "takes too long")]
fn an_image_of_nothing_but_headers_takes_bounded_time() {
    // Each header claims the rest of the image. Without the limit the rest would be parsed a hundred thousand
    // times.
    let mut image = Vec::new();
    let total = 4u32 << 20;
    while image.len() < 4 << 20 {
        let left = total - u32::try_from(image.len()).unwrap();
        image.extend_from_slice(b"\x9f\xeb\x01\0\x18\0\0\0");
        for word in [0, left.saturating_sub(100) & !3, left.saturating_sub(60), 8, 0, 0, 0, 0] {
            Endian::Little.put_u32(&mut image, word);
        }
    }
    let start = std::time::Instant::now();
    assert_eq!(find_btf_in_image(&image), None);
    assert!(start.elapsed().as_secs() < 20);
}
