//! What a link is attached to, by its type: the union in the kernel's `struct bpf_link_info`.

use super::{Kind, types::Types};
use core_relo::Endian;
use core_relo_loader::{
    object::{AttachType, ProgramType},
    sys::{self, LinkInfo, ProgInfo},
};
use rustix::net::{self, AddressFamily, SocketType};
use serde_json::{Map, Value};
use std::os::fd::AsFd;

/// The number of a struct_ops link's type.
pub(crate) const STRUCT_OPS: u32 = 9;

/// Types by number (`enum bpf_link_type`).
const TYPES: [&str; 15] = [
    "BPF_LINK_TYPE_UNSPEC",
    "BPF_LINK_TYPE_RAW_TRACEPOINT",
    "BPF_LINK_TYPE_TRACING",
    "BPF_LINK_TYPE_CGROUP",
    "BPF_LINK_TYPE_ITER",
    "BPF_LINK_TYPE_NETNS",
    "BPF_LINK_TYPE_XDP",
    "BPF_LINK_TYPE_PERF_EVENT",
    "BPF_LINK_TYPE_KPROBE_MULTI",
    "BPF_LINK_TYPE_STRUCT_OPS",
    "BPF_LINK_TYPE_NETFILTER",
    "BPF_LINK_TYPE_TCX",
    "BPF_LINK_TYPE_UPROBE_MULTI",
    "BPF_LINK_TYPE_NETKIT",
    "BPF_LINK_TYPE_SOCKMAP",
];

/// Perf events that have links (`enum bpf_perf_event_type`).
const PERF_EVENTS: [&str; 7] =
    ["unspecified", "uprobe", "uretprobe", "kprobe", "kretprobe", "tracepoint", "event"];

/// A type's name.
pub(crate) fn type_name(number: u32) -> String {
    let known = usize::try_from(number).ok().and_then(|i| TYPES.get(i));
    known.map_or_else(|| format!("unknown({number})"), |name| (*name).to_owned())
}

/// The facts of a link's type, in the kernel's order and by its names.
pub(crate) fn target(fd: &impl AsFd, info: &LinkInfo, types: &mut Types) -> Map<String, Value> {
    let mut facts = Facts { map: Map::new(), words: &info.detail };
    let name = || sys::link_target_name(fd).ok().filter(|name| !name.is_empty());
    match info.link_type {
        1 => {
            facts.put("tp_name", name());
            facts.put_if("cookie", facts.long(4));
        }
        2 => {
            let program = Kind::Prog.open(info.prog_id).and_then(|fd| sys::prog_info(&fd)).ok();
            tracing(&mut facts, program.as_ref(), types);
        }
        3 => {
            facts.put("cgroup_id", facts.long(0));
            facts.attach_type(2);
        }
        4 => iterator(&mut facts, name()),
        5 => {
            facts.put("netns_ino", facts.word(0));
            facts.attach_type(1);
        }
        6 => facts.interface(),
        7 => perf_event(&mut facts, name()),
        8 => {
            facts.put("func_cnt", facts.word(2));
            facts.put("retprobe", facts.word(3) & 1 != 0);
            facts.put("missed", facts.long(4));
        }
        STRUCT_OPS => facts.put("map_id", facts.word(0)),
        10 => {
            facts.put("pf", facts.word(0));
            facts.put("hooknum", facts.word(1));
            facts.put("priority", facts.word(2).cast_signed());
            facts.put("flags", facts.word(3));
        }
        11 | 13 => {
            facts.interface();
            facts.attach_type(1);
        }
        12 => {
            facts.put("path", name());
            facts.put("func_cnt", facts.word(9));
            facts.put("retprobe", facts.word(10) & 1 != 0);
            facts.put_if("pid", facts.word(11).into());
        }
        14 => {
            facts.put("map_id", facts.word(0));
            facts.attach_type(1);
        }
        _ => {}
    }
    facts.map
}

/// The facts in words: `attach_type TRACE_FENTRY, target_name do_exit`.
pub(crate) fn words(facts: &Map<String, Value>) -> String {
    let one = |(key, value): (&String, &Value)| match value {
        Value::String(text) => {
            format!("{key} {}", core_relo::Name::new(text.strip_prefix("BPF_").unwrap_or(text).as_bytes()))
        }
        other => format!("{key} {other}"),
    };
    facts.iter().map(one).collect::<Vec<_>>().join(", ")
}

struct Facts<'l> {
    map: Map<String, Value>,
    words: &'l [u32],
}

impl Facts<'_> {
    fn word(&self, at: usize) -> u32 {
        self.words.get(at).copied().unwrap_or_default()
    }

    /// Two words, in the machine's order.
    fn long(&self, at: usize) -> u64 {
        let (first, second) = (u64::from(self.word(at)), u64::from(self.word(at + 1)));
        match Endian::native() {
            Endian::Little => second << 32 | first,
            Endian::Big => first << 32 | second,
        }
    }

    fn put(&mut self, key: &str, value: impl Into<Value>) {
        self.map.insert(key.to_owned(), value.into());
    }

    fn put_if(&mut self, key: &str, value: u64) {
        if value != 0 {
            self.put(key, value);
        }
    }

    fn attach_type(&mut self, at: usize) {
        let number = self.word(at);
        let name = AttachType::from_number(number).map(|known| known.name().to_owned());
        self.put("attach_type", name.unwrap_or_else(|| format!("unknown({number})")));
    }

    fn interface(&mut self) {
        let index = self.word(0);
        self.put("ifindex", index);
        self.put("ifname", interface_name(index));
    }
}

