//! BTF within bytes: raw, in an ELF, or somewhere in a kernel image. Pure.

use super::error::ExtractError;
use crate::{
    elf::{Class, Elf},
    limits,
};
use core::ops::Range;
use core_relo::{ByteSize, Endian, btf::Btf};
use object::elf;

/// Length of a header without and with the layout section.
const HEADERS: [u32; 2] = [24, 32];

/// What bytes hold of BTF.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Extracted<'b> {
    /// The types; split ones if [`base`](Self::base) is there, or if whoever reads them knows so.
    pub btf: &'b [u8],
    /// `.BTF.base`: the few types of its base that a module was compiled against.
    pub base: Option<&'b [u8]>,
    /// What the bytes were.
    pub form: Form,
}

/// What kind of file BTF was found in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Form {
    /// Nothing but BTF.
    Raw,
    /// An ELF: a vmlinux, a module, a BPF object.
    Elf {
        /// 32 or 64 bits.
        class: Class,
        /// Its byte order.
        endian: Endian,
        /// `e_machine`.
        machine: u16,
    },
}

impl Form {
    /// The pointer size that an ELF's class says; it wins over the one its types say.
    pub const fn pointer_size(self) -> Option<ByteSize> {
        match self {
            Self::Raw => None,
            Self::Elf { class: Class::Elf32, .. } => Some(ByteSize(4)),
            Self::Elf { class: Class::Elf64, .. } => Some(ByteSize(8)),
        }
    }
}

/// Finds the BTF in raw BTF or in an ELF of any class and byte order (libbpf: `btf__parse`).
///
/// The types themselves are not looked at.
///
/// ```
/// use core_relo::{Endian, btf::Builder};
/// use core_relo_object::target::{Form, extract};
///
/// let raw = Builder::new(Endian::Big).finish();
/// assert_eq!(extract(&raw).unwrap().form, Form::Raw);
/// assert_eq!(extract(b"text").unwrap_err().to_string(), "neither BTF nor ELF");
/// ```
pub fn extract(bytes: &[u8]) -> Result<Extracted<'_>, ExtractError> {
    let Located { btf, base, form } = locate(bytes)?;
    let btf = bytes.get(btf).unwrap_or_default();
    Ok(Extracted { btf, base: base.and_then(|base| bytes.get(base)), form })
}

/// The places of BTF within bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Located {
    /// The types.
    pub btf: Range<usize>,
    /// `.BTF.base`, if there is one.
    pub base: Option<Range<usize>>,
    /// The kind of file.
    pub form: Form,
}

/// Finds BTF as [`extract`] does, and returns where it lies.
pub fn locate(bytes: &[u8]) -> Result<Located, ExtractError> {
    if let Some([0xeb, 0x9f] | [0x9f, 0xeb]) = bytes.first_chunk() {
        return Ok(Located { btf: 0..bytes.len(), base: None, form: Form::Raw });
    }
    if !bytes.starts_with(&elf::ELFMAG) {
        return Err(ExtractError::NeitherBtfNorElf);
    }
    let file = Elf::parse(bytes)?;
    let btf = section(&file, ".BTF")?.ok_or(ExtractError::NoBtf)?;
    let base = section(&file, ".BTF.base")?;
    let form = Form::Elf { class: file.class, endian: file.endian, machine: file.machine };
    Ok(Located { btf, base, form })
}

/// The largest BTF that lies somewhere in a kernel image which is no ELF (arm64, riscv64, s390x).
///
/// A candidate begins with BTF's magic in either byte order, and is BTF from its header to its last type.
pub fn find_btf_in_image(bytes: &[u8]) -> Option<&[u8]> {
    let mut budget = bytes.len().saturating_mul(limits::IMAGE_PASSES);
    let mut best: Option<&[u8]> = None;
    let mut at = 0usize;
    while let Some(rest) = bytes.get(at..) {
        let Some(next) = rest.windows(2).position(|w| matches!(w, [0x9f, 0xeb] | [0xeb, 0x9f])) else {
            break;
        };
        at = at.saturating_add(next);
        let candidate = bytes.get(at..).and_then(plausible);
        at = at.saturating_add(1);
        let Some(candidate) = candidate else { continue };
        if best.is_some_and(|b| b.len() >= candidate.len()) {
            continue;
        }
        budget = match budget.checked_sub(candidate.len()) {
            Some(left) => left,
            None => break,
        };
        if Btf::parse(candidate).is_ok() {
            best = Some(candidate);
            at = at.saturating_sub(1).saturating_add(candidate.len());
        }
    }
    best
}

/// The bytes that a BTF beginning here would have, if its header and strings look like one with types.
fn plausible(bytes: &[u8]) -> Option<&[u8]> {
    let e = [Endian::Little, Endian::Big].into_iter().find(|e| e.u16(bytes, 0) == Some(0xeb9f))?;
    let (Some(1), Some(0)) = (bytes.get(2), bytes.get(3)) else { return None };
    let header = e.u32(bytes, 4).filter(|len| HEADERS.contains(len))?;
    let part = |at| -> Option<(usize, usize)> {
        let (offset, len) = (e.u32(bytes, at)?, e.u32(bytes, at.checked_add(4)?)?);
        let from = usize::try_from(header.checked_add(offset)?).ok()?;
        let to = from.checked_add(usize::try_from(len).ok()?)?;
        (to <= bytes.len()).then_some((from, to))
    };
    let (types, strings) = (part(8)?, part(16)?);
    let layout = if header == 32 { part(24)? } else { (0, 0) };
    let text = bytes.get(strings.0..strings.1)?;
    if types.0 == types.1 || text.first() != Some(&0) || text.last() != Some(&0) {
        return None;
    }
    bytes.get(..types.1.max(strings.1).max(layout.1))
}

fn section(file: &Elf<'_>, name: &'static str) -> Result<Option<Range<usize>>, ExtractError> {
    let mut found = file.sections.iter().filter(|s| s.name == name.as_bytes() && s.index != 0);
    let Some(s) = found.next() else { return Ok(None) };
    let what = match (found.next(), s.file_range()) {
        (Some(_), _) => "is there more than once",
        _ if s.is_compressed() => "is compressed",
        _ if s.sh_type != elf::SHT_PROGBITS.0 => "holds no bytes of its own",
        (None, Some(range)) if !range.is_empty() => return Ok(Some(range)),
        (None, _) => "is empty",
    };
    Err(ExtractError::Section { section: name, what })
}
