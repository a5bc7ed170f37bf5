//! libbpf, by the functions that its `bpf_object__relocate_core` calls, in its order.
//!
//! The way libbpf offers, `bpf_object__prepare`, needs root and asks the kernel for maps besides. So: `bpf_object__open_file`;
//! the target by `btf__load_vmlinux_btf` or `btf__parse`; then for each record candidates by `bpf_core_add_cands`, once for a
//! local type of an object, values by `bpf_core_calc_relo_insn`, the instruction by `bpf_core_patch_insn`. The records, which
//! libbpf has found while it opened the object and does not show, were read before. libbpf is spared finding each record's
//! program. Objects on one target is what libbpf does not offer at all (it parses the target for each): here its parsed BTF
//! is simply used again.
//!
//! Loading is `bpf_object__open_file`, `bpf_object__load`, `bpf_object__close`.

use super::Prepared;
use core_relo::ext::BtfExt;
use core_relo_loader::object::Object;
use core_relo_tests::judge::relo_core::{
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

pub struct Libbpf {
    target: CString,
    is_running_kernel: bool,
    objects: Vec<Prebuilt>,
}

/// An object and its records, each with the instruction it is for.
struct Prebuilt {
    path: CString,
    records: Vec<(Relo, [u8; 16])>,
}

impl Libbpf {
    pub fn new(target: &Path, objects: &[PathBuf]) -> Result<Self, String> {
        // SAFETY: no callback: libbpf prints nothing.
        unsafe { sys::libbpf_set_print(None) };
        let objects = objects.iter().map(|path| Prebuilt::read(path)).collect::<Result<_, _>>()?;
        let is_running_kernel = target == Path::new("/sys/kernel/btf/vmlinux");
        Ok(Self { target: c_path(target)?, is_running_kernel, objects })
    }

    fn target(&self) -> Result<Btf, String> {
        // SAFETY: the path is a string that ends.
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
        self.objects.iter().try_for_each(Prebuilt::load)
    }
}

impl Prebuilt {
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

    fn open(&self) -> Result<Opened, String> {
        // SAFETY: the path is a string that ends; no options are NULL.
        let raw = unsafe { sys::bpf_object__open_file(self.path.as_ptr(), ptr::null()) };
        if raw.is_null() { Err(last_error("open")) } else { Ok(Opened(raw)) }
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
        // SAFETY: the object is open, and its BTF with it.
        let local = unsafe { sys::bpf_object__btf(object.0) };
        let mut known = HashMap::new();
        let mut outcome = Ok(());
        for ((relo, insns), index) in self.records.iter().zip(0..) {
            outcome = resolve(relo, *insns, index, local, target.borrow(), &mut known);
            if outcome.is_err() {
                break;
            }
        }
        for list in known.into_values() {
            // SAFETY: libbpf made it by malloc, and it is freed once.
            unsafe { libc::free(list.cands.cast()) };
        }
        outcome
    }
}

/// `bpf_core_resolve_relo` and the patching after it.
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
        Entry::Vacant(new) => new.insert(candidates(relo.type_id, local, target)?),
    };
    let mut result = Resolution::default();
    // SAFETY: both BTFs outlive the call; three specs of zeroes are what libbpf asks for; the list is only made shorter; at
    // most two instructions are written, of which there are two.
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

/// `bpf_core_find_cands`
fn candidates(id: u32, local: *const sys::btf, target: &Btf) -> Result<CandList, String> {
    let mut list = CandList { cands: ptr::null_mut(), len: 0 };
    // SAFETY: both BTFs outlive the call; a type that there is has a name that ends.
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
        // SAFETY: it came from libbpf and is freed once.
        unsafe { sys::btf__free(self.0) }
    }
}

struct Opened(*mut sys::bpf_object);

impl Drop for Opened {
    fn drop(&mut self) {
        // SAFETY: it came from bpf_object__open_file and is closed once.
        unsafe { sys::bpf_object__close(self.0) }
    }
}

fn c_path(path: &Path) -> Result<CString, String> {
    CString::new(path.as_os_str().as_bytes()).map_err(|e| e.to_string())
}

fn last_error(what: &str) -> String {
    format!("{what}: {}", std::io::Error::last_os_error())
}
