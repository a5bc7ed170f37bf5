//! Headers, sections and strings.

use super::{Case, Refusal, built};
use core_relo::Endian;

/// Offsets of the header's fields.
const VERSION: usize = 2;
const FLAGS: usize = 3;
const HEADER_LEN: usize = 4;
const TYPE_OFFSET: usize = 8;
const TYPE_LEN: usize = 12;
const STRING_OFFSET: usize = 16;
const STRING_LEN: usize = 20;
const HEADER_BYTES: usize = 24;

/// Fields that Linux 7.2 added.
const LAYOUT_OFFSET: usize = 24;
const LAYOUT_LEN: usize = 28;
const LONG_HEADER_BYTES: usize = 32;

pub(super) fn cases() -> Vec<Case> {
    let mut cases = layouts();
    cases.extend(headers());
    cases
}

/// The layout section of Linux 7.2, of which other kernels refuse the header.
fn layouts() -> Vec<Case> {
    const OLD: Option<&str> = Some("Unsupported btf_header");
    vec![
        with_layout("layout/of two kinds", OLD, &[0; 8], |_| {}),
        with_layout("layout/of many kinds", OLD, &[1; 400], |_| {}),
        with_layout("layout/too small", OLD, &[0; 3], |_| {}),
        with_layout("layout/cut off", OLD, &[0; 6], |_| {}),
        with_layout("layout/empty", None, &[], |data| set(data, LAYOUT_OFFSET, 0)),
        with_layout("layout/empty, at an offset", OLD, &[], |data| set(data, LAYOUT_OFFSET, 7)),
        with_layout("layout/overlaps", OLD, &[0; 8], |data| set(data, LAYOUT_OFFSET, 8)),
        with_layout("layout/after the end", OLD, &[0; 8], |data| set(data, LAYOUT_OFFSET, 4096)),
        with_layout("layout/too long", OLD, &[0; 8], |data| set(data, LAYOUT_LEN, 4096)),
        with_layout("layout/gap", OLD, &[0; 8], |data| set(data, LAYOUT_LEN, 4)),
        with_layout("layout/header ends within its fields", OLD, &[0; 8], |data| {
            data.drain(LAYOUT_LEN..LONG_HEADER_BYTES);
            set(data, HEADER_LEN, 28);
        }),
        with_layout("layout/after the strings", OLD, &[], |data| {
            let end = u32::try_from(data.len() - LONG_HEADER_BYTES).unwrap();
            set(data, LAYOUT_OFFSET, end);
            set(data, LAYOUT_LEN, 4);
            data.extend([0; 4]);
        }),
        with_layout("layout/a field after it", OLD, &[0; 8], |data| {
            data.splice(LONG_HEADER_BYTES..LONG_HEADER_BYTES, [1, 0, 0, 0]);
            set(data, HEADER_LEN, 36);
        }),
        with_layout("layout/strings first", Some("String section is not at the end"), &[], |data| {
            set(data, LAYOUT_OFFSET, 0);
            let (types, strings) = (get(data, TYPE_LEN), get(data, STRING_LEN));
            let split = LONG_HEADER_BYTES + usize::try_from(types).unwrap();
            let mut moved: Vec<u8> = data.drain(split..).collect();
            // The strings end at a multiple of 4.
            moved.resize(moved.len().next_multiple_of(4), 0);
            set(data, STRING_LEN, strings.next_multiple_of(4));
            set(data, TYPE_OFFSET, strings.next_multiple_of(4));
            set(data, STRING_OFFSET, 0);
            data.splice(LONG_HEADER_BYTES..LONG_HEADER_BYTES, moved);
        }),
    ]
}

/// A BTF with one type and a layout section between types and strings, changed.
fn with_layout(
    name: &'static str,
    message: Option<&'static str>,
    layout: &[u8],
    change: impl FnOnce(&mut Vec<u8>),
) -> Case {
    of_header(name, message, |data| {
        data.splice(HEADER_BYTES..HEADER_BYTES, [0; 8]);
        let (types, len) = (get(data, TYPE_LEN), u32::try_from(layout.len()).unwrap());
        set(data, HEADER_LEN, 32);
        set(data, LAYOUT_OFFSET, types);
        set(data, LAYOUT_LEN, len);
        set(data, STRING_OFFSET, types + len);
        let end = LONG_HEADER_BYTES + usize::try_from(types).unwrap();
        data.splice(end..end, layout.iter().copied());
        change(data);
    })
}

