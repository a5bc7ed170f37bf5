//! JSON of enums: the feature `serde`.

use core::fmt;

/// Implements `serde::Serialize` for types that serialize as their `word`.
#[doc(hidden)] // for the crates of this workspace
#[macro_export]
macro_rules! serialize_as_word {
    ($($type:ty),* $(,)?) => {$(
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.word())
            }
        }
    )*};
}

serialize_as_word!(
    crate::advice::FixLanguage,
    crate::advice::FixPlace,
    crate::btf_diff::ChangeKind,
    crate::btf_diff::ItemKind,
    crate::judge::ReasonKind,
    crate::judge::Verdict,
    crate::kernel::EvidenceSource,
    crate::loaders::LoaderKind,
    crate::loaders::LoaderRule,
    crate::mismatch::MismatchKind,
);

/// A visitor that finds the value with a word.
struct WordVisitor<T> {
    /// The values, in words for messages.
    expected: &'static str,
    from_word: fn(&str) -> Option<T>,
}

impl<T> serde::de::Visitor<'_> for WordVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_str<E: serde::de::Error>(self, word: &str) -> Result<T, E> {
        (self.from_word)(word).ok_or_else(|| E::invalid_value(serde::de::Unexpected::Str(word), &self))
    }
}

/// Implements `serde::Deserialize` for types that have a `word` and `from_word`.
macro_rules! deserialize_from_word {
    ($($type:ty: $expected:literal),* $(,)?) => {$(
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_str(WordVisitor { expected: $expected, from_word: <$type>::from_word })
            }
        }
    )*};
}

deserialize_from_word!(
    crate::judge::ReasonKind: "a kind of reason",
    crate::judge::Verdict: "a verdict",
    crate::kernel::EvidenceSource: "a source of evidence",
    crate::loaders::LoaderKind: "a loader",
    crate::loaders::LoaderRule: "a rule of a loader",
    crate::mismatch::MismatchKind: "a kind of mismatch",
);

#[cfg(test)]
mod tests {
    use crate::{
        SourceLine,
        advice::Fix,
        btf_diff::{Change, ChangeKind, Details, Enumerator, EnumeratorChange, ItemKind, Side, TypeSide},
        judge::{LoaderRefusal, NeededFeature, ObjectVerdict, ProgramVerdict, Reason, ReasonKind, Verdict},
        kernel::{Answer, Evidence, EvidenceSource},
        loaders::{LoaderKind, LoaderRule},
        mismatch::MismatchKind,
    };

    fn json(value: &impl serde::Serialize) -> String {
        serde_json::to_string(value).unwrap()
    }

    /// docs/json.md promises the keys, and their order.
    #[test]
    fn a_reason_has_the_documented_keys() {
        let mut reason = Reason::new(ReasonKind::Object, Verdict::Refused, "the object defines maps");
        reason.insn = Some(3);
        reason.loader = Some(LoaderRefusal { loader: LoaderKind::CoreRelo, rule: LoaderRule::LegacyMaps });
        reason.evidence = Some(Evidence { source: EvidenceSource::Btf, text: "no such enum".to_owned() });
        let (file, text) = ("exec.bpf.c".to_owned(), "x = 1;".to_owned());
        reason.source = Some(SourceLine { file, line: 4, column: 2, text, is_near: false });
        let expected = concat!(
            r#"{"kind":"object","verdict":"refused","text":"the object defines maps","#,
            r#""source":{"file":"exec.bpf.c","line":4,"column":2,"text":"x = 1;","is_near":false},"#,
            r#""evidence":{"source":"btf","text":"no such enum"},"fix":null,"#,
            r#""loader":{"name":"core-relo","rule":"legacy_maps","accepted_by":["core-relo","cilium","aya"]}}"#,
        );
        assert_eq!(json(&reason), expected);
        // The instruction is not part of the JSON.
        let read: Reason = serde_json::from_str(expected).unwrap();
        assert_eq!(Reason { insn: Some(3), ..read }, reason);
        let program = ProgramVerdict::new("on_exec", Vec::new());
        let expected = concat!(
            r#"{"loader":"libbpf","verdict":"loads","reasons":[],"programs":[{"name":"on_exec","autoload":true,"#,
            r#""verdict":"loads","reasons":[],"guarded":[],"later":[]}],"warnings":[]}"#,
        );
        let verdict = ObjectVerdict::new(vec![program]);
        assert_eq!(json(&verdict), expected);
        assert_eq!(serde_json::from_str::<ObjectVerdict>(expected).unwrap(), verdict);
    }

    /// Every word is read as the value that writes it. `NeededFeature` and differences are only written.
    #[test]
    fn words_are_read_back() {
        fn read_back<T: serde::Serialize + serde::de::DeserializeOwned + PartialEq>(values: &[T]) -> bool {
            values.iter().all(|value| serde_json::from_str::<T>(&json(value)).ok().as_ref() == Some(value))
        }
        assert!(read_back(Verdict::ALL) && read_back(ReasonKind::ALL) && read_back(EvidenceSource::ALL));
        assert!(read_back(LoaderKind::ALL) && read_back(LoaderRule::ALL) && read_back(MismatchKind::ALL));
        let error = serde_json::from_str::<Verdict>("\"maybe\"").unwrap_err().to_string();
        assert!(error.starts_with("invalid value: string \"maybe\", expected a verdict"), "{error}");
    }

    #[test]
    fn a_fix_and_a_feature_have_the_documented_keys() {
        let expected = r#"{"language":"c","code":null,"text":"none","applies_to":"nothing","declaration":null,"source":null}"#;
        assert_eq!(json(&Fix::without_code("none")), expected);
        let feature = NeededFeature {
            name: "helper bpf_loop".to_owned(),
            answer: Answer::Unknown("no BTF".to_owned()),
            attaches: Vec::new(),
            is_place: true,
        };
        let expected =
            r#"{"name":"helper bpf_loop","present":null,"evidence":null,"question":"no BTF","attaches":[]}"#;
        assert_eq!(json(&feature), expected);
    }

    /// The values of enumerators have up to 65 bits.
    #[test]
    fn a_difference_has_the_documented_keys() {
        let value = Enumerator { value: u64::MAX.into() };
        let value = Side { old: Some(value), new: None };
        let changed = EnumeratorChange { name: "A".to_owned(), change: ChangeKind::Removed, value };
        let side = TypeSide { text: "enum e".to_owned(), size: Some(8) };
        let change = Change {
            kind: ItemKind::Enum,
            name: "e".to_owned(),
            change: ChangeKind::Changed,
            declaration: Side { old: Some(side.clone()), new: Some(side) },
            details: Details::Enumerators(vec![changed]),
        };
        let side = r#"{"declaration":"enum e","size":8}"#;
        let expected = format!(
            concat!(
                r#"{{"kind":"enum","name":"e","change":"changed","old":{side},"new":{side},"members":[],"#,
                r#""enumerators":[{{"name":"A","change":"removed","old":18446744073709551615,"new":null}}]}}"#
            ),
            side = side
        );
        assert_eq!(json(&change), expected);
    }
}
