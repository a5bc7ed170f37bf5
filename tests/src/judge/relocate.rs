//! The order in which libbpf relocates: what `bpf_object__relocate_core` does around the functions called.

use super::{
    ffi::{self, Btf},
    object::{JudgedObject, RawRecord},
    relo_core::{Relo, Resolution},
};
use crate::{
    exceptions::Exception,
    record::{Outcome, Record},
};
use std::{
    cell::RefCell,
    collections::{HashMap, hash_map::Entry},
    rc::Rc,
};

const LSHIFT: u32 = 4;
const TYPE_ID_LOCAL: u32 = 6;

/// A target in libbpf's hands: its main BTF and modules'.
#[derive(Debug)]
pub struct JudgedTarget {
    main: Rc<Btf>,
    modules: Vec<Rc<Btf>>,
    /// Candidates by essential name and kind, which many objects share.
    known: RefCell<HashMap<(String, u32), Candidates>>,
}

type Candidates = Vec<(Rc<Btf>, u32)>;

impl JudgedTarget {
    /// Parses a main BTF and modules'.
    pub fn parse(main: &[u8], modules: &[Vec<u8>]) -> Option<Self> {
        let main = Rc::new(Btf::parse(main, None)?);
        let module = |bytes: &Vec<u8>| Btf::parse(bytes, Some(Rc::clone(&main))).map(Rc::new);
        let modules = modules.iter().map(module).collect::<Option<_>>()?;
        Some(Self { modules, main, known: RefCell::default() })
    }

    /// `bpf_core_find_cands`
    fn candidates(&self, local: &Btf, id: u32) -> Option<Candidates> {
        let [name, info, _] = local.words(id)?;
        let name = local.string(name).filter(|name| !name.is_empty())?;
        // Kinds in the key as they are: what libbpf makes of ENUM and ENUM64 is its own affair.
        let key = (name, info >> 24 & 0x1f);
        if let Some(known) = self.known.borrow().get(&key) {
            return Some(known.clone());
        }
        let mut found: Candidates =
            self.main.candidates(local, id, 1).into_iter().map(|id| (Rc::clone(&self.main), id)).collect();
        if found.is_empty() {
            for module in &self.modules {
                let ids = module.candidates(local, id, self.main.type_count());
                found.extend(ids.into_iter().map(|id| (Rc::clone(module), id)));
            }
        }
        self.known.borrow_mut().insert(key, found.clone());
        Some(found)
    }
}

/// What libbpf makes of every record, in order; after one in error it goes on with the next.
pub fn records(object: &JudgedObject, target: &JudgedTarget) -> Vec<Record> {
    let mut court = Court { object, target, lists: HashMap::new(), code: object.code.clone() };
    object.records.iter().map(|raw| court.judge(raw)).collect()
}

const EINVAL: i32 = -22;

/// What libbpf remembers from one record of an object to the next.
struct Court<'c> {
    object: &'c JudgedObject,
    target: &'c JudgedTarget,
    lists: HashMap<u32, Candidates>,
    code: HashMap<String, Vec<u8>>,
}

