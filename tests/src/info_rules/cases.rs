//! A case for each rule.

use super::{
    CONTEXT, EXIT, Functions, InfoCase, PACKET_LOAD, PACKET_LOAD_INDIRECT, Records, TAIL_CALL, ZERO,
    string_bytes, types,
};
use core_relo::{
    TypeId,
    btf::{Builder, Kind},
    insn::{Insn, LD_IMM64},
};

/// Returns all cases.
pub fn cases() -> Vec<InfoCase> {
    [functions(), function_sizes(), results(), lines(), line_sizes(), both()].into_iter().flatten().collect()
}

/// The instructions of a program that calls a function at instruction 5. Instruction 1 is the second half of
/// a 64-bit load.
fn with_function(function: &[Insn]) -> Vec<Insn> {
    let call = Insn { code: 0x85, dst: 0, src: 1, off: 0, imm: 2 };
    let load = Insn { code: LD_IMM64, dst: 2, src: 0, off: 0, imm: 7 };
    [&[load, Insn::default(), call, ZERO, EXIT][..], function].concat()
}

/// The first instruction of the called function.
const FUNCTION: u32 = 5;

/// Returns a case without records, whose function `special` returns `int`.
fn case(name: &'static str, message: Option<&'static str>) -> (InfoCase, Functions) {
    let (btf, functions) = types(|_| TypeId(1));
    let case = InfoCase {
        name,
        btf,
        insns: with_function(&[ZERO, EXIT]),
        functions: vec![0, FUNCTION],
        func_info: Records::new::<2>(&[]),
        line_info: Records::new::<4>(&[]),
        message,
    };
    (case, functions)
}

/// Returns a case with `func_info` records.
fn with_functions<const N: usize>(
    name: &'static str,
    message: Option<&'static str>,
    records: impl FnOnce(Functions) -> Vec<[u32; N]>,
) -> InfoCase {
    let (mut case, functions) = case(name, message);
    case.func_info = Records::new(&records(functions));
    case
}

/// Returns a case with `line_info` records.
fn with_lines<const N: usize>(
    name: &'static str,
    message: Option<&'static str>,
    records: &[[u32; N]],
) -> InfoCase {
    let (mut case, _) = case(name, message);
    case.line_info = Records::new(records);
    case
}

fn functions() -> Vec<InfoCase> {
    const COUNT: Option<&str> = Some("number of funcs in func_info doesn't match number of subprogs");
    const LAYOUT: Option<&str> = Some("func_info BTF section doesn't match subprog layout in BPF program");
    const FIRST: Option<&str> = Some("for the first func info record");
    const ORDER: Option<&str> = Some("than previous func info record");
    const TYPE: Option<&str> = Some("invalid type id");
    vec![
        case("no records", None).0,
        with_functions("func_info/each function", None, |f| vec![[0, f.main], [5, f.number]]),
        with_functions("func_info/the same type twice", None, |f| vec![[0, f.main], [5, f.main]]),
        with_functions("func_info/too few", COUNT, |f| vec![[0, f.main]]),
        with_functions("func_info/too many", COUNT, |f| vec![[0, f.main], [5, f.number], [6, f.number]]),
        with_functions("func_info/first not at 0", FIRST, |f| vec![[1, f.main], [5, f.number]]),
        with_functions("func_info/first not at 0, and too few", FIRST, |f| vec![[5, f.main]]),
        with_functions("func_info/equal instructions", ORDER, |f| vec![[0, f.main], [0, f.number]]),
        with_functions("func_info/descending", FIRST, |f| vec![[5, f.number], [0, f.main]]),
        with_functions("func_info/descending after the first", ORDER, |f| {
            vec![[0, f.main], [6, f.number], [5, f.number]]
        }),
        with_functions("func_info/before the function", LAYOUT, |f| vec![[0, f.main], [4, f.number]]),
        with_functions("func_info/after its start", LAYOUT, |f| vec![[0, f.main], [6, f.number]]),
        with_functions("func_info/after the program", LAYOUT, |f| vec![[0, f.main], [7, f.number]]),
        with_functions("func_info/largest instruction", LAYOUT, |f| vec![[0, f.main], [u32::MAX, f.number]]),
        with_functions("func_info/void", TYPE, |f| vec![[0, 0], [5, f.number]]),
        with_functions("func_info/an integer", TYPE, |f| vec![[0, f.main], [5, 1]]),
        with_functions("func_info/a prototype", TYPE, |f| vec![[0, f.main], [5, 2]]),
        with_functions("func_info/no such type", TYPE, |f| vec![[0, f.main], [5, 99]]),
        with_functions("func_info/largest type", TYPE, |f| vec![[0, u32::MAX], [5, f.number]]),
    ]
}

