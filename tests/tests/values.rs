//! Values of every struct and union of kernels, as libbpf's `btf_dump__dump_type_data` reads them: the same numbers in the same
//! order. Names, types and punctuation are each one's own.

#[cfg(not(feature = "libbpf"))]
#[test]
fn libbpf_reads_the_same_values() {
    core_relo_tests::skip::skip("values", "built without libbpf (cargo xtask test builds with it)");
}

#[cfg(feature = "libbpf")]
mod with_libbpf {
    use core_relo::btf::{Aggregate, Btf, Scalar, ValueLocation, ValueVisitor};
    use core_relo_tests::{artifacts, judge, skip::skip};
    use std::{convert::Infallible, fs};

    /// Larger ones are left out: they hold what smaller ones do.
    const LARGEST: u32 = 16 * 1024;

    #[test]
    fn libbpf_reads_the_same_values() {
        let (mut compared, mut numbers, mut given_up) = (0, 0, 0);
        for kernel in artifacts::running_kernel().into_iter().chain(artifacts::kernel_btfs()) {
            let bytes = fs::read(&kernel).unwrap();
            let ours = Btf::parse(bytes.clone()).unwrap();
            if ours.endian() != core_relo::Endian::native() {
                continue; // libbpf reads values in the host's order only
            }
            let theirs = judge::Btf::parse(&bytes, None).unwrap();
            let theirs = theirs.values().unwrap();
            let mut random = fastrand::Rng::with_seed(7);
            for ty in ours.types().filter(|ty| ty.kind().is_composite()) {
                let size = ty.size().map_or(0, |size| size.0);
                if size > LARGEST {
                    continue;
                }
                // No byte is printable or zero, so that libbpf prints no characters and ends no array early.
                let value: Vec<u8> = (0..size).map(|_| random.u8(0x80..)).collect();
                let Some(text) = theirs.print(ty.id().0, &value) else {
                    given_up += 1;
                    continue;
                };
                let mut told = Tokens(Vec::new());
                let Ok(()) = ours.value(ty.id(), &value).visit(&mut told);
                let place =
                    || format!("{} {ty:?}:\n{:#}\n{text}", kernel.display(), ours.value(ty.id(), &value));
                let read = tokens(&text);
                if let Some((one, other)) = told.0.iter().zip(&read).find(|(one, other)| !one.says(other)) {
                    panic!("{one:?} here, {other} in libbpf: {}", place());
                }
                assert_eq!(told.0.len(), read.len(), "{}", place());
                compared += 1;
                numbers += read.len();
            }
        }
        println!("compared {compared} values of {numbers} parts with libbpf, which gave up on {given_up}");
        if compared == 0 {
            skip("values", "neither the running kernel nor target/kernels has BTF of this byte order");
        }
    }

    /// What libbpf printed, without commas.
    fn tokens(text: &str) -> Vec<String> {
        let apart = text.replace(['{', '['], " { ").replace(['}', ']'], " } ").replace(',', " ");
        apart.split_whitespace().map(str::to_owned).collect()
    }

    #[derive(Debug)]
    enum Token {
        Open,
        Close,
        Number(i128),
        Name(String),
        /// Of no type that both print alike.
        Any,
    }

    impl Token {
        fn says(&self, other: &str) -> bool {
            match self {
                Self::Open => other == "{",
                Self::Close => other == "}",
                Self::Name(name) => name == other,
                Self::Any => !matches!(other, "{" | "}"),
                Self::Number(one) => {
                    let digits = other.trim_end_matches(['U', 'L']);
                    let hex = digits.strip_prefix("0x").map(|hex| u128::from_str_radix(hex, 16).ok());
                    match hex {
                        None => digits.parse() == Ok(*one),
                        Some(None) => false,
                        // Bitfields are printed without their sign.
                        Some(Some(bits)) => {
                            let one = one.cast_unsigned();
                            one == bits
                                || (1..64).any(|width| {
                                    one & ((1 << width) - 1) == bits && one >> width == u128::MAX >> width
                                })
                        }
                    }
                }
            }
        }
    }

    struct Tokens(Vec<Token>);

    impl ValueVisitor for Tokens {
        type Error = Infallible;

        fn open(&mut self, _: &ValueLocation<'_>, _: Aggregate) -> Result<(), Infallible> {
            self.0.push(Token::Open);
            Ok(())
        }

        fn close(&mut self, _: Aggregate) -> Result<(), Infallible> {
            self.0.push(Token::Close);
            Ok(())
        }

        fn scalar(&mut self, at: &ValueLocation<'_>, scalar: Scalar<'_>) -> Result<(), Infallible> {
            let signed = |v: i128| Token::Number(v);
            let token = match scalar {
                Scalar::Unsigned(v) => signed(v.cast_signed()),
                Scalar::Signed(v) => signed(v),
                Scalar::Pointer(v) => signed(v.into()),
                Scalar::Bool(v) => signed(v.into()),
                Scalar::Char(v) => signed(char_value(at, v)),
                Scalar::Enum(v) => v.name().map_or(signed(v.value()), |name| Token::Name(name.to_string())),
                Scalar::Text { bytes, .. } => {
                    self.0.push(Token::Open);
                    self.0.extend(bytes.iter().map(|b| Token::Number(char_value(at, *b))));
                    Token::Close
                }
                _ => Token::Any,
            };
            self.0.push(token);
            Ok(())
        }
    }

    /// What a `char` is where it stands: signed or not.
    fn char_value(at: &ValueLocation<'_>, byte: u8) -> i128 {
        let mut ty = at.btf.strip(at.ty).unwrap();
        if let Some(array) = ty.array() {
            ty = at.btf.strip(array.element).unwrap();
        }
        if ty.int().unwrap().is_signed() { byte.cast_signed().into() } else { byte.into() }
    }
}
