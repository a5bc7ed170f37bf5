//! The programs of a loaded object, for attaching.

use super::loaded::{Loaded, LoadedProgram};
use crate::attach::{AttachError, ProgramRef};
use std::os::fd::AsFd as _;

impl Loaded {
    /// Finds a program, for attaching.
    ///
    /// ```no_run
    /// use core_relo_loader::{attach::{AttachError, CgroupOptions}, load::Loaded};
    ///
    /// # fn example(loaded: &Loaded) -> Result<(), AttachError> {
    /// let program = loaded.program_ref("check_connect")?;
    /// let link = program.attach_cgroup("/sys/fs/cgroup/system.slice", &CgroupOptions::default())?;
    /// # drop(link);
    /// # Ok(())
    /// # }
    /// ```
    pub fn program_ref(&self, name: &str) -> Result<ProgramRef<'_>, AttachError> {
        let problem = "the object has no such program, or it was not loaded";
        let program = self.program(name);
        let program = program.ok_or_else(|| AttachError::target(format!("program `{name}`"), problem))?;
        Ok(self.program_ref_of(program))
    }

    pub(super) fn program_ref_of<'a>(&'a self, program: &'a LoadedProgram) -> ProgramRef<'a> {
        ProgramRef {
            fd: program.as_fd(),
            name: program.plan.name(),
            section: program.plan.section(),
            program_type: program.plan.program_type(),
            attach_type: program.plan.expected_attach_type(),
            usdt: Some(self),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        attach::{
            CgroupOptions, Order, Placement, RawTracepointOptions, TcAttachPoint, TcOptions, XdpMode,
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
            let link = loaded.program_ref("pass").unwrap().attach_xdp("peer0", XdpMode::Generic).unwrap();
            assert_eq!(link.label(), "xdp on interface peer0");
            let options = TcOptions::default();
            let tc = loaded
                .program_ref("classify")
                .unwrap()
                .attach_tc("peer0", TcAttachPoint::Egress, options)
                .unwrap();
            tc.detach().unwrap();
            let placement = Placement { order: Order::First, ..Placement::default() };
            match loaded.program_ref("ingress").unwrap().attach_tcx("peer0", &placement) {
                Ok(link) => link.detach().unwrap(),
                Err(e) => assert!(e.to_string().contains("needs a kernel from 6.6"), "{e}"),
            }
            let error = loaded
                .program_ref("classify")
                .unwrap()
                .attach_tcx("peer0", &placement)
                .unwrap_err()
                .to_string();
            assert_eq!(
                error,
                "program `classify`: tc: the program has no attach type, expected `tcx/ingress` or `tcx/egress`"
            );
            let error = loaded
                .program_ref("pass")
                .unwrap()
                .attach_xdp("nowhere0", XdpMode::Any)
                .unwrap_err()
                .to_string();
            assert!(
                error.starts_with("program `pass` (section xdp): interface nowhere0: cannot find: ENODEV"),
                "{error}"
            );
            let error = loaded
                .program_ref("lookup")
                .unwrap()
                .attach_xdp("peer0", XdpMode::Generic)
                .unwrap_err()
                .to_string();
            assert!(
                error.contains("wrong program type: BPF_PROG_TYPE_SK_LOOKUP, expected BPF_PROG_TYPE_XDP"),
                "{error}"
            );
            let error = loaded.program_ref("none").unwrap_err().to_string();
            assert_eq!(error, "program `none`: the object has no such program, or it was not loaded");
            loaded
                .program_ref("lookup")
                .unwrap()
                .attach_netns("/proc/thread-self/ns/net")
                .unwrap()
                .detach()
                .unwrap();
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
            let link = loaded.program_ref(program).unwrap().attach_cgroup(group.path(), &options).unwrap();
            assert_eq!(link.label(), label);
            link.detach().unwrap();
        }
        let error =
            loaded.program_ref("any").unwrap().attach_cgroup(group.path(), &options).unwrap_err().to_string();
        assert!(
            error.ends_with("the program has no attach type, expected a section such as `cgroup/connect4`"),
            "{error}"
        );
        let error =
            loaded.program_ref("egress").unwrap().attach_cgroup("/proc", &options).unwrap_err().to_string();
        assert!(error.contains("not a cgroup v2 directory"), "{error}");
    }

    #[test]
    fn programs_attach_to_raw_tracepoints_by_name() {
        let Some(loaded) = load() else { return };
        let options = RawTracepointOptions::default();
        loaded
            .program_ref("enter")
            .unwrap()
            .attach_raw_tracepoint("sys_enter", &options)
            .unwrap()
            .detach()
            .unwrap();
        let error = loaded
            .program_ref("enter")
            .unwrap()
            .attach_raw_tracepoint("no_such_tp", &options)
            .unwrap_err()
            .to_string();
        assert!(error.contains("no such raw tracepoint in this kernel"), "{error}");
    }
}
