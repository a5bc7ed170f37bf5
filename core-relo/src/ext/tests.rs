//! Tests of headers and groups that are short, long or broken, in either byte order.
#![expect(clippy::arithmetic_side_effects, reason = "sizes of small fixtures")]

use super::*;
use crate::{ByteOffset, Endian, StrOffset, TypeId, btf::MAGIC};
use alloc::{format, vec::Vec};

const ORDERS: [Endian; 2] = [Endian::Little, Endian::Big];

fn ext(endian: Endian, header_len: u32, core: &[u32]) -> Vec<u8> {
    let mut out = Vec::new();
    endian.put_u16(&mut out, MAGIC);
    out.extend_from_slice(&[1, 0]);
    let core_len = u32::try_from(core.len() * 4).unwrap();
    let mut words = Vec::from([header_len, 0, 0, 0, 0, 0, core_len]);
    words.resize(usize::try_from(header_len / 4 - 1).unwrap(), 0);
    words.extend_from_slice(core);
    for word in words {
        endian.put_u32(&mut out, word);
    }
    out
}

fn relos(data: &[u8]) -> Vec<(StrOffset, CoreRelo)> {
    let ext = BtfExt::parse(data).unwrap();
    ext.core_relos().flat_map(|s| s.records().map(move |r| (s.name(), r))).collect()
}

#[test]
fn several_groups_of_records_longer_than_known() {
    for endian in ORDERS {
        let core = [20, 7, 2, 8, 1, 30, 0, 99, 16, 2, 31, 12, 99, 9, 1, 0, 3, 32, 77, 99];
        let got = relos(&ext(endian, 40, &core));
        let record = |insn, root, access, kind| CoreRelo {
            insn_offset: ByteOffset(insn),
            root: TypeId(root),
            access: StrOffset(access),
            kind,
        };
        assert_eq!(
            got,
            [
                (StrOffset(7), record(8, 1, 30, RelocKind::FieldByteOffset)),
                (StrOffset(7), record(16, 2, 31, RelocKind::TypeMatches)),
                (StrOffset(9), record(0, 3, 32, RelocKind::Unknown(77))),
            ]
        );
    }
}

#[test]
fn a_header_without_the_core_part_has_no_relocations() {
    for endian in ORDERS {
        let mut data = ext(endian, 32, &[]);
        data[4..8].copy_from_slice(&endian.u32_bytes(24));
        assert!(relos(&data).is_empty());
    }
}

#[test]
fn broken_groups_are_errors_that_name_the_place() {
    for endian in ORDERS {
        let parse = |core: &[u32]| BtfExt::parse(&ext(endian, 32, core)).map(|_| ());
        let group = |offset, records, size, left| {
            Err(ExtError::Group { subsection: "core_relo", offset, records, size, left })
        };
        assert_eq!(
            parse(&[12, 7, 1]),
            Err(ExtError::RecordSize { subsection: "core_relo", found: 12, need: 16 })
        );
        assert_eq!(
            parse(&[18, 7, 1]),
            Err(ExtError::RecordSize { subsection: "core_relo", found: 18, need: 16 })
        );
        assert_eq!(parse(&[16]), group(4, 0, 16, 0));
        assert_eq!(parse(&[16, 7, 0]), group(4, 0, 16, 0));
        assert_eq!(parse(&[16, 7, u32::MAX]), group(4, u32::MAX, 16, 0));
        assert_eq!(parse(&[16, 7, 1, 0, 0, 0, 0, 7, 2]), group(28, 2, 16, 0));
    }
}

#[test]
fn every_prefix_is_an_error_or_a_table() {
    for endian in ORDERS {
        let whole = ext(endian, 32, &[16, 7, 1, 8, 1, 30, 0]);
        for end in 0..whole.len() {
            assert!(BtfExt::parse(&whole[..end]).is_err(), "{end}");
        }
        for at in 0..whole.len() {
            let mut bad = whole.clone();
            bad[at] ^= 0xff;
            if let Ok(ext) = BtfExt::parse(&bad) {
                assert!(ext.core_relos().flat_map(|s| s.records()).count() <= 1);
                assert_eq!(ext.line_infos().count() + ext.func_infos().count(), 0);
            }
        }
    }
}

#[test]
fn debug_output_has_lengths_instead_of_bytes() {
    let data = ext(Endian::Little, 32, &[16, 0xabab_abab, 1, 0xabab_abab, 1, 30, 0]);
    let parsed = BtfExt::parse(&data).unwrap();
    let section = parsed.core_relos().next().unwrap();
    let mut builder = ExtBuilder::new(Endian::Little);
    builder.group(ExtPart::CoreRelo, StrOffset(1), 16, &[0xab; 16]);
    for text in [
        format!("{parsed:?}"),
        format!("{:?}", parsed.core_relos()),
        format!("{:?}", section.records()),
        format!("{builder:?}"),
    ] {
        assert!(!text.contains("171, 171"), "{text}");
    }
    assert!(format!("{parsed:?}").contains("groups_bytes: 24"));
}
