//! Safe wrappers of libbpf's C functions.

use super::relo_core::{
    Cand, CandList, Relo, Resolution, Spec, bpf_core_add_cands, bpf_core_calc_relo_insn,
    bpf_core_essential_name_len, bpf_core_patch_insn,
};
use libbpf_sys as sys;
use std::{
    cell::RefCell,
    ffi::{CStr, c_char, c_int, c_void},
    os::fd::BorrowedFd,
    ptr,
    rc::Rc,
    sync::Once,
};

/// A `struct btf`.
#[derive(Debug)]
pub struct Btf {
    raw: *mut sys::btf,
    /// The base of a split BTF, which must outlive `raw`.
    _base: Option<Rc<Btf>>,
}

impl Drop for Btf {
    fn drop(&mut self) {
        // SAFETY: `raw` came from btf__new or btf__new_split and is freed once.
        unsafe { sys::btf__free(self.raw) }
    }
}

impl Btf {
    /// Parses raw BTF.
    pub fn parse(data: &[u8], base: Option<Rc<Self>>) -> Option<Self> {
        let (bytes, len) = (data.as_ptr().cast(), u32::try_from(data.len()).ok()?);
        let base_raw = base.as_ref().map_or(ptr::null_mut(), |base| base.raw);
        // SAFETY: libbpf copies the `len` bytes; `_base` keeps the base alive.
        let raw = unsafe { sys::btf__new_split(bytes, len, base_raw) };
        (!raw.is_null()).then_some(Self { raw, _base: base })
    }

    /// Overrides the pointer size.
    pub fn set_pointer_size(&mut self, bytes: usize) {
        // SAFETY: `raw` is valid.
        unsafe { sys::btf__set_pointer_size(self.raw, bytes as _) };
    }

    /// Returns the pointer size, 0 if unknown.
    pub fn pointer_size(&self) -> usize {
        // SAFETY: `raw` is valid.
        unsafe { sys::btf__pointer_size(self.raw) as usize }
    }

    /// Returns the number of types, including void and the types of the base.
    pub fn type_count(&self) -> u32 {
        // SAFETY: `raw` is valid.
        unsafe { sys::btf__type_cnt(self.raw) }
    }

    /// Returns a string of the string section.
    pub fn string(&self, offset: u32) -> Option<String> {
        // SAFETY: `raw` is valid; the result is NULL or a string of the BTF.
        unsafe {
            let s = sys::btf__name_by_offset(self.raw, offset);
            (!s.is_null()).then(|| CStr::from_ptr(s).to_string_lossy().into_owned())
        }
    }

    /// Returns the name offset, the info word and the size-or-type word of a type.
    pub fn words(&self, id: u32) -> Option<[u32; 3]> {
        // SAFETY: `raw` is valid; the result is NULL or a type of the BTF.
        unsafe {
            let t = sys::btf__type_by_id(self.raw, id);
            (!t.is_null()).then(|| [(*t).name_off, (*t).info, (*t).__bindgen_anon_1.size])
        }
    }

    /// Returns the words after the first three of a type: members, parameters, enumerators.
    pub fn trailing_words(&self, id: u32) -> Option<Vec<u32>> {
        let [_, info, _] = self.words(id)?;
        let each = match info >> 24 & 0x1f {
            sys::BTF_KIND_INT | sys::BTF_KIND_VAR | sys::BTF_KIND_DECL_TAG => return self.words_after(id, 1),
            sys::BTF_KIND_ARRAY => return self.words_after(id, 3),
            sys::BTF_KIND_STRUCT | sys::BTF_KIND_UNION | sys::BTF_KIND_DATASEC | sys::BTF_KIND_ENUM64 => 3,
            sys::BTF_KIND_ENUM | sys::BTF_KIND_FUNC_PROTO => 2,
            _ => 0,
        };
        self.words_after(id, (info & 0xffff) as usize * each)
    }

