//! The attach targets of links as text.

use super::link_target::{FieldValue, LinkDevice, LinkField, LinkTarget};
use core::fmt;
use core_relo::Name;

/// Prints the fields: `attach_type TRACE_FENTRY, target_name do_exit`. Empty if there are none.
impl fmt::Display for LinkTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |LinkField { name, value, .. }: LinkField| match value {
            FieldValue::Text(text) => {
                format!("{name} {}", Name::new(text.strip_prefix("BPF_").unwrap_or(&text).as_bytes()))
            }
            FieldValue::Unknown => match self {
                Self::Interface { device: LinkDevice::OtherNetns, .. } => {
                    "of another network namespace".into()
                }
                Self::Interface { .. } => "perhaps of another network namespace".into(),
                _ => format!("{name} unknown"),
            },
            FieldValue::Bool(flag) => format!("{name} {flag}"),
            FieldValue::Number(number) => format!("{name} {number}"),
            FieldValue::Signed(number) => format!("{name} {number}"),
        };
        let is_detached = self.is_detached();
        let fields = self.fields().into_iter().filter(|field| !is_detached || field.name == "attach_type");
        let parts: Vec<_> =
            is_detached.then(|| "detached".to_owned()).into_iter().chain(fields.map(text)).collect();
        f.write_str(&parts.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core_relo_object::object::AttachType;

    fn interface(ifindex: u32, device: LinkDevice, attach_type: Option<AttachType>) -> String {
        let attach_type = attach_type.map(|known| known.name().to_owned());
        LinkTarget::Interface { ifindex, device, attach_type }.to_string()
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
        assert_eq!(event.to_string(), "event kprobe, function do_exit, offset 16, missed 0");
        let iter = LinkTarget::MapIterator { target_name: Some("bpf_map_elem".into()), map_id: 42 };
        assert_eq!(iter.to_string(), "target_name bpf_map_elem, map_id 42");
        let sockmap = LinkTarget::Sockmap { map_id: 1, attach_type: "BPF_TRACE_FENTRY".to_owned() };
        assert_eq!(sockmap.to_string(), "map_id 1, attach_type TRACE_FENTRY");
        assert_eq!(LinkTarget::Unknown.to_string(), "");
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
        assert_eq!(LinkTarget::StructOps { map_id: 0 }.to_string(), "detached");
    }
}
