//! The parser of `.note.stapsdt`, the ELF notes that describe USDT probes.
//!
//! The format is that of SystemTap's `sys/sdt.h`: three addresses, then three strings.

use core_relo::Endian;

/// `NT_STAPSDT`.
const NOTE_TYPE: u32 = 3;
const NAME: &[u8] = b"stapsdt";

/// A note: the description of one location of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Note<'b> {
    /// The virtual address of the probe in the ELF file.
    pub(super) location: u64,
    /// The virtual address of `.stapsdt.base` at link time. prelink moves the section without changing this
    /// field, so the difference is the distance by which prelink moved the file.
    pub(super) base: u64,
    /// The virtual address of the semaphore; 0 if the probe has no semaphore.
    pub(super) semaphore: u64,
    pub(super) provider: &'b [u8],
    pub(super) name: &'b [u8],
    /// The arguments, in the assembler's notation.
    pub(super) args: &'b [u8],
}

/// Iterates over the USDT notes of a section, and skips other notes. A damaged note is an error. A note whose
/// lengths do not fit the section ends the iteration.
pub(super) fn notes(
    data: &[u8],
    endian: Endian,
    is_64: bool,
) -> impl Iterator<Item = Result<Note<'_>, DamagedNote>> {
    let mut rest = data;
    core::iter::from_fn(move || {
        loop {
            if rest.is_empty() {
                return None;
            }
            let Some((raw, remaining)) = split_note(rest, endian) else {
                rest = &[];
                return Some(Err(DamagedNote));
            };
            rest = remaining;
            // The section may contain notes of other tools.
            if raw.kind == NOTE_TYPE && raw.name.strip_suffix(b"\0").unwrap_or(raw.name) == NAME {
                return Some(parse_descriptor(raw.desc, endian, is_64).ok_or(DamagedNote));
            }
        }
    })
}

/// The error for a note that is cut off or lacks a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DamagedNote;

struct RawNote<'b> {
    kind: u32,
    name: &'b [u8],
    desc: &'b [u8],
}

/// Splits a section into its first note and the rest.
fn split_note(data: &[u8], endian: Endian) -> Option<(RawNote<'_>, &[u8])> {
    let word = |at| endian.u32(data, at);
    let (name_len, desc_len) = (usize::try_from(word(0)?).ok()?, usize::try_from(word(4)?).ok()?);
    let (name, rest) = split_padded(data.get(12..)?, name_len)?;
    let (desc, rest) = split_padded(rest, desc_len)?;
    Some((RawNote { kind: word(8)?, name, desc }, rest))
}

/// Splits data into the first `len` bytes and the rest, which begins at the next multiple of four.
fn split_padded(data: &[u8], len: usize) -> Option<(&[u8], &[u8])> {
    let bytes = data.get(..len)?;
    // The last note may lack its padding.
    Some((bytes, data.get(len.checked_next_multiple_of(4)?..).unwrap_or(&[])))
}

fn parse_descriptor(desc: &[u8], endian: Endian, is_64: bool) -> Option<Note<'_>> {
    let word = |i: usize| {
        if is_64 {
            endian.u64(desc, i.checked_mul(8)?)
        } else {
            endian.u32(desc, i.checked_mul(4)?).map(u64::from)
        }
    };
    let strings = desc.get(if is_64 { 24 } else { 12 }..)?;
    let mut strings = strings.splitn(3, |b| *b == 0);
    let (provider, name, args) = (strings.next()?, strings.next()?, strings.next()?);
    let args = args.split(|b| *b == 0).next()?;
    if name.is_empty() {
        return None;
    }
    // An argument string of `:` means no arguments, like an empty string (libbpf: `parse_usdt_note`).
    let args = if args.starts_with(b":") { &[] } else { args };
    Some(Note { location: word(0)?, base: word(1)?, semaphore: word(2)?, provider, name, args })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encode(endian: Endian, is_64: bool, name: &[u8], kind: u32, strings: &[u8]) -> Vec<u8> {
        let mut desc = Vec::new();
        for v in [0x1000, 0x2000, 0x3000] {
            if is_64 {
                endian.put_u64(&mut desc, v);
            } else {
                endian.put_u32(&mut desc, v.try_into().unwrap());
            }
        }
        desc.extend(strings);
        let mut out = Vec::new();
        for v in [name.len(), desc.len()] {
            endian.put_u32(&mut out, v.try_into().unwrap());
        }
        endian.put_u32(&mut out, kind);
        for part in [name, &desc] {
            out.extend(part);
            out.resize(out.len().next_multiple_of(4), 0);
        }
        out
    }

    #[test]
    fn notes_of_either_byte_order_and_word_size() {
        for endian in [Endian::Little, Endian::Big] {
            for is_64 in [true, false] {
                let mut data = encode(endian, is_64, b"stapsdt\0", 3, b"p\0n\0-4@%edi\0");
                data.extend(encode(endian, is_64, b"GNU\0", 1, b""));
                data.extend(encode(endian, is_64, b"stapsdt\0", 3, b"\0x\0:\0"));
                let found: Vec<_> = notes(&data, endian, is_64).map(Result::unwrap).collect();
                let note = Note {
                    location: 0x1000,
                    base: 0x2000,
                    semaphore: 0x3000,
                    provider: b"p",
                    name: b"n",
                    args: b"-4@%edi",
                };
                assert_eq!(found, [note, Note { provider: b"", name: b"x", args: b"", ..note }]);
            }
        }
    }

    #[test]
    fn a_damaged_note_is_an_error_and_a_damaged_length_ends_the_iteration() {
        for strings in [&b"p"[..], b"p\0", b"p\0n", b"p\0\0\0"] {
            let data = encode(Endian::Little, true, b"stapsdt\0", 3, strings);
            assert_eq!(notes(&data, Endian::Little, true).next(), Some(Err(DamagedNote)), "{strings:?}");
        }
        let whole = encode(Endian::Little, true, b"stapsdt\0", 3, b"p\0n\0a\0");
        for cut in 1..whole.len() - 3 {
            let read: Vec<_> = notes(&whole[..cut], Endian::Little, true).collect();
            assert_eq!(read, [Err(DamagedNote)], "{cut}");
        }
        let mut data = whole;
        data[0..4].copy_from_slice(&[0xff; 4]);
        assert_eq!(notes(&data, Endian::Little, true).collect::<Vec<_>>(), [Err(DamagedNote)]);
    }
}
