//! [`LinkTarget`]: the attach target of a link, the union in the kernel's `struct bpf_link_info` by link
//! type.

use super::btf_cache::BtfCache;
use crate::sys::{self, Errno, InfoError, LinkInfo, ObjectFacts, ObjectKind, ProgramInfo};
use core_relo::Endian;
use core_relo_object::object::{AttachType, LinkType, ProgramType};
use std::os::fd::{AsFd, AsRawFd as _};

/// The perf events that links attach to (`enum bpf_perf_event_type`).
const PERF_EVENTS: [&str; 7] =
    ["unspecified", "uprobe", "uretprobe", "kprobe", "kretprobe", "tracepoint", "event"];

fn name_or_number(names: &[&str], number: u32) -> String {
    let name = usize::try_from(number).ok().and_then(|i| names.get(i));
    name.map_or_else(|| unknown(number), |name| (*name).to_owned())
}

fn unknown(number: u32) -> String {
    format!("unknown({number})")
}

/// The network interface of an XDP, tcx or netkit link.
///
/// The kernel reports the index of the interface, but not its network namespace. The interface of this
/// namespace with the same index is another one, unless a query of the interface finds the link.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "callers explain each of them")]
pub enum LinkDevice {
    /// An interface of this network namespace, with its name.
    Own(String),
    /// An interface of another network namespace.
    OtherNetns,
    /// An interface of this or of another network namespace.
    Unclear,
}

impl LinkDevice {
    /// Returns the name of an interface of this network namespace.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Own(name) => Some(name),
            Self::OtherNetns | Self::Unclear => None,
        }
    }
}

/// The attach target of a link. The fields have the names and the order of `struct bpf_link_info`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields are those of the kernel's struct")]
pub enum LinkTarget {
    /// A raw tracepoint.
    RawTracepoint { tp_name: Option<String>, cookie: u64 },
    /// The function of a tracing or LSM program, or the function that an extension replaces.
    Tracing {
        /// `None` for extensions (freplace).
        attach_type: Option<String>,
        target_obj_id: u32,
        target_btf_id: u32,
        target_name: Option<String>,
        cookie: u64,
    },
    /// A cgroup.
    Cgroup { cgroup_id: u64, attach_type: String },
    /// An iterator over the elements of a map.
    MapIterator { target_name: Option<String>, map_id: u32 },
    /// An iterator over cgroups.
    CgroupIterator { target_name: Option<String>, cgroup_id: u64, order: u32 },
    /// An iterator over tasks.
    TaskIterator { target_name: Option<String>, tid: u64, pid: u64 },
    /// Another iterator.
    Iterator { target_name: Option<String> },
    /// A network namespace.
    Netns { netns_ino: u32, attach_type: String },
    /// A network interface.
    Interface {
        ifindex: u32,
        device: LinkDevice,
        /// `None` for XDP links.
        attach_type: Option<String>,
    },
    /// A function of a binary.
    Uprobe { event: String, path: Option<String>, offset: u32, cookie: u64 },
    /// A kernel function.
    Kprobe { event: String, function: Option<String>, offset: u32, missed: u64, cookie: u64 },
    /// A tracepoint.
    Tracepoint { event: String, tracepoint: Option<String>, cookie: u64 },
    /// A perf event.
    PerfEvent { event: String, kind: u32, config: u64, cookie: u64 },
    /// A perf event of an unknown kind.
    OtherPerfEvent { event: String },
    /// Many kernel functions.
    KprobeMulti { func_cnt: u32, retprobe: bool, missed: u64 },
    /// The map of a struct_ops registration.
    StructOps { map_id: u32 },
    /// A netfilter hook.
    Netfilter { pf: u32, hooknum: u32, priority: i32, flags: u32 },
    /// Many functions of a binary.
    UprobeMulti { path: Option<String>, func_cnt: u32, retprobe: bool, pid: u64 },
    /// A sockmap or sockhash.
    Sockmap { map_id: u32, attach_type: String },
    /// A link type that this crate does not know.
    Unknown,
}

impl LinkTarget {
    /// Reads the target of a link. [`OwnInterfaces::find_device`](super::OwnInterfaces::find_device) finds
    /// the network interface (feature `netlink`).
    pub fn read(fd: &impl AsFd, info: &LinkInfo, btfs: &mut BtfCache) -> Result<Self, InfoError> {
        Self::parse(fd, info, btfs).map_err(|errno| {
            let (kind, facts) = (ObjectKind::Link, ObjectFacts::Target);
            InfoError::Kernel { kind, facts, fd: fd.as_fd().as_raw_fd(), errno }
        })
    }