    fn words_after(&self, id: u32, count: usize) -> Option<Vec<u32>> {
        // SAFETY: `raw` is valid; libbpf has validated that `count` words follow the type, aligned to 4
        // bytes.
        unsafe {
            let t = sys::btf__type_by_id(self.raw, id);
            (!t.is_null()).then(|| std::slice::from_raw_parts(t.add(1).cast::<u32>(), count).to_vec())
        }
    }

    /// Calls `btf__resolve_size`. The result is negative on error.
    pub fn resolve_size(&self, id: u32) -> i64 {
        // SAFETY: `raw` is valid.
        unsafe { sys::btf__resolve_size(self.raw, id) }
    }

    /// Returns the raw bytes in the byte order of the BTF.
    pub fn raw_data(&self) -> Vec<u8> {
        let mut len = 0u32;
        // SAFETY: the result is NULL or `len` bytes that live as long as the BTF is not changed.
        unsafe {
            let data = sys::btf__raw_data(self.raw, &mut len);
            if data.is_null() {
                Vec::new()
            } else {
                std::slice::from_raw_parts(data.cast(), len as usize).to_vec()
            }
        }
    }

    /// Calls `btf__dedup` on a BTF without a base. Returns true on success.
    pub fn dedup(&mut self) -> bool {
        // SAFETY: `raw` is valid and this is its only owner; NULL means default options.
        unsafe { sys::btf__dedup(self.raw, ptr::null()) == 0 }
    }

    /// Calls `btf__distill_base`. Returns the distilled base and the split BTF on it.
    pub fn distill(&self) -> Option<(Vec<u8>, Vec<u8>)> {
        let (mut base, mut split) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: `raw` is a split BTF; the caller frees both results, the split BTF before its base.
        unsafe {
            if sys::btf__distill_base(self.raw, &mut base, &mut split) != 0 {
                return None;
            }
            let split = Self { raw: split, _base: None };
            let base = Self { raw: base, _base: None };
            let data = (base.raw_data(), split.raw_data());
            drop(split);
            Some(data)
        }
    }

    /// Calls `btf__relocate` with another base. Returns true on success.
    pub fn relocate(&mut self, base: Rc<Self>) -> bool {
        // SAFETY: both BTFs are valid; `_base` keeps the new base alive.
        let succeeded = unsafe { sys::btf__relocate(self.raw, base.raw) == 0 };
        self._base = Some(base);
        succeeded
    }

    /// Calls `bpf_core_add_cands` for a local type. Returns the ids of candidates in this BTF from `start`
    /// on.
    pub fn candidates(&self, local: &Self, id: u32, start: u32) -> Vec<u32> {
        let mut list = CandList { cands: ptr::null_mut(), len: 0 };
        // SAFETY: `id` was looked up in `local`; libbpf allocates `list.cands` with malloc, and this function
        // frees it.
        unsafe {
            let t = sys::btf__type_by_id(local.raw, id);
            let len = bpf_core_essential_name_len(sys::btf__name_by_offset(local.raw, (*t).name_off));
            let mut cand = Cand { btf: local.raw, id };
            bpf_core_add_cands(&mut cand, len, self.raw, c"vmlinux".as_ptr(), start as c_int, &mut list);
            let found = (0..list.len).map(|i| (*list.cands.offset(i as isize)).id).collect();
            libc::free(list.cands.cast());
            found
        }
    }
}

