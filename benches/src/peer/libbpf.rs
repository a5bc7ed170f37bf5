//! libbpf, by the functions that `bpf_object__relocate_core` calls, in the same order.
//!
//! The public function `bpf_object__prepare` needs root and creates maps, so a relocation consists of these
//! calls:
//!
//! * `bpf_object__open_file` opens the object;
//! * `btf__load_vmlinux_btf` or `btf__parse` parses the target;
//! * `bpf_core_add_cands` finds the candidates, once per local type of an object;
//! * `bpf_core_calc_relo_insn` computes the values of each record;
//! * `bpf_core_patch_insn` changes the instruction.
//!
//! libbpf does not expose the records that it finds in `.BTF.ext`, so the benchmark reads them before the
//! run. libbpf does not search for the program of each record. libbpf has no shared target and parses the
//! target for each object. The benchmark reuses its parsed BTF.
//!
//! A load consists of `bpf_object__open_file`, `bpf_object__load` and `bpf_object__close`.

use super::prepared::Prepared;
use core_relo::ext::BtfExt;
use core_relo_loader::object::Object;
use core_relo_tests::libbpf::relo_core::{
    Cand, CandList, Relo, Resolution, Spec, bpf_core_add_cands, bpf_core_calc_relo_insn,
    bpf_core_essential_name_len, bpf_core_patch_insn,
};
use libbpf_sys as sys;
use std::{
    collections::{HashMap, hash_map::Entry},
    ffi::{CString, c_int},
    fs,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
    ptr,
};

const TYPE_ID_LOCAL: u32 = 6;

/// The peer libbpf.
pub struct Libbpf {
    target: CString,
    is_running_kernel: bool,
    objects: Vec<PreparedObject>,
}

/// An object and its records, each with its instruction.
struct PreparedObject {
    path: CString,
    records: Vec<(Relo, [u8; 16])>,
}

impl Libbpf {
    pub fn new(target: &Path, objects: &[PathBuf]) -> Result<Self, String> {
        // SAFETY: NULL is a valid callback. libbpf then prints nothing.
        unsafe { sys::libbpf_set_print(None) };
        let objects = objects.iter().map(|path| PreparedObject::read(path)).collect::<Result<_, _>>()?;
        let is_running_kernel = target == Path::new("/sys/kernel/btf/vmlinux");
        Ok(Self { target: c_path(target)?, is_running_kernel, objects })
    }

    fn target(&self) -> Result<Btf, String> {
        // SAFETY: the path is a C string.
        let raw = unsafe {
            match self.is_running_kernel {
                true => sys::btf__load_vmlinux_btf(),
                false => sys::btf__parse(self.target.as_ptr(), ptr::null_mut()),
            }
        };
        if raw.is_null() { Err(last_error("target")) } else { Ok(Btf(raw)) }
    }
}

impl Prepared for Libbpf {
    fn parse_target(&self) -> Result<(), String> {
        self.target().map(drop)
    }

    fn relocate(&self, shared: bool) -> Result<(), String> {
        if !shared {
            return self.objects.iter().try_for_each(|object| object.relocate(|| self.target()));
        }
        let target = self.target()?;
        self.objects.iter().try_for_each(|object| object.relocate(|| Ok(&target)))
    }

    fn load(&self) -> Result<(), String> {
        self.objects.iter().try_for_each(PreparedObject::load)
    }
}

impl PreparedObject {
    fn read(path: &Path) -> Result<Self, String> {
        let failed = |e: &dyn std::fmt::Display| format!("{}: {e}", path.display());
        let bytes = fs::read(path).map_err(|e| failed(&e))?;
        let object = Object::parse(&bytes).map_err(|e| failed(&e))?;
        let mut records = Vec::new();
        if let (Some(btf), Some(ext)) = (object.btf(), object.ext()) {
            for group in BtfExt::core_relos(ext) {
                let name = btf.name(group.name()).ok_or("a group of records without a section")?;
                let code = object.code_sections().iter().find(|s| s.name == name.as_bytes());
                let code = code.map_or(&[][..], |s| s.code);
                for record in group.records() {
                    let rest = code.get(record.insn_offset.0 as usize..).unwrap_or_default();
                    let mut insns = [0; 16];
                    let len = rest.len().min(16);
                    insns[..len].copy_from_slice(&rest[..len]);
                    let (insn_off, access_str_off) = (record.insn_offset.0, record.access.0);
                    let relo =
                        Relo { insn_off, type_id: record.root.0, access_str_off, kind: record.kind.raw() };
                    records.push((relo, insns));
                }
            }
        }
        Ok(Self { path: c_path(path)?, records })
    }

