//! The attach target of a link: the union in the kernel's `struct bpf_link_info`, by link type.

use crate::kernel_objects::{
    btf_cache::BtfCache,
    kind::Kind,
    link_device::{LinkDevice, OwnInterfaces},
};
use core_relo::{Endian, Name};
use core_relo_loader::{
    object::{AttachType, LinkType, ProgramType},
    sys::{self, Errno, LinkInfo, ProgInfo},
};
use serde::Serialize;
use serde_json::Value;
use std::{iter, os::fd::AsFd};

/// `BPF_LINK_TYPE_STRUCT_OPS`.
pub(crate) const STRUCT_OPS: u32 = 9;

/// `BPF_LINK_TYPE_TCX`.
const TCX: u32 = 11;

/// `BPF_LINK_TYPE_NETKIT`.
const NETKIT: u32 = 13;

/// The perf events that links attach to (`enum bpf_perf_event_type`).
const PERF_EVENTS: [&str; 7] =
    ["unspecified", "uprobe", "uretprobe", "kprobe", "kretprobe", "tracepoint", "event"];

/// Returns the name of a link type.
pub(crate) fn type_name(number: u32) -> String {
    LinkType::from_number(number).map_or_else(|| unknown(number), |known| known.name().to_owned())
}

fn name_or_number(names: &[&str], number: u32) -> String {
    let name = usize::try_from(number).ok().and_then(|i| names.get(i));
    name.map_or_else(|| unknown(number), |name| (*name).to_owned())
}

fn unknown(number: u32) -> String {
    format!("unknown({number})")
}