/// Records of other sizes.
fn function_sizes() -> Vec<InfoCase> {
    const SIZE: Option<&str> = Some("invalid func info rec size");
    const TAIL: Option<&str> = Some("nonzero tailing record in");
    let sized = |name, message, record_bytes| {
        let mut case = with_functions(name, message, |f| vec![[0, f.main], [5, f.number]]);
        case.func_info.record_bytes = record_bytes;
        case
    };
    vec![
        sized("func_info/4 bytes", SIZE, 4),
        sized("func_info/9 bytes", SIZE, 9),
        sized("func_info/252 bytes", None, 252),
        sized("func_info/256 bytes", SIZE, 256),
        with_functions("func_info/a tail of zeros", None, |f| vec![[0, f.main, 0], [5, f.number, 0]]),
        with_functions("func_info/a tail", TAIL, |f| vec![[0, f.main, 0], [5, f.number, 1]]),
        with_functions("func_info/a tail before a wrong type", TAIL, |f| vec![[0, f.main, 1], [5, 1, 0]]),
        with_functions("func_info/a wrong type before a tail", Some("invalid type id"), |f| {
            vec![[0, 1, 0], [5, f.number, 1]]
        }),
    ]
}

/// Adds a type that a function returns.
type AddType = fn(&mut Builder) -> TypeId;

/// The types that functions return, and whether they count as numbers.
const RESULTS: [(&str, bool, AddType); 12] = [
    ("int", true, |_| TypeId(1)),
    ("void", false, |_| TypeId::VOID),
    ("char", true, |b| b.int("char", 1, Builder::CHAR)),
    ("unsigned long", true, |b| b.int("unsigned long", 8, 0)),
    ("__int128", false, |b| b.int("__int128", 16, Builder::SIGNED)),
    ("bool", true, |b| b.int("bool", 1, Builder::BOOL)),
    ("enum", true, |b| b.enumeration("e", 4, &[("A", 1)])),
    ("pointer", false, |b| b.pointer(TypeId(1))),
    ("struct", false, |b| b.structure("s", 4, &[("a", TypeId(1), 0)])),
    ("union", false, |b| b.union("u", 4, &[("a", TypeId(1), 0)])),
    ("typedef of const int", true, |b| {
        let constant = b.modifier(Kind::Const, TypeId(1));
        b.typedef("t", constant)
    }),
    ("typedef of a pointer", false, |b| {
        let pointer = b.pointer(TypeId(1));
        b.typedef("t", pointer)
    }),
];

/// Functions with tail calls or loads of packet data, by their result.
fn results() -> Vec<InfoCase> {
    const PACKET: &str = "LD_ABS is only allowed in functions that return 'int'";
    const CALL: &str = "tail_call is only allowed in functions that return 'int'";
    let uses = [(PACKET_LOAD, PACKET), (PACKET_LOAD_INDIRECT, PACKET), (TAIL_CALL, CALL)];
    let mut cases = Vec::new();
    for (insn, message) in uses {
        for (name, is_number, returned) in RESULTS {
            let (mut own, _) = case(name, (!is_number).then_some(message));
            let (btf, functions) = types(returned);
            own.btf = btf;
            own.insns = with_function(&[CONTEXT, insn, ZERO, EXIT]);
            own.func_info = Records::new(&[[0, functions.main], [FUNCTION, functions.special]]);
            cases.push(own);
        }
        // The program itself may return anything.
        let (mut own, _) = case("result of the program", None);
        let (btf, functions) = types(|_| TypeId::VOID);
        own.btf = btf;
        own.insns = vec![CONTEXT, insn, ZERO, EXIT];
        own.functions = vec![0];
        own.func_info = Records::new(&[[0, functions.special]]);
        cases.push(own);
        let message = match message {
            PACKET => "LD_ABS is not allowed in subprogs without BTF",
            _ => "tail_call is not allowed in subprogs without BTF",
        };
        let (mut own, _) = case("without func_info", Some(message));
        own.insns = with_function(&[CONTEXT, insn, ZERO, EXIT]);
        cases.push(own.clone());
        own.name = "without func_info, with line_info";
        own.line_info = Records::new(&[[0, 0, 0, 0], [FUNCTION, 0, 0, 0]]);
        cases.push(own);
    }
    cases
}