/// Calls `bpf_core_calc_relo_insn`. Returns the values or an errno. Narrows `candidates` to those that match.
pub fn calc_relo(
    local: &Btf,
    relo: &Relo,
    index: u32,
    candidates: &mut Vec<(Rc<Btf>, u32)>,
) -> Result<Resolution, i32> {
    let mut cands: Vec<Cand> = candidates.iter().map(|(btf, id)| Cand { btf: btf.raw, id: *id }).collect();
    let before = cands.len();
    let mut list = CandList { cands: cands.as_mut_ptr(), len: before as c_int };
    let mut result = Resolution::default();
    // SAFETY: all BTFs outlive the call; libbpf expects three zeroed specs as scratch space and only shortens
    // the list.
    let error = unsafe {
        let mut specs: Box<[Spec; 3]> = Box::new(std::mem::zeroed());
        bpf_core_calc_relo_insn(
            c"prog".as_ptr(),
            relo,
            index as c_int,
            local.raw,
            &mut list,
            specs.as_mut_ptr(),
            &mut result,
        )
    };
    // The list stays as libbpf leaves it. After an error, libbpf may have moved matches to the front without
    // cutting off the rest.
    let kept = cands.iter().take(list.len as usize);
    let find = |cand: &Cand| candidates.iter().find(|(btf, _)| ptr::eq(btf.raw, cand.btf));
    *candidates = kept.filter_map(|cand| Some((Rc::clone(&find(cand)?.0), cand.id))).collect();
    if error == 0 { Ok(result) } else { Err(error) }
}

/// Calls `bpf_core_patch_insn` on two little-endian slots.
pub fn patch_insn(insns: &mut [u8; 16], relo: &Relo, index: u32, result: &Resolution) -> Result<(), i32> {
    // SAFETY: libbpf writes to at most two instructions, and `insns` has two.
    let error = unsafe {
        bpf_core_patch_insn(c"prog".as_ptr(), insns.as_mut_ptr().cast(), 0, relo, index as c_int, result)
    };
    if error == 0 { Ok(()) } else { Err(error) }
}

/// A program after `bpf_object__prepare`.
#[derive(Clone, Debug)]
pub struct Prepared {
    pub section: String,
    pub name: String,
    /// The instructions in the host's byte order, with the subprograms appended.
    pub code: Vec<u8>,
}

/// Calls `bpf_object__prepare` on the running kernel with another target BTF, for all programs including
/// those of `?` sections. Needs root, because libbpf creates the maps.
pub fn prepare(object: &[u8], target: &CStr) -> Result<Vec<Prepared>, i32> {
    let options = sys::bpf_object_open_opts {
        sz: size_of::<sys::bpf_object_open_opts>() as _,
        object_name: c"tested".as_ptr(),
        btf_custom_path: target.as_ptr(),
        ..Default::default()
    };
    // SAFETY: libbpf copies the object and the options; programs and strings live until the object is closed.
    unsafe {
        let raw = sys::bpf_object__open_mem(object.as_ptr().cast(), object.len() as _, &options);
        if raw.is_null() {
            return Err(-std::io::Error::last_os_error().raw_os_error().unwrap_or_default());
        }
        for program in programs(raw) {
            sys::bpf_program__set_autoload(program, true);
        }
        let error = sys::bpf_object__prepare(raw);
        let prepared = |program: *mut sys::bpf_program| {
            let bytes = sys::bpf_program__insn_cnt(program) as usize * 8;
            let code = std::slice::from_raw_parts(sys::bpf_program__insns(program).cast::<u8>(), bytes);
            let text = |s| CStr::from_ptr(s).to_string_lossy().into_owned();
            Prepared {
                section: text(sys::bpf_program__section_name(program)),
                name: text(sys::bpf_program__name(program)),
                code: code.to_vec(),
            }
        };
        let all = if error == 0 { Ok(programs(raw).into_iter().map(prepared).collect()) } else { Err(error) };
        sys::bpf_object__close(raw);
        all
    }
}

/// An object that libbpf has loaded. The drop closes it.
#[derive(Debug)]
pub struct LoadedByLibbpf(*mut sys::bpf_object);

