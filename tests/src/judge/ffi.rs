//! The only place of the tests that calls C.

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

/// A BTF in libbpf's hands.
#[derive(Debug)]
pub struct Btf {
    raw: *mut sys::btf,
    /// A split BTF keeps its base.
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
        // SAFETY: libbpf copies the `len` bytes; the base outlives this by the count kept.
        let raw = unsafe { sys::btf__new_split(bytes, len, base_raw) };
        (!raw.is_null()).then_some(Self { raw, _base: base })
    }

    /// Overrides the pointer size.
    pub fn set_pointer_size(&mut self, bytes: usize) {
        // SAFETY: `raw` is valid.
        unsafe { sys::btf__set_pointer_size(self.raw, bytes as _) };
    }

    /// The pointer size, 0 if unknown.
    pub fn pointer_size(&self) -> usize {
        // SAFETY: `raw` is valid.
        unsafe { sys::btf__pointer_size(self.raw) as usize }
    }

    /// Number of types, void and the base's included.
    pub fn type_count(&self) -> u32 {
        // SAFETY: `raw` is valid.
        unsafe { sys::btf__type_cnt(self.raw) }
    }

    /// A string of the string section.
    pub fn string(&self, offset: u32) -> Option<String> {
        // SAFETY: `raw` is valid; the result is NULL or a string of the BTF.
        unsafe {
            let s = sys::btf__name_by_offset(self.raw, offset);
            (!s.is_null()).then(|| CStr::from_ptr(s).to_string_lossy().into_owned())
        }
    }

    /// Name offset, info word and size-or-type word of a type.
    pub fn words(&self, id: u32) -> Option<[u32; 3]> {
        // SAFETY: `raw` is valid; the result is NULL or a type of the BTF.
        unsafe {
            let t = sys::btf__type_by_id(self.raw, id);
            (!t.is_null()).then(|| [(*t).name_off, (*t).info, (*t).__bindgen_anon_1.size])
        }
    }

    /// The words that follow those three: members, parameters and the like.
    pub fn tail(&self, id: u32) -> Option<Vec<u32>> {
        let [_, info, _] = self.words(id)?;
        let each = match info >> 24 & 0x1f {
            sys::BTF_KIND_INT | sys::BTF_KIND_VAR | sys::BTF_KIND_DECL_TAG => return self.after(id, 1),
            sys::BTF_KIND_ARRAY => return self.after(id, 3),
            sys::BTF_KIND_STRUCT | sys::BTF_KIND_UNION | sys::BTF_KIND_DATASEC | sys::BTF_KIND_ENUM64 => 3,
            sys::BTF_KIND_ENUM | sys::BTF_KIND_FUNC_PROTO => 2,
            _ => 0,
        };
        self.after(id, (info & 0xffff) as usize * each)
    }

    fn after(&self, id: u32, count: usize) -> Option<Vec<u32>> {
        // SAFETY: `raw` is valid; libbpf has checked that the type's `count` further words are there, aligned to 4 bytes.
        unsafe {
            let t = sys::btf__type_by_id(self.raw, id);
            (!t.is_null()).then(|| std::slice::from_raw_parts(t.add(1).cast::<u32>(), count).to_vec())
        }
    }

    /// `btf__resolve_size`; negative on error.
    pub fn resolve_size(&self, id: u32) -> i64 {
        // SAFETY: `raw` is valid.
        unsafe { sys::btf__resolve_size(self.raw, id) }
    }

    /// The raw bytes, in the BTF's byte order.
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

    /// `btf__dedup` of a BTF without a base.
    pub fn dedup(&mut self) -> bool {
        // SAFETY: `raw` is valid and this is its only owner; no options are NULL.
        unsafe { sys::btf__dedup(self.raw, ptr::null()) == 0 }
    }

    /// `btf__distill_base`: the distilled base and the split BTF upon it.
    pub fn distill(&self) -> Option<(Vec<u8>, Vec<u8>)> {
        let (mut base, mut split) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: `raw` is a split BTF; both results are ours to free, the split one before its base.
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

    /// `btf__relocate`: onto another base.
    pub fn relocate(&mut self, base: Rc<Self>) -> bool {
        // SAFETY: both are valid; the new base is kept.
        let done = unsafe { sys::btf__relocate(self.raw, base.raw) == 0 };
        self._base = Some(base);
        done
    }

    /// `bpf_core_add_cands` for a local type: ids in this BTF from `start` on.
    pub fn candidates(&self, local: &Self, id: u32, start: u32) -> Vec<u32> {
        let mut list = CandList { cands: ptr::null_mut(), len: 0 };
        // SAFETY: `id` was looked up in `local`; libbpf fills `list` with malloc'ed memory that is freed here.
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

/// `bpf_core_calc_relo_insn`: the values, or an errno. `candidates` are narrowed to those that match.
pub fn calc(
    local: &Btf,
    relo: &Relo,
    index: u32,
    candidates: &mut Vec<(Rc<Btf>, u32)>,
) -> Result<Resolution, i32> {
    let mut cands: Vec<Cand> = candidates.iter().map(|(btf, id)| Cand { btf: btf.raw, id: *id }).collect();
    let before = cands.len();
    let mut list = CandList { cands: cands.as_mut_ptr(), len: before as c_int };
    let mut result = Resolution::default();
    // SAFETY: all BTFs outlive the call; three specs of zeroes are what libbpf asks for; the list is only made shorter.
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
    // As libbpf leaves them: after an error it has perhaps moved some to the front and not yet cut off the rest.
    let left = cands.iter().take(list.len as usize);
    let known = |cand: &Cand| candidates.iter().find(|(btf, _)| ptr::eq(btf.raw, cand.btf));
    *candidates = left.filter_map(|cand| Some((Rc::clone(&known(cand)?.0), cand.id))).collect();
    if error == 0 { Ok(result) } else { Err(error) }
}

/// `bpf_core_patch_insn` on two little-endian slots.
pub fn patch(insns: &mut [u8; 16], relo: &Relo, index: u32, result: &Resolution) -> Result<(), i32> {
    // SAFETY: libbpf writes to at most two instructions, of which there are two.
    let error = unsafe {
        bpf_core_patch_insn(c"prog".as_ptr(), insns.as_mut_ptr().cast(), 0, relo, index as c_int, result)
    };
    if error == 0 { Ok(()) } else { Err(error) }
}

/// A program as `bpf_object__prepare` leaves it.
#[derive(Clone, Debug)]
pub struct Prepared {
    pub section: String,
    pub name: String,
    /// Its instructions in the host's byte order, subprograms appended.
    pub code: Vec<u8>,
}

/// `bpf_object__prepare` on this kernel, with another target: all programs, `?` ones too. Needs root, and makes maps.
pub fn prepare(object: &[u8], target: &CStr) -> Result<Vec<Prepared>, i32> {
    let options = sys::bpf_object_open_opts {
        sz: size_of::<sys::bpf_object_open_opts>() as _,
        object_name: c"judged".as_ptr(),
        btf_custom_path: target.as_ptr(),
        ..Default::default()
    };
    // SAFETY: libbpf copies what it needs of object and options; what it gives lives until the object is closed.
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

/// An object that libbpf loaded; dropping it closes it.
#[derive(Debug)]
pub struct LoadedByLibbpf(*mut sys::bpf_object);

/// `bpf_object__load` on this kernel. Nothing is pinned.
pub fn load(object: &[u8]) -> Result<LoadedByLibbpf, i32> {
    let options = sys::bpf_object_open_opts {
        sz: size_of::<sys::bpf_object_open_opts>() as _,
        object_name: c"judged".as_ptr(),
        ..Default::default()
    };
    // SAFETY: libbpf copies what it needs of object and options; the object is closed when `loaded` goes.
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
    /// Its maps that were created, in order.
    pub fn maps(&self) -> Vec<BorrowedFd<'_>> {
        // SAFETY: the object is open, and its maps with it.
        maps(self.0).into_iter().filter_map(|map| open(unsafe { sys::bpf_map__fd(map) })).collect()
    }

    /// Its programs that were loaded, in order.
    pub fn programs(&self) -> Vec<BorrowedFd<'_>> {
        // SAFETY: the object is open, and its programs with it.
        programs(self.0).into_iter().filter_map(|p| open(unsafe { sys::bpf_program__fd(p) })).collect()
    }
}

impl Drop for LoadedByLibbpf {
    fn drop(&mut self) {
        // SAFETY: it came from bpf_object__open_mem and is closed once.
        unsafe { sys::bpf_object__close(self.0) }
    }
}

/// A descriptor that libbpf holds as long as the object is open, if it is one.
fn open<'o>(fd: c_int) -> Option<BorrowedFd<'o>> {
    // SAFETY: callers bind it to the object's lifetime.
    (fd >= 0).then(|| unsafe { BorrowedFd::borrow_raw(fd) })
}

fn maps(object: *mut sys::bpf_object) -> Vec<*mut sys::bpf_map> {
    // SAFETY: the object is open; NULL starts the walk and ends it.
    let next = |after| unsafe { sys::bpf_object__next_map(object, after) };
    let first = next(ptr::null_mut());
    std::iter::successors(Some(first), |map| Some(next(*map))).take_while(|m| !m.is_null()).collect()
}

fn programs(object: *mut sys::bpf_object) -> Vec<*mut sys::bpf_program> {
    // SAFETY: the object is open; NULL starts the walk and ends it.
    let next = |after| unsafe { sys::bpf_object__next_program(object, after) };
    let first = next(ptr::null_mut());
    std::iter::successors(Some(first), |program| Some(next(*program))).take_while(|p| !p.is_null()).collect()
}

thread_local! {
    /// What libbpf said in this thread: it calls back in the thread that called it.
    static LOG: RefCell<String> = const { RefCell::new(String::new()) };
}

static COLLECT: Once = Once::new();

/// Runs `job` with libbpf's warnings collected instead of printed.
pub fn logged<T>(job: impl FnOnce() -> T) -> (T, String) {
    // SAFETY: the callback is a plain function.
    COLLECT.call_once(|| unsafe {
        sys::libbpf_set_print(Some(collect));
    });
    LOG.take();
    let done = job();
    (done, LOG.take())
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
    // SAFETY: the buffer's size is given; format and arguments are libbpf's.
    let text = unsafe {
        vsnprintf(text.as_mut_ptr().cast(), text.len(), format, args);
        CStr::from_ptr(text.as_ptr().cast()).to_string_lossy().into_owned()
    };
    LOG.with_borrow_mut(|log| log.push_str(&text));
    0
}

/// Values as `btf_dump__dump_type_data` prints them.
#[derive(Debug)]
pub struct Values<'b> {
    raw: *mut sys::btf_dump,
    /// Where the text goes: an address that stays.
    text: Box<RefCell<String>>,
    _btf: &'b Btf,
}

