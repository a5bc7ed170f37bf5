//! Relocation of all records in libbpf's order: the part of `bpf_object__relocate_core` around the called
//! functions.

use super::{
    ffi::{self, Btf},
    object::{LibbpfObject, RawRecord},
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

/// A target parsed by libbpf: the vmlinux BTF and the BTF of modules.
#[derive(Debug)]
pub struct LibbpfTarget {
    vmlinux: Rc<Btf>,
    modules: Vec<Rc<Btf>>,
    /// Candidates by name and kind, shared by many objects.
    cache: RefCell<HashMap<(String, u32), Candidates>>,
}

type Candidates = Vec<(Rc<Btf>, u32)>;

impl LibbpfTarget {
    /// Parses a vmlinux BTF and the split BTF of modules.
    pub fn parse(vmlinux: &[u8], modules: &[Vec<u8>]) -> Option<Self> {
        let vmlinux = Rc::new(Btf::parse(vmlinux, None)?);
        let module = |bytes: &Vec<u8>| Btf::parse(bytes, Some(Rc::clone(&vmlinux))).map(Rc::new);
        let modules = modules.iter().map(module).collect::<Option<_>>()?;
        Some(Self { modules, vmlinux, cache: RefCell::default() })
    }

    /// Finds candidates as `bpf_core_find_cands` does.
    fn candidates(&self, local: &Btf, id: u32) -> Option<Candidates> {
        let [name, info, _] = local.words(id)?;
        let name = local.string(name).filter(|name| !name.is_empty())?;
        // The key has the exact kind, because libbpf decides whether ENUM and ENUM64 match.
        let key = (name, info >> 24 & 0x1f);
        if let Some(cached) = self.cache.borrow().get(&key) {
            return Some(cached.clone());
        }
        let mut found: Candidates = self
            .vmlinux
            .candidates(local, id, 1)
            .into_iter()
            .map(|id| (Rc::clone(&self.vmlinux), id))
            .collect();
        if found.is_empty() {
            for module in &self.modules {
                let ids = module.candidates(local, id, self.vmlinux.type_count());
                found.extend(ids.into_iter().map(|id| (Rc::clone(module), id)));
            }
        }
        self.cache.borrow_mut().insert(key, found.clone());
        Some(found)
    }
}

/// Relocates every record in order. A failing record does not stop the later ones.
pub fn records(object: &LibbpfObject, target: &LibbpfTarget) -> Vec<Record> {
    let mut relocator = Relocator { object, target, candidates: HashMap::new(), code: object.code.clone() };
    object.records.iter().map(|raw| relocator.record(raw)).collect()
}

const EINVAL: i32 = -22;

/// The state that libbpf keeps between the records of one object.
struct Relocator<'a> {
    object: &'a LibbpfObject,
    target: &'a LibbpfTarget,
    /// Candidates by local type. Each record that matches narrows the list.
    candidates: HashMap<u32, Candidates>,
    code: HashMap<String, Vec<u8>>,
}

impl Relocator<'_> {
    fn record(&mut self, raw: &RawRecord) -> Record {
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
        let (outcome, log) = ffi::with_log(|| self.relocate(raw, &mut record));
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
        if has_negative_index(&self.object.btf, raw.access) {
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
            to.copy_from_slice(&swap_insn(from, self.object.is_big_endian));
        }
        let patched = ffi::patch_insn(&mut insns, &raw.relo(), raw.index, &result);
        // libbpf may change the instruction before it refuses the record. The change stays, as in libbpf.
        for (to, from) in words.chunks_exact_mut(8).zip(insns.chunks_exact(8)) {
            to.copy_from_slice(&swap_insn(from, self.object.is_big_endian));
        }
        patched.map(|()| Outcome::Words(words.to_vec()))
    }

    /// Computes the values as `bpf_core_resolve_relo` does.
    fn resolve(&mut self, raw: &RawRecord, record: &mut Record) -> Result<Resolution, i32> {
        let local = &self.object.btf;
        local.words(raw.root).ok_or(EINVAL)?;
        let mut none = Vec::new();
        let list = match self.candidates.entry(raw.root) {
            _ if raw.kind == TYPE_ID_LOCAL => &mut none,
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(self.target.candidates(local, raw.root).ok_or(EINVAL)?),
        };
        let all = list.clone();
        let mut result = ffi::calc_relo(local, &raw.relo(), raw.index, list)?;
        if raw.kind == LSHIFT && self.object.is_big_endian {
            record.exception = Some(Exception::ForeignShift);
            big_endian_shift(self.object, &raw.relo(), &all, &mut result)?;
        }
        Ok(result)
    }
}

/// Returns true if a number of the access string does not fit a non-negative `int`.
fn has_negative_index(btf: &Btf, access: u32) -> bool {
    let access = btf.string(access).unwrap_or_default();
    access.split(':').any(|part| part.parse::<i64>().is_ok_and(|n| i32::try_from(n).is_err() || n < 0))
}

/// Converts the values of FIELD_LSHIFT_U64 from little-endian to big-endian.
///
/// libbpf computes this kind for the byte order of its host: `64 - (bits before the field + width)` on a
/// little-endian host. The value for a big-endian object is `64 - 8 * size + bits before the field`.
/// FIELD_BYTE_SIZE and FIELD_RSHIFT_U64 of the same field give the size and the width.
fn big_endian_shift(
    object: &LibbpfObject,
    relo: &Relo,
    candidates: &Candidates,
    result: &mut Resolution,
) -> Result<(), i32> {
    let calc = |kind| ffi::calc_relo(&object.btf, &Relo { kind, ..*relo }, 0, &mut candidates.clone());
    let (size, right) = (calc(1)?, calc(5)?);
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

/// Converts an instruction between the object's byte order and little-endian.
fn swap_insn(insn: &[u8], is_big_endian: bool) -> [u8; 8] {
    let mut insn: [u8; 8] = insn.try_into().unwrap_or_default();
    if is_big_endian {
        insn[1] = insn[1].rotate_left(4);
        insn[2..4].reverse();
        insn[4..8].reverse();
    }
    insn
}