    fn parse(fd: &impl AsFd, info: &LinkInfo, btfs: &mut BtfCache) -> Result<Self, Errno> {
        let detail = Detail(&info.detail);
        let name = || sys::link_target_name(fd).ok().filter(|name| !name.is_empty());
        let Some(link_type) = LinkType::from_number(info.link_type) else { return Ok(Self::Unknown) };
        Ok(match link_type {
            LinkType::RawTracepoint => Self::RawTracepoint { tp_name: name(), cookie: detail.long(4)? },
            LinkType::Tracing => {
                let program =
                    ObjectKind::Program.open(info.prog_id).ok().and_then(|fd| ProgramInfo::query(&fd).ok());
                tracing(&detail, program.as_ref(), btfs)?
            }
            LinkType::Cgroup => {
                Self::Cgroup { cgroup_id: detail.long(0)?, attach_type: detail.attach_type(2)? }
            }
            LinkType::Iter => iterator(&detail, name())?,
            LinkType::Netns => {
                Self::Netns { netns_ino: detail.word(0)?, attach_type: detail.attach_type(1)? }
            }
            LinkType::Xdp => interface(&detail, None)?,
            LinkType::PerfEvent => perf_event(&detail, name())?,
            LinkType::KprobeMulti => Self::KprobeMulti {
                func_cnt: detail.word(2)?,
                retprobe: detail.word(3)? & 1 != 0,
                missed: detail.long(4)?,
            },
            LinkType::StructOps => Self::StructOps { map_id: detail.word(0)? },
            LinkType::Netfilter => Self::Netfilter {
                pf: detail.word(0)?,
                hooknum: detail.word(1)?,
                priority: detail.word(2)?.cast_signed(),
                flags: detail.word(3)?,
            },
            LinkType::Tcx | LinkType::Netkit => interface(&detail, Some(detail.attach_type(1)?))?,
            LinkType::UprobeMulti => Self::UprobeMulti {
                path: name(),
                func_cnt: detail.word(9)?,
                retprobe: detail.word(10)? & 1 != 0,
                pid: detail.word(11)?.into(),
            },
            LinkType::Sockmap => {
                Self::Sockmap { map_id: detail.word(0)?, attach_type: detail.attach_type(1)? }
            }
            _ => Self::Unknown,
        })
    }

    /// Returns whether the link is detached: its place is gone, or `BPF_LINK_DETACH` detached its program.
    /// The kernel then reports 0. A detached link of netfilter keeps its hook and priority, and cannot be
    /// told from an attached one.
    pub fn is_detached(&self) -> bool {
        match self {
            Self::Cgroup { cgroup_id, .. } => *cgroup_id == 0,
            Self::Netns { netns_ino: place, .. }
            | Self::Interface { ifindex: place, .. }
            | Self::StructOps { map_id: place }
            | Self::Sockmap { map_id: place, .. } => *place == 0,
            _ => false,
        }
    }

