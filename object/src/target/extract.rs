//! Extraction of BTF from raw BTF, ELF files and kernel images.

use super::error::ExtractError;
use crate::{
    elf::{Elf, ElfClass},
    internal::Invariant as _,
    limits,
};
use core::ops::Range;
use core_relo::{ByteSize, Endian, btf::Btf};
use object::elf;

/// Lengths of a BTF header without and with the layout section.
const HEADER_LENGTHS: [u32; 2] = [24, 32];

/// BTF found in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExtractedBtf<'b> {
    /// The BTF. Split BTF if there is a [`base`](Self::base); otherwise the caller knows whether it is split.
    pub btf: &'b [u8],
    /// `.BTF.base`: the distilled base BTF of a module.
    pub base: Option<&'b [u8]>,
    /// The file format.
    pub format: FileFormat,
}

/// The format of a file that holds BTF.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FileFormat {
    /// Raw BTF.
    Raw,
    /// ELF: a vmlinux, a module, a BPF object.
    Elf {
        /// The ELF class.
        class: ElfClass,
        /// The byte order.
        endian: Endian,
        /// `e_machine`.
        machine: u16,
    },
}

impl FileFormat {
    /// Returns the pointer size of an ELF file's class. It takes precedence over the size that the BTF
    /// implies.
    pub const fn pointer_size(self) -> Option<ByteSize> {
        match self {
            Self::Raw => None,
            Self::Elf { class: ElfClass::Elf32, .. } => Some(ByteSize(4)),
            Self::Elf { class: ElfClass::Elf64, .. } => Some(ByteSize(8)),
        }
    }
}

/// Extracts BTF from raw BTF or from an ELF file of any class and byte order (libbpf: `btf__parse`).
///
/// The BTF itself is not parsed.
///
/// ```
/// use core_relo::{Endian, btf::Builder};
/// use core_relo_object::target::{FileFormat, extract};
///
/// let raw = Builder::new(Endian::Big).finish();
/// assert_eq!(extract(&raw).unwrap().format, FileFormat::Raw);
/// assert_eq!(extract(b"text").unwrap_err().to_string(), "neither BTF nor ELF");
/// ```
pub fn extract(bytes: &[u8]) -> Result<ExtractedBtf<'_>, ExtractError> {
    let BtfLocation { btf, base, format } = locate(bytes)?;
    let btf = bytes.get(btf).invariant("BTF lies within the bytes it was found in")?;
    Ok(ExtractedBtf { btf, base: base.and_then(|base| bytes.get(base)), format })
}

/// The location of BTF within bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BtfLocation {
    /// The range of the BTF.
    pub btf: Range<usize>,
    /// The range of `.BTF.base`, if there is one.
    pub base: Option<Range<usize>>,
    /// The file format.
    pub format: FileFormat,
}

/// Finds BTF like [`extract`], and returns its location.
pub fn locate(bytes: &[u8]) -> Result<BtfLocation, ExtractError> {
    if let Some([0xeb, 0x9f] | [0x9f, 0xeb]) = bytes.first_chunk() {
        return Ok(BtfLocation { btf: 0..bytes.len(), base: None, format: FileFormat::Raw });
    }
    if !bytes.starts_with(&elf::ELFMAG) {
        return Err(ExtractError::NeitherBtfNorElf);
    }
    let file = Elf::parse(bytes)?;
    let btf = section(&file, ".BTF")?.ok_or(ExtractError::NoBtf)?;
    let base = section(&file, ".BTF.base")?;
    let format = FileFormat::Elf { class: file.class, endian: file.endian, machine: file.machine };
    Ok(BtfLocation { btf, base, format })
}

/// Finds the largest BTF in a kernel image that is not ELF (arm64, riscv64, s390x).
///
/// A candidate begins with the BTF magic in either byte order, and parses from its header to its last type.
#[expect(clippy::arithmetic_side_effects, reason = "`at`, `next` and a candidate lie within the bytes")]
pub fn find_btf_in_image(bytes: &[u8]) -> Option<&[u8]> {
    // A budget at the end of all numbers is no limit, which is right for an image that fills the address
    // space.
    let mut budget = bytes.len().saturating_mul(limits::IMAGE_PASSES);
    let mut best: Option<&[u8]> = None;
    let mut at = 0usize;
    while let Some(rest) = bytes.get(at..) {
        let Some(next) = rest.windows(2).position(|w| matches!(w, [0x9f, 0xeb] | [0xeb, 0x9f])) else {
            break;
        };
        at += next;
        let candidate = bytes.get(at..).and_then(plausible_btf);
        at += 1;
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
            // `at` is one past the start of the candidate.
            at = at - 1 + candidate.len();
        }
    }
    best
}

/// Returns the extent of the BTF that begins here, if its header is valid and its types and strings are not
/// empty.
fn plausible_btf(bytes: &[u8]) -> Option<&[u8]> {
    let e = [Endian::Little, Endian::Big].into_iter().find(|e| e.u16(bytes, 0) == Some(0xeb9f))?;
    let (Some(1), Some(0)) = (bytes.get(2), bytes.get(3)) else { return None };
    let header = e.u32(bytes, 4).filter(|len| HEADER_LENGTHS.contains(len))?;
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
    let mut found = file.sections.iter().filter(|s| s.name == name.as_bytes() && !s.is_null());
    let Some(s) = found.next() else { return Ok(None) };
    let what = match (found.next(), s.file_range()) {
        (Some(_), _) => "exists more than once",
        _ if s.is_compressed() => "is compressed",
        _ if s.sh_type != elf::SHT_PROGBITS.0 => "is not SHT_PROGBITS",
        (None, Some(range)) if !range.is_empty() => return Ok(Some(range)),
        (None, _) => "is empty",
    };
    Err(ExtractError::Section { section: name, what })
}