impl Court<'_> {
    fn judge(&mut self, raw: &RawRecord) -> Record {
        let mut record = Record {
            section: raw.section.clone(),
            index: raw.index,
            kind: raw.kind,
            root: raw.root,
            outcome: Outcome::Skipped,
            values: None,
            exception: None,
            log: String::new(),
        };
        let (outcome, log) = ffi::logged(|| self.relocate(raw, &mut record));
        record.outcome =
            outcome.unwrap_or_else(|errno| Outcome::Error(format!("errno {}", errno.unsigned_abs())));
        record.log = log;
        record
    }

    fn relocate(&mut self, raw: &RawRecord, record: &mut Record) -> Result<Outcome, i32> {
        if !raw.insn_offset.is_multiple_of(8) {
            return Err(EINVAL);
        }
        let at = u64::from(raw.insn_offset);
        let functions = self.object.functions.get(&raw.section);
        if !functions.is_some_and(|f| f.iter().any(|(start, end)| (*start..*end).contains(&at))) {
            return Ok(Outcome::Skipped);
        }
        if negative(&self.object.btf, raw.access) {
            record.exception = Some(Exception::NegativeIndex);
            return Err(EINVAL);
        }
        let result = self.resolve(raw, record)?;
        record.values = Some((result.orig_val, (!result.poison).then_some(result.new_val)));
        let section = self.code.get_mut(&raw.section).ok_or(EINVAL)?;
        let start = raw.insn_offset as usize;
        let len = if section.get(start) == Some(&0x18) { 16 } else { 8 };
        let words = section.get_mut(start..start + len).ok_or(EINVAL)?;
        let mut insns = [0u8; 16];
        for (to, from) in insns.chunks_exact_mut(8).zip(words.chunks_exact(8)) {
            to.copy_from_slice(&swapped(from, self.object.big_endian));
        }
        let patched = ffi::patch(&mut insns, &raw.relo(), raw.index, &result);
        // libbpf may have changed the instruction and refused it after that: here as there it stays changed.
        for (to, from) in words.chunks_exact_mut(8).zip(insns.chunks_exact(8)) {
            to.copy_from_slice(&swapped(from, self.object.big_endian));
        }
        patched.map(|()| Outcome::Words(words.to_vec()))
    }

    /// `bpf_core_resolve_relo`
    fn resolve(&mut self, raw: &RawRecord, record: &mut Record) -> Result<Resolution, i32> {
        let local = &self.object.btf;
        local.words(raw.root).ok_or(EINVAL)?;
        let mut none = Vec::new();
        let list = match self.lists.entry(raw.root) {
            _ if raw.kind == TYPE_ID_LOCAL => &mut none,
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(self.target.candidates(local, raw.root).ok_or(EINVAL)?),
        };
        let before = list.clone();
        let mut result = ffi::calc(local, &raw.relo(), raw.index, list)?;
        if raw.kind == LSHIFT && self.object.big_endian {
            record.exception = Some(Exception::ForeignShift);
            big_endian_shift(self.object, &raw.relo(), &before, &mut result)?;
        }
        Ok(result)
    }
}

/// Is a number in this access string over what an `int` holds?
fn negative(btf: &Btf, access: u32) -> bool {
    let access = btf.string(access).unwrap_or_default();
    access.split(':').any(|part| part.parse::<i64>().is_ok_and(|n| i32::try_from(n).is_err() || n < 0))
}

/// libbpf computes FIELD_LSHIFT_U64 for the byte order of the machine it was built for. For a big-endian object the value is
/// `64 - 8 * size + bits before the field`, where a little-endian libbpf says `64 - (bits before the field + its width)`:
/// size and width are had from the same libbpf by asking FIELD_BYTE_SIZE and FIELD_RSHIFT_U64 of the same field.
fn big_endian_shift(
    object: &JudgedObject,
    relo: &Relo,
    candidates: &Candidates,
    result: &mut Resolution,
) -> Result<(), i32> {
    let ask = |kind| ffi::calc(&object.btf, &Relo { kind, ..*relo }, 0, &mut candidates.clone());
    let (size, right) = (ask(1)?, ask(5)?);
    let value = |left: u64, size: u64, right: u64| {
        let [left, size, right] = [left, size, right].map(|v| v as u32);
        let width = 64u32.wrapping_sub(right);
        let within = 64u32.wrapping_sub(left).wrapping_sub(width);
        u64::from(64u32.wrapping_sub(size.wrapping_mul(8)).wrapping_add(within))
    };
    result.orig_val = value(result.orig_val, size.orig_val, right.orig_val);
    if !result.poison {
        result.new_val = value(result.new_val, size.new_val, right.new_val);
    }
    Ok(())
}

/// An instruction between the object's byte order and little-endian.
fn swapped(insn: &[u8], big_endian: bool) -> [u8; 8] {
    let mut insn: [u8; 8] = insn.try_into().unwrap_or_default();
    if big_endian {
        insn[1] = insn[1].rotate_left(4);
        insn[2..4].reverse();
        insn[4..8].reverse();
    }
    insn
}