    fn open(&self) -> Result<OpenObject, String> {
        // SAFETY: the path is a C string; NULL means default options.
        let raw = unsafe { sys::bpf_object__open_file(self.path.as_ptr(), ptr::null()) };
        if raw.is_null() { Err(last_error("open")) } else { Ok(OpenObject(raw)) }
    }

    fn load(&self) -> Result<(), String> {
        let object = self.open()?;
        // SAFETY: the object is open.
        match unsafe { sys::bpf_object__load(object.0) } {
            0 => Ok(()),
            error => Err(format!("load: errno {}", -error)),
        }
    }

    fn relocate<B: std::borrow::Borrow<Btf>>(
        &self,
        target: impl FnOnce() -> Result<B, String>,
    ) -> Result<(), String> {
        let object = self.open()?;
        let target = target()?;
        // SAFETY: the object is open, so its BTF is valid.
        let local = unsafe { sys::bpf_object__btf(object.0) };
        let mut candidates = HashMap::new();
        let mut outcome = Ok(());
        for ((relo, insns), index) in self.records.iter().zip(0..) {
            outcome = resolve(relo, *insns, index, local, target.borrow(), &mut candidates);
            if outcome.is_err() {
                break;
            }
        }
        for list in candidates.into_values() {
            // SAFETY: libbpf allocated the list with malloc, and it is freed once.
            unsafe { libc::free(list.cands.cast()) };
        }
        outcome
    }
}

/// Relocates one record, as `bpf_core_resolve_relo` and the patching after it.
fn resolve(
    relo: &Relo,
    mut insns: [u8; 16],
    index: c_int,
    local: *const sys::btf,
    target: &Btf,
    known: &mut HashMap<u32, CandList>,
) -> Result<(), String> {
    let mut none = CandList { cands: ptr::null_mut(), len: 0 };
    let list = match known.entry(relo.type_id) {
        _ if relo.kind == TYPE_ID_LOCAL => &mut none,
        Entry::Occupied(known) => known.into_mut(),
        Entry::Vacant(new) => new.insert(find_candidates(relo.type_id, local, target)?),
    };
    let mut result = Resolution::default();
    // SAFETY: both BTFs outlive the call; libbpf expects three zeroed specs as scratch space and only
    // shortens the list. It writes at most two instructions, and `insns` has two.
    let error = unsafe {
        let mut specs: [Spec; 3] = std::mem::zeroed();
        let name = c"prog".as_ptr();
        match bpf_core_calc_relo_insn(name, relo, index, local, list, specs.as_mut_ptr(), &mut result) {
            0 => bpf_core_patch_insn(name, insns.as_mut_ptr().cast(), 0, relo, index, &result),
            error => error,
        }
    };
    std::hint::black_box(insns);
    if error == 0 { Ok(()) } else { Err(format!("record {index}: errno {}", -error)) }
}

/// Finds candidates as `bpf_core_find_cands` does.
fn find_candidates(id: u32, local: *const sys::btf, target: &Btf) -> Result<CandList, String> {
    let mut list = CandList { cands: ptr::null_mut(), len: 0 };
    // SAFETY: both BTFs outlive the call; the name of a type is a C string.
    let error = unsafe {
        let ty = sys::btf__type_by_id(local, id);
        if ty.is_null() {
            return Err(format!("no local type {id}"));
        }
        let len = bpf_core_essential_name_len(sys::btf__name_by_offset(local, (*ty).name_off));
        let mut cand = Cand { btf: local, id };
        bpf_core_add_cands(&mut cand, len, target.0, c"vmlinux".as_ptr(), 1, &mut list)
    };
    if error == 0 { Ok(list) } else { Err(format!("candidates: errno {}", -error)) }
}

struct Btf(*mut sys::btf);

impl Drop for Btf {
    fn drop(&mut self) {
        // SAFETY: libbpf returned the BTF, and only this drop frees it.
        unsafe { sys::btf__free(self.0) }
    }
}

struct OpenObject(*mut sys::bpf_object);

impl Drop for OpenObject {
    fn drop(&mut self) {
        // SAFETY: bpf_object__open_file returned the object, and only this drop closes it.
        unsafe { sys::bpf_object__close(self.0) }
    }
}

fn c_path(path: &Path) -> Result<CString, String> {
    CString::new(path.as_os_str().as_bytes()).map_err(|e| e.to_string())
}

fn last_error(subject: &str) -> String {
    format!("{subject}: {}", std::io::Error::last_os_error())
}
