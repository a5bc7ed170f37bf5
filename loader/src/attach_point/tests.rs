//! Tests of the text of attach points, and of what fits a program.

use super::{
    AttachPoint, AttachPointError, AttachSite, InterfaceHook, PlaceProblem,
    attach_type::{attach_type_word, cgroup_attach_types, find_attach_type},
};
use crate::attach::{NetfilterHook, PacketDirection, TcAttachPoint, XdpMode};
use core_relo_object::object::{AttachType as A, ProgramType as P};

fn site(text: &str) -> Result<AttachSite, AttachPointError> {
    text.parse::<AttachPoint>().map(|point| point.site)
}

#[test]
fn the_shortest_word_of_an_attach_type_is_understood() {
    for (attach_type, word) in [
        (A::CgroupInet4Connect, "connect4"),
        (A::CgroupInetEgress, "egress"),
        (A::CgroupDevice, "dev"),
        (A::LsmCgroup, "lsm_cgroup"),
    ] {
        assert_eq!(attach_type_word(attach_type), word);
    }
    let types: Vec<_> = cgroup_attach_types().collect();
    for attach_type in &types {
        assert_eq!(find_attach_type(&attach_type_word(*attach_type), &types), Some(*attach_type));
    }
}

#[test]
fn attach_points_are_parsed() {
    let interface = |name: &str, hook| Ok(AttachSite::Interface { name: name.into(), hook });
    assert_eq!(site("dev:eth0"), interface("eth0", None));
    assert_eq!(site("dev:eth0,xdpdrv"), interface("eth0", Some(InterfaceHook::Xdp(XdpMode::Driver))));
    assert_eq!(
        site("dev:eth0,egress"),
        interface("eth0", Some(InterfaceHook::Direction(PacketDirection::Egress)))
    );
    assert_eq!(site("dev:eth0,tcx_egress"), interface("eth0", Some(InterfaceHook::Classifier(A::TcxEgress))));
    assert_eq!(
        site("dev:eth0,tc_ingress"),
        interface("eth0", Some(InterfaceHook::Tc(TcAttachPoint::Ingress)))
    );
    let cgroup = |path: &str, attach_type| Ok(AttachSite::Cgroup { path: path.into(), attach_type });
    assert_eq!(site("cgroup:/a,b"), cgroup("/a,b", None));
    assert_eq!(site("cgroup:/a,b,connect4"), cgroup("/a,b", Some(A::CgroupInet4Connect)));
    assert_eq!(site("netns:blue"), Ok(AttachSite::Netns("/run/netns/blue".into())));
    assert_eq!(site("netns:/proc/1/ns/net"), Ok(AttachSite::Netns("/proc/1/ns/net".into())));
    assert_eq!(
        site("map:socks,sk_skb_verdict"),
        Ok(AttachSite::Map { map: "socks".into(), attach_type: Some(A::SkSkbVerdict) })
    );
    assert_eq!(
        site("netfilter:ipv6,output,-5,defrag"),
        Ok(AttachSite::Netfilter(NetfilterHook { family: 10, hook: 3, priority: -5, defragment: true }))
    );
    assert_eq!(site("cpu:all"), Ok(AttachSite::Cpu(None)));
    for route in
        ["route:0.0.0.0/0,eth0", "route:10.9.0.1/32,eth0", "route:::/0,eth0", "route:fd00:88::/64,eth0"]
    {
        assert!(matches!(site(route), Ok(AttachSite::Route(_))), "{route}");
    }
    assert_eq!(site("kprobe:vfs_read+0x4"), Ok(AttachSite::Section("kprobe/vfs_read+0x4".into())));
    for (text, section) in [
        ("uprobe:/bin/sh:main", "uprobe//bin/sh:main"),
        ("uprobe:libc.so.6:0x1115", "uprobe/libc.so.6:0x1115"),
        ("kprobe:veth:veth_open", "kprobe/veth:veth_open"),
    ] {
        assert_eq!(site(text), Ok(AttachSite::Section(section.into())));
    }
}

