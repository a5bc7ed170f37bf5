//! A minimal reader of ELF and BTF that cuts the BTF out of a kernel. It shares no code with the project's
//! parsers, which are tested with its results.

/// Reads numbers in the byte order of the data.
#[derive(Clone, Copy)]
struct Reader<'a> {
    data: &'a [u8],
    big: bool,
}

impl Reader<'_> {
    fn number(self, at: usize, bytes: usize) -> Option<usize> {
        let field = self.data.get(at..at.checked_add(bytes)?)?;
        let add = |value: usize, byte: &u8| value << 8 | usize::from(*byte);
        Some(if self.big { field.iter().fold(0, add) } else { field.iter().rev().fold(0, add) })
    }
}

/// Returns the contents of a section of an ELF file of any class and byte order.
pub fn elf_section<'a>(data: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    if !data.starts_with(b"\x7fELF") {
        return None;
    }
    let (wide, big) = (*data.get(4)? == 2, *data.get(5)? == 2);
    let read = Reader { data, big };
    let word = if wide { 8 } else { 4 };
    let table = read.number(if wide { 0x28 } else { 0x20 }, word)?;
    let counts = if wide { 0x3a } else { 0x2e };
    let (entry, count, names) =
        (read.number(counts, 2)?, read.number(counts + 2, 2)?, read.number(counts + 4, 2)?);
    // (name, offset, size) of one section header.
    let header = |index: usize| {
        let at = table.checked_add(index.checked_mul(entry)?)?;
        let (offset, size) = if wide { (at + 0x18, at + 0x20) } else { (at + 0x10, at + 0x14) };
        Some((read.number(at, 4)?, read.number(offset, word)?, read.number(size, word)?))
    };
    let strings = header(names)?.1;
    (0..count).find_map(|index| {
        let (name_at, offset, size) = header(index)?;
        let text = data.get(strings.checked_add(name_at)?..)?;
        let same = text.starts_with(name) && text.get(name.len()) == Some(&0);
        if same { data.get(offset..offset.checked_add(size)?) } else { None }
    })
}

/// Finds a kernel's BTF in an image that is not ELF: a header, followed by types that fill their section
/// exactly.
pub fn scan(image: &[u8]) -> Option<&[u8]> {
    const LITTLE: &[u8] = b"\x9f\xeb\x01\x00\x18\x00\x00\x00";
    const BIG: &[u8] = b"\xeb\x9f\x01\x00\x00\x00\x00\x18";
    let starts = (0..image.len()).step_by(4);
    let found = starts
        .filter_map(|at| image.get(at..))
        .filter(|rest| rest.starts_with(LITTLE) || rest.starts_with(BIG));
    found.filter_map(whole).max_by_key(|btf| btf.len())
}

/// Returns the BTF at the start of `data`, if it has more than a thousand types.
fn whole(data: &[u8]) -> Option<&[u8]> {
    let read = Reader { data, big: data.first() == Some(&0xeb) };
    let (types, types_len) = (read.number(8, 4)?, read.number(12, 4)?);
    let (strings, strings_len) = (read.number(16, 4)?, read.number(20, 4)?);
    let end = 24 + (types + types_len).max(strings + strings_len);
    let text = data.get(24 + strings..24 + strings + strings_len)?;
    if text.first() != Some(&0) || text.last() != Some(&0) {
        return None;
    }
    let (mut at, until, mut count) = (24 + types, 24 + types + types_len, 0);
    while at < until {
        let info = read.number(at + 4, 4)?;
        at += 12 + trailer(info >> 24 & 0x1f, info & 0xffff)?;
        count += 1;
    }
    if at == until && count > 1000 { data.get(..end) } else { None }
}

/// Returns the size in bytes of the part that follows a type's common header.
fn trailer(kind: usize, vlen: usize) -> Option<usize> {
    Some(match kind {
        1 | 14 | 17 => 4,
        2 | 7..=12 | 16 | 18 => 0,
        3 => 12,
        4 | 5 | 15 | 19 => 12 * vlen,
        6 | 13 => 8 * vlen,
        _ => return None,
    })
}