fn tracing(facts: &mut Facts<'_>, program: Option<&ProgInfo>, types: &mut Types) {
    let is_extension = program.is_some_and(|p| p.prog_type == ProgramType::Ext.number());
    if !is_extension {
        facts.attach_type(0);
    }
    let (object, ty) = (facts.word(1), facts.word(2));
    facts.put("target_obj_id", object);
    facts.put("target_btf_id", ty);
    let name = match program {
        Some(p) if is_extension || traces_program(p) => {
            let target = Kind::Prog.open(object).and_then(|fd| sys::prog_info(&fd)).ok();
            target.and_then(|target| types.name(target.btf_id, ty))
        }
        Some(_) => types.name(object, ty),
        None => None,
    };
    facts.put("target_name", name);
    facts.put_if("cookie", facts.long(4));
}

/// Whether it traces another program: then the kernel's `target_obj_id` is that program's id, and not that of a BTF.
///
/// Once attached, it holds that program no more, and no BTF of it. Kernels before 6.0 say nothing of either.
fn traces_program(program: &ProgInfo) -> bool {
    program.attach_btf_id != 0 && program.attach_btf_obj_id == 0
}

fn iterator(facts: &mut Facts<'_>, name: Option<String>) {
    let is_of = |part: &str| name.as_ref().is_some_and(|name| name.contains(part));
    let (maps, cgroups, tasks) = (is_of("map_elem") || is_of("storage_map"), is_of("cgroup"), is_of("task"));
    facts.put("target_name", name);
    if maps {
        facts.put("map_id", facts.word(3));
    } else if cgroups {
        facts.put("cgroup_id", facts.long(4));
        facts.put("order", facts.word(6));
    } else if tasks {
        facts.put_if("tid", facts.word(4).into());
        facts.put_if("pid", facts.word(5).into());
    }
}

fn perf_event(facts: &mut Facts<'_>, name: Option<String>) {
    let kind = facts.word(0);
    let known = usize::try_from(kind).ok().and_then(|i| PERF_EVENTS.get(i));
    facts.put("event", known.map_or_else(|| format!("unknown({kind})"), |name| (*name).to_owned()));
    match kind {
        1 | 2 => {
            facts.put("path", name);
            facts.put("offset", facts.word(5));
            facts.put_if("cookie", facts.long(6));
        }
        3 | 4 => {
            facts.put("function", name);
            facts.put("offset", facts.word(5));
            facts.put("missed", facts.long(8));
            facts.put_if("cookie", facts.long(10));
        }
        5 => {
            facts.put("tracepoint", name);
            facts.put_if("cookie", facts.long(6));
        }
        6 => {
            facts.put("type", facts.word(4));
            facts.put("config", facts.long(2));
            facts.put_if("cookie", facts.long(6));
        }
        _ => {}
    }
}

/// The name of a network interface in this network namespace.
pub(crate) fn interface_name(index: u32) -> Option<String> {
    // /sys/class/net shows the interfaces of the namespace in which sysfs was mounted.
    let socket = net::socket(AddressFamily::UNIX, SocketType::DGRAM, None).ok()?;
    net::netdevice::index_to_name(&socket, index).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(words: &[u32]) -> Facts<'_> {
        Facts { map: Map::new(), words }
    }

    #[test]
    fn facts_in_words() {
        let words_of_event = [3, 0, 0, 0, 9, 16, 0, 0, 0, 0, 0, 0, 0, 0];
        let mut event = facts(&words_of_event);
        perf_event(&mut event, Some("do_exit".to_owned()));
        assert_eq!(words(&event.map), "event kprobe, function do_exit, offset 16, missed 0");
        let words_of_iterator = [0, 0, 9, 42, 0, 0];
        let mut iter = facts(&words_of_iterator);
        iterator(&mut iter, Some("bpf_map_elem".to_owned()));
        assert_eq!(words(&iter.map), "target_name bpf_map_elem, map_id 42");
        let mut attach = facts(&[24, 999]);
        attach.attach_type(0);
        assert_eq!(words(&attach.map), "attach_type TRACE_FENTRY");
        attach.attach_type(1);
        assert_eq!(words(&attach.map), "attach_type unknown(999)");
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
        let words_of_link = [0, u32::MAX, 5, 0, 0, 0];
        let mut link = facts(&words_of_link);
        tracing(&mut link, Some(&extension), &mut Types::default());
        assert_eq!(words(&link.map), "target_obj_id 4294967295, target_btf_id 5, target_name null");
        assert!(traces_program(&tracer(26, 0, 5)) && !traces_program(&tracer(26, 1, 5)));
        assert!(!traces_program(&ProgInfo::default()), "a kernel that does not say");
    }

    #[test]
    fn every_type_has_its_number() {
        assert_eq!(type_name(0), "BPF_LINK_TYPE_UNSPEC");
        assert_eq!(type_name(STRUCT_OPS), "BPF_LINK_TYPE_STRUCT_OPS");
        assert_eq!(type_name(14), "BPF_LINK_TYPE_SOCKMAP");
        assert_eq!(type_name(15), "unknown(15)");
    }
}
