//! Attach calls by program name, for the programs of a loaded object.
//!
//! Each method of [`Loaded`] here is a function of [`attach`](crate::attach) that takes the program by name. Where the kernel needs
//! an attach type, the method takes the one that the program was loaded with.

use super::loaded::{Loaded, LoadedMap, LoadedProgram};
use crate::attach::{
    self, AttachError, CgroupOptions, FileRef, IterOptions, KprobeMultiOptions, KprobeOptions, KprobeSet,
    KsyscallOptions, Link, NetfilterHook, PerfEventOptions, RawTracepointOptions, TraceMultiOptions,
    TraceSet, TracepointOptions, UprobeMultiOptions, UprobeOptions, UprobeSet,
};
use core_relo_object::object::AttachType;
use std::{
    os::fd::{AsFd as _, OwnedFd},
    path::Path,
};

impl Loaded {
    /// Attaches a program to a cgroup, see [`attach::cgroup`](crate::attach::cgroup()). The cgroup is its directory, by path or
    /// descriptor. The program's section names the attach type, such as `cgroup/connect4`.
    ///
    /// ```no_run
    /// # fn example(loaded: &core_relo_loader::load::Loaded) -> Result<(), core_relo_loader::attach::AttachError> {
    /// use core_relo_loader::attach::CgroupOptions;
    /// let directory = "/sys/fs/cgroup/system.slice";
    /// let link = loaded.attach_cgroup("check_connect", directory, &CgroupOptions::default())?;
    /// # drop(link);
    /// # Ok(())
    /// # }
    /// ```
    pub fn attach_cgroup<'c>(
        &self,
        program: &str,
        cgroup: impl Into<FileRef<'c>>,
        options: &CgroupOptions<'_>,
    ) -> Result<Link, AttachError> {
        self.attach_program(program, |prog| {
            attach::cgroup(
                prog.as_fd(),
                cgroup,
                attach_type(prog, "a section such as `cgroup/connect4`")?,
                options,
            )
        })
    }

    /// Attaches a program to a network namespace, see [`attach::netns`](crate::attach::netns()). The namespace is a file by path
    /// or descriptor, such as `/run/netns/blue`.
    pub fn attach_netns<'n>(
        &self,
        program: &str,
        netns: impl Into<FileRef<'n>>,
    ) -> Result<Link, AttachError> {
        self.attach_program(program, |prog| {
            attach::netns(prog.as_fd(), netns, attach_type(prog, "`sk_lookup` or `flow_dissector`")?)
        })
    }

    /// Attaches a program to one of the object's sockmaps or sockhashes, see [`attach::sockmap`](crate::attach::sockmap()).
    pub fn attach_sockmap(&self, program: &str, map: &str) -> Result<Link, AttachError> {
        self.attach_program(program, |prog| {
            let map = self.map(map).and_then(LoadedMap::fd).ok_or_else(|| {
                AttachError::target(
                    format!("map `{map}`"),
                    "the object has no such map, or it was not created",
                )
            })?;
            attach::sockmap(prog.as_fd(), map, attach_type(prog, "`sk_msg` or `sk_skb/stream_verdict`")?)
        })
    }

    /// Attaches a program to a netfilter hook, see [`attach::netfilter`](crate::attach::netfilter()).
    pub fn attach_netfilter(&self, program: &str, hook: NetfilterHook) -> Result<Link, AttachError> {
        self.attach_program(program, |prog| attach::netfilter(prog.as_fd(), hook))
    }

    /// Attaches a program to an infrared receiver, `/dev/lirc…` by path or descriptor, see [`attach::lirc`](crate::attach::lirc()).
    pub fn attach_lirc<'d>(
        &self,
        program: &str,
        device: impl Into<FileRef<'d>>,
    ) -> Result<Link, AttachError> {
        self.attach_program(program, |prog| attach::lirc(prog.as_fd(), device))
    }

    /// Attaches a program to a kernel function, see [`attach::kprobe`](crate::attach::kprobe()).
    pub fn attach_kprobe(
        &self,
        program: &str,
        function: &str,
        options: &KprobeOptions,
    ) -> Result<Link, AttachError> {
        self.attach_program(program, |prog| attach::kprobe(prog.as_fd(), function, options))
    }

    /// Attaches a program to many kernel functions, see [`attach::kprobe_multi`](crate::attach::kprobe_multi()).
    pub fn attach_kprobe_multi(
        &self,
        program: &str,
        functions: KprobeSet<'_>,
        options: &KprobeMultiOptions<'_>,
    ) -> Result<Link, AttachError> {
        self.attach_program(program, |prog| attach::kprobe_multi(prog.as_fd(), functions, options))
    }

    /// Attaches a program to many kernel functions, see [`attach::trace_multi`](crate::attach::trace_multi()).
    pub fn attach_trace_multi(
        &self,
        program: &str,
        functions: TraceSet<'_>,
        options: &TraceMultiOptions<'_>,
    ) -> Result<Link, AttachError> {
        self.attach_program(program, |prog| {
            attach::trace_multi(prog.as_fd(), attach_type(prog, "fentry.multi")?, functions, options)
        })
    }

    /// Attaches a program to a system call, see [`attach::ksyscall`](crate::attach::ksyscall()).
    pub fn attach_ksyscall(
        &self,
        program: &str,
        syscall: &str,
        options: &KsyscallOptions,
    ) -> Result<Link, AttachError> {
        self.attach_program(program, |prog| attach::ksyscall(prog.as_fd(), syscall, options))
    }

    /// Attaches a program to a location in a binary, see [`attach::uprobe`](crate::attach::uprobe()).
    pub fn attach_uprobe(
        &self,
        program: &str,
        binary: impl AsRef<Path>,
        options: &UprobeOptions<'_>,
    ) -> Result<Link, AttachError> {
        self.attach_program(program, |prog| attach::uprobe(prog.as_fd(), binary, options))
    }

    /// Attaches a program to many locations in a binary, see [`attach::uprobe_multi`](crate::attach::uprobe_multi()).
    pub fn attach_uprobe_multi(
        &self,
        program: &str,
        binary: impl AsRef<Path>,
        locations: UprobeSet<'_>,
        options: &UprobeMultiOptions<'_>,
    ) -> Result<Link, AttachError> {
        self.attach_program(program, |prog| attach::uprobe_multi(prog.as_fd(), binary, locations, options))
    }

    /// Attaches a program to a USDT probe, see [`attach::usdt`](crate::attach::usdt()).
    #[cfg(feature = "usdt")]
    pub fn attach_usdt(
        &self,
        program: &str,
        binary: impl AsRef<Path>,
        provider: &str,
        name: &str,
        options: &attach::UsdtOptions,
    ) -> Result<Link, AttachError> {
        self.attach_program(program, |prog| {
            let manager = self.usdt()?.ok_or_else(|| {
                AttachError::target(
                    format!("usdt/{}:{provider}:{name}", binary.as_ref().display()),
                    "the object lacks the maps of libbpf's usdt.bpf.h, __bpf_usdt_specs and __bpf_usdt_ip_to_spec_id",
                )
            })?;
            attach::usdt(prog.as_fd(), manager, binary, provider, name, options)
        })
    }

    /// Attaches a program to a tracepoint, see [`attach::tracepoint`](crate::attach::tracepoint()).
    pub fn attach_tracepoint(
        &self,
        program: &str,
        category: &str,
        name: &str,
        options: &TracepointOptions,
    ) -> Result<Link, AttachError> {
        self.attach_program(program, |prog| attach::tracepoint(prog.as_fd(), category, name, options))
    }

    /// Attaches a program to a raw tracepoint, see [`attach::raw_tracepoint`](crate::attach::raw_tracepoint()).
    pub fn attach_raw_tracepoint(
        &self,
        program: &str,
        name: &str,
        options: &RawTracepointOptions,
    ) -> Result<Link, AttachError> {
        self.attach_program(program, |prog| attach::raw_tracepoint(prog.as_fd(), name, options))
    }

    /// Attaches a program to a perf event, such as one of [`open_perf_counter`](crate::attach::open_perf_counter), see
    /// [`attach::perf_event`](crate::attach::perf_event()).
    pub fn attach_perf_event(
        &self,
        program: &str,
        event: OwnedFd,
        options: &PerfEventOptions,
    ) -> Result<Link, AttachError> {
        self.attach_program(program, |prog| attach::perf_event(prog.as_fd(), event, options))
    }

    /// Attaches an iterator, see [`attach::iter`](crate::attach::iter()).
    pub fn attach_iter(&self, program: &str, options: &IterOptions<'_>) -> Result<Link, AttachError> {
        self.attach_program(program, |prog| attach::iter(prog.as_fd(), options))
    }

    /// Finds a program and attaches it. An error names the program and its section.
    pub(super) fn attach_program(
        &self,
        name: &str,
        attach: impl FnOnce(&LoadedProgram) -> Result<Link, AttachError>,
    ) -> Result<Link, AttachError> {
        let program = self.find_program(name)?;
        attach(program).map_err(|cause| program_error(program, cause))
    }

    pub(super) fn find_program(&self, name: &str) -> Result<&LoadedProgram, AttachError> {
        let problem = "the object has no such program, or it was not loaded";
        self.program(name).ok_or_else(|| AttachError::target(format!("program `{name}`"), problem))
    }
}

