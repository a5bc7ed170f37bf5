//! The parser of a USDT probe's arguments, such as `-4@%edi 8@-16(%rbp)` (libbpf: `parse_usdt_arg`).
//!
//! An argument is its size in bytes (negative if the argument is signed), `@`, and its location in the
//! assembler syntax of the architecture.

/// The maximum number of arguments (`BPF_USDT_MAX_ARG_CNT`).
pub(super) const MAX_ARGS: usize = 12;

/// An architecture whose argument locations can be parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arch {
    X86_64,
    Aarch64,
    S390x,
    Riscv64,
    /// PowerPC with 64 bits, which libbpf does not support.
    Powerpc64,
    Arm,
}

impl Arch {
    /// Returns the architecture of this process. Returns `None` if it is not supported.
    pub(super) const fn native() -> Option<Self> {
        if cfg!(target_arch = "x86_64") {
            Some(Self::X86_64)
        } else if cfg!(target_arch = "aarch64") {
            Some(Self::Aarch64)
        } else if cfg!(target_arch = "s390x") {
            Some(Self::S390x)
        } else if cfg!(target_arch = "riscv64") {
            Some(Self::Riscv64)
        } else if cfg!(target_arch = "powerpc64") {
            Some(Self::Powerpc64)
        } else if cfg!(target_arch = "arm") {
            Some(Self::Arm)
        } else {
            None
        }
    }
}

/// The location of an argument. A register is an offset in bytes in the `struct pt_regs` that BPF programs
/// read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum ArgLocation {
    /// A constant value.
    Const(i64),
    /// A register.
    Register(u16),
    /// The value in memory at `register + offset`.
    Memory { register: u16, offset: i64 },
    /// The value in memory at `register + (index << shift) + offset`.
    Indexed { register: u16, index: u16, shift: u8, offset: i64 },
    /// A location that BPF programs cannot read: a floating-point register, an address of the linker, a
    /// struct by value.
    Unreadable,
}

/// An argument of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Arg {
    pub(super) location: ArgLocation,
    pub(super) is_signed: bool,
    /// The size in bytes: 1, 2, 4 or 8.
    pub(super) bytes: u8,
}

impl Arg {
    pub(super) const UNREADABLE: Self =
        Self { location: ArgLocation::Unreadable, is_signed: false, bytes: 8 };

    /// Returns whether the location has an index register.
    pub(super) const fn has_index(&self) -> bool {
        matches!(self.location, ArgLocation::Indexed { .. })
    }
}

/// The arguments of a probe.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Args {
    pub(super) list: Vec<Arg>,
    /// The number and the text of the first argument that is not readable.
    pub(super) first_unreadable: Option<String>,
}

/// Parses all arguments. An argument that cannot be read is an error for the program that reads it, not for
/// the probe. More than [`MAX_ARGS`] arguments are an error, which quotes the first one in excess.
pub(super) fn parse(arch: Arch, text: &[u8]) -> Result<Args, String> {
    let mut cursor = Cursor(text);
    let mut args = Args::default();
    loop {
        cursor.skip_space();
        if cursor.0.is_empty() {
            return Ok(args);
        }
        let here = cursor.0;
        let excerpt = |text: &[u8]| String::from_utf8_lossy(text.get(..64).unwrap_or(text)).into_owned();
        if args.list.len() == MAX_ARGS {
            return Err(format!(
                "too many arguments: expected at most {MAX_ARGS}, more from `{}`",
                excerpt(here)
            ));
        }
        let arg = cursor.arg(arch).unwrap_or_else(|| {
            let number = args.list.len();
            let (text, rest) = Cursor(here).split_arg();
            args.first_unreadable.get_or_insert_with(|| format!("{number}, `{}`,", excerpt(text)));
            cursor = Cursor(rest);
            Arg::UNREADABLE
        });
        args.list.push(arg);
    }
}

/// The text that is not parsed yet.
struct Cursor<'t>(&'t [u8]);