fn headers() -> Vec<Case> {
    vec![
        of_header("header/valid", None, |_| {}),
        of_header("header/short", Some("hdr_len not found"), |data| data.truncate(7)),
        of_header("header/cut off", Some("btf_header not found"), |data| data.truncate(20)),
        of_header("header/length above the data", Some("btf_header not found"), |data| {
            set(data, HEADER_LEN, 4096);
        }),
        of_header("header/magic", Some("Invalid magic"), |data| data[0] = 0),
        of_header("header/version", Some("Unsupported version"), |data| data[VERSION] = 2),
        of_header("header/flags", Some("Unsupported flags"), |data| data[FLAGS] = 1),
        of_header("header/longer with zeros", None, |data| {
            data.splice(HEADER_BYTES..HEADER_BYTES, [0; 4]);
            set(data, HEADER_LEN, 28);
        }),
        of_header("header/longer by one byte", None, |data| {
            data.splice(HEADER_BYTES..HEADER_BYTES, [0; 1]);
            set(data, HEADER_LEN, 25);
        }),
        of_header("header/longer with a value", Some("Unsupported btf_header"), |data| {
            data.splice(HEADER_BYTES..HEADER_BYTES, [0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0]);
            set(data, HEADER_LEN, 36);
        }),
        of_header("header/nothing after it", Some("No data"), |data| data.truncate(HEADER_BYTES)),
        of_header("header/short length", Some("Unsupported section found"), |data| set(data, HEADER_LEN, 12)),
        of_header("sections/offset of types", Some("Unsupported section found"), |data| {
            set(data, TYPE_OFFSET, 4)
        }),
        of_header("sections/offset of strings after the end", Some("Invalid section offset"), |data| {
            set(data, STRING_OFFSET, 4096);
        }),
        of_header("sections/gap", Some("Unsupported section found"), |data| {
            let len = get(data, TYPE_LEN);
            set(data, TYPE_LEN, len - 4);
        }),
        of_header("sections/overlap", Some("Section overlap found"), |data| {
            let len = get(data, TYPE_LEN);
            set(data, TYPE_LEN, len + 1);
        }),
        of_header("sections/length", Some("Total section length too long"), |data| {
            let len = get(data, STRING_LEN);
            set(data, STRING_LEN, len + 1);
        }),
        of_header("sections/data after them", Some("Unsupported section found"), |data| data.push(0)),
        of_header("sections/strings first", Some("String section is not at the end"), |data| {
            let (types, strings) = (get(data, TYPE_LEN), get(data, STRING_LEN));
            let split = HEADER_BYTES + usize::try_from(types).unwrap();
            let moved: Vec<u8> = data.drain(split..).collect();
            data.splice(HEADER_BYTES..HEADER_BYTES, moved);
            set(data, STRING_OFFSET, 0);
            set(data, TYPE_OFFSET, strings);
        }),
        of_header("strings/none", Some("Invalid string section"), |data| {
            let len = get(data, STRING_LEN);
            data.truncate(data.len() - usize::try_from(len).unwrap());
            set(data, STRING_LEN, 0);
        }),
        of_header("strings/first byte", Some("Invalid string section"), |data| {
            let at = HEADER_BYTES + usize::try_from(get(data, TYPE_LEN)).unwrap();
            data[at] = b'a';
        }),
        of_header("strings/last byte", Some("Invalid string section"), |data| {
            *data.last_mut().unwrap() = b'a'
        }),
        of_header("types/none", Some("No type found"), |data| {
            let len = get(data, TYPE_LEN);
            data.drain(HEADER_BYTES..HEADER_BYTES + usize::try_from(len).unwrap());
            set(data, TYPE_LEN, 0);
            set(data, STRING_OFFSET, 0);
        }),
        of_header("types/cut off within a record", Some("meta_left:"), |data| {
            data.drain(HEADER_BYTES + 8..HEADER_BYTES + 16);
            set(data, TYPE_LEN, 8);
            set(data, STRING_OFFSET, 8);
        }),
        of_type("types/cut off after a record's first words", "meta_left:", |data| {
            data.drain(HEADER_BYTES + 12..HEADER_BYTES + 16);
            set(data, TYPE_LEN, 12);
            set(data, STRING_OFFSET, 12);
        }),
        of_type("types/unknown kind 31", "Invalid kind:", |data| set(data, HEADER_BYTES + 4, 31 << 24)),
        of_type("types/kind 0", "Invalid kind:", |data| set(data, HEADER_BYTES + 4, 0)),
        of_type("types/info bit 30", "Invalid btf_info:", |data| {
            set(data, HEADER_BYTES + 4, (1 << 24) | (1 << 30))
        }),
        of_type("types/offset of the name", "name_offset:", |data| set(data, HEADER_BYTES, 4096)),
    ]
}

/// A BTF with one type, changed; the message is about the header, the sections or the strings.
fn of_header(name: &'static str, message: Option<&'static str>, change: impl FnOnce(&mut Vec<u8>)) -> Case {
    let mut btf = built(|_| {});
    change(&mut btf);
    Case { name, btf, refusal: message.map(|message| Refusal { ty: None, message }) }
}

/// A BTF with one type, changed; the message is about the type.
fn of_type(name: &'static str, message: &'static str, change: impl FnOnce(&mut Vec<u8>)) -> Case {
    let mut btf = built(|_| {});
    change(&mut btf);
    Case { name, btf, refusal: Some(Refusal { ty: Some(super::INT), message }) }
}

fn set(data: &mut [u8], at: usize, value: u32) {
    data[at..at + 4].copy_from_slice(&Endian::native().u32_bytes(value));
}

fn get(data: &[u8], at: usize) -> u32 {
    Endian::native().u32(data, at).unwrap()
}
