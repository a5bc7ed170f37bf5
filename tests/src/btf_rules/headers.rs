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

pub(super) fn cases() -> Vec<Case> {
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
