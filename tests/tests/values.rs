//! Comparison of values with libbpf's `btf_dump__dump_type_data`: every struct and union of a kernel has the
//! same numbers in the same order. Names, types and punctuation may differ.

#[cfg(not(feature = "libbpf"))]
#[test]
fn libbpf_prints_the_same_values() {
    core_relo_test_support::skip!(Libbpf, "built without libbpf (cargo xtask test builds with it)");
}

#[cfg(feature = "libbpf")]
mod with_libbpf {
    use core_relo::btf::{Aggregate, Btf, Scalar, ValueLocation, ValueVisitor};
    use core_relo_test_support::skip;
    use core_relo_tests::{artifacts, libbpf};
    use std::{convert::Infallible, fs};

    /// The size limit of compared types. Larger types consist of smaller ones.
    const MAX_SIZE: u32 = 16 * 1024;

    #[test]
    fn libbpf_prints_the_same_values() {
        let (mut compared, mut numbers, mut failed) = (0, 0, 0);
        for kernel in artifacts::running_kernel().into_iter().chain(artifacts::kernel_btfs()) {
            let bytes = fs::read(&kernel).unwrap();
            let ours = Btf::parse(bytes.clone()).unwrap();
            if ours.endian() != core_relo::Endian::native() {
                continue; // libbpf reads values in the host's order only
            }
            let theirs = libbpf::Btf::parse(&bytes, None).unwrap();
            let theirs = theirs.value_printer().unwrap();
            let mut random = fastrand::Rng::with_seed(7);
            for ty in ours.types().filter(|ty| ty.kind().is_composite()) {
                let size = ty.size().map_or(0, |size| size.0);
                if size > MAX_SIZE {
                    continue;
                }
                // Without printable and zero bytes, libbpf prints no characters and cuts no array short.
                let value: Vec<u8> = (0..size).map(|_| random.u8(0x80..)).collect();
                let Some(text) = theirs.print(ty.id().0, &value) else {
                    failed += 1;
                    continue;
                };
                let mut our_tokens = Tokens(Vec::new());
                let Ok(()) = ours.value(ty.id(), &value).visit(&mut our_tokens);
                let place =
                    || format!("{} {ty:?}:\n{:#}\n{text}", kernel.display(), ours.value(ty.id(), &value));
                let their_tokens = tokenize(&text);
                if let Some((one, other)) =
                    our_tokens.0.iter().zip(&their_tokens).find(|(one, other)| !one.matches(other))
                {
                    panic!("{one:?} here, {other} in libbpf: {}", place());
                }
                assert_eq!(our_tokens.0.len(), their_tokens.len(), "{}", place());
                compared += 1;
                numbers += their_tokens.len();
            }
        }
        println!("compared {compared} values of {numbers} parts with libbpf, which failed for {failed}");
        if compared == 0 {
            skip!(Kernels, "neither the running kernel nor target/kernels has BTF of this byte order");
        }
    }

    /// Splits libbpf's output into tokens without commas.
    fn tokenize(text: &str) -> Vec<String> {
        let spaced = text.replace(['{', '['], " { ").replace(['}', ']'], " } ").replace(',', " ");
        spaced.split_whitespace().map(str::to_owned).collect()
    }

    #[derive(Debug)]
    enum Token {
        Open,
        Close,
        Number(i128),
        Name(String),
        /// A value that both print differently.
        Any,
    }

    impl Token {
        fn matches(&self, other: &str) -> bool {
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
                        // libbpf prints bitfields without their sign.
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

    /// Returns the value of a `char`, whose type may be signed or unsigned.
    fn char_value(at: &ValueLocation<'_>, byte: u8) -> i128 {
        let mut ty = at.btf.strip(at.ty).unwrap();
        if let Some(array) = ty.array() {
            ty = at.btf.strip(array.element).unwrap();
        }
        if ty.int().unwrap().is_signed() { byte.cast_signed().into() } else { byte.into() }
    }
}