/// The attach target of a link. The fields have the names and the order of `struct bpf_link_info`.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub(crate) enum LinkTarget {
    RawTracepoint {
        tp_name: Option<String>,
        #[serde(skip_serializing_if = "is_zero")]
        cookie: u64,
    },
    Tracing {
        /// `None` for extensions (freplace).
        #[serde(skip_serializing_if = "Option::is_none")]
        attach_type: Option<String>,
        target_obj_id: u32,
        target_btf_id: u32,
        target_name: Option<String>,
        #[serde(skip_serializing_if = "is_zero")]
        cookie: u64,
    },
    Cgroup {
        cgroup_id: u64,
        attach_type: String,
    },
    MapIterator {
        target_name: Option<String>,
        map_id: u32,
    },
    CgroupIterator {
        target_name: Option<String>,
        cgroup_id: u64,
        order: u32,
    },
    TaskIterator {
        target_name: Option<String>,
        #[serde(skip_serializing_if = "is_zero")]
        tid: u64,
        #[serde(skip_serializing_if = "is_zero")]
        pid: u64,
    },
    Iterator {
        target_name: Option<String>,
    },
    Netns {
        netns_ino: u32,
        attach_type: String,
    },
    Interface {
        ifindex: u32,
        #[serde(rename = "ifname")]
        device: LinkDevice,
        /// `None` for XDP links.
        #[serde(skip_serializing_if = "Option::is_none")]
        attach_type: Option<String>,
    },
    Uprobe {
        event: String,
        path: Option<String>,
        offset: u32,
        #[serde(skip_serializing_if = "is_zero")]
        cookie: u64,
    },
    Kprobe {
        event: String,
        function: Option<String>,
        offset: u32,
        missed: u64,
        #[serde(skip_serializing_if = "is_zero")]
        cookie: u64,
    },
    Tracepoint {
        event: String,
        tracepoint: Option<String>,
        #[serde(skip_serializing_if = "is_zero")]
        cookie: u64,
    },
    PerfEvent {
        event: String,
        #[serde(rename = "type")]
        kind: u32,
        config: u64,
        #[serde(skip_serializing_if = "is_zero")]
        cookie: u64,
    },
    OtherPerfEvent {
        event: String,
    },
    KprobeMulti {
        func_cnt: u32,
        retprobe: bool,
        missed: u64,
    },
    StructOps {
        map_id: u32,
    },
    Netfilter {
        pf: u32,
        hooknum: u32,
        priority: i32,
        flags: u32,
    },
    UprobeMulti {
        path: Option<String>,
        func_cnt: u32,
        retprobe: bool,
        #[serde(skip_serializing_if = "is_zero")]
        pid: u64,
    },
    Sockmap {
        map_id: u32,
        attach_type: String,
    },
    /// A link type that this program does not know.
    Unknown {},
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl LinkTarget {
    /// Reads the target of a link. [`Self::find_device`] finds the network interface.
    pub(crate) fn read(fd: &impl AsFd, info: &LinkInfo, btfs: &mut BtfCache) -> Result<Self, Errno> {
        let detail = Detail(&info.detail);
        let name = || sys::link_target_name(fd).ok().filter(|name| !name.is_empty());
        Ok(match info.link_type {
            1 => Self::RawTracepoint { tp_name: name(), cookie: detail.long(4)? },
            2 => {
                let program = Kind::Prog.open(info.prog_id).and_then(|fd| sys::prog_info(&fd)).ok();
                tracing(&detail, program.as_ref(), btfs)?
            }
            3 => Self::Cgroup { cgroup_id: detail.long(0)?, attach_type: detail.attach_type(2)? },
            4 => iterator(&detail, name())?,
            5 => Self::Netns { netns_ino: detail.word(0)?, attach_type: detail.attach_type(1)? },
            6 => interface(&detail, None)?,
            7 => perf_event(&detail, name())?,
            8 => Self::KprobeMulti {
                func_cnt: detail.word(2)?,
                retprobe: detail.word(3)? & 1 != 0,
                missed: detail.long(4)?,
            },
            STRUCT_OPS => Self::StructOps { map_id: detail.word(0)? },
            10 => Self::Netfilter {
                pf: detail.word(0)?,
                hooknum: detail.word(1)?,
                priority: detail.word(2)?.cast_signed(),
                flags: detail.word(3)?,
            },
            TCX | NETKIT => interface(&detail, Some(detail.attach_type(1)?))?,
            12 => Self::UprobeMulti {
                path: name(),
                func_cnt: detail.word(9)?,
                retprobe: detail.word(10)? & 1 != 0,
                pid: detail.word(11)?.into(),
            },
            14 => Self::Sockmap { map_id: detail.word(0)?, attach_type: detail.attach_type(1)? },
            _ => Self::Unknown {},
        })
    }

    /// Finds the network interface of an XDP, tcx or netkit link.
    pub(crate) fn find_device(
        &mut self,
        info: &LinkInfo,
        interfaces: &mut OwnInterfaces,
    ) -> Result<(), Errno> {
        let number = match info.link_type {
            TCX | NETKIT => Some(Detail(&info.detail).word(1)?),
            _ => None,
        };
        match self {
            Self::Interface { ifindex, device, .. } if *ifindex != 0 => {
                *device = interfaces.find(info, *ifindex, number);
            }
            _ => {}
        }
        Ok(())
    }

    /// Returns whether the link is detached: its place is gone, or `BPF_LINK_DETACH` detached its program. The kernel then reports 0.
    /// A detached link of netfilter keeps its hook and priority, and cannot be told from an attached one.
    pub(crate) fn is_detached(&self) -> bool {
        match self {
            Self::Cgroup { cgroup_id, .. } => *cgroup_id == 0,
            Self::Netns { netns_ino: place, .. }
            | Self::Interface { ifindex: place, .. }
            | Self::StructOps { map_id: place }
            | Self::Sockmap { map_id: place, .. } => *place == 0,
            _ => false,
        }
    }

    /// Returns the fields as text: `attach_type TRACE_FENTRY, target_name do_exit`. Empty if there are none.
    pub(crate) fn text(&self) -> serde_json::Result<String> {
        let field = |(key, value): (&String, &Value)| match value {
            Value::String(text) => {
                format!("{key} {}", Name::new(text.strip_prefix("BPF_").unwrap_or(text).as_bytes()))
            }
            Value::Null => match self {
                Self::Interface { device: LinkDevice::OtherNetns, .. } => {
                    "of another network namespace".into()
                }
                Self::Interface { .. } => "perhaps of another network namespace".into(),
                _ => format!("{key} unknown"),
            },
            other => format!("{key} {other}"),
        };
        let fields = serde_json::to_value(self)?;
        let fields = fields.as_object().into_iter().flatten();
        if self.is_detached() {
            let attach_type = fields.filter(|(key, _)| *key == "attach_type").map(field);
            return Ok(iter::once("detached".to_owned()).chain(attach_type).collect::<Vec<_>>().join(", "));
        }
        Ok(fields.map(field).collect::<Vec<_>>().join(", "))
    }
}