/// Calls `bpf_object__load` on the running kernel, without pins.
pub fn load(object: &[u8]) -> Result<LoadedByLibbpf, i32> {
    let options = sys::bpf_object_open_opts {
        sz: size_of::<sys::bpf_object_open_opts>() as _,
        object_name: c"tested".as_ptr(),
        ..Default::default()
    };
    // SAFETY: libbpf copies the object and the options; the drop of `loaded` closes the object.
    unsafe {
        let raw = sys::bpf_object__open_mem(object.as_ptr().cast(), object.len() as _, &options);
        if raw.is_null() {
            return Err(-std::io::Error::last_os_error().raw_os_error().unwrap_or_default());
        }
        let loaded = LoadedByLibbpf(raw);
        for map in maps(raw) {
            sys::bpf_map__set_pin_path(map, ptr::null());
        }
        match sys::bpf_object__load(raw) {
            0 => Ok(loaded),
            error => Err(error),
        }
    }
}

impl LoadedByLibbpf {
    /// Returns the created maps in order.
    pub fn maps(&self) -> Vec<BorrowedFd<'_>> {
        // SAFETY: the object is open, so its maps are valid.
        maps(self.0).into_iter().filter_map(|map| borrow_fd(unsafe { sys::bpf_map__fd(map) })).collect()
    }

    /// Returns the loaded programs in order.
    pub fn programs(&self) -> Vec<BorrowedFd<'_>> {
        // SAFETY: the object is open, so its programs are valid.
        programs(self.0).into_iter().filter_map(|p| borrow_fd(unsafe { sys::bpf_program__fd(p) })).collect()
    }
}

impl Drop for LoadedByLibbpf {
    fn drop(&mut self) {
        // SAFETY: bpf_object__open_mem returned the object, and only this drop closes it.
        unsafe { sys::bpf_object__close(self.0) }
    }
}

/// Borrows a descriptor of an open object. Returns `None` for a negative number.
fn borrow_fd<'o>(fd: c_int) -> Option<BorrowedFd<'o>> {
    // SAFETY: callers bind the result to the object's lifetime.
    (fd >= 0).then(|| unsafe { BorrowedFd::borrow_raw(fd) })
}

fn maps(object: *mut sys::bpf_object) -> Vec<*mut sys::bpf_map> {
    // SAFETY: the object is open; NULL starts and ends the iteration.
    let next = |after| unsafe { sys::bpf_object__next_map(object, after) };
    let first = next(ptr::null_mut());
    std::iter::successors(Some(first), |map| Some(next(*map))).take_while(|m| !m.is_null()).collect()
}

fn programs(object: *mut sys::bpf_object) -> Vec<*mut sys::bpf_program> {
    // SAFETY: the object is open; NULL starts and ends the iteration.
    let next = |after| unsafe { sys::bpf_object__next_program(object, after) };
    let first = next(ptr::null_mut());
    std::iter::successors(Some(first), |program| Some(next(*program))).take_while(|p| !p.is_null()).collect()
}

thread_local! {
    /// The log messages of libbpf in this thread. libbpf calls the print callback in the thread of the
    /// caller.
    static LOG: RefCell<String> = const { RefCell::new(String::new()) };
}

static SET_PRINT: Once = Once::new();

/// Runs `job` and returns its result with the warnings that libbpf logged.
pub fn with_log<T>(job: impl FnOnce() -> T) -> (T, String) {
    // SAFETY: the callback is a plain function.
    SET_PRINT.call_once(|| unsafe {
        sys::libbpf_set_print(Some(collect));
    });
    LOG.take();
    let result = job();
    (result, LOG.take())
}

#[cfg(target_arch = "x86_64")]
type VaList = *mut sys::__va_list_tag;
#[cfg(not(target_arch = "x86_64"))]
type VaList = sys::va_list;

unsafe extern "C" {
    fn vsnprintf(buf: *mut c_char, size: usize, format: *const c_char, args: VaList) -> c_int;
}

unsafe extern "C" fn collect(level: u32, format: *const c_char, args: VaList) -> c_int {
    if level > 0 {
        return 0;
    }
    let mut text = [0u8; 512];
    // SAFETY: the size is that of the buffer; libbpf passes a matching format and arguments.
    let text = unsafe {
        vsnprintf(text.as_mut_ptr().cast(), text.len(), format, args);
        CStr::from_ptr(text.as_ptr().cast()).to_string_lossy().into_owned()
    };
    LOG.with_borrow_mut(|log| log.push_str(&text));
    0
}