impl<'t> Cursor<'t> {
    fn arg(&mut self, arch: Arch) -> Option<Arg> {
        let size = self.integer()?;
        self.expect(b'@')?;
        let location = match arch {
            Arch::X86_64 => self.x86_64()?,
            Arch::S390x => self.s390x()?,
            Arch::Riscv64 => self.riscv64()?,
            Arch::Powerpc64 => self.powerpc64()?,
            Arch::Aarch64 => self.bracketed(None, aarch64_register)?,
            Arch::Arm => self.bracketed(Some(b'#'), arm_register)?,
        };
        let bytes = u8::try_from(size.unsigned_abs()).ok().filter(|b| matches!(b, 1 | 2 | 4 | 8))?;
        // A space or the end of the text must follow.
        let is_complete = self.0.first().is_none_or(u8::is_ascii_whitespace);
        is_complete.then_some(Arg { location, is_signed: size < 0, bytes })
    }

    /// Parses `%rax`, `$5`, `-8(%rbp)`, `(%rsp)`, `-96(%rbp,%rax,8)`.
    fn x86_64(&mut self) -> Option<ArgLocation> {
        if self.eat(b'%') {
            return Some(ArgLocation::Register(x86_64_register(self.word()?)?));
        }
        if self.eat(b'$') {
            return Some(ArgLocation::Const(self.integer()?));
        }
        let offset = if self.0.first() == Some(&b'(') { 0 } else { self.integer()? };
        self.expect(b'(')?;
        self.expect(b'%')?;
        let register = x86_64_register(self.word()?)?;
        if !self.eat(b',') {
            self.expect(b')')?;
            return Some(ArgLocation::Memory { register, offset });
        }
        self.expect(b'%')?;
        let index = x86_64_register(self.word()?)?;
        let scale = if self.eat(b',') { self.integer()? } else { 1 };
        self.expect(b')')?;
        let shift = match scale {
            1 => 0,
            2 => 1,
            4 => 2,
            8 => 3,
            _ => return None,
        };
        Some(ArgLocation::Indexed { register, index, shift, offset })
    }

    /// Parses `%r2`, `5`, `-28(%r15)`.
    fn s390x(&mut self) -> Option<ArgLocation> {
        if self.eat(b'%') {
            return Some(ArgLocation::Register(s390x_register(self.word()?)?));
        }
        let offset = self.integer()?;
        if !self.eat(b'(') {
            return Some(ArgLocation::Const(offset));
        }
        self.expect(b'%')?;
        let register = s390x_register(self.word()?)?;
        self.expect(b')')?;
        Some(ArgLocation::Memory { register, offset })
    }

    /// Parses `a1`, `5`, `-88(s0)`.
    fn riscv64(&mut self) -> Option<ArgLocation> {
        if self.0.first().is_some_and(u8::is_ascii_lowercase) {
            return Some(ArgLocation::Register(riscv64_register(self.word()?)?));
        }
        let offset = self.integer()?;
        if !self.eat(b'(') {
            return Some(ArgLocation::Const(offset));
        }
        let register = riscv64_register(self.word()?)?;
        self.expect(b')')?;
        Some(ArgLocation::Memory { register, offset })
    }

    /// Parses `%r3` or `3` (registers), `i5` (a constant), `-88(%r31)` or `-88(31)`.
    fn powerpc64(&mut self) -> Option<ArgLocation> {
        if self.eat(b'i') {
            return Some(ArgLocation::Const(self.integer()?));
        }
        if self.0.first() == Some(&b'%') {
            return Some(ArgLocation::Register(self.powerpc64_register()?));
        }
        let register_or_offset = self.integer()?;
        if !self.eat(b'(') {
            let register = u16::try_from(register_or_offset).ok().filter(|number| *number < 32)?;
            return Some(ArgLocation::Register(register.checked_mul(8)?));
        }
        let register = self.powerpc64_register()?;
        self.expect(b')')?;
        Some(ArgLocation::Memory { register, offset: register_or_offset })
    }

    /// Parses `%r3` or `3`. Returns the offset in `struct pt_regs`, which begins with the registers.
    fn powerpc64_register(&mut self) -> Option<u16> {
        let prefix = if self.eat(b'%') { "r" } else { "" };
        parse_number(self.word()?, prefix, 32)?.checked_mul(8)
    }

    /// Parses `x4`, `5`, `[sp]`, `[sp, 96]`. Numbers have a prefix on 32-bit Arm: `#5`, `[fp, #96]`.
    fn bracketed(&mut self, prefix: Option<u8>, register: fn(&[u8]) -> Option<u16>) -> Option<ArgLocation> {
        if self.eat(b'[') {
            self.skip_space();
            let register = register(self.word()?)?;
            self.skip_space();
            let offset = if self.eat(b',') {
                self.skip_space();
                self.prefixed_integer(prefix)?
            } else {
                0
            };
            self.skip_space();
            self.expect(b']')?;
            return Some(ArgLocation::Memory { register, offset });
        }
        if self.0.first().is_some_and(u8::is_ascii_lowercase) {
            return Some(ArgLocation::Register(register(self.word()?)?));
        }
        Some(ArgLocation::Const(self.prefixed_integer(prefix)?))
    }