impl Values<'_> {
    /// Prints a value without names, zeroes and all; `None` if libbpf gives up.
    pub fn print(&self, id: u32, value: &[u8]) -> Option<String> {
        let mut opts = sys::btf_dump_type_data_opts {
            sz: size_of::<sys::btf_dump_type_data_opts>() as _,
            compact: true,
            skip_names: true,
            emit_zeroes: true,
            ..Default::default()
        };
        opts.indent_str = ptr::null();
        self.text.borrow_mut().clear();
        // SAFETY: `raw` is valid, value and options live through the call, which writes through `text` only.
        let done = unsafe {
            sys::btf_dump__dump_type_data(self.raw, id, value.as_ptr().cast(), value.len() as _, &opts)
        };
        (done >= 0).then(|| self.text.take())
    }
}

impl Drop for Values<'_> {
    fn drop(&mut self) {
        // SAFETY: `raw` is valid and not used again.
        unsafe { sys::btf_dump__free(self.raw) };
    }
}

impl Btf {
    /// For printing values of its types.
    pub fn values(&self) -> Option<Values<'_>> {
        let text = Box::new(RefCell::new(String::new()));
        let context = ptr::from_ref(&*text).cast_mut().cast();
        // SAFETY: the BTF outlives the dumper, and so does what `context` points to.
        let raw = unsafe { sys::btf_dump__new(self.raw, Some(append), context, ptr::null()) };
        (!raw.is_null()).then_some(Values { raw, text, _btf: self })
    }
}

unsafe extern "C" fn append(context: *mut c_void, format: *const c_char, args: VaList) {
    let mut text = [0u8; 512];
    // SAFETY: the buffer's size is given; format and arguments are libbpf's, the context is that of `Btf::values`.
    unsafe {
        vsnprintf(text.as_mut_ptr().cast(), text.len(), format, args);
        let text = CStr::from_ptr(text.as_ptr().cast()).to_string_lossy();
        let mut all = (*context.cast::<RefCell<String>>()).borrow_mut();
        all.push_str(&text);
        // A signed enum's number without a name has no comma after it.
        all.push(' ');
    }
}