/// A printer of values by `btf_dump__dump_type_data`.
#[derive(Debug)]
pub struct ValuePrinter<'b> {
    raw: *mut sys::btf_dump,
    /// The output, boxed because libbpf keeps its address.
    text: Box<RefCell<String>>,
    _btf: &'b Btf,
}

impl ValuePrinter<'_> {
    /// Prints a value without names but with zeroes, with spaces between its parts. Returns `None` if libbpf
    /// fails.
    pub fn print(&self, id: u32, value: &[u8]) -> Option<String> {
        let style = ValueStyle { compact: true, skip_names: true, emit_zeroes: true };
        self.print_parts(id, value, style).map(|parts| parts.replace(PART_END, " ")).ok()
    }

    /// Prints a value. If libbpf fails, the error is the text that it has printed before.
    pub fn print_with(&self, id: u32, value: &[u8], style: ValueStyle) -> Result<String, String> {
        let without_ends = |parts: String| parts.replace(PART_END, "");
        self.print_parts(id, value, style).map(without_ends).map_err(without_ends)
    }

    fn print_parts(&self, id: u32, value: &[u8], style: ValueStyle) -> Result<String, String> {
        let mut opts = sys::btf_dump_type_data_opts {
            sz: size_of::<sys::btf_dump_type_data_opts>() as _,
            compact: style.compact,
            skip_names: style.skip_names,
            emit_zeroes: style.emit_zeroes,
            ..Default::default()
        };
        opts.indent_str = ptr::null();
        self.text.borrow_mut().clear();
        // SAFETY: `raw` is valid, value and options outlive the call, which writes only to `text`.
        let error = unsafe {
            sys::btf_dump__dump_type_data(self.raw, id, value.as_ptr().cast(), value.len() as _, &opts)
        };
        let text = self.text.take();
        if error >= 0 { Ok(text) } else { Err(text) }
    }
}

/// The options of `btf_dump__dump_type_data`.
#[derive(Clone, Copy, Debug)]
pub struct ValueStyle {
    /// Print on one line.
    pub compact: bool,
    /// Leave out names and types.
    pub skip_names: bool,
    /// Print zeroes.
    pub emit_zeroes: bool,
}

/// The mark after each part that libbpf prints. libbpf prints no comma after a signed enum value without a
/// name.
const PART_END: char = '\u{1}';

impl Drop for ValuePrinter<'_> {
    fn drop(&mut self) {
        // SAFETY: `raw` is valid, and only this drop frees it.
        unsafe { sys::btf_dump__free(self.raw) };
    }
}

impl Btf {
    /// Returns a printer for values of this BTF's types.
    pub fn value_printer(&self) -> Option<ValuePrinter<'_>> {
        let text = Box::new(RefCell::new(String::new()));
        let context = ptr::from_ref(&*text).cast_mut().cast();
        // SAFETY: the BTF and the text that `context` points to outlive the dumper.
        let raw = unsafe { sys::btf_dump__new(self.raw, Some(append), context, ptr::null()) };
        (!raw.is_null()).then_some(ValuePrinter { raw, text, _btf: self })
    }
}

unsafe extern "C" fn append(context: *mut c_void, format: *const c_char, args: VaList) {
    let mut text = [0u8; 512];
    // SAFETY: the size is that of the buffer; libbpf passes a matching format and arguments, and the context
    // of `Btf::value_printer`.
    unsafe {
        vsnprintf(text.as_mut_ptr().cast(), text.len(), format, args);
        let text = CStr::from_ptr(text.as_ptr().cast()).to_string_lossy();
        let mut all = (*context.cast::<RefCell<String>>()).borrow_mut();
        all.push_str(&text);
        all.push(PART_END);
    }
}
