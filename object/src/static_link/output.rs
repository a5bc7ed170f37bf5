//! The linked object, written.
//!
//! By hand rather than by the `object` crate's writer: that one sorts strings and keeps those of sections apart, and then no
//! two linkers' results could be compared byte by byte.

use super::{
    LinkError, State,
    sections::{Header, OutSection},
    symbols::OutSymbol,
};
use crate::{elf::text, limits};
use core_relo::{
    Endian, TypeId,
    btf::{Btf, dedup_into},
};
use object::elf;
use std::collections::HashMap;

/// Bytes of the file header, and of a section header.
const HEADER: u64 = 64;

/// Names of sections and symbols, each once, in the order they came.
#[derive(Debug)]
pub(super) struct Strings {
    bytes: Vec<u8>,
    known: HashMap<Box<[u8]>, u32>,
    limit: usize,
}

impl Default for Strings {
    fn default() -> Self {
        Self { bytes: Vec::from([0]), known: HashMap::from([(Box::from([]), 0)]), limit: 0 }
    }
}

impl Strings {
    /// Where a name lies.
    pub(super) fn add(&mut self, name: &[u8]) -> u32 {
        if let Some(at) = self.known.get(name) {
            return *at;
        }
        let at = u32::try_from(self.bytes.len()).unwrap_or(u32::MAX);
        self.bytes.extend_from_slice(name);
        self.bytes.push(0);
        self.known.insert(name.into(), at);
        at
    }

    /// How long they may become, for inputs of so many bytes.
    pub(super) fn allow(&mut self, input_len: usize) {
        self.limit = input_len.saturating_mul(limits::LINK_NAMES).max(limits::NAME_BYTES);
    }

    pub(super) fn check(&self) -> Result<(), LinkError> {
        let len = self.bytes.len();
        if len > self.limit || u32::try_from(len).is_err() {
            return Err(LinkError::TooManyNames { len });
        }
        Ok(())
    }
}

/// The sections of types, if there are any.
#[derive(Default)]
struct Types {
    btf: Option<Vec<u8>>,
    ext: Option<Vec<u8>>,
}

/// A section as it is written.
struct Written<'s> {
    header: Header,
    size: u64,
    data: &'s [u8],
}

impl State<'_> {
    /// libbpf: `bpf_linker__finalize`
    pub(super) fn finish(mut self) -> Result<Vec<u8>, LinkError> {
        let Types { btf, ext } = self.finish_types()?;
        let mut number = self.sections.iter().filter(|s| s.elf.is_some()).count();
        let mut extra = Vec::new();
        for (name, data) in [(&b".BTF"[..], &btf), (b".BTF.ext", &ext)] {
            let Some(data) = data else { continue };
            number = number.saturating_add(1);
            let header = Header {
                number: u32::try_from(number).unwrap_or(u32::MAX),
                name: self.strings.add(name),
                sh_type: elf::SHT_PROGBITS.0,
                flags: 0,
                link: 0,
                info: 0,
                align: 8,
                entsize: 0,
            };
            extra.push((header, data));
        }
        if number >= usize::from(elf::SHN_LORESERVE) {
            return Err(LinkError::TooManySections { count: number });
        }
        self.strings.check()?;
        let symbols = self.encode_symbols();
        let mut written = Vec::new();
        for (at, section) in self.sections.iter().enumerate() {
            let Some(mut header) = section.elf else { continue };
            let data = match at {
                0 => &self.strings.bytes,
                1 => {
                    header.link = 1;
                    &symbols
                }
                _ => &section.data,
            };
            let size = if section.is_nobits() { section.size } else { len(data) };
            written.push(Written { header, size, data });
        }
        written.extend(extra.into_iter().map(|(header, data)| Written { header, size: len(data), data }));
        written.sort_by_key(|s| s.header.number);
        let padding = written.iter().fold(0u64, |sum, s| sum.saturating_add(s.header.align));
        if padding > limits::LINK_PADDING {
            return Err(LinkError::Padding { bytes: padding });
        }
        Ok(assemble(self.endian, &written))
    }

    /// `.BTF` and `.BTF.ext` (libbpf: `finalize_btf`).
    fn finish_types(&mut self) -> Result<Types, LinkError> {
        if self.types.next_id() == TypeId(1) {
            return Ok(Types::default());
        }
        for section in self.sections.iter() {
            let Some(variables) = &section.variables else { continue };
            let known = variables.iter().filter(|v| v.ty != TypeId::VOID);
            let known: Vec<_> = known.map(|v| (v.ty, v.offset, v.size)).collect();
            if known.len() > limits::LINK_VARIABLES {
                let (section, count) = (text(&section.name), known.len());
                return Err(LinkError::TooManyVariables { section, count });
            }
            self.types.datasec(&section.name, datasec_size(section), &known);
        }
        let merged = Btf::parse(self.types.finish()).map_err(LinkError::Merged)?;
        let mut types = dedup_into(&merged, self.types.without_types(), limits::LINK_DEDUP_STEPS)
            .map_err(LinkError::Dedup)?;
        let ext = self.finish_ext(&merged, &mut types)?;
        Ok(Types { btf: Some(types.finish()), ext })
    }

    fn encode_symbols(&self) -> Vec<u8> {
        let e = self.endian;
        let mut out = Vec::with_capacity(self.symbols.len().saturating_mul(24));
        for OutSymbol { name, binding, kind, other, section, value, size } in &self.symbols {
            e.put_u32(&mut out, *name);
            out.extend_from_slice(&[(binding << 4) | (kind & 0xf), *other]);
            e.put_u16(&mut out, *section);
            e.put_u64(&mut out, *value);
            e.put_u64(&mut out, *size);
        }
        out
    }
}