    /// Returns the fields with their names and in the order of `struct bpf_link_info`. A cookie, a process or
    /// a thread that is 0 is left out.
    pub fn fields(&self) -> Vec<LinkField> {
        use FieldValue as V;
        let name = |name: &Option<String>| name.clone().map_or(V::Unknown, V::Text);
        let text = |text: &String| V::Text(text.clone());
        let number = |number: &u32| V::Number((*number).into());
        let field = |name, value| Some(LinkField { name, value });
        let nonzero =
            |name, number: &u64| (*number != 0).then_some(LinkField { name, value: V::Number(*number) });
        let attach_field = |attach_type: &Option<String>| {
            let value = V::Text(attach_type.clone()?);
            Some(LinkField { name: "attach_type", value })
        };
        let fields = match self {
            Self::RawTracepoint { tp_name, cookie } => {
                vec![field("tp_name", name(tp_name)), nonzero("cookie", cookie)]
            }
            Self::Tracing { attach_type, target_obj_id, target_btf_id, target_name, cookie } => vec![
                attach_field(attach_type),
                field("target_obj_id", number(target_obj_id)),
                field("target_btf_id", number(target_btf_id)),
                field("target_name", name(target_name)),
                nonzero("cookie", cookie),
            ],
            Self::Cgroup { cgroup_id, attach_type } => {
                vec![field("cgroup_id", V::Number(*cgroup_id)), field("attach_type", text(attach_type))]
            }
            Self::MapIterator { target_name, map_id } => {
                vec![field("target_name", name(target_name)), field("map_id", number(map_id))]
            }
            Self::CgroupIterator { target_name, cgroup_id, order } => vec![
                field("target_name", name(target_name)),
                field("cgroup_id", V::Number(*cgroup_id)),
                field("order", number(order)),
            ],
            Self::TaskIterator { target_name, tid, pid } => {
                vec![field("target_name", name(target_name)), nonzero("tid", tid), nonzero("pid", pid)]
            }
            Self::Iterator { target_name } => vec![field("target_name", name(target_name))],
            Self::Netns { netns_ino, attach_type } => {
                vec![field("netns_ino", number(netns_ino)), field("attach_type", text(attach_type))]
            }
            Self::Interface { ifindex, device, attach_type } => vec![
                field("ifindex", number(ifindex)),
                field("ifname", device.name().map_or(V::Unknown, |name| V::Text(name.to_owned()))),
                attach_field(attach_type),
            ],
            Self::Uprobe { event, path, offset, cookie } => vec![
                field("event", text(event)),
                field("path", name(path)),
                field("offset", number(offset)),
                nonzero("cookie", cookie),
            ],
            Self::Kprobe { event, function, offset, missed, cookie } => vec![
                field("event", text(event)),
                field("function", name(function)),
                field("offset", number(offset)),
                field("missed", V::Number(*missed)),
                nonzero("cookie", cookie),
            ],
            Self::Tracepoint { event, tracepoint, cookie } => vec![
                field("event", text(event)),
                field("tracepoint", name(tracepoint)),
                nonzero("cookie", cookie),
            ],
            Self::PerfEvent { event, kind, config, cookie } => vec![
                field("event", text(event)),
                field("type", number(kind)),
                field("config", V::Number(*config)),
                nonzero("cookie", cookie),
            ],
            Self::OtherPerfEvent { event } => vec![field("event", text(event))],
            Self::KprobeMulti { func_cnt, retprobe, missed } => vec![
                field("func_cnt", number(func_cnt)),
                field("retprobe", V::Bool(*retprobe)),
                field("missed", V::Number(*missed)),
            ],
            Self::StructOps { map_id } => vec![field("map_id", number(map_id))],
            Self::Netfilter { pf, hooknum, priority, flags } => vec![
                field("pf", number(pf)),
                field("hooknum", number(hooknum)),
                field("priority", V::Signed((*priority).into())),
                field("flags", number(flags)),
            ],
            Self::UprobeMulti { path, func_cnt, retprobe, pid } => vec![
                field("path", name(path)),
                field("func_cnt", number(func_cnt)),
                field("retprobe", V::Bool(*retprobe)),
                nonzero("pid", pid),
            ],
            Self::Sockmap { map_id, attach_type } => {
                vec![field("map_id", number(map_id)), field("attach_type", text(attach_type))]
            }
            Self::Unknown => Vec::new(),
        };
        fields.into_iter().flatten().collect()
    }
}

/// A field of a link's target.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LinkField {
    /// The name, as in `struct bpf_link_info`.
    pub name: &'static str,
    /// The value.
    pub value: FieldValue,
}

/// The value of a field of a link's target.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "callers print each of them")]
pub enum FieldValue {
    /// A number.
    Number(u64),
    /// A number that may be negative.
    Signed(i64),
    /// A flag.
    Bool(bool),
    /// A name.
    Text(String),
    /// A name that is not known.
    Unknown,
}

/// The words of the union in `struct bpf_link_info`.
struct Detail<'l>(&'l [u32]);

impl Detail<'_> {
    /// Returns a word, or `EINVAL` if the union is shorter.
    fn word(&self, index: usize) -> Result<u32, Errno> {
        self.0.get(index).copied().ok_or(Errno::EINVAL)
    }

    /// Returns the 64-bit number in two words.
    fn long(&self, index: usize) -> Result<u64, Errno> {
        let Some([first, second, ..]) = self.0.get(index..) else { return Err(Errno::EINVAL) };
        let (first, second) = (u64::from(*first), u64::from(*second));
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
    program: Option<&ProgramInfo>,
    btfs: &mut BtfCache,
) -> Result<LinkTarget, Errno> {
    let is_extension = program.is_some_and(|p| p.prog_type == ProgramType::Ext.number());
    let attach_type = if is_extension { None } else { Some(detail.attach_type(0)?) };
    let (target_obj_id, target_btf_id) = (detail.word(1)?, detail.word(2)?);
    let target_name = match program {
        Some(p) if is_extension || traces_program(p) => {
            let target =
                ObjectKind::Program.open(target_obj_id).ok().and_then(|fd| ProgramInfo::query(&fd).ok());
            target.and_then(|target| btfs.type_name(target.btf_id, target_btf_id))
        }
        Some(_) => btfs.type_name(target_obj_id, target_btf_id),
        None => None,
    };
    let cookie = detail.long(4)?;
    Ok(LinkTarget::Tracing { attach_type, target_obj_id, target_btf_id, target_name, cookie })
}

