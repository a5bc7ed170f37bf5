//! Attaching programs to cgroups, network namespaces, sockmaps, netfilter hooks and infrared receivers.

use crate::attach::{
    AttachError, CgroupOptions, CgroupSharing, FileRef, Link, NetfilterHook, ProgramRef, cgroup, lirc,
    netfilter, netns, sockmap,
};
use std::os::fd::BorrowedFd;

impl ProgramRef<'_> {
    /// Attaches the program to a cgroup by a kernel link. The cgroup is its directory, by path or descriptor.
    /// The program's section names the attach type, such as `cgroup/connect4`.
    ///
    /// Kernels before 5.7 have no cgroup links. There, this method is
    /// [`attach_cgroup_without_link`](Self::attach_cgroup_without_link) with [`CgroupSharing::Multi`], which
    /// shares the cgroup as a link does.
    ///
    /// ```no_run
    /// use core_relo_loader::attach::{AttachError, CgroupOptions, ProgramRef};
    ///
    /// # fn example(program: ProgramRef<'_>) -> Result<(), AttachError> {
    /// let link = program.attach_cgroup("/sys/fs/cgroup/system.slice", &CgroupOptions::default())?;
    /// # drop(link);
    /// # Ok(())
    /// # }
    /// ```
    pub fn attach_cgroup<'c>(
        &self,
        cgroup: impl Into<FileRef<'c>>,
        options: &CgroupOptions<'_>,
    ) -> Result<Link, AttachError> {
        let attach_type = self.expect_attach_type("a section such as `cgroup/connect4`")?;
        cgroup::cgroup(self.fd, cgroup, attach_type, options).map_err(|e| self.named(e))
    }

    /// Attaches the program to a cgroup without a link. The program stays attached until the link is dropped
    /// or the cgroup is removed.
    ///
    /// With `replace`, the program replaces that program (kernels from 5.6, and only with
    /// [`CgroupSharing::Multi`]).
    ///
    /// Without [`CgroupSharing::Multi`], the cgroup has one program, which the kernel detaches whichever it
    /// is. The link looks first whether it is its own. If another process replaces the program between the
    /// look and the request, the other program is detached.
    pub fn attach_cgroup_without_link<'c>(
        &self,
        cgroup: impl Into<FileRef<'c>>,
        sharing: CgroupSharing,
        replace: Option<BorrowedFd<'_>>,
    ) -> Result<Link, AttachError> {
        let attach_type = self.expect_attach_type("a section such as `cgroup/connect4`")?;
        cgroup::cgroup_attach(self.fd, cgroup, attach_type, sharing, replace).map_err(|e| self.named(e))
    }

    /// Attaches the program to a network namespace. The program's section is `sk_lookup` or `flow_dissector`.
    ///
    /// The namespace is a file by path or descriptor, such as `/proc/self/ns/net` or `/run/netns/blue`. The
    /// attachment ends with the namespace, even if the link is still held.
    pub fn attach_netns<'n>(&self, netns: impl Into<FileRef<'n>>) -> Result<Link, AttachError> {
        let attach_type = self.expect_attach_type("`sk_lookup` or `flow_dissector`")?;
        netns::netns(self.fd, netns, attach_type).map_err(|e| self.named(e))
    }

    /// Attaches the program to a sockmap or sockhash by a kernel link (kernels from 6.10). On older kernels,
    /// this method is [`attach_sockmap_without_link`](Self::attach_sockmap_without_link). The program's
    /// section names the attach type, such as `sk_skb/stream_verdict`.
    pub fn attach_sockmap(&self, map: BorrowedFd<'_>) -> Result<Link, AttachError> {
        let attach_type = self.expect_attach_type("`sk_msg` or `sk_skb/stream_verdict`")?;
        sockmap::sockmap(self.fd, map, attach_type).map_err(|e| self.named(e))
    }

    /// Attaches the program to a sockmap or sockhash without a link, and replaces another program of the same
    /// attach type.
    ///
    /// The program stays attached until the link is dropped or the map is gone. The kernel does not tell
    /// which program is replaced: the caller may look first ([`query`](crate::attach::query)), but another
    /// process may attach a program in between.
    pub fn attach_sockmap_without_link(&self, map: BorrowedFd<'_>) -> Result<Link, AttachError> {
        let attach_type = self.expect_attach_type("`sk_msg` or `sk_skb/stream_verdict`")?;
        sockmap::sockmap_attach(self.fd, map, attach_type).map_err(|e| self.named(e))
    }

    /// Attaches the program to a netfilter hook (libbpf: `bpf_program__attach_netfilter`).
    ///
    /// Fails if another program has the same priority at the hook (`EBUSY`), or the priority is not allowed
    /// (`ERANGE`).
    pub fn attach_netfilter(&self, hook: NetfilterHook) -> Result<Link, AttachError> {
        netfilter::netfilter(self.fd, hook).map_err(|e| self.named(e))
    }

    /// Attaches the program to an infrared receiver, `/dev/lirc…` by path or descriptor. The kernel has no
    /// links of this kind: the program stays attached until it is detached.
    pub fn attach_lirc<'d>(&self, device: impl Into<FileRef<'d>>) -> Result<Link, AttachError> {
        lirc::lirc(self.fd, device).map_err(|e| self.named(e))
    }
}
