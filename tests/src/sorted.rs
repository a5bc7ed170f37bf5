//! BTF with types sorted by name, as kernel builds from 7.0 on have it, and targets with every search
//! strategy.

use core_relo::{
    Endian, Target, TypeId,
    btf::{Btf, Kind, NameIndex},
};
use std::sync::Arc;

/// Returns the BTF with its types sorted by name, anonymous types first, and all references adjusted.
pub fn sorted(btf: &Btf<'_>) -> Vec<u8> {
    let (data, endian) = (btf.as_bytes(), btf.endian());
    let mut records = records(data, endian);
    let mut order: Vec<usize> = (0..records.len()).collect();
    order.sort_by_key(|at| btf.ty(TypeId(*at as u32 + 1)).unwrap().name());
    let mut new_ids = vec![0; records.len() + 1];
    for (to, from) in order.iter().enumerate() {
        new_ids[*from + 1] = to as u32 + 1;
    }
    let mut types = Vec::new();
    for at in order {
        let record = &mut records[at];
        map_ids(record, |id| new_ids[id as usize]);
        record.iter().for_each(|word| endian.put_u32(&mut types, *word));
    }
    let start = (word(data, endian, 4) + word(data, endian, 8)) as usize;
    let mut sorted = data.to_vec();
    sorted[start..start + types.len()].copy_from_slice(&types);
    sorted
}

fn word(data: &[u8], endian: Endian, at: usize) -> u32 {
    endian.u32(data, at).unwrap()
}

/// Splits the type section into the words of each type.
fn records(data: &[u8], endian: Endian) -> Vec<Vec<u32>> {
    let mut at = (word(data, endian, 4) + word(data, endian, 8)) as usize;
    let end = at + word(data, endian, 12) as usize;
    let mut records = Vec::new();
    while at < end {
        let (kind, vlen) = kind_of(word(data, endian, at + 4));
        let (fixed, each) = words_of(kind);
        let len = 3 + fixed + each * vlen;
        records.push((0..len).map(|nth| word(data, endian, at + 4 * nth)).collect());
        at += 4 * len;
    }
    records
}

fn kind_of(info: u32) -> (Kind, usize) {
    (Kind::from_raw((info >> 24 & 0x7f) as u8), (info & 0x00ff_ffff) as usize)
}

/// Returns the number of words after the common three, and the number of words per element.
fn words_of(kind: Kind) -> (usize, usize) {
    match kind {
        Kind::Int | Kind::Var | Kind::DeclTag => (1, 0),
        Kind::Array => (3, 0),
        Kind::Struct | Kind::Union | Kind::Datasec | Kind::Enum64 => (0, 3),
        Kind::Enum | Kind::FuncProto => (0, 2),
        _ => (0, 0),
    }
}

/// Maps all type ids in the words of a type.
fn map_ids(record: &mut [u32], new_id: impl Fn(u32) -> u32) {
    let ((kind, _), len) = (kind_of(record[1]), record.len());
    let mut change = |at: usize| record[at] = new_id(record[at]);
    match kind {
        Kind::Int | Kind::Fwd | Kind::Float | Kind::Enum | Kind::Enum64 => {}
        Kind::Array => [3, 4].into_iter().for_each(change),
        Kind::Struct | Kind::Union => (4..len).step_by(3).for_each(change),
        Kind::Datasec => (3..len).step_by(3).for_each(change),
        Kind::FuncProto => [2].into_iter().chain((4..len).step_by(2)).for_each(change),
        _ => change(2),
    }
}

/// Returns the target with other search strategies: through an index, and by bisection if its types are
/// sorted.
pub fn search_variants(target: &Target<'static>) -> Vec<(&'static str, Target<'static>)> {
    let vmlinux = &target.vmlinux().btf;
    let indexed = target.clone().with_index(Arc::new(NameIndex::of_types(vmlinux)));
    let mut variants = vec![("with an index", indexed)];
    let trusted = |btf: &Btf<'static>| {
        let mut btf = btf.clone();
        btf.trust_order().then(|| Arc::new(btf))
    };
    if let Some(vmlinux) = trusted(vmlinux) {
        let module = |module: &core_relo::TargetBtf<'static>| {
            (module.name.clone(), trusted(&module.btf).unwrap_or_else(|| Arc::clone(&module.btf)))
        };
        let modules: Vec<_> = target.modules().iter().map(module).collect();
        variants.push(("by bisection", Target::new("vmlinux", vmlinux).with_modules(modules)));
    }
    variants
}