/// Creates the error of a program that is not attached.
pub(super) fn program_error(program: &LoadedProgram, cause: AttachError) -> AttachError {
    AttachError::Program {
        program: program.plan.name().into(),
        section: program.plan.section().into(),
        cause: Box::new(cause),
    }
}

/// Returns the attach type that a program was loaded with or that its section names.
pub(super) fn attach_type(program: &LoadedProgram, expected: &str) -> Result<AttachType, AttachError> {
    let by_section = || program.plan.sec_def().as_ref().and_then(|def| def.attach_type);
    // The plan has 0 for no attach type, which is also the number of an attach type.
    let planned = match program.plan.attach_type() {
        0 => by_section(),
        number => AttachType::from_number(number),
    };
    planned.ok_or_else(|| {
        let problem = format!("the program has no attach type, expected {expected}");
        AttachError::target(program.plan.section(), problem)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        attach::{
            Order, Placement, TcAttachPoint, TcOptions, XdpMode,
            test_support::{Cgroup, in_own_network, pair},
        },
        loader::Loader,
    };
    use core_relo_object::{
        object::Object,
        test_support::{TestObject, returns},
    };
    use core_relo_test_support::skip;

    /// Loads an object with a program for each kind of target. `None` where nothing can be loaded.
    fn load() -> Option<Loaded> {
        let mut m = TestObject::new();
        m.program("pass", "xdp", &returns(2));
        m.program("ingress", "tcx/ingress", &returns(-1));
        m.program("classify", "tc", &returns(-1));
        m.program("egress", "cgroup_skb/egress", &returns(1));
        m.program("first", "cgroup_skb/ingress", &returns(1));
        m.program("any", "cgroup/skb", &returns(1));
        m.program("lookup", "sk_lookup", &returns(1));
        m.program("enter", "raw_tp", &returns(0));
        let bytes = m.bytes();
        let object = Object::parse(&bytes).unwrap();
        Loader::new(&object).load().inspect_err(|e| skip!(Root, "nothing can be loaded here: {e}")).ok()
    }

    #[test]
    fn programs_attach_to_interfaces_by_name() {
        in_own_network(|| {
            let (Some(loaded), Some(_)) = (load(), pair("veth")) else { return };
            let link = loaded.attach_xdp("pass", "peer0", XdpMode::Generic).unwrap();
            assert_eq!(link.label(), "xdp on interface peer0");
            let options = TcOptions::default();
            let tc = loaded.attach_tc("classify", "peer0", TcAttachPoint::Egress, options).unwrap();
            tc.detach().unwrap();
            let placement = Placement { order: Order::First, ..Placement::default() };
            match loaded.attach_tcx("ingress", "peer0", &placement) {
                Ok(link) => link.detach().unwrap(),
                Err(e) => assert!(e.to_string().contains("needs a kernel from 6.6"), "{e}"),
            }
            let error = loaded.attach_tcx("classify", "peer0", &placement).unwrap_err().to_string();
            assert_eq!(
                error,
                "program `classify`: tc: the program has no attach type, expected `tcx/ingress` or `tcx/egress`"
            );
            let error = loaded.attach_xdp("pass", "nowhere0", XdpMode::Any).unwrap_err().to_string();
            assert!(
                error.starts_with("program `pass` (section xdp): interface nowhere0: cannot find: ENODEV"),
                "{error}"
            );
            let error = loaded.attach_xdp("lookup", "peer0", XdpMode::Generic).unwrap_err().to_string();
            assert!(
                error.contains("wrong program type: BPF_PROG_TYPE_SK_LOOKUP, expected BPF_PROG_TYPE_XDP"),
                "{error}"
            );
            let error = loaded.attach_xdp("none", 1, XdpMode::Any).unwrap_err().to_string();
            assert_eq!(error, "program `none`: the object has no such program, or it was not loaded");
            loaded.attach_netns("lookup", "/proc/thread-self/ns/net").unwrap().detach().unwrap();
        });
    }

    #[test]
    fn programs_attach_to_cgroups_by_path_with_the_attach_type_of_their_section() {
        let (Some(loaded), Some(group)) = (load(), Cgroup::new()) else { return };
        let options = CgroupOptions::default();
        for (program, label) in [
            ("egress", "BPF_CGROUP_INET_EGRESS of a cgroup"),
            ("first", "BPF_CGROUP_INET_INGRESS of a cgroup"),
        ] {
            let link = loaded.attach_cgroup(program, group.path(), &options).unwrap();
            assert_eq!(link.label(), label);
            link.detach().unwrap();
        }
        let error = loaded.attach_cgroup("any", group.path(), &options).unwrap_err().to_string();
        assert!(
            error.ends_with("the program has no attach type, expected a section such as `cgroup/connect4`"),
            "{error}"
        );
        let error = loaded.attach_cgroup("egress", "/proc", &options).unwrap_err().to_string();
        assert!(error.contains("not a cgroup v2 directory"), "{error}");
    }

    #[test]
    fn programs_attach_to_raw_tracepoints_by_name() {
        let Some(loaded) = load() else { return };
        let options = RawTracepointOptions::default();
        loaded.attach_raw_tracepoint("enter", "sys_enter", &options).unwrap().detach().unwrap();
        let error = loaded.attach_raw_tracepoint("enter", "no_such_tp", &options).unwrap_err().to_string();
        assert!(error.contains("no such raw tracepoint in this kernel"), "{error}");
    }
}