    fn prefixed_integer(&mut self, prefix: Option<u8>) -> Option<i64> {
        if let Some(prefix) = prefix {
            self.expect(prefix)?;
        }
        self.integer()
    }

    fn integer(&mut self) -> Option<i64> {
        let has_sign = matches!(self.0.first(), Some(b'-' | b'+'));
        let digits = self.0.iter().skip(usize::from(has_sign)).take_while(|b| b.is_ascii_digit()).count();
        let text = self.take(digits.checked_add(usize::from(has_sign))?)?;
        let text = str::from_utf8(text).ok()?;
        // Compilers may write a negative number as an unsigned number of 64 bits.
        text.parse().ok().or_else(|| text.parse::<u64>().ok().map(u64::cast_signed))
    }

    fn word(&mut self) -> Option<&'t [u8]> {
        self.take(self.0.iter().take_while(|b| b.is_ascii_alphanumeric()).count())
    }

    fn take(&mut self, len: usize) -> Option<&'t [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    fn eat(&mut self, byte: u8) -> bool {
        match self.0.strip_prefix(&[byte]) {
            Some(rest) => {
                self.0 = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        self.eat(byte).then_some(())
    }

    /// Returns an argument of any syntax, the text up to a space that is not in brackets, and the rest.
    fn split_arg(&self) -> (&'t [u8], &'t [u8]) {
        let mut is_inside = false;
        let is_part = |byte: &&u8| {
            match byte {
                b'[' | b'(' => is_inside = true,
                b']' | b')' => is_inside = false,
                _ => {}
            }
            is_inside || !byte.is_ascii_whitespace()
        };
        let len = self.0.iter().take_while(is_part).count();
        self.0.split_at_checked(len).unwrap_or((self.0, &[]))
    }

    fn skip_space(&mut self) {
        self.0 = self.0.trim_ascii_start();
    }
}

/// Returns the offset of a register in `struct pt_regs`. Accepts the names of its parts, such as `eax` and
/// `al` for `rax`.
fn x86_64_register(name: &[u8]) -> Option<u16> {
    let name = str::from_utf8(name).ok()?;
    Some(match name {
        "rip" | "eip" => 128,
        "rax" | "eax" | "ax" | "al" => 80,
        "rbx" | "ebx" | "bx" | "bl" => 40,
        "rcx" | "ecx" | "cx" | "cl" => 88,
        "rdx" | "edx" | "dx" | "dl" => 96,
        "rsi" | "esi" | "si" | "sil" => 104,
        "rdi" | "edi" | "di" | "dil" => 112,
        "rbp" | "ebp" | "bp" | "bpl" => 32,
        "rsp" | "esp" | "sp" | "spl" => 152,
        _ => {
            let number = name.strip_prefix('r')?;
            let number = number.strip_suffix(['d', 'w', 'b']).unwrap_or(number);
            match number {
                "8" => 72,
                "9" => 64,
                "10" => 56,
                "11" => 48,
                "12" => 24,
                "13" => 16,
                "14" => 8,
                "15" => 0,
                _ => return None,
            }
        }
    })
}

/// Parses a register name that is a prefix and a number less than `count`, such as `r15`. Returns the number.
fn parse_number(name: &[u8], prefix: &str, count: u16) -> Option<u16> {
    let number = str::from_utf8(name).ok()?.strip_prefix(prefix)?;
    number.parse().ok().filter(|n| *n < count)
}

/// Returns the offset of a register in `user_pt_regs`, where `args` and `psw` (24 bytes) precede the
/// general-purpose registers.
fn s390x_register(name: &[u8]) -> Option<u16> {
    parse_number(name, "r", 16)?.checked_mul(8)?.checked_add(24)
}

/// Returns the offset of a register in `struct user_pt_regs`.
fn aarch64_register(name: &[u8]) -> Option<u16> {
    if name == b"sp" { Some(248) } else { parse_number(name, "x", 31)?.checked_mul(8) }
}