#[test]
fn a_wrong_attach_point_is_explained() {
    for (text, what) in [
        ("", "expected KIND:PLACE with `dev`, `cgroup`"),
        (":eth0", "expected KIND:PLACE with `dev`, `cgroup`"),
        ("map:,sk_skb_verdict", "expected `map:` and a place, for example `map:socks`"),
        ("dev:,ingress", "expected `dev:` and a place, for example `dev:eth0`"),
        ("cgroup:,connect4", "expected `cgroup:` and a place"),
        ("cgruop:/a", "unknown kind of attach point `cgruop`, expected KIND:PLACE"),
        ("dev:", "expected `dev:` and a place, for example `dev:eth0`"),
        ("dev", "for example `dev:eth0`"),
        ("dev:eth0,ingres", "interface eth0: unknown hook `ingres`, expected `xdp`"),
        ("pid:x", "pid: x: expected a number"),
        ("pid:0", "expected the id of a process, 1 or more"),
        ("pid:00", "expected the id of a process, 1 or more"),
        ("pid:2147483648", "expected the id of a process, 1 or more"),
        ("cpu:x", "cpu: x: expected a number or `all`"),
        ("netfilter:ipv4,input", "expected FAMILY,HOOK,PRIORITY"),
        ("netfilter:ipv4,input,x", "expected FAMILY,HOOK,PRIORITY"),
        ("kprobe:vfs_read xyz", "kprobe:vfs_read xyz: expected `kprobe:[module:]function[+offset]`"),
        ("ksyscall:", "for example `ksyscall:openat`"),
        ("kretsyscall:!", "expected `kretsyscall:name` with the name of a system call"),
        ("tp.s:x", "expected `tp.s:category/name`"),
        ("kprobe:vfs_rea*", "kprobe.multi and kretprobe.multi take a pattern"),
        ("usdt:/bin/sh:a:b:c", "usdt:/bin/sh:a:b:c: expected `usdt:binary:provider:name`"),
        ("route:10.9.0.0/33,eth0", "the prefix has at most 32 bits"),
        ("route:fd00::/129,eth0", "the prefix has at most 128 bits"),
        ("route:10.9.0.1/16,eth0", "the address has bits after the prefix"),
        ("route:::1/0,eth0", "the address has bits after the prefix"),
    ] {
        let error = site(text).unwrap_err().to_string();
        assert!(error.contains(what), "{text}: {error}");
    }
}

/// A terminal must not run the control characters in an attach point of a configuration file.
#[test]
fn text_in_errors_is_escaped() {
    let unfit = |point: &str, program_type| {
        point.parse::<AttachPoint>().unwrap().check_fits(program_type, None).unwrap_err()
    };
    for error in [
        site("a\x1b[31m:x").unwrap_err(),
        site("pid:a\x1b[31m").unwrap_err(),
        unfit("dev:a\x1b[31m", P::SkLookup),
        unfit("cgroup:/a\x1b[31m,b\x1b[31m", P::CgroupSkb),
    ] {
        let text = error.to_string();
        assert!(text.contains(r"a\u{1b}[31m") && !text.contains('\x1b'), "{text:?}");
    }
}

#[test]
fn attach_types_are_found_by_bpftools_words_and_by_section_names() {
    let types: Vec<_> = cgroup_attach_types().collect();
    for attach_type in &types {
        assert_eq!(find_attach_type(&attach_type.short_name(), &types), Some(*attach_type));
    }
    // The words of bpftool before 7.0.
    for (word, attach_type) in [
        ("ingress", A::CgroupInetIngress),
        ("egress", A::CgroupInetEgress),
        ("sock_create", A::CgroupInetSockCreate),
        ("sock_release", A::CgroupInetSockRelease),
        ("sock_ops", A::CgroupSockOps),
        ("device", A::CgroupDevice),
        ("bind4", A::CgroupInet4Bind),
        ("connect6", A::CgroupInet6Connect),
        ("post_bind4", A::CgroupInet4PostBind),
        ("getpeername4", A::CgroupInet4Getpeername),
        ("sendmsg6", A::CgroupUdp6Sendmsg),
        ("recvmsg4", A::CgroupUdp4Recvmsg),
        ("sysctl", A::CgroupSysctl),
        ("getsockopt", A::CgroupGetsockopt),
        ("setsockopt", A::CgroupSetsockopt),
    ] {
        assert_eq!(find_attach_type(word, &types), Some(attach_type), "{word}");
    }
    assert_eq!(find_attach_type("connect", &types), None, "three attach types");
}