/// 0 for what only the BTF knows of; sections are no larger than [`limits::LINK_SECTION`].
fn datasec_size(section: &OutSection) -> u32 {
    u32::try_from(section.size).unwrap_or(u32::MAX)
}

/// Header, sections in order, section headers, as libelf lays them out.
fn assemble(e: Endian, sections: &[Written<'_>]) -> Vec<u8> {
    let mut out = vec![0; 64];
    let mut headers = vec![0; 64];
    for Written { header, size, data } in sections {
        let align = usize::try_from(header.align).unwrap_or(1).max(1);
        out.resize(out.len().next_multiple_of(align), 0);
        e.put_u32(&mut headers, header.name);
        e.put_u32(&mut headers, header.sh_type);
        e.put_u64(&mut headers, header.flags);
        e.put_u64(&mut headers, 0);
        e.put_u64(&mut headers, len(&out));
        e.put_u64(&mut headers, *size);
        e.put_u32(&mut headers, header.link);
        e.put_u32(&mut headers, header.info);
        e.put_u64(&mut headers, header.align);
        e.put_u64(&mut headers, header.entsize);
        out.extend_from_slice(data);
    }
    out.resize(out.len().next_multiple_of(8), 0);
    let count = u16::try_from(sections.len().saturating_add(1)).unwrap_or(u16::MAX);
    let header = file_header(e, len(&out), count);
    out.splice(..header.len().min(out.len()), header);
    out.append(&mut headers);
    out
}

fn file_header(e: Endian, headers_at: u64, count: u16) -> Vec<u8> {
    let order = match e {
        Endian::Little => elf::ELFDATA2LSB.0,
        Endian::Big => elf::ELFDATA2MSB.0,
    };
    let mut out = Vec::from(elf::ELFMAG);
    out.extend_from_slice(&[elf::ELFCLASS64.0, order, elf::EV_CURRENT.0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    e.put_u16(&mut out, elf::ET_REL.0);
    e.put_u16(&mut out, elf::EM_BPF.0);
    e.put_u32(&mut out, elf::EV_CURRENT.0.into());
    e.put_u64(&mut out, 0);
    e.put_u64(&mut out, 0);
    e.put_u64(&mut out, headers_at);
    e.put_u32(&mut out, 0);
    let size = u16::try_from(HEADER).unwrap_or(u16::MAX);
    // No program headers; the names of sections lie with those of symbols, in the first section.
    for word in [size, 0, 0, size, count, 1] {
        e.put_u16(&mut out, word);
    }
    out
}

fn len(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}