/// Returns the offset of a register in `struct user_regs_struct`.
fn riscv64_register(name: &[u8]) -> Option<u16> {
    const ORDER: [&[u8]; 32] = [
        b"pc", b"ra", b"sp", b"gp", b"tp", b"t0", b"t1", b"t2", b"s0", b"s1", b"a0", b"a1", b"a2", b"a3",
        b"a4", b"a5", b"a6", b"a7", b"s2", b"s3", b"s4", b"s5", b"s6", b"s7", b"s8", b"s9", b"s10", b"s11",
        b"t3", b"t4", b"t5", b"t6",
    ];
    let (index, _) = (0u16..).zip(ORDER).skip(1).find(|(_, register)| *register == name)?;
    index.checked_mul(8)
}

/// Returns the offset of a register in `struct pt_regs`.
fn arm_register(name: &[u8]) -> Option<u16> {
    let number = match name {
        b"fp" => 11,
        b"ip" => 12,
        b"sp" => 13,
        b"lr" => 14,
        b"pc" => 15,
        name => parse_number(name, "r", 11)?,
    };
    number.checked_mul(4)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_single(arch: Arch, text: &str) -> Option<(i8, ArgLocation)> {
        let args = parse(arch, text.as_bytes()).ok()?.list;
        let [arg] = args[..] else { return None };
        if arg.location == ArgLocation::Unreadable {
            return None;
        }
        let bytes = i8::try_from(arg.bytes).unwrap();
        Some((if arg.is_signed { bytes.checked_neg()? } else { bytes }, arg.location))
    }

    fn memory(register: u16, offset: i64) -> ArgLocation {
        ArgLocation::Memory { register, offset }
    }

    #[test]
    fn x86_64() {
        let parsed = |text| parse_single(Arch::X86_64, text);
        assert_eq!(parsed("-4@%eax"), Some((-4, ArgLocation::Register(80))));
        assert_eq!(parsed("1@%r10b"), Some((1, ArgLocation::Register(56))));
        assert_eq!(parsed("4@$71"), Some((4, ArgLocation::Const(71))));
        assert_eq!(parsed("-8@$-9"), Some((-8, ArgLocation::Const(-9))));
        assert_eq!(parsed("8@$18446744073709551615"), Some((8, ArgLocation::Const(-1))));
        assert_eq!(parsed("-4@-20(%rbp)"), Some((-4, memory(32, -20))));
        assert_eq!(parsed("8@(%rsp)"), Some((8, memory(152, 0))));
        let indexed = |shift, offset| ArgLocation::Indexed { register: 32, index: 80, shift, offset };
        assert_eq!(parsed("1@-96(%rbp,%rax,8)"), Some((1, indexed(3, -96))));
        assert_eq!(parsed("1@(%rbp,%rax,4)"), Some((1, indexed(2, 0))));
        assert_eq!(parsed("1@-96(%rbp,%rax)"), Some((1, indexed(0, -96))));
        assert_eq!(parsed("1@(%rbp,%rax)"), Some((1, indexed(0, 0))));
        for invalid in [
            "4@%xmm0",
            "8f@%xmm0",
            "3@%eax",
            "4@",
            "@%eax",
            "4%eax",
            "4@foo(%rip)",
            "4@(%rbp,%rax,3)",
            "4@%eax)",
        ] {
            assert_eq!(parsed(invalid), None, "{invalid}");
        }
    }

    #[test]
    fn powerpc64() {
        let parsed = |text| parse_single(Arch::Powerpc64, text);
        assert_eq!(parsed("8@%r3"), Some((8, ArgLocation::Register(24))));
        assert_eq!(parsed("-4@31"), Some((-4, ArgLocation::Register(248))));
        assert_eq!(parsed("-4@i-7"), Some((-4, ArgLocation::Const(-7))));
        assert_eq!(parsed("8@-88(%r31)"), Some((8, memory(248, -88))));
        assert_eq!(parsed("1@104(1)"), Some((1, memory(8, 104))));
        for invalid in ["8@%3", "8@32", "8@-1", "8@%r32", "8@8(r3)", "8@8(3", "8@8(%r3,%r4)", "8@i", "8@"] {
            assert_eq!(parsed(invalid), None, "{invalid}");
        }
    }

    #[test]
    fn aarch64_s390x_riscv64_and_arm() {
        let parsed = |text| parse_single(Arch::Aarch64, text);
        assert_eq!(parsed("-8@x4"), Some((-8, ArgLocation::Register(32))));
        assert_eq!(parsed("-4@5"), Some((-4, ArgLocation::Const(5))));
        assert_eq!(parsed("-4@[sp, 96]"), Some((-4, memory(248, 96))));
        assert_eq!(parsed("-4@[x30,-8]"), Some((-4, memory(240, -8))));
        assert_eq!(parsed("-4@[sp]"), Some((-4, memory(248, 0))));
        assert_eq!(parsed("-4@x31"), None);
        let parsed = |text| parse_single(Arch::S390x, text);
        assert_eq!(parsed("-2@-28(%r15)"), Some((-2, memory(144, -28))));
        assert_eq!(parsed("-8@%r0"), Some((-8, ArgLocation::Register(24))));
        assert_eq!(parsed("4@71"), Some((4, ArgLocation::Const(71))));
        assert_eq!(parsed("4@%r16"), None);
        let parsed = |text| parse_single(Arch::Riscv64, text);
        assert_eq!(parsed("-8@-88(s0)"), Some((-8, memory(64, -88))));
        assert_eq!(parsed("4@5"), Some((4, ArgLocation::Const(5))));
        assert_eq!(parsed("-8@a1"), Some((-8, ArgLocation::Register(88))));
        assert_eq!(parsed("-8@t6"), Some((-8, ArgLocation::Register(248))));
        assert_eq!(parsed("-8@pc"), None);
        let parsed = |text| parse_single(Arch::Arm, text);
        assert_eq!(parsed("-4@[fp, #96]"), Some((-4, memory(44, 96))));
        assert_eq!(parsed("-4@[sp]"), Some((-4, memory(52, 0))));
        assert_eq!(parsed("4@#5"), Some((4, ArgLocation::Const(5))));
        assert_eq!(parsed("-4@r4"), Some((-4, ArgLocation::Register(16))));
        assert_eq!(parsed("4@5"), None);
    }

    #[test]
    fn up_to_12_arguments_are_parsed() {
        let args = parse(Arch::X86_64, b"-4@%esi -4@-24(%rbp)  2@%ax 8@$1 ").unwrap();
        assert_eq!((args.list.len(), args.first_unreadable), (4, None));
        assert_eq!(parse(Arch::X86_64, b""), Ok(Args::default()));
        assert_eq!(parse(Arch::Aarch64, b"4@[sp, 4] 4@[sp, 8]").map(|a| a.list.len()), Ok(2));
        assert!(parse(Arch::X86_64, "4@$1 ".repeat(12).as_bytes()).is_ok());
        assert!(
            parse(Arch::X86_64, "4@$1 ".repeat(13).as_bytes()).unwrap_err().contains("expected at most 12")
        );
    }

    #[test]
    fn an_argument_that_cannot_be_read_leaves_the_others_readable() {
        for (arch, text, unreadable) in [
            (Arch::X86_64, "4@$1 4@%xmm0 4@$2", "4@%xmm0"),
            (Arch::X86_64, "4@$1 16@-16(%rbp) 4@$2", "16@-16(%rbp)"),
            (Arch::X86_64, "4@$1 8@counter(%rip) 4@$2", "8@counter(%rip)"),
            (Arch::X86_64, "4@$1 8@$symbol 4@$2", "8@$symbol"),
            (Arch::X86_64, "4@$1 -8@-8( %rbp, %xmm0 ) 4@$2", "-8@-8( %rbp, %xmm0 )"),
            (Arch::Aarch64, "4@1 8@d0 4@2", "8@d0"),
            (Arch::Aarch64, "4@1 8@[x0, x1] 4@2", "8@[x0, x1]"),
            (Arch::X86_64, "4@$1 x 4@$2", "x"),
        ] {
            let args = parse(arch, text.as_bytes()).unwrap();
            let locations: Vec<_> = args.list.iter().map(|arg| arg.location).collect();
            let expected = [ArgLocation::Const(1), ArgLocation::Unreadable, ArgLocation::Const(2)];
            assert_eq!(locations, expected, "{text}");
            assert_eq!(args.first_unreadable.unwrap(), format!("1, `{unreadable}`,"));
        }
        // A bracket without its end takes the rest.
        assert_eq!(parse(Arch::Aarch64, b"8@[x0, 4@1 4@2").map(|args| args.list.len()), Ok(1));
    }
}
