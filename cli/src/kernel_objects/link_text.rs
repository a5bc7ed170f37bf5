//! The types of links as text, and their attach targets as JSON.

use crate::describe::known_name;
use core_relo_loader::{
    inventory::{FieldValue, LinkField, LinkTarget},
    object::LinkType,
};
use serde::Serializer;

/// Returns the name of a link type.
pub(crate) fn type_name(number: u32) -> String {
    known_name(LinkType::from_number(number).map(LinkType::name), number)
}

/// Serializes a target as an object with the fields of the kernel's `struct bpf_link_info`.
pub(crate) fn serialize_target<S: Serializer>(target: &LinkTarget, serializer: S) -> Result<S::Ok, S::Error> {
    serializer
        .collect_map(target.fields().into_iter().map(|LinkField { name, value, .. }| (name, to_json(value))))
}

fn to_json(value: FieldValue) -> serde_json::Value {
    match value {
        FieldValue::Number(number) => number.into(),
        FieldValue::Signed(number) => number.into(),
        FieldValue::Bool(flag) => flag.into(),
        FieldValue::Text(text) => text.into(),
        FieldValue::Unknown => serde_json::Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_has_its_number() {
        assert_eq!(type_name(0), "BPF_LINK_TYPE_UNSPEC");
        assert_eq!(type_name(14), "BPF_LINK_TYPE_SOCKMAP");
        assert_eq!(type_name(99), "unknown(99)");
    }
}