/// The words of the union in `struct bpf_link_info`.
struct Detail<'l>(&'l [u32]);

impl Detail<'_> {
    /// Returns a word, or `EINVAL` if the union is shorter.
    fn word(&self, index: usize) -> Result<u32, Errno> {
        const EINVAL: Errno = Errno(22);
        self.0.get(index).copied().ok_or(EINVAL)
    }

    /// Returns the 64-bit number in two words.
    fn long(&self, index: usize) -> Result<u64, Errno> {
        let (first, second) = (u64::from(self.word(index)?), u64::from(self.word(index + 1)?));
        Ok(match Endian::native() {
            Endian::Little => second << 32 | first,
            Endian::Big => first << 32 | second,
        })
    }

    fn attach_type(&self, index: usize) -> Result<String, Errno> {
        let number = self.word(index)?;
        let name = AttachType::from_number(number).map(|known| known.name().to_owned());
        Ok(name.unwrap_or_else(|| format!("unknown({number})")))
    }
}

fn interface(detail: &Detail<'_>, attach_type: Option<String>) -> Result<LinkTarget, Errno> {
    Ok(LinkTarget::Interface { ifindex: detail.word(0)?, device: LinkDevice::Unclear, attach_type })
}

fn tracing(
    detail: &Detail<'_>,
    program: Option<&ProgInfo>,
    btfs: &mut BtfCache,
) -> Result<LinkTarget, Errno> {
    let is_extension = program.is_some_and(|p| p.prog_type == ProgramType::Ext.number());
    let attach_type = if is_extension { None } else { Some(detail.attach_type(0)?) };
    let (target_obj_id, target_btf_id) = (detail.word(1)?, detail.word(2)?);
    let target_name = match program {
        Some(p) if is_extension || traces_program(p) => {
            let target = Kind::Prog.open(target_obj_id).and_then(|fd| sys::prog_info(&fd)).ok();
            target.and_then(|target| btfs.type_name(target.btf_id, target_btf_id))
        }
        Some(_) => btfs.type_name(target_obj_id, target_btf_id),
        None => None,
    };
    let cookie = detail.long(4)?;
    Ok(LinkTarget::Tracing { attach_type, target_obj_id, target_btf_id, target_name, cookie })
}

/// Returns whether a program traces another program. Then `target_obj_id` is that program's id, not the id of a BTF.
///
/// After the attachment, the tracing program refers neither to the other program nor to its BTF. Kernels before 6.0 report neither.
fn traces_program(program: &ProgInfo) -> bool {
    program.attach_btf_id != 0 && program.attach_btf_obj_id == 0
}

fn iterator(detail: &Detail<'_>, target_name: Option<String>) -> Result<LinkTarget, Errno> {
    let name_contains = |part: &str| target_name.as_ref().is_some_and(|name| name.contains(part));
    Ok(if name_contains("map_elem") || name_contains("storage_map") {
        LinkTarget::MapIterator { target_name, map_id: detail.word(3)? }
    } else if name_contains("cgroup") {
        LinkTarget::CgroupIterator { target_name, cgroup_id: detail.long(4)?, order: detail.word(6)? }
    } else if name_contains("task") {
        LinkTarget::TaskIterator { target_name, tid: detail.word(4)?.into(), pid: detail.word(5)?.into() }
    } else {
        LinkTarget::Iterator { target_name }
    })
}

