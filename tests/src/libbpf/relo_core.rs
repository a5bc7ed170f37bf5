//! Declarations of libbpf's four relocation functions and their structs.
//!
//! The public header of libbpf does not declare them: bpftool uses the first two, the kernel the other two.
//! The static archive contains them.

use libbpf_sys as sys;
use std::ffi::{c_char, c_int, c_void};

/// `struct bpf_core_cand`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Cand {
    pub btf: *const sys::btf,
    pub id: u32,
}

/// `struct bpf_core_cand_list`
#[repr(C)]
#[derive(Debug)]
pub struct CandList {
    pub cands: *mut Cand,
    pub len: c_int,
}

/// `struct bpf_core_accessor`
#[repr(C)]
#[derive(Debug)]
pub struct Accessor {
    type_id: u32,
    idx: u32,
    name: *const c_char,
}

/// `struct bpf_core_spec`. Callers only provide the memory.
#[repr(C)]
#[derive(Debug)]
pub struct Spec {
    btf: *const sys::btf,
    spec: [Accessor; 64],
    root_type_id: u32,
    relo_kind: u32,
    len: c_int,
    raw_spec: [c_int; 64],
    raw_len: c_int,
    bit_offset: u32,
}

/// `struct bpf_core_relo_res`
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Resolution {
    pub orig_val: u64,
    pub new_val: u64,
    pub poison: bool,
    pub validate: bool,
    pub fail_memsz_adjust: bool,
    pub orig_sz: u32,
    pub orig_type_id: u32,
    pub new_sz: u32,
    pub new_type_id: u32,
}

/// `struct bpf_core_relo`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Relo {
    pub insn_off: u32,
    pub type_id: u32,
    pub access_str_off: u32,
    pub kind: u32,
}

unsafe extern "C" {
    pub fn bpf_core_add_cands(
        local: *mut Cand,
        local_essent_len: usize,
        targ_btf: *const sys::btf,
        targ_btf_name: *const c_char,
        targ_start_id: c_int,
        cands: *mut CandList,
    ) -> c_int;
    pub fn bpf_core_essential_name_len(name: *const c_char) -> usize;
    pub fn bpf_core_calc_relo_insn(
        prog_name: *const c_char,
        relo: *const Relo,
        relo_idx: c_int,
        local_btf: *const sys::btf,
        cands: *mut CandList,
        specs_scratch: *mut Spec,
        targ_res: *mut Resolution,
    ) -> c_int;
    pub fn bpf_core_patch_insn(
        prog_name: *const c_char,
        insn: *mut c_void,
        insn_idx: c_int,
        relo: *const Relo,
        relo_idx: c_int,
        res: *const Resolution,
    ) -> c_int;
}