fn lines() -> Vec<InfoCase> {
    const OFFSET: Option<&str> = Some(".insn_off:");
    const CODE: Option<&str> = Some("Invalid insn code at line_info");
    const STRING: Option<&str> = Some(".line_off or .file_name_off");
    const MISSING: Option<&str> = Some("missing bpf_line_info for");
    let end = string_bytes(&types(|_| TypeId(1)).0);
    vec![
        with_lines("line_info/each function", None, &[[0, 0, 0, 0], [5, 0, 0, 0]]),
        with_lines(
            "line_info/each instruction",
            None,
            &[0, 2, 3, 4, 5, 6].map(|insn| [insn, 0, 0, insn << 10]),
        ),
        with_lines("line_info/largest position", None, &[[0, 1, 1, u32::MAX], [5, 1, 1, u32::MAX]]),
        with_lines("line_info/last string", None, &[[0, end - 1, 0, 0], [5, 0, end - 1, 0]]),
        with_lines("line_info/equal instructions", OFFSET, &[[0, 0, 0, 0], [0, 0, 0, 0], [5, 0, 0, 0]]),
        with_lines("line_info/descending", OFFSET, &[[0, 0, 0, 0], [3, 0, 0, 0], [2, 0, 0, 0], [5, 0, 0, 0]]),
        with_lines("line_info/after the program", OFFSET, &[[0, 0, 0, 0], [5, 0, 0, 0], [7, 0, 0, 0]]),
        with_lines("line_info/largest instruction", OFFSET, &[[0, 0, 0, 0], [u32::MAX, 0, 0, 0]]),
        with_lines("line_info/only after the program", OFFSET, &[[7, 0, 0, 0]]),
        with_lines("line_info/second half of a load", CODE, &[[0, 0, 0, 0], [1, 0, 0, 0], [5, 0, 0, 0]]),
        with_lines("line_info/file outside", STRING, &[[0, end, 0, 0], [5, 0, 0, 0]]),
        with_lines("line_info/text outside", STRING, &[[0, 0, 0, 0], [5, 0, end, 0]]),
        with_lines("line_info/largest string", STRING, &[[0, u32::MAX, 0, 0], [5, 0, 0, 0]]),
        with_lines("line_info/not of the program", MISSING, &[[5, 0, 0, 0]]),
        with_lines("line_info/not at its start", MISSING, &[[2, 0, 0, 0], [5, 0, 0, 0]]),
        with_lines("line_info/not of the function", MISSING, &[[0, 0, 0, 0], [2, 0, 0, 0]]),
        with_lines("line_info/not at the function's start", MISSING, &[[0, 0, 0, 0], [6, 0, 0, 0]]),
        with_lines("line_info/a wrong string before a missing line", STRING, &[[0, end, 0, 0]]),
        with_lines(
            "line_info/a missing line before a wrong string",
            MISSING,
            &[[2, 0, 0, 0], [5, end, 0, 0]],
        ),
    ]
}

/// Records of other sizes.
fn line_sizes() -> Vec<InfoCase> {
    const TAIL: Option<&str> = Some("nonzero tailing record in");
    let sized = |name, message, record_bytes| {
        let mut case = with_lines(name, message, &[[0, 0, 0, 0], [5, 0, 0, 0]]);
        case.line_info.record_bytes = record_bytes;
        case
    };
    vec![
        sized("line_info/12 bytes", Some(""), 12),
        sized("line_info/18 bytes", Some(""), 18),
        sized("line_info/252 bytes", None, 252),
        sized("line_info/256 bytes", Some(""), 256),
        with_lines("line_info/a tail of zeros", None, &[[0, 0, 0, 0, 0], [5, 0, 0, 0, 0]]),
        with_lines("line_info/a tail", TAIL, &[[0, 0, 0, 0, 0], [5, 0, 0, 0, 1]]),
        with_lines("line_info/a tail before a wrong instruction", TAIL, &[[9, 0, 0, 0, 1], [5, 0, 0, 0, 0]]),
    ]
}

/// Both kinds of records.
fn both() -> Vec<InfoCase> {
    let with = |name, message, types: fn(Functions) -> [[u32; 2]; 2], lines: &[[u32; 4]]| {
        let mut case = with_functions(name, message, |f| types(f).to_vec());
        case.line_info = Records::new(lines);
        case
    };
    let good: fn(Functions) -> [[u32; 2]; 2] = |f| [[0, f.main], [5, f.number]];
    vec![
        with("both", None, good, &[[0, 0, 0, 0], [5, 0, 0, 0]]),
        with("both/wrong lines", Some("missing bpf_line_info for"), good, &[[0, 0, 0, 0]]),
        with(
            "both/wrong types and lines",
            Some("invalid type id"),
            |f| [[0, f.main], [5, 1]],
            &[[9, 0, 0, 0]],
        ),
        with(
            "both/wrong start and lines",
            Some("func_info BTF section doesn't match subprog layout in BPF program"),
            |f| [[0, f.main], [6, f.number]],
            &[[9, 0, 0, 0]],
        ),
    ]
}