fn perf_event(detail: &Detail<'_>, name: Option<String>) -> Result<LinkTarget, Errno> {
    let kind = detail.word(0)?;
    let event = name_or_number(&PERF_EVENTS, kind);
    Ok(match kind {
        1 | 2 => LinkTarget::Uprobe { event, path: name, offset: detail.word(5)?, cookie: detail.long(6)? },
        3 | 4 => LinkTarget::Kprobe {
            event,
            function: name,
            offset: detail.word(5)?,
            missed: detail.long(8)?,
            cookie: detail.long(10)?,
        },
        5 => LinkTarget::Tracepoint { event, tracepoint: name, cookie: detail.long(6)? },
        6 => LinkTarget::PerfEvent {
            event,
            kind: detail.word(4)?,
            config: detail.long(2)?,
            cookie: detail.long(6)?,
        },
        _ => LinkTarget::OtherPerfEvent { event },
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;

    #[test]
    fn facts_as_text() {
        let event = Detail(&[3, 0, 0, 0, 9, 16, 0, 0, 0, 0, 0, 0, 0, 0]);
        let event = perf_event(&event, Some("do_exit".to_owned())).unwrap();
        assert_eq!(event.text().unwrap(), "event kprobe, function do_exit, offset 16, missed 0");
        let iter = iterator(&Detail(&[0, 0, 9, 42, 0, 0]), Some("bpf_map_elem".to_owned())).unwrap();
        assert_eq!(iter.text().unwrap(), "target_name bpf_map_elem, map_id 42");
        let attach = Detail(&[24, 999]);
        assert_eq!(attach.attach_type(0).unwrap(), "BPF_TRACE_FENTRY");
        assert_eq!(attach.attach_type(1).unwrap(), "unknown(999)");
        let sockmap = LinkTarget::Sockmap { map_id: 1, attach_type: "BPF_TRACE_FENTRY".to_owned() };
        assert_eq!(sockmap.text().unwrap(), "map_id 1, attach_type TRACE_FENTRY");
        assert_eq!(LinkTarget::Unknown {}.text().unwrap(), "");
        assert_eq!(perf_event(&Detail(&[3, 0]), None), Err(Errno(22)), "the union is too short");
    }

    #[test]
    fn a_detached_link_has_no_place() {
        let attach_type = || "BPF_TCX_INGRESS".to_owned();
        let tcx = |ifindex, device| {
            LinkTarget::Interface { ifindex, device, attach_type: Some(attach_type()) }.text().unwrap()
        };
        assert_eq!(tcx(0, LinkDevice::Unclear), "detached, attach_type TCX_INGRESS");
        assert_eq!(tcx(2, LinkDevice::Own("v1".into())), "ifindex 2, ifname v1, attach_type TCX_INGRESS");
        assert_eq!(
            tcx(2, LinkDevice::OtherNetns),
            "ifindex 2, of another network namespace, attach_type TCX_INGRESS"
        );
        let unclear = tcx(2, LinkDevice::Unclear);
        assert_eq!(unclear, "ifindex 2, perhaps of another network namespace, attach_type TCX_INGRESS");
        let xdp = LinkTarget::Interface { ifindex: 0, device: LinkDevice::Unclear, attach_type: None };
        assert_eq!(xdp.text().unwrap(), "detached");
        assert_eq!(LinkTarget::StructOps { map_id: 0 }.text().unwrap(), "detached");
        for link in [
            LinkTarget::Cgroup { cgroup_id: 0, attach_type: attach_type() },
            LinkTarget::Netns { netns_ino: 0, attach_type: attach_type() },
            LinkTarget::Sockmap { map_id: 0, attach_type: attach_type() },
        ] {
            assert_eq!(link.text().unwrap(), "detached, attach_type TCX_INGRESS");
        }
        let iterator = LinkTarget::CgroupIterator { target_name: None, cgroup_id: 0, order: 1 };
        assert!(!iterator.is_detached(), "an iterator of all cgroups");
    }

    #[test]
    fn extensions_have_no_attach_type() {
        let number = ProgramType::Ext.number();
        let tracer = |prog_type, attach_btf_obj_id, attach_btf_id| {
            let mut info = ProgInfo::default();
            (info.prog_type, info.attach_btf_obj_id, info.attach_btf_id) =
                (prog_type, attach_btf_obj_id, attach_btf_id);
            info
        };
        let extension = tracer(number, 0, 5);
        // No program and no BTF has such an id.
        let detail = Detail(&[0, u32::MAX, 5, 0, 0, 0]);
        let link = tracing(&detail, Some(&extension), &mut BtfCache::default()).unwrap();
        assert_eq!(link.text().unwrap(), "target_obj_id 4294967295, target_btf_id 5, target_name unknown");
        assert!(traces_program(&tracer(26, 0, 5)) && !traces_program(&tracer(26, 1, 5)));
        assert!(!traces_program(&ProgInfo::default()), "a kernel that does not report it");
    }

    #[test]
    fn every_type_has_its_number() {
        assert_eq!(type_name(0), "BPF_LINK_TYPE_UNSPEC");
        assert_eq!(type_name(STRUCT_OPS), "BPF_LINK_TYPE_STRUCT_OPS");
        assert_eq!(type_name(14), "BPF_LINK_TYPE_SOCKMAP");
        assert_eq!(type_name(99), "unknown(99)");
    }
}
