//! Programs whose `func_info` and `line_info` the kernel accepts or refuses: a case for each of its rules,
//! and random ones.

mod cases;
mod random;

pub use cases::cases;
pub use random::RandomInfo;

use core_relo::{
    Endian, TypeId,
    btf::{Btf, Builder, KernelBtfRules, Violations},
    ext::{InfoViolation, ProgramInfo, RecordForm, SentRecords},
    insn::Insn,
};

/// A program with its records.
#[derive(Clone, Debug)]
pub struct InfoCase {
    /// The name of the case.
    pub name: &'static str,
    /// The BTF, in the machine's byte order. The kernel accepts it.
    pub btf: Vec<u8>,
    /// The instructions of a socket filter.
    pub insns: Vec<Insn>,
    /// The first instruction of each function.
    pub functions: Vec<u32>,
    pub func_info: Records,
    pub line_info: Records,
    /// The words of Linux 6.18's log, or `None` if the records violate no rule. The words are empty if the
    /// kernel logs nothing.
    pub message: Option<&'static str>,
}

/// Records as they are sent.
#[derive(Clone, Debug)]
pub struct Records {
    /// The bytes of a record.
    pub record_bytes: u32,
    /// The words of each record, as many as the record's size tells, rounded up.
    pub words: Vec<Vec<u32>>,
}

impl Records {
    fn new<const N: usize>(records: &[[u32; N]]) -> Self {
        let words = records.iter().map(|record| record.to_vec()).collect();
        Self { record_bytes: u32::try_from(N * 4).unwrap(), words }
    }

    /// Returns the bytes, in the machine's byte order.
    pub fn bytes(&self) -> Vec<u8> {
        let record_bytes = usize::try_from(self.record_bytes).unwrap();
        let bytes = |record: &Vec<u32>| {
            let mut bytes = Vec::new();
            record.iter().for_each(|word| Endian::native().put_u32(&mut bytes, *word));
            bytes.resize(record_bytes, 0);
            bytes
        };
        self.words.iter().flat_map(bytes).collect()
    }

    /// Returns the words that the kernel knows.
    fn known<const N: usize>(&self) -> Vec<[u32; N]> {
        let known = |record: &Vec<u32>| std::array::from_fn(|n| record.get(n).copied().unwrap_or(0));
        self.words.iter().map(known).collect()
    }

    fn form(&self, known_words: usize) -> RecordForm {
        let has_tail = |record: &Vec<u32>| record.iter().skip(known_words).any(|word| *word != 0);
        let nonzero_tail = self.words.iter().position(has_tail).map(|index| u32::try_from(index).unwrap());
        RecordForm { record_bytes: self.record_bytes, nonzero_tail }
    }
}

impl InfoCase {
    /// Returns the bytes of the instructions, in the machine's byte order.
    pub fn code(&self) -> Vec<u8> {
        self.insns.iter().flat_map(|insn| insn.encode(Endian::native())).collect()
    }

    /// Returns the violations of the rules.
    pub fn violations(&self, rules: &KernelBtfRules) -> Violations<InfoViolation> {
        let types = Btf::parse(&self.btf).unwrap();
        let (func_info, line_info) = (self.func_info.known(), self.line_info.known());
        let info = ProgramInfo {
            types: Some(&types),
            insns: &self.insns,
            functions: &self.functions,
            func_info: SentRecords { records: &func_info, form: self.func_info.form(2) },
            line_info: SentRecords { records: &line_info, form: self.line_info.form(4) },
            string_bytes: string_bytes(&self.btf),
        };
        info.kernel_violations(rules)
    }
}

/// Returns the bytes of the strings in a BTF (`str_len` in the header).
fn string_bytes(btf: &[u8]) -> u32 {
    Endian::native().u32(btf, 20).unwrap()
}

/// The functions in the BTF of every case. Type 1 is `int`.
#[derive(Clone, Copy, Debug)]
struct Functions {
    /// The program: `int main(void)`.
    main: u32,
    /// `int number(void)`.
    number: u32,
    /// A function that returns the type of the case.
    special: u32,
}

/// Returns the BTF of a case, and its functions. `returned` is the type that `special` returns.
fn types(returned: impl FnOnce(&mut Builder) -> TypeId) -> (Vec<u8>, Functions) {
    let mut b = Builder::new(Endian::native());
    let int = b.int("int", 4, Builder::SIGNED);
    let proto = b.func_proto(int, &[]);
    let (main, number) = (b.func("main", proto, 0).0, b.func("number", proto, 0).0);
    let returned = returned(&mut b);
    let proto = b.func_proto(returned, &[]);
    let special = b.func("special", proto, 0).0;
    (b.finish(), Functions { main, number, special })
}

/// `r0 = 0`.
const ZERO: Insn = Insn { code: 0xb7, dst: 0, src: 0, off: 0, imm: 0 };
/// `r6 = r1`, which loads of packet data need.
const CONTEXT: Insn = Insn { code: 0xbf, dst: 6, src: 1, off: 0, imm: 0 };
const EXIT: Insn = Insn { code: 0x95, dst: 0, src: 0, off: 0, imm: 0 };
const PACKET_LOAD: Insn = Insn { code: 0x30, dst: 0, src: 0, off: 0, imm: 0 };
const PACKET_LOAD_INDIRECT: Insn = Insn { code: 0x50, dst: 0, src: 0, off: 0, imm: 0 };
const TAIL_CALL: Insn = Insn { code: 0x85, dst: 0, src: 0, off: 0, imm: 12 };
