//! The attach targets of links as text and as JSON.

use core_relo::Name;
use core_relo_loader::{
    inventory::{FieldValue, LinkDevice, LinkField, LinkTarget},
    object::LinkType,
};
use serde::Serializer;

/// Returns the name of a link type.
pub(crate) fn type_name(number: u32) -> String {
    LinkType::from_number(number)
        .map_or_else(|| format!("unknown({number})"), |known| known.name().to_owned())
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

/// Returns the fields as text: `attach_type TRACE_FENTRY, target_name do_exit`. Empty if there are none.
pub(crate) fn target_text(target: &LinkTarget) -> String {
    let text = |LinkField { name, value, .. }: LinkField| match value {
        FieldValue::Text(text) => {
            format!("{name} {}", Name::new(text.strip_prefix("BPF_").unwrap_or(&text).as_bytes()))
        }
        FieldValue::Unknown => match target {
            LinkTarget::Interface { device: LinkDevice::OtherNetns, .. } => {
                "of another network namespace".into()
            }
            LinkTarget::Interface { .. } => "perhaps of another network namespace".into(),
            _ => format!("{name} unknown"),
        },
        FieldValue::Bool(flag) => format!("{name} {flag}"),
        FieldValue::Number(number) => format!("{name} {number}"),
        FieldValue::Signed(number) => format!("{name} {number}"),
    };
    let fields = target.fields().into_iter();
    let parts: Vec<String> = if target.is_detached() {
        let attach_type = fields.filter(|field| field.name == "attach_type").map(text);
        core::iter::once("detached".to_owned()).chain(attach_type).collect()
    } else {
        fields.map(text).collect()
    };
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use core_relo_loader::object::AttachType;

    fn interface(ifindex: u32, device: LinkDevice, attach_type: Option<AttachType>) -> String {
        let attach_type = attach_type.map(|known| known.name().to_owned());
        target_text(&LinkTarget::Interface { ifindex, device, attach_type })
    }

    #[test]
    fn facts_as_text() {
        let event = LinkTarget::Kprobe {
            event: "kprobe".into(),
            function: Some("do_exit".into()),
            offset: 16,
            missed: 0,
            cookie: 0,
        };
        assert_eq!(target_text(&event), "event kprobe, function do_exit, offset 16, missed 0");
        let iter = LinkTarget::MapIterator { target_name: Some("bpf_map_elem".into()), map_id: 42 };
        assert_eq!(target_text(&iter), "target_name bpf_map_elem, map_id 42");
        let sockmap = LinkTarget::Sockmap { map_id: 1, attach_type: "BPF_TRACE_FENTRY".to_owned() };
        assert_eq!(target_text(&sockmap), "map_id 1, attach_type TRACE_FENTRY");
        assert_eq!(target_text(&LinkTarget::Unknown), "");
    }

    #[test]
    fn a_detached_link_has_no_place() {
        let tcx = |ifindex, device| interface(ifindex, device, Some(AttachType::TcxIngress));
        assert_eq!(tcx(0, LinkDevice::Unclear), "detached, attach_type TCX_INGRESS");
        assert_eq!(tcx(2, LinkDevice::Own("v1".into())), "ifindex 2, ifname v1, attach_type TCX_INGRESS");
        assert_eq!(
            tcx(2, LinkDevice::OtherNetns),
            "ifindex 2, of another network namespace, attach_type TCX_INGRESS"
        );
        let unclear = tcx(2, LinkDevice::Unclear);
        assert_eq!(unclear, "ifindex 2, perhaps of another network namespace, attach_type TCX_INGRESS");
        assert_eq!(interface(0, LinkDevice::Unclear, None), "detached");
        assert_eq!(target_text(&LinkTarget::StructOps { map_id: 0 }), "detached");
    }

    #[test]
    fn every_type_has_its_number() {
        assert_eq!(type_name(0), "BPF_LINK_TYPE_UNSPEC");
        assert_eq!(type_name(14), "BPF_LINK_TYPE_SOCKMAP");
        assert_eq!(type_name(99), "unknown(99)");
    }
}
