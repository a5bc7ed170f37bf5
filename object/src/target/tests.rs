//! BTF out of bytes.

use super::*;
use crate::test_support::{elf_file as elf_of, sample_types as types};
use core_relo::{ByteSize, Endian, btf::Builder};
use object::{Architecture, Endianness, SectionKind};

#[test]
fn raw_btf_and_elves_of_any_class_and_order_give_their_types() {
    let raw = types(Endian::Little);
    let found = extract(&raw).unwrap();
    assert_eq!((found.btf, found.base, found.form), (&raw[..], None, Form::Raw));
    assert_eq!(found.form.pointer_size(), None);
    for (arch, order, size) in [
        (Architecture::X86_64, Endianness::Little, 8),
        (Architecture::Arm, Endianness::Little, 4),
        (Architecture::S390x, Endianness::Big, 8),
        (Architecture::Mips, Endianness::Big, 4),
    ] {
        let file = elf_of(
            arch,
            order,
            &[(".BTF", SectionKind::Other, &raw), (".BTF.base", SectionKind::Other, b"b")],
        );
        let found = extract(&file).unwrap();
        assert_eq!((found.btf, found.base), (&raw[..], Some(&b"b"[..])));
        assert_eq!(found.form.pointer_size(), Some(ByteSize(size)));
    }
}

#[test]
fn bytes_without_btf_say_why() {
    let of =
        |sections: &[(&str, SectionKind, &[u8])]| elf_of(Architecture::X86_64, Endianness::Little, sections);
    assert_eq!(extract(b""), Err(ExtractError::NeitherBtfNorElf));
    assert_eq!(extract(b"\x7fELF"), Err(ExtractError::Elf(ElfError::Header { len: 4 })));
    assert_eq!(extract(&of(&[])), Err(ExtractError::NoBtf));
    let empty = of(&[(".BTF", SectionKind::Other, b"")]);
    assert_eq!(extract(&empty), Err(ExtractError::Section { section: ".BTF", what: "is empty" }));
    let twice = of(&[(".BTF", SectionKind::Other, b"a"), (".BTF", SectionKind::Other, b"b")]);
    assert_eq!(
        extract(&twice),
        Err(ExtractError::Section { section: ".BTF", what: "is there more than once" })
    );
}

#[test]
fn the_largest_btf_of_an_image_is_found_in_either_order() {
    for endian in [Endian::Little, Endian::Big] {
        let (large, mut small) = (types(endian), Builder::new(endian));
        small.int("int", 4, 0);
        let small = small.finish();
        let mut image = b"MZ\x9f\xeb\x01\0\x18\0\0\0".to_vec();
        image.extend_from_slice(&small);
        image.extend_from_slice(&[0x9f; 33]);
        image.extend_from_slice(&large);
        image.extend_from_slice(&small);
        image.extend_from_slice(b"\x9f\xeb");
        assert_eq!(find_btf_in_image(&image), Some(&large[..]));
        // The types of the large one damaged: the small one is left.
        let at = image.windows(large.len()).position(|w| w == large).unwrap();
        image[at + 24..at + 40].fill(0xff);
        assert_eq!(find_btf_in_image(&image), Some(&small[..]));
    }
    assert_eq!(find_btf_in_image(b""), None);
    assert_eq!(find_btf_in_image(&[0xeb, 0x9f].repeat(1000)), None);
    assert_eq!(
        find_btf_in_image(&Builder::new(Endian::Little).finish()),
        None,
        "no types, no BTF of a kernel"
    );
}

#[test]
#[cfg_attr(miri, ignore = "takes too long")]
fn an_image_of_nothing_but_headers_takes_bounded_time() {
    // Each header claims all that follows: without the limit this would be parsed a hundred thousand times.
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
