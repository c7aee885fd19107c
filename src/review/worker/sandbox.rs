//! Giving up everything but the private folder: files by Landlock, system calls by seccomp. Neither
//! can be taken back, by us or by whoever takes us over.

use std::path::Path;

use crate::review::confinement::Confinement;

/// Leaves the worker nothing but reading below `folder`. What the system cannot enforce is said, and
/// the rest holds all the same.
#[cfg(target_os = "linux")]
pub(super) fn confine(folder: &Path) -> Confinement {
    Confinement {
        landlock: linux::restrict_files(folder),
        calls: linux::restrict_calls().is_some(),
        limits: false,
    }
}

/// Elsewhere there is neither.
#[cfg(not(target_os = "linux"))]
pub(super) fn confine(_folder: &Path) -> Confinement {
    Confinement::default()
}

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::BTreeMap;
    use std::path::Path;

    use landlock::{
        ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset,
        RulesetAttr, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
    };
    use seccompiler::{
        BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
        SeccompRule,
    };

    use crate::review::confinement::Held;

    /// What is asked of Landlock: signals and abstract sockets came last, with Linux 6.12.
    const WANTED: ABI = ABI::V6;

    pub(super) fn restrict_files(folder: &Path) -> Held {
        let enforced = || -> Result<RulesetStatus, RulesetError> {
            let status = Ruleset::default()
                .set_compatibility(CompatLevel::BestEffort)
                .handle_access(AccessFs::from_all(WANTED))?
                .handle_access(AccessNet::from_all(WANTED))?
                .scope(Scope::from_all(WANTED))?
                .create()?;
            let status = match PathFd::new(folder) {
                Ok(folder) => {
                    let reading = AccessFs::ReadFile | AccessFs::ReadDir;
                    status.add_rule(PathBeneath::new(folder, reading))?
                }
                // Without the folder there is nothing to read, and opening it says so.
                Err(_) => status,
            };
            Ok(status.restrict_self()?.ruleset)
        };
        match enforced() {
            Ok(RulesetStatus::FullyEnforced) => Held::Fully,
            Ok(RulesetStatus::PartiallyEnforced) => Held::Partly,
            Ok(RulesetStatus::NotEnforced) | Err(_) => Held::Not,
        }
    }

    /// Allows what reading, comparing and answering need. Every other call answers that it does not
    /// exist, so that the C library takes another one or fails, and a new one is denied by default.
    pub(super) fn restrict_calls() -> Option<()> {
        let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
            ALLOWED.iter().map(|call| (*call, Vec::new())).collect();
        rules.insert(libc::SYS_openat, vec![reading(2)?]);
        #[cfg(target_arch = "x86_64")]
        rules.insert(libc::SYS_open, vec![reading(1)?]);
        let asked = [
            libc::F_GETFD,
            libc::F_SETFD,
            libc::F_GETFL,
            libc::F_DUPFD_CLOEXEC,
        ];
        let asked = asked.into_iter().map(|what| only(1, what as u64));
        rules.insert(libc::SYS_fcntl, asked.collect::<Option<_>>()?);
        let filter = SeccompFilter::new(
            rules,
            SeccompAction::Errno(libc::ENOSYS as u32),
            SeccompAction::Allow,
            std::env::consts::ARCH.try_into().ok()?,
        );
        let program: BpfProgram = filter.ok()?.try_into().ok()?;
        seccompiler::apply_filter(&program).ok()
    }

    /// A file is opened for reading, and neither made nor cut.
    fn reading(flags: u8) -> Option<SeccompRule> {
        let writing = libc::O_WRONLY
            | libc::O_RDWR
            | libc::O_CREAT
            | libc::O_TRUNC
            | libc::O_APPEND
            | (libc::O_TMPFILE & !libc::O_DIRECTORY);
        let none_of = SeccompCmpOp::MaskedEq(writing as u64);
        rule(flags, none_of, 0)
    }

    fn only(argument: u8, value: u64) -> Option<SeccompRule> {
        rule(argument, SeccompCmpOp::Eq, value)
    }

    fn rule(argument: u8, how: SeccompCmpOp, value: u64) -> Option<SeccompRule> {
        let is = SeccompCondition::new(argument, SeccompCmpArgLen::Dword, how, value).ok()?;
        SeccompRule::new(vec![is]).ok()
    }

    #[cfg(target_arch = "x86_64")]
    const OLD_NAMES: &[i64] = &[
        libc::SYS_access,
        libc::SYS_getdents,
        libc::SYS_lstat,
        libc::SYS_open,
        libc::SYS_poll,
        libc::SYS_readlink,
        libc::SYS_stat,
    ];
    #[cfg(not(target_arch = "x86_64"))]
    const OLD_NAMES: &[i64] = &[];

    static ALLOWED: std::sync::LazyLock<Vec<i64>> = std::sync::LazyLock::new(|| {
        let mut all = vec![
            // Reading below the folder, which Landlock watches over.
            libc::SYS_openat,
            libc::SYS_close,
            libc::SYS_read,
            libc::SYS_readv,
            libc::SYS_pread64,
            libc::SYS_lseek,
            libc::SYS_fstat,
            libc::SYS_newfstatat,
            libc::SYS_statx,
            libc::SYS_faccessat,
            libc::SYS_getdents64,
            libc::SYS_readlinkat,
            libc::SYS_getcwd,
            libc::SYS_fcntl,
            // Answering, to descriptors that stand open.
            libc::SYS_write,
            libc::SYS_writev,
            libc::SYS_ppoll,
            // Memory.
            libc::SYS_brk,
            libc::SYS_mmap,
            libc::SYS_mprotect,
            libc::SYS_mremap,
            libc::SYS_munmap,
            libc::SYS_madvise,
            // Time, chance, and who we are.
            libc::SYS_clock_gettime,
            libc::SYS_gettimeofday,
            libc::SYS_getrandom,
            libc::SYS_getpid,
            libc::SYS_gettid,
            libc::SYS_getuid,
            libc::SYS_geteuid,
            libc::SYS_getgid,
            libc::SYS_getegid,
            // Threads of this process, signals, and the end.
            libc::SYS_futex,
            libc::SYS_sched_yield,
            libc::SYS_sched_getaffinity,
            libc::SYS_rt_sigaction,
            libc::SYS_rt_sigprocmask,
            libc::SYS_rt_sigreturn,
            libc::SYS_sigaltstack,
            libc::SYS_restart_syscall,
            libc::SYS_exit,
            libc::SYS_exit_group,
        ];
        all.extend(OLD_NAMES);
        all
    });
}