/// Returns whether a program traces another program. Then `target_obj_id` is that program's id, not the id of
/// a BTF.
///
/// After the attachment, the tracing program refers neither to the other program nor to its BTF. Kernels
/// before 6.0 report neither.
fn traces_program(program: &ProgramInfo) -> bool {
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

// `enum bpf_perf_event_type`.
const UPROBE: u32 = 1;
const URETPROBE: u32 = 2;
const KPROBE: u32 = 3;
const KRETPROBE: u32 = 4;
const TRACEPOINT: u32 = 5;
const EVENT: u32 = 6;

fn perf_event(detail: &Detail<'_>, name: Option<String>) -> Result<LinkTarget, Errno> {
    let kind = detail.word(0)?;
    let event = name_or_number(&PERF_EVENTS, kind);
    Ok(match kind {
        UPROBE | URETPROBE => {
            LinkTarget::Uprobe { event, path: name, offset: detail.word(5)?, cookie: detail.long(6)? }
        }
        KPROBE | KRETPROBE => LinkTarget::Kprobe {
            event,
            function: name,
            offset: detail.word(5)?,
            missed: detail.long(8)?,
            cookie: detail.long(10)?,
        },
        TRACEPOINT => LinkTarget::Tracepoint { event, tracepoint: name, cookie: detail.long(6)? },
        EVENT => LinkTarget::PerfEvent {
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
    use super::*;

    #[test]
    fn the_fields_are_those_of_the_kernel() {
        let event = Detail(&[KPROBE, 0, 0, 0, 9, 16, 0, 0, 0, 0, 0, 0, 0, 0]);
        let event = perf_event(&event, Some("do_exit".to_owned())).unwrap();
        let names: Vec<_> = event.fields().iter().map(|field| field.name).collect();
        assert_eq!(names, ["event", "function", "offset", "missed"], "a cookie of 0 is left out");
        let iter = iterator(&Detail(&[0, 0, 9, 42, 0, 0]), Some("bpf_map_elem".to_owned())).unwrap();
        assert_eq!(iter, LinkTarget::MapIterator { target_name: Some("bpf_map_elem".into()), map_id: 42 });
        let attach = Detail(&[24, 999]);
        assert_eq!(attach.attach_type(0).unwrap(), "BPF_TRACE_FENTRY");
        assert_eq!(attach.attach_type(1).unwrap(), "unknown(999)");
        assert_eq!(perf_event(&Detail(&[KPROBE, 0]), None), Err(Errno::EINVAL), "the union is too short");
    }

    #[test]
    fn a_detached_link_has_no_place() {
        for link in [
            LinkTarget::Cgroup { cgroup_id: 0, attach_type: String::new() },
            LinkTarget::Netns { netns_ino: 0, attach_type: String::new() },
            LinkTarget::Sockmap { map_id: 0, attach_type: String::new() },
        ] {
            assert!(link.is_detached(), "{link:?}");
        }
        let iterator = LinkTarget::CgroupIterator { target_name: None, cgroup_id: 0, order: 1 };
        assert!(!iterator.is_detached(), "an iterator of all cgroups");
    }

    #[test]
    fn extensions_have_no_attach_type() {
        let number = ProgramType::Ext.number();
        let tracer = |prog_type, attach_btf_obj_id, attach_btf_id| {
            let mut info = ProgramInfo::default();
            (info.prog_type, info.attach_btf_obj_id, info.attach_btf_id) =
                (prog_type, attach_btf_obj_id, attach_btf_id);
            info
        };
        let extension = tracer(number, 0, 5);
        // No program and no BTF has such an id.
        let detail = Detail(&[0, u32::MAX, 5, 0, 0, 0]);
        let link = tracing(&detail, Some(&extension), &mut BtfCache::default()).unwrap();
        assert_eq!(
            link.fields().iter().map(|field| field.name).collect::<Vec<_>>(),
            ["target_obj_id", "target_btf_id", "target_name"]
        );
        let tracing = ProgramType::Tracing.number();
        assert!(traces_program(&tracer(tracing, 0, 5)) && !traces_program(&tracer(tracing, 1, 5)));
        assert!(!traces_program(&ProgramInfo::default()), "a kernel that does not report it");
    }
}
