//! Writes debug information by hand, valid or not.

#![allow(dead_code, reason = "each test file uses a part")]

use gimli::{DwAt, DwLang, DwTag, constants::*};
use object::{Architecture, BinaryFormat, Endianness, SectionKind, write::Object};

/// The length of the header of a unit: DWARF 4, 32-bit.
const HEADER_BYTES: u32 = 11;

/// The value of an attribute, which decides on the form.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value {
    /// `DW_FORM_string`
    Text(&'static str),
    /// `DW_FORM_udata`
    Number(u64),
    /// `DW_FORM_ref4`
    Ref(u32),
    /// `DW_FORM_ref_addr`
    Address(u32),
    /// `DW_FORM_ref_sig8`
    Signature(u64),
    /// `DW_FORM_strp`
    Str(u32),
    /// `DW_FORM_flag_present`
    Flag,
}

/// A unit in an object file.
pub(crate) struct Unit {
    abbrev: Vec<u8>,
    info: Vec<u8>,
    last_code: u8,
    /// The section `.debug_str`.
    pub(crate) str: Vec<u8>,
    /// The language in the root entry.
    pub(crate) language: DwLang,
    /// Units that follow.
    pub(crate) next_units: Vec<u8>,
    /// Whether the section `.debug_info` is left out.
    pub(crate) without_info: bool,
}

impl Unit {
    /// Returns a unit with a root entry.
    pub(crate) fn new() -> Self {
        Self::with_root(&[])
    }

    /// Returns a unit whose root entry has further attributes.
    pub(crate) fn with_root(attributes: &[(DwAt, Value)]) -> Self {
        let mut unit = Self {
            abbrev: Vec::new(),
            info: Vec::new(),
            last_code: 0,
            str: Vec::new(),
            language: DW_LANG_C11,
            next_units: Vec::new(),
            without_info: false,
        };
        // The language is written last.
        let root = [&[(DW_AT_language, Value::Number(0))], attributes].concat();
        unit.die(DW_TAG_compile_unit, true, &root);
        unit
    }

    /// Returns the offset of the next entry.
    pub(crate) fn next(&self) -> u32 {
        HEADER_BYTES + u32::try_from(self.info.len()).unwrap()
    }

    /// Returns the offset after a member with a name of one letter, a type, and the end of its struct.
    pub(crate) fn after_member(&self) -> u32 {
        self.next() + 1 + 2 + 4 + 1
    }

    /// Adds an abbreviation and returns its code.
    pub(crate) fn abbreviation(
        &mut self,
        tag: DwTag,
        has_children: bool,
        attributes: &[(DwAt, Value)],
    ) -> u8 {
        self.last_code += 1;
        let code = self.last_code;
        self.abbrev.push(code);
        leb128(&mut self.abbrev, tag.0.into());
        self.abbrev.push(has_children.into());
        for (attribute, value) in attributes {
            let form = match value {
                Value::Text(_) => DW_FORM_string,
                Value::Number(_) => DW_FORM_udata,
                Value::Ref(_) => DW_FORM_ref4,
                Value::Address(_) => DW_FORM_ref_addr,
                Value::Signature(_) => DW_FORM_ref_sig8,
                Value::Str(_) => DW_FORM_strp,
                Value::Flag => DW_FORM_flag_present,
            };
            leb128(&mut self.abbrev, attribute.0.into());
            leb128(&mut self.abbrev, form.0.into());
        }
        self.abbrev.extend([0, 0]);
        code
    }

    /// Adds an entry and returns its offset.
    pub(crate) fn die(&mut self, tag: DwTag, has_children: bool, attributes: &[(DwAt, Value)]) -> u32 {
        let code = self.abbreviation(tag, has_children, attributes);
        let at = self.next();
        self.info.push(code);
        for (_, value) in attributes {
            match value {
                Value::Text(text) => {
                    self.info.extend(text.as_bytes());
                    self.info.push(0);
                }
                Value::Number(number) => leb128(&mut self.info, *number),
                Value::Ref(offset) | Value::Address(offset) | Value::Str(offset) => {
                    self.info.extend(offset.to_le_bytes());
                }
                Value::Signature(signature) => self.info.extend(signature.to_le_bytes()),
                Value::Flag => {}
            }
        }
        at
    }

    /// Ends the children of the last entry that has any.
    pub(crate) fn end(&mut self) {
        self.info.push(0);
    }

    /// Adds bytes to the entries.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.info.extend(bytes);
    }

    /// Returns an object file with the unit.
    pub(crate) fn elf(self) -> Vec<u8> {
        elf(vec![self])
    }
}

/// Returns an object file with units. The names in `.debug_str` are those of the first.
pub(crate) fn elf(mut units: Vec<Unit>) -> Vec<u8> {
    let mut object = Object::new(BinaryFormat::Elf, Architecture::X86_64, Endianness::Little);
    let (mut info, mut abbrev) = (Vec::new(), Vec::new());
    for unit in &mut units {
        unit.info[1] = u8::try_from(unit.language.0).unwrap();
        info.extend((u32::try_from(unit.info.len()).unwrap() + HEADER_BYTES - 4).to_le_bytes());
        info.extend([4, 0]);
        info.extend(u32::try_from(abbrev.len()).unwrap().to_le_bytes());
        info.push(8);
        info.extend(&unit.info);
        info.extend(&unit.next_units);
        abbrev.extend(&unit.abbrev);
        abbrev.push(0);
    }
    let mut add = |name: &str, data: &[u8]| {
        let section = object.add_section(Vec::new(), name.into(), SectionKind::Debug);
        object.append_section_data(section, data, 1);
    };
    if !units[0].without_info {
        add(".debug_info", &info);
    }
    add(".debug_abbrev", &abbrev);
    add(".debug_str", &units[0].str);
    object.write().unwrap()
}

fn leb128(out: &mut Vec<u8>, mut value: u64) {
    loop {
        let byte = u8::try_from(value & 0x7f).unwrap();
        value >>= 7;
        if value == 0 {
            out.push(byte);
            return;
        }
        out.push(byte | 0x80);
    }
}