#[test]
fn what_does_not_fit_a_program_names_what_fits() {
    let check = |point: &str, program_type, attach_type| {
        point.parse::<AttachPoint>().unwrap().check_fits(program_type, attach_type)
    };
    for (point, program_type, attach_type) in [
        ("dev:eth0", P::Xdp, None),
        ("dev:eth0", P::SchedCls, Some(A::NetkitPeer)),
        ("dev:eth0,ingress", P::SchedCls, None),
        ("cgroup:/a", P::CgroupDevice, None),
        ("cgroup:/a", P::Lsm, None),
        ("cgroup:/a,egress", P::CgroupSkb, None),
        ("map:m", P::SkMsg, None),
        ("pid:1", P::PerfEvent, None),
        ("kprobe:f", P::Kprobe, None),
        ("raw_tp:f", P::RawTracepoint, None),
    ] {
        assert_eq!(check(point, program_type, attach_type), Ok(()), "{point}");
    }
    for (point, program_type, attach_type, what) in [
        ("cgroup:/a", P::Xdp, None, "`cgroup:/a` does not fit a program of type xdp: expected `dev`"),
        ("dev:eth0", P::SkLookup, None, "expected `netns`"),
        ("dev:eth0", P::SchedCls, None, "expected `dev:NAME,ingress` or `dev:NAME,egress`"),
        ("dev:eth0,xdp", P::SchedCls, None, "expected `ingress` or `egress`"),
        ("dev:eth0,ingress", P::Xdp, None, "expected `xdp`, `xdpgeneric`, `xdpdrv` or `xdpoffload`"),
        (
            "cgroup:/a",
            P::CgroupSkb,
            None,
            "the attach type is missing: expected `cgroup:/a,TYPE` with `ingress` or `egress`",
        ),
        ("cgroup:/a,connect4", P::CgroupSkb, None, "attach type cgroup_inet4_connect does not fit"),
        ("cgroup:/a,connect4", P::CgroupSkb, None, "expected `cgroup:/a,TYPE` with `ingress` or `egress`"),
        (
            "cgroup:/a,egres",
            P::CgroupSkb,
            None,
            "unknown attach type `egres`, expected `cgroup:/a,TYPE` with `ingress` or `egress`",
        ),
        (
            "cgroup:/a,egres",
            P::CgroupSkb,
            Some(A::CgroupInetEgress),
            "unknown attach type `egres`, expected `cgroup:/a,TYPE`",
        ),
        ("map:m,verdct", P::SkMsg, None, "unknown attach type `verdct`, expected `map:m,TYPE`"),
        ("map:m", P::SkSkb, None, "the attach type is missing"),
        ("route:10.88.0.0/24,eth0", P::LwtSeg6local, None, "segment routing needs IPv6"),
        ("dev:eth0", P::SocketFilter, None, "no attach point that can be named here"),
    ] {
        let error = check(point, program_type, attach_type).unwrap_err().to_string();
        assert!(error.contains(what), "{point}: {error}");
    }
}

/// A caller finds the parts of a refusal without reading its text.
#[test]
fn errors_have_their_parts_as_data() {
    let place = |kind: &str, place: &str, problem| {
        Err(AttachPointError::Place { kind: kind.into(), place: place.into(), problem })
    };
    assert_eq!(site("pid:0"), place("pid", "0", PlaceProblem::ProcessId));
    let route = "10.9.0.0/33,eth0";
    assert_eq!(
        site(&format!("route:{route}")),
        place("route", route, PlaceProblem::PrefixLength { bits: 32 })
    );
    let point = "cgroup:/a,connect4".parse::<AttachPoint>().unwrap();
    let error = point.check_fits(P::CgroupSkb, None).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`cgroup:/a,connect4`: program of type cgroup_skb: attach type cgroup_inet4_connect does not fit: expected `cgroup:/a,TYPE` with `ingress` or `egress`"
    );
    let given = Some(A::CgroupInet4Connect);
    let (point, place, expected) =
        (point.to_string(), "cgroup:/a".into(), vec!["ingress".into(), "egress".into()]);
    let program_type = P::CgroupSkb;
    assert_eq!(error, AttachPointError::UnfitAttachType { point, place, program_type, given, expected });
}
