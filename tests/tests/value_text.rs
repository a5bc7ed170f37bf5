//! Comparison of values with the text of libbpf's `btf_dump__dump_type_data`, with every combination of its options.
//!
//! core-relo's values are printed by libbpf's rules here, and must give libbpf's text. So names, types, numbers, order and the parts
//! that are left out are the same. The rules that core-relo's own text does not follow are in docs/libbpf-differences.md.

#[cfg(not(feature = "libbpf"))]
#[test]
fn values_are_printed_as_libbpf_prints_them() {
    core_relo_tests::skip::skip("value_text", "built without libbpf (cargo xtask test builds with it)");
}

#[cfg(feature = "libbpf")]
mod with_libbpf {
    use core_relo::{
        TypeId,
        btf::{Aggregate, Btf, Builder, CType, Kind, Scalar, Type, ValueLocation, ValueVisitor},
    };
    use core_relo_tests::{
        artifacts,
        libbpf::{self, ValueStyle},
        skip::skip,
    };
    use std::{convert::Infallible, fs};

    /// The number of types of the running kernel that are compared.
    const TYPES: usize = 1000;

    /// The size limit of compared types. Larger types consist of smaller ones.
    const MAX_SIZE: u64 = 4096;

    #[test]
    fn values_are_printed_as_libbpf_prints_them() {
        let Some(path) = artifacts::running_kernel() else {
            return skip("value_text", "the running kernel has no BTF");
        };
        let bytes = fs::read(&path).unwrap();
        let ours = Btf::parse(bytes.clone()).unwrap();
        let theirs = libbpf::Btf::parse(&bytes, None).unwrap();
        let theirs = theirs.value_printer().unwrap();
        let mut random = fastrand::Rng::with_seed(7);
        let has_values = |ty: &Type<'_>| {
            let kinds =
                [Kind::Struct, Kind::Union, Kind::Int, Kind::Enum, Kind::Enum64, Kind::Array, Kind::Typedef];
            kinds.contains(&ty.kind())
                && ours.size_of(ty.id()).is_ok_and(|size| (1..=MAX_SIZE).contains(&size.0.into()))
        };
        let mut ids: Vec<_> = ours.types().filter(has_values).map(Type::id).collect();
        random.shuffle(&mut ids);
        let (mut compared, mut failed, mut differences) = (0, 0, Vec::new());
        for id in ids.into_iter().take(TYPES) {
            let size = usize::try_from(ours.size_of(id).unwrap().0).unwrap();
            let mut texts = |random: &mut fastrand::Rng, choose: &dyn Fn(&mut fastrand::Rng) -> u8| {
                let value: Vec<u8> = (0..size).map(|_| choose(random)).collect();
                let short = random.usize(..=size);
                let has_enum_bitfield = Parts::of(&ours, id, &value).has_enum_bitfield;
                // Without zeroes, libbpf looks at the whole word of such a member.
                for style in styles().filter(|style| style.emit_zeroes || !has_enum_bitfield) {
                    match theirs.print_with(id.0, &value, style) {
                        Err(_) => failed += 1,
                        Ok(text) => {
                            let (Ok(expected) | Err(expected)) = Model::render(&ours, id, &value, style);
                            differences.extend(difference(&expected, &normal(&text), &ours, id, style));
                            compared += 1;
                        }
                    }
                    // libbpf stops at the first number that lies after the end, or goes on after the array.
                    let (Ok(text) | Err(text)) = theirs.print_with(id.0, &value[..short], style);
                    let text = normal(&text);
                    let (expected, text) = match Model::render(&ours, id, &value[..short], style) {
                        Ok(expected) => (expected, text),
                        Err(start) => {
                            let start = start.trim_end().to_owned();
                            let text = text.get(..start.len()).unwrap_or(&text).to_owned();
                            (start, text)
                        }
                    };
                    differences.extend(difference(&expected, &text, &ours, id, style));
                }
            };
            texts(&mut random, &|_| 0);
            texts(&mut random, &|random| random.u8(..));
            texts(&mut random, &|random| if random.u8(..5) == 0 { 0 } else { random.u8(b' '..=b'~') });
            // Without zeroes, nothing is left of a value of zeroes but its outermost braces.
            let zeroes = vec![0; size];
            let has_enum_bitfield = Parts::of(&ours, id, &zeroes).has_enum_bitfield;
            if ours.strip(id).unwrap().kind().is_composite() && !has_enum_bitfield {
                let text = ours.value(id, &zeroes).text().zeroes(false).types(false).to_string();
                let style = ValueStyle { compact: true, skip_names: true, emit_zeroes: false };
                assert_eq!(Ok(text), theirs.print_with(id.0, &zeroes, style), "{:?}", ours.ty(id));
            }
        }
        println!("compared {compared} texts with libbpf, which failed for {failed}");
        assert!(compared > 20 * TYPES, "{compared} of {TYPES} types");
        differences.dedup_by_key(|text| text.split_once(" ValueStyle").map(|(ty, _)| ty.to_owned()));
        let (count, first) =
            (differences.len(), differences.iter().take(10).cloned().collect::<Vec<_>>().join("\n"));
        assert_eq!(count, 0, "differences, such as\n{first}");
    }

    /// The example of libbpf's documentation of `btf_dump__dump_type_data` (`struct sk_buff` there), and of its selftests (`tmp_t`).
    #[test]
    fn the_example_of_the_documentation() {
        let mut b = Builder::new(core_relo::Endian::native());
        let int = b.int("int", 4, Builder::SIGNED);
        let char = b.int("char", 1, Builder::SIGNED);
        let text = b.array(char, int, 4);
        let numbers = b.array(int, int, 2);
        let inner = b.structure("inner", 8, &[("x", int, 0), ("y", int, 32)]);
        let pointer = b.pointer(inner);
        let tmp = b.structure(
            "tmp",
            32,
            &[("a", int, 0), ("s", text, 32), ("n", numbers, 64), ("i", inner, 128), ("p", pointer, 192)],
        );
        let tmp_t = b.typedef("tmp_t", tmp);
        let bytes = b.finish();
        let ours = Btf::parse(bytes.clone()).unwrap();
        let theirs = libbpf::Btf::parse(&bytes, None).unwrap();
        let theirs = theirs.value_printer().unwrap();
        let words = [1u32, 0, 0, 5, 0, 7, 0, 0];
        let mut value: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        value[4..6].copy_from_slice(b"hi");
        for style in styles() {
            let text = theirs.print_with(tmp_t.0, &value, style).unwrap();
            assert_eq!(Model::render(&ours, tmp_t, &value, style), Ok(normal(&text)), "{style:?}");
        }
        let style = ValueStyle { compact: true, skip_names: false, emit_zeroes: true };
        assert_eq!(
            theirs.print_with(tmp_t.0, &value, style).unwrap().replace("(nil)", "0x0"),
            "(tmp_t){.a = (int)1,.s = (char[4])['h','i','\\0',],.n = (int[2])[0,5,],\
             .i = (struct inner){.x = (int)0,.y = (int)7,},.p = (struct inner *)0x0,}"
        );
        assert_eq!(
            ours.value(tmp_t, &value).to_string(),
            "(tmp_t){.a = (int)1, .s = (char[4])\"hi\", .n = (int[2])[0, 5], \
             .i = (struct inner){.x = (int)0, .y = (int)7}, .p = (struct inner *)0x0}"
        );
    }

    /// Returns the place where two texts differ. The comparison ends where core-relo leaves out the parameters of a function after the
    /// eighth.
    fn difference(ours: &str, theirs: &str, btf: &Btf<'_>, id: TypeId, style: ValueStyle) -> Option<String> {
        let end = ours.find(", ...)").unwrap_or(usize::MAX);
        let [ours, theirs] = [ours, theirs].map(|text| text.get(..end).unwrap_or(text));
        let same = ours.bytes().zip(theirs.bytes()).take_while(|(one, other)| one == other).count();
        if same == ours.len() && same == theirs.len() {
            return None;
        }
        let around = |text: &str| {
            let bytes = &text.as_bytes()[same.saturating_sub(60)..text.len().min(same + 40)];
            String::from_utf8_lossy(bytes).into_owned()
        };
        Some(format!(
            "{} {style:?}:\n  here {:?}\n  libbpf {:?}",
            CType::new(btf, id),
            around(ours),
            around(theirs)
        ))
    }

    fn styles() -> impl Iterator<Item = ValueStyle> {
        (0..8).map(|bits| ValueStyle {
            compact: bits & 1 != 0,
            skip_names: bits & 2 != 0,
            emit_zeroes: bits & 4 != 0,
        })
    }

    /// Returns libbpf's text with the null pointer as libbpf prints it at an unaligned address, without a space after `enum`, and without the
    /// numbers of equal names: libbpf calls the second type of a name `u8___2`.
    fn normal(text: &str) -> String {
        let text = text.replace("(nil)", "0x0").replace("(enum )", "(enum)");
        let mut parts = text.split("___");
        let mut out = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let rest = part.trim_start_matches(|c: char| c.is_ascii_digit());
            let ends_name = !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
            let is_number = rest.len() < part.len() && ends_name;
            out += &if is_number { rest.to_owned() } else { format!("___{part}") };
        }
        out
    }

    /// Returns a type in libbpf's notation: without `const` and `volatile`, and `char(*)[2]` for `char (*)[2]`.
    fn libbpf_type(c_type: &str) -> String {
        let mut text = c_type.replace(" {...}", "").replace(" (*)[", "(*)[").replace(" (**)[", "(**)[");
        for modifier in ["const", "volatile"] {
            for (word, without) in [(format!("{modifier} "), ""), (format!("*{modifier}"), "*")] {
                text = text.replace(&word, without);
            }
        }
        text
    }

    /// A part of a value, as core-relo visits it.
    struct Part {
        name: String,
        c_type: String,
        content: Content,
    }

    enum Content {
        Parts {
            is_array: bool,
            has_byte_elements: bool,
            parts: Vec<Part>,
        },
        /// An integer of one byte, which libbpf may print as a character.
        Byte {
            byte: u8,
            number: String,
        },
        Number {
            text: String,
            is_zero: bool,
            has_comma: bool,
        },
        /// The data ends before the part.
        CutOff,
    }

    /// Prints the parts by libbpf's rules.
    struct Model {
        style: ValueStyle,
        out: String,
        depth: usize,
        in_array: bool,
        /// Whether an array of bytes was begun. libbpf never resets it.
        has_byte_array: bool,
        /// Whether the NUL of a text was printed.
        is_terminated: bool,
    }

    /// The data ends.
    struct Ends;

    impl Model {
        /// Returns the text of a value, or its start if the data ends early.
        fn render(btf: &Btf<'_>, ty: TypeId, bytes: &[u8], style: ValueStyle) -> Result<String, String> {
            let parts = Parts::of(btf, ty, bytes);
            let mut model = Self {
                style,
                out: String::new(),
                depth: 0,
                in_array: false,
                has_byte_array: false,
                is_terminated: false,
            };
            match model.part(&parts.finished.unwrap()) {
                Ok(()) => Ok(model.out),
                Err(Ends) => Err(model.out),
            }
        }

        fn part(&mut self, part: &Part) -> Result<(), Ends> {
            if matches!(part.content, Content::CutOff) {
                return Err(Ends);
            }
            let shows_zero =
                self.style.emit_zeroes || self.depth == 0 || (self.in_array && !self.has_byte_array);
            if !shows_zero && is_zero(part)? {
                return Ok(());
            }
            self.prefix();
            if !self.style.skip_names {
                if !part.name.is_empty() {
                    self.out += &format!(".{} = ", part.name);
                }
                // libbpf prints no types in arrays, also not those of the members of elements.
                if !self.in_array {
                    self.out += &format!("({})", libbpf_type(&part.c_type));
                }
            }
            match &part.content {
                Content::Byte { byte, .. } if self.has_byte_array && !self.is_terminated && *byte == 0 => {
                    self.value("'\\0'");
                    self.is_terminated = true;
                }
                // libbpf also leaves out the bytes after the array.
                Content::Byte { .. } if self.has_byte_array && self.is_terminated => {}
                Content::Byte { byte, .. } if self.has_byte_array && matches!(byte, b' '..=b'~') => {
                    self.value(&format!("'{}'", char::from(*byte)));
                }
                Content::Byte { number, .. } => self.value(number),
                Content::Number { text, has_comma: true, .. } => self.value(text),
                Content::Number { text, .. } => self.out += text,
                Content::Parts { is_array: true, has_byte_elements, parts } => {
                    self.has_byte_array |= has_byte_elements;
                    self.array(parts)?;
                }
                Content::Parts { parts, .. } => {
                    self.depth += 1;
                    self.out.push('{');
                    self.newline();
                    parts.iter().try_for_each(|part| self.part(part))?;
                    self.depth -= 1;
                    self.prefix();
                    self.value("}");
                }
                Content::CutOff => {}
            }
            Ok(())
        }

        fn array(&mut self, parts: &[Part]) -> Result<(), Ends> {
            self.depth += 1;
            self.out.push('[');
            self.newline();
            let outer = (self.in_array, self.is_terminated);
            (self.in_array, self.is_terminated) = (true, false);
            for part in parts {
                if self.is_terminated {
                    break;
                }
                self.part(part)?;
            }
            (self.in_array, self.is_terminated) = outer;
            self.depth -= 1;
            self.prefix();
            self.value("]");
            Ok(())
        }

        fn value(&mut self, text: &str) {
            self.out += text;
            if self.depth > 0 {
                self.out.push(',');
            }
            self.newline();
        }

        fn newline(&mut self) {
            if !self.style.compact && self.depth > 0 {
                self.out.push('\n');
            }
        }

        fn prefix(&mut self) {
            if !self.style.compact {
                self.out += &"\t".repeat(self.depth);
            }
        }
    }

    /// Returns whether libbpf takes a part for zero. Of a struct or union, libbpf looks only at the first member.
    fn is_zero(part: &Part) -> Result<bool, Ends> {
        match &part.content {
            Content::CutOff => Err(Ends),
            Content::Byte { byte, .. } => Ok(*byte == 0),
            Content::Number { is_zero, .. } => Ok(*is_zero),
            Content::Parts { is_array: false, parts, .. } => parts.first().map_or(Ok(true), is_zero),
            Content::Parts { has_byte_elements: true, parts, .. } => parts.first().map_or(Ok(true), is_zero),
            Content::Parts { parts, .. } => {
                for part in parts {
                    if !is_zero(part)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
        }
    }

    /// Builds the parts during a visit.
    struct Parts {
        open: Vec<(Part, Option<TypeId>)>,
        finished: Option<Part>,
        has_enum_bitfield: bool,
    }

    impl Parts {
        fn of(btf: &Btf<'_>, ty: TypeId, bytes: &[u8]) -> Self {
            let mut parts = Self { open: Vec::new(), finished: None, has_enum_bitfield: false };
            let Ok(()) = btf.value(ty, bytes).visit(&mut parts);
            parts
        }

        fn add(&mut self, part: Part) {
            match self.open.last_mut() {
                Some((Part { content: Content::Parts { parts, .. }, .. }, _)) => parts.push(part),
                _ => self.finished = Some(part),
            }
        }

        /// Returns the width of the bitfield that is visited next.
        fn bitfield_bits(&self, btf: &Btf<'_>) -> Option<u64> {
            let (Part { content: Content::Parts { parts, .. }, .. }, Some(composite)) = self.open.last()?
            else {
                return None;
            };
            let member = btf.ty(*composite)?.members().nth(parts.len())?;
            btf.member_extent(&member).ok().filter(|extent| extent.is_bitfield).map(|extent| extent.bits)
        }
    }

    fn part(at: &ValueLocation<'_>, content: Content) -> Part {
        Part { name: at.name.to_string(), c_type: CType::new(at.btf, at.ty).to_string(), content }
    }

    /// Returns the size of an array's elements that are integers.
    fn has_byte_elements(at: &ValueLocation<'_>) -> bool {
        let array = at.btf.strip(at.ty).ok().and_then(Type::array);
        let element = array.and_then(|array| at.btf.strip(array.element).ok());
        element.is_some_and(|ty| ty.kind() == Kind::Int && ty.size().is_some_and(|size| size.0 == 1))
    }

    fn byte(at: &ValueLocation<'_>, byte: u8) -> Content {
        let mut ty = at.btf.strip(at.ty).unwrap();
        if let Some(array) = ty.array() {
            ty = at.btf.strip(array.element).unwrap();
        }
        let is_signed = ty.int().unwrap().is_signed();
        let number = if is_signed { byte.cast_signed().to_string() } else { byte.to_string() };
        Content::Byte { byte, number }
    }

    impl ValueVisitor for Parts {
        type Error = Infallible;

        fn open(&mut self, at: &ValueLocation<'_>, aggregate: Aggregate) -> Result<(), Infallible> {
            let is_array = matches!(aggregate, Aggregate::Array { .. });
            let has_byte_elements = is_array && has_byte_elements(at);
            let composite = (!is_array).then(|| at.btf.strip(at.ty).unwrap().id());
            self.open.push((
                part(at, Content::Parts { is_array, has_byte_elements, parts: Vec::new() }),
                composite,
            ));
            Ok(())
        }

        fn close(&mut self, _: Aggregate) -> Result<(), Infallible> {
            let (part, _) = self.open.pop().unwrap();
            self.add(part);
            Ok(())
        }

        fn scalar(&mut self, at: &ValueLocation<'_>, scalar: Scalar<'_>) -> Result<(), Infallible> {
            let ty = at.btf.strip(at.ty).unwrap();
            let size = at.btf.size_of(ty.id()).map_or(0, |size| size.0);
            let bits = self.bitfield_bits(at.btf);
            let mask = |v: i128| match bits {
                Some(bits) => v.cast_unsigned() & (u128::MAX >> (128 - bits)),
                None => v.cast_unsigned(),
            };
            let number = |v: i128| {
                let text = match (bits, size) {
                    (Some(_), _) | (None, 16) => format!("{:#x}", mask(v)),
                    _ => v.to_string(),
                };
                Content::Number { text, is_zero: v == 0, has_comma: true }
            };
            let content = match scalar {
                Scalar::Unsigned(v) if size == 1 && bits.is_none() => byte(at, u8::try_from(v).unwrap()),
                Scalar::Signed(v) if size == 1 && bits.is_none() => {
                    byte(at, i8::try_from(v).unwrap().cast_unsigned())
                }
                Scalar::Bool(v) if size == 1 && bits.is_none() => byte(at, v.into()),
                Scalar::Char(v) if bits.is_none() => byte(at, v),
                Scalar::Unsigned(v) => number(v.cast_signed()),
                Scalar::Signed(v) => number(v),
                Scalar::Bool(v) => number(v.into()),
                Scalar::Char(v) => number(v.into()),
                Scalar::Pointer(v) => {
                    Content::Number { text: format!("{v:#x}"), is_zero: v == 0, has_comma: true }
                }
                Scalar::Float(v) => {
                    Content::Number { text: format!("{v:.6}"), is_zero: scalar.is_zero(), has_comma: true }
                }
                Scalar::Enum(v) => {
                    self.has_enum_bitfield |= bits.is_some();
                    let is_signed = ty.kflag();
                    let unnamed = if bits.is_some() { mask(v.value()).cast_signed() } else { v.value() };
                    let suffix = match (ty.kind(), is_signed) {
                        (Kind::Enum64, true) => "LL",
                        (Kind::Enum64, false) => "ULL",
                        _ => "",
                    };
                    match v.name() {
                        Some(name) => Content::Number {
                            text: name.to_string(),
                            is_zero: v.value() == 0,
                            has_comma: true,
                        },
                        // libbpf forgets the comma after a signed value.
                        None => Content::Number {
                            text: format!("{unnamed}{suffix}"),
                            is_zero: v.value() == 0,
                            has_comma: !is_signed,
                        },
                    }
                }
                Scalar::Text { bytes, len } => {
                    let mut parts: Vec<_> = bytes
                        .iter()
                        .map(|b| Part { name: String::new(), c_type: String::new(), content: byte(at, *b) })
                        .collect();
                    if bytes.len() < usize::try_from(len).unwrap() {
                        parts.push(Part {
                            name: String::new(),
                            c_type: String::new(),
                            content: Content::CutOff,
                        });
                    }
                    Content::Parts { is_array: true, has_byte_elements: true, parts }
                }
                Scalar::CutOff | Scalar::Raw([]) => Content::CutOff,
                other => Content::Number { text: other.to_string(), is_zero: false, has_comma: true },
            };
            self.add(part(at, content));
            Ok(())
        }
    }
}
